"""Plain text set as in print: minus signs, powers, indices, scientific notation."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def typeset(text: str) -> str:
    """Numbers with a minus sign in place of the hyphen, and a dash where there is none."""
    if text == "-":
        return "–"  # noqa: RUF001
    return re.sub(r"(?<![\w.])-(?=[\d∞i])", "−", text).replace("inf", "∞")  # noqa: RUF001


_POWER = re.compile(r"\^(?:\(([\w.+/*-]+)\)|(-?(?:\d+(?:\.\d+)?|[a-z]+)))")
_SCIENTIFIC = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+−-]?)0*(\d+)(?!\w|\.\d)")  # noqa: RUF001


def maths(text: str) -> Markup:
    """Escaped text in which n^(-1/8), theta_1, 2e-10, >= and d = 1 are set as in print."""
    safe = _SCIENTIFIC.sub(_ten, str(escape(text)))
    safe = _POWER.sub(lambda m: _raised(m[1] or m[2]), safe)
    safe = re.sub(r"(?<=[a-z])_(\d)(?!\w)", r"<sub>\1</sub>", safe)
    safe = safe.replace("&gt;=", "≥").replace("&lt;=", "≤")
    safe = re.sub(r"\b([A-Za-z]{1,5}) ([=≥≤]) (?=\S)", "\\1\u00a0\\2\u00a0", safe)
    return Markup(safe)


def _ten(found: re.Match[str]) -> str:
    head, sign, exponent = found.groups()
    factor = "" if head == "1" else f"{head}·"
    return f"{factor}10{_raised(('-' if sign not in ('', '+') else '') + exponent)}"


def _raised(exponent: str) -> str:
    return f"<sup>{exponent.replace('-', '−')}</sup>"  # noqa: RUF001
