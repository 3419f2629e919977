"""``elubench.testing`` sees what is wrong with a class, and names the right check."""

from dataclasses import dataclass

import numpy as np
import pytest
from conftest import needs_jit

from elubench import EM, Algorithm, Isotropic, kernel
from elubench.algorithms.base import ForeignAlgorithm
from elubench.kernels import layout, signatures
from elubench.models.flatness import Flatness
from elubench.models.known import known as known_models
from elubench.testing import (
    algorithm_checks,
    check_algorithm,
    check_model,
    model_checks,
)


def failing(checks):
    """Names of the checks that fail, without what they were applied to."""
    names = set()
    for name, check in checks:
        try:
            check()
        except Exception:
            names.add(name.partition("[")[0])
    return names


# Algorithms


@kernel("exact", signatures.UPDATE)
def _overshoots(own, points, answers, iterate, report):
    """A step that is longer than EM's at every third iteration."""
    factor = 2.5 if own.t % 3 == 2 else 1.0
    for j in range(iterate.size):
        points[0, j] += factor * (answers.em[0, j] - points[0, j])
    iterate[:] = points[0]
    layout.accept(report, factor)


@kernel("exact", signatures.UPDATE)
def _draws(own, points, answers, iterate, report):
    for j in range(iterate.size):
        points[0, j] = answers.em[0, j] * (1.0 + 1e-6 * np.random.random())  # noqa: NPY002
    iterate[:] = points[0]
    layout.accept(report, 1.0)


@kernel("exact", signatures.UPDATE)
def _never_accepts(own, points, answers, iterate, report):
    layout.stay(report, 1.0)


@dataclass(frozen=True)
class Overshoots(Algorithm):
    """EM, with a longer step now and then."""

    update = staticmethod(_overshoots)


@dataclass(frozen=True)
class SaysSo(Overshoots):
    """The same. Not monotone."""


@dataclass(frozen=True)
class Draws(Algorithm):
    """EM with random numbers in its kernel. Not monotone."""

    update = staticmethod(_draws)


@dataclass(frozen=True)
class NeverAccepts(Algorithm):
    """Tries the same point for ever."""

    update = staticmethod(_never_accepts)


@dataclass(frozen=True)
class Unchecked(Overshoots):
    """Takes whatever it is given as its length. Not monotone."""

    length: float = 1.0


@dataclass(frozen=True)
class Undocumented(Unchecked):
    """Has an option that nobody explains. Not monotone."""

    secret: float = 1.0


class Unfrozen(Unchecked):
    """Its length can be changed. Not monotone."""

    __setattr__ = object.__setattr__


@dataclass(frozen=True)
class Peeks(ForeignAlgorithm):
    """EM by gradient steps that reads the data behind the back of the driver. Not monotone."""

    def minimise(self, evaluate, accept, start):
        inside = dict(zip(evaluate.__code__.co_freevars, evaluate.__closure__, strict=True))
        sample = inside["task"].cell_contents.train
        sample.sums(np.zeros((1, sample.d)), np.zeros(1), 0)
        point = start
        while accept(point):
            point = point - 0.01 * evaluate(point).gradient


class TestAlgorithms:
    def test_a_good_one(self):
        check_algorithm(EM)

    @needs_jit
    @pytest.mark.parametrize(
        ("wrong", "check"),
        [
            (Overshoots, "descends_or_says_that_it_need_not"),
            (Draws, "drivers_agree"),
            (Unchecked, "bad_options_are_named"),
            (Undocumented, "is_documented"),
            (Unfrozen, "is_a_value"),
            (Peeks, "passes_are_counted"),
        ],
    )
    def test_wrong_ones(self, wrong, check):
        assert check in failing(algorithm_checks(wrong, [Isotropic]))

    def test_one_that_says_what_it_does(self):
        assert failing(algorithm_checks(SaysSo, [Isotropic])) == set()

    def test_one_that_does_not_end(self):
        """It is stopped before the compiled loop, which could not be, gets it."""
        with pytest.raises(AssertionError, match=r"NeverAccepts fails trials_come_to_an_end\[Iso"):
            check_algorithm(NeverAccepts, [Isotropic()])

    def test_what_is_raised_is_named(self):
        class Raises(Overshoots):
            """Its update cannot be had."""

            def state_size(self, p):
                raise ZeroDivisionError("oh")

        with pytest.raises(AssertionError, match=r"Raises fails .*ZeroDivisionError") as caught:
            check_algorithm(Raises)
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


