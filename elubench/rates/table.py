"""Every rate in a study, as a table, next to what the theory says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pandas as pd

from elubench import checks
from elubench.algorithms.known import kind_of, numbers_in
from elubench.models.known import named
from elubench.rates.contests import Growth, growth
from elubench.rates.exponents import check_statistic, exponent
from elubench.rates.resampling import LEAST_SIZES, Resampling, TooLittle
from elubench.rates.zeros import at_zero

_CELL = ("study", "block", "model", "d", "start", "algorithm", "options")


def fit_rates(
    df: pd.DataFrame,
    statistic: str | float = "rmse",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Every rate in the rows of a study, next to what the theory says.

    Parameters
    ----------
    df : rows as `load_results` returns them; a column `study` tells several studies apart.
    statistic : what the exponents of errors are of; see `exponent`.
    level, resamples, seed : of the bootstrap intervals.

    Returns
    -------
    One row per study (if there is such a column), block, model, d, start, algorithm, options and
    `quantity`: `location_error` and `scale_error` of the selected iterate where runs continue to the end
    (`stop`), `iterations_to_radius` and `passes_to_radius` where they stop at the radius.

    law : "power", b in n^b; or "logarithm", b in a + b ln n. For errors it is the power; for counts
        it is the theory's law, else the winner of the contest (`family`), the power if undecided.
    estimate, low, high : b over all n, and its interval.
    upper, upper_low, upper_high : the same over the upper half of n.
    theory : b in theory, nan if there is none. Centred ELU is compared with ELU.
    sizes, n_min, n_max, replicates : values of n in the fit, and the fewest replicates at one.
    censored, failed : share of runs that did not reach the radius; number of runs that failed.
    mle_at_zero : share of samples whose own MLE is 0 (`mle_at_zero`); nan if unknown.
    curvature, curvature_low, curvature_high, moving : is the slope still moving over all n?
    winner, family, prediction_error : the contest of `growth`, and the error of `law` in it.
    note : why there is no estimate, or which n are in no fit.
    """
    how = Resampling(level, resamples, seed)
    check_statistic(statistic)
    needed = [*_CELL[1:], "n", "replicate", "stop", "location_error", "scale_error", "iterations"]
    needed += ["iterations_to_radius", "passes_to_radius", "passes", "reached", "status"]
    checks.frame(df, "df", *needed)
    if not df["stop"].isin(list(_QUANTITIES)).all():
        raise ValueError("df['stop'] must be 'end' or 'radius'")
    cell = [name for name in _CELL if name in df]
    sample = [*cell, "stop", "n", *(name for name in ("seed", "replicate") if name in df)]
    if df.duplicated(sample).any():
        row = df[df.duplicated(sample)].iloc[0]
        raise ValueError(
            f"df must have one row per run, got replicate {row['replicate']:g} of {row['algorithm']} "
            f"at n = {row['n']:g} in block {row['block']!r} twice; a column 'study' tells studies apart"
        )
    rows = []
    for key, group in df.groupby([*cell, "stop"], sort=False, observed=True, dropna=False):
        about: dict[str, Any] = dict(zip(cell, key[:-1], strict=True))
        for quantity in _QUANTITIES[str(key[-1])]:
            made = _rate(group, about, quantity, statistic, how)
            rows.append({**about, "quantity": quantity, **made})
    return pd.DataFrame(rows)


_QUANTITIES = {
    "end": {"location_error": "", "scale_error": ""},
    "radius": {"iterations_to_radius": "iterations", "passes_to_radius": "passes"},
}
_NUMBERS = ("estimate", "low", "high", "upper", "upper_low", "upper_high", "theory")
_BEND = ("curvature", "curvature_low", "curvature_high")


