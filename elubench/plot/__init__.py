"""Figures of one's own runs, fits and verdicts: ``eb.plot``. May import verification and below.

Every function takes a table as the package makes it, draws with matplotlib on ``ax`` (by default the
current axes, as seaborn does) and returns what it drew on. None of them changes a setting: themes and
sizes are those of ``sns.set_theme`` and ``plt.rcParams``. An algorithm has its own colour, marker and
dash everywhere, in colours that colour-blind readers can tell apart; :func:`looks` gives them to
seaborn's functions.
"""

from elubench.plot.against_n import growth as growth
from elubench.plot.against_n import rates as rates
from elubench.plot.claims import verdicts as verdicts
from elubench.plot.fitted import fit as fit
from elubench.plot.hues import looks as looks
from elubench.plot.iterates import landscape as landscape
from elubench.plot.iterates import traces as traces
from elubench.plot.radius import costs as costs
from elubench.plot.radius import run_times as run_times

__all__ = [
    "costs",
    "fit",
    "growth",
    "landscape",
    "looks",
    "rates",
    "run_times",
    "traces",
    "verdicts",
]
