"""Samples whose own optimum is the truth."""

from __future__ import annotations

from typing import Any

import pandas as pd

from elubench import checks


def mle_at_zero(frame: pd.DataFrame, tolerance: float = 0.1, by: str = "n") -> pd.DataFrame:
    """The share of samples whose maximum-likelihood location is exactly the truth, 0.

    On these an algorithm may end far below the statistical radius: they pull the median of the errors
    down without telling anything about a rate. A sample counts if

        mle_location_error <= tolerance * radius / radius_constant

    At d = 1 the mean log-likelihood is, to leading order, `Z theta^4 / sqrt(n) - k theta^8` with Z
    normal. If Z < 0, on about every second sample, its maximum is at 0; otherwise it is at
    (Z/2k)^(1/4) n^(-1/8), which is below x times the radius with probability of order x^4: for a
    tenth, some two samples in a hundred thousand. For an MLE at 0 solvers return 0 or, where the loss
    differs by less than its rounding, up to a hundredth of the radius.

    Returns
    -------
    One row per value of `by` (and study, block, model and d, if there are such columns): `samples` with
    a known MLE, those with it `at_zero`, and their `share`, nan if none is known.
    """
    needed = (by, "replicate", "mle_location_error", "radius", "radius_constant")
    checks.frame(frame, "frame", *needed)
    tolerance = checks.real(tolerance, "tolerance", 0.0, 1.0)
    keys = [name for name in ("study", "block", "model", "d") if name in frame and name != by]
    keys.append(by)
    sample = [*keys, *(name for name in ("seed", "replicate") if name in frame)]
    known = frame.dropna(subset=["mle_location_error"]).drop_duplicates(sample)
    zero = at_zero(known, tolerance)
    made = (
        known[keys].assign(samples=1, at_zero=zero.astype(int)).groupby(keys, observed=True).sum()
    )
    every = frame[keys].drop_duplicates().sort_values(keys)
    made = every.merge(made.reset_index(), how="left", on=keys)
    made["samples"] = made["samples"].fillna(0).astype(int)
    made["at_zero"] = made["at_zero"].fillna(0).astype(int)
    made["share"] = made["at_zero"] / made["samples"].where(made["samples"] > 0)
    return made.reset_index(drop=True)


def at_zero(frame: pd.DataFrame, tolerance: float = 0.1) -> Any:
    """Whether each row's sample has its own optimum at exactly 0; see `mle_at_zero`."""
    radius = frame["radius"] / frame["radius_constant"]
    return frame["mle_location_error"] <= tolerance * radius
