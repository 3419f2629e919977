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


def ended(
    begins: Iterable[Floats],
    stopped: bool,
    sample: Sample,
    model: Model,
    algorithm: Algorithm,
    **options: Any,
) -> tuple[list[Run], bool]:
    """Runs from these points, at least one, and whether Ctrl-C was pressed.

    After Ctrl-C (before, if ``stopped``) no further run begins. If there is none, the one returned is
    at its first point.
    """
    options |= {"metrics": False, "driver": "short"}
    runs: list[Run] = []
    first: Floats | None = None
    for begin in begins:
        if first is None:
            first = begin
        if stopped:
            break
        try:
            with np.errstate(all="ignore"):  # a foreign loop may try points where numbers overflow
                runs.append(run(sample, model, algorithm, begin, **options))
        except KeyboardInterrupt:  # before its first iteration
            stopped = True
        else:
            stopped = runs[-1].status == "interrupted"
    if not runs:
        options |= {"max_iter": 0}
        one = run(sample, model, algorithm, first, **options)
        runs.append(replace(one, status="interrupted"))
    return runs, stopped
