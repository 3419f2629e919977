"""What should I use? Costs to the MLE from traces, the best of a panel, the table and the figure."""

import numpy as np
import pandas as pd
import pytest

import elubench as eb
from elubench.plot import style
from elubench.report import choice_figure

N = 10**6
SPEC = """
name = "tiny"
seed = 5

[[block]]
name = "near"
models = ["isotropic", "general"]
d = [1, 2]
n = [1e3, 1e4]
samples = "lattice"
replicates = 2
starts = ["equal", "generic"]
algorithms = [{ name = "EM" }, { name = "ELU" }, { name = "NewtonAnderson" }, { name = "Moments" }]
stop = "end"
max_iter = 15
traces = 10

[[block]]
name = "far"
models = ["isotropic", "general"]
d = [1, 2]
n = 1e4
samples = "lattice"
replicates = 2
starts = "generic"
start_norm = 0.98
algorithms = [{ name = "EM" }, { name = "ELU" }, { name = "NewtonAnderson" }, { name = "Moments" }]
stop = "end"
max_iter = 15
traces = 10
"""


def run(algorithm, cost, gaps, replicate=0, **more):
    """One run whose trace has these log-likelihoods below the MLE's; its later passes cost more."""
    passes = 2.0 * (len(gaps) - 1)
    identity = {
        "block": "near", "model": "isotropic", "n": N, "d": 1, "replicate": replicate,
        "start": "generic", "start_norm": 0.8, "algorithm": algorithm, **more,
    }  # fmt: skip
    row = {
        **identity, "mle_gap": -3e-7, "passes": passes, "cost": cost, "status": "converged",
        "cost_to_radius": cost / 2, "reached": True,
    }  # fmt: skip
    trace = [
        {
            **identity, "passes": 2.0 * t, "cost": cost * (t / (len(gaps) - 1)) ** 2,
            "gap": -3e-7 + gap / N,
        }
        for t, gap in enumerate(gaps)
    ]  # fmt: skip
    return row, trace


def frames(*runs):
    rows, traces = zip(*runs, strict=True)
    return pd.DataFrame(rows), pd.DataFrame([line for trace in traces for line in trace])


class TestCostToTheMLE:
    def test_is_that_of_the_first_iterate_within_a_hundredth(self):
        made = frames(
            run("EM", 8.0, [9.0, 0.5, 0.009, 0.02, 0.001]),
            run("ELU", 24.0, [9.0, 5.0, 2.0]),
            run("Newton", 9.0, [9.0, 2.0, 0.0]),
        )
        found = choice_figure.with_mle(*made).set_index("algorithm")["cost_to_mle"]
        assert found["EM"] == 2.0  # half of its passes
        assert np.isnan(found["ELU"])
        assert found["Newton"] == 9.0

    def test_runs_that_never_arrive_are_paid_for(self):
        good, bad = [9.0, 0.0], [9.0, 9.0]
        made = frames(
            *(run("EM", 5.0, good if k < 2 else bad, replicate=k) for k in range(5)),
            *(run("LBFGS", 5.0, bad, replicate=k) for k in range(5)),
            *(run("ELU", 7.0, good if k < 3 else bad, replicate=k) for k in range(5)),
        )
        table = choice_figure.costs(choice_figure.with_mle(*made), "mle").set_index("algorithm")
        assert table.loc["EM", "expected"] == pytest.approx(5 * 5.0 / 2)
        assert table.loc["ELU", "expected"] == pytest.approx(5 * 7.0 / 3)
        assert table.loc["LBFGS", "expected"] == np.inf
        assert table.loc["EM", "censored"] == pytest.approx(0.6)

    def test_the_best_are_named_in_order(self):
        costs = {"EM": 90.0, "ELU": 30.0, "Newton": 10.0, "LBFGS": 20.0}
        made = frames(*(run(name, cost, [9.0, 0.0]) for name, cost in costs.items()))
        rows = choice_figure.with_mle(*made)
        assert choice_figure.best(rows, 3) == ["Newton", "LBFGS", "ELU"]


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("choice")
    (folder / "tiny.toml").write_text(SPEC)
    eb.run_study(folder / "tiny.toml", folder / "out")
    out = folder / "out"
    return choice_figure.with_mle(eb.load_results(out), eb.load_traces(out))


class TestDrawn:
    SETTINGS = (("isotropic", 1), ("general", 2))

    def test_rows_stay_as_many(self, rows):
        assert len(rows) == 4 * (2 * 2 * 2 * 2 * 2 + 2 * 2 * 2)
        assert rows["cost_to_mle"].notna().any()
        assert (rows["cost_to_mle"].dropna() <= rows.loc[rows["cost_to_mle"].notna(), "cost"]).all()

    def test_settings(self, rows):
        kinds = [
            choice_figure.setting(rows, "general", 2, start)
            for start in ("equal", "generic", "far")
        ]
        assert [len(kind) for kind in kinds] == [16, 16, 8]
        assert len(choice_figure.setting(rows, "general", 2)) == 40

    def test_figure(self, rows):
        figure = choice_figure.choice_figure(rows, self.SETTINGS)
        assert len(figure.axes) == 6
        named = {text.get_text() for text in figure.axes[1].texts}
        assert {"NewtonAnderson", "Moments"} <= named
        assert style.as_png(figure, dpi=30).startswith(b"\x89PNG")

    def test_table(self, rows):
        table = choice_figure.choice_table(rows, self.SETTINGS)
        assert list(table.columns) == ["isotropic, d = 1", "general, d = 2", "never there"]
        assert set(table.index) == {"EM", "ELU", "NewtonAnderson", "Moments"}
        assert table.loc["NewtonAnderson", "isotropic, d = 1"] != "never"
        shares = [float(text.rstrip("%")) for text in table["never there"]]
        assert shares == sorted(shares)
