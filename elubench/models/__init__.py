"""Models: what EM and gradient methods fit, as algebra on the sums of a pass."""

from elubench.models.base import Algebra, Model
from elubench.models.diagonal import Diagonal
from elubench.models.general import General
from elubench.models.isotropic import Isotropic

__all__ = ["Algebra", "Diagonal", "General", "Isotropic", "Model", "named"]


def named(model: Model | str) -> Model:
    """A model, given itself or its name."""
    if isinstance(model, Model):
        return model
    known = {kind.name: kind for kind in (Isotropic, Diagonal, General)}
    if isinstance(model, str) and model in known:
        return known[model]()
    raise ValueError(f"model must be a Model or one of {sorted(known)}, got {model!r}")
