"""The figure of the README: the cost of reaching the statistical radius, in plain passes, against n.

    python analysis/readme_figure.py analysis/passes.png

d = 1, samples of one Gaussian on a lattice, start 0.8, radius 2 n^(-1/8); median of ten samples. A plain
pass brings EM's step from one point; what the others cost is measured on this machine. It takes about a
minute, nearly all of it for EM, and prints passes and costs, too.
"""

import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns

import elubench as eb

SIZES = [10**k for k in range(4, 13)]
ALGORITHMS = [
    eb.EM(),
    eb.ELU(),
    eb.SQUAREM(),
    eb.LBFGS(),
    eb.Newton(),
    eb.NewtonAnderson(),
    eb.Moments(),
]


def measure() -> pd.DataFrame:
    rows = []
    for n in SIZES:
        samples = [eb.LatticeSample.gaussian(n, 1, seed) for seed in range(10)]
        for algorithm in ALGORITHMS:
            radius = eb.radius("isotropic", n, 1, constant=2.0)
            runs = eb.run_many(
                samples, "isotropic", algorithm, [0.8], radius=radius, max_iter=10**9
            )
            rows += [(n, algorithm.name, r.passes, r.cost, r.status) for r in runs]
    return pd.DataFrame(rows, columns=["n", "algorithm", "passes", "cost", "status"])


def medians(table: pd.DataFrame, column: str) -> pd.DataFrame:
    return table.groupby(["algorithm", "n"], sort=False)[column].median().unstack("n")


def draw(table: pd.DataFrame, path: str) -> None:
    sns.set_theme(style="ticks", font_scale=0.95)
    median = medians(table, "cost")
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    colours = {name: getattr(eb, str(name)).look.colour for name in median.index}
    aside = {"ELU": 5, "LBFGS": 4, "Newton": -5}  # so that no label covers another
    for (name, line), marker in zip(median.iterrows(), "osv^DPd", strict=True):
        axes.loglog(line.index, line, marker=marker, color=colours[name], ms=5)
        last = line.last_valid_index()
        axes.annotate(
            str(name),
            (last, line[last]),
            textcoords="offset points",
            xytext=(8, aside.get(name, 0)),
            va="center",
            color=colours[name],
            fontweight="bold" if name == "NewtonAnderson" else None,
        )
    sizes = np.array([1e4, 1e12])
    anchor = median.loc["EM", 10**7]
    axes.loglog(sizes, anchor * 0.35 * (sizes / 1e7) ** 0.75, "k--", lw=0.8)
    axes.annotate("slope 3/4", (1e7, anchor * 0.35), xytext=(6, -8), textcoords="offset points")
    axes.set(xlabel="sample size n", ylabel="cost to the radius, in plain passes")
    axes.set_title("Two components fitted to one Gaussian, d = 1", loc="left")
    axes.set_xlim(6e3, 6e13)
    axes.set_xticks([10.0**k for k in range(4, 13, 2)])
    axes.minorticks_off()
    sns.despine(figure)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    results = measure()
    for column in ("passes", "cost"):
        print(column, medians(results, column).to_string(float_format="{:.4g}".format), sep="\n")
    assert (results["status"] == "reached").all()
    draw(results, sys.argv[1])
