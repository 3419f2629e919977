"""Runs: one algorithm on one sample from one start. May import kernels, samples, models, algorithms."""

from elubench.runs.drivers import StationaryStartWarning
from elubench.runs.running import STATUSES, Run, run, run_many

__all__ = ["STATUSES", "Run", "StationaryStartWarning", "run", "run_many"]
