"""One rule turns intervals into verdicts, and its words are made from what is applied."""

import json
import math
import re
from statistics import NormalDist
from typing import ClassVar

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from elubench.papers.beyond_em import PAPER
from elubench.rates import Interval
from elubench.verification import (
    Chapter,
    Level,
    Measured,
    Paper,
    at_least,
    at_most,
    between,
    near,
    nearer,
)
from elubench.verification.deciding import decide, rules_hash
from elubench.verification.evidence import Evidence
from elubench.verification.expectations import Expectation, said
from elubench.verification.verdicts import (
    VERDICTS,
    Claim,
    Finding,
    Measurement,
    counted,
    verdict_of,
)

finite = st.floats(-1e6, 1e6)
AROUND_0 = between("q", -1.0, 1.0, 0.0)


def measured(low, high, expected=AROUND_0, **given_):
    return Measurement(expected, (low + high) / 2, low, high, **given_)


AGREES, DISAGREES, UNDECIDED = measured(-0.5, 0.5), measured(2.0, 3.0), measured(0.5, 1.5)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-1.0, 1.0, "agrees"),
        (1.0000001, 2.0, "disagrees"),
        (-3.0, -1.1, "disagrees"),
        (0.0, 1.1, "undecided"),
        (-2.0, 2.0, "undecided"),
        (1.0, 1.5, "undecided"),  # touches the border
        (math.nan, 0.5, "undecided"),
        (math.nan, math.nan, "undecided"),
        (0.0, math.inf, "undecided"),
    ],
)
def test_outcome(low, high, outcome):
    assert measured(low, high).outcome == outcome


def test_one_sided_regions():
    assert measured(3.0, math.inf, at_least("q", 1.0)).outcome == "agrees"
    assert measured(0.1, 0.2, at_least("q", 1.0)).outcome == "disagrees"
    assert measured(0.1, 0.2, at_most("q", 1.0)).outcome == "agrees"


def test_an_interval_without_width_decides_only_where_the_value_is_exact():
    for value, outcome in ((0.2, "agrees"), (7.0, "disagrees")):
        assert measured(value, value).outcome == "undecided"
        assert measured(value, value, exact=True).outcome == outcome


class TestRivals:
    expected = near("exponent", 3 / 4, 0.01, {"n^(2/3)": 2 / 3, "n^(4/5)": 4 / 5, "n": 1.0})

    @pytest.mark.parametrize(
        ("low", "high", "outcome"),
        [
            (0.741, 0.759, "agrees"),  # within the tolerance
            (0.755, 0.758, "agrees"),  # the same, without the stated value
            (0.70, 0.79, "agrees"),  # wide, but it contains 3/4 and no rival
            (0.66, 0.76, "undecided"),  # contains n^(2/3)
            (0.74, 0.80, "undecided"),  # a rival at its border
            (0.755, 0.77, "undecided"),  # neither within the tolerance nor around 3/4
            (0.65, 0.68, "disagrees"),
            (0.702, 0.716, "disagrees"),  # no rival is there, and 3/4 is not either
        ],
    )
    def test_outcome(self, low, high, outcome):
        assert measured(low, high, self.expected).outcome == outcome

    def test_an_open_side_does_not_let_wide_intervals_agree(self):
        open_above = near("exponent", 3 / 4, 0.01, {"n^(2/3)": 2 / 3})
        assert measured(0.7, 5.0, open_above).outcome == "undecided"

    def test_nearest(self):
        assert measured(0.74, 0.76, self.expected).excluded.name == "n^(4/5)"
        assert measured(0.69, 0.71, self.expected).excluded.name == "n^(2/3)"
        assert measured(0.66, 0.71, self.expected).excluded is None
        assert AGREES.excluded is None

    def test_bad_declarations_name_themselves(self):
        with pytest.raises(ValueError, match=r"exponent: the rival n\^\(2/3\)"):
            near("exponent", 3 / 4, 0.1, {"n^(2/3)": 2 / 3})
        with pytest.raises(ValueError, match="exponent: stated"):
            between("exponent", 0.0, 1.0, 2.0)
        with pytest.raises(ValueError, match="exponent: least"):
            between("exponent", 1.0, 0.0)
        with pytest.raises(ValueError, match="tolerance"):
            near("exponent", 1.0, -0.1)


