"""The crossover between one component and two: its theory, and how far apart is far enough."""

import itertools
import json
import math
import re

import mpmath
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy.stats import norm
from threadpoolctl import threadpool_info

import elubench as eb
from elubench import cli
from elubench.fits.detecting import divergence
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em.separation import contraction
from elubench.papers.crossover import PAPER, theory, weights
from elubench.papers.crossover.claims.rates import GRID
from elubench.papers.crossover.weights import known_optimum
from elubench.papers.verifying import named
from elubench.studies import reading
from elubench.verification.deciding import decide, rules_hash
from elubench.verification.evidence import Evidence


def over_mixture(function, theta):
    """E f(X) over one coordinate of two Gaussians at +-theta, for even f."""
    return mpmath.quad(lambda v: function(v + theta) * mpmath.npdf(v), [-12, -4, -theta, 0, 4, 12])


class TestDivergence:
    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("theta", [0.02, 0.3, 2.5])
    def test_against_mpmath(self, theta, d):
        with mpmath.workdps(40):
            t = mpmath.mpf(theta)
            mean = over_mixture(lambda x: mpmath.log(mpmath.cosh(x * t)), t)
            exact = mean - t**2 + mpmath.mpf(d) / 2 * mpmath.log(1 + t**2 / d)
            assert divergence(theta, d) == pytest.approx(float(exact), rel=1e-3)

    def test_leading_orders(self):
        assert divergence(0.03, 1) / (0.03**8 / 12.0) == pytest.approx(1.0, abs=0.01)
        for d in (2, 4):
            leading = (1.0 - 1.0 / d) * 0.03**4 / 4.0
            assert divergence(0.03, d) / leading == pytest.approx(1.0, abs=0.01)


class TestErrors:
    @pytest.mark.parametrize("d", [1, 2, 4])
    def test_leading_orders(self, d):
        t, n = 0.02, 1e10
        if d == 1:
            location, scale = math.sqrt(6.0 / 16.0) * t**-3, math.sqrt(6.0) / 2.0 * t**-2
        else:
            location = math.sqrt(d / (2.0 * (d - 1.0)) + d - 1.0) / t
            # of m2 - |theta|^2/d, where |theta|^2 is the gap over kappa: one eigenvalue less
            scale = math.sqrt(2.0 / (d - 1.0))
        root = math.sqrt(n)
        assert theory.location_error(t, n, d) == pytest.approx(location / root, rel=2e-3)
        assert theory.scale_error(t, n, d) == pytest.approx(scale / root, rel=2e-3)

    def test_far_apart_each_component_is_known_by_its_own_rows(self):
        # n/2 rows each, but the two locations are mirror images: n rows for one mean
        for d in (1, 3):
            assert theory.location_error(6.0, 1e4, d) == pytest.approx(math.sqrt(d / 1e4), rel=1e-3)
            scale = math.sqrt(2.0 / (d * 1e4))
            assert theory.scale_error(6.0, 1e4, d) == pytest.approx(scale, rel=1e-3)

    def test_information_by_mpmath(self):
        """The inverse of the whole information matrix at d = 1."""
        with mpmath.workdps(30):
            t = mpmath.mpf("0.4")
            one = lambda x: x * mpmath.tanh(t * x) - t  # noqa: E731
            two = lambda x: (x * x - 1 + t * t) / 2 - t * x * mpmath.tanh(t * x)  # noqa: E731
            ll = over_mixture(lambda x: one(x) ** 2, t)
            ls = over_mixture(lambda x: one(x) * two(x), t)
            ss = over_mixture(lambda x: two(x) ** 2, t)
            location = mpmath.sqrt(ss / (ll * ss - ls**2))
            scale = mpmath.sqrt(ll / (ll * ss - ls**2))
        assert theory.location_error(0.4, 1.0, 1) == pytest.approx(float(location), rel=1e-9)
        assert theory.scale_error(0.4, 1.0, 1) == pytest.approx(float(scale), rel=1e-9)


