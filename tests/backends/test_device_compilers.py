"""Kernels compiled for graphics processors that are not here: the hot ones have registers enough."""

from __future__ import annotations

import ctypes
import importlib.util
import platform
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from faultwave.backends.device import compilers
from faultwave.backends.device.compilers import Built, build, missing, target_of
from faultwave.backends.device.target import TARGETS
from faultwave.base.errors import BackendError, InputError
from faultwave.bench.grids.kernel_report import built, stencil_report, step_cost
from faultwave.bench.kernel_report import all_kernels, kernel_report
from faultwave.dg.method.forms import form
from faultwave.dg.operators import kernels
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.physics import waves as laws

cuda = pytest.mark.skipif(bool(missing("cuda")), reason=missing("cuda"))


def hot(order: int) -> list[Kernel]:
    f = form(laws.law("elastic"), order)
    return [
        kernels.correct(f),
        kernels.correct_and_predict(f),
        kernels.correct_and_predict(f, to_slower=True),
        kernels.samples(f, 1),
    ]  # a turn is both of the first


def check(built: Built) -> None:
    name = f"{built.plan.kernel.name} on {built.plan.target.name}"
    assert built.spilled == 0 and built.stack == 0, name
    # Two groups a multiprocessor, so that one computes while the other waits for memory.
    together = min(2, built.plan.groups)
    assert built.size > 1000 and built.groups >= together, name
    assert 8 <= built.registers <= built.plan.target.registers // (built.plan.threads * together), name


@cuda
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_100"))
def test_hot_kernels_do_not_spill(arch: str) -> None:
    for kernel in hot(4):
        check(build(kernel, arch, False))


def taking_long(order: int) -> list[Kernel]:
    """Hot where there is friction or local stepping; receivers are sampled often."""
    f = form(laws.law("elastic"), order)
    made = {n: k for n, k in all_kernels(order, "elastic").items() if n.startswith("rupture") or n == "samples"}
    return [
        kernels.correct_and_predict(f, kernels.StoringVariant(True)),
        kernels.predict(f, kernels.StoringVariant(True)),
        kernels.predict(f),
        *made.values(),
    ]


@cuda
def test_friction_and_samples_do_not_spill() -> None:
    made = all_kernels(4, "elastic")
    for name in ("samples", "rupture-linear-slip-weakening", "rupture-rate-and-state-slip"):
        check(build(made[name], "sm_90", False))


@cuda
def test_yielding_does_not_spill() -> None:
    check(build(all_kernels(4, "elastic")["correct_and_predict-drucker-prager"], "sm_90", False))


@cuda
def test_tables_that_loops_index_are_read_where_they_are() -> None:
    """The scalars of friction, 48 bytes at order 2, once were copied to the private memory of every thread."""
    check(build(all_kernels(2, "elastic")["rupture-linear-slip-weakening"], "sm_80", False))


@pytest.mark.slow
@pytest.mark.parametrize("order", (2, 3, 4, 5, 6))
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_100", "gfx90a"))
@pytest.mark.parametrize("single", (False, True))
def test_kernels_that_leave_more_than_waves_do_not_spill(arch: str, order: int, single: bool) -> None:
    if why := missing("hip" if arch.startswith("gfx") else "cuda"):
        pytest.skip(why)
    for kernel in taking_long(order):
        check(build(kernel, arch, single))


@cuda
def test_nor_do_they_in_single_precision() -> None:
    for kernel in hot(4):
        check(build(kernel, "sm_90", True))


@cuda
@pytest.mark.slow
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_100"))
@pytest.mark.parametrize("order", (2, 3, 5, 6))
@pytest.mark.parametrize("single", (False, True))
def test_hot_kernels_do_not_spill_at_other_orders(arch: str, order: int, single: bool) -> None:
    for kernel in hot(order):
        check(build(kernel, arch, single))


@cuda
@pytest.mark.slow
@pytest.mark.parametrize("law", ("acoustic", "maxwell"))
def test_every_kernel_compiles(law: str) -> None:
    for kernel in all_kernels(4, law).values():
        assert build(kernel, "sm_90", False).size > 1000


