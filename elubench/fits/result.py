"""The result of a fit: two Gaussians and a regime, for a reader in 80 columns and for a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, softmax

from elubench import checks
from elubench.algorithms import Algorithm
from elubench.checks import Floats
from elubench.fits import goodness, intervals, nulls, regimes
from elubench.fits.predicting import log_densities
from elubench.models import Model
from elubench.runs import Run
from elubench.samples import Sample
from elubench.samples.prices import Bill
from elubench.text import row

_INDENT = 16
_SHOWN = 6  # coordinates printed
_INSTANT = 1 << 15  # numbers that take no time to read, so that nobody asks what a pass costs


class Criteria(NamedTuple):
    """Information criteria; smaller is better."""

    aic: float
    bic: float


def criteria(log_likelihood: float, parameters: int, weight: float) -> Criteria:
    """Of a model with so many parameters, fitted to rows of this total weight."""
    twice = -2.0 * log_likelihood
    return Criteria(twice + 2.0 * parameters, twice + parameters * math.log(weight))


@dataclass(frozen=True, eq=False)
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
    but not packing or condensing the data or loading the kernels. Whether the data have the shape of two
    Gaussians is tested, on at most 4,096 rows, when :attr:`evidence` or :attr:`regime` is first asked
    for. ``bill`` says what was read, also for condensing, and :attr:`cost` what that costs.
    ``weight`` is the total weight of the rows, n without weights. ``sample`` holds the rows minus
    ``origin`` (d,), for :meth:`interval`; it is not pickled.
    """

    location: Floats
    weights: Floats
    scale: Floats
    log_likelihood: float
    gain: float
    status: str
    gathered: Callable[[], regimes.Signs] = field(repr=False)
    passes: float
    seconds: float
    n: int
    d: int
    model: Model
    algorithm: Algorithm
    notes: tuple[str, ...]
    bill: Bill = field(repr=False)
    run: Run = field(repr=False)
    weight: float = field(repr=False)
    sample: Sample | None = field(repr=False, compare=False)
    origin: Floats = field(repr=False)
    _tested: dict[Any, nulls.Tested] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        known = partial(_as_it_is, self.evidence)
        return {**self.__dict__, "sample": None, "gathered": known}

    @cached_property
    def evidence(self) -> regimes.Signs:
        """The numbers that decide on the regime. They are gathered when they are first asked for."""
        return self.gathered()

    @property
    def regime(self) -> str:
        """The regime: "separated", "over-specified", "undecided" or "misfit"."""
        return regimes.regime(self.evidence)

    @property
    def cost(self) -> float:
        """What reading and condensing the data cost, in plain passes over all rows; see ``Run.cost``."""
        return float(self.bill.cost())

    @property
    def locations(self) -> Floats:
        """Both locations, (2, d), whatever the model."""
        return goodness.pair(self.location)

    @property
    def n_parameters(self) -> int:
        """Number of locations, scales and weights that were fitted."""
        return self.model.n_free(self.d)

    @property
    def aic(self) -> float:
        """Akaike's information criterion; smaller is better."""
        return criteria(self.log_likelihood, self.n_parameters, self.weight).aic

    @property
    def bic(self) -> float:
        """Schwarz's criterion; smaller is better."""
        return criteria(self.log_likelihood, self.n_parameters, self.weight).bic

    def p_value(
        self, draws: int = 999, seed: int = 0, progress: nulls.Progress | None = None
    ) -> float:
        """The probability of a likelihood ratio as large as this if the data are one Gaussian.

        An exact Monte-Carlo test, (1 + b) / (1 + draws), where b counts the samples from one Gaussian,
        of the same n (at least 5) and d, whose ratio is as large. For d <= 2 it costs the same for any
        n. For more coordinates and many rows the limit law is drawn instead. Rows of weight k count k
        times.
        ``progress`` is called with the number of draws done and that of all.
        """
        return self.tested(draws, seed, progress).p_value

    def tested(
        self, draws: int = 999, seed: int = 0, progress: nulls.Progress | None = None
    ) -> nulls.Tested:
        """:meth:`p_value`, and which law it is from; computed once."""
        draws, seed = (
            checks.integer(draws, "draws", 1, checks.MOST),
            checks.integer(seed, "seed", 0),
        )
        ratio = self.evidence.likelihood_ratio
        key = draws, seed, ratio
        if key not in self._tested:
            self._tested[key] = nulls.tested(
                self.model, self.weight, self.d, ratio, draws, seed, progress
            )
        return self._tested[key]

    def standard_errors(self) -> intervals.StandardErrors:
        """Of locations and scale, from the observed information; NaN where they mean nothing.

        That is where one Gaussian does about as well, so that the information is close to singular: a
        likelihood ratio below ``evidence.decisive``. They hold if the model does.
        """
        if not self.evidence.likelihood_ratio > self.evidence.decisive:
            return intervals.StandardErrors(
                np.full(self.location.shape, math.nan), np.full(self.scale.shape, math.nan)
            )
        return intervals.standard_errors(self.model, *self._near())

    def interval(self, level: float = 0.95) -> intervals.Interval:
        """What the data do not exclude at this level, if the model holds.

        For the half distance of the means by profile likelihood: where the data are over-specified this
        is an upper bound. For locations and scale (on a logarithmic axis) by standard errors.
        """
        level = checks.real(level, "level", 0.5, 1.0)
        errors = self.standard_errors()
        between = intervals.separation(
            intervals.Profile(self.model, *self._near()),
            level,
            one_sided=self.evidence.likelihood_ratio <= self.evidence.null_quantile,
        )
        if not (np.isfinite(errors.location).all() and np.isfinite(errors.scale).all()):
            return intervals.Interval(level, between, None, None)
        wide = float(ndtri(0.5 * (1.0 + level)))
        by, factor = wide * errors.location, np.exp(wide * errors.scale / self.scale)
        return intervals.Interval(
            level,
            between,
            (self.location - by, self.location + by),
            (self.scale / factor, self.scale * factor),
        )

    def _near(self) -> tuple[Sample, Floats, Floats, float]:
        """The rows, location and scale among them, and half the log odds of the components."""
        if self.sample is None:
            raise ValueError("the fit must have its data, which are not pickled; fit them again")
        if self.model.knows_scale:
            raise ValueError(f"model must have a free scale for standard errors, got {self.model}")
        one, two = self.weights
        odds = 0.5 * math.log(two / one) if one > 0.0 < two else math.nan
        return self.sample, self.location - self.origin, self.scale, odds

    def predict_proba(self, X: Any) -> Floats:
        """The probabilities (n, 2) that a row of X is from the one or the other component."""
        found = log_densities(X, self.locations, self.weights, self.scale)
        shares: Floats = softmax(found, axis=1)
        return shares

    def _reads(self) -> str:
        points = self.run.details.get("condensed_to")
        if self.n * self.d < _INSTANT:
            return f"{self.passes:.4g} passes"
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
            "aic": _plain(self.aic),
            "bic": _plain(self.bic),
            "p_value": next((one.p_value for one in self._tested.values()), None),
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

    def summary(self, interval: intervals.Interval | None = None) -> str:
        """The result for a reader, in 80 columns, with an interval if given."""
        return "\n".join(row(name, value, _INDENT) for name, value in self.facts(interval))

    def facts(self, interval: intervals.Interval | None = None) -> list[tuple[str, str]]:
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
                "likelihood ratio to one Gaussian; one Gaussian stays below "
                f"{e.null_quantile:.3g} ({1.0 - e.level:.3g} of samples, {e.law})",
            ),
            *(
                (f"{one.p_value:>12.4g}", f"p-value of one Gaussian, from {one.law}")
                for one in self._tested.values()
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
            *_shape(e),
            *([] if interval is None else _not_excluded(interval)),
            ("advice", self.advice()),
            *(("note", note) for note in self.notes),
        ]


