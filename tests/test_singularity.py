"""The paper on EM with a known scale: its theory against naive computations, and a tiny verification."""

import html
import math
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from conftest import ROOT, needs_jit, scaled
from naive import mp

import elubench as eb
from elubench import KnownScale, LatticeSample
from elubench.papers.singularity import probes, theory
from elubench.papers.verifying import named, shipped, verify
from elubench.verification import Level

PACKAGE = ROOT / "elubench"


def exact_mean(function):
    """E function(Z) at 30 digits or so."""

    def density(z):
        return mp.exp(-z * z / 2) / mp.sqrt(2 * mp.pi)

    return mp.quad(lambda z: function(z) * density(z), [-14, -6, -2, 0, 2, 6, 14])


class TestPopulation:
    @pytest.mark.parametrize("weight", [0.5, 0.7, 0.98])
    @pytest.mark.parametrize("r", [1e-3, 0.6, 3.0])
    def test_against_mpmath(self, weight, r):
        b = mp.log(mp.mpf(weight) / (1 - mp.mpf(weight))) / 2
        step = exact_mean(lambda z: z * mp.tanh(r * z + b))  # EM itself, without Stein's identity
        assert theory.shrinkage(r, weight) == pytest.approx(float(1 - step / r), rel=1e-9)
        gap = mp.mpf(r) ** 2 / 2 - exact_mean(lambda z: mp.log(mp.cosh(r * z + b) / mp.cosh(b)))
        assert theory.loss(r, weight) == pytest.approx(float(gap), abs=1e-14)

    @pytest.mark.parametrize("weight", [0.5, 0.8])
    def test_gradient_is_the_slope_of_the_loss(self, weight):
        theta, h = np.array([0.3, -0.4]), 1e-4
        for j, unit in enumerate(np.eye(2)):
            ends = [
                theory.loss(float(np.linalg.norm(theta + s * h * unit)), weight) for s in (1, -1)
            ]
            slope = (ends[0] - ends[1]) / (2 * h)
            assert theory.gradient(theta, weight)[j] == pytest.approx(slope, rel=1e-6)

    @pytest.mark.parametrize("weight", [0.51, 0.7, 0.95])
    def test_contraction(self, weight):
        assert 1.0 - theory.shrinkage(0.0, weight) == pytest.approx(theory.contraction(weight))
        flatness = KnownScale(weight).flatness(3)
        assert 1.0 - flatness.kappa == pytest.approx(theory.contraction(weight))
        assert eb.EM().growth_law(flatness) == ("logarithm", pytest.approx(theory.per_log(weight)))

    @pytest.mark.parametrize("weight", [0.5, 0.7])
    def test_huge_samples_are_the_population(self, weight):
        """At n = 10^15 chance is below 1e-7."""
        sample, model = LatticeSample.gaussian(10**15, 1, seed=0), KnownScale(weight)
        for r in (0.2, 0.9):
            step = model.em_step(sample, [r])[0]
            assert step == pytest.approx(r * (1.0 - theory.shrinkage(r, weight)), abs=3e-7)
            assert model.gap(sample, [r]) == pytest.approx(theory.loss(r, weight), abs=3e-7)
            assert model.gradient(sample, [r]) == pytest.approx(
                theory.gradient(np.array([r]), weight), abs=3e-7
            )

    def test_em_iterations_are_steps(self):
        """Whole steps, one by one; in between, ln r is nearly linear."""
        for d, n in ((1, 1e6), (4, 1e5)):
            r, steps, target = 0.9, 0, 2.0 * (d / n) ** 0.25
            while (after := r * (1.0 - theory.shrinkage(r))) > target:
                r, steps = after, steps + 1
            exact = steps + math.log(r / target) / math.log(r / after)
            assert theory.em_iterations(d, 2.0, 0.9)(n) == pytest.approx(exact, abs=0.05)

    def test_elu_turns_back(self):
        path = theory.elu_path(0.9, 0.7, 0.5, 0.8, 40)
        steps = [abs(1 - 0.5 * 0.8**-t * theory.shrinkage(path[t], 0.7)) for t in range(40)]
        assert path[1:] == pytest.approx(path[:-1] * steps)
        assert path.min() < 1e-4 < path[-1]


