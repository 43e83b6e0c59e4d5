"""The step of the scheme: the same on every backend, for every way to block it, in every variant."""

import numpy as np
import pytest

from faultwave.backends import missing
from faultwave.backends.cpu.stencil import Blocking
from faultwave.fd.method.scheme import Level
from faultwave.kernels.stencil import Injection, SampleBuffer

from .setups import everything, runner, scheme

SHAPE, STEPS = (17, 26, 21), 11
VARIANTS = {
    "cpml": {},
    "cpml with attenuation": {"attenuation": True},
    "sponge": {"kind": "sponge", "attenuation": True},
    "periodic": {"sides": dict.fromkeys(("x-", "x+", "y-", "y+"), "periodic"), "attenuation": True},
    "full space": {"sides": {"z+": "absorbing"}},
    "order 8": {"order": 8, "attenuation": True},
    "order 8, periodic": {"order": 8, "sides": dict.fromkeys(("x-", "x+", "y-", "y+"), "periodic")},
}


def shaken(of):
    """Injections and sample buffers all over, at tile edges, at the surface and on its far side."""
    nz, ny, nx = of.grid.shape
    points = np.array([(nz - 1, j, nx // 2) for j in range(5, ny - 5)] + [(nz // 2, ny // 2, i) for i in range(nx)])
    numbers = np.arange(len(points)) % 3
    injections = [
        Injection(Level.VELOCITY, "w", points, np.linspace(0.5, 1.0, len(points)), numbers),
        Injection(Level.STRESS, "sxy", points, np.linspace(1e6, 2e6, len(points)), numbers),
    ]
    sample_buffers = [
        SampleBuffer(Level.VELOCITY, "u", points + [of.free_surface, 0, 0]),
        SampleBuffer(Level.STRESS, "szz", points),
    ]
    return {"injections": injections, "sample_buffers": sample_buffers}


def run(variant, backend, precision="single", blocking=None, threads=1):
    of = scheme(SHAPE, **VARIANTS[variant])
    made = runner(of, backend, precision, threads, **shaken(of))
    if blocking:
        made.blocking = blocking
    sample_buffers = made.run(STEPS, np.random.default_rng(1).normal(size=(2, STEPS, 3)))
    return {
        **everything(made, of.attenuation),
        "sample buffer u": sample_buffers[0],
        "sample buffer szz": sample_buffers[1],
    }


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("precision", ["single", "double"])
def test_cpu_is_numpy(variant, precision):
    expected, found = run(variant, "numpy", precision), run(variant, "cpu", precision)
    for name, values in expected.items():
        scale = np.abs(values).max()
        assert scale > 0, name
        assert np.abs(found[name] - values).max() <= (3e-6 if precision == "single" else 1e-14) * scale, name


BY_TURNS = [
    pytest.param(variant, precision, marks=[] if n % 2 == k else [pytest.mark.slow])
    for n, variant in enumerate(VARIANTS)
    for k, precision in enumerate(("single", "double"))
]
"""Variants in single and in double precision by turns; the others are slow, as PoCL's compiler is."""


@pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
@pytest.mark.parametrize(("variant", "precision"), BY_TURNS)
def test_opencl_is_numpy_to_the_last_bit(variant, precision):
    """Every operation rounds by itself there."""
    expected, found = run(variant, "numpy", precision), run(variant, "opencl", precision)
    for name, values in expected.items():
        assert np.abs(values).max() > 0 and np.array_equal(found[name], values), name


@pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
def test_what_is_changed_here_reaches_the_device():
    of = scheme(SHAPE)
    here, there = (runner(of, backend) for backend in ("numpy", "opencl"))
    for made in (here, there):
        made.run(2, np.zeros((2, 2, 1)))
        made.view("w")[5, 6, 7] = 1.0
        made.run(3, np.zeros((2, 3, 1)))
        assert made.finite(["w"]) and not made.values("u", 2).sum() == 0
    assert np.array_equal(here.values("sxx"), there.values("sxx"))
    with pytest.raises(ValueError, match="read-only"):
        there.values("u")[0, 0, 0] = 1.0
    there.view("sxz")[3, 3, 3] = np.nan
    assert not there.finite(["w"])


@pytest.mark.parametrize("variant", [v for v in VARIANTS if "periodic" not in v])
def test_blocking_and_threads_change_no_bit(variant):
    expected = run(variant, "cpu", blocking=Blocking(1, 1000))
    for blocking, threads in ((Blocking(1, 5), 1), (Blocking(3, 7), 2), (Blocking(4, 3), 2), (Blocking(STEPS, 9), 3)):
        found = run(variant, "cpu", blocking=blocking, threads=threads)
        for name, values in expected.items():
            assert np.array_equal(found[name], values), (name, blocking, threads)


def test_tuning_keeps_a_blocking(tmp_path, monkeypatch):
    monkeypatch.setenv("FAULTWAVE_CACHE", str(tmp_path))
    monkeypatch.setattr("faultwave.backends.cpu.stencil.WORTH_TUNING", 0.0)
    made = runner(scheme((9, 30, 16)), "cpu")
    made.prepare(10)
    (kept,) = (tmp_path / "kernels" / "blocking").glob("*.json")
    again = runner(scheme((9, 30, 16)), "cpu")
    with monkeypatch.context() as once:
        once.setattr(again, "tune", lambda listed: pytest.fail("measured again"))
        again.prepare(10)
    assert again.blocking == made.blocking
    kept.write_text("no json")
    monkeypatch.setattr("faultwave.backends.cpu.stencil.candidates", lambda *_: [Blocking(2, 5)])
    again.prepare(10)
    assert again.blocking == Blocking(2, 5)


def test_what_meets_on_periodic_axes_is_found_out_once(monkeypatch):
    """Finding out takes longer than a step of a small grid."""
    of = scheme((9, 10, 16), **VARIANTS["periodic"])
    made = runner(of, "cpu")
    made.run(1, np.zeros((2, 1, 1)))
    monkeypatch.setattr("faultwave.backends.cpu.stencil.written", lambda *_: pytest.fail("found out again"))
    made.run(1, np.zeros((2, 1, 1)))
