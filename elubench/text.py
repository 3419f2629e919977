"""Words for numbers, shared by the command line and the report."""

from __future__ import annotations

import math


def duration(seconds: float) -> str:
    """Seconds in the unit that a reader would choose."""
    if math.isnan(seconds):
        return "unknown time"
    if seconds < 60.0:
        return f"{seconds:.0f} s"
    minutes = seconds / 60.0
    if minutes < 60.0:
        return f"{int(minutes)} min {int(seconds) % 60:02d} s"
    return f"{int(minutes / 60.0)} h {int(minutes) % 60:02d} min"
