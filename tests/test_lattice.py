"""The lattice is right: its distribution, its draws up to 2**53 of them, and what is fitted to it."""

import functools
import itertools
import math
from collections import Counter

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from conftest import scaled
from hypothesis import given
from scipy import stats

from elubench.kernels import layout
from elubench.samples import ArraySample, LatticeSample, lattice

ALL = layout.LOG_COSH | layout.CURVATURE
MOST = 2**53


@functools.cache
def distribution(d):
    """Nodes and probabilities of one coordinate, as the draws for dimension d use them."""
    seen = []

    def every_node_once(rng, n, coordinates):
        steps, probabilities = coordinates[0]
        seen.append(probabilities)
        return np.column_stack([steps] * d), np.ones(len(steps), dtype=np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_draw", every_node_once)
        nodes = LatticeSample.gaussian(1000, d, seed=0).nodes
    (probabilities,) = seen
    return nodes[:, 0], probabilities


def node_mean(d, values):
    """E[values(node)], and the error of float64: x^2/2 is rounded, exp of it, and the sum of all."""
    nodes, probabilities = distribution(d)
    terms = probabilities * values(nodes)
    return math.fsum(terms), naive.EPS * math.fsum(np.abs(terms) * (12 + nodes**2))


class TestDistribution:
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_nodes_are_a_symmetric_lattice(self, d):
        nodes, probabilities = distribution(d)
        ordered = np.sort(nodes)
        np.testing.assert_array_equal(ordered, -ordered[::-1])
        spacing = ordered[len(ordered) // 2 + 1]
        np.testing.assert_array_equal(
            ordered, spacing * np.arange(-(len(nodes) // 2), len(nodes) // 2 + 1)
        )
        assert abs(math.fsum(probabilities) - 1) <= len(nodes) * naive.EPS
        # what is beyond the last node would have been drawn by one in 10^4 samples of 2^53 at most
        assert 2 * stats.norm.sf(ordered[-1] + spacing / 2) * MOST < 1e-4

    @pytest.mark.parametrize("order", range(9))
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_moments(self, d, order):
        found, error = node_mean(d, lambda x: x**order)
        assert abs(found - naive.gaussian_moment(order)) <= error

    def test_the_bound_would_show_a_coarser_lattice(self):
        """At h = 1, with aliasing of exp(-2 pi^2) = 3e-9, moments are visibly wrong."""
        nodes = np.arange(-9.0, 10)
        probabilities = np.exp(-0.5 * nodes**2)
        probabilities /= probabilities.sum()
        _, error = node_mean(4, lambda x: x**2)
        assert abs(probabilities @ nodes**2 - 1) > 1e6 * error

    @pytest.mark.parametrize(("d", "up_to"), [(1, 2.0), (2, 0.9), (3, 0.5), (4, 0.4)])
    def test_tanh_and_log_cosh_to_rounding(self, d, up_to):
        for u in (0.1 * up_to, up_to):
            found, error = node_mean(d, lambda x, u=u: x * np.tanh(u * x))
            assert abs(found - t1_exact(u)) <= error
            found, error = node_mean(d, lambda x, u=u: naive.log_cosh(u * x))
            # of numbers of order 1, whose difference the logarithm is
            assert abs(found - log_cosh_exact(u)) <= error + 8 * naive.EPS

    @pytest.mark.parametrize(
        ("d", "u", "relative"),
        [(4, 0.5, 8e-14), (4, 1.0, 1.2e-7), (3, 1.0, 9e-10), (4, 2.0, 2e-4)],
    )
    def test_errors_farther_out_are_as_documented(self, d, u, relative):
        found, _ = node_mean(d, lambda x: x * np.tanh(u * x))
        error = abs(found - t1_exact(u)) / t1_exact(u)
        assert 0.8 * relative < error < 1.2 * relative
        spacing = np.sort(np.abs(distribution(d)[0]))[1]
        exponent = -(math.pi**2) / (spacing * u) + math.pi**2 / (8 * u * u)
        assert 0.5 < error / (13 * u**-2.5 * math.exp(exponent)) < 2

        found, _ = node_mean(d, lambda x: naive.log_cosh(u * x))
        assert abs(found - log_cosh_exact(u)) / log_cosh_exact(u) < error


@functools.cache
def t1_exact(u):
    return float(naive.gaussian_mean(lambda x: x * naive.mp.tanh(u * x)))


@functools.cache
def log_cosh_exact(u):
    return float(naive.gaussian_mean(lambda x: naive.log_cosh_exact(u * x)))


def scores(sample, order):
    """Standardised sample moments of every mixed order up to the given one."""
    found = []
    for powers in itertools.product(range(order + 1), repeat=sample.d):
        if 0 < sum(powers) <= order:
            values = np.prod(sample.nodes ** np.array(powers), axis=1)
            mean = np.sum(values * sample.counts) / sample.n
            expected = math.prod(naive.gaussian_moment(p) for p in powers)
            square = math.prod(naive.gaussian_moment(2 * p) for p in powers)
            found.append((mean - expected) / math.sqrt((square - expected**2) / sample.n))
    return np.array(found)


class TestDraws:
    @pytest.mark.parametrize("n", [2, 3, 1000, 10**6, 10**12, 10**15, MOST])
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_counts(self, d, n):
        if d > 2 and n > scaled(MOST, 10**6):
            pytest.skip("many nodes for plain Python")
        sample = LatticeSample.gaussian(n, d, seed=1)
        assert sample.n == n
        assert sum(int(c) for c in sample.counts) == n
        assert sample.nodes.shape == (len(sample.counts), d)
        assert len(np.unique(sample.nodes, axis=0)) == len(sample.nodes)
        assert (sample.counts > 0).all()
        assert sample.moments().weight == n

    @pytest.mark.parametrize("n", [10**4, 10**9, 10**15, MOST])
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_moments(self, d, n):
        if d > 2 and n > scaled(MOST, 10**4):
            pytest.skip("many nodes for plain Python")
        z = scores(LatticeSample.gaussian(n, d, seed=2), order=8 if d < 3 else 4)
        assert np.abs(z).max() < 5

    @pytest.mark.parametrize("n", [10**5, 10**15, MOST])
    def test_counts_are_multinomial(self, n):
        """Pearson's statistic over nodes with many draws, summed over seeds, is chi-squared."""
        nodes, probabilities = distribution(1)
        order = np.argsort(nodes)
        nodes, probabilities = nodes[order], probabilities[order]
        usual = n * probabilities > 20
        statistic, freedom = 0.0, 0
        for seed in range(20):
            sample = LatticeSample.gaussian(n, 1, seed=seed)
            counts = np.zeros(len(nodes))
            counts[np.searchsorted(nodes, sample.nodes[:, 0])] = sample.counts
            expected = n * probabilities
            statistic += np.sum((counts - expected)[usual] ** 2 / expected[usual])
            freedom += usual.sum() - 1
        assert 1e-4 < stats.chi2.sf(statistic, freedom) < 1 - 1e-4

    def test_nothing_is_drawn_where_nothing_can_be(self):
        """Rounding errors of the probabilities, 4e-16 in all, must not end up at an end node."""
        nodes, probabilities = distribution(1)
        expected = 30 * MOST * probabilities[np.abs(nodes) > 9].sum()
        assert expected < 0.1
        for seed in range(30):
            sample = LatticeSample.gaussian(MOST, 1, seed=seed)
            assert np.abs(sample.nodes).max() <= 9

    def test_seeds(self):
        draw = LatticeSample.gaussian
        samples = [draw(1000, 2, 0), draw(1000, 2, 0), draw(1000, 2, 1), draw(1001, 2, 0)]
        prints = [(s.nodes.tobytes(), s.counts.tobytes()) for s in samples]
        assert prints[0] == prints[1]
        assert len(set(prints)) == 3

    def test_sizes_are_independent(self):
        """Samples of n and n + 1 draws share nothing: second moments are uncorrelated."""
        pairs = [
            [LatticeSample.gaussian(n, 1, seed).moments().m2[0] for n in (999, 1000)]
            for seed in range(200)
        ]
        assert abs(np.corrcoef(np.transpose(pairs))[0, 1]) < 4.5 / math.sqrt(200)

    def test_location_and_scale(self):
        base = LatticeSample.gaussian(10**6, 2, seed=3)
        moved = LatticeSample.gaussian(10**6, 2, seed=3, location=[1.0, -2.0], scale=[4.0, 0.25])
        np.testing.assert_array_equal(moved.nodes, base.nodes * [2.0, 0.5] + [1.0, -2.0])
        np.testing.assert_array_equal(moved.counts, base.counts)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"n": 1}, "n must be between 2 and 9007199254740992, got 1"),
            ({"n": MOST + 1}, "n must be between 2 and 9007199254740992, got 9007199254740993"),
            ({"d": 5}, "d must be between 1 and 4, got 5"),
            ({"d": 0}, "d must be between 1 and 4, got 0"),
        ],
    )
    def test_refused(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            LatticeSample.gaussian(**{"n": 100, "d": 1, "seed": 0, **arguments})


class TestAsSample:
    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_counts_are_repeats(self, d):
        sample = LatticeSample.gaussian(scaled(3000, 100), d, seed=5, location=0.3)
        rows = np.repeat(sample.nodes, sample.counts.astype(int), axis=0)
        u = np.full(d, 0.4)
        reference = naive.Pass(rows, u, 0.2, second=True)
        got = sample.curvature_moments(u, 0.2)
        for name in got._fields:
            difference = np.abs(getattr(got, name) - getattr(reference, name))
            assert (difference <= getattr(reference, f"{name}_error")).all()

    @pytest.mark.parametrize("n", [10**6, 10**12, MOST])
    def test_pass_at_large_n(self, n):
        sample = LatticeSample.gaussian(n, scaled(2, 1), seed=6)
        u = np.full(sample.d, 0.7)
        reference = naive.Pass(sample.nodes, u, -0.1, sample.counts)
        got = sample.tanh_moments(u, -0.1, log_cosh=True)
        for name in got._fields:
            difference = np.abs(getattr(got, name) - getattr(reference, name))
            assert (difference <= getattr(reference, f"{name}_error")).all()

    def test_own_nodes_and_counts(self):
        sample = LatticeSample([[1, 2], [3, 4], [5, 6]], [2, 0, 3])
        assert sample.n == 5
        assert sample.nodes.tolist() == [[1.0, 2.0], [5.0, 6.0]]
        assert sample.counts.tolist() == [2.0, 3.0]
        assert sample.moments().m1.tolist() == [17 / 5, 22 / 5]

    @pytest.mark.parametrize(
        ("nodes", "counts", "message"),
        [
            ([[1.0], [np.nan]], [1, 1], "nodes must be finite, got NaN"),
            ([[1.0], [np.inf]], [1, 1], "nodes must be finite, got NaN, infinity"),
            ([[1.0], [1e200]], [1, 1], "nodes must be finite, got .* too large"),
            ([1.0, 2.0], [1, 1], "nodes must be a 2D array"),
            ([["a"], ["b"]], [1, 1], "nodes must be an array of numbers"),
            ([[1.0], [2.0]], [1.5, 1], "counts must be whole numbers"),
            ([[1.0], [2.0]], None, "counts must be whole numbers"),
            ([[1.0], [2.0]], [-1, 1], "counts must be >= 0, got -1"),
            ([[1.0], [2.0]], [0, 1], "counts must leave at least 2 rows, got 1"),
            ([[1.0], [2.0]], [np.nan, 1], "counts must be finite, got NaN"),
            ([[1.0], [2.0]], [1, 1, 1], r"counts must have shape \(2,\), got \(3,\)"),
            ([[1.0], [2.0]], [MOST, 2], r"counts must add up to at most 2\*\*53"),
        ],
    )
    def test_refused(self, nodes, counts, message):
        with pytest.raises(ValueError, match=message):
            LatticeSample(nodes, counts)

    def test_arguments_are_left_alone(self):
        nodes, counts = np.array([[1.0], [2.0]]), np.array([3.0, 4.0])
        sample = LatticeSample(nodes, counts)
        nodes[:], counts[:] = 0, 0
        assert sample.moments().m1.tolist() == [11 / 7]
        assert (sample.nodes.tolist(), sample.counts.tolist()) == ([[1.0], [2.0]], [3.0, 4.0])


class TestMixture:
    """Gaussians of one scale at several locations, on one lattice."""

    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    @pytest.mark.parametrize("location", [0.0, 1e-3, 0.3, -2.7])
    def test_moments_of_a_coordinate(self, d, location):
        """As exact as at location 0: aliasing does not depend on where the nodes are."""
        steps, probabilities = lattice._coordinate(location, lattice.SPACING[d])
        x = steps * lattice.SPACING[d] - location
        rounding = naive.EPS * (12 + x**2)
        for order, expected in enumerate((1, 0, 1, 0, 3, 0, 15, 0, 105)):
            terms = probabilities * x**order
            bound = math.fsum(np.abs(terms) * rounding) + 2e-30 * abs(expected)
            assert abs(math.fsum(terms) - expected) <= bound

    def test_against_direct_draws(self):
        """Counts in boxes: a lattice of 2e5 draws against as many rows drawn one by one."""
        n, locations, weights = 200_000, np.array([[-1.0, 0.5], [1.5, 0.0]]), (0.3, 0.7)
        sample = LatticeSample.mixture(n, 2, locations, 0.25, weights, seed=5)
        rng = np.random.default_rng(6)
        which = rng.random(n) < weights[1]
        rows = locations[which.astype(int)] + 0.5 * rng.standard_normal((n, 2))
        # edges half way between nodes, so that rounding onto the lattice crosses none
        edges = 0.5 * lattice.SPACING[2] * (np.arange(-30, 31, 4) + 0.5)
        ours, *_ = np.histogram2d(*sample.nodes.T, bins=[edges] * 2, weights=sample.counts)
        theirs, *_ = np.histogram2d(*rows.T, bins=[edges] * 2)
        both = ours + theirs
        full = both > 20
        statistic = np.sum((ours - theirs)[full] ** 2 / both[full])
        assert 1e-4 < stats.chi2.sf(statistic, full.sum()) < 1 - 1e-4

    @pytest.mark.parametrize("n", [10**6, 10**12, MOST])
    def test_moments(self, n):
        locations, weights = [[-0.5, 0.0, 1.0], [1.0, 0.25, 1.0]], (1, 3)
        sample = LatticeSample.mixture(n, 3, locations, [1.0, 4.0, 0.5], weights, seed=1)
        assert sample.n == n
        mean = np.average(locations, axis=0, weights=weights)
        between = np.average((np.asarray(locations) - mean) ** 2, axis=0, weights=weights)
        variance = np.array([1.0, 4.0, 0.5]) + between
        found = sample.counts @ sample.nodes / n
        np.testing.assert_allclose(found, mean, atol=6 * np.sqrt(variance.max() / n))
        spread = sample.counts @ (sample.nodes - found) ** 2 / n
        np.testing.assert_allclose(spread, variance, atol=6 * variance.max() * np.sqrt(2 / n))

    def test_components_share_nodes(self):
        sample = LatticeSample.mixture(10**12, 2, [[-0.3, 0.1], [0.3, -0.1]], seed=0)
        assert len(np.unique(sample.nodes, axis=0)) == len(sample.nodes)
        steps = sample.nodes / lattice.SPACING[2]
        np.testing.assert_array_equal(steps, np.round(steps))
        assert sample.even_tiles().rows < 0.55 * sample.tiles.rows

    def test_seeds(self):
        def drawn(**changed):
            options = {"n": 10**9, "d": 1, "locations": [[-1.0], [1.0]], "seed": 3} | changed
            return LatticeSample.mixture(**options)

        np.testing.assert_array_equal(drawn().counts, drawn().counts)
        for changed in ({"seed": 4}, {"n": 10**9 + 1}, {"weights": (0.5, 0.500001)}):
            other = drawn(**changed)
            assert (
                len(other.counts) != len(drawn().counts) or (other.counts != drawn().counts).any()
            )
        np.testing.assert_array_equal(drawn(weights=(2, 2)).counts, drawn().counts)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"n": 1}, "n must be between 2"),
            ({"d": 5}, "d must be"),
            ({"locations": [1.0, 2.0]}, "locations must be a 2D array"),
            ({"locations": [[1.0, 2.0]]}, "locations must be finite, k rows of 1 numbers"),
            ({"locations": [[math.nan]]}, "locations must be finite"),
            ({"locations": [[1e7]]}, "locations must be within 1,000,000 standard deviations"),
            ({"scale": 0.0}, "scale must be > 0"),
            ({"weights": [1.0]}, r"weights must have shape \(2,\)"),
            ({"weights": [0.0, 0.0]}, "weights must leave at least 1"),
            ({"weights": [-1.0, 2.0]}, "weights must be >= 0"),
            ({"seed": -1}, "seed must be >= 0"),
        ],
    )
    def test_refused(self, changed, message):
        options = {"n": 10, "d": 1, "locations": [[-1.0], [1.0]], "seed": 0} | changed
        with pytest.raises(ValueError, match=message):
            LatticeSample.mixture(**options)


