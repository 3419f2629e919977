"""The paper's lemmas, measured: each function returns a table of numbers beside their theory.

Summary tables have one row per quantity, with the columns

    lemma  model  d  quantity  measured  uncertainty  basis  theory  note

`theory` is what the paper states or what follows from it (nan where the paper states that a constant
exists and gives no value). `uncertainty` says how far `measured` may be off, and `basis` how that is
known: "numerical" bounds the error of a computation by what an extrapolation still changed or by the
spacing of a search; "samples" is half the width of a 95 % interval; "exact" has none. `d` is 0 in a
row that pools several. Other tables (landscapes, trajectories, suprema) have one row per point, for
figures.
"""

from elubench.papers.beyond_em.lemmas.diagonal_loss import diagonal_hessian as diagonal_hessian
from elubench.papers.beyond_em.lemmas.diagonal_loss import (
    diagonal_homogeneity as diagonal_homogeneity,
)
from elubench.papers.beyond_em.lemmas.diagonal_loss import diagonal_landscape as diagonal_landscape
from elubench.papers.beyond_em.lemmas.diagonal_loss import pseudo_convexity as pseudo_convexity
from elubench.papers.beyond_em.lemmas.estimates import COLUMNS as COLUMNS
from elubench.papers.beyond_em.lemmas.isotropic_loss import DIMENSIONS as DIMENSIONS
from elubench.papers.beyond_em.lemmas.isotropic_loss import homogeneity as homogeneity
from elubench.papers.beyond_em.lemmas.isotropic_loss import isotropic_profile as isotropic_profile
from elubench.papers.beyond_em.lemmas.isotropic_loss import proof_radius as proof_radius
from elubench.papers.beyond_em.lemmas.iterates import diagonal_flow as diagonal_flow
from elubench.papers.beyond_em.lemmas.iterates import diagonal_phases as diagonal_phases
from elubench.papers.beyond_em.lemmas.iterates import diagonal_starts as diagonal_starts
from elubench.papers.beyond_em.lemmas.iterates import general_instability as general_instability
from elubench.papers.beyond_em.lemmas.iterates import trajectory as trajectory
from elubench.papers.beyond_em.lemmas.iterates import trajectory_rates as trajectory_rates
from elubench.papers.beyond_em.lemmas.noise import stability as stability
from elubench.papers.beyond_em.lemmas.noise import stability_multivariate as stability_multivariate
from elubench.papers.beyond_em.lemmas.noise import stability_univariate as stability_univariate
from elubench.papers.beyond_em.lemmas.proposition import proposition_1 as proposition_1
from elubench.papers.beyond_em.lemmas.scale import scale_equivariance as scale_equivariance
from elubench.papers.beyond_em.lemmas.scale import strong_convexity as strong_convexity
