"""How kernels are compiled: every compiler option with its reason, and the kernel cache.

Kernels come in four kinds, and a function belongs to exactly one of them:

``exact``        IEEE arithmetic to the letter: the algebra of models and algorithms, and loops.
                 The same expression gives the same bits wherever it is inlined.
``elementwise``  ``contract`` only: a multiply and an add may fuse. (Arithmetic on lanes of numbers
                 brings this flag along, whatever the kind of the kernel. ``reassoc`` would silently
                 fold the rounding of tanh away, which adds and subtracts a large constant.)
``reduction``    ``contract`` and ``reassoc``: a dot product may use several accumulators. Without it
                 the loop does not vectorise. ``nsz`` lets the accumulators start at +0.
``parallel``     ``prange`` over fixed blocks. Never a ``prange`` reduction, whose result would depend
                 on the number of threads: each block writes a partial sum of its own.

Common to all:

``error_model='numpy'``  a division needs no check for zero, which would stop vectorisation.
``nogil=True``           Python threads can run kernels side by side.
``boundscheck=False``    stated, so that a user's ``NUMBA_BOUNDSCHECK`` cannot halve the speed unseen.

And where :func:`kernel` is asked for it: ``forceinline``, and ``_nrt`` off.

Nothing is compiled at import. A kernel that Python calls has a signature of its own and is compiled,
or loaded from the cache, by :func:`ready` on first use; :func:`warmup` does so for all of them.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, cgutils
from numba.extending import intrinsic

from elubench.kernels.interrupts import held

COMMON = {"error_model": "numpy", "nogil": True, "boundscheck": False}
KINDS: dict[str, dict[str, Any]] = {
    "exact": {"fastmath": False},
    "elementwise": {"fastmath": {"contract"}},
    "reduction": {"fastmath": {"contract", "reassoc", "nsz"}},
    "parallel": {"fastmath": False, "parallel": True},
}

#: False when ``NUMBA_DISABLE_JIT=1``: kernels then are plain Python functions.
JIT = not numba.config.DISABLE_JIT

_PARTS = ("kernels", "models", "algorithms")
_registry: list[Any] = []
_compile_seconds = 0.0
_compile_lock = threading.RLock()
# A process that is forked while a thread compiles would have half a kernel and a lock for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compile_lock.acquire,
        after_in_parent=_compile_lock.release,
        after_in_child=_compile_lock.release,
    )


def kernel(
    kind: str, signature: Any = None, *, inline: bool = False, counted: bool = True
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function as a kernel of the given kind.

    With a signature the kernel can be called from Python (after :func:`ready`), takes these types
    and no others, and is kept in the kernel cache. Without, it exists to be called by other kernels.
    ``inline`` spares the call, which for a function of several arrays moves some sixty numbers over
    the stack: for what is called once for each small tile. ``counted=False`` leaves reference counts
    out, for a function that neither makes nor returns an array: its slices cost nothing.
    """
    options = {**COMMON, **KINDS[kind], "forceinline": inline, "_nrt": counted}

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if JIT and signature is not None:
            dispatcher.elubench_signature = signature
            dispatcher._cache = _KernelCache(function)
            _registry.append(dispatcher)
        return dispatcher

    return decorate


if JIT:

    @intrinsic
    def borrow(typingctx: Any, value: Any) -> Any:
        """The same array, or tuple of arrays, but not counted: its slices touch no reference count.

        A count is an atomic operation, and on a small sample they took half the time of an
        iteration. The caller keeps what it lends alive for as long as it is used.
        """

        def uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
            if isinstance(kind, numba.types.BaseTuple):
                for place, member in enumerate(kind):
                    own = builder.extract_value(value, place)
                    own = uncounted(context, builder, member, own)
                    value = builder.insert_value(value, own, place)
            elif isinstance(kind, numba.types.Array):
                array = context.make_array(kind)(context, builder, value)
                array.meminfo = cgutils.get_null_value(array.meminfo.type)
                array.parent = cgutils.get_null_value(array.parent.type)
                value = array._getvalue()
            return value

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return uncounted(context, builder, signature.args[0], args[0])

        return value(value), codegen

