"""The paper as a whole: what it is, and where its claims, levels, probes and figures are."""

from __future__ import annotations

from pathlib import Path

from elubench.papers.singularity.claims import CHAPTERS
from elubench.papers.singularity.figures import FIGURES, rival_tables
from elubench.papers.singularity.probes import PROBES
from elubench.verification.paper import Paper, expected_in, levels_in

_FOLDER = Path(__file__).parent

PAPER = Paper(
    name="singularity",
    short="Singularity",
    title="Singularity, misspecification and the convergence rate of EM",
    authors="Dwivedi, Ho, Khamaru, Wainwright, Jordan, Yu",
    place="Annals of Statistics 48 (2020), 3161-3182; arXiv:1810.00828",
    about="It states how fast EM finds the locations when two Gaussians of known scale are fitted to "
    "data from one, with equal weights and with unequal ones. Besides, weights that are nearly "
    "equal, a scale that is not known, and the methods that a user would try instead.",
    glossary={
        "w": "The weight of the component at theta; the one at -theta has 1 - w.",
        "rho": "The imbalance of the weights, |1 - 2 w|.",
        "h": "The imbalance in units of n^(-1/4).",
        "EM's factor": "What a step of EM at infinite n multiplies theta by.",
        "eta, beta": "ELU's step sizes: the step at iteration t is eta / beta^t, so it grows.",
    },
    chapters=CHAPTERS,
    levels=levels_in(_FOLDER / "levels.toml"),
    probes=PROBES,
    figures=FIGURES,
    tables=rival_tables,
    expected=expected_in(_FOLDER / "expected.toml"),
)
