"""The report: its page, its figures and tables, and the claims as files."""

import base64
import json
import math
import re
import warnings
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import planted_theory
import pytest
from matplotlib.figure import Figure

from elubench.algorithms.known import known
from elubench.papers.beyond_em import PAPER, corrections, probes
from elubench.papers.beyond_em import rival_tables as tables
from elubench.papers.beyond_em import rows as selected
from elubench.papers.beyond_em.figures import panels as paper_panels
from elubench.papers.beyond_em.figures.makers import FIGURES
from elubench.plot import against_n, radius, style
from elubench.rates import Interval
from elubench.report import captions, errors, page, race, slope_figure, summary
from elubench.report.figures import FigureMaker
from elubench.report.typesetting import maths
from elubench.studies import reading
from elubench.studies import rows as columns
from elubench.text import number as told
from elubench.verification import (
    Claim,
    Evidence,
    Finding,
    Measurement,
    at_least,
    at_most,
    between,
    near,
)
from elubench.verification.measuring import exactly
from elubench.verification.verdicts import verdict_of

RIVALS = ("EM", "ELU", "SQUAREM", "LBFGS", "NewtonAnderson")
HOSTILE = (
    "</title><script>alert('x')</script>\" onload=\"x & {{ 7 * 7 }} | `a` [b](c) \x1b[31m ^(<i>)"
)

OTHERS = ("", ", others")  # of blocks that no verdict rests on


def rows(block, model="isotropic", d=1, n=(10**4, 10**5, 10**6, 10**7), replicates=5, **given):
    """Rows as a study has them, with errors that fall and counts that grow as theory says."""
    rng = np.random.default_rng(1)
    made = []
    names = given.pop("algorithms", RIVALS)
    starts = given.pop("starts", ("equal",))
    for size in n:
        for replicate in range(replicates):
            for start in starts:
                for name in names:
                    noise = rng.uniform(0.8, 1.2)
                    count = round({"EM": size**0.5, "ELU": 3 * math.log(size)}.get(name, 8) * noise)
                    made.append(
                        {
                            "n": size,
                            "replicate": replicate,
                            "start": start,
                            "algorithm": name,
                            "options": '{"eta": 0.01, "beta": 0.8}' if "ELU" in name else "{}",
                            "iterations_to_radius": float(count),
                            "passes_to_radius": float(count),
                            "cost_to_radius": 1.5 * count,
                            "iterations": count,
                            "passes": float(count),
                            "cost": 1.5 * count,
                            "selected": count,
                            "location_error": noise * size**-0.25,
                            "scale_error": noise * size**-0.5,
                            "mle_distance": 0.1 * size**-0.25,
                            "last_mle_distance": 0.2 * size**-0.25,
                            "radius": size**-0.25,
                        }
                    )
    common = {
        "block": block,
        "model": model,
        "d": d,
        "samples": "lattice",
        "start_norm": 0.9,
        "max_iter": 1000,
        "stop": "radius",
        "validation": math.nan,
        "radius_constant": 2.0,
        "seed": 20,
        "status": "reached",
        "reached": True,
        "seconds": 0.01,
        "elubench": "0.1.0",
        "commit": "abc",
        "python": "3.12",
        "numpy": "2.1",
        "numba": "0.61",
        "scipy": "1.14",
        "cpu": "a processor",
        "threads": 2,
        "engine": "local",
        "study": "quick",
    }
    frame = pd.DataFrame(made).assign(**{**common, **given})
    for name in ("sample_kurtosis", "held_kurtosis", "sample_gap", "held_gap", "sample_trace"):
        frame[name] = rng.standard_normal(len(frame)) / np.sqrt(frame["n"])
    return frame.reindex(columns=[*columns.SCHEMA.names, "study"])


def to_the_end(block, **given):
    return rows(block, **{"stop": "end", "validation": 0.1, "status": "max_iter", **given})


