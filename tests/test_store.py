"""A study's folder after accidents: kills, cuts, strangers, a full disk, two writers at once."""

import errno
import hashlib
import json
import os
import re
import shutil
import warnings
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conftest import ROOT, python, scaled
from study_tools import assert_same_rows, small

import elubench as eb
from elubench import studies
from elubench.studies import plan, rows, store, whole
from elubench.studies.store import StoreError, StoreWarning, _read

#: How many times the study is killed; 30 and more in a thorough check.
KILLS = int(os.environ.get("ELUBENCH_TEST_KILLS", "4"))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished study in twelve shards."""
    out = tmp_path_factory.mktemp("finished") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_TASK_SECONDS", 0.0)
        eb.run_study(small(traces=4), out)
    eb.load_results(out)
    return out


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of it to damage."""
    return Path(shutil.copytree(finished, tmp_path / "out"))


def shards(folder):
    return sorted((folder / "shards").glob("*.parquet"))


def resumed(folder):
    """Run the study again; return its rows and the tasks that were computed."""
    seen = []
    eb.run_study(small(traces=4), folder, progress=seen.append)
    return eb.load_results(folder), len(seen) - 1


class TestLayout:
    def test_files(self, finished):
        assert {path.name for path in finished.iterdir()} == {
            "results.parquet", "shards", "study.json", "traces",
        }  # fmt: skip
        assert len(shards(finished)) == 12
        assert {path.name for path in shards(finished)} == set(os.listdir(finished / "traces"))

    def test_spec_is_kept_as_written(self, tmp_path):
        text = "# mine\n[[block]]\nmodels='isotropic'\nd=1\nn=100\nsamples='lattice'\n"
        text += "algorithms=[{name='EM'}]\nmax_iter=5\n"
        (tmp_path / "mine.toml").write_text(text)
        eb.run_study(tmp_path / "mine.toml", tmp_path / "out")
        assert (tmp_path / "out" / "study.toml").read_text() == text

    def test_no_pickle(self):
        for path in (ROOT / "elubench" / "studies").glob("*.py"):
            code = path.read_text()
            assert not re.search(r"import \w*pickle|to_pickle|read_pickle|allow_pickle", code)

    def test_any_reader_of_parquet_can_read_it(self, finished):
        import pandas as pd

        frame = pd.read_parquet(shards(finished)[0])
        assert list(frame.columns) == rows.SCHEMA.names


