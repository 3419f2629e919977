"""Models: algebra on the sums of a pass, starts and formulas. May import samples and below."""

from elubench.models.base import Algebra as Algebra
from elubench.models.base import Model as Model
from elubench.models.diagonal import Diagonal as Diagonal
from elubench.models.general import General as General
from elubench.models.isotropic import Isotropic as Isotropic
from elubench.models.known import radius as radius
from elubench.models.known_scale import KnownScale as KnownScale