# Models


ALGEBRA, NATURAL = Isotropic.algebra, Isotropic.natural


@kernel("exact", signatures.RESPOND)
def _steep(theta, m1, m2, sums, em, gradient):
    ALGEBRA.respond(theta, m1, m2, sums, em, gradient)
    gradient *= 1.0 + 1e-6


@kernel("exact", signatures.RESPOND)
def _long(theta, m1, m2, sums, em, gradient):
    ALGEBRA.respond(theta, m1, m2, sums, em, gradient)
    em += 1e-6 * theta


@kernel("exact", signatures.RESPOND)
def _jumps(theta, m1, m2, sums, em, gradient):
    ALGEBRA.respond(theta, m1, m2, sums, em, gradient)
    em *= -0.3


@kernel("exact", signatures.RESPOND)
def _odd(theta, m1, m2, sums, em, gradient):
    ALGEBRA.respond(theta, m1, m2, sums, em, gradient)
    em += 1e-3 * sums[0]


@kernel("exact", signatures.HESSIAN)
def _bent(theta, m1, m2, sums, out):
    ALGEBRA.hessian(theta, m1, m2, sums, out)
    out *= 1.0 + 1e-5


@kernel("exact", signatures.GAP)
def _raised(theta, m1, m2, e1, e2, log_cosh):
    return ALGEBRA.gap(theta, m1, m2, e1, e2, log_cosh) + 1e-9


@kernel("exact", signatures.ERROR)
def _labelled(theta, m1, m2, truth):
    return np.sqrt(np.sum((theta - truth) ** 2))


@kernel("exact", signatures.CHANGE)
def _astray(phi, m1, m2, theta):
    NATURAL.to_locations(phi, m1, m2, theta)
    theta *= 1.0 + 1e-9


def wrong(**changes):
    """The isotropic model with something changed: functions of its algebra, or attributes."""
    algebra = {name: changes.pop(name) for name in ALGEBRA._fields if name in changes}
    return type("Wrong", (Isotropic,), {"algebra": ALGEBRA._replace(**algebra), **changes})


class TestModels:
    @pytest.mark.parametrize("model", known_models().values(), ids=lambda model: model.__name__)
    def test_good_ones(self, model):
        check_model(model)
        check_model(model())

    @needs_jit
    @pytest.mark.parametrize(
        ("changes", "check"),
        [
            ({"respond": _steep}, "gradient_is_the_slope_of_the_loss"),
            ({"hessian": _bent}, "hessian_is_the_slope_of_the_gradient"),
            ({"respond": _jumps}, "em_never_raises_the_loss"),
            ({"respond": _long}, "em_ends_where_the_gradient_is_zero"),
            ({"respond": _odd}, "even_models_ignore_t0"),
            ({"gap": _raised}, "coinciding_components_are_one_gaussian"),
            ({"error": _labelled}, "labels_do_not_matter"),
            ({"swapped": lambda self, params: 2.0 * params}, "labels_do_not_matter"),
            ({"n_mle_starts": lambda self, d: 99}, "starts_are_inside"),
            (
                {"truth": lambda self, location, d: np.full(d, 0.01)},
                "coinciding_components_are_stationary",
            ),
            (
                {"default_start": lambda self, sample: np.full(sample.d, 50.0)},
                "starts_are_inside",
            ),
            (
                {"default_start": lambda self, sample: np.zeros(sample.d)},
                "starts_are_inside",
            ),
            ({"flatness": lambda self, d: Flatness(6.0, 3.0, np.inf)}, "flatness_is_finite"),
            ({"natural": NATURAL._replace(to_locations=_astray)}, "natural_coordinates_lead_back"),
            (
                {"natural": NATURAL._replace(algebra=ALGEBRA)},
                "natural_coordinates_have_the_same_loss",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "-".join(value),
    )
    def test_wrong_ones(self, changes, check):
        assert check in failing(model_checks(wrong(**changes)))

    def test_the_check_is_named(self):
        kind = wrong(flatness=lambda self, d: Flatness(6.0, 3.0, np.nan))
        with pytest.raises(
            AssertionError, match=r"Wrong fails flatness_is_finite: flatness\(1\) is"
        ):
            check_model(kind)
