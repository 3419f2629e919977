"""What a study is: a TOML file, read and checked as a whole before any work starts.

A study has a seed and blocks. A block is a grid, every combination of

    models x sizes (n, or n_per_d times d) x d x replicates x starts x algorithms

with one kind of sample and one rule for when a run ends. An error names the key and its line. The
canonical form has every option spelled out; two files that mean the same have the same hash.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import Any, NoReturn

from elubench import checks
from elubench.algorithms.base import Algorithm
from elubench.algorithms.known import known, options_of
from elubench.models.known import named

#: Standard normal rows drawn one by one, or counts on a lattice, whose cost does not grow with n.
SAMPLES = ("direct", "lattice")
#: Equal coordinates, or a random direction; both of norm ``start_norm`` in units of the spread.
STARTS = ("equal", "generic")
#: A run ends at the radius, or goes on to its own end: converged, diverged, or max_iter.
STOPS = ("radius", "end")

_LATTICE_D, _LATTICE_N = 4, 2**53
_MOST = 10**15

Place = tuple[str | int, ...]


class SpecError(ValueError):
    """A study that cannot be run as it is written."""


@dataclass(frozen=True)
class Contestant:
    """An algorithm in a block, with its own budget of iterations."""

    algorithm: Algorithm
    max_iter: int

    @property
    def options(self) -> dict[str, Any]:
        """What was written in the study, defaults included."""
        return _options(self.algorithm)


@dataclass(frozen=True)
class Cell:
    """One point of a block's grid of models and sizes."""

    block: int
    model: str
    n: int
    d: int


@dataclass(frozen=True)
class Block:
    """A grid of runs; see the module's first lines and :data:`_DEFAULTS`."""

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
        return {"seed": self.seed, "block": [_canonical(block) for block in self.blocks]}

    @property
    def hash(self) -> str:
        """Sixteen hexadecimal digits that stand for the canonical form."""
        return hashlib.sha256(as_json(self.canonical()).encode()).hexdigest()[:16]

    @property
    def runs(self) -> int:
        """Number of rows that the finished study has."""
        return sum(
            len(b.models) * len(b.sizes) * b.replicates * len(b.starts) * len(b.contestants)
            for b in self.blocks
        )


