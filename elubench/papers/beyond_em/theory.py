"""What the paper claims, as numbers: homogeneity, stability, radii, growth of iterations.

Everything follows from two constants of a model and a dimension.

* Homogeneity `alpha` (Definition 1): near the truth the gradient of the population loss has norm
  `kappa |theta|^(alpha + 1)`, so the loss has a flat minimum.
* Stability `gamma` (Definition 2): the gradient of a sample of n points differs from it by
  `|theta|^gamma epsilon` with `epsilon = n^(-1/2)` at d = 1 and `(d/n)^(1/2)` at d >= 2.

**Radius.** Signal and noise balance where `|theta|^(alpha + 1) = |theta|^gamma epsilon`, so

    radius = epsilon^(1 / (alpha + 1 - gamma))              (Proposition 1)

With (alpha, gamma) = (6, 3) this is n^(-1/8); with (2, 1) it is (d/n)^(1/4).

**EM.** An EM step multiplies theta by `1 - kappa |theta|^alpha`, to leading order. Put
`z = |theta|^(-alpha)`: then `z` grows by `alpha kappa` a step, whatever theta is, so

    |theta_t| = (alpha kappa t)^(-1 / alpha)

and the radius is reached after `radius^(-alpha) / (alpha kappa)` steps: `n^(3/4)` at d = 1 and
`(n/d)^(1/2)` at d >= 2.

**ELU.** The step is `eta / beta^t`, so theta is multiplied by `1 - x_t` with
`x_t = eta kappa beta^(-t) |theta_t|^alpha`, and

    x_(t+1) = x_t (1 - x_t)^alpha / beta.

This map has the fixed point `x* = 1 - beta^(1/alpha)`: each step multiplies theta by
`beta^(1/alpha)`, and `|theta_t| = (x* beta^t / (eta kappa))^(1/alpha)`. Its derivative there is
`1 - alpha (beta^(-1/alpha) - 1)`, so the fixed point attracts when `beta > (1 + 2/alpha)^(-alpha)`.
The radius r is reached when `beta^(t/alpha)` is of order r, that is after

    t = alpha ln(1/r) / ln(1/beta) + constant = alpha |a| ln n / ln(1/beta) + constant

with `r = n^a`. At d = 1 `alpha |a| = 6/8`: 0.75/ln(1/beta) iterations for each unit of ln n. At
d >= 2 it is 2/4: 0.5/ln(1/beta).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Literal, NamedTuple, SupportsIndex

from elubench import checks
from elubench.algorithms import elu, em
from elubench.models.flatness import location_scale
from elubench.models.known import radius as radius

MODELS = ("isotropic", "diagonal", "general")
ALGORITHMS = ("em", "elu")

# How firmly the paper holds a statement about a model.
Status = Literal["proved", "experiment", "conjecture"]


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
    An exponent of d is nan where the paper claims none. `status` is how the paper supports it.
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
        """Iterations for each unit of ln n: `alpha |location_n| / ln(1/beta)` (ELU only)."""
        if self.growth != "logarithm":
            raise ValueError(f"algorithm: only 'elu' has a slope in ln n; got {self.algorithm!r}")
        return self.iterations_n / math.log(1.0 / check_beta(beta))


def model_name(model: object) -> str:
    """The name of a model given by name, as an instance or as a class with a `name`."""
    name = model if isinstance(model, str) else getattr(model, "name", None)
    if name not in MODELS:
        raise ValueError(f"model: expected one of {', '.join(MODELS)}, or a model; got {model!r}")
    return str(name)


def check_dimension(d: object) -> int:
    """`d` as an int, at least 1."""
    if isinstance(d, bool) or not isinstance(d, SupportsIndex) or index(d) < 1:
        raise ValueError(f"d: expected a whole number, at least 1; got {d!r}")
    return index(d)


def check_beta(beta: float) -> float:
    """`beta`, strictly between 0 and 1."""
    if not 0.0 < beta < 1.0:
        raise ValueError(f"beta: expected a number strictly between 0 and 1; got {beta!r}")
    return float(beta)


def check_positive(name: str, value: float) -> float:
    """`value`, positive and finite."""
    if not (value > 0.0 and math.isfinite(value)):
        raise ValueError(f"{name}: expected a positive finite number; got {value!r}")
    return float(value)


def homogeneity(model: object, d: int) -> Constant:
    """The constant alpha: 6 at d = 1, 2 at d >= 2.

    For the diagonal model at d >= 2 this is the paper's first phase, at least two coordinates not
    zero; on an axis the second phase has 6. For general locations the paper has no lemma; the half
    difference of the locations behaves as the location of the isotropic model.
    """
    name, d = model_name(model), check_dimension(d)
    if name == "diagonal":
        place = "Lemma 4(b)" if d == 1 else "Lemma 4(a)"
    elif name == "general":
        place = "Appendix B.2"
    else:
        place = "Lemma 1(a)" if d == 1 else "Lemma 1(b)"
    return Constant(location_scale(d).alpha, place)


def stability(model: object, d: int, phase: int = 2) -> Constant:
    """The constant gamma. At d = 1: 1 in phase 1 (large radii), 3 in phase 2; at d >= 2: 1.

    The phases meet at a radius of order n^(-1/16); see `phase_radius`.
    """
    name, d = model_name(model), check_dimension(d)
    if phase not in (1, 2):
        raise ValueError(f"phase: expected 1 or 2; got {phase!r}")
    place = {"isotropic": "Lemma 2", "diagonal": "Appendix B.1", "general": "Appendix B.2"}[name]
    if name == "isotropic":
        place += "(a)" if d == 1 else "(b)"
    return Constant(location_scale(d).gamma if phase == 2 else 1.0, place)


def phase_radius(n: float, constant: float = 1.0) -> float:
    """Where the two phases of stability at d = 1 meet: `constant n^(-1/16)` (Lemma 2(a))."""
    return check_positive("constant", constant) * math.pow(check_positive("n", n), -1.0 / 16.0)


def leading_coefficient(d: int) -> float:
    """`kappa` with |gradient| = kappa |theta|^(alpha + 1) at the truth, isotropic model.

    At d = 1 it is 2/3, at d >= 2 it is 1 - 1/d; `location_scale` derives it.
    """
    return location_scale(check_dimension(d)).kappa


def rates(model: object, d: int, algorithm: str) -> Rates:
    """Every exponent for a model, a dimension and an algorithm ("em" or "elu")."""
    name, d = model_name(model), check_dimension(d)
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm: expected one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    alpha, gamma = homogeneity(name, d).value, stability(name, d).value
    location_n = location_scale(d).location_n  # Proposition 1 with epsilon = n^(-1/2)
    location_d = 0.0 if d == 1 else -location_n  # epsilon = (d/n)^(1/2) at d >= 2
    # The scale is a - |theta|^2/d (isotropic, general) or m2_j - theta_j^2 (diagonal).
    scale_n = 2.0 * location_n
    scale_d = 0.0 if d == 1 else 2.0 * location_d - 1.0
    growth: Literal["power", "logarithm"] = "power" if algorithm == "em" else "logarithm"
    iterations_n = -alpha * location_n
    iterations_d = -alpha * location_d
    if name == "isotropic" or (name == "diagonal" and d == 1):
        status: Status = "proved"
        place = f"Theorem 1({'a' if d == 1 else 'b'})"
        if name == "diagonal":
            place += " through Appendix B.1"
    elif name == "diagonal":
        status, place = "conjecture", "Appendix B.1"
    else:
        status, place = "experiment", "Appendix B.2"
    if status != "proved" and d > 1:  # these appendices state no dependence on d
        location_d = scale_d = iterations_d = math.nan
    return Rates(
        model=name,
        d=d,
        algorithm=algorithm,
        alpha=alpha,
        gamma=gamma,
        location_n=location_n,
        location_d=location_d,
        scale_n=scale_n,
        scale_d=scale_d,
        growth=growth,
        iterations_n=iterations_n,
        iterations_d=iterations_d,
        status=status,
        place=place,
    )


def em_norm(t: float, d: int, start: float = math.inf) -> float:
    """|theta_t| of EM at infinite n to leading order: `(start^-alpha + alpha kappa t)^(-1/alpha)`.

    From far away it is (4 t)^(-1/6) at d = 1 and (2 (1 - 1/d) t)^(-1/2) at d >= 2.
    """
    check_positive("start", start if math.isfinite(start) else 1.0)
    return em.norm(location_scale(check_dimension(d)), t, start)


def elu_norm(t: float, d: int, eta: float, beta: float) -> float:
    """|theta_t| of ELU at infinite n: `((1 - beta^(1/alpha)) beta^t / (eta kappa))^(1/alpha)`.

    `t` is the exponent in the step `eta / beta^t` that is about to be taken.
    """
    eta, beta = check_positive("eta", eta), check_beta(beta)
    return elu.norm(location_scale(check_dimension(d)), t, eta, beta)


def elu_least_beta(d: int) -> float:
    """Below this beta the geometric regime of ELU is unstable: `(1 + 2/alpha)^(-alpha)`."""
    alpha = homogeneity("isotropic", d).value
    return float((1.0 + 2.0 / alpha) ** -alpha)


def iterations(
    algorithm: str, d: int, target: float, start: float, eta: float = 0.01, beta: float = 0.8
) -> float:
    """Iterations from `start` to `target` at infinite n, to leading order, isotropic model.

    EM: `(target^-alpha - start^-alpha) / (alpha kappa)`. ELU: the t with `elu_norm(t) = target`,
    which does not depend on the start, as long as the start is above the geometric curve.
    """
    if algorithm not in ALGORITHMS:
        raise ValueError(f"algorithm: expected one of {', '.join(ALGORITHMS)}; got {algorithm!r}")
    target, start = check_positive("target", target), check_positive("start", start)
    flatness = location_scale(check_dimension(d))
    if algorithm == "em":
        return em.iterations(flatness, target, start)
    return elu.iterations(flatness, target, eta, check_beta(beta))


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
    """Check Theorem 1's conditions for a start at distance ``start`` from the truth.

        growth:  eta c1 start^alpha beta / ((alpha + 1)(alpha + 2)) + beta^(2/alpha)  >=  1
        size:    eta c1 (alpha + 2) 3^alpha start^alpha                               <=  alpha + 1

    alpha is 6 at d = 1 and 2 at d >= 2. The theorem says of c1 only that it bounds the largest
    eigenvalue of the Hessian by c1 |theta|^alpha; by default it is the least such constant near the
    truth, 14/3 at d = 1 and 3 (1 - 1/d) at d >= 2.
    """
    eta = checks.real(eta, "eta", above=0.0)
    beta = checks.real(beta, "beta", 0.0, 1.0, closed="below")
    start = checks.real(start, "start", above=0.0, closed="above")
    d = checks.integer(d, "d", 1)
    alpha, _, kappa = location_scale(d)
    if c1 is None:
        c1 = (alpha + 1.0) * kappa
    c1 = checks.real(c1, "c1", above=0.0)
    power = start**alpha
    growth = eta * c1 * power * beta / ((alpha + 1) * (alpha + 2)) + beta ** (2.0 / alpha)
    size = eta * c1 * (alpha + 2) * 3.0**alpha * power
    return StepConditions(growth, 1.0, growth >= 1.0, size, alpha + 1.0, size <= alpha + 1.0)
