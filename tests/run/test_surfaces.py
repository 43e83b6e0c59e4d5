"""What flows through surfaces, what rings, and when a run may stop."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.dg.capabilities.outputs.resonances import flows
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.observe.resonances import Resonance
from faultwave.output.formats.csv_tables import read_energies
from faultwave.physics.waves import law
from faultwave.verify import meshes

from .test_drives import BELL, PULSE, TABLE, UNIT, bar


def two_halves() -> Any:
    mesh = bar()
    right = mesh.vertices[mesh.cells].mean(1)[:, 0] > 1.0
    return replace(mesh, groups=np.where(right, 2, 1).astype(np.int32))


@pytest.mark.parametrize("integrator", ("ader", "leapfrog"))
def test_power_through_a_surface(tmp_path: Path, integrator: str) -> None:
    """A pulse of 3 V/m through 1/64 m^2: P = A E^2/Z, once into and later out of the second half."""
    with meshes.as_setting(two_halves()) as setting:
        case = {
            "law": "maxwell", "mesh": setting | {"boundaries": TABLE}, "material": UNIT, "end_time": 3.2,
            "numerics": {"order": 4, "integrator": integrator},
            "incident": [{"direction": [1, 0, 0], "amplitude": [0, 3, 0], "surface": 5, "time_function": PULSE}],
            "output": {"folder": str(tmp_path / "out"), "flux": [
                {"surface": 20, "out_of": 1, "interval": 0.02}, {"surface": 20, "out_of": 2, "interval": 0.02},
                {"surface": 5, "interval": 0.02}]},
        }  # fmt: skip
        sim = fw.simulate(case).run()
    there, back, ends = (d[next(n for n in d.variables if n != "time")] for d in [r.data for r in sim.results("flux")])
    time = [r.data for r in sim.results("flux")][0]["time"]
    assert len(time) == 161
    want = 0.125**2 * (3 * BELL.value(time - 1.0)) ** 2
    np.testing.assert_allclose(there, want, atol=0.03 * want.max())
    np.testing.assert_allclose(back, -there, atol=0.03 * want.max())
    at_ends = 0.125**2 * 9 * (BELL.value(time - 2.0) ** 2 - BELL.value(time) ** 2)
    np.testing.assert_allclose(ends, at_ends, atol=0.03 * want.max())
    written = read_energies(tmp_path / "out" / "run-flux-20.csv")
    assert len(written["time"]) == 161


def closed(**more: Any) -> dict[str, Any]:
    mesh = {"generate": {"shape": "box", "cells": (3, 3, 3), "lower": (0.0,) * 3, "upper": (1.0,) * 3,
                         "boundaries": dict.fromkeys("xyz", "pec")}}  # fmt: skip
    ring = {"kind": "point", "moment": [0.3, 0.7, 1.0], "location": [0.31, 0.22, 0.41],
            "time_function": {"kind": "ricker", "duration": 1.2}}  # fmt: skip
    return {"law": "maxwell", "mesh": mesh, "material": UNIT, "end_time": 25.0, "currents": [ring]} | more


def test_resonances_of_a_lossy_cavity_with_their_quality(tmp_path: Path) -> None:
    """Q = omega eps / sigma."""
    material = {"constant": {"permittivity": 1.0, "permeability": 1.0, "conductivity": 0.02}}
    output = {
        "folder": str(tmp_path / "out"), "receivers": {"points": [[0.23, 0.31, 0.42], [0.6, 0.3, 0.2]], "interval": 0.05},
        "spectrum": {"band": [0.6, 0.95], "start": 4.0},
    }  # fmt: skip
    sim = fw.simulate(closed(material=material, output=output, end_time=40.0)).run()
    listed = sim.result("resonances")
    found = [Resonance(*values) for values in zip(*(v.data for v in listed.variables.values()), strict=True)]
    found = [r for r in found if r.share > 0.02]
    for square in (2, 3):
        exact = np.sqrt(square) / 2
        nearest = min(found, key=lambda r: abs(r.frequency - exact))
        assert nearest.frequency == pytest.approx(exact, rel=1e-3)
        assert nearest.quality == pytest.approx(2 * np.pi * exact / 0.02, rel=0.05)
    rows = (tmp_path / "out" / "run-resonances.csv").read_text().splitlines()
    assert rows[0].startswith("frequency,quality") and len(rows) == len(listed["frequency"]) + 1


def test_one_mode_is_one_line() -> None:
    """TM110 alone: E1, E2 and H3 are nothing but what the mesh does, and stay that small; Z H2 is the largest, in the unit of E."""
    mode = {
        "kind": "easi",
        "field": {"expression": {"E3": "return 2*sin(3.14159265358979*x)*sin(3.14159265358979*y);"}},
    }
    output = {"receivers": {"points": [[0.1, 0.2, 0.2]], "interval": 0.1}, "spectrum": {"band": [0.25, 0.5]}}
    material = {"constant": {"permittivity": 1.0, "permeability": 4.0}}  # half the speed, twice the impedance
    sim = fw.simulate(
        closed(initial=mode, output=output, end_time=40.0, currents=[], material=material, numerics={"order": 5})
    ).run(write=False)
    listed = sim.result("resonances")
    (found,) = (Resonance(*values) for values in zip(*(v.data for v in listed.variables.values()), strict=True))
    assert found.frequency == pytest.approx(0.5**0.5 / 2, rel=1e-4)
    assert found.quality > 1e4
    assert found.amplitude == pytest.approx(2**0.5 * np.cos(0.1 * np.pi) * np.sin(0.2 * np.pi), rel=1e-3)


@pytest.mark.parametrize("name, flowing", [("maxwell", "H1 H2 H3"), ("elastic", "v1 v2 v3"), ("acoustic", "v1 v2 v3")])
def test_flows_are_what_an_impedance_scales(name: str, flowing: str) -> None:
    made = law(name)
    assert [q for q, flow in zip(made.quantities, flows(made), strict=True) if flow] == flowing.split()


def test_a_run_stops_when_its_energy_has_left() -> None:
    mesh = {
        "generate": {"shape": "box", "cells": (3, 3, 3), "lower": (0.0,) * 3, "upper": (1.0,) * 3, "boundaries": {}}
    }
    sim = fw.simulate(closed(mesh=mesh, end_time=100.0, stop={"energy_below": 1e-3})).run(write=False)
    assert 2.0 < sim.time < 20.0


def test_mistakes_are_told(tmp_path: Path) -> None:
    for output, said in (
        ({"flux": [{"surface": "lid", "interval": 0.1}]}, "no surface 'lid'"),
        ({"spectrum": {"band": [1.0, 2.0]}}, "needs receivers"),
        ({"spectrum": {"band": [2.0, 1.0]}}, "lowest, highest"),
        (
            {"spectrum": {"band": [1.0, 200.0]}, "receivers": {"points": [[0.5, 0.5, 0.5]], "interval": 0.05}},
            "up to 10 Hz",
        ),
    ):
        with pytest.raises(InputError, match=said):
            fw.simulate(closed(output=output))
    with meshes.as_setting(bar()) as setting, pytest.raises(InputError, match="is inside the mesh"):
        fw.simulate(
            closed(
                currents=[], mesh=setting | {"boundaries": TABLE}, output={"flux": [{"surface": 20, "interval": 0.1}]}
            )
        )


def test_energy_flow_of_other_laws() -> None:
    """Sound: an absorbing box loses what flows out."""
    mesh = box_mesh(Box((3,) * 3, (0,) * 3, (1,) * 3, {}, shuffle=True))
    with meshes.as_setting(mesh) as setting:
        case = {
            "law": "acoustic", "mesh": setting, "material": {"constant": {"rho": 1.0, "lambda": 1.0}}, "end_time": 1.5,
            "initial": {"kind": "easi", "field": {"expression": {
                "sigma": "return exp(-20*((x-0.5)*(x-0.5)+(y-0.5)*(y-0.5)+(z-0.5)*(z-0.5)));"}}},
            "output": {"flux": [{"surface": 5, "interval": 0.01}]}, "numerics": {"order": 5},
        }  # fmt: skip
        sim = fw.simulate(case)
    before = sum(v for k, v in sim.energy_now().items() if k.endswith("energy"))
    sim.run(write=False)
    after = sum(v for k, v in sim.energy_now().items() if k.endswith("energy"))
    power = [r.data for r in sim.results("flux")][0]["flux through 5"]
    assert 0.01 * (power.sum() - 0.5 * (power[0] + power[-1])) == pytest.approx(before - after, rel=0.05)
