"""One look for all figures: a colour, a marker and a dash for each algorithm, axes that read well.

Figures are drawn within :func:`look`, which starts from matplotlib's own defaults, so they do not depend
on what a notebook or a configuration file has set, and change no setting.
"""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, ParamSpec, TypeVar

import matplotlib
import matplotlib.style
import numpy as np
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    Locator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from elubench.algorithms.base import Algorithm, Look
from elubench.algorithms.known import kind_of

P = ParamSpec("P")
T = TypeVar("T")

#: Inches: a figure as wide as the page.
WIDTH = 7.6
DPI = 160

#: Theory is drawn in one way everywhere.
THEORY: dict[str, Any] = {"color": "0.25", "linestyle": (0, (4.0, 2.0)), "linewidth": 1.0}
QUIET = "0.45"


#: For things other than algorithms: sizes n, dimensions d.
SHADES = ("#9ecae1", "#3f97cf", "#12519e", "#06183a")


def shade(number: int, of: int) -> str:
    """The colour of the k-th of several things in an order, dark first."""
    place = 2 * number if of == 2 else round(number * (len(SHADES) - 1) / max(3, of - 1))
    return SHADES[::-1][place]


def look_of(algorithm: str) -> Look:
    """Colour, marker and dash of an algorithm; unknown ones share one look."""
    try:
        return kind_of(algorithm).look
    except ValueError:  # of a module that is not at hand
        return Algorithm.look


def line(kind: Look) -> dict[str, Any]:
    """Options of ``Axes.plot`` for a curve without markers."""
    return {"color": kind.colour, "linestyle": kind.dash, "linewidth": kind.width}


def in_order(algorithms: Iterable[str]) -> list[str]:
    """Algorithms in the order of legends, others after them by name."""
    return sorted(set(algorithms), key=lambda name: (look_of(name).place, name))


@contextmanager
def look() -> Iterator[None]:
    """Matplotlib's defaults, seaborn's ticks, our sizes; settings are restored afterwards."""
    with (
        matplotlib.style.context("default"),
        sns.axes_style("ticks"),
        sns.plotting_context("notebook", font_scale=0.82),
        matplotlib.rc_context(_OWN),
    ):
        yield


_OWN: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9.0,
    "ytick.labelsize": 9.0,
    "legend.fontsize": 9.0,
    "legend.frameon": False,
    "font.size": 9.5,
    "lines.markersize": 4.5,
    "axes.linewidth": 0.8,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "xtick.major.size": 4.0,
    "ytick.major.size": 4.0,
    "font.family": ["DejaVu Sans"],
    "svg.hashsalt": "elubench",
    "svg.fonttype": "path",
    "path.simplify": True,
}


def styled(draw: Callable[P, T]) -> Callable[P, T]:
    """Make a function draw within :func:`look`."""

    @functools.wraps(draw)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        with look():
            return draw(*args, **kwargs)

    return inside


