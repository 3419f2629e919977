"""Lemmas 1 to 4."""

from __future__ import annotations

from elubench.papers.beyond_em.claims.shared import LemmaTable
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import at_least, at_most, near
from elubench.verification.measuring import Measured, exactly
from elubench.verification.paper import Chapter

chapter = Chapter()

_UNIVARIATE = (
    "isotropic model, d = 1, lattice samples, n = 10^6 to 10^12; intervals of two standard errors"
)
_ALPHA = {
    (of, d): near(f"alpha of the {of} at {said}", alpha, 0.01 * alpha)
    for of in ("gradient", "Hessian")
    for d, said, alpha in ((1, "d = 1", 6.0), (2, "d >= 2", 2.0))
}
_C1 = at_most("C1, the largest eigenvalue of the Hessian over |theta|^alpha at most", 1e6)
_C2 = at_least("C2, the gradient over the power of the gap at least", 1e-6)
_CONVEX = at_least("radius of the ball on which the loss is convex, over that of the lemma", 1.0)


@chapter.claim(
    "lemma-1",
    "The population loss is homogeneous: alpha = 6, and 2 at d >= 2",
    "Lemma 1",
    "lemma",
    "At infinite n the restricted loss is locally convex, its Hessian is at most C1 |theta|^alpha, "
    "and its gradient is at least C2 times the gap to the power (alpha + 1)/(alpha + 2), with "
    "constants C1 and C2 on a ball about the truth; alpha is 6 at d = 1 and 2 at d >= 2.",
    "Exponents of gradient and Hessian at the truth, the constants on the ball of the proof, and "
    "how far the least eigenvalue stays positive: C1 has to be finite and C2 positive.",
    [*_ALPHA.values(), _C1, _C2, _CONVEX],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "homogeneity")
    measurements = []
    for d in table.dimensions("convexity radius"):
        for of in ("gradient", "Hessian"):
            expected = _ALPHA[of, min(d, 2)]
            measurements.append(table.measured(expected, d, f"alpha of the {of}"))
        measurements.append(table.measured(_C1, d, "c1"))
        measurements.append(table.measured(_C2, d, "c2"))
        found = table.row("convexity radius", d)
        ratio = found["measured"] / found["theory"]
        measurements.append(exactly(_CONVEX, ratio, found["note"], f"d = {d}"))
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


_PHASE_2 = at_least("exponent of r below n^(-1/16)", 2.8, 3.0)
_PHASE_1 = at_least("exponent of r above n^(-1/16)", 0.8, 1.0)
_TIGHT = near("exponent of r above n^(-1/16)", 1.0, 0.2)
_NOISE_N = near("exponent of n in the noise", -1 / 2, 0.1)