else:

    def borrow(value: Any) -> Any:
        return value


def ready(dispatcher: Any) -> Any:
    """Return the kernel, compiled or loaded from the cache for its one signature."""
    global _compile_seconds
    if JIT and not dispatcher.overloads:
        with _compile_lock:
            if not dispatcher.overloads:
                begun = time.perf_counter()
                with held():
                    dispatcher.compile(dispatcher.elubench_signature)
                    dispatcher.disable_compile()
                _compile_seconds += time.perf_counter() - begun
    return dispatcher


def compile_seconds() -> float:
    """How long :func:`ready` has compiled and loaded kernels in this process."""
    return _compile_seconds


def warmup() -> None:
    """Compile every kernel, or load it from the cache, so that later calls only compute."""
    for dispatcher in known_kernels():
        ready(dispatcher)


def known_kernels() -> list[Any]:
    """Every kernel that Python calls; the modules that define them are imported."""
    package = __name__.split(".")[0]
    for part in _PARTS:
        folder = Path(__file__).resolve().parent.parent / part
        for source in sorted(folder.glob("*.py")):
            import_module(f"{package}.{part}.{source.stem}".removesuffix(".__init__"))
    return list(_registry)


def cache_folder() -> Path | None:
    """The folder of the kernel cache, or None where no folder can be written.

    ``ELUBENCH_CACHE_DIR`` overrides the user's cache folder. Its last part is a hash of the sources
    that are compiled, so an edit to one kernel can never meet machine code made from another.
    """
    if _folder is _UNKNOWN:
        _find_folder()
    return _folder


def cache_state() -> dict[str, int]:
    """Counts of kernels: known, found on disk, and compiled or loaded in this process."""
    kernels = known_kernels()
    folder = cache_folder()
    on_disk = len(list(folder.glob("*.nbi"))) if JIT and folder is not None else 0
    in_process = sum(1 for dispatcher in kernels if dispatcher.overloads)
    return {"kernels": len(kernels), "cached": on_disk, "compiled": in_process}


_UNKNOWN = Path("unknown")
_folder: Path | None = _UNKNOWN


def _find_folder() -> None:
    global _folder
    _folder = None
    for base in _candidates():
        folder = base / _source_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            probe = folder / f".probe-{os.getpid()}-{threading.get_ident()}"
            probe.write_bytes(b"1")
            probe.unlink()
        except OSError:
            continue
        _folder = folder
        return


def _candidates() -> list[Path]:
    chosen = os.environ.get("ELUBENCH_CACHE_DIR")
    if chosen:
        return [Path(chosen)]
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = str(Path("~/Library/Caches").expanduser())
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return [Path(base) / "elubench" / "kernels"] if base else []


def _source_hash() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    package = Path(__file__).resolve().parent.parent
    for part in _PARTS:
        for source in sorted((package / part).glob("*.py")):
            digest.update(source.name.encode())
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


class _Locator(caching._CacheLocator):
    """Puts a function's cached code into the kernel cache, stamped with its own file's contents."""

    def __init__(self, function: Any, source: str, folder: Path):
        self._folder = folder
        self._line = function.__code__.co_firstlineno
        self._stamp = hashlib.sha256(Path(source).read_bytes()).hexdigest()

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)

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


class _KernelCache(caching._Cache):
    """Numba's function cache in our folder, made on first use; no fault of it is ever fatal.

    A truncated file, a full disk or a folder that vanished cost a compilation and nothing else.
    """

    def __init__(self, function: Any):
        self._function = function
        self._inner: Any = None

    def _cache(self) -> Any:
        if self._inner is None:
            self._inner = _FunctionCache(self._function)
        return self._inner

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return self._cache().load_overload(sig, target_context)
        except Exception:  # whatever a damaged pickle raises: the kernel is compiled instead
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            try:
                self._cache().save_overload(sig, data)
            except Exception:  # the index itself is damaged: start it anew
                self._cache().flush()
                self._cache().save_overload(sig, data)
        except Exception:  # no space, no permission: stay uncached
            pass

    def enable(self) -> None:
        pass

    def disable(self) -> None:
        pass

    def flush(self) -> None:
        self._cache().flush()