class TestDamage:
    def test_cut_in_half(self, folder, finished):
        victim = shards(folder)[3]
        victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
        with pytest.warns(StoreWarning, match=f"{victim.name} cannot be read .* was moved to"):
            found, computed = resumed(folder)
        assert computed == 1
        assert_same_rows(found, eb.load_results(finished))
        (aside,) = (folder / "set-aside").iterdir()
        assert aside.name.startswith(victim.name)

    def test_one_flipped_byte(self, folder, finished):
        victim = shards(folder)[5]
        column = pq.ParquetFile(victim).metadata.row_group(0).column(0)
        first = column.dictionary_page_offset or column.data_page_offset
        content = bytearray(victim.read_bytes())
        content[first + column.total_compressed_size - 1] ^= 0x10  # the end of its last page
        victim.write_bytes(content)
        with pytest.warns(StoreWarning, match="cannot be read"):
            found, computed = resumed(folder)
        assert computed == 1
        assert_same_rows(found, eb.load_results(finished))

    def test_any_flipped_byte_is_seen_or_does_not_matter(self, folder, tmp_path):
        """Where the bytes are depends on the version of pyarrow; what they may do does not."""
        whole = shards(folder)[5]
        good, labels = _read(whole, rows.SCHEMA)
        named = {key.removeprefix("elubench_"): value for key, value in labels.items()}
        content, victim, refused = whole.read_bytes(), tmp_path / "victim.parquet", 0
        for place in range(0, len(content), 37):
            victim.write_bytes(
                content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]
            )
            try:
                assert _read(victim, rows.SCHEMA, **named)[0].equals(good)
            except ValueError:
                refused += 1
        assert refused > len(content) / 37 / 4

    def test_empty_file_and_missing_file(self, folder, finished):
        first, second, *_ = shards(folder)
        first.write_bytes(b"")
        second.unlink()
        with pytest.warns(StoreWarning, match=f"{first.name} cannot be read"):
            found, computed = resumed(folder)
        assert computed == 2
        assert_same_rows(found, eb.load_results(finished))

    def test_strangers(self, folder, finished, tmp_path):
        first, second, third, *_ = shards(folder)
        shutil.copy(first, second)  # a shard under another's name
        (folder / "shards" / "notes.txt").write_text("mine")
        shutil.copy(third, folder / "shards" / "999999-00000000.parquet")
        eb.run_study(small(replicates=1), tmp_path / "other")
        (stranger,) = shards(tmp_path / "other")
        shutil.copy(stranger, third)  # a shard of another study
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found, computed = resumed(folder)
        said = " ".join(str(one.message) for one in heard)
        for why in ("task differs", "is not a shard", "is not a task", "study differs"):
            assert why in said
        assert (len(heard), computed) == (4, 2)
        assert len(list((folder / "set-aside").iterdir())) == 4
        assert_same_rows(found, eb.load_results(finished))

    def test_shard_of_another_shape(self, folder):
        victim = shards(folder)[0]
        name = victim.stem
        hash = json.loads((folder / "study.json").read_text())["hash"]
        table, _ = store._read(victim, rows.SCHEMA)
        victim.write_bytes(store.parquet(table.drop_columns("gap"), study=hash, task=name))
        with pytest.warns(StoreWarning, match="other columns"):
            assert resumed(folder)[1] == 1
        victim.write_bytes(store.parquet(table.slice(1), study=hash, task=name))
        with pytest.warns(StoreWarning, match="has 2 rows, expected 3"):
            assert resumed(folder)[1] == 1

    @pytest.mark.parametrize("content", [b"", b"PAR1", None])
    def test_copy_of_all_rows_is_only_a_copy(self, folder, finished, content):
        copy = folder / "results.parquet"
        if content is None:
            copy.unlink()
        else:
            copy.write_bytes(content)
        assert eb.load_results(folder).equals(eb.load_results(finished))
        assert copy.stat().st_size > 1000

    def test_copy_is_not_believed_when_shards_went(self, folder):
        shards(folder)[0].unlink()
        assert len(eb.load_results(folder)) == 33
        shutil.rmtree(folder / "shards")
        assert len(eb.load_results(folder)) == 0

    def test_damaged_traces_are_left_out(self, folder, finished):
        whole = eb.load_traces(finished)
        victim = folder / "traces" / shards(folder)[0].name
        victim.write_bytes(victim.read_bytes()[:100])
        with pytest.warns(StoreWarning, match="left out"):
            assert 0 < len(eb.load_traces(folder)) < len(whole)

    @pytest.mark.parametrize("damage", ["gone", "all gone", "cut"])
    def test_lost_traces_are_computed_again(self, folder, finished, damage):
        victims = sorted((folder / "traces").iterdir())
        count = len(victims) if damage == "all gone" else 2
        for victim in victims[:count]:
            if damage == "cut":
                victim.write_bytes(victim.read_bytes()[:100])
            else:
                victim.unlink()
        if damage != "cut":  # whether they are whole is looked at when the study is run
            stopped = studies.study_progress(folder)
            assert (stopped.tasks_done, stopped.finished) == (12 - count, False)
            assert stopped.runs_done == 3 * (12 - count)
        assert_same_rows(eb.load_results(folder), eb.load_results(finished))
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            found, computed = resumed(folder)
        assert f"has lost the traces of {count} tasks" in str(heard[-1].message)
        assert (computed, len(heard)) == (count, 3 if damage == "cut" else 1)
        assert_same_rows(found, eb.load_results(finished))
        assert studies.study_progress(folder).finished
        whole, again = eb.load_traces(finished), eb.load_traces(folder)
        assert again.drop(columns=["cost", "seconds"]).equals(
            whole.drop(columns=["cost", "seconds"])
        )
        assert resumed(folder)[1] == 0

    def test_half_written_files_are_swept_up_when_old(self, folder):
        old, new = (folder / "shards" / f".tmp-{age}" for age in ("old", "new"))
        for path in (old, new):
            path.write_bytes(b"half")
        os.utime(old, (0, 0))
        assert len(resumed(folder)[0]) == 36
        assert (old.exists(), new.exists()) == (False, True)

    def test_loading_moves_nothing(self, folder):
        victim = shards(folder)[0]
        victim.write_bytes(b"PAR1")
        with pytest.warns(StoreWarning, match="left out until the study is run again"):
            assert len(eb.load_results(folder)) == 33
        assert victim.exists()
        assert not (folder / "set-aside").exists()

    def test_another_version_is_said(self, folder):
        path = folder / "study.json"
        path.write_text(path.read_text().replace(f'"{eb.__version__}"', '"0.0.1"'))
        with pytest.warns(StoreWarning, match=r"begun with elubench 0\.0\.1, this is"):
            resumed(folder)

    def test_other_columns_are_another_format(self):
        """Who changes the columns must change FORMAT, so that old folders are refused, not emptied."""
        text = f"{rows.SCHEMA} {rows.TRACE_SCHEMA}"
        columns = hashlib.sha256(text.encode()).hexdigest()[:12]
        assert (store.FORMAT, columns) == (2, "7ab323c7f3c0")


