"""One and two components of every model, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from elubench import checks
from elubench.fits import placing
from elubench.fits.fitting import fit
from elubench.fits.result import Fit, criteria
from elubench.models import General, Model
from elubench.models.known import known, named
from elubench.samples import Sample


def compare(
    X: Sample | ArrayLike,
    models: Iterable[Model | str] | None = None,
    *,
    weights: ArrayLike | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Fit several models and return a frame with a row for one and for two components of each.

    Rows are in the order of ``bic``, best first. ``regime`` is that of the two components. The criteria
    compare models. Whether there are one or two components is for ``Fit.p_value`` to say: counting
    parameters does not work there.

    Parameters
    ----------
    X, weights : as for ``fit``.
    models : by default all of the package that fit the scale, and general locations with free weights.
    options : of ``fit``.
    """
    given = known() if models is None else checks.items(models, "models", "models")
    chosen = [named(model) for model in given]
    if models is None:
        chosen = [model for model in chosen if not model.knows_scale] + [General(mixing="free")]
    if not chosen:
        raise ValueError("models must name at least one model, got none")
    if not isinstance(X, Sample):
        X, weights = placing.read(X, weights), None
    rows = [row for model in chosen for row in _rows(fit(X, model, weights=weights, **options))]
    return pd.DataFrame(rows).sort_values("bic", kind="stable", ignore_index=True)


def _rows(found: Fit) -> Iterable[dict[str, Any]]:
    model, d = found.model, found.d
    fewer = 0 if model.knows_scale else model.n_scales(d)
    fewer += d if model.translates else 0
    one = found.log_likelihood - found.gain
    for components, parameters, value in (
        (1, fewer, one),
        (2, found.n_parameters, found.log_likelihood),
    ):
        yield {
            "model": model.name,
            "components": components,
            "parameters": parameters,
            "log_likelihood": value,
            **criteria(value, parameters, found.weight)._asdict(),
            "regime": found.regime if components == 2 else "",
        }
