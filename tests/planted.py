"""Evidence with planted truths: rows that look like a study's, whose rates are known."""

import json
import math

import numpy as np
import pandas as pd
import planted_theory

from elubench.papers.beyond_em.predictions import em_iterations
from elubench.verification.evidence import Evidence

TRUTHS = {
    "location_1": -1 / 8,
    "scale_1": -1 / 4,
    "location_2": -1 / 4,
    "scale_2": -1 / 2,
    "em_1": 3 / 4,
    "em_2": 1 / 2,
    "elu_1": 0.75 / math.log(1 / 0.8),
    "elu_2": 0.5 / math.log(1 / 0.8),
    "elu_power": None,  # a power of n in place of the logarithm
    "location_d": 1 / 4,
    "scale_d": -1 / 2,
    "em_d": -1 / 2,
    "em_location_1": -1 / 8,  # of EM left alone
    "em_scale_1": -1 / 4,
    "em_location_2": -1 / 4,
    "em_scale_2": -1 / 2,
    "diverged": 1.0,
    "diverged_at": 100,
    "diagonal_equal": -1 / 4,
    "diagonal_generic": 0.0,
    "diagonal_mle": -1 / 8,
    "general_printed": 0.0,
    "general_centred": -1 / 4,
    "diagonal_elu": 0.5 / math.log(1 / 0.9),  # iterations per ln n
    "general_elu": 0.5 / math.log(1 / 0.9),
    "general_reached": 0.0,  # share of runs of ELU as printed
    "other_em": 1 / 2,
    "em_path": 2.0,  # alpha of EM's recorded iterates
    "elu_path": 0.0,  # that of ELU's; 0 is linear convergence
    "lbfgs": 15,
    "newton_anderson": 6,
    "replicates": 40,
    "moments_1": -1 / 8,
    "moments_2": -1 / 4,
    "moments_scale_2": -1 / 2,
    "moments_reads": 1.0,
}


def evidence(level="quick", tables=None, studies=("quick",), **changes):
    """Evidence with the truths above, but for the changes."""
    truth = {**TRUTHS, **changes}
    assert set(truth) == set(TRUTHS)
    parts = (_errors, _alone, _iterations, _dimensions, _starts, _arrivals, _moments)
    rows = [row for part in parts for row in part(truth)]
    made = lemma_tables() if tables is None else tables
    return Evidence(level, 0, studies, pd.DataFrame(rows), pd.DataFrame(_paths(truth)), made)


def _row(rng, **given):
    return {
        "study": "quick", "block": "b", "model": "isotropic", "samples": "lattice", "start": "equal",
        "start_norm": 0.8, "options": json.dumps({"eta": 0.01, "beta": 0.8}), "max_iter": 1000,
        "stop": "end", "validation": 0.1, "radius_constant": 2.0, "seed": 0, "status": "diverged",
        "reached": True, "iterations": 100, "passes": 101.0, "iterations_to_radius": 10.0,
        "passes_to_radius": 10.0, "mle_location_error": 0.0, "scale_error": 0.1, "radius": 1.0,
        "d": 1, "message": "", "mle_distance": 0.0, **_shapes(rng, given["n"]), **given,
    }  # fmt: skip


def _shapes(rng, n):
    """Moments that explain nothing of the outcomes."""
    names = ("sample_kurtosis", "sample_gap", "sample_trace", "held_kurtosis", "held_gap")
    return dict(zip(names, rng.standard_normal(5) * math.sqrt(24.0 / n), strict=True))


def _noise(rng, size=0.15):
    return math.exp(size * rng.standard_normal())


def _errors(truth):
    rng = np.random.default_rng(1)
    for d in (1, 2):
        for n in (10**4, 10**6, 10**8, 10**10, 10**12, 10**14):  # as far as the study goes
            radius = n ** truth[f"location_{d}"]
            for replicate in range(truth["replicates"]):
                yield _row(
                    rng,
                    d=d,
                    n=n,
                    replicate=replicate,
                    algorithm="ELU",
                    location_error=radius * _noise(rng),
                    scale_error=n ** truth[f"scale_{d}"] * _noise(rng),
                    radius=2 * radius,
                    mle_location_error=0.0 if replicate % 2 else 1.5 * radius,
                    status="diverged" if rng.random() < truth["diverged"] else "max_iter",
                    iterations=truth["diverged_at"],
                    passes=truth["diverged_at"] + 1.0,
                )


