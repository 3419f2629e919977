"""Classes outside the package, which a study names as "module:Class".

A module is searched for in the folder of the study's TOML file, then on Python's path. One in the
folder is imported anew, together with what it imports from there, whatever else goes by its name: the
code that runs is the code in the folder. It is sent to Dask's workers with the study. A module on
Python's path must be on that of the workers as well.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from modulefinder import ModuleFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

from elubench import checks
from elubench.algorithms import known as known_algorithms
from elubench.algorithms.base import Algorithm
from elubench.models import known as known_models
from elubench.models.base import Model

_importing = threading.RLock()


class Module(NamedTuple):
    """A module outside the package; ``content`` is None for one on Python's path."""

    name: str
    file: str
    sha256: str
    content: bytes | None


class Outside:
    """The classes that one study names, imported when they are first needed."""

    def __init__(self, folder: Path | None = None, modules: Iterable[Module] = ()):
        self._folder = folder
        self._modules = {module.name: module for module in modules}
        self._loaded: dict[str, ModuleType] = {}
        self._classes: dict[tuple[str, type], Any] = {}
        self._temporary: TemporaryDirectory[str] | None = None

    @property
    def modules(self) -> tuple[Module, ...]:
        """What was imported so far, by name."""
        return tuple(self._modules[name] for name in sorted(self._modules))

    def recorded(self) -> dict[str, dict[str, str]]:
        """The same for a file: names of modules, their files and hashes."""
        return {one.name: {"file": one.file, "sha256": one.sha256} for one in self.modules}

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (self.modules,)

    def algorithm(self, options: dict[str, Any]) -> Algorithm:
        """An algorithm from its canonical options."""
        arguments = {
            key: self.algorithm(value) if isinstance(value, dict) else value
            for key, value in options.items()
            if key != "name"
        }
        return self.kind(options["name"])(**arguments)

    def kind(self, name: str, label: str = "algorithm") -> type[Algorithm]:
        """The class of an algorithm; ``label`` stands for it in messages."""
        if ":" in name:
            kind: type[Algorithm] = self._class(name, label, Algorithm)
            return kind
        known = known_algorithms.known()
        return known[checks.choice(name, label, (*known, "module:Class"))]

    def model(self, name: str, label: str = "model") -> Model:
        """A model, by a name that may have options in brackets."""
        name, options = known_models.with_options(name, label)
        if ":" in name:
            return known_models.made(self._class(name, label, Model), options, label)
        known = known_models.known()
        kind = known[checks.choice(name, label, (*known, "module:Class"))]
        return known_models.made(kind, options, label)

    def _class(self, reference: str, label: str, base: type) -> Any:
        module = reference.partition(":")[0]
        with _importing:
            if (reference, base) not in self._classes:
                if self._folder is not None and module not in self._modules:
                    self._modules.update({one.name: one for one in _beside(module, self._folder)})
                with self._own_modules_first():
                    kind = checks.imported(reference, label, base, self._folder)
                    self._note(module, label)
                self._classes[reference, base] = kind
            return self._classes[reference, base]

    @contextmanager
    def _own_modules_first(self) -> Iterator[None]:
        own = [one.name for one in self.modules if one.content is not None]
        others = {name: sys.modules.pop(name) for name in own if name in sys.modules}
        sys.modules.update(self._loaded)
        try:
            yield
        finally:
            self._loaded = {name: sys.modules.pop(name) for name in own if name in sys.modules}
            sys.modules.update(others)

    def _note(self, module: str, label: str) -> None:
        """Remember a module on Python's path, or see that it is the one that is remembered."""
        known, file = self._modules.get(module), getattr(sys.modules[module], "__file__", None)
        if file is None or (known is not None and known.content is not None):
            return
        content = Path(file).read_bytes()
        found = Module(module, Path(file).name, hashlib.sha256(content).hexdigest(), None)
        if self._modules.setdefault(module, found) != found:
            raise ValueError(f"{label} must be the same everywhere, but {file} is another version")


def _beside(module: str, folder: Path) -> list[Module]:
    """The module and what it imports, as far as they are in this folder."""
    finder = ModuleFinder([str(folder)], excludes=["elubench"])
    try:
        finder.import_hook(module)
    except (ImportError, SyntaxError):  # importing it will say what is wrong
        return []
    found = []
    for name, one in finder.modules.items():
        path = getattr(one, "__file__", None)
        if path is not None:
            content, file = Path(path).read_bytes(), Path(path).relative_to(folder).as_posix()
            found.append(Module(name, file, hashlib.sha256(content).hexdigest(), content))
    return found


@cache
def _unpacked(modules: tuple[Module, ...]) -> Outside:
    """What another process sent; its files are written to a folder that is removed at the end."""
    if all(one.content is None for one in modules):
        return Outside(None, modules)
    temporary = TemporaryDirectory(prefix="elubench-", ignore_cleanup_errors=True)
    for one in modules:
        if one.content is not None:
            path = Path(temporary.name, one.file)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.content)
    made = Outside(Path(temporary.name), modules)
    made._temporary = temporary
    return made
