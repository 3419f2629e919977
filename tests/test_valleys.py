"""Valleys of the diagonal model: the coordinates in which they are straight, and runs along them."""

import numpy as np
import pytest
from conftest import needs_jit

import elubench as eb
from elubench.algorithms import valleys
from elubench.fits import ending
from elubench.models.known import named
from elubench.samples.metered import Metered

WIDTH = 0.01


def followed(iterate, step, share=1.0):
    point = np.empty(len(iterate))
    valleys.follow(iterate, WIDTH, step, share, point)
    return point


class TestCoordinates:
    def test_follow_is_a_step_of_the_inverse_hyperbolic_sine(self):
        iterate, step = np.array([0.3, -0.002, 0.0]), np.array([0.7, 1.1, -0.4])
        expected = WIDTH * np.sinh(np.arcsinh(iterate / WIDTH) + 0.5 * step)
        np.testing.assert_allclose(followed(iterate, step, 0.5), expected, rtol=1e-13)

    def test_opposite_steps_keep_the_product(self):
        iterate = np.array([0.2, -0.15])
        point = followed(iterate, np.array([0.5, 0.5]))  # one grows, the other shrinks
        assert point.prod() == pytest.approx(iterate.prod(), rel=(WIDTH / 0.09) ** 2)

    def test_derivatives_are_those_along_steps(self):
        """Of t_1^2 t_2 + t_2^3, by differences."""
        iterate = np.array([0.2, -0.03])
        t, u = iterate
        gradient = np.array([2 * t * u, t * t + 3 * u * u])
        hessian = np.array([[2 * u, 2 * t], [2 * t, 6 * u]])
        slope, curvature = np.empty(2), np.empty((2, 2))
        valleys.straightened(iterate, WIDTH, gradient, hessian, slope, curvature)

        def loss(step):
            a, b = followed(iterate, step)
            return a * a * b + b**3

        h = 1e-4
        axes = h * np.eye(2)
        by_hand = [(loss(e) - loss(-e)) / (2 * h) for e in axes]
        np.testing.assert_allclose(slope, by_hand, rtol=1e-6)
        second = [
            [(loss(e + f) - loss(e - f) - loss(f - e) + loss(-e - f)) / (4 * h * h) for f in axes]
            for e in axes
        ]
        np.testing.assert_allclose(curvature, second, rtol=1e-5, atol=1e-9)

    def test_a_step_ends_at_the_hole_that_the_slope_points_to(self):
        """p t^4 + t^8 / 12 in locations, p = -t_0^4 / 6: the bottom is at t_0."""
        bottom, t = 0.3, 0.2
        coordinate, goal = t / (1 - t * t), bottom / (1 - bottom * bottom)
        per_location = -4 * bottom**4 / 6 * t**4 + 8 * t**8 / 12
        slope = np.array([per_location * (1 - t * t) / (1 + t * t), 0.0])
        step = np.array([5.0, 0.0])
        valleys.limited(np.array([coordinate, 1e-3]), slope, step)
        assert step[0] == pytest.approx(np.log(goal / coordinate), rel=1e-10)

    def test_a_short_step_is_left_alone(self):
        step = np.array([0.1, -0.2])
        valleys.limited(np.array([0.2, 0.1]), np.array([-1e-9, 1e-9]), step)
        assert step.tolist() == [0.1, -0.2]

    def test_a_rejected_step_is_cut_to_the_bottom_of_a_cubic(self):
        """Along s from 0: (s - 0.4)^2 - 0.16 rises by 0.2 up to s = 1; its bottom is at 0.4."""
        point, step = np.array([0.2]), np.array([1.0])
        gradient = np.array([1.2 / np.sqrt(0.2**2 + WIDTH**2)])
        share = valleys.shorter(1.0, 0.2, -0.8, point, WIDTH, gradient, step)
        assert share == pytest.approx(0.4, rel=1e-12)
        nothing = np.array([np.nan])
        assert valleys.shorter(1.0, np.nan, -0.8, point, WIDTH, nothing, step) == 0.1
        assert valleys.shorter(1e-6, 0.2, -0.8, point, WIDTH, gradient, step) == 0.0


