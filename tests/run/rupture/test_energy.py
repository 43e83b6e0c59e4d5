"""Energy balance of a rupture in a closed body: what friction does not take goes into waves and strain."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import Interrupted
from faultwave.domain.tets import Mesh
from faultwave.domain.tets.mesh import make_mesh

from .setup import run, settings, slip_weakening, small_mesh

SOFT = {"rho": "if (y > 0.0) { return 2670.0; } return 2300.0;", "vp": "if (y > 0.0) { return 6000.0; } return 4500.0;",
        "vs": "if (y > 0.0) { return 3464.0; } return 2500.0;"}  # fmt: skip


def closed(mesh: Mesh, tag: int) -> Mesh:
    """All sides free (1) or rigid (8), so that nothing is radiated."""
    return make_mesh(mesh.vertices, mesh.cells, mesh.groups, np.where(mesh.tags == 5, tag, mesh.tags))


TAPER = "a = max(0.0, 1.0 - (x/2999.0)*(x/2999.0)); b = max(0.0, 1.0 - (z/4499.0)*(z/4499.0)); return a*a*b*b;"
SMOOTH = {
    "friction": "imposed-gaussian",
    "reference": (0.0, -1000.0, 0.0),
    "parameters": {
        "constant": {"dip_slip": 0.0, "rupture_onset": 0.0, "rupture_rise_time": 0.7},
        "expression": {"strike_slip": TAPER},
    },
}


def balance(path, fault: dict, tag: int, order: int, material: dict | None = None, from_velocity: bool = False):
    """Times, (stored energy)/(frictional work) - 1, and all energies, in a body nothing leaves."""
    energies = {"interval": 0.1, "slip_from_velocity": from_velocity}
    case = settings(path, fault, closed(small_mesh(), tag), numerics={"order": order}, output={"energies": energies})
    case["end_time"] = 0.5
    if material:
        case["material"] = {"expression": material}
    data = run(case).sim.energies
    stored, work = data["elastic_energy"] + data["elastic_kinetic_energy"], data["total_frictional_work"]
    later = data["time"] > 0.15
    assert stored[-1] > 1e13 and (np.diff(work[1:]) > 0).all()
    assert data["static_frictional_work"][-1] < work[-1]
    return data["time"][later], stored[later] / work[later] - 1, data


@pytest.mark.parametrize("fault, tag, material, limit", [
    ("slip weakening", 1, None, 0.035), ("slip weakening", 8, None, 0.035), ("sliding", 1, None, 0.08),
    ("smooth", 1, None, 0.025), ("smooth", 1, SOFT, 0.035),
])  # fmt: skip
def test_work_becomes_energy(tmp_path, fault: str, tag: int, material: dict | None, limit: float) -> None:
    """Strain and kinetic energy of the change = - int (traction change) . V; the scheme may only lose some of it."""
    setting = {"slip weakening": slip_weakening(), "sliding": slip_weakening(values={"d_c": 0.1}), "smooth": SMOOTH}[
        fault
    ]
    _, found, data = balance(tmp_path, setting, tag, 5, material)
    assert found.max() < 1e-6 and found.min() > -limit
    if tag == 1:
        scale = np.sqrt(2 * data["elastic_kinetic_energy"][-1] * 2670 * 12e3 * 10e3 * 7e3)  # sqrt(2 E M)
        assert max(abs(data[f"momentum{x}"][-1]) for x in "XYZ") < 1e-9 * scale


def test_loss_shrinks_with_order(tmp_path) -> None:
    losses = [-balance(tmp_path, SMOOTH, 1, order)[1].min() for order in (2, 3, 4)]
    assert losses[0] > 1.4 * losses[1] > 1.4 * 1.4 * losses[2] > 0


def test_work_from_velocities(tmp_path) -> None:
    """The velocity jump of the traces lags behind the slip rate of the friction solve, by the discretisation error."""
    time, found, _ = balance(tmp_path, SMOOTH, 1, 5, None, True)
    assert np.abs(found[time > 0.35]).max() < 0.05


def test_static_work_potency_and_moment(tmp_path) -> None:
    """Against sums over the friction points done by hand."""
    h = run(settings(tmp_path, slip_weakening(), output={"energies": {"interval": 0.8}}))
    r, plan, found = h.sim.solver.parts["rupture"].fault.record(), h.sim.plan.part("rupture"), h.sim.energy_now()
    weight = 2.0 * plan.rule.weights[None] * plan.faces.area[:, None]
    assert np.isclose(weight.sum(), 6000.0 * 4500.0, rtol=1e-12)
    static = -0.5 * (weight * (r["traction1"] * r["slip1"] + r["traction2"] * r["slip2"])).sum()
    potency = (weight * r["accumulated_slip"]).sum()
    assert np.isclose(found["static_frictional_work"], static, rtol=1e-12)
    assert np.isclose(found["potency"], potency, rtol=1e-12)
    assert np.isclose(found["seismic_moment"], potency * 2670 * 3464.0**2, rtol=1e-9)


def test_slip_by_the_velocity_jump_goes_on_at_another_order(tmp_path) -> None:
    """Its modes are those of the same polynomial at a higher order, and its work is the face's."""
    case = settings(
        tmp_path, slip_weakening(), end_time=0.4, output={"energies": {"interval": 0.1, "slip_from_velocity": True}}
    )
    half = fw.simulate(case, force=True)
    with pytest.raises(Interrupted):
        half.run(progress=lambda p: signal.raise_signal(signal.SIGTERM) if p.time > 0.25 else None)
    first, second = (s.solver.parts["rupture"].fault for s in (half, fw.resume(tmp_path / "out", order=4)))
    work = [f.energies(True, True)["total_frictional_work"] for f in (first, second)]
    assert work[0] == pytest.approx(work[1], rel=1e-12) and abs(work[0]) > 0.0
    old, new = (f.state_of("jumped") for f in (first, second))
    assert (old.shape[1], new.shape[1]) == (6, 10) and np.abs(old).max() > 0.01
    assert np.array_equal(new[:, :6], old) and not new[:, 6:].any()
