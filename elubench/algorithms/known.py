"""Algorithms by name: those of the package, and classes of the user's own; options as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any

import elubench.algorithms
from elubench import checks
from elubench.algorithms.base import Algorithm


@cache
def known() -> Mapping[str, type[Algorithm]]:
    """Every algorithm of the package by the name of its class, in the order of legends."""
    found = [kind for kind in vars(elubench.algorithms).values() if isinstance(kind, type)]
    own = [kind for kind in found if issubclass(kind, Algorithm) and kind is not Algorithm]
    places = sorted(own, key=lambda kind: kind.look.place)
    return MappingProxyType({kind.__name__: kind for kind in places})


@cache
def commands() -> Mapping[str, type[Algorithm]]:
    """The same by their names on the command line."""
    return MappingProxyType({kind.command or kind.__name__: kind for kind in known().values()})


def kind_of(name: str) -> type[Algorithm]:
    """The class with this name, or "module:Class" on Python's path."""
    if name in known():
        return known()[name]
    if ":" in name:
        kind: type[Algorithm] = checks.imported(name, "algorithm", Algorithm)
        return kind
    raise ValueError(
        f"algorithm must be one of {', '.join(known())}, or 'module:Class', got {name!r}"
    )


def options_of(algorithm: Algorithm) -> dict[str, Any]:
    """Every option as a value that JSON can hold; an algorithm among them with its name."""
    made: dict[str, Any] = {}
    for field in fields(algorithm):
        value = getattr(algorithm, field.name)
        if isinstance(value, Algorithm):
            value = {"name": _reference(type(value)), **options_of(value)}
        if field.init:
            made[field.name] = value
    return made


def _reference(kind: type[Algorithm]) -> str:
    """The name by which :func:`kind_of` finds a class."""
    own = known().get(kind.__name__) is kind
    return kind.__name__ if own else f"{kind.__module__}:{kind.__qualname__}"


def numbers_in(options: str) -> dict[str, float]:
    """The numbers among options that were written as JSON, such as eta and beta."""
    try:
        given = json.loads(options)
    except (TypeError, ValueError):
        return {}
    if not isinstance(given, dict):
        return {}
    return {
        key: float(value)
        for key, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