def paths(block, model, d):
    """Recorded iterates of one run of each algorithm."""
    t = np.array([0, 1, 2, 5, 10, 20, 50])
    made = [
        pd.DataFrame({"t": t, "location_error": 0.9 / (1.0 + t) ** 0.5, "algorithm": name})
        for name in RIVALS
    ]
    frame = pd.concat(made, ignore_index=True).assign(
        block=block, model=model, d=d, n=1000, replicate=0, study="quick"
    )
    return frame.reindex(columns=[*columns.TRACE_SCHEMA.names, "study"])


def costs():
    made = [
        (n, d, turn, name, 1e-9 * n * d * (1 + 0.1 * turn), 1.0)
        for n, d in ((2**17, 1), (2**19, 1), (2**17, 4))
        for turn in range(3)
        for name in ("EM", "ELU", "Simultaneous")
    ]
    return pd.DataFrame(made, columns=["n", "d", "round", "algorithm", "seconds", "passes"])


FOUR = (("isotropic", 1), ("isotropic", 4), ("diagonal", 4), ("general", 4))


def full_evidence():
    results = [
        rows("iterations d=1"),
        rows("iterations d=2", d=2),
        to_the_end("errors d=1"),
        to_the_end("errors d=2", d=2),
        *(
            to_the_end(f"starts {model}", model=model, d=2, starts=("equal", "generic"))
            for model in ("diagonal", "general")
        ),
        *(to_the_end("errors, fixed n", d=d, n=(20_000,), samples="direct") for d in (2, 4, 8)),
    ]
    traces = []
    for number, (model, d) in enumerate(FOUR, 1):
        about = {"model": model, "d": d, "samples": "direct", "radius_constant": 1.0}
        results.append(to_the_end(f"figure {number}, left", n=(1000,), replicates=1, **about))
        results.append(to_the_end(f"figure {number}, right", n=(1000, 3000, 10_000), **about))
        traces.append(paths(f"figure {number}, left", model, d))
    return Evidence(
        "quick",
        0,
        ("quick",),
        pd.concat(results, ignore_index=True),
        pd.concat(traces, ignore_index=True),
        {
            "costs": costs(),
            "stability": probes.stability(0, (10**4, 10**6), 3),
            "profiles": probes.profiles(0),
            "landscape": probes.landscape(0, 21),
            "flows": probes.flows(0, 40),
            "limit_law": probes.limit_law(0, (10**8,), (10**6,), (10**5,), 20, 20),
            "crossover": planted_theory.crossover(),
        },
    )


def as_planned(level):
    """A row for each block, model, size, start and algorithm that a level's studies plan."""
    results, traces = [], []
    for study in PAPER.level(level).studies:
        for block in reading.load(study).blocks:
            for model in block.models:
                for n, d in block.sizes:
                    cell = {"study": study, "block": block.name, "model": model, "n": n, "d": d}
                    cell |= {"samples": block.samples, "stop": block.stop, "status": "max_iter"}
                    cell["radius_constant"] = block.radius_constant
                    made = [
                        {**cell, "start": start, "algorithm": one.algorithm.name}
                        for start in block.starts
                        for one in block.contestants
                    ]
                    results += made
                    traces += made if block.traces else []
    frames = pd.DataFrame(results), pd.DataFrame(traces)
    return Evidence(level, 0, PAPER.level(level).studies, *frames, {})


def no_evidence():
    whole = full_evidence()
    return replace(whole, results=whole.results[:0], traces=whole.traces[:0], tables={})


def finding(key="a-claim", *measurements, text="a statement", figures=(), remarks=()):
    expects = tuple(dict.fromkeys(one.expected for one in measurements))
    claim = Claim(key, f"Title: {text}", text, f"Place {text}", "theorem", f"Rule {text}", expects)
    return Finding(claim, verdict_of(measurements), measurements, text, remarks, tuple(figures))


GOOD = Measurement(
    near("exponent", -1 / 8, 0.01, {"n^(-1/7)": -1 / 7}), -0.1236, -0.1266, -0.1208, "a note",
    plain=Interval(-0.1172, -0.1201, -0.1149),
)  # fmt: skip
BAD = Measurement(near("exponent", -1 / 4, 0.05), 0.0, -0.01, 0.01)
OPEN = Measurement(at_most("ratio", 1.1), 1.04, 0.9, 1.3)
EXACT = Measurement(at_least("constant", 0.0), 1.5, 1.5, 1.5, exact=True)


