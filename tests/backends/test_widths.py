"""One generator, every vector width: the C text compiles for each family of processors and runs where this one can."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from faultwave import backends
from faultwave.backends.cpu import compile as compilation
from faultwave.backends.cpu.lower import lower
from faultwave.backends.cpu.runtime import CpuBackend
from faultwave.dg.fault.rupture import FrictionOptions, FrictionSizes, rupture
from faultwave.dg.method.forms import form
from faultwave.dg.method.predictors.taylor import face_rows
from faultwave.dg.operators import kernels
from faultwave.kernels.language import Kernel
from faultwave.physics import friction as faults
from faultwave.physics import waves as laws

FAMILIES = {  # compiler, -march, bytes of a vector, registers, what the assembly calls them
    "sse2": ("gcc", "x86-64", 16, 16, "%xmm"),
    "avx2": ("gcc", "x86-64-v3", 32, 16, "%ymm"),
    "avx512": ("gcc", "x86-64-v4", 64, 32, "%zmm"),
    "neon": ("aarch64-linux-gnu-gcc", "armv8-a", 16, 32, ".2d"),
}


def some_kernels() -> list[Kernel]:
    elastic = form(laws.law("elastic"), 3)
    friction: Any = faults.laws()["linear-slip-weakening"]
    constants = {c.name: c.default if c.default is not None else 1.0 for c in friction.constants}
    return [
        kernels.correct_and_predict(elastic, kernels.StoringVariant(fault=True)),
        rupture(friction, constants, FrictionSizes(tuple(face_rows(3)), 9, 1, FrictionOptions(3))),
    ]


def needs_compiler(family: str) -> None:
    """Skip where none for these processors is here."""
    compiler, march, *_ = FAMILIES[family]
    if not shutil.which(compiler) or (compiler == "gcc" and platform.machine() != "x86_64"):
        pytest.skip(f"no {compiler} for {march} here")


def assembly_of(text: str, family: str, folder: Path, *more: str) -> str:
    """What the compiler for these processors makes of a C text, with the flags of kernels and ``more``."""
    compiler, march, *_ = FAMILIES[family]
    source, assembly = folder / "k.c", folder / "k.s"
    source.write_text(text)
    command = [compiler, f"-march={march}", *compilation.FLAGS, *more, "-S", str(source), "-o", str(assembly)]
    done = subprocess.run([c for c in command if c != "-shared"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return assembly.read_text()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("real", ("double", "float"))
def test_compiles(family: str, real: str, tmp_path: Path) -> None:
    needs_compiler(family)
    _, _, width, registers, name = FAMILIES[family]
    for kernel in some_kernels():
        lanes = width // (8 if real == "double" or kernel.fixed else 4)
        made = assembly_of(lower(kernel, real, lanes, registers), family, tmp_path, "-O1")
        assert (name if real == "double" or kernel.fixed or family != "neon" else ".4s") in made


def test_memory_near_its_threads_is_memory_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    backend: Any = backends.make("cpu", "double", 2)
    assert isinstance(backend, CpuBackend)
    monkeypatch.setattr(backend, "numa", True)
    batch, store = backend.batch(24 * backend.lanes, 3, 2), backend.store(4 * 24 * backend.lanes + 3, 5)
    backend.first_touch([batch, store], [(0, 8 * backend.lanes), (8 * backend.lanes, 24 * backend.lanes)])
    assert not batch.get().any() and not store.get().any()
