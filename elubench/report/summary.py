"""Findings as text: numbers with their intervals, a table for the terminal, JSON and Markdown.

A value has as many digits as its interval supports. Text of findings may contain any character; each
format escapes what it must.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from elubench import __version__
from elubench.verification.verdicts import VERDICTS, Finding, Measurement, Verdict

#: Columns of a terminal that the table fits.
WIDTH = 80

_VERDICT_WIDTH = 12
_MEASURED_WIDTH = 26
_THEORY_WIDTH = 8
_NOTHING = "-"
_MOST_DIGITS = 6  # of a value that is known better than that


def number(value: float, digits: int = 4) -> str:
    """A number for readers: 0.125, 23,000, 1.2e-7, inf, and a dash for NaN."""
    if math.isnan(value):
        return _NOTHING
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


def with_interval(one: Measurement) -> tuple[str, str]:
    """The value and its interval, "" where the value is exact; rounded where the interval ends.

    The half width of the interval keeps two digits. One that is below the sixth digit of the value
    is given by its size instead of its ends.
    """
    if one.low == one.high or math.isnan(one.low) or math.isnan(one.high):
        return number(one.value), ""
    ends = [abs(end) for end in (one.value, one.low, one.high) if math.isfinite(end)]
    half = 0.5 * (one.high - one.low)
    if not math.isfinite(half) or not math.isfinite(one.value):
        return number(one.value), f"[{number(one.low)}, {number(one.high)}]"
    largest = max(ends)
    digits = 2 + math.floor(math.log10(largest)) - math.floor(math.log10(half))
    if digits > _MOST_DIGITS:
        off = max(one.high - one.value, one.value - one.low)
        return number(one.value, _MOST_DIGITS), f"± {number(off, 1)}"
    if not 1e-4 <= largest < 1e6:
        return number(one.value, digits), f"[{number(one.low, digits)}, {number(one.high, digits)}]"
    decimals = max(0, 1 - math.floor(math.log10(half)))

    def fixed(value: float) -> str:
        return f"{value:,.{decimals}f}"

    return fixed(one.value), f"[{fixed(one.low)}, {fixed(one.high)}]"


def region(accepted: tuple[float, float]) -> str:
    """The values that agree with a claim, in words where one end is open."""
    least, most = accepted
    if math.isinf(least) and math.isinf(most):
        return "any value"
    if math.isinf(most):
        return f"at least {number(least)}"
    if math.isinf(least):
        return f"at most {number(most)}"
    if least == most:
        return f"exactly {number(least)}"
    return f"{number(least)} to {number(most)}"


def counts(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """How many findings have each verdict, all four named."""
    return {verdict: sum(f.verdict == verdict for f in findings) for verdict in VERDICTS}


def counted(findings: Sequence[Finding]) -> str:
    """The counts as a phrase, "7 supported, 2 contradicted, ...", without zeros."""
    parts = [f"{count} {verdict}" for verdict, count in counts(findings).items() if count]
    return ", ".join(parts) or "no claims"


def console_table(findings: Sequence[Finding]) -> str:
    """The claims and their verdicts in 80 columns, for a terminal."""
    claim_width = WIDTH - _VERDICT_WIDTH - _MEASURED_WIDTH - _THEORY_WIDTH - 6
    widths = (_VERDICT_WIDTH, claim_width, _MEASURED_WIDTH, _THEORY_WIDTH)
    lines = [_columns(("verdict", "claim", "measured", "theory"), widths), "-" * WIDTH]
    for finding in findings:
        one = finding.decisive
        measured, theory = _NOTHING, _NOTHING
        if one is not None:
            measured = " ".join(with_interval(one)).strip().replace("±", "+-")
            theory = number(one.theory)
        cells = [
            textwrap.wrap(_one_line(text), width) or [""]
            for text, width in zip(
                (finding.verdict, finding.claim.title, measured, theory), widths, strict=True
            )
        ]
        for row in range(max(map(len, cells))):
            lines.append(_columns([cell[row] if row < len(cell) else "" for cell in cells], widths))
    lines += ["-" * WIDTH, *textwrap.wrap(counted(findings), WIDTH)]
    return "\n".join(lines)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _one_line(text: str) -> str:
    """Without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def claims_json(findings: Sequence[Finding], paper: str, level: str, seed: int) -> str:
    """Everything that was found, for programs."""
    content: dict[str, Any] = {
        "elubench": __version__,
        "paper": paper,
        "level": level,
        "seed": seed,
        "counts": counts(findings),
        "claims": [{**f.as_dict(), "figures": list(f.figures)} for f in findings],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def claims_markdown(findings: Sequence[Finding], paper: str, level: str, seed: int) -> str:
    """The table of claims, for pull requests."""
    lines = [
        f"{_markdown(paper)}: {counted(findings)} (level {_markdown(level)}, seed {seed}, elubench "
        f"{__version__})",
        "",
        "| claim | verdict | measured | theory | agrees if | place |",
        "|---|---|---|---|---|---|",
    ]
    for finding in findings:
        claim, one = finding.claim, finding.decisive
        measured = theory = agrees = "–"  # noqa: RUF001
        if one is not None:
            value, interval = with_interval(one)
            measured = f"{_markdown(one.quantity)}: {_markdown(f'{value} {interval}'.strip())}"
            agrees = _markdown(region(one.accepted))
            theory = theory if math.isnan(one.theory) else _markdown(number(one.theory))
        cells = (
            _markdown(claim.title),
            f"**{finding.verdict}**",
            measured,
            theory,
            agrees,
            _markdown(claim.place),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    plain = _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = plain.replace("@", "&#64;")  # no mentions
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", plain)
