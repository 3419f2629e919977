"""Parts of the passes over the data: compiled for their callers, and no further than these need.

Numba optimises every function and makes machine code of it, even if only other kernels call it, which
take over LLVM's code of it, optimise it again as a part of their own, and compile that. A part is
therefore left as LLVM's code, and what counts references or looks for arrays to fuse is left out: a
part does neither. A first fit takes a fifth less time.

The parts of the iterating loop are compiled as Numba does it, since EM's loop is a tenth slower
otherwise: making machine code changes LLVM's code, too.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import IRLegalization, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables

#: What Numba does for closures, functions that are inlined before they are typed, expressions of whole
#: arrays, and the end of a variable's life, where its reference is given back.
_NEEDLESS = (InlineClosureLikes, InlineInlinables, NopythonRewrites, IRLegalization)


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

    def _optimize_final_module(self) -> None:
        """Nothing: the caller's code is optimised with this in it."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class PartCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler without what parts do not need, and with LLVM's code as its result."""

    def define_pipelines(self) -> list[Any]:
        """The steps of compiling."""
        (usual,) = super().define_pipelines()
        lean = PassManager(usual.pipeline_name)
        for step, why in usual.passes:
            if step not in _NEEDLESS:
                lean.add_pass(step, why)
        lean.finalize()
        return [lean]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)
