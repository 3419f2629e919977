"""Compare two commits with asv: ``compare.py BASE HEAD [options of asv continuous]``.

Rounds of the two commits alternate, and what asv marks as slower is measured once more, with more of
them: it counts where it is marked again. A neighbour on the machine makes some benchmark look slower in
most comparisons, even of a commit with itself, but seldom the same one twice.

The status is 0 where nothing got slower, and else asv's: 1 for a slow-down, 1 or 2 for a failure.
"""

import argparse
import re
import subprocess
import sys

#: A round has at least three samples of a time. Of six in all, asv's test could never be sure.
ROUNDS = "rounds=3", "rounds=6"


def marked(said: str) -> set[str]:
    """The benchmarks, with their parameters, in the rows of asv's table that have a plus."""
    rows = re.findall(r"^\| \+ .*?\|.*?\|.*?\|.*?\| (.*) \|$", said, flags=re.MULTILINE)
    # where there are several environments, theirs stands behind the name
    return {re.sub(r" \[\S+/\S+\]$", "", row.strip()) for row in rows}


def compare(rounds: str, *arguments: str) -> tuple[int, set[str]]:
    """The status of ``asv continuous`` and what it marks; what it says is shown as it comes."""
    command = [sys.executable, "-m", "asv", "continuous", "--interleave-rounds"]
    command += ["--attribute", rounds, *arguments]
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            said.append(line)
    return running.returncode, marked("".join(said))


def main(base: str, head: str, *options: str) -> int:
    """Return the status for the shell."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-b", "--bench", action="append", default=[])
    asked, others = parser.parse_known_args(options)
    wanted = [f"--bench={pattern}" for pattern in asked.bench]
    status, slower = compare(ROUNDS[0], *others, *wanted, base, head)
    if status != 1 or not slower:
        return status
    print(f"\nOnce more, what was marked as slower: {len(slower)}\n", flush=True)
    # asv leaves combinations of parameters out that the expression does not match
    only = "|".join(f"^{re.escape(name)}$" for name in sorted(slower))
    status, again = compare(ROUNDS[1], *others, f"--bench={only}", base, head)
    if status not in (0, 1) or (status == 1 and not again):
        return status
    both = sorted(slower & again)
    if not both:
        print("\nNothing is slower: what was marked at first was not marked again.")
        return 0
    print("\nSlower both times:", *both, sep="\n  ")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
