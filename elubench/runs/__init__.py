"""Runs: one algorithm on one sample from one start, with its trace. May import algorithms and below."""

from elubench.runs.running import run as run
from elubench.runs.running import run_many as run_many
from elubench.runs.setup import StationaryStartWarning as StationaryStartWarning
from elubench.runs.trace import Run as Run
