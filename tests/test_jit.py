"""Compilation and the kernel cache: nothing at import, everything once, no fault fatal."""

import functools
import gc
import importlib
import os
import shutil
import sys
import threading
from pathlib import Path

import numba
import numpy as np
import pytest
from conftest import JIT, ROOT, needs_jit, python

from elubench.kernels import _cache, _jit, _sources

SIGNATURE = numba.types.float64(numba.types.float64)


def cube(x):
    return x * x * x


def offset_by_two(x):
    return x + 2.0


_source_hash = functools.cache(_sources.source_hash)  # parses all sources


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty kernel cache, and a registry of its own."""
    monkeypatch.setattr(_cache, "source_hash", _source_hash)
    _jit.known_kernels()  # imports whatever registers kernels, before the registry is another
    monkeypatch.setenv("ELUBENCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
    monkeypatch.setattr(_jit, "_registry", [])
    return _cache.cache_folder()


def make(function=cube):
    """A new kernel, as a new process would have it."""
    return _jit.kernel("exact", SIGNATURE)(function)


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


def misses(dispatcher):
    return sum(dispatcher.stats.cache_misses.values())


def files(folder, ending):
    return sorted(folder.glob(f"*.{ending}"))


@needs_jit
def test_a_kernel_without_a_signature_is_for_kernels(folder):
    """A call from Python is an error, also after another kernel has had it compiled."""
    part = _jit.kernel("exact")(cube)

    def whole(x):
        return part(x) - 1.0

    for _ in range(2):
        with pytest.raises(TypeError, match="cube has no signature"):
            part(2.0)
        assert _jit.ready(_jit.kernel("exact", SIGNATURE)(whole))(2.0) == 7.0


@needs_jit
def test_a_part_of_a_kernel_is_no_machine_code_by_itself(folder):
    """Its callers have all of it, and Python cannot call it."""
    part = _jit.kernel("exact", counted=False)(cube)

    def whole(x):
        return part(x) - 1.0

    assert _jit.ready(_jit.kernel("exact", SIGNATURE)(whole))(2.0) == 7.0
    (result,) = part.overloads.values()
    assert "mul" in result.library.get_llvm_str()
    engine = result.library._codegen._engine
    assert not engine.is_symbol_defined(result.fndesc.llvm_func_name)
    with pytest.raises(TypeError, match="cube has no signature"):
        part(2.0)


@needs_jit
def test_a_plain_kernel_is_a_function_for_python(folder):
    """The same before and after another kernel has had it compiled."""
    part = _jit.kernel("exact", plain=True)(cube)

    def whole(x):
        return part(x) - 1.0

    assert part(np.array([2.0, 3.0])).tolist() == [8.0, 27.0]  # of any type
    assert _jit.ready(_jit.kernel("exact", SIGNATURE)(whole))(2.0) == 7.0
    assert part(2) == 8


@needs_jit
def test_every_kernel_can_be_kept():
    """Numba does not cache what refers to addresses of this process, and only warns of it."""
    for kernel in _jit.known_kernels():
        if not kernel._cache.has_some():
            made = _jit.compiled_now(kernel).overloads.values()
            assert not any(one.library.has_dynamic_globals for one in made), kernel.py_func


@needs_jit
class TestListening:
    def test_hears_of_what_is_compiled_and_not_of_what_is_loaded(self, folder):
        heard = []

        class Ears(_jit.Listener):
            def begins(self):
                heard.append(0.0)

            def compiled(self, seconds):
                heard.append(seconds)

        with _jit.listening(Ears()):
            _jit.ready(make())
            assert len(heard) == 2
            assert heard[1] > heard[0] == 0.0
            _jit.ready(make())  # from the cache
        _jit.ready(make(offset_by_two))  # nobody listens any more
        assert len(heard) == 2

    def test_progress_of_warmup(self, folder):
        make()
        make(offset_by_two)
        seen = []
        _jit.warmup(lambda done, kernels: seen.append((done, kernels)))
        assert seen == [(1, 2), (2, 2)]

    def test_garbage_collection_goes_on_afterwards(self, folder):
        wrong = _jit.kernel("exact", SIGNATURE)(lambda x: x.nothing)
        assert gc.isenabled()
        with pytest.raises(numba.TypingError):
            _jit.ready(wrong)
        assert gc.isenabled()
        gc.disable()
        try:
            _jit.ready(make())
            assert not gc.isenabled()
        finally:
            gc.enable()


@needs_jit
def test_a_kernel_that_was_compiled_for_another_one_is_in_the_cache(folder):
    """As a part of another kernel it is asked for by its arguments alone, without what it returns."""
    part = make()

    def both(x):
        return part(x) + 1.0

    assert _jit.ready(_jit.kernel("exact", SIGNATURE)(both))(2.0) == 9.0
    assert misses(part) == 1
    again = _jit.ready(make())
    assert (hits(again), misses(again)) == (1, 0)


@needs_jit
class TestReady:
    def test_compiles_once_on_first_use(self, folder):
        kernel = make()
        assert not kernel.overloads
        assert _jit.ready(kernel) is kernel
        assert _jit.ready(kernel)(3.0) == 27.0
        assert (hits(kernel), misses(kernel)) == (0, 1)

    def test_other_types_are_refused(self, folder):
        kernel = _jit.ready(make())
        with pytest.raises(TypeError):
            kernel(1j)

    def test_threads_compile_a_kernel_once(self, folder, monkeypatch):
        kernel = make()
        compilations = []
        compile_one = kernel.compile

        def compile_slowly(signature):
            compilations.append(signature)
            started.wait(5)
            return compile_one(signature)

        started = threading.Event()
        monkeypatch.setattr(kernel, "compile", compile_slowly)
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(_jit.ready(kernel)(2.0)))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        started.set()
        for thread in threads:
            thread.join()
        assert results == [8.0] * 4
        assert len(compilations) == 1

    def test_warmup_compiles_all(self, folder):
        kernels = [make(), make(offset_by_two)]
        _jit.warmup()
        assert all(kernel.overloads for kernel in kernels)

    def test_kernels_without_signature_are_not_in_the_registry(self, folder):
        _jit.kernel("exact")(cube)
        assert _jit._registry == []


@needs_jit
class TestState:
    def test_counts(self, folder):
        kernels = [make(), make(offset_by_two)]
        assert _jit.cache_state() == {"kernels": 2, "cached": 0, "compiled": 0}
        _jit.ready(kernels[0])
        assert _jit.cache_state() == {"kernels": 2, "cached": 1, "compiled": 1}
        _jit.warmup()
        assert _jit.cache_state() == {"kernels": 2, "cached": 2, "compiled": 2}

    def test_cached_by_another_process(self, folder):
        _jit.ready(make())
        _jit._registry.clear()
        make()
        assert _jit.cache_state() == {"kernels": 1, "cached": 1, "compiled": 0}

    def test_without_a_folder(self, monkeypatch, folder):
        monkeypatch.setattr(_cache, "_folder", None)
        _jit.ready(make())
        assert _jit.cache_state() == {"kernels": 1, "cached": 0, "compiled": 1}


@needs_jit
class TestCache:
    def test_a_second_process_loads(self, folder):
        _jit.ready(make())
        again = _jit.ready(make())
        assert again(3.0) == 27.0
        assert (hits(again), misses(again)) == (1, 0)

    def test_functions_do_not_meet(self, folder):
        first, second = _jit.ready(make()), _jit.ready(make(offset_by_two))
        assert (first(3.0), second(3.0)) == (27.0, 5.0)
        assert (hits(first), hits(second)) == (0, 0)
        assert len(files(folder, "nbi")) == 2
        assert len(files(folder, "nbc")) == 2

    @pytest.mark.parametrize("ending", ["nbi", "nbc"])
    @pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.95])
    def test_truncated_files(self, folder, ending, kept):
        _jit.ready(make())
        (damaged,) = files(folder, ending)
        whole = damaged.read_bytes()
        damaged.write_bytes(whole[: int(kept * len(whole))])
        again = _jit.ready(make())
        assert again(3.0) == 27.0
        assert hits(again) == 0
        # and what was damaged is whole again
        repaired = _jit.ready(make())
        assert repaired(3.0) == 27.0
        assert hits(repaired) == 1

    @pytest.mark.parametrize("ending", ["nbi", "nbc"])
    @pytest.mark.parametrize("content", [b"\x00" * 400, b"not a pickle", b"\x80\x05K\x01."])
    def test_files_of_something_else(self, folder, ending, content):
        _jit.ready(make())
        (damaged,) = files(folder, ending)
        damaged.write_bytes(content)
        assert _jit.ready(make())(3.0) == 27.0
        repaired = _jit.ready(make())
        assert repaired(3.0) == 27.0
        assert hits(repaired) == 1

    def test_missing_code_file(self, folder):
        _jit.ready(make())
        (code,) = files(folder, "nbc")
        code.unlink()
        again = _jit.ready(make())
        assert again(3.0) == 27.0
        assert hits(again) == 0

    def test_a_folder_that_vanished(self, folder):
        kernel = make()
        shutil.rmtree(folder)
        assert _jit.ready(kernel)(3.0) == 27.0

    @pytest.mark.parametrize("operation", ["load_overload", "save_overload"])
    def test_a_disk_that_fails(self, folder, monkeypatch, operation):
        def fail(*arguments):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(_cache._FunctionCache, operation, fail)
        assert _jit.ready(make())(3.0) == 27.0

    def test_source_stamp_follows_the_file(self, folder, tmp_path):
        source = tmp_path / "kernels.py"
        stamps = []
        for body in ("x = 1\n", "x = 2\n", "x = 1\n"):
            source.write_text(body)
            stamps.append(_cache._Locator.from_function(cube, str(source)).get_source_stamp())
        assert stamps[0] != stamps[1]
        assert stamps[0] == stamps[2]

    OUTSIDE = {  # noqa: RUF012
        "stamped_kernel.py": """
