"""Using ELU: how it converges and diverges, what it costs, the practical procedure."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd

from elubench import rates
from elubench.algorithms.known import numbers_in
from elubench.papers.beyond_em.claims.shared import ISOTROPIC, SEVERAL, LemmaTable
from elubench.papers.beyond_em.claims.theorem import logarithmic
from elubench.verification.evidence import Evidence
from elubench.verification.measuring import (
    EXACT,
    LEVEL,
    Measured,
    around,
    exact,
    ratio_of_rms,
    rows_of,
    settings_of,
    share_of,
    table_of,
)
from elubench.verification.paper import Chapter
from elubench.verification.verdicts import Measurement

chapter = Chapter()


@chapter.claim(
    "linear-convergence",
    "ELU converges linearly, EM sublinearly",
    "Figures 1 and 2, left; Section 2.3",
    "experiment",
    "Until the radius, ELU's error falls by a constant factor per iteration, while EM's falls like "
    "a power of the iteration.",
    "At infinite n: ELU's factor is beta^(1/alpha), and EM's |theta|^(-alpha) grows by a constant "
    "per step. Agrees: within a hundredth of the value that follows from Lemma 1.",
)
def _(evidence: Evidence) -> Measured:
    table = LemmaTable(evidence, "trajectory_rates")
    measurements = [
        table.measured(quantity, around(table.row(quantity, d)["theory"], EXACT), d)
        for d in (1, 4)
        for quantity in ("ELU, factor", "EM, growth of |theta|^-alpha")
    ]
    settings = "isotropic model at infinite n, start 0.8"
    return Measured(tuple(measurements), settings, (), ("figure-1", "figure-2"))


@chapter.claim(
    "divergence-and-rescue",
    "ELU diverges after the radius; validation rescues it",
    "Section 2.2, on the minimum over the iterations",
    "remark",
    "After the radius ELU's iterates can diverge. Stopping at the smallest loss on held-out data "
    "costs little and keeps the radius.",
    "Agrees: at least nine runs in ten diverge when they are not stopped, on samples whose own "
    "optimum is not exactly 0; the selected iterate has at most twice the root mean square error "
    "of the sample's own optimum at every n; and an iteration with validation reads the data at "
    "most 1.2 times.",
)
def _(evidence: Evidence) -> Measured:
    rows = rows_of(evidence, algorithm="ELU", **ISOTROPIC, d=1, stop="end")
    zero = rates.at_zero(rows)
    overflow = _overflow(rows)
    diverged = (rows["status"] == "diverged") & (rows["iterations"] < overflow)
    anyway = int((diverged & zero).sum())
    given = int(rows["max_iter"].max())
    within = (
        f"within {given:,} iterations"
        if given < overflow
        else f"before the step itself overflows, at iteration {overflow:,}"
    )
    ratios = [
        ratio_of_rms(
            "validated error over that of the sample's optimum, largest over n",
            part["location_error"],
            part["mle_location_error"],
            (0.0, 2.0),
            f"at n = {size:.0e}".replace("e+", "e"),
        )
        for size, part in rows.groupby("n")
    ]
    reads = float((rows["passes"] / rows["iterations"].clip(lower=1)).max())
    stray = ("share of runs that diverge, optimum not at 0", int((diverged & ~zero).sum()))
    one_read = "training and held-out rows together are one read"
    return Measured(
        (
            share_of(*stray, int((~zero).sum()), (0.9, 1.0)),
            max(ratios, key=lambda one: one.value),
            exact("largest number of full reads per iteration", reads, (0.0, 1.2), note=one_read),
        ),
        settings_of(rows),
        (
            f"{int(zero.sum()):,} of the {len(rows):,} samples have their own optimum at exactly "
            f"0. There the loss pulls iterates to 0, however large the step is: {anyway:,} of these "
            f"runs diverge {within}.",
        ),
        ("figure-1",),
    )


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
    "Seconds per iteration of ELU divided by those of EM, in turns on the same samples, 2^17 to 2^22 "
    "rows. Agrees: the whole interval lies between 0.8 and 1.25.",
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    return Measured(
        (_cost_ratio(table, "ELU", (0.8, 1.25)),),
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
    "Exponent of n in the seconds per iteration (0.1 quantile over rounds, since disturbances only "
    "add). Agrees: between 0.5 and 1.5, and the number of iterations grows like log n at d = 1 and "
    "at d >= 2, as measured above.",
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    measurements = []
    for d, part in table[table["algorithm"] == "ELU"].groupby("d"):
        if part["n"].nunique() > 2:
            fit = rates.exponent(part, value="seconds", by="n", statistic=0.1, level=LEVEL)
            quantity = f"exponent of n in the seconds per iteration, d = {d}"
            measurements.append(Measurement(quantity, *fit.interval, 1.0, (0.5, 1.5)))
    for label, dimension in (("d = 1", 1), ("d >= 2", SEVERAL)):
        got = logarithmic(evidence, dimension).measurements[1]
        measurements.append(replace(got, quantity=f"{got.quantity}, {label}"))
    settings = f"isotropic model, {_cost_settings(table)}"
    return Measured(tuple(measurements), settings, (), ("costs", "passes"))


def _cost_ratio(
    table: pd.DataFrame, over: str, accepted: tuple[float, float], where: str = ""
) -> Measurement:
    """Median over rounds and sizes of the ratio of seconds to EM's within a round, bootstrapped."""
    wide = table.pivot_table(index=["n", "d", "round"], columns="algorithm", values="seconds")
    ratio = (wide[over] / wide["EM"]).to_numpy()
    found = rates.bootstrap(lambda each: np.median(each, axis=-1), ratio, level=LEVEL)
    quantity = f"seconds per iteration, {over} over EM{where}"
    return Measurement(quantity, *found, 1.0, accepted, "median over rounds and sizes")


