"""Odd arguments: a fit that is right, or one clear sentence that names the argument.

ELUBENCH_FUZZ=5000 ELUBENCH_FUZZ_SEED=7 pytest tests/fuzz     a longer campaign (``make fuzz``)
"""

import inspect
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit

import elubench as eb
from fuzz.odd import ODD
from fuzz.test_fits import CASES, SEED

pytestmark = needs_jit

ARGUMENTS = ("path", *inspect.signature(eb.fit).parameters)
STATUSES = {"converged", "stalled", "max_iter", "diverged", "validated"}


def _with(X, place, value):
    changed = np.array(X, dtype=object if isinstance(value, str) else X.dtype)
    changed[place] = value
    return changed


def rows(rng):
    """Rows that are odd in themselves or in how they are held, and as plain float64 where that works."""
    n, d = int(rng.integers(0, 60)), int(rng.choice([1, 1, 2, 3]))
    X = rng.standard_normal((n, d)) + 4.0 * (rng.random((n, 1)) < 0.5)
    place = (int(rng.integers(n)), int(rng.integers(d))) if n else ()
    bad = rng.choice([math.nan, math.inf, -math.inf, 1e300, -1e200])
    kinds = {
        "plain": lambda: X,
        "odd": lambda: ODD[int(rng.integers(len(ODD)))],
        "list": lambda: X.tolist(),
        "columns": lambda: np.asfortranarray(X),
        "backwards": lambda: X[::-1, ::-1],
        "strided": lambda: np.repeat(np.repeat(X, 3, axis=0), 2, axis=1)[::3, ::2],
        "read-only": lambda: _read_only(X),
        "big-endian": lambda: X.astype(">f8"),
        "float32": lambda: X.astype(np.float32),
        "float16": lambda: X.astype(np.float16),
        "longdouble": lambda: X.astype(np.longdouble),
        "whole": lambda: np.round(8.0 * X).astype(rng.choice(["i1", "i2", "i4", "i8"])),
        "bools": lambda: X > 2.0,
        "complex": lambda: X + 0j,
        "text": lambda: X.astype(str),
        "objects": lambda: X.astype(object),
        "dates": lambda: X.astype("i8").astype("M8[s]"),
        "one bad": lambda: _with(X, place, bad) if n else X,
        "one word": lambda: _with(X, place, "seven") if n else X,
        "flat": lambda: X.ravel(),
        "cube": lambda: X[None],
        "masked": lambda: np.ma.masked_array(X, rng.random(X.shape) < 0.1),
        "matrix": lambda: X.view(np.matrix),
        "record": lambda: np.array([tuple(row) for row in X], dtype=[(f"c{j}", "f8") for j in range(d)]),
        "frame": lambda: pd.DataFrame(X),
        "series": lambda: pd.Series(X[:, 0]),
        "nullable": lambda: pd.DataFrame(X).astype("Float64"),
        "missing": lambda: pd.DataFrame(_with(X, place, math.nan) if n else X).astype("Float64"),
        "categories": lambda: pd.DataFrame({"a": pd.Categorical(["u", "v"] * 8), "b": range(16)}),
        "constant": lambda: np.full((n, d), 3.0),
        "two values": lambda: np.sign(X) + 5.0,
        "tiny": lambda: X * 5e-324,
        "small": lambda: X * 1e-200,
        "large": lambda: X * 1e140,
        "far": lambda: X + 1e12,
        "generator": lambda: (row for row in X),
        "ragged": lambda: [[1.0, 2.0], [3.0]] * 4,
        "nobody's path": lambda: "nobody/has/this.csv",
    }  # fmt: skip
    name = str(rng.choice(list(kinds)))
    return name, kinds[name]()


def _length(X):
    try:
        return len(X)
    except TypeError:
        return 10


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def row_weights(rng, n):
    kinds = (
        lambda: rng.random(n),
        lambda: rng.integers(0, 3, n),
        lambda: np.zeros(n),
        lambda: np.ones(n + 1),
        lambda: -rng.random(n),
        lambda: np.full(n, math.nan),
        lambda: rng.random(n) * 1e-320,
        lambda: rng.random(n) * 1e300,
        lambda: np.ones((n, 1)),
        lambda: ["heavy"] * n,
        lambda: np.ma.masked_array(np.ones(n), rng.random(n) < 0.2),
        lambda: pd.Series(np.ones(n)),
        lambda: ODD[int(rng.integers(len(ODD)))],
    )
    return kinds[int(rng.integers(len(kinds)))]()


def options(rng, n):
    """Some of the other arguments, each odd or usual."""
    odd = ODD[int(rng.integers(len(ODD)))]
    usual = {
        "model": ["isotropic", "diagonal", "general", "known-scale", eb.General(), eb.Diagonal, "one"],
        "algorithm": ["auto", "em", "elu", "lbfgs", "moments", eb.EM(), eb.EM, "fast"],
        "validation": [0.1, 0.5, 1e-9, 1.0 - 1e-9, None],
        "seed": [0, 1, 10**12],
        "starts": [1, 2],
        "max_iter": [1, 5, None],
        "level": [0.01, 0.5, 1e-12],
    }  # fmt: skip
    chosen = {}
    for name, values in usual.items():
        draw = rng.random()
        if draw < 0.1:
            chosen[name] = odd
        elif draw < 0.4:
            chosen[name] = values[int(rng.integers(len(values)))]
    if rng.random() < 0.3:
        chosen["weights"] = row_weights(rng, n)
    return chosen


@pytest.mark.parametrize("number", range(2 * CASES))
def test_a_fit_or_a_sentence(number):
    rng = np.random.default_rng([SEED, number, 1])
    name, X = rows(rng)
    chosen = options(rng, _length(X))
    told = f"{name}, {chosen}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = eb.fit(X, **chosen)
        except (ValueError, TypeError) as error:
            said = str(error)
            assert said.startswith(ARGUMENTS) or "nobody/has/this.csv" in said, f"{told}: {said}"
            assert "\n" not in said, told
            return
        except FileNotFoundError:
            assert name in ("nobody's path", "odd"), told
            return
        assert found.status in STATUSES, told
        assert math.isfinite(found.log_likelihood), told
        assert np.isfinite(found.location).all(), told
        assert (found.scale > 0.0).all(), told
        assert found.gain >= -1e-9 * found.weight, told
        assert found.summary(), told
        if name not in ("odd", "nobody's path", "generator"):
            plain = np.array(X, dtype=np.float64)
            if not isinstance(chosen.get("algorithm"), str) or chosen["algorithm"] == "auto":
                again = eb.fit(plain, **chosen)
                np.testing.assert_array_equal(again.location, found.location, err_msg=told)
