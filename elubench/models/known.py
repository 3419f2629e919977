"""Models by name: those of the package and the user's own."""

from __future__ import annotations

import elubench.models
from elubench import checks
from elubench.models.base import Model


def known() -> dict[str, type[Model]]:
    """The models of the package by name."""
    found = [kind for kind in vars(elubench.models).values() if isinstance(kind, type)]
    return {kind.name: kind for kind in found if issubclass(kind, Model) and hasattr(kind, "name")}


def named(model: Model | type[Model] | str) -> Model:
    """The model given, or the one with this class, this name or this "module:Class"."""
    if isinstance(model, Model):
        return model
    if isinstance(model, type) and issubclass(model, Model):
        return model()
    if isinstance(model, str):
        if model in known():
            return known()[model]()
        if ":" in model:
            made: Model = checks.imported(model, "model", Model)()
            return made
    raise ValueError(
        f"model must be a Model, one of {', '.join(sorted(known()))}, or 'module:Class', "
        f"got {model!r}"
    )


def radius(
    model: Model | type[Model] | str,
    n: float,
    d: int,
    constant: float = 1.0,
    of: str = "location",
) -> float:
    """The statistical radius of a model fitted to n rows of d numbers from one Gaussian.

    For the location-scale models it is `constant` times n^(-1/8) at d = 1 and (d/n)^(1/4) at d >= 2.
    With `of="scale"` it is that of the squared scale: n^(-1/4) at d = 1, (n d)^(-1/2) at d >= 2.
    """
    d = checks.integer(d, "d", 1)
    n = checks.real(n, "n", above=0.0)
    constant = checks.real(constant, "constant", above=0.0)
    checks.choice(of, "of", ("location", "scale"))
    return named(model).flatness(d).radius(n, d, constant, of)