class TestFolding:
    def assert_folded(self, sample, u):
        """Even sums from the folded tiles, within the rounding of the unfolded ones."""
        d, u = sample.d, np.atleast_2d(u)
        whole = sample.sums(u, np.zeros(len(u)), ALL)
        half = sample.sums(u, np.zeros(len(u)), ALL, even=True)
        for i, direction in enumerate(u):
            reference = naive.Pass(sample.nodes, direction, 0.0, sample.counts, second=True)
            bounds = [
                (slice(1, 1 + d), reference.t1_error),
                (slice(1 + d, 2 + d), reference.log_cosh_error),
                (slice(2 + d, 3 + d), reference.c0_error),
                (slice(3 + 2 * d, None), reference.c2_error[np.tril_indices(d)]),
            ]
            for part, allowed in bounds:
                assert (np.abs(whole[i, part] - half[i, part]) <= allowed).all()

    @pytest.mark.parametrize("d", [1, 2, 3, 4])
    def test_gaussian(self, d):
        sample = LatticeSample.gaussian(scaled(20_000, 300), d, seed=7)
        self.assert_folded(sample, np.linspace(-1, 1, 2 * d).reshape(2, d))

    def test_half_the_rows(self):
        sample = LatticeSample.gaussian(10**12, 1, seed=7)
        assert sample.even_tiles().rows <= 0.55 * len(sample.nodes)
        assert sample.even_tiles().weights.sum() == sample.n

    def test_not_symmetric(self):
        sample = LatticeSample.gaussian(scaled(5000, 300), 2, seed=7, location=0.123)
        assert sample.even_tiles().rows == len(sample.nodes)
        self.assert_folded(sample, [0.5, -0.2])

    def test_zeros_of_both_signs(self):
        nodes = [[0.0, 1.0], [-0.0, -1.0], [0.0, 0.0], [-1.0, 0.0], [1.0, -0.0], [2.0, 1.0]]
        sample = LatticeSample(nodes, [1, 2, 3, 4, 5, 6])
        assert sample.even_tiles().rows == 4
        self.assert_folded(sample, [0.5, -0.2])

    def test_many_distinct_values_in_many_columns(self):
        """Rows that differ in the first of five columns alone are not taken for one."""
        count = 2**16
        column = np.arange(1.0, count + 1)
        nodes = np.column_stack([column, *[column[::-1]] * 4])
        nodes = np.concatenate([nodes, [[0.5, *nodes[7, 1:]]]])
        kept, counts = lattice._folded(nodes, np.ones(len(nodes)))
        assert len(kept) == len(nodes)
        assert counts.sum() == len(nodes)

    @given(st.lists(st.tuples(*[st.integers(-2, 2)] * 2), min_size=2, max_size=12, unique=True))
    def test_any_nodes(self, nodes):
        sample = LatticeSample(np.array(nodes, dtype=float), np.arange(1, len(nodes) + 1))
        pairs = {max(node, tuple(-c for c in node)) for node in nodes}
        assert sample.even_tiles().rows == len(pairs)
        self.assert_folded(sample, [0.3, -0.8])

    @pytest.mark.parametrize("d", [1, 2, 4])
    @pytest.mark.parametrize("far", [0, 10**6])
    def test_merged(self, d, far):
        """The same where the box of all combinations is small, and where it is too large."""
        rng = np.random.default_rng(d)
        rows = rng.integers(-3, 4, (300, d))
        rows[:100] += rng.integers(-far, far + 1, (100, d))
        counts = rng.integers(1, 9, 300).astype(float)
        expected = Counter()
        for row, count in zip(rows.tolist(), counts, strict=True):
            expected[tuple(row)] += count
        merged, together = lattice._merged(rows, counts)
        assert [tuple(row) for row in merged.tolist()] == sorted(expected)
        assert together.tolist() == [expected[row] for row in sorted(expected)]

    def test_array_samples_have_nothing_to_fold(self):
        X = np.random.default_rng(0).standard_normal((50, 2))
        sample = ArraySample(X)
        u, b = np.array([[0.1, 0.2]]), np.zeros(1)
        assert sample.sums(u, b, ALL, even=True).tobytes() == sample.sums(u, b, ALL).tobytes()


