"""How a rupture is started and strengthened: stress episodes, forced rupture, cohesion, healing."""

from __future__ import annotations

import numpy as np
import pytest

from faultwave.physics.friction.initial_stress import smooth_step
from faultwave.run import simulate

from .setup import difference, run, settings, slip_weakening

STRONG = {"mu_s": 10.0, "mu_d": 10.0}
NUC_2 = {"constant": {"Tnuc2_n": 2e6, "Tnuc2_s": 0.0}, "expression": {"Tnuc2_d": "return 1000.0*x;"}}


@pytest.mark.parametrize("rates", [[2], [1], [3]])
def test_episodes_are_added_once(tmp_path, rates: list[int]) -> None:
    """On a fault that cannot slip, the traction read at any time is what the episodes have brought by then."""
    first = {"constant": {"Tnuc_n": -5e6, "Tnuc_s": 11e6, "Tnuc_d": -3e6}}
    episodes = [
        {"start": 0.05, "duration": 0.2, "stress": first},
        {"start": 0.1013, "duration": 0.0, "stress": NUC_2, "number": 2},
        {"start": 0.2, "duration": 0.05, "stress": first},
    ]
    fault = slip_weakening(values=STRONG, nucleation=episodes)
    case = settings(tmp_path, fault, end_time=0.4, numerics={"clustering": {"rates": rates}})
    h = run(case)
    clusters = h.sim.plan.clustering.cluster[h.sim.plan.part("rupture").faces.cells]
    assert rates == [1] or (clusters.min() == 0 and h.sim.plan.clustering.cluster.max() > 0)
    x = h.sim.fault_receivers["location"][:, 0]
    t = h.time
    g1, g2, g3 = smooth_step(t - 0.05, 0.2), (t > 0.1013) * 1.0, smooth_step(t - 0.2, 0.05)
    start = h["Ts0"][0]
    assert difference(h["Ts0"], start + 11e6 * (g1 + g3)) < 1e-12
    assert np.abs(h["Pn0"] - (-120e6 - 5e6 * (g1 + g3) + 2e6 * g2)).max() < 1e-4
    # The point's own stress is that of the nearest friction point, here the second episode varies along x.
    nearest = -3e6 * (g1[-1] + g3[-1])
    assert np.abs(h["Td0"][-1] - nearest - 1000.0 * x).max() < 1000.0 * 500.0
    record, plan = h.sim.solver.parts["rupture"].fault.record(), h.sim.plan.part("rupture")
    added = np.stack([record[k] for k in ("stress_n", "stress1", "stress2")], -1) - plan.stress
    f = plan.faces
    shear = added[..., 1:2] * f.tangent1[:, None] + added[..., 2:] * f.tangent2[:, None]
    dip = -6e6 + 1000.0 * plan.positions[..., 0]
    assert np.abs(shear @ [1, 0, 0] - 22e6).max() < 1e-4
    assert np.abs((shear * f.dip[:, None]).sum(-1) - dip).max() < 1e-4
    assert np.abs(added[..., 0] - (-8e6)).max() < 1e-4
    assert np.abs(record["slip_rate"]).max() == 0 and np.abs(record["traction1"]).max() == 0


def test_sixteen_episodes(tmp_path) -> None:
    """Sets 1 to 16 of names, at once or in time, as tensors and tractions by turns."""
    episodes = []
    for i in range(1, 17):
        prefix = f"nuc{i}" if i > 1 else "nuc"
        names = (
            [f"{prefix}_{c}" for c in ("xx", "yy", "zz", "xy", "yz", "xz")]
            if i % 2
            else [f"T{prefix}_{c}" for c in "nsd"]
        )
        along = 3 if i % 2 else 1
        constant = {name: 1e5 * i if at == along else 0.0 for at, name in enumerate(names)}
        episodes.append({"start": 0.01 * i, "duration": 0.01 * (i % 3), "stress": {"constant": constant}, "number": i})
    h = run(
        settings(tmp_path, slip_weakening(values=STRONG, nucleation=episodes), end_time=0.25, numerics={"order": 2})
    )
    # on this fault, n = +y, right-lateral shear is s_xy
    steps = [smooth_step(h.time - 0.01 * i, 0.01 * (i % 3)) for i in range(1, 17)]
    assert difference(h["Ts0"] - h["Ts0"][0], sum(1e5 * i * g for i, g in enumerate(steps, 1))) < 1e-11
    assert np.allclose(h["Ts0"][-1] - h["Ts0"][0], 1e5 * 136, rtol=1e-12)


def test_episodes_with_the_same_names(tmp_path) -> None:
    """`number` says which names an episode reads; two may read the same."""
    stress = {"constant": {"Tnuc_n": 0.0, "Tnuc_s": 5e6, "Tnuc_d": 0.0}}
    episodes = [{"start": 0.0, "duration": 0.05, "stress": stress}, {"start": 0.05, "duration": 0.05, "stress": stress}]
    h = run(settings(tmp_path, slip_weakening(values=STRONG, nucleation=episodes), end_time=0.15))
    assert np.abs(h["Ts0"][-1] - h["Ts0"][0] - 10e6).max() < 1e-4


