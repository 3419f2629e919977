"""The diagonal model: where ELU reaches the radius, and where it does not."""

from __future__ import annotations

from elubench.papers.beyond_em.axes import CLOSE, IN_A_ROW
from elubench.papers.beyond_em.claims.beyond_isotropic import (
    GROWTH,
    SLOW,
    logarithmic,
    to_the_end,
    to_the_radius,
)
from elubench.papers.beyond_em.claims.shared import LemmaTable
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_least, at_most, below, nearer
from elubench.verification.measuring import (
    Measured,
    censored,
    exponent_of,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter

chapter = Chapter()


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


_MOST = below("exponent of n, 0.9 quantile of the location error", -1 / 4, SLOW)
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
    rows = to_the_end(evidence, "ELU", "diagonal", "equal")
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
    rows = to_the_end(evidence, "ELU", "diagonal", "generic")
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
    rows = to_the_end(evidence, "NewtonAnderson", "diagonal", "equal")
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


@chapter.claim(
    "diagonal-iterations",
    "ELU needs O(log n) iterations on the diagonal model from equal coordinates",
    "Appendix B.1",
    "conjecture",
    "On the diagonal model ELU is within the radius after O(log(n/d)) iterations. With the homogeneity "
    "of Lemma 4(a) the multiple of log n is 0.5/ln(1/beta).",
    "Iterations until twice the radius (d/n)^(1/4) from equal coordinates, censored runs included, eta "
    "1 and beta 0.9.",
    GROWTH,
)
def _(evidence: Evidence) -> Measured:
    return logarithmic(to_the_radius(evidence, "ELU", "diagonal", "equal"), "figure-3")