import numpy as np
from elubench.kernels import kernel
from elubench.kernels.vectors import norm
import stamped_names as names
from stamped_helper import helper
@kernel("exact", "float64(float64)")
def entry(x):
    return helper(x) + names.SHIFT + names.deep.by_name(x) + norm(np.ones(1)) - 1.0
""",
        "stamped_helper.py": """
import numba
from stamped_deep import deep
@numba.njit
def helper(x):
    return deep(x)
""",
        "stamped_names.py": "import stamped_deep as deep\nfrom stamped_values import SHIFT\n",
        "stamped_values.py": "SHIFT = 0.5\n",
        "stamped_deep.py": """
import numba
@numba.njit
def deep(x):
    return 2.0 * x
@numba.njit
def by_name(x):
    return 3.0 * x
""",
        "stamped_other.py": "UNUSED = 1\n",
    }

    @pytest.mark.parametrize(
        ("name", "old", "new", "same"),
        [
            ("stamped_kernel.py", "- 1.0", "- 2.0", False),
            ("stamped_helper.py", "deep(x)", "-deep(x)", False),
            ("stamped_deep.py", "2.0 * x", "7.0 * x", False),
            ("stamped_deep.py", "3.0 * x", "7.0 * x", False),
            ("stamped_values.py", "0.5", "1.5", False),
            ("stamped_other.py", "1", "2", True),
        ],
    )
    def test_an_edit_to_what_a_kernel_from_outside_calls(
        self, folder, tmp_path, monkeypatch, name, old, new, same
    ):
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        monkeypatch.setattr(_jit, "_registry", [])

        def stamp():
            for file in self.OUTSIDE:
                monkeypatch.delitem(sys.modules, file.removesuffix(".py"), raising=False)
            entry = importlib.import_module("stamped_kernel").entry
            function, source = getattr(entry, "py_func", entry), tmp_path / "stamped_kernel.py"
            return _cache._Locator.from_function(function, str(source)).get_source_stamp()

        for file, text in self.OUTSIDE.items():
            (tmp_path / file).write_text(text)
        before = stamp()
        assert stamp() == before
        edited = tmp_path / name
        edited.write_text(edited.read_text().replace(old, new))
        assert (stamp() == before) is same


class TestFolder:
    def test_environment_variable(self, tmp_path, folder):
        assert folder.parent == tmp_path
        assert folder.is_dir()
        text = _sources.text_hash()
        assert [file.name for file in folder.iterdir()] == [f".text-{text}"]  # the probe is gone

    def test_found_again_without_parsing(self, folder, monkeypatch):
        monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
        monkeypatch.setattr(_cache, "source_hash", None)
        assert _cache.cache_folder() == folder
        monkeypatch.setattr(_cache, "text_hash", lambda: "edited")
        monkeypatch.setattr(_cache, "source_hash", lambda: "another")
        monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
        assert _cache.cache_folder() == folder.parent / "another"

    def test_private(self, folder):
        if os.name == "posix":
            assert folder.stat().st_mode & 0o077 == 0

    @pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
    class TestOthers:
        """Machine code is loaded only from where nobody else could have put it."""

        @pytest.fixture
        def found(self, tmp_path, monkeypatch):
            monkeypatch.setattr(_cache, "source_hash", _source_hash)

            def look(base=tmp_path):
                monkeypatch.setenv("ELUBENCH_CACHE_DIR", str(base))
                monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
                return _cache.cache_folder()

            return look

        @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
        def test_a_folder_that_others_can_write(self, mode, found, caplog):
            folder = found()
            folder.chmod(mode)
            assert found() is None
            assert caplog.messages == [f"elubench: kernels are not cached: {_cache.why_uncached()}"]
            assert f"{folder} can be written by others" in _cache.why_uncached()
            folder.chmod(0o755)
            assert found() == folder

        @pytest.mark.parametrize(
            ("mode", "trusted"), [(0o777, False), (0o775, False), (0o1777, True)]
        )
        def test_a_base_for_everybody_must_be_sticky(self, mode, trusted, found, tmp_path):
            tmp_path.chmod(mode)
            assert (found() is not None) == trusted

        def test_a_folder_of_another_user(self, found, monkeypatch, tmp_path):
            folder, user = found(), os.geteuid()
            monkeypatch.setattr("os.geteuid", lambda: user + 1)
            assert found() is None
            if user == 0:  # the base may be root's, what is below may not
                assert _cache.why_uncached() == f"{folder} belongs to another user (0)"

        def test_a_parent_that_others_can_write(self, found, monkeypatch, tmp_path):
            monkeypatch.setattr(_cache, "_place", lambda: (str(tmp_path), "elubench", "kernels"))
            folder = found()
            assert folder.parent == tmp_path / "elubench" / "kernels"
            folder.parent.parent.chmod(0o777)
            assert found() is None
            assert f"{tmp_path / 'elubench'} can be" in _cache.why_uncached()

        def test_a_marked_folder_of_others_is_not_taken(self, found, tmp_path):
            planted = tmp_path / "0planted"
            planted.mkdir()
            planted.chmod(0o777)
            (planted / f".text-{_sources.text_hash()}").touch()
            assert found() == tmp_path / _source_hash()

        @pytest.mark.parametrize("umask", [0o000, 0o277])
        def test_made_for_us_alone_whatever_the_umask(self, umask, found, monkeypatch, tmp_path):
            base = tmp_path / "new" / "base"
            monkeypatch.setattr(_cache, "_place", lambda: (str(base), "elubench", "kernels"))
            before = os.umask(umask)
            try:
                folder = found()
            finally:
                os.umask(before)
            for made in (folder, folder.parent, folder.parent.parent, base, base.parent):
                assert made.stat().st_mode & 0o777 == 0o700

    def test_last_part_is_the_hash_of_the_sources(self, folder):
        assert folder.name == _sources.source_hash()

    def test_users_cache_folder(self, tmp_path, monkeypatch):
        monkeypatch.delenv("ELUBENCH_CACHE_DIR")
        monkeypatch.setattr("sys.platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert _cache._place() == (str(tmp_path), "elubench", "kernels")
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert _cache._place() == (str(tmp_path / ".cache"), "elubench", "kernels")

    def test_other_systems(self, tmp_path, monkeypatch):
        monkeypatch.delenv("ELUBENCH_CACHE_DIR")
        monkeypatch.setattr("sys.platform", "win32")
        monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
        assert _cache._place() == (str(tmp_path), "elubench", "kernels")
        monkeypatch.delenv("LOCALAPPDATA")
        with pytest.raises(FileNotFoundError, match="no home folder"):
            _cache._place()
        monkeypatch.setattr("sys.platform", "darwin")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert _cache._place() == (str(tmp_path / "Library" / "Caches"), "elubench", "kernels")

    @pytest.mark.skipif(os.name != "posix", reason="homes are in passwd on POSIX only")
    def test_no_home_and_no_entry_in_passwd(self, monkeypatch, caplog):
        """As in a container that runs as a number."""
        for name in ("ELUBENCH_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
        monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
        assert _cache.cache_folder() is None
        assert "no home folder; ELUBENCH_CACHE_DIR" in _cache.why_uncached()
        assert len(caplog.messages) == 1

    @pytest.fixture(params=["below a file", "read-only"])
    def unwritable(self, request, tmp_path):
        if request.param == "below a file":
            (tmp_path / "file").write_text("")
            yield tmp_path / "file" / "folder"
            return
        if os.name != "posix" or os.geteuid() == 0:
            pytest.skip("permissions do not bind this user")
        locked = tmp_path / "locked"
        locked.mkdir(mode=0o500)
        yield locked
        locked.chmod(0o700)

    def test_unwritable(self, unwritable, monkeypatch, folder):
        monkeypatch.setenv("ELUBENCH_CACHE_DIR", str(unwritable))
        monkeypatch.setattr(_cache, "_folder", _cache._UNKNOWN)
        assert _cache.cache_folder() is None
        kernel = _jit.ready(make())
        assert kernel(3.0) == 27.0
        if JIT:
            assert kernel.stats.cache_path is None
            assert hits(_jit.ready(make())) == 0


_statements = functools.cache(_sources._statements)


class TestSourceHash:
    @pytest.fixture(autouse=True)
    def read_once(self, monkeypatch):
        """A file that is as it was is not parsed again."""
        monkeypatch.setattr(_sources, "_statements", _statements)

    @pytest.fixture
    def tree(self, tmp_path):
        """A copy of the sources of which the hash is taken."""
        package = tmp_path / "elubench"
        for part in _sources.PARTS:
            unwanted = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / "elubench" / part, package / part, ignore=unwanted)
        return package

    @staticmethod
    def edited(tree, file, old, new):
        """Whether the hash is another one after an edit; the text's always is."""
        before, text_before = _sources.source_hash(tree), _sources.text_hash(tree)
        source = tree / file
        text = source.read_text()
        assert old in text
        source.write_text(text.replace(old, new, 1))
        found = _sources.source_hash(tree) != before
        assert _sources.text_hash(tree) != text_before
        source.write_text(text)
        assert _sources.source_hash(tree) == before
        return found

    def test_of_the_package(self, tree):
        assert _sources.source_hash() == _sources.source_hash(tree)

    @pytest.mark.parametrize(
        ("file", "old", "new"),
        [
            ("kernels/elementwise.py", "_SATURATION = 20.0", "_SATURATION = 21.0"),
            ("kernels/layout.py", "return 2 + d", "return 3 + d"),
            ("kernels/tiles.py", "STRETCH = 16", "STRETCH = 8"),
            ("kernels/tiles.py", "BLOCK_ROWS = 4096", "BLOCK_ROWS = 8192"),
            ("kernels/_jit.py", '"nogil": True', '"nogil": False'),
            ("kernels/signatures.py", "DIRECTION = _number(", "DIRECTION = types.float32("),
            ("models/isotropic.py", '@kernel("exact"', '@kernel("reduction"'),
            ("algorithms/newton_anderson.py", "_CAUTION = 0.4", "_CAUTION = 0.5"),
            ("algorithms/em.py", "accept(report, 1.0)", "accept(report, 2.0)"),
            (
                "algorithms/elu.py",
                "import next_step, update",
                "import descend as next_step, update",
            ),
            ("algorithms/simultaneous.py", "import copy", "import norm as copy"),
        ],
    )
    def test_edits_that_count(self, tree, file, old, new):
        assert self.edited(tree, file, old, new)

    @pytest.mark.parametrize(
        ("file", "old", "new"),
        [
            ("kernels/reduction.py", '"""The one pass', '"""One pass'),
            ("kernels/lanes.py", '"""A zero in every lane', '"""Zeros in all lanes'),
            ("kernels/tiles.py", "# rows that one thread sums", "# rows summed by a thread"),
            ("algorithms/base.py", "self.endless * goal.max_iter", "0.0"),
            ("algorithms/lbfgs.py", '"""L-BFGS', '"""Limited-memory BFGS'),
            ("algorithms/lbfgs.py", "gtol: float = 1e-13", "gtol: float = 1e-12"),
            ("algorithms/em.py", "endless = 1.3", "endless = 1.4"),
            ("algorithms/em.py", "import math", "import math\nimport string"),
            ("algorithms/newton_anderson.py", '"""Eigenvalues to', '"""\n\n    Eigenvalues to'),
            ("algorithms/known.py", "json.loads(options)", "None"),
        ],
    )
    def test_edits_that_do_not_count(self, tree, file, old, new):
        assert not self.edited(tree, file, old, new)

    def test_what_kernels_need_counts(self, tree):
        """A constant from a plain function of another file, a tuple's class, a kernel in a factory."""
        (tree / "models" / "helper.py").write_text(
            "def unused(): return 1\ndef third(): return 3\n"
        )
        (tree / "algorithms" / "mine.py").write_text(
            "from elubench.models.helper import third as other\n"
            "from typing import NamedTuple\n"
            "class Pair(NamedTuple):\n    one: float = 1.0\n"
            "class Free:\n    one = 1.0\n"
            "LIMIT = other()\n"
            "def made():\n    @kernel('exact')\n    def inner(x):\n        return Pair(x)\n"
        )
        assert self.edited(tree, "models/helper.py", "return 3", "return 4")
        assert not self.edited(tree, "models/helper.py", "return 1", "return 2")
        assert self.edited(tree, "algorithms/mine.py", "one: float = 1.0", "one: float = 2.0")
        assert not self.edited(tree, "algorithms/mine.py", "    one = 1.0", "    one = 2.0")
        assert self.edited(tree, "algorithms/mine.py", "Pair(x)", "Pair(2.0 * x)")

    def test_a_new_and_a_renamed_file(self, tree):
        before = _sources.source_hash(tree)
        (tree / "kernels" / "extra.py").write_text("x = 1\n")
        extra = _sources.source_hash(tree)
        (tree / "kernels" / "extra.py").rename(tree / "kernels" / "extra_too.py")
        assert len({before, extra, _sources.source_hash(tree)}) == 3

    def test_models_and_algorithms_count(self, tree):
        for part in ("models", "algorithms"):
            before = _sources.source_hash(tree)
            (tree / part / "another.py").write_text("x = 1\n")
            assert _sources.source_hash(tree) != before

    def test_the_compiler_counts(self, monkeypatch):
        before = _sources.source_hash()
        monkeypatch.setattr(numba, "__version__", "0.0")
        assert _sources.source_hash() != before

    def test_every_file_with_kernels_is_in_the_hash(self):
        """A kernel elsewhere could be compiled from one source and loaded for another."""
        for source in (ROOT / "elubench").rglob("*.py"):
            text = source.read_text()
            if "_template" in source.parts:  # of a user's paper, which is kept apart in the cache
                continue
            if "@kernel(" in text or "njit" in text:
                assert source.relative_to(ROOT / "elubench").parts[0] in _sources.PARTS, source

    @needs_jit
    def test_kernels_of_the_package_have_names_of_their_own(self):
        """The name of a file in the cache is made of room, module and function, not of a line."""
        kernels = [kernel.py_func for kernel in _jit.known_kernels()]
        own = [each for each in kernels if each.__module__.startswith("elubench.")]
        assert len({(each.__module__, each.__qualname__) for each in own}) == len(own) > 20
        located = _cache._Locator.from_function(own[0], own[0].__code__.co_filename)
        assert located.get_disambiguator() in _sources.PARTS


