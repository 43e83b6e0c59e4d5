"""Cases on grids from their settings to seismograms: accuracy, files, and everything that is told before a run."""

import json
import shutil

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.case.load import load_case
from faultwave.physics.waves.plane_waves import plane_waves
from faultwave.run import simulate
from faultwave.run.planned import check
from faultwave.verify.exact import Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker
from tests.messages import expect, raises

ROCK = {"rho": 2700.0, "vp": 3464.1016151377544, "vs": 2000.0}
MOMENT = {"xy": 1e15, "xx": 4e14, "zz": -4e14}


def case(**changes):
    settings = {
        "engine": "fd",
        "end_time": 0.5,
        "grid": {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 100.0, "absorbing": {"width": 5}},
        "material": {"constant": ROCK},
        "sources": [
            {"kind": "moment-tensor", "location": [750, 730, -620], "tensor": MOMENT,
             "time_function": {"kind": "ricker", "duration": 0.5}}
        ],
        "output": {"receivers": {"points": [[300, 900, 0], [1200, 500, -900]], "interval": 0.05}},
    }  # fmt: skip
    for key, value in changes.items():
        group = settings
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    return settings


def problems(**changes):
    settings, found = load_case(case(**changes))
    if settings is None:
        return "\n".join(map(str, found.errors))
    return "\n".join(map(str, check(settings).errors))


def plane_wave_error(cells, courant):
    n = float(cells)
    wave = {"k": [2 * np.pi, 2 * np.pi, 0.0], "amplitude": 1.0}
    waves = [{"mode": "P", **wave}, {"mode": "S", "polarisation": [0, 0, 1.0], **wave, "k": [0.0, -2 * np.pi, 0.0]}]
    material = {"rho": 1.0, "lambda": 2.0, "mu": 1.0}
    sim = simulate({
        "engine": "fd", "end_time": 0.3, "material": {"constant": material},
        "grid": {"lower": [0, 0, 0], "upper": [1, 1, 1], "spacing": 1 / n, "boundaries": dict.fromkeys("xyz", "periodic")},
        "initial": {"kind": "plane-wave", "wave": waves}, "numerics": {"precision": "double", "cfl": courant},
    })  # fmt: skip
    sim.run(write=False)
    parameters = {k: np.array([v]) for k, v in material.items()}
    return sim.error(lambda x, t: plane_waves(sim.plan.law, parameters, sim.case.initial.wave, x, t))


def test_fourth_order_in_space():
    """The step falls with the square of the spacing, so that its second order shows as fourth."""
    coarse, fine = plane_wave_error(8, 0.8), plane_wave_error(16, 0.4)
    moving = (coarse > 1e-3) & (fine > 0)  # s_xz stays still
    rates = np.log2(coarse[moving] / fine[moving])
    assert moving.sum() >= 7
    assert (rates > 3.7).all() and (rates < 4.3).all(), rates


def test_seismograms_of_a_full_space():
    frequency, location = 1.0, (30.0, -20.0, 45.0)
    receivers = [[1500.0, 700, 500], [-600, 510, -1422], [0.0, 1950, 1200]]
    sim = simulate({
        "engine": "fd", "end_time": 3.2, "material": {"constant": ROCK},
        "grid": {"lower": [-2000] * 3, "upper": [2000] * 3, "spacing": 100.0, "boundaries": {"z": "absorbing"},
                 "absorbing": {"frequency": 1.0}},
        "sources": [{"kind": "moment-tensor", "location": location, "tensor": MOMENT,
                     "time_function": {"kind": "ricker", "duration": 1 / frequency}}],
        "output": {"receivers": {"points": receivers, "interval": 0.02, "rotation": True, "strain_rate": True}},
    })  # fmt: skip
    data = sim.run(write=False).receivers
    rock = Medium(2700.0, 1.08e10, 1.08e10)
    exact = FullSpace(
        rock, ricker(frequency, 1.5), location=location, moment=tuple(map(tuple, np.array(tensor(**MOMENT))))
    )
    points, time = np.array(receivers), data["time"]
    assert len(time) == 161 and time[-1] == pytest.approx(3.2)

    def misfit(found, expected):
        return np.sqrt(((found - expected) ** 2).sum((0, 2)) / (expected**2).sum((0, 2)))

    def pick(names):
        return np.stack([data.quantity(n) for n in names], -1)

    expected = exact.velocity(points, time).transpose(1, 0, 2)
    assert misfit(pick(["v1", "v2", "v3"]), expected).max() < 0.01
    h = 1.0
    gradient = np.stack([
        (exact.velocity(points + h * e, time) - exact.velocity(points - h * e, time)).transpose(1, 0, 2) / (2 * h) for e in np.eye(3)
    ], -1)  # fmt: skip
    rotation = np.stack([gradient[..., 2, 1] - gradient[..., 1, 2], gradient[..., 0, 2] - gradient[..., 2, 0],
                         gradient[..., 1, 0] - gradient[..., 0, 1]], -1)  # fmt: skip
    assert misfit(pick(["rot1", "rot2", "rot3"]), rotation).max() < 0.03
    strain = np.stack([gradient[..., i, i] for i in range(3)], -1)
    assert misfit(pick(["epsxx", "epsyy", "epszz"]), strain).max() < 0.03


