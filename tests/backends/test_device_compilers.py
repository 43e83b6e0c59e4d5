"""Kernels compiled for graphics processors that are not here: the hot ones have registers enough."""

from __future__ import annotations

import importlib.util
import platform
import shutil

import pytest

from faultwave import laws
from faultwave.backends.device import compilers
from faultwave.backends.device.compilers import Built, build, missing, target_of
from faultwave.backends.device.target import TARGETS
from faultwave.base.errors import BackendError, InputError
from faultwave.engines.dg import kernels
from faultwave.engines.dg.forms import form
from faultwave.kernels.language import Kernel
from faultwave.run.fd.kernels import built, stencil_report, step_cost
from faultwave.run.kernels import all_kernels, kernel_report

cuda = pytest.mark.skipif(bool(missing("cuda")), reason=missing("cuda"))


def hot(order: int) -> list[Kernel]:
    f = form(laws.law("elastic"), order)
    return [
        kernels.correct(f),
        kernels.turn(f),
        kernels.integrate(f),
        kernels.relay(f),
        kernels.accumulate(f),
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
        kernels.turn(f, kernels.Kept(True)),
        kernels.predict(f, kernels.Kept(True)),
        kernels.predict(f),
        *made.values(),
    ]


@cuda
def test_friction_and_samples_do_not_spill() -> None:
    made = all_kernels(4, "elastic")
    for name in ("samples", "rupture-linear-slip-weakening", "rupture-rate-and-state-slip"):
        check(build(made[name], "sm_90", False))


@cuda
def test_tables_that_loops_index_are_read_where_they_are() -> None:
    """The scalars of friction, 48 bytes at order 2, once were copied to the private memory of every thread."""
    check(build(all_kernels(2, "elastic")["rupture-linear-slip-weakening"], "sm_80", False))


@pytest.mark.skipif(not shutil.which("hipcc"), reason="no hipcc")
def test_friction_on_cdna() -> None:
    """Functions stand in the text of the kernel, some at once: they need more registers than what the other kernels are bound to."""
    check(build(all_kernels(2, "elastic")["rupture-rate-and-state-ageing"], "gfx90a", False))


@pytest.mark.slow
@pytest.mark.parametrize("order", (2, 3, 4, 5, 6))
@pytest.mark.parametrize("arch", ("sm_80", "sm_90", "sm_100", "gfx90a"))
@pytest.mark.parametrize("single", (False, True))
def test_kernels_that_leave_more_than_waves_do_not_spill(arch: str, order: int, single: bool) -> None:
    if why := missing("hip" if arch.startswith("gfx") else "cuda"):
        pytest.skip(why)
    for kernel in taking_long(order):
        if arch.startswith("gfx") and kernel.name == "rupture" and not shutil.which("hipcc"):
            continue  # its functions are those of AMD's library
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


def test_functions_of_a_library_that_is_not_here_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    by("ziglang", monkeypatch)
    monkeypatch.setattr("faultwave.run.kernels.all_kernels", lambda order, law: {
        n: k for n, k in all_kernels(order, law).items() if n in ("integrate", "rupture-rate-and-state-slip")
    })  # fmt: skip
    _, header, rows = kernel_report("gfx90a", [], 2)
    assert [r[1] for r in rows] == [rows[0][1], "needs hipcc"] and int(rows[0][1]) > 7 and len(rows[1]) == len(header)
    with pytest.raises(BackendError, match="rupture uses the function [a-z0-9]+ of AMD's library: it needs hipcc"):
        build(all_kernels(2, "elastic")["rupture-rate-and-state-slip"], "gfx90a", False)


def test_checks_run_where_the_tests_are_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compilers are part of the development setup: without them these tests would say nothing."""
    if platform.system() == "Linux" and platform.machine() == "x86_64" and importlib.util.find_spec("ziglang"):
        assert not missing("cuda") and not missing("hip")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compilers, "_zig", lambda: None)
    assert "hipcc" in missing("hip") and "pip install ziglang" in missing("hip")


@cuda
def test_report_tells_what_a_kernel_takes_and_could_reach() -> None:
    title, header, rows = kernel_report("sm_90", ["accumulate"], 2)
    assert "H200" in title and len(rows) == 1 and len(rows[0]) == len(header)
    moved, flops, rate, model = (float(x.replace(",", "")) for x in rows[0][-5:-1])
    # Two waves in, one out, three modes of three numbers each, and three slot numbers; memory is what counts.
    assert (moved, flops) == (3 * 9 * 8 + 3 * 4, 2 * 9)
    assert rate == pytest.approx(4.8e12 / moved / 1e6, rel=0.01)
    assert 0 < model <= rate and rows[0][-1] in ("memory", "waiting")
    with pytest.raises(InputError, match="kernel: 'trun' does not exist.*did you mean 'turn'"):
        kernel_report("sm_90", ["trun"])


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


STENCILS = ("velocity", "stress", "stress_q", "stress_layer_z_q_along", "surface_velocity")


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
