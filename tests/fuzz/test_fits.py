"""Random data, hostile as people's data are: fits against a naive EM and against symmetry.

    ELUBENCH_FUZZ=5000 ELUBENCH_FUZZ_SEED=7 pytest tests/fuzz     a longer campaign (``make fuzz``)

A case is a function of its seed alone, which a failure names.
"""

import os
import warnings

import numpy as np
import pytest
from conftest import needs_jit

import elubench as eb
from fuzz.naive_em import best, from_parts, one_gaussian

CASES = int(os.environ.get("ELUBENCH_FUZZ", "20"))
SEED = int(os.environ.get("ELUBENCH_FUZZ_SEED", "0"))
MODELS = ("isotropic", "diagonal", "general")

pytestmark = needs_jit


def data(rng, model):
    """Rows and weights (or None) of a case, without units."""
    n, d = int(rng.integers(20, 400)), int(rng.choice([1, 1, 2, 3, 5]))
    X = rng.standard_normal((n, d))
    shape = rng.choice(["one", "two", "unequal", "skewed", "heavy", "flat", "outlier", "ties"])
    if shape in ("two", "unequal"):
        share = 0.5 if shape == "two" else rng.uniform(0.05, 0.3)
        X += rng.uniform(1.0, 8.0) * (rng.random((n, 1)) < share)
    elif shape == "skewed":
        X = np.exp(0.7 * X)
    elif shape == "heavy":
        X = rng.standard_t(3, (n, d))
    elif shape == "flat":
        X = rng.uniform(-1.0, 1.0, (n, d))
    elif shape == "outlier":
        X[0] += 10.0 ** rng.uniform(0.5, 4.0)
    elif shape == "ties":
        X = np.round(X, 1)
    if model != "general" and rng.random() < 0.7:
        X -= X.mean(axis=0)
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(1, 5, n).astype(float)
    return X, weights


def case(number):
    rng = np.random.default_rng([SEED, number])
    model = MODELS[number % 3]
    return (model, *data(rng, model), rng)


def fitted(X, model, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing leaks from a fit
        return eb.fit(X, model, **options)


@pytest.mark.parametrize("number", range(CASES))
def test_no_likelihood_is_missed(number):
    """At most 1e-3 below the best of a naive EM from many starts, and never below one Gaussian."""
    model, X, weights, rng = case(number)
    unit = np.ones(len(X)) if weights is None else weights
    fit = fitted(X, model, weights=weights)
    rounding = 1e-9 * unit.sum() * X.shape[1]
    assert fit.log_likelihood >= one_gaussian(X, unit, model) - rounding
    found = best(X, unit, model, starts=12, iterations=400, rng=rng)
    assert fit.log_likelihood >= found - 1e-3 - rounding, f"{found - fit.log_likelihood:.3g} missed"


@pytest.mark.parametrize("number", range(CASES))
def test_a_few_far_rows_are_found(number):
    """Among up to 60,000 others: at most 1e-3 below EM from the true parts, or the loss's rounding."""
    rng = np.random.default_rng([SEED, number, 1])
    n, d = int(10.0 ** rng.uniform(1.5, 4.8)), int(rng.choice([1, 2, 3, 5, 8]))
    X, some = (
        rng.standard_normal((n, d)),
        int(rng.choice([1, 2, 3, 5, 15, n // 100 + 1, n // 30 + 1])),
    )
    places, away = rng.permutation(n)[: min(some, n // 4)], 10.0 ** rng.uniform(0.8, 4.0)
    direction = rng.standard_normal(d)
    X[places] = X[places] if rng.random() < 0.5 else X[places[0]]
    X[places] += away * direction / np.linalg.norm(direction)
    found = from_parts(X, places, iterations=100)
    fit = fitted(X, "general")
    rounding = 1e-16 * n * d * away**2
    assert fit.log_likelihood >= found - 1e-3 - rounding, f"{found - fit.log_likelihood:.3g} missed"


@pytest.mark.parametrize("number", range(CASES))
def test_units_order_place_and_repeats_do_not_matter(number):
    """Of the maximum: the point may be flat, so the likelihood is what is compared."""
    model, X, weights, rng = case(number)
    n, d = X.shape
    unit = np.ones(n) if weights is None else weights
    usual = fitted(X, model, weights=weights).log_likelihood
    slack = 2e-2 + 1e-9 * unit.sum() * d  # twice what NewtonAnderson calls not worth a pass
    factor = 2.0 ** int(rng.integers(-230, 230))
    scaled = fitted(factor * X, model, weights=weights).log_likelihood
    assert scaled + unit.sum() * d * np.log(factor) == pytest.approx(usual, abs=slack, rel=1e-12)
    order = rng.permutation(n)
    permuted = fitted(X[order], model, weights=None if weights is None else weights[order])
    assert permuted.log_likelihood == pytest.approx(usual, abs=slack)
    repeated = fitted(np.repeat(X, unit.astype(int), axis=0), model)
    assert repeated.log_likelihood == pytest.approx(usual, abs=slack)
    if model == "general":
        moved = fitted(X + rng.uniform(-1e4, 1e4, d), model, weights=weights).log_likelihood
        assert moved == pytest.approx(usual, abs=slack, rel=1e-7)
    if model != "diagonal":
        turn, _ = np.linalg.qr(rng.standard_normal((d, d)))
        turned = fitted(X @ turn, model, weights=weights).log_likelihood
        assert turned == pytest.approx(usual, abs=slack)


@pytest.mark.parametrize("number", range(CASES))
@pytest.mark.parametrize("algorithm", ["polyak", "normalized-gd", "gradient-descent", "em"])
def test_converged_is_never_said_wrongly(number, algorithm):
    """From there EM, with all the time it wants, gains next to nothing."""
    model, X, weights, _ = case(number)
    sample = eb.ArraySample(X, weights)
    fit = fitted(sample, model, algorithm=algorithm)
    if fit.status != "converged" or fit.gain == 0.0:
        return
    ended = eb.run(sample, model, eb.EM(), fit.location.ravel(), max_iter=20_000, metrics=False)
    before, after = fit.model.gaps(sample, np.stack([fit.location.ravel(), ended.params]))
    assert sample.n_weighted * (before - after) < 0.1  # what is left is estimated to be below 0.05
