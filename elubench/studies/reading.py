"""From TOML to a study, checked as a whole before any work starts.

An error names the key by its path, ``block[1].algorithms[2].eta``; lists are counted from 1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from elubench import checks
from elubench.algorithms.known import options_of
from elubench.samples import lattice
from elubench.studies.outside import Outside
from elubench.studies.presets import preset, presets
from elubench.studies.spec import SAMPLES, STARTS, STOPS, Block, Contestant, Spec, as_json
from elubench.studies.truths import Truth, named, truths

_MOST = 10**15
#: Samples and runs of a study. A plan holds every sample, and a million take two seconds and 200 MB.
_MOST_SAMPLES, _MOST_RUNS = 10**6, 10**8

#: Radius constants; far beyond, radii and what is computed from them leave the range of float64.
_CONSTANTS = (1e-100, 1e100)

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
    "truth": {},
}


class SpecError(ValueError):
    """A study that cannot be run as it is written."""


def source(spec: str | Path) -> tuple[str, str, Path | None]:
    """The text of a study, what to call it in messages, and its folder, given a preset or a path.

    A preset has no folder.
    """
    text = preset(spec) if isinstance(spec, str) else None
    if text is not None:
        return text, f"preset {spec}", None
    shown = str(spec) if str(spec).isprintable() else repr(str(spec))
    if not str(spec) or "\0" in str(spec):
        raise SpecError(f"spec must be the name of a preset or a path, got {str(spec)!r}")
    path = Path(spec)
    try:
        return path.read_bytes().decode("utf-8"), str(path), path.resolve().parent
    except FileNotFoundError:
        raise SpecError(
            f"{shown}: no such file, and no such preset; presets are {', '.join(presets())}"
        ) from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{shown}: not UTF-8 text ({error.reason} at byte {error.start})") from None


def load(spec: Spec | Mapping[str, Any] | str | Path) -> Spec:
    """A study from a preset's name, a path, a mapping like that of a TOML file, or itself."""
    if isinstance(spec, Spec):
        return spec
    if isinstance(spec, Mapping):
        return _checked(dict(spec), "study", None)
    if not isinstance(spec, str | Path):
        raise TypeError(
            f"spec must be a preset's name, a path or a mapping, got {checks.brief(spec)}"
        )
    return parse(*source(spec))


def parse(text: str, title: str = "study", folder: Path | None = None) -> Spec:
    """A study from the text of a TOML file.

    ``title`` stands for the file in messages; classes outside the package are looked for in ``folder``
    first.
    """
    try:
        values = checks.toml(text)
    except ValueError as error:
        raise SpecError(f"{title}: {error}") from None
    return _checked(values, title, folder)


def from_canonical(plain: dict[str, Any], name: str) -> Spec:
    """The study whose canonical form this is; nothing outside the package is imported."""
    blocks = []
    for values in plain["block"]:
        made: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in values.items()
        }
        made["sizes"] = tuple((n, d) for n, d in values["sizes"])
        made["contestants"] = tuple(
            Contestant(one["algorithm"], one["max_iter"]) for one in values["contestants"]
        )
        if "truth" in values:
            made["truth"] = Truth(**values["truth"])
        blocks.append(Block(**made))
    return Spec(name, "", plain["seed"], tuple(blocks))


