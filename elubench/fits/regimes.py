"""The regime that data are in: what it is read off, the thresholds, the rule, and advice.

EM and its rivals behave in two ways. If two components stand clear of each other, EM converges
geometrically and the locations are known to order n^(-1/2). If one Gaussian would do
("over-specified"), EM crawls and the locations are known to order n^(-1/8) (d = 1) or (d/n)^(1/4)
only. Four numbers tell which it is:

1. The likelihood ratio 2n (loss of one Gaussian - loss). For data from one Gaussian at d = 1 it is
   half 0, half chi^2 with one degree of freedom (n kurtosis^2 / 24 where the kurtosis is negative). At
   d >= 2 it is n (l - log(1 + l)) with 1 + l the largest eigenvalue of the sample's second moments,
   about 2 sqrt(d/n) above 1 and with the fluctuations of Tracy and Widom (I. M. Johnstone, On the
   distribution of the largest eigenvalue in principal components analysis, Annals of Statistics 29
   (2001), 295-327). Up to its 99 % point, :func:`null_quantile`, data are called over-specified.
2. The same against other single Gaussians: one about its own mean, and one stretched along the line
   through the two means, with as many parameters as the mixture. A Gaussian that is off centre or
   elongated beats the model's one Gaussian without having two components.
3. Half the distance between the means, in standard deviations. Two equal Gaussians have two modes
   if it is above 1, and are unimodal otherwise.
4. EM's contraction factor at the fit, the largest eigenvalue of the derivative of EM's step.

Data are separated if the ratio is above ``DECISIVE`` against every single Gaussian (a likelihood
e^10 times higher), there are two modes, and EM contracts by ``CONTRACTION`` or better (45 iterations
per digit). Everything else is undecided, and ``Fit.summary`` says why. Shapes other than one and two
Gaussians are not considered: flat data without a mode, for example, are closer to two than to one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

#: A likelihood ratio that no single Gaussian can explain away.
DECISIVE = 20.0
#: What weights that are not equal add to the 99 % point of the ratio: that of chi^2 with one degree of
#: freedom. Draws from one Gaussian at n = 50 to 20,000 (250 to 600 per cell) have their 99 % point at 8
#: to 12 for d = 1, where this makes 12, at 10 to 14 (17) for d = 2, 17 to 21 (21 to 22) for d = 4, 27 to
#: 31 (29 to 32) for d = 8, and 47 to 51 (47 to 49) for d = 16.
ONE_MORE = 6.635
#: Half distance between the means, in standard deviations, above which there are two modes.
TWO_MODES = 1.0
#: EM's contraction factor below which it is called geometric.
CONTRACTION = 0.95

#: The model's own, and its rivals.
ONE_GAUSSIAN = "one Gaussian"
ABOUT_THE_MEAN = "one Gaussian about the mean"
STRETCHED = "one Gaussian stretched along that axis"

_REMEDIES = {
    ABOUT_THE_MEAN: "Subtract the centre of X, or use the general model.",
    STRETCHED: "Rescale the columns of X to equal variances and no correlation, or look at the plot "
    "for two modes.",
}
_CHI_SQUARE = 5.4119  # 98 % point of chi^2 with one degree of freedom: 99 % of half 0, half chi^2
_TRACY_WIDOM = 2.0234  # 99 % point, beta = 1


class Signs(NamedTuple):
    """What the regime is read off, with the thresholds.

    ``likelihood_ratio`` is against the model's own one Gaussian, ``rival_ratio`` against the best
    single Gaussian tried, which ``rival`` names; ``half_distance`` is in standard deviations, and
    ``contraction`` is EM's factor at the fit.
    """

    likelihood_ratio: float
    null_quantile: float
    rival_ratio: float
    rival: str
    decisive: float
    half_distance: float
    two_modes: float
    contraction: float
    contraction_limit: float


def null_quantile(n: float, d: int) -> float:
    """99 % point of the likelihood ratio for n rows from one Gaussian.

    The distribution at d = 1 is exact to leading order; at d >= 2 it is that of the largest
    eigenvalue, an upper bound for d = 2 and 3. ``python -m benchmarks.regimes`` compares it with draws.
    """
    if d == 1:
        return _CHI_SQUARE
    rows, columns = math.sqrt(n), math.sqrt(d)
    spread = (rows + columns) * (1.0 / rows + 1.0 / columns) ** (1.0 / 3.0)
    excess = ((rows + columns) ** 2 + _TRACY_WIDOM * spread) / n - 1.0
    return n * (excess - math.log1p(excess))


def regime(signs: Signs) -> str:
    """The rule, fixed beforehand: "over-specified", "separated" or "undecided"."""
    if signs.likelihood_ratio <= signs.null_quantile:
        return "over-specified"
    clear = (
        signs.rival_ratio > signs.decisive
        and signs.half_distance > signs.two_modes
        and signs.contraction < signs.contraction_limit
    )
    return "separated" if clear else "undecided"


def advice(regime: str, signs: Signs) -> str:
    """What to do in a regime."""
    if regime == "over-specified":
        return (
            "One Gaussian describes these data as well as two. Do not read the locations as "
            "clusters, and do not wait for EM, which crawls here."
        )
    if regime == "separated":
        return (
            "Two components stand clear of each other. Read the locations as clusters; "
            f"{_speed(signs.contraction)}, and any algorithm will do."
        )
    if signs.rival_ratio <= signs.decisive < signs.likelihood_ratio:
        return (
            f"Two components beat the model's one Gaussian, but {signs.rival} does as well, so the "
            f"data need not have two parts. {_REMEDIES[signs.rival]}"
        )
    if signs.rival_ratio <= signs.decisive:
        return (
            "There is some evidence of two components, but too little to rely on. Collect more "
            "data before you read the locations as clusters."
        )
    return (
        "Two components fit better than one, but they overlap in a single bump. Do not assign rows "
        f"to them; {_speed(signs.contraction)}, so use newton-anderson."
    )


def _speed(contraction: float) -> str:
    if not contraction < 1.0:
        return "EM does not converge in practice"
    if contraction <= 0.1:
        return "EM gains a digit per iteration"
    return f"EM needs {math.ceil(math.log(10.0) / -math.log(contraction)):,} iterations per digit"