class TestMultiplicity:
    """One measurement of many that disagrees by chance does not contradict."""

    def test_the_level_is_bonferronis(self):
        one = measured(1.0, 3.0, of=10)
        tail = 0.025 / 10
        half = NormalDist().inv_cdf(1 - tail) / NormalDist().inv_cdf(0.975)
        assert one.stretched == pytest.approx((2.0 - half, 2.0 + half))
        assert measured(1.0, 3.0).stretched == (1.0, 3.0)
        assert measured(1.0, math.inf, of=5).stretched[1] == math.inf

    def test_it_is_applied_by_the_claim(self):
        barely = measured(1.05, 2.0)
        assert barely.outcome == "disagrees"
        assert verdict_of((barely,)) == "contradicted"
        assert verdict_of((barely, *[AGREES] * 9)) == "inconclusive"
        assert {one.of for one in counted((barely, AGREES, measured(0, 0, exact=True)))} == {2}

    def test_false_contradictions_are_rare_together(self):
        """Nine true values at the border: the share of samples on which one disagrees."""
        import numpy as np

        draws = np.random.default_rng(5).standard_normal((4000, 9)) * 0.1 + 1.0
        wrong = sum(
            verdict_of(tuple(Measurement(AROUND_0, x, x - 0.196, x + 0.196) for x in row))
            == "contradicted"
            for row in draws
        )
        assert wrong / 4000 < 0.03  # one side: 2.5 %; uncorrected it would be 20 %


@pytest.mark.parametrize(
    ("given_", "verdict"),
    [
        ((), "not testable"),
        ((AGREES,), "supported"),
        ((AGREES, AGREES), "supported"),
        ((AGREES, UNDECIDED), "inconclusive"),
        ((UNDECIDED, DISAGREES, AGREES), "contradicted"),
    ],
)
def test_verdict(given_, verdict):
    assert verdict_of(given_) == verdict
    assert verdict in VERDICTS


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=4))
def test_wider_intervals_never_decide_more(pairs):
    """Widening an interval can only take a verdict away, never turn it round."""
    assume(all(a != b for a, b in pairs))
    narrow = tuple(measured(min(p), max(p)) for p in pairs)
    wide = tuple(measured(m.low - 0.7, m.high + 0.7) for m in narrow)
    before, after = verdict_of(narrow), verdict_of(wide)
    assert after in (before, "inconclusive") or (before == "contradicted" and after != "supported")


def finding(*measurements):
    claim = Claim("key", "title", "statement", "place", "lemma", "how", (AROUND_0,))
    return Finding(claim, verdict_of(measurements), measurements, "settings")


def test_the_decisive_measurement_is_the_one_that_decides():
    assert finding(AGREES, UNDECIDED, DISAGREES).decisive is DISAGREES
    assert finding(AGREES, UNDECIDED).decisive is UNDECIDED
    assert finding(AGREES).decisive is AGREES
    assert finding().decisive is None


def test_as_dict_is_plain_json():
    one = finding(
        measured(1.0, math.inf, at_least("q", 0.0), where="d = 4"),
        measured(math.nan, math.nan),
        measured(0.7, 0.79, TestRivals.expected, plain=Interval(0.7, 0.69, 0.71)),
    )
    plain = one.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    first, _, last = plain["measurements"]
    assert first["quantity"] == "q, d = 4"
    assert first["high"] is None
    assert first["accepted"] == [0.0, None]
    assert last["plain"] == [0.7, 0.69, 0.71]
    assert last["excluded"] == "n^(4/5)"
    assert plain["verdict"] == "inconclusive"


def paper(measure, *expects):
    chapter = Chapter()
    chapter.claim("key", "Title", "Section 1", "lemma", "It is.", "We look.", expects)(measure)
    return Paper("p", "t", "a", "p", (chapter,), {"quick": Level(())})


