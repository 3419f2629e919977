"""Ctrl-C where it does no harm.

Python handles a signal wherever it happens to be, also halfway into Numba or LLVM. While a kernel is
loaded, an exception can leave a module with two owners (``free(): double free``) or be lost, and one
that comes while threads are inside a parallel region would leave it shut. So SIGINT is held back there,
and heard when the code between is done.
"""

from __future__ import annotations

# what module signal wraps: its enums take 20 microseconds
import _signal  # type: ignore[import-not-found]
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any


class Presses:
    """Ctrl-C as it came, and the handler that it is meant for."""

    def __init__(self, handler: Any = None) -> None:
        self._handler = handler
        self._raised = False
        self.heard = False

    def remember(self, *_: Any) -> None:
        """A handler that does nothing yet."""
        self.heard = True

    def release(self) -> None:
        """Hand over what was held back: as a rule this raises KeyboardInterrupt."""
        if self.heard:
            self.heard = False
            self._handler(_signal.SIGINT, None)

    def stopped(self) -> bool:
        """Whether Ctrl-C was pressed and meant KeyboardInterrupt; a second press is still held back."""
        if not self._raised:
            try:
                self.release()
            except KeyboardInterrupt:
                self._raised = True
        return self._raised

    def pass_on(self, number: int, frame: Any) -> None:
        """A handler that keeps nothing back."""
        self.heard = True
        self._handler(number, frame)


class _Handled:
    """A block with another handler of SIGINT, in the main thread, which is the only one that handles it.

    Where SIGINT is ignored, or ends the process at once, nothing changes. Nor does it within a block of
    :func:`held`: that block hears it, and this one never does.
    """

    def __init__(self, handle: Callable[..., None]) -> None:
        self._handle = handle
        self._before: Any = None

    def __enter__(self) -> Presses:
        before = _signal.getsignal(_signal.SIGINT)
        self._presses = presses = Presses(before)
        within = self._handle is getattr(before, "func", None) is Presses.remember
        if not within and callable(before) and _in_main_thread():
            self._before = before
            _signal.signal(_signal.SIGINT, partial(self._handle, presses))
        return presses

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            _signal.signal(_signal.SIGINT, self._before)
            if self._handle is Presses.remember:
                self._presses.release()


def held() -> _Handled:
    """Hold SIGINT back until the end of the block, or until ``release`` is called.

    Blocking the signal would not do: another thread may receive it, and the main one handles it.
    """
    return _Handled(Presses.remember)


class _Noticed(_Handled):
    """Also without Python's "Exception ignored in ...", whose traceback would alarm for nothing."""

    def __init__(self) -> None:
        super().__init__(Presses.pass_on)

    def __enter__(self) -> Presses:
        presses = super().__enter__()
        if self._before is not None:
            self._hook = sys.unraisablehook
            sys.unraisablehook = partial(_report, self._hook, presses)
        return presses

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            sys.unraisablehook = self._hook
        super().__exit__(*error)


def _report(hook: Callable[[Any], None], presses: Presses, lost: Any) -> None:
    """Report an exception that is lost, unless it is one that has been noticed."""
    if not (presses.heard and issubclass(lost.exc_type, KeyboardInterrupt)):
        hook(lost)


def noticed() -> _Handled:
    """Handle SIGINT as before, but keep that it came: an exception can be lost on its way.

    Python drops one that is raised in a finaliser, and foreign code may catch it and go on.
    """
    return _Noticed()


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident
