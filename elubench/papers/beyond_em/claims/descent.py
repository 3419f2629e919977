"""How EM and ELU descend on the diagonal model and on general locations."""

from __future__ import annotations

import math

import numpy as np

from elubench import rates
from elubench.papers.beyond_em import agreement
from elubench.papers.beyond_em.claims.beyond_isotropic import BETA, to_the_radius
from elubench.papers.beyond_em.lemmas.estimates import mean
from elubench.papers.beyond_em.rows import PANELS
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, above, nearer
from elubench.verification.measuring import (
    Measured,
    NoEvidence,
    contest,
    predicts_better,
    settings_of,
    share_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()


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
        unit = agreement.linear_step(model, d, BETA)
        where = f"{model} model"
        measurements += [
            _geometric(
                _EM_SLOWS, [(one[-1] / one[0]) ** (1 / (len(one) - 1)) for one in em], where
            ),
            share_of(_ELU_KEEPS, sum(one[-1] <= _AS_LINEAR * unit for one in elu), len(elu), where),
        ]
        rows = to_the_radius(evidence, "EM", model, start)
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
    remarks.append(
        "The shares are of few runs: fresh seeds leave them undecided more often than the other claims."
    )
    return Measured(
        tuple(measurements), "; ".join(settings), tuple(remarks), ("figure-3", "figure-4")
    )
