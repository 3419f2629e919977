"""Checks of arguments: each returns the value in the form that the package works with.

Messages read "name must be ..., got ..."; a wrong type is a TypeError, a wrong value a ValueError.
Messages about tables contain the phrases that scikit-learn's own checks of an estimator look for.
"""

from __future__ import annotations

import importlib
import math
import numbers
import re
import sys
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

T = TypeVar("T")

#: Arrays of float64, everywhere.
Floats = NDArray[np.float64]

#: The largest integer that a kernel takes.
MOST = 2**63 - 1

_COUNTED = 2**53  # a bound beyond this is not worth a word about a number that is too small
# entries of an array, and characters, that a message shows
_FEW, _LONG = 6, 200

# A file that people write has neither; on a key of 50,000 parts tomllib spends a minute.
_MOST_CHARACTERS, _MOST_DOTS = 10**6, 100
_STRINGS = re.compile(r"""'[^'\n]*'|"[^"\n]*"|#.*""")


def toml(text: str) -> dict[str, Any]:
    """The values in a TOML file; ValueError says why there are none, and in which line."""
    if len(text) > _MOST_CHARACTERS:
        raise ValueError(f"must have at most {_MOST_CHARACTERS:,} characters, got {len(text):,}")
    for number, line in enumerate(text.split("\n"), 1):
        # dots one after the other are part of no key
        if (
            line.count(".") > _MOST_DOTS
            and len(re.findall(r"[^.]\.", _STRINGS.sub("_", line))) > _MOST_DOTS
        ):
            raise ValueError(f"a key must have at most {_MOST_DOTS} dots (at line {number})")
    try:
        return tomllib.loads(text + "\n")  # so that an error in the last line has its number
    except RecursionError:
        raise ValueError("tables or lists are nested too deeply") from None
    except ValueError as error:  # TOML's own, or an integer of thousands of digits
        raise ValueError(str(error).partition(";")[0]) from None


def integer(value: Any, name: str, least: int, most: int | None = None) -> int:
    """An int within the bounds; whole floats such as 1e6 count as ints."""
    try:
        whole = isinstance(value, numbers.Integral) or (
            isinstance(value, numbers.Real) and math.isfinite(value) and int(float(value)) == value
        )
    except OverflowError:  # a fraction beyond all floats
        whole = False
    if isinstance(value, bool | np.bool_) or not whole:
        raise TypeError(f"{name} must be an integer, got {brief(value)}")
    if value < least or (most is not None and value > most):
        open_ended = most is None or (value < least and most > _COUNTED)
        bounds = f">= {least}" if open_ended else f"between {least} and {most}"
        raise ValueError(f"{name} must be {bounds}, got {brief(value)}")
    return int(value)


def real(
    value: Any,
    name: str,
    above: float = -math.inf,
    below: float = math.inf,
    closed: str = "",
) -> float:
    """A finite float in the interval, open unless ``closed`` contains "above" or "below"."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be a number, got {brief(value)}")
    try:
        given = float(value)
    except OverflowError:  # an integer of more than 308 digits, of either sign
        given = math.inf
    low = given >= above if "above" in closed else given > above
    high = given <= below if "below" in closed else given < below
    if not (math.isfinite(given) and low and high):
        left, right = ("[" if "above" in closed else "("), ("]" if "below" in closed else ")")
        if math.isinf(above) and math.isinf(below):
            raise ValueError(f"{name} must be finite, got {brief(value)}")
        if math.isinf(below):
            sign = ">=" if "above" in closed else ">"
            raise ValueError(f"{name} must be finite and {sign} {above:g}, got {brief(value)}")
        raise ValueError(f"{name} must be in {left}{above:g}, {below:g}{right}, got {brief(value)}")
    return given


def brief(value: Any) -> str:
    """What was given, for a message: one line, and not a long one."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return f"an integer of about {round(value.bit_length() * math.log10(2.0))} digits"
    if isinstance(value, np.ndarray) and value.ndim and value.size > _FEW:
        return f"an array of shape {value.shape}"
    if hasattr(value, "iloc"):
        return f"a {type(value).__name__} of shape {value.shape}"
    try:
        line = " ".join(repr(value).split())
    except ValueError:  # integers of thousands of digits inside
        line = f"a {type(value).__name__}"
    return line if len(line) <= _LONG else f"{line[: _LONG - 4]} ..."


