"""How often `make bench-compare` is wrong: it compares a commit with itself, suite by suite.

    aa.py [SUITE ...] [options of asv continuous]

The commit and an empty one on top of it are compared in a clone, ``build/bench-aa``, by the same rule.
What a suite showed is written to ``counts.json`` there when it is done, and not measured again for the
same commit: the run can be interrupted and resumed. Only what a clock shows can be a false alarm, since
counts come from fixed seeds; that includes clocks which a ``track_`` benchmark reads.
"""

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import compare

import benchmarks
import elubench

ROOT = Path(__file__).resolve().parent.parent
CLONE = ROOT / "build" / "bench-aa"
COUNTS = CLONE / "counts.json"
CLOCKS = ("seconds", "s", "us")  # units: asv's for its own times, and ours


def git(*arguments: str, folder: Path = CLONE) -> str:
    """What git says."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def cloned() -> str:
    """Have the commit and its empty child in the clone; the child's hash."""
    head = git("rev-parse", "HEAD", folder=ROOT)
    if not (CLONE / ".git").exists():
        CLONE.parent.mkdir(exist_ok=True)
        git("clone", "--quiet", "--no-checkout", str(ROOT), str(CLONE), folder=ROOT)
    git("fetch", "--quiet", str(ROOT), "HEAD")
    if not COUNTS.exists() or json.loads(COUNTS.read_text())["commit"] != head:
        git("checkout", "--quiet", "--force", "-B", "main", head)
        who = ("-c", "user.name=aa", "-c", "user.email=aa")
        git(*who, "commit", "--quiet", "--allow-empty", "--message", "The same again")
        COUNTS.write_text(json.dumps({"commit": head, "suites": {}}))
    return git("rev-parse", "HEAD")


def measured(suite: str, head: str, options: list[str]) -> dict[str, int] | None:
    """Times in a suite, and how many of them were marked at first and both times."""
    status, marks = compare.twice("HEAD~1", "HEAD", "--bench", f"^{suite}\\.", *options)
    if status:
        return None
    found = elubench.asv_results(CLONE / ".asv" / "results")
    mine = found[(found["commit"] == head) & found["unit"].isin(CLOCKS) & (found["status"] == "ok")]
    times = int(mine["benchmark"].str.startswith(f"{suite}.").sum())
    first, both = (len(one["+"] | one["-"]) for one in marks)
    return {"times": times, "first": first, "both": both}


def main(*arguments: str) -> int:
    """Return the status for the shell."""
    known = [found.name for found in pkgutil.iter_modules(benchmarks.__path__)]
    suites = [name for name in arguments if name in known]
    options = [name for name in arguments if name not in known]
    head = cloned()
    os.chdir(CLONE)
    for suite in suites or [name for name in known if has_times(name)]:
        counts = json.loads(COUNTS.read_text())
        if suite not in counts["suites"]:
            found = measured(suite, head, options)
            if found is None:
                return 2
            counts["suites"][suite] = found
            COUNTS.write_text(json.dumps(counts))
    print(summary(json.loads(COUNTS.read_text())["suites"]))
    return 0


def has_times(module: str) -> bool:
    """Whether it is a suite that times something."""
    return "def time_" in (ROOT / "benchmarks" / f"{module}.py").read_text("utf-8")


def summary(suites: dict[str, dict[str, int]]) -> str:
    """A line per suite, and one for all."""
    whole = {key: sum(one[key] for one in suites.values()) for key in ("times", "first", "both")}
    lines = ["False alarms, of times that did not change:"]
    for name, one in (*suites.items(), ("all", whole)):
        shares = [
            f"{one[key]} ({one[key] / max(one['times'], 1):.1%})" for key in ("first", "both")
        ]
        lines.append(
            f"{name:<10}{one['times']:>6} times, {shares[0]} at first, {shares[1]} both times"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
