"""Maps, moment rate and source parameters of a rupture: against the run's other outputs, and on any number of processes."""

from __future__ import annotations

import json
from dataclasses import fields

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.output.formats.finite_sources.histories import read_histories
from faultwave.output.formats.rupture_files import read_parameters
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.run import resume, simulate

from .setup import MU, patch, settings, slip_weakening


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A rupture of 1.2 s with all its files."""
    path = tmp_path_factory.mktemp("maps")
    fault = {"interval": 0.02, "refinement": 2}
    maps = {"interval": 0.02, "slip_interval": 0.05}
    output = {"rupture": maps, "energies": {"interval": 0.1}, "fault": fault}
    return simulate(settings(path, slip_weakening(), end_time=1.2, output=output), force=True).run()


def test_moment_rate_integrates_to_the_moment(finished) -> None:
    table = np.loadtxt(finished.folder / "run-moment-rate.csv", delimiter=",", skiprows=1)
    head = (finished.folder / "run-moment-rate.csv").read_text().splitlines()[0]
    assert head == "time [s],moment_rate [N*m/s],potency_rate [m^3/s],seismic_moment [N*m]"
    steps = np.zeros(len(table))
    for i, middle in enumerate(table[:, 0]):
        steps[i] = 2 * (middle - steps.sum())
    assert steps[:-1].min() >= 0.02 and np.ptp(steps[:-1]) < 1e-6
    moment = finished.energies["seismic_moment"][-1]
    assert (table[:, 1] * steps).sum() == pytest.approx(moment, rel=1e-6)
    assert table[-1, 3] == pytest.approx(moment, rel=1e-9)
    np.testing.assert_allclose(table[:, 1], MU * table[:, 2], rtol=1e-9)
    spectrum = np.loadtxt(finished.folder / "run-moment-spectrum.csv", delimiter=",", skiprows=1)
    assert spectrum[0, 1] == pytest.approx(moment, rel=0.2) and (spectrum[:, 1] <= moment * 1.001).all()


def test_source_parameters(finished) -> None:
    found = read_parameters(finished.folder / "run-rupture.json")
    energies = finished.energies
    last = {name: energies[name][-1] for name in energies.variables}
    assert found["seismic_moment"] == pytest.approx(last["seismic_moment"], rel=1e-12)
    assert found["radiated_energy"] == pytest.approx(
        last["total_frictional_work"] - last["static_frictional_work"], rel=1e-9
    )
    assert found["radiated_energy"] > 0
    # a slow rupture takes half of the mean stress drop times slip
    slip = found["mean_slip"] * found["ruptured_area"]
    assert 0.5 * found["stress_drop"] * slip == pytest.approx(last["static_frictional_work"], rel=1e-9)
    assert found["apparent_stress"] == pytest.approx(found["radiated_energy"] / found["potency"])
    content = json.loads((finished.folder / "run-rupture.json").read_text())
    assert content["stress_drop"]["unit"] == "Pa" and content["corner_frequency"]["unit"] == "Hz"
    with VtkHdfReader(finished.folder / "run-rupture.vtkhdf") as file:
        told = content["fields of run-rupture.vtkhdf"]
        assert set(told) == {*file.fields, *file.static}


def test_maps_of_a_slip_weakening_fault(finished) -> None:
    """Breakdown work is half the strength drop times d_c where the fault has weakened; the stress drop is that to dynamic strength."""
    fault, record = finished.solver.parts["rupture"].fault, finished.solver.parts["rupture"].fault.record()
    with VtkHdfReader(finished.folder / "run-rupture.vtkhdf") as file:
        found = {name: file.field(name) for name in (*file.fields, *file.static)}
        times = file.times
    assert times.tolist() == [pytest.approx(finished.time)]
    whole = (record["weakened"] > 0).all(1)
    assert whole.sum() > 5
    # normal stress hardly changes on this fault; sub-steps make the fall of strength a staircase
    expected = 0.5 * (0.677 - 0.525) * 120e6 * 0.4
    # and across the sides of the patch some points slip with their face before they have weakened themselves
    np.testing.assert_allclose(found["fracture_energy"][whole], expected, rtol=0.35)
    assert np.median(found["fracture_energy"][whole]) == pytest.approx(expected, rel=0.05)
    inside = whole & (np.abs(fault.faces.corners.mean(1) - [0, 0, -2250.0]).max(1) < 1200.0)
    assert inside.any()
    drop = found["stress_drop"][inside]
    assert (drop > 10e6).all() and (drop < 30e6).all()  # 81.6 - 63 MPa and the patch's surroundings
    np.testing.assert_allclose(found["slip"], np.hypot(found["slip_strike"], found["slip_dip"]), rtol=0.05, atol=1e-3)
    outside = ~np.isfinite(found["rupture_time"])
    assert np.isnan(found["stress_drop"][outside]).all() and np.isnan(found["rupture_speed"][outside]).all()


def test_the_same_from_snapshots(finished) -> None:
    """Source parameters once more, by sums over the triangles of the snapshots of the fault."""
    told = read_parameters(finished.folder / "run-rupture.json")
    with VtkHdfReader(finished.folder / "run-fault.vtkhdf") as file:
        corners, times = file.points[file.cells], file.times
        fields = ("T_s", "T_d", "Ts0", "Td0", "Sls", "Sld", "SRs", "SRd", "ASl")
        values = {name: np.array([file.field(name, i) for i in range(len(times))]) for name in fields}
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    assert area.sum() == pytest.approx(6000.0 * 4500.0)

    def pair(one: str, two: str) -> np.ndarray:
        return np.stack([values[one], values[two]], -1)

    slip, change, total = pair("Sls", "Sld"), pair("T_s", "T_d"), pair("Ts0", "Td0")
    steps = np.diff(slip, axis=0)
    slipped = area @ np.hypot(*slip[-1].T)
    assert told["potency"] == pytest.approx(area @ values["ASl"][-1], rel=0.02)
    assert told["seismic_moment"] == pytest.approx(MU * told["potency"], rel=1e-9)
    assert told["moment_magnitude"] == pytest.approx((np.log10(told["seismic_moment"]) - 9.1) / 1.5, abs=1e-9)
    assert told["stress_drop"] == pytest.approx(area @ ((total[0] - total[-1]) * slip[-1]).sum(1) / slipped, rel=0.05)
    means = 0.5 * (change[1:] + change[:-1])
    work = -(means * steps).sum((0, 2)) @ area
    slow = -0.5 * (change[-1] * slip[-1]).sum(1) @ area
    assert told["radiated_energy"] == pytest.approx(work - slow, rel=0.1)
    against = 0.5 * (total[1:] + total[:-1])
    assert told["frictional_heat_and_fracture"] == pytest.approx((against * steps).sum((0, 2)) @ area, rel=0.02)
    rate = np.loadtxt(finished.folder / "run-moment-rate.csv", delimiter=",", skiprows=1)
    expected = np.interp(rate[:, 0], times, MU * np.hypot(values["SRs"], values["SRd"]) @ area)
    later = rate[:, 0] > 0.1  # the patch starts to slip everywhere at once
    np.testing.assert_allclose(rate[later, 1], expected[later], rtol=0.1)


def test_a_run_that_ends_too_early_says_so(finished) -> None:
    assert any("has not ended" in str(w) for w in finished.warnings)


def test_maps_of_a_resumed_run_are_the_same(tmp_path, finished) -> None:
    case = settings(
        tmp_path, slip_weakening(), end_time=1.2,
        output={"rupture": {"interval": 0.02, "slip_interval": 0.05}, "energies": {"interval": 0.1}, "checkpoint": {"interval": 0.5}},
    )  # fmt: skip
    simulate(case, force=True).run(until=0.7)
    resume(tmp_path / "out", until=1.2).run()
    for name in ("run-rupture.json", "run-moment-rate.csv", "run-moment-spectrum.csv"):
        again = (tmp_path / "out" / name).read_text()
        if name.endswith("json"):
            assert json.loads(again) == json.loads((finished.folder / name).read_text())
    again, whole = (read_histories(folder / "run-slip.h5") for folder in (tmp_path / "out", finished.folder))
    for field in fields(whole):
        assert np.array_equal(getattr(again, field.name), getattr(whole, field.name)), field.name


def test_maps_change_nothing_else(tmp_path) -> None:
    """Bit for bit: what is remembered besides does not reach friction."""
    plain = simulate(settings(tmp_path, slip_weakening(), end_time=0.3), force=True).run(write=False)
    mapped = simulate(settings(tmp_path, slip_weakening(), end_time=0.3, output={"rupture": {}}), force=True).run(
        write=False
    )
    assert np.array_equal(plain.fault_receivers["values"], mapped.fault_receivers["values"], equal_nan=True)


def test_maps_need_a_fault(tmp_path) -> None:
    case = settings(tmp_path, slip_weakening(), output={"rupture": {}})
    del case["fault"], case["output"]["fault_receivers"]
    with pytest.raises(InputError, match=r"output\.rupture: the case has no fault"):
        simulate(case, force=True)


def test_maps_of_imposed_slip_and_of_rate_and_state(tmp_path) -> None:
    """Imposed slip has no stress drop nor fracture energy; both have a moment, and imposed slip its own speed."""
    imposed = {
        "friction": "imposed-gaussian", "reference": (0.0, -1000.0, 0.0),
        "parameters": {"constant": {"strike_slip": 1.0, "dip_slip": 0.0, "rupture_rise_time": 0.2},
                       "expression": {"rupture_onset": "return (x + 3000.0) / 6000.0;"}},
    }  # fmt: skip
    output = {"rupture": {"interval": 0.02}}
    sim = simulate(settings(tmp_path, imposed, end_time=1.6, output=output), force=True).run(write=False)
    found = sim.result("source_parameters")
    assert "stress_drop" not in found and "fracture_energy" not in sim.result("rupture_map")
    assert float(found["mean_slip"]) == pytest.approx(1.0, rel=1e-6)
    assert float(found["seismic_moment"]) == pytest.approx(MU * 6000.0 * 4500.0, rel=1e-6)
    speed = sim.result("rupture_map")["rupture_speed"]
    np.testing.assert_allclose(speed, 6000.0, rtol=0.02)
    creeping = {
        "friction": "rate-and-state-ageing", "reference": (0.0, -1000.0, 0.0),
        "parameters": {"constant": {"rs_a": 0.008, "rs_sl0": 0.02, "T_n": -120e6, "T_s": 75e6, "T_d": 0.0}},
        "constants": {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6, "rs_ini_slip_rate": 1e-12},
    }  # fmt: skip
    sim = simulate(settings(tmp_path, creeping, end_time=0.3, output=output), force=True).run(write=False)
    found = sim.result("source_parameters")
    assert float(found["ruptured_area"]) == 0.0 and np.isnan(found["rupture_speed"])


@pytest.mark.parametrize("law", ["rate-and-state-ageing", "severe-velocity-weakening"])
def test_the_cohesive_zone_of_rate_and_state_is_told(tmp_path, law: str) -> None:
    """Where a law has no fully weakened friction, it ends when friction is nearly that of steady slip; the rule of decks finds no end."""
    severe = law.startswith("severe")
    values = {"rs_a": 0.008, "rs_sl0": 0.02, "T_n": -120e6, "T_s": 70e6 if severe else 75e6, "T_d": 0.0}
    rates = {"rs_f0": 0.6, "rs_b": 0.35, "rs_sr0": 0.1} if severe else {"rs_f0": 0.6, "rs_b": 0.012, "rs_sr0": 1e-6}
    stress = {"constant": {"Tnuc_n": 0.0, "Tnuc_d": 0.0}, "expression": {"Tnuc_s": patch(40e6, 0.0)}}
    found = {}
    for name, more in (("native", {}), ("decks", {"rs_muw": 0.0})):
        fault = {
            "friction": law, "reference": (0.0, -1000.0, 0.0), "parameters": {"constant": values},
            "constants": {**rates, "rs_ini_slip_rate": 1e-12, **more}, "nucleation": [{"duration": 0.1, "stress": stress}],
        }  # fmt: skip
        case = settings(tmp_path, fault, end_time=0.8, output={"rupture": {"interval": 0.05}}, numerics={"order": 2})
        found[name] = simulate(case, force=True).run(write=False)
    shares = {
        name: float((sim.solver.parts["rupture"].fault.record()["weakened"] > 0).mean()) for name, sim in found.items()
    }
    assert shares["native"] > 0.2 and shares["decks"] == 0.0
    record = found["native"].solver.parts["rupture"].fault.record()
    weak = record["weakened"] > 0
    assert (record["weakened"] - record["ruptured"])[weak].min() > 0.005  # not as soon as it slips
    if not severe:  # which breaks too fast for a front
        assert 10.0 < float(found["native"].result("source_parameters")["cohesive_zone"]) < 2000.0
    for name in ("slip", "peak_slip_rate", "rupture_time"):
        maps = [sim.result("rupture_map")[name] for sim in found.values()]
        np.testing.assert_array_equal(maps[1], maps[0], err_msg=name)
