"""Compiled code: vector tanh and log cosh, tiles, the one reduction, the loops."""

from elubench.kernels._jit import cache_folder, cache_state, kernel, ready, warmup

__all__ = ["cache_folder", "cache_state", "kernel", "ready", "warmup"]
