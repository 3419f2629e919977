"""Singularity, misspecification and the convergence rate of EM.

``PAPER`` is loaded when it is first asked for: its figures need matplotlib, its theory does not.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elubench.papers.singularity.paper import PAPER as PAPER


def __getattr__(name: str) -> Any:
    if name == "PAPER":
        from elubench.papers.singularity.paper import PAPER

        return PAPER
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
