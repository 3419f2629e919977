"""Every claim of the paper that can be checked against measurements, and a few of ours.

A claim is a function of the evidence that returns its measurements; the verdict follows by the one rule
of :mod:`elubench.verification.verdicts`.
"""

from __future__ import annotations

from elubench.papers.beyond_em.claims import (
    conditions,
    descent,
    diagonal,
    em,
    general,
    landscape,
    limits,
    practice,
    rivals,
    separation,
    theorem,
)

#: In the order of the report.
CHAPTERS = tuple(
    module.chapter
    for module in (
        theorem,
        em,
        conditions,
        practice,
        separation,
        landscape,
        diagonal,
        general,
        descent,
        limits,
        rivals,
    )
)
