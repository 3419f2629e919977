"""Runs from every start of a fit; Ctrl-C keeps what there is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from elubench.algorithms import Algorithm
from elubench.checks import Floats
from elubench.models import Model
from elubench.runs import Run, run
from elubench.samples import Sample
from elubench.samples.metered import Metered

_TRIED = 3  # iterations after which a rival that has a chance is ahead


def ended(
    begins: Iterable[Floats],
    stopped: bool,
    sample: Sample,
    known: Metered,
    model: Model,
    algorithm: Algorithm,
    rivals: int = 0,
    **options: Any,
) -> tuple[list[Run], bool]:
    """Runs from these points, at least one, and whether Ctrl-C was pressed.

    ``known`` is the sample, and remembers the last pass of each run. So many ``rivals`` follow the first
    point: a run from one of them is given up where it is not ahead of the others after a few iterations,
    and is continued in a run of its own where it is. After Ctrl-C (before, if ``stopped``) no further
    run begins. If there is none, the one returned is at its first point.
    """
    options |= {"metrics": False, "driver": "short"}
    few = options | {"max_iter": min(_TRIED, options["max_iter"])}
    runs: list[Run] = []
    first: Floats | None = None
    for place, begin in enumerate(begins):
        if first is None:
            first = begin
        if stopped:
            break
        rival = 0 < place <= rivals
        try:
            with np.errstate(all="ignore"):  # a foreign loop may try points where numbers overflow
                runs.append(run(sample, model, algorithm, begin, **(few if rival else options)))
                known.remember(runs[-1].final)
                if rival and runs[-1].status == "max_iter" and _ahead(model, known, runs):
                    runs.append(run(sample, model, algorithm, runs[-1].params, **options))
                    known.remember(runs[-1].final)
        except KeyboardInterrupt:  # before its first iteration
            stopped = True
        else:
            stopped = runs[-1].status == "interrupted"
    if not runs:
        options |= {"max_iter": 0}
        one = run(sample, model, algorithm, first, **options)
        runs.append(replace(one, status="interrupted"))
    return runs, stopped


def _ahead(model: Model, sample: Sample, runs: list[Run]) -> bool:
    """Whether the last run has the lowest loss."""
    gaps = model.gaps(sample, np.stack([one.params for one in runs]))
    return bool(gaps[-1] < np.fmin.reduce(gaps[:-1]))
