"""Using ELU: how it converges and diverges, and what it costs."""

from __future__ import annotations

import math
import sys

import numpy as np
import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.papers.beyond_em.claims.shared import ISOTROPIC, SEVERAL, LemmaTable
from elubench.papers.beyond_em.claims.theorem import LOGARITHMIC, logarithmic
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import (
    Expectation,
    at_least,
    at_most,
    below,
    between,
    near,
    nearer,
)
from elubench.verification.measuring import (
    LOG_POWER,
    Measured,
    exactly,
    ratio_of_rms,
    rows_of,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import LEVEL, Measurement

chapter = Chapter()

_TRAJECTORIES = {
    "ELU, factor": near("ELU's factor over its prediction", 1.0, 0.01),
    "EM, growth of |theta|^-alpha": near(
        "EM's growth of |theta|^-alpha over its prediction", 1.0, 0.01
    ),
}
_EXACT = 10**11  # beyond, the gradient rounds to 0 close to an optimum
_DIVERGE = at_least("share of runs that diverge, optimum not at 0", 0.9)
_RESCUED = at_most("validated error over that of the sample's optimum", 2.0)
_READS = at_most("largest number of full reads per iteration", 1.2)
_SECONDS = between("seconds per iteration, ELU over EM", 0.8, 1.25, 1.0)
_LINEAR = nearer("exponent of n in the seconds per iteration", 1.0, {"constant": 0.0, "n^2": 2.0})
_BY_D = below("exponent of d in the seconds per iteration", 1.0, {"d^2": 2.0})
_BOTH = below("seconds per iteration, both over EM", 1.0, {"one after the other": 2.0})


@chapter.claim(
    "linear-convergence",
    "ELU converges linearly, EM sublinearly",
    "Figures 1 and 2, left; Section 2.3",
    "experiment",
    "Until the radius, ELU's error falls by a constant factor per iteration, while EM's falls like "
    "a power of the iteration.",
    "At infinite n: ELU's factor is beta^(1/alpha), and EM's |theta|^(-alpha) grows by a constant "
    "per step; each over the value that follows from Lemma 1.",
    [*_TRAJECTORIES.values()],
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "trajectory_rates")
    measurements = []
    for d in (1, 4):
        for quantity, expected in _TRAJECTORIES.items():
            row = table.row(quantity, d)
            ratio = row["measured"] / row["theory"]
            measurements.append(exactly(expected, ratio, row["note"], f"d = {d}"))
    settings = "isotropic model at infinite n, start 0.8"
    return Measured(tuple(measurements), settings, (), ("figure-1", "figure-2"))


@chapter.claim(
    "divergence-and-rescue",
    "ELU diverges after the radius; validation rescues it",
    "Section 2.2, on the minimum over the iterations",
    "remark",
    "After the radius ELU's iterates can diverge. Stopping at the smallest loss on held-out data "
    "costs little and keeps the radius.",
    "Runs that are not stopped, on samples whose own optimum is not exactly 0, n up to 10^11; the root "
    "mean square error of the selected iterate, at smaller and at larger n in units of the radius, at "
    "most twice that of the optimum, as the radius has the constant 2; and what validation reads.",
    [_DIVERGE, _RESCUED, _READS],
)
def _(evidence: Evidence) -> Measured:
    rows = rows_of(evidence, algorithm="ELU", **ISOTROPIC, d=1, stop="end")
    zero = rates.at_zero(rows)
    overflow = _overflow(rows)
    diverged = (rows["status"] == "diverged") & (rows["iterations"] < overflow)
    anyway = int((diverged & zero).sum())
    small = rows["n"] <= _EXACT
    stray = small & ~zero
    given = int(rows["max_iter"].max())
    within = (
        f"within {given:,} iterations"
        if given < overflow
        else f"before the step itself overflows, at iteration {overflow:,}"
    )
    ratios = []
    for sizes in np.array_split(sorted(rows["n"].unique()), 2):
        part = rows[rows["n"].isin(sizes)]
        kept, best = (part[f"{of}location_error"] / part["radius"] for of in ("", "mle_"))
        where = f"n = {sizes[0]:.0e} to {sizes[-1]:.0e}".replace("e+", "e")
        ratios.append(ratio_of_rms(_RESCUED, kept, best, where=where))
    reads = float((rows["passes"] / rows["iterations"].clip(lower=1)).max())
    one_read = "training and held-out rows together are one read"
    return Measured(
        (
            share_of(_DIVERGE, int((diverged & stray).sum()), int(stray.sum())),
            *ratios,
            exactly(_READS, reads, one_read),
        ),
        settings_of(rows),
        (
            f"{int(zero.sum()):,} of the {len(rows):,} samples have their own optimum at exactly "
            f"0. There the loss pulls iterates to 0, however large the step is: {anyway:,} of these "
            f"runs diverge {within}.",
            *_at_rest(rows[~small & ~zero], diverged),
        ),
        ("figure-1",),
    )


def _at_rest(rows: pd.DataFrame, diverged: pd.Series[bool]) -> list[str]:
    """What rounding does at the largest n, as a sentence."""
    if rows.empty:
        return []
    return [
        f"Beyond n = 10^11 {int(diverged[rows.index].sum()):,} of {len(rows):,} such runs diverge: the "
        "gradient is so flat there that it rounds to exactly 0 at the optimum, where iterates rest."
    ]


def _overflow(rows: pd.DataFrame) -> int:
    """The iteration whose step, eta / beta^t, overflows: every run ends there."""
    given = numbers_in(rows["options"].iloc[0])
    return math.ceil(math.log(given["eta"] / sys.float_info.max) / math.log(given["beta"]))


@chapter.claim(
    "equal-cost",
    "An ELU iteration costs as much as an EM iteration",
    "Section 2.2, practical implications",
    "remark",
    "ELU and EM have a similar cost per iteration.",
    "Seconds per iteration of ELU divided by those of EM, in turns on the same samples, 2^18 to 2^22 "
    "rows. Similar is a choice: within a quarter either way.",
    [_SECONDS],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    return Measured(
        (_cost_ratio(_SECONDS, table, "ELU"),),
        f"isotropic model, {_cost_settings(table)}",
        (f"Passes over the data per iteration: {_passes_text(table)}.",),
        ("costs",),
    )


@chapter.claim(
    "total-cost",
    "ELU costs O(n d log(n/d)) in total",
    "Introduction; Section 2.2",
    "theorem",
    "An iteration costs O(nd), and ELU needs O(log(n/d)) of them.",
    "Exponents of n and of d in the seconds per iteration (0.1 quantile over rounds, since "
    "disturbances only add), the latter an upper bound, and whether the iterations grow like log n, as "
    "measured above.",
    [_LINEAR, _BY_D, LOGARITHMIC, LOG_POWER],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    measurements = []
    for expected, by, other in ((_LINEAR, "n", "d"), (_BY_D, "d", "n")):
        for at, part in table[table["algorithm"] == "ELU"].groupby(other):
            if part[by].nunique() > 2:
                fit = rates.exponent(part, value="seconds", by=by, statistic=0.1, level=LEVEL)
                measurements.append(Measurement(expected, *fit.interval, where=f"{other} = {at:,}"))
    measurements += [
        one
        for label, dimension in (("d = 1", 1), ("", SEVERAL))
        for one in logarithmic(evidence, dimension, label).measurements
        if one.expected in (LOGARITHMIC, LOG_POWER)
    ]
    settings = f"isotropic model, {_cost_settings(table)}"
    return Measured(tuple(measurements), settings, (), ("costs", "passes"))


def _cost_ratio(
    expected: Expectation, table: pd.DataFrame, over: str, where: str = ""
) -> Measurement:
    """Median over rounds and sizes of the ratio of seconds to EM's within a round, bootstrapped."""
    wide = table.pivot_table(index=["n", "d", "round"], columns="algorithm", values="seconds")
    ratio = (wide[over] / wide["EM"]).to_numpy()
    found = rates.bootstrap(lambda each: np.median(each, axis=-1), ratio, level=LEVEL)
    return Measurement(expected, *found, "median over rounds and sizes", where)


def _cost_settings(table: pd.DataFrame) -> str:
    sizes = ", ".join(f"({n:,}, {d})" for n, d in table[["n", "d"]].drop_duplicates().to_numpy())
    return f"(n, d) = {sizes}; {table['round'].nunique()} rounds in turns"


def _passes_text(table: pd.DataFrame) -> str:
    found = table.groupby("algorithm", sort=False)["passes"].mean()
    return ", ".join(f"{name} {value:.3g}" for name, value in found.items())


@chapter.claim(
    "both-cost",
    "Running EM and ELU together costs little more than one",
    "Section 2.2, practical implications",
    "remark",
    "Running both at the same time only slightly increases the cost of running one of them.",
    "Seconds per iteration of both, in one read of the data, divided by those of EM, at d = 1 and at "
    "d = 16.",
    [_BOTH],
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    measurements = [
        _cost_ratio(_BOTH, table[table["d"] == d], "Simultaneous", f"d = {d}")
        for d in (table["d"].min(), table["d"].max())
    ]
    return Measured(
        tuple(measurements),
        f"isotropic model, {_cost_settings(table)}",
        (
            "The order of the cost is the same. But where d is small, most of the time goes to tanh, "
            "and each algorithm needs its own; sharing the read saves time only where d is large.",
        ),
        ("costs",),
    )
