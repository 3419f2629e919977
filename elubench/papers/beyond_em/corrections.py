"""Corrections to scaling on the isotropic model, as options of :func:`elubench.rates.corrected`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from elubench import rates
from elubench.models.flatness import location_scale
from elubench.papers.beyond_em import predictions

_RESAMPLES = 400  # of a figure


def for_scale(d: int, controls: tuple[str, ...]) -> tuple[str, ...]:
    """Controls of the squared scale: at d >= 2 the trace of the second moments is of its order."""
    return controls if d == 1 else (*controls, "sample_trace")


def _controls(d: int, *of: str) -> tuple[str, ...]:
    """Columns of what the chance of a sample is read off."""
    return tuple(f"{sample}_{'kurtosis' if d == 1 else 'gap'}" for sample in of)


def of_errors(d: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of ELU's validated location and squared scale."""
    controls = _controls(d, "sample", "held")
    return (
        {"value": "location_error", "statistic": "rmse", "controls": controls},
        {"value": "scale_error", "statistic": "mean", "controls": for_scale(d, controls)},
    )


def of_em(rows: pd.DataFrame, d: int, stated: float) -> dict[str, Any]:
    """Of EM's iterations to the radius."""
    start, constant = (float(rows[name].iloc[0]) for name in ("start_norm", "radius_constant"))
    return {
        "value": "iterations_to_radius",
        "statistic": "median",
        "predicted": predictions.em_iterations(d, constant, start),
        "stated": stated,
        "controls": _controls(d, "sample"),
    }


def local_slopes(errors: pd.DataFrame, iterations: pd.DataFrame) -> pd.DataFrame:
    """Slopes between neighbouring n, plain and corrected, for :mod:`elubench.report.slope_figure`."""
    tables = [pd.DataFrame({"quantity": [], "d": [], "corrected": []})]
    for d in sorted({*errors["d"].unique(), *iterations["d"].unique()}):
        elu = errors[(errors["d"] == d) & (errors["algorithm"] == "ELU")]
        em = iterations[(iterations["d"] == d) & (iterations["algorithm"] == "EM")]
        fits = dict(zip(("location", "scale"), ((elu, how) for how in of_errors(d)), strict=True))
        if len(em):
            fits["EM"] = (em, of_em(em, d, location_scale(d).iterations_n))
        for quantity, (rows, how) in fits.items():
            try:
                found = rates.corrected(rows, resamples=_RESAMPLES, **how)
            except ValueError:  # too few sizes or replicates
                continue
            for corrected, table in ((False, found.plain_local), (True, found.local)):
                tables.append(table.assign(quantity=quantity, d=d, corrected=corrected))
    return pd.concat(tables[1:] or tables, ignore_index=True)
