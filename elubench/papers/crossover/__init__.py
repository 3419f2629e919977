"""The crossover between one component and two: claims of our own, with their derivation.

``PAPER`` is loaded when it is first asked for: its figures need matplotlib, its theory does not.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elubench.papers.crossover.paper import PAPER as PAPER


def __getattr__(name: str) -> Any:
    if name == "PAPER":
        from elubench.papers.crossover.paper import PAPER

        return PAPER
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