def _alone(truth):
    """EM left alone."""
    rng = np.random.default_rng(7)
    for d in (1, 2):
        for n in (10**4, 10**5, 10**6, 10**7):
            for replicate in range(truth["replicates"]):
                yield _row(
                    rng,
                    d=d,
                    n=n,
                    replicate=replicate,
                    algorithm="EM",
                    validation=None,
                    location_error=n ** truth[f"em_location_{d}"] * _noise(rng, 0.05),
                    scale_error=n ** truth[f"em_scale_{d}"] * _noise(rng, 0.05),
                    options="{}",
                    status="max_iter",
                )


def _iterations(truth):
    rng = np.random.default_rng(2)
    for d, stated in ((1, 3 / 4), (2, 1 / 2)):
        at_infinite_n = em_iterations(d, 2.0, 0.8)
        for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            elu = truth[f"elu_{d}"] * math.log(n)
            if truth["elu_power"] is not None:
                elu = 5.0 * n ** truth["elu_power"]
            medians = {
                "EM": at_infinite_n(n) * (n / 10**6) ** (truth[f"em_{d}"] - stated),
                "ELU": elu,
                "LBFGS": truth["lbfgs"],
                "NewtonAnderson": truth["newton_anderson"],
            }
            for replicate in range(truth["replicates"]):
                for name, median in medians.items():
                    count = math.ceil(median * math.exp(0.03 * rng.standard_normal()))
                    yield _row(
                        rng,
                        d=d,
                        n=n,
                        replicate=replicate,
                        algorithm=name,
                        stop="radius",
                        status="reached",
                        iterations=count,
                        passes=float(count),
                        iterations_to_radius=float(count),
                        passes_to_radius=float(count),
                        location_error=1.0,
                    )


def _dimensions(truth):
    rng = np.random.default_rng(3)
    for d in (2, 4, 8, 16, 32):
        usual = em_iterations(d, 2.0, 0.8)(10**6) * d ** (truth["em_d"] + 0.5)
        for replicate in range(truth["replicates"]):
            count = math.ceil(usual * math.exp(0.05 * rng.standard_normal()))
            asked = {"block": "dimensions", "samples": "direct", "d": d, "replicate": replicate}
            yield _row(
                rng,
                **asked,
                n=20_000,
                algorithm="ELU",
                location_error=0.1 * d ** truth["location_d"] * _noise(rng, 0.05),
                scale_error=0.1 * d ** truth["scale_d"] * _noise(rng, 0.05),
                mle_location_error=0.1 * d**0.25 * _noise(rng, 0.05),
            )
            yield _row(
                rng,
                **asked,
                n=10**6,
                algorithm="EM",
                stop="radius",
                location_error=1.0,
                iterations=count,
                iterations_to_radius=float(count),
            )


def _starts(truth):
    rng = np.random.default_rng(4)
    for n in (10**5, 10**6, 10**7, 10**8, 10**9):
        for replicate in range(truth["replicates"]):
            for model, start, name, power in (
                ("diagonal", "equal", "ELU", "diagonal_equal"),
                ("diagonal", "equal", "NewtonAnderson", "diagonal_mle"),
                ("diagonal", "generic", "ELU", "diagonal_generic"),
                ("general", "generic", "ELU", "general_printed"),
                ("general", "generic", "CentredELU", "general_centred"),
            ):
                yield _row(
                    rng,
                    model=model,
                    start=start,
                    d=2,
                    n=n,
                    replicate=replicate,
                    algorithm=name,
                    location_error=n ** truth[power] * _noise(rng),
                    scale_error=n ** (2.0 * truth[power]) * _noise(rng),
                    mle_location_error=n ** truth["diagonal_mle"] * _noise(rng),
                )


