"""Write requirements.lock: the newest versions that work together on every supported Python.

Run by `make lock` with the oldest supported Python, whose conditional dependencies are the most.
pip resolves everything that pyproject.toml names for the very first release of that Python (a
version for 3.11.5 and newer would fail where a system still has 3.11.2), and then shows that what
it chose can be had for the newer ones, too. Nothing is installed.
"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"


def resolve(python: str, *arguments: str) -> list[str]:
    """Ask pip what it would install for this Python; return plain ``name==version`` lines."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--dry-run", "--ignore-installed", f"--report={report}"]
        command += [f"--python-version={python}", "--only-binary=:all:", f"--target={folder}/none"]
        subprocess.run([*command, *arguments], cwd=ROOT, check=True)
        chosen = [item["metadata"] for item in json.loads(report.read_text())["install"]]
    lines = [f"{item['name']}=={item['version']}" for item in chosen if item["name"] != "elubench"]
    return sorted(lines, key=lambda line: line.lower().split("=="))


def main() -> None:
    """Resolve for the oldest Python, check on the others, then replace the lock file."""
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    oldest, *newer = re.findall(r":: (3\.\d+)$", "\n".join(classifiers), re.MULTILINE)
    if f"{sys.version_info.major}.{sys.version_info.minor}" != oldest:
        sys.exit(
            f"make lock: needs Python {oldest}; name one with LOCK_PYTHON=/path/to/python{oldest}"
        )
    lines = resolve(f"{oldest}.0", ".[dev]")
    written = LOCK.with_suffix(".new")
    written.write_text("".join(f"{line}\n" for line in lines))
    try:
        for python in newer:
            resolve(f"{python}.0", "--no-deps", "-r", str(written))
            print(f"{len(lines)} versions of Python {oldest} can be had for {python}")
        written.replace(LOCK)
    finally:
        written.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"make lock: pip failed with status {error.returncode}; nothing was changed")
