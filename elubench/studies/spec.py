"""What a study is: a seed and blocks, each a grid with one kind of sample and one rule for stopping.

A block is every combination of

    models x sizes (n, or n_per_d times d) x d x replicates x starts x algorithms

The canonical form has every option spelled out; two files that mean the same have the same hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from elubench.algorithms.base import Algorithm
from elubench.algorithms.known import options_of

#: Standard normal rows drawn one by one, or counts on a lattice, whose cost does not grow with n.
SAMPLES = ("direct", "lattice")
#: Equal coordinates, or a random direction; both of norm ``start_norm`` in units of the spread.
STARTS = ("equal", "generic")
#: A run stops at the radius, or continues until it has converged, diverged or used max_iter.
STOPS = ("radius", "end")


@dataclass(frozen=True)
class Contestant:
    """An algorithm in a block, with its own budget of iterations."""

    algorithm: Algorithm
    max_iter: int

    @property
    def options(self) -> dict[str, Any]:
        """The algorithm's name and every option, defaults included."""
        return {"name": self.algorithm.name, **options_of(self.algorithm)}


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

    @property
    def runs(self) -> int:
        """Number of runs on one sample."""
        return len(self.starts) * len(self.contestants)

    def canonical(self) -> dict[str, Any]:
        """The block as plain values."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["contestants"] = [
            {"max_iter": one.max_iter, "algorithm": one.options} for one in self.contestants
        ]
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
