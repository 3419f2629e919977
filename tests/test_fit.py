"""``fit``: the start, the likelihood, the regime and its evidence, what it refuses."""

import gc
import json
import weakref
from pathlib import Path

import numpy as np
import pytest
from conftest import needs_jit, scaled
from elsewhere import Elsewhere, Splitting

import elubench as eb
from elubench.algorithms.known import commands
from elubench.fits import evidence, regimes, result
from elubench.models import directions
from elubench.models.known import named

MODELS = ("isotropic", "diagonal", "general")
FAITHFUL = Path(__file__).parent / "data" / "faithful.csv"


def two(n, d, half, seed, share=0.5):
    """Rows from two Gaussians, each ``half`` scales from the origin in a random direction."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(d)
    direction /= np.linalg.norm(direction)
    signs = np.where(rng.random((n, 1)) < share, 1.0, -1.0)
    return rng.standard_normal((n, d)) + half * signs * direction


def log_density(X, location, covariance):
    z = X - location
    _, log_det = np.linalg.slogdet(2.0 * np.pi * covariance)
    return -0.5 * (log_det + np.einsum("ij,ij->i", z @ np.linalg.inv(covariance), z))


def log_likelihood(X, fit):
    covariance = np.diag(np.broadcast_to(fit.scale, fit.d))
    parts = [log_density(X, location, covariance) for location in fit.locations]
    return float(np.sum(np.logaddexp(*parts) - np.log(2.0)))


class TestLikelihood:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("algorithm", ["auto", "elu", "em"])
    def test_is_that_of_the_parameters(self, model, algorithm):
        X = two(300, 2, 2.0, seed=1)
        fit = eb.fit(X, model, algorithm)
        assert fit.log_likelihood == pytest.approx(log_likelihood(X, fit), rel=1e-10)
        m = eb.ArraySample(X).moments()
        one = -300 * fit.model.one_gaussian_loss(m, m)
        assert fit.gain == pytest.approx(fit.log_likelihood - one, rel=1e-9)
        assert fit.evidence.likelihood_ratio == pytest.approx(2.0 * fit.gain, rel=1e-12)

    @pytest.mark.parametrize("model", MODELS)
    def test_is_a_maximum(self, model):
        X = two(scaled(2000, 200), 3, 1.5, seed=2)
        fit = eb.fit(X, model)
        step = fit.model.em_step(eb.ArraySample(X), fit.run.params)
        assert fit.status == "converged"
        assert np.linalg.norm(step - fit.run.params) < 0.1 / np.sqrt(len(X))  # 0.01 in likelihood
        more = eb.fit(X, model, starts=scaled(6, 2), seed=5)
        assert more.log_likelihood >= fit.log_likelihood - 0.01
        assert more.passes > fit.passes

    def test_other_single_gaussian(self):
        """Against the best Gaussian of covariance S + tau delta delta^T, on a grid of tau."""
        X = two(400, 3, 1.2, seed=3)
        fit = eb.fit(X, "diagonal")
        assert fit.evidence.rival == regimes.STRETCHED
        stretched = max(
            float(
                np.sum(
                    log_density(
                        X,
                        np.zeros(3),
                        np.diag(fit.scale) + tau * np.outer(fit.location, fit.location),
                    )
                )
            )
            for tau in np.linspace(0.5, 1.5, 2001)
        )
        expected = 2.0 * (fit.log_likelihood - stretched)
        assert fit.evidence.rival_ratio == pytest.approx(expected, abs=1e-3)

    def test_off_centre(self):
        X = 3.0 + two(500, 2, 0.0, seed=4)
        fit = eb.fit(X, "isotropic")
        centred = np.mean(X.var(axis=0))
        one = -0.5 * 500 * 2 * (np.log(2.0 * np.pi * centred) + 1.0)
        expected = 2.0 * (fit.log_likelihood - one)
        assert fit.evidence.rival == regimes.ABOUT_THE_MEAN
        assert fit.evidence.rival_ratio == pytest.approx(expected, rel=1e-9)
        assert fit.regime == "misfit"
        assert any("symmetric about 0" in note for note in fit.notes)
        assert "Subtract the centre" in fit.advice()
        assert eb.fit(X, "general").regime == "over-specified"
        assert not eb.fit(X, "general").notes


class TestContraction:
    @pytest.mark.parametrize("model", MODELS)
    def test_is_what_em_shows(self, model):
        X = two(scaled(4000, 300), 1, 1.0, seed=1)
        fit = eb.fit(X, model)
        run = eb.run(X, model, eb.EM(), max_iter=300, metrics=False)
        points = run.trace.filter(like="param_").to_numpy()
        lengths = np.linalg.norm(np.diff(points[:120], axis=0), axis=1)
        steady = (lengths[:-1] > 1e-8) & (lengths[:-1] < 1e-3)
        ratio = lengths[1:][steady] / lengths[:-1][steady]
        assert fit.evidence.contraction == pytest.approx(ratio[-1], abs=0.01)

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize(("d", "half"), [(1, 1.2), (3, 0.8), (12, 1.5)])
    def test_is_the_largest_eigenvalue(self, model, d, half):
        """At d = 12 a block of directions does not span everything and is refined."""
        X = two(scaled(3000, 150), d, half, seed=d)
        fit = eb.fit(X, model)
        params, sample = fit.run.params, eb.ArraySample(X)
        h, base = 1e-5, fit.model.em_step(sample, fit.run.params)
        columns = [
            (fit.model.em_step(sample, params + h * e) - base) / h for e in np.eye(len(params))
        ]
        largest = np.max(np.abs(np.linalg.eigvals(np.array(columns).T)))
        assert fit.evidence.contraction == pytest.approx(largest, abs=0.003 if d < 5 else 0.03)

    def test_of_one_gaussian_is_one(self):
        sample = eb.LatticeSample.gaussian(10**10, 1, seed=0)
        assert eb.fit(sample).evidence.contraction == pytest.approx(1.0, abs=1e-4)


def test_data_are_freed_with_the_fit():
    """No cycle waits for the garbage collector: the next fit would need fresh memory."""
    fit = eb.fit(np.random.default_rng(0).standard_normal((100, 2)))
    kept = weakref.ref(fit.sample)
    gc.disable()
    try:
        del fit
        assert kept() is None
    finally:
        gc.enable()


class TestRegime:
    @pytest.mark.slow_without_jit
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 4])
    @pytest.mark.parametrize(("half", "regime"), [(2.0, "separated"), (0.0, "over-specified")])
    def test_clear_cases(self, model, d, half, regime):
        """19 of 20; ``benchmarks.calibration`` counts more."""
        found = [eb.fit(two(10_000, d, half, seed), model, level=0.01) for seed in range(20)]
        assert [fit.regime for fit in found].count(regime) >= 19
        assert max(fit.passes for fit in found) < 40

    @pytest.mark.slow_without_jit
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 4])
    @pytest.mark.parametrize("half", [0.5, 0.8])
    def test_in_between_is_never_separated(self, model, d, half):
        """Two Gaussians closer than two scales make one bump, however clear the evidence."""
        found = [eb.fit(two(10_000, d, half, seed), model).regime for seed in range(10)]
        assert "separated" not in found
        if half > 0.5 or d > 1:
            assert "over-specified" not in found

    @pytest.mark.parametrize("model", ["isotropic", "general"])
    def test_one_gaussian_out_of_round(self, model):
        X = two(scaled(5000, 300), 3, 0.0, seed=1)
        X[:, 1] *= 3.0
        fit = eb.fit(X, model)
        assert fit.regime == "misfit"
        assert fit.evidence.rival == regimes.STRETCHED
        assert "equal variances" in fit.advice()

    def test_unequal_parts_do_not_suit_equal_weights(self):
        fit = eb.fit(two(scaled(5000, 400), 2, 2.5, seed=1, share=0.7))
        assert fit.regime == "misfit"
        assert "two modes" in fit.advice()

    def test_rule(self):
        def called(ratio=100.0, rival=90.0, half=1.5, contraction=0.5, misfit=1.0, valley=5.0):
            signs = (ratio, 5.4, rival, "one Gaussian", 20.0, half, 1.0, contraction, 0.95)
            return regimes.regime(
                regimes.Signs(*signs, 0.05, "limit law", misfit, 2.0, valley, 1.28)
            )

        assert called() == "separated"
        assert called(ratio=5.0) == "over-specified"
        assert called(ratio=15.0, rival=15.0) == "undecided"
        assert called(rival=-5.0) == "undecided"
        assert called(half=0.9) == "undecided"
        assert called(contraction=0.97) == "undecided"
        assert called(contraction=np.nan) == "undecided"
        assert called(valley=1.0) == "undecided"
        assert called(misfit=np.nan, valley=np.nan) == "separated"
        assert called(misfit=3.0) == called(misfit=3.0, ratio=0.0) == "misfit"


@pytest.fixture(scope="module")
def table():
    return np.loadtxt(FAITHFUL, delimiter=",", skiprows=1)


class TestFaithful:
    def test_table(self, table):
        assert table.shape == (272, 2)
        assert table[:, 0].mean() == pytest.approx(3.4878, abs=5e-5)
        assert table[:, 0].std(ddof=1) == pytest.approx(1.1414, abs=5e-5)

    def test_eruptions(self, table):
        fit = eb.fit(table[:, :1], "general")
        assert fit.regime == "misfit"  # parts of unequal size and width
        assert "two modes" in fit.advice()
        np.testing.assert_allclose(fit.location, [[2.0], [4.3]], atol=0.1)

    def test_both_columns(self, table):
        fit = eb.fit(table, "general")
        assert fit.regime == "misfit"
        np.testing.assert_allclose(fit.location[:, 1], [54.8, 80.3], atol=0.5)


class TestSymmetries:
    @pytest.mark.parametrize("model", MODELS)
    def test_mirror_image(self, model):
        X = two(200, 3, 1.5, seed=7)
        one, other = eb.fit(X, model), eb.fit(-X, model)
        expected = -one.location[::-1] if model == "general" else one.location
        np.testing.assert_allclose(other.location, expected, atol=1e-6)
        assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)

    @pytest.mark.parametrize("model", MODELS)
    def test_units(self, model):
        X = two(200, 2, 1.5, seed=8)
        one, other = eb.fit(X, model), eb.fit(1024.0 * X, model)
        np.testing.assert_allclose(other.location, 1024.0 * one.location, rtol=1e-9)
        np.testing.assert_allclose(other.scale, 1024.0**2 * one.scale, rtol=1e-9)
        assert other.regime == one.regime
        assert other.evidence.contraction == pytest.approx(one.evidence.contraction, rel=1e-6)

    def test_shift_of_general_locations(self):
        X = two(200, 2, 1.5, seed=9)
        shift = np.array([5.0, -3.0])
        one, other = eb.fit(X, "general"), eb.fit(X + shift, "general")
        np.testing.assert_allclose(other.location, one.location + shift, atol=1e-5)

    def test_weights_are_repeats(self):
        X = two(150, 2, 1.5, seed=10)
        weights = np.random.default_rng(0).integers(0, 4, 150)
        one = eb.fit(X, "diagonal", weights=weights)
        other = eb.fit(np.repeat(X, weights, axis=0), "diagonal")
        np.testing.assert_allclose(one.location, other.location, atol=1e-6)
        ratios = one.evidence.likelihood_ratio, other.evidence.likelihood_ratio
        assert ratios[0] == pytest.approx(ratios[1], rel=1e-9)

    def test_labels(self):
        fit = eb.fit(two(200, 3, 2.0, seed=11), "general")
        at = np.argmax(np.abs(fit.location[1] - fit.location[0]))
        assert fit.location[0, at] < fit.location[1, at]
        symmetric = eb.fit(two(200, 3, 2.0, seed=11), "isotropic")
        assert symmetric.location[np.argmax(np.abs(symmetric.location))] > 0.0
        np.testing.assert_array_equal(symmetric.locations[1], symmetric.location)

    def test_same_bits_again(self):
        X = two(300, 2, 1.0, seed=12)
        one, other = eb.fit(X, "general", starts=3), eb.fit(X, "general", starts=3)
        assert one.location.tobytes() == other.location.tobytes()
        assert one.evidence == other.evidence


class TestStart:
    @pytest.mark.parametrize("d", [2, 10])
    def test_one_coordinate_of_many(self, d):
        """On the diagonal model nothing but one coordinate's shape tells the components apart."""
        rng = np.random.default_rng(0)
        X = rng.standard_normal((scaled(2000, 200), d))
        X[:, 1] += 3.0 * rng.choice([-1.0, 1.0], len(X))
        X *= np.geomspace(0.01, 100.0, d)
        fit = eb.fit(X, "diagonal")
        assert np.argmax(np.abs(fit.location) / X.std(axis=0)) == 1
        assert fit.regime == "separated"

    def test_longest_direction_without_all_pairs(self, monkeypatch):
        X = two(scaled(3000, 200), 10, 2.0, seed=3) + 1.0
        sample = eb.ArraySample(X)
        centre, units = sample.moments().m1, X.std(axis=0)
        exact = directions.leading(sample, centre, units, 1)
        monkeypatch.setattr(directions, "PAIRS_UP_TO", 4)
        found = directions.leading(sample, centre, units, 1)
        assert found[0][0] == pytest.approx(exact[0][0], rel=1e-3)
        assert abs(found[1][0] @ exact[1][0]) == pytest.approx(1.0, abs=1e-2)

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("half", [30.0, 1e4])
    def test_far_apart(self, model, half):
        X = two(300, 1, half, seed=4)
        fit = eb.fit(X, model)
        assert fit.status == "converged"
        assert fit.regime == "separated"
        parts = np.where(X > 0.0, X - X[X > 0.0].mean(), X - X[X < 0.0].mean())
        np.testing.assert_allclose(fit.scale, np.mean(parts**2), rtol=0.1)

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 3])
    def test_random_starts_have_positive_scale(self, model, d):
        sample = eb.ArraySample(two(100, d, 1.0, seed=5))
        model = named(model)
        rng = np.random.default_rng(0)
        for _ in range(50):
            start = model.random_start(sample, rng)
            assert (model.scale(sample, start) > 0).all()

    def test_a_model_of_ones_own(self):
        class Mine(eb.Isotropic):
            name = "mine"

        fit = eb.fit(two(200, 2, 2.0, seed=6), Mine(), starts=2)
        assert fit.regime == "separated"
        assert "mine" in fit.summary()


