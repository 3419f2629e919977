"""The rivals of EM and ELU, and Newton-Anderson: what they do, step by step, and what it buys."""

import numba
import numpy as np
import pytest
from conftest import needs_jit, scaled

import elubench as eb
from elubench.algorithms import newton_anderson
from elubench.studies.mle import maximum_likelihood


@numba.njit
def eigen(matrix, vectors):
    newton_anderson.eigen(matrix, vectors)


MODELS = [eb.Isotropic(), eb.Diagonal(), eb.General()]


def columns(run):
    return run.trace.filter(like="param_").to_numpy()


@pytest.fixture(scope="module")
def rows():
    return eb.ArraySample(np.random.default_rng(4).normal(size=(300, 2)))


def squarem_by_hand(model, sample, x, cycles, growth=4.0):
    """Varadhan and Roland's cycle with the bound on its step length, in plain NumPy."""
    iterates, bound = [x], growth
    for _ in range(cycles):
        one = model.em_step(sample, x)
        two = model.em_step(sample, one)
        r, v = one - x, two - one - (one - x)
        length = min(max(np.linalg.norm(r) / np.linalg.norm(v), 1.0), bound)
        met = length == bound
        if length == 1.0:
            x = two
        else:
            leap = x + 2 * length * r + length**2 * v
            good = (model.scale(sample, leap) > 0).all() and (
                model.gap(sample, leap) <= model.gap(sample, one)
            )
            x = model.em_step(sample, leap) if good else two
            if met:
                bound *= growth
            if not good:
                bound = max(1.0, bound / growth)
        if length == 1.0 and met:
            bound *= growth
        iterates.append(x)
    return np.array(iterates)


class TestSquarem:
    @pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
    def test_is_the_published_cycle(self, model, rows):
        start = model.default_start(rows) * np.linspace(0.5, 0.9, model.n_params(2))
        run = eb.run(rows, model, eb.SQUAREM(), start, max_iter=6)
        expected = squarem_by_hand(model, rows, start, 6)
        # rounding grows with the step lengths, which multiply differences of EM steps
        np.testing.assert_allclose(columns(run), expected, rtol=0, atol=1e-9)

    def test_a_cycle_is_three_passes(self, rows):
        run = eb.run(rows, "isotropic", eb.SQUAREM(), max_iter=5)
        assert 10 <= run.passes <= 15


class TestAnderson:
    def test_first_step_is_em(self, rows):
        model = eb.Isotropic()
        start = model.default_start(rows)
        run = eb.run(rows, model, eb.Anderson(), start, max_iter=1)
        assert (run.params == model.em_step(rows, start)).all()

    def test_without_damping_it_solves_a_linear_map(self):
        """Depth p + 1 on a map that is linear near its fixed point ends there at once."""
        rng = np.random.default_rng(0)
        signs = rng.choice([-1.0, 1.0], size=(2000, 1))
        sample = eb.ArraySample(signs * [2.0, 1.0] + rng.normal(size=(2000, 2)))
        best = eb.run(sample, "isotropic", eb.EM(), tol=0.0, max_iter=scaled(2000, 200)).params
        near = best + 1e-5
        run = eb.run(sample, "isotropic", eb.Anderson(kappa=0.0, a=1e6), near, max_iter=4)
        em = eb.run(sample, "isotropic", eb.EM(), near, max_iter=4)
        assert np.linalg.norm(run.params - best) < 0.05 * np.linalg.norm(em.params - best)


class TestSteps:
    def test_polyak_step(self, rows):
        model = eb.Isotropic()
        x = model.default_start(rows)
        run = eb.run(rows, model, eb.Polyak(), x, max_iter=3)
        for t in range(3):
            gradient = model.gradient(rows, x)
            step = model.gap(rows, x) / (gradient @ gradient)
            assert run.trace["step"][t + 1] == pytest.approx(step, rel=1e-9)
            x = x - step * gradient
        np.testing.assert_allclose(run.params, x, rtol=1e-9)

    def test_polyak_ends_below_its_optimum(self, rows):
        run = eb.run(rows, "isotropic", eb.Polyak(optimum=1.0), max_iter=10)
        assert run.status == "converged"
        assert run.n_iter == 0

    def test_normalized_steps_have_the_lengths_they_should(self, rows):
        run = eb.run(rows, "diagonal", eb.NormalizedGD(eta=0.05, beta=0.5), max_iter=6)
        lengths = np.linalg.norm(np.diff(columns(run), axis=0), axis=1)
        np.testing.assert_allclose(lengths, 0.05 * 0.5 ** np.arange(6), rtol=1e-9)


