"""Plain text for terminals."""

import math
import textwrap


def row(name: str, value: str, indent: int) -> str:
    """A name and its value, wrapped at 80 columns; the value begins in column ``indent``."""
    # a path longer than the line stays whole: it is there to be copied
    return textwrap.fill(
        value,
        width=80,
        initial_indent=f"{name:<{indent}}",
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


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