def test_a_run_leaves_its_files(tmp_path):
    sim = simulate(case(output__energies={"interval": 0.1}), output=tmp_path / "out")
    sim.run()
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {"run-receivers.h5", "run-energy.csv", "run-manifest.json"}
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["status"] == "finished"
    assert manifest["rates"]["point_updates"] == sim.solver.operator.steps * 25 * 26 * 20
    assert sim.energies["time"] == pytest.approx(np.linspace(0, 0.5, 6), abs=sim.plan.scheme.step)
    assert sim.energies["elastic_kinetic_energy"][-1] > 0


def test_backends_and_precisions_agree():
    results = [
        simulate(case(), backend=backend, precision=precision).run(write=False).receivers["values"]
        for backend, precision in (("cpu", "single"), ("numpy", "single"), ("cpu", "double"))
    ]
    for columns in (slice(6), slice(6, None)):
        first, same, exact = (r[..., columns] for r in results)
        assert np.abs(first - same).max() <= 1e-6 * np.abs(first).max()
        assert np.abs(first - exact).max() <= 5e-4 * np.abs(first).max()  # coefficients are rounded to halves


def test_spacing_from_frequency():
    sim = simulate(case(grid__spacing=None, grid__frequency=4.0, grid__points_per_wavelength=5))
    assert sim.plan.scheme.grid.spacing == 100.0 and sim.plan.frequency == pytest.approx(4.0)


def test_the_box_is_where_it_was_asked_for():
    plan = simulate(case(grid__upper=[1490, 1600, 0])).plan
    assert plan.lower.tolist() == [0, 0, -1500] and plan.upper.tolist() == [1500, 1600, 0]
    assert plan.scheme.grid.lower == (-500.0, -500.0, -2000.0) and plan.scheme.grid.shape == (20, 26, 25)
    assert plan.steps * plan.scheme.step == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("asked", "top"),
    [(None, "free-surface"), ({}, "free-surface"), ({"x": "periodic", "y": "periodic"}, "free-surface"), ({"z-": "rigid"}, "free-surface"),
     ({"z": "absorbing"}, "absorbing"), ({"z+": "rigid"}, "rigid"), ({"z": "periodic"}, "periodic")],
)  # fmt: skip
def test_the_surface_is_free_unless_something_else_is_said_of_it(asked, top):
    assert simulate(case(grid__boundaries=asked)).plan.scheme.sides["z+"] == top


def test_boxes_that_are_too_small_grow_and_say_so():
    sim = simulate(case(grid__lower=[700, 700, -1500], grid__upper=[800, 1500, 0], output={}))
    (warning,) = (w for w in sim.warnings if w.where == "grid")
    assert "1 cells of 100 m along x" in str(warning) and "[700, 1500] m" in str(warning)
    assert sim.plan.lower.tolist() == [700, 700, -1500] and sim.plan.upper.tolist() == [1500, 1500, 0]


@pytest.mark.parametrize(
    "changes",
    [
        {"output__receivers": {"points": [[300, 900, 50], [9, 9, -9999]]}},
        {"sources": [{"kind": "force", "location": [-10, 0, -5], "force": [1, 0, 0], "time_function": {"kind": "brune"}}]},
        {"grid__frequency": 8.0},
        {"grid__spacing": None},
        {"grid": None},
        {"grid__boundaries": {"z-": "free-surface"}},
        {"grid__boundaries": {"x-": "periodic"}},
        {"grid__lower": [0, 2000, -1500]},
        {"material": {"constant": {"rho": 1, "vp": 2}}},
        {"attenuation": {}},
        {"material": {"expression": {"rho": "if (x > 800) { return -999; } return 2000;", "vp": "3000", "vs": "1000"}}},
        {"numerics": {"cfl": 1.2}},
        {"numerics": {"backend": "gpu9"}},
        {"law": "acoustic"},
        {"initial": {"kind": "easi", "field": {"constant": {"v1": 1}}}},
    ],
    ids=str)  # fmt: skip
def test_reported_before_the_run(changes):
    text = problems(**changes)
    expect(text)


@pytest.mark.parametrize("size", [{"grid__spacing": 0.1}, {"grid__spacing": None, "grid__frequency": 1e12}], ids=str)
def test_grids_beyond_memory_are_errors(size):
    assert "GiB, this machine has" in problems(**size)