class TestEM:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_step_is_that_of_a_large_sample(self, d):
        n, theta = 10**15, 0.5
        locations = np.outer([-theta, theta], np.eye(d)[0])
        sample = eb.LatticeSample.mixture(n, d, locations, seed=1)
        point = np.full(d, 0.3 / math.sqrt(d))
        found = eb.Isotropic().em_step(sample, point)
        along, across = theory.em_step(
            np.array([point[0], math.sqrt(d - 1.0) * point[0]]), theta, d
        )
        assert found[0] == pytest.approx(along, abs=1e-6)
        assert np.linalg.norm(found[1:]) == pytest.approx(across, abs=1e-6)

    @pytest.mark.parametrize(("d", "theta"), [(1, 0.3), (2, 0.1), (4, 0.1)])
    def test_flow_counts_the_steps(self, d, theta):
        radius, t = 0.01, 0
        at = 0.9 * math.sqrt(1.0 + theta**2 / d) * np.array([1.0, math.sqrt(d - 1.0)]) / d**0.5
        while np.linalg.norm(at - [theta, 0.0]) > radius:
            at, t = theory.em_step(at, theta, d), t + 1
        assert t - 1.05 < theory.em_iterations(theta, radius, d) < t + 0.05

    @pytest.mark.parametrize("d", [1, 2, 4])
    @pytest.mark.parametrize("theta", [0.5, 0.2])
    def test_counts_are_continuous(self, d, theta):
        """The time from one radius to another is the logarithm of their ratio over that of rho.

        At d >= 2 the factors along and across theta* differ a little.
        """
        radii = 0.01 * theta * np.array([1.0, 0.97, 0.94])
        times = np.diff([theory.em_iterations(theta, radius, d) for radius in radii])
        expected = np.diff(np.log(radii)) / math.log(contraction(theta, d))
        assert times == pytest.approx(expected, rel=0.05 if d == 1 else 0.2)

    @pytest.mark.parametrize(("d", "n"), [(2, 1e6), (4, 1e5), (4, 1e9)])
    def test_median_over_samples(self, d, n):
        """The path at infinite n, moved by draws of the optimum's error."""
        theta = 2.5 * n ** (-3 / 16)
        radius = location_scale(d).radius_at(n, d, theta, 2.5)
        median = theory.em_iterations(theta, radius, d, n=n)
        assert median > 1.01 * theory.em_iterations(theta, radius, d)
        error = theory.location_error(theta, n, d)
        across = 1.0 / math.sqrt(
            n * float(over_mixture(lambda x: mpmath.tanh(theta * x) ** 2, theta))
        )
        along = math.sqrt(error**2 - (d - 1) * across**2)
        rng = np.random.default_rng(1)
        moved = rng.standard_normal((40_000, d)) * np.array([along, *[across] * (d - 1)])
        at = 0.9 * math.sqrt(1.0 + theta**2 / d) * np.array([1.0, math.sqrt(d - 1.0)]) / d**0.5
        inside = []
        for _ in range(math.ceil(median) + 1):
            away = moved + np.array([at[0] - theta, at[1], *[0.0] * (d - 2)])
            inside.append(float(np.mean(np.linalg.norm(away, axis=1) <= radius)))
            at = theory.em_step(at, theta, d)
        # less than half have arrived just before, more just after
        assert inside[math.floor(median)] < 0.51
        assert inside[math.ceil(median)] > 0.49

    @pytest.mark.parametrize(
        ("d", "a", "sizes"), [(1, 1 / 16, (1e14, 1e18)), (2, 1 / 8, (1e16, 1e20))]
    )
    def test_growth(self, d, a, sizes):
        """(1 - rho) T is the logarithm of theta* over the radius, and a constant."""
        scaled = []
        for n in sizes:
            t, radius = 0.5 * n**-a, n ** theory.location_exponent(a, d)
            scaled.append(theory.em_iterations(t, radius, d) * (1.0 - contraction(t, d)))
        slope = (scaled[1] - scaled[0]) / math.log(sizes[1] / sizes[0])
        assert slope == pytest.approx(-a - theory.location_exponent(a, d), rel=0.02)


class TestWeights:
    def test_symmetric_models_do_not_see_them(self):
        """Flipping the sign of any rows changes nothing but the rounding of sums."""
        x = eb.gaussian(4_000, 2, seed=1) + np.array([0.7, 0.0])
        flips = np.where(np.arange(4_000) % 10 < 3, -1.0, 1.0)[:, None]
        model, at = eb.Isotropic(), np.array([0.4, 0.2])
        steps = [model.em_step(eb.ArraySample(one), at) for one in (x, flips * x)]
        np.testing.assert_allclose(*steps, rtol=1e-12)

    @pytest.mark.parametrize("delta", [0.05, 0.2])
    def test_kurtosis(self, delta):
        theta, p = 0.1, 0.5 + delta
        points, shares = np.array([-theta, theta]), np.array([p, 1.0 - p])
        centred = points - shares @ points
        excess = shares @ centred**4 - 3.0 * (shares @ centred**2) ** 2
        assert excess == pytest.approx(-2 * theta**4 * (1 - 16 * delta**2 + 48 * delta**4))
        assert shares @ centred**3 == pytest.approx(
            4 * delta * theta**3 * (1 - 4 * delta**2), rel=1e-9
        )


