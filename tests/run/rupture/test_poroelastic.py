"""Faults in porous rock: welded where friction holds, slip at the exact rate, pore pressure against normal stress, both sides alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from tests.physics.waves.pores import SANDSTONE
from tests.run.test_poroelastic import heard

STRONG = {"mu_s": 10.0, "mu_d": 10.0, "d_c": 1.0, "cohesion": 0.0, "T_n": -120e6, "T_s": 0.0, "T_d": 0.0}
SLIPS = {"mu_s": 0.6, "mu_d": 0.5, "d_c": 1e-9, "cohesion": 0.0, "T_n": -100e6, "T_s": 61e6, "T_d": 0.0}
POINTS = [[110.0, 30.0, -40.0], [-180.0, -100.0, 50.0]]
ON_FAULT = [[20.0, 0.0, 10.0], [-110.0, 0.0, 130.0]]


def settings(folder: Path, friction: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    """Two kinds of sandstone on the sides of a plane, friction on it or nothing."""
    box: dict[str, Any] = {
        "shape": "box", "cells": [4, 4, 4], "lower": [-400.0] * 3, "upper": [400.0] * 3, "perturb": more.pop("perturb", 0.2),
        "boundaries": more.pop("boundaries", {}),
    }  # fmt: skip
    second = more.pop("second", {"mu": 9e9, "porosity": 0.3})
    material = {
        "constant": {k: v for k, v in SANDSTONE.items() if k not in second},
        "expression": {k: f"if (y > 0) {{ return {v!r}; }} return {SANDSTONE[k]!r};" for k, v in second.items()},
    }
    output: dict[str, Any] = {
        "folder": str(folder),
        "prefix": "run",
        "receivers": {"points": POINTS, "interval": 0.004},
    }
    case: dict[str, Any] = {
        "law": "poroelastic", "end_time": 0.06, "mesh": {"generate": box}, "material": {k: v for k, v in material.items() if v},
        "numerics": {"order": 3, "backend": "cpu", "threads": 1, "clustering": {"rates": [2]}}, "output": output, **more,
    }  # fmt: skip
    if friction is not None:
        box["fault"] = ["y", 0]
        reference = (0.0, -1e4, 0.0)
        case["fault"] = {
            "friction": "linear-slip-weakening",
            "reference": reference,
            "parameters": {"constant": friction},
            **case.pop("faulted", {}),
        }
        output["fault_receivers"] = {"points": ON_FAULT, "position": "exact"}
    return case


INJECTED = {"kind": "pressure-injection", "pressure": "1 MPa", "width": 3e-5, "center": [20.0, -60.0, 30.0]}


def test_a_fault_that_holds_is_no_fault(tmp_path: Path) -> None:
    """Waves and pore fluid cross it as they cross the face between two rocks, in cells of the same vertices: the initial state is
    integrated at points that depend on their order."""
    more: dict[str, Any] = {"initial": INJECTED, "perturb": 0.0}
    welded = settings(tmp_path / "welded", None, **more)
    welded["mesh"]["generate"]["fault"] = ["y", 0]
    fw.simulate(welded).run()
    fw.simulate(settings(tmp_path / "held", STRONG, **more)).run()
    one, other = heard(tmp_path / "welded"), heard(tmp_path / "held")
    scale = np.abs(one).max((0, 2))[:, None] + 1e-30
    assert (np.abs(other - one) / scale).max() < 1e-9


@pytest.mark.parametrize("viscosity, together", [(0.0, False), (1e-3, True)])
def test_slip_rate_of_a_plane_fault(tmp_path: Path, viscosity: float, together: bool) -> None:
    """(tau - strength) / eta, eta half the impedance of S waves: of a frame that leaves a part of its fluid behind, or, once the drag
    has acted, of all of it together."""
    sides = {"x": "periodic", "y": "absorbing", "z": "periodic"}
    rock = SANDSTONE | {"viscosity": viscosity}
    case = settings(tmp_path / "out", SLIPS, boundaries=sides, second={}, end_time=0.15)
    case["material"] = {"constant": rock}
    sim = fw.simulate(case).run()
    density = 0.6 * rock["rho"] + 0.4 * rock["rho_fluid"]
    left = rock["rho_fluid"] ** 2 / (rock["rho_fluid"] * rock["tortuosity"] / rock["porosity"])
    eta = 0.5 * np.sqrt(rock["mu"] * (density if together else density - left))
    slip = sim.solver.parts["rupture"].fault.record()["accumulated_slip"]
    assert slip.mean() == pytest.approx(0.15 * 11e6 / eta, rel=0.01)  # both rates differ by 7 %


def test_the_other_side_may_be_called_plus(tmp_path: Path) -> None:
    slow = SLIPS | {"d_c": 0.2, "T_s": 59.9e6}
    found = []
    for name, y in (("one", -1e4), ("two", 1e4)):
        case = settings(tmp_path / name, slow, initial=INJECTED)
        case["fault"]["reference"] = (0.0, y, 0.0)
        sim = fw.simulate(case).run()
        found.append((heard(tmp_path / name), sim.solver.parts["rupture"].fault.record()))
    assert found[0][1]["slip_rate"].max() > 1e-3
    one, other = found[0][0], found[1][0]
    scale = np.abs(one).max((0, 2))[:, None] + 1e-30
    assert (np.abs(other - one) / scale).max() < 1e-8
    for name in ("traction_n", "slip_rate", "accumulated_slip", "friction"):
        a, b = found[0][1][name], found[1][1][name]
        assert a.mean() == pytest.approx(b.mean(), rel=1e-8), name


def test_pore_pressure_of_waves_and_of_the_start_relieve_the_fault(tmp_path: Path) -> None:
    """It slips where the fluid that was injected has come, not without, and as with less normal stress where p is given."""
    held = SLIPS | {"T_s": 59.9e6, "d_c": 0.4}
    slipped = []
    for name, friction, initial in (
        ("dry", held, {"kind": "zero"}),
        ("injected", held, INJECTED | {"pressure": "10 MPa"}),
        ("given", held | {"p": 5e6}, {"kind": "zero"}),
        ("relieved", held | {"T_n": -95e6}, {"kind": "zero"}),
    ):
        sim = fw.simulate(settings(tmp_path / name, friction, initial=initial)).run()
        slipped.append(sim.solver.parts["rupture"].fault.record()["accumulated_slip"])
        pressing = sim.fault_receivers["values"][..., sim.fault_receivers.quantities.index("Pn0")]
        assert np.isfinite(pressing).all() and len(pressing) > 10
        relief = pressing.max() - pressing.min()
        assert relief > 1e6 if name == "injected" else relief < 0.5e6
    dry, injected, given, relieved = slipped
    assert dry.max() == 0.0 and injected.max() > 1e-4 and given.min() > 0.0
    np.testing.assert_array_equal(given, relieved)


@pytest.mark.mpi
def test_any_number_of_processes_gives_the_same(tmp_path: Path) -> None:
    from tests.run.launch import launch

    more = {"initial": INJECTED | {"pressure": "10 MPa"}}
    friction = SLIPS | {"T_s": 59.9e6, "d_c": 0.4}
    fw.simulate(settings(tmp_path / "one", friction, **more)).run()
    done = launch(2, settings(tmp_path / "two", friction, **more))
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(heard(tmp_path / "two"), heard(tmp_path / "one"))
