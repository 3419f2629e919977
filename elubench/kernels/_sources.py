"""The hash of what is compiled: an edit to a kernel changes it, an edit to a docstring does not.

Everything in kernels/ counts. Of a module in models/ or algorithms/ these statements count: functions
and classes that make kernels, whatever is not a definition (constants, for example), and definitions
and imports that any of these mention by name, in whichever of the modules. Comments, docstrings and
line numbers never count.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import NamedTuple

import numba

PACKAGE = Path(__file__).resolve().parent.parent

#: Where kernels are defined.
PARTS = ("kernels", "models", "algorithms")

_MAKERS = {"kernel", "njit", "jit", "register_jitable", "overload", "intrinsic", "vectorize"}
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class _Statement(NamedTuple):
    """A statement of a module: its file, whether it is a definition, and what it says.

    ``defines`` is the name that it defines, or "", and ``mentions`` are the names in it.
    """

    file: str
    definition: bool
    code: str
    defines: str
    mentions: set[str]

    @property
    def counts(self) -> bool:
        """Whether it can enter machine code by itself."""
        if self.file.startswith("kernels/"):
            return True
        if self.definition:
            return bool(self.mentions & _MAKERS)
        return not self.defines


def source_hash(package: Path = PACKAGE) -> str:
    """A hash of the compiler's version and of what it compiles."""
    return _hash(f"{each.file}: {each.code}" for each in _compiled(package))


def text_hash(package: Path = PACKAGE) -> str:
    """A hash that changes with every edit; it takes a millisecond instead of a tenth of a second."""
    return _hash(f"{name}: {text}" for name, text in _files(package))


def _hash(parts: Iterable[str]) -> str:
    digest = hashlib.sha256(f"{numba.__version__} {sys.version_info[:2]}".encode())
    for part in parts:
        digest.update(part.encode())
    return digest.hexdigest()[:16]


def _files(package: Path) -> list[tuple[str, str]]:
    return [
        (f"{part}/{source.name}", source.read_text(encoding="utf-8"))
        for part in PARTS
        for source in sorted((package / part).glob("*.py"))
    ]


def _compiled(package: Path) -> list[_Statement]:
    """The statements that count, and those that they need."""
    every = [each for file in _files(package) for each in _statements(*file)]
    needed: set[str] = set()
    kept: set[int] = set()
    while True:
        found = {
            place
            for place, each in enumerate(every)
            if place not in kept and (each.counts or each.defines in needed)
        }
        if not found:
            return [every[place] for place in sorted(kept)]
        kept |= found
        # kernels/ imports no other part, and all of it counts
        mentioned = [
            every[place].mentions for place in found if "kernels/" not in every[place].file
        ]
        needed = needed.union(*mentioned)


def _statements(file: str, text: str) -> list[_Statement]:
    """The statements of a module, without docstrings; an import of several names is several."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node) is not None:
            del node.body[0]
    made = []
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = copy(node)
                one.names = [alias]
                bound = alias.asname or alias.name.split(".")[0]
                made.append(_Statement(file, False, ast.dump(one), bound, {alias.name}))
        else:
            definition = isinstance(node, _DEFINITIONS)
            defines = node.name if isinstance(node, _DEFINITIONS) else ""
            made.append(_Statement(file, definition, ast.dump(node), defines, _mentions(node)))
    return made


def _mentions(node: ast.stmt) -> set[str]:
    parts = list(ast.walk(node))
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return names | {part.attr for part in parts if isinstance(part, ast.Attribute)}
