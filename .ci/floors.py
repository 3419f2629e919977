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
EXTRAS = ("dask", "peers")


def floors(pyproject: str) -> list[str]:
    """Every `name>=version` of the dependencies and of EXTRAS as `name==version`."""
    project = tomllib.loads(pyproject)["project"]
    named = [*project["dependencies"]]
    for extra in EXTRAS:
        named += project["optional-dependencies"][extra]
    found = []
    for line in named:
        match = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\w.]+)", line)
        if match is None:
            raise SystemExit(f"pyproject.toml: a dependency must read name>=version, got {line!r}")
        found.append(f"{match[1]}=={match[2]}")
    return found


if __name__ == "__main__":
    print("\n".join(floors((ROOT / "pyproject.toml").read_text())))
