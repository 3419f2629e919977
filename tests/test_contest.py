"""With threads or alone: the quicker one goes on, and the bits are the same."""

import math

import numpy as np
import pytest
from conftest import needs_jit

import elubench as eb
from elubench.runs import contest, drivers
from elubench.runs.contest import CERTAIN, Contest


@pytest.fixture
def clock(monkeypatch):
    """The time, to be set."""
    now = [100.0]
    monkeypatch.setattr(contest.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(contest, "_alone_until", -math.inf)
    return now


def tried(one, with_threads, alone):
    """Make the trials, each pass at its cost; the passes made, with and without threads."""
    made = []
    while (count := one.passes(1000)) < 1000:
        made.append((one.threads, count))
        one.judge(count, count * (with_threads if one.threads else alone))
    return made


class TestContest:
    def test_threads_that_pay_off(self, clock):
        one = Contest(True, 10**5)
        assert tried(one, 1.0, 1.4) == [(True, 2), (True, 8), (False, 8)]
        assert one.threads
        assert Contest(True, 10**5).passes(1000) == 2

    def test_threads_that_have_no_core(self, clock):
        one = Contest(True, 10**5)
        tried(one, 10.0, 1.0)
        assert not one.threads
        two = Contest(True, 10**5)
        assert (two.threads, two.passes(1000)) == (False, 1000)

    def test_both_are_tried_again(self, clock):
        one = Contest(True, 10**5)
        tried(one, 10.0, 1.0)
        one.judge(1000, 1.0)
        assert not one.threads
        clock[0] += 2.0
        one.judge(1000, 1.0)
        assert tried(one, 1.0, 2.0) == [(True, 2), (True, 8), (False, 8)]
        assert one.threads
        assert Contest(True, 10**5).threads

    def test_nothing_to_decide(self, clock):
        for possible, size in ((False, 10**5), (True, CERTAIN)):
            one = Contest(possible, size)
            one.judge(one.passes(7), 1e9)
            assert (one.threads, one.passes(7)) == (possible, 7)


@needs_jit
def test_the_same_bits(monkeypatch):
    X = eb.gaussian(40_000, 2, seed=0)
    found = []
    for threads in (True, False, None):

        class Fixed(Contest):
            def judge(self, passes, seconds, threads=threads):
                self.threads = self._open and (not self.threads if threads is None else threads)

        monkeypatch.setattr(drivers, "Contest", Fixed)
        ended = eb.run(X, "diagonal", eb.EM(), max_iter=60, metrics=False)
        found.append((ended.n_iter, ended.passes, np.asarray(ended.params).tobytes()))
    assert found[0] == found[1] == found[2]
