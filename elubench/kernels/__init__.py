"""Compiled code: lanes, elementwise maths, tiles, the one pass, the loops. Imports no other room."""

from elubench.kernels._jit import compile_seconds as compile_seconds
from elubench.kernels._jit import compiled_now as compiled_now
from elubench.kernels._jit import is_ready as is_ready
from elubench.kernels._jit import kernel as kernel
from elubench.kernels._jit import ready as ready
from elubench.kernels._jit import warmup as warmup

__all__ = ["kernel", "warmup"]
