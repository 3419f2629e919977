"""Beyond the isotropic model: the diagonal model and general locations."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.papers.beyond_em import agreement
from elubench.papers.beyond_em.axes import CLOSE, IN_A_ROW
from elubench.papers.beyond_em.claims.shared import SEVERAL, LemmaTable, at_smallest_d, for_scale
from elubench.papers.beyond_em.lemmas.estimates import mean
from elubench.papers.beyond_em.rows import PANELS
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, above, at_least, at_most, below, nearer
from elubench.verification.measuring import (
    LOG_POWER,
    Measured,
    NoEvidence,
    censored,
    contest,
    corrected_of,
    exponent_of,
    log_power,
    predicts_better,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

#: The paper's ELU beyond the isotropic model.
_ETA, _BETA = 1.0, 0.9

_CONVERGE = at_least("share of starts from which ELU converges", 0.95, 1.0)


@chapter.claim(
    "diagonal-infinite-n",
    "At infinite n ELU converges linearly on the diagonal model",
    "Appendix B.1",
    "remark",
    "At infinite n ELU converges geometrically in both phases: with two or more entries, and on an "
    "axis.",
    "Starts of norm 0.3, 0.5 and 0.8 in 24 directions between an axis and equal coordinates; ELU (eta "
    "1, beta 0.9) converges if it comes within ten times the norm that beta^(t/6) predicts after 400 "
    "steps.",
    [_CONVERGE],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_starts")
    least, on_a_line = (
        table.row(name)
        for name in ("median least norm", "share of starts that converge, on a line")
    )
    drift = LemmaTable(evidence, "diagonal_phases").row("drift of theta_1^2 - theta_2^2")[
        "measured"
    ]
    return Measured(
        (table.measured(_CONVERGE, quantity="share of starts that converge, between"),),
        "diagonal model at infinite n, d = 2",
        (
            f"ELU comes within {least['measured']:.2g} (median) and then diverges. It converges from "
            f"{on_a_line['measured']:.0%} of the starts exactly on an axis or with equal coordinates. "
            "From any other start theta_1^2 - theta_2^2 is constant to leading order (relative "
            f"drift {drift:.1e}), so iterates fall onto an axis, where the curvature across "
            "it, of order theta_1^2, meets a step that grows without bound.",
        ),
        ("landscape", "breaks"),
    )


_SLOW = {"no progress": 0.0, "n^(-1/8)": -1 / 8, "n^(-1/5)": -1 / 5}
_MOST = below("exponent of n, 0.9 quantile of the location error", -1 / 4, _SLOW)
_MOST_SCALE = below(
    "exponent of n, 0.9 quantile of the squared scale error",
    -1 / 2,
    {"no progress": 0.0, "n^(-1/4)": -1 / 4, "n^(-2/5)": -2 / 5},
)
_ENTER = at_most("share of runs that enter the second phase", 0.1, 0.0)

_WITH_HIGH_PROBABILITY = (
    "Exponents of n in the 0.9 quantile of the validated errors, since the claim is about most "
    "samples and an upper bound"
)


def _to_the_end(evidence: Evidence, algorithm: str, model: str, start: str) -> pd.DataFrame:
    asked = {"algorithm": algorithm, "model": model, "start": start}
    return at_smallest_d(evidence, **asked, stop="end", samples="lattice")


def _to_the_radius(evidence: Evidence, algorithm: str, model: str, start: str) -> pd.DataFrame:
    asked = {"algorithm": algorithm, "model": model, "start": start, "d": SEVERAL}
    rows = at_smallest_d(evidence, **asked, stop="radius", samples="lattice")
    if algorithm == "EM":
        return rows
    given = [numbers_in(str(options)) for options in rows["options"]]
    return rows[[(one["eta"], one["beta"]) == (_ETA, _BETA) for one in given]]


def _entered(evidence: Evidence, start: str) -> tuple[int, int]:
    """How many runs entered the second phase, of how many."""
    table = table_of(evidence, "axes")
    runs = table[table["start"] == start]
    return int(runs["entered"].sum()), len(runs)


@chapter.claim(
    "diagonal-equal",
    "ELU reaches n^(-1/4) on the diagonal model from equal coordinates",
    "Appendix B.1, Figure 3",
    "experiment",
    "On the diagonal model at d >= 2 ELU finds a location within O(n^(-1/4)) and squared scales within "
    "O(n^(-1/2)).",
    f"{_WITH_HIGH_PROBABILITY}, from a start with equal coordinates as in the figure.",
    [_MOST, _MOST_SCALE],
)
def _(evidence: Evidence) -> Measured:
    rows = _to_the_end(evidence, "ELU", "diagonal", "equal")
    return Measured(
        (
            exponent_of(_MOST, rows, "location_error", statistic=0.9),
            exponent_of(_MOST_SCALE, rows, "scale_error", statistic=0.9),
        ),
        settings_of(rows),
        (
            censored(rows),
            "Occasionally noise drives even a start with equal coordinates onto an axis, more rarely "
            "as n grows, so that errors may fall a little faster than their limit does.",
        ),
        ("breaks", "figure-3"),
    )


@chapter.claim(
    "diagonal-generic",
    "Iterates avoid the axes on the diagonal model",
    "Appendix B.1, conjecture",
    "conjecture",
    "With high probability the iterates do not enter the second phase, where all but one coordinate are "
    "0; so ELU's location is within O(n^(-1/4)).",
    f"From starts in random directions: the share of runs with {IN_A_ROW} iterates in a row so close to "
    f"an axis that the other coordinate is below {CLOSE:g} of the norm, d = 2, n = 10^5 to 10^9 (starts "
    f"are not); and e{_WITH_HIGH_PROBABILITY[1:].replace('errors', 'error')}.",
    [_ENTER, _MOST],
)
def _(evidence: Evidence) -> Measured:
    rows = _to_the_end(evidence, "ELU", "diagonal", "generic")
    equal = _entered(evidence, "equal")
    return Measured(
        (
            share_of(_ENTER, *_entered(evidence, "generic")),
            exponent_of(_MOST, rows, "location_error", statistic=0.9),
        ),
        settings_of(rows),
        (
            censored(rows),
            f"From equal coordinates {equal[0]} of {equal[1]} runs enter the second phase: the paper's "
            "experiments begin where the conjecture holds.",
        ),
        ("breaks", "figure-3"),
    )


_OPTIMUM = nearer(
    "exponent of n, error of the optimum",
    -1 / 8,
    {"n^(-1/12)": -1 / 12, "n^(-1/6)": -1 / 6, "n^(-1/4)": -1 / 4},
)


@chapter.claim(
    "diagonal-radius",
    "The optimum of the diagonal model is n^(-1/8) from the truth, not n^(-1/4)",
    "beside Appendix B.1",
    "ours",
    "At d >= 2 the error of the diagonal model's maximum-likelihood estimate falls like n^(-1/8), as at "
    "d = 1, not like the n^(-1/4) that is conjectured for ELU.",
    "Exponent of n in the error of the sample's own optimum, the best of several starts.",
    [_OPTIMUM],
)
def _(evidence: Evidence) -> Measured:
    rows = _to_the_end(evidence, "NewtonAnderson", "diagonal", "equal")
    return Measured(
        (exponent_of(_OPTIMUM, rows, "mle_location_error"),),
        settings_of(rows),
        (
            "On an axis the diagonal model is that of d = 1, with the radius n^(-1/8), and most samples "
            "have their optimum close to an axis. A method that finds the optimum ends there; ELU from "
            "equal coordinates is closer to the truth because it stops on the way.",
        ),
        ("breaks",),
    )


_PER_UNIT = 1.0 / math.log(1.0 / _BETA)
_PER_LOG = nearer(
    "iterations per unit of ln n",
    0.5 * _PER_UNIT,
    {"alpha = 1.5": 0.375 * _PER_UNIT, "alpha = 3": 0.75 * _PER_UNIT},
)
_LOGARITHMIC = predicts_better("logarithm")
_ARRIVE = at_least("share of samples on which the radius is reached, upper half of the sizes", 0.9)


def _arrivals(rows: pd.DataFrame) -> Measurement:
    sizes = sorted(rows["n"].unique())
    reached = rows[rows["n"].isin(sizes[len(sizes) // 2 :])]["reached"]
    return share_of(_ARRIVE, int(reached.sum()), len(reached))


def _logarithmic(rows: pd.DataFrame, *figures: str) -> Measured:
    found = rates.growth(rows, level=LEVEL, holdout=2)
    measurements = (
        Measurement(_PER_LOG, *found.slope_per_log, "upper half of the sizes"),
        contest(_LOGARITHMIC, found, "logarithm"),
        log_power(found),
        _arrivals(rows),
    )
    return Measured(measurements, settings_of(rows), (censored(rows),), figures)


@chapter.claim(
    "diagonal-iterations",
    "ELU needs O(log n) iterations on the diagonal model from equal coordinates",
    "Appendix B.1",
    "conjecture",
    "On the diagonal model ELU is within the radius after O(log(n/d)) iterations. With the homogeneity "
    "of Lemma 4(a) the multiple of log n is 0.5/ln(1/beta).",
    "Iterations until twice the radius (d/n)^(1/4) from equal coordinates, censored runs included, eta "
    "1 and beta 0.9.",
    [_PER_LOG, _LOGARITHMIC, LOG_POWER, _ARRIVE],
)
def _(evidence: Evidence) -> Measured:
    return _logarithmic(_to_the_radius(evidence, "ELU", "diagonal", "equal"), "figure-3")


_BOTH_SIDES = {**_SLOW, "n^(-1/3)": -1 / 3}
_LOCATION = nearer("exponent of n, location error", -1 / 4, _BOTH_SIDES)
_SCALE = nearer(
    "exponent of n, squared scale error",
    -1 / 2,
    {"no progress": 0.0, "n^(-1/4)": -1 / 4, "n^(-2/5)": -2 / 5, "n^(-2/3)": -2 / 3},
)
_RADII = (
    "Exponents of n in the validated errors, root mean square of the locations and mean of the squared "
    "scale, from starts in random directions. What the gap of the sample's eigenvalues, and of what is "
    "held out, explains is taken away."
)


def _general(evidence: Evidence, algorithm: str) -> Measured:
    rows = _to_the_end(evidence, algorithm, "general", "generic")
    timed = _to_the_radius(evidence, algorithm, "general", "generic")
    controls = ("sample_gap", "held_gap")
    fits = (
        corrected_of(_LOCATION, rows, "location_error", controls=controls),
        corrected_of(_SCALE, rows, "scale_error", "mean", controls=for_scale(2, controls)),
        _arrivals(timed),
    )
    remarks = [censored(rows)]
    if algorithm == "ELU":
        best = rows.groupby("n")["location_error"].median()
        turning = LemmaTable(evidence, "general_instability").row("turning time")["measured"]
        remarks.append(
            f"The median error is {best.iloc[0]:.2g} at n = {best.index[0]:.0e} and {best.iloc[-1]:.2g} "
            f"at n = {best.index[-1]:.0e}. The loss is not flat along the half sum of the "
            "locations: its curvature is 1, so a growing step blows up along it (at infinite n it turns "
            f"at t = {turning:.0f}); at the sizes of the paper's figure, up to 10^6, the radius "
            "itself is not much smaller, which hides it.".replace("e+", "e")
        )
    return Measured(fits, settings_of(rows), tuple(remarks), ("breaks", "figure-4"))


@chapter.claim(
    "general-printed",
    "ELU reaches n^(-1/4) on general locations, as printed",
    "Appendix B.2, Algorithm 3, Figure 4",
    "experiment",
    "With two free locations, ELU as printed finds them within O(n^(-1/4)) and the squared scale within "
    "O(n^(-1/2)).",
    f"{_RADII} Also the share of samples on which twice the radius is reached: nine of ten.",
    [_LOCATION, _SCALE, _ARRIVE],
)
def _(evidence: Evidence) -> Measured:
    return _general(evidence, "ELU")


@chapter.claim(
    "general-centred",
    "Centred ELU reaches n^(-1/4) on general locations",
    "a repair of Algorithm 3",
    "ours",
    "With an EM step for the half sum of the locations and the growing step for their half "
    "difference alone, the radii n^(-1/4) and n^(-1/2) are reached.",
    f"{_RADII} Also the share of samples on which twice the radius is reached: nine of ten.",
    [_LOCATION, _SCALE, _ARRIVE],
)
def _(evidence: Evidence) -> Measured:
    return _general(evidence, "CentredELU")


@chapter.claim(
    "general-centred-iterations",
    "Centred ELU needs O(log n) iterations on general locations",
    "a repair of Algorithm 3",
    "ours",
    "Centred ELU is within the radius after a multiple of log n iterations, 0.5/ln(1/beta).",
    "Iterations until twice the radius (d/n)^(1/4) from starts in random directions, censored runs "
    "included, eta 1 and beta 0.9.",
    [_PER_LOG, _LOGARITHMIC, LOG_POWER, _ARRIVE],
)
def _(evidence: Evidence) -> Measured:
    return _logarithmic(_to_the_radius(evidence, "CentredELU", "general", "generic"), "figure-4")


_EM = nearer(
    "exponent of n in EM's iterations",
    1 / 2,
    {"n^(1/3)": 1 / 3, "n^(2/5)": 2 / 5, "n^(3/5)": 3 / 5, "n^(3/4)": 3 / 4},
)
_POWER = predicts_better("power")
_EM_SLOWS = above(
    "EM: iterations of a step in the error over those of the step before", 2.0, {"linear": 1.0}
)
_AS_LINEAR = 1.25  # times the iterations of linear convergence, for a step of ELU
_ELU_KEEPS = above(
    f"ELU: share of runs whose last step takes at most {_AS_LINEAR:g} times the iterations of linear "
    "convergence",
    1.0,
    {"sublinear": 0.0},
)


def _geometric(expected: Expectation, each: list[float], where: str) -> Measurement:
    """The geometric mean over samples, with Student's interval of the logarithms."""
    found = mean([math.log(one) for one in each])
    value, low, high = (
        math.exp(found.measured + sign * found.uncertainty) for sign in (0.0, -1.0, 1.0)
    )
    return Measurement(expected, value, low, high, f"{len(each)} samples", where)