class TestDetection:
    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_power_at_the_answer(self, d):
        half = eb.detectable(1e5, d, level=0.05, power=0.8)
        assert eb.detection_power(1e5, d, half, level=0.05) == pytest.approx(0.8, abs=2e-3)
        assert eb.detectable(1e6, d, level=0.05, power=0.8) < half
        assert eb.detectable(1e5, d, level=0.01, power=0.8) > half
        assert eb.detectable(1e5, d, level=0.05, power=0.9) > half

    def test_rates(self):
        for d, power in ((1, -1 / 8), (2, -1 / 4), (4, -1 / 4)):
            ratio = eb.detectable(1e12, d) / eb.detectable(1e8, d)
            assert math.log(ratio) / math.log(1e4) == pytest.approx(power, abs=0.004)

    def test_leading_order_at_one_half(self):
        wanted = (norm.isf(0.01) * math.sqrt(6.0) / 1e6) ** 0.25
        assert eb.detectable(1e12, 1, power=0.5) == pytest.approx(wanted, rel=0.01)

    @pytest.mark.parametrize(("d", "n"), [(1, 10_000), (2, 1_000), (3, 1_000), (5, 2_000)])
    def test_against_draws(self, d, n):
        """The likelihood ratio from the sample's own moments, without a fit: to leading order."""
        half, rng = eb.detectable(n, d, level=0.05, power=0.6), np.random.default_rng(d)
        draws = 400

        def ratios(theta):
            found = []
            for _ in range(draws):
                x = rng.standard_normal((n, d))
                x[:, 0] += theta * rng.choice([-1.0, 1.0], n)
                if d == 1:
                    scaled = x[:, 0] / math.sqrt(np.mean(x**2))
                    found.append(3.0 - np.mean(scaled**4))
                else:
                    values = np.linalg.eigvalsh(x.T @ x / n)
                    found.append(values[-1] / np.mean(values))
            return np.array(found)

        seen = np.mean(ratios(half) > np.quantile(ratios(0.0), 0.95))
        assert seen == pytest.approx(0.6, abs=0.12)  # the threshold is from draws as well

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"n": 1.0, "d": 1}, "n must be"),
            ({"n": 1e4, "d": 0}, "d must be"),
            ({"n": 1e4, "d": 1000}, "d must be"),
            ({"n": 1e4, "d": 1, "level": 0.7}, "level must be"),
            ({"n": 1e4, "d": 1, "power": 0.001}, "power must be"),
            (
                {"n": 1e4, "d": 2, "model": "diagonal"},
                "model must be isotropic or general at d = 2",
            ),
            ({"n": 1e4, "d": 2, "model": "round"}, "model must be"),
        ],
    )
    def test_bad_arguments(self, arguments, said):
        with pytest.raises((TypeError, ValueError), match=said):
            eb.detectable(**arguments)


