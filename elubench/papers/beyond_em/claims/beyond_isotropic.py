"""What claims on the diagonal model and on general locations share: rows, and growth like ln n."""

from __future__ import annotations

import math

import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.papers.beyond_em.claims.shared import SEVERAL, at_smallest_d
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_least, nearer
from elubench.verification.measuring import (
    LOG_POWER,
    Measured,
    censored,
    contest,
    log_power,
    predicts_better,
    settings_of,
    share_of,
)
from elubench.verification.verdicts import LEVEL, Measurement

#: The paper's ELU beyond the isotropic model.
_ETA, BETA = 1.0, 0.9
#: Exponents of the location's error that are too small.
SLOW = {"no progress": 0.0, "n^(-1/8)": -1 / 8, "n^(-1/5)": -1 / 5}


def to_the_end(evidence: Evidence, algorithm: str, model: str, start: str) -> pd.DataFrame:
    """Runs that are not stopped at the radius."""
    asked = {"algorithm": algorithm, "model": model, "start": start}
    return at_smallest_d(evidence, **asked, stop="end", samples="lattice")


def to_the_radius(evidence: Evidence, algorithm: str, model: str, start: str) -> pd.DataFrame:
    """Runs to the radius, of ELU with the paper's steps."""
    asked = {"algorithm": algorithm, "model": model, "start": start, "d": SEVERAL}
    rows = at_smallest_d(evidence, **asked, stop="radius", samples="lattice")
    if algorithm == "EM":
        return rows
    given = [numbers_in(str(options)) for options in rows["options"]]
    return rows[[(one["eta"], one["beta"]) == (_ETA, BETA) for one in given]]


_PER_UNIT = 1.0 / math.log(1.0 / BETA)
_PER_LOG = nearer(
    "iterations per unit of ln n",
    0.5 * _PER_UNIT,
    {"alpha = 1.5": 0.375 * _PER_UNIT, "alpha = 3": 0.75 * _PER_UNIT},
)
_LOGARITHMIC = predicts_better("logarithm")
ARRIVE = at_least("share of samples on which the radius is reached, upper half of the sizes", 0.9)
#: What is expected of iterations that grow like ln n.
GROWTH = (_PER_LOG, _LOGARITHMIC, LOG_POWER, ARRIVE)


def arrivals(rows: pd.DataFrame) -> Measurement:
    """On how many samples the radius is reached."""
    sizes = sorted(rows["n"].unique())
    reached = rows[rows["n"].isin(sizes[len(sizes) // 2 :])]["reached"]
    return share_of(ARRIVE, int(reached.sum()), len(reached))


def logarithmic(rows: pd.DataFrame, *figures: str) -> Measured:
    """Iterations compared with a logarithm."""
    found = rates.growth(rows, level=LEVEL, holdout=2)
    measurements = (
        Measurement(_PER_LOG, *found.slope_per_log, "upper half of the sizes"),
        contest(_LOGARITHMIC, found, "logarithm"),
        log_power(found),
        arrivals(rows),
    )
    return Measured(measurements, settings_of(rows), (censored(rows),), figures)
