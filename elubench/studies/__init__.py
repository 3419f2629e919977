"""Studies: grids of runs that survive accidents. May import fits, runs and what is below."""

from elubench.studies.running import Progress, load_results, load_traces, run_study, study_progress
from elubench.studies.store import StoreError, StoreWarning

__all__ = [
    "Progress",
    "StoreError",
    "StoreWarning",
    "load_results",
    "load_traces",
    "run_study",
    "study_progress",
]
