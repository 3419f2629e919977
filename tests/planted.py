"""Evidence with planted truths: rows that look like a study's, whose rates are known."""

import json
import math

import numpy as np
import pandas as pd
import planted_theory

from elubench.papers.beyond_em.predictions import em_iterations
from elubench.verification.evidence import Evidence

TRUTHS = {
    "location_1": -1 / 8,
    "scale_1": -1 / 4,
    "location_2": -1 / 4,
    "scale_2": -1 / 2,
    "em_1": 3 / 4,
    "em_2": 1 / 2,
    "elu_1": 0.75 / math.log(1 / 0.8),
    "elu_2": 0.5 / math.log(1 / 0.8),
    "elu_power": None,  # a power of n in place of the logarithm
    "location_d": 1 / 4,
    "scale_d": -1 / 2,
    "em_d": -1 / 2,
    "diverged": 1.0,
    "diverged_at": 100,
    "diagonal_equal": -1 / 4,
    "diagonal_generic": 0.0,
    "diagonal_mle": -1 / 8,
    "general_printed": 0.0,
    "general_centred": -1 / 4,
    "lbfgs": 15,
    "newton_anderson": 6,
    "replicates": 40,
    "moments_1": -1 / 8,
    "moments_2": -1 / 4,
    "moments_scale_2": -1 / 2,
    "moments_reads": 1.0,
}


def evidence(level="quick", tables=None, studies=("quick",), **changes):
    """Evidence with the truths above, but for the changes."""
    truth = {**TRUTHS, **changes}
    assert set(truth) == set(TRUTHS)
    rows = [*_errors(truth), *_iterations(truth), *_dimensions(truth), *_starts(truth)]
    rows += _moments(truth)
    made = lemma_tables() if tables is None else tables
    return Evidence(level, 0, studies, pd.DataFrame(rows), pd.DataFrame({"study": []}), made)


def _row(rng, **given):
    return {
        "study": "quick", "block": "b", "model": "isotropic", "samples": "lattice", "start": "equal",
        "start_norm": 0.8, "options": json.dumps({"eta": 0.01, "beta": 0.8}), "max_iter": 1000,
        "stop": "end", "validation": 0.1, "radius_constant": 2.0, "seed": 0, "status": "diverged",
        "reached": True, "iterations": 100, "passes": 101.0, "iterations_to_radius": 10.0,
        "passes_to_radius": 10.0, "mle_location_error": 0.0, "scale_error": 0.1, "radius": 1.0,
        "d": 1, "message": "", "mle_distance": 0.0, **_shapes(rng, given["n"]), **given,
    }  # fmt: skip


def _shapes(rng, n):
    """Moments that explain nothing of the outcomes."""
    names = ("sample_kurtosis", "sample_gap", "held_kurtosis", "held_gap")
    return dict(zip(names, rng.standard_normal(4) * math.sqrt(24.0 / n), strict=True))


def _noise(rng):
    return math.exp(0.15 * rng.standard_normal())


def _errors(truth):
    rng = np.random.default_rng(1)
    for d in (1, 2):
        for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            radius = n ** truth[f"location_{d}"]
            for replicate in range(truth["replicates"]):
                yield _row(
                    rng,
                    d=d,
                    n=n,
                    replicate=replicate,
                    algorithm="ELU",
                    location_error=radius * _noise(rng),
                    scale_error=n ** truth[f"scale_{d}"] * _noise(rng),
                    radius=2 * radius,
                    mle_location_error=0.0 if replicate % 2 else 1.5 * radius,
                    status="diverged" if rng.random() < truth["diverged"] else "max_iter",
                    iterations=truth["diverged_at"],
                    passes=truth["diverged_at"] + 1.0,
                )


def _iterations(truth):
    rng = np.random.default_rng(2)
    for d, stated in ((1, 3 / 4), (2, 1 / 2)):
        at_infinite_n = em_iterations(d, 2.0, 0.8)
        for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            elu = truth[f"elu_{d}"] * math.log(n)
            if truth["elu_power"] is not None:
                elu = 5.0 * n ** truth["elu_power"]
            medians = {
                "EM": at_infinite_n(n) * (n / 10**6) ** (truth[f"em_{d}"] - stated),
                "ELU": elu,
                "LBFGS": truth["lbfgs"],
                "NewtonAnderson": truth["newton_anderson"],
            }
            for replicate in range(truth["replicates"]):
                for name, median in medians.items():
                    count = math.ceil(median * math.exp(0.03 * rng.standard_normal()))
                    yield _row(
                        rng,
                        d=d,
                        n=n,
                        replicate=replicate,
                        algorithm=name,
                        stop="radius",
                        status="reached",
                        iterations=count,
                        passes=float(count),
                        iterations_to_radius=float(count),
                        passes_to_radius=float(count),
                        location_error=1.0,
                    )


def _dimensions(truth):
    rng = np.random.default_rng(3)
    for d in (2, 4, 8, 16, 32):
        for replicate in range(truth["replicates"]):
            for name in ("EM", "ELU"):
                count = math.ceil(400 * d ** truth["em_d"] * math.exp(0.05 * rng.standard_normal()))
                yield _row(
                    rng,
                    block="dimensions",
                    samples="direct",
                    d=d,
                    n=20_000,
                    replicate=replicate,
                    algorithm=name,
                    location_error=0.1 * d ** truth["location_d"] * _noise(rng),
                    scale_error=0.1 * d ** truth["scale_d"] * _noise(rng),
                    iterations_to_radius=float(count),
                )


