"""How kernels are compiled: every compiler option with its reason.

Kernels come in four kinds, and a function belongs to exactly one of them:

``exact``        strict IEEE arithmetic: the algebra of models and algorithms, and loops.
                 The same expression gives the same bits wherever it is inlined.
``elementwise``  ``contract`` only: a multiply and an add may fuse. (Arithmetic on lanes of numbers
                 has this flag whatever the kind of the kernel. ``reassoc`` would silently remove the
                 rounding in tanh, which adds and subtracts a large constant.)
``reduction``    ``contract`` and ``reassoc``: a dot product may use several accumulators. Without it
                 the loop does not vectorise. ``nsz`` lets the accumulators start at +0.
``parallel``     ``prange`` over fixed blocks. Never a ``prange`` reduction, whose result would depend
                 on the number of threads: each block writes its own partial sum.

Common to all:

``error_model='numpy'``  a division needs no check for zero, which would stop vectorisation.
``nogil=True``           Python threads can run kernels side by side.
``boundscheck=False``    explicit, so that ``NUMBA_BOUNDSCHECK`` cannot silently halve the speed.

On request, see :func:`kernel`: ``forceinline``, ``inline``, and ``_nrt`` and the wrappers off.

Nothing is compiled at import. A kernel that Python calls has one signature and is compiled, or loaded
from the cache, by :func:`ready` on first use, or after a number of calls if Python can do without that
long; :func:`compiled_now` does not wait, and :func:`warmup` calls it for all of them.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numba
import numpy as np
from numba.core import cgutils
from numba.extending import intrinsic

from elubench.kernels._cache import KernelCache, cache_folder
from elubench.kernels._parts import PartCompiler
from elubench.kernels._sources import PACKAGE, PARTS
from elubench.kernels.interrupts import held

COMMON = {"error_model": "numpy", "nogil": True, "boundscheck": False}
KINDS: dict[str, dict[str, Any]] = {
    "exact": {"fastmath": False},
    "elementwise": {"fastmath": {"contract"}},
    "reduction": {"fastmath": {"contract", "reassoc", "nsz"}},
    "parallel": {"fastmath": False, "parallel": True},
}

#: False if ``NUMBA_DISABLE_JIT=1``: kernels are then plain Python functions.
JIT = not numba.config.DISABLE_JIT

_COLD = 500  # calls, after which compiling a kernel pays

_registry: list[Any] = []
_compile_seconds = 0.0
_listeners: list[Listener] = []
_told: list[Listener] = []  # of the kernel that is being compiled
_compile_lock = threading.RLock()
# A process that is forked while a thread compiles would have half a kernel and a lock for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compile_lock.acquire,
        after_in_parent=_compile_lock.release,
        after_in_child=_compile_lock.release,
    )


def kernel(
    kind: str,
    signature: Any = None,
    *,
    inline: bool = False,
    merged: bool = False,
    counted: bool = True,
    plain: bool | int = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function as a kernel of the given kind.

    With a signature the kernel can be called from Python (after :func:`ready`), takes these types
    only, and is kept in the kernel cache. Without one, it can be called by other kernels only.
    ``inline`` avoids the call, which for a function of several arrays copies some sixty numbers to
    the stack; it is for what is called often and does little. ``merged`` puts the code into that of its
    caller, which must be of the same kind and counted like it, before this is compiled: the first use of
    a small sample then waits half a second less for the serial pass, which would else have its longest
    function compiled by itself first. ``counted=False`` leaves out reference
    counts, for a function that neither creates nor returns an array: its slices then cost nothing; one
    that only other kernels call is then compiled as a part of these, see :mod:`elubench.kernels._parts`.
    What Python needs to call a kernel takes up to half of its compile time, so others go without; all go
    without what Numba makes for function pointers, see :mod:`elubench.kernels.pointers`.
    ``plain`` is for a kernel without a signature that Python calls, too, and then runs as it is written.
    With a signature it is a number: as long as no array has more numbers, the kernel is only compiled
    after a few hundred calls, and runs as it is written before, unless the cache has it. Strict IEEE
    arithmetic has the same bits either way.
    """
    options = {**COMMON, **KINDS[kind], "forceinline": inline, "_nrt": counted}
    if merged:
        options["inline"] = "always"
    if JIT:
        options["no_cfunc_wrapper"] = True
        options["no_cpython_wrapper"] = signature is None and kind != "parallel"
        if signature is None and not counted:
            options["pipeline_class"] = PartCompiler

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if options.get("no_cpython_wrapper"):
            _without_wrapper(dispatcher, bool(plain))
        if JIT and signature is not None:
            dispatcher.elubench_signature = signature
            dispatcher.elubench_calls = 0 if plain else _COLD
            dispatcher._cache = KernelCache(function, _begins)
            _registry.append(dispatcher)
            dispatcher.elubench_most = int(plain)
            if plain:
                _plain_at_first(dispatcher)
        return dispatcher

    return decorate