def _rate(
    group: pd.DataFrame,
    about: Mapping[str, Any],
    quantity: str,
    statistic: str | float,
    how: Resampling,
) -> dict[str, Any]:
    """The columns of `fit_rates` after those that say what a row is about."""
    spent = _QUANTITIES[group["stop"].iloc[0]][quantity]
    law, expected = _expected(about, quantity)
    if _two(group):  # the theory is of one Gaussian
        law, expected = "" if spent else law, math.nan
    runs = group.groupby("n")["replicate"].count()
    row: dict[str, Any] = {
        "law": law,
        **dict.fromkeys(_NUMBERS, math.nan),
        "theory": expected,
        "sizes": len(runs),
        "n_min": runs.index.min(),
        "n_max": runs.index.max(),
        "replicates": int(runs.min()),
        "censored": 1.0 - float(group["reached"].mean()),
        "failed": int((group["status"] == "failed").sum()),
        "mle_at_zero": _share_at_zero(group),
        **dict.fromkeys(_BEND, math.nan),
        "moving": False,
        "winner": "",
        "family": "",
        "prediction_error": math.nan,
        "note": "",
    }
    if len(runs) < LEAST_SIZES:
        row["note"] = f"a rate needs {LEAST_SIZES} values of n; there are {len(runs)}"
        return row
    try:
        if spent:
            row |= _growth_row(growth(group, quantity, spent, **asdict(how)), law)
        else:
            every, upper = (
                exponent(group, quantity, statistic=statistic, upper_half=half, **asdict(how))
                for half in (False, True)
            )
            row |= {
                **dict(zip(_NUMBERS[:6], (*every.interval, *upper.interval), strict=True)),
                **{name: getattr(every, name) for name in _BEND},
                "replicates": int(every.replicates.min()),
                "moving": every.moving,
            }
    except TooLittle as why:
        row["note"] = str(why)
    return row


def _growth_row(found: Growth, law: str) -> dict[str, Any]:
    law = law or ("logarithm" if found.family == "logarithm" else "power")
    fitted = found.laws.loc[law]
    left = found.sizes[found.sizes["used"] == ""]["n"]
    upper = found.slope_per_log if law == "logarithm" else found.exponent
    return {
        "law": law,
        "estimate": fitted["b"],
        "low": fitted["b_low"],
        "high": fitted["b_high"],
        **dict(zip(_NUMBERS[3:6], upper, strict=True)),
        "sizes": len(found.sizes) - len(left),
        **{name: fitted[name] for name in _BEND},
        "moving": bool(fitted["moving"]),
        "winner": found.winner,
        "family": found.family,
        "prediction_error": fitted["error"],
        "note": f"in no fit: n = {', '.join(f'{n:g}' for n in left)}" if len(left) else "",
    }


def _expected(about: Mapping[str, Any], quantity: str) -> tuple[str, float]:
    """The law of a quantity and its b in theory; "" and nan if there is none.

    The model says how flat its loss is, the algorithm how its iterations grow with that.
    """
    count = quantity.endswith("_to_radius")
    try:
        kind = kind_of(str(about["algorithm"]))
        flatness = named(str(about["model"])).flatness(int(about["d"]))
        options = {field.name for field in fields(kind)}
        given = {k: v for k, v in numbers_in(str(about["options"])).items() if k in options}
        law, b = kind(**given).growth_law(flatness)
    except (TypeError, ValueError):  # not installed here, or with options that are no numbers
        return "" if count else "power", math.nan
    if count:  # where there is a theory, an iteration takes one pass
        return law, b
    if not law:
        return "power", math.nan
    return "power", flatness.location_n if quantity == "location_error" else flatness.scale_n


def _two(group: pd.DataFrame) -> bool:
    """Whether the rows are of two Gaussians."""
    return "half_distance" in group and bool(group["half_distance"].notna().any())


def _share_at_zero(group: pd.DataFrame) -> float:
    if _two(group) or not {"mle_location_error", "radius", "radius_constant"} <= set(group):
        return math.nan
    known = group.dropna(subset=["mle_location_error"])
    return float(at_zero(known).mean()) if len(known) else math.nan