def _checked(values: dict[str, Any], title: str, folder: Path | None) -> Spec:
    try:
        return _study(values, title, Outside(folder))
    except RecursionError:
        raise SpecError(f"{title}: tables or lists are nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise SpecError(f"{title}: {error}") from error


# Each function below is given a value and its key's path, which its messages begin with.


def _study(values: dict[str, Any], title: str, outside: Outside) -> Spec:
    checks.keys(values, ("name", "description", "seed", "block"))
    blocks = values.get("block")
    if not isinstance(blocks, list) or not blocks:
        raise TypeError("block must be a list of at least one [[block]]")
    numbered = [
        (number, block)
        for number, given in enumerate(_spelled_out(blocks), 1)
        for block in _blocks(given, number, outside)
    ]
    names: set[str] = set()
    for number, block in numbered:
        if block.name in names:
            raise ValueError(f"block[{number}].name {block.name!r} is the name of another block")
        names.add(block.name)
    _plannable(numbered)
    return Spec(
        name=checks.text(values.get("name", title), "name"),
        description=checks.text(values.get("description", ""), "description"),
        seed=checks.integer(values.get("seed", 0), "seed", 0, 2**63 - 1),
        blocks=tuple(block for _, block in numbered),
    )


def _spelled_out(blocks: list[Any]) -> Iterator[Any]:
    """Every block, with what it takes over from the earlier one whose name is its ``like``."""
    earlier: dict[str, dict[str, Any]] = {}
    for number, given in enumerate(blocks, 1):
        if isinstance(given, dict):
            if "like" in given:
                given = _taken_over(given, f"block[{number}].like", earlier)
            earlier[str(given.get("name", f"block{number}"))] = given
        yield given


def _taken_over(
    given: dict[str, Any], at: str, earlier: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    name = given["like"]
    if not isinstance(name, str) or name not in earlier:
        raise ValueError(f"{at} must be the name of an earlier block, got {checks.brief(name)}")
    sizes = {"n", "n_per_d"} if given.keys() & {"n", "n_per_d"} else set()
    kept = {key: value for key, value in earlier[name].items() if key not in {"name", *sizes}}
    return {**kept, **{key: value for key, value in given.items() if key != "like"}}


def _plannable(numbered: list[tuple[int, Block]]) -> None:
    """Refuse what is too large to plan, before anything is planned."""
    samples = [len(block.models) * len(block.sizes) * block.replicates for _, block in numbered]
    runs = sum(count * block.runs for count, (_, block) in zip(samples, numbered, strict=True))
    at = f"block[{numbered[samples.index(max(samples))][0]}].replicates"
    if sum(samples) > _MOST_SAMPLES:
        raise ValueError(
            f"{at} must leave the study at most {_MOST_SAMPLES:,} samples, got {sum(samples):,}"
        )
    if runs > _MOST_RUNS:
        raise ValueError(f"{at} must leave the study at most {_MOST_RUNS:,} runs, got {runs:,}")


def _blocks(given: Any, number: int, outside: Outside) -> list[Block]:
    at = f"block[{number}]"
    if not isinstance(given, dict):
        raise TypeError(f"{at} must be a table, got {checks.brief(given)}")
    checks.keys(given, (*_DEFAULTS, "like"), f"{at}.")
    values = {**_DEFAULTS, "name": f"block{number}", **given}
    for key, value in values.items():
        if value is None:
            raise ValueError(f"{at} lacks the key {key!r}")

    def model(given: Any, name: str) -> str:
        outside.model(checks.text(given, name), name)
        return str(given)

    models = checks.several(values["models"], f"{at}.models", model)
    samples = checks.choice(values["samples"], f"{at}.samples", SAMPLES)
    share = checks.real(values["validation"], f"{at}.validation", 0.0, 1.0, "above")
    block = Block(
        name=checks.text(values["name"], f"{at}.name", least=1),
        models=models,
        sizes=_sizes(values, at, samples),
        samples=samples,
        replicates=checks.integer(values["replicates"], f"{at}.replicates", 1, 10**9),
        starts=checks.several(
            values["starts"], f"{at}.starts", lambda one, name: checks.choice(one, name, STARTS)
        ),
        start_norm=checks.real(values["start_norm"], f"{at}.start_norm", 0.0, 1.0),
        contestants=_contestants(values, at, models, outside),
        radius_constant=checks.real(
            values["radius_constant"], f"{at}.radius_constant", *_CONSTANTS, "above below"
        ),
        stop=checks.choice(values["stop"], f"{at}.stop", STOPS),
        validation=share or None,
        traces=checks.integer(values["traces"], f"{at}.traces", 0, 10**6),
        mle=checks.truth(values["mle"], f"{at}.mle"),
        outside=outside,
    )
    found = truths(values["truth"], f"{at}.truth")
    return [replace(block, name=named(block.name, one, len(found)), truth=one) for one in found]


def _empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _sizes(values: dict[str, Any], at: str, samples: str) -> tuple[tuple[int, int], ...]:
    given = [key for key in ("n", "n_per_d") if not _empty(values[key])]
    if len(given) != 1:
        raise ValueError(f"{at} must have either the key 'n' or the key 'n_per_d'")
    key = given[0]
    most_d, most_n = 10**6, _MOST
    if samples == "lattice":
        most_d, most_n = lattice.MOST_D, lattice.MOST_N
    ds = checks.several(
        values["d"], f"{at}.d", lambda one, name: checks.integer(one, name, 1, most_d)
    )
    least = 4 if key == "n" else 1
    ns = checks.several(
        values[key], f"{at}.{key}", lambda one, name: checks.integer(one, name, least, _MOST)
    )
    if len(ds) * len(ns) > _MOST_SAMPLES:
        raise ValueError(
            f"{at}.{key} must leave the study at most {_MOST_SAMPLES:,} samples, got {len(ns):,} "
            f"times {len(ds):,} in {at}.d"
        )
    sizes = tuple((n if key == "n" else n * d, d) for d in ds for n in ns)
    for n, d in sizes:
        if not 4 <= n <= most_n:
            raise ValueError(
                f"{at}.{key} must give n between 4 and {most_n}, got n = {n} at d = {d}"
            )
    return sizes


def _contestants(
    values: dict[str, Any], at: str, models: tuple[str, ...], outside: Outside
) -> tuple[Contestant, ...]:
    budget = checks.integer(values["max_iter"], f"{at}.max_iter", 0, _MOST)
    given = values["algorithms"]
    if not isinstance(given, list) or not given:
        raise TypeError(
            f"{at}.algorithms must be a list of at least one algorithm, such as {{name = 'EM'}}"
        )
    made: dict[str, Contestant] = {}
    for number, one in enumerate(given, 1):
        here = f"{at}.algorithms[{number}]"
        table = dict(one) if isinstance(one, dict) else {"name": one}
        own = checks.integer(table.pop("max_iter", budget), f"{here}.max_iter", 0, _MOST)
        contestant = Contestant(_options(table, here, outside), own, outside)
        for model in models:
            try:
                contestant.algorithm.resolve(outside.model(model))
            except ValueError as error:
                raise ValueError(f"{here}: {error}") from None
        if (key := as_json(contestant.options)) in made:
            raise ValueError(f"{here} is in this list already: {contestant.options}")
        made[key] = contestant
    return tuple(made.values())


def _options(given: Any, at: str, outside: Outside) -> dict[str, Any]:
    """Every option of an algorithm as JSON holds it."""
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise TypeError(f"{at} must be a table with a name, such as {{name = 'ELU', beta = 0.8}}")
    name = given["name"]
    kind = outside.kind(name, f"{at}.name")
    types = {one.name: str(one.type) for one in fields(kind) if one.init}
    checks.keys(given, ("name", *types), f"{at}.", f"; {name} has ")
    options: dict[str, Any] = {}
    for key, value in given.items():
        if isinstance(value, dict):
            value = _options(value, f"{at}.{key}", outside)
        elif isinstance(value, float) and value.is_integer() and "int" in types.get(key, ""):
            value = int(value)
        options[key] = value
    try:
        made = options_of(outside.algorithm(options))
    except (TypeError, ValueError) as error:
        about_option = str(error).split(" ", 1)[0] in types
        raise type(error)(f"{at}{'.' if about_option else ': '}{error}") from None
    nested = {key: value for key, value in options.items() if isinstance(value, dict)}
    try:
        return dict(json.loads(as_json({"name": name, **made, **nested})))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{at} must have options that JSON can hold: {error}") from None
