"""Samples: rows in memory, in files, on a cluster, condensed, on a lattice. May import kernels."""

from elubench.samples.array import ArraySample as ArraySample
from elubench.samples.base import Sample as Sample
from elubench.samples.condensed import CondensedSample as CondensedSample
from elubench.samples.condensed import Condenser as Condenser
from elubench.samples.dask import DaskSample as DaskSample
from elubench.samples.draws import gaussian as gaussian
from elubench.samples.file import FileSample as FileSample
from elubench.samples.lattice import LatticeSample as LatticeSample
