"""Running an algorithm on one sample, or on many.

A run stops for one of these reasons and no other:

``reached``      an accepted iterate is within ``radius`` of the truth
``converged``    a step is no longer than ``tol``, or the algorithm's own criterion holds
``max_iter``     the budget of iterations is spent
``diverged``     the next iterate has a scale that is not positive, or a number that is not finite
``interrupted``  Ctrl-C; the run so far is returned. Pressed while the losses of recorded iterates are
                 computed, it leaves the others NaN
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from elubench import checks
from elubench.algorithms.base import Algorithm
from elubench.kernels import compile_seconds
from elubench.models import Model
from elubench.runs.drivers import drive, driver_for, make_ready
from elubench.runs.setup import Stop, Truth, set_up, split
from elubench.runs.together import drive_all
from elubench.runs.trace import Ended, Run, results
from elubench.samples import Sample


def run(
    sample: Sample | ArrayLike | PathLike[str],
    model: Model | str,
    algorithm: Algorithm,
    start: ArrayLike | None = None,
    *,
    max_iter: int = 10_000,
    radius: float | None = None,
    tol: float | None = None,
    validation: float | Sample | None = None,
    truth: ArrayLike | None = None,
    true_scale: ArrayLike | None = None,
    seed: int = 0,
    metrics: bool = True,
    driver: str = "auto",
) -> Run:
    """Run an algorithm.

    Parameters
    ----------
    sample : a Sample, an (n, d) array-like, the path of a file, or a Dask collection. One column that
        is streamed from files or lies on a cluster is condensed in its first read if that pays. Rows
        in memory are condensed on request, by ``CondensedSample``. ``details`` says to how many points.
    model : a model, or its name.
    algorithm : an algorithm with its options.
    start : parameters to start from; by default ``model.default_start(sample)``.
    max_iter : budget of iterations.
    radius : stop at the first iterate whose location error is at most this.
    tol : stop at the first step of at most this length, in the coordinates in which the algorithm
        works: natural ones for ``NewtonAnderson`` and those told to, locations for the others.
    validation : None, a share in (0, 1) to hold out, or a sample to validate on.
    truth : parameters that errors are measured from; with ``radius`` the default is location 0.
    true_scale : scale that scale errors are measured from.
    seed : of the random split.
    metrics : whether to compute the losses of the recorded iterates.
    driver : "auto", "compiled", "python", or "short" for a run that is likely to be: the compiled loop
        is then entered only after a hundred passes without it. The iterates are the same.
    """
    checks.choice(driver, "driver", ("auto", "compiled", "python", "short"))
    stop, goal = Stop.checked(max_iter, radius, tol), Truth(truth, true_scale)
    setup = set_up(split(sample, validation, seed), model, algorithm, start, stop, goal)
    before = compile_seconds()
    chosen = driver_for(setup, driver)
    make_ready(setup, chosen)
    clock, interrupted = drive(setup, chosen)
    compiling = compile_seconds() - before
    return results([Ended(setup, clock, interrupted, compiling)], metrics)[0]


def run_many(
    samples: Sequence[Sample | ArrayLike],
    model: Model | str,
    algorithm: Algorithm,
    starts: Any = None,
    *,
    max_iter: int = 10_000,
    radius: float | None = None,
    tol: float | None = None,
    validation: float | None = None,
    truth: ArrayLike | None = None,
    true_scale: ArrayLike | None = None,
    seed: int = 0,
    metrics: bool = False,
) -> list[Run]:
    """Run the same algorithm on many samples, with the same results as one by one.

    Small samples in memory run side by side, each in one thread; large ones run one after the other
    with the threads inside the pass. ``seconds`` of runs side by side is their share of the total
    time. ``starts`` is None, one start for all samples, or one for each. After Ctrl-C the runs that
    are done are returned as they are, the others as far as they got, ``interrupted``.
    """
    given = checks.items(samples, "samples", "samples")
    each = [starts] * len(given)
    if starts is not None:
        shape = checks.numeric(starts, "starts").shape
        if len(shape) == 2 and shape[0] == len(given):
            each = list(np.asarray(starts))
        elif len(shape) != 1:
            raise ValueError(
                f"starts must be one, or one for each of {len(given)} samples, got shape {shape}"
            )
    stop, goal = Stop.checked(max_iter, radius, tol), Truth(truth, true_scale)
    setups = [
        set_up(split(one, validation, seed, f"samples[{k}]"), model, algorithm, start, stop, goal)
        for k, (one, start) in enumerate(zip(given, each, strict=True))
    ]
    return results(drive_all(setups), metrics)
