"""Runs: one algorithm on one sample from one start, with its trace. May import algorithms and below."""

from elubench.runs.drivers import StationaryStartWarning as StationaryStartWarning
from elubench.runs.running import Run as Run
from elubench.runs.running import run as run
from elubench.runs.running import run_many as run_many
