"""Waves of other grids, of tetrahedra, of H5DRM files and of formulas, let into a box: within the error that is told before the run."""

import re

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.observe.boxes import read_box_record
from faultwave.physics.sources.time_functions import Ricker
from faultwave.physics.waves.plane_waves import incoming, sent_back, stress_of
from tests.messages import expect

from .test_injection import let_in, motion, settings, told

BOX = {"lower": [480, 480, -960], "upper": [1120, 1120, 0]}
INSIDE, OUTSIDE = [0, 1, 5], [2, 3, 4]
LATTICE = {**BOX, "spacing": 160.0, "interval": 0.02}


def smooth(folder, make=settings, *given, **changes):
    """Longer waves from farther away, that two points of the fine grid do as well as one of a coarse one."""
    made = make(folder, *given, end_time=1.8, **changes)
    for source in made["sources"]:
        source["time_function"], source["location"] = {"kind": "ricker", "duration": 0.7}, [-320, 200, -700]
    if "lower" in made.get("grid", {}):
        made["grid"]["lower"] = [-480, 0, -1600]
    return made


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Folder and receivers of a run that records at a lattice twice as coarse, and writes H5DRM."""
    folder = tmp_path_factory.mktemp("lattice")
    box = {**LATTICE, "formats": ["box", "h5drm"], "layers": 3}
    return folder, motion(smooth(folder, output__box=box))


def rms(values, receivers):
    return np.sqrt(np.square(values[:, receivers][..., 6:]).mean())


def run_of(made):
    """Receivers, and the errors told before the run (shares)."""
    sim = fw.simulate(made)
    rows = dict(sim.plan.parts["injection"].summary)
    sim.run()
    shares = re.findall(r"about ([0-9.e+-]+) %", " ".join(rows.values()))
    return sim.receivers["values"], sum(map(float, shares)) / 100


def test_a_coarser_record_is_within_the_error_told(tmp_path, recorded):
    """Of waves on points twice as far apart: inside as the run that was recorded, but for what is told; little leaks out."""
    folder, full = recorded
    found, error = run_of(smooth(tmp_path, let_in, folder / "run-box.h5"))
    wrong = rms(found - full, INSIDE) / rms(full, INSIDE)
    assert 1e-4 < wrong < error < 0.2
    assert rms(found, OUTSIDE) < 0.5 * error * rms(full, INSIDE)


def test_a_coarser_run_is_within_the_error_told(tmp_path, recorded):
    """The run that is recorded has half as many points along each axis, too."""
    made = smooth(tmp_path / "coarse", output__box=LATTICE)
    made["grid"] |= {
        "lower": [-960, -320, -2240],
        "upper": [2240, 2240, 0],
        "spacing": 160.0,
        "frequency": 3.0,
        "step": 0.02,
    }
    motion(made)
    found, error = run_of(smooth(tmp_path / "fine", let_in, tmp_path / "coarse/run-box.h5"))
    assert rms(found - recorded[1], INSIDE) / rms(recorded[1], INSIDE) < error < 0.25


def test_h5drm_files_come_back(tmp_path, recorded):
    """With the stresses that follow from their velocities; in kilometres, north, east and down as ShakerMaker has them, too."""
    folder, full = recorded
    found, error = run_of(smooth(tmp_path / "metres", let_in, folder / "run.h5drm"))
    assert rms(found - full, INSIDE) / rms(full, INSIDE) < error
    turned = tmp_path / "turned.h5drm"
    turned.write_bytes((folder / "run.h5drm").read_bytes())
    axes = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    with h5py.File(turned, "a") as file:
        for name in ("DRM_Data/xyz", "DRM_Metadata/drmbox_x0"):
            file[name][...] = file[name][()] @ axes / 1000
        file["DRM_Metadata/h"][...] = file["DRM_Metadata/h"][()] / 1000
        for name in ("velocity", "displacement", "acceleration"):
            rows = file[f"DRM_Data/{name}"][()]
            file[f"DRM_Data/{name}"][...] = (
                (rows.reshape(-1, 3, rows.shape[1]).swapaxes(1, 2) @ axes).swapaxes(1, 2).reshape(rows.shape)
            )
    made = smooth(tmp_path / "kilometres", let_in, turned)
    made["injection"]["h5drm"] = {"scale": 1000.0, "axes": axes.tolist()}
    again = motion(made)
    assert np.abs(again - found)[..., 6:].max() < 1e-5 * np.abs(found[..., 6:]).max()


def test_what_an_h5drm_file_holds(recorded):
    """Nodes of elements around the box; displacement and acceleration fit the velocity, which is the record's."""
    folder, _ = recorded
    record = read_box_record(folder / "run-box.h5")
    with h5py.File(folder / "run.h5drm") as file:
        data, about = file["DRM_Data"], file["DRM_Metadata"]
        xyz, internal = data["xyz"][()], data["internal"][()]
        assert (internal == ((xyz >= BOX["lower"]) & (xyz <= BOX["upper"])).all(1)).all()
        assert xyz.min(0).tolist() == [0, 0, -1440] and xyz.max(0).tolist() == [1600, 1600, 0]
        assert about["drmbox_x0"][()].tolist() == [800, 800, 0] and about["h"][()].tolist() == [160] * 3
        assert [float(about[f"drmbox_{n}"][()]) for n in ("xmin", "ymax", "zmin")] == [0, 1600, -1440]
        dt, velocity = float(about["dt"][()]), data["velocity"][()]
        assert about["tend"][()] == pytest.approx(1.8) and velocity.shape == (3 * len(xyz), 91)
        assert data["data_location"][()].tolist() == list(range(0, 3 * len(xyz), 3))
        quiet = np.abs(velocity).max()
        assert np.abs(np.gradient(data["displacement"][()], dt, axis=1) - velocity)[:, 2:-2].max() < 0.02 * quiet
        assert np.abs(np.gradient(velocity, dt, axis=1) - data["acceleration"][()])[:, 2:-2].max() == 0
        node = np.flatnonzero((xyz == [480, 800, -480]).all(1))[0]
        at = np.flatnonzero((record.nodes["v2"].places() == [480, 800, -480]).all(1))[0]
        assert np.array_equal(velocity[3 * node + 1], record.read(["v2"], 0, 91)["v2"][:, at])


