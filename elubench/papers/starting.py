"""A new paper of one's own: a folder of files that run as they are, copied from ``_template``."""

from __future__ import annotations

import keyword
from importlib.util import find_spec
from pathlib import Path

from elubench.papers.verifying import shipped

_TEMPLATE = Path(__file__).parent / "_template"


def new_paper(path: str | Path) -> Path:
    """Write the folder of a new paper, whose name is the last part of the path; return it.

    Raise ValueError for a name that Python cannot import or that something else has, and
    FileExistsError for a folder that exists.
    """
    folder = Path(path)
    name = folder.name
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError(
            "name must consist of letters, digits and _, as Python imports it, and not begin with a "
            f"digit, got {name!r}"
        )
    if folder.exists():
        raise FileExistsError(17, "exists already; choose another name", str(folder))
    if name in shipped().values():
        raise ValueError(f"name must not be that of a paper that ships, got {name!r}")
    if find_spec(name) is not None:
        raise ValueError(f"name must not be that of a Python module, got {name!r}")
    folder.mkdir(parents=True)
    for file in sorted(_TEMPLATE.iterdir()):
        if file.is_file():
            (folder / file.name).write_bytes(file.read_bytes())
    return folder
