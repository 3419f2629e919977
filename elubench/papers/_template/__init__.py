"""A paper: what it claims, in claims.toml and below, and the study that decides, grid.toml."""

from pathlib import Path

from elubench.report.figures import FigureMaker
from elubench.report.study_figures import against_n, against_n_words
from elubench.verification import Chapter, Level, Measured, Paper, at_least, claims_in
from elubench.verification.measuring import rows_of, settings_of, share_of

HERE = Path(__file__).parent
NAMES = ["EM", "overrelaxed:OverrelaxedEM"]

chapter = Chapter()
QUICKER = at_least("share of samples on which over-relaxed EM needs fewer iterations", 0.9)


@chapter.claim(
    key="quicker",
    title="Over-relaxed EM is quicker on nearly every sample",
    place="Section 3",
    basis="experiment",
    statement="With omega = 1.8, over-relaxed EM is within the radius after fewer iterations than EM.",
    how="Both run on the same samples, to twice the radius.",
    expects=[QUICKER],
)
def _(evidence):
    rows = rows_of(evidence, algorithm=NAMES)
    counts = rows.pivot(
        index=["n", "replicate"], columns="algorithm", values="iterations_to_radius"
    )
    em, own = (counts[name].fillna(rows["max_iter"].max()) for name in NAMES)
    share = share_of(QUICKER, int((own < em).sum()), len(counts))
    return Measured((share,), settings_of(rows), figures=("iterations",))


FIGURE = FigureMaker(
    key="iterations",
    title="Iterations to the radius",
    alt="Median iterations to the radius against the sample size for EM and over-relaxed EM.",
    rows=lambda evidence: (evidence.rows(algorithm=NAMES),),
    draw=lambda rows: against_n(rows, ["iterations_to_radius"]),
    words=lambda rows: against_n_words(rows, ["iterations_to_radius"]),
)

PAPER = Paper(
    name=HERE.name,
    title="A paper of my own",
    authors="me",
    place="draft",
    chapters=(claims_in(HERE / "claims.toml"), chapter),
    levels={"quick": Level(studies=("grid",))},
    figures={FIGURE.key: FIGURE},
    expected={"iterations": "supported", "quicker": "supported"},
)
