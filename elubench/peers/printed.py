"""A comparison as text: tables in 80 columns, and notes on what each peer fits."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pandas as pd

from elubench.peers.base import START_NORM, TOLERANCE, Peer
from elubench.peers.heats import goal
from elubench.peers.known import ELUBENCH, PEERS, READING, TANH

_WIDTH = 80
_NAMES = {READING.name: "reading once", TANH.name: "tanh alone"}

Records = list[dict[str, Any]]


def as_text(rows: pd.DataFrame, peers: Sequence[Peer] = PEERS) -> str:
    """All tables, followed by their notes."""
    records: Records = rows.to_dict("records")  # type: ignore[assignment]
    if not records:
        return "nothing was measured"
    blocks = []
    for (n, d, target), some in groupby(records, lambda row: (row["n"], row["d"], row["target"])):
        title = f"n = {n:,}, d = {d}: "
        if target == "iteration":
            blocks.append(_iteration(title + "time per EM iteration", list(some)))
        elif target == "radius":
            within = _three(goal(n, d))
            blocks.append(
                _answer(title + f"until the location is within the radius, {within}", list(some))
            )
        else:
            within = f"{TOLERANCE:.0e}".replace("e-0", "e-")
            until = f"until the loss is within {within} of the sample's optimum"
            blocks.append(_answer(title + until, list(some)))
    blocks.append("\n".join(_notes(records, peers)))
    return "\n\n".join(blocks)


def seconds(value: float) -> str:
    """A time in three digits, with its unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if value * factor >= 0.9995:
            return f"{_three(value * factor)} {unit}"
    return "-" if math.isnan(value) else f"{_three(value * 1e9)} ns"


def ratio(value: float) -> str:
    """A ratio in three digits, thousands set apart."""
    return "-" if math.isnan(value) else _three(value)


def _three(value: float) -> str:
    if value >= 999.5:
        return f"{round(value, 2 - int(math.log10(value))):,.0f}"
    return f"{value:.3g}"


def _between(row: dict[str, Any]) -> str:
    if row["rounds"] < 2 or row["ratio"] == 1.0 or math.isnan(row["ratio_low"]):
        return ""
    ends = row["ratio_low"], row["ratio_high"]
    return " - ".join(f"{end:.2g}" if end < 0.01 else _three(end) for end in ends)


def _told(head: str, text: str) -> list[str]:
    """A row with a sentence instead of numbers, at most three lines long."""
    shown = textwrap.wrap(text, _WIDTH - len(head) - 2, max_lines=3, placeholder=" ...")
    return [
        (head if not line else " " * len(head)) + "  " + part for line, part in enumerate(shown)
    ]


def _iteration(title: str, rows: Records) -> str:
    limited = any(row["limit_ratio"] > 0.0 for row in rows)  # not NaN: small samples have no limit
    lines = [
        title,
        _turn("", "model", "median", "/elubench", "quartiles", "/limit" if limited else ""),
    ]
    for row in rows:
        name: str = _NAMES.get(row["peer"]) or row["peer"]
        if row["status"] == "ok":
            time, limit = seconds(row["seconds"]), ratio(row["limit_ratio"]) if limited else ""
            lines.append(_turn(name, row["model"], time, ratio(row["ratio"]), _between(row), limit))
        else:
            lines += _told(f"{name:<16}{row['model']:<12}", f"{row['status']}: {row['message']}")
    return "\n".join(lines)


def _turn(name: str, model: str, time: str, times: str, spread: str, limit: str) -> str:
    return f"{name:<16}{model:<12}{time:>9}{times:>11}{spread:>18}{limit:>11}".rstrip()


def _answer(title: str, rows: Records) -> str:
    lines = [title, _way("", "model", "time", "iterations", "ratio", "quartiles")]
    for row in rows:
        name, model, message = f"{row['peer']} {row['label']}", row["model"], row["message"]
        if row["status"] == "ok":
            time, made = seconds(row["seconds"]), f"{row['iterations']:,.0f}"
            lines.append(_way(name, model, time, made, ratio(row["ratio"]), _between(row)))
        elif row["status"] == "budget":
            time, made = f"> {seconds(row['seconds'])}", f"{row['iterations']:,.0f}"
            lines.append(_way(name, model, time, made, f"> {ratio(row['ratio'])}", message))
        elif row["status"] == "stopped":
            where, _, ended = message.partition(", ")
            made = f"{row['iterations']:,.0f} iteration{'s' * (row['iterations'] != 1)}"
            lines += _told(f"{name:<24}{model:<8}", f"stopped {where}, {made} ({ended})")
        else:
            lines += _told(f"{name:<24}{model:<8}", f"{row['status']}: {message}")
    return "\n".join(lines)


def _way(name: str, model: str, time: str, made: str, times: str, spread: str) -> str:
    return f"{name:<24}{model:<8}{time:>9}{made:>12}{times:>10}{spread:>17}".rstrip()


def _notes(records: Records, peers: Sequence[Peer]) -> list[str]:
    present = {row["peer"] for row in records}
    parts = {row["part"] for row in records}
    notes = [
        "Medians and quartiles are over rounds in which everyone has a turn; ratios are to "
        f"{ELUBENCH.name} in the same round. Model 'same': two Gaussians at -theta and theta with "
        "equal weights and one variance."
    ]
    if READING.name in present:
        notes.append(
            "/limit: ratio to the larger of two limits of this hardware: reading the data once, and "
            "computing one tanh per row in the cache, both with all threads. Both are left out where "
            "n (2 + d) is below a million: there, starting threads takes longer."
        )
    if "answer" in parts:
        notes.append(
            f"All start {START_NORM} from 0 on the same sample, except fit(auto), which finds its own "
            "start and is timed as a whole. Packing is timed, compiling is not. A ratio of 1 marks "
            "what the others are compared with; > is a lower bound, followed by the distance still to "
            "go. The radius is n^(-1/8) at d = 1 and 2 (d/n)^(1/4) at d >= 2. A wider model is done "
            "when its own likelihood is as high as the constrained optimum: its extra freedom is a "
            "head start."
        )
    notes += [peer.note for peer in peers if peer.note and peer.name in present]
    return [textwrap.fill(note, _WIDTH, subsequent_indent="  ") for note in notes]
