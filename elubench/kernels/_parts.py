"""Kernels that only other kernels call, compiled as far as these need it.

Numba optimises such a function as if it were run, and makes machine code of it. But its callers take
over LLVM's code and optimise that again, together with their own. So there is no machine code here, and
the algebra of models and algorithms is optimised once only, by the caller. The parts of the pass over
the data are optimised twice: without this, a plain pass with d <= 4 takes 1.04 times as long.
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


class _Algebra(_Part):
    """The same, left to be optimised by its callers."""

    def _optimize_final_module(self) -> None:
        pass


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with LLVM's code as its result."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        kind = _Part if func.__module__.startswith("elubench.kernels.") else _Algebra
        self.state.library = kind(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
