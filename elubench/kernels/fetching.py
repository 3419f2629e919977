"""What a pass over tiles fetches before it is needed. This changes no result.

With few coordinates arithmetic takes longer than reading, and everything is fetched well ahead. With
more, the processor's own fetching must not be disturbed. It reads on while a tile is projected, but not
while the tile is summed, and would begin anew with the next: every other line of that keeps it going.

What is best differs from one processor to the next, and was found by trying: on Zen 4, hints that are
spread over projecting and summing a tile; on Zen 5, while it is summed.
"""

from __future__ import annotations

from typing import Any

from elubench.kernels._jit import kernel
from elubench.kernels.lanes import LINE, fetch
from elubench.kernels.processor import NEAR
from elubench.kernels.tiles import ROWS

#: Coordinates up to which arithmetic takes longer than reading.
FEW = 4
#: Coordinates up to which two tiles lie in the level-1 cache together with the one that is summed.
_SEVERAL = 32
#: Numbers from those that are summed to those that are fetched: 16 KiB, a third of the level-1 cache, or
#: 64 KiB, a fraction of that of level 2.
AHEAD = 2048 if NEAR else 8192


@kernel("exact", inline=True, counted=False)
def fetch_projecting(data: Any, at: int, d: int, j: int) -> None:
    """Fetch while coordinate j of the tile at this place is projected."""
    place = at + j * ROWS
    if d <= FEW:
        for line in range(0, ROWS, LINE):
            fetch(data, place + AHEAD + line)
    elif not NEAR:
        fetch(data, place + d * ROWS)


@kernel("exact", inline=True, counted=False)
def fetch_summing(data: Any, at: int, d: int, j: int) -> None:
    """Fetch while coordinate j of the tile at this place is summed."""
    place = at + (d + j) * ROWS
    if d <= FEW:
        return
    if not NEAR:
        fetch(data, place + 2 * LINE)
    elif d > _SEVERAL:
        fetch(data, place)
        fetch(data, place + 2 * LINE)
    else:
        for line in range(0, ROWS, LINE):
            fetch(data, place + d * ROWS + line)
