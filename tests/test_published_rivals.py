"""Rivals from the literature against their formulas, written out in NumPy and SciPy."""

import numpy as np
import pytest
from conftest import needs_jit
from scipy.optimize import brentq, minimize

import elubench as eb
from elubench.kernels.layout import CURVATURE, LOG_COSH

MODELS = [eb.Isotropic(), eb.Diagonal(), eb.General()]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)


@pytest.fixture(scope="module")
def rows():
    return eb.ArraySample(np.random.default_rng(4).normal(size=(300, 2)))


class By:
    """What a hand-written method may ask about a sample, in its own coordinates."""

    def __init__(self, model, sample, natural=False):
        self.model, self.sample, self.natural = model, sample, natural
        self.start = model.default_start(sample) * np.linspace(0.5, 0.9, model.n_params(2))
        self.asked = 0

    def first(self):
        return self._changed("from_locations", self.start) if self.natural else self.start

    def locations(self, points):
        if not self.natural:
            return np.array(points)
        return np.array([self._changed("to_locations", point) for point in points])

    def at(self, point, curved=False):
        """EM step, gradient, gap and, where the point surely has one, Hessian."""
        self.asked += 1
        want = LOG_COSH | (CURVATURE if curved else 0)
        found = self.model.evaluate(self.sample, point[None], want, natural=self.natural)
        return tuple(part[0] for part in found)

    def _changed(self, how, point):
        from elubench.kernels import ready

        m, out = self.sample.moments(), np.empty_like(point)
        ready(getattr(self.model.natural, how))(point, m.m1, m.m2, out)
        return out


def agrees(algorithm, by, iterates, tolerance=1e-9):
    """The run has these iterates, the start first."""
    run = eb.run(by.sample, by.model, algorithm, by.start, max_iter=len(iterates) - 1)
    found = run.trace.filter(like="param_").to_numpy()
    np.testing.assert_allclose(found, by.locations(iterates), rtol=0, atol=tolerance)
    return run


class TestNormGD:
    @each_model
    def test_is_the_published_step(self, model, rows):
        by = By(model, rows)
        x = [by.first()]
        for _ in range(5):
            _, gradient, _, hessian = by.at(x[-1], curved=True)
            x.append(x[-1] - 0.5 * gradient / np.linalg.eigvalsh(hessian)[-1])
        agrees(eb.NormGD(eta=0.5), by, x)

    @pytest.mark.parametrize("eta", [0.3, 1.0])
    @pytest.mark.parametrize(("d", "order"), [(1, 7), (2, 3), (4, 3)])
    def test_contracts_in_the_population_as_derived(self, d, order, eta):
        """By 1 - eta/7 at d = 1 and 1 - eta/3 beyond, up to terms of order |theta|^2."""
        for size in (0.08, 0.04):
            theta = np.full(d, size / np.sqrt(d))
            gradient = eb.population.gradient("isotropic", theta)
            largest = np.linalg.eigvalsh(eb.population.hessian("isotropic", theta))[-1]
            moved = np.linalg.norm(theta - eta * gradient / largest) / size
            assert moved == pytest.approx(1.0 - eta / order, abs=4.0 * eta * size**2)

    @needs_jit
    @pytest.mark.parametrize(("d", "factor"), [(1, 6 / 7), (2, 2 / 3)])
    def test_contracts_so_on_a_sample_that_is_large_enough(self, d, factor):
        sample = eb.LatticeSample.gaussian(10**14, d, 3)
        run = eb.run(sample, "isotropic", eb.NormGD(), np.full(d, 0.3 / np.sqrt(d)), max_iter=12)
        errors = np.linalg.norm(run.trace.filter(like="param_").to_numpy(), axis=1)
        inside = errors[1:] > 5 * eb.radius("isotropic", 10**14, d)
        ratios = (errors[1:] / errors[:-1])[inside & (errors[:-1] < 0.25)]
        assert len(ratios) >= 2
        np.testing.assert_allclose(ratios, factor, atol=0.02)

    def test_is_another_method_than_normalized_gd(self, rows):
        ends = [
            eb.run(rows, "isotropic", kind(), max_iter=1) for kind in (eb.NormGD, eb.NormalizedGD)
        ]
        assert (ends[0].params != ends[1].params).all()


class TestGDPolyak:
    @each_model
    def test_is_the_published_cycle(self, model, rows):
        by = By(model, rows, natural=True)
        x = [by.first()]
        for t in range(6):
            _, gradient, gap, _ = by.at(x[-1])
            step = (gap + 1.0) / (gradient @ gradient) if t % 3 == 2 else 0.1
            x.append(x[-1] - step * gradient)
        with np.errstate(all="ignore"):
            known = [k for k, point in enumerate(by.locations(x)) if np.isfinite(point).all()]
        agrees(eb.GDPolyak(short=2, eta=0.1, optimum=-1.0), by, x[: known[-1] + 1])


