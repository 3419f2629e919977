"""Samples: rows in memory or draws on a lattice, behind one interface. May import kernels."""

from elubench.samples.array import ArraySample as ArraySample
from elubench.samples.base import Sample as Sample
from elubench.samples.draws import gaussian as gaussian
from elubench.samples.lattice import LatticeSample as LatticeSample