class TestAlgorithms:
    @pytest.mark.parametrize("name", sorted(commands()))
    def test_by_name(self, name):
        X = two(scaled(1000, 200), 2, 2.0, seed=1)
        fit = eb.fit(X, "general", name, max_iter=scaled(300, 60))
        assert type(fit.algorithm) is commands()[name]
        assert fit.regime == "separated"
        best = eb.fit(X, "general")
        assert fit.log_likelihood <= best.log_likelihood + 0.02

    def test_auto(self):
        assert isinstance(eb.fit(two(100, 2, 2.0, seed=1)).algorithm, eb.NewtonAnderson)
        wide = eb.fit(two(200, eb.NewtonAnderson.up_to + 1, 3.0, seed=1))
        assert isinstance(wide.algorithm, eb.LBFGS)
        assert wide.regime == "separated"

    def test_with_options(self):
        fit = eb.fit(two(100, 1, 2.0, seed=1), algorithm=eb.ELU(eta=0.1, beta=0.9), max_iter=50)
        assert fit.algorithm == eb.ELU(eta=0.1, beta=0.9)

    def test_only_those_that_need_it_hold_rows_out(self):
        X = two(200, 1, 2.0, seed=2)
        fit = eb.fit(X, algorithm="elu", validation=0.25, max_iter=40)
        assert any("50 rows were held out" in note for note in fit.notes)
        assert "validation_loss" in fit.run.trace
        for algorithm, validation in (("em", 0.25), ("elu", None)):
            fit = eb.fit(X, algorithm=algorithm, validation=validation, max_iter=40)
            assert "validation_loss" not in fit.run.trace

    def test_budget_spent(self):
        fit = eb.fit(two(6000, 2, 0.7, seed=0), algorithm="em", max_iter=3)
        assert fit.status == "max_iter"
        assert any("max_iter" in note for note in fit.notes)

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 4])
    def test_passes_on_one_gaussian(self, model, d):
        fit = eb.fit(eb.gaussian(scaled(200_000, 500), d, seed=1), model)
        assert fit.passes < 40
        assert fit.regime == "over-specified"
        assert "crawls" in fit.summary()