class TestCrossover:
    @pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 5.0])
    def test_minimises_the_limit_of_the_loss(self, ratio):
        rng = np.random.default_rng(0)
        for z1, z2 in rng.standard_normal((20, 2)):
            u = np.linspace(-6.0, 6.0, 120_001)
            loss = u**4 / 4 + (ratio**2 - math.sqrt(2) * z2) * u**2 / 2 - ratio * z1 * u
            best = abs(u[np.argmin(loss)])
            assert float(theory.crossover(ratio, z1, z2)) == pytest.approx(best, abs=1.1e-4)

    def test_root_mean_square(self):
        draws = np.random.default_rng(1).standard_normal((2, 40_000))
        for ratio in (0.0, 1.0, 6.0):
            squares = theory.crossover(ratio, *draws) ** 2
            error = np.std(squares) / math.sqrt(squares.size)
            assert abs(theory.crossover_rms(ratio) ** 2 - np.mean(squares)) < 4 * error + 1e-3

    def test_samples_follow_it(self):
        """Sample by sample, up to terms that fall like n^(-1/2)."""
        table = probes.crossover(0, sizes=(10**8,), ratios=(0.5, 2.0), replicates=scaled(6, 2))
        assert np.max(np.abs(table["error"] - table["law"])) < 20 * 10**-4
        assert np.max(np.abs(table["error"] - table["unequal"])) > 0.1


def test_regression_is_a_known_scale_on_products():
    """The MLE of two regression lines, found from their likelihood by a search without elubench."""
    table = probes.regression(3, sizes=(200,), weights=(0.7,), replicates=3)
    for k, error in zip(table["replicate"], table["error"], strict=True):
        x, y = np.random.default_rng([3, 200, k]).standard_normal((2, 200))

        def loss(theta, x=x, y=y):
            logs = [np.log(w) - (y - s * theta * x) ** 2 / 2 for w, s in ((0.3, -1), (0.7, 1))]
            return -np.mean(np.logaddexp(*logs))

        grid = np.linspace(-2.0, 2.0, 2001)
        at = grid[np.argmin([loss(t) for t in grid])]
        best = scipy.optimize.minimize_scalar(loss, bracket=(at - 0.01, at + 0.01), tol=1e-10).x
        assert error == pytest.approx(abs(best), abs=1e-5)


@needs_jit
def test_a_tiny_verification(tmp_path):
    """Claims are measured and figures drawn; so few samples need not decide anything.

    Half of the optima are exactly 0 at d = 1, which may leave four samples without an error to fit.
    """
    paper = named("singularity")
    text = (PACKAGE / "papers" / "singularity" / "studies" / "known-scale.toml").read_text("utf-8")
    text = re.sub(r"replicates = \d+", "replicates = 4", text)
    text = re.sub(r"    \{ name = \"(SQUAREM|LBFGS)\".*\n", "", text)
    text = re.sub(r"n = \[1e4, .*\]", "n = [1e4, 1e5, 1e6, 1e7, 1e8]", text)
    text = text.replace("d = [4, 8, 16, 32, 64]\nn = 20_000", "d = [4, 8, 16]\nn = 1_000")
    text = text.replace("n = [1e3, 1e4, 1e5, 1e6, 1e7]", "n = [1e3, 1e4, 1e5]")
    (tmp_path / "known-scale.toml").write_text(text.replace("32_000", "1_000"), "utf-8")
    tiny = {
        "population": {"points": 30},
        "crossover": {"sizes": [10**6], "ratios": [1.0, 4.0], "replicates": 6},
        "regression": {"sizes": [100, 300, 1000], "replicates": 40},
    }
    paper = replace(paper, levels={"tiny": Level(("known-scale",), tiny)}, source=tmp_path)
    done = verify(paper, "tiny", tmp_path / "out")
    empty = {one.claim.key: one.remarks[0] for one in done.findings if not one.measurements}
    assert set(empty) <= {"equal-radius", "free-scale"}
    assert all("rmse" in remark and "0" in remark for remark in empty.values())
    verdicts = {one.claim.key: one.verdict for one in done.findings}
    assert verdicts["equal-factor"] == verdicts["unequal-factor"] == "supported"
    page = html.unescape(done.report.read_text("utf-8"))
    for figure in paper.figures.values():
        assert figure.title in page
    assert set(paper.expected) == set(verdicts)


def test_the_machine_names_no_paper():
    """What verifies, fits and reports works for any paper."""
    papers = [named(name) for name in shipped()]
    assert {one.name for one in papers} >= {"beyond-em", "singularity"}
    words = {"arXiv"} | {word for one in papers for word in (one.name, one.short, one.title)}
    words |= set(shipped().values())
    words |= {name for one in papers for name in one.authors.split(", ") if len(name) > 3}
    for room in ("verification", "rates", "plot", "report"):
        for path in sorted((PACKAGE / room).rglob("*.*")):
            if path.suffix in (".py", ".html"):
                content = path.read_text("utf-8")
                found = [
                    word for word in words if re.search(rf"\b{re.escape(word)}\b", content, re.I)
                ]
                assert found == [], f"{path} names {found}"
