"""``elubench warmup``."""

from __future__ import annotations

import argparse

from elubench.cli.machinery import CommandError

SUMMARY = "compile all kernels ahead of time"


def add_options(parser: argparse.ArgumentParser) -> None:
    """None."""


def run(options: argparse.Namespace) -> int:
    """Compile what the kernel cache does not have, and say what it has now."""
    from elubench.cli.compiling import Line
    from elubench.kernels._cache import cache_folder, why_uncached
    from elubench.kernels._jit import JIT, listening, warmup
    from elubench.text import duration

    if not JIT:
        raise CommandError("nothing to compile: NUMBA_DISABLE_JIT is set")
    if cache_folder() is None:
        raise CommandError(f"kernels cannot be kept: {why_uncached()}")

    line, counts = Line(counting=False), [0, 0]

    def progress(done: int, kernels: int) -> None:
        counts[:] = done, kernels
        if line.kernels:
            line.show(f"{done} of {kernels}")

    try:
        with listening(line):
            warmup(progress)
    finally:
        line.close()
    took = (
        f"{line.kernels} compiled now, {duration(line.seconds)}" if line.kernels else "all cached"
    )
    print(f"{counts[1]} kernels in {cache_folder()}: {took}")
    return 0
