"""A fit for a reader, in 80 columns, and for a program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elubench.checks import Floats
from elubench.fits.regimes import ONE_GAUSSIAN
from elubench.text import row

if TYPE_CHECKING:
    from elubench.fits.fitting import Fit

_INDENT = 16
_SHOWN = 6  # coordinates printed


def as_text(fit: Fit) -> str:
    """The result as lines of at most 80 columns."""
    e = fit.evidence
    rival = e.rival if e.rival != ONE_GAUSSIAN else "any other Gaussian"
    gain = f"{fit.gain:.4g} above" if fit.gain > 0.0 else "no better than"
    rows = [
        ("model", f"{fit.model.name}, {fit.model.formula}"),
        ("data", f"n = {fit.n:,}, d = {fit.d}"),
        (
            "algorithm",
            f"{fit.algorithm.name}: {fit.status}, {fit.passes:.4g} passes over the data, "
            f"{fit.seconds:.2g} s",
        ),
        *_locations(fit.location),
        ("scale", f"{_numbers(fit.scale)} (sigma squared)"),
        ("log-likelihood", f"{fit.log_likelihood:.8g}, {gain} one Gaussian"),
        ("regime", fit.regime),
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
        ("advice", fit.advice()),
        *(("note", note) for note in fit.notes),
    ]
    return "\n".join(row(name, value, _INDENT) for name, value in rows)


def as_dict(fit: Fit) -> dict[str, Any]:
    """The result as values that JSON can hold."""
    return {
        "model": fit.model.name,
        "algorithm": fit.algorithm.name,
        "n": fit.n,
        "d": fit.d,
        "location": fit.location.tolist(),
        "scale": fit.scale.tolist(),
        "log_likelihood": plain(fit.log_likelihood),
        "gain": plain(fit.gain),
        "status": fit.status,
        "regime": fit.regime,
        "evidence": {name: plain(value) for name, value in fit.evidence._asdict().items()},
        "advice": fit.advice(),
        "notes": list(fit.notes),
        "iterations": fit.run.n_iter,
        "passes": fit.passes,
        "seconds": fit.seconds,
    }


def plain(value: Any) -> Any:
    """The value, or None for a number that JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _locations(location: Floats) -> list[tuple[str, str]]:
    if location.ndim == 2:
        return [(f"location {k + 1}", _numbers(one)) for k, one in enumerate(location)]
    return [("locations", f"minus and plus {_numbers(location)}")]


def _numbers(values: Sequence[float] | Floats) -> str:
    shown = "  ".join(f"{value:.6g}" for value in values[:_SHOWN])
    return shown if len(values) <= _SHOWN else f"{shown}  ... ({len(values)} in all)"