def _without_wrapper(dispatcher: Any, plain: bool) -> None:
    """Let Python call the plain function, or nothing: Numba would jump to address 0."""

    def called(*args: Any, **options: Any) -> Any:
        """What is to be called with these arguments."""
        if plain:
            return dispatcher.py_func
        name = dispatcher.py_func.__name__
        raise TypeError(f"kernel {name} has no signature: only other kernels can call it")

    dispatcher._insert = lambda *args, **options: None  # nothing for a call to find
    dispatcher._compile_for_args = called


def is_small(dispatcher: Any, given: Any) -> bool:
    """Whether a kernel may run as it is written on these arguments."""
    most = dispatcher.elubench_most
    return all(each.size <= most for each in given if isinstance(each, np.ndarray))


def _plain_at_first(dispatcher: Any) -> None:
    """Let Python call the plain function as long as there is no machine code."""

    def plainly(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return dispatcher.py_func(*args)

    def called(*args: Any) -> Any:
        dispatcher.elubench_calls += 1
        return plainly if is_small(dispatcher, args) else compiled_now(dispatcher)

    dispatcher._compile_for_args = called


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


def is_ready(dispatcher: Any) -> bool:
    """Whether the kernel can be called without compiling or loading it."""
    return not JIT or bool(dispatcher.overloads)


def ready(dispatcher: Any) -> Any:
    """Return the kernel, ready for Python to call it: compiled, or not worth it yet."""
    if not JIT or dispatcher.overloads or 0 < dispatcher.elubench_calls < _COLD:
        return dispatcher
    if dispatcher.elubench_calls == 0:
        dispatcher.elubench_calls = 1
        if not dispatcher._cache.has_some():
            return dispatcher
    return compiled_now(dispatcher)


def compiled_now(dispatcher: Any) -> Any:
    """Return the kernel, compiled or loaded from the cache for its one signature."""
    global _compile_seconds
    if not is_ready(dispatcher):
        with _compile_lock:
            if not dispatcher.overloads:
                begun = time.perf_counter()
                try:
                    with held(), _no_collection():
                        dispatcher.compile(dispatcher.elubench_signature)
                        dispatcher.disable_compile()
                finally:
                    spent = time.perf_counter() - begun
                    _compile_seconds += spent
                    while _told:
                        _told.pop().compiled(spent)
    return dispatcher


def _begins() -> None:
    """A kernel is not in the cache. Those that it calls are compiled with it."""
    if not _told:
        _told.extend(_listeners[-1:])
        for listener in _told:
            listener.begins()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without garbage collection: searching the compiler's objects takes a sixth of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class Listener:
    """Is told of kernels that are compiled, because they are not in the cache."""

    def begins(self) -> None:
        """The next one begins."""

    def compiled(self, seconds: float) -> None:
        """It took so long; or it failed then."""


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell the listener of kernels that are compiled within the block."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def compile_seconds() -> float:
    """How long kernels were compiled and loaded in this process."""
    return _compile_seconds


def warmup(progress: Callable[[int, int], None] | None = None) -> None:
    """Compile every kernel, or load it from the cache, so that later calls only compute.

    ``progress(k, m)`` is called when k of m kernels are done.
    """
    kernels = known_kernels()
    for done, dispatcher in enumerate(kernels):
        compiled_now(dispatcher)
        if progress is not None:
            progress(done + 1, len(kernels))


def known_kernels() -> list[Any]:
    """Every kernel that Python calls; the modules that define them are imported."""
    for part in PARTS:
        for source in sorted((PACKAGE / part).glob("*.py")):
            import_module(f"{PACKAGE.name}.{part}.{source.stem}".removesuffix(".__init__"))
    return list(_registry)


def cache_state() -> dict[str, int]:
    """Counts of kernels: known, found on disk, and compiled or loaded in this process."""
    kernels = known_kernels()
    folder = cache_folder()
    on_disk = len(list(folder.glob("*.nbi"))) if JIT and folder is not None else 0
    in_process = sum(1 for dispatcher in kernels if dispatcher.overloads)
    return {"kernels": len(kernels), "cached": on_disk, "compiled": in_process}