def _arrivals(truth):
    """Iterations to the radius on the models beyond the isotropic one."""
    rng = np.random.default_rng(8)
    for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
        for model, start, name, usual in (
            ("diagonal", "equal", "ELU", truth["diagonal_elu"] * math.log(n)),
            ("diagonal", "equal", "EM", 0.2 * n ** truth["other_em"]),
            ("general", "generic", "ELU", 30.0),
            ("general", "generic", "CentredELU", truth["general_elu"] * math.log(n)),
            ("general", "generic", "EM", 0.2 * n ** truth["other_em"]),
        ):
            share = truth["general_reached"] if (model, name) == ("general", "ELU") else 1.0
            for replicate in range(truth["replicates"]):
                count = math.ceil(usual * math.exp(0.03 * rng.standard_normal()))
                reached = replicate < share * truth["replicates"]
                yield _row(
                    rng,
                    model=model,
                    start=start,
                    d=2,
                    n=n,
                    replicate=replicate,
                    algorithm=name,
                    options="{}" if name == "EM" else json.dumps({"eta": 1.0, "beta": 0.9}),
                    stop="radius",
                    reached=reached,
                    iterations=count,
                    iterations_to_radius=float(count) if reached else math.nan,
                    location_error=1.0,
                )


def _paths(truth):
    """Iterates of the left-hand panels of Figures 3 and 4: (1 + t)^(-1/alpha), or beta^(t/2)."""
    rng = np.random.default_rng(9)
    for model in ("diagonal", "general"):
        for replicate in range(10):
            for name in ("EM", "ELU"):
                alpha = truth[f"{name.lower()}_path"]
                speed = math.exp(0.05 * rng.standard_normal())
                for t in range(150 if name == "EM" else 60):
                    slow, fast = (
                        (1.0 + speed * t) ** (-1.0 / (alpha or 1.0)),
                        0.9 ** (speed * t / 2),
                    )
                    yield {
                        "study": "quick", "block": "p", "model": model, "n": 10**5, "d": 4, "t": t,
                        "algorithm": name, "replicate": replicate, "radius": 0.1,
                        "location_error": 0.95 * (slow if alpha else fast),
                    }  # fmt: skip


