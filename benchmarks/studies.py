"""Studies, for asv: how long results take to load, and what the machinery costs beside the compute.

``python -m benchmarks.studies`` prints both against their limits: 10^5 rows in two seconds, and five
per cent for tasks of a second.
"""

import contextlib
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.profiles import Suite, grid, once
from elubench import __version__, load_results, run_study
from elubench.studies import mle, performing, reading, store
from elubench.studies.plan import plan
from elubench.studies.rows import SCHEMA

ROWS_PER_SHARD = 100


def make_folder(folder, shards):
    """A finished study of so many shards, its rows made up."""
    contestants = [{"name": "ELU", "beta": 0.5 + 0.004 * k} for k in range(ROWS_PER_SHARD)]
    block = {"models": "isotropic", "d": 1, "n": 1000, "replicates": shards}
    study = reading.load({"block": [{**block, "algorithms": contestants}]})
    cut = plan(study, tuple(range(shards + 1)))
    description = {
        "name": "made up",
        "elubench": __version__,
        "hash": study.hash,
        "spec": study.canonical(),
        "bounds": cut.bounds,
    }
    store.Store.create(folder, description, None)
    rng = np.random.default_rng(0)
    for task in cut.tasks:
        columns = {}
        for field in SCHEMA:
            if pa.types.is_string(field.type):
                values = [f"{field.name} {k % 3}" for k in range(ROWS_PER_SHARD)]
            elif pa.types.is_boolean(field.type):
                values = rng.random(ROWS_PER_SHARD) < 0.5
            elif pa.types.is_integer(field.type):
                values = rng.integers(0, 10**6, ROWS_PER_SHARD)
            else:
                values = rng.random(ROWS_PER_SHARD)
            columns[field.name] = pa.array(values, field.type)
        columns["block"] = pa.array(["block1"] * ROWS_PER_SHARD)
        content, _ = store.packed(study.hash, task.name, pa.table(columns, schema=SCHEMA), None)
        (folder / "shards" / f"{task.name}.parquet").write_bytes(content)


class Loading(Suite):
    """Rows of a study: from its shards, and from the one file that the first load leaves behind."""

    params = (grid(100, regular=(1000,)),)
    param_names = ("shards",)

    @once
    def setup(self, shards):
        self.folder = Path.cwd() / "study"  # asv's own folder, which it removes
        make_folder(self.folder, shards)
        assert len(load_results(self.folder)) == shards * ROWS_PER_SHARD

    def time_load(self, shards):
        load_results(self.folder)

    def track_first_load(self, shards):
        """Seconds for the shards one by one."""
        (self.folder / "results.parquet").unlink(missing_ok=True)
        begun = time.perf_counter()
        load_results(self.folder)
        return time.perf_counter() - begun

    track_first_load.unit = "s"


class Overhead(Suite):
    """What is not drawing samples and running algorithms, in tasks that are planned for a second."""

    params = (grid(2, regular=(10,)),)
    param_names = ("tasks",)

    @once
    def setup(self, count):
        self.spec = reading.load(
            {
                "block": [
                    {
                        "models": "isotropic",
                        "d": 1,
                        "n": [1e8],
                        "samples": "lattice",
                        "replicates": 12 * count,
                        "algorithms": ["EM", "ELU", "SQUAREM", "LBFGS", "NewtonAnderson"],
                        "radius_constant": 0.1,
                        "max_iter": 60_000,
                    }
                ]
            }
        )
        with tempfile.TemporaryDirectory() as folder:  # loads the kernels
            run_study({"block": [{**_plain(self.spec), "replicates": 1}]}, Path(folder) / "out")

    def track_share(self, count):
        """Per cent of the time."""
        spent = []

        def clocked(function):
            def call(*arguments, **options):
                begun = time.perf_counter()
                try:
                    return function(*arguments, **options)
                finally:
                    spent.append(time.perf_counter() - begun)

            return call

        work = [(performing, "run"), (mle, "run"), (performing, "_sample")]
        own = [(module, name, getattr(module, name)) for module, name in work]
        with tempfile.TemporaryDirectory() as folder:
            try:
                for module, name, function in own:
                    setattr(module, name, clocked(function))
                begun = time.perf_counter()
                ended = run_study(self.spec, Path(folder) / "out")
                whole = time.perf_counter() - begun
            finally:
                for module, name, function in own:
                    setattr(module, name, function)
        assert ended.finished
        self.task_seconds = whole / ended.tasks
        return 100.0 * (1.0 - sum(spent) / whole)

    track_share.unit = "%"


def _plain(spec):
    """A block with its sizes, as a study would have it."""
    block = spec.blocks[0]
    return {
        "models": list(block.models),
        "d": 1,
        "n": [n for n, _ in block.sizes],
        "samples": block.samples,
        "algorithms": [one.algorithm.name for one in block.contestants],
        "radius_constant": block.radius_constant,
        "max_iter": block.contestants[0].max_iter,
    }


def main():
    loading = Loading()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        loading.setup(1000)
        first = loading.track_first_load(1000)
        begun = time.perf_counter()
        loading.time_load(1000)
        again = time.perf_counter() - begun
    overhead = Overhead()
    overhead.setup(10)
    share = overhead.track_share(10)
    print(f"10^5 rows from 1000 shards   {first:.2f} s the first time")
    print(f"10^5 rows                    {again:.2f} s from then on (limit 2 s)")
    print(f"machinery                    {share:.1f} % (limit 5 %)")
    print(f"  in tasks of                {overhead.task_seconds:.2f} s")


if __name__ == "__main__":
    main()