def as_json(value: Any) -> str:
    """JSON with one spelling for one value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def presets() -> list[str]:
    """Names of the studies that come with elubench."""
    return sorted(_presets())


def _presets() -> dict[str, Any]:
    """Where each preset is: beside this room, or with the paper that it is for."""
    package = resources.files("elubench")
    folders = [package / "studies" / "presets"]
    folders += [paper / "studies" for paper in (package / "papers").iterdir() if paper.is_dir()]
    return {
        item.name.removesuffix(".toml"): item
        for folder in folders
        if folder.is_dir()
        for item in folder.iterdir()
        if item.name.endswith(".toml")
    }


def source(spec: str | Path) -> tuple[str, str]:
    """The text of a study and what to call it in messages, given a preset's name or a path."""
    if isinstance(spec, str) and spec in presets():
        text = _presets()[spec].read_text("utf-8")
        return text, f"preset {spec}"
    path = Path(spec)
    try:
        return path.read_bytes().decode("utf-8"), str(path)
    except FileNotFoundError:
        raise SpecError(
            f"{spec}: no such file, and no such preset; presets are {', '.join(presets())}"
        ) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def load(spec: Spec | Mapping[str, Any] | str | Path) -> Spec:
    """A study from a preset's name, a path, a mapping like that of a TOML file, or itself."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return _Reader("study", {}).study(dict(spec))
    if not isinstance(spec, str | Path):
        raise TypeError(f"spec must be a preset's name, a path or a mapping, got {spec!r}")
    text, title = source(spec)
    return parse(text, title)


def parse(text: str, title: str = "study") -> Spec:
    """A study from the text of a TOML file; ``title`` stands for the file in messages."""
    try:
        values = tomllib.loads(text + "\n")  # an error in the last line has a line number, too
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{title}: {error}") from None
    return _Reader(title, key_lines(text)).study(values)


def from_canonical(plain: dict[str, Any], name: str) -> Spec:
    """The study whose canonical form this is."""
    reader = _Reader(name, {})
    blocks = []
    for number, values in enumerate(plain["block"]):
        made: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        made["sizes"] = tuple((n, d) for n, d in values["sizes"])
        made["contestants"] = tuple(
            Contestant(
                reader._algorithm(("block", number), _given(one["algorithm"])), one["max_iter"]
            )
            for one in values["contestants"]
        )
        blocks.append(Block(**made))
    return Spec(name, "", plain["seed"], tuple(blocks))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """Options as a study would have them: TOML has no null."""
    return {
        key: _given(value) if isinstance(value, dict) else value
        for key, value in options.items()
        if value is not None
    }


# Defaults of a block. None: must be given.
_DEFAULTS: dict[str, Any] = {
    "name": None,
    "models": None,
    "n": (),
    "n_per_d": (),
    "d": None,
    "samples": "direct",
    "replicates": 1,
    "starts": "equal",
    "start_norm": 0.9,
    "algorithms": None,
    "radius_constant": 1.0,
    "stop": "radius",
    "validation": 0.0,
    "max_iter": 10_000,
    "traces": 0,
    "mle": True,
}


class _Reader:
    """Turns plain values into a study, or says which key is wrong, and where."""

    def __init__(self, title: str, lines: Mapping[Place, int]):
        self._title = title
        self._lines = lines

    def refuse(self, place: Place, message: str) -> NoReturn:
        line = next(
            (
                self._lines[place[:end]]
                for end in range(len(place), 0, -1)
                if place[:end] in self._lines
            ),
            None,
        )
        where = self._title if line is None else f"{self._title}, line {line}"
        raise SpecError(f"{where}: {_spelled(place)}{message}")

    def study(self, values: dict[str, Any]) -> Spec:
        self._known((), values, ("name", "description", "seed", "block"))
        blocks = values.get("block")
        if not isinstance(blocks, list) or not blocks:
            self.refuse(("block",), "must be a list of at least one [[block]]")
        made = tuple(self._block(number, block) for number, block in enumerate(blocks))
        names = [block.name for block in made]
        for number, name in enumerate(names):
            if name in names[:number]:
                self.refuse(("block", number, "name"), f"{name!r} is the name of another block")
        return Spec(
            name=self._text(("name",), values.get("name", self._title)),
            description=self._text(("description",), values.get("description", "")),
            seed=self._integer(("seed",), values.get("seed", 0), 0, 2**63 - 1),
            blocks=made,
        )

    def _block(self, number: int, given: Any) -> Block:
        at: Place = ("block", number)
        if not isinstance(given, dict):
            self.refuse(at, "must be a table")
        self._known(at, given, _DEFAULTS)
        values = {**_DEFAULTS, "name": f"block{number + 1}", **given}
        for key, value in values.items():
            if value is None:
                self.refuse(at, f"lacks the key {key!r}")
        names = self._choices(
            (*at, "models"), values["models"], ("isotropic", "diagonal", "general")
        )
        samples = self._choice((*at, "samples"), values["samples"], SAMPLES)
        share = self._real((*at, "validation"), values["validation"], 0.0, 1.0, "above")
        block = Block(
            name=self._text((*at, "name"), values["name"]),
            models=names,
            sizes=self._sizes(at, values, samples),
            samples=samples,
            replicates=self._integer((*at, "replicates"), values["replicates"], 1, 10**9),
            starts=self._choices((*at, "starts"), values["starts"], STARTS),
            start_norm=self._real((*at, "start_norm"), values["start_norm"], 0.0, 1.0),
            contestants=self._contestants(at, values, names),
            radius_constant=self._real(
                (*at, "radius_constant"), values["radius_constant"], 0.0, math.inf
            ),
            stop=self._choice((*at, "stop"), values["stop"], STOPS),
            validation=share or None,
            traces=self._integer((*at, "traces"), values["traces"], 0, 10**6),
            mle=self._truth((*at, "mle"), values["mle"]),
        )
        if not block.name:
            self.refuse((*at, "name"), "must not be empty")
        return block

    def _sizes(
        self, at: Place, values: dict[str, Any], samples: str
    ) -> tuple[tuple[int, int], ...]:
        given = [key for key in ("n", "n_per_d") if values[key] not in ((), [])]
        if len(given) != 1:
            self.refuse(at, "must have either the key 'n' or the key 'n_per_d'")
        key = given[0]
        most_d, most_n = (_LATTICE_D, _LATTICE_N) if samples == "lattice" else (10**6, _MOST)
        ds = self._integers((*at, "d"), values["d"], 1, 10**6)
        ns = self._integers((*at, key), values[key], 4 if key == "n" else 1, _MOST)
        for place, d in self._each((*at, "d"), values["d"], ds):
            if d > most_d:
                self.refuse(place, f"must be at most {most_d} for samples = 'lattice', got {d}")
        sizes = [(n if key == "n" else n * d, d) for d in ds for n in ns]
        for n, d in sizes:
            if not 4 <= n <= most_n:
                self.refuse(
                    (*at, key), f"gives n = {n} at d = {d}; n must be between 4 and {most_n}"
                )
        return tuple(sizes)

    def _contestants(
        self, at: Place, values: dict[str, Any], names: tuple[str, ...]
    ) -> tuple[Contestant, ...]:
        place: Place = (*at, "algorithms")
        budget = self._integer((*at, "max_iter"), values["max_iter"], 0, _MOST)
        given = values["algorithms"]
        if not isinstance(given, list) or not given:
            self.refuse(place, "must be a list of at least one algorithm, such as {name = 'EM'}")
        made: list[Contestant] = []
        for number, one in enumerate(given):
            here = (*place, number)
            if isinstance(one, str):
                one = {"name": one}
            own = budget
            if isinstance(one, dict) and "max_iter" in one:
                own = self._integer((*here, "max_iter"), one["max_iter"], 0, _MOST)
                one = {key: value for key, value in one.items() if key != "max_iter"}
            algorithm = self._algorithm(here, one)
            for name in names:
                try:
                    algorithm.resolve(named(name))
                except ValueError as error:
                    self.refuse(here, str(error))
            if algorithm in [other.algorithm for other in made]:
                self.refuse(here, f"{_options(algorithm)} is in this list already")
            made.append(Contestant(algorithm, own))
        return tuple(made)

    def _algorithm(self, at: Place, given: Any) -> Algorithm:
        if not isinstance(given, dict) or not isinstance(given.get("name"), str):
            self.refuse(at, "must be a table with a name, such as {name = 'ELU', beta = 0.8}")
        kinds = known()
        name = given["name"]
        if name not in kinds:
            self.refuse((*at, "name"), f"must be one of {', '.join(kinds)}, got {name!r}")
        kind = kinds[name]
        options = {field.name: field for field in fields(kind)}
        self._known(at, given, ("name", *options), f"; {name} has ")
        arguments = {}
        for key, value in given.items():
            if key == "name":
                continue
            arguments[key] = (
                self._algorithm((*at, key), value) if isinstance(value, dict) else value
            )
            if "int" in str(options[key].type) and isinstance(value, float) and value.is_integer():
                arguments[key] = int(value)
        try:
            return kind(**arguments)
        except (TypeError, ValueError) as error:
            first = str(error).split(" ", 1)[0]
            self.refuse((*at, first) if first in arguments else at, _without(str(error), first, at))

    # Plain values.

    def _known(self, at: Place, given: Any, known: Any, which: str = "; known are ") -> None:
        for key in given:
            if key not in known:
                self.refuse((*at, key), f"is not a key{which}{', '.join(known)}")

    def _text(self, place: Place, value: Any) -> str:
        if not isinstance(value, str):
            self.refuse(place, f"must be text, got {value!r}")
        return value

    def _truth(self, place: Place, value: Any) -> bool:
        if not isinstance(value, bool):
            self.refuse(place, f"must be true or false, got {value!r}")
        return value

    def _choice(self, place: Place, value: Any, known: tuple[str, ...]) -> str:
        if not isinstance(value, str) or value not in known:
            self.refuse(place, f"must be one of {', '.join(known)}, got {value!r}")
        return value

    def _choices(self, place: Place, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else value
        return self._list(place, listed, value, lambda where, one: self._choice(where, one, known))

    def _integer(self, place: Place, value: Any, least: int, most: int) -> int:
        try:
            return checks.integer(value, "", least, most)
        except (TypeError, ValueError) as error:
            self.refuse(place, str(error).strip())

    def _integers(self, place: Place, value: Any, least: int, most: int) -> tuple[int, ...]:
        listed = value if isinstance(value, list | tuple) else [value]
        return self._list(
            place, listed, value, lambda where, one: self._integer(where, one, least, most)
        )

    def _real(
        self, place: Place, value: Any, above: float, below: float, closed: str = ""
    ) -> float:
        try:
            return checks.real(value, "", above, below, closed)
        except (TypeError, ValueError) as error:
            self.refuse(place, str(error).strip())

    def _list(self, place: Place, listed: Any, value: Any, read: Any) -> tuple[Any, ...]:
        if not isinstance(listed, list | tuple) or not listed:
            self.refuse(place, f"must be a list of at least one value, got {value!r}")
        single = not isinstance(value, list | tuple)
        made: list[Any] = []
        for number, one in enumerate(listed):
            where = place if single else (*place, number)
            item = read(where, one)
            if item in made:
                self.refuse(where, f"has {item!r} twice")
            made.append(item)
        return tuple(made)

    def _each(self, place: Place, value: Any, items: Any) -> Iterator[tuple[Place, Any]]:
        for number, item in enumerate(items):
            yield ((*place, number) if isinstance(value, list) else place), item


def difference(old: Any, new: Any, place: Place = ()) -> str:
    """The first thing in which two canonical forms differ, in words."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                return difference(old.get(key), new.get(key), (*place, key))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for number, (one, two) in enumerate(zip(old, new, strict=True)):
            if one != two:
                return difference(one, two, (*place, number))
    return f"{_spelled(place)}{_short(old)} there, {_short(new)} here"


