"""The near end of a worker: sends requests to a peer's process, and explains how it ended."""

from __future__ import annotations

import json
import math
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = str(Path(__file__).resolve().parent.parent.parent)
_CODE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from elubench.peers.worker import main; main(sys.argv[2])"
)
_TICK = 0.2  # seconds between calls of ``meanwhile`` while waiting


class NotInstalled(Exception):
    """The peer is not installed."""


class Failed(Exception):
    """The peer failed; the message says why."""

    status = "crashed"


class TimedOut(Failed):
    """It did not answer in time."""

    status = "timed out"


class Wrong(Failed):
    """It answered, and the answer is wrong."""

    status = "wrong"


class Worker:
    """A peer's process, started with the first request and again after it died."""

    def __init__(self, adapter: str, meanwhile: Callable[[], None] = lambda: None):
        self._adapter = adapter
        self._meanwhile = meanwhile
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str] = queue.Queue()
        self._printed: Any = None
        self._listener = threading.Thread()
        self.version = ""

    def ask(self, do: str, limit: float = math.inf, **arguments: Any) -> Any:
        """Send a request and wait for its answer, at most ``limit`` seconds."""
        if self._process is None:
            self._start()
        requests: Any = self._process.stdin if self._process is not None else None
        try:
            requests.write(json.dumps({"do": do, **arguments}) + "\n")
            requests.flush()
        except OSError:
            raise Failed(self._obituary()) from None
        return self._answer(limit)

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        process: Any = self._process
        self._process = None
        if process is None:
            return
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError):  # its session: with it whatever it has started
                os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        with suppress(OSError):  # a request that was never read
            process.stdin.close()
        self._listener.join()
        process.stdout.close()
        self._printed.close()

    def _start(self) -> None:
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, _ROOT, self._adapter],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the parent alone
        )
        heard = (self._process.stdout, self._answers)
        self._listener = threading.Thread(target=_listen, args=heard, daemon=True)
        self._listener.start()
        self.version = self._answer(math.inf)

    def _answer(self, limit: float) -> Any:
        until = time.monotonic() + limit
        while True:
            try:
                line = self._answers.get(timeout=_TICK)
                break
            except queue.Empty:
                self._meanwhile()
                if time.monotonic() > until:
                    self.stop()
                    raise TimedOut(f"no answer within {limit:.0f} s") from None
        if not line:
            raise Failed(self._obituary())
        answer = json.loads(line)
        if "missing" in answer:
            self.stop()
            raise NotInstalled(answer["missing"])
        if "error" in answer:
            raise Failed(answer["error"])
        if "wrong" in answer:
            raise Wrong(answer["wrong"])
        return answer["ok"]

    def _obituary(self) -> str:
        """Why the process is gone: what ended it, and the last line it printed."""
        status = 0 if self._process is None else self._process.wait()
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.stop()
        if status < 0:
            try:
                cause = f"killed by {signal.Signals(-status).name}"
            except ValueError:
                cause = f"killed by signal {-status}"
            cause += " (out of memory?)" if status == -9 else ""
        else:
            cause = f"its process ended with status {status}"
        return f"{cause}: {last}" if last else cause


def _listen(stream: Any, answers: queue.Queue[str]) -> None:
    """Pass on lines, then an empty one."""
    for line in stream:
        answers.put(line)
    answers.put("")


def free_memory() -> float:
    """Bytes that are free, at least half of all; 4 GiB where the system does not say."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        return float(page) * max(os.sysconf("SC_AVPHYS_PAGES"), os.sysconf("SC_PHYS_PAGES") // 2)
    except (AttributeError, OSError, ValueError):
        return 4.0 * 2**30
