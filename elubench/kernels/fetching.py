"""Prefetch hints for passes over tiles. They change no result.

With up to four coordinates, arithmetic takes longer than reading: everything is fetched, a fixed
distance ahead, while a tile is projected. With more, hints only keep the processor's own prefetching
going, which stops while a tile is summed: every other line of the next tile is enough. On Zen 4 these
hints are spread over projecting and summing. On Zen 5 they come while the tile is summed, and up to 32
coordinates all of the tile after the next is fetched instead. All of this was found by trying.
"""

from __future__ import annotations

from typing import Any

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import LINE, fetch
from elubench.kernels.processor import NEAR
from elubench.kernels.tiles import ROWS

# Coordinates up to which arithmetic takes longer than reading.
_FEW = 4
# Coordinates up to which two tiles fit into the level-1 cache of Zen 5 beside the one that is summed.
_SEVERAL = 32
#: Numbers from those that are summed to those that are fetched: 16 KiB, a third of the level-1 cache of
#: Zen 5, or 64 KiB, a sixteenth of the level-2 cache of Zen 4.
AHEAD = 2048 if NEAR else 8192


@kernel("exact", inline=True, counted=False)
def fetch_projecting(data: Any, at: int, d: int, j: int) -> None:
    """While coordinate j of the tile at this place is projected."""
    place = at + j * ROWS
    if d <= _FEW:
        for line in range(0, ROWS, LINE):
            fetch(data, place + AHEAD + line)
    elif not NEAR:
        fetch(data, place + d * ROWS)


@kernel("exact", inline=True, counted=False)
def fetch_summing(data: Any, at: int, d: int, j: int) -> None:
    """While coordinate j of the tile at this place is summed."""
    place = at + (d + j) * ROWS
    if d <= _FEW:
        return
    if not NEAR:
        fetch(data, place + 2 * LINE)
    elif d > _SEVERAL:
        fetch(data, place)
        fetch(data, place + 2 * LINE)
    else:
        for line in range(0, ROWS, LINE):
            fetch(data, place + d * ROWS + line)
