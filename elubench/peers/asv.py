"""What asv measured, as one table: ``asv_results(".asv/results")``.

asv itself is not needed. It keeps one JSON file per machine, commit and environment, and beside them
``benchmarks.json``, which describes the benchmarks as of its last run:

    results/benchmarks.json
    results/<machine>/machine.json
    results/<machine>/<commit>-<environment>.json

In a file, a benchmark is a row of lists with one entry per combination of its parameters, which are
given by their ``repr``. A result of ``null`` failed; ``NaN`` was skipped, by the benchmark or because
only others were asked for.
"""

from __future__ import annotations

import ast
import json
import math
import os
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

_NO_RESULTS = ("machine.json", "benchmarks.json")
_FORMAT = 2

_TIMES = ("date", "started")
# Our columns and asv's names for them: the value's 99 % interval and quartiles, the calls per sample,
# and the samples.
_STATISTICS = {
    "low": "stats_ci_99_a",
    "high": "stats_ci_99_b",
    "q25": "stats_q_25",
    "q75": "stats_q_75",
    "number": "stats_number",
    "repeat": "stats_repeat",
}
#: Of every table; what else it has is a benchmark's parameters.
COLUMNS = (
    "machine", "cpu", "commit", "date", "python", "environment",
    "benchmark", "suite", "name", "type", "unit", "version",
    "status", "value", *_STATISTICS, "started",
)  # fmt: skip

# What asv makes of the first part of a function's name.
_KINDS = {
    "time": ("time", "seconds"),
    "timeraw": ("time", "seconds"),
    "track": ("track", "unit"),
    "peakmem": ("peakmemory", "bytes"),
    "mem": ("memory", "bytes"),
}


def asv_results(folder: str | os.PathLike[str] = ".asv/results") -> pd.DataFrame:
    """Read asv's results, one row per value: machine x commit x benchmark x parameters.

    Parameters
    ----------
    folder : asv's ``results_dir``, or the folder of one machine in it.

    Returns
    -------
    A DataFrame. ``status`` is "ok", "failed" or "skipped", and ``value``, in units of ``unit``, is NaN
    unless it is "ok". ``benchmark`` is asv's full name, ``suite`` and ``name`` its two parts. ``low``
    and ``high`` are the ends of a 99 % interval, ``q25`` and ``q75`` quartiles, over ``repeat`` samples
    of ``number`` calls. ``date`` is the commit's, ``started`` the benchmark's. Rows whose ``version``
    differs came from different benchmark code and are not comparable. The parameters follow, one
    column per name, prefixed with ``param_`` if the name is taken.

    Raises
    ------
    ValueError
        If a file is not what asv writes; the message names the file.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"folder must be a folder with asv's results, got {str(folder)!r}")
    paths = [path for path in sorted(folder.rglob("*.json")) if path.name not in _NO_RESULTS]
    known = _known(folder)
    return _frame([row for path in paths for row in _rows(path, known)])


def _known(folder: Path) -> dict[str, Any]:
    """What benchmarks.json says about each benchmark; empty without the file."""
    for place in (folder, folder.parent):
        path = place / "benchmarks.json"
        if path.is_file():
            found = _read(path)
            return {name: entry for name, entry in found.items() if isinstance(entry, dict)}
    return {}


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # broken JSON, or broken UTF-8
        raise ValueError(f"{path} is not JSON, or is cut short: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} must be a JSON object, as asv writes, got {type(found).__name__}")
    if found.get("version", _FORMAT) != _FORMAT:
        raise ValueError(
            f"{path} must have asv's format {_FORMAT}, got format {found['version']!r} "
            "(`asv update` converts older files)"
        )
    return found


def _rows(path: Path, known: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    found = _read(path)
    try:
        names, results = found["result_columns"], found["results"]
    except KeyError as error:
        raise ValueError(f"{path} has no {error}; is it a file of asv's results?") from None
    machine = found.get("params") or {}
    about = {
        "machine": machine.get("machine") or path.parent.name,
        "cpu": machine.get("cpu"),
        "commit": found.get("commit_hash"),
        "date": found.get("date"),
        "python": found.get("python"),
        "environment": found.get("env_name"),
    }
    for benchmark, values in results.items():
        entry = known.get(benchmark) or {}
        suite, _, name = benchmark.rpartition(".")
        kind, unit = _KINDS.get(name.partition("_")[0], (None, None))
        try:
            row = dict(zip(names, values, strict=False))  # asv leaves off what is null at the end
            what = {
                **about,
                "benchmark": benchmark,
                "suite": suite,
                "name": name,
                "type": entry.get("type", kind),
                "unit": entry.get("unit", unit),
                "version": row.get("version"),
                "started": row.get("started_at"),
            }
            for place, parameters in enumerate(_combinations(row, entry)):
                yield {**what, **_outcome(row, place), "parameters": parameters}
        except (TypeError, IndexError, AttributeError) as error:
            raise ValueError(f"{path}: cannot read the row of {benchmark}: {error}") from error


def _combinations(row: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parameters of each value, in asv's order."""
    lists = row.get("params") or []
    names = [str(name) for name in entry.get("param_names") or []]
    if len(names) != len(lists):  # the benchmark has changed since, or is gone
        names = [f"param{place + 1}" for place in range(len(lists))]
    for chosen in product(*lists):
        yield {name: _parsed(text) for name, text in zip(names, chosen, strict=True)}


def _parsed(text: str) -> Any:
    """The value whose ``repr`` this is, or the text itself if it is no literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _outcome(row: Mapping[str, Any], place: int) -> dict[str, Any]:
    def at(column: str) -> Any:
        values = row.get(column)  # None if there is nothing for any combination
        return values[place] if isinstance(values, list) else values

    value = at("result")
    if value is None:
        status = "failed"
    elif math.isnan(value):
        status = "skipped"
    else:
        status = "ok"
    numbers = {ours: at(theirs) for ours, theirs in _STATISTICS.items()}
    return {"status": status, "value": value, **numbers}


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=list(COLUMNS))
    for column in _TIMES:
        made[column] = pd.to_datetime(made[column].astype("Int64"), unit="ms", utc=True)
    numbers = ["value", *_STATISTICS]
    made[numbers] = made[numbers].astype(np.float64)
    for name in dict.fromkeys(name for row in rows for name in row["parameters"]):
        column = f"param_{name}" if name in COLUMNS else name
        made[column] = _parameter([row["parameters"].get(name) for row in rows])
    return made


def _parameter(values: list[Any]) -> pd.Series[Any]:
    """One parameter over all benchmarks, missing where a benchmark does not have it."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int}:
        return pd.Series(values, dtype="Int64")
    if kinds and kinds <= {int, float}:
        return pd.Series(values, dtype=np.float64)
    return pd.Series(values, dtype=None if kinds == {str} else object)
