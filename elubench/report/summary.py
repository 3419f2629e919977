"""Findings as text: numbers with their intervals, a table for the terminal, JSON and Markdown.

A value has as many digits as its interval supports. Text of findings may contain any character; each
format escapes what it must.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from elubench import __version__
from elubench.text import NOTHING, number
from elubench.text import with_interval as with_interval
from elubench.verification.expectations import said
from elubench.verification.verdicts import VERDICTS, Finding, Measurement, Verdict

CLAIMS_JSON = "claims.json"
CLAIMS_CSV = "claims.csv"
#: Columns of a terminal that the table fits.
WIDTH = 80

_WIDTHS = (12, 20, 26, 6, 8)


def value_of(one: Measurement) -> str:
    """A measurement's value and interval."""
    return " ".join(with_interval(one.value, one.low, one.high)).strip()


def counts(findings: Sequence[Finding]) -> dict[Verdict, int]:
    """How many findings have each verdict, all four named."""
    return {verdict: sum(f.verdict == verdict for f in findings) for verdict in VERDICTS}


def counted(findings: Sequence[Finding]) -> str:
    """The counts as a phrase, "7 supported, 2 contradicted, ...", without zeros."""
    parts = [f"{count} {verdict}" for verdict, count in counts(findings).items() if count]
    return ", ".join(parts) or "no claims"


def console_table(findings: Sequence[Finding]) -> str:
    """The claims and their verdicts in 80 columns, for a terminal."""
    heads = ("verdict", "claim", "measured", "theory", "excludes")
    lines = [_columns(heads, _WIDTHS), "-" * WIDTH]
    for finding in findings:
        one = finding.decisive
        measured = theory = excludes = NOTHING
        if one is not None:
            measured = value_of(one).replace("±", "+-")
            theory = number(one.expected.stated)
            excludes = NOTHING if one.excluded is None else said(one.excluded.value)
        cells = [
            textwrap.wrap(_one_line(text), width) or [""]
            for text, width in zip(
                (finding.verdict, finding.claim.title, measured, theory, excludes),
                _WIDTHS,
                strict=True,
            )
        ]
        for row in range(max(map(len, cells))):
            lines.append(
                _columns([cell[row] if row < len(cell) else "" for cell in cells], _WIDTHS)
            )
    lines += ["-" * WIDTH, *textwrap.wrap(counted(findings), WIDTH)]
    return "\n".join(lines)


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _one_line(text: str) -> str:
    """Without line breaks and control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def claims_json(findings: Sequence[Finding], paper: str, level: str, seed: int, rules: str) -> str:
    """Everything that was found, for programs."""
    content: dict[str, Any] = {
        "elubench": __version__,
        "paper": paper,
        "level": level,
        "seed": seed,
        "rules": rules,
        "counts": counts(findings),
        "claims": [{**f.as_dict(), "figures": list(f.figures)} for f in findings],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def claims_csv(findings: Sequence[Finding]) -> str:
    """A line for each measurement, for spreadsheets; a claim without one has a line, too."""
    columns = ("quantity", "value", "low", "high", "theory", "outcome", "excluded", "note")
    out = io.StringIO()
    write = csv.writer(out, lineterminator="\n")
    write.writerow(["claim", "title", "place", "verdict", *columns])
    for finding in findings:
        found = finding.as_dict()
        about = [found[key] for key in ("key", "title", "place", "verdict")]
        for one in found["measurements"] or [{}]:
            write.writerow([*about, *(one.get(key) for key in columns)])
    return out.getvalue()


def claims_markdown(
    findings: Sequence[Finding], paper: str, level: str, seed: int, rules: str
) -> str:
    """The table of claims, for pull requests."""
    lines = [
        f"{_markdown(paper)}: {counted(findings)} (level {_markdown(level)}, seed {seed}, rules "
        f"{rules}, elubench {__version__})",
        "",
        "| claim | verdict | measured | theory | agrees if | nearest rival excluded | place |",
        "|---|---|---|---|---|---|---|",
    ]
    for finding in findings:
        claim, one = finding.claim, finding.decisive
        measured = theory = agrees = excludes = "–"  # noqa: RUF001
        if one is not None:
            measured = f"{_markdown(one.quantity)}: {_markdown(value_of(one))}"
            agrees = _markdown(one.expected.region)
            stated = one.expected.stated
            theory = theory if math.isnan(stated) else _markdown(said(stated))
            excludes = excludes if one.excluded is None else _markdown(one.excluded.named)
        cells = (
            _markdown(claim.title),
            f"**{finding.verdict}**",
            measured,
            theory,
            agrees,
            excludes,
            _markdown(claim.place),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    plain = _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    plain = plain.replace("@", "&#64;")  # no mentions
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", plain)
