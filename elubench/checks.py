"""Checks of what users hand over. Every message names the argument; wording follows scikit-learn."""

from __future__ import annotations

import importlib
import math
import numbers
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Arrays of float64, everywhere.
Floats = NDArray[np.float64]


def integer(value: Any, name: str, least: int, most: int | None = None) -> int:
    """An int between bounds; whole floats such as 1e6 count as ints."""
    whole = isinstance(value, numbers.Integral) or (
        isinstance(value, numbers.Real) and math.isfinite(value) and int(float(value)) == value
    )
    if isinstance(value, bool | np.bool_) or not whole:
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least or (most is not None and value > most):
        bounds = f">= {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{name} must be {bounds}, got {value!r}")
    return int(value)


def real(
    value: Any,
    name: str,
    above: float = -math.inf,
    below: float = math.inf,
    closed: str = "",
) -> float:
    """A finite float in an interval, open unless ``closed`` holds "above" or "below"."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    given = float(value)
    low = given >= above if "above" in closed else given > above
    high = given <= below if "below" in closed else given < below
    if not (math.isfinite(given) and low and high):
        left, right = ("[" if "above" in closed else "("), ("]" if "below" in closed else ")")
        if math.isinf(above) and math.isinf(below):
            raise ValueError(f"{name} must be finite, got {value!r}")
        if math.isinf(below):
            sign = ">=" if "above" in closed else ">"
            raise ValueError(f"{name} must be finite and {sign} {above:g}, got {value!r}")
        raise ValueError(f"{name} must be in {left}{above:g}, {below:g}{right}, got {value!r}")
    return given


def choice(value: Any, name: str, known: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def text(value: Any, name: str, least: int = 0) -> str:
    """A string of at least so many characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {value!r}")
    if len(value) < least:
        raise ValueError(f"{name} must not be empty, got {value!r}")
    return value


def truth(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, got {value!r}")
    return value


def imported(reference: str, name: str, folder: Path | None = None) -> Any:
    """What "module:attribute" stands for; the module is imported from ``folder`` or from the path."""
    module, _, attribute = reference.partition(":")
    if not all(part.isidentifier() for part in [*module.split("."), attribute]):
        raise ValueError(f"{name} must be 'module:Class', got {reference!r}")
    before = list(sys.path)
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in (module, module.partition(".")[0]):
            raise
        places = f"in {folder} or " if folder is not None else ""
        raise ValueError(
            f"{name} is {reference!r}, but there is no module {module!r} {places}on Python's path"
        ) from None
    finally:
        sys.path[:] = before
    if not hasattr(found, attribute):
        raise ValueError(f"{name} is {reference!r}, but {module} has no {attribute!r}")
    return getattr(found, attribute)


def vector(value: ArrayLike, name: str, length: int) -> Floats:
    """A finite float64 vector of the given length; a new, contiguous array."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {value!r}") from None
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity")
    return array


def table(X: Any, name: str = "X") -> Any:
    """Something two-dimensional and numeric whose row slices NumPy can convert; nothing is copied."""
    if hasattr(X, "tocsr"):
        raise TypeError(f"{name}: sparse data was passed, but dense data is required")
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):  # a pandas frame or series
        kinds = {getattr(t, "kind", "O") for t in np.atleast_1d(np.asarray(X.dtypes, dtype=object))}
    else:
        X = _array(X, name)
        kinds = {X.dtype.kind}
    if "c" in kinds:
        raise ValueError(f"Complex data not supported: {name}")
    if not kinds <= set("fiub"):
        raise ValueError(
            f"{name} must hold numbers; dtype='numeric' is not compatible with arrays of "
            "bytes/strings, dates or objects"
        )
    shape = X.shape
    if len(shape) != 2:
        hint = " Reshape your data using array.reshape(-1, 1) if it has a single feature."
        raise ValueError(
            f"Expected 2D array for {name}, got {len(shape)}D array instead (shape={shape})."
            + (hint if len(shape) < 2 else "")
        )
    if shape[1] < 1:
        raise ValueError(
            f"Found array {name} with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )
    if shape[0] < 2:
        raise ValueError(
            f"Found array {name} with {shape[0]} sample(s) (shape={shape}) "
            "while a minimum of 2 is required."
        )
    return X


def weights(values: Any, n: int, name: str = "weights") -> Floats | None:
    """Non-negative finite weights of the rows, or None where none were given."""
    if values is None:
        return None
    given = _array(values, name)
    if given.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name}")
    if given.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be an array of numbers, got dtype {given.dtype}")
    if given.shape != (n,):
        raise ValueError(f"{name}.shape == {given.shape}, expected {(n,)}")
    with np.errstate(over="ignore"):  # of a wider float; the result is refused below
        array: Floats = given.astype(np.float64, copy=False)
        total = array.sum()
    if np.isnan(array).any():
        raise ValueError(f"Input {name} contains NaN.")
    if np.isinf(array).any():
        raise ValueError(f"Input {name} contains infinity.")
    if (array < 0).any():
        raise ValueError(f"Negative values in data passed to {name}")
    if not np.isfinite(total):
        raise ValueError(f"Input {name} contains values too large: their sum overflows.")
    if not np.count_nonzero(array) >= 2:
        raise ValueError(
            f"{name} must leave at least 2 rows, got {np.count_nonzero(array)} that are not zero"
        )
    return array


def _array(values: Any, name: str) -> Any:
    try:
        return values if isinstance(values, np.ndarray) else np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a regular array: its rows differ in length") from None
