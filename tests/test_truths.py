"""Studies whose truth is two Gaussians."""

import hashlib
import json
import math

import numpy as np
import pytest
from study_tools import assert_same_rows, small

import elubench as eb
from elubench import rates
from elubench.models.flatness import location_scale
from elubench.studies import reading
from elubench.studies.reading import SpecError
from elubench.studies.spec import as_json
from elubench.studies.truths import Truth

#: The hash of a preset from before a block could have a truth.
BEFORE = {"beyond-em/asymptotic": "49b18fa97d4ad69e"}


def rows_of(spec, folder):
    eb.run_study(spec, folder)
    return eb.load_results(folder)


@pytest.mark.parametrize("name", BEFORE)
def test_without_a_truth_nothing_changes(name):
    spec = reading.load(name)
    assert spec.hash == BEFORE[name]
    assert all("truth" not in block for block in spec.canonical()["block"])


def test_samples_without_a_truth_are_those_of_before(tmp_path):
    text = "7/isotropic/1000/1/0/sample"
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
    sample = eb.LatticeSample.gaussian(1_000, 1, seed)
    found = rows_of(small(n=[1_000], replicates=1), tmp_path)
    x = np.repeat(sample.nodes[:, 0], sample.counts.astype(int))
    kurtosis = np.mean((x) ** 4) / np.mean(x**2) ** 2 - 3.0
    assert found["sample_kurtosis"].iloc[0] == pytest.approx(kurtosis, rel=1e-9)
    assert found[["true_h", "true_a", "true_weight", "half_distance"]].isna().all(axis=None)


def test_lists_stand_for_all_combinations_and_are_read_back():
    spec = reading.load(small(truth={"h": [1.0, 2.0], "a": [0, 0.125], "direction": "equal"}))
    assert [(one.truth.h, one.truth.a) for one in spec.blocks] == [
        (1, 0), (1, 0.125), (2, 0), (2, 0.125),
    ]  # fmt: skip
    assert len({one.name for one in spec.blocks}) == 4
    again = reading.from_canonical(json.loads(as_json(spec.canonical())), spec.name)
    assert again.hash == spec.hash
    assert again.blocks[3].truth == Truth(2.0, 0.125, "equal", 0.5)
    assert spec.runs == 4 * reading.load(small()).runs


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ({"a": 0.1}, r"block\[1\].truth lacks the key 'h'"),
        ({"h": 0.0}, r"block\[1\].truth.h must be in \(0, 100\]"),
        ({"h": 1.0, "a": [0.1, 2]}, r"block\[1\].truth.a\[2\] must be in \[0, 1\]"),
        ({"h": [1.0, 1.0]}, r"block\[1\].truth.h\[2\] has 1.0 twice"),
        ({"h": []}, r"block\[1\].truth.h must be a list of at least one value"),
        ({"h": 1.0, "weight": 1.0}, r"block\[1\].truth.weight must be in \(0, 1\)"),
        ({"h": 1.0, "direction": "up"}, r"block\[1\].truth.direction must be"),
        ({"h": 1.0, "distance": 2}, r"block\[1\].truth.distance is not a key"),
        (0.5, r"block\[1\].truth must be a table"),
    ],
)
def test_bad_truths_are_named(truth, said):
    with pytest.raises(SpecError, match=said):
        reading.load(small(truth=truth))


@pytest.mark.parametrize("samples", ["lattice", "direct"])
@pytest.mark.parametrize("model", ["isotropic", "general"])
def test_errors_are_measured_from_the_truth(tmp_path, samples, model):
    options = {"samples": samples, "models": model, "d": [2], "n": [4_000], "stop": "end"}
    algorithms = [{"name": "NewtonAnderson"}, {"name": "EM"}]
    spec = small(truth={"h": 1.5}, **options, algorithms=algorithms, max_iter=200)
    found = rows_of(spec, tmp_path / "one")
    rows = found[found["algorithm"] == "NewtonAnderson"]
    components = 1 if model == "isotropic" else 2
    # each coordinate of a location is known to about (2/n)^(1/2)
    assert (rows["location_error"] < 5.0 * math.sqrt(2.0 * 2 * components / 4_000)).all()
    assert (rows["location_error"] > 0.0).all()
    assert (rows["scale_error"] < 0.15).all()
    np.testing.assert_allclose(rows["location_error"], rows["mle_location_error"], rtol=0.05)
    assert (found["half_distance"] == 1.5).all()
    assert_same_rows(found, rows_of(spec, tmp_path / "two"))


def test_the_direct_draws_have_the_truth(tmp_path):
    n, theta, weight = 200_000, 2.0, 0.2
    sample = Truth(theta, 0.0, "equal", weight).sample("direct", n, 2, seed=3)
    moments = sample.moments()
    mean = (1.0 - 2.0 * weight) * theta / math.sqrt(2.0)
    np.testing.assert_allclose(moments.m1, mean, atol=5.0 * math.sqrt(3.0 / n))
    np.testing.assert_allclose(moments.m2, 1.0 + theta**2 / 2.0, atol=5.0 * math.sqrt(30.0 / n))


def test_radius_follows_the_curvature():
    for d, power in ((1, -3.0), (2, -1.0), (4, -1.0)):
        flat, n = location_scale(d), 1e10
        assert flat.radius_at(n, d, 0.0) == flat.radius_at(n, d, flat.radius(n, d))
        assert flat.radius_at(n, d, 0.0) == flat.radius(n, d)
        ratio = flat.radius_at(n, d, 0.8) / flat.radius_at(n, d, 0.4)
        assert ratio == pytest.approx(2.0**power)
        assert flat.radius_at(n, d, 1.0) == pytest.approx(math.sqrt(d / n))
        assert flat.radius_at(n, d, 5.0, 2.0) == pytest.approx(2.0 * math.sqrt(d / n))


def test_rates_of_two_gaussians_have_no_theory_of_one(tmp_path):
    options = {"n": [1_000, 10_000, 100_000], "truth": {"h": 1.0}, "max_iter": 2_000}
    found = rows_of(small(**options, radius_constant=4.0), tmp_path)
    table = rates.fit_rates(found, resamples=100)
    assert table["theory"].isna().all()
    assert table["mle_at_zero"].isna().all()
    assert found["reached"].mean() > 0.8
