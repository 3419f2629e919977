"""The crossover as a paper of its own: what it claims, and where its levels and figures are."""

from __future__ import annotations

from pathlib import Path

from elubench.papers.crossover.claims import CHAPTERS
from elubench.papers.crossover.figures import FIGURES
from elubench.papers.crossover.probes import PROBES
from elubench.verification.paper import Paper, expected_in, levels_in

_FOLDER = Path(__file__).parent

PAPER = Paper(
    name="crossover",
    short="The crossover",
    title="The crossover between one component and two",
    authors="elubench contributors",
    place="elubench",
    about="Between two Gaussians well apart, where EM is fast, and one Gaussian fitted by two, where it "
    "crawls, lie two Gaussians whose distance shrinks as n grows: theta* = h n^(-a). The claims say "
    "how well the location is known there, how long EM takes, and when the data show two at all.",
    glossary={
        "theta*": "Half the distance between the two true means, in standard deviations.",
        "a, h": "The distance at n rows is theta* = h n^(-a). At a = 0 the Gaussians stay apart; the "
        "regimes meet at a = 1/8 for d = 1 and at a = 1/4 for d >= 2.",
        "optimum": "The maximum-likelihood fit of the sample itself.",
        "rho": "EM's contraction factor: the part of the distance to the optimum that a step leaves.",
    },
    chapters=CHAPTERS,
    levels=levels_in(_FOLDER / "levels.toml"),
    probes=PROBES,
    figures=FIGURES,
    expected=expected_in(_FOLDER / "expected.toml"),
)
