"""Samples: rows in memory, or draws on a lattice, behind one interface."""

from elubench.samples.array import ArraySample
from elubench.samples.base import CurvatureMoments, Moments, Sample, TanhMoments
from elubench.samples.draws import gaussian
from elubench.samples.lattice import LatticeSample

__all__ = [
    "ArraySample",
    "CurvatureMoments",
    "LatticeSample",
    "Moments",
    "Sample",
    "TanhMoments",
    "gaussian",
]
