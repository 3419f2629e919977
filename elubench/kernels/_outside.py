"""The hash of a kernel from outside the package: of its file, and of all that it is compiled with.

A user's kernel may call one in another file, or take a constant from there, and so may that one. All
of them end in its machine code, so the files of all and the values of all constants are counted.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from elubench.kernels._sources import PACKAGE, PARTS

# What a kernel may mention without compiling it from source, besides Python's own modules; the version
# of numba is in the name of the folder.
_KNOWN = {"numba", "numpy", "scipy", "llvmlite", *sys.stdlib_module_names}


def outside_hash(function: Any, source: Path) -> str:
    """A hash that changes with the source of a function and with those of whatever it mentions.

    Raises an exception, of any kind, if something that it mentions has neither a source nor a value.
    """
    digest = hashlib.sha256()
    files = {source}
    seen: set[CodeType] = set()
    waiting = [function]
    while waiting:
        one = waiting.pop()
        if one.__code__ in seen:
            continue
        seen.add(one.__code__)
        files.add(Path(one.__code__.co_filename))
        for name, value in _mentioned(one):
            body = getattr(value, "py_func", value)  # of a kernel
            module = sys.modules.get(getattr(body, "__module__", None) or "")
            if isinstance(body, FunctionType) and not _counted(body.__code__.co_filename):
                if not _known(body.__module__):
                    waiting.append(body)
            elif module is None or isinstance(value, tuple):
                digest.update(name.encode() + pickle.dumps(value, protocol=5))
            elif not _known(module.__name__) and not _counted(module.__file__):
                files.add(Path(str(module.__file__)))
    for file in sorted(files):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()


def _mentioned(function: Any) -> Iterator[tuple[str, Any]]:
    """Global variables of a function by name, and attributes of the modules among them."""
    names = sorted(_names(function.__code__))
    found = [(name, function.__globals__[name]) for name in names if name in function.__globals__]
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found += [(name, cell.cell_contents) for name, cell in cells]
    entered: set[str] = set()
    while found:
        name, value = found.pop()
        if not isinstance(value, ModuleType):
            yield name, value
        elif not _known(value.__name__) and value.__name__ not in entered:
            entered.add(value.__name__)
            found += [(inner, vars(value)[inner]) for inner in names if inner in vars(value)]


def _names(code: CodeType) -> set[str]:
    """Names in a function and in those inside it."""
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _known(module: str) -> bool:
    return module.partition(".")[0] in _KNOWN


def _counted(file: str | None) -> bool:
    """Whether the name of the cache folder stands for this file."""
    return file is not None and Path(file).resolve().parent in [PACKAGE / part for part in PARTS]
