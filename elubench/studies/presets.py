"""Studies that come with elubench: in this room, or in the folder of the paper that they are for.

A preset of a paper is called ``beyond-em/quick``, or ``quick`` while no other preset has that name.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path


def presets() -> list[str]:
    """Names of all presets, each as short as it is unique."""
    full = _files()
    shared = Counter(name.rpartition("/")[2] for name in full)
    short = (name.rpartition("/")[2] for name in full)
    return sorted(one if shared[one] == 1 else name for name, one in zip(full, short, strict=True))


def preset(name: str) -> str | None:
    """The text of a preset, None where no preset or more than one has this name."""
    files = _files()
    matches = [full for full in files if name in (full, full.rpartition("/")[2])]
    if len(matches) > 1:
        matches = [full for full in matches if full == name]
    return files[matches[0]].read_text("utf-8") if matches else None


def _files() -> dict[str, Path]:
    """Every preset by its full name."""
    package = Path(__file__).resolve().parents[1]
    found = {path.stem: path for path in package.glob("studies/presets/*.toml")}
    for path in package.glob("papers/*/studies/*.toml"):
        found[f"{path.parents[1].name.replace('_', '-')}/{path.stem}"] = path
    return found
