"""Fits: two Gaussians to data, and the regime that the data are in. May import runs and below."""

from typing import TYPE_CHECKING, Any

from elubench.fits.choosing import check_algorithm as check_algorithm
from elubench.fits.comparing import compare as compare
from elubench.fits.detecting import detectable as detectable
from elubench.fits.detecting import detection_power as detection_power
from elubench.fits.fitting import fit as fit
from elubench.fits.result import Fit as Fit

if TYPE_CHECKING:
    from elubench.fits.estimator import TwoGaussians as TwoGaussians

__all__ = ["Fit", "TwoGaussians", "compare", "detectable", "detection_power", "fit"]


def __getattr__(name: str) -> Any:
    """TwoGaussians, when it is asked for: it needs scikit-learn, which the rest does not."""
    if name != "TwoGaussians":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "TwoGaussians needs scikit-learn: pip install 'elubench[sklearn]'"
        ) from error
    from elubench.fits.estimator import TwoGaussians

    return TwoGaussians
