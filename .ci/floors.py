"""Print the oldest versions that pyproject.toml allows, as constraints for pip: `numpy==2.1`.

What pyproject.toml does not name, pip takes as new as these allow. The tools that only check and
build (mypy and its stubs, ruff, notebooks, hatchling, asv) are left out: their versions are no
promise to a user.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Extras whose floors are a promise as well.
EXTRAS = ("dask", "peers", "sklearn")
#: What the oldest versions need to be old, too: matplotlib calls what newer ones warn of.
OLD = ("pyparsing<3.3",)


def floors(pyproject: str) -> list[str]:
    """Every `name>=version` of the dependencies and of EXTRAS as `name==version`.

    The tests need all extras at once, so of several floors the highest counts.
    """
    project = tomllib.loads(pyproject)["project"]
    named = [*project["dependencies"]]
    for extra in EXTRAS:
        named += project["optional-dependencies"][extra]
    found: dict[str, str] = {}
    for line in named:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", line)
        if match is None:
            raise SystemExit(f"pyproject.toml: a dependency must read name>=version, got {line!r}")
        found[match[1]] = max(found.get(match[1], "0"), match[2], key=_parts)
    return [f"{name}=={version}" for name, version in found.items()]


def _parts(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


if __name__ == "__main__":
    print("\n".join([*floors((ROOT / "pyproject.toml").read_text()), *OLD]))
