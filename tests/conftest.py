"""What the tests share: sizes that fit plain Python too, other processes, one kernel cache."""

import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))  # where the benchmarks are

# All tests, and the processes that they start, share one kernel cache outside the home folder.
os.environ.setdefault("ELUBENCH_CACHE_DIR", str(ROOT / "build" / "kernel-cache"))

#: False under ``NUMBA_DISABLE_JIT=1``, where kernels run as plain Python, hundreds of times slower.
JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")

needs_jit = pytest.mark.skipif(not JIT, reason="about compiled code, and NUMBA_DISABLE_JIT=1")

#: Seconds after which a process is taken to hang: a guard, which no busy machine may reach.
PATIENCE = 1200

hypothesis.settings.register_profile(
    "elubench",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60 if JIT else 15,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("elubench")


def scaled(compiled, plain):
    """The first value where kernels are compiled, the second where they run as plain Python."""
    return compiled if JIT else plain


def python(code, timeout=PATIENCE, **environment):
    """Run code in a new interpreter, warnings being errors; what it printed last, read as JSON.

    A variable of the environment given as None is removed.
    """
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    variables = {name: value for name, value in variables.items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    lines = done.stdout.splitlines()
    return json.loads(lines[-1]) if lines else None


def pytest_collection_finish(session):
    """Before most of the suite: compile the kernels once, shared out among xdist's workers.

    Each would compile nearly all of them, and so would the processes that tests start meanwhile.
    """
    run = getattr(session.config, "workerinput", {}).get("testrunuid")
    if JIT and run and len(session.items) > 1000:
        from elubench.kernels import _cache, _jit

        for number, kernel in enumerate(_jit.known_kernels()):
            if not kernel._cache.has_some():
                with suppress(Exception):  # another's, or its tests will say what is wrong
                    (_cache.cache_folder() / f".tests-{run}-{number}").touch(exist_ok=False)
                    _jit.compiled_now(kernel)


@pytest.fixture(autouse=True, scope="session")
def slow_in_silence():
    """How long compiling, reading and computing take must not show on stderr."""
    from elubench.cli import compiling, progress

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "_PATIENCE", math.inf)
        patch.setattr(progress, "_MOMENT", math.inf)
        patch.setattr(progress, "_QUIET_SECONDS", math.inf)
        yield


def script(name):
    """A script of .ci as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_script", ROOT / ".ci" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True, scope="session")
def hears_interrupts():
    """Jobs in the background begin with Ctrl-C ignored, and a test that sends it would never end."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
