"""Plain text for terminals and tables."""

import math
import textwrap

#: What stands for a number that is not there.
NOTHING = "-"

_MOST_DIGITS = 6  # of a value that is known better than that


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


def with_interval(value: float, low: float, high: float) -> tuple[str, str]:
    """The value and its interval, "" where the value is exact; rounded where the interval ends.

    The half width of the interval keeps two digits. One that is below the sixth digit of the value
    is given by its size instead of its ends.
    """
    if low == high or math.isnan(low) or math.isnan(high):
        return number(value), ""
    ends = [abs(end) for end in (value, low, high) if math.isfinite(end)]
    half = 0.5 * (high - low)
    if not math.isfinite(half) or not math.isfinite(value):
        return number(value), f"[{number(low)}, {number(high)}]"
    largest = max(ends)
    digits = 2 + math.floor(math.log10(largest)) - math.floor(math.log10(half))
    if digits > _MOST_DIGITS:
        off = max(high - value, value - low)
        return number(value, _MOST_DIGITS), f"± {number(off, 1)}"
    if not 1e-4 <= largest < 1e6:
        return number(value, digits), f"[{number(low, digits)}, {number(high, digits)}]"
    decimals = max(0, 1 - math.floor(math.log10(half)))

    def fixed(end: float) -> str:
        return f"{end:,.{decimals}f}"

    return fixed(value), f"[{fixed(low)}, {fixed(high)}]"
