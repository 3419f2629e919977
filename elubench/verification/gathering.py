"""A verification's folder: one paper, one level, one seed.

    evidence = gather(paper, "quick", "verification")     runs what is missing
    evidence = load(paper, "verification")                reads what it has
    evidence = at_hand(paper, "verification")             reads a complete folder, else gathers

Studies resume; tables are written whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from elubench import checks, studies
from elubench.studies import reading
from elubench.studies.store import StoreError, write_whole
from elubench.studies.whole import TEMPORARY
from elubench.verification.evidence import Evidence
from elubench.verification.paper import Paper

_ABOUT = "verification.json"
_SEEDS_APART = 1_000  # presets' own seeds differ by less

#: Called with a line that announces the next step.
Say = Callable[[str], None]


def gather(
    paper: Paper,
    level: str,
    out: str | Path,
    *,
    seed: int = 0,
    say: Say | None = None,
    shared: Path | None = None,
    **how: Any,
) -> Evidence:
    """Run the studies and probes of a level, or what is left of them, and load everything.

    ``seed`` 0 takes the studies as they are; every other seed draws samples of its own. With
    ``shared``, a folder for tables that are the same for every seed, only what verdicts rest on is run.
    ``how`` has the engine, its options and ``progress``, as :func:`elubench.run_study` takes them.
    """
    wanted = paper.level(level)
    seed = checks.integer(seed, "seed", 0)
    folder = Path(out)
    tell = say or (lambda _: None)
    _claim_folder(folder, paper, level, seed)
    for number, name in enumerate(wanted.studies, 1):
        study = reading.load(paper.study(name))
        blocks = study.blocks
        if shared is not None:
            blocks = tuple(one for one in blocks if one.name not in wanted.shown)
        study = replace(study, seed=study.seed + _SEEDS_APART * seed, blocks=blocks)
        tell(f"study {name} ({number} of {len(wanted.studies)})")
        studies.run_study(study, folder / name, **how)
    for name, options in wanted.probes.items():
        path = folder / f"{name}.parquet"
        if not _readable(path):
            title, measure, seeded = paper.probes[name]
            made = path if shared is None or seeded else shared / path.name
            if not _readable(made):
                tell(title)
                write_whole(made, measure(seed, **options).to_parquet(index=False))
            if made != path:
                write_whole(path, made.read_bytes())
    return load(paper, folder)


def load(paper: Paper, out: str | Path) -> Evidence:
    """The evidence in a folder, complete or not; nothing is run."""
    folder = Path(out)
    about = _own(folder, paper)
    if about is None:
        raise StoreError(f"{folder} is not a verification folder: it has no {_ABOUT}")
    level = paper.level(about["level"])
    results, traces = [], []
    for name in level.studies:
        if (folder / name).is_dir():
            results.append(studies.load_results(folder / name).assign(study=name))
            traces.append(studies.load_traces(folder / name).assign(study=name))
    if not results or not sum(map(len, results)):
        raise StoreError(f"{folder} has no results yet: run 'elubench verify --out {folder}'")
    return Evidence(
        level=about["level"],
        seed=about["seed"],
        studies=level.studies,
        results=pd.concat(results, ignore_index=True),
        traces=pd.concat(traces, ignore_index=True),
        tables={
            name: pd.read_parquet(folder / f"{name}.parquet")
            for name in level.probes
            if _readable(folder / f"{name}.parquet")
        },
    )


def at_hand(paper: Paper, out: str | Path, say: Say | None = None) -> Evidence:
    """The evidence in a complete folder of any level; else that of the paper's first level, gathered.

    Raise StoreError for an incomplete folder of a larger level: what is left may take hours.
    """
    folder = Path(out)
    about = _own(folder, paper)
    first = next(iter(paper.levels))
    if about is None:
        return gather(paper, first, folder, say=say)
    left = _left(folder, paper, about["level"])
    if not left:
        return load(paper, folder)
    if about["level"] != first:
        raise StoreError(
            f"{folder} is incomplete: {', '.join(left)} not finished. Finish it with 'elubench verify "
            f"--level {about['level']} --out {folder}', or choose another folder"
        )
    return gather(paper, first, folder, seed=about["seed"], say=say)


def recorded(out: str | Path) -> dict[str, Any] | None:
    """What a folder says about itself: paper, source, level and seed; None without such a record.

    ``source`` is "" for a paper that ships.
    """
    path = Path(out) / _ABOUT
    if not path.exists():
        return None
    try:
        about = json.loads(path.read_text("utf-8"))
        return {
            "paper": str(about["paper"]),
            "source": str(about.get("source", "")),
            "level": str(about["level"]),
            "seed": int(about["seed"]),
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"{path} is damaged: {error}. Choose another folder") from error


def _own(folder: Path, paper: Paper) -> dict[str, Any] | None:
    """What a folder says about itself, if it is a folder of this paper."""
    about = recorded(folder)
    if about is None:
        return None
    if about["paper"] != paper.name:
        raise StoreError(
            f"{folder} holds another verification: paper {about['paper']!r} there, {paper.name!r} "
            "here. Choose another folder"
        )
    if about["level"] not in paper.levels:
        raise StoreError(
            f"{folder / _ABOUT} is damaged: {paper.name} has no level {about['level']!r}. "
            "Choose another folder"
        )
    return about


def _claim_folder(folder: Path, paper: Paper, level: str, seed: int) -> None:
    found = _own(folder, paper)
    wanted: dict[str, Any] = {"paper": paper.name, "level": level, "seed": seed}
    if found is None:
        if folder.exists() and (
            not folder.is_dir()
            or not all(one.name.startswith(TEMPORARY) for one in folder.iterdir())
        ):
            raise StoreError(
                f"{folder} exists but is not a verification folder. Choose another one"
            )
        folder.mkdir(parents=True, exist_ok=True)
        if paper.source is not None:
            wanted["source"] = str(paper.source)
        write_whole(folder / _ABOUT, (json.dumps(wanted, indent=2) + "\n").encode())
        return
    differs = [
        f"{key} {found[key]!r} there, {wanted[key]!r} here"
        for key in ("level", "seed")
        if found[key] != wanted[key]
    ]
    if differs:
        raise StoreError(
            f"{folder} holds another verification: {', '.join(differs)}. Choose another folder"
        )


def _left(folder: Path, paper: Paper, name: str) -> list[str]:
    """The studies and tables of a level that a folder does not have, or not completely."""
    level = paper.level(name)
    unfinished = [
        study
        for study in level.studies
        if not (folder / study).is_dir() or not studies.study_progress(folder / study).finished
    ]
    return unfinished + [
        probe for probe in level.probes if not _readable(folder / f"{probe}.parquet")
    ]


def _readable(path: Path) -> bool:
    """Whether a table exists and is complete; any other is made again."""
    if not path.exists():
        return False
    try:
        pd.read_parquet(path)
    except (OSError, ValueError):
        return False
    return True
