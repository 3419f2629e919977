"""A figure against n as data, for the script that draws it in the browser: hover, curves on and off.

The picture shows the same numbers without a script; ``as_csv`` has them for a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
from matplotlib.markers import MarkerStyle

from elubench.algorithms.base import Look
from elubench.plot.against_n import statistic_of
from elubench.plot.radius import race_table
from elubench.plot.style import in_order, look_of, size
from elubench.report.study_figures import labelled, looks, words_of
from elubench.text import number


@dataclass(frozen=True)
class Point:
    """A value at n, from ``low`` to ``high``, and what to say about it.

    ``kind`` is "whole", "hollow" where runs are censored, or "lost" where too many are for a median:
    then ``y`` is the budget.
    """

    x: float
    y: float
    low: float
    high: float
    kind: str
    text: str


@dataclass(frozen=True)
class Curve:
    """The points of an algorithm; dash and marker as SVG has them."""

    name: str
    colour: str
    width: float
    dash: str
    marker: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Panel:
    """Curves over n; ``label`` is what is on the other axis."""

    name: str
    label: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Chart:
    """Panels, one of which is shown at a time."""

    panels: tuple[Panel, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def as_csv(self) -> str:
        """A line for each point."""
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n")
        write.writerow(["panel", "quantity", "curve", "n", "value", "low", "high", "kind"])
        for panel in self.panels:
            for curve in panel.curves:
                for one in curve.points:
                    about = (panel.name, panel.label, curve.name)
                    write.writerow([*about, f"{one.x:.0f}", one.y, one.low, one.high, one.kind])
        return out.getvalue()


def race_chart(rows: pd.DataFrame, spent: str = "passes") -> Chart:
    """What it takes to the radius against n, a panel for each d; as ``race_figure``."""
    panels = []
    for d, part in rows.groupby("d"):
        kinds = {name: look_of(name) for name in in_order(part["algorithm"])}
        label = words_of(f"{spent}_to_radius")
        panels.append(Panel(f"d = {d}", label, _counts(part, spent, kinds)))
    return Chart(tuple(panels))


def study_chart(rows: pd.DataFrame, columns: Sequence[str]) -> Chart:
    """Columns of results against n, a panel for each; rows of one model and d."""
    rows = labelled(rows)
    kinds = looks(rows)
    panels = []
    for column in columns:
        if column.endswith("_to_radius"):
            named = rows.assign(algorithm=rows["curve"])
            curves = _counts(named, column.removesuffix("_to_radius"), kinds)
        else:
            curves = _errors(rows, column, kinds)
        panels.append(Panel(words_of(column), words_of(column), curves))
    return Chart(tuple(panels))


def _counts(rows: pd.DataFrame, spent: str, kinds: Mapping[str, Look]) -> tuple[Curve, ...]:
    table = race_table(rows, spent)
    curves = []
    for name, look in kinds.items():
        part = table[table["algorithm"] == name].sort_values("n")
        points = [_count(name, one) for one in part.to_dict("records")]
        curves.append(_curve(name, look, [one for one in points if one is not None]))
    return tuple(curves)


def _count(name: str, one: Mapping[Any, Any]) -> Point | None:
    """Median and quartiles at an n; nothing where nothing was spent."""
    n, median, most = float(one["n"]), float(one["median"]), float(one["spent"])
    where, runs = f"{name} at n = {size(n)}", int(one["runs"])
    lost = runs - int(one["reached"])
    censored = f"; {lost} of {runs} runs censored" if lost else f"; {runs} runs, none censored"
    if math.isfinite(median) and median > 0.0:
        low = float(one["q25"])
        high = float(one["q75"]) if math.isfinite(one["q75"]) else most
        ends = f"{number(low, 3)} to {number(high, 3)}"
        text = f"{where}: median {number(median, 3)}, quartiles {ends}{censored}"
        return Point(n, median, low, high, "hollow" if lost else "whole", text)
    if math.isfinite(most) and most > 0.0:
        return Point(n, most, most, most, "lost", f"{where}: more than {number(most, 3)}{censored}")
    return None


def _errors(rows: pd.DataFrame, column: str, kinds: Mapping[str, Look]) -> tuple[Curve, ...]:
    curves = []
    for name, look in kinds.items():
        found = statistic_of(rows[rows["curve"] == name], column)
        points = [
            Point(float(n), y, y, y, "whole", f"{name} at n = {size(float(n))}: {number(y, 3)}")
            for n, y in zip(found.index, map(float, found), strict=True)
        ]
        curves.append(_curve(name, look, points))
    return tuple(curves)


def _curve(name: str, look: Look, points: Sequence[Point]) -> Curve:
    dash = "" if look.dash == "-" else " ".join(f"{look.width * part:g}" for part in look.dash[1])
    return Curve(name, look.colour, look.width, dash, _outline(look.marker), tuple(points))


def _outline(marker: str) -> str:
    """A marker of matplotlib, about one unit wide, as an SVG path; there y points down."""
    style = MarkerStyle(marker)
    drawn = style.get_path().transformed(style.get_transform())
    letters = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}
    parts = []
    for places, code in drawn.iter_segments():
        ends = places.reshape(-1, 2) if code != 79 else places[:0].reshape(-1, 2)
        parts.append(letters[int(code)] + " ".join(f"{x:.3g} {-y:.3g}" for x, y in ends))
    return "".join(parts)