class TestSplit:
    @pytest.mark.parametrize("n", [1000, 10**12, MOST])
    @pytest.mark.parametrize("d", [1, 2])
    def test_disjoint_and_complete(self, n, d):
        sample = LatticeSample.gaussian(n, d, seed=1)
        training, validation = sample.split(0.25, seed=3)
        assert training.n + validation.n == n
        counts = dict(zip(map(tuple, sample.nodes), sample.counts, strict=True))
        for part in (training, validation):
            assert (part.counts > 0).all()
            for node, count in zip(map(tuple, part.nodes), part.counts, strict=True):
                counts[node] -= count
        assert set(counts.values()) == {0.0}

    @pytest.mark.parametrize("fraction", [0.1, 0.5, 0.9])
    def test_sizes_are_binomial(self, fraction):
        n = 10**12
        sample = LatticeSample.gaussian(n, 1, seed=1)
        held = np.array([sample.split(fraction, seed)[1].n for seed in range(50)])
        z = (held - n * fraction) / math.sqrt(n * fraction * (1 - fraction))
        assert np.abs(z).max() < 4.5
        assert 0.5 < z.std() < 1.5

    def test_parts_are_gaussian_samples(self):
        for part in LatticeSample.gaussian(10**15, 1, seed=2).split(0.1):
            assert np.abs(scores(part, order=8)).max() < 5

    def test_moments_add_up(self):
        sample = LatticeSample.gaussian(10**9, 2, seed=1)
        parts = [part.moments() for part in sample.split(0.1)]
        assert sum(part.weight for part in parts) == sample.n
        _, allowed = naive.moments(sample.nodes, sample.counts)
        for k in (1, 2):
            value = sum(part.weight * part[k] for part in parts) / sample.n
            assert (np.abs(value - sample.moments()[k]) <= 4 * allowed[k]).all()

    def test_seeds(self):
        sample = LatticeSample.gaussian(10**6, 1, seed=1)
        counts = [sample.split(seed=s)[1].counts.tobytes() for s in (0, 0, 1)]
        assert counts[0] == counts[1] != counts[2]

    def test_too_small(self):
        with pytest.raises(ValueError, match=r"to be split at fraction=0\.1, got n=2"):
            LatticeSample([[1.0], [2.0]], [1, 1]).split(0.1)

    @pytest.mark.parametrize("fraction", [0, 1, -0.1, np.nan])
    def test_fraction_out_of_range(self, fraction):
        with pytest.raises(ValueError, match=r"fraction must be in \(0, 1\)"):
            LatticeSample.gaussian(100, 1, 0).split(fraction)