@chapter.claim(
    "lemma-2a-bounds",
    "The noise of the gradient is bounded by r^3 n^(-1/2) near the truth, d = 1",
    "Lemma 2(a)",
    "lemma",
    "At d = 1 the largest difference of sample and population gradient on a ball of radius r is at "
    "most a multiple of r n^(-1/2), and of r^3 n^(-1/2) where r is below n^(-1/16), up to logarithms.",
    "Exponents of r and n. The claims are upper bounds.",
    [_PHASE_2, _PHASE_1, _NOISE_N],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_univariate", errors=2.0)
    measurements = (
        table.measured(_PHASE_2, quantity="gamma, phase 2"),
        table.measured(_PHASE_1, quantity="gamma, phase 1"),
        table.measured(_NOISE_N, quantity="exponent of n"),
    )
    return Measured(measurements, _UNIVARIATE, (), ("stability",))


@chapter.claim(
    "lemma-2a-phases",
    "There is a phase with gamma = 1 at d = 1",
    "Section 2.3, after Lemma 2",
    "remark",
    "At d = 1 stability has two phases: gamma = 1 where r is above n^(-1/16), gamma = 3 below; the "
    "bounds are tight.",
    "Exponent of r in the noise above n^(-1/16).",
    [_TIGHT],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_univariate", errors=2.0)
    return Measured(
        (table.measured(_TIGHT, quantity="gamma, phase 1"),),
        _UNIVARIATE,
        (
            "On the curve of the scale the loss has no term of order theta^2 at d = 1, whatever "
            "the sample, so there is no noise of order r: near 0 it is r^3 times a third of the "
            "sample's excess kurtosis. The radius n^(-1/8) follows from the second phase alone.",
        ),
        ("stability",),
    )


_GAMMA_D = near("exponent of r", 1.0, 0.2)
_NOISE_N_D = near("exponent of n in the noise", -1 / 2, 0.2)
_RATIO_D = at_most("noise over r (d/n)^(1/2), largest d", 2.2)


@chapter.claim(
    "lemma-2b",
    "The noise of the gradient is bounded by r (d/n)^(1/2), d >= 2",
    "Lemma 2(b)",
    "lemma",
    "At d >= 2 the largest difference of sample and population gradient on a ball of radius r is "
    "at most a multiple of r (d/n)^(1/2).",
    "Exponent of r at every d, exponent of n, and the noise over r (d/n)^(1/2) at the largest d, "
    "whose limit at large d is 2.",
    [_GAMMA_D, _NOISE_N_D, _RATIO_D],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_multivariate", errors=2.0)
    measurements = [table.measured(_GAMMA_D, d, "gamma") for d in table.dimensions("gamma")]
    measurements.append(table.measured(_NOISE_N_D, quantity="exponent of n"))
    measurements.append(table.measured(_RATIO_D, quantity="noise (n/d)^(1/2)/r"))
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


_PSEUDO = at_least("least <grad f, theta>/gap", 1.0)


@chapter.claim(
    "lemma-3",
    "The diagonal loss is pseudo-convex",
    "Lemma 3",
    "lemma",
    "On a ball around the truth the gap is at most <grad f, theta>.",
    "The least ratio found at d = 2, 3, 4 and 8.",
    [_PSEUDO],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "pseudo_convexity")
    measurements = [table.measured(_PSEUDO, d) for d in table.dimensions(_PSEUDO.what)]
    settings = "diagonal model at infinite n, searched on a grid"
    return Measured(tuple(measurements), settings, (), ("landscape",))


_ONE_CONSTANT = near("exponent of the radius in the least ratio", 0.0, 0.1)


@chapter.claim(
    "lemma-4a",
    "One constant bounds the diagonal gradient from below",
    "Lemma 4(a)",
    "lemma",
    "Where theta has at least two nonzero entries, the gradient is at least a multiple "
    "of the gap to the power 3/4, with one constant for all of a ball.",
    "How the least ratio |grad f|/gap^(3/4) over all directions changes with the radius.",
    [_ONE_CONSTANT],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_homogeneity")
    return Measured(
        (table.measured(_ONE_CONSTANT, quantity="exponent of least growth"),),
        "diagonal model at infinite n, d = 2",
        (
            "Close to an axis the loss is as flat as at d = 1, even where the other entry is not zero: "
            "the constant falls to 0 like the radius.",
        ),
        ("landscape",),
    )


_ALONG = near("exponent along the axis", 6.0, 0.06)
_C4 = at_least("C4, the gradient over the power of the gap at least", 1e-6)


@chapter.claim(
    "lemma-4b",
    "On an axis the diagonal loss is as flat as at d = 1",
    "Lemma 4(b)",
    "lemma",
    "Where theta has one nonzero entry, the curvature along it is at most a multiple of "
    "theta_1^6, and the gradient at least a multiple of the gap to the power 7/8.",
    "Exponent of the curvature, and the constant, which has to be positive.",
    [_ALONG, _C4],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_homogeneity")
    across = table.row("curvature across / theta_1^2")["measured"]
    return Measured(
        (
            table.measured(_ALONG),
            table.measured(_C4, quantity="C4"),
        ),
        "diagonal model at infinite n, d = 2",
        (
            f"Across the axis the curvature is {across:.3g} theta_1^2, which the lemma does "
            "not mention: it is what makes a growing step blow up there.",
        ),
        ("landscape",),
    )