class TestSamples:
    @pytest.mark.parametrize("model", MODELS)
    def test_elsewhere(self, model):
        X = two(200, 2, 1.5, seed=1)
        sample = Elsewhere(eb.ArraySample(X))
        fit, other = eb.fit(sample, model), eb.fit(X, model)
        assert fit.location.tobytes() == other.location.tobytes()
        unknown = dict.fromkeys(("misfit", "misfit_limit", "valley", "valley_limit"), np.nan)
        assert str(fit.evidence) == str(other.evidence._replace(**unknown))
        assert fit.passes == other.passes == sample.reads

    def test_passes_with_validation(self):
        sample = Splitting(eb.ArraySample(two(6000, 2, 1.5, seed=1)))
        fit = eb.fit(sample, algorithm="simultaneous", max_iter=20)
        assert 20 < fit.passes < 40

    def test_that_cannot_be_split(self):
        sample = Elsewhere(eb.ArraySample(two(200, 2, 1.5, seed=1)))
        with pytest.raises(ValueError, match="validation=None to go without"):
            eb.fit(sample, algorithm="elu")
        assert sample.reads == 0

    def test_interrupted(self):
        sample = Elsewhere(eb.ArraySample(two(200, 1, 1.0, seed=1)), interrupt=8)
        fit = eb.fit(sample, algorithm="em", starts=3)
        assert fit.status == "interrupted"
        assert any("interrupted" in note for note in fit.notes)

    @pytest.mark.parametrize(("model", "algorithm"), [("general", "auto"), ("diagonal", "lbfgs")])
    def test_interrupted_in_any_read(self, model, algorithm):
        """Before candidates were compared there is nothing to return; afterwards there always is."""
        rows = eb.ArraySample(two(60, 2, 1.5, seed=1))
        whole = Elsewhere(rows)
        best = eb.fit(whole, model, algorithm, starts=2)
        first = None
        for read in range(1, whole.reads + 1):
            try:
                fit = eb.fit(Elsewhere(rows, interrupt=read), model, algorithm, starts=2)
            except KeyboardInterrupt:
                assert first is None, f"lost in read {read}, and not in read {first}"
                continue
            first = first or read
            assert fit.status == "interrupted"
            assert fit.notes[-1].startswith("the fit was interrupted")
            assert 0.0 <= fit.gain <= best.gain + 1e-3
        assert first is not None
        assert first <= 3  # what spoils a model, the directions of the data; then the candidates
        assert fit.gain == best.gain

    def test_lattice(self):
        fit = eb.fit(eb.LatticeSample.gaussian(10**8, 2, seed=0), "general")
        assert (fit.n, fit.d, fit.regime) == (10**8, 2, "over-specified")


