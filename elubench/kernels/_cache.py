"""The kernel cache: machine code on disk, in a folder named after the sources that are compiled."""

from __future__ import annotations

import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core.sigutils import normalize_signature

from elubench.kernels._outside import outside_hash
from elubench.kernels._private import fault_of, private_folder
from elubench.kernels._sources import PACKAGE, PARTS, source_hash, text_hash

_log = logging.getLogger("elubench")

_UNKNOWN = Path("unknown")
_folder: Path | None = _UNKNOWN
_why_none = ""


def cache_folder() -> Path | None:
    """The folder of the kernel cache, or None where there is none that is ours alone and writable.

    ``ELUBENCH_CACHE_DIR`` overrides the user's cache folder. Its last part is a hash of the sources
    that are compiled, so an edit to one kernel can never meet machine code made from another.
    """
    if _folder is _UNKNOWN:
        _find_folder()
    return _folder


def why_uncached() -> str:
    """Why there is no cache folder; nothing where there is one."""
    return _why_none if cache_folder() is None else ""


def _find_folder() -> None:
    global _folder, _why_none
    try:
        _folder, _why_none = _own_folder(), ""
    except OSError as error:
        _folder, _why_none = None, str(error)
        if multiprocessing.parent_process() is None:  # a worker's parent has said it
            _log.warning("elubench: kernels are not cached: %s", _why_none)


def _own_folder() -> Path:
    base, *parts = _place()
    text = text_hash()
    kernels = private_folder(Path(base), *parts)
    made = (mark.parent for mark in kernels.glob(f"*/.text-{text}"))  # from this very text
    name = next((one.name for one in made if not fault_of(one)), None) or source_hash()
    folder = private_folder(Path(base), *parts, name)
    probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
    probe.write_bytes(b"1")
    probe.unlink()
    (folder / f".text-{text}").touch()
    return folder


def _place() -> tuple[str, ...]:
    """The folder in which the cache may be, and the names of folders to make below it."""
    chosen = os.environ.get("ELUBENCH_CACHE_DIR")
    if chosen:
        return (chosen,)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~"
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if base.startswith("~"):  # neither HOME nor an entry in passwd
        raise FileNotFoundError(
            "this user has no home folder; ELUBENCH_CACHE_DIR can name a folder"
        )
    return base, "elubench", "kernels"


class _Locator(caching._CacheLocator):
    """Puts a function's machine code into the kernel cache.

    The folder's name stands for the package's own sources. A kernel from elsewhere, a user's, is
    stamped with the sources that it is compiled from as well.
    """

    def __init__(self, function: Any, source: str, folder: Path):
        self._folder = folder
        file = Path(source).resolve()
        if file.parent in [PACKAGE / part for part in PARTS]:
            self._stamp, self._disambiguator = "", file.parent.name
        else:
            self._stamp = outside_hash(function, file)
            self._disambiguator = str(function.__code__.co_firstlineno)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return self._disambiguator

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator | None:
        folder = cache_folder()
        if folder is None or not os.path.exists(py_file):
            return None
        return cls(py_func, py_file, folder)


class _Impl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _FunctionCache(caching.FunctionCache):
    _impl_class = _Impl


def _arguments(sig: Any) -> Any:
    """The types of the arguments: a kernel that another one calls is compiled for these alone."""
    return normalize_signature(sig)[0]


class KernelCache(caching._Cache):
    """Numba's function cache in our folder, made on first use; its faults are never fatal.

    A truncated file, a full disk or a deleted folder costs a compilation and nothing else.
    """

    def __init__(self, function: Any, missed: Callable[[], None] = lambda: None):
        """``missed`` is called when the kernel is not there, and has to be compiled."""
        self._function, self._missed = function, missed
        self._inner: Any = None

    def _cache(self) -> Any:
        if self._inner is None:
            self._inner = _FunctionCache(self._function)
        return self._inner

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder)

    def has_some(self) -> bool:
        """Whether the kernel was compiled before."""
        try:
            return bool(self._cache()._cache_file._load_index())
        except Exception:  # damaged, or none
            return False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            found = self._cache().load_overload(_arguments(sig), target_context)
        except Exception:  # whatever a damaged pickle raises: the kernel is compiled instead
            found = None
        if found is None:
            self._missed()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                self._cache().save_overload(_arguments(sig), data)
            except Exception:  # the index itself is damaged: start it anew
                self._cache().flush()
                self._cache().save_overload(_arguments(sig), data)
        except Exception:  # no space, no permission: stay uncached
            pass

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        self._cache().flush()
