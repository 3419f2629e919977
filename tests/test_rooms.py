"""The rooms of the package: what each may import, and how large its files may be.

``python tests/test_rooms.py`` prints the graph of imports by room.
"""

import ast
import functools
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "elubench"

#: Lowest first. A room imports only those before it, and nobody imports ``testing``.
ORDER = (
    "text", "checks", "kernels", "info", "samples", "models", "algorithms", "runs", "testing", "fits",
    "studies", "rates", "verification", "plot", "report", "papers", "peers", "cli",
)  # fmt: skip
BELOW_ALL = {"text", "checks"}  # import no room, and not each other
MOST_LINES, MOST_LOOSE = 400, 3

MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "_template" not in path.parts  # what a user's own folder begins with
}
#: The front door knows all rooms by name, and offers nothing else to them but the version.
FRONT = {"elubench", "elubench.__main__"}


def module_of(name):
    """The longest part of a dotted name that is a module of the package."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def imports(module, tree=None):
    """Modules of the package that a module imports, anywhere in it, with the lines where it does."""
    path = MODULES[module]
    tree = ast.parse(path.read_text(encoding="utf-8")) if tree is None else tree
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):  # a module may look its own room up by name
            names = [alias.name for alias in node.names if alias.name != package]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*parts, node.module or ""]).strip(".") if node.level else node.module
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "files"):
            names = [_text(node.args[0])] if node.args else []
        else:
            continue
        for name in names:
            if name.split(".")[0] == "elubench" and name != "elubench.__version__":
                yield module_of(name), node.lineno


def _called(call):
    return getattr(call.func, "attr", None) or getattr(call.func, "id", None)


def _text(node):
    """A constant string, or the beginning of one that is made."""
    node = node.values[0] if isinstance(node, ast.JoinedStr) else node
    return str(node.value).rstrip(".") if isinstance(node, ast.Constant) else ""


def room_of(module):
    return module.split(".")[1] if "." in module else ""


@functools.cache
def all_edges():
    """For every module, what :func:`imports` finds."""
    return {module: sorted(set(imports(module))) for module in MODULES if module not in FRONT}


def rooms_imported():
    """For every room, the rooms that it imports."""
    found = {name: set() for name in ORDER}
    for module, edges in all_edges().items():
        room = found.setdefault(room_of(module), set())
        room |= {room_of(target) for target, _ in edges} - {room_of(module)}
    return found


def shown():
    """The graph as text, highest room first."""
    found = rooms_imported()
    ranks = {name: rank for rank, name in enumerate(ORDER)}
    lines = []
    for name in sorted(found, key=lambda room: -ranks.get(room, 0)):
        below = sorted(found[name], key=lambda room: -ranks.get(room, 0))
        lines.append(f"{name:<13} -> {', '.join(below) or '-'}")
    return "\n".join(lines)


def cycle(graph):
    """A cycle in a graph of sets, as text; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""


def test_every_import_goes_down():
    print("\n" + shown())
    wrong = []
    for module, edges in all_edges().items():
        for target, line in edges:
            here, there = room_of(module), room_of(target)
            allowed = there in ORDER[: ORDER.index(here)] and there != "testing"
            if here in BELOW_ALL or (here != there and not allowed):
                place = MODULES[module].relative_to(PACKAGE.parent)
                wrong.append(f"{place}:{line} imports {target or 'elubench'}")
    assert not wrong, "\n".join(["against the order:", *wrong])


def test_no_cycle_between_rooms():
    assert not cycle(rooms_imported())


def test_no_cycle_between_modules():
    assert not cycle(
        {module: {target for target, _ in edges} for module, edges in all_edges().items()}
    )


def test_every_room_is_in_the_order_and_introduces_itself():
    rooms = {path.name: path for path in PACKAGE.iterdir() if path.is_dir() and path.name[0] != "_"}
    loose = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert set(ORDER) == set(rooms) | loose
    assert len(loose) <= MOST_LOOSE
    for module, path in MODULES.items():
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert doc.splitlines()[:1] not in ([], [""]), f"{path} has no first line"
        if path.name == "__init__.py" and module.count(".") == 1:
            said = " ".join(doc.split())
            assert "import" in said.lower(), f"{path} does not say what the room may import"


def test_no_file_is_too_long():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()}
    long = {path.relative_to(PACKAGE).as_posix(): n for path, n in lines.items() if n > MOST_LINES}
    assert not long


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import elubench.cli.fit", "elubench.cli.fit"),
        ("from elubench.models import Model", "elubench.models"),
        ("from elubench.models import known", "elubench.models.known"),
        ("from elubench import checks", "elubench.checks"),
        ("from elubench import run", "elubench"),
        ("import elubench as eb", "elubench"),
        ("from elubench import __version__", None),
        ("from . import general", "elubench.models.general"),
        ("from .general import General", "elubench.models.general"),
        ("from ..runs import run", "elubench.runs"),
        ("def f():\n    from elubench.runs import run", "elubench.runs"),
        ("if TYPE_CHECKING:\n    from elubench.runs import run", "elubench.runs"),
        ("import_module('elubench.plot.style')", "elubench.plot.style"),
        ("importlib.import_module(f'elubench.papers.{name}')", "elubench.papers"),
        ("resources.files('elubench.papers.beyond_em')", "elubench.papers.beyond_em"),
        ("import elubench.models", None),
        ("import numpy", None),
    ],
)
def test_imports_are_seen(code, found):
    seen = [target for target, _ in imports("elubench.models.known", ast.parse(code))]
    assert seen == ([] if found is None else [found])


def test_cycles_are_seen():
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}}).count("->") == 3
    assert not cycle({"a": {"b"}, "b": {"c"}})


if __name__ == "__main__":
    print(shown())