def _starts(truth):
    rng = np.random.default_rng(4)
    for n in (10**5, 10**6, 10**7, 10**8, 10**9):
        for replicate in range(truth["replicates"]):
            for model, start, name, power in (
                ("diagonal", "equal", "ELU", "diagonal_equal"),
                ("diagonal", "equal", "NewtonAnderson", "diagonal_mle"),
                ("diagonal", "generic", "ELU", "diagonal_generic"),
                ("general", "generic", "ELU", "general_printed"),
                ("general", "generic", "CentredELU", "general_centred"),
            ):
                yield _row(
                    rng,
                    model=model,
                    start=start,
                    d=2,
                    n=n,
                    replicate=replicate,
                    algorithm=name,
                    location_error=n ** truth[power] * _noise(rng),
                    mle_location_error=n ** truth["diagonal_mle"] * _noise(rng),
                )


def lemma_tables(**changes):
    """The probes' tables with the values that theory gives, but for ``changes`` by quantity."""
    rows = []
    for d, alpha, ball in ((1, 6.0, 0.5), (2, 2.0, 0.8)):
        rows += [
            ("homogeneity", d, "alpha of the gradient", alpha, 1e-6, alpha),
            ("homogeneity", d, "alpha of the Hessian", alpha, 1e-6, alpha),
            ("homogeneity", d, "c1", 5.0, 0.0, 4.0),
            ("homogeneity", d, "c2", 5.0, 0.0, 5.0),
            ("homogeneity", d, "convexity radius", 0.99, 0.001, ball),
            ("homogeneity", d, "radius of the proof's bound", 0.25, 0.0, ball),
        ]
    for d in (1, 4):
        rows += [
            ("trajectory_rates", d, "ELU, factor", 0.9, 1e-6, 0.9),
            ("trajectory_rates", d, "EM, growth of |theta|^-alpha", 4.0, 1e-6, 4.0),
        ]
    rows += [
        ("stability_univariate", 1, "gamma, phase 1", 3.5, 0.1, 1.0),
        ("stability_univariate", 1, "gamma, phase 2", 3.0, 0.01, 3.0),
        ("stability_univariate", 1, "exponent of n", -0.5, 0.01, -0.5),
        ("stability_multivariate", 2, "gamma", 1.0, 0.001, 1.0),
        ("stability_multivariate", 8, "gamma", 1.0, 0.001, 1.0),
        ("stability_multivariate", 0, "exponent of n", -0.5, 0.02, -0.5),
        ("stability_multivariate", 0, "exponent of d", 0.7, 0.02, 0.5),
        ("stability_multivariate", 32, "noise (n/d)^(1/2)/r", 1.98, 0.03, 2.0),
        ("pseudo_convexity", 2, "least <grad f, theta>/gap", 4.0, 0.0, 1.0),
        ("diagonal_homogeneity", 2, "exponent of least growth", 1.0, 1e-6, 0.0),
        ("diagonal_homogeneity", 2, "exponent along the axis", 6.0, 1e-6, 6.0),
        ("diagonal_homogeneity", 2, "C4", 5.8, 0.0, 5.8),
        ("diagonal_homogeneity", 2, "curvature across / theta_1^2", 1.0, 0.0, 1.0),
        ("diagonal_phases", 2, "ELU, least norm, generic start", 0.2, 0.0, 3e-4),
        ("diagonal_phases", 2, "ELU, least norm, equal start", 1e-10, 0.0, 3e-4),
        ("diagonal_phases", 2, "drift of theta_1^2 - theta_2^2", 1e-5, 0.0, 0.0),
        ("general_instability", 2, "turning time", 14.0, 1.0, 13.2),
    ]
    rows += planted_theory.lemma_rows()
    columns = ["probe", "d", "quantity", "measured", "uncertainty", "theory"]
    lemmas = pd.DataFrame(rows, columns=columns).assign(note="")
    unknown = set(changes) - set(lemmas["quantity"]) - {"costs", *planted_theory.TABLES}
    assert not unknown, unknown
    for quantity, value in changes.items():
        lemmas.loc[lemmas["quantity"] == quantity, "measured"] = value
    return {
        "lemmas": lemmas,
        "costs": changes.get("costs", costs()),
        **{name: changes.get(name, make()) for name, make in planted_theory.TABLES.items()},
    }


def costs(elu=1.0, both=1.9, power=1.0, by_d=1.0):
    """Seconds per iteration, in units of EM's."""
    rng = np.random.default_rng(5)
    rows = [
        (
            n,
            d,
            turn,
            name,
            1e-9 * d**by_d * n**power * factor * math.exp(0.02 * rng.standard_normal()),
            1.0,
        )
        for n, d in ((2**18, 1), (2**20, 1), (2**22, 1), (2**18, 4), (2**18, 16))
        for turn in range(11)
        for name, factor in (("EM", 1.0), ("ELU", elu), ("Simultaneous", both))
    ]
    return pd.DataFrame(rows, columns=["n", "d", "round", "algorithm", "seconds", "passes"])


def _moments(truth):
    """The estimate from moments: one read, and errors of the order of the radii."""
    rng = np.random.default_rng(7)
    for d in (1, 2):
        for n in (10**4, 10**5, 10**6, 10**7, 10**8, 10**9):
            for replicate in range(truth["replicates"]):
                scale = truth["moments_scale_2"] if d == 2 else 2 * truth["moments_1"]
                for stop in ("radius", "end"):
                    yield _row(
                        rng,
                        d=d,
                        n=n,
                        replicate=replicate,
                        algorithm="Moments",
                        options="{}",
                        stop=stop,
                        status="reached",
                        iterations=1,
                        passes=truth["moments_reads"],
                        passes_to_radius=truth["moments_reads"],
                        location_error=n ** truth[f"moments_{d}"] * _noise(rng),
                        scale_error=n**scale * _noise(rng),
                    )
