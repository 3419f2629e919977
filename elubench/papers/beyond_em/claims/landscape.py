"""Lemmas 1 to 4, and that the diagonal loss is not convex."""

from __future__ import annotations

from elubench.papers.beyond_em.claims.shared import LemmaTable
from elubench.papers.beyond_em.lemmas.noise import MULTIPLE
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import above, at_least, at_most, near, nearer
from elubench.verification.measuring import Measured
from elubench.verification.paper import Chapter

chapter = Chapter()

_UNIVARIATE = "isotropic model, d = 1, lattice samples, n = 10^6 to 10^12"
_FLATNESS = {
    1: ("d = 1", 6.0, {f"alpha = {alpha}": float(alpha) for alpha in (4, 5, 7, 8)}),
    2: ("d >= 2", 2.0, {f"alpha = {alpha}": float(alpha) for alpha in (1, 3, 4)}),
}
_ALPHA = {
    (of, d): near(f"alpha of the {of} at {said}", alpha, 0.001, rivals)
    for of in ("gradient", "Hessian")
    for d, (said, alpha, rivals) in _FLATNESS.items()
}
# Constants are looked for from the ball's edge down to a thousandth of its radius: with an alpha that is
# one too large or too small, one of them would be off by a factor of about 1000.
_C1 = at_most(
    "C1, the largest eigenvalue of the Hessian over |theta|^alpha, over its limit at the truth",
    10.0,
    rivals={"alpha too large by 1": 1000.0},
)
_C2 = at_least(
    "C2, the least gradient over the power of the gap, over its limit at the truth",
    0.1,
    rivals={"no such constant": 0.0},
)
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
    "how far the least eigenvalue stays positive: C1 has to be finite and C2 positive, so each is "
    "compared with its limit at the truth.",
    [*_ALPHA.values(), _C1, _C2, _CONVEX],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "homogeneity")
    measurements = []
    for d in table.dimensions("convexity radius"):
        for of in ("gradient", "Hessian"):
            expected = _ALPHA[of, min(d, 2)]
            measurements.append(table.measured(expected, d, f"alpha of the {of}"))
        measurements.append(table.measured(_C1, d, "c1", over=True))
        measurements.append(table.measured(_C2, d, "c2", over=True))
        measurements.append(table.measured(_CONVEX, d, "convexity radius", over=True))
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


_PHASE_2 = nearer("exponent of r below n^(-1/16)", 3.0, {"gamma = 2": 2.0, "gamma = 4": 4.0})
_PHASE_1 = above("exponent of r above n^(-1/16)", 1.0, {"gamma = 0": 0.0, "gamma = 1/2": 0.5})
_TIGHT = nearer(
    "exponent of r above n^(-1/16)", 1.0, {"gamma = 0": 0.0, "gamma = 2": 2.0, "gamma = 3": 3.0}
)
_NOISE_N = nearer(
    "exponent of n in the noise",
    -1 / 2,
    {"n^(-1/4)": -1 / 4, "n^(-1/3)": -1 / 3, "n^(-1)": -1.0},
)


