"""The regime that data are in: what it is read off, the thresholds, the rule, and advice.

EM and its rivals behave in two ways. If two components stand clear of each other, EM converges
geometrically and the locations are known to order n^(-1/2). If one Gaussian would do
("over-specified"), EM crawls and the locations are known to order n^(-1/8) (d = 1) or (d/n)^(1/4)
only. These numbers tell which it is, and whether the question makes sense:

1. The Anderson-Darling statistic of the data against the fitted mixture, along its axis. Above its
   99 % point neither one nor two Gaussians of the model describe the data: "misfit".
2. The likelihood ratio 2n (loss of one Gaussian - loss). Up to the point that one Gaussian exceeds with
   the probability ``level``, see :mod:`elubench.fits.nulls`, data are called over-specified.
3. The same against other single Gaussians: one about its own mean, and one stretched along the line
   through the two means, with as many parameters as the mixture. A Gaussian that is off centre or
   elongated beats the model's one Gaussian without having two components.
4. Half the distance between the means, in standard deviations. Two equal Gaussians have two modes
   if it is above 1, and are unimodal otherwise.
5. The valley of the data along that axis, see :mod:`elubench.fits.goodness`: whether they have two
   modes themselves.
6. EM's contraction factor at the fit, the largest eigenvalue of the derivative of EM's step.

Data are separated if the ratio is above ``DECISIVE`` against every single Gaussian (a likelihood
e^10 times higher), model and data have two modes, and EM contracts by ``CONTRACTION`` or better (45
iterations per digit). Everything else is undecided, and ``Fit.summary`` says why.
"""

from __future__ import annotations

import math
from typing import NamedTuple

#: A likelihood ratio that no single Gaussian can explain away.
DECISIVE = 20.0
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


class Signs(NamedTuple):
    """What the regime is read off, with the thresholds.

    ``likelihood_ratio`` is against the model's own one Gaussian, which exceeds ``null_quantile`` with
    probability ``level``, as the ``law`` says; ``rival_ratio`` is against the best single Gaussian
    tried, which ``rival`` names; ``half_distance`` is in standard deviations, and ``contraction`` is
    EM's factor at the fit. ``misfit`` is the Anderson-Darling statistic; it and the ``valley`` are NaN
    where a sample does not keep its rows, and the valley also where the fit has one mode.
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
    level: float = 0.05
    law: str = "limit law"
    misfit: float = math.nan
    misfit_limit: float = math.nan
    valley: float = math.nan
    valley_limit: float = math.nan


def regime(signs: Signs) -> str:
    """The rule, fixed beforehand: "misfit", "over-specified", "separated" or "undecided"."""
    if signs.misfit > signs.misfit_limit:
        return "misfit"
    if signs.likelihood_ratio <= signs.null_quantile:
        return "over-specified"
    clear = (
        signs.rival_ratio > signs.decisive
        and signs.half_distance > signs.two_modes
        and not signs.valley <= signs.valley_limit
        and signs.contraction < signs.contraction_limit
    )
    return "separated" if clear else "undecided"


def advice(regime: str, signs: Signs) -> str:
    """What to do in a regime."""
    rivalled = signs.rival_ratio <= signs.decisive < signs.likelihood_ratio
    if regime == "misfit":
        if rivalled and signs.rival in _REMEDIES:
            return (
                "The two fitted Gaussians do not have the shape of the data, and "
                f"{signs.rival} does as well. {_REMEDIES[signs.rival]}"
            )
        if signs.valley > signs.valley_limit:
            return (
                "The data have two modes, but not the shape of two Gaussians of this model. Look at "
                "the Q-Q plot: the parts may be of unequal size or width, or more than two. Take the "
                "locations as rough centres only."
            )
        if signs.likelihood_ratio > signs.null_quantile:
            return (
                "Two Gaussians of this model do not have the shape of the data. Look at the Q-Q plot: "
                "the parts may be unequal, more than two, skewed, or not there at all. Do not read "
                "the locations as clusters."
            )
        return (
            "Neither one Gaussian nor two have the shape of the data. Look at the Q-Q plot for heavy "
            "tails, skewness and outliers; a transformation such as the logarithm may help."
        )
    if regime == "over-specified":
        return (
            "One Gaussian describes these data as well as two. Do not read the locations as "
            "clusters, and do not wait for EM, which crawls here. The interval for the half distance "
            "says how far apart two components could be."
        )
    if regime == "separated":
        return (
            "Two components stand clear of each other. Read the locations as clusters; "
            f"{_speed(signs.contraction)}, and any algorithm will do."
        )
    if rivalled:
        return (
            f"Two components beat the model's one Gaussian, but {signs.rival} does as well, so the "
            f"data need not have two parts. {_REMEDIES[signs.rival]}"
        )
    if signs.rival_ratio <= signs.decisive:
        return (
            "There is some evidence of two components, but too little to rely on. Collect more "
            "data before you read the locations as clusters."
        )
    if signs.half_distance > signs.two_modes and signs.valley <= signs.valley_limit:
        return (
            "Two components fit better than one, but the data do not show two modes: one flat, broad "
            "or skewed bump is as likely. Do not read the locations as clusters."
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
