"""Lemmas 1 to 4."""

from __future__ import annotations

from elubench.papers.beyond_em import theory
from elubench.papers.beyond_em.claims.shared import LemmaTable
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import ERRORS, EXACT, INF, Measured, around
from elubench.verification.paper import Chapter

chapter = Chapter()

_UNIVARIATE = (
    "isotropic model, d = 1, lattice samples, n = 10^6 to 10^12; intervals of two standard errors"
)
_IN_WORDS = {
    "c1": "C1, the largest eigenvalue of the Hessian over |theta|^alpha at most",
    "c2": "C2, the gradient over the power of the gap at least",
    "convexity radius": "radius of the ball on which the loss is convex",
}


@chapter.claim(
    "lemma-1",
    "The population loss is homogeneous: alpha = 6, and 2 at d >= 2",
    "Lemma 1",
    "lemma",
    "At infinite n the restricted loss is locally convex, its Hessian is at most C1 |theta|^alpha, "
    "and its gradient is at least C2 times the gap to the power (alpha + 1)/(alpha + 2), with "
    "constants C1 and C2 on a ball about the truth; alpha is 6 at d = 1 and 2 at d >= 2.",
    "Exponents of gradient and Hessian at the truth, the constants on the ball of the proof, and "
    "how far the least eigenvalue stays positive. Agrees: exponents within a hundredth, a finite "
    "C1, a positive C2, and convexity on the whole ball.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "homogeneity")
    measurements = []
    for d in table.dimensions("convexity radius"):
        alpha = theory.homogeneity("isotropic", d).value
        for quantity, accepted in (
            ("alpha of the gradient", around(alpha, EXACT)),
            ("alpha of the Hessian", around(alpha, EXACT)),
            ("c1", (0.0, 1e6)),
            ("c2", (1e-6, INF)),
            ("convexity radius", (float(table.row("convexity radius", d)["theory"]), INF)),
        ):
            measurements.append(table.measured(quantity, accepted, d, _IN_WORDS.get(quantity, "")))
    proof = table.rows[table.rows["quantity"] == "radius of the proof's bound"]
    reach = ", ".join(f"{row.measured:.3f} at d = {row.d}" for row in proof.itertuples())
    return Measured(
        tuple(measurements),
        "isotropic model at infinite n",
        (
            "The statement holds, but the proof does not establish it. The bound that the proof calls "
            f"positive on its ball is positive only up to {reach}; and a gradient c(theta) theta "
            "with c > 0 makes the loss grow along rays, which is not convexity.",
        ),
        ("landscape",),
    )


@chapter.claim(
    "lemma-2a-bounds",
    "The noise of the gradient is bounded by r^3 n^(-1/2) near the truth, d = 1",
    "Lemma 2(a)",
    "lemma",
    "At d = 1 the largest difference of sample and population gradient on a ball of radius r is at "
    "most a multiple of r n^(-1/2), and of r^3 n^(-1/2) where r is below n^(-1/16), up to logarithms.",
    "Exponents of r and n. The claims are upper bounds. Agrees: an exponent of r of at least 0.8 above "
    "and 2.8 below n^(-1/16), and an exponent of n within a fifth of -1/2.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_univariate", errors=2.0)
    measurements = (
        table.measured("gamma, phase 2", (2.8, INF)),
        table.measured("gamma, phase 1", (0.8, INF)),
        table.measured("exponent of n", around(-0.5, ERRORS)),
    )
    return Measured(measurements, _UNIVARIATE, (), ("stability",))


@chapter.claim(
    "lemma-2a-phases",
    "There is a phase with gamma = 1 at d = 1",
    "Section 2.3, after Lemma 2",
    "remark",
    "At d = 1 stability has two phases: gamma = 1 where r is above n^(-1/16), gamma = 3 below; the "
    "bounds are tight.",
    "Exponent of r in the noise above n^(-1/16). Agrees: within a fifth of 1.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_univariate", errors=2.0)
    return Measured(
        (table.measured("gamma, phase 1", around(1.0, ERRORS)),),
        _UNIVARIATE,
        (
            "On the curve of the scale the loss has no term of order theta^2 at d = 1, whatever "
            "the sample, so there is no noise of order r: near 0 it is r^3 times a third of the "
            "sample's excess kurtosis. The radius n^(-1/8) follows from the second phase alone.",
        ),
        ("stability",),
    )


@chapter.claim(
    "lemma-2b",
    "The noise of the gradient is bounded by r (d/n)^(1/2), d >= 2",
    "Lemma 2(b)",
    "lemma",
    "At d >= 2 the largest difference of sample and population gradient on a ball of radius r is "
    "at most a multiple of r (d/n)^(1/2).",
    "Exponent of r at every d, exponent of n, and the noise over r (d/n)^(1/2) at the largest d. "
    "Agrees: exponents within a fifth of 1 and two fifths of -1/2, and a ratio of at most 2.2: its "
    "limit at large d is 2.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_multivariate", errors=2.0)
    measurements = [
        table.measured("gamma", around(1.0, ERRORS), d, label="exponent of r")
        for d in table.dimensions("gamma")
    ]
    measurements.append(table.measured("exponent of n", around(-0.5, 2 * ERRORS)))
    measurements.append(table.measured("noise (n/d)^(1/2)/r", (0.0, 2.2)))
    growth = table.row("exponent of d")["measured"]
    return Measured(
        tuple(measurements),
        "isotropic model, direct samples, d = 2 to 32; intervals of two standard errors",
        (
            f"Over these d the noise grows like d^{growth:.2f}, faster than d^(1/2): "
            "the multiple approaches its limit from below, so the bound holds and is loose at small d.",
        ),
        ("stability",),
    )


@chapter.claim(
    "lemma-3",
    "The diagonal loss is pseudo-convex",
    "Lemma 3",
    "lemma",
    "On a ball around the truth the gap is at most <grad f, theta>.",
    "The least ratio <grad f, theta>/gap found at d = 2, 3, 4 and 8. Agrees: at least 1.",
)
def _(evidence: Evidence) -> Measured:
    table, quantity = LemmaTable(evidence, "pseudo_convexity"), "least <grad f, theta>/gap"
    measurements = [table.measured(quantity, (1.0, INF), d) for d in table.dimensions(quantity)]
    settings = "diagonal model at infinite n, searched on a grid"
    return Measured(tuple(measurements), settings, (), ("landscape",))


@chapter.claim(
    "lemma-4a",
    "One constant bounds the diagonal gradient from below",
    "Lemma 4(a)",
    "lemma",
    "Where theta has at least two nonzero entries, the gradient is at least a multiple "
    "of the gap to the power 3/4, with one constant for all of a ball.",
    "How the least ratio |grad f|/gap^(3/4) over all directions changes with the radius. Agrees: "
    "an exponent within 0.1 of 0.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_homogeneity")
    return Measured(
        (table.measured("exponent of least growth", (-0.1, 0.1)),),
        "diagonal model at infinite n, d = 2",
        (
            "Close to an axis the loss is as flat as at d = 1, even where the other entry is not zero: "
            "the constant falls to 0 like the radius.",
        ),
        ("landscape",),
    )


@chapter.claim(
    "lemma-4b",
    "On an axis the diagonal loss is as flat as at d = 1",
    "Lemma 4(b)",
    "lemma",
    "Where theta has one nonzero entry, the curvature along it is at most a multiple of "
    "theta_1^6, and the gradient at least a multiple of the gap to the power 7/8.",
    "Agrees: an exponent within a hundredth of 6, and a positive constant.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_homogeneity")
    across = table.row("curvature across / theta_1^2")["measured"]
    return Measured(
        (
            table.measured("exponent along the axis", around(6.0, EXACT)),
            table.measured("C4", (1e-6, INF)),
        ),
        "diagonal model at infinite n, d = 2",
        (
            f"Across the axis the curvature is {across:.3g} theta_1^2, which the lemma does "
            "not mention: it is what makes a growing step blow up there.",
        ),
        ("landscape",),
    )
