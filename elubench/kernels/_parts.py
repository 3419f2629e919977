"""Parts of the passes over the data: compiled for their callers, and not to machine code.

Numba makes machine code of every function, even if only other kernels call it and take over LLVM's code
of it to compile that as their own. Without this machine code a first fit waits a second and a half less.
The parts of the iterating loop are compiled as Numba does it, since EM's loop is a tenth slower
otherwise: making machine code changes LLVM's code, too.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _NotRun:
    """Stands for the code generator where Numba would tell it about a function that can be run."""

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: there is no machine code that needs an environment."""


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """LLVM's code of a function, to be linked into that of its callers."""

    codegen = _NotRun()

    def get_pointer_to_function(self, name: str) -> int:
        """None: there is nothing to point to."""
        return 0

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with LLVM's code as its result."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
