"""Samples on a Dask cluster: the bits of rows in memory, also when workers die."""

import json
import os
import random
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from conftest import needs_jit, python
from test_engines import family  # noqa: F401 - a fixture
from test_files import ROWS, assert_same

import elubench as eb
from elubench import cli
from elubench.kernels.tiles import BLOCK_ROWS
from elubench.samples import chunked
from elubench.samples import cluster as cluster_module
from elubench.samples import dask as dask_module
from elubench.samples.cluster import EngineError
from elubench.samples.dask import RepartitionWarning

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

#: How many times a worker is killed; 100 in a thorough check.
FIT_KILLS = int(os.environ.get("ELUBENCH_TEST_FIT_KILLS", "1"))


@pytest.fixture(scope="module")
def client():
    """Two workers that are threads of this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs="CRITICAL",
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
        yield client


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((ROWS, 2)) + 1.5 * rng.choice([-1.0, 1.0], (ROWS, 1)) + [0.0, 3.0]


@needs_jit
class TestBits:
    @pytest.mark.parametrize("rows", [BLOCK_ROWS, 2 * BLOCK_ROWS, 3 * BLOCK_ROWS, ROWS])
    def test_partitions_of_whole_blocks(self, X, client, rows):
        """No rows move, hence no warning, which would be an error."""
        collection = da.from_array(X, chunks=(rows, 2))
        assert_same(eb.DaskSample(collection, client=client), eb.ArraySample(X))

    def test_other_partitions(self, X, client):
        for chunks in ((1000, 2), (7000, 1), ((100, ROWS - 100), 2)):
            with pytest.warns(RepartitionWarning, match="rows are moved between workers"):
                sample = eb.DaskSample(da.from_array(X, chunks=chunks), client=client)
            assert_same(sample, eb.ArraySample(X))

    def test_other_kinds(self, X, client):
        values = (10.0 * X).astype(np.int16)
        sample = eb.DaskSample(da.from_array(values, chunks=BLOCK_ROWS), client=client)
        assert_same(sample, eb.ArraySample(values))

    def test_columns_and_weights(self, X, client):
        weights = np.random.default_rng(1).random(ROWS)
        table = np.column_stack([weights, X])
        collection = da.from_array(table, chunks=(BLOCK_ROWS, 3))
        assert_same(eb.DaskSample(collection, "1", client=client), eb.ArraySample(X, weights))
        sample = eb.DaskSample(collection, collection[:, 0], ["3", "2"], client)
        assert_same(sample, eb.ArraySample(X[:, ::-1], weights))

    @pytest.mark.filterwarnings("ignore::elubench.samples.dask.RepartitionWarning")
    def test_frames_and_files(self, X, client, tmp_path):
        frame = pd.DataFrame(X, columns=["a", "b"]).assign(w=np.arange(ROWS) % 3)
        expected = eb.ArraySample(X, frame["w"])
        assert_same(
            eb.DaskSample(dd.from_pandas(frame, npartitions=3), "w", client=client), expected
        )
        cuts = [0, 100, 5000, ROWS]
        for k in range(3):
            part = frame.iloc[cuts[k] : cuts[k + 1]]
            part.to_parquet(tmp_path / f"x{k}.parquet")
            part.to_csv(tmp_path / f"x{k}.csv", index=False)
            np.save(tmp_path / f"x{k}.npy", part.to_numpy())
        for suffix in ("parquet", "csv"):
            given = str(tmp_path / f"*.{suffix}")
            assert_same(eb.DaskSample(given, "w", client=client), expected)
        several = [tmp_path / f"x{k}.npy" for k in range(3)]
        assert_same(eb.DaskSample(several, "3", client=client), expected)

    def test_moved(self, X, client):
        sample = eb.DaskSample(da.from_array(X + 1e6, chunks=(BLOCK_ROWS, 2)), client=client)
        memory = eb.ArraySample(X + 1e6)
        np.testing.assert_array_equal(sample.origin(), memory.origin())
        assert_same(sample.about(sample.origin()), memory.about(memory.origin()))

    def test_bundles(self, X, client, monkeypatch):
        """Both workers have their share, in one task or in several."""
        collection = da.from_array(X, chunks=(BLOCK_ROWS, 2))
        one = eb.DaskSample(collection, client=client)
        assert sorted(map(len, one._groups)) == [3, 3]
        monkeypatch.setattr(dask_module, "_BUNDLE_NUMBERS", 2 * BLOCK_ROWS * 2)
        many = eb.DaskSample(collection, client=client)
        assert sorted(map(len, many._groups)) == [1, 1, 2, 2]
        assert_same(one, many)

    def test_without_a_client(self, X):
        """Threads of this process, which needs no guard and is quiet at the end."""
        code = (
            "import json, sys, dask.array as da, numpy as np, elubench as eb\n"
            "rows = da.from_array(np.random.default_rng(0).standard_normal((8192, 2)), chunks=4096)\n"
            "clients = {id(eb.DaskSample(rows)._client) for _ in range(2)}\n"
            "print(json.dumps([len(clients), eb.DaskSample(rows).n]))"
        )
        assert python(code) == [1, 8192]

    def test_lengths_that_dask_does_not_know(self, X, client):
        collection = da.from_array(X, chunks=(BLOCK_ROWS, 2))
        unknown = collection[collection[:, 0] > -np.inf]
        assert_same(eb.DaskSample(unknown, client=client), eb.ArraySample(X))


@needs_jit
class TestFit:
    def test_same_fit(self, X, client):
        with client.as_current():
            found = eb.fit(da.from_array(X, chunks=(BLOCK_ROWS, 2)))
        assert found.as_dict() | {"seconds": 0} == eb.fit(X).as_dict() | {"seconds": 0}
        assert found.run.passes <= 10

    def test_one_column_is_condensed(self, client, monkeypatch):
        monkeypatch.setattr(chunked, "CHUNK_ROWS", BLOCK_ROWS)
        x = np.random.default_rng(0).standard_normal((60_000, 1))
        sample = eb.DaskSample(da.from_array(x, chunks=(BLOCK_ROWS, 1)), client=client)
        assert isinstance(sample.compact, eb.CondensedSample)
        np.testing.assert_allclose(
            eb.fit(sample, algorithm="em").location, eb.fit(x, algorithm="em").location, rtol=1e-9
        )

    def test_validation(self, X, client, tmp_path):
        """The same rows are held out as of a file."""
        np.save(tmp_path / "x.npy", X)
        sample = eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client)
        parts = sample.split(0.2, seed=5), eb.FileSample(tmp_path / "x.npy").split(0.2, seed=5)
        for one, two in zip(*parts, strict=True):
            np.testing.assert_array_equal(one.moments().m2, two.moments().m2)

    def test_some_rows(self, X, client):
        sample = eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client)
        np.testing.assert_array_equal(sample.some_rows(10**6).rows(), X)


@needs_jit
class TestRefuses:
    def test_bad_number(self, X, client):
        rows = X.copy()
        rows[9000, 1] = np.nan
        with pytest.raises(ValueError, match="got NaN in row 9,001, column '2'"):
            eb.DaskSample(da.from_array(rows, chunks=(BLOCK_ROWS, 2)), client=client)

    def test_what_is_no_collection(self, client):
        with pytest.raises(TypeError, match="collection must be a Dask array or DataFrame"):
            eb.DaskSample(3.0, client=client)
        frame = dd.from_pandas(pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), npartitions=1)
        with pytest.raises(ValueError, match="column 'a' is not numeric"):
            eb.DaskSample(frame, client=client)
        with pytest.raises(ValueError, match="weights must be a column or a Dask array"):
            eb.DaskSample(da.ones((10, 2)), np.ones(10), client=client)

    def test_other_version(self, X):
        with pytest.raises(EngineError, match="the worker has elubench"):
            dask_module._pack(X, None, 0, ["1", "2"], "0.0.0")

    def test_closed(self, X, client):
        with eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client) as sample:
            sample.moments()
        with pytest.raises(ValueError, match="the sample is closed"):
            sample.sums(np.ones((1, 2)), np.zeros(1), 0)


@needs_jit
class TestAccidents:
    @pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
    def test_killed_workers(self, X):
        """Processes of this machine, one of which is killed at some moment of a fit."""
        expected = eb.fit(X).as_dict() | {"seconds": 0}
        with cluster_module.client_at(None, 2) as client:
            for number in range(FIT_KILLS):
                moment = random.Random(number).uniform(0.0, 0.5)
                victim = random.Random(number).choice(sorted(client.run(os.getpid).values()))

                def kill(victim=victim, moment=moment):
                    time.sleep(moment)
                    os.kill(victim, signal.SIGKILL)

                sample = eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client)
                killer = threading.Thread(target=kill)
                killer.start()
                found = [eb.fit(sample).as_dict() for _ in range(2)]
                killer.join()
                found.append(eb.fit(sample).as_dict())  # what was lost is packed again
                assert [one | {"seconds": 0} for one in found] == [expected] * 3

    def test_gone_for_good(self, X, family, monkeypatch):  # noqa: F811
        """First the only worker, then the scheduler."""
        worker = family.worker()
        with cluster_module.client_at(family.address) as client:
            sample = eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client)
            sample.moments()
            monkeypatch.setattr(cluster_module, "PATIENCE", 2.0)
            for victim, said in (
                (worker, r"there has been no Dask worker at tcp://.* for 2 s; the data"),
                (
                    family.scheduler,
                    "the connection to the Dask scheduler at tcp://.* was lost; the",
                ),
            ):
                victim.kill()
                with pytest.raises(EngineError, match=said):
                    [sample.sums(np.ones((1, 2)), np.zeros(1), 0) for _ in range(1000)]

    def test_too_little_memory(self, X, client, monkeypatch):
        """As Dask says it when one worker after the other dies."""

        async def gather(self, *_, **__):
            raise distributed.KilledWorker("pack", None, 3)

        sample = eb.DaskSample(da.from_array(X, chunks=(BLOCK_ROWS, 2)), client=client)
        monkeypatch.setattr(distributed.Client, "_gather", gather)
        with pytest.raises(EngineError, match="workers died repeatedly: too little memory"):
            sample._results(sample._bundles[:1])


@needs_jit
class TestCommand:
    def test_fit(self, X, client, tmp_path, capsys):
        np.save(tmp_path / "x.npy", X)
        arguments = ["fit", str(tmp_path / "x.npy"), "--json"]
        assert cli.main(arguments) == 0
        expected = json.loads(capsys.readouterr().out)
        address = client.scheduler.address
        assert cli.main([*arguments, "--engine", "dask", "--scheduler", address]) == 0
        found = json.loads(capsys.readouterr().out)
        for values in (found, expected):
            del values["seconds"]
            values.pop("cost", None)
        assert found == expected

    def test_wrong_options(self, tmp_path, capsys):
        assert cli.main(["fit", "x.npy", "--workers", "2"]) == 2
        assert "workers must be None unless engine is 'dask'" in capsys.readouterr().err
