"""Fits: what a person with data calls. May import runs and what is below."""

from elubench.fits.fitting import (
    ALGORITHMS,
    Evidence,
    Fit,
    check_algorithm,
    fit,
    null_quantile,
    regime,
    tuned,
)

__all__ = [
    "ALGORITHMS",
    "Evidence",
    "Fit",
    "check_algorithm",
    "fit",
    "null_quantile",
    "regime",
    "tuned",
]
