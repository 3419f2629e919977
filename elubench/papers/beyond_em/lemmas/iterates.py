"""Iterates of EM and ELU at infinite n, and where they break (Appendix B)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from elubench import checks
from elubench.checks import Floats
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em import population, theory
from elubench.papers.beyond_em.lemmas.estimates import Estimate, Summary, axis, dimensions, limit


def trajectory(
    model: theory.AnyModel,
    algorithm: str,
    start: ArrayLike,
    steps: int,
    eta: float = 0.01,
    beta: float = 0.8,
) -> pd.DataFrame:
    """Iterates of EM or ELU at infinite n: columns t, theta_1 .. theta_p, norm, status.

    ELU takes the step `eta / beta^t` at theta_t, t = 0, 1, ... The run ends early, with status
    "diverged" in its last row, when an iterate leaves the region of positive scale. For general
    locations at true mean 0 the norm is that of both locations.
    """
    algorithm = checks.choice(algorithm, "algorithm", theory.ALGORITHMS)
    steps = checks.integer(steps, "steps", 1)
    eta, beta = checks.real(eta, "eta", above=0.0), checks.real(beta, "beta", 0.0, 1.0)
    point = np.atleast_1d(np.asarray(start, dtype=float))
    if point.ndim != 1 or not population.inside(model, point):
        raise ValueError(
            f"start must be one point with a positive scale, got {checks.brief(start)}"
        )
    points, status = [point], "running"
    for t in range(steps):
        if algorithm == "em":
            point = population.em_step(model, point)
        else:
            point = point - eta / beta**t * population.gradient(model, point)
        if not (np.all(np.isfinite(point)) and population.inside(model, point)):
            status = "diverged"
            break
        points.append(point)
    table = np.array(points)
    frame = pd.DataFrame(table, columns=[f"theta_{j + 1}" for j in range(table.shape[1])])
    frame.insert(0, "t", np.arange(len(table)))
    frame["norm"] = np.linalg.norm(table, axis=1)
    frame["status"] = "running"
    frame.loc[frame.index[-1], "status"] = status
    return frame


def trajectory_rates(
    d_values: Sequence[int] = (1, 2, 4), eta: float = 0.01, beta: float = 0.8, steps: int = 200
) -> pd.DataFrame:
    """EM and ELU at infinite n on the isotropic model: measured rates beside the predicted ones.

    * `EM, growth of |theta|^-alpha`: its increase per step, in the limit of small theta; theory
      alpha kappa, 4 at d = 1 and 2 (1 - 1/d) at d >= 2, so theta_t ~ (alpha kappa t)^(-1/alpha);
    * `ELU, factor`: |theta_(t+1)|/|theta_t| at the end of a run; theory beta^(1/alpha);
    * `ELU, level`: |theta_t| / beta^(t/alpha) at the end over its predicted value; theory 1.
    """
    table = Summary("isotropic")
    for d in dimensions(d_values):
        alpha, _, kappa = location_scale(d)
        table.add("1", d, "EM, growth of |theta|^-alpha", _em_growth(d), alpha * kappa)
        run = trajectory("isotropic", "elu", axis(0.8, d), steps, eta, beta)
        norm = np.asarray(run["norm"], dtype=float)
        last, half = norm.size - 1, norm.size // 2
        factor = norm[1:] / norm[:-1]
        level, before = (norm[t] / theory.elu_norm(float(t), d, eta, beta) for t in (last, half))
        note = f"eta {eta:g}, beta {beta:g}, t = {last}"
        found = Estimate(float(factor[-1]), float(abs(factor[-1] - factor[half])), "numerical")
        table.add("1", d, "ELU, factor", found, beta ** (1.0 / alpha), note)
        found = Estimate(float(level), float(abs(level - before)), "numerical")
        table.add("1", d, "ELU, level", found, 1.0, note)
    return table.frame()


def _em_growth(d: int) -> Estimate:
    """The limit at the truth of the increase of |theta|^-alpha in one step of EM."""
    alpha = location_scale(d).alpha

    def growth(r: float) -> float:
        after = float(population.em_step("isotropic", axis(r, d))[0])
        # after^-alpha - r^-alpha without the subtraction
        return math.expm1(-alpha * math.log(after / r)) * math.pow(r, -alpha)

    return limit(growth, 0.1)


def diagonal_flow(
    start: ArrayLike = (0.3, 0.2),
    algorithm: str = "em",
    steps: int = 400,
    eta: float = 1.0,
    beta: float = 0.9,
) -> pd.DataFrame:
    """Iterates of the diagonal model, with what tells whether they fall onto an axis.

    Adds to `trajectory` the columns `invariant` = theta_(1)^2 - theta_(2)^2 of the two largest
    coordinates in size, `ratio` = |theta_(2)/theta_(1)|, and `across` = step times the curvature
    across the first axis, (eta/beta^t) theta_(1)^2; above 2 such a step throws the small
    coordinate outwards. To leading order f = 1/2 sum_(i<j) theta_i^2 theta_j^2, along whose
    gradient flow d(theta_j^2)/dt = -2 theta_j^2 (|theta|^2 - theta_j^2): with two coordinates both
    squares fall at the same speed, their difference is constant, and the smaller vanishes first.
    """
    point = np.atleast_1d(np.asarray(start, dtype=float))
    if point.size < 2:
        raise ValueError(f"start must have at least two coordinates, got {checks.brief(start)}")
    frame = trajectory("diagonal", algorithm, point, steps, eta, beta)
    size = -np.sort(-np.abs(frame.filter(like="theta_").to_numpy()), axis=1)
    frame["invariant"] = (size[:, 0] - size[:, 1]) * (size[:, 0] + size[:, 1])
    frame["ratio"] = size[:, 1] / np.maximum(size[:, 0], np.finfo(float).tiny)
    step = eta / beta ** frame["t"] if algorithm == "elu" else 1.0
    frame["across"] = step * size[:, 0] ** 2
    return frame


def diagonal_phases(
    start: ArrayLike = (0.3, 0.2), steps: int = 400, eta: float = 1.0, beta: float = 0.9
) -> pd.DataFrame:
    """Whether iterates of the diagonal model avoid the second phase (Appendix B.1), d = 2.

    * `drift of theta_1^2 - theta_2^2`: its relative change while |theta_2/theta_1| falls to 1/100,
      for starts shrunk by 1, 1/2, 1/4, extrapolated to 0: theory 0, the invariant is exact to
      leading order;
    * `EM, final ratio`: |theta_2/theta_1| at the end, from the generic start;
    * `ELU, least norm`: how far ELU comes from the generic start and from one with equal
      coordinates; the paper has it converge linearly, so `theory` is the norm of beta^(t/6) times
      the start at the end.
    """
    point = np.asarray(start, dtype=float)
    if point.shape != (2,) or point[0] == point[1] or not np.all(point > 0.0):
        raise ValueError(f"start must be two different positive numbers, got {checks.brief(start)}")

    def drift(shrink: float) -> float:
        x = shrink * point
        first = (x[0] - x[1]) * (x[0] + x[1])
        count = 0
        while min(abs(x)) > 0.01 * max(abs(x)) and count < 100_000:
            x = population.em_step("diagonal", x)
            count += 1
        return float((x[0] - x[1]) * (x[0] + x[1]) / first - 1.0)

    table = Summary("diagonal")
    table.add("4", 2, "drift of theta_1^2 - theta_2^2", limit(drift, 1.0), 0.0, "EM")
    em = diagonal_flow(point, "em", steps)
    final = Estimate(float(em["ratio"].iloc[-1]))
    table.add("4", 2, "EM, final ratio", final, 0.0, f"start {point.tolist()}, t = {steps}")
    for label, begin in (("generic start", point), ("equal start", np.full(2, point.mean()))):
        run = diagonal_flow(begin, "elu", steps, eta, beta)
        best = int(run["norm"].to_numpy().argmin())
        predicted = float(np.linalg.norm(begin)) * beta ** (steps / 6.0)
        note = (
            f"{run['status'].iloc[-1]}, {len(run) - 1} steps, least norm at t = {best}, "
            f"eta {eta:g}, beta {beta:g}"
        )
        least = Estimate(float(run["norm"].min()))
        table.add("4", 2, f"ELU, least norm, {label}", least, predicted, note)
    return table.frame()


def diagonal_starts(
    angles: int = 24, steps: int = 400, eta: float = 1.0, beta: float = 0.9
) -> pd.DataFrame:
    """Appendix B.1 at infinite n and d = 2: whether ELU converges linearly, from a grid of starts.

    Starts have norm 0.3, 0.5 and 0.8 and angles between the first axis and equal coordinates. The paper
    has iterates converge like beta^(t/2), then beta^(t/6): a start counts as converging if the least
    norm is at most ten times |start| beta^(steps/6). Rows: the share of starts that converge between
    the axis and equal coordinates, their median and greatest least norm, and the share on these two
    lines.
    """
    angles, steps = checks.integer(angles, "angles", 1), checks.integer(steps, "steps", 1)
    inner = (np.arange(angles) + 0.5) / angles * math.pi / 4.0
    table, place = Summary("diagonal"), "B.1"
    about = f"norms 0.3, 0.5, 0.8, eta {eta:g}, beta {beta:g}, {steps} steps"
    for label, grid in (("between", inner), ("on a line", np.array([0.0, math.pi / 4.0]))):
        r, angle = (x.ravel() for x in np.meshgrid((0.3, 0.5, 0.8), grid))
        starts = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1)
        if label == "on a line":
            starts[angle > 0.0, 1] = starts[angle > 0.0, 0]  # equal to the last bit
        least = _least_norms(starts, steps, eta, beta)
        share = Estimate(float(np.mean(least <= 10.0 * r * beta ** (steps / 6.0))))
        note = f"{len(starts)} starts, {about}"
        table.add(place, 2, f"share of starts that converge, {label}", share, 1.0, note)
        if label == "between":
            for name, value in (("median", np.median(least)), ("greatest", least.max())):
                table.add(place, 2, f"{name} least norm", Estimate(float(value)), 0.0, note)
    return table.frame()


def _least_norms(starts: Floats, steps: int, eta: float, beta: float) -> Floats:
    """The least norm on each path of ELU on the diagonal loss at infinite n."""
    points, running = starts.copy(), np.ones(len(starts), dtype=bool)
    least = np.linalg.norm(starts, axis=1)
    for t in range(steps):
        moved = points[running] - eta / beta**t * population.gradient("diagonal", points[running])
        inside = np.all(np.abs(moved) < 1.0, axis=1)
        points[running] = np.where(inside[:, None], moved, 0.0)
        norms = np.linalg.norm(points[running], axis=1)
        least[running] = np.where(inside, np.minimum(least[running], norms), least[running])
        running[np.flatnonzero(running)[~inside]] = False
        if not running.any():
            break
    return least


def general_instability(
    start: ArrayLike = (0.5, 0.3, -0.4, -0.2), steps: int = 200, eta: float = 1.0, beta: float = 0.9
) -> pd.DataFrame:
    """Algorithm 3 at infinite n: the half sum of the locations is not flat.

    f grows like |m|^2/2 in the half sum m, and a step eta/beta^t on both locations multiplies m by
    1 - eta/(2 beta^t). From t = ln(4/eta)/ln(1/beta) on that is below -1 and m grows without bound:

    * `curvature of the half sum`: the least eigenvalue of the Hessian by m at the truth; theory 1,
      from the expansion above (an exponential step needs 0);
    * `turning time`: the t at which |m| is least; theory the t above;
    * `ELU, least norm`: how close the locations come; theory |start| beta^(steps/2), the geometric
      decay that Appendix B.2 reports.
    """
    point = np.asarray(start, dtype=float)
    if point.ndim != 1 or point.size < 2 or point.size % 2:
        raise ValueError(
            f"start must be theta1 then theta2, 2 d numbers, got {checks.brief(start)}"
        )
    d = point.size // 2
    if not np.any(point[:d] + point[d:]):
        raise ValueError(f"start must have a half sum that is not zero, got {checks.brief(start)}")
    run = trajectory("general", "elu", point, steps, eta, beta)
    both = run.filter(like="theta_").to_numpy()
    half_sum = np.linalg.norm(both[:, :d] + both[:, d:], axis=1) / 2.0
    hessian = population.hessian("general", np.zeros(2 * d))
    by_m = hessian[:d, :d] + hessian[:d, d:] + hessian[d:, :d] + hessian[d:, d:]
    turning = math.log(4.0 / eta) / math.log(1.0 / beta)
    predicted = float(np.linalg.norm(point)) * beta ** (steps / 2.0)
    note = f"{run['status'].iloc[-1]} after {len(run) - 1} steps"
    table, place = Summary("general"), "B.2"
    flattest = Estimate(float(np.linalg.eigvalsh(by_m)[0]))
    table.add(place, d, "curvature of the half sum", flattest, 1.0, "at the truth")
    table.add(
        place,
        d,
        "turning time",
        Estimate(float(half_sum.argmin()), 1.0, "numerical"),
        turning,
        note,
    )
    least = Estimate(float(run["norm"].min()))
    table.add(place, d, "ELU, least norm", least, predicted, note)
    return table.frame()