def by(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip where the compiler for AMD's processors is not here; hide hipcc from those who want the other."""
    here = {"hipcc": shutil.which("hipcc"), "ziglang": importlib.util.find_spec("ziglang")}
    if not here[compiler]:
        pytest.skip(f"no {compiler}")
    if compiler == "ziglang":
        monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.parametrize("compiler", ("hipcc", "ziglang"))
def test_hot_kernels_on_cdna(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by(compiler, monkeypatch)
    for kernel in hot(4):
        check(build(kernel, "gfx90a", False))


@pytest.mark.parametrize("compiler", ("hipcc", "ziglang"))
def test_friction_on_cdna(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions stand in the text of the kernel, some at once: they need more registers than what the other kernels are bound to."""
    by(compiler, monkeypatch)
    for name, kernel in all_kernels(2, "elastic").items():
        if name.startswith("rupture"):
            check(build(kernel, "gfx90a", False))


@pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
def test_functions_that_stand_alone(tmp_path: Path) -> None:
    """The text that Zig's clang gets, compiled for this processor: within a few units in the last place over all they are defined for."""
    text = resources.files(compilers.__package__).joinpath("include", "alone_functions.h").read_text()
    names = {"exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "asinh": np.arcsinh, "asin": np.arcsin}
    for name in names:
        text = re.sub(rf"\b{name}\(", f"own_{name}(", text)
    host = (
        "#define __device__\nstatic int frexp_exp(double x) { int e; __builtin_frexp(x, &e); return e; }\n"
        "static double frexp_mant(double x) { int e; return __builtin_frexp(x, &e); }\n"
        "#define FREXP_EXP frexp_exp\n#define FREXP_MANT frexp_mant\n"
    )
    calls = "".join(
        f"void all_{n}(const double *x, double *y, long n) {{ for (long i = 0; i < n; ++i) y[i] = own_{n}(x[i]); }}\n"
        for n in names
    )
    (tmp_path / "own.c").write_text(host + text + calls)
    command = ["gcc", "-O2", "-shared", "-fPIC", "-o", str(tmp_path / "own.so"), str(tmp_path / "own.c"), "-lm"]
    subprocess.run(command, check=True)
    library, rng = ctypes.CDLL(str(tmp_path / "own.so")), np.random.default_rng(0)
    signs, small = rng.choice([-1.0, 1.0], 20_000), 10.0 ** rng.uniform(-12, 0, 20_000)
    wide = 10.0 ** rng.uniform(-300, 300, 20_000)
    given = {
        "exp": [*rng.uniform(-700, 709, 20_000), *signs * small, 0.0, -1000.0, 1000.0],
        "expm1": [*rng.uniform(-60, 709, 20_000), *signs * small, 0.0, -1000.0, 1000.0],
        "log": [*wide, *rng.uniform(0.5, 2.0, 20_000), 1.0, 0.0, np.inf],
        "log1p": [*wide, *signs * small, *rng.uniform(-0.999, 3.0, 20_000), 0.0, -1.0, np.inf],
        "asinh": [*signs * wide, *signs * small, *rng.uniform(-3.0, 3.0, 20_000), 0.0],
        "asin": [*rng.uniform(-1.0, 1.0, 20_000), *signs * small, 1.0, -1.0, 0.5, 0.0],
    }
    for name, exact in names.items():
        x = np.array(given[name])
        found = np.empty_like(x)
        getattr(library, f"all_{name}")(*(ctypes.c_void_p(a.ctypes.data) for a in (x, found)), ctypes.c_long(len(x)))
        with np.errstate(all="ignore"):
            want = exact(x)
        plain = np.isfinite(want) & (want != 0.0)
        units = np.abs(found[plain] - want[plain]) / np.spacing(np.abs(want[plain]))
        assert units.max() <= 4.0, (name, units.max(), x[plain][units.argmax()])
        np.testing.assert_array_equal(found[~plain], want[~plain])


def with_erf() -> Kernel:
    k = Kernel("with_erf", fixed=True)
    q = k.batch("q", 1, 1, "inout")
    k.pointwise(lambda x: [[m.erf(x[0])]], [q], [q])
    return k


def test_functions_of_a_library_that_is_not_here_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    by("ziglang", monkeypatch)
    monkeypatch.setattr("faultwave.bench.kernel_report.all_kernels", lambda order, law: {
        "samples": all_kernels(order, law)["samples"], "with_erf": with_erf()
    })  # fmt: skip
    _, header, rows = kernel_report("gfx90a", [], 2)
    assert [r[1] for r in rows] == [rows[0][1], "needs hipcc"] and int(rows[0][1]) > 7 and len(rows[1]) == len(header)
    with pytest.raises(BackendError, match="with_erf uses the function erf of AMD's library: it needs hipcc"):
        build(with_erf(), "gfx90a", False)


def test_checks_run_where_the_tests_are_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compilers are part of the development setup: without them these tests would say nothing."""
    if platform.system() == "Linux" and platform.machine() == "x86_64" and importlib.util.find_spec("ziglang"):
        assert not missing("cuda") and not missing("hip")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compilers.zig, "program", lambda: None)
    assert "hipcc" in missing("hip") and "pip install ziglang" in missing("hip")


@cuda
def test_report_tells_what_a_kernel_takes_and_could_reach() -> None:
    title, header, rows = kernel_report("sm_90", ["samples"], 2)
    assert "H200" in title and len(rows) == 1 and len(rows[0]) == len(header)
    moved, flops, rate, model = (float(x.replace(",", "")) for x in rows[0][-5:-1])
    # Derivatives of 4 and 1 modes of nine numbers and four weights in, nine numbers out, and two slot numbers; memory is what counts. The
    # first derivative is weighted, the second added to a mode, and all four modes are summed.
    assert (moved, flops) == ((5 * 9 + 4 + 9) * 8 + 2 * 4, 4 * 9 + 2 * 9 + 9 + 3 * 2 * 9)
    assert rate == pytest.approx(4.8e12 / moved / 1e6, rel=0.01)
    assert 0 < model <= rate and rows[0][-1] in ("memory", "waiting")
    with pytest.raises(InputError, match="kernel: 'corect' does not exist.*did you mean 'correct'"):
        kernel_report("sm_90", ["corect"])


def test_roof_is_the_slower_of_memory_and_arithmetic() -> None:
    h200 = TARGETS["sm_90"]
    assert h200.roof(4800, 34, False) == pytest.approx(1e9)
    assert h200.roof(48, 34_000, False) == pytest.approx(1e9)
    assert h200.roof(48, 67_000, True) == pytest.approx(1e9)


def test_unknown_architecture() -> None:
    with pytest.raises(InputError, match="--arch: 'sm_91' is not known.*sm_90"):
        target_of("sm_91")


@cuda
def test_text_that_does_not_compile_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    text, made = compilers.lower(hot(2)[0], TARGETS["sm_90"], False)
    monkeypatch.setattr(compilers, "lower", lambda *a: (text + "nonsense", made))
    with pytest.raises(BackendError, match="(?s)compiling correct for sm_90 failed: .*nonsense"):
        build(hot(2)[0], "sm_90", False)


STENCILS = ("velocity", "stress", "stress_q", "stress_q_layer_z_along", "velocity_surface")


def check_stencil(name: str, arch: str) -> None:
    made = built(name, arch, True)
    # Of 512 and 255: compilers for AMD differ in how many they take, and layers have memories of their own.
    limit = 104 if arch.startswith("gfx") else 88 if "layer" in name else 72
    assert made.spilled == 0 and made.stack == 0 and 8 <= made.registers <= limit, name
    assert made.groups >= (2 if "layer" in name else 3), name


@cuda
@pytest.mark.parametrize("name", STENCILS)
def test_stencils_do_not_spill(name: str) -> None:
    check_stencil(name, "sm_90")


@pytest.mark.parametrize("compiler", ("hipcc", "ziglang"))
def test_stencils_on_cdna(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by(compiler, monkeypatch)
    for name in STENCILS:
        check_stencil(name, "gfx90a")


@cuda
def test_report_of_stencils() -> None:
    """With attenuation a step reads and writes 9 + 6 numbers, the velocities once more, and reads 10 coefficients of two bytes."""
    assert step_cost(True, True)[0] == 4 * (9 + 3 + 12 + 12 + 3) + 2 * 10
    assert step_cost(False, True)[0] == 4 * (9 + 3 + 6 + 6 + 3) + 2 * 8
    title, header, rows = stencil_report("sm_90", ["stress_q"])
    assert "H200" in title and len(rows) == 1 and len(rows[0]) == len(header)
    assert float(rows[0][-3]) == pytest.approx(4.8e12 / float(rows[0][-5]) / 1e9, rel=0.01)
    assert rows[0][-2:] == (rows[0][-3], "memory")
    with pytest.raises(InputError, match="kernel: 'strss' does not exist.*did you mean 'stress'"):
        stencil_report("sm_90", ["strss"])
    rows = stencil_report("sm_90", ["fluids"])[2]  # a program stands for the stencils that only it has
    assert [row[:2] for row in rows] == [("fluids", "velocity_border"), ("fluids", "stress_border_q")]