def _cost_settings(table: pd.DataFrame) -> str:
    sizes = ", ".join(f"({n:,}, {d})" for n, d in table[["n", "d"]].drop_duplicates().to_numpy())
    return f"(n, d) = {sizes}; {table['round'].nunique()} rounds in turns"


def _passes_text(table: pd.DataFrame) -> str:
    found = table.groupby("algorithm", sort=False)["passes"].mean()
    return ", ".join(f"{name} {value:.3g}" for name, value in found.items())


@chapter.claim(
    "practical-procedure",
    "Running EM and ELU together tells the regimes apart",
    "Section 2.2, practical implications",
    "remark",
    "Where it is not known whether the data are over-specified, run both: if EM converges "
    "geometrically, they are not, and EM is the one to follow; if it crawls, they are, and ELU is. "
    "This costs little more than one of them.",
    "Two Gaussians four standard deviations apart, and one Gaussian, d = 1 and 2. Agrees: EM is "
    "found to be geometric on at least nine in ten samples of the first kind and on at most one in "
    "ten of the second, and the error on one Gaussian is below EM's after as many iterations. What "
    "both together cost is a claim of its own.",
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "practice")
    apart, one = (table[table["case"] == case] for case in ("separated", "one Gaussian"))
    found = [(int(part["geometric"].sum()), len(part)) for part in (apart, one)]
    return Measured(
        (
            share_of("separated: EM found geometric", *found[0], (0.9, 1.0)),
            share_of("one Gaussian: EM found geometric", *found[1], (0.0, 0.1)),
            ratio_of_rms(
                "one Gaussian: error over EM's after as many iterations",
                one["location_error"],
                one["em_error"],
                (0.0, 1.0),
            ),
        ),
        _practice_settings(table),
        (),
        ("costs",),
    )


@chapter.claim(
    "both-cost",
    "Running EM and ELU together costs little more than one",
    "Section 2.2, practical implications",
    "remark",
    "Running both at the same time only slightly increases the cost of running one of them.",
    "Seconds per iteration of both, in one read of the data, divided by those of EM, at d = 1 and at "
    "d = 16. Agrees: the whole interval is at most 1.5.",
)
def _(evidence: Evidence) -> Measured:
    table = table_of(evidence, "costs")
    measurements = [
        _cost_ratio(table[table["d"] == d], "Simultaneous", (0.0, 1.5), f", d = {d}")
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


def _practice_settings(table: pd.DataFrame) -> str:
    cases = "; ".join(
        f"{case}: {len(part)} samples, n = {part['n'].iloc[0]:.0e}, d = 1 and 2".replace("e+", "e")
        for case, part in table.groupby("case")
    )
    return f"isotropic model; {cases}; a tenth held out, at most {table['iterations'].max()} iterations"
