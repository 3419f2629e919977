"""Iterates on the diagonal model: what counts as falling onto an axis, and that they do."""

import numpy as np
import pandas as pd
import pytest

from elubench.papers.beyond_em import agreement
from elubench.papers.beyond_em.axes import CLOSE, IN_A_ROW, axes, longest


def test_longest():
    assert longest([]) == 0
    assert longest([False, False]) == 0
    assert longest([True, False, True, True, False, True]) == 2
    assert longest(np.ones(7, dtype=bool)) == 7


@pytest.mark.slow_without_jit
def test_generic_starts_fall_onto_an_axis_and_equal_ones_do_not():
    table = axes(3, sizes=(10**8,), replicates=6)
    assert len(table) == 12
    generic, equal = (table[table["start"] == name] for name in ("generic", "equal"))
    assert (generic["start_ratio"] >= CLOSE).all()
    assert equal["start_ratio"].to_numpy() == pytest.approx(0.5**0.5)
    assert (table["entered"] == (table["row"] >= IN_A_ROW)).all()
    assert generic["entered"].mean() > 0.5 > equal["entered"].mean()
    assert generic["least_norm"].median() > 5.0 * equal["least_norm"].median()
    assert axes(3, sizes=(10**8,), replicates=2).equals(
        table[table["replicate"] < 2].reset_index(drop=True)
    )


def path(error):
    t = np.arange(len(error))
    return pd.DataFrame({"replicate": 0, "t": t, "location_error": error, "radius": 0.05})


def test_steps_of_a_linear_and_of_a_sublinear_path():
    t = np.arange(2000.0)
    (linear,) = agreement.steps_outside(path(0.9 ** (t[:200] / 2)))
    assert linear == pytest.approx(agreement.linear_step("diagonal", 4, 0.9), rel=1e-9)
    assert len(linear) == 7  # of the 8 steps of 2^(1/2) from 1 to 0.05, but the first
    (power,) = agreement.steps_outside(path((1.0 + t) ** -0.5))
    assert power[1:] / power[:-1] == pytest.approx(2.0, rel=0.02)
    assert agreement.steps_outside(path(0.9 ** (t[:5] / 2))) == []
