"""Ctrl-C at any moment: heard, once, and never a wrong result; and processes that are forked."""

import os
import signal
import sys
import threading
from contextlib import suppress
from functools import partial

import pytest
from conftest import JIT, PATIENCE, needs_jit, python, scaled
from study_tools import small

import elubench as eb
from elubench.kernels import _jit, interrupts
from elubench.studies import store

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="about POSIX signals")

#: How often runs and studies are interrupted; 2000 in a thorough check.
PRESSES = int(os.environ.get("ELUBENCH_TEST_INTERRUPTS", "40"))


def press():
    os.kill(os.getpid(), signal.SIGINT)


class TestHeld:
    def test_heard_at_the_end_of_the_block(self):
        steps = []
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012
            with interrupts.held() as presses:
                press()
                press()
                steps.append(presses.heard)
            steps.append("after")
        assert steps == [True]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_released_on_the_way(self):
        steps = []
        with pytest.raises(KeyboardInterrupt), interrupts.held() as presses:  # noqa: PT012
            presses.release()
            press()
            steps.append("still here")
            presses.release()
            steps.append("not here")
        assert steps == ["still here"]

    def test_an_error_gives_way(self):
        with pytest.raises(KeyboardInterrupt), interrupts.held():  # noqa: PT012
            press()
            raise ValueError

    def test_blocks_in_blocks(self):
        steps = []
        with pytest.raises(KeyboardInterrupt), interrupts.held():  # noqa: PT012
            with interrupts.held():
                press()
            steps.append("between")
        assert steps == ["between"]

    def test_a_handler_of_ones_own_is_called_later(self):
        heard = []
        before = signal.signal(signal.SIGINT, lambda *_: heard.append("own"))
        try:
            with interrupts.held():
                press()
                heard.append("inside")
        finally:
            signal.signal(signal.SIGINT, before)
        assert heard == ["inside", "own"]

    def test_ignored_signals_and_other_threads_change_nothing(self):
        def work():
            with interrupts.held() as presses:
                found.append((signal.getsignal(signal.SIGINT), presses.heard))

        found = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with interrupts.held():
                press()
                found.append((signal.getsignal(signal.SIGINT), False))
        finally:
            signal.signal(signal.SIGINT, before)
        assert found == [(signal.default_int_handler, False), (signal.SIG_IGN, False)]

    def test_noticed_even_where_the_exception_is_lost(self):
        with interrupts.noticed() as presses:
            assert not presses.heard
            with suppress(KeyboardInterrupt):
                press()
            assert presses.heard

    def test_noticed_in_a_finaliser(self, monkeypatch):
        """Python would print a traceback; of anything else it does."""
        reported = []
        monkeypatch.setattr(sys, "unraisablehook", lambda lost: reported.append(lost.exc_type))

        class Dying:
            def __init__(self, last):
                self.last = last

            def __del__(self):
                self.last()

        def fail():
            raise ValueError

        with interrupts.noticed() as presses:
            Dying(fail)
            assert not presses.heard
            Dying(press)
            assert presses.heard
        assert reported == [ValueError]
        Dying(partial(signal.default_int_handler, signal.SIGINT, None))
        assert reported == [ValueError, KeyboardInterrupt]


@pytest.mark.parametrize("place", [1, 2])
def test_a_study_hears_it_even_where_the_exception_is_lost(monkeypatch, tmp_path, place):
    """As in a finaliser: in the first look at the folder, and in the last."""
    count, check = [0], store.Store.check

    def losing(self, *arguments, **options):
        count[0] += 1
        if count[0] == place:
            with suppress(KeyboardInterrupt):
                press()
        return check(self, *arguments, **options)

    monkeypatch.setattr(store.Store, "check", losing)
    with pytest.raises(KeyboardInterrupt):
        eb.run_study(small(), tmp_path)
    assert count[0] >= place
    assert eb.run_study(small(), tmp_path).finished


@needs_jit
def test_a_kernel_is_whole_before_an_interrupt_is_heard():
    """LLVM's modules have two owners for an instant: freed twice, were it heard in between."""

    class Kernel:
        overloads = ()
        elubench_signature = None
        elubench_calls = 500
        whole = False

        def compile(self, signature):
            press()
            self.compiled = True

        def disable_compile(self):
            self.whole = self.compiled

    one = Kernel()
    with pytest.raises(KeyboardInterrupt):
        _jit.ready(one)
    assert one.whole


