"""What should I use? The table and the figure of docs/guide/choose.md, from the study `rivals`.

    elubench study run rivals --out rivals
    python analysis/readme_rivals.py rivals analysis/rivals.png

The table is printed: the cost of a fit as good as the sample's own MLE, in plain passes.
"""

import sys
from pathlib import Path

import pandas as pd

import elubench as eb
from elubench.plot import style
from elubench.report import choice_figure


def table(rows: pd.DataFrame) -> str:
    found = choice_figure.choice_table(rows)
    lines = ["", *found.columns], ["---", *["---:"] * len(found.columns)]
    body = [[f"`{name}`", *line] for name, line in zip(found.index, found.to_numpy(), strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (*lines, *body))


if __name__ == "__main__":
    folder, picture = sys.argv[1:]
    rows = choice_figure.with_mle(eb.load_results(folder), eb.load_traces(folder))
    print(table(rows))
    Path(picture).write_bytes(style.as_png(choice_figure.choice_figure(rows), dpi=120))
