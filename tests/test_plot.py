"""Figures for everybody: what they draw, on which axes, and that they leave settings alone."""

import inspect
import math
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import planted
import pytest
import seaborn as sns
from conftest import python

import elubench as eb
from elubench import rates
from elubench.plot import against_n
from elubench.verification import near
from elubench.verification.verdicts import Claim, Finding, Measurement, as_table

PUBLIC = (
    "costs",
    "fit",
    "growth",
    "landscape",
    "looks",
    "rates",
    "run_times",
    "traces",
    "verdicts",
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def race():
    """Runs to the radius of all algorithms, with planted growth, d = 1."""
    rows = planted.evidence().results
    rows = rows[(rows["stop"] == "radius") & (rows["samples"] == "lattice")]
    rows = rows[(rows["model"] == "isotropic") & (rows["d"] == 1)]
    return rows.assign(options=rows["options"].where(rows["algorithm"] == "ELU", "{}"))


def errors(exponents, n=(1_000, 10_000, 100_000), replicates=40):
    """Errors that are powers of n times the same noise."""
    rng = np.random.default_rng(0)
    noise = rng.lognormal(0.0, 0.2, (len(n), replicates))
    return pd.DataFrame(
        {"algorithm": name, "n": m, "replicate": k, "d": 1, "location_error": m**b * noise[j, k]}
        for name, b in exponents.items()
        for j, m in enumerate(n)
        for k in range(replicates)
    )


def grid():
    x, y = np.meshgrid(np.linspace(0.0, 0.7, 12), np.linspace(0.0, 0.7, 12))
    gap = (x * y) ** 2
    return pd.DataFrame({"theta_1": x.ravel(), "theta_2": y.ravel(), "gap": gap.ravel()})


def trace(name="ELU"):
    t = np.arange(50)
    return pd.DataFrame({"algorithm": name, "t": t, "location_error": 0.9 * 0.8**t})


def claims():
    rows = [("agrees", "supported", -0.126, -0.13, -0.12), ("not", "contradicted", 5.0, 4.0, 6.0)]
    table = pd.DataFrame(rows, columns=["claim", "verdict", "measured", "low", "high"])
    return table.assign(theory=-0.125, least=-0.135, most=-0.115)


CALLS = {
    "costs": lambda race, ax: eb.plot.costs(race, "passes", ax=ax),
    "run_times": lambda race, ax: eb.plot.run_times(race[race["n"] == race["n"].max()], ax=ax),
    "growth": lambda race, ax: eb.plot.growth(race[race["algorithm"] == "EM"], ax=ax),
    "rates": lambda _, ax: eb.plot.rates(errors({"EM": -0.25}), ax=ax),
    "traces": lambda _, ax: eb.plot.traces(trace(), radius=0.01, ax=ax),
    "landscape": lambda _, ax: eb.plot.landscape(grid(), ax=ax),
    "verdicts": lambda _, ax: eb.plot.verdicts(claims(), ax=ax),
}


def test_what_is_public():
    assert tuple(eb.plot.__all__) == PUBLIC
    assert set(CALLS) == set(PUBLIC) - {"fit", "looks"}
    for name in PUBLIC:
        for section in ("Parameters", "Returns", "Examples"):
            assert f"{section}\n---" in inspect.getdoc(getattr(eb.plot, name)), name


def test_nothing_is_drawn_before_it_is_asked_for():
    code = "import sys, elubench as eb; eb.EM; print(int('matplotlib' in sys.modules))"
    assert python(code) == 0


@pytest.mark.parametrize("name", CALLS)
def test_axes_given_or_current_and_settings_left_alone(name, race):
    with mpl.rc_context():
        sns.set_theme(style="darkgrid", font_scale=1.3)
        before = dict(mpl.rcParams)
        _, (left, right) = plt.subplots(1, 2)
        assert CALLS[name](race, left) is left
        assert not right.has_data()
        _, ax = plt.subplots()
        assert CALLS[name](race, None) is ax
        assert ax.get_xlabel()
        ax.figure.canvas.draw()
        assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", sorted(set(CALLS) - {"landscape"}))
def test_a_missing_column_is_named(name, race):
    wrong = {"race": race.drop(columns=["n", "passes", "iterations"])}
    calls = {
        "costs": lambda: eb.plot.costs(wrong["race"], "passes"),
        "run_times": lambda: eb.plot.run_times(wrong["race"]),
        "growth": lambda: eb.plot.growth(wrong["race"]),
        "rates": lambda: eb.plot.rates(pd.DataFrame({"n": [1]})),
        "traces": lambda: eb.plot.traces(pd.DataFrame({"t": [1]})),
        "verdicts": lambda: eb.plot.verdicts(claims().drop(columns="low")),
    }
    with pytest.raises(ValueError, match=r"data must have (a column|columns) '"):
        calls[name]()


def test_what_would_mix_runs_is_refused(race):
    two = pd.concat([race, race.assign(d=2)])
    for draw in (eb.plot.costs, eb.plot.run_times):
        with pytest.raises(ValueError, match="data must have one value of 'd', got 1, 2"):
            draw(two, "passes")
    with pytest.raises(ValueError, match="one value of 'n'"):
        eb.plot.run_times(race)
    with pytest.raises(ValueError, match="one value of 'algorithm'"):
        eb.plot.growth(race)
    with pytest.raises(ValueError, match="spent must be one of cost, passes, iterations"):
        eb.plot.costs(race, "seconds")


class TestRates:
    def test_the_legend_has_the_planted_exponents(self):
        ax = eb.plot.rates(errors({"ELU": -0.125, "EM": -0.25}), theory=-0.125)
        told = [text.get_text() for text in ax.get_legend().get_texts()]
        assert [one.split(":")[0] for one in told] == ["EM", "ELU"]
        for one, b in zip(told, (-0.25, -0.125), strict=True):
            value, low, high = (
                float(part) for part in one.split(": ")[1].translate(_PLAIN).split()
            )
            assert low <= value <= high
            assert value == pytest.approx(b, abs=0.03)
        assert "slope −1/8" in [text.get_text() for text in ax.texts]  # noqa: RUF001

    def test_colours_are_the_algorithms_own(self):
        ax = eb.plot.rates(errors({"EM": -0.25}), fit=False)
        assert ax.get_lines()[0].get_color() == eb.EM.look.colour
        assert ax.get_lines()[0].get_marker() == eb.EM.look.marker

    @pytest.mark.parametrize("few", [{"n": (1000,)}, {"replicates": 1}])
    def test_too_few_runs_are_drawn_without_a_line(self, few):
        ax = eb.plot.rates(errors({"EM": -0.25}, **few))
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EM"]

    @pytest.mark.parametrize(
        ("statistic", "found"), [("rmse", math.sqrt(12.5)), ("mean", 2.5), (0.5, 2.5)]
    )
    def test_statistics(self, statistic, found):
        rows = pd.DataFrame({"n": [10, 10, 20], "error": [0.0, 5.0, 0.0]})
        assert against_n.statistic_of(rows, "error", "n", statistic).to_dict() == {10: found}


_PLAIN = str.maketrans({"−": "-", "[": "", "]": "", ",": " "})  # noqa: RUF001


class TestGrowth:
    @pytest.mark.parametrize("law", rates.LAWS)
    def test_law_at_its_constants(self, law):
        n = np.array([np.e, np.e**2])
        expected = {"logarithm": [3.0, 5.0], "power": [np.e**2, np.e**4]}
        want = expected.get(law, [1.0, 4.0])
        np.testing.assert_allclose(against_n.law_at(law, 1.0, 2.0, n), want, rtol=1e-12)

    def test_every_law_has_its_error(self, race):
        ax = eb.plot.growth(race[race["algorithm"] == "ELU"], yscale="linear")
        told = [text.get_text() for text in ax.texts]
        assert len(told) == len(rates.LAWS)
        assert all(text.endswith(" %") for text in told)


class TestRadius:
    def test_names_at_the_ends(self, race):
        ax = eb.plot.costs(race, "passes", label=["EM"])
        named = {text.get_text() for text in ax.texts}
        assert {one for one in named if not one.startswith("slope")} == {"EM"}

    def test_shares_end_where_runs_do(self, race):
        part = race[race["n"] == race["n"].max()]
        part = part[part["algorithm"] == "EM"]
        ax = eb.plot.run_times(part)
        share = part["reached"].mean()
        assert max(ax.get_lines()[0].get_ydata()) == pytest.approx(share)


def test_limits_may_be_changed_afterwards():
    ax = eb.plot.traces(trace())
    ax.set_ylim(1e-20, 1.0)
    assert min(ax.get_yticks()) < 1e-15


def test_one_run_needs_no_column_of_its_name():
    ax = eb.plot.traces(trace().drop(columns="algorithm"), xscale="linear")
    assert len(ax.get_lines()) == 1


def test_paths_on_a_landscape():
    paths = pd.DataFrame(
        {"algorithm": ["EM", "EM", "ELU", "ELU"], "theta_1": [0.5, -0.2] * 2, "theta_2": 0.1}
    )
    ax = eb.plot.landscape(grid(), paths)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["EM", "ELU"]
    assert ax.get_lines()[0].get_xdata().tolist() == [0.5, 0.2]


class TestVerdicts:
    def test_a_measurement_stands_where_its_region_says(self):
        ax = eb.plot.verdicts(claims(), legend=False)
        lines = [list(line.get_xdata()) for line in ax.get_lines()]
        assert lines[0] == pytest.approx([-1.0, 1.0])
        assert lines[1] == pytest.approx([-0.5, 0.5])
        assert lines[2] == pytest.approx([-0.1])
        assert lines[5] == pytest.approx([3.0])  # beyond the axis
        assert [text.get_text() for text in ax.get_yticklabels()] == ["agrees", "not"]

    @pytest.mark.parametrize(
        ("least", "most", "ends"), [(-math.inf, 2.0, (-6.0, 1.0)), (2.0, math.inf, (-1.0, 6.0))]
    )
    def test_regions_with_one_border(self, least, most, ends):
        table = claims().head(1).assign(least=least, most=most, theory=1.0, measured=1.0)
        ax = eb.plot.verdicts(table)
        assert list(ax.get_lines()[0].get_xdata()) == pytest.approx(ends)

    def test_the_table_has_what_decides(self):
        one = Measurement(near("exponent of n", -0.125, 0.025), -0.124, -0.131, -0.117)
        claim = Claim("key", "title", "statement", "Theorem 1", "theorem", "how", (one.expected,))
        found = [
            Finding(claim, "supported", (one,), ""),
            Finding(replace(claim, key="other"), "not testable", (), ""),
        ]
        table = as_table(found).set_index("key")
        assert table.loc["key", ["measured", "low", "high"]].tolist() == [-0.124, -0.131, -0.117]
        assert table.loc["key", ["least", "most"]].tolist() == pytest.approx([-0.15, -0.1])
        assert table.loc["other", ["measured", "theory"]].isna().all()
        assert len(eb.plot.verdicts(table).get_yticks()) == 1


class TestLooks:
    def test_seaborn_draws_as_we_do(self):
        rows = errors({"ELU": -0.125, "EM": -0.25})
        look = eb.plot.looks(rows)
        assert look["hue_order"] == ["EM", "ELU"]
        ax = sns.lineplot(rows, x="n", y="location_error", errorbar=None, **look)
        assert ax.get_lines()[0].get_color() == eb.EM.look.colour

    def test_markers_of_lines_and_filled_ones(self):
        rows = errors({"EM": -0.25, "DAAREM": -0.25})
        sns.lineplot(rows, x="n", y="location_error", errorbar=None, **eb.plot.looks(rows))

    def test_numbers_are_shaded_in_their_order(self):
        look = eb.plot.looks(pd.DataFrame({"d": [4, 1, 2]}), "d")
        assert look["hue_order"] == [1, 2, 4]
        assert len(set(look["palette"].values())) == 3