def new_figure(
    columns: int = 1, rows: int = 1, *, height: float = 3.0, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure as wide as the page, and its axes row by row. ``height`` is that of a row in inches."""
    figure = Figure(figsize=(WIDTH, height * rows), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, [axes[i, j] for i in range(rows) for j in range(columns)]


def as_svg(figure: Figure) -> bytes:
    """The figure as SVG with outlined text: the same everywhere, without fonts or dates."""
    return _saved(figure, "svg", metadata={"Date": None, "Creator": None})


def as_png(figure: Figure, dpi: float = DPI) -> bytes:
    """The figure as PNG."""
    return _saved(figure, "png", dpi=dpi, metadata={"Software": None})


def as_pdf(figure: Figure) -> bytes:
    """The figure as PDF, without dates."""
    return _saved(figure, "pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})


@styled
def _saved(figure: Figure, kind: Literal["svg", "png", "pdf"], **options: Any) -> bytes:
    target = io.BytesIO()
    figure.savefig(target, format=kind, **options)
    return target.getvalue()


# --- axes ------------------------------------------------------------------------------------------


def power_ticks(axes: Axes, axis: Literal["x", "y"], most: int = 7, upto: float = math.inf) -> None:
    """A logarithmic axis with ticks at powers of ten, at most ``most`` of them, none above ``upto``.

    Where less than two powers are in sight, round numbers between them are marked instead.
    """
    line = axes.xaxis if axis == "x" else axes.yaxis
    line.set_major_locator(_Powers(most, upto, 0))
    line.set_major_formatter(
        FuncFormatter(lambda x, _: (power if _decades(*_seen(line, upto)) else plain)(x))
    )
    line.set_minor_locator(_Powers(most, upto, 1))
    line.set_minor_formatter(NullFormatter())


def log_axes(axes: Axes) -> None:
    """Two logarithmic axes, each with ticks at powers of ten."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    power_ticks(axes, "x")
    power_ticks(axes, "y")


class _Powers(Locator):
    """Ticks of :func:`power_ticks`, for the limits that an axis has when it is drawn."""

    def __init__(self, most: int, upto: float, kind: int):
        self.most, self.upto, self.kind = most, upto, kind  # kind 0: major ticks; 1: minor ones

    def __call__(self) -> Any:
        return _places(*_seen(self.axis, self.upto), self.most)[self.kind]


def _seen(line: Any, upto: float) -> tuple[float, float]:
    """The limits of a logarithmic axis, the upper one at most ``upto``."""
    low, high = sorted(line.get_view_interval())
    return max(float(low), 1e-300), min(float(high), upto * (1.0 + 1e-9))


def _decades(low: float, high: float) -> bool:
    """Whether two powers of ten are in sight."""
    return math.floor(math.log10(high) + 1e-9) - math.ceil(math.log10(low) - 1e-9) >= 1


def _places(low: float, high: float, most: int) -> tuple[list[float], list[float]]:
    """Major and minor ticks between two numbers."""
    if not _decades(low, high):
        return _round_numbers(low, high), []
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    stride = max(1, math.ceil((last - first + 1) / most))
    phase = last if (last - first) % stride == 0 else 0  # both ends named, or multiples
    powers = [10.0**k for k in range(first, last + 1) if (k - phase) % stride == 0]
    between: list[float] = []
    if stride > 1:
        between = [10.0**k for k in range(first, last + 1)]
    elif last - first <= 2:
        between = [m * 10.0**k for k in range(first - 1, last + 1) for m in range(2, 10)]
    return powers, [x for x in between if low <= x <= high]


def _round_numbers(low: float, high: float) -> list[float]:
    """Three to six round numbers between two numbers less than two powers of ten apart."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)):
        ticks = [m * 10.0**k for k in decades for m in digits]
        ticks = [float(f"{x:.3g}") for x in ticks if low <= x <= high]
        if len(ticks) >= 3:
            return ticks
    return [float(x) for x in MaxNLocator(4).tick_values(low, high) if low <= x <= high]


def value_ticks(axes: Axes, axis: Literal["x", "y"], values: Sequence[float]) -> None:
    """Ticks at the values themselves, written out: for d, or a few n."""
    line = axes.xaxis if axis == "x" else axes.yaxis
    line.set_major_locator(FixedLocator([float(value) for value in values]))
    line.set_major_formatter(FuncFormatter(lambda x, _: plain(x)))
    line.set_minor_locator(NullLocator())


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value: float) -> str:
    """A power of ten in plain characters, 10⁶, which are drawn faster than mathematics."""
    return "10" + str(round(math.log10(value))).translate(_RAISED)


def plain(value: float) -> str:
    """A number at a tick: 0.05, 2000, 5·10⁵, 1.5·10⁻⁴."""
    if value == 0.0 or 1e-3 <= abs(value) < 1e4:
        return f"{value:g}"
    mantissa, exponent = f"{value:.5e}".split("e")
    head = f"{float(mantissa):g}·" if float(mantissa) != 1.0 else ""
    return head + power(10.0 ** int(exponent))


def size(n: float) -> str:
    """A sample size in text: 10⁶, 3·10⁵, 2,000."""
    exponent = math.floor(math.log10(n) + 1e-12)
    mantissa = n / 10.0**exponent
    if n >= 1e4 and abs(mantissa - round(mantissa)) < 1e-9:
        head = "" if round(mantissa) == 1 else f"{round(mantissa)}·"
        return head + power(10.0**exponent)
    return f"{n:,.0f}"


def fraction(slope: float) -> str:
    """An exponent as a fraction: -1/8, 3/4."""
    for denominator in (1, 2, 4, 8):
        numerator = slope * denominator
        if abs(numerator - round(numerator)) < 1e-9:
            sign, whole = ("−" if slope < 0 else ""), abs(round(numerator))  # noqa: RUF001
            return f"{sign}{whole}/{denominator}" if denominator > 1 else f"{sign}{whole}"
    return f"{slope:g}"


def slope_line(
    axes: Axes,
    x: tuple[float, float],
    anchor: tuple[float, float],
    slope: float,
    text: str = "",
    above: bool = True,
) -> None:
    """The line of a power of x through a point, on logarithmic axes, labelled at its middle."""
    ends = np.asarray(x, dtype=float)
    axes.plot(ends, anchor[1] * (ends / anchor[0]) ** slope, zorder=1.5, **THEORY)
    if text:
        middle = math.sqrt(ends[0] * ends[1])
        axes.annotate(
            text,
            (middle, anchor[1] * (middle / anchor[0]) ** slope),
            textcoords="offset points",
            xytext=(0.0, 5.0 if above else -5.0),
            ha="right" if above == (slope > 0) else "left",
            va="bottom" if above else "top",
            color=THEORY["color"],
            fontsize=8.5,
        )


def handle(algorithm: str, faint: bool = False) -> Line2D:
    """What a legend shows for an algorithm."""
    kind, alpha = look_of(algorithm), 0.6 if faint else 1.0
    return Line2D([], [], marker=kind.marker, alpha=alpha, label=algorithm, **line(kind))


def legend_below(figure: Figure, handles: Sequence[Any], columns: int = 6) -> None:
    """A legend under all panels, where it covers nothing."""
    figure.legend(
        handles=list(handles),
        loc="outside lower center",
        ncols=min(columns, len(handles)),
        handlelength=2.6,
        columnspacing=1.4,
    )


def label_ends(axes: Axes, ends: Sequence[tuple[str, float, float]], room: float = 0.2) -> None:
    """Name curves at their right ends, moved apart where names would collide; a thin line connects them.

    ``ends`` has the algorithm and the last point of each curve; ``room`` is the share of the width of
    the axes left for the names. Call it after the limits are set.
    """
    if not ends:
        return
    left = axes.get_xlim()[0]
    logarithmic = axes.get_xscale() == "log"
    last = max(x for _, x, _ in ends)
    if logarithmic:
        axes.set_xlim(left, last * (last / left) ** (room / (1.0 - room)))
    else:
        axes.set_xlim(left, last + (last - left) * room / (1.0 - room))
    height = _inches_high(axes)
    apart = 10.5 / 72.0 / height  # a line of text in units of the height of the axes
    to_axes = axes.transData + axes.transAxes.inverted()
    places = sorted((float(to_axes.transform((x, y))[1]), name, x, y) for name, x, y in ends)
    targets = spread([place for place, *_ in places], apart)
    at = float(to_axes.transform((last, ends[0][2]))[0]) + 0.035
    for target, (_, name, x, y) in zip(targets, places, strict=True):
        axes.annotate(
            name,
            (x, y),
            xycoords="data",
            textcoords="axes fraction",
            xytext=(at, target),
            va="center",
            ha="left",
            fontsize=8.8,
            color=_darker(look_of(name).colour),
            fontweight="bold" if name in ("EM", "ELU") else "normal",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": look_of(name).colour,
                "linewidth": 0.6,
                "shrinkA": 0.0,
                "shrinkB": 4.0,
            },
        )


def _darker(colour: str) -> tuple[float, ...]:
    """For text, which needs more contrast than lines do."""
    return tuple(0.75 * part for part in to_rgb(colour))


def _inches_high(axes: Axes) -> float:
    """About how high axes will be once the layout is made: a row of the figure less its labels."""
    figure, grid = axes.get_figure(), axes.get_gridspec()
    high = float(figure.bbox.height / figure.dpi) if figure is not None else 3.0
    return 0.75 * high / (grid.nrows if grid is not None else 1)


def spread(places: Sequence[float], apart: float) -> list[float]:
    """The nearest places, in the same order, no two closer than ``apart``.

    Groups that touch are merged and centred on the mean of what they want (pool adjacent violators).
    """
    groups: list[tuple[float, int]] = []  # sum of wished-for starts, count
    for number, place in enumerate(places):
        groups.append((place - number * apart, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            before, many = groups.pop()
            groups.append((before + total, many + count))
    starts = [total / count for total, count in groups for _ in range(count)]
    return [start + number * apart for number, start in enumerate(starts)]
