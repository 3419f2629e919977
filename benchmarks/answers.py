"""Log-likelihoods that other software finds, to hold ``fit`` against: ``python -m benchmarks.answers``.

60 simulated samples and the columns of R's data frames. mclust (R) has 60 starts, and so has
scikit-learn, whose "tied" covariance is this package's model at d = 1. With ``--write`` the answers
become tests/data/mclust.csv, and R's columns tests/data/r_columns.csv.gz; this takes minutes and needs
Rscript with mclust. Without, the stored ones are compared with ``fit``.
"""

import argparse
import subprocess
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import elubench as eb

ROOT = Path(__file__).resolve().parent.parent
STORED = ROOT / "tests" / "data" / "mclust.csv"
COLUMNS = ROOT / "tests" / "data" / "r_columns.csv.gz"
# half the distance between the means, in standard deviations, and the weight of the second component
KINDS = ((0.0, 0.5), (1.0, 0.5), (2.0, 0.5), (1.5, 0.2), (3.0, 0.05))


def simulated():
    """Names and rows of the simulated samples."""
    for half, weight in KINDS:
        for d in (1, 2, 4):
            for n in (60, 600):
                for seed in (0, 1):
                    rng = np.random.default_rng([seed, n, d, int(100 * weight), int(10 * half)])
                    second = rng.random(n) < weight
                    X = rng.standard_normal((n, d))
                    X[:, 0] += half * np.where(second, 1.0, -1.0)
                    yield f"half {half:g} weight {weight:g} d {d} n {n} seed {seed}", X


def sets():
    """Names and rows (n, d) of all samples, R's columns as stored."""
    yield from simulated()
    for name, column in pd.read_csv(COLUMNS, dtype={"set": str}).groupby("set"):
        yield name, column["x"].to_numpy()[:, None]


def sklearn_answer(X):
    """The best log-likelihood of scikit-learn's EM, which stops on a small mean gain."""
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged in max_iter
        mixture = GaussianMixture(
            2, covariance_type="tied", n_init=60, tol=1e-9, reg_covar=0.0, max_iter=2000,
            init_params="random_from_data", random_state=0,
        )  # fmt: skip
        return float(mixture.fit(X).score(X) * len(X))


def write():
    """Run R and scikit-learn, and store what they say."""
    import sklearn

    with tempfile.TemporaryDirectory() as folder:
        for name, X in simulated():
            pd.DataFrame(X).to_csv(Path(folder) / f"{name}.csv", index=False, float_format="%.17g")
        script = Path(__file__).with_name("answers.R")
        done = subprocess.run(
            ["Rscript", str(script), folder], check=True, capture_output=True, text=True
        )
        *lines, versions = done.stdout.splitlines()
        own = [
            pd.read_csv(path).assign(set=path.stem)[["set", "x"]]
            for path in sorted(Path(folder).glob("R *.csv"))
        ]
    pd.concat(own).to_csv(COLUMNS, index=False, compression={"method": "gzip", "mtime": 0})
    answers = pd.DataFrame([line.split(",") for line in lines[1:]], columns=lines[0].split(","))
    rows = dict(sets())
    answers["sklearn_free"] = [
        f"{sklearn_answer(rows[name] - rows[name].mean()):.10f}" if d == "1" else ""
        for name, d in zip(answers["set"], answers["d"], strict=True)
    ]
    text = answers.to_csv(index=False)
    STORED.write_text(f"{versions}, scikit-learn {sklearn.__version__}\n{text}")


def compared():
    """The stored answers, and what ``fit`` finds above each of them."""
    table = pd.read_csv(STORED, comment="#").set_index("set")
    for name, X in sets():
        for mixing in ("equal", "free"):
            found = eb.fit(X, eb.General(mixing=mixing), validation=None).log_likelihood
            table.loc[name, f"above_{mixing}"] = found - table.loc[name, f"mclust_{mixing}"]
    table["above_sklearn"] = table["above_free"] + table["mclust_free"] - table["sklearn_free"]
    return table


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.answers", description=__doc__)
    parser.add_argument("--write", action="store_true", help="run R and scikit-learn again")
    if parser.parse_args(arguments).write:
        write()
    table = compared()
    for column in ("above_equal", "above_free", "above_sklearn"):
        above = table[column].dropna()
        print(
            f"{column:14}  {len(above):3} sets, wins {np.sum(above > 1e-6)}, ties "
            f"{np.sum(np.abs(above) <= 1e-6)}, worst {above.min():.3g} ({above.idxmin()})"
        )


if __name__ == "__main__":
    main()
