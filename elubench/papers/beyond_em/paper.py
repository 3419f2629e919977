"""The paper as a whole: what it is, and where its claims, levels, probes and figures are."""

from __future__ import annotations

from pathlib import Path

from elubench.papers.beyond_em.claims import CHAPTERS
from elubench.papers.beyond_em.figures.makers import FIGURES
from elubench.papers.beyond_em.probes import PROBES
from elubench.papers.beyond_em.rival_tables import rival_tables
from elubench.verification.paper import Paper, expected_in, levels_in

_FOLDER = Path(__file__).parent

PAPER = Paper(
    name="beyond-em",
    short="Beyond EM",
    title="Beyond EM Algorithm on Over-specified Two-Component Location-Scale Gaussian Mixtures",
    authors="Ren, Cui, Sanghavi, Ho",
    place="arXiv:2205.11078",
    about="It states how fast EM and a new algorithm, ELU, find the parameters when two Gaussians are "
    "fitted to data from one. EM, ELU and the methods that a user would try instead are run on the "
    "same samples.",
    glossary={
        "alpha": "How flat the loss is at the truth: near it the loss grows like |theta|^(alpha+2).",
        "gamma": "How the noise of the gradient grows with the distance r from the truth: like r^gamma.",
        "phase": "A range of distances from the truth within which one exponent holds. At d = 1 the "
        "paper has two: phase 1 above n^(-1/16), phase 2 below.",
        "eta, beta": "ELU's step sizes: the step at iteration t is eta / beta^t, so it grows.",
        "C1, C2": "Constants of Lemma 1. The paper says only that they exist; the report gives the best "
        "ones on the ball of the paper's proof. C1 has to be finite and C2 positive.",
    },
    chapters=CHAPTERS,
    levels=levels_in(_FOLDER / "levels.toml"),
    probes=PROBES,
    figures=FIGURES,
    tables=rival_tables,
    expected=expected_in(_FOLDER / "expected.toml"),
)
