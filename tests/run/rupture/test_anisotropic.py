"""Rupture in anisotropic rock: as in isotropic rock where the tensor is, in any frame, and with the normal traction that slip changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from faultwave.physics.waves.anisotropic import isotropic
from tests.physics.waves.tensors import TRANSVERSE, rotation, skewed, turned

from . import fluids
from .setup import ROCK, Histories, difference, run, settings, slip_weakening, small_mesh
from .test_invariance import compare, ruptured

MU = ROCK["rho"] * ROCK["vs"] ** 2
PLAIN = {"rho": ROCK["rho"], "mu": MU, "lambda": ROCK["rho"] * ROCK["vp"] ** 2 - 2 * MU}
TILTED = turned(TRANSVERSE, rotation(1))
FAULTS = {
    "slip weakening": slip_weakening,
    "pressed and heated": fluids.pressed_and_heated,
    "rate and state": fluids.heated,
}


def of(material: dict[str, Any]) -> dict[str, Any]:
    return {"law": "anisotropic", "material": {"constant": {name: float(v) for name, v in material.items()}}}


def ran(path: Path, fault: dict[str, Any], **more: Any) -> Histories:
    path.mkdir()
    case = settings(path, fault, end_time=0.5, numerics={"order": 2}, **more)
    case["output"]["energies"] = {"interval": 0.25, "slip_from_velocity": True}
    return run(case)


@pytest.mark.parametrize("name", FAULTS)
def test_isotropic_tensors_break_as_the_elastic_law(tmp_path: Path, name: str) -> None:
    """To rounding, of which rate and state makes more."""
    limit = 1e-9 if name == "rate and state" else 1e-12
    one, other = (ran(tmp_path / str(i), FAULTS[name](), **more) for i, more in enumerate(({}, of(isotropic(PLAIN)))))
    assert np.nanmax(one["PSR"]) > 0.1
    for field, values in one.values.items():
        if field != "Vr":  # a ratio of differences
            assert difference(other[field], values, max(np.nanmax(np.abs(values)), 1e-6)) < limit, field


def test_a_turned_rupture_in_turned_rock_is_the_same(tmp_path: Path) -> None:
    turn = Rotation.from_euler("zyx", [0.7, -0.4, 0.3]).as_matrix()
    found = []
    for name, r in (("one", np.eye(3)), ("two", turn)):
        (tmp_path / name).mkdir()
        found.append(ruptured(tmp_path / name, small_mesh(), r, -1.0, **of(turned(TILTED, r))))
    compare(found[1], found[0], turn, 1.0)


def test_the_other_side_may_be_called_plus(tmp_path: Path) -> None:
    found = []
    for name, side in (("one", -1.0), ("two", 1.0)):
        (tmp_path / name).mkdir()
        found.append(ruptured(tmp_path / name, small_mesh(), np.eye(3), side, **of(TILTED)))
    compare(found[1], found[0], np.eye(3), -1.0)


def test_slip_changes_the_normal_traction(tmp_path: Path) -> None:
    """On a plane that is none of symmetry, at once and by as much as the matrix of damping says; in isotropic rock not at all."""
    rock = skewed(PLAIN, 3, 1.0)
    found = ran(tmp_path / "one", slip_weakening(), **of(rock))
    fault = found.sim.solver.parts["rupture"].fault
    record = fault.record()
    assert np.abs(record["traction_n"]).max() > 1e5
    slips = (record["slip_rate"] > 0.1).any(1)
    assert slips.any()
    z = fault.coupling.columns.split(fault.impedance)
    assert (np.abs(z.damping[:, [3, 5]]).max(1) > 0.01 * z.damping[:, 1]).all()
