"""Tables of the probes on theory with planted truths: each maker's defaults agree with the claims."""

import math

import numpy as np
import pandas as pd


def _noise(rng):
    return math.exp(0.15 * rng.standard_normal())


def lemma_rows():
    """Rows of the lemmas' tables on Proposition 1 and the scale."""
    rows = []
    for alpha, gamma in ((6.0, 3.0), (6.0, 1.0), (2.0, 1.0), (4.0, 2.0)):
        power, name = 1 / (alpha + 1 - gamma), f"alpha = {alpha:g}, gamma = {gamma:g}"
        steps = alpha * power / math.log(1 / 0.8)
        rows += [
            ("proposition_1", 1, f"radius, exponent of epsilon, {name}", power, 1e-6, power),
            ("proposition_1", 1, f"iterations per ln(1/epsilon), {name}", steps, 0.03, steps),
        ]
    for d in (1, 2):
        rows += [
            ("strong_convexity", d, "curvature by sigma at the truth", 2.0 * d, 0.0, 2.0 * d),
            ("strong_convexity", d, "least curvature by sigma", 0.5 * d, 0.02, math.nan),
            ("strong_convexity", d, "curvature by theta at the truth", 0.0, 0.0, 0.0),
        ]
    for name, off in (
        ("EM", 4e-16),
        ("ELU, eta times the scale", 5e-16),
        ("ELU, the same eta", 1.9),
    ):
        rows.append(("scale_equivariance", 2, f"deviation, {name}", off, 0.0, 0.0))
    return rows


def theorem_1(elu=1000.0, beta=0.9999):
    """Iterations at infinite n where EM needs 100."""
    rows = [
        (d, 1e6, name, steps, 0.1, b, count, 2.0, 0.8, 1e9)
        for d in (1, 2, 4)
        for name, steps, b, count in (
            ("EM", "", math.nan, 100.0), ("ELU", "theorem", beta, elu), ("ELU", "experiments", 0.8, 40.0)
        )
    ]  # fmt: skip
    columns = ["d", "n", "algorithm", "steps", "eta", "beta", "iterations"]
    return pd.DataFrame(rows, columns=[*columns, "constant", "start", "crossing"])


def limit_law(location=1.0, plane=1.0, time=1.0, atom=True):
    """Draws from the limit laws, stretched by these factors; without the atom, all are positive."""
    rng = np.random.default_rng(8)
    normal = math.sqrt(6) * rng.standard_normal(5_000)
    one = location * (np.maximum(normal, 0.0) if atom else np.abs(normal)) ** 0.25
    two = plane * (-8.0 * np.log(rng.random(4_000))) ** 0.25
    times = time * _em_times(math.sqrt(8 / 3) * rng.standard_normal(1_000))
    parts = []
    for law, d, values, sizes in (
        ("location", 1, one, 5), ("location", 2, two, 4), ("EM's time", 1, times, 2)
    ):  # fmt: skip
        n = np.repeat(10 ** np.arange(8, 8 + sizes), len(values) // sizes)
        parts.append(pd.DataFrame({"law": law, "d": d, "n": n, "value": values}))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(replicate=table.groupby(["law", "d", "n"]).cumcount(), seed=0)


def _em_times(pulls):
    """The integral from 2 of du/((2/3) u^7 - B u^3), over v = u^-2 by Gauss and Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    v = 0.125 * (nodes + 1.0)
    return 0.125 * (0.5 * v**2 / (2 / 3 - pulls[:, None] * v**2)) @ weights


def lower_bound(location=1.0, scale=1.0, by_d=1.0):
    """Bounds of the order of the radii, with their exponents multiplied by these factors."""
    rows = []
    for d in (1, 2, 4, 8):
        for n in (1e8, 1e10, 1e12):
            power = 0.25 if d == 1 else 0.5
            square = n ** (-power * location) * d ** (0.5 * by_d)
            rows.append(
                (d, n, "sphere", square, n ** (-power * scale) * d ** (-0.5 * by_d), 3 * square)
            )
    return pd.DataFrame(rows, columns=["d", "n", "method", "location", "scale", "mle"])


def separated(location=-1 / 2, scale=-1 / 2, slope=1.0, power=None):
    """EM on two Gaussians two standard deviations apart; ``slope`` is over that of its contraction."""
    rng = np.random.default_rng(9)
    rows = []
    for d, rho in ((1, 0.798265), (2, 0.532177)):
        for n in 10 ** np.arange(4, 13):
            usual = slope * math.log(n) / (2 * math.log(1 / rho))
            usual = usual if power is None else 5.0 * n**power
            for k in range(60):
                count = math.ceil(usual + 2.0 + 0.5 * rng.standard_normal())
                errors = (float(n) ** location * _noise(rng), float(n) ** scale * _noise(rng))
                rows.append((d, n, k, float(count), *errors))
    columns = ["d", "n", "replicate", "iterations", "location_error", "scale_error"]
    return pd.DataFrame(rows, columns=columns).assign(half_distance=1.0, constant=3.0, seed=0)


def crossover(one=0.0, close=0.3, apart=1.0, ratio=0.3, loss=1.0):
    """Shares of samples on which EM is found geometric; the errors over EM's and the optimum's."""
    rng = np.random.default_rng(10)
    rows = []
    for d, budget in ((1, 100), (1, 1_000), (2, 100)):
        for half, share in ((0.0, one), (0.5, close), (1.0, apart), (3.0, apart)):
            for n in (10**3, 10**4, 10**6, 10**8):
                for k in range(40):
                    em, mle = 0.3 * _noise(rng), 0.1 * _noise(rng)
                    kept = (loss * mle if half else ratio * em) * (
                        1.0 + 0.01 * rng.standard_normal()
                    )
                    geometric = k < share * 40
                    rows.append((d, budget, half, n, k, 0.9, geometric, em, kept, mle, kept))
    columns = ["d", "budget", "half_distance", "n", "replicate", "rho", "geometric"]
    columns += ["em_error", "elu_error", "mle_error", "location_error"]
    return pd.DataFrame(rows, columns=columns).assign(seed=0)


TABLES = {
    "theorem_1": theorem_1,
    "limit_law": limit_law,
    "lower_bound": lower_bound,
    "separated": separated,
    "crossover": crossover,
}