def test_files_for_opensees_have_one_layer(tmp_path):
    made = smooth(tmp_path, output__box={**LATTICE, "formats": ["h5drm"]}, numerics__precision="single")
    made["end_time"] = 0.1
    motion(made)
    assert not (tmp_path / "run-box.h5").exists()
    with h5py.File(tmp_path / "run.h5drm") as file:
        xyz, internal = file["DRM_Data/xyz"][()], file["DRM_Data/internal"][()]
    cells = np.rint((xyz - BOX["lower"]) / 160).astype(int)
    assert len(np.unique(cells, axis=0)) == len(cells) == (7 * 7 * 8 - 3 * 3 * 6)
    assert internal.sum() == 5 * 5 * 7 - 3 * 3 * 6
    made = let_in(tmp_path / "again", tmp_path / "run.h5drm")
    expect(told(made))
    expect(told(made | {"attenuation": {}}))


def test_waves_of_tetrahedra_come_in(tmp_path, recorded):
    """What dg has recorded moves the box as a whole run on the grid does, and little leaks out."""
    made = smooth(tmp_path / "dg", output__box={**LATTICE, "interval": 0.03})
    del made["grid"]
    sides = {"x": "absorbing", "y": "absorbing", "z-": "absorbing", "z+": "free-surface"}
    box = {
        "shape": "box",
        "cells": [9, 9, 8],
        "lower": [-1200, -600, -2100],
        "upper": [2200, 2200, 0],
        "boundaries": sides,
    }
    made |= {"engine": "dg", "mesh": {"generate": box}, "numerics": {"order": 4, "precision": "single", "threads": 1}}
    own = motion(made)
    found, error = run_of(smooth(tmp_path / "fd", let_in, tmp_path / "dg/run-box.h5"))
    assert 1e-3 < error < 0.15
    assert rms(found - recorded[1], INSIDE) / rms(recorded[1], INSIDE) < 0.1
    assert rms(found, OUTSIDE) < 0.03 * rms(found, INSIDE)
    assert own.shape == found.shape