class TestDeclared:
    """What is measured was declared, and what was declared is measured."""

    nothing = Evidence("quick", 0, (), None, None, {})

    def test_a_region_made_after_the_fact_is_a_fault(self):
        ours = paper(lambda _: Measured((measured(0, 1, at_least("r", -9)),), ""), AROUND_0)
        with pytest.raises(ValueError, match="'key' measures 'r'"):
            decide(ours, self.nothing)

    def test_what_is_left_out_makes_it_inconclusive(self):
        ours = paper(lambda _: Measured((AGREES,), ""), AROUND_0, at_least("r", 1.0))
        (one,) = decide(ours, self.nothing)
        assert one.verdict == "inconclusive"
        assert one.remarks == ("Nothing was measured on: r.",)

    def test_the_hash_changes_with_a_rule_and_with_nothing_else(self):
        def hashed(measure=None, stated=0.5, tolerance=0.1, rivals=None):
            return rules_hash(paper(measure, near("q", stated, tolerance, rivals)))

        first = hashed()
        assert re.fullmatch("[0-9a-f]{12}", first)
        assert hashed(measure=print) == first
        others = {hashed(stated=0.6), hashed(tolerance=0.11), hashed(rivals={"one": 1.0})}
        assert len(others | {first}) == 4


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?:/\d+)?")


def value(text):
    top, _, bottom = text.replace(",", "").partition("/")
    return float(top) / float(bottom or 1)


def region_in(words):
    """The region that a sentence names, read by itself."""
    numbers = [value(one) for one in NUMBER.findall(words)]
    if words == "any value":
        return -math.inf, math.inf
    if words.startswith("at least "):
        return numbers[0], math.inf
    if words.startswith("at most "):
        return -math.inf, numbers[0]
    if words.startswith("within "):
        return numbers[1] - numbers[0], numbers[1] + numbers[0]
    if words.startswith("exactly "):
        return numbers[0], numbers[0]
    assert " to " in words, words
    return tuple(numbers)


@pytest.mark.parametrize("claim", PAPER.claims, ids=lambda claim: claim.key)
def test_the_words_of_every_rule_are_the_region_that_is_applied(claim):
    for one in claim.expects:
        assert f"{one.what}, {one.rule}" in claim.rule
        assert region_in(one.region) == pytest.approx(one.accepted, rel=1e-3)
        for rival in one.rivals:
            assert rival.named in one.rule
            assert said(rival.value) in rival.named
        if one.surrounded:
            assert f"around {said(one.stated)} and excludes" in one.rule
    assert bool(claim.expects) == ("Agrees if" in claim.rule)


@given(finite, st.floats(1e-3, 10.0))
def test_words_and_region_agree_anywhere(stated, tolerance):
    one = near("q", stated, tolerance)
    least, most = region_in(one.region)
    assert (least, most) == pytest.approx(one.accepted, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize(
    ("least", "most", "text"),
    [
        (-0.15, -0.1, "-0.15 to -0.1"),
        (0.5, math.inf, "at least 0.5"),
        (-math.inf, 2.0, "at most 2"),
        (-math.inf, math.inf, "any value"),
        (1.0, 1.0, "exactly 1"),
    ],
)
def test_regions_in_words(least, most, text):
    assert Expectation("q", least, most).region == text


def test_fractions_are_written_as_such():
    assert [said(x) for x in (-1 / 8, 0.75, 1.0, 0.1, 2 / 3, 0.1234)] == [
        "-1/8", "3/4", "1", "0.1", "2/3", "0.1234",
    ]  # fmt: skip


class TestNearer:
    rivals: ClassVar = {"n^(-1/7)": -1 / 7, "n^(-1/9)": -1 / 9, "n^(-1/12)": -1 / 12}

    def test_the_border_is_half_way_to_the_nearest_rival_on_each_side(self):
        one = nearer("q", -1 / 8, self.rivals)
        assert one.accepted == pytest.approx((-15 / 112, -17 / 144))
        assert one.surrounded

    @pytest.mark.parametrize("rivals", [{}, {"a": -1 / 7}, {"a": -1 / 9}, {"a": 0, "b": -1 / 8}])
    def test_rivals_must_be_on_both_sides(self, rivals):
        with pytest.raises(ValueError, match="q: rivals must be on both sides of -1/8"):
            nearer("q", -1 / 8, rivals)