def choice(value: Any, name: str, known: Sequence[str]) -> str:
    """The word given, one of those known."""
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {brief(value)}")
    return value


def text(value: Any, name: str, least: int = 0) -> str:
    """A string of at least so many characters."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {brief(value)}")
    if len(value) < least:
        raise ValueError(f"{name} must not be empty, got {brief(value)}")
    return value


def keys(
    given: Mapping[str, Any], known: Collection[str], at: str = "", which: str = "; known are "
) -> None:
    """Raise ValueError for a key that is not known; ``at`` is what its path begins with."""
    for key in given:
        if key not in known:
            raise ValueError(f"{at}{key} is not a key{which}{', '.join(known)}")


def several(value: Any, name: str, read: Callable[[Any, str], T]) -> tuple[T, ...]:
    """One value, or a list of different ones, each as ``read`` gives it."""
    if not isinstance(value, list | tuple):
        return (read(value, name),)
    if not value:
        raise ValueError(f"{name} must be a list of at least one value, got {brief(value)}")
    made: dict[T, None] = {}
    for number, one in enumerate(value, 1):
        item = read(one, f"{name}[{number}]")
        if item in made:
            raise ValueError(f"{name}[{number}] has {item!r} twice")
        made[item] = None
    return tuple(made)


def items(value: Any, name: str, what: str) -> list[Any]:
    """What a list, or another iterable but text or a frame, holds."""
    try:
        if not (isinstance(value, str | bytes) or hasattr(value, "iloc")):
            return list(value)
    except TypeError:
        pass
    raise TypeError(f"{name} must be a list of {what}, got {brief(value)}")


def truth(value: Any, name: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be true or false, got {brief(value)}")
    return value


def module(given: str, name: str, folder: Path | None = None, reference: str = "") -> ModuleType:
    """The module of this name; ``folder`` is searched before Python's path."""
    before = list(sys.path)
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        return importlib.import_module(given)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{given}.".startswith(f"{error.name}."):
            places = f"in {folder} or " if folder is not None else ""
            why = f"there is no module {given!r} {places}on Python's path"
        else:
            why = (
                f"importing {given!r} raises {type(error).__name__}: {' '.join(str(error).split())}"
            )
        raise ValueError(
            f"{name} must be importable, got {(reference or given)!r}: {why}"
        ) from error
    finally:
        sys.path[:] = before


def imported(reference: str, name: str, base: type, folder: Path | None = None) -> Any:
    """The class "module:Class", derived from ``base``; ``folder`` is searched before Python's path."""
    home, _, attribute = reference.partition(":")
    if not all(part.isidentifier() for part in [*home.split("."), attribute]):
        raise ValueError(f"{name} must be 'module:Class', got {reference!r}")
    kind = getattr(module(home, name, folder, reference), attribute, None)
    if not (isinstance(kind, type) and issubclass(kind, base)):
        what = "nothing" if kind is None else repr(kind)
        raise ValueError(
            f"{name} must be a subclass of {base.__name__}, got {reference!r}, which is {what}"
        )
    return kind


def vector(value: ArrayLike, name: str, length: int) -> Floats:
    """A new, contiguous float64 array of the given length, all finite."""
    array = numeric(value, name)
    if array.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {array.shape}")
    if not all(map(math.isfinite, array.tolist())):
        raise ValueError(f"{name} must be finite, got {brief(array)}")
    return array