class TestAnotherStudy:
    def test_refused_with_what_differs(self, folder):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        with pytest.raises(StoreError, match=r"another study: block\[1\].replicates 6 there, 7 he"):
            eb.run_study(small(traces=4, replicates=7), folder)
        assert before == {path: path.read_bytes() for path in before}

    def test_folder_with_other_things(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("...")
        with pytest.raises(StoreError, match="has files in it but no study"):
            eb.run_study(small(), tmp_path)
        assert os.listdir(tmp_path) == ["thesis.tex"]
        with pytest.raises(StoreError, match=r"thesis.tex is a file"):
            eb.run_study(small(), tmp_path / "thesis.tex")

    @pytest.mark.parametrize(
        "there", [[], ["shards"], ["shards", "traces", ".tmp-1", "study.toml"]]
    )
    def test_folder_that_was_only_begun(self, tmp_path, there):
        (tmp_path / "out").mkdir()
        for name in there:
            (tmp_path / "out" / name).mkdir() if "s" in name[-1] else (
                tmp_path / "out" / name
            ).write_text("")
        assert eb.run_study(small(replicates=1), tmp_path / "out").finished

    def test_no_study(self, tmp_path):
        for load in (eb.load_results, eb.load_traces, studies.study_progress):
            with pytest.raises(StoreError, match=r"there is no study\.json"):
                load(tmp_path)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"{", "is not the description of a study"),
            (b"\xff{}", "is not the description of a study"),
            (b"[]", "is not the description of a study"),
            (b'{"format": 99}', "is of format 99; this version of elubench reads 2"),
            (b'{"format": 2}', "is not the description of a study"),
        ],
    )
    def test_damaged_description(self, folder, content, said):
        (folder / "study.json").write_bytes(content)
        with pytest.raises(StoreError, match=said):
            resumed(folder)

    def test_changed_description(self, folder):
        path = folder / "study.json"
        path.write_text(path.read_text().replace('"seed": 7', '"seed": 8'))
        with pytest.raises(StoreError, match="was changed, or is of another version"):
            eb.load_results(folder)

    @pytest.mark.parametrize(
        ("there", "instead"),
        [('"max_iter": 60', '"max_iter": 61'), ('"bounds": [', '"bounds": [0.5, ')],
    )
    def test_changed_behind_its_hash(self, there, instead, folder):
        """A run would go on, and nobody could read its results."""
        path = folder / "study.json"
        assert there in path.read_text()
        path.write_text(path.read_text().replace(there, instead))
        for use in (resumed, eb.load_results):
            with pytest.raises(StoreError, match=r"study\.json was changed"):
                use(folder)

    def test_plan_of_the_folder_is_followed(self, finished, folder, monkeypatch):
        """Another version may cut the study differently; the folder's own cut stays."""
        shards(folder)[2].unlink()
        monkeypatch.setattr(plan, "_TASK_SECONDS", 1e9)
        found, computed = resumed(folder)
        assert computed == 1
        assert_same_rows(found, eb.load_results(finished))


