"""Samples: rows in memory, condensed rows, draws on a lattice. May import kernels."""

from elubench.samples.array import ArraySample as ArraySample
from elubench.samples.base import Sample as Sample
from elubench.samples.condensed import CondensedSample as CondensedSample
from elubench.samples.condensed import Condenser as Condenser
from elubench.samples.draws import gaussian as gaussian
from elubench.samples.lattice import LatticeSample as LatticeSample
