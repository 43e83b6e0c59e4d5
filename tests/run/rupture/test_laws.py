"""Friction laws on a mesh: rate and state creeping steadily and ageing, imposed slip, single precision."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.dg.method.basis import triangle_basis
from faultwave.engine.capability import Callback
from faultwave.run import simulate
from tests.run import watching

from .setup import MU, ON_FAULT, difference, patch, run, settings, slip_weakening

A, B, F0, L, V0 = 0.008, 0.012, 0.6, 0.02, 1e-6
ETA = 2670 * 3464 / 2


def rate_and_state(law: str, rate: float, shear: float, **more) -> dict:
    values = {"rs_a": A, "rs_sl0": L, "T_n": -120e6, "T_s": shear, "T_d": 0.0, **more.pop("values", {})}
    expression = more.pop("expression", {})
    parameters = {"constant": {k: v for k, v in values.items() if k not in expression}}
    return {
        "friction": f"rate-and-state-{law}", "reference": (0.0, -1000.0, 0.0),
        "parameters": parameters | ({"expression": expression} if expression else {}),
        "constants": {"rs_f0": F0, "rs_b": B, "rs_sr0": V0, "rs_ini_slip_rate": rate}, **more,
    }  # fmt: skip


@pytest.mark.parametrize("law", ["ageing", "slip"])
def test_steady_creep(tmp_path, law: str) -> None:
    """At the steady state of a slow rate nothing changes: psi = L/V, mu = f0 + (a - b) ln(V/V0)."""
    rate = 1e-7
    mu = F0 + (A - B) * np.log(rate / V0)  # asinh(x) = ln(2x) to 1/(4x^2) here
    fault = rate_and_state(law, rate, mu * 120e6)
    h = run(settings(tmp_path, fault, end_time=0.5))
    record = h.sim.solver.parts["rupture"].fault.record()
    assert np.allclose(record["state"], L / rate, rtol=1e-6)
    assert np.allclose(record["slip_rate"], rate, rtol=1e-3)
    assert np.allclose(record["slip1"] ** 2 + record["slip2"] ** 2, (0.5 * rate) ** 2, rtol=2e-3)
    assert np.allclose(h["Mud"], mu, rtol=1e-9) and np.abs(h["RT"]).max() == 0
    assert record["unconverged"].max() == 0


@pytest.mark.parametrize("law", ["ageing", "slip"])
def test_state_follows_its_equation(tmp_path, law: str) -> None:
    """Along recorded histories d(psi)/dt is what the law says of (V, psi), and mu(V, psi) is what is recorded."""
    nucleation = [{"duration": 0.3, "stress": {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0},
                   "expression": {"Tnuc_s": patch(20e6, 0.0)}}}]  # fmt: skip
    fault = rate_and_state(law, 1e-9, 75e6, nucleation=nucleation, normal_traction="full")
    sim = simulate(settings(tmp_path, fault, end_time=0.5, numerics={"largest_step": 1e-3}))
    face, t, psi, v, friction, strength, normal = (
        int(sim.plan.part("fault_receivers").points.cells[0]),
        *([] for _ in range(6)),
    )

    def watch(cluster: int, time: float, step: float) -> None:
        if cluster == sim.plan.clustering.cluster[sim.plan.part("rupture").faces.cells[face, 0]]:
            r = sim.solver.parts["rupture"].fault.record(np.array([face]))
            now = (time + step, *(r[k][0, 0] for k in ("state", "slip_rate", "friction", "strength")))
            for column, value in zip((t, psi, v, friction, strength), now, strict=True):
                column.append(value)
            normal.append(r["stress_n"][0, 0] + r["traction_n"][0, 0])

    watching.watch(sim, Callback("after correct", watch))
    sim.run(write=False)
    assert sim.solver.parts["rupture"].fault.record()["unconverged"].max() == 0
    t, psi, v, friction, strength, normal = (np.array(x) for x in (t, psi, v, friction, strength, normal))
    assert v.max() > 1.0 and psi[-1] < 1e-3 * psi[0]
    # ln psi between samples against the law's rate at both ends, where the rate hardly changes in a step
    slope = {"ageing": 1 / psi - v / L, "slip": -(v / L) * np.log(np.maximum(v * psi / L, 1e-300))}[law]
    change = np.diff(np.log(psi))
    expected = 0.5 * (slope[1:] + slope[:-1]) * np.diff(t)
    active = (
        (np.abs(change) > 1e-4) & (np.abs(np.diff(slope)) < 0.2 * np.abs(slope[1:])) & (v[1:] * np.diff(t) < 0.2 * L)
    )
    assert active.sum() > 50
    assert np.abs(change - expected)[active].sum() < 0.01 * np.abs(change[active]).sum()
    mu = A * np.arcsinh(v / (2 * V0) * np.exp((F0 + B * np.log(V0 * psi / L)) / A))
    assert np.allclose(mu, friction, rtol=1e-9)
    assert np.allclose(strength, -mu * normal, rtol=1e-9)


def test_single_precision_slip_weakening(tmp_path) -> None:
    double = run(settings(tmp_path, slip_weakening(), position="nearest"))
    single = run(settings(tmp_path, slip_weakening(), position="nearest", numerics={"precision": "single"}))
    for name in ("SRs", "Sls", "Ts0", "PSR", "ASl"):
        assert difference(single[name], double[name]) < 1e-3, name
    assert np.abs(single.last("RT") - double.last("RT")).max() < 1e-3


@pytest.mark.parametrize("weakening, degree", [("quadratic", 2), ("full", 3)])
def test_slip_weakens_by_polynomials_of_a_face(tmp_path, weakening: str, degree: int) -> None:
    """At order 4."""
    h = run(settings(tmp_path, slip_weakening(weakening=weakening), end_time=0.3, numerics={"order": 4}))
    fault = h.sim.solver.parts["rupture"].fault
    slip, basis = fault.record()["accumulated_slip"], triangle_basis(fault.rule.points[0], degree)
    fitted = basis @ np.linalg.lstsq(basis, slip.T, rcond=None)[0]
    assert slip.max() > 0.05 and np.abs(fitted.T - slip).max() < 1e-12
    rough = triangle_basis(fault.rule.points[0], degree - 1)
    left = rough @ np.linalg.lstsq(rough, slip.T, rcond=None)[0]
    assert np.abs(left.T - slip).max() > 1e-3


def test_weakened_faces_slip_smoothly(tmp_path) -> None:
    """Beside a patch that faces do not follow, points stood for ever in faces that slip by more than two d_c."""
    rough, times = {}, {}
    for sliding in ("smooth", "full"):
        (tmp_path / sliding).mkdir()
        fault = slip_weakening(sliding=sliding, values={"d_c": 0.2})
        part = run(settings(tmp_path / sliding, fault, end_time=1.5)).sim.solver.parts["rupture"].fault
        record, weights = part.record(), 2.0 * part.rule.weights
        slipped = record["accumulated_slip"] @ weights > 0.5
        assert slipped.sum() > 10
        slip, times[sliding] = record["slip1"][slipped], record["ruptured"]
        rough[sliding] = np.sqrt(((slip - (slip @ weights)[:, None]) ** 2).mean())
        assert (times[sliding][slipped] <= 0).any() == (sliding == "full")
    assert 0 < rough["smooth"] < 0.7 * rough["full"]
    both = (times["smooth"] > 0) & (times["full"] > 0)
    assert (
        np.median(np.abs(times["smooth"] - times["full"])[both]) < 0.008
    )  # earlier: points that lag weaken with their face


def imposed(law: str, **times) -> dict:
    values = {"strike_slip": 0.8, "dip_slip": -0.3, **times}
    onset = {"rupture_onset": "return sqrt(x*x + (z + 2250.0)*(z + 2250.0))/8000.0;"}
    return {
        "friction": f"imposed-{law}", "reference": (0.0, -1000.0, 0.0), "slip_rate_output": "velocity",
        "parameters": {"constant": values, "expression": onset},
    }  # fmt: skip


@pytest.mark.parametrize("law, times, tolerance", [
    ("yoffe", {"tau_S": 0.06, "tau_R": 0.25}, 1e-12),
    ("yoffe", {"tau_S": 0.1, "tau_R": 0.1}, 1e-12),
    ("gaussian", {"rupture_rise_time": 0.3}, 1e-12),
])  # fmt: skip
def test_imposed_slip(tmp_path, law: str, times: dict, tolerance: float) -> None:
    """Slip ends as prescribed and the moment is mu times area times slip; the fields on both sides moved apart by it."""
    case = settings(tmp_path, imposed(law, **times), end_time=1.0)
    h = run({**case, "output": {**case["output"], "energies": {"interval": 0.5, "slip_from_velocity": False}}})
    plan, record = h.sim.plan.part("rupture"), h.sim.solver.parts["rupture"].fault.record()
    f = plan.faces
    slip = record["slip1"][..., None] * f.tangent1[:, None] + record["slip2"][..., None] * f.tangent2[:, None]
    wanted = 0.8 * f.strike - 0.3 * f.dip
    size = np.hypot(0.8, 0.3)
    assert np.abs(slip - wanted[:, None]).max() < tolerance * size
    assert np.abs(record["accumulated_slip"] - size).max() < tolerance * size
    assert np.abs(h.last("Sls") - 0.8).max() < max(tolerance, 1e-12) and np.abs(h.last("Sld") + 0.3).max() < 2e-3
    energy = h.sim.energy_now()
    moment = MU * 6000.0 * 4500.0 * size
    assert abs(energy["seismic_moment"] / moment - 1) < max(tolerance, 1e-9)
    assert abs(energy["potency"] / (moment / MU) - 1) < max(tolerance, 1e-9)
    # rupture times: when the rate first passes 1 mm/s, soon after the onset
    onset = np.hypot(plan.positions[..., 0], plan.positions[..., 2] + 2250.0) / 8000.0
    delay = record["ruptured"] - onset
    # interpolated in the sub-step, in which the rate may have been zero for a while
    assert delay.min() > -h.sim.plan.clustering.steps[-1] and delay.max() < 0.1
    # the slip rate integrates to the slip, measured by the jump of the velocity of both sides
    t = h.time[:, 0]
    total = np.trapezoid(h["SRs"], t, axis=0)
    assert np.abs(total - 0.8).max() < 0.05 * 0.8


def test_slip_all_at_once(tmp_path) -> None:
    """The whole slip, at every point in the one sub-step that contains its onset, whatever the step of the cell."""
    case = settings(tmp_path, imposed("delta"), end_time=0.6, numerics={"order": 2})
    h = run(case)
    plan, record = h.sim.plan.part("rupture"), h.sim.solver.parts["rupture"].fault.record()
    assert len(h.sim.plan.clustering.steps) > 1
    onset = np.hypot(plan.positions[..., 0], plan.positions[..., 2] + 2250.0) / 8000.0
    assert (np.abs(record["accumulated_slip"] - np.hypot(0.8, 0.3)) < 1e-13)[onset < 0.59].all()
    assert (record["accumulated_slip"][onset > 0.61] == 0).all()
    assert np.abs(record["ruptured"] - onset)[onset < 0.59].max() <= h.sim.plan.clustering.steps[-1]
    assert h.sim.energy_now()["seismic_moment"] > 0 and np.isfinite(h["SRs"]).all()


def test_imposed_slip_from_the_velocity_jump(tmp_path) -> None:
    """The moment taken from the velocities of both sides is the prescribed one up to discretisation."""
    fault = imposed("gaussian", rupture_rise_time=0.4)
    case = settings(tmp_path, fault, end_time=1.2, points=ON_FAULT[:1], numerics={"order": 4})
    h = run({**case, "output": {**case["output"], "energies": {"interval": 0.6, "slip_from_velocity": True}}})
    energy = h.sim.energy_now()
    assert abs(energy["seismic_moment"] / (MU * 6000.0 * 4500.0 * np.hypot(0.8, 0.3)) - 1) < 0.03
