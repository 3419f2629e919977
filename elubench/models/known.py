"""Models by name: those of the package and the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import elubench.models
from elubench import checks
from elubench.models.base import Model


@cache
def known() -> Mapping[str, type[Model]]:
    """The models of the package by name."""
    found = [kind for kind in vars(elubench.models).values() if isinstance(kind, type)]
    own = [kind for kind in found if issubclass(kind, Model) and hasattr(kind, "name")]
    return MappingProxyType({kind.name: kind for kind in own})


def with_options(text: str, label: str = "model") -> tuple[str, dict[str, Any]]:
    """A name and its options: those of "known-scale(weight=0.7)" are {"weight": 0.7}."""
    name, bracket, given = text.partition("(")
    if not bracket:
        return text, {}
    try:
        options: dict[str, Any] = checks.toml(f"all = {{{given.strip().removesuffix(')')}}}")["all"]
    except ValueError:
        raise ValueError(f"{label} must be like 'name(option=number)', got {text!r}") from None
    return name.strip(), options


def named(model: Model | type[Model] | str) -> Model:
    """The model given, or the one with this class, this name or this "module:Class".

    Options follow a name in brackets: "known-scale(weight=0.7)".
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, type) and issubclass(model, Model):
        return model()
    if isinstance(model, str):
        name, options = with_options(model)
        if name in known():
            return made(known()[name], options)
        if ":" in name:
            return made(checks.imported(name, "model", Model), options)
    raise ValueError(
        f"model must be a Model, one of {', '.join(sorted(known()))}, or 'module:Class', "
        f"got {checks.brief(model)}"
    )


def made(kind: type[Model], options: dict[str, Any], label: str = "model") -> Model:
    """A model of this kind; an error says what is wrong with the options."""
    try:
        return kind(**options)
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    except TypeError as error:
        given = f"the options {options}" if options else "no options"
        raise ValueError(
            f"{label} must be a model that can be made with {given}, got {kind.__name__} ({error})"
        ) from None


def radius(
    model: Model | type[Model] | str,
    n: float,
    d: int,
    constant: float = 1.0,
    of: str = "location",
) -> float:
    """The statistical radius of a model fitted to n rows of d numbers from one Gaussian.

    For the location-scale models it is `constant` times n^(-1/8) at d = 1 and (d/n)^(1/4) at d >= 2;
    for a known scale (d/n)^(1/4) at every d, and (d/n)^(1/2) where the weights differ.
    With `of="scale"` it is that of the squared scale: n^(-1/4) at d = 1, (n d)^(-1/2) at d >= 2.
    """
    d = checks.integer(d, "d", 1, checks.MOST)
    n = checks.real(n, "n", above=0.0)
    constant = checks.real(constant, "constant", above=0.0)
    checks.choice(of, "of", ("location", "scale"))
    return named(model).flatness(d).radius(n, d, constant, of)