IMPORT = """
import json, sys, threading
import elubench
light = "numba" not in sys.modules
from elubench.kernels import _cache, _jit
import elubench.runs, elubench.samples, elubench.studies
kernels = _jit.known_kernels()
from numba.np.ufunc import parallel
compiled = [kernel.py_func.__name__ for kernel in kernels if kernel.overloads]
print(json.dumps({
    "light": light,
    "kernels": len(kernels),
    "compiled": compiled,
    "threads": threading.active_count(),
    "initialised": parallel._is_initialized,
    "folder": str(_cache._folder),
    "extras": [name for name in ("sklearn", "dask", "distributed") if name in sys.modules],
}))
"""

RESULT = """
import json
import numpy as np
from elubench.kernels import _cache, _jit
from elubench.samples import ArraySample, gaussian
sample = ArraySample(gaussian(500, 2, seed=3))
out = sample.sums(np.array([[0.3, -0.2]]), np.zeros(1), 3).tobytes().hex()
used = [kernel for kernel in _jit._registry if kernel.overloads]
print(json.dumps({
    "bytes": out,
    "hits": sum(sum(kernel.stats.cache_hits.values()) for kernel in used),
    "used": len(used),
    "folder": str(_cache.cache_folder()),
}))
"""


@needs_jit
class TestProcesses:
    def test_importing_compiles_nothing_and_starts_no_threads(self, tmp_path):
        state = python(IMPORT, ELUBENCH_CACHE_DIR=str(tmp_path / "cache"))
        assert state["light"]
        assert state["kernels"] > 0
        assert state["compiled"] == []
        assert state["threads"] == 1
        assert state["initialised"] is False
        assert state["extras"] == []
        assert Path(state["folder"]) == _cache._UNKNOWN  # not even looked for
        assert not (tmp_path / "cache").exists()

    def test_a_cold_start_and_a_damaged_cache(self, tmp_path):
        """The real kernels: a second process loads them; one with damaged files repairs them."""
        here = {}
        exec(RESULT, here)  # fills the shared cache, or finds it filled
        second = python(RESULT)
        assert second["bytes"] == here["out"]
        assert second["hits"] == second["used"] >= 3

        source = Path(second["folder"])
        copy = tmp_path / source.name
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("*.tmp.*", ".probe*"))
        for ending, name in (("nbi", "pack"), ("nbc", "combine")):
            damaged = [f for f in files(copy, ending) if f".{name}-" in f.name]
            assert damaged  # more than one, if kernels were compiled for another processor, too
            for file in damaged:
                file.write_bytes(file.read_bytes()[:100])
        third = python(RESULT, ELUBENCH_CACHE_DIR=str(tmp_path))
        assert third["folder"] == str(copy)
        assert third["bytes"] == here["out"]
        assert third["hits"] == third["used"] - 2
        fourth = python(RESULT, ELUBENCH_CACHE_DIR=str(tmp_path))
        assert fourth["bytes"] == here["out"]
        assert fourth["hits"] == fourth["used"]

    def test_bounds_checks_stay_off(self):
        """NUMBA_BOUNDSCHECK in a user's environment must not stop vectorisation."""
        assert _jit.COMMON["boundscheck"] is False
        for dispatcher in _jit._registry:
            assert dispatcher.targetoptions["boundscheck"] is False


