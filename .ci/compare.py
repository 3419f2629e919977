"""Compare two commits with asv: ``compare.py BASE HEAD [options of asv continuous]``.

Rounds of the two commits alternate, and what asv marks as slower is measured once more, with more of
them: it counts where it is marked again. A neighbour on the machine makes some benchmark look slower in
most comparisons, even of a commit with itself, but seldom the same one twice.

The status is asv's: 1 if something got slower, 2 on a failure.
"""

import re
import subprocess
import sys

#: A round has at least three samples of a time, and asv's test finds nothing in less than seven.
ROUNDS = "rounds=3", "rounds=6"


def marked(said: str) -> set[str]:
    """The benchmarks, with their parameters, in the rows of asv's table that have a plus."""
    rows = (line.split("|") for line in said.splitlines() if line.startswith("| +"))
    return {row[-2].strip() for row in rows}


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
    status, slower = compare(ROUNDS[0], *options, base, head)
    if status != 1 or not slower:
        return status
    print(f"\nOnce more, what was marked as slower: {len(slower)}\n", flush=True)
    # asv leaves combinations of parameters out that the expression does not match
    only = "|".join(f"^{re.escape(name)}$" for name in sorted(slower))
    status, again = compare(ROUNDS[1], *options, "--bench", only, base, head)
    if status not in (0, 1):
        return status
    both = sorted(slower & again)
    if not both:
        print("\nNothing is slower: what was marked at first was not marked again.")
        return 0
    print("\nSlower both times:", *both, sep="\n  ")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
