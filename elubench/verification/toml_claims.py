"""Claims written in TOML: which rows, what is measured on them, which values agree.

    [[claim]]
    key = "em-iterations"
    title = "EM needs n^(1/2) iterations"
    place = "Theorem 1"
    basis = "theorem"
    statement = "From d = 2 on, EM is within the radius after a multiple of n^(1/2) iterations."
    rows = { algorithm = "EM", d = 2, n = { least = 1e4 } }
    measure = "exponent"
    of = "iterations_to_radius"
    stated = "1/2"
    rivals = { "n^(1/3)" = "1/3", "n^(2/3)" = "2/3" }

``chapters=(claims_in(folder / "claims.toml"),)`` makes them claims like any other: what is expected is
declared, and the rule's text is made from it. Every key is described in EXTENDING.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pyarrow as pa

from elubench import checks, rates
from elubench.algorithms.known import numbers_in
from elubench.rates.corrections import power_of
from elubench.rates.exponents import check_statistic
from elubench.studies.rows import IDENTITY, OUTCOME, SCHEMA, TIME
from elubench.text import number
from elubench.verification.evidence import Evidence, chosen
from elubench.verification.expectations import Expectation, Rival, near, nearer
from elubench.verification.measuring import (
    Measured,
    NoEvidence,
    censored,
    contest,
    corrected_of,
    exponent_of,
    predicts_better,
    ratio_of_rms,
    settings_of,
    share_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Basis, Measurement

_HOLDOUT = 2  # sizes that a law of growth has to predict
_CLAIM = ("key", "title", "place", "basis", "statement", "rows", "measure", "each", "figures")
_EXPECTS = ("what", "stated", "tolerance", "least", "most", "rivals")
#: The further keys of each measure.
_MEASURES = {
    "exponent": ("of", "by", "statistic", "terms", "controls", *_EXPECTS),
    "growth": ("of", "by", "law"),
    "per_log": ("of", "by", *_EXPECTS),
    "ratio": ("of", "over", "under", *_EXPECTS),
    "share": ("that", *_EXPECTS),
}
#: What rows are chosen by, and what is measured on them.
_COLUMNS = {"study": pa.string(), **{field.name: field.type for field in SCHEMA}}
_NUMBERS = [name for name, kind in (OUTCOME | TIME).items() if pa.types.is_floating(kind)]
_NUMBERS += [name for name, kind in (OUTCOME | TIME).items() if pa.types.is_integer(kind)]
_AXES = [name for name, kind in IDENTITY.items() if kind in (pa.int64(), pa.float64())]

Conditions = Mapping[str, Any]


def claims_in(path: Path) -> Chapter:
    """The claims of a TOML file; ValueError names the file, the claim and the key."""
    chapter = Chapter()
    label = ""
    try:
        found = checks.toml(path.read_text("utf-8"))
        checks.keys(found, ("claim",))
        if not isinstance(found.get("claim"), list):
            raise TypeError("claim must be a list: each claim begins with [[claim]]")
        for place, given in enumerate(found["claim"], 1):
            label = f"claim {place}: "
            if not isinstance(given, dict):
                raise TypeError(f"must be a table, got {given!r}")
            checks.text(given.get("key"), "key", least=1)
            label = f"claim {given['key']!r}: "
            _add(chapter, given, f"{path}: {label}")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {label}{error}") from None
    return chapter


@dataclass(frozen=True)
class _Written:
    """What a function does for a claim in Python: from evidence to measurements."""

    label: str
    rows: Conditions
    each: str
    of: str
    take: Callable[[pd.DataFrame, str], Measurement]
    figures: tuple[str, ...]

    def __call__(self, evidence: Evidence) -> Measured:
        rows = evidence.rows(**self.rows)
        if rows.empty:
            raise NoEvidence(f"There are no {_runs(self.rows)} at the level {evidence.level}.")
        parts = {"": rows}
        if self.each:
            groups = rows.groupby(self.each, sort=True)
            parts = {_place(self.each, value): part for value, part in groups}
        try:
            taken = tuple(self.take(part, where) for where, part in parts.items())
        except (rates.TooLittle, NoEvidence):
            raise
        except ValueError as error:  # such as rows of two starts, which no fit takes for one
            raise ValueError(f"{self.label}rows: {error}") from None
        remarks: tuple[str, ...] = ()
        if _counts(self.of):
            remarks = (censored(rows),)
        elif self.of and (missing := int(rows[self.of].isna().sum())):
            remarks = (f"{missing:,} of {len(rows):,} runs have no {_words(self.of)}.",)
        return Measured(taken, settings_of(rows), remarks, self.figures)


def _add(chapter: Chapter, given: dict[str, Any], label: str) -> None:
    measure = checks.choice(given.get("measure"), "measure", tuple(_MEASURES))
    which = f"; for the measure {measure} these are "
    checks.keys(given, (*_CLAIM, *_MEASURES[measure]), which=which)
    rows = _conditions(given.get("rows", {}), "rows")
    if measure == "ratio":
        if "algorithm" in rows:
            raise ValueError("rows.algorithm must be left out: over and under name the algorithms")
        sides = [checks.text(given.get(key), key, least=1) for key in ("over", "under")]
        rows["algorithm"] = sides
    each = given.get("each", "")
    if each:
        checks.choice(each, "each", tuple(IDENTITY))
    of = ""
    if measure != "share":
        of = checks.choice(given.get("of"), "of", tuple(_NUMBERS))
    expected, how, take = _MAKERS[measure](given, of)
    figures = given.get("figures", [])
    if not isinstance(figures, list):
        raise TypeError(f"figures must be a list of keys, got {figures!r}")
    how += f", on {_runs(rows)}{f', for each {each}' if each else ''}."
    texts = {key: checks.text(given.get(key), key, least=1) for key in ("title", "place")}
    statement = checks.text(given.get("statement"), "statement", least=1)
    basis: Any = checks.choice(given.get("basis"), "basis", get_args(Basis))
    chapter.claim(
        given["key"], **texts, basis=basis, statement=statement, how=how, expects=[expected]
    )(_Written(label, rows, each, of, take, tuple(checks.text(one, "figures") for one in figures)))


# Each maker below returns what is expected, what is measured in words, and how it is taken from rows.
Made = tuple[Expectation, str, Callable[[pd.DataFrame, str], Measurement]]


def _exponent(given: dict[str, Any], of: str) -> Made:
    by = checks.choice(given.get("by", "n"), "by", tuple(_AXES))
    statistic = given.get("statistic", "median" if _counts(of) else "rmse")
    known = isinstance(statistic, str | float)
    if not known or _counts(of) != (statistic == "median"):
        raise ValueError(
            "statistic must be 'median' for what it took to the radius, and for errors 'rmse', 'mean' "
            f"or a number in (0, 1), that quantile; got {statistic!r} for {of}"
        )
    if statistic != "median":
        check_statistic(statistic)
    corrections = {key: given[key] for key in ("terms", "controls") if given.get(key)}
    for key, value in corrections.items():
        if not isinstance(value, list):
            raise TypeError(f"{key} must be a list, got {value!r}")
    for place, term in enumerate(corrections.get("terms", []), 1):
        power_of(term, by, f"terms[{place}]")
    if "controls" in corrections and isinstance(statistic, float):
        raise ValueError("controls must be left out for a quantile")
    for control in corrections.get("controls", []):
        checks.choice(control, "controls", tuple(_NUMBERS))
    named = {"rmse": "root mean square", "mean": "mean", "median": "median"}
    how = f"Exponent of {by} in the {named.get(str(statistic), f'{statistic} quantile of the')} "
    how += f"{_words(of)} over replicates"
    listed = [*corrections.get("terms", []), *map(_words, corrections.get("controls", []))]
    how += f", corrected by {' and '.join(map(str, listed))}" if listed else ""
    expected = _expectation(given, f"exponent of {by} in the {_words(of)}")

    def take(rows: pd.DataFrame, where: str) -> Measurement:
        if corrections:
            more = {**corrections, "by": by, **({"spent": _spent(of)} if _counts(of) else {})}
            return corrected_of(expected, rows, of, statistic, where, **more)
        if not _counts(of):
            return exponent_of(expected, rows, of, by, statistic, where)
        law: Any = rates.growth(rows, of, _spent(of), by, LEVEL).laws.loc["power"]
        note = "median over replicates" + (
            f"; the local slope still changes with {by}" if law["moving"] else ""
        )
        return Measurement(expected, law["b"], law["b_low"], law["b_high"], note, where)

    return expected, how, take


def _growth(given: dict[str, Any], of: str) -> Made:
    law = checks.choice(given.get("law"), "law", ("logarithm", "power"))
    by = _counted_by(given, of)
    expected = predicts_better(law)
    how = (
        f"The laws a + b ln {by} and a {by}^b are fitted to the median {_words(of)} without the two "
        f"largest {by}, and predict it at the largest"
    )

    def take(rows: pd.DataFrame, where: str) -> Measurement:
        known = int((rates.growth(rows, of, _spent(of), by).sizes["used"] != "").sum())
        if known < _HOLDOUT + 2:
            raise rates.TooLittle(f"laws of growth need {_HOLDOUT + 2} values of {by}, got {known}")
        found = rates.growth(rows, of, _spent(of), by, LEVEL, holdout=_HOLDOUT)
        return contest(expected, found, law, where)

    return expected, how, take


def _per_log(given: dict[str, Any], of: str) -> Made:
    by = _counted_by(given, of)
    expected = _expectation(given, f"{_words(of)} per unit of ln {by}")
    how = f"Slope of the median {_words(of)} against ln {by}, over the upper half of the values"

    def take(rows: pd.DataFrame, where: str) -> Measurement:
        found = rates.growth(rows, of, _spent(of), by, LEVEL)
        return Measurement(expected, *found.slope_per_log, "upper half of the sizes", where)

    return expected, how, take


def _counted_by(given: dict[str, Any], of: str) -> str:
    """What a count to the radius is held against."""
    if not _counts(of):
        known = ", ".join(filter(_counts, _NUMBERS))
        raise ValueError(f"of must be one of {known}, got {of!r}")
    return checks.choice(given.get("by", "n"), "by", tuple(_AXES))


def _ratio(given: dict[str, Any], of: str) -> Made:
    over, under = given["over"], given["under"]
    statistic = "median" if _counts(of) else "root mean square"
    expected = _expectation(given, f"{_words(of)} of {over} over those of {under}")
    how = f"Ratio of the {statistic} {_words(of)} at the largest n, {over} over {under}"

    def take(rows: pd.DataFrame, where: str) -> Measurement:
        one, two = (rows[rows["algorithm"] == name] for name in (over, under))
        if one.empty or two.empty:
            raise NoEvidence(f"There are no runs of {under if len(one) else over}.")
        if _counts(of):
            found = rates.ratio_of_medians(one, two, of, _spent(of), LEVEL)
            return Measurement(expected, *found, "medians over samples", where)
        keys = ["n", "d", "seed", "replicate"]
        pairs = one.merge(two, on=keys, validate="one_to_one").dropna(subset=[f"{of}_x", f"{of}_y"])
        last = pairs[pairs["n"] == pairs["n"].max()]
        if last.empty:
            raise NoEvidence(f"No sample has the {_words(of)} of both algorithms.")
        return ratio_of_rms(expected, last[f"{of}_x"], last[f"{of}_y"], "same samples", where)

    return expected, how, take


def _share(given: dict[str, Any], of: str) -> Made:
    that = _conditions(given.get("that", {}), "that")
    if not that:
        raise ValueError("that must say which runs are counted, such as { reached = true }, got {}")
    expected = _expectation(given, f"share of {_runs(that)}")

    def take(rows: pd.DataFrame, where: str) -> Measurement:
        return share_of(expected, int(chosen(rows, that).sum()), len(rows), where)

    return expected, f"Share of {_runs(that)}", take


_MAKERS: dict[str, Callable[[dict[str, Any], str], Made]] = {
    "exponent": _exponent,
    "growth": _growth,
    "per_log": _per_log,
    "ratio": _ratio,
    "share": _share,
}


def _expectation(given: dict[str, Any], what: str) -> Expectation:
    what = checks.text(given.get("what", what), "what", least=1)
    numbers = {key: _number(given[key], key) for key in _EXPECTS[1:5] if key in given}
    rivals = given.get("rivals", {})
    if not isinstance(rivals, dict):
        raise TypeError(f"rivals must be a table of names and values, got {rivals!r}")
    rivals = {name: _number(value, f"rivals.{name}") for name, value in rivals.items()}
    stated = numbers.pop("stated", math.nan)
    if "tolerance" in numbers:
        if len(numbers) > 1:
            raise ValueError("tolerance must not be given with least or most")
        if math.isnan(stated):
            raise ValueError("tolerance needs the key stated")
        return near(what, stated, numbers["tolerance"], rivals)
    if numbers:
        ends = numbers.get("least", -math.inf), numbers.get("most", math.inf)
        return Expectation(what, *ends, stated, tuple(Rival(*one) for one in rivals.items()))
    if rivals and not math.isnan(stated):
        return nearer(what, stated, rivals)
    raise ValueError("stated needs tolerance or rivals; or else give least or most")


def _number(value: Any, name: str) -> float:
    """A number, or a fraction as text."""
    if isinstance(value, str):
        try:
            return float(Fraction(value))
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"{name} must be a number or text such as '-1/4', got {value!r}"
            ) from None
    return checks.real(value, name)


def _conditions(given: Any, name: str) -> dict[str, Any]:
    """Filters by column: a value, a list of values, or a table with least or most."""
    if not isinstance(given, dict):
        raise TypeError(f"{name} must be a table of columns and values, got {given!r}")
    for column, value in given.items():
        at = f"{name}.{column}"
        if column not in _COLUMNS:
            raise ValueError(f"{at} is not a column; columns are {', '.join(_COLUMNS)}")
        kind = _COLUMNS[column]
        if isinstance(value, dict) and column == "options":
            for key, option in value.items():
                checks.real(option, f"{at}.{key}")
            continue
        if isinstance(value, dict) and kind not in (pa.string(), pa.bool_()):
            checks.keys(value, ("least", "most"), f"{at}.")
            for key, end in value.items():
                checks.real(end, f"{at}.{key}")
            continue
        for one in value if isinstance(value, list) else [value]:
            if kind == pa.string():
                checks.text(one, at)
            elif kind == pa.bool_():
                checks.truth(one, at)
            else:
                checks.real(one, at)
    return dict(given)


def _counts(of: str) -> bool:
    """Whether a column says what it took to the radius, and is empty where a run did not arrive."""
    return of.endswith("_to_radius")


def _spent(of: str) -> str:
    return of.removesuffix("_to_radius")


def _words(column: str) -> str:
    return column.replace("_to_radius", " to the radius").replace("_", " ")


def _place(column: str, value: Any) -> str:
    """Which part of the rows a measurement is about, in words."""
    options = numbers_in(value) if column == "options" else {}
    if options:
        return ", ".join(f"{key} = {number(option)}" for key, option in options.items())
    return f"{column} = {value}"


def _runs(conditions: Conditions) -> str:
    """Runs that satisfy conditions, in words."""
    said = []
    for column, value in conditions.items():
        listed = value if isinstance(value, list) else [value]
        if isinstance(value, dict) and column == "options":
            said += [f"{key} = {number(option)}" for key, option in value.items()]
        elif isinstance(value, dict):
            ends = [f"at {key} {number(end)}" for key, end in value.items()]
            said.append(f"{_words(column)} {' and '.join(ends)}")
        elif all(isinstance(one, str) for one in listed):
            said.append(f"{_words(column)} {' or '.join(listed)}")
        else:
            shown = [str(one).lower() if isinstance(one, bool) else number(one) for one in listed]
            said.append(f"{_words(column)} = {' or '.join(shown)}")
    return f"runs with {', '.join(said)}" if said else "all runs"
