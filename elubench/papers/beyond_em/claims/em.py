"""EM's own errors once it has converged."""

from __future__ import annotations

import numpy as np

from elubench.papers.beyond_em.corrections import for_scale
from elubench.papers.beyond_em.rows import converged
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import nearer
from elubench.verification.measuring import Measured, NoEvidence, corrected_of, settings_of
from elubench.verification.paper import Chapter

chapter = Chapter()

_LOCATION, _SCALE = "exponent of n, EM's location error", "exponent of n, EM's squared scale error"
_OPTIMUM = "optimum that the kurtosis predicts"
_RADII = {
    1: (
        nearer(_LOCATION, -1 / 8, {"n^(-1/12)": -1 / 12, "n^(-1/9)": -1 / 9, "n^(-1/7)": -1 / 7}),
        nearer(_SCALE, -1 / 4, {"n^(-1/6)": -1 / 6, "n^(-2/9)": -2 / 9, "n^(-2/7)": -2 / 7}),
    ),
    2: (
        nearer(_LOCATION, -1 / 4, {"n^(-1/8)": -1 / 8, "n^(-2/9)": -2 / 9, "n^(-2/7)": -2 / 7}),
        nearer(_SCALE, -1 / 2, {"n^(-1/4)": -1 / 4, "n^(-4/9)": -4 / 9, "n^(-4/7)": -4 / 7}),
    ),
}


def _radii(evidence: Evidence, d: int) -> Measured:
    rows = converged(evidence, d)
    if rows.empty:
        raise NoEvidence(f"No runs of EM without validation at d = {d}.")
    location, scale = _RADII[d]
    controls: tuple[str, ...] = ("sample_gap",)
    if d == 1:  # theta^4 is -k/2 where the excess kurtosis k is negative, and else 0
        optimum = np.sqrt(0.5 * np.maximum(-rows["sample_kurtosis"], 0.0))
        # Controls are multiplied by n^(1/2), and the square of the location is of order n^(-1/4).
        rows = rows.assign(**{_OPTIMUM: optimum * rows["n"] ** -0.25})
        controls = (_OPTIMUM, "sample_kurtosis")
    distance = float((rows["mle_distance"] / rows["radius"]).median())
    return Measured(
        (
            corrected_of(location, rows, "location_error", controls=controls),
            corrected_of(scale, rows, "scale_error", "mean", controls=for_scale(d, controls)),
        ),
        settings_of(rows),
        (
            "EM ends at the sample's own optimum: half of the runs are within "
            f"{distance:.1g} of the radius of it.",
        ),
        ("local-slopes",),
    )


@chapter.claim(
    "em-radii-1",
    "EM reaches n^(-1/8) and n^(-1/4) in the end, d = 1",
    "Section 2.2, after Theorem 1",
    "remark",
    "At d = 1 EM reaches the radii that ELU does, n^(-1/8) for the location and n^(-1/4) for the "
    "squared scale; it only takes longer.",
    "Exponents of n in the errors of EM's last iterate after 5 n^(3/4) iterations: root mean square of "
    "the location, mean of the squared scale. What the excess kurtosis k of each sample explains, by "
    "itself and through the optimum (-k/2)^(1/4), is taken away; the plain fit stands beside it.",
    _RADII[1],
)
def _(evidence: Evidence) -> Measured:
    return _radii(evidence, 1)


@chapter.claim(
    "em-radii-d",
    "EM reaches n^(-1/4) and n^(-1/2) in the end, d >= 2",
    "Section 2.2, after Theorem 1",
    "remark",
    "At d >= 2 EM reaches the radii that ELU does, (d/n)^(1/4) for the location and (nd)^(-1/2) for the "
    "squared scale; it only takes longer.",
    "As at d = 1, after 10 (n/d)^(1/2) iterations at d = 2, where the gap of the sample's eigenvalues, "
    "and for the scale their trace, stand for chance.",
    _RADII[2],
)
def _(evidence: Evidence) -> Measured:
    return _radii(evidence, 2)
