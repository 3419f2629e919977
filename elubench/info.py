"""What a measurement ran on: versions, processor, threads, vector features, kernel cache.

Collecting these compiles nothing and starts no thread. May import kernels.
"""

import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

from elubench import __version__, text

_DISTRIBUTIONS = ("numpy", "numba", "llvmlite", "scipy", "pandas")

# What decides how many float64 a kernel handles at once, and whether it fuses multiply and add.
_VECTOR_FEATURES = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve", "sve2")

Facts = dict[str, dict[str, Any]]


def collect() -> Facts:
    """Collect the facts, by section, as values for JSON."""
    return {
        "versions": _versions(),
        "system": _system(),
        "threads": _threads(),
        "vector": _vector(),
        "cache": _cache(),
    }


def as_json(facts: Facts) -> str:
    """Facts for a program: JSON, one object per section."""
    return json.dumps(facts, indent=2)


def as_text(facts: Facts) -> str:
    """Facts for a reader, in 80 columns."""
    system, threads, vector, cache = (
        facts[section] for section in ("system", "threads", "vector", "cache")
    )
    rows = [(name, version or "not installed") for name, version in facts["versions"].items()]
    if threads["layer"] is None:
        layer = f"not started (would try: {', '.join(threads['layers_to_try'])})"
    else:
        layer = threads["layer"]
    if cache["folder"] is None:
        folder = f"none, every process compiles its kernels: {cache['why']}"
    else:
        folder = f"{cache['folder']} ({'writable' if cache['writable'] else 'not writable'})"
    rows += [
        ("system", system["os"]),
        ("processor", system["processor"]),
        ("usable cores", f"{system['usable_cores']} of {system['cores']}"),
        ("threads", f"{threads['active']} of at most {threads['maximum']}"),
        ("threading layer", layer),
        ("compiles for", vector["cpu"] if vector["jit"] else f"{vector['cpu']} (JIT disabled)"),
        ("vector features", " ".join(vector["features"]) or "none"),
        ("kernel cache", folder),
        (
            "kernels",
            f"{cache['kernels']} ({cache['cached']} cached, "
            f"{cache['compiled']} compiled in this process)",
        ),
    ]
    indent = 2 + max(len(name) for name, _ in rows)
    return "\n".join(text.row(name, value, indent) for name, value in rows)


def _versions() -> dict[str, str | None]:
    versions: dict[str, str | None] = {
        "elubench": __version__,
        "python": platform.python_version(),
    }
    for name in _DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return versions


def _system() -> dict[str, Any]:
    cores = os.cpu_count() or 1
    # A container or a batch system often gives a process fewer cores than the machine has.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return {
        "os": platform.platform(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": cores,
        "usable_cores": usable,
    }


def _processor() -> str:
    """Name of the processor as its vendor writes it, if the system knows it."""
    try:
        if platform.system() == "Darwin":
            asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
            name = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
        else:
            lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
            names = [line.partition(":")[2] for line in lines if line.startswith("model name")]
            name = " ".join(names[0].split()) if names else ""
    except (OSError, subprocess.CalledProcessError):
        name = ""
    return name or platform.processor() or platform.machine() or "unknown"


def _threads() -> dict[str, Any]:
    import numba

    maximum = int(numba.config.NUMBA_NUM_THREADS)
    try:
        layer = str(numba.threading_layer())
        active = int(numba.get_num_threads())
    except ValueError:  # no parallel region has run yet; get_num_threads() would start the threads
        layer, active = None, maximum
    chosen = str(numba.config.THREADING_LAYER).lower()
    by_default = [str(name) for name in numba.config.THREADING_LAYER_PRIORITY]
    return {
        "active": active,
        "maximum": maximum,
        "layer": layer,
        "layers_to_try": by_default if chosen == "default" else [chosen],
    }


def _vector() -> dict[str, Any]:
    """What Numba compiles for: this processor, unless environment variables say otherwise."""
    import numba

    from elubench.kernels import processor

    enabled = processor.features()
    return {
        "cpu": processor.name(),
        "features": [name for name in _VECTOR_FEATURES if name in enabled],
        "jit": not numba.config.DISABLE_JIT,
    }


def _cache() -> dict[str, Any]:
    from elubench.kernels import _cache, _jit

    folder = _cache.cache_folder()
    return {
        "folder": None if folder is None else str(folder),
        "why": _cache.why_uncached(),
        "writable": folder is not None and _writable(folder),
        **_jit.cache_state(),
    }


def _writable(folder: Path) -> bool:
    """Whether files can be written to ``folder``, which need not exist yet."""
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