class TestSummary:
    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize(("d", "half"), [(1, 0.0), (1, 0.8), (3, 2.0), (12, 3.0)])
    def test_fits_a_terminal(self, model, d, half):
        fit = eb.fit(two(scaled(3000, 150), d, half, seed=0), model)
        lines = fit.summary().splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("regime") and fit.regime in line for line in lines)
        assert " ".join(fit.advice().split()) in " ".join(fit.summary().split())

    @pytest.mark.parametrize(
        ("evidence", "words"),
        [
            ((100.0, 5.4, 100.0, "one Gaussian", 20.0, 0.8, 1.0, 0.9, 0.95), "a single bump"),
            ((10.0, 5.4, 10.0, "one Gaussian", 20.0, 0.8, 1.0, 0.9, 0.95), "Collect more"),
            ((100.0, 5.4, 3.0, regimes.STRETCHED, 20.0, 2.0, 1.0, 0.1, 0.95), "no correlation"),
            ((100.0, 5.4, 100.0, "one Gaussian", 20.0, 0.8, 1.0, 1.0, 0.95), "does not converge"),
            (
                (100.0, 5.4, 100.0, "one Gaussian", 20.0, 3.0, 1.0, 0.01, 0.95),
                "a digit per iteration",
            ),
            ((1.0, 5.4, 1.0, "one Gaussian", 20.0, 3.0, 1.0, 0.01, 0.95), "as well as two"),
        ],
    )
    def test_advice(self, evidence, words):
        from dataclasses import replace

        fit = eb.fit(two(100, 1, 2.0, seed=0))
        evidence = regimes.Signs(*evidence)
        assert words in replace(fit, gathered=lambda: evidence).advice()

    def test_json(self):
        fit = eb.fit(two(300, 2, 2.0, seed=0), "general")
        values = json.loads(json.dumps(fit.as_dict(), allow_nan=False))
        assert np.array(values["location"]).shape == (2, 2)
        assert values["regime"] == "separated"
        assert values["evidence"]["contraction"] == fit.evidence.contraction
        assert result._plain(np.nan) is None