PRESSING = """
import json, os, random, signal, sys, threading, time
sys.path.insert(0, "tests")
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import elubench as eb
from elubench.runs import drivers
drivers._CHUNK_SECONDS = 0.0  # enter the compiled loop for every iteration: that is where it hurts
moments = random.Random(0)

wanted, pressed = [], []

def pressing():
    while True:
        if not wanted:
            time.sleep(0.0001)
            continue
        time.sleep(moments.uniform(0.0002, wanted.pop()))
        os.kill(os.getpid(), signal.SIGINT)
        pressed.append(True)

threading.Thread(target=pressing, daemon=True).start()

def statuses(got):
    return [getattr(one, "status", "") for one in (got if isinstance(got, list) else [got])]

share = 1.0  # smaller after presses that came too late: the machine was busy as work was timed

def caught(work, longest):
    'Press Ctrl-C at a random moment. What the work returned, if it did; whether the press was heard.'
    global share
    got, heard = None, False
    share = min(1.0, 1.25 * share)
    try:
        wanted.append(share * longest)
        got = work()
        if "interrupted" in statuses(got):
            raise KeyboardInterrupt
        share *= 0.6
        while not pressed:
            time.sleep(0.0001)
        time.sleep(0.5)
    except KeyboardInterrupt:
        heard = True
    while not pressed:
        time.sleep(0.0001)
    pressed.clear()
    return got, heard
"""


@needs_jit
def test_numba_executes_no_line_of_its_own():
    """A press that comes while Numba unboxes what a loop is given is a TypeError in some places."""
    found = python(
        """
import json, sys
import elubench as eb
from elubench.runs import drivers
drivers._CHUNK_SECONDS = 0.0

def run():
    return eb.run([[-1.0], [1.0], [2.0]], "isotropic", eb.EM(), max_iter=3, metrics=False).status

lines = []
def trace(frame, event, arg):
    if event == "line" and "numba" in frame.f_code.co_filename:
        lines.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
    return trace

statuses = [run()]
sys.settrace(trace)
statuses.append(run())
sys.settrace(None)
print(json.dumps([statuses, lines]))
"""
    )
    assert found == [["max_iter", "max_iter"], []]


# Each says what it found, in one process.
CAMPAIGNS = {
    "runs": f"""
X = np.random.default_rng(0).standard_normal(({scaled(300, 40)}, 1))
sample = eb.ArraySample(X)
def work():
    ended = eb.run(sample, "isotropic", eb.EM(), max_iter={scaled(300, 10)}, metrics=False)
    if ended.status == "interrupted":
        raise KeyboardInterrupt
    return ended.params.tobytes()
expected, begun = work(), time.perf_counter()
for _ in range(5):
    work()
longest = (time.perf_counter() - begun) / 5
lost, found = 0, set()
for _ in range({PRESSES}):
    got, heard = caught(work, longest)
    lost += not heard
    found.add("same" if got in (None, expected) else "other")
said["runs"] = [lost, sorted(found)]
""",
    "many_runs": f"""
samples = [eb.ArraySample(np.random.default_rng(seed).standard_normal((40 + seed, 1)))
           for seed in range(6)]
def work():
    return eb.run_many(samples, "isotropic", eb.EM(), max_iter={scaled(3000, 6)}, metrics=True)
expected, begun = [one.trace.drop(columns="seconds") for one in work()], time.perf_counter()
for _ in range(5):
    work()
longest = (time.perf_counter() - begun) / 5
lost, found, kept = 0, set(), 0
for _ in range({PRESSES}):
    got, heard = caught(work, longest)
    ends = [one.status for one in got or ()]
    lost += not heard
    if got is not None and ends.count("interrupted"):
        kept += 1
    for one, whole in zip(got or (), expected):
        same = one.status == "interrupted" or one.trace.drop(columns="seconds").equals(whole)
        found.add("same" if same else "other")
said["many_runs"] = [lost, sorted(found), kept]
""",
    "fits": f"""
X = np.random.default_rng(0).standard_normal(({scaled(300, 30)}, 2)) + [[1.5, 0.0]]
X[::2] *= -1.0
def work():
    return eb.fit(X, starts=2)
whole, begun = work(), time.perf_counter()
for _ in range(5):
    work()
longest = (time.perf_counter() - begun) / 5
lost, least = 0, whole.gain
for _ in range({scaled(PRESSES, 4)}):
    got, heard = caught(work, longest)
    lost += not heard
    if got is not None:
        least = min(least, got.gain)
said["fits"] = [lost, least]
""",
    "studies": f"""
import shutil, tempfile
from elubench.studies import plan
from study_tools import LASTING, small
plan._TASK_SECONDS = 0.0
folder = tempfile.mkdtemp()
eb.run_study(small(), folder + "/whole")
begun = time.perf_counter()
eb.run_study(small(), folder + "/again")
longest = time.perf_counter() - begun
expected = eb.load_results(folder + "/whole")[LASTING]
failed, same, lost, interrupted, number = 0, True, 0, 0, 0
for _ in range({PRESSES // 4}):
    ended, heard = caught(lambda: eb.run_study(small(), f"{{folder}}/{{number}}"), longest)
    lost += not heard
    interrupted += ended is None
    if ended is not None:
        rows = eb.load_results(f"{{folder}}/{{number}}")
        failed += int((rows["status"] == "failed").sum())
        same = same and rows[LASTING].equals(expected)
        number += 1
assert eb.run_study(small(), f"{{folder}}/{{number}}").failed == 0
same = same and eb.load_results(f"{{folder}}/{{number}}")[LASTING].equals(expected)
shutil.rmtree(folder)
said["studies"] = [failed, same, lost, interrupted]
""",
}