def findings():
    return [
        finding(
            "supported-one", GOOD, EXACT, figures=("passes", "figure-1"), remarks=("A remark.",)
        ),
        finding("contradicted-one", GOOD, BAD, figures=("passes", "breaks")),
        finding("open-one", OPEN),
        finding("never"),
    ]


@pytest.fixture(scope="module")
def evidence():
    return full_evidence()


@pytest.fixture(scope="module")
def written(evidence, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "made"
    return page.write_report(PAPER, findings(), evidence, folder, seconds=75.0)


class Page(HTMLParser):
    """What a test asks about a page: tags with attributes, ids, links, text."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.open = [], "", []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def values(self, name):
        return [attrs[name] for _, attrs in self.tags if name in attrs]


def scripts(text):
    return re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)


class TestNumbers:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.125, "0.125"),
            (-0.75, "-0.75"),
            (0.0, "0"),
            (23_456.0, "23,456"),
            (999_999.6, "1,000,000"),
            (1.2e-7, "1.2e-7"),
            (3.0e9, "3e9"),
            (1 / 3, "0.3333"),
            (math.nan, "-"),
            (math.inf, "inf"),
            (-math.inf, "-inf"),
        ],
    )
    def test_as_a_reader_writes_them(self, value, text):
        assert told(value) == text

    @pytest.mark.parametrize(
        ("value", "low", "high", "text"),
        [
            (-0.12361, -0.12662, -0.12083, "-0.1236 [-0.1266, -0.1208]"),
            (24_557.0, 23_900.0, 25_100.0, "24,557 [23,900, 25,100]"),
            (1.5, 1.5, 1.5, "1.5"),
            (6.0000001, 5.9999996, 6.0000006, "6 ± 5e-7"),
            (2.0e-9, 1.0e-9, 3.0e-9, "2e-9 [1e-9, 3e-9]"),
            (1.0, 0.5, math.inf, "1 [0.5, inf]"),
            (1.0, math.nan, math.nan, "1"),
        ],
    )
    def test_intervals_say_how_many_digits_count(self, value, low, high, text):
        assert " ".join(summary.with_interval(value, low, high)).strip() == text


class TestConsole:
    def test_fits_a_terminal_and_has_every_claim(self):
        text = summary.console_table(findings())
        assert all(len(line) <= summary.WIDTH for line in text.splitlines())
        assert text.count("Title: a statement") == 4
        assert "1 supported, 1 contradicted, 1 inconclusive, 1 not testable" in text
        assert "-0.1236 [-0.1266, -0.1208]" in text

    def test_long_words_and_control_characters(self):
        text = summary.console_table([finding("k", BAD, text=HOSTILE + "w" * 200)])
        assert all(len(line) <= summary.WIDTH for line in text.splitlines())
        assert all(char.isprintable() or char == "\n" for char in text)

    def test_no_claims(self):
        assert "no claims" in summary.console_table([])


class TestFiles:
    def test_json_has_what_was_found(self, written):
        content = json.loads((written.parent / summary.CLAIMS_JSON).read_text("utf-8"))
        assert [one["key"] for one in content["claims"]] == [f.claim.key for f in findings()]
        for one, found in zip(content["claims"], findings(), strict=True):
            assert {key: one[key] for key in found.as_dict()} == found.as_dict()
            assert one["figures"] == list(found.figures)
        assert content["paper"] == "beyond-em"
        assert content["level"] == "quick"
        assert content["seed"] == 0
        assert sum(content["counts"].values()) == 4

    def test_csv_has_a_line_for_every_measurement(self, written, evidence):
        lines = pd.read_csv(written.parent / summary.CLAIMS_CSV)
        assert list(lines["claim"]) == [
            one.claim.key for one in findings() for _ in one.measurements or [None]
        ]
        measured = [one for found in findings() for one in found.measurements]
        assert list(lines["value"].dropna()) == [one.value for one in measured]
        assert list(lines["outcome"].dropna()) == [one.outcome for one in measured]
        runs = pd.read_csv(written.parent / "results.csv", low_memory=False)
        assert list(runs["n"]) == list(evidence.results["n"])
        assert runs["location_error"].to_numpy() == pytest.approx(
            evidence.results["location_error"].to_numpy(dtype=float), nan_ok=True
        )

    def test_markdown_is_a_table_whatever_the_text(self):
        text = summary.claims_markdown(
            [finding("k", GOOD, text=HOSTILE)] * 2, HOSTILE, "quick", 0, "abc"
        )
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len(lines) == 4
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {8}
        assert "<" not in text
        assert "\\`a\\`" in text

    def test_replaced_whole_or_not_at_all(self, evidence, tmp_path):
        def fails():
            raise RuntimeError("no figure today")

        broken = {"x": FigureMaker("x", "x", "x", lambda _: (), fails, lambda: "")}
        page.write_report(replace(PAPER, figures={}), findings()[2:], evidence, tmp_path)
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        with pytest.raises(RuntimeError, match="no figure today"):
            page.write_report(replace(PAPER, figures=broken), [], evidence, tmp_path)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
        others = {summary.CLAIMS_JSON, summary.CLAIMS_CSV, page.CLAIMS_MARKDOWN, "results.csv"}
        assert set(before) == {page.REPORT, *others}

    def test_an_unknown_figure(self, evidence, tmp_path):
        wrong = [finding("a", GOOD, figures=("nowhere",))]
        with pytest.raises(ValueError, match=r"claim 'a' must be one of figure-1.*got 'nowhere'"):
            page.write_report(PAPER, wrong, evidence, tmp_path)
        assert not list(tmp_path.iterdir())


class TestPage:
    def test_links_resolve_and_names_are_unique(self, written):
        found = Page(written.read_text("utf-8"))
        ids = found.values("id")
        assert len(ids) == len(set(ids))
        links = found.values("href")
        assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
        beside = [link for link in links if not link.startswith("#")]
        assert all((written.parent / link).stat().st_size for link in beside)
        made = [path for path in written.parent.rglob("*") if path.is_file() and path != written]
        assert {written.parent / link for link in beside} == set(made)
        for one in findings():
            assert f"#claim-{one.claim.key}" in links
            assert f"#row-{one.claim.key}" in links
        described = found.values("aria-labelledby")
        assert set(described) <= set(ids)

    def test_needs_nothing_else(self, written):
        text = written.read_text("utf-8")
        found = Page(text)
        assert not {"link", "iframe", "object"} & {tag for tag, _ in found.tags}
        assert not re.search(r"fetch\(|XMLHttpRequest|import\b", "".join(scripts(text)))
        assert all(
            source.startswith("data:image/svg+xml;base64,") for source in found.values("src")
        )
        assert "http" not in re.sub(r"base64,[A-Za-z0-9+/=]+", "", text)
        assert "url(" not in text
        assert len(text) < 5e6

    def test_each_figure_once_with_words_for_it(self, written):
        found = Page(written.read_text("utf-8"))
        images = [attrs for tag, attrs in found.tags if tag == "img"]
        assert sorted(one["alt"] for one in images) == sorted(one.alt for one in FIGURES.values())
        numbers = re.findall(r"Figure (\d+)\. ", found.text)
        assert numbers == [str(k + 1) for k in range(len(images))]
        assert found.values("href").count("#fig-passes") == 2  # a later claim, and the rivals
        for one in images:
            svg = base64.b64decode(one["src"].partition("base64,")[2]).decode("utf-8")
            assert svg.startswith("<?xml")
            assert "<image" not in svg

    def test_numbers_for_the_script_are_those_of_the_rows(self, written, evidence):
        text = written.read_text("utf-8")
        figure = re.search(r'<figure id="fig-cost-to-radius">(.*?)</figure>', text, re.S)[1]
        data = json.loads(scripts(figure)[0])
        assert [panel["name"] for panel in data["panels"]] == ["d = 1", "d = 2"]
        for d, panel in zip((1, 2), data["panels"], strict=True):
            raced = evidence.results.query(f"stop == 'radius' and d == {d}")
            medians = raced.groupby(["algorithm", "n"])["cost_to_radius"].median()
            shown = {
                (curve["name"], point["x"]): point["y"]
                for curve in panel["curves"]
                for point in curve["points"]
            }
            assert shown == medians.to_dict()
        lines = pd.read_csv(written.parent / "figures" / "cost-to-radius.csv")
        assert len(lines) == 2 * len(shown)
        assert text.index('id="fig-cost-to-radius"') < text.index('id="claims"')  # heads the page

    def test_says_everything_about_a_claim(self, written):
        text = " ".join(Page(written.read_text("utf-8")).text.split())
        for said in (
            "exponent",
            "−0.1236 [−0.1266, −0.1208]",  # noqa: RUF001
            "within 0.01 of −1/8",  # noqa: RUF001
            "excludes n−1/7",  # noqa: RUF001
            "plain fit: −0.1172 [−0.1201, −0.1149]",  # noqa: RUF001
            "at most 1.1",
            "a note",
            "A remark.",
            "contradicted",
            "not testable",
            "Beyond EM: claims checked against measurements",
            "Ren, Cui, Sanghavi, Ho",
            "elubench verify beyond-em --level quick",
            "a processor",
            "1 min 15 s",
            "Passes to the radius",
            "0.20 / 0.40",
        ):
            assert said in text, said

    def test_explains_its_words(self, written):
        text = written.read_text("utf-8")
        assert "#words" in Page(text).values("href")
        explained = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", text[text.index('id="words"') :])
        words = {word for word, meaning in explained if len(meaning) > 10}
        needed = ["radius", "constant", "lattice", "validated", "pass", "gap", "phase", "censored"]
        assert {*needed, "generic start", "equal start", "C1, C2"} <= words

    def test_claims_fold_and_links_open_them(self, written):
        text = written.read_text("utf-8")
        folds = re.findall(r"<details>\n<summary>.*?</summary>\n(<div [^>]*>)", text)
        assert folds == [f'<div class="inside" id="claim-{one.claim.key}">' for one in findings()]

    def test_a_long_table_folds_what_agrees(self, evidence):
        number = page.MOST_ROWS + 20
        rows = [
            exactly(between(f"row {k}.", *((5.0, 6.0) if k == number - 2 else (0.0, 2.0))), 1.0)
            for k in range(number)
        ]
        long = replace(findings()[0], measurements=tuple(rows), figures=())
        bare = replace(PAPER, figures={})
        text = page.render(bare, [long], evidence, page.Gallery(evidence, {}))
        shown, _, folded = text.partition('<details class="more">\n<summary>24 more')
        assert "row 0." in shown
        assert f"row {number - 2}." in shown
        assert f"row {number - 2}." not in folded
        for k in (page.FIRST_ROWS, number - 1):
            assert f"row {k}." in folded
            assert f"row {k}." not in shown

    def test_wide_figures_scroll_with_a_hint(self, written):
        text = written.read_text("utf-8")
        figures = text.count("<figure ")
        assert (
            text.count('<div class="frame" tabindex="0"') == text.count('class="hint"') == figures
        )

    def test_text_from_data_stays_text(self, evidence, tmp_path):
        hostile = replace(
            evidence,
            results=evidence.results.assign(cpu=HOSTILE, block="x", study=HOSTILE),
            traces=evidence.traces[:0],
        )
        one = Measurement(
            at_least(HOSTILE, -1.0, rivals={HOSTILE: -2.0}), 0.1, 0.0, 0.2, HOSTILE, HOSTILE
        )
        maker = replace(
            FIGURES["landscape"], key=HOSTILE, title=HOSTILE, alt=HOSTILE, words=lambda *_: HOSTILE
        )
        words = dict.fromkeys(("name", "title", "authors", "place", "short", "about"), HOSTILE)
        report = page.write_report(
            replace(PAPER, figures={HOSTILE: maker}, **words),
            [
                finding(HOSTILE, one, text=HOSTILE, figures=(HOSTILE,), remarks=(HOSTILE,)),
                finding(HOSTILE, text=HOSTILE),
            ],
            hostile,
            tmp_path,
        )
        text = report.read_text("utf-8")
        found = Page(text)
        assert len(scripts(text)) == sum(tag == "script" for tag, _ in found.tags) == 1
        assert "alert" not in scripts(text)[0]
        assert not found.values("onload")
        assert len(found.values("id")) == len(set(found.values("id")))
        anchors = {link[1:] for link in found.values("href") if link.startswith("#")}
        assert anchors <= set(found.values("id"))
        assert "alert('x')" in found.text
        assert "{{ 7 * 7 }}" in found.text
        json.loads((tmp_path / summary.CLAIMS_JSON).read_text("utf-8"))

    def test_without_evidence(self, tmp_path):
        empty = no_evidence()
        found = Page(
            page.write_report(
                PAPER, [finding("one", GOOD, figures=("passes",))], empty, tmp_path
            ).read_text("utf-8")
        )
        anchors = {link[1:] for link in found.values("href") if link.startswith("#")}
        assert anchors <= set(found.values("id"))
        assert not found.values("src")

    @pytest.mark.parametrize(
        ("text", "made"),
        [
            ("n^(-1/8)", "n<sup>−1/8</sup>"),  # noqa: RUF001
            ("10^6, d^0.72.", "10<sup>6</sup>, d<sup>0.72</sup>."),
            ("theta_1^2", "theta<sub>1</sub><sup>2</sup>"),
            ("1e09 and 2.5e-7.", "10<sup>9</sup> and 2.5·10<sup>−7</sup>."),  # noqa: RUF001
            ("d >= 2", "d\u00a0≥\u00a02"),
            ("a^(<b>) & 'x'", "a^(&lt;b&gt;) &amp; &#39;x&#39;"),
            ("v1.2e3 0x1e5", "v1.2e3 0x1e5"),
        ],
    )
    def test_mathematics(self, text, made):
        assert str(maths(text)) == made


class TestTables:
    def test_passes_with_censored_runs(self):
        table = rows("x")
        lost = (table["algorithm"] == "EM") & (table["n"] == 10**7)
        some = (table["algorithm"] == "ELU") & (table["replicate"] == 0)
        for which in (lost, some):
            arrival = [f"{what}_to_radius" for what in ("iterations", "passes", "cost")]
            table.loc[which, arrival] = np.nan
            table.loc[which, "reached"] = False
        table.loc[lost, "passes"] = 500.0
        table.loc[lost, "cost"] = 750.0
        for found, most in ((tables.passes(table), 500), (tables.cost(table), 750)):
            assert found.columns[-1] == "n = 10⁷"
            last = dict(zip(found.columns, found.rows[0], strict=True))["n = 10⁷"]
            assert last == f"> {most} (100%)"
            assert [row[0] for row in found.rows] == style.in_order(RIVALS)
            assert all("(20%)" in cell for cell in found.rows[1][1:])

    def test_costs_are_medians_of_their_own(self):
        table = rows("x")
        found = radius.race_table(table, "cost").set_index(["algorithm", "n"])
        expected = table.groupby(["algorithm", "n"])["cost_to_radius"].median()
        assert found["median"].to_dict() == expected.to_dict()
        assert found["spent"].to_dict() == table.groupby(["algorithm", "n"])["cost"].max().to_dict()

    def test_none_without_rows(self):
        assert tables.rival_tables(no_evidence()) == []


@pytest.fixture(scope="module")
def renamed(evidence):
    """The same rows in blocks of other names, on which no figure may depend."""
    names = evidence.results["block"].unique()
    other = {name: f"block {number}" for number, name in enumerate(names)}
    return replace(
        evidence,
        results=evidence.results.assign(block=evidence.results["block"].map(other)),
        traces=evidence.traces.assign(block=evidence.traces["block"].map(other)),
    )


class TestFigures:
    @pytest.mark.parametrize("key", FIGURES)
    def test_drawn_from_rows_or_not_at_all(self, key, evidence, renamed):
        maker = FIGURES[key]
        assert maker.key == key
        figure = maker(evidence)
        assert isinstance(figure, Figure)
        for axes in figure.get_axes():
            if axes.get_visible():
                assert axes.get_title(loc="left") or axes.get_ylabel()  # a panel, or a colour bar
        caption = maker.words(*maker.tables(evidence))
        assert caption.endswith(".")
        if key == "figure-2":
            assert "n = 1,000 to 10⁴; d = 4; 5 direct samples at each" in caption
            assert "seed 20" in caption
        assert maker.words(*maker.tables(renamed)) == caption
        assert style.as_svg(maker(renamed)) == style.as_svg(figure)
        assert maker(no_evidence()) is None

    @pytest.mark.parametrize("level", PAPER.levels)
    def test_rows_of_the_shipped_studies(self, level):
        """What is chosen by what it is, is what the studies call so."""
        planned = as_planned(level)

        def blocks(found):
            return set(found["block"])

        for number in (1, 2, 3, 4):
            paths, kept = selected.left_panel(planned, number)
            assert blocks(paths) == blocks(kept) == {f"figure {number}, left"}
            assert blocks(selected.right_panel(planned, number)) == {f"figure {number}, right"}
            last = planned.studies[-1]
            assert set(kept["study"]) == set(paths["study"]) == {last}
            whole = planned.results[planned.results["study"] == last]
            for found in (kept, selected.right_panel(planned, number)):
                assert len(found) == whole["block"].isin(blocks(found)).sum()
        wanted = {"errors, diagonal", "errors, general"}
        if level != "asymptotic":
            wanted = {f"starts {model}{of}" for model in ("diagonal", "general") for of in OTHERS}
        assert blocks(selected.breaks(planned)) == wanted
        assert blocks(selected.over_d(planned)) <= {f"errors, fixed n{of}" for of in OTHERS}
        first = selected.over_d(planned)["study"].iloc[0]
        fixed = planned.results["block"].str.startswith("errors, fixed n")
        same = fixed & (planned.results["study"] == first)
        assert len(selected.over_d(planned)) == same.sum()

    def test_the_last_study_has_the_papers_figures(self, evidence):
        other = evidence.results.assign(study="paper", seed=2022)
        level = replace(
            evidence,
            level="paper",
            studies=("quick", "paper"),
            results=pd.concat([evidence.results, other], ignore_index=True),
            traces=evidence.traces.assign(study="paper"),
        )
        first, breaks = (
            maker.words(*maker.tables(level)) for maker in (FIGURES["figure-1"], FIGURES["breaks"])
        )
        assert "seed 2022" in first
        assert "seed 20;" in breaks or "seed 20." in breaks

    def test_one_sample_and_one_size(self):
        few = to_the_end("x", n=(1000,), replicates=1)
        one = rows("x", n=(1000,), replicates=1)
        for figure in (
            errors.starts_figure(few),
            errors.dimensions_figure(few, {"location_error": 0.25, "scale_error": -0.5}),
            slope_figure.local_slopes_figure(few, one, corrections.local_slopes(few, one)),
            race.race_figure(rows("x", n=(1000,), replicates=1)),
            race.race_figure(rows("x", n=(1000,), replicates=1), "cost"),
            race.run_time_figure(rows("x", n=(1000,), replicates=1)),
            paper_panels.paper_figure(paths("x", "isotropic", 1), few, few),
        ):
            assert style.as_png(figure, dpi=20)[:4] == b"\x89PNG"

    def test_runs_that_never_arrive_or_failed(self):
        table = rows("x")
        lost = table["algorithm"] == "SQUAREM"
        table.loc[lost, ["iterations_to_radius", "passes_to_radius"]] = np.nan
        table.loc[lost, "reached"] = False
        table.loc[lost & (table["replicate"] == 0), ["iterations", "passes"]] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            style.as_png(race.race_figure(table), dpi=20)
            style.as_png(race.run_time_figure(table), dpi=20)

    def test_an_error_of_zero_is_no_point_on_a_logarithmic_axis(self):
        table = to_the_end("x")
        table.loc[table["algorithm"] == "LBFGS", "location_error"] = 0.0
        found = against_n.statistic_of(table[table["algorithm"] == "LBFGS"], "location_error")
        assert found.empty
        style.as_png(errors.starts_figure(table), dpi=20)

    def test_slopes_of_counts(self):
        n = np.array([10**4, 10**5, 10**6, 10**7])
        table = rows("x", algorithms=("EM",), replicates=21)
        found = slope_figure.log_slopes(table)
        medians = table.groupby("n")["iterations_to_radius"].median().to_numpy()
        assert list(found["from"]) == list(n[:-1])
        np.testing.assert_allclose(found["slope"], np.diff(medians) / math.log(10.0))
        assert slope_figure.log_slopes(table[table["n"] == n[0]]).empty


class TestStyle:
    def test_every_algorithm_has_a_look_of_its_own(self):
        looks = {name: style.look_of(name) for name in known()}
        assert looks == {name: kind.look for name, kind in known().items()}
        assert len(looks) >= 10
        assert len({look.colour for look in looks.values()}) == len(looks)
        assert len({look.marker for look in looks.values()}) == len(looks)
        assert style.look_of("somebody's own") not in looks.values()

    def test_depends_on_no_setting_and_changes_none(self, evidence):
        def made():
            return style.as_svg(FIGURES["dimensions"](evidence))

        before = dict(matplotlib.rcParams)
        plain = made()
        assert dict(matplotlib.rcParams) == before
        other = {"font.size": 30, "axes.grid": True, "lines.linewidth": 9, "axes.facecolor": "red"}
        with matplotlib.rc_context(other):
            assert made() == plain

    def test_ticks_at_powers(self):
        figure, (axes,) = style.new_figure()
        axes.set_xscale("log")
        axes.set_xlim(500.0, 3e12)
        style.power_ticks(axes, "x")
        assert list(axes.get_xticks()) == [10.0**k for k in range(4, 13, 2)]
        style.power_ticks(axes, "x", upto=1e9)
        assert list(axes.get_xticks()) == [10.0**k for k in range(3, 10)]
        axes.set_xlim(0.02, 0.09)
        style.power_ticks(axes, "x")
        assert 3 <= len(axes.get_xticks()) <= 6
        axes.set_xlim(1.01, 1.09)
        style.power_ticks(axes, "x")
        assert len(axes.get_xticks()) >= 2
        assert figure is axes.get_figure()

    @pytest.mark.parametrize("put", ["between powers", "at values"])
    def test_large_and_small_numbers_at_ticks(self, put):
        _, (axes,) = style.new_figure()
        axes.set_xscale("log")
        axes.set_xlim(4e5, 2.1e6)
        if put == "at values":
            style.value_ticks(axes, "x", (5e5, 1e6, 2e6))
        else:
            style.power_ticks(axes, "x")
        ticks = axes.xaxis.get_major_formatter().format_ticks(axes.get_xticks())
        assert ticks == ["5·10⁵", "10⁶", "2·10⁶"]
        assert [style.plain(x) for x in (0.0, 16, 2000, 1.5e-5)] == ["0", "16", "2000", "1.5·10⁻⁵"]

    @pytest.mark.parametrize(
        ("n", "text"),
        [(1000, "1,000"), (10**6, "10⁶"), (3 * 10**5, "3·10⁵"), (123_456, "123,456"), (50, "50")],
    )
    def test_sizes(self, n, text):
        assert style.size(n) == text

    def test_labels_move_apart_and_keep_their_order(self):
        places = [0.1, 0.11, 0.12, 0.5, 0.9]
        moved = style.spread(places, 0.05)
        assert all(np.diff(moved) >= 0.05 - 1e-12)
        assert moved[3:] == pytest.approx([0.5, 0.9])
        assert np.mean(moved[:3]) == pytest.approx(np.mean(places[:3]))

    def test_captions_begin_with_a_capital(self):
        assert captions.sentence("one. Two", "", "three.") == "One. Two. Three."