def rows(*values):
    return np.array(values, dtype=float)[:, None]


class TestRefusals:
    @pytest.mark.parametrize(
        ("X", "options", "named"),
        [
            (rows(1, 2, 3), {"model": "spherical"}, "isotropic"),
            (rows(1, 2, 3), {"algorithm": "fast"}, "newton-anderson"),
            (rows(1, 2, 3), {"algorithm": None}, "newton-anderson"),
            (rows(1, 2, 3), {"model": "isotropic", "algorithm": "centred-elu"}, "half sum"),
            (rows(1, 2, 3), {"validation": 1.0}, "validation"),
            (rows(1, 2, 3), {"validation": 0.0}, "validation"),
            (rows(1, 2, 3), {"algorithm": "elu"}, "n=3"),
            (rows(1, 2, 3), {"starts": 0}, "starts"),
            (rows(1, 2, 3), {"seed": -1}, "seed"),
            (rows(1, 2, 3), {"max_iter": 0}, "max_iter"),
            (rows(1, 2, 3), {"weights": [1.0, 2.0]}, "weights"),
            (rows(1, 2, np.nan), {}, "NaN"),
            (rows(1, 2, np.inf), {}, "infinity"),
            (np.arange(5.0), {}, "2D"),
            (rows(1), {}, "minimum of 2"),
            (rows(3, 3, 3), {}, "X must vary"),
            (rows(0.1, 0.1, 0.1), {"model": "general"}, "X must vary"),
            (np.full((9, 2), 1e9), {"model": "diagonal"}, "X must vary"),
            (
                np.column_stack([np.arange(9.0), np.zeros(9)]),
                {"model": "diagonal"},
                "X must vary, got no positive scale for the diagonal",
            ),
            (rows(-1, 1, -1, 1), {}, "two points"),
            (rows(0, 0, 1), {"model": "general"}, "two points"),
        ],
    )
    def test_value(self, X, options, named):
        with pytest.raises(ValueError, match=named):
            eb.fit(X, **options)

    @pytest.mark.parametrize(
        "options",
        [{"starts": 1.5}, {"seed": "one"}, {"validation": "some"}, {"max_iter": None or []}],
    )
    def test_type(self, options):
        with pytest.raises(TypeError, match=next(iter(options))):
            eb.fit(rows(1, 2, 3), **options)

    def test_weights_of_a_sample(self):
        with pytest.raises(ValueError, match="a Sample, which has its own"):
            eb.fit(eb.ArraySample(rows(1, 2, 3)), weights=[1.0, 1.0, 1.0])

    def test_names_come_before_the_data(self):
        with pytest.raises(ValueError, match="algorithm must be"):
            eb.fit("no data at all", algorithm="fast")


