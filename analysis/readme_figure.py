"""The figure of the README: passes over the data to the statistical radius, against n.

    python analysis/readme_figure.py analysis/passes.png

d = 1, samples of one Gaussian on a lattice, start 0.8, radius 2 n^(-1/8); median of ten samples. It
takes about a minute, nearly all of it for EM, and prints the numbers, too.
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
            rows += [(n, algorithm.name, r.passes, r.status) for r in runs]
    return pd.DataFrame(rows, columns=["n", "algorithm", "passes", "status"])


def draw(table: pd.DataFrame, path: str) -> None:
    sns.set_theme(style="ticks", palette="colorblind", font_scale=0.95)
    median = table.groupby(["algorithm", "n"], sort=False)["passes"].median().unstack("n")
    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    colours = dict(zip(median.index, sns.color_palette("colorblind"), strict=False))
    colours["NewtonAnderson"] = "black"
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
    axes.set(xlabel="sample size n", ylabel="passes over the data to the radius")
    axes.set_title("Two components fitted to one Gaussian, d = 1", loc="left")
    axes.set_xlim(6e3, 6e13)
    axes.set_xticks([10.0**k for k in range(4, 13, 2)])
    axes.minorticks_off()
    sns.despine(figure)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    results = measure()
    print(
        results.groupby(["algorithm", "n"], sort=False)["passes"].median().unstack("n").to_string()
    )
    assert (results["status"] == "reached").all()
    draw(results, sys.argv[1])