class TestScipy:
    @pytest.mark.parametrize("coordinates", ["locations", "natural"])
    @pytest.mark.parametrize("kind", [eb.LBFGS, eb.Newton])
    @pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
    def test_ends_at_a_stationary_point(self, model, kind, coordinates):
        rng = np.random.default_rng(1)
        signs = rng.choice([-1.0, 1.0], size=(500, 1))
        sample = eb.ArraySample(signs * [1.5, 1.0] + rng.normal(size=(500, 2)))
        run = eb.run(sample, model, kind(coordinates=coordinates, gtol=1e-9), max_iter=200)
        assert run.status == "converged"
        assert np.abs(model.gradient(sample, run.params)).max() < 1e-6

    def test_coordinates_are_checked(self):
        with pytest.raises(ValueError, match="coordinates"):
            eb.LBFGS(coordinates="polar")


class TestEigen:
    @pytest.mark.parametrize("p", [1, 2, 3, 8])
    @pytest.mark.parametrize("kind", ["random", "repeated", "diagonal", "zero", "graded"])
    def test_against_lapack(self, p, kind):
        rng = np.random.default_rng(p)
        turn = np.linalg.qr(rng.normal(size=(p, p)))[0]
        values = {
            "random": rng.normal(size=p),
            "repeated": np.repeat(1.0, p),
            "diagonal": rng.normal(size=p),
            "zero": np.zeros(p),
            "graded": 10.0 ** -np.arange(0, 2 * p, 2),
        }[kind]
        matrix = np.diag(values) if kind == "diagonal" else (turn * values) @ turn.T
        matrix = 0.5 * (matrix + matrix.T)
        work, vectors = matrix.copy(), np.empty((p, p))
        eigen(work, vectors)
        largest = np.abs(values).max()
        tolerance = 50 * p * np.finfo(float).eps * max(largest, 1e-300)
        np.testing.assert_allclose(
            np.sort(np.diag(work)), np.linalg.eigvalsh(matrix), rtol=0, atol=tolerance
        )
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(p), rtol=0, atol=1e-13)
        found = (vectors * np.diag(work)) @ vectors.T
        np.testing.assert_allclose(found, matrix, rtol=0, atol=tolerance)


def starts(model, d, count, seed=7, length=0.8):
    """Random starts of this norm; for general locations the norm of the mixing measure."""
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(count, model.n_params(d)))
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    return directions / norms * length * (np.sqrt(2) if model.name == "general" else 1.0)


CASES = [
    (eb.Isotropic(), 1, "equal"),
    (eb.Isotropic(), 2, "equal"),
    (eb.Diagonal(), 2, "equal"),
    (eb.Diagonal(), 2, "generic"),
    (eb.Diagonal(), 3, "generic"),
    (eb.General(), 1, "generic"),
    (eb.General(), 2, "generic"),
]


def lattices(model, d, n, kind, count):
    samples = [eb.LatticeSample.gaussian(n, d, 2000 + k) for k in range(count)]
    if kind == "equal":
        begin = np.full((count, d), 0.8 / np.sqrt(d))
    else:
        begin = starts(model, d, count)
    # on the diagonal model generic starts end near an axis, where the radius is that of d = 1
    slow = d == 1 or (model.name == "diagonal" and kind == "generic")
    radius = 2.0 * (n ** (-1 / 8) if slow else (d / n) ** (1 / 4))
    return samples, begin, radius