class TestUnits:
    """A power of two changes exponents alone, so nothing may differ by a bit."""

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("d", [1, 2, 4])
    @pytest.mark.parametrize("exponent", [-465, -332, -170, 170, 332, 465])
    def test_of_a_fit(self, model, d, exponent):
        """From 1e-140 to 1e140, with columns of different spread."""
        X = two(60, d, 1.5, seed=d) * 4.0 ** np.arange(d)
        factor = 2.0**exponent
        usual, other = eb.fit(X, model), eb.fit(factor * X, model)
        assert other.location.tobytes() == (factor * usual.location).tobytes()
        assert other.scale.tobytes() == (factor * factor * usual.scale).tobytes()
        assert (other.status, other.regime) == (usual.status, usual.regime)
        assert other.run.n_iter == usual.run.n_iter
        assert other.gain == pytest.approx(usual.gain, abs=1e-9)  # a difference of two losses

    @pytest.mark.parametrize("model", MODELS)
    @pytest.mark.parametrize("exponent", [-465, 465])
    def test_of_derivatives(self, model, exponent):
        X = two(60, 2, 1.5, seed=2) * [1.0, 3.0]
        factor, one = 2.0**exponent, named(model)
        usual, other = eb.ArraySample(X), eb.ArraySample(factor * X)
        point = one.default_start(usual) * np.linspace(0.4, 0.9, one.n_params(2))
        gradient = one.gradient(other, factor * point) * factor
        hessian = one.hessian(other, factor * point) * factor * factor
        assert gradient.tobytes() == one.gradient(usual, point).tobytes()
        assert hessian.tobytes() == one.hessian(usual, point).tobytes()


