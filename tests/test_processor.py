"""The processor that kernels are compiled for."""

import llvmlite.binding as llvm
import numba
import pytest
from conftest import needs_jit, python

from elubench.kernels import processor

WIDTH = """
import json
from elubench.kernels.processor import FEW_REGISTERS, REGISTER
print(json.dumps([REGISTER, FEW_REGISTERS]))
"""


def test_features_asked_for(monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "+avx,-avx2,+fma")
    assert processor.features() == {"avx", "fma"}


def test_no_features(monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", "")
    assert processor.features() == set()


def test_a_processor_that_llvm_does_not_know(monkeypatch):
    def unknown():
        raise RuntimeError

    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    monkeypatch.setattr(llvm, "get_host_cpu_features", unknown)
    assert processor.features() == set()


def test_avx_switched_off(monkeypatch):
    monkeypatch.setattr(numba.config, "CPU_FEATURES", None)
    monkeypatch.setattr(numba.config, "ENABLE_AVX", 0)
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"avx2": True, "sse2": True})
    assert processor.features() == {"sse2"}


@needs_jit
@pytest.mark.parametrize(
    ("features", "machine", "expected"),
    [
        ("+avx,+avx2,+avx512f", "x86_64", [8, False]),
        ("+avx,+avx2,-avx512f", "AMD64", [4, True]),
        ("+avx", "x86_64", [4, True]),
        ("+sse2", "x86_64", [4, False]),
        ("+neon", "aarch64", [4, False]),
    ],
)
def test_registers(features, machine, expected):
    code = f"import platform; platform.machine = lambda: {machine!r}" + WIDTH
    assert python(code, NUMBA_CPU_FEATURES=features) == expected


@pytest.mark.parametrize(
    ("name", "expected"), [("znver5", True), ("znver4", False), ("generic", False)]
)
def test_near_only_on_zen_5(name, expected):
    code = "import json; from elubench.kernels.processor import NEAR; print(json.dumps(NEAR))"
    assert python(code, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES="") is expected
