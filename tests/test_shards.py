"""Shards of a study, on one folder or on several that are merged; a job array of SLURM."""

import os
import re
import shutil
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import PATIENCE, ROOT
from study_tools import assert_same_rows, replace_run, small

import elubench as eb
from elubench import cli
from elubench.studies import plan, reading
from elubench.studies.store import StoreError, parquet

STUDY = small(replicates=3, traces=5)


@pytest.fixture(autouse=True)
def _many_tasks(monkeypatch):
    monkeypatch.setattr(plan, "_TASK_SECONDS", 0.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "_TASK_SECONDS", 0.0)
        eb.run_study(STUDY, out)
    return out


@pytest.fixture
def shards(tmp_path):
    for number in (1, 2):
        eb.run_study(STUDY, tmp_path / str(number), shard=f"{number}/2")
    return [tmp_path / "1", tmp_path / "2"]


def names(folder):
    return sorted(os.listdir(folder / "shards"))


@pytest.mark.parametrize("count", [1, 2, 4, 7])
def test_every_task_is_in_one_shard(count):
    tasks = plan.plan(reading.load(STUDY)).tasks
    parts = [plan.shard_of(tasks, f"{number}/{count}") for number in range(1, count + 1)]
    assert sorted(task for part in parts for task in part) == sorted(tasks)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1/0", "2", "a/b", "-1/2", "1/2/3", "", "1.0/2"])
def test_bad_shards(shard, tmp_path):
    with pytest.raises(ValueError, match="shard"):
        eb.run_study(STUDY, tmp_path / "out", shard=shard)
    assert not (tmp_path / "out").exists()


def test_shards_on_one_folder(whole, tmp_path):
    first = eb.run_study(STUDY, tmp_path / "out", shard="1/2")
    assert not first.finished
    assert first.tasks_done == 3
    assert eb.run_study(STUDY, tmp_path / "out", shard="1/2").tasks_done == 3
    assert eb.run_study(STUDY, tmp_path / "out", shard="2/2").finished
    assert_same_rows(eb.load_results(tmp_path / "out"), eb.load_results(whole))


def test_only_failed_tasks_of_the_shard_are_retried(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("not today")

    with monkeypatch.context() as patch:
        replace_run(patch, fail)
        before = eb.run_study(STUDY, tmp_path / "out")
    assert before.failed == before.runs
    after = eb.run_study(STUDY, tmp_path / "out", shard="2/2", retry_failed=True)
    assert after.failed == before.runs // 2
    assert after.finished


class TestMerge:
    def test_rows_and_traces(self, whole, shards, tmp_path):
        ended = eb.merge_studies(shards, tmp_path / "all")
        assert ended.finished
        assert_same_rows(eb.load_results(tmp_path / "all"), eb.load_results(whole))
        kept = [name for name in eb.load_traces(whole).columns if name not in ("cost", "seconds")]
        keys = ["n", "replicate", "algorithm", "t"]
        found, expected = (
            eb.load_traces(out)[kept].sort_values(keys, ignore_index=True)
            for out in (tmp_path / "all", whole)
        )
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
        assert eb.run_study(STUDY, tmp_path / "all").finished

    def test_into_a_folder_that_has_some(self, shards):
        assert eb.merge_studies(shards[1:], shards[0]).finished
        assert eb.merge_studies(shards, shards[0]).finished

    def test_what_is_missing_is_run_later(self, whole, shards, tmp_path):
        assert eb.merge_studies(shards[:1], tmp_path / "all").tasks_done == 3
        assert eb.run_study(STUDY, tmp_path / "all").finished
        assert_same_rows(eb.load_results(tmp_path / "all"), eb.load_results(whole))

    def test_duplicates_that_agree(self, whole, shards, tmp_path):
        assert eb.merge_studies([whole, *shards], tmp_path / "all").finished

    @pytest.mark.parametrize("part", ["shards", "traces"])
    def test_duplicates_that_differ_in_a_bit(self, whole, tmp_path, part):
        copy = tmp_path / "copy"
        shutil.copytree(whole, copy)
        path = copy / part / names(copy)[0]
        table = pq.read_table(path)
        labels = {
            key.decode().removeprefix("elubench_"): value.decode()
            for key, value in table.schema.metadata.items()
        }
        frame = table.to_pandas()
        frame.loc[0, "gap"] *= 1.0 + 2.0**-52
        changed = table.from_pandas(frame, schema=table.schema, preserve_index=False)
        path.write_bytes(parquet(changed, **labels))
        with pytest.raises(StoreError, match=rf"different rows for task {path.stem}"):
            eb.merge_studies([whole, copy], tmp_path / "all")

    def test_other_studies(self, whole, tmp_path):
        eb.run_study(STUDY | {"seed": 8}, tmp_path / "other", shard="1/6")
        with pytest.raises(StoreError, match=r"other holds another study than .*: seed"):
            eb.merge_studies([whole, tmp_path / "other"], tmp_path / "all")
        with pytest.raises(StoreError, match="other holds another study"):
            eb.merge_studies([whole], tmp_path / "other")
        with pytest.raises(StoreError, match="is not the folder of a study"):
            eb.merge_studies([whole, tmp_path / "none"], tmp_path / "all")
        with pytest.raises(ValueError, match="at least one study, got none"):
            eb.merge_studies([], tmp_path / "all")
        assert not (tmp_path / "all").exists()


def test_commands(whole, tmp_path, capsys):
    spec = tmp_path / "study.toml"
    spec.write_text((ROOT / "tests" / "data" / "shards.toml").read_text())
    for number in (1, 2):
        out = str(tmp_path / str(number))
        assert cli.main(["study", "run", str(spec), "--out", out, "--shard", f"{number}/2"]) == 0
    folders = [str(tmp_path / "1"), str(tmp_path / "2")]
    capsys.readouterr()
    assert cli.main(["study", "merge", *folders, "--out", str(tmp_path / "all")]) == 0
    assert "4 of 4 runs done" in capsys.readouterr().out
    assert cli.main(["study", "run", str(spec), "--out", str(tmp_path / "x"), "--shard", "5"]) == 2
    assert "shard must be i/N" in capsys.readouterr().err


@pytest.mark.skipif(
    os.name != "posix" or shutil.which("bash") is None, reason="needs POSIX and bash"
)
def test_job_array(tmp_path):
    """The script in the documentation, its tasks one after the other."""
    script = re.search(
        r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", (ROOT / "EXTENDING.md").read_text(), re.S
    )
    (tmp_path / "job.sh").write_text(script[1])
    shutil.copy(ROOT / "tests" / "data" / "shards.toml", tmp_path / "grid.toml")
    first, last = map(int, re.search(r"--array=(\d+)-(\d+)", script[1]).groups())
    assert first == 1
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "elubench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m elubench "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "SLURM_ARRAY_TASK_MAX": str(last),
        "SLURM_CPUS_PER_TASK": "1",
    }
    for task in (1, 2):
        done = subprocess.run(
            ["bash", "job.sh"], cwd=tmp_path, env={**environment, "SLURM_ARRAY_TASK_ID": str(task)},
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len(eb.load_results(tmp_path / "results")) == 4
