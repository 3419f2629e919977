"""What the tests share: sizes that fit plain Python too, other processes, one kernel cache."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
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


def python(code, timeout=300, **environment):
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
