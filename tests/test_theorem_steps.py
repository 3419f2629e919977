"""The steps that Theorem 1 allows, and iterations with them: against iterating and series."""

from __future__ import annotations

import math

import numpy as np
import pytest

from elubench.papers.beyond_em import population, predictions, theorem_steps, theory


def point(r: float, d: int) -> np.ndarray:
    return r * np.eye(d)[0]


@pytest.mark.parametrize(("d", "targets"), [(1, (0.5, 0.27)), (2, (0.7, 0.1)), (4, (0.2, 0.09))])
def test_em_is_counted_as_it_runs(d: int, targets: tuple[float, ...]) -> None:
    theta, t, found = point(0.8, d), 0, []
    for target in targets:
        while np.linalg.norm(theta) > target:
            theta = population.em_step("isotropic", theta)
            t += 1
        found.append(t)
    assert [math.ceil(predictions.em_time(0.8, target, d)) for target in targets] == found


def test_integral_counts_what_iterating_counts() -> None:
    """Below the hand-over EM's count is an integral; iterate on with the series of the step."""
    theta, t = 0.15, 0
    while theta > 0.14:
        q = theta * theta
        theta *= 1.0 - q**3 * (
            2 / 3
            - 2 * q
            + 44 / 5 * q**2
            - 2068 / 45 * q**3
            + 29014 / 105 * q**4
            - 198146 / 105 * q**5
        )
        t += 1
    assert predictions.em_time(0.15, 0.14, 1) == pytest.approx(t - 0.5, abs=0.5 + 1e-5 * t)


@pytest.mark.parametrize("d", [1, 3])
def test_em_count_tends_to_its_power_law(d: int) -> None:
    """Relative corrections are (9/2) r^2 at d = 1 and of order r^2 ln r at d >= 2."""
    for r in (3e-2, 1e-3, 1e-6):
        ratio = predictions.em_time(0.8, r, d) / theory.iterations("em", d, r, 1e9)
        correction = 4.5 * r**2 if d == 1 else 0.0
        order = r**4 if d == 1 else r**2 * abs(math.log(r))
        assert abs(ratio - 1.0 - correction) < 40 * order + 1e-7  # the table ends at 1e-4


@pytest.mark.parametrize(("d", "eta", "beta"), [(1, 0.01, 0.8), (2, 0.01, 0.8), (2, 0.08, 0.99)])
def test_elu_is_counted_as_it_runs(d: int, eta: float, beta: float) -> None:
    theta, t, targets = point(0.8, d), 0, (0.4, 0.09)
    found = {}
    for target in targets:
        while np.linalg.norm(theta) > target:
            theta = theta - eta / beta**t * population.gradient("isotropic", theta)
            t += 1
        found[target] = t
    times = predictions.elu_times(0.8, targets, d, eta, beta)
    assert np.ceil(times).tolist() == list(found.values())
    assert predictions.elu_times(0.8, targets[::-1], d, eta, beta).tolist() == times[::-1].tolist()


def test_elu_that_diverges_never_arrives() -> None:
    assert predictions.elu_times(0.8, [0.1], 2, 1e3, 0.5)[0] == math.inf


@pytest.mark.parametrize("start", [0.1, 0.8])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_steps_of_the_theorem_are_its_fastest(d: int, start: float) -> None:
    eta, beta = theory.theorem_steps(start, d)
    assert beta == pytest.approx(0.999935705 if d == 1 else 144 / 145, abs=1e-9)
    at = theory.step_size_conditions(eta, beta, start, d)
    assert at.growth == pytest.approx(1.0, abs=1e-12)
    assert at.size == pytest.approx(at.size_allowed)
    for x, y in ((eta, beta - 1e-7), (eta * 1.001, beta), (eta * 0.999, beta)):
        less = theory.step_size_conditions(x, y, start, d)
        assert not (less.growth_ok and less.size_ok)


@pytest.mark.slow_without_jit
def test_under_the_theorem_em_is_cheaper_for_long() -> None:
    table = theorem_steps.theorem_1(0, sizes=(1e9, 1e10, 1e11), dimensions=(1,), constants=(2.0,))
    theorem = table[table["steps"] == "theorem"].set_index("n")["iterations"]
    em = table[table["algorithm"] == "EM"].set_index("n")["iterations"]
    meeting = table["crossing"].iloc[0]
    assert em[1e10] < theorem[1e10]
    assert em[1e11] > theorem[1e11]
    assert 1e10 < meeting < 2e10
    target = theory.radius("isotropic", meeting, 1, 2.0)
    steps = theory.theorem_steps(0.8, 1)
    elu = predictions.elu_times(0.8, [target], 1, *steps)[0]
    ratio = predictions.em_time(0.8, target, 1) / elu
    assert ratio == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predictions.em_time(0.8, 0.1, 0), "d must be >= 1"),
        (lambda: predictions.em_time(1.0, 0.1, 1), "start must be in"),
        (lambda: predictions.em_time(0.8, 0.0, 1), "target must be"),
        (lambda: predictions.elu_times(0.8, [0.0], 1, 0.1, 0.8), "targets must be"),
        (lambda: predictions.elu_times(0.8, [0.1], 1, 0.0, 0.8), "eta must be"),
        (lambda: predictions.elu_times(0.8, [0.1], 1, 0.1, 1.0), "beta must be in"),
        (lambda: theory.theorem_steps(0.0, 1), "start must be"),
    ],
)
def test_bad_arguments(call, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        call()
