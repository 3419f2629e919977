"""Verification with fresh seeds, to see how often a verdict changes once the rules are fixed."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from elubench import checks
from elubench.papers.verifying import DEFAULT, named
from elubench.report.summary import CLAIMS_JSON, claims_json
from elubench.studies.store import write_whole
from elubench.verification.deciding import decide, rules_hash
from elubench.verification.flips import flips, verdicts_in
from elubench.verification.gathering import Say, gather
from elubench.verification.paper import Paper


def verify_seeds(
    paper: Paper | str | Path = DEFAULT,
    level: str = "quick",
    out: str | Path = "verification-seeds",
    *,
    seeds: int = 40,
    first: int = 1,
    say: Say | None = None,
    **how: Any,
) -> pd.DataFrame:
    """Verify with ``seeds`` seeds, ``first`` and those after it; count how often each verdict changes.

    The folder gets one verification per seed, of what verdicts rest on and without pages, the tables
    that are the same for every seed in ``shared``, and that of
    :func:`elubench.verification.flips.flips` as ``flips.csv``. A seed whose verdicts are there, by the
    same rules, is not verified again: the same call resumes, and with more seeds it continues, even if
    nothing but ``flips.csv`` is there. ``how`` is that of
    :func:`elubench.verification.gathering.gather`.
    """
    checks.integer(seeds, "seeds", 2)
    checks.integer(first, "first", 1)
    chosen, folder = named(paper), Path(out)
    chosen.level(level)
    rules = rules_hash(chosen)
    header = f"# {chosen.name}, level {level}, seeds {{}} to {{}}, rules {rules}\n"
    published = _published(folder / "flips.csv", header)
    found = {}
    (folder / "shared").mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(range(first, first + seeds), 1):
        place = folder / f"seed-{seed:03d}"
        about = (chosen.name, level, seed, rules)
        known = _verdicts(place / CLAIMS_JSON, *about) if place.exists() else published.get(seed)
        if known is None:
            if say is not None:
                say(f"seed {seed} ({number} of {seeds})")
            shared = folder / "shared"
            evidence = gather(chosen, level, place, seed=seed, say=say, shared=shared, **how)
            findings = decide(chosen, evidence)
            write_whole(place / CLAIMS_JSON, claims_json(findings, *about).encode())
            known = {one.claim.key: str(one.verdict) for one in findings}
        found[seed] = known
    table = flips(found)
    header = header.format(first, first + seeds - 1)
    write_whole(folder / "flips.csv", (header + table.to_csv(index=False)).encode())
    return table


def _published(path: Path, header: str) -> dict[int, dict[str, str]]:
    """The verdicts by seed and claim in a table of flips, if it begins with this line."""
    try:
        first, rest = path.read_text("utf-8").split("\n", 1)
        ends = re.fullmatch(re.escape(header[:-1]).replace(r"\{\}", r"(\d+)"), first)
        if ends is None:
            return {}
        seeds = range(int(ends[1]), int(ends[2]) + 1)
        return verdicts_in(pd.read_csv(io.StringIO(rest), keep_default_na=False), seeds)
    except (OSError, ValueError, KeyError):
        return {}


def _verdicts(path: Path, paper: str, level: str, seed: int, rules: str) -> dict[str, str] | None:
    """The verdicts in a file, if it is of this verification and these rules."""
    try:
        known = json.loads(path.read_text("utf-8"))
        about = [known[key] for key in ("paper", "level", "seed", "rules")]
        if about != [paper, level, seed, rules]:
            return None
        return {one["key"]: one["verdict"] for one in known["claims"]}
    except (OSError, ValueError, KeyError, TypeError):
        return None
