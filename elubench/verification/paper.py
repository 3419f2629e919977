"""What a paper is: its authors, its claims, and the studies, probes and figures they rest on.

A paper is a Python file or a package with a ``PAPER``:

    chapter = Chapter()

    RADIUS = near("exponent of n", -1 / 4, 0.01, {"n^(-1/3)": -1 / 3, "n^(-1/5)": -1 / 5})

    @chapter.claim("radius", "EM reaches n^(-1/4)", "Theorem 2", "theorem", "...", "...", [RADIUS])
    def _(evidence):
        rows = evidence.rows(algorithm="EM")
        return Measured((exponent_of(RADIUS, rows, "location_error"),), settings_of(rows))

    PAPER = Paper(name="mine", title="...", authors="...", place="...", chapters=(chapter,),
                  levels={"quick": Level(studies=("grid",))})

Here ``grid.toml``, beside the file, is a study. Larger papers keep their levels and the verdicts that
they expect in TOML files: see :func:`levels_in` and :func:`expected_in`. Claims of the common kinds need
no Python: see :func:`elubench.verification.claims_in`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from elubench import checks
from elubench.studies.presets import preset
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation
from elubench.verification.measuring import Measured
from elubench.verification.verdicts import VERDICTS, Basis, Claim

Measure = Callable[[Evidence], Measured]


class Chapter:
    """Claims with the functions that measure them, in the order in which they are written."""

    def __init__(self) -> None:
        self._entries: list[tuple[Claim, Measure]] = []

    def claim(
        self,
        key: str,
        title: str,
        place: str,
        basis: Basis,
        statement: str,
        how: str,
        expects: Sequence[Expectation] = (),
    ) -> Callable[[Measure], Measure]:
        """Add a claim; the decorated function measures what it expects."""

        def add(measure: Measure) -> Measure:
            claim = Claim(key, title, statement, place, basis, how, tuple(expects))
            self._entries.append((claim, measure))
            return measure

        return add

    def __iter__(self) -> Iterator[tuple[Claim, Measure]]:
        return iter(self._entries)


class Probe(NamedTuple):
    """A measurement that is not a grid of runs: from a seed and a level's options to a tidy table.

    ``title`` announces it. ``seeded`` is False where the table is the same for every seed.
    """

    title: str
    measure: Callable[..., pd.DataFrame]
    seeded: bool = True


class Level(NamedTuple):
    """What a verification runs: studies by name, and options of each probe by the probe's name.

    Where several studies have rows on a question, the first one answers. ``shown`` names blocks of the
    studies that are only shown: no verdict rests on them.
    """

    studies: tuple[str, ...]
    probes: Mapping[str, Mapping[str, Any]] = {}
    shown: tuple[str, ...] = ()


def _no_tables(_: Evidence) -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class Paper:
    """A paper whose claims can be verified.

    Parameters
    ----------
    name : its name on the command line.
    title, authors, place : what a reference says; ``place`` is where it appeared.
    chapters : its claims, in the order of the report.
    levels : by name; the first one is the quickest.
    short, about : a short title, and sentences on what is claimed, for the report.
    glossary : words of this paper with their meanings, for the report.
    probes : by name; a level says which of them run.
    figures : :class:`elubench.report.figures.FigureMaker` by key, in the order of the report.
    tables : from evidence to :class:`elubench.report.html.PageTable`, which compare the algorithms.
    expected : the verdict that each claim is expected to get, by its key.
    source : the file or folder that it was loaded from; set by :func:`load`.
    """

    name: str
    title: str
    authors: str
    place: str
    chapters: tuple[Chapter, ...]
    levels: Mapping[str, Level]
    short: str = ""
    about: str = ""
    glossary: Mapping[str, str] = field(default_factory=dict)
    probes: Mapping[str, Probe] = field(default_factory=dict)
    figures: Mapping[str, Any] = field(default_factory=dict)
    tables: Callable[[Evidence], Sequence[Any]] = _no_tables
    expected: Mapping[str, str] = field(default_factory=dict)
    source: Path | None = None

    def __post_init__(self) -> None:
        keys = [claim.key for claim in self.claims]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise ValueError(f"paper {self.name}: two claims have the key {twice[0]!r}")
        for claim, measure in self.entries:
            for figure in getattr(measure, "figures", ()):  # one in TOML names them beforehand
                checks.choice(figure, f"figures of the claim {claim.key!r}", tuple(self.figures))
        for name, level in self.levels.items():
            for probe in level.probes:
                checks.choice(probe, f"probe of the level {name}", tuple(self.probes))

    @property
    def entries(self) -> list[tuple[Claim, Measure]]:
        """Every claim with the function that measures it, in the order of the report."""
        return [entry for chapter in self.chapters for entry in chapter]

    @property
    def claims(self) -> list[Claim]:
        """Every claim, in the order of the report."""
        return [claim for claim, _ in self.entries]

    def level(self, name: str) -> Level:
        """The level with this name; raise ValueError for an unknown one."""
        return self.levels[checks.choice(name, "level", tuple(self.levels))]

    def study(self, name: str) -> str | Path:
        """Where a study is: a TOML file in the paper's folder, or a preset, its own before others."""
        if self.source is not None:
            folder = self.source if self.source.is_dir() else self.source.parent
            for path in (folder / f"{name}.toml", folder / "studies" / f"{name}.toml"):
                if path.is_file():
                    return path
        own = f"{self.name}/{name}"
        return name if preset(own) is None else own


def load(path: Path) -> Paper:
    """The ``PAPER`` of a Python file, or of a folder that is a package."""
    path = path.resolve()
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"paper must be a folder with an __init__.py or a Python file, got {path}")
    name = path.name.removesuffix(".py")
    if not name.isidentifier():
        raise ValueError(f"paper must have a name that Python can import, got {path.name}")
    module = checks.module(name, "paper", path.parent)
    if module.__file__ is None or Path(module.__file__).resolve() != file:
        raise ValueError(
            f"paper must not have the name of another module, {module.__file__}, got {path}"
        )
    found = getattr(module, "PAPER", None)
    if not isinstance(found, Paper):
        raise ValueError(f"PAPER in {file} must be a Paper, got {found!r}")
    return replace(found, source=path)


def levels_in(path: Path) -> dict[str, Level]:
    """Levels from a TOML file with a table for each: ``studies``, and options by probe."""
    found = _toml(path)
    return {
        name: Level(tuple(level["studies"]), level.get("probes", {}), tuple(level.get("shown", ())))
        for name, level in found.items()
    }


def expected_in(path: Path) -> dict[str, str]:
    """Expected verdicts from a TOML file, by the claims' keys."""
    found = _toml(path)
    return {key: checks.choice(value, key, VERDICTS) for key, value in found.items()}


def _toml(path: Path) -> dict[str, Any]:
    try:
        return checks.toml(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