def test_no_traction_is_left_on_a_free_surface():
    rho, lam, mu = 2700.0, 1e10, 1.1e10
    rng = np.random.default_rng(4)
    for polarisation in (None, [0.3, 1.0, -0.2]):
        direction = np.array([0.2, 0.3, 1.0])
        modulus = mu if polarisation else lam + 2 * mu
        wave = incoming(direction, polarisation, 2.0, np.sqrt(modulus / rho), np.array([1.0, 2.0, 3.0]))
        found = [wave, *sent_back(wave, rho, lam, mu, 50.0)]
        for x, y, t in rng.uniform(-100, 100, (5, 3)):
            total = sum(w.stress(lam, mu) * np.sin(t - w.delay - w.slowness @ [x, y, 50.0]) for w in found)
            assert np.abs(total[[2, 4, 5]]).max() < 1e-9 * np.abs(wave.stress(lam, mu)).max()
        for w in found:  # rho a = div of stress
            force = stress_of(w.motion, w.slowness, lam, mu)[[0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(3, 3) @ w.slowness
            assert -force == pytest.approx(rho * w.motion)


PULSE = {"mode": "S", "direction": [0.3, 0.1, 1.0], "polarisation": [1, 0.4, 0], "velocity": 0.5, "reference": [480, 480, -960],
         "onset": 0.2, "time_function": {"kind": "ricker", "duration": 0.6}}  # fmt: skip


@pytest.mark.parametrize("mode", ["S", "P"])
def test_an_oblique_plane_wave_with_what_the_surface_sends_back(tmp_path, mode):
    """Inside the box the waves of formulas, outside only what the grid's dispersion leaves."""
    pulse = PULSE if mode == "S" else {n: v for n, v in PULSE.items() if n != "polarisation"} | {"mode": "P"}
    made = let_in(tmp_path, "", end_time=1.6)
    made["injection"] = {**BOX, "plane_wave": pulse}
    sim = fw.simulate(made)
    sim.run()
    data, (rho, vp, vs) = sim.receivers, (2700.0, 3464.0, 2000.0)
    lam, mu = rho * (vp**2 - 2 * vs**2), rho * vs**2
    speed = vs if mode == "S" else vp
    first = incoming(np.array(pulse["direction"]), pulse.get("polarisation"), 0.5, speed, np.array(pulse["reference"]))
    made_of, t = [first, *sent_back(first, rho, lam, mu, 0.0)], data["time"]
    for n in INSIDE:
        place = data["location"][n]
        exact = sum(np.outer(Ricker(0.6).value(t - 0.2 - w.delay - w.slowness @ place), w.motion) for w in made_of)
        assert np.abs(data["values"][:, n, 6:] - exact).max() < 0.02 * np.abs(exact).max()
    assert np.abs(data["values"][:, OUTSIDE, 6:]).max() < 0.01


@pytest.mark.parametrize(
    ('pulse', 'more'),
    [
        ({"onset": -0.5}, {}),
        ({"polarisation": None}, {}),
        ({"direction": [1, 0, 0.3], "polarisation": [0.3, 0, -1]}, {}),
        ({}, {"attenuation": {}, "material": {"constant": {"rho": 2700, "vp": 3464, "vs": 2000, "Qp": 60, "Qs": 30}}}),
        ({}, {"material": {"constant": {"rho": 2700, "vp": 3464}, "expression": {"vs": "return 2000 + 0.1*x;"}}}),
        ({}, {"injection": {"plane_wave": PULSE}}),
        ({}, {"injection": {}}),
    ],
)  # fmt: skip
def test_plane_waves_reported_before_the_run(tmp_path, pulse, more):
    made = let_in(tmp_path, "")
    made["injection"] = {**BOX, "plane_wave": {n: v for n, v in {**PULSE, **pulse}.items() if v is not None}}
    expect(told(made | more))


@pytest.mark.parametrize(
    "box",
    [
        {"spacing": 150.0, "interval": 0.02},
        {"spacing": 160.0},
        {"formats": ["h5drm"]},
        {"layers": 2},
        {"spacing": 320.0, "interval": 0.02},
        {"upper": [400, 1120, 0]},
    ],
    ids=str,
)
def test_records_reported_before_the_run(tmp_path, box):
    made = settings(tmp_path, output__box={**BOX, **box})
    expect(told(made))


def test_records_of_other_points_are_refused(tmp_path, recorded):
    """A finer or coarser grid takes records of lattices, not of a grid's own points."""
    made = settings(tmp_path / "own", end_time=0.05)
    motion(made)
    again = let_in(tmp_path / "again", tmp_path / "own/run-box.h5", end_time=0.05)
    again["grid"] |= {"spacing": 53.333333333333336, "step": 0.005}
    expect(told(again))


def test_damaged_h5drm_files_are_refused(tmp_path, recorded):
    """A velocity that is not a number, and a node far from all others."""
    for number, (name, at, value, words) in enumerate(
        (
            ("DRM_Data/velocity", (4, 20), np.nan, "is nan at the node at"),
            ("DRM_Data/xyz", (3, 0), 1e12, "is far from the others"),
        )
    ):
        broken = tmp_path / f"broken-{number}.h5drm"
        broken.write_bytes(next(recorded[0].glob("*.h5drm")).read_bytes())
        with h5py.File(broken, "r+") as file:
            file[name][at] = value
        found = told(smooth(tmp_path, let_in, broken))
        assert words in found and broken.name in found, found