@pytest.fixture(scope="module")
def said():
    wanted = [code for name, code in CAMPAIGNS.items() if JIT or name != "studies"]
    code = "\n".join([PRESSING, "said = {}", *wanted, "print(json.dumps(said))"])
    return python(code, timeout=PATIENCE * max(1, PRESSES // 40))


class TestCampaigns:
    def test_runs(self, said):
        """Statuses and exceptions of runs that are pressed at: no TypeError, no press is lost."""
        assert said["runs"] == [0, ["same"]]

    def test_many_runs(self, said):
        """Runs that are not interrupted are whole; one of them is, or the press was raised."""
        lost, found, kept = said["many_runs"]
        assert lost == 0
        assert found == ["same"]
        assert kept > 0

    def test_fits(self, said):
        """A fit that is pressed at says so, or raises; it is never worse than its best start."""
        lost, least = said["fits"]
        assert lost == 0
        assert least >= 0.0

    @needs_jit
    def test_studies(self, said):
        """Interrupted again and again a study ends with the rows that it has undisturbed."""
        failed, same, lost, interrupted = said["studies"]
        assert (failed, same, lost) == (0, True, 0)
        assert interrupted > 0

    @needs_jit
    def test_while_kernels_are_loaded(self):
        """Each time in a process of its own, at random moments of the first run."""
        for seed in range(max(2, PRESSES // 50)):
            heard = python(
                PRESSING
                + f"""
moments = random.Random({seed})
def work():
    ended = eb.run([[-1.0], [1.0], [2.0], [0.5]], "isotropic", eb.EM(), max_iter=10**9)
    if ended.status == "interrupted":
        raise KeyboardInterrupt
_, heard = caught(work, 0.6)
print(json.dumps(heard))
"""
            )
            assert heard


@needs_jit
class TestForks:
    """A child of a process that ran in parallel has none of its threads."""

    FIT = """
import json, os, sys, threading, warnings
import multiprocessing as mp
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import elubench as eb
from elubench.kernels import region
warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads
X = np.random.default_rng(0).standard_normal((60_000, 2))
def fit(_=None):
    return eb.fit(X, model="general").location.tobytes().hex()
def many(_=None):
    parts = [X[:500], X[500:1000], X]
    return [r.params.tobytes().hex() for r in eb.run_many(parts, "isotropic", eb.EM(), max_iter=20)]
here = [fit(), many()]
"""

    def test_pools(self):
        same = python(
            self.FIT
            + """
context = mp.get_context("fork")
with context.Pool(2) as pool:
    fits, runs = pool.map_async(fit, range(4)).get(600), pool.map_async(many, range(2)).get(600)
with ProcessPoolExecutor(2, mp_context=context) as pool:
    fits += list(pool.map(fit, range(2), timeout=600))
print(json.dumps(set(fits) == {here[0]} and runs == [here[1]] * 2))
""",
            NUMBA_NUM_THREADS="2",
        )
        assert same

    def test_while_a_thread_is_in_the_region(self):
        same = python(
            self.FIT
            + """
inside, leave = threading.Event(), threading.Event()
def hold():
    with region.parallel_region.entered() as got:
        assert got
        inside.set()
        leave.wait(600)
thread = threading.Thread(target=hold)
thread.start()
inside.wait(600)
children = []
for _ in range(2):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"1" if [fit(), many()] == here else b"0")
        finally:
            os._exit(0)
    os.close(write)
    children.append((child, read))
said = [(os.read(read, 1), os.waitpid(child, 0)[1]) for child, read in children]
leave.set()
thread.join()
print(json.dumps([[answer.decode(), status] for answer, status in said]))
""",
            NUMBA_NUM_THREADS="2",
        )
        assert same == [["1", 0], ["1", 0]]

    def test_a_child_of_a_quiet_process_has_threads_of_its_own(self):
        usable = python(
            """
import json, os
from elubench.kernels import region
read, write = os.pipe()
child = os.fork()
if child == 0:
    os.write(write, b"1" if region.parallel_region.usable else b"0")
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(os.read(read, 1).decode()))
"""
        )
        assert usable == "1"
