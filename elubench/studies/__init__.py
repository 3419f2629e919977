"""Studies: grids of runs that survive accidents. May import fits and below."""

from elubench.studies.merging import merge_studies as merge_studies
from elubench.studies.progress import Progress as Progress
from elubench.studies.running import load_results as load_results
from elubench.studies.running import load_traces as load_traces
from elubench.studies.running import run_study as run_study
from elubench.studies.running import study_progress as study_progress
from elubench.studies.running import study_rows as study_rows

__all__ = ["load_results", "load_traces", "merge_studies", "run_study", "study_rows"]