def numeric(value: ArrayLike, name: str) -> Floats:
    """A new, contiguous float64 array of any shape, of numbers that need not be finite."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        return np.array(value, order="C")
    _check_mask(value, name)
    try:
        if not np.iscomplexobj(value):
            return np.array(value, dtype=np.float64, order="C")
    except OverflowError:  # an integer of more than 308 digits
        raise ValueError(f"{name} must be finite, got {brief(value)}") from None
    except (TypeError, ValueError):
        pass
    raise TypeError(f"{name} must be an array of numbers, got {brief(value)}")


def coordinates(value: ArrayLike, name: str, d: int) -> Floats:
    """A new float64 array (d,): the numbers given, or one number repeated."""
    given = numeric(value, name)
    return vector(np.full(d, given) if given.ndim == 0 else given, name, d)


def frame(value: Any, name: str, *columns: str) -> Any:
    """The DataFrame given, which has rows and these columns."""
    if not (hasattr(value, "columns") and hasattr(value, "iloc")):
        raise TypeError(f"{name} must be a pandas DataFrame, got {type(value).__name__}")
    missing = [repr(column) for column in columns if column not in value]
    if missing:
        several = "a column" if len(missing) == 1 else "columns"
        shown = ", ".join(map(str, value.columns)) or "none"
        raise ValueError(f"{name} must have {several} {', '.join(missing)}, got {shown}")
    if value.empty:
        raise ValueError(f"{name} must have at least one row, got none")
    return value


def table(X: Any, name: str = "X", least: int = 2) -> Any:
    """Two-dimensional numeric data whose row slices NumPy can convert; nothing is copied.

    There must be at least so many rows.
    """
    if hasattr(X, "tocsr"):
        raise TypeError(f"{name} must be dense, got sparse data")
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):  # a pandas frame or series
        found = np.atleast_1d(np.asarray(X.dtypes, dtype=object)).tolist()
    else:
        X = _array(X, name)
        found = [X.dtype]
    _check_kinds(found, name)
    shape = X.shape
    if len(shape) != 2:
        hint = ". Reshape your data using array.reshape(-1, 1) if it has a single feature"
        raise ValueError(
            f"{name} must be a 2D array, got a {len(shape)}D array of shape {shape}"
            + (hint if len(shape) < 2 else "")
        )
    if shape[1] < 1:
        raise ValueError(
            f"{name} must have columns, got 0 feature(s) (shape={shape}) "
            "while a minimum of 1 is required."
        )
    if shape[0] < least:
        raise ValueError(
            f"{name} must have rows, got {shape[0]} sample(s) (shape={shape}) "
            f"while a minimum of {least} is required."
        )
    return X


def weights(values: Any, n: int, name: str = "weights", least: int = 2) -> Floats | None:
    """Weights (n,) of the rows as float64, finite and not negative; None if None was given.

    At least so many must not be zero.
    """
    if values is None:
        return None
    given = _array(values, name)
    _check_kinds([given.dtype], name)
    if given.shape != (n,):
        raise ValueError(f"{name} must have shape ({n},), got {given.shape}")
    with np.errstate(over="ignore"):  # a wider float may become infinite here
        array: Floats = given.astype(np.float64, copy=False)
        total = array.sum()
    if not np.isfinite(array).all():
        found = "NaN" if np.isnan(array).any() else "infinity"
        raise ValueError(f"{name} must be finite, got {found}")
    if (array < 0).any():
        raise ValueError(f"{name} must be >= 0, got {array.min():g}")
    if not np.isfinite(total):
        raise ValueError(f"{name} must have a finite sum, got {total:g}")
    if np.count_nonzero(array) < least:
        raise ValueError(
            f"{name} must leave at least {least} rows, got {np.count_nonzero(array)} that are not zero"
        )
    return array


def _check_kinds(dtypes: Sequence[Any], name: str) -> None:
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    if "c" in kinds:
        raise ValueError(f"{name} must be real, got complex numbers. Complex data not supported")
    if not kinds <= set("fiub"):
        shown = ", ".join(dict.fromkeys(str(dtype) for dtype in dtypes))
        raise ValueError(f"{name} must be an array of numbers, got dtype {shown}")


def _check_mask(values: Any, name: str) -> None:
    """Refuse masked entries, whose values NumPy would silently bring back."""
    parts = values if isinstance(values, list | tuple) else [values]
    masked = sum(
        np.count_nonzero(part.mask) for part in parts if isinstance(part, np.ma.MaskedArray)
    )
    if masked:
        entries = "1 masked entry" if masked == 1 else f"{masked:,} masked entries"
        raise ValueError(f"{name} must not be masked, got {entries}; leave these rows out")


def _array(values: Any, name: str) -> Any:
    """The values as a plain array, without a mask that masks nothing."""
    _check_mask(values, name)
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be a regular array, got rows of different lengths") from None
