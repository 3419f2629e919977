"""The result of a fit: two Gaussians and a regime, for a reader in 80 columns and for a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import softmax

from elubench.algorithms import Algorithm
from elubench.checks import Floats
from elubench.fits import regimes
from elubench.fits.predicting import log_densities
from elubench.models import Model
from elubench.runs import Run
from elubench.samples.prices import Bill
from elubench.text import row

_INDENT = 16
_SHOWN = 6  # coordinates printed


@dataclass(frozen=True)
class Fit:
    """Two Gaussians fitted to data, and the regime that the data are in.

    ``location`` is theta (d,) for models with the locations -theta and theta, its largest coordinate
    positive; for general locations it is (2, d), ordered by the coordinate in which they differ most.
    ``weights`` (2,) are in the same order. ``scale`` is sigma squared, (1,) or (d,).
    ``log_likelihood`` is that of all rows, and ``gain`` its excess over the model's one Gaussian, never
    negative. ``status`` is that of the run, or "stalled" if a run that claims to have converged leaves
    EM more than 0.05 in log-likelihood to gain, or "interrupted" whenever Ctrl-C was pressed.
    ``passes`` counts reads of the data, including those for the start and the evidence, or of the points
    to which the data were condensed (``run.details["condensed_to"]``); ``seconds`` covers all of these,
    but not packing or condensing the data or loading the kernels. ``bill`` says what was read, also for
    condensing, and :attr:`cost` what that costs.
    """

    location: Floats
    weights: Floats
    scale: Floats
    log_likelihood: float
    gain: float
    status: str
    regime: str
    evidence: regimes.Signs
    passes: float
    seconds: float
    n: int
    d: int
    model: Model
    algorithm: Algorithm
    notes: tuple[str, ...]
    bill: Bill = field(repr=False)
    run: Run = field(repr=False)

    @property
    def cost(self) -> float:
        """What reading and condensing the data cost, in plain passes over all rows; see ``Run.cost``."""
        return float(self.bill.cost())

    @property
    def locations(self) -> Floats:
        """Both locations, (2, d), whatever the model."""
        one = self.location
        return one.copy() if one.ndim == 2 else np.stack([-one, one])

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities (n, 2) that a row of X is from the one or the other component."""
        found = log_densities(X, self.locations, self.weights, self.scale)
        shares: Floats = softmax(found, axis=1)
        return shares

    def _reads(self) -> str:
        points = self.run.details.get("condensed_to")
        worth = f"worth {self.cost:.3g} plain passes over the data"
        if points is None:
            return f"{self.passes:.4g} passes, {worth}"
        return f"one read of the data and {self.passes:.4g} passes over {points:,} points, {worth}"

    def advice(self) -> str:
        """What to do in this regime."""
        return regimes.advice(self.regime, self.evidence)

    def as_dict(self) -> dict[str, Any]:
        """The result as values that JSON can hold."""
        return {
            "model": self.model.name,
            "algorithm": self.algorithm.name,
            "n": self.n,
            "d": self.d,
            "location": self.location.tolist(),
            "weights": self.weights.tolist(),
            "scale": self.scale.tolist(),
            "log_likelihood": _plain(self.log_likelihood),
            "gain": _plain(self.gain),
            "status": self.status,
            "regime": self.regime,
            "evidence": {name: _plain(value) for name, value in self.evidence._asdict().items()},
            "advice": self.advice(),
            "notes": list(self.notes),
            "iterations": self.run.n_iter,
            "passes": self.passes,
            "cost": self.cost,
            "seconds": self.seconds,
        }

    def summary(self) -> str:
        """The result for a reader, in 80 columns."""
        return "\n".join(row(name, value, _INDENT) for name, value in self.facts())

    def facts(self) -> list[tuple[str, str]]:
        """The lines of the summary: a name, or a number, and what it is."""
        e = self.evidence
        rival = e.rival if e.rival != regimes.ONE_GAUSSIAN else "any other Gaussian"
        gain = f"{self.gain:.4g} above" if self.gain > 0.0 else "no better than"
        return [
            ("model", f"{self.model.name}, {self.model.formula}"),
            ("data", f"n = {self.n:,}, d = {self.d}"),
            (
                "algorithm",
                f"{self.algorithm.name}: {self.status}, {self._reads()}, {self.seconds:.2g} s",
            ),
            *_locations(self.location),
            *([("weights", _numbers(self.weights))] if self.model.extra else []),
            ("scale", f"{_numbers(self.scale)} (sigma squared)"),
            ("log-likelihood", f"{self.log_likelihood:.8g}, {gain} one Gaussian"),
            ("regime", self.regime),
            (
                f"{e.likelihood_ratio:>12.4g}",
                "likelihood ratio to one Gaussian; "
                f"one Gaussian stays below {e.null_quantile:.3g} (99 %)",
            ),
            (f"{e.rival_ratio:>12.4g}", f"... to {rival}; weak evidence if < {e.decisive:.3g}"),
            (
                f"{e.half_distance:>12.4g}",
                "half the distance between the means, in standard deviations; "
                f"unimodal if < {e.two_modes:.3g}",
            ),
            (
                f"{e.contraction:>12.4g}",
                f"EM's contraction factor; geometric if < {e.contraction_limit:.3g}",
            ),
            ("advice", self.advice()),
            *(("note", note) for note in self.notes),
        ]


def _plain(value: Any) -> Any:
    """The value, or None for a number that JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _locations(location: Floats) -> list[tuple[str, str]]:
    if location.ndim == 2:
        return [(f"location {k + 1}", _numbers(one)) for k, one in enumerate(location)]
    return [("locations", f"minus and plus {_numbers(location)}")]


def _numbers(values: Sequence[float] | Floats) -> str:
    shown = "  ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}  ... ({len(values)} in all)"
