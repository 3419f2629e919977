"""Fits: what a person with data calls. May import runs and below."""

from elubench.fits.fitting import Fit as Fit
from elubench.fits.fitting import fit as fit
