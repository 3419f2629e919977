"""Seconds, from asv's results or measured here in a minute, as the same two tables.

    to_radius    algorithm, n, d, threads: a run to twice the radius, isotropic model
    passes       what, n, d, threads: one pass over the data, the data only read, tanh only computed

``seconds`` are medians, ``low`` and ``high`` quartiles. Measurements take turns, so that a disturbance
of the machine affects all.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pandas as pd

from elubench.algorithms import ELU, EM, LBFGS, SQUAREM, Algorithm, Moments, NewtonAnderson
from elubench.kernels import hardware
from elubench.models import radius
from elubench.peers.asv import asv_results
from elubench.runs import run
from elubench.samples import ArraySample, gaussian

CONTESTANTS: tuple[Algorithm, ...] = (
    EM(), ELU(), SQUAREM(), LBFGS(), NewtonAnderson(), Moments()
)  # fmt: skip
START, CONSTANT = 0.8, 2.0
#: n and d of runs and of passes; runs with n d above MOST_NUMBERS are left out.
RUN_SIZES, RUN_WIDTHS = (10**4, 10**5, 10**6), (1, 4, 16)
PASS_SIZES = ((10**6, 1), (10**6, 4), (250_000, 16), (62_500, 64))
MOST_NUMBERS = 4_000_000

_QUIET = 0.02  # seconds for which threads of the call before may spin
_CALLS = 3  # per pass and round

_TO_RADIUS = ["algorithm", "n", "d", "threads", "seconds", "low", "high"]
_PASSES = ["what", "n", "d", "threads", "seconds", "low", "high"]
_NAMES = {"time_pass": "pass", "time_reading": "reading"}


class Timings(NamedTuple):
    """The two tables, and a sentence on where they come from."""

    to_radius: pd.DataFrame
    passes: pd.DataFrame
    source: str


def from_asv(folder: str | Path) -> Timings | None:
    """What asv measured last, or None if it has not measured both."""
    if not Path(folder).is_dir():
        return None
    found = asv_results(folder)
    found = found[found["status"] == "ok"]
    if "algorithm" not in found or "threads" not in found:
        return None
    last = found.sort_values("date").groupby("machine")["commit"].last()
    machine = found["machine"].mode().iloc[0]
    found = found[(found["machine"] == machine) & (found["commit"] == last[machine])]
    found = found.assign(seconds=found["value"], low=found["q25"], high=found["q75"])
    runs = found[
        (found["suite"] == "radius.OneThread")
        & (found["model"] == "isotropic")
        & found["algorithm"].isin([one.name for one in CONTESTANTS])
    ]
    passes = found[found["name"].isin(list(_NAMES)) & found["suite"].str.startswith("kernels.")]
    passes = passes[passes["suite"] != "kernels.LibraryTanh"]
    if runs.empty or passes.empty:
        return None
    return Timings(
        _whole(runs.assign(threads=1)[_TO_RADIUS]),
        _whole(passes.assign(what=passes["name"].map(_NAMES))[_PASSES]),
        f"asv, commit {str(last[machine])[:9]}, machine {machine}",
    )


def _whole(table: pd.DataFrame) -> pd.DataFrame:
    return table.astype({"n": int, "d": int, "threads": int}).reset_index(drop=True)


def measured(seed: int = 0, rounds: int = 5) -> Timings:
    """Both tables, measured now on direct samples of one Gaussian."""
    most = numba.get_num_threads()
    threads = sorted({most, *(2**k for k in range(most.bit_length()))})
    return Timings(
        _runs(seed, rounds),
        _passes(seed, 2 * rounds, threads),
        f"measured here, {rounds} rounds of runs and {2 * rounds} of passes, seed {seed}",
    )


def _runs(seed: int, rounds: int) -> pd.DataFrame:
    rows = []
    for d in RUN_WIDTHS:
        for n in RUN_SIZES:
            if n * d > MOST_NUMBERS:
                continue
            sample = ArraySample(gaussian(n, d, seed=seed))
            start = np.full(d, START / math.sqrt(d))
            target = radius("isotropic", n, d, constant=CONSTANT)
            taken: dict[str, list[float]] = {one.name: [] for one in CONTESTANTS}
            for turn in range(-1, rounds):  # the first compiles, and wakes the threads
                for one in CONTESTANTS:
                    ended = run(
                        sample, "isotropic", one, start, radius=target, max_iter=20_000,
                        metrics=False,
                    )  # fmt: skip
                    if turn >= 0:
                        arrived = ended.status == "reached"
                        taken[one.name].append(ended.seconds if arrived else math.nan)
            rows += [
                (name, n, d, numba.get_num_threads(), *_quartiles(seconds))
                for name, seconds in taken.items()
            ]
    return pd.DataFrame(rows, columns=_TO_RADIUS)


def _passes(seed: int, rounds: int, threads: Sequence[int]) -> pd.DataFrame:
    rows = []
    for n, d in PASS_SIZES:
        sample = ArraySample(gaussian(n, d, seed=seed))
        u, b, flat = np.full((1, d), 0.3 / math.sqrt(d)), np.zeros(1), sample.tiles.data.reshape(-1)
        calls: dict[str, Callable[[], Any]] = {
            "pass": lambda sample=sample, u=u, b=b: sample.sums(u, b, 0),  # type: ignore[misc]
            "reading": lambda flat=flat: hardware.add_up(flat),  # type: ignore[misc]
            "tanh": lambda n=n: hardware.tanh_in_cache(n),  # type: ignore[misc]
        }
        taken: dict[tuple[str, int], list[float]] = {}
        for _ in range(rounds):
            for count in threads:
                with _threads(count):
                    for what, call in calls.items():
                        time.sleep(_QUIET)
                        call()  # compiles, and wakes the threads
                        begun = time.perf_counter()
                        for _ in range(_CALLS):
                            call()
                        seconds = (time.perf_counter() - begun) / _CALLS
                        taken.setdefault((what, count), []).append(seconds)
        rows += [(what, n, d, count, *_quartiles(times)) for (what, count), times in taken.items()]
    return pd.DataFrame(rows, columns=_PASSES)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    before = numba.get_num_threads()
    numba.set_num_threads(count)
    try:
        yield
    finally:
        numba.set_num_threads(before)


def _quartiles(seconds: Sequence[float]) -> tuple[float, float, float]:
    """Median, lower and upper quartile; NaN if a run did not arrive."""
    low, middle, high = np.quantile(np.asarray(seconds, dtype=float), [0.25, 0.5, 0.75])
    return float(middle), float(low), float(high)
