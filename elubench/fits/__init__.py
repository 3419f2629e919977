"""Fits: two Gaussians to data, and the regime that the data are in. May import runs and below."""

from elubench.fits.choosing import check_algorithm as check_algorithm
from elubench.fits.comparing import compare as compare
from elubench.fits.fitting import fit as fit
from elubench.fits.result import Fit as Fit

__all__ = ["Fit", "compare", "fit"]
