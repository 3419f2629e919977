"""What a notebook shows: figures and tables with captions, verdicts, and sentences made from numbers.

Each function returns an object that Jupyter shows as HTML at the end of a cell. Plain text is set as in
print: n^(-1/8), theta_1, 2e-10, >=.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from elubench.report.html import SIGNS, environment
from elubench.report.style import as_png
from elubench.report.summary import value_of, with_interval
from elubench.report.typesetting import maths, typeset
from elubench.text import number
from elubench.verification.verdicts import Finding

#: A folder to which :func:`shown` writes the figures that have the name of a thumbnail.
THUMBNAILS = "ELUBENCH_THUMBNAILS"
_PIXELS = 360  # of a thumbnail's width
_COLOURS = 64  # of a thumbnail


def _set(text: str | Markup) -> Markup:
    """Text as in print, with a minus sign before numbers; markup as it is."""
    if isinstance(text, Markup):
        return text
    return Markup(re.sub(r"(?<![\w.,)\]-])-(?=\d)", "−", str(maths(text))))  # noqa: RUF001


def _made(macro: str, *values: Any) -> str:
    """What a macro of notebook.html makes of these values."""
    environment().filters["set"] = _set
    return str(getattr(environment().get_template("notebook.html").module, macro)(*values))


class Html:
    """What Jupyter shows; as text it is without markup."""

    def __init__(self, html: str, text: str):
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


def shown(figure: Figure | None, caption: str, thumbnail: str = "") -> Html:
    """A figure above its caption; without a figure, a sentence that the results have no rows for it.

    ``thumbnail`` names the small picture that is written where the environment variable
    ``ELUBENCH_THUMBNAILS`` names a folder.
    """
    if figure is None:
        return said("The results at hand have no runs for this figure.")
    made = as_png(figure)
    folder = os.environ.get(THUMBNAILS)
    if folder and thumbnail:
        _write_thumbnail(made, Path(folder) / f"{thumbnail}.png")
    wide = round(96.0 * float(figure.get_size_inches()[0]))
    source = base64.b64encode(made).decode("ascii")
    html = _made("figure", source, wide, caption)
    return Html(html, f"[figure] {caption}")


def _write_thumbnail(png: bytes, path: Path) -> None:
    """Small, in few colours; two files of the same figure are the same."""
    from PIL import Image  # comes with matplotlib

    with Image.open(io.BytesIO(png)) as image:
        high = round(image.height * _PIXELS / image.width)
        small = image.convert("RGB").resize((_PIXELS, high), Image.Resampling.LANCZOS)
    path.parent.mkdir(parents=True, exist_ok=True)
    small.quantize(_COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def tabled(table: pd.DataFrame, caption: str = "") -> Html:
    """A small table under its caption, without its index; numbers with four digits, NaN as a dash."""
    texts = [[_text(value) for value in row] for row in table.itertuples(index=False)]
    right = [pd.api.types.is_numeric_dtype(table[name]) for name in table.columns]
    heads = [str(name) for name in table.columns]
    return Html(
        _made("table", heads, texts, right, caption),
        "\n".join([caption, table.to_string(index=False)]).strip(),
    )


def _text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    if isinstance(value, float | np.floating):
        return typeset(number(float(value))) if not np.isnan(value) else "–"  # noqa: RUF001
    return "–" if value is None else str(value)  # noqa: RUF001


def said(*sentences: str) -> Html:
    """A conclusion: sentences made from numbers; a list if there are several."""
    told = [sentence for sentence in sentences if sentence]
    text = told[0] if len(told) == 1 else "\n".join(f"- {sentence}" for sentence in told)
    return Html(_made("said", told), text)


def verdicts(findings: Iterable[Finding], *keys: str) -> Html:
    """The findings with these keys, or all: claim, verdict, and the measurement that decides."""
    by_key: Mapping[str, Finding] = {one.claim.key: one for one in findings}
    rows, lines = [], []
    for key in keys or by_key:
        finding = by_key[key]
        one = finding.decisive
        measured = quantity = stated = agrees = "–"  # noqa: RUF001
        if one is not None:
            quantity, measured = one.quantity, value_of(one)
            stated, agrees = number(one.expected.stated), one.expected.region
        verdict = Markup("{}&nbsp;<strong>{}</strong>").format(
            SIGNS[finding.verdict], finding.verdict
        )
        told = [typeset(text) for text in (measured, stated, agrees)]
        rows.append([finding.claim.title, verdict, quantity, *told, finding.claim.place])
        lines.append(f"{finding.verdict}: {finding.claim.title} ({quantity}: {measured})")
    heads = ("claim", "verdict", "what decides", "measured", "theory", "agrees if", "in the paper")
    html = _made("table", heads, rows, [False] * len(heads), "")
    return Html(html, "\n".join(lines))


def estimate(value: float, low: float, high: float) -> str:
    """A value with its interval, rounded where the interval ends: "-0.124 [-0.131, -0.117]"."""
    return typeset(" ".join(with_interval(float(value), float(low), float(high))).strip())
