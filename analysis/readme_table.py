"""The table of the README: claims, verdicts and what decides them, from a verification's folder.

elubench verify --out verification
python analysis/readme_table.py verification

Its last column says how often the verdict was another one with fresh seeds, from flips.csv beside this
file, which is what these commands write:

elubench verify --seeds 40 --first-seed 100 --out verification-seeds
cp verification-seeds/flips.csv analysis/
"""

import csv
import json
import math
import sys
from pathlib import Path

from elubench.text import number, with_interval
from elubench.verification.expectations import said

FLIPS = Path(__file__).with_name("flips.csv")
KEYS = (
    "theorem-1a-radii",
    "theorem-1a-iterations",
    "em-iterations-1",
    "theorem-1-conditions",
    "practical-procedure",
    "diagonal-generic",
    "general-printed",
    "general-centred",
    "rival-newton-anderson",
    "optimal-cost",
)


def decisive(measurements: list[dict]) -> dict:
    for outcome in ("disagrees", "undecided", "agrees"):
        for one in measurements:
            if one["outcome"] == outcome:
                return one
    raise ValueError("a claim without measurements cannot be in the table")


def interval(one: dict) -> str:
    if one["exact"]:
        return number(one["value"])
    ends = (math.inf if one[name] is None else one[name] for name in ("value", "low", "high"))
    return " ".join(with_interval(*ends)).strip()


def flips_in(path: Path, rules: str) -> dict[str, str]:
    """How often each verdict flipped, if the rules were these."""
    first, rest = path.read_text("utf-8").split("\n", 1)
    if not first.endswith(f", rules {rules}"):
        raise ValueError(f"{path} is not of the rules {rules}: {first}")
    rows = csv.DictReader(rest.splitlines())
    return {one["claim"]: f"{one['flips']} of {one['seeds']}" for one in rows}


def line(claim: dict, flips: dict[str, str]) -> str:
    one = decisive(claim["measurements"])
    theory = "" if one["theory"] is None else said(one["theory"])
    verdict = claim["verdict"]
    if verdict == "contradicted":
        verdict = f"**{verdict}**"
    measured = f"{one['quantity']}: {interval(one)}"
    cells = [claim["title"], verdict, measured, theory, one["excluded"] or ""]
    if flips:
        cells.append(flips[claim["key"]])
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def table(folder: Path, reseeded: Path = FLIPS) -> str:
    found = json.loads((folder / "claims.json").read_text("utf-8"))
    claims = {one["key"]: one for one in found["claims"]}
    flips = flips_in(reseeded, found["rules"]) if reseeded.exists() else {}
    head = ["claim", "verdict", "measured", "theory", "excludes", *(["flips"] if flips else [])]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(line(claims[key], flips) for key in KEYS)])


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
