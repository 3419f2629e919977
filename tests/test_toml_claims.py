"""Claims written in TOML: what they measure, the rules they make, and errors that name the key."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from elubench.studies.rows import SCHEMA
from elubench.verification import Evidence, Level, Paper, claims_in, decide
from elubench.verification.deciding import rules_hash

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
ALPHA = {
    "key": '"alpha"',
    "title": '"A title"',
    "place": '"Theorem 1"',
    "basis": '"theorem"',
    "statement": '"A statement."',
    "rows": '{ algorithm = "EM", d = 2 }',
    "measure": '"exponent"',
    "of": '"location_error"',
    "stated": '"-1/4"',
    "tolerance": "0.01",
}


def planted(replicates=9):
    """Rows in which every statistic is exactly a power of n and d, the same noise at each n."""
    noise = np.random.default_rng(1).uniform(0.5, 2.0, replicates)
    made = [
        {
            "algorithm": name,
            "d": d,
            "n": n,
            "replicate": k,
            "location_error": factor * noise[k] * n**-0.25 * d**0.5,
            "seconds_to_radius": factor * noise[k] * n**0.5 if k else math.nan,
            "seconds": factor * noise[k] * n**0.5,
            "cost_to_radius": factor * noise[k] * (3.0 + math.log(n)) if k else math.nan,
            "cost": factor * noise[k] * (3.0 + math.log(n)),
            "reached": k > 0,
            "status": "reached" if k else "max_iter",
        }
        for name in ("EM", "ELU")
        for d in (2, 4, 8)
        for n in SIZES
        for k in range(replicates)
        for factor in [1.0 if name == "EM" else 0.25 if n == SIZES[-1] else 0.5]
    ]
    common = {
        "model": "isotropic", "start": "equal", "start_norm": 0.9, "options": "{}", "seed": 1,
        "samples": "lattice", "radius_constant": 2.0, "study": "grid",
    }  # fmt: skip
    frame = pd.DataFrame(made).assign(**common).reindex(columns=[*SCHEMA.names, "study"])
    return Evidence("quick", 0, ("grid",), frame, pd.DataFrame(), {})


def written(folder, *claims):
    lines = []
    for claim in claims:
        lines += ["[[claim]]", *(f"{key} = {value}" for key, value in claim.items())]
    path = folder / "claims.toml"
    path.write_text("\n".join(lines))
    return claims_in(path)


def changed(**given):
    """The claim with these keys, without those given as None."""
    return {key: value for key, value in {**ALPHA, **given}.items() if value is not None}


def paper(*chapters, **given):
    about = {"name": "p", "title": "P", "authors": "a", "place": "b"}
    return Paper(**about, chapters=chapters, levels={"quick": Level(("grid",))}, **given)


def found(folder, evidence=None, **given):
    chapter = written(folder, changed(**given))
    return decide(paper(chapter), planted() if evidence is None else evidence)[0]


class TestMeasures:
    @pytest.mark.parametrize(
        ("given", "value"),
        [
            ({}, -0.25),
            ({"statistic": '"mean"'}, -0.25),
            ({"statistic": "0.9"}, -0.25),
            ({"terms": '["n^(-1/2)"]'}, -0.25),
            ({"rows": '{ algorithm = "EM", n = 1e4 }', "by": '"d"', "stated": "0.5"}, 0.5),
            ({"of": '"seconds_to_radius"', "stated": '"1/2"'}, 0.5),
            ({"of": '"seconds_to_radius"', "stated": "0.5", "terms": "[0.5]"}, 0.5),
        ],
    )
    def test_exponents_of_exact_powers(self, tmp_path, given, value):
        got = found(tmp_path, **given).measurements[0]
        assert got.value == pytest.approx(value, abs=1e-9)
        assert (got.plain is not None) == ("terms" in given)

    def test_a_measurement_for_each_d(self, tmp_path):
        got = found(tmp_path, rows='{ algorithm = "EM" }', each='"d"')
        assert [one.where for one in got.measurements] == ["d = 2", "d = 4", "d = 8"]
        assert [one.value for one in got.measurements] == pytest.approx([-0.25] * 3)

    @pytest.mark.parametrize(("law", "better"), [("logarithm", True), ("power", False)])
    def test_growth(self, tmp_path, law, better):
        given = {"measure": '"growth"', "of": '"cost_to_radius"', "law": f'"{law}"'}
        got = found(tmp_path, **given, stated=None, tolerance=None).measurements[0]
        assert (got.value < 0.01) if better else (got.value > 100)

    def test_per_log(self, tmp_path):
        """Costs are noise (3 + ln n): the slope is the median noise, one sample never arriving."""
        given = {"measure": '"per_log"', "of": '"cost_to_radius"', "stated": "1.0"}
        got = found(tmp_path, **given, tolerance="1.0")
        noise = np.random.default_rng(1).uniform(0.5, 2.0, 9)
        median = np.median([*noise[1:], math.inf])  # a run that did not arrive counts as longer
        assert got.measurements[0].value == pytest.approx(median, rel=1e-6)
        assert got.claim.expects[0].what == "cost to the radius per unit of ln n"

    @pytest.mark.parametrize("of", ["location_error", "cost_to_radius"])
    def test_ratio_at_the_largest_n(self, tmp_path, of):
        """There ELU's numbers are a quarter of EM's on the same samples, elsewhere half."""
        given = {"measure": '"ratio"', "of": f'"{of}"', "over": '"EM"', "under": '"ELU"'}
        got = found(tmp_path, **given, rows="{ d = 4 }", stated="4.0")
        assert got.measurements[0].value == pytest.approx(4.0, rel=1e-12)
        each = found(tmp_path, **given, rows="{ d = 4 }", stated="4.0", each='"n"')
        assert [one.value for one in each.measurements] == pytest.approx([2.0, 2.0, 2.0, 2.0, 4.0])

    @pytest.mark.parametrize(
        ("that", "share"),
        [
            ("{ reached = true }", 8 / 9),
            ('{ status = ["max_iter", "diverged"] }', 1 / 9),
            ("{ n = { least = 1e4, most = 1e5 } }", 2 / 5),
            ("{ seconds_to_radius = { least = 0 } }", 8 / 9),
        ],
    )
    def test_share(self, tmp_path, that, share):
        given = {"measure": '"share"', "that": that, "of": None, "stated": None, "tolerance": None}
        got = found(tmp_path, **given, least="0.1").measurements[0]
        assert got.value == pytest.approx(share)
        assert got.low < share < got.high

    def test_only_the_rows_asked_for(self, tmp_path):
        rows = '{ algorithm = ["EM"], d = [2], n = { least = 1e3, most = 1e5 }, study = "grid" }'
        assert "n from 1e03 to 1e05 (3 sizes)" in found(tmp_path, rows=rows).settings

    def test_options_are_asked_for_by_name(self, tmp_path):
        evidence = planted()
        options = np.where(evidence.results["d"] == 8, '{"eta":1.0,"beta":0.8}', '{"eta":0.5}')
        results = evidence.results.assign(options=options)
        evidence = replace(evidence, results=results)
        got = found(tmp_path, evidence, rows='{ algorithm = "EM", options = { eta = 1 } }')
        assert "model, d = 8, " in got.settings
        assert "on runs with algorithm EM, eta = 1. " in got.claim.rule
        none = found(tmp_path, evidence, rows="{ options = { eta = 1, beta = 0.5 } }")
        assert none.verdict == "inconclusive"
        each = found(tmp_path, evidence, rows='{ algorithm = "EM", d = [4, 8] }', each='"options"')
        assert [one.where for one in each.measurements] == ["eta = 0.5", "eta = 1, beta = 0.8"]


class TestRules:
    def test_words_and_hash_are_made_from_the_keys(self, tmp_path):
        one = written(tmp_path, changed(terms='["n^(-1/2)"]', each='"start"'))
        [(claim, _)] = one
        assert claim.rule == (
            "Exponent of n in the root mean square location error over replicates, corrected by "
            "n^(-1/2), on runs with algorithm EM, d = 2, for each start. Agrees if the 95 % interval "
            "is: exponent of n in the location error, within 0.01 of -1/4."
        )
        hashes = {rules_hash(paper(one))}
        for given in ({"tolerance": "0.02"}, {"rows": "{ d = 4 }"}, {"statistic": '"mean"'}):
            hashes.add(rules_hash(paper(written(tmp_path, changed(**given)))))
        assert len(hashes) == 4

    def test_without_a_tolerance_the_rivals_decide(self, tmp_path):
        given = {"tolerance": None, "rivals": '{ "n^(-1/3)" = "-1/3", "n^(-1/5)" = -0.2 }'}
        [(claim, _)] = written(tmp_path, changed(**given))
        [expected] = claim.expects
        assert expected.accepted == pytest.approx(((-1 / 4 - 1 / 3) / 2, -0.225))

    def test_between(self, tmp_path):
        given = {"stated": None, "tolerance": None, "least": "-0.3", "most": "-0.2", "what": '"b"'}
        [(claim, _)] = written(tmp_path, changed(**given))
        assert claim.expects[0].rule == "-0.3 to -0.2"
        assert claim.expects[0].what == "b"


class TestWithoutRows:
    def test_is_inconclusive_and_says_why(self, tmp_path):
        got = found(tmp_path, rows='{ algorithm = "SQUAREM", n = { least = 1e5 } }')
        assert got.verdict == "inconclusive"
        assert got.remarks == (
            "There are no runs with algorithm SQUAREM, n at least 100,000 at the level quick.",
        )

    def test_too_few_sizes_for_laws(self, tmp_path):
        given = {"measure": '"growth"', "of": '"cost_to_radius"', "law": '"power"'}
        given |= {"rows": '{ algorithm = "EM", d = 2, n = { most = 1e4 } }'}
        got = found(tmp_path, **given, stated=None, tolerance=None)
        assert got.verdict == "inconclusive"
        assert got.remarks == ("laws of growth need 4 values of n, got 3",)

    def test_no_pairs(self, tmp_path):
        evidence = planted()
        results = evidence.results.copy()
        results.loc[results["algorithm"] == "ELU", "location_error"] = np.nan
        given = {"measure": '"ratio"', "over": '"EM"', "under": '"ELU"', "rows": "{ d = 4 }"}
        got = found(tmp_path, replace(evidence, results=results), **given)
        assert got.remarks == ("No sample has the location error of both algorithms.",)

    def test_missing_values_are_counted(self, tmp_path):
        evidence = planted()
        results = evidence.results.copy()
        results.loc[(results["replicate"] == 3) & (results["n"] == 100), "location_error"] = np.nan
        got = found(tmp_path, replace(evidence, results=results))
        assert got.remarks == ("1 of 45 runs have no location error.",)

    def test_rows_that_are_not_of_one_kind_are_named(self, tmp_path):
        with pytest.raises(
            ValueError, match=r"claims.toml: claim 'alpha': rows: .* more than once"
        ):
            found(tmp_path, rows='{ algorithm = "EM" }')


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": None}, "key must be text, got None"),
        ({"title": None}, "title must be text, got None"),
        ({"basis": '"rumour"'}, "basis must be one of theorem, lemma, .*'rumour'"),
        ({"measure": '"slope"'}, "measure must be one of .*, per_log, ratio, share, got 'slope'"),
        ({"stat": "1"}, "stat is not a key; for the measure exponent these are key, title"),
        ({"law": '"power"'}, "law is not a key; for the measure exponent"),
        ({"of": '"speed"'}, "of must be one of .*, got 'speed'"),
        ({"of": '"status"'}, "of must be one of .*, got 'status'"),
        ({"by": '"model"'}, "by must be one of n, d, .*, got 'model'"),
        ({"each": '"speed"'}, "each must be one of .*, got 'speed'"),
        ({"statistic": '"median"'}, "statistic must be 'median' for what it took .* for location_error"),
        ({"statistic": "1.5"}, "statistic must be 'rmse', 'mean' or a number in"),
        ({"statistic": "[1]"}, r"statistic must be .*; got \[1\]"),
        ({"terms": '["n^2"]'}, r"terms\[1\] must be a number or text such as 'n\^\(-1/4\)', got 'n\^2'"),
        ({"terms": '"n^(-1/2)"'}, "terms must be a list"),
        ({"controls": '["luck"]'}, "controls must be one of"),
        ({"controls": '["sample_gap"]', "statistic": "0.5"}, "controls must be left out for a quantile"),
        ({"rows": '"EM"'}, "rows must be a table of columns and values"),
        ({"rows": '{ speed = "x" }'}, "rows.speed is not a column; columns are study, block"),
        ({"rows": '{ d = "2" }'}, "rows.d must be a number, got '2'"),
        ({"rows": "{ algorithm = 2 }"}, "rows.algorithm must be text, got 2"),
        ({"rows": "{ reached = 1 }"}, "rows.reached must be true or false, got 1"),
        ({"rows": "{ n = { above = 2 } }"}, "rows.n.above is not a key; known are least, most"),
        ({"rows": '{ options = { eta = "1" } }'}, "rows.options.eta must be a number, got '1'"),
        ({"rows": '{ n = { least = "2" } }'}, "rows.n.least must be a number, got '2'"),
        ({"stated": '"a half"'}, "stated must be a number or text such as '-1/4', got 'a half'"),
        ({"stated": '"1/0"'}, "stated must be a number or text"),
        ({"stated": None}, "tolerance needs the key stated"),
        ({"tolerance": None}, "stated needs tolerance or rivals"),
        ({"tolerance": "-1"}, "tolerance must be finite and > 0, got -1"),
        ({"least": "1"}, "tolerance must not be given with least or most"),
        ({"rivals": "{ a = -0.25 }"}, ".*the rival a is in"),
        ({"rivals": "[1]"}, "rivals must be a table"),
        ({"figures": '"one"'}, "figures must be a list of keys, got 'one'"),
        ({"measure": '"ratio"', "over": '"EM"', "under": '"ELU"'}, "rows.algorithm must be left out"),
        ({"measure": '"ratio"', "rows": None, "over": '"EM"'}, "under must be text, got None"),
        ({"measure": '"share"', "of": None}, "that must say which runs are counted"),
        ({"measure": '"growth"', "stated": None, "tolerance": None}, "law must be one of logarithm"),
        ({"measure": '"per_log"'}, "of must be one of .*iterations_to_radius.*, got 'location_error'"),
        (
            {"measure": '"growth"', "stated": None, "tolerance": None, "law": '"power"'},
            "of must be one of .*iterations_to_radius.*, got 'location_error'",
        ),
    ],
)  # fmt: skip
def test_errors_name_the_file_the_claim_and_the_key(tmp_path, given, message):
    with pytest.raises(ValueError, match=rf"claims\.toml: claim .*: {message}") as caught:
        written(tmp_path, changed(**given))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("claim = 1", "claim must be a list"),
        ("claim = [1]", "claim 1: must be a table, got 1"),
        ("", "claim must be a list"),
        ("[[clam]]", "clam is not a key; known are claim"),
        ("key = ", "Invalid value"),
    ],
)
def test_files_without_claims(tmp_path, text, message):
    path = tmp_path / "claims.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"claims\.toml: .*{message}"):
        claims_in(path)


def test_a_figure_that_the_paper_lacks(tmp_path):
    chapter = written(tmp_path, changed(figures='["one"]'))
    with pytest.raises(
        ValueError, match="figures of the claim 'alpha' must be one of two, got 'one'"
    ):
        paper(chapter, figures={"two": None})
    assert paper(chapter, figures={"one": None}).claims[0].key == "alpha"


def test_two_claims_of_one_key(tmp_path):
    with pytest.raises(ValueError, match="two claims have the key 'alpha'"):
        paper(written(tmp_path, ALPHA, ALPHA))
