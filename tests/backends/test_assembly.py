"""Contractions in assembly language: the sums of the C text, to the last bit."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from faultwave.backends.cpu import compile as compilation
from faultwave.backends.cpu import runtime
from faultwave.backends.cpu.runtime import CpuBackend
from faultwave.kernels.language import Kernel

CACHED = (compilation.compiler, compilation._identity, compilation._macros, compilation._version_text)


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path))
    for cached in CACHED:
        cached.cache_clear()
    yield
    for cached in CACHED:
        cached.cache_clear()


def contracting(matrix: np.ndarray) -> Kernel:
    """y = matrix x in some of its columns, beside each other and apart, and z added to."""
    kernel = Kernel("contracting")
    x, y = kernel.batch("x", matrix.shape[1], 5), kernel.batch("y", matrix.shape[0], 6, "out")
    z = kernel.batch("z", matrix.shape[0], 5, "inout")
    kernel.contract(y, matrix, x, [(0, 0), (1, 1), (2, 2), (3, 5), (4, 3), (0, 4)])
    kernel.contract(z, matrix, x, [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], accumulate=True)
    return kernel


def run(matrix: np.ndarray, precision: str) -> list[np.ndarray]:
    backend = CpuBackend(precision, 1)
    rng = np.random.default_rng(1)
    buffers = {"x": (matrix.shape[1], 5), "y": (matrix.shape[0], 6), "z": (matrix.shape[0], 5)}
    made = {name: backend.batch(2 * backend.lanes, *shape) for name, shape in buffers.items()}
    for batch in made.values():
        batch.put(rng.standard_normal(batch.get().shape))
    backend.compile([contracting(matrix)])["contracting"](made)(0, 2 * backend.lanes)
    return [made[name].get() for name in ("y", "z")]


def sparse(rows: int, columns: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.4)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly is of the x86 family")
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("march", ["native", "x86-64-v3"])
def test_same_bits_as_c(march: str, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "avx2" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has no AVX2")
    monkeypatch.setenv("FAULTWAVE_MARCH", march)
    if not compilation.assembles():
        pytest.skip("no fused multiply-add in ELF files here")
    matrix = sparse(21, 17)
    matrix[4] = 0.0  # a row without numbers
    assembled = run(matrix, precision)
    monkeypatch.setattr(runtime, "assembles", lambda: False)
    monkeypatch.setenv("FAULTWAVE_CACHE", str(compilation.cache_folder() / "other"))
    for here, there in zip(assembled, run(matrix, precision), strict=True):
        assert here.tobytes() == there.tobytes() and np.abs(here).max() > 0.1


def test_the_text_is_c_where_the_instructions_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "assembles", lambda: False)
    text = CpuBackend("double", 1).source(contracting(sparse(5, 4)))
    assert "const V x0 = x[" in text and "vfmadd" not in text
    if compilation.assembles():
        monkeypatch.undo()
        assert "vfmadd231pd" in CpuBackend("double", 1).source(contracting(sparse(5, 4)))
