"""Exact solutions are those of the media and the surfaces that a mesh has: others are told before the run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.verify.meshes import as_setting
from tests.run.sea.setup import sea

OCEAN = {"kind": "ocean", "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}
WAVE = {"mode": "P", "k": [3.0, 0.0, 0.0]}


def two_media(initial, above=0.0, below=8.0, law="elastic", **more):
    """A box from z = -2 to 0 with another shear modulus above z = -1."""
    box = {"shape": "box", "cells": [2, 2, 2], "lower": [-1, -1, -2], "upper": [1, 1, 0]}
    media = {
        "rho": "return 1.0;",
        "lambda": "return 8.0;",
        "mu": f"if (z > -1.0) {{ return {above}; }} return {below};",
    }
    if law == "viscoelastic":
        media |= {"Qp": "return 50.0;", "Qs": "return 50.0;"}
        more["attenuation"] = {"high": "2 Hz"}
    return {
        "law": law, "end_time": 0.1, "mesh": {"generate": box}, "material": {"expression": media}, "initial": initial,
        "numerics": {"order": 2, "threads": 1}, **more,
    }  # fmt: skip


def scholte(level, **more):
    return two_media({"kind": "scholte", "level": level}, **more)


def snell(above, below, **more):
    return two_media({"kind": "snell", "level": -1.0, "angle": 5.0}, above, below, **more)


def test_media_on_the_wrong_side_are_refused():
    for case in (scholte(0.0), scholte(-1.0, above=8.0, below=0.0), snell(0.0, 8.0)):
        with pytest.raises(InputError, match="cells are on the wrong side of level z = "):
            fw.simulate(case)
    fw.simulate(scholte(-1.0))
    fw.simulate(snell(8.0, 0.0))


def test_media_that_attenuate_are_refused():
    with pytest.raises(InputError, match="media that do not attenuate"):
        fw.simulate(scholte(-1.0, law="viscoelastic"))


def test_plane_waves_need_one_medium_where_they_are():
    with pytest.raises(InputError, match=r"mu is 8 in the first cell, 2 at \("):
        fw.simulate(two_media({"kind": "plane-wave", "wave": [WAVE]}, above=2.0))
    fw.simulate(two_media({"kind": "plane-wave", "wave": [WAVE]}, above=8.0))
    below = WAVE | {"k": [0.0, 0.0, np.pi], "window": [-2 * np.pi, -np.pi]}  # from z = -2 to -1
    fw.simulate(two_media({"kind": "plane-wave", "wave": [below]}, above=2.0))


def test_decks_follow_seissol_with_a_warning():
    case = two_media({"kind": "plane-wave", "wave": [WAVE]}, above=2.0, output={"seissol_layout": True})
    assert any("plane waves need a uniform medium" in w.what for w in fw.simulate(case).warnings)


def test_waves_of_which_nothing_is_left_are_refused():
    wave = {"mode": "S", "k": [3.0, 0.0, 0.0], "polarisation": [0, 1, 0], "solid_only": True}
    with pytest.raises(InputError, match="the initial state is zero"):
        fw.simulate(two_media({"kind": "plane-wave", "wave": [wave]}, below=0.0))
    with pytest.raises(InputError, match="polarisation has no effect with modes P"):
        fw.simulate(two_media({"kind": "plane-wave", "wave": [WAVE | {"polarisation": [0, 1, 0]}]}, above=8.0))


@pytest.mark.parametrize(
    "more, told", [({"depth": 9.0}, "floor of the ocean at z = -9 m"), ({"level": 0.5, "depth": 1.5}, "surface of the")]
)
def test_an_ocean_is_as_deep_as_the_mesh(more, told):
    with pytest.raises(InputError, match=told):
        fw.simulate(sea(initial=OCEAN | more))


@pytest.mark.parametrize(
    "z, told", [(0.0, "surface of the ocean at z = 0 m; "), (-1.0, "floor of the ocean at z = -1 m; ")]
)
def test_an_ocean_is_flat_face_by_face(z, told):
    """A dent in the surface, and a hill on the floor, which change neither the highest nor the lowest place."""
    sides = {"x": "free-surface", "y": "free-surface", "z-": "rigid", "z+": "gravity"}
    mesh = box_mesh(Box((4, 4, 2), (0.0, 0.0, -1.0), (10.0, 10.0, 0.0), sides))
    bent = mesh.vertices.copy()
    middle = int(np.argmin(np.abs(bent - [5.0, 5.0, z]).sum(1)))
    bent[middle, 2] += -0.01 if z == 0.0 else 0.01
    for vertices, wrong in ((mesh.vertices, False), (bent, True)):
        with as_setting(replace(mesh, vertices=vertices)) as setting:
            case = sea(initial=OCEAN) | {"mesh": setting}
            if not wrong:
                fw.simulate(case)
                continue
            with pytest.raises(InputError) as error:
                fw.simulate(case)
            assert f"{told}6 of its 32 faces deviate from that, by 0.01 m at (5, 5, " in str(error.value)


def test_an_ocean_is_open_everywhere():
    initial = {**OCEAN, "level": -0.5, "depth": 0.5}
    with pytest.raises(InputError, match="32 upward faces are not a sea surface"):
        fw.simulate(sea(initial=initial, box={"boundaries": {"z+": "free-surface", "z-": "gravity"}}))


def test_an_ocean_needs_gravity():
    with pytest.raises(InputError, match="no face of kind gravity"):
        fw.simulate(sea(initial=OCEAN, box={"boundaries": {"z+": "free-surface"}}))


POROUS = {
    "rho": 2080, "mu": 6.4e9, "lambda": 5.28e9, "bulk_solid": 2e10, "bulk_fluid": 2.5e9, "rho_fluid": 1040, "porosity": 0.4,
    "permeability": 6e-13, "tortuosity": 2, "viscosity": 1e-3,
}  # fmt: skip


@pytest.mark.parametrize("more, told", [({}, 0), ({"center": [1e5, 0, 0]}, 1), ({"width": 1.0}, 1)])
def test_pressure_that_no_cell_sees_is_told(more, told):
    box = {"shape": "box", "cells": [4, 4, 4], "lower": [-500] * 3, "upper": [500] * 3}
    initial = {"kind": "pressure-injection", "pressure": 1e6, "width": 3e-5, "center": [20, -10, 30]} | more
    case = {
        "law": "poroelastic", "end_time": 0.1, "mesh": {"generate": box}, "material": {"constant": POROUS},
        "numerics": {"order": 2, "threads": 1}, "initial": initial,
    }  # fmt: skip
    assert sum(w.where.endswith("initial.center") for w in fw.simulate(case).warnings) == told
    del initial["pressure"]
    with pytest.raises(InputError, match="pressure-injection needs a pressure"):
        fw.simulate(case)