class TestCommand:
    def test_power(self, capsys):
        assert cli.main(["power", "--n", "1e6", "--separation", "0.5", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["detectable"]["half_distance"] == eb.detectable(1e6, 1)
        assert found["separation"]["power"] == eb.detection_power(1e6, 1, 0.5)
        each = math.log(10.0) / -math.log(contraction(0.5, 1))
        assert found["separation"]["iterations_per_digit"] == pytest.approx(each)

    def test_text_and_errors(self, capsys):
        assert cli.main(["power", "--n", "1e4", "--d", "2"]) == 0
        said = capsys.readouterr().out
        assert f"{eb.detectable(1e4, 2):.3g} standard deviations" in said
        assert "as far apart" not in said
        assert cli.main(["power", "--n", "1e4", "--separation", "-1"]) == 2
        assert "separation must be in (0, 50), got -1.0" in capsys.readouterr().err


class TestKnownWeights:
    @pytest.mark.parametrize("delta", [0.25, 0.05])
    def test_optimum_is_that_of_the_cumulants(self, delta):
        """To leading order: the nearest skewness and kurtosis in units of their noise."""
        n = 10**10
        sample = eb.LatticeSample.gaussian(n, 1, seed=5)
        x, shares = sample.nodes[:, 0], sample.counts / n
        x = x - shares @ x
        spread = shares @ x**2
        skewness, excess = shares @ x**3 / spread**1.5, shares @ x**4 / spread**2 - 3.0
        p, q = 0.5 + delta, 0.5 - delta
        theta = np.linspace(-0.2, 0.2, 400_001)
        off = (skewness - 8 * p * q * (p - q) * theta**3) ** 2 / 6
        off += (excess - 16 * p * q * (1 - 6 * p * q) * theta**4) ** 2 / 24
        best = theta[np.argmin(off)]
        assert known_optimum(sample, delta) == pytest.approx(best, rel=1e-3)

    @pytest.mark.parametrize("delta", [0.25, 0.05])
    def test_error_is_that_of_draws(self, delta):
        """Least squares over a grid of theta, for draws of the sample's skewness and kurtosis."""
        n, p, q = 1e8, 0.5 + delta, 0.5 - delta
        z = np.random.default_rng(0).standard_normal((2, 4_000, 1)) / math.sqrt(n)
        theta = np.linspace(0.0, 0.3, 601)
        off = (math.sqrt(6) * np.abs(z[0]) - 8 * p * q * (p - q) * theta**3) ** 2 / 6
        off += (math.sqrt(24) * z[1] - 16 * p * q * (1 - 6 * p * q) * theta**4) ** 2 / 24
        squares = theta[np.argmin(off, axis=1)] ** 2
        error = squares.std() / math.sqrt(len(squares))
        assert theory.known_weights_error(delta, n) ** 2 == pytest.approx(
            squares.mean(), abs=4 * error
        )


def test_known_weights_take_one_blas_thread(monkeypatch):
    """More of them take most of the time."""
    seen = []

    def optimum(sample, delta):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return 0.0

    monkeypatch.setattr(weights, "known_optimum", optimum)
    weights.known_weights(0, 1, sizes=(10**6,))
    assert set(seen) == {1}


@pytest.mark.parametrize("name", ["crossover", "singularity"])
def test_flips_are_of_the_rules(name):
    """Whoever changes a rule has to draw fresh samples."""
    path, paper = ROOT / "analysis" / f"flips-{name}.csv", named(name)
    first = path.read_text().splitlines()[0]
    assert re.fullmatch(rf"# {name}, level quick, seeds .*, rules {rules_hash(paper)}", first)
    table = pd.read_csv(path, comment="#")
    assert set(table["claim"]) == {claim.key for claim in paper.claims}
    assert dict(zip(table["claim"], table["usual"], strict=True)) == dict(paper.expected)


class TestPaper:
    def test_claims_are_decided_on_the_exact_theory(self):
        """Errors and counts that follow the theory are found to do so; others are not."""
        for power, verdicts in ((0.0, {"supported"}), (0.15, {"contradicted"})):
            findings = {one.claim.key: one for one in decide(PAPER, planted(power))}
            for key in ("location", "scale", "iterations"):
                assert findings[key].verdict in verdicts, (key, power)

    def test_levels_and_expectations(self):
        assert set(PAPER.expected) == {claim.key for claim in PAPER.claims}
        for level in PAPER.levels.values():
            for study in level.studies:
                blocks = reading.load(PAPER.study(study)).blocks
                for d, several in GRID.items():
                    for stop in ("radius", "end"):
                        kept = [
                            one.truth.a
                            for one in blocks
                            if one.name.startswith(("oracle", "optimum"))
                            and one.sizes[0][1] == d
                            and one.stop == stop
                        ]
                        assert sorted(kept) == sorted(several)


def planted(off):
    """Rows that have the theory's errors and counts times n^off, with a little chance."""
    rng = np.random.default_rng(0)
    rows = []
    for d, several in GRID.items():
        h = 1.5 if d == 1 else 2.5
        for a, n, k in itertools.product(several, (1e6, 1e7, 1e8, 1e9, 1e10), range(12)):
            theta, more = h * n**-a, n**off
            shared = {
                "study": "crossover", "model": "isotropic", "n": int(n), "d": d, "replicate": k,
                "samples": "lattice", "start": "equal", "start_norm": 0.9, "options": "{}",
                "validation": math.nan, "true_h": h, "true_a": a, "half_distance": theta,
                "radius_constant": 4.0, "seed": 0, "status": "reached", "reached": True,
            }  # fmt: skip
            wobble = np.exp(0.05 * rng.standard_normal(3))
            radius = location_scale(d).radius_at(n, d, theta, 4.0)
            count = round(theory.em_iterations(theta, radius, d) * more * wobble[0])
            rows.append(
                {
                    **shared, "algorithm": "EM", "stop": "radius", "block": "oracle",
                    "iterations_to_radius": count, "iterations": count,
                }
            )  # fmt: skip
            rows.append(
                {
                    **shared, "algorithm": "NewtonAnderson", "stop": "end", "block": "optimum",
                    "location_error": theory.location_error(theta, n, d) * more * wobble[1],
                    "scale_error": theory.scale_error(theta, n, d) * more * wobble[2],
                }
            )  # fmt: skip
    frame = pd.DataFrame(rows)
    return Evidence("quick", 0, ("crossover",), frame, frame.iloc[:0], {})
