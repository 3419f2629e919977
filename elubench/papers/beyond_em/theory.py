"""What the paper claims, as numbers: homogeneity, stability, radii, growth of iterations.

Everything follows from two constants of a model and a dimension, homogeneity alpha (Definition 1) and
stability gamma (Definition 2). `models.flatness` says what they are, and why the radius is
`epsilon^(1 / (alpha + 1 - gamma))` (Proposition 1): n^(-1/8) with (alpha, gamma) = (6, 3), d = 1, and
(d/n)^(1/4) with (2, 1), d >= 2.

**EM** reaches a radius r after `r^(-alpha) / (alpha kappa)` iterations (`algorithms.em`): n^(3/4) at
d = 1 and (n/d)^(1/2) at d >= 2.

**ELU** settles where each step multiplies theta by `beta^(1/alpha)` (`algorithms.elu`). It reaches r
when `beta^(t/alpha)` is of order r, that is after

    t = alpha ln(1/r) / ln(1/beta) + constant = alpha |a| ln n / ln(1/beta) + constant

with `r = n^a`: 0.75/ln(1/beta) iterations per unit of ln n at d = 1, where `alpha |a| = 6/8`, and
0.5/ln(1/beta) at d >= 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy.optimize import brentq

from elubench import checks
from elubench.algorithms import elu, em
from elubench.models.base import Model
from elubench.models.flatness import location_scale
from elubench.models.known import named
from elubench.models.known import radius as radius

MODELS = ("isotropic", "diagonal", "general")
ALGORITHMS = ("em", "elu")

#: A model, its class or its name.
AnyModel = Model | type[Model] | str
# How firmly the paper supports a statement about a model.
Status = Literal["proved", "experiment", "conjecture"]


class _Places(NamedTuple):
    """Where the paper states what it says about a model, and how it supports the rates."""

    homogeneity: str
    stability: str
    rates: str
    status: Status


_FARTHEST = 1e50  # the sixth powers of starts below are finite
_PLACES = {  # at d = 1, at d >= 2
    "isotropic": (
        _Places("Lemma 1(a)", "Lemma 2(a)", "Theorem 1(a)", "proved"),
        _Places("Lemma 1(b)", "Lemma 2(b)", "Theorem 1(b)", "proved"),
    ),
    "diagonal": (
        _Places("Lemma 4(b)", "Appendix B.1", "Theorem 1(a) through Appendix B.1", "proved"),
        _Places("Lemma 4(a)", "Appendix B.1", "Appendix B.1", "conjecture"),
    ),
    "general": 2 * (_Places("Appendix B.2", "Appendix B.2", "Appendix B.2", "experiment"),),
}


@dataclass(frozen=True)
class Constant:
    """A number the paper gives, and where."""

    value: float
    place: str


@dataclass(frozen=True)
class Rates:
    """The exponents for one model, dimension and algorithm.

    `location_n` and `location_d` are the exponents of n and d in the radius of the location,
    `scale_n` and `scale_d` those of the squared scale. Iterations grow as
    `n^iterations_n d^iterations_d` when `growth` is "power"; when it is "logarithm" they grow as
    `slope(beta) ln(n/d)`, and `iterations_n` is the exponent of n inside: `alpha |location_n|`.
    An exponent of d is nan if the paper claims none. `status` says how the paper supports them.
    """

    model: str
    d: int
    algorithm: str
    alpha: float
    gamma: float
    location_n: float
    location_d: float
    scale_n: float
    scale_d: float
    growth: Literal["power", "logarithm"]
    iterations_n: float
    iterations_d: float
    status: Status
    place: str

    def slope(self, beta: float) -> float:
        """Iterations per unit of ln n: `alpha |location_n| / ln(1/beta)` (ELU only)."""
        if self.growth != "logarithm":
            raise ValueError(f"algorithm must be 'elu' for a slope in ln n, got {self.algorithm!r}")
        return self.iterations_n / math.log(1.0 / checks.real(beta, "beta", 0.0, 1.0))


def name_of(model: AnyModel) -> str:
    """The name of one of the paper's models."""
    return checks.choice(named(model).name, "model", MODELS)