def _short(value: Any) -> str:
    text = "absent" if value is None else as_json(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _options(algorithm: Algorithm) -> dict[str, Any]:
    return {"name": algorithm.name, **options_of(algorithm)}


def _canonical(block: Block) -> dict[str, Any]:
    plain = {field.name: getattr(block, field.name) for field in fields(block)}
    plain["contestants"] = [
        {"max_iter": one.max_iter, "algorithm": one.options} for one in block.contestants
    ]
    return {
        key: [list(item) if isinstance(item, tuple) else item for item in value]
        if isinstance(value, tuple)
        else value
        for key, value in plain.items()
    }


def _spelled(place: Place) -> str:
    """block[1].algorithms[2].eta, followed by a space; lists are counted from 1."""
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return f"{text} " if text else ""


def _without(message: str, first: str, at: Place) -> str:
    """The message of an option's check without the option's name, which the place already has."""
    return message.removeprefix(f"{first} ") if first.isidentifier() else message


# Where keys are. tomllib gives values without positions, so the text is read once more. It has been
# accepted by then, so the reading can be simple: strings, comments and brackets are all that matters.


def key_lines(text: str) -> dict[Place, int]:
    """Line (from 1) of every key and list item in a valid TOML text, by its place in the values."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str):
        self._text = text
        self._at = 0
        self._lines: dict[Place, int] = {}
        self._items: dict[Place, int] = {}  # number of tables so far in an array of tables

    def scan(self) -> dict[Place, int]:
        table: Place = ()
        while self._skip(newlines=True):
            if self._text.startswith("[[", self._at):
                self._at += 2
                *parents, last = self._key()
                array = (*self._resolved(tuple(parents)), last)
                self._items[array] = self._items.get(array, 0) + 1
                table = (*array, self._items[array] - 1)
                self._note(array)
                self._note(table)
                self._skip()
                self._at += 2
            elif self._text[self._at] == "[":
                self._at += 1
                table = self._resolved(tuple(self._key()))
                self._note(table)
                self._skip()
                self._at += 1
            else:
                self._pair(table)
        return self._lines

    def _resolved(self, path: Place) -> Place:
        """A header's path with the number of the last table wherever it enters an array of tables."""
        made: Place = ()
        for part in path:
            made = (*made, part)
            if made in self._items:
                made = (*made, self._items[made] - 1)
        return made

    def _note(self, place: Place) -> None:
        self._lines.setdefault(place, self._text.count("\n", 0, self._at) + 1)

    def _skip(self, newlines: bool = False) -> bool:
        """Pass blanks and comments; whether anything is left."""
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif char in " \t" or (newlines and char in "\r\n"):
                self._at += 1
            else:
                return True
        return False

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip()
            if self._text[self._at] in "\"'":
                parts.append(self._string())
            else:
                end = self._at
                while self._text[end].isalnum() or self._text[end] in "_-":
                    end += 1
                parts.append(self._text[self._at : end])
                self._at = end
            self._skip()
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _pair(self, table: Place) -> None:
        begun = self._at
        place = (*table, *self._key())
        after, self._at = self._at, begun
        for end in range(len(table) + 1, len(place) + 1):
            self._note(place[:end])
        self._at = after + 1  # the equals sign
        self._value(place)

    def _value(self, place: Place) -> None:
        self._skip()
        char = self._text[self._at]
        if char in "\"'":
            self._string()
        elif char == "[":
            self._at += 1
            number = 0
            while self._skip(newlines=True) and self._text[self._at] != "]":
                if self._text[self._at] == ",":
                    self._at += 1
                    continue
                self._note((*place, number))
                self._value((*place, number))
                number += 1
            self._at += 1
        elif char == "{":
            self._at += 1
            while self._skip(newlines=True) and self._text[self._at] != "}":
                if self._text[self._at] == ",":
                    self._at += 1
                else:
                    self._pair(place)
            self._at += 1
        else:
            while self._at < len(self._text) and self._text[self._at] not in ",]}#\r\n":
                self._at += 1

    def _string(self) -> str:
        quote = self._text[self._at]
        fence = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        begun = self._at + len(fence)
        end = begun
        while not self._text.startswith(fence, end):
            end += 2 if quote == '"' and self._text[end] == "\\" else 1
        if len(fence) == 3:  # up to two quotes may stand before the closing three
            while self._text.startswith(fence, end + 1):
                end += 1
        self._at = end + len(fence)
        body = self._text[begun:end]
        return str(tomllib.loads(f"k = {quote}{body}{quote}")["k"]) if len(fence) == 1 else body