def test_everything_at_once():
    text = problems(output__receivers={"points": [[0, 0, 1]]}, sources=[
        {"kind": "force", "location": [0, 0, 9], "force": [1, 0, 0], "time_function": {"kind": "brune"}}])  # fmt: skip
    expect(text)


def test_a_case_for_tetrahedra_needs_a_mesh():
    with raises(InputError):
        simulate({**case(), "engine": "dg", "mesh": None})


@pytest.mark.parametrize(
    "output",
    [
        {"surface": {"interval": 0.001}},
        {"checkpoint": {"interval": 0.1, "keep": 5}},
        {"receivers": {"points": [[300, 900, 0]], "interval": 1e-5, "strain_rate": True}},
    ],
    ids=["snapshots", "checkpoints", "seismograms"],
)
def test_what_does_not_fit_on_the_disk_is_told_before(output, monkeypatch, tmp_path):
    asked = {"folder": str(tmp_path / "not" / "there"), **output}
    assert problems(output=asked) == ""
    usage = type(shutil.disk_usage(tmp_path))(2**40, 2**40, 2**20)
    monkeypatch.setattr("shutil.disk_usage", lambda place: usage)
    assert "GiB" in problems(output=asked) and "free" in problems(output=asked)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"output__receivers": {"points": [[300, 900, 0]], "interval": 1e-8}},
         "output.receivers: 1 receivers with 50,000,001 samples need about 15.1 GiB in addition to"),
        ({"output__receivers": {"points": [[300, 900, 0]] * 100, "interval": 0.1, "rotation": True}},
         "output.receivers: 100 receivers with 6 samples"),
        ({"output__intensity": {"periods": [0.5, 1.0, 2.0]}}, "output.intensity: maps of 240 points need about"),
    ],
)  # fmt: skip
def test_what_does_not_fit_beside_the_grid_is_told_before(changes, words, monkeypatch):
    """With as much memory as the grid needs and 128 KiB."""
    from faultwave.fd.operators import resources

    assert problems() == ""
    plan = simulate(case()).plan
    held = resources.grid_bytes(plan.case, [plan.scheme.grid], plan.world)
    monkeypatch.setattr("faultwave.fd.operators.resources.machine_memory", lambda: held + 2.0**17)
    assert problems() == ""
    assert words in (found := problems(**changes)), found


def test_memory_that_receivers_and_maps_take():
    """The estimate beside what a run keeps."""
    settings = case(
        end_time=2.0,
        output__intensity={"periods": [0.5]},
        output__receivers={"points": [[300, 900, 0]], "interval": 0.05},
    )
    sim = simulate(settings)
    sim.run(write=False)
    plan, parts = sim.plan, sim.solver.parts
    kept = parts["receivers"].recorder.state()["samples"].nbytes
    needed = {name: part.memory(plan.steps, plan.world) for name, part in plan.parts.items()}
    assert needed["receivers"].nbytes == pytest.approx(kept + 4 * 41 * 9 * 8, rel=0.02)
    growth = sum(a.nbytes for a in parts["intensity"].arias)
    surface = 15 * 16
    arrays = {
        n
        for n in sim.solver.operator.runner.arrays.program.arrays
        if n.startswith(("surface_", "PG", "SA", "oscillator", "arias"))
    }
    expected = 4 * surface * len(arrays) + 3 * growth
    assert needed["intensity"].nbytes == pytest.approx(expected, rel=0.05)


def test_shear_across_the_surface_shakes_in_proportion_to_its_depth():
    """A moment M_xz on a plane without traction does nothing; below it, what it does grows with the depth."""
    peaks = {}
    for depth in (0.0, 1.0, 4.0, 10.0, 25.0):
        changes = {"sources": [{"kind": "moment-tensor", "location": [757, 733, -depth], "tensor": {"xz": 1e15, "yz": -4e14},
                                "time_function": {"kind": "ricker", "duration": 0.5}}]}  # fmt: skip
        sim = simulate(case(**changes)).run(write=False)
        peaks[depth] = np.abs(sim.receivers["values"]).max()
    assert peaks[0.0] == 0 < peaks[1.0]
    for depth, tolerance in ((4.0, 0.03), (10.0, 0.06), (25.0, 0.15)):  # of a spacing of 100 m
        assert peaks[depth] / peaks[1.0] == pytest.approx(depth, rel=tolerance)


@pytest.mark.parametrize("interval, told", [(1e-5, True), (5e-3, False)])
def test_samples_between_steps_are_told(interval, told):
    found = check(load_case(case(output__receivers={"points": [[300, 900, -50]], "interval": interval}))[0])
    assert any("times shorter than the time step" in w.what for w in found.warnings) is told
