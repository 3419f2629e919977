"""The processor that kernels are compiled for: its registers, and the cache to prefetch into.

Nothing here changes a result: it decides how many numbers of a sum are in registers at a time, and where
prefetched ones go, but not in which order they are added.
"""

from __future__ import annotations

import platform

import llvmlite.binding
import numba


def name() -> str:
    """LLVM's name of what Numba compiles for: this processor, unless a variable says otherwise."""
    chosen = numba.config.CPU_NAME
    return str(llvmlite.binding.get_host_cpu_name() if chosen is None else chosen)


def features() -> set[str]:
    """What Numba compiles for: this processor, unless environment variables say otherwise."""
    if numba.config.CPU_FEATURES is not None:
        flags = str(numba.config.CPU_FEATURES).split(",")
        return {flag[1:] for flag in flags if flag.startswith("+")}
    try:
        host = llvmlite.binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this processor
        return set()
    enabled = {name for name, present in host.items() if present}
    if not numba.config.ENABLE_AVX:
        enabled = {name for name in enabled if not name.startswith("avx")}
    return enabled


_features = features()

#: Numbers in a vector register, or in two registers of 128 bits.
REGISTER = 8 if "avx512f" in _features else 4

#: Whether it has 16 registers of 256 bits, for which the compiler has to be told what to keep in them.
FEW_REGISTERS = (
    REGISTER == 4 and "avx" in _features and platform.machine().lower() in ("x86_64", "amd64")
)

#: Whether passes fetch into the level-1 cache, which is best on Zen 5: a pass at d = 4 then takes 0.64
#: to 0.85 of the time. On Zen 4 passes take up to 1.8 times as long as with hints for the level-2 cache.
#: Other processors were not measured and count as Zen 4; so does Zen 5 where LLVM is older than 19
#: and has no name for it.
NEAR = name() == "znver5"
