"""Every claim of the paper that can be checked against measurements, and a few of ours.

A claim is a function of the evidence that returns its measurements; the verdict follows by the one rule
of :mod:`elubench.verification.verdicts`.
"""

from __future__ import annotations

from elubench.papers.beyond_em.claims import em, landscape, other_models, practice, rivals, theorem

#: In the order of the report.
CHAPTERS = tuple(
    module.chapter for module in (theorem, em, practice, landscape, other_models, rivals)
)
