"""Evidence for convergence rates of EM, ELU and their rivals.

Public names live in the rooms of the package and are loaded when first used, so that ``import elubench``
and ``elubench --help`` are quick, compile nothing and start no threads.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Lowest first: a room needs those before it anyway.
_ROOMS = (
    "kernels",
    "samples",
    "models",
    "algorithms",
    "runs",
    "fits",
    "studies",
    "rates",
    "papers",
    "peers",
)

#: Rooms that are public as they are: ``elubench.plot.rates``.
_SHELVES = ("info", "peers", "plot", "rates")


def _public(room: str) -> list[str]:
    """What a room offers to all: its ``__all__``, or everything in it except its own modules."""
    names = vars(import_module(f"{__name__}.{room}"))
    if "__all__" in names:
        return list(names["__all__"])
    return [
        name
        for name, value in names.items()
        if not name.startswith("_")
        and not (isinstance(value, ModuleType) and value.__name__ == f"{__name__}.{room}.{name}")
    ]


def __dir__() -> list[str]:
    return sorted({"__version__", *_SHELVES, *(name for room in _ROOMS for name in _public(room))})


if TYPE_CHECKING:
    from elubench import info as info
    from elubench import peers as peers
    from elubench import plot as plot
    from elubench import rates as rates
    from elubench.algorithms import *  # noqa: F403
    from elubench.fits import *  # noqa: F403
    from elubench.kernels import *  # noqa: F403
    from elubench.models import *  # noqa: F403
    from elubench.papers import *  # noqa: F403
    from elubench.peers import *  # noqa: F403
    from elubench.rates import *  # noqa: F403
    from elubench.runs import *  # noqa: F403
    from elubench.samples import *  # noqa: F403
    from elubench.studies import *  # noqa: F403
else:  # a type checker would take every name for one that this returns

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return __dir__()
        if name in _SHELVES:
            return import_module(f"{__name__}.{name}")
        # Python's own import finds a module of ours, once this says that there is no such attribute
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
            for room in _ROOMS:
                if name in _public(room):
                    globals()[name] = getattr(import_module(f"{__name__}.{room}"), name)
                    return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
