"""What can be run and is probably not meant: units, sizes, samples beyond the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultwave as fw
from faultwave.base.errors import Problems
from faultwave.run.planned import check

BOX = {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0]}
ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
CAVITY = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [0.1, 0.1, 0.1]}


def explosion(duration: float) -> dict[str, Any]:
    function = {"kind": "gaussian", "duration": duration}
    tensor = {"xx": 1e15, "yy": 1e15, "zz": 1e15}
    return {"kind": "moment-tensor", "location": [50, 30, -900], "tensor": tensor, "time_function": function}


def tets(material: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "end_time": 10.0, "mesh": {"generate": BOX}, "numerics": {"order": 3}, "material": material or {"constant": ROCK},
        "sources": [explosion(0.8)],
    } | more  # fmt: skip


def grid(material: Any = None) -> dict[str, Any]:
    box = {"lower": BOX["lower"], "upper": BOX["upper"], "spacing": 100.0}
    case = tets(material) | {"engine": "fd", "grid": box}
    del case["mesh"], case["numerics"]
    return case


def cavity(**more: Any) -> dict[str, Any]:
    function = {"kind": "ricker", "frequency": 1e9}
    current = {"kind": "point", "location": [0.03, 0.04, 0.02], "moment": [0, 0, 1], "time_function": function}
    return {
        "law": "maxwell", "end_time": 1e-8, "mesh": {"generate": CAVITY}, "numerics": {"order": 4},
        "material": {"constant": {"relative_permittivity": 1.0}}, "currents": [current],
    } | more  # fmt: skip


def texts(found: Problems) -> str:
    assert not found.errors, found
    return str(found)


@pytest.mark.parametrize("engine", (tets, grid))
def test_rock_in_other_units(engine: Any) -> None:
    fine = texts(check(engine()))
    assert "P waves have" not in fine and "density is" not in fine
    for change, word in (
        ({"vp": 6.0, "vs": 3.464}, "km/s"), ({"rho": 2.7}, "g/cm^3"), ({"rho": 2.7e6}, "g/cm^3"), ({"vp": 6e6, "vs": 3e6}, "m/s"),
    ):  # fmt: skip
        assert word in texts(check(engine({"constant": ROCK | change}))), change


@pytest.mark.parametrize("engine", (tets, grid))
def test_forces_beyond_single_precision_are_refused(engine: Any) -> None:
    """A run would hold infinite numbers."""
    push = explosion(0.8) | {"kind": "force", "force": [0, 0, 1e40]}
    del push["tensor"]
    for precision, wrong in (("single", True), ("double", False)):
        case = engine() | {"sources": [push]}
        case["numerics"] = case.get("numerics", {}) | {"precision": precision}
        errors = "".join(map(str, check(case).errors))
        assert ("1e+40, which single precision cannot represent" in errors) == wrong and bool(errors) == wrong, errors


@pytest.mark.parametrize("engine", (tets, grid))
def test_layers_in_kilometres(engine: Any, tmp_path: Path) -> None:
    file = tmp_path / "layers.txt"
    for unit, depth, doubted in (("", "1.5", True), ("", "1500", False), ("[km]", "1.5", False)):
        file.write_text(f"depth{unit} vp vs rho\n0 5000 2900 2600\n{depth} 6000 3464 2700\n")
        assert ("deepest layer" in texts(check(engine({"layers": str(file)})))) == doubted


def test_numbers_without_units_are_no_rock() -> None:
    box = BOX | {"lower": [0, 0, 0], "upper": [1, 1, 1]}
    case = tets({"constant": {"rho": 1.0, "mu": 1.0, "lambda": 1.0}}, mesh={"generate": box}, sources=[])
    assert "P waves" not in texts(check(case)) and "density" not in texts(check(case))


def test_sources_faster_than_their_cells() -> None:
    assert "radiate above" not in texts(check(tets()))
    assert "radiate above" in texts(check(tets(sources=[explosion(0.01)])))


def test_samples_beyond_the_end() -> None:
    for interval, told in ((20.0, True), (10.0, False)):
        output = {"receivers": {"points": [[0, 0, -100]], "interval": interval}, "energies": {"interval": interval}}
        found = texts(check(tets(output=output)))
        for name in ("receivers", "energies"):
            assert (f"output.{name}.interval: {interval:g} s is longer than the run" in found) == told


REST = "case: the case has no source, fault, initial state or incident wave, so nothing moves"


def test_cases_in_which_everything_stays_at_rest() -> None:
    """Both engines say so, once, in check and in plan."""
    grid = {
        "engine": "fd",
        "mesh": None,
        "grid": {"spacing": 100.0, "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0]},
    }
    wave = {"kind": "plane-wave", "wave": [{"mode": "P", "k": [0, 0, 1e-3]}]}
    for engine in ({}, grid):
        quiet = tets(sources=[], **engine)
        assert texts(check(quiet)).count(REST) == 1
        assert sum(str(p).startswith(REST) for p in fw.plan(quiet).warnings) == 1
        assert REST not in texts(check(tets(**engine)))
    assert REST not in texts(check(tets(sources=[], initial=wave)))
    assert REST not in texts(check(tets(sources=[], dirichlet=[{"velocity": {"constant": {"v1": 1.0}}}])))
    assert REST in texts(check(cavity(currents=[]))) and REST not in texts(check(cavity()))


def test_electromagnetics_that_cannot_be_meant() -> None:
    assert not check(cavity()).items
    assert "speed of light" in texts(check(cavity(material={"constant": {"relative_permittivity": 0.2}})))
    assert "kind pec" in texts(check(cavity(material={"constant": {"conductivity": 5.8e7}})))
    for upper in (100.0, 1e-4):
        mesh = {"generate": CAVITY | {"upper": [upper] * 3}, "scaling": 1.0}
        inside = [dict(cavity()["currents"][0], location=[0.3 * upper, 0.4 * upper, 0.2 * upper])]
        assert "geometry in metres" in texts(check(cavity(mesh=mesh, currents=inside)))


def test_spectra_of_too_few_samples() -> None:
    receivers = {"points": [[0.05, 0.05, 0.06]], "interval": 1e-11}
    for start, told in ((9.9e-9, True), (0.0, False)):
        output = {"receivers": receivers, "spectrum": {"band": [5e8, 2e9], "start": start}}
        assert ("too few for" in texts(check(cavity(output=output)))) == told


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_longitude_and_latitude_exchanged(engine: str) -> None:
    grid = {
        "engine": "fd",
        "mesh": None,
        "grid": {"spacing": 100.0, "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0]},
    }
    projection = {"crs": "EPSG:32633", "origin": [13.4, 42.3]}
    source = {k: v for k, v in explosion(0.8).items() if k != "location"}

    def told(lon: float, lat: float) -> list[str]:
        case = tets(
            projection=projection, sources=[source | {"geographic": [lon, lat, -500]}],
            output={"receivers": {"geographic": [[lon, lat, -300]]}}, **(grid if engine == "fd" else {}),
        )  # fmt: skip
        return [str(p) for p in check(case).errors]

    assert not told(13.4, 42.3)
    exchanged, elsewhere = told(42.3, 13.4), told(20.0, 45.0)
    assert len(exchanged) == len(elsewhere) == 2
    assert all("Are longitude and latitude exchanged? In the other order it is inside." in text for text in exchanged)
    assert not any("exchanged" in text for text in elsewhere)
    with_west = tets(
        projection={"crs": "EPSG:32611", "origin": [-117, 34]}, sources=[source | {"geographic": [34, -117, -500]}]
    )
    (beyond,) = check(with_west).errors
    assert "Are longitude and latitude exchanged?" in beyond.advice


def faulted(engine: Any, **more: Any) -> dict[str, Any]:
    """A fault that lacks 11.2 MPa everywhere, and what else the case has."""
    friction = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_s": 70e6, "T_d": 0.0}
    fault = {"friction": "linear-slip-weakening", "reference": [0, -1e5, 0], "parameters": {"constant": friction}}
    case = engine() | {"fault": fault, "sources": []} | more
    if engine is grid:
        box = {"lower": [-2500, -2500, -3000], "upper": [2500, 2500, 0]}
        case["grid"] |= box | {"fault": {"lower": [-500, 50, -1000], "upper": [500, 50, 0]}, "absorbing": {"width": 4}}
    else:
        case["mesh"] = {"generate": BOX | {"fault": ["y", 0.0]}}
    return case


@pytest.mark.parametrize("engine", (tets, grid))
def test_nothing_will_break_only_where_nothing_loads_the_fault(engine: Any) -> None:
    alone = texts(check(faulted(engine)))
    assert "no point of the fault is above its strength; the nearest point lacks 11.2 MPa" in alone
    assert "No rupture will start: overstress a patch, or give fault.nucleation." in alone
    loaded = texts(check(faulted(engine, sources=[explosion(0.8) | {"location": [50, 500, -900]}])))
    assert "no point of the fault is above its strength; the nearest point lacks 11.2 MPa" in loaded
    assert "No rupture will start" not in loaded and "A rupture starts only if sources changes stress" in loaded