def lemma_tables(**changes):
    """The probes' tables with the values that theory gives, but for ``changes`` by quantity."""
    rows = []
    for d, alpha, ball in ((1, 6.0, 0.5), (2, 2.0, 0.8)):
        rows += [
            ("homogeneity", d, "alpha of the gradient", alpha, 1e-6, alpha),
            ("homogeneity", d, "alpha of the Hessian", alpha, 1e-6, alpha),
            ("homogeneity", d, "c1", 5.0, 0.0, 4.0),
            ("homogeneity", d, "c2", 5.0, 0.0, 5.0),
            ("homogeneity", d, "convexity radius", 0.99, 0.001, ball),
            ("homogeneity", d, "radius of the proof's bound", 0.25, 0.0, ball),
        ]
    for d in (1, 4):
        rows += [
            ("trajectory_rates", d, "ELU, factor", 0.9, 1e-6, 0.9),
            ("trajectory_rates", d, "EM, growth of |theta|^-alpha", 4.0, 1e-6, 4.0),
        ]
    sampled = [
        ("stability_univariate", 1, "gamma, phase 1", 3.5, 0.1, 1.0),
        ("stability_univariate", 1, "gamma, phase 2", 3.0, 0.01, 3.0),
        ("stability_univariate", 1, "exponent of n", -0.5, 0.01, -0.5),
        ("stability_multivariate", 2, "gamma", 1.0, 0.001, 1.0),
        ("stability_multivariate", 8, "gamma", 1.0, 0.001, 1.0),
        ("stability_multivariate", 0, "exponent of n", -0.5, 0.02, -0.5),
        ("stability_multivariate", 0, "exponent of d", 0.7, 0.02, 0.5),
        ("stability_multivariate", 2, "noise (n/d)^(1/2)/r", 0.9, 0.1, 2.0),
        ("stability_multivariate", 32, "noise (n/d)^(1/2)/r", 1.98, 0.03, 2.0),
        ("stability_multivariate", 0, WITHIN, 1.0, 0.01, 1.0),
    ]
    rows += [
        ("stability_multivariate", 0, "sup over its operator norm", 1.0, 1e-4, 1.0),
        ("pseudo_convexity", 2, "least <grad f, theta>/gap", 4.0, 0.0, 1.0),
        ("diagonal_hessian", 2, "exponent of the greatest |Hessian|", 2.0, 1e-6, 2.0),
        ("diagonal_hessian", 2, "least eigenvalue / r^2 over directions", -0.5, 1e-6, -0.5),
        ("diagonal_homogeneity", 2, "exponent of least growth", 1.0, 1e-6, 0.0),
        ("diagonal_homogeneity", 2, "exponent along the axis", 6.0, 1e-6, 6.0),
        ("diagonal_homogeneity", 2, "C4", 5.8, 0.0, 5.8),
        ("diagonal_homogeneity", 2, "curvature across / theta_1^2", 1.0, 0.0, 1.0),
        ("diagonal_starts", 2, "share of starts that converge, between", 0.0, 0.0, 1.0),
        ("diagonal_starts", 2, "share of starts that converge, on a line", 1.0, 0.0, 1.0),
        ("diagonal_starts", 2, "median least norm", 0.2, 0.0, 0.0),
        ("diagonal_phases", 2, "drift of theta_1^2 - theta_2^2", 1e-5, 0.0, 0.0),
        ("general_instability", 2, "turning time", 14.0, 1.0, 13.2),
    ]
    rows += planted_theory.lemma_rows()
    columns = ["probe", "d", "quantity", "measured", "uncertainty", "theory"]
    lemmas = pd.DataFrame([*rows, *sampled], columns=columns).assign(note="")
    lemmas["basis"] = len(rows) * ["numerical"] + len(sampled) * ["samples"]
    unknown = set(changes) - set(lemmas["quantity"]) - {"costs", "axes", *planted_theory.TABLES}
    assert not unknown, unknown
    for quantity, value in changes.items():
        lemmas.loc[lemmas["quantity"] == quantity, "measured"] = value
    return {
        "lemmas": lemmas,
        "axes": changes.get("axes", axes()),
        "costs": changes.get("costs", costs()),
        **{name: changes.get(name, make()) for name, make in planted_theory.TABLES.items()},
    }


#: The name of a row of Lemma 2(b).
WITHIN = "share of samples with noise (n/d)^(1/2)/r <= 3"


def axes(generic=1.0, equal=0.02):
    """Shares of runs on the diagonal model that enter the second phase."""
    rows = [
        (start, k, k < share * 100)
        for start, share in (("generic", generic), ("equal", equal))
        for k in range(100)
    ]
    return pd.DataFrame(rows, columns=["start", "replicate", "entered"])


def costs(elu=1.0, both=1.9, power=1.0, by_d=1.0):
    """Seconds per iteration, in units of EM's."""
    rng = np.random.default_rng(5)
    rows = [
        (
            n,
            d,
            turn,
            name,
            1e-9 * d**by_d * n**power * factor * math.exp(0.02 * rng.standard_normal()),
            1.0,
        )
        for n, d in ((2**18, 1), (2**20, 1), (2**22, 1), (2**18, 4), (2**18, 16))
        for turn in range(11)
        for name, factor in (("EM", 1.0), ("ELU", elu), ("Simultaneous", both))
    ]
    return pd.DataFrame(rows, columns=["n", "d", "round", "algorithm", "seconds", "passes"])


def _moments(truth):
    """The estimate from moments: one read, and errors of the order of the radii."""
    rng = np.random.default_rng(7)
    for d in (1, 2):
        for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            for replicate in range(truth["replicates"]):
                scale = truth["moments_scale_2"] if d == 2 else 2 * truth["moments_1"]
                for stop in ("radius", "end"):
                    yield _row(
                        rng,
                        d=d,
                        n=n,
                        replicate=replicate,
                        algorithm="Moments",
                        options="{}",
                        stop=stop,
                        status="reached",
                        iterations=1,
                        passes=truth["moments_reads"],
                        passes_to_radius=truth["moments_reads"],
                        location_error=n ** truth[f"moments_{d}"] * _noise(rng),
                        scale_error=n**scale * _noise(rng),
                    )