@chapter.claim(
    "other-models-descent",
    "EM is sublinear and ELU linear on the other models",
    "Appendix B, Figures 3 and 4, left",
    "experiment",
    "On the diagonal model and on general locations ELU converges to the radius linearly, EM "
    "sublinearly.",
    "In the runs of the figures' left-hand panels, steps in which the error falls by 2^(1/2), down to "
    "the radius (EM: geometric mean). Under linear convergence each takes as many iterations as the one "
    "before, ln 2/ln(1/beta) for ELU by Lemma 4(a); under the power law of alpha = 2 twice as many. And "
    "EM's iterations until twice the radius on lattice samples, d = 2.",
    [_EM_SLOWS, _ELU_KEEPS, _EM, _POWER],
)
def _(evidence: Evidence) -> Measured:
    measurements: list[Measurement] = []
    settings, remarks = [], []
    for number, start in ((3, "equal"), (4, "generic")):
        model, d = PANELS[number]
        paths = evidence.paths(model=model, d=d)
        em, elu = (
            agreement.steps_outside(paths[paths["algorithm"] == name]) for name in ("EM", "ELU")
        )
        if min(len(em), len(elu)) < 3:
            raise NoEvidence(f"Figure {number} has fewer than three runs with enough steps.")
        unit = agreement.linear_step(model, d, _BETA)
        where = f"{model} model"
        measurements += [
            _geometric(
                _EM_SLOWS, [(one[-1] / one[0]) ** (1 / (len(one) - 1)) for one in em], where
            ),
            share_of(_ELU_KEEPS, sum(one[-1] <= _AS_LINEAR * unit for one in elu), len(elu), where),
        ]
        rows = _to_the_radius(evidence, "EM", model, start)
        grown = rates.growth(rows, level=LEVEL, holdout=2)
        measurements += [
            Measurement(_EM, *grown.exponent, where=where),
            contest(_POWER, grown, "power", where),
        ]
        slow = np.median([one[-1] / unit for one in em])
        settings.append(settings_of(rows))
        remarks.append(
            f"{model.capitalize()} model: EM's last step takes {slow:.1f} times the iterations of ELU's "
            "linear convergence (median)."
        )
    return Measured(
        tuple(measurements), "; ".join(settings), tuple(remarks), ("figure-3", "figure-4")
    )