def homogeneity(model: AnyModel, d: int) -> Constant:
    """The constant alpha: 6 at d = 1, 2 at d >= 2.

    For the diagonal model at d >= 2 this is the paper's first phase, at least two coordinates not
    zero; on an axis, the second phase, it is 6. For general locations the paper has no lemma; the
    half difference of the locations behaves like the location of the isotropic model.
    """
    name, d = name_of(model), checks.integer(d, "d", 1)
    return Constant(location_scale(d).alpha, _PLACES[name][d > 1].homogeneity)


def stability(model: AnyModel, d: int, phase: int = 2) -> Constant:
    """The constant gamma. At d = 1: 1 in phase 1 (large radii), 3 in phase 2; at d >= 2: 1.

    The phases meet at a radius of order n^(-1/16); see `phase_radius`.
    """
    name, d = name_of(model), checks.integer(d, "d", 1)
    gamma = location_scale(d).gamma if checks.integer(phase, "phase", 1, 2) == 2 else 1.0
    return Constant(gamma, _PLACES[name][d > 1].stability)


def phase_radius(n: float, constant: float = 1.0) -> float:
    """Where the two phases of stability at d = 1 meet: `constant n^(-1/16)` (Lemma 2(a))."""
    constant = checks.real(constant, "constant", above=0.0)
    return constant * math.pow(checks.real(n, "n", above=0.0), -1.0 / 16.0)


def leading_coefficient(d: int) -> float:
    """`kappa` with |gradient| = kappa |theta|^(alpha + 1) at the truth: 2/3 at d = 1, else 1 - 1/d."""
    return location_scale(checks.integer(d, "d", 1)).kappa


def rates(model: AnyModel, d: int, algorithm: str) -> Rates:
    """Every exponent for a model, a dimension and an algorithm ("em" or "elu")."""
    name, d = name_of(model), checks.integer(d, "d", 1)
    algorithm = checks.choice(algorithm, "algorithm", ALGORITHMS)
    places, flatness = _PLACES[name][d > 1], location_scale(d)
    # epsilon is n^(-1/2) at d = 1 and (d/n)^(1/2) at d >= 2. The scale is quadratic in the location;
    # where d coordinates share it, it takes a d-th.
    location_d = 0.0 if d == 1 else -flatness.location_n
    scale_d = 0.0 if d == 1 else 2.0 * location_d - 1.0
    if places.status != "proved" and d > 1:  # the appendices claim no dependence on d
        location_d = scale_d = math.nan
    return Rates(
        model=name,
        d=d,
        algorithm=algorithm,
        alpha=flatness.alpha,
        gamma=flatness.gamma,
        location_n=flatness.location_n,
        location_d=location_d,
        scale_n=flatness.scale_n,
        scale_d=scale_d,
        growth="power" if algorithm == "em" else "logarithm",
        iterations_n=flatness.iterations_n,
        iterations_d=-flatness.alpha * location_d,
        status=places.status,
        place=places.rates,
    )


def em_norm(t: float, d: int, start: float = math.inf) -> float:
    """|theta_t| of EM at infinite n to leading order: `(start^-alpha + alpha kappa t)^(-1/alpha)`.

    From far away it is (4 t)^(-1/6) at d = 1 and (2 (1 - 1/d) t)^(-1/2) at d >= 2.
    """
    if start != math.inf:
        start = checks.real(start, "start", above=0.0)
    return em.norm_at(location_scale(checks.integer(d, "d", 1)), t, start)


def elu_norm(t: float, d: int, eta: float, beta: float) -> float:
    """|theta_t| of ELU at infinite n: `((1 - beta^(1/alpha)) beta^t / (eta kappa))^(1/alpha)`.

    `t` is the exponent in the step `eta / beta^t` that is about to be taken.
    """
    eta, beta = checks.real(eta, "eta", above=0.0), checks.real(beta, "beta", 0.0, 1.0)
    return elu.norm_at(location_scale(checks.integer(d, "d", 1)), t, eta, beta)


def elu_least_beta(d: int) -> float:
    """Below this beta the geometric regime of ELU is unstable: `(1 + 2/alpha)^(-alpha)`.

    There the map of x in `algorithms.elu` has slope `1 - alpha (beta^(-1/alpha) - 1) = -1` at its
    fixed point.
    """
    alpha = homogeneity("isotropic", d).value
    return float((1.0 + 2.0 / alpha) ** -alpha)