class TestNewtonAnderson:
    @needs_jit
    @pytest.mark.parametrize("n", [10**4, 10**8, 10**12])
    @pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].name}-{c[1]}-{c[2]}")
    def test_few_passes_to_the_radius_whatever_n(self, case, n):
        model, d, kind = case
        samples, begin, radius = lattices(model, d, n, kind, 12)
        runs = eb.run_many(samples, model, eb.NewtonAnderson(), begin, radius=radius)
        assert all(run.status == "reached" for run in runs)
        passes = [run.passes for run in runs]
        assert np.median(passes) <= 14
        assert max(passes) <= 25

    @needs_jit
    @pytest.mark.parametrize("n", [10**4, 10**6, 10**10])
    def test_ends_at_the_optimum_of_the_sample_in_one_dimension(self, n):
        """Against a dense grid: half of the samples have their optimum at 0, half do not."""
        model, inside = eb.Isotropic(), 0
        for seed in range(12):
            sample = eb.LatticeSample.gaussian(n, 1, seed)
            run = eb.run(sample, model, eb.NewtonAnderson(), [0.8])
            grid = np.linspace(0, min(5 * n ** (-1 / 8), 0.9), 4001)[:, None]
            gaps = np.concatenate([model.gaps(sample, part) for part in np.split(grid[1:], 80)])
            best = min(0.0, gaps.min())
            assert run.status == "converged"
            assert model.gap(sample, run.params) <= best + 0.01 / n
            inside += best == 0.0
        assert 2 <= inside <= 10

    @needs_jit
    @pytest.mark.parametrize("model", [eb.Isotropic(), eb.General()], ids=lambda m: m.name)
    def test_ends_at_the_best_of_many_starts(self, model):
        n, d = 10**8, 2
        for seed in range(5):
            sample = eb.LatticeSample.gaussian(n, d, seed)
            run = eb.run(sample, model, eb.NewtonAnderson(), starts(model, d, 1, seed)[0])
            others = [
                eb.run(sample, model, eb.NewtonAnderson(1e-4), start).params
                for length in (0.8, 0.1, n ** (-1 / 4))
                for start in starts(model, d, 4, seed, length)
            ]
            best = min(model.gap(sample, params) for params in others)
            assert model.gap(sample, run.params) <= best + 0.01 / n

    @needs_jit
    def test_the_diagonal_model_has_several_minima(self):
        """There it ends at one of them, not always the lowest.

        Two coordinates bring c theta_1 theta_2 + (theta_1 theta_2)^2 / 2 with c of order n^(-1/2): the
        bottom is a valley along a hyperbola, flat to less than 1/n up to the axes, where kurtosis
        digs holes of its own. Nothing within reach of the end is lower by what the run promises.
        """
        n, d, model = 10**8, 2, eb.Diagonal()
        angles = np.linspace(0, 2 * np.pi, 33)[:-1]
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        apart = 0
        for seed in range(8):
            sample = eb.LatticeSample.gaussian(n, d, seed)
            gaps = []
            for length in (0.8, n ** (-1 / 8), n ** (-1 / 4)):
                for start in starts(model, d, 4, seed, length):
                    end = eb.run(sample, model, eb.NewtonAnderson(), start).params
                    gaps.append(model.gap(sample, end))
                    around = model.gaps(sample, end + 0.1 * n ** (-1 / 4) * circle)
                    assert around.min() >= gaps[-1] - 0.01 / n
            apart += max(gaps) - min(gaps) > 0.1 / n
        assert apart >= 4

    @needs_jit
    @pytest.mark.parametrize(
        ("model", "d", "n"), [(eb.Diagonal(), 3, 10**12), (eb.General(), 2, 10**6)]
    )
    def test_only_samples_with_their_own_optimum_outside_miss_the_radius(self, model, d, n):
        """(d/n)^(1/4) is not the radius of the diagonal model: its optimum lies near an axis, at
        n^(-1/8), on most samples. A method that finds optima then need not come closer."""
        even = model.name == "diagonal"
        samples = [eb.LatticeSample.gaussian(n, d, seed) for seed in range(50)]
        begin = np.full((50, d), 0.8 / np.sqrt(d)) if even else starts(model, d, 50)
        radius = 2.0 * (d / n) ** (1 / 4)
        runs = eb.run_many(samples, model, eb.NewtonAnderson(), begin, radius=radius)
        missed = [place for place, run in enumerate(runs) if run.status != "reached"]
        assert len(missed) < 25
        for place in missed:
            assert runs[place].status == "converged"
            assert maximum_likelihood(model, samples[place]).location_error > radius
        wide = 2.0 * n ** (-1 / 8)
        runs = eb.run_many(samples, model, eb.NewtonAnderson(), begin, radius=wide)
        assert all(run.status == "reached" and run.passes <= 25 for run in runs)

    def test_never_raises_the_loss(self):
        sample = eb.ArraySample(np.random.default_rng(2).standard_t(5, size=(300, 2)))
        for model in MODELS:
            run = eb.run(sample, model, eb.NewtonAnderson(), max_iter=60)
            assert run.status == "converged"
            assert (np.diff(run.trace["gap"]) <= 1e-15).all()

    def test_leaves_the_saddle(self):
        """Separated data, and a start so near to one Gaussian that the gradient sees nothing."""
        rng = np.random.default_rng(3)
        signs = rng.choice([-1.0, 1.0], size=(400, 1))
        sample = eb.ArraySample(signs * [2.0, 0.5] + rng.normal(size=(400, 2)))
        for model in (eb.Isotropic(), eb.Diagonal()):
            far = eb.run(sample, model, eb.NewtonAnderson(), [1.5, 0.5])
            near = eb.run(sample, model, eb.NewtonAnderson(), [1e-9, 1e-9])
            assert model.gap(sample, near.params) == pytest.approx(
                model.gap(sample, far.params), abs=0.01 / sample.n
            )

    def test_far_apart_is_not_far_away(self):
        """Components 1,000 scales apart: u is of the order of a million, and steps grow with it."""
        rng = np.random.default_rng(0)
        X = rng.choice([-500.0, 500.0], 300)[:, None] * [1.0, 0.0] + rng.normal(size=(300, 2))
        run = eb.run(X, "isotropic", eb.NewtonAnderson(), max_iter=200)
        assert run.status == "converged"
        assert run.passes <= 60
        assert run.scale[0] == pytest.approx(1.0, rel=0.2)

    def test_follows_a_valley_from_a_plateau(self):
        """The valley of the diagonal model is a hyperbola; in its middle nothing seems to be left."""
        model = eb.Diagonal()
        for seed in (5, 8, 11, 28, 34, 35):
            rows = np.random.default_rng([2, 1000, seed]).standard_normal((1000, 2))
            sample = eb.ArraySample(rows)
            second = rows.T @ rows / len(rows)
            middle = np.sqrt(abs(second[0, 1])) * np.array([1.0, np.sign(second[0, 1])])
            run = eb.run(sample, model, eb.NewtonAnderson(), model.em_step(sample, middle))
            onwards = eb.run(sample, model, eb.EM(), run.params + 1e-3, max_iter=scaled(3000, 50))
            left = model.gap(sample, run.params) - model.gap(sample, onwards.params)
            assert run.status == "converged"
            assert left * sample.n <= 0.01

    @pytest.mark.parametrize("far", [1e4, 1e6])
    @pytest.mark.parametrize(("n", "d"), [(39, 5), (200, 12)])
    def test_one_far_row_leaves_nothing_to_em(self, n, d, far):
        """The eigenvalues of the Hessian span 15 orders of magnitude, and the lowest one matters."""
        model = eb.General()
        X = np.random.default_rng(0).standard_normal((n, d))
        X[0] *= far
        sample = eb.ArraySample(X)
        start = np.concatenate([X[1], 0.9 * X[0]])
        run = eb.run(sample, model, eb.NewtonAnderson(), start)
        end = run.params
        for _ in range(5):
            end = model.em_step(sample, end)
        left = model.gap(sample, run.params) - model.gap(sample, end)
        # the terms of the gap are of the order of the squared distance in scales times the precision
        rounding = n * (X[0] @ X[0]) / n * np.finfo(float).eps
        assert left * n <= 0.01 + rounding
        assert run.scale[0] == pytest.approx((n - 1) / n * X[1:].var(axis=0).mean(), rel=0.02)

    def test_units_do_not_matter(self):
        X = np.random.default_rng(6).normal((0.5, 0.0), size=(200, 2))
        for model in MODELS:
            one = eb.run(X, model, eb.NewtonAnderson())
            two = eb.run(X * 8.0, model, eb.NewtonAnderson())
            assert one.passes == two.passes
            assert (one.params * 8.0 == two.params).all()


@needs_jit
def test_rivals_at_a_million_million():
    """Passes to the radius at d = 1, n = 10^12, counted at accepted iterates."""
    n = 10**12
    samples = [eb.LatticeSample.gaussian(n, 1, seed) for seed in range(6)]
    most = {eb.SQUAREM: 51, eb.LBFGS: 18, eb.Newton: 20, eb.NewtonAnderson: 6, eb.ELU: 84}
    for kind, passes in most.items():
        runs = eb.run_many(samples, "isotropic", kind(), [0.8], radius=2 * n ** (-1 / 8))
        assert all(run.status == "reached" for run in runs)
        assert np.median([run.passes for run in runs]) <= passes, kind.__name__