@chapter.claim(
    "lemma-2a-bounds",
    "The noise of the gradient is bounded by r^3 n^(-1/2) near the truth, d = 1",
    "Lemma 2(a)",
    "lemma",
    "At d = 1 the largest difference of sample and population gradient on a ball of radius r is at "
    "most a multiple of r n^(-1/2), and of r^3 n^(-1/2) where r is below n^(-1/16), up to logarithms.",
    "Exponents of r and n. The claims are upper bounds; below n^(-1/16) the exponent is that of the "
    "bound.",
    [_PHASE_2, _PHASE_1, _NOISE_N],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_univariate")
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
    table = LemmaTable(evidence, "stability_univariate")
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


_GAMMA_D = nearer("exponent of r", 1.0, {"gamma = 1/2": 0.5, "gamma = 2": 2.0})
_NOISE_N_D = nearer(
    "exponent of n in the noise",
    -1 / 2,
    {"n^(-1/4)": -1 / 4, "n^(-1/3)": -1 / 3, "n^(-1)": -1.0},
)
_MULTIPLE = at_most("noise over r (d/n)^(1/2), mean over samples", 2.2)
_BOUNDED = at_least(f"share of samples with noise at most {MULTIPLE:g} r (d/n)^(1/2)", 0.95, 1.0)
_ATTAINED = at_least("noise that the search finds, over its supremum at r = 0.003", 0.99, 1.0)


@chapter.claim(
    "lemma-2b",
    "The noise of the gradient is bounded by r (d/n)^(1/2), d >= 2",
    "Lemma 2(b)",
    "lemma",
    "At d >= 2 the largest difference of sample and population gradient on a ball of radius r is, "
    "with high probability, at most a multiple of r (d/n)^(1/2).",
    "Exponents of r, at every d, and of n; and the multiple, the largest over radii from 0.003 to "
    "0.1: its mean at every d, at most a tenth above its limit at large d, 2, and how often it stays "
    "below a bound. The "
    "supremum over directions is searched from below; at the smallest radius it is known.",
    [_GAMMA_D, _NOISE_N_D, _MULTIPLE, _BOUNDED, _ATTAINED],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "stability_multivariate")
    multiple = "noise (n/d)^(1/2)/r"
    measurements = [table.measured(_GAMMA_D, d, "gamma") for d in table.dimensions("gamma")]
    measurements += [table.measured(_MULTIPLE, d, multiple) for d in table.dimensions(multiple)]
    measurements += [
        table.measured(_NOISE_N_D, quantity="exponent of n"),
        table.measured(_BOUNDED, quantity=f"share of samples with {multiple} <= {MULTIPLE:g}"),
        table.measured(_ATTAINED, quantity="sup over its operator norm"),
    ]
    growth = table.row("exponent of d")["measured"]
    return Measured(
        tuple(measurements),
        "isotropic model, direct samples, n = 1,000 to 36,000, d = 2 to 32",
        (
            f"Over these d the noise grows like d^{growth:.2f}, faster than d^(1/2): "
            "the multiple approaches its limit from below, so the bound holds and is loose at small d.",
        ),
        ("stability",),
    )


_PSEUDO = at_least("least <grad f, theta>/gap", 1.0, rivals={"increasing along rays, no more": 0.0})


@chapter.claim(
    "lemma-3",
    "The diagonal loss is pseudo-convex",
    "Lemma 3",
    "lemma",
    "On a ball around the truth the gap is at most <grad f, theta>.",
    "The least ratio found at d = 2, 3, 4 and 8, wherever the scales are positive.",
    [_PSEUDO],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "pseudo_convexity")
    measurements = [table.measured(_PSEUDO, d) for d in table.dimensions(_PSEUDO.what)]
    settings = "diagonal model at infinite n, searched on a grid"
    return Measured(tuple(measurements), settings, (), ("landscape",))


_LEAST = near("least eigenvalue of the Hessian over r^2", -1 / 2, 0.01, {"convex": 0.0})


@chapter.claim(
    "diagonal-not-convex",
    "The diagonal loss is not convex near the truth",
    "Appendix B.1, before Lemma 3",
    "remark",
    "On the diagonal model the restricted loss is not convex on any ball about the truth, in contrast "
    "to the isotropic one.",
    "The least eigenvalue of the Hessian over directions, over r^2, as r tends to 0: -1/2 by the "
    "leading term of the loss.",
    [_LEAST],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_hessian")
    quantity = "least eigenvalue / r^2 over directions"
    measurements = [table.measured(_LEAST, d, quantity) for d in table.dimensions(quantity)]
    settings = "diagonal model at infinite n, d = 2, 3, 4"
    return Measured(tuple(measurements), settings, (), ("landscape",))


_ONE_CONSTANT = near(
    "exponent of the radius in the least ratio |grad f|/gap^(3/4)",
    0.0,
    0.01,
    {"a constant like r": 1.0},
)
_SMOOTH = near(
    "exponent of the radius in the greatest |Hessian|",
    2.0,
    0.01,
    {"alpha = 1": 1.0, "alpha = 3": 3.0},
)


@chapter.claim(
    "lemma-4a",
    "One constant bounds the diagonal gradient from below",
    "Lemma 4(a)",
    "lemma",
    "Where theta has at least two nonzero entries, the Hessian is at most a multiple of |theta|^2, and "
    "the gradient at least a multiple of the gap to the power 3/4, with one constant each for all of "
    "a ball.",
    "How the greatest Hessian and the least |grad f|/gap^(3/4) over all directions change with the "
    "radius.",
    [_ONE_CONSTANT, _SMOOTH],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "diagonal_homogeneity")
    hessian = LemmaTable(evidence, "diagonal_hessian")
    quantity = "exponent of the greatest |Hessian|"
    return Measured(
        (
            table.measured(_ONE_CONSTANT, quantity="exponent of least growth"),
            *(hessian.measured(_SMOOTH, d, quantity) for d in hessian.dimensions(quantity)),
        ),
        "diagonal model at infinite n, d = 2 (gradient), 2, 3, 4 (Hessian)",
        (
            "The bound of the Hessian holds, that of the gradient does not. "
            "Close to an axis the loss is as flat as at d = 1, even where the other entry is not zero: "
            "the constant falls to 0 like the radius.",
        ),
        ("landscape",),
    )


_ALONG = near(
    "exponent along the axis",
    6.0,
    0.001,
    {f"alpha = {alpha}": float(alpha) for alpha in (2, 4, 5, 7, 8)},
)
_C4 = at_least(
    "C4, the limit at the truth of the gradient over the power of the gap",
    1.0,
    rivals={"no such constant": 0.0},
)


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
