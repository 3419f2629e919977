"""Run every benchmark once at its smallest parameters; fail where one fails or gives no number.

asv's own status tells of benchmarks that raise. One that skips itself, or returns nothing, shows in the
results alone; they are written to a folder of their own and read back.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from asv.util import load_json

import elubench

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Return the status for the shell."""
    with tempfile.TemporaryDirectory() as folder:
        config = load_json(str(ROOT / "asv.conf.json"), js_comments=True)
        config.update(repo=str(ROOT), benchmark_dir=str(ROOT / "benchmarks"))
        for name in ("env", "results", "html"):
            config[f"{name}_dir"] = f"{folder}/{name}"
        path = Path(folder) / "asv.conf.json"
        path.write_text(json.dumps(config))
        variables = {
            "ELUBENCH_BENCH_PROFILE": "smallest",
            "ELUBENCH_CACHE_DIR": str(ROOT / "build" / "kernel-cache"),  # the tests' own
            "HOME": folder,  # where asv keeps what it knows about the machine
        }

        def asv(*arguments: str) -> int:
            command = [sys.executable, "-m", "asv", "--config", str(path), *arguments]
            return subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}).returncode

        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout.strip()
        once = ("--quick", "--show-stderr", "--durations", "all", "--set-commit-hash", head)
        status = (
            asv("check", "--python=same")
            or asv("machine", "--yes")
            or asv("run", "--python=same", *once)
        )
        if status:
            return status
        found = elubench.asv_results(f"{folder}/results")
    wrong = found[found["status"] != "ok"]
    for row in wrong.itertuples():
        print(f"{row.benchmark}: {row.status} at its smallest parameters", file=sys.stderr)
    print(f"{len(found) - len(wrong)} of {len(found)} benchmarks gave a number")
    return int(len(wrong) > 0 or len(found) == 0)


if __name__ == "__main__":
    sys.exit(main())
