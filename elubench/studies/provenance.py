"""What made a row: versions, commit, processor and load."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from elubench import info


@cache
def facts() -> dict[str, Any]:
    """Columns of provenance that stay the same in one process."""
    known = info.collect()
    versions = known["versions"]
    return {
        **{name: versions[name] for name in ("elubench", "python", "numpy", "numba", "scipy")},
        "commit": commit(),
        "cpu": known["system"]["processor"],
    }


def load() -> float | None:
    """The system's load average, where there is one."""
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


@cache
def commit() -> str | None:
    """The commit of elubench's own checkout, with a plus sign if files were changed since.

    None for an installed copy.
    """
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / ".git").exists():
        return None
    try:
        made = _git(package, "rev-parse", "--short=12", "HEAD")
        return made + ("+" if _git(package, "status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    asked = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()
