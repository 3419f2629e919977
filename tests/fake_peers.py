"""Peers that misbehave, for processes of their own: this file's folder must be on PYTHONPATH."""

import os
import time

from elubench.peers import Adapter, Mixture


class Steady(Adapter):
    """Halves the location in every iteration, at a steady pace."""

    distribution = "numpy"
    seconds = 0.0005

    def prepare(self, X, start):
        self.start, self.second = start, (X**2).mean()

    def mixture(self, count):
        theta = self.start.means[1] * 0.5**count
        return Mixture.symmetric(theta, self.second - theta @ theta / theta.size)

    def iterate(self, count):
        time.sleep(self.seconds * count)
        return self.mixture(count)

    def solve(self, label, judge):
        judge.begin()
        for count in range(1, 100):
            self.iterate(1)
            if judge.look(count, self.mixture(count)):
                return "budget"
        return "tired"


class Absent(Steady):
    """Its library is not there."""

    modules = ("a_library_that_is_not_there",)

    def load(self):
        import a_library_that_is_not_there  # noqa: F401


class Broken(Steady):
    """Its library is there, and something that it needs is not."""

    modules = ("numpy",)

    def load(self):
        import a_library_that_is_not_there  # noqa: F401


class Raises(Steady):
    def iterate(self, count):
        print("chatter", flush=True)
        raise ArithmeticError("no\nluck")


class Dies(Steady):
    """Takes its process with it, as native code does."""

    def iterate(self, count):
        os.write(2, b"terminate called: bad state\n")
        os._exit(3)


class Killed(Steady):
    def iterate(self, count):
        os.kill(os.getpid(), 9)


class Hangs(Steady):
    def iterate(self, count):
        time.sleep(600)


class Slow(Steady):
    seconds = 0.1


class Infinite(Steady):
    def mixture(self, count):
        return Mixture.symmetric(self.start.means[1] * float("inf"), 1.0)


class Chatty(Steady):
    """Prints where the answers go."""

    def iterate(self, count):
        print("progress: 50 %", flush=True)
        os.write(1, b'{"ok": 1e9}\n')
        return super().iterate(count)


class Stuck(Steady):
    """Never gets there."""

    def mixture(self, count):
        return Mixture.symmetric(self.start.means[1], float(self.start.variances[0]))

    def solve(self, label, judge):
        judge.begin()
        count = 0
        while True:
            time.sleep(0.02)
            count += 1
            if judge.look(count, self.mixture(0)):
                return "budget"
            if label == "gives up":
                return "converged"


class Climbs(Steady):
    """Walks away from the data."""

    def mixture(self, count):
        return Mixture.symmetric(self.start.means[1] * 1.5**count, float(self.start.variances[0]))


class NearlyExact(Steady):
    """Says that its iterations are those of the constrained model."""

    exact = True
