"""Compare two commits with asv: ``compare.py BASE HEAD [options of asv continuous]``.

Rounds of the two commits alternate, and what asv marks as slower or faster is measured once more, with
more of them: it counts where it is marked again. A neighbour on the machine makes some benchmark look
changed in most comparisons, even of a commit with itself, but seldom the same one twice.

The status is 0 where nothing got slower, and else asv's: 1 for a slow-down, 1 or 2 for a failure.
"""

import argparse
import re
import subprocess
import sys

#: A round has at least three samples of a time. Of six in all, asv's test could never be sure.
ROUNDS = "rounds=3", "rounds=6"


#: What asv concludes from one comparison, which is for us to say after two.
_HASTY = re.compile(r"SOME BENCHMARKS HAVE CHANGED|PERFORMANCE (?:IN|DE)CREASED")
_WORDS = {"+": "slower", "-": "faster"}


def marked(said: str, sign: str) -> set[str]:
    """The benchmarks, with their parameters, in the rows of asv's table that have this sign."""
    row = rf"^\| {re.escape(sign)} .*?\|.*?\|.*?\|.*?\| (.*) \|$"
    # where there are several environments, theirs stands behind the name
    return {
        re.sub(r" \[\S+/\S+\]$", "", name.strip())
        for name in re.findall(row, said, flags=re.MULTILINE)
    }


def compare(rounds: str, *arguments: str) -> tuple[int, dict[str, set[str]]]:
    """The status of ``asv continuous`` and what it marks, by sign; its output is shown as it comes."""
    command = [sys.executable, "-m", "asv", "continuous", "--interleave-rounds"]
    command += ["--attribute", rounds, *arguments]
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if not _HASTY.search(line):
                print(line, end="", flush=True)
            said.append(line)
    whole = "".join(said)
    return running.returncode, {sign: marked(whole, sign) for sign in _WORDS}


def twice(base: str, head: str, *options: str) -> tuple[int, list[dict[str, set[str]]]]:
    """asv's status if it failed, else 0; what was marked at first and what both times, by sign."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("-b", "--bench", action="append", default=[])
    asked, others = parser.parse_known_args(options)
    wanted = [f"--bench={pattern}" for pattern in asked.bench]
    status, first = compare(ROUNDS[0], *others, *wanted, base, head)
    if failed(status, first):
        return status, []
    changed = sorted(first["+"] | first["-"])
    if not changed:
        print("\nNothing has changed.")
        return 0, [first, first]
    counts = ", ".join(f"{word} {len(first[sign])}" for sign, word in _WORDS.items())
    print(f"\nOnce more, what was marked: {counts}\n", flush=True)
    # asv leaves combinations of parameters out that the expression does not match
    only = "|".join(f"^{re.escape(name)}$" for name in changed)
    status, again = compare(ROUNDS[1], *others, f"--bench={only}", base, head)
    if failed(status, again):
        return status, []
    both = {sign: first[sign] & again[sign] for sign in _WORDS}
    for sign, word in _WORDS.items():
        if both[sign]:
            print(f"\n{word.capitalize()} both times:", *sorted(both[sign]), sep="\n  ")
        else:
            print(f"\nNothing is {word} both times.")
    return 0, [first, both]


def main(base: str, head: str, *options: str) -> int:
    """Return the status for the shell."""
    status, marks = twice(base, head, *options)
    return status or int(bool(marks[1]["+"]))


def failed(status: int, found: dict[str, set[str]]) -> bool:
    """Whether asv could not compare: its status is 1 for that, too, but nothing is slower then."""
    return status not in (0, 1) or (status == 1 and not found["+"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