@needs_jit
class TestRuns:
    @pytest.mark.parametrize("seed", [40, 61, 78, 97, 107, 115, 128, 144, 160])
    def test_four_passes_from_the_moments_to_the_end(self, seed):
        """Also of 10,000 rows, where the estimate from moments is less close; 5 to 12 if not bent."""
        sample = eb.LatticeSample.gaussian(10**4, 2, seed)
        start = eb.run(sample, "diagonal", eb.Moments(), metrics=False).params
        found = eb.run(sample, "diagonal", eb.NewtonAnderson(), start)
        assert found.status == "converged"
        assert found.passes <= 4
        assert (np.diff(found.trace["gap"]) <= 0.0).all()

    @pytest.mark.parametrize(("n", "d"), [(3000, 2), (10_000, 2), (40_000, 3), (10_000, 8)])
    def test_ten_passes_of_a_run_and_nothing_lost(self, n, d, monkeypatch):
        """Data from one Gaussian; 24 passes on some of these when steps were straight."""
        passes, original = [], ending.run

        def counted(*args, **options):
            found = original(*args, **options)
            passes.append(found.passes)
            return found

        monkeypatch.setattr(ending, "run", counted)
        model = named("diagonal")
        for seed in range(16):
            sample = eb.ArraySample(eb.gaussian(n, d, seed))
            found = eb.fit(sample, model)
            assert found.status == "converged"
            starts = model.mle_starts(sample)
            ends = eb.run_many([sample] * len(starts), model, eb.NewtonAnderson(1e-6), starts)
            best = -n * model.gaps(sample, np.stack([end.params for end in ends])).min()
            assert found.gain >= best - 1e-3
        assert max(passes) <= 10

    def test_precision_does_not_stop_it_from_looking_at_the_ends(self):
        """From the middle of a valley to a hole near an axis; up to 18 passes step by step."""
        model, n = eb.Diagonal(), 10**4
        for seed in range(12):
            sample = eb.ArraySample(eb.gaussian(n, 2, seed))
            spread = model.spread(sample.moments())
            r = sample.shape_about(np.zeros(2), spread, even=True).second[0, 1]
            middle = np.sqrt(abs(r)) * np.array([1.0, np.sign(r)]) * spread
            found = eb.run(sample, model, eb.NewtonAnderson(1e-6), middle)
            onwards = eb.run(sample, model, eb.EM(), found.params, max_iter=300)
            left = model.gap(sample, found.params) - model.gap(sample, onwards.params)
            assert found.status == "converged"
            assert found.passes <= 12
            assert n * left <= 1e-5

    @pytest.mark.parametrize("better", [0, 1])
    def test_a_rival_is_followed_to_its_end_where_it_is_ahead(self, better, monkeypatch):
        """A maximum along each axis; that of the uniform coordinate is the higher one."""
        rng = np.random.default_rng(0)
        clusters = rng.choice([-1.2, 1.2], 5000) + rng.normal(size=5000)
        sample = eb.ArraySample(np.column_stack([clusters, rng.uniform(-1.0, 1.0, 5000)]))
        model = eb.Diagonal()
        axes = np.array([[0.8, 0.01], [0.01, 0.4]])
        begins = axes if better == 1 else axes[::-1]
        monkeypatch.setattr(ending, "_TRIED", 1)
        known, algorithm = Metered(sample), eb.NewtonAnderson(1e-6).resolve(model)
        runs, stopped = ending.ended(
            begins, False, sample, known, model, algorithm,
            rivals=1, max_iter=100, tol=None, validation=None,
        )  # fmt: skip
        assert not stopped
        assert [one.status for one in runs] == ["converged", "max_iter", "converged"][: 2 + better]
        assert known.passes == 0.0  # the runs' own passes tell which is ahead
        gaps = model.gaps(sample, np.stack([one.params for one in runs]))
        assert gaps.argmin() == (2 if better else 0)
