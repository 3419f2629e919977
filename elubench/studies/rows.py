"""Columns of a study's rows and traces."""

from __future__ import annotations

import pyarrow as pa

_text, _int, _float, _truth = pa.string(), pa.int64(), pa.float64(), pa.bool_()

#: Which run a row is about. The last four are of the truth, and empty where that is one Gaussian.
IDENTITY = {
    "block": _text,
    "model": _text,
    "n": _int,
    "d": _int,
    "replicate": _int,
    "samples": _text,
    "start": _text,
    "start_norm": _float,
    "algorithm": _text,
    "options": _text,
    "max_iter": _int,
    "stop": _text,
    "validation": _float,
    "radius_constant": _float,
    "radius": _float,
    "seed": _int,
    "true_h": _float,
    "true_a": _float,
    "true_weight": _float,
    "half_distance": _float,
}
#: What it found. Errors are of the location (distance) and of the scale (sigma squared, largest
#: difference); gaps are mean losses less that of the best single Gaussian; excesses less the MLE's.
#: ``sample_`` and ``held_`` columns are the shapes of the training and of the validation sample
#: (:mod:`elubench.studies.shape`).
OUTCOME = {
    "status": _text,
    "message": _text,
    "reached": _truth,
    "iterations_to_radius": _int,
    "passes_to_radius": _float,
    "iterations": _int,
    "passes": _float,
    "selected": _int,
    "start_error": _float,
    "location_error": _float,
    "scale_error": _float,
    "mle_distance": _float,
    "gap": _float,
    "excess": _float,
    "last_location_error": _float,
    "last_scale_error": _float,
    "last_mle_distance": _float,
    "last_gap": _float,
    "last_excess": _float,
    "mle_location_error": _float,
    "mle_gap": _float,
    "mle_converged": _truth,
    "sample_kurtosis": _float,
    "sample_gap": _float,
    "sample_trace": _float,
    "held_kurtosis": _float,
    "held_gap": _float,
    "held_trace": _float,
}
#: What depends on the machine. Costs are passes in units of a plain pass, by prices measured in the
#: process of the run; ``comparable`` where that had the machine to itself, as far as elubench knows.
TIME = {
    "cost_to_radius": _float,
    "cost": _float,
    "seconds": _float,
    "seconds_to_radius": _float,
    "compile_seconds": _float,
    "comparable": _truth,
}
#: What made it. ``load`` is the system's load average before the run's task, where there is one.
PROVENANCE = {
    "engine": _text,
    "elubench": _text,
    "commit": _text,
    "python": _text,
    "numpy": _text,
    "numba": _text,
    "scipy": _text,
    "cpu": _text,
    "threads": _int,
    "load": _float,
}
SCHEMA = pa.schema({**IDENTITY, **OUTCOME, **TIME, **PROVENANCE})
TRACE_SCHEMA = pa.schema(
    {
        **IDENTITY,
        "t": _int,
        "step": _float,
        "passes": _float,
        "cost": _float,
        "seconds": _float,
        "location_error": _float,
        "scale_error": _float,
        "gap": _float,
        "validation_loss": _float,
    }
)
