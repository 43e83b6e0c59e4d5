"""What is written of a sea: its height, the sea floor from both sides, energies, files for tsunami codes, pictures."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
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
        assert set(flags) == {2, 3} and len(file.times) == 13
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