@needs_jit
def test_kinds_share_what_vectorisation_needs():
    for dispatcher in _jit._registry:
        assert dispatcher.targetoptions["error_model"] == "numpy"
        assert dispatcher.targetoptions["nogil"] is True


@needs_jit
def test_interpreted_kernels_are_plain_functions():
    """With NUMBA_DISABLE_JIT=1 kernels run, and nothing is registered or cached."""
    code = (
        "import json\n"
        "from elubench import samples\n"
        "from elubench.kernels import _jit\n"
        "got = samples.ArraySample([[1.0], [2.0], [-1.0]]).tanh_moments([0.5], log_cosh=True)\n"
        "_jit.warmup()\n"
        "print(json.dumps([got.t0, list(got.t1), got.log_cosh, len(_jit._registry)]))\n"
    )
    t0, t1, cosh, kernels = python(code, NUMBA_DISABLE_JIT="1")
    y = np.array([0.5, 1.0, -0.5])
    np.testing.assert_allclose(t0, np.tanh(y).mean(), rtol=1e-15)
    np.testing.assert_allclose(t1, [(np.tanh(y) * 2 * y).mean()], rtol=1e-15)
    np.testing.assert_allclose(cosh, np.log(np.cosh(y)).mean(), rtol=1e-15)
    assert kernels == 0
