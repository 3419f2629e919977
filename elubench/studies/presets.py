"""Studies that come with elubench: in this room, or in the folder of the paper that they are for.

A preset of a paper is called ``beyond-em/quick``, or ``quick`` while no other preset has that name.
"""

from __future__ import annotations

from collections import Counter
from importlib import resources
from importlib.resources.abc import Traversable


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


def _files() -> dict[str, Traversable]:
    """Every preset by its full name."""
    package = resources.files("elubench")
    folders = {"": package / "studies" / "presets"}
    for paper in (package / "papers").iterdir():
        folders[f"{paper.name.replace('_', '-')}/"] = paper / "studies"
    return {
        f"{prefix}{item.name.removesuffix('.toml')}": item
        for prefix, folder in folders.items()
        if folder.is_dir()
        for item in folder.iterdir()
        if item.name.endswith(".toml")
    }