def quasi_newton(by, pairs, count):
    x, u, v = [by.first()], [], []
    while len(x) <= count:
        once, _, gap, _ = by.at(x[-1])
        twice = by.at(once)[0]
        u, v = [*u, once - x[-1]][-pairs:], [*v, twice - once][-pairs:]
        U, V = np.array(u).T, np.array(v).T
        weights = np.linalg.solve(U.T @ U - U.T @ V, U.T @ u[-1])
        leap = once + V @ weights
        with np.errstate(invalid="ignore"):
            x.append(leap if by.at(leap)[2] <= gap else twice)
    return x


class TestQuasiNewton:
    @pytest.mark.parametrize("pairs", [1, 2])
    @each_model
    def test_is_the_published_step(self, model, pairs, rows):
        by = By(model, rows)
        agrees(eb.QuasiNewton(pairs), by, quasi_newton(by, pairs, 6), 1e-7)

    @needs_jit
    def test_is_linear_at_a_root_of_order_seven(self):
        sample = eb.LatticeSample.gaussian(10**14, 1, 3)
        run = eb.run(sample, "isotropic", eb.QuasiNewton(), [0.3], max_iter=8)
        theta = run.trace["param_0"].to_numpy()
        np.testing.assert_allclose(theta[2:] / theta[1:-1], 6 / 7, atol=0.02)


class TestParabolicEM:
    @each_model
    def test_is_the_published_search(self, model, rows):
        by = By(model, rows)
        x = [by.first()]
        x0, x1 = x[0], by.at(x[0])[0]
        x2 = by.at(x1)[0]
        leaps = 0
        for _ in range(8):
            best, (after, _, least, _), trials = x2, by.at(x2), 0
            while True:
                t = 1.0 + 0.2 * 2.0**trials
                point = (1 - t) ** 2 * x0 + 2 * t * (1 - t) * x1 + t**2 * x2
                image, _, gap, _ = by.at(point)
                if not gap < least:
                    break
                best, after, least, trials = point, image, gap, trials + 1
            x.append(best)
            x0, x1, leaps = (x1, x2, leaps + 1) if trials else (x2, after, leaps)
            x2 = by.at(after)[0]
        assert 0 < leaps < 8 or (leaps, model.name) == (8, "diagonal")  # both kinds of cycle
        run = agrees(eb.ParabolicEM(first=0.2, growth=2.0), by, x)
        assert run.passes == by.asked - 1  # not the pass that begins the next cycle