N, REPLICATES = 100_000, scaled(300, 120)


@functools.cache
def fits_on_lattice():
    samples = [LatticeSample.gaussian(N, 1, seed) for seed in range(REPLICATES)]
    return np.array([naive.fitted_location(s.nodes[:, 0], s.counts) for s in samples])


@functools.cache
def fits_on_direct_draws():
    rng = np.random.default_rng(2024)
    return np.array([naive.fitted_location(rng.standard_normal(N)) for _ in range(REPLICATES)])


class TestFittedLocation:
    """At n = 10^5 a fit cannot tell lattice draws from direct ones."""

    def test_distribution(self):
        assert stats.ks_2samp(fits_on_lattice(), fits_on_direct_draws()).pvalue > 0.001

    def test_fits_are_what_theory_says(self):
        """About half of all samples have their maximum at 0; the others are near n^(-1/8)."""
        for fits in (fits_on_lattice(), fits_on_direct_draws()):
            assert 0.3 < np.mean(fits == 0) < 0.7
            assert 0.5 < np.median(fits[fits > 0]) / N ** (-1 / 8) < 2

    def test_a_difference_would_be_seen(self):
        """Fits that are larger by a half, as those of a sample 25 times smaller."""
        assert stats.ks_2samp(1.5 * fits_on_lattice(), fits_on_direct_draws()).pvalue < 0.001