@pytest.mark.parametrize("windows", [True, False])
def test_a_file_that_is_being_read_is_replaced_when_it_is_free(windows, tmp_path, monkeypatch):
    """Windows refuses to rename over it; elsewhere a refusal is a lack of permission."""
    refusals, replace = [1, 2], os.replace

    def busy(source, target):
        if refusals:
            raise PermissionError(refusals.pop())
        replace(source, target)

    monkeypatch.setattr(whole, "_WINDOWS", windows)
    monkeypatch.setattr(whole, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr("os.replace", busy)
    if windows:
        store.write_whole(tmp_path / "x", b"new")
        assert (tmp_path / "x").read_bytes() == b"new"
    else:
        with pytest.raises(PermissionError):
            store.write_whole(tmp_path / "x", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["x"] * windows


class TestFullDisk:
    def test_no_space(self, tmp_path, monkeypatch, finished):
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        flush, calls = os.fsync, []

        def full(descriptor):
            calls.append(descriptor)
            if len(calls) > 20:
                raise OSError(errno.ENOSPC, "No space left on device")
            flush(descriptor)

        monkeypatch.setattr(store.os, "fsync", full)
        with pytest.raises(
            OSError, match=r"No space left on device.*run the study again"
        ) as caught:
            eb.run_study(small(traces=4), tmp_path / "out")
        assert caught.value.errno == errno.ENOSPC
        monkeypatch.undo()
        assert not list((tmp_path / "out").rglob(".tmp-*"))
        assert 0 < studies.study_progress(tmp_path / "out").tasks_done < 12
        assert_same_rows(resumed(tmp_path / "out")[0], eb.load_results(finished))

    def test_limit_on_the_size_of_files(self, tmp_path, finished, monkeypatch):
        resource = pytest.importorskip("resource")
        monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                eb.run_study(small(traces=4), tmp_path / "out")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        found = resumed(tmp_path / "out")[0]
        assert len(found) == 36
        assert_same_rows(found, eb.load_results(finished))

    def test_results_load_from_a_folder_that_cannot_be_written(self, folder, monkeypatch):
        (folder / "results.parquet").unlink()

        def refused(*_, **__):
            raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setattr(store, "write_whole", refused)
        assert len(eb.load_results(folder)) == 36


# A process that imports once and then forks a child for every attempt, so that a kill comes at a
# moment of the study and not of an import. Samples are small: no child enters a parallel region.
FORKING = """
import json, os, random, signal, sys, time, traceback, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
sys.path.append(TESTS)
import elubench as eb
from elubench.studies import plan
from study_tools import small
plan._TASK_SECONDS = 0.0

def begin(name):
    child = os.fork()
    if child == 0:
        try:
            eb.run_study(small(traces=4), f"{OUT}/{name}")
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return child

def wait(child):
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status

begun = time.perf_counter()
assert wait(begin("undisturbed")) == 0
whole = time.perf_counter() - begun
moments = random.Random(1)
killed, folder, complete = 0, 0, ["undisturbed"]
while killed < KILLS:
    child = begin(folder)
    time.sleep(moments.uniform(0, 0.6 * whole))
    os.kill(child, signal.SIGKILL)
    if wait(child) == 0:  # it was faster
        complete.append(folder)
        folder += 1
        whole *= 0.8  # the machine may have been busy as it was timed
    else:
        killed += 1
assert wait(begin(folder)) == 0
children = [begin("shared") for _ in range(3)]
assert [wait(child) for child in children] == [0, 0, 0]
print(json.dumps([*complete, folder]))
"""


@pytest.fixture(scope="module")
def forked(tmp_path_factory):
    """Studies of a process that was killed at random moments, and one that three shared."""
    out = tmp_path_factory.mktemp("forked")
    given = f"TESTS, OUT, KILLS = {str(ROOT / 'tests')!r}, {str(out)!r}, {KILLS}\n"
    return out, python(given + FORKING)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
class TestProcesses:
    def test_killed_at_random_moments(self, forked, finished):
        out, complete = forked
        expected = eb.load_results(finished)
        for folder in complete:
            assert_same_rows(eb.load_results(out / str(folder)), expected)
            assert not (out / str(folder) / "set-aside").exists()

    def test_processes_share_a_folder(self, forked, finished):
        shared = forked[0] / "shared"
        assert_same_rows(eb.load_results(shared), eb.load_results(finished))
        assert sorted(os.listdir(shared)) == sorted(os.listdir(finished))

    def test_two_studies_at_once_one_is_refused(self, tmp_path, monkeypatch):
        """Both find an empty folder; the one that comes second to study.json must notice."""
        out = tmp_path / "out"
        create = store.Store.create

        def late(*arguments):
            monkeypatch.setattr(store.Store, "create", staticmethod(create))
            eb.run_study(small(replicates=2), out)
            store.write_whole(out / "study.json", b"too late", keep=True)

        monkeypatch.setattr(store.Store, "create", staticmethod(late))
        with pytest.raises(StoreError, match="another study"):
            eb.run_study(small(), out)
        assert len(eb.load_results(out)) == 3 * 2 * 2


def test_many_rows_load_through_one_file(tmp_path, monkeypatch):
    """The second load reads no shard at all."""
    monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)
    eb.run_study(small(replicates=scaled(20, 4)), tmp_path / "out")
    before = eb.load_results(tmp_path / "out")
    monkeypatch.setattr(store.Store, "_tables", lambda self, tasks, *_: iter(tasks))
    assert before.equals(eb.load_results(tmp_path / "out"))
