"""One rule turns intervals into verdicts."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elubench.verification.verdicts import VERDICTS, Claim, Finding, Measurement, verdict_of

finite = st.floats(-1e6, 1e6)


def measured(low, high, accepted=(-1.0, 1.0), quantity="q"):
    return Measurement(quantity, (low + high) / 2, low, high, 0.0, accepted)


AGREES, DISAGREES, UNDECIDED = measured(-0.5, 0.5), measured(2.0, 3.0), measured(0.5, 1.5)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [
        (-1.0, 1.0, "agrees"),
        (0.2, 0.2, "agrees"),
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
    assert measured(3.0, math.inf, (1.0, math.inf)).outcome == "agrees"
    assert measured(0.1, 0.2, (1.0, math.inf)).outcome == "disagrees"


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
    narrow = tuple(measured(min(p), max(p)) for p in pairs)
    wide = tuple(measured(m.low - 0.7, m.high + 0.7) for m in narrow)
    before, after = verdict_of(narrow), verdict_of(wide)
    assert after in (before, "inconclusive") or (before == "contradicted" and after != "supported")


def finding(*measurements):
    claim = Claim("key", "title", "statement", "place", "lemma", "rule")
    return Finding(claim, verdict_of(measurements), measurements, "settings")


def test_the_decisive_measurement_is_the_one_that_decides():
    assert finding(AGREES, UNDECIDED, DISAGREES).decisive is DISAGREES
    assert finding(AGREES, UNDECIDED).decisive is UNDECIDED
    assert finding(AGREES).decisive is AGREES
    assert finding().decisive is None


def test_as_dict_is_plain_json():
    one = finding(measured(1.0, math.inf, (0.0, math.inf)), measured(math.nan, math.nan))
    plain = one.as_dict()
    text = json.dumps(plain, allow_nan=False)
    assert json.loads(text) == plain
    assert plain["measurements"][0]["high"] is None
    assert plain["measurements"][0]["accepted"] == [0.0, None]
    assert plain["verdict"] == "inconclusive"