def _as_it_is(evidence: regimes.Signs) -> regimes.Signs:
    return evidence


def _shape(e: regimes.Signs) -> list[tuple[str, str]]:
    shown = []
    if not math.isnan(e.misfit):
        text = f"misfit (Anderson-Darling); two Gaussians stay below {e.misfit_limit:.3g} (0.99)"
        shown.append((f"{e.misfit:>12.4g}", text))
    if not math.isnan(e.valley):
        text = "valley of the data between the means, in standard errors; one mode stays below "
        text += f"{e.valley_limit:.3g} (0.9)"
        shown.append((f"{e.valley:>12.4g}", text))
    return shown


def _not_excluded(interval: intervals.Interval) -> list[tuple[str, str]]:
    """The intervals, a line for each location."""
    low, high = interval.half_distance
    shown = [(f"at {interval.level:.6g}", f"half distance {low:.4g} to {high:.4g}")]
    if interval.location is not None and interval.scale is not None:
        for name, pair in (("location", interval.location), ("scale", interval.scale)):
            both = list(zip(*(np.atleast_2d(one) for one in pair), strict=True))
            for k, (one, two) in enumerate(both, start=1):
                words = [name, *([str(k)] if len(both) > 1 else []), _ranges(one, two)]
                shown.append(("", " ".join(words)))
    return shown


def _plain(value: Any) -> Any:
    """The value, or None for a number that JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _locations(location: Floats) -> list[tuple[str, str]]:
    if location.ndim == 2:
        return [(f"location {k + 1}", _numbers(one)) for k, one in enumerate(location)]
    return [("locations", f"minus and plus {_numbers(location)}")]


def _ranges(low: Floats, high: Floats) -> str:
    """Intervals of the first few coordinates."""
    shown = ", ".join(
        f"{one:.6g} to {two:.6g}" for one, two in zip(low[:_SHOWN], high[:_SHOWN], strict=True)
    )
    return shown if len(low) <= _SHOWN else f"{shown} ... ({len(low)} in all)"


def _numbers(values: Sequence[float] | Floats) -> str:
    shown = "  ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}  ... ({len(values)} in all)"