@pytest.mark.parametrize(
    ("episode", "breaks"),
    [
        ({"duration": 0.1, "stress": {"constant": {"nuc_p": 60e6}}}, True),
        ({"duration": 0.1, "stress": {"constant": {"Tnuc_n": 60e6, "Tnuc_s": 0.0, "Tnuc_d": 0.0}}}, True),
        ({"duration": 0.1, "stress": {"constant": {"nuc_p": 10e6}}}, False),
        ({"start": 0.2, "stress": {"constant": {"nuc_p": 60e6}}}, False),  # the run has ended
    ],
)
def test_the_forecast_knows_what_nucleation_breaks(tmp_path, episode: dict, breaks: bool) -> None:
    fault = slip_weakening(expression={"T_s": "return 70000000;"}, nucleation=[episode])
    sim = run(settings(tmp_path, fault, end_time=0.2)).sim
    slip = sim.solver.parts["rupture"].fault.record()["accumulated_slip"].max()
    told = [str(w) for w in sim.warnings if "no point of the fault is above its strength" in w.what]
    assert (slip > 0.01, not told) == (breaks, breaks)


def test_nucleation_that_opens_the_fault_is_told_before_the_run(tmp_path) -> None:
    """More fluid pressure than there is compression."""
    for pressure, told in ((130e6, True), (30e6, False)):
        episode = {"duration": 0.1, "stress": {"constant": {"nuc_p": pressure}}}
        sim = simulate(settings(tmp_path, slip_weakening(nucleation=[episode]), end_time=0.2), force=True)
        assert any("removes all compression on 100 % of the fault" in w.what for w in sim.warnings) == told


LAWS = {  # the last two with next to no delay, and a slip that hardly weakens
    "linear": {},
    "delayed": {"modifiers": ["prakash-clifton"], "constants": {"pc_reference_rate": 1.0, "pc_length": 1e-4}},
    "power law": {"friction": "power-law-slip-weakening", "constants": {"weakening_exponent": 0.1}},
}


@pytest.mark.parametrize("ramp, law", [(0.0, "linear"), (0.1, "linear"), (0.1, "delayed"), (0.1, "power law")])
def test_forced_rupture(tmp_path, ramp: float, law: str) -> None:
    """Points weaken at the forced time whatever their slip: a front at 5 km/s from x = -3 km (as SCEC TPV16)."""
    forced = {"forced_rupture_time": "return (x + 3000.0)/5000.0;", "T_s": "return 70000000.0;"}
    fault = slip_weakening(values={"mu_s": 0.677}, expression=forced, forced_rupture_ramp=ramp) | LAWS[law]
    h = run(settings(tmp_path, fault, end_time=0.9, numerics={"order": 4}))
    plan, record = h.sim.plan.part("rupture"), h.sim.solver.parts["rupture"].fault.record()
    due = (plan.positions[..., 0] + 3000.0) / 5000.0
    strength = 120e6 * (0.677 - (0.677 - 0.525) * np.array([0.0, 1.0]))
    broken = due + ramp * (strength[0] - 70e6) / (strength[0] - strength[1])  # when strength falls to the stress
    found = record["ruptured"]
    step = h.sim.plan.clustering.steps[0]
    reached = broken < 0.9 - 0.05
    assert (found[reached] > 0).all()
    late = (found - broken)[reached]
    assert late.max() < 2 * step and np.median(np.abs(late)) < 0.03  # waves of the front may break points early
    assert (found[due > 0.9 + 0.05] >= 0).all()
    weak = due + ramp < 0.9 - step
    assert np.allclose(record["friction"][weak], 0.525, rtol=0, atol=1e-12)
    assert (record["friction"][due > 0.9] > 0.525).all()


def test_cohesion_holds(tmp_path) -> None:
    """The strength is -C - mu sigma: with 3 MPa of cohesion the overstressed patch does not break, with 0 it does."""
    held = run(settings(tmp_path, slip_weakening(values={"cohesion": -3e6}), end_time=0.1))
    broken = run(settings(tmp_path, slip_weakening(values={"cohesion": -0.1e6}), end_time=0.1))
    a, b = (h.sim.solver.parts["rupture"].fault.record() for h in (held, broken))
    assert np.abs(a["slip_rate"]).max() == 0 and b["slip_rate"].max() > 0.01
    assert np.allclose(a["strength"], 3e6 + 0.677 * 120e6, rtol=1e-12)
    eta = 2670 * 3464 / 2
    assert np.isclose(b["peak_slip_rate"].max(), b["peak_slip_rate"][b["ruptured"] > 0].max())
    # at first the slip rate is (stress - strength)/eta
    first = broken["SRs"][1]
    assert np.allclose(first[0], (81.6e6 - 0.1e6 - 0.677 * 120e6) / eta, rtol=0.5)


def test_healing(tmp_path) -> None:
    """With a healing threshold friction is static again once the slip rate has come down below it."""
    healed = run(settings(tmp_path, slip_weakening(healing_threshold=1.5), end_time=0.9))
    plain = run(settings(tmp_path, slip_weakening(), end_time=0.9))
    a, b = (h.sim.solver.parts["rupture"].fault.record() for h in (healed, plain))
    done = (a["peak_slip_rate"] > 1.5) & (a["slip_rate"] < 1.5)
    assert done.sum() > 20 and (a["friction"][done] == 0.677).all()
    assert (b["friction"][(b["accumulated_slip"] > 0.4)] == 0.525).all()
    assert a["accumulated_slip"].sum() < b["accumulated_slip"].sum()
