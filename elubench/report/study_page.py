"""The page of a study: how its runs ended, what they took, and every rate, for each block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elubench import checks, studies
from elubench.plot.style import size
from elubench.rates import censoring, fit_rates
from elubench.report.captions import about, sentence
from elubench.report.chart import study_chart
from elubench.report.glossary import glossary
from elubench.report.html import PageTable, Picture, made_by, picture, rendered, write_page
from elubench.report.study_figures import against_n, against_n_words, labelled, looks, words_of
from elubench.report.typesetting import typeset
from elubench.studies.store import StoreError
from elubench.text import number, with_interval
from elubench.verification.expectations import said

_ENDS = {
    "reached": "stopped at the radius",
    "converged": "converged",
    "max_iter": "out of iterations",
    "diverged": "diverged",
    "failed": "failed",
}
_LAWS = {"power": "n^b", "logarithm": "a + b ln n"}
_NONE = "–"  # noqa: RUF001


@dataclass(frozen=True)
class Section:
    """A block of a study on the page; ``without`` says why there are no rates."""

    title: str
    about: str
    outcomes: PageTable
    rates: PageTable | None
    without: str
    pictures: tuple[Picture, ...]


def write_study_report(folder: str | Path) -> Path:
    """Write the page of the study in a folder, complete or not; return its path. Nothing is run."""
    folder = Path(folder)
    progress, results = studies.study_progress(folder), studies.load_results(folder)
    if results.empty:
        raise StoreError(f"{folder} has no results yet: run its study first")
    path = folder / "study.toml"
    source = path.read_text("utf-8") if path.is_file() else ""
    sections = _sections(results.assign(study=progress.name))
    page = rendered(
        "study.html",
        progress=progress,
        sections=sections,
        glossary=glossary({}),
        description=str(checks.toml(source).get("description", "")),
        source=source,
        facts=made_by(results),
    )
    pictures = [one for section in sections for one in section.pictures]
    return write_page(folder, page, pictures, results, {})


def _sections(results: pd.DataFrame) -> list[Section]:
    made: list[Section] = []
    number = 0
    for block, rows in results.groupby("block", sort=False):
        rows = labelled(rows)
        columns = ["location_error", "scale_error"]
        if rows["stop"].iloc[0] == "radius":
            columns = ["iterations_to_radius", "cost_to_radius"]
        pictures = []
        for (model, d), part in rows.groupby(["model", "d"], sort=False):
            if part["n"].nunique() > 1:
                number += 1
                title = f"{_capital(block)}: {model} model, d = {d}"
                alt = (
                    f"{' and '.join(map(words_of, columns))} against the sample size, a curve for "
                )
                alt += f"each of {', '.join(looks(part))}."
                drawn = against_n(part, columns)
                words = against_n_words(part, columns)
                chart = study_chart(part, columns)
                pictures.append(
                    picture(drawn, number, f"{number} {title}", title, alt, words, chart)
                )
        described = sentence(about(rows, radius=columns[0].endswith("_to_radius")))
        outcomes, rates = _outcomes(rows, columns), _rates(rows)
        made.append(Section(_capital(block), described, outcomes, *rates, tuple(pictures)))
    return made


def _capital(block: Any) -> str:
    return f"{block}"[:1].upper() + f"{block}"[1:]


def _keys(rows: pd.DataFrame) -> list[str]:
    """What tells the lines of a table apart, beside the curve."""
    return [name for name in ("model", "d") if rows[name].nunique() > 1]


def _outcomes(rows: pd.DataFrame, columns: list[str]) -> PageTable:
    """How the runs of each algorithm ended, and what they took or missed at the largest n."""
    keys, order = _keys(rows), {curve: place for place, curve in enumerate(looks(rows))}
    ends = [status for status in _ENDS if (rows["status"] == status).any()]
    lines = []
    groups = rows.groupby([*keys, "curve"], sort=True)
    for key, part in sorted(groups, key=lambda one: (*one[0][:-1], order[str(one[0][-1])])):
        last = part[part["n"] == part["n"].max()]
        lines.append(
            (
                str(key[-1]),
                *map(str, key[:-1]),
                f"{len(part):,}",
                *(f"{(part['status'] == status).sum():,}" for status in ends),
                f"{(~part['reached']).sum():,}",
                *(_typical(last, column) for column in columns),
            )
        )
    heads = ("algorithm", *keys, "runs", *(_ENDS[status] for status in ends), "censored")
    taken = "medians" if columns[0].endswith("_to_radius") else "root mean squares"
    return PageTable(
        "How the runs ended",
        f"How the runs ended, all n together. Censored runs were never within the radius. The last two "
        f"columns are {taken} at the largest n, {size(rows['n'].max())}.",
        (*heads, *(words_of(column) for column in columns)),
        tuple(lines),
    )


def _typical(rows: pd.DataFrame, column: str) -> str:
    if column.endswith("_to_radius"):
        times, observed, used, _ = censoring.counts(rows, column, column.removesuffix("_to_radius"))
        median = censoring.quantile(times, observed)
        if math.isfinite(median):
            return number(median)
        # more than the budget of runs that might still arrive
        return f"> {number(float(np.max(used)))}" if math.isfinite(float(np.min(times))) else _NONE
    values = rows[column].dropna().to_numpy(dtype=float)
    return number(math.sqrt(float(np.mean(values**2)))) if len(values) else _NONE


def _rates(rows: pd.DataFrame) -> tuple[PageTable | None, str]:
    """The rates of :func:`elubench.rates.fit_rates`, or why there are none."""
    keys = _keys(rows)
    curves = rows.drop_duplicates(["start", "algorithm", "options"])
    found = fit_rates(rows).merge(curves[["start", "algorithm", "options", "curve"]])
    if found["estimate"].isna().all():
        return None, "; ".join(found["note"].unique())
    order = {curve: place for place, curve in enumerate(looks(rows))}
    found = found.assign(place=found["curve"].map(order), remark=found.apply(_remark, axis=1))
    same = found.duplicated([*keys, "curve", "law", "estimate", "low", "high", "remark"])
    found = found[~same].sort_values([*keys, "quantity", "place"], kind="stable")
    remarked = int(found["remark"].any())
    lines = [
        (
            str(one["curve"]),
            *(str(one[key]) for key in keys),
            words_of(str(one["quantity"])).removesuffix(" to the radius"),
            _LAWS.get(str(one["law"]), _NONE),
            _estimate(one, "estimate", "low", "high"),
            _estimate(one, "upper", "upper_low", "upper_high"),
            typeset(said(one["theory"])),
            *remarked * (str(one["remark"]),),
        )
        for _, one in found.iterrows()
    ]
    heads = ("law", "b", "b, upper half of n", "b in theory", *remarked * ("remark",))
    table = PageTable(
        "Rates",
        "Rates: b with its 95 % bootstrap interval, for the root mean square of an error or the "
        "median of what it took to the radius. Where theory gives no law for a count, the one that "
        "predicts the largest n better is fitted. Passes are listed where their rate is not that of the "
        "iterations. Still changing: b differs between small and large n.",
        ("algorithm", *keys, "quantity", *heads),
        tuple(lines),
    )
    return table, ""


def _remark(one: pd.Series[Any]) -> str:
    return "; ".join(filter(None, ["still changing" * bool(one["moving"]), one["note"]]))


def _estimate(one: pd.Series[Any], value: str, low: str, high: str) -> str:
    if math.isnan(one[value]):
        return _NONE
    return typeset(" ".join(with_interval(one[value], one[low], one[high])).strip())
