"""Plain text for terminals and tables."""

import math
import textwrap

#: What stands for a number that is not there.
NOTHING = "-"


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


def number(value: float, digits: int = 4) -> str:
    """A number for readers: 0.125, 23,000, 1.2e-7, inf, and a dash for NaN."""
    if math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0.0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{max(0, digits - 1)}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}"
