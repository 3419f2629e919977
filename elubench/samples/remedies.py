"""What to do about data that need a decision: in Python, and on the command line."""

from __future__ import annotations

COLUMNS = "pass only the columns to fit"
NUMERIC = "pass only columns of numbers, such as frame.select_dtypes('number')"
MISSING = "leave such rows out, such as with frame.dropna()"
FREE_WEIGHTS = 'use free weights, General(mixing="free")'

_OPTIONS = {
    COLUMNS: "choose the columns to fit with --columns",
    NUMERIC: "choose the columns to fit with --columns, or leave out those that are not numeric "
    "with --skip-text",
    MISSING: "leave such rows out with --drop-missing",
    FREE_WEIGHTS: "use free weights, --mixing free",
}


def for_the_shell(text: str) -> str:
    """A message with the options of the command line in place of Python."""
    for remedy, option in _OPTIONS.items():
        text = text.replace(remedy, option)
    return text
