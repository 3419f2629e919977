"""The shape of samples in the rows of a study, against moments by hand."""

import math

import numpy as np
import pytest
from study_tools import small

import elubench as eb
from elubench.studies.shape import shape_of


def by_hand(rows, weights, centre):
    """Kurtosis, gap and trace from whole matrices."""
    x = rows - centre
    total = math.fsum(weights)
    if x.shape[1] == 1:
        m2 = math.fsum(w * v**2 for w, v in zip(weights, x[:, 0], strict=True)) / total
        m4 = math.fsum(w * v**4 for w, v in zip(weights, x[:, 0], strict=True)) / total
        return {"kurtosis": m4 / m2**2 - 3.0}
    second = (x.T * weights) @ x / total
    values = sorted(np.linalg.eigvals(second).real)
    return {"gap": values[-1] - np.mean(values[:-1]), "trace": np.trace(second) / x.shape[1] - 1.0}


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_like_the_definition(d, weighted):
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((3001, d)) + 0.3
    weights = rng.integers(0, 4, 3001).astype(float) if weighted else np.ones(3001)
    sample = eb.ArraySample(rows, weights if weighted else None)
    for model, centre in ((eb.Isotropic(), 0.0), (eb.General(), np.average(rows, 0, weights))):
        wanted = by_hand(rows, weights, centre)
        assert shape_of(model, sample) == pytest.approx(wanted, rel=1e-11)


def test_lattice_is_its_repeated_rows():
    for d in (1, 2):
        lattice = eb.LatticeSample.gaussian(500, d, seed=3)
        repeated = eb.ArraySample(np.repeat(lattice.nodes, lattice.counts.astype(int), axis=0))
        found = shape_of(eb.Isotropic(), lattice)
        assert shape_of(eb.Isotropic(), repeated) == pytest.approx(found, rel=1e-11)


def test_it_is_of_order_one_over_root_n():
    # sqrt(n) times the excess kurtosis has variance 24; the gap at d = 2 has mean 2 sqrt(pi/2).
    n = 10**12
    model = eb.Isotropic()
    one = [shape_of(model, eb.LatticeSample.gaussian(n, 1, s))["kurtosis"] for s in range(200)]
    assert math.sqrt(n) * np.std(one) == pytest.approx(math.sqrt(24.0), rel=0.2)
    two = [shape_of(model, eb.LatticeSample.gaussian(n, 2, s))["gap"] for s in range(60)]
    assert math.sqrt(n) * np.mean(two) == pytest.approx(2.0 * math.sqrt(math.pi / 2.0), rel=0.25)


def test_a_study_has_the_shape_of_its_training_samples(tmp_path):
    eb.run_study(
        small(
            n=[10**8, 10**11], replicates=2, validation=0.2, algorithms=["ELU", "NewtonAnderson"]
        ),
        tmp_path / "out",
    )
    rows = eb.load_results(tmp_path / "out")
    assert rows.groupby(["n", "replicate"])["sample_kurtosis"].nunique().eq(1).all()
    assert rows["sample_kurtosis"].nunique() == 4
    assert rows["sample_gap"].isna().all()
    # A fifth of the draws fluctuates twice as much as the rest, and on its own.
    ratio = rows["held_kurtosis"].abs().mean() / rows["sample_kurtosis"].abs().mean()
    assert 0.5 < ratio < 8.0
    assert rows["held_kurtosis"].nunique() == 4
    # To leading order theta^4 = -k/2 at the MLE of that sample, which is 0 where k > 0.
    theta = np.maximum(-0.5 * rows["sample_kurtosis"], 0.0) ** 0.25
    assert np.all((theta > 0.0) == (rows["mle_location_error"] > 0.1 * rows["radius"]))
    assert np.all(np.abs(theta - rows["mle_location_error"]) < rows["n"] ** -0.25)