class TestWhatIsLeftToEM:
    """A run that has converged is called so, and one that has not is not."""

    @needs_jit
    @pytest.mark.parametrize(("d", "seed"), [(1, 1), (2, 0), (2, 1)])
    @pytest.mark.parametrize("algorithm", ["newton-anderson", "lbfgs"])
    def test_where_em_crawls(self, d, seed, algorithm):
        """At a billion rows 1 - factor is 1e-7 and less, which coarse differences take for a saddle."""
        sample = eb.LatticeSample.gaussian(10**9, d, seed=seed)
        assert eb.fit(sample, "diagonal", algorithm).status == "converged"

    @needs_jit
    @pytest.mark.parametrize(("d", "seed"), [(2, 0), (2, 4), (3, 3), (3, 4)])
    def test_it_is_what_the_log_likelihood_lacks(self, d, seed):
        """In a valley EM's slowest direction is not that in which it still has a way to go."""
        sample = eb.LatticeSample.gaussian(10**9, d, seed=seed)
        early, late = (eb.fit(sample, "diagonal", eb.NewtonAnderson(p)) for p in (0.01, 1e-9))
        _, left, _ = evidence.contraction(early.model, sample, early.run.params)
        assert left == pytest.approx(late.gain - early.gain, rel=0.2)
        assert early.status == "converged"

    def test_at_a_saddle(self):
        """Across the gap between clusters, halfway: a stationary point that EM leaves."""
        X = np.array([[-3.0, -0.5], [-3.0, 0.5], [3.0, -0.5], [3.0, 0.5]] * 5)
        X += 0.01 * np.random.default_rng(0).standard_normal(X.shape)
        sample = eb.ArraySample(X)
        factor, left, _ = evidence.contraction(named("isotropic"), sample, np.array([0.0, 0.4]))
        assert factor == 1.0
        assert left > 1.0

    def test_who_stopped_too_early_is_not_told_to_use_itself(self):
        rng = np.random.default_rng(3)
        X = rng.standard_normal((3000, 3))
        X[:, 0] += 0.6 * rng.choice([-1, 1], len(X))
        fit = eb.fit(X, "diagonal", eb.NewtonAnderson(precision=1e4))
        assert fit.status == "stalled"
        assert any("use a smaller precision" in note for note in fit.notes)

    def test_polyak_stops_where_one_gaussian_is_beaten(self):
        X = np.exp(0.7 * np.random.default_rng(1).standard_normal((4000, 3)))
        fit = eb.fit(X, "general", "polyak")
        assert fit.status == "stalled"
        assert any("EM would still gain" in note for note in fit.notes)