def iterations(
    algorithm: str, d: int, target: float, start: float, eta: float = 0.01, beta: float = 0.8
) -> float:
    """Iterations from `start` to `target` at infinite n, to leading order, isotropic model.

    EM: `(target^-alpha - start^-alpha) / (alpha kappa)`. ELU: the t with `elu_norm(t) = target`,
    which does not depend on the start, as long as the start is above the geometric curve.
    """
    algorithm = checks.choice(algorithm, "algorithm", ALGORITHMS)
    target = checks.real(target, "target", above=0.0)
    start = checks.real(start, "start", above=0.0)
    flatness = location_scale(checks.integer(d, "d", 1))
    if algorithm == "em":
        return em.iterations(flatness, target, start)
    return elu.iterations(flatness, target, eta, checks.real(beta, "beta", 0.0, 1.0))


class StepConditions(NamedTuple):
    """The two conditions of Theorem 1 on the step size, each as value, bound and verdict."""

    growth: float
    growth_needed: float
    growth_ok: bool
    size: float
    size_allowed: float
    size_ok: bool


def step_size_conditions(
    eta: float, beta: float, start: float, d: int, c1: float | None = None
) -> StepConditions:
    """Theorem 1's conditions for a start at distance ``start`` from the truth.

        growth:  eta c1 start^alpha beta / ((alpha + 1)(alpha + 2)) + beta^(2/alpha)  >=  1
        size:    eta c1 (alpha + 2) 3^alpha start^alpha                               <=  alpha + 1

    alpha is 6 at d = 1 and 2 at d >= 2. The theorem says of c1 only that it bounds the largest
    eigenvalue of the Hessian by c1 |theta|^alpha; by default it is the least such constant near the
    truth, 14/3 at d = 1 and 3 (1 - 1/d) at d >= 2.
    """
    eta = checks.real(eta, "eta", above=0.0)
    beta = checks.real(beta, "beta", 0.0, 1.0, closed="below")
    start = checks.real(start, "start", above=0.0, closed="above")
    d = checks.integer(d, "d", 1, checks.MOST)
    alpha = location_scale(d).alpha
    power = _smoothness(d, c1) * (start**alpha if start < _FARTHEST else math.inf)
    growth = eta * power * beta / ((alpha + 1) * (alpha + 2)) + beta ** (2.0 / alpha)
    size = eta * power * (alpha + 2) * 3.0**alpha
    return StepConditions(growth, 1.0, growth >= 1.0, size, alpha + 1.0, size <= alpha + 1.0)


def _smoothness(d: int, c1: float | None) -> float:
    """C1 as given, or the least one near the truth."""
    if c1 is None:
        alpha, _, kappa = location_scale(d)
        return 14.0 / 3.0 if d == 1 else (alpha + 1.0) * kappa  # at d = 1 this rounds once
    return checks.real(c1, "c1", above=0.0)


class Steps(NamedTuple):
    """ELU's step sizes, eta / beta^t."""

    eta: float
    beta: float


def theorem_steps(start: float, d: int, c1: float | None = None) -> Steps:
    """The fastest steps that Theorem 1 allows: its smallest beta, with its largest eta.

    The second condition bounds eta c1 start^alpha by (alpha + 1)/((alpha + 2) 3^alpha). Put into the
    first it leaves

        beta / ((alpha + 2)^2 3^alpha) + beta^(2/alpha)  >=  1

    whatever eta, c1 and the start are: beta >= 0.999936 at d = 1 and >= 144/145 at d >= 2. The largest
    eta is the same for every beta, so that no other choice has longer steps at any t.
    """
    start = checks.real(start, "start", above=0.0)
    d = checks.integer(d, "d", 1)
    alpha = location_scale(d).alpha
    share = 1.0 / ((alpha + 2.0) ** 2 * 3.0**alpha)
    # In gap = 1 - beta, which is far smaller than beta.
    gap = brentq(
        lambda x: share * (1.0 - x) + math.expm1(2.0 / alpha * math.log1p(-x)), 0.0, 0.5, xtol=1e-18
    )
    eta = (alpha + 1.0) / ((alpha + 2.0) * 3.0**alpha * _smoothness(d, c1) * start**alpha)
    return Steps(eta, 1.0 - float(gap))
