"""What a study is: a seed and blocks, each a grid with one kind of sample and one rule for stopping.

A block is every combination of

    models x sizes (n, or n_per_d times d) x d x replicates x starts x algorithms

for one truth; a block whose ``truth`` has lists stands for several blocks. ``like = "NAME"`` takes over
what an earlier block has and this one does not state.

The canonical form has every option spelled out; two files that mean the same have the same hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from elubench.algorithms.base import Algorithm
from elubench.models.base import Model
from elubench.studies.outside import Outside
from elubench.studies.truths import Truth

#: Standard normal rows drawn one by one, or counts on a lattice, whose cost does not grow with n.
SAMPLES = ("direct", "lattice")
#: Equal coordinates, or a random direction; both of norm ``start_norm`` in units of the spread.
STARTS = ("equal", "generic")
#: A run stops at the radius, or continues until it has converged, diverged or used max_iter.
STOPS = ("radius", "end")


@dataclass(frozen=True)
class Contestant:
    """An algorithm in a block, with its own budget of iterations.

    ``options`` has the algorithm's name and every option, defaults included, as JSON can hold them.
    """

    options: dict[str, Any]
    max_iter: int
    outside: Outside = field(default_factory=Outside, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The name of a class of the package, or "module:Class"."""
        return str(self.options["name"])

    @cached_property
    def algorithm(self) -> Algorithm:
        """The algorithm itself, made when it is first needed: results load without its module."""
        return self.outside.algorithm(self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        return Contestant, (self.options, self.max_iter, self.outside)


@dataclass(frozen=True)
class Cell:
    """One point of a block's grid of models and sizes."""

    block: int
    model: str
    n: int
    d: int


@dataclass(frozen=True)
class Block:
    """A grid of runs."""

    name: str
    models: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    samples: str
    replicates: int
    starts: tuple[str, ...]
    start_norm: float
    contestants: tuple[Contestant, ...]
    radius_constant: float
    stop: str
    validation: float | None
    traces: int
    mle: bool
    truth: Truth | None = None
    outside: Outside = field(default_factory=Outside, compare=False, repr=False)

    def model(self, name: str) -> Model:
        """One of the block's models."""
        return self.outside.model(name)

    @property
    def runs(self) -> int:
        """Number of runs on one sample."""
        return len(self.starts) * len(self.contestants)

    def canonical(self) -> dict[str, Any]:
        """The block as plain values."""
        plain = {one.name: getattr(self, one.name) for one in fields(self) if one.compare}
        plain["contestants"] = [
            {"max_iter": one.max_iter, "algorithm": one.options} for one in self.contestants
        ]
        if self.truth is None:  # as it was before a block could have a truth
            del plain["truth"]
        else:
            plain["truth"] = self.truth.canonical()
        return {
            key: [list(item) if isinstance(item, tuple) else item for item in value]
            if isinstance(value, tuple)
            else value
            for key, value in plain.items()
        }


@dataclass(frozen=True)
class Spec:
    """A study that was read and checked."""

    name: str
    description: str
    seed: int
    blocks: tuple[Block, ...]

    def cells(self) -> Iterator[Cell]:
        """Every (block, model, n, d), in the order in which the study is planned."""
        for number, block in enumerate(self.blocks):
            for model in block.models:
                for n, d in block.sizes:
                    yield Cell(number, model, n, d)

    def canonical(self) -> dict[str, Any]:
        """The meaning of the study as plain values: name and description left out."""
        return {"seed": self.seed, "block": [block.canonical() for block in self.blocks]}

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that stand for the canonical form."""
        return hashlib.sha256(as_json(self.canonical()).encode()).hexdigest()[:16]

    def modules(self) -> dict[str, dict[str, str]]:
        """Files and hashes of the modules outside the package that the study takes classes from."""
        return self.blocks[0].outside.recorded()

    def import_outside(self) -> None:
        """Import every class outside the package; raise ValueError where that fails."""
        for block in self.blocks:
            for name in block.models:
                block.model(name)
            for contestant in block.contestants:
                contestant.outside.kind(contestant.name)

    @property
    def runs(self) -> int:
        """Number of rows of the finished study."""
        return sum(len(b.models) * len(b.sizes) * b.replicates * b.runs for b in self.blocks)


def as_json(value: Any) -> str:
    """JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def difference(old: Any, new: Any, place: str = "") -> str:
    """The first difference between two canonical forms, in words; lists are counted from 1."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                return difference(old.get(key), new.get(key), f"{place}.{key}".lstrip("."))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, two) in enumerate(zip(old, new, strict=True), 1):
            if one != two:
                return difference(one, two, f"{place}[{number}]")
    return f"{place} {_short(old)} there, {_short(new)} here".lstrip()


def _short(value: Any) -> str:
    text = "absent" if value is None else as_json(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
