"""Packages of R, each in a process of ``Rscript`` that lives as long as its adapter."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from elubench.checks import Floats
from elubench.peers.base import BUDGET, LOOK_EVERY, MOST_ITERATIONS, Adapter, Judge, Mixture

_SCRIPT = Path(__file__).with_name("adapter.R")


class R(Adapter):
    """A process of R that has loaded the package ``modules[0]``, and the data."""

    def load(self) -> None:
        (package,) = self.modules
        program = shutil.which("Rscript")
        if program is not None:
            self._process = subprocess.Popen(
                [program, "--vanilla", str(_SCRIPT), package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            weakref.finalize(self, _end, self._process)
            self._version = self._heard()
        if program is None or not self._version:
            raise ModuleNotFoundError(f"R has no package {package}", name=package)

    def version(self) -> str:
        return self._version

    def prepare(self, X: Floats, start: Mixture) -> None:
        self.start, self.second = start, float(np.mean([x @ x for x in X.T])) / len(X)
        with tempfile.NamedTemporaryFile() as file:
            np.ascontiguousarray(X.T).tofile(file.name)
            self.ask("data", file.name, *X.shape)

    def ask(self, *request: Any) -> Floats:
        """Send a request to ``adapter.R``; its answer."""
        said: Any = self._process.stdin
        words = [
            repr(float(word)) if isinstance(word, np.floating) else str(word) for word in request
        ]
        said.write("\t".join(words) + "\n")
        said.flush()
        heard = self._heard()
        if not heard:
            raise RuntimeError(f"Rscript ended with status {self._process.wait()}")
        return np.array(heard.split(), dtype=np.float64)

    def _heard(self) -> str:
        answers: Any = self._process.stdout
        return str(answers.readline()).strip()


def _end(process: Any) -> None:
    process.stdin.close()  # R ends with its input
    process.stdout.close()
    process.wait()


class Mclust(R):
    """mclust's EM for one variance and equal proportions."""

    modules = ("mclust",)

    def iterate(self, count: int) -> Mixture:
        made, mixture = self._advance(self.start, count, 0.0)
        if abs(made) != count:
            raise RuntimeError(f"{abs(made)} iterations instead of {count}")
        return mixture

    def solve(self, label: str, judge: Judge) -> str:
        judge.begin()
        if label == "tol=1e-5":
            made, mixture = self._advance(self.start, 2**31 - 1, 1e-5)
            judge.look(abs(made), mixture)
            return "converged" if made > 0 else "max_iter"
        total, mixture = 0, self.start
        while total < MOST_ITERATIONS:
            made, mixture = self._advance(mixture, max(5, round(LOOK_EVERY * total)), 0.0)
            total += abs(made)
            if judge.look(total, mixture):
                break
            if made > 0:  # the likelihood does not change any more
                return "converged"
        return BUDGET

    def _advance(self, mixture: Mixture, count: int, tolerance: float) -> tuple[int, Mixture]:
        """Iterations, negative if there were not enough to converge, and where they led."""
        found = self.ask("em", count, tolerance, *mixture.means.ravel(), mixture.variances[0])
        means = found[1:-1].reshape(mixture.means.shape)
        return int(found[0]), Mixture(np.full(2, 0.5), means, np.full(2, found[-1]))


class Squarem(R):
    """R's SQUAREM on an EM map in vectorised R.

    It shows no iterates, so it runs again with a larger budget until it has reached the answer; the
    time that counts is that of the last run alone.
    """

    modules = ("SQUAREM",)

    def solve(self, label: str, judge: Judge) -> str:
        most, spent = 6, 0.0
        while True:
            made, seconds, ended, *theta = self.ask("squarem", most, *self.start.means[1])
            point = np.array(theta)
            scale = self.second - float(point @ point) / point.size
            spent += seconds
            if judge.look(int(made), Mixture.symmetric(point, scale), seconds):
                return BUDGET
            if ended == 0.0 and made < most:
                return "converged"
            if spent > judge.budget:
                return BUDGET
            most = int(1.25 * most) + 1
