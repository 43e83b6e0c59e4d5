"""Gravity on the sea surface: exact modes of an ocean, energy, backends, restarts, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave import backends
from faultwave.base.errors import InputError
from faultwave.dg.capabilities.gravity import powers, repeated_integrals
from faultwave.dg.method.predictors import Taylor
from tests.backends.here import present
from tests.run.sea.setup import GRAVITY, MODES, ROUGH, SPEED, ocean, sea


def started(case, mode=0, **overrides):
    sim = fw.simulate(case, **overrides)
    return sim.set_initial(ocean(mode, case["law"] == "elastic")) or sim


def total(sim):
    return sum(v for k, v in sim.energy_now().items() if k.endswith("energy"))


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize(
    "mode, end, coarse", [(0, 5.0, {2: 0.11, 3: 1.3e-2, 4: 1.4e-3}), (1, 1.0, {2: 0.37, 3: 0.1, 4: 1.6e-2})]
)
def test_modes_of_an_ocean_converge_at_the_full_order(order, mode, end, coarse):
    """The slow mode is a wave of the surface, the fast one a sound that it reflects."""
    errors = [np.array(started(sea(n, order, end), mode).run(write=False).error(ocean(mode))) for n in (4, 8)]
    assert errors[0].max() < coarse[order], errors
    assert (np.log2(errors[0] / errors[1]) > order - 0.35).all(), errors


def test_water_of_the_elastic_law_is_the_acoustic_law():
    found = [started(sea(law=law, numerics={"cfl": 0.4})).run(write=False) for law in ("acoustic", "elastic")]
    pressure, stress = (sim.solver.operator.dofs()[..., 0] for sim in found)
    np.testing.assert_allclose(stress, pressure, atol=1e-12 * np.abs(pressure).max())
    assert found[1].energy_now()["gravitational_energy"] == pytest.approx(
        found[0].energy_now()["gravitational_energy"], rel=1e-12
    )


def lifted():
    """Share of the potential energy that is height; the rest has compressed the water."""
    (kz, w), z = MODES[0], np.linspace(-1.0, 0.0, 2001)
    b = GRAVITY * kz / w**2
    squeezed = GRAVITY / SPEED**2 * np.trapezoid((np.sinh(kz * z) / b + np.cosh(kz * z)) ** 2, z)
    return 1.0 / (1.0 + squeezed)


def test_a_standing_wave_keeps_its_energy_and_its_period():
    """Energy goes to and fro between motion and height; after a whole period the wave is what it was."""
    period = 2 * np.pi / MODES[0][1]
    sim = started(sea(4, 4, period))
    whole, raised = total(sim), []
    for part in (0.125, 0.25, 0.5, 1.0):
        sim.run(until=part * period, write=False)
        raised.append(sim.energy_now()["gravitational_energy"] / whole)
        assert total(sim) == pytest.approx(whole, rel=2e-5)
    np.testing.assert_allclose(raised, np.array([0.5, 1.0, 0.0, 0.0]) * lifted(), atol=2e-5)
    assert max(raised[2:]) < 1e-7  # 0.0003 radians of phase
    assert max(sim.error(ocean(0))[1:]) < 2e-3


def test_local_steps_agree_with_global_ones():
    runs = [started(sea(4, 3, rates=r, box=ROUGH)).run(write=False) for r in ((1,), (2,))]
    assert runs[1].solver.layout.clusters >= 2
    exact = [np.array(sim.error(ocean(0))) for sim in runs]
    np.testing.assert_allclose(exact[1], exact[0], rtol=0.1)


@pytest.mark.parametrize("name", ["numpy", *present([n for n in backends.names() if n not in ("cpu", "numpy")])])
def test_backends_agree(name):
    case = sea(end_time=0.2, law="elastic", rates=(2,), box=ROUGH)
    runs = [started(case, backend=b).run(write=False) for b in ("cpu", name)]
    want, found = (sim.solver.parts["gravity"].surface.now() for sim in runs)
    assert runs[0].solver.layout.clusters >= 2 and runs[0].solver.updates > 5 * sum(runs[0].solver.actions.sizes)
    np.testing.assert_allclose(found, want, atol=1e-11 * np.abs(want).max())


def test_single_follows_double():
    want, found = (started(sea(end_time=2.0), precision=p).run(write=False).solver for p in ("double", "single"))
    want, found = (s.parts["gravity"].surface.now() for s in (want, found))
    assert 0 < np.abs(found - want).max() < 1e-5 * np.abs(want).max()


def test_tiny_steps_of_tiny_seas():
    """Of a millimetre: the kernels count in another unit of time."""
    case = sea(end_time=1e-6, law="acoustic", box={"lower": [0, 0, -1e-3], "upper": [1e-2, 1e-2, 0]})
    sim = fw.simulate(case)
    assert sim.plan.time_unit < 1e-4
    sim.set_initial(lambda x, t: np.column_stack([np.zeros((len(x), 3)), np.ones(len(x))]))
    sim.run(write=False)
    height = sim.solver.parts["gravity"].surface.now()[:, 0] * 2**0.5  # the first mode is the constant sqrt 2
    np.testing.assert_allclose(height.mean(), 1e-6, rtol=2e-3)


def test_a_run_goes_on_from_a_checkpoint(tmp_path):
    more = {"initial": {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0, 0, 3.0]}]}}
    output = {"energies": {"interval": 0.5}, "checkpoint": {"interval": 1.0}}
    names, found = ("whole", "parted"), []
    for name in names:
        case = sea(end_time=3.0, rates=(2,), box=ROUGH, **more)
        case["output"] = output | {"folder": str(tmp_path / name)}
        sim = fw.simulate(case).run(until=3.0 if name == "whole" else 1.2)
        if name == "parted":
            sim = fw.resume(tmp_path / name, until=3.0).run()
        found.append((sim.solver.operator.dofs(), sim.solver.parts["gravity"].surface.now()))
    for want, got in zip(*found, strict=True):
        np.testing.assert_array_equal(got, want)
    same, other = (
        fw.resume(tmp_path / "parted", order=o, until=3.5).solver.parts["gravity"].surface.now() for o in (3, 4)
    )
    kept = same.shape[1]
    np.testing.assert_array_equal(other[:, :kept], same)
    assert same.any() and not other[:, kept:].any()


def test_a_sea_on_rock_is_refused():
    case = sea(law="elastic")
    case["material"] = {"expression": {
        "rho": "return 1.0;", "lambda": "return 2.0;", "mu": "if (x > 5.0) { return 1.0; } return 0.0;"
    }}  # fmt: skip
    with pytest.raises(InputError, match=r"16 of 32 faces of kind gravity are on rock, the first at \("):
        fw.simulate(case)


def test_a_sea_that_leans_is_told():
    case = sea()
    case["mesh"]["generate"]["boundaries"] |= {"x+": "gravity"}
    assert any("is inclined by 90 degrees" in w.what for w in fw.simulate(case).warnings)


def test_a_sea_below_the_water_is_told():
    case = sea()
    case["mesh"]["generate"]["boundaries"] |= {"z-": "gravity"}
    assert any("is inclined by 180 degrees" in w.what for w in fw.simulate(case).warnings)


def test_other_integrators_and_laws_are_refused():
    with pytest.raises(InputError, match="a sea surface needs ader, not rk4"):
        fw.simulate(sea(numerics={"integrator": "rk4"}))
    case = sea() | {"law": "maxwell", "material": {"constant": {"relative_permittivity": 1.0}}}
    with pytest.raises(InputError, match="maxwell law does not have"):
        fw.simulate(case)


def test_gravity_without_a_sea_is_told():
    case = sea(box={"boundaries": {}})
    assert any(w.where == "gravity" for w in fw.simulate(case).warnings)


def test_repeated_integrals_are_exact():
    class Terms:
        order, unit, b3, Q, full = 4, 0.5, 20, 4, False

    taylor, upto = Taylor(Terms()), 0.3
    found = repeated_integrals(taylor, upto, 0.7, 5)
    whole = taylor.integral(0.0, 0.7, 0.7)
    # The first part is that of the whole step; the others have lost their share of it.
    for k in range(4):  # of (t / unit)^k / k!
        want = [powers(upto, k + j + 2)[-1] / 0.5**k for j in range(5)]
        got = found[:, 0] * whole[k] + (found[:, k] if k else 0.0)
        np.testing.assert_allclose(got, want, rtol=1e-12)
