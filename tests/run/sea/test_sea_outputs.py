"""What is written of a sea: its height, the sea floor from both sides, energies, files for tsunami codes, pictures."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.output.formats import dtopo
from faultwave.output.formats.vtkhdf import VtkHdfReader
from tests.run.sea.setup import GRAVITY, ROUGH, height, sea

OCEAN = {"kind": "ocean", "mode": 0, "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}


def test_heights_between_steps_are_those_of_the_mode(tmp_path):
    """Of cells with three different steps, at times within them."""
    case = sea(order=4, end_time=10.0, rates=(2,), box=ROUGH, initial=OCEAN)
    case["output"] = {"folder": str(tmp_path), "precision": "double", "surface": {"interval": 0.777, "refinement": 1}}
    sim = fw.simulate(case).run()
    with VtkHdfReader(tmp_path / "run-surface.vtkhdf") as file:
        flags, centres = file.field("locationFlag"), file.points[file.cells].mean(1)
        assert set(flags) == {3, 4} and len(file.times) == 13
        top = flags == 3
        assert (centres[top, 2] == 0).all() and (centres[~top, 2] < 0).all()
        for step, time in enumerate(file.times):
            np.testing.assert_allclose(
                file.field("u3", step)[top],
                height(0, centres[top], time),
                atol=2e-3 * height(0, np.full((1, 2), 5.0), 10.0)[0],
            )
    last = sim.solver.parts["gravity"].surface.now()
    assert np.abs(last).max() > 1.0


def two_layers(end, **more):
    """Water on rock, both one deep; a force below the sea floor."""
    box = {
        "shape": "box", "cells": [4, 4, 4], "lower": [-4, -4, -2], "upper": [4, 4, 0],
        "boundaries": {"z+": "gravity"},
    }  # fmt: skip
    rock = {
        n: f"if (z < -1.0) {{ return {inside}; }} return {above};"
        for n, inside, above in (("rho", 2.0, 1.0), ("lambda", 8.0, 2.25), ("mu", 8.0, 0.0))
    }
    force = {
        "kind": "force",
        "location": [0.2, 0.1, -1.6],
        "force": [0, 0, 10.0],
        "time_function": {"kind": "gaussian", "duration": 0.3},
    }
    return {
        "end_time": end, "gravity": GRAVITY, "mesh": {"generate": box}, "material": {"expression": rock}, "sources": [force],
        "numerics": {"order": 3, "threads": 1, **more.pop("numerics", {})}, **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def layered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layered")
    case = two_layers(6.0)
    surface = {"interval": 0.5, "sea_floor": True}
    case["output"] = {"folder": str(folder), "precision": "double", "surface": surface, "energies": {"interval": 0.5}}
    fw.simulate(case).run()
    return folder


def test_the_sea_floor_is_seen_from_both_sides(layered):
    with VtkHdfReader(layered / "run-surface.vtkhdf") as file:
        flags, centres, moved = file.field("locationFlag"), file.points[file.cells].mean(1), file.field("u3")
        sides = [np.flatnonzero(flags == flag) for flag in (0, 1)]
        assert len(sides[0]) == len(sides[1]) == 32 and (flags == 3).sum() == 32 and len(flags) == 96
        assert (centres[flags < 2, 2] == -1.0).all()
        below, above = (side[np.lexsort(centres[side, :2].round(6).T)] for side in sides)
        np.testing.assert_allclose(centres[below], centres[above], atol=1e-9)
        largest = np.abs(moved[below]).max()
        np.testing.assert_allclose(moved[below], moved[above], atol=0.15 * largest)  # of a coarse mesh
        assert largest > 1e-3
    energies = fw.load(layered).energies
    assert energies["gravitational_energy"][-1] > 0 and energies["gravitational_energy"][0] == 0


def test_without_being_asked_the_sea_floor_is_not_written(tmp_path):
    case = two_layers(0.5)
    case["output"] = {"folder": str(tmp_path), "surface": {"interval": 0.5}}
    fw.simulate(case).run()
    with VtkHdfReader(tmp_path / "run-surface.vtkhdf") as file:
        assert set(file.field("locationFlag")) == {3}


def test_a_sea_floor_that_there_is_not_is_told():
    case = sea(output={"surface": {"interval": 1.0, "sea_floor": True}})
    assert any(w.where == "output.surface.sea_floor" for w in fw.simulate(case).warnings)


def test_pictures_of_a_sea(layered, tmp_path):
    drawn = {path.name: path for path in fw.plot(layered, tmp_path)}
    assert "run-sea-surface.png" in drawn and drawn["run-sea-surface.png"].stat().st_size > 20_000
    assert "run-surface-peak-velocity.png" in drawn
    assert fw.plot(layered, tmp_path, field="u3")


def read_dtopo(path):
    """As GeoClaw reads type 3: header, then rows from north to south for every time."""
    with open(path) as file:
        words = [next(file).split() for _ in range(9)]
        head = {name: float(value) for value, name in words}
        values = np.loadtxt(file)
    mx, my, mt = (int(head[n]) for n in ("mx", "my", "mt"))
    x, y = head["xlower"] + head["dx"] * np.arange(mx), head["ylower"] + head["dy"] * np.arange(my)
    return head, x, y, values.reshape(mt, my, mx)[:, ::-1]


def test_horizontal_motion_of_a_slope_lifts_the_water():
    """Tanioka & Satake (1996): u_z - u_x db/dx of a floor b = -x/2, also where triangles are numbered the other way round."""
    x, y = np.meshgrid(np.linspace(0, 8.0, 9), np.linspace(0, 6.0, 7))
    points = np.column_stack([x.ravel(), y.ravel(), -0.5 * x.ravel()])
    corner = (np.arange(6)[:, None] * 9 + np.arange(8)).ravel()
    cells = np.concatenate(
        [np.stack([corner, corner + 1, corner + 10], 1), np.stack([corner, corner + 9, corner + 10], 1)]
    )

    class File:
        def __init__(self):
            self.points, self.cells, self.times = points, cells, np.array([0.0])
            self.values = {"u1": 0.3, "u2": 5.0, "u3": 0.1, "locationFlag": 0}

        def __contains__(self, name):
            return name in self.values

        def field(self, name, step=-1):
            return np.full(len(self.cells), self.values[name])

        def choose(self, mask):
            self.cells = self.cells[mask]

    centres, uplift, size = dtopo._uplift(File(), "here")
    np.testing.assert_allclose(uplift, 0.1 + 0.3 * 0.5)
    assert len(centres) == len(cells) and size == pytest.approx(np.sqrt(0.5))


def test_motion_of_the_sea_floor_for_tsunami_codes(layered, tmp_path):
    (path,) = fw.convert(layered, "dtopo", tmp_path, spacing=1.0)
    head, x, y, values = read_dtopo(path)
    assert path.name == "run-dtopo.tt3" and (head["t0"], head["dt"], head["mt"]) == (0.0, 0.5, 13)
    assert x[0] >= -4 and x[-1] <= 4 and np.ptp(x) > 5 and head["dx"] <= 1.0
    assert not values[0].any() and np.abs(values[-1]).max() > 1e-3
    with VtkHdfReader(layered / "run-surface.vtkhdf") as file:
        floor = file.field("locationFlag") == 0
        centres, moved = file.points[file.cells][floor].mean(1), file.field("u3")[floor]  # a level floor
    assert np.abs(values[-1]).max() <= np.abs(moved).max() * (1 + 1e-6)
    j, i = np.unravel_index(np.abs(values[-1]).argmax(), values[-1].shape)
    nearest = np.hypot(centres[:, 0] - x[i], centres[:, 1] - y[j]).argmin()
    assert values[-1, j, i] == pytest.approx(moved[nearest], rel=0.5)


def test_dtopo_leaves_out_the_top_of_water(tmp_path):
    """Water whose top is free of traction, not kept level by gravity, is no dry land."""
    case = two_layers(1.0)
    case["mesh"]["generate"]["boundaries"] = {"z+": "free-surface"}
    del case["gravity"]
    case["output"] = {"folder": str(tmp_path), "surface": {"interval": 1.0, "sea_floor": True}}
    fw.simulate(case).run()
    with VtkHdfReader(tmp_path / "run-surface.vtkhdf") as file:
        flags, heights = file.field("locationFlag"), file.points[file.cells].mean(1)[:, 2]
        assert set(flags) == {0, 1, 4} and (heights[flags == 4] == 0.0).all()
        _, uplift, _ = dtopo._uplift(file, tmp_path)
        assert len(uplift) == (flags == 0).sum()


@pytest.mark.parametrize("spacing", [-500.0, 0.0, float("nan"), float("inf"), 1e9])
def test_a_spacing_that_makes_no_grid_is_refused(layered, tmp_path, spacing):
    with pytest.raises(InputError, match="spacing=.*: .* is not a spacing of a grid"):
        fw.convert(layered, "dtopo", tmp_path, spacing=spacing)


def test_dtopo_needs_a_sea_floor(tmp_path):
    case = two_layers(0.5)
    case["output"] = {"folder": str(tmp_path), "surface": {"interval": 0.5}}
    fw.simulate(case).run()
    with pytest.raises(InputError, match="contains no sea floor"):
        fw.convert(tmp_path, "dtopo")


def test_a_sea_above_rock_that_attenuates():
    """Rock, water and gravity in one run: what rock loses, the waves in all of it lose, and energy never grows."""
    quality = {"Qp": (40.0, 1e6), "Qs": (20.0, 1e6)}
    found = {}
    for attenuating in (False, True):
        case = two_layers(8.0)
        if attenuating:
            case["attenuation"] = {"high": "2 Hz"}
            for name, (rock, water) in quality.items():
                case["material"]["expression"][name] = f"if (z < -1.0) {{ return {rock}; }} return {water};"
        sim = fw.simulate(case)
        energies = []
        for time in (4.0, 5.0, 6.0, 8.0):
            sim.run(until=time, write=False)
            energies.append(sim.energy_now())
        found[attenuating] = energies
    stored = [sum(v for k, v in e.items() if k.endswith("energy")) for e in found[True]]
    assert (np.diff(stored) < 0).all()
    assert found[True][-1]["gravitational_energy"] > 0
    assert stored[0] < 0.97 * sum(v for k, v in found[False][0].items() if k.endswith("energy"))
