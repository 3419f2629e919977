"""Studies: what a spec may say, which data a run sees, what a row holds."""

import dataclasses
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT, scaled
from study_tools import LASTING, assert_same_rows, replace_run, small

import elubench as eb
from elubench import studies
from elubench.algorithms.known import known
from elubench.cli.study import described
from elubench.papers.beyond_em import theory
from elubench.studies import performing, plan, presets, progress, reading, rows, store
from elubench.studies.costs import cell_seconds, group_cost
from elubench.studies.mle import maximum_likelihood
from elubench.studies.reading import SpecError
from elubench.studies.spec import Cell, as_json, difference

HUGE = "1" + "0" * 400

GOOD = """\
name = "good"
seed = 3

[[block]]
models = ["isotropic", "diagonal"]
d = [1, 2]
n = [1e3, 10_000]
samples = "lattice"
algorithms = [
    { name = "EM" },
    { name = "ELU", eta = 0.01, beta = 0.8 }, # a comment, with [brackets] and "quotes"
]
"""


class TestSpec:
    def test_defaults_and_sizes(self):
        spec = reading.parse(GOOD)
        (block,) = spec.blocks
        assert (spec.name, spec.seed, block.name) == ("good", 3, "block1")
        assert block.sizes == ((1000, 1), (10_000, 1), (1000, 2), (10_000, 2))
        assert [one.algorithm for one in block.contestants] == [eb.EM(), eb.ELU(0.01, 0.8)]
        assert {one.max_iter for one in block.contestants} == {10_000}
        assert spec.runs == 2 * 4 * 2

    def test_n_per_d(self):
        spec = reading.load(small(n=None, n_per_d=50, d=[1, 4]))
        assert spec.blocks[0].sizes == ((50, 1), (200, 4))

    def test_a_budget_of_ones_own(self):
        spec = reading.load(small(algorithms=["EM", {"name": "SQUAREM", "max_iter": 5}]))
        assert [one.max_iter for one in spec.blocks[0].contestants] == [60, 5]

    def test_a_block_like_an_earlier_one(self):
        (first,) = small()["block"]
        others = [{"like": "small", "n_per_d": 50}, {"like": "block2", "name": "last", "d": 2}]
        second = {**first, "name": "block2", "n": [], "n_per_d": 50}
        spelled = [first, second, {**second, "name": "last", "d": 2}]
        assert reading.load({"block": [first, *others]}) == reading.load({"block": spelled})

    def test_nested_options(self):
        given = {"name": "Simultaneous", "second": {"name": "ELU", "beta": 0.7}}
        (one,) = reading.load(small(algorithms=[given])).blocks[0].contestants
        assert one.algorithm == eb.Simultaneous(second=eb.ELU(beta=0.7))

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ("seed = 3", "sead = 3", "sead is not a key; known are name, "),
            ("seed = 3", "seed = -3", "seed must be >= 0"),
            ("seed = 3", "seed = true", "seed must be an integer, got True"),
            ('name = "good"', "name = 4", "name must be text, got 4"),
            ("d = [1, 2]", "dim = [1, 2]", "block[1].dim is not a key"),
            ("d = [1, 2]", "d = [1, 0.5]", "block[1].d[2] must be an integer, got 0.5"),
            ("d = [1, 2]", "d = [1, 0]", "block[1].d[2] must be between 1"),
            ("d = [1, 2]", "d = [\n1,\n\n5]", "block[1].d[2] must be between 1 and 4, got 5"),
            ("d = [1, 2]", "d = []", "block[1].d must be a list of at least one"),
            ("d = [1, 2]", "d = [2, 2]", "block[1].d[2] has 2 twice"),
            ("d = [1, 2]", 'd = "one"', "block[1].d must be an integer, got 'one'"),
            ("d = [1, 2]\n", "", "block[1] lacks the key 'd'"),
            ("d = [1, 2]", "like = 'block1'", "block[1].like must be the name of an earlier"),
            ("n = [1e3, 10_000]", "n = [1e3, 1.5e0]", "block[1].n[2] must be an integer"),
            ("n = [1e3, 10_000]", "n = 3", "block[1].n must be between 4"),
            ("n = [1e3, 10_000]\n", "", "block[1] must have either the key 'n'"),
            ("n = [1e3, 10_000]", "n = 5\nn_per_d = 5", "either the key 'n' or the key"),
            ("n = [1e3, 10_000]", "n_per_d = 1", "block[1].n_per_d must give n between 4 and"),
            ('["isotropic", "diagonal"]', '["iso"]', "block[1].models[1] must be one of"),
            ('"lattice"', '"grid"', "block[1].samples must be one of direct, lattice"),
            ('"lattice"', '"lattice"\nstarts = "random"', "block[1].starts must be one of"),
            ('"lattice"', '"lattice"\nstop = 3', "block[1].stop must be one of radius, end"),
            ('"lattice"', '"lattice"\nmle = 1', "block[1].mle must be true or false"),
            ('"lattice"', '"lattice"\nname = ""', "block[1].name must not be empty"),
            ('"lattice"', '"lattice"\nvalidation = 1.0', "block[1].validation must be in [0, 1)"),
            ('"lattice"', '"lattice"\nstart_norm = 1', "block[1].start_norm must be in (0, 1)"),
            ('"lattice"', '"lattice"\nmax_iter = 2.5', "block[1].max_iter must be an integer"),
            ('"lattice"', f'"lattice"\nstart_norm = {HUGE}', "(0, 1), got an integer of about 400 d"),
            ('"lattice"', '"lattice"\nmax_iter = 9223372036854775808', "max_iter must be between"),
            ('"lattice"', '"lattice"\nradius_constant = 1e-320', "radius_constant must be in [1e-100"),
            ('"lattice"', f'"lattice"\nradius_constant = {HUGE}', "radius_constant must be in [1e"),
            ('"lattice"', '"lattice"\nreplicates = 1000000000', "block[1].replicates must leave the "
             "study at most 1,000,000 samples, got 8,000,000,000"),
            ("beta = 0.8", f"beta = {HUGE}", "algorithms[2].beta must be in (0, 1], got an integer"),
            ('name = "EM"', 'name = "Em"', "block[1].algorithms[1].name must be one of E"),
            ('name = "EM"', "nome = 1", "block[1].algorithms[1] must be a table with a name"),
            ('name = "EM"', 'name = "EM", eta = 1', "algorithms[1].eta is not a key; EM has name"),
            ("beta = 0.8", "beta = 1.8", "block[1].algorithms[2].beta must be in (0, 1]"),
            ("beta = 0.8", 'beta = "x"', "block[1].algorithms[2].beta must be a number"),
            ("beta = 0.8", "betta = 0.8", "algorithms[2].betta is not a key; ELU has"),
            ("beta = 0.8", "max_iter = -1", "algorithms[2].max_iter must be between 0"),
            ('"ELU", eta = 0.01,', '"CentredELU",', "CentredELU needs a model with a half sum"),
            ('"ELU", eta = 0.01, beta = 0.8', '"EM"', "is in this list already"),
        ],
    )  # fmt: skip
    def test_errors_name_the_key(self, old, new, said):
        assert old in GOOD
        with pytest.raises(SpecError) as caught:
            reading.parse(GOOD.replace(old, new, 1), "my.toml")
        assert str(caught.value).startswith("my.toml: ")
        assert said in str(caught.value)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "block must be a list of at least one"),
            ("block = 3", "block must be a list"),
            ("block = [3]", "block[1] must be a table"),
            ("seed = ", "line 1"),
            ("seed = 1\nseed = 2", "line 2"),
            ("seed = " + "1" * 5000, "4300 digits"),
            ("seed = " + "[" * 20_000, "nested too deeply"),
            ("seed = " + "{a = " * 20_000, "nested too deeply"),
            ("x" * 1_000_001, "at most 1,000,000 characters, got 1,000,001"),
            ("seed = 1\n" + "a." * 50_000 + "a = 1", "at most 100 dots (at line 2)"),
            ("[" + "'a' . " * 50_000 + "a]", "at most 100 dots (at line 1)"),
            ("seed = {" + '"a".' * 50_000 + "a = 1}", "at most 100 dots (at line 1)"),
            (GOOD + "[[block]]\nname = 'block1'" + GOOD.partition("[[block]]")[2], "another block"),
        ],
    )
    def test_other_errors(self, text, said):
        with pytest.raises(SpecError, match=r"my\.toml") as caught:
            reading.parse(text, "my.toml")
        assert said in str(caught.value)

    def test_dots_that_are_in_no_key(self):
        text = f"description = '{'a.' * 300}'  # {'b.' * 300}\n{GOOD}"
        assert reading.parse(text).description == "a." * 300

    def test_lists_of_many(self):
        """Nothing in a list is compared with all that come before it."""
        many = list(range(4, 50_004))
        found = reading.load(small(n=many, d=1))
        assert len(found.blocks[0].sizes) == len(many)
        with pytest.raises(SpecError, match=r"block\[1\]\.n must leave .* 50,000 times 49,000"):
            reading.load(small(n=many, d=many[:49_000], samples="direct"))
        with pytest.raises(SpecError, match=r"block\[1\]\.n\[50001\] has 4 twice"):
            reading.load(small(n=[*many, 4], d=1))

    def test_algorithms_nested_too_deeply(self):
        given = "EM"
        for _ in range(2000):
            given = {"name": "Simultaneous", "second": given}
        with pytest.raises(SpecError, match=r"^study: tables or lists are nested too deeply$"):
            reading.load(small(algorithms=[given]))

    def test_too_many_runs(self, monkeypatch):
        monkeypatch.setattr(reading, "_MOST_RUNS", 3)
        with pytest.raises(SpecError, match=r"replicates must leave the study at most 3 runs, got"):
            reading.load(small(replicates=4))

    def test_costs_of_what_takes_for_ever(self):
        """EM's iterations to such a radius are beyond float64; the budget bounds them."""
        spec = reading.load(small(radius_constant=1e-100, max_iter=1000, algorithms=["EM", "ELU"]))
        assert all(math.isfinite(seconds) for seconds in cell_seconds(spec).values())

    def test_file_errors(self, tmp_path):
        with pytest.raises(SpecError, match="no such file, and no such preset; presets are asy"):
            reading.load("no such thing")
        (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
        with pytest.raises(SpecError, match="not UTF-8"):
            reading.load(tmp_path / "latin.toml")
        with pytest.raises(TypeError, match="spec must be"):
            reading.load(3)

    def test_spelling_does_not_matter_but_meaning_does(self):
        spec = reading.parse(GOOD)
        other = GOOD.replace("10_000", "1e4").replace('name = "good"', 'description = "another"')
        assert reading.parse(other).hash == spec.hash
        for old, new in (("seed = 3", "seed = 4"), ("0.8", "0.81"), ('"lattice"', '"direct"')):
            assert reading.parse(GOOD.replace(old, new)).hash != spec.hash

    def test_canonical_form_can_be_read_back(self):
        for name in presets.presets():
            spec = reading.load(name)
            plain = json.loads(as_json(spec.canonical()))
            again = reading.from_canonical(plain, spec.name)
            assert again == dataclasses.replace(spec, description="")
            assert again.hash == spec.hash

    def test_difference(self):
        one, two = reading.parse(GOOD), reading.parse(GOOD.replace("0.8", "0.7"))
        said = difference(one.canonical(), two.canonical())
        assert said == "block[1].contestants[2].algorithm.beta 0.8 there, 0.7 here"


class TestPresets:
    def test_names(self, monkeypatch):
        named = ["asymptotic", "crossover", "crossover-quick", "dimensions", "known-scale", "paper"]
        named += ["quick", "rivals", "smoke", "starts"]
        assert presets.presets() == named
        assert reading.load("beyond-em/quick") == reading.load("quick")
        found = presets._files()
        monkeypatch.setattr(presets, "_files", lambda: {**found, "mine/quick": found["smoke"]})
        assert presets.presets()[:3] == ["asymptotic", "beyond-em/quick", "crossover"]
        assert reading.load("mine/quick") == reading.load("smoke")
        with pytest.raises(
            SpecError, match=r"presets are asymptotic, beyond-em/quick, .*mine/quick"
        ):
            reading.load("quick")

    @pytest.mark.parametrize("name", presets.presets())
    def test_rivals_are_beside_em_and_elu(self, name):
        spec = reading.load(name)
        assert spec.name == name
        contestants = {one.algorithm.name for block in spec.blocks for one in block.contestants}
        assert {"EM", "ELU", "NewtonAnderson"} < contestants
        if not name.startswith("crossover"):  # where data have two parts, these two add nothing
            assert {"SQUAREM", "LBFGS"} < contestants
        for line in spec.description.splitlines():
            assert len(line) <= 110

    def test_every_algorithm_is_in_the_study_of_rivals(self):
        blocks = reading.load("rivals").blocks
        contestants = {one.algorithm.name for block in blocks for one in block.contestants}
        assert contestants == set(known())

    def test_what_they_cover(self):
        def sizes(name):
            return [size for block in reading.load(name).blocks for size in block.sizes]

        assert {n for n, d in sizes("asymptotic") if d == 1} == {10**k for k in range(3, 13)}
        assert {d for _, d in sizes("dimensions")} == {2**k for k in range(9)}
        paper = reading.load("paper")
        assert {(10**6, 1), (10**6, 4)} <= set(sizes("paper"))
        assert {block.validation for block in paper.blocks} == {0.1}
        assert {block.samples for block in paper.blocks} == {"direct"}
        assert {name for block in paper.blocks for name in block.models} == set(theory.MODELS)
        starts = reading.load("starts")
        assert all(block.starts == ("equal", "generic") for block in starts.blocks)

    @pytest.mark.parametrize("name", presets.presets())
    def test_shown_is_still_the_study(self, name):
        shown = described(name)
        assert reading.parse(shown).hash == reading.load(name).hash
        assert f"{reading.load(name).runs:,}" in shown


class TestPlan:
    @pytest.mark.parametrize("name", ["smoke", "quick", "starts"])
    def test_every_group_once_in_tasks_of_a_second(self, name):
        spec = reading.load(name)
        cut = plan.plan(spec)
        groups = [group for task in cut.tasks for group in task.groups]
        assert groups == list(plan.groups_of(spec))
        assert sum(task.rows for task in cut.tasks) == spec.runs
        costs = cell_seconds(spec)
        for task in cut.tasks[:-1]:
            assert sum(costs[group.cell] for group in task.groups) >= 1.0
        assert len({task.name for task in cut.tasks}) == len(cut.tasks)

    def test_bounds_are_kept(self):
        spec = reading.load(small())
        cut = plan.plan(spec, (0, 5, 12))
        assert [len(task.groups) for task in cut.tasks] == [5, 7]
        for wrong in ((0, 5), (1, 12), (0, 5, 5, 12), (0, 7, 5, 12)):
            with pytest.raises(ValueError, match="bounds"):
                plan.plan(spec, wrong)

    def test_costs_grow_with_the_work(self):
        def cost(**changes):
            spec = reading.load(small(**changes))
            return group_cost(spec.blocks[0], next(spec.cells())).seconds

        assert cost(n=[10**6], samples="direct") > 10 * cost(n=[10**4], samples="direct")
        assert cost(n=[10**12], max_iter=10**9) > 10 * cost(n=[10**8], max_iter=10**9)
        assert cost(max_iter=10**6, stop="end") > 10 * cost(max_iter=10**6)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "out"
    ended = eb.run_study(small(), out)
    assert ended.finished
    return eb.load_results(out)


class TestData:
    def test_seeds_depend_on_the_sample_alone(self):
        seeds = {
            plan.seed_of(*place)
            for place in [
                (1, "isotropic", 1000, 1, 0, "sample"),
                (2, "isotropic", 1000, 1, 0, "sample"),
                (1, "diagonal", 1000, 1, 0, "sample"),
                (1, "isotropic", 1001, 1, 0, "sample"),
                (1, "isotropic", 1000, 2, 0, "sample"),
                (1, "isotropic", 1000, 1, 1, "sample"),
                (1, "isotropic", 1000, 1, 0, "start"),
            ]
        }
        assert len(seeds) == 7
        # for ever: results of different machines and years must be about the same data
        assert plan.seed_of(1, "isotropic", 1000, 1, 0, "sample") == 6038888748861214466

    def test_algorithms_see_the_same_samples_and_starts(self, results):
        by_sample = results.groupby(["n", "replicate"])
        for column in ("start_error", "mle_gap", "mle_location_error"):
            assert (by_sample[column].nunique() == 1).all()
        assert results.groupby("n")["start_error"].nunique().eq(6).all()

    def test_other_algorithms_blocks_and_replicates_change_nothing(self, results, tmp_path):
        study = small(algorithms=["LBFGS", "EM"], n=[10_000], replicates=8)
        another = {"name": "another", "samples": "direct", "n": [200]}
        study["block"].insert(0, {**study["block"][0], **another})
        eb.run_study(study, tmp_path / "out")
        new = eb.load_results(tmp_path / "out")
        new = new[(new["block"] == "small") & (new["algorithm"] == "EM") & (new["replicate"] < 6)]
        old = results[(results["n"] == 10_000) & (results["algorithm"] == "EM")]
        assert_same_rows(new.reset_index(drop=True), old.reset_index(drop=True))

    @pytest.mark.parametrize("model", ["isotropic", "diagonal", "general"])
    @pytest.mark.parametrize("d", [1, 3])
    def test_starts(self, model, d):
        model = {"isotropic": eb.Isotropic(), "diagonal": eb.Diagonal(), "general": eb.General()}[
            model
        ]
        sample = eb.LatticeSample.gaussian(1000, d, seed=5)
        group = plan.Group(Cell(0, model.name, 1000, d), 0)
        equal = performing.start_at("equal", 0.9, model, sample, 1, group)
        np.testing.assert_allclose(equal, model.default_start(sample), rtol=1e-14)
        generic = performing.start_at("generic", 0.8, model, sample, 1, group)
        model.check_params(sample, generic, "start")
        assert not model.is_stationary_start(generic)
        again = performing.start_at("generic", 0.8, model, sample, 1, group._replace(replicate=1))
        assert (generic != again).any()

    def test_mle_is_the_lowest_point(self):
        model = eb.Diagonal()
        for seed in range(scaled(6, 1)):
            sample = eb.LatticeSample.gaussian(10_000, 2, seed=seed)
            reference = maximum_likelihood(model, sample)
            assert reference.converged
            assert reference.gap <= 0.0
            axis = np.linspace(-0.5, 0.5, scaled(41, 9))
            grid = np.array([(x, y) for x in axis[axis >= 0] for y in axis])
            assert reference.gap <= model.gaps(sample, grid).min() + 1e-15


class TestRows:
    def test_a_row_is_what_run_says(self, results):
        for row in results[results["replicate"] == 0].itertuples():
            seed = plan.seed_of(7, row.model, row.n, row.d, 0, "sample")
            sample = eb.LatticeSample.gaussian(row.n, row.d, seed)
            algorithm = getattr(eb, row.algorithm)(**json.loads(row.options))
            run = eb.run(
                sample, row.model, algorithm, radius=row.radius, max_iter=row.max_iter,
                truth=np.zeros(1), true_scale=1.0,
            )  # fmt: skip
            assert row.radius == theory.radius(row.model, row.n, row.d, constant=2.0)
            assert (row.status, row.iterations, row.passes) == (run.status, run.n_iter, run.passes)
            assert row.reached == (run.status == "reached")
            last = run.trace.iloc[-1]
            assert row.last_location_error == last["location_error"]
            assert row.last_scale_error == last["scale_error"]
            assert row.location_error == row.last_location_error
            np.testing.assert_allclose(row.gap, last["gap"], rtol=0, atol=1e-15)
            assert row.excess == row.gap - row.mle_gap

    def test_censored_runs_have_no_iterations_to_the_radius(self, tmp_path):
        eb.run_study(small(max_iter=3, radius_constant=0.1), tmp_path / "out")
        frame = eb.load_results(tmp_path / "out")
        slow = frame[frame["algorithm"] != "NewtonAnderson"]
        assert not slow["reached"].any()
        assert set(slow["status"]) == {"max_iter"}
        for column in ("iterations_to_radius", "passes_to_radius", "seconds_to_radius"):
            assert slow[column].isna().all()
        assert (slow["iterations"] == 3).all()
        ended = studies.study_progress(tmp_path / "out")
        assert (ended.censored, ended.failed) == (int((~frame["reached"]).sum()), 0)

    @pytest.mark.parametrize("share", [0.0, 0.1])
    def test_radius_is_found_on_the_way_to_the_end(self, tmp_path, share):
        budget = scaled(2000, 150)  # beyond what a trace records without gaps
        common = {"max_iter": budget, "n": [10_000], "validation": share, "replicates": 3}
        algorithms = ["EM", "ELU", "LBFGS", {"name": "GradientDescent", "eta": 0.2}]
        for stop in ("radius", "end"):
            study = small(**common, algorithms=algorithms, stop=stop, radius_constant=1.3)
            eb.run_study(study, tmp_path / stop)
        short, whole = (eb.load_results(tmp_path / stop) for stop in ("radius", "end"))
        columns = ["algorithm", "replicate", "reached", "iterations_to_radius", "passes_to_radius"]
        assert short[columns].equals(whole[columns])
        assert short["reached"].any()
        reached = short[short["reached"]]
        assert (reached["iterations_to_radius"] == reached["iterations"]).all()
        assert (whole[whole["algorithm"] == "EM"]["iterations"] == budget).all()

    def test_validation_selects(self, tmp_path):
        n, budget = scaled((10_000, 200), (200, 100))
        study = small(validation=0.1, stop="end", n=[n], samples="direct", max_iter=budget)
        eb.run_study(study, tmp_path / "out")
        frame = eb.load_results(tmp_path / "out")
        elu = frame[frame["algorithm"] == "ELU"]
        assert (elu["selected"] <= elu["iterations"]).all()
        assert (elu["selected"] < elu["iterations"]).any()
        assert (frame["validation"] == 0.1).all()

    def test_failure_is_a_row_and_can_be_tried_again(self, tmp_path, monkeypatch):
        work = performing.run

        def faulty(sample, model, algorithm, *args, **options):
            if isinstance(algorithm, eb.ELU):
                raise RuntimeError("no luck\ntoday")
            return work(sample, model, algorithm, *args, **options)

        replace_run(monkeypatch, faulty)
        ended = eb.run_study(small(), tmp_path / "out")
        frame = eb.load_results(tmp_path / "out")
        failed = frame[frame["status"] == "failed"]
        assert len(frame) == 36
        assert (ended.failed, len(failed)) == (12, 12)
        assert set(failed["algorithm"]) == {"ELU"}
        assert set(failed["message"]) == {"RuntimeError: no luck today"}
        assert failed[["iterations", "location_error", "seconds"]].isna().all(axis=None)
        assert not failed["reached"].any()

        monkeypatch.undo()
        assert eb.run_study(small(), tmp_path / "out").failed == 12
        assert eb.run_study(small(), tmp_path / "out", retry_failed=True).failed == 0

    def test_sample_that_cannot_be_drawn_fails_all_its_runs(self, tmp_path, monkeypatch):
        def no_draws(*_):
            raise RuntimeError("no randomness left")

        monkeypatch.setattr(performing, "_sample", no_draws)
        assert eb.run_study(small(), tmp_path / "out").failed == 36
        said = eb.load_results(tmp_path / "out")["message"]
        assert set(said) == {"sample: RuntimeError: no randomness left"}

    def test_warnings_of_a_run_are_kept_with_it(self, tmp_path, monkeypatch):
        work = performing.run

        def talkative(*args, **options):
            import warnings

            warnings.warn("mind the gap", RuntimeWarning, stacklevel=1)
            return work(*args, **options)

        replace_run(monkeypatch, talkative)
        eb.run_study(small(replicates=1), tmp_path / "out")
        assert set(eb.load_results(tmp_path / "out")["message"]) == {"mind the gap"}

    def test_provenance_and_time(self, results):
        row = results.iloc[0]
        assert (row["engine"], row["elubench"]) == ("local", eb.__version__)
        assert row["numpy"] == np.__version__
        assert bool(row["commit"]) == (ROOT / ".git").exists()
        assert results["comparable"].all()
        assert (results["seconds"] > 0).all()
        assert (results["compile_seconds"] >= 0).all()
        assert set(results.columns) - set(LASTING) == {*rows.TIME, *rows.PROVENANCE}

    def test_traces_are_thinned_and_whole(self, tmp_path):
        study = small(traces=8, replicates=2, stop="end", max_iter=50)
        eb.run_study(study, tmp_path / "out")
        frame, traces = eb.load_results(tmp_path / "out"), eb.load_traces(tmp_path / "out")
        keys = ["block", "model", "n", "d", "replicate", "start", "algorithm", "options"]
        by_run = traces.groupby(keys)
        assert by_run.ngroups == len(frame)
        assert (by_run.size() <= 8).all()
        ends = by_run.last()
        rows = frame.set_index(keys).loc[ends.index]
        assert (ends["t"] == rows["iterations"]).all()
        assert (ends["location_error"] == rows["last_location_error"]).all()
        np.testing.assert_allclose(ends["gap"], rows["last_gap"], rtol=0, atol=1e-15)
        assert (by_run["t"].first() == 0).all()
        assert (ends["cost"] <= rows["cost"]).all()
        assert (by_run["cost"].first() == 0).all()

    def test_no_mle_where_it_is_not_wanted(self, tmp_path):
        eb.run_study(small(mle=False, replicates=1), tmp_path / "out")
        frame = eb.load_results(tmp_path / "out")
        assert frame[["mle_distance", "excess", "mle_gap"]].isna().all(axis=None)
        assert frame["gap"].notna().all()


class TestResuming:
    def test_what_is_done_is_not_done_again(self, tmp_path, monkeypatch):
        eb.run_study(small(), tmp_path / "out")
        before = eb.load_results(tmp_path / "out")
        monkeypatch.setattr("elubench.studies.engines.perform", None)
        seen = []
        ended = eb.run_study(small(), tmp_path / "out", progress=seen.append)
        assert [one.finished for one in [*seen, ended]] == [True, True]
        assert before.equals(eb.load_results(tmp_path / "out"))

    def test_interrupt_stops_at_once_and_resumes(self, tmp_path, monkeypatch, results):
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        work, calls = performing.run, []

        def interrupted(*args, **options):
            calls.append(args)
            ended = work(*args, **options)
            return dataclasses.replace(ended, status="interrupted") if len(calls) == 20 else ended

        replace_run(monkeypatch, interrupted)
        with pytest.raises(KeyboardInterrupt):
            eb.run_study(small(), tmp_path / "out")
        assert len(calls) == 20
        stopped = studies.study_progress(tmp_path / "out")
        assert (stopped.tasks, stopped.tasks_done, stopped.finished) == (12, 4, False)
        assert len(eb.load_results(tmp_path / "out")) == 12
        assert eb.run_study(small(), tmp_path / "out").finished
        assert_same_rows(eb.load_results(tmp_path / "out"), results)

    def test_progress_counts_up(self, tmp_path, monkeypatch):
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        seen = []
        eb.run_study(small(), tmp_path / "out", progress=seen.append)
        assert [one.tasks_done for one in seen] == list(range(13))
        assert [one.runs_done for one in seen] == list(range(0, 37, 3))
        assert np.isnan(seen[0].seconds_left)
        assert seen[-1].seconds_left == 0.0
        assert not any(one.seconds_left < 0 for one in seen)

    def test_first_estimate_of_the_time_left_is_not_wild(self, monkeypatch):
        """A run of three minutes whose first task compiles for 30 s: not an hour and a half."""
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        spec = reading.load(small(replicates=90))
        cut, now, compiled = plan.plan(spec), [0.0], [0.0]
        monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: now[0]))
        monkeypatch.setattr(progress, "compile_seconds", lambda: compiled[0])
        costs = dict.fromkeys(spec.cells(), 0.5)
        nothing = rows.SCHEMA.empty_table()
        tally = progress.Tally(spec, cut, nothing, set(), costs)
        content = store.parquet(nothing)
        said = []
        for count, task in enumerate(cut.tasks, 1):
            now[0] += 1.0  # twice the estimate
            if count == 1:
                now[0] += 30.0
                compiled[0] = 30.0
            tally.add(task, content)
            said.append((len(cut.tasks) - count, tally.progress().seconds_left))
        assert all(np.isnan(left) for _, left in said[:2])
        assert all(0.5 * right <= left <= 1.05 * right for right, left in said[2:])
        assert said[-1][1] == 0.0

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({"engine": "threads"}, "engine must be one of local, dask, got 'threads'"),
            ({"workers": 2}, "workers must be None unless engine is 'dask', got 2"),
            ({"engine": "dask", "workers": 0}, "workers must be >= 1, got 0"),
            (
                {"engine": "dask", "workers": 1, "scheduler": "x"},
                "workers must be None with a scheduler, got 1",
            ),
        ],
    )
    def test_refused_before_any_work(self, tmp_path, options, said):
        with pytest.raises(ValueError, match=said):
            eb.run_study(small(), tmp_path / "out", **options)
        assert not (tmp_path / "out").exists()

    def test_wrong_study_leaves_no_folder(self, tmp_path):
        with pytest.raises(SpecError):
            eb.run_study(small(models=["nonsense"]), tmp_path / "out")
        assert not (tmp_path / "out").exists()