def daarem(by, order, a, kappa, slack, count):
    """Differences as columns, the ridge by root finding: |gamma|^2 is the wished-for share."""
    m = min(order, (by.first().size + 1) // 2)
    point, s = by.first(), 0
    em, _, gap, _ = by.at(point)
    x, residual, cycle, steps, changes = [point], em - point, gap, [], []
    trial, extrapolated = em, False
    while len(x) <= count:
        image, _, new, _ = by.at(trial)
        if extrapolated and not new <= gap + slack / by.sample.n:
            trial, extrapolated = x[-1] + residual, False
            continue
        if len(steps) == m:
            s = max(s - m, -2 * kappa) if new > cycle else s
            cycle, steps, changes = new, [], []
        steps.append(trial - x[-1])
        changes.append(image - trial - residual)
        s += extrapolated
        x.append(trial)
        residual, gap = image - trial, new
        X, F = np.array(steps).T, np.array(changes).T
        share = 1.0 / (1.0 + a ** (kappa - s))
        left, sizes, right = np.linalg.svd(F, full_matrices=False)
        seen = left.T @ residual

        def weights(ridge, sizes=sizes, right=right, seen=seen):
            return right.T @ (sizes / (sizes**2 + ridge) * seen)

        goal = share * np.sum(weights(0.0) ** 2)
        top = 1e3 * np.sum(sizes**2)

        def over(z, weights=weights, goal=goal):
            return np.sum(weights(np.exp(z)) ** 2) - goal

        ridge = np.exp(brentq(over, np.log(1e-9 * top), np.log(top)))
        trial, extrapolated = x[-1] + residual - (X + F) @ weights(ridge), True
    return x


class TestDAAREM:
    @pytest.mark.parametrize("kappa", [2.0, 5.0])
    @each_model
    def test_is_the_published_iteration(self, model, kappa, rows):
        by = By(model, rows)
        expected = daarem(by, 10, 1.2, kappa, 0.01, 8)
        agrees(eb.DAAREM(kappa=kappa), by, expected, 1e-7)

    def test_a_fall_of_the_likelihood_within_the_slack_is_accepted(self, rows):
        by = By(eb.General(), rows)
        strict, loose = (
            eb.run(rows, by.model, eb.DAAREM(kappa=0.0, slack=slack), by.start, max_iter=40)
            for slack in (0.0, 5.0)
        )
        assert np.diff(strict.trace["gap"]).max() <= 1e-14
        assert 1e-6 < np.diff(loose.trace["gap"]).max() <= 5.0 / rows.n


class TestNesterov:
    @each_model
    def test_is_the_published_iteration(self, model, rows):
        by, eta, growth, t = By(model, rows, natural=True), 2.0, 1.3, 1.0
        x = [by.first()]
        y, shortened = x[0], 0
        gradient = by.at(y)[1]
        while len(x) <= 12:
            following = y - eta * gradient
            used = 1.0 if gradient @ (following - x[-1]) > 0 else t
            t = (1 + np.sqrt(1 + 4 * used**2)) / 2
            while True:
                following = y - eta * gradient
                z = following + (used - 1) / t * (following - x[-1])
                after = by.at(z)[1]
                curvature = (after - gradient) @ (z - y) / ((z - y) @ (z - y))
                if eta * curvature <= 1:
                    break
                eta, shortened = min(eta / 2, 1 / curvature), shortened + 1
            x.append(following)
            y, gradient, eta = z, after, eta * growth
        assert shortened > 0 or model.name != "general"
        agrees(eb.Nesterov(2.0, growth), by, x, 1e-8)

    @needs_jit
    @pytest.mark.parametrize(("d", "exponent"), [(1, 3 / 8), (2, 1 / 4)])
    def test_a_constant_step_takes_the_root_of_what_em_takes(self, d, exponent):
        """At d = 1; beyond, momentum is at the edge of swinging through 0 and may be quicker."""
        passes = []
        for n in (10**10, 10**14):
            sample = eb.LatticeSample.gaussian(n, d, 0)
            radius = eb.radius("isotropic", n, d, constant=3.0)
            start = np.full(d, 0.5 / np.sqrt(d))
            run = eb.run(sample, "isotropic", eb.Nesterov(1.0, 1.0), start, radius=radius)
            passes.append(run.passes)
        found = np.log(passes[1] / passes[0]) / np.log(10**4)
        assert found <= exponent + 0.03
        assert d > 1 or found >= exponent - 0.03


class TestCubicNewton:
    @pytest.mark.parametrize("case", range(12))
    def test_a_step_minimises_the_cubic_model(self, case, rows):
        """Against a search from many points, also where a direction is one of negative curvature."""
        model = MODELS[case % 3]
        by = By(model, rows, natural=True)
        by.start = by.start * (0.05, 0.3, 1.0, 1.15)[case // 3]
        point, cubic = by.first(), (0.1, 1.0)[case % 2]
        _, gradient, gap, hessian = by.at(point, curved=True)

        def bound(s):
            return gradient @ s + s @ hessian @ s / 2 + cubic * np.linalg.norm(s) ** 3 / 6

        def slope(s):
            return gradient + hessian @ s + cubic * np.linalg.norm(s) * s / 2

        draws = np.random.default_rng(case).normal(size=(10, point.size))
        found = [minimize(bound, 3 * draw, jac=slope, tol=1e-13) for draw in draws]
        best = min(found, key=lambda one: one.fun).x
        algorithm = eb.CubicNewton(first=cubic, precision=1e-9)
        run = eb.run(rows, model, algorithm, by.start, max_iter=1)
        if run.trace["step"].iloc[-1] != cubic:  # the first trial was above the bound
            assert by.at(point + best)[2] > gap + bound(best)
            return
        moved = run.params - by.locations([point + best])[0]
        other = run.params - by.locations([point + best - 2 * best])[0]
        assert min(np.abs(moved).max(), np.abs(other).max()) < 1e-5

    @each_model
    def test_leaves_a_saddle_that_the_gradient_does_not_see(self, model):
        rng = np.random.default_rng(3)
        signs = rng.choice([-1.0, 1.0], size=(400, 1))
        sample = eb.ArraySample(signs * [2.0, 0.5] + rng.normal(size=(400, 2)))
        far = model.default_start(sample)
        centre = model.truth(model.centre(sample.moments()), 2)
        ends = [
            eb.run(sample, model, eb.CubicNewton(), start, max_iter=200)
            for start in (far, centre + 1e-10 * far)
        ]
        assert ends[1].status == "converged"
        gaps = [model.gap(sample, end.params) for end in ends]
        assert gaps[1] == pytest.approx(gaps[0], abs=0.01 / sample.n)
        assert gaps[1] < -0.01
