"""What the tests of studies share: a small study, and rows without what the clock put in them."""

import pandas as pd

from elubench.studies import mle, performing, rows

# What must be the same in every run of a study, on every engine, after every accident.
LASTING = [*rows.IDENTITY, *rows.OUTCOME]


def small(**changes):
    """A study of twelve samples and thirty-six runs that takes a fraction of a second."""
    block = {
        "name": "small",
        "models": ["isotropic"],
        "d": [1],
        "n": [1_000, 10_000],
        "samples": "lattice",
        "replicates": 6,
        "algorithms": [{"name": "EM"}, {"name": "ELU"}, {"name": "NewtonAnderson"}],
        "radius_constant": 2.0,
        "max_iter": 60,
        **changes,
    }
    block = {key: value for key, value in block.items() if value is not None}
    return {"seed": 7, "block": [block]}


def assert_same_rows(one, two):
    """Equal to the last bit in every column but those of time and provenance."""
    pd.testing.assert_frame_equal(one[LASTING], two[LASTING], check_exact=True)


def replace_run(monkeypatch, function):
    """Have studies call this in place of ``run``."""
    for module in (performing, mle):
        monkeypatch.setattr(module, "run", function)
