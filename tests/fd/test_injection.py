"""Waves that come into a box: what a run recorded is let in again to rounding, whatever stands inside the box scatters it, and records of
other grids do as well as they say."""

import re
import tracemalloc

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import InputError, RunError
from faultwave.base.projection import Projection
from faultwave.case.load import load_case
from faultwave.fd.capabilities import injection
from faultwave.fd.injection.incident_fields import RecordSource
from faultwave.observe.boxes import VELOCITIES, read_box_record
from faultwave.run.planned import check
from tests.messages import expect, raises

from .test_restart import Stopped

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))

LOWER, TOP, BURIED = [480, 480, -960], [1120, 1040, 0], [1120, 1040, -640]
POINTS = [[800, 790, -800], [810, 720, -700], [1360, 800, -310], [170, 1280, -1450], [1290, 1310, 0], [790, 700, 0]]
INSIDE, OUTSIDE = [0, 1], [2, 3, 4]
STEP = "if (abs(x-800)<150 && abs(y-760)<150 && z > -900 && z < -680) {return 1500;} return 2000;"


def settings(folder, upper=TOP, attenuation=False, inclusion=False, **changes):
    """A source outside of the box, layers around the grid, a soft block in the box if asked for."""
    rock = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0} | ({"Qp": 60, "Qs": 30} if attenuation else {})
    material = {"constant": rock}
    if inclusion:
        material = {"constant": {n: v for n, v in rock.items() if n != "vs"}, "expression": {"vs": STEP}}
    made = {
        "engine": "fd", "end_time": 0.7,
        "grid": {"lower": [0, 0, -1600], "upper": [1600, 1600, 0], "spacing": 80.0, "frequency": 4.0, "points_per_wavelength": 4,
                 "step": 0.01, "absorbing": {"width": 5, "frequency": 2.0}},
        "material": material,
        "sources": [{"kind": "moment-tensor", "location": [200, 300, -620], "tensor": {"xy": 1e15, "xx": 4e14, "zz": -4e14},
                     "time_function": {"kind": "ricker", "duration": 0.3}}],
        "numerics": {"precision": "double", "threads": 1},
        "output": {"folder": str(folder), "receivers": {"points": POINTS, "interval": 0.02},
                   "box": {"lower": LOWER, "upper": upper}},
    }  # fmt: skip
    if attenuation:
        made["attenuation"] = {}
    for key, value in changes.items():
        group = made
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    return made


def let_in(folder, record, **changes):
    """The same without source and record, with waves of a record."""
    made = settings(folder, sources=[], injection={"file": str(record)}, **changes)
    del made["output"]["box"]
    return made


def motion(made):
    """Receivers' values of a run."""
    sim = fw.simulate(made)
    sim.run()
    return sim.receivers["values"]


def largest(values, receivers):
    """Largest stresses and velocities at some receivers."""
    return np.array([np.abs(values[:, receivers][..., part]).max() for part in (slice(0, 6), slice(6, 9))])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Folder and receivers of the run that is recorded."""
    folder = tmp_path_factory.mktemp("recorded")
    return folder / "run-box.h5", motion(settings(folder))


@pytest.mark.parametrize(("upper", "attenuation"), [(TOP, False), (TOP, True), (BURIED, True)])
def test_scattered_field_is_the_difference_of_two_runs(tmp_path, upper, attenuation):
    """Inside, the box holds what a run with source and block holds, and outside what the block has changed: to rounding. Without a block,
    nothing is outside."""
    changes = {"upper": upper, "attenuation": attenuation}
    plain = motion(settings(tmp_path / "plain", **changes))
    block = motion(settings(tmp_path / "block", inclusion=True, **changes))
    record = tmp_path / "plain/run-box.h5"
    again = motion(let_in(tmp_path / "again", record, **changes))
    scattered = motion(let_in(tmp_path / "scattered", record, inclusion=True, **changes))
    inside = [*INSIDE, 5] if upper is TOP else [0]  # others read across the upper face
    scale = largest(plain, [*inside, *OUTSIDE])
    assert (largest(plain, inside) > 0.05 * scale).all() and (largest(scattered, OUTSIDE) > 1e-3 * scale).all()
    assert (largest(again - plain, inside) < 1e-13 * scale).all()
    assert (largest(again, OUTSIDE) < 1e-13 * scale).all()
    assert (largest(scattered - block, inside) < 1e-13 * scale).all()
    assert (largest(scattered - (block - plain), OUTSIDE) < 1e-13 * scale).all()


@pytest.mark.parametrize("spacing", [3.0, 1.7])
@pytest.mark.parametrize("there", [True, False], ids=["record", "missing"])
def test_grids_beyond_memory_are_refused_at_once(tmp_path, monkeypatch, recorded, spacing, there):
    """Before the points of the box take memory, which they do in proportion to its surface, whether or not there is a record."""
    monkeypatch.setattr(injection.InjectedWaves, "locate", lambda part, placing: pytest.fail("was placed"))
    changes = {
        "lower": [-3000, -3000, -6000],
        "upper": [3000, 3000, 0],
        "spacing": spacing,
        "frequency": None,
        "step": None,
    }
    record = recorded[0] if there else tmp_path / "none.h5"
    case = let_in(tmp_path, record, **{f"grid__{name}": value for name, value in changes.items()})
    tracemalloc.start()
    made, found = load_case(case)
    errors = found.errors if made is None else check(made).errors
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    expected = "this machine has" if there else "no such file"
    assert len(errors) == 1 and expected in str(errors[0])
    assert most < 1e8


def test_order_eight(tmp_path):
    """Which reads four points to either side, and so do receivers."""
    points = [[800, 800, -600], [810, 790, 0], [1600, 800, -310], [40, 40, -600]]
    changes = {
        "attenuation": True, "grid__order": 8, "grid__time_dispersion": "keep", "grid__step": 0.009, "end_time": 0.54,
        "grid__lower": [-240, -240, -1920], "grid__upper": [1840, 1840, 0], "output__receivers__points": points,
        "output__box__lower": [400, 400, -1200], "output__box__upper": [1200, 1200, 0],
    }  # fmt: skip
    made = settings(tmp_path / "plain", **changes)
    made["sources"][0]["location"] = [-40, 0, -620]  # pushes points within 320 m
    plain = motion(made)
    again = motion(let_in(tmp_path / "again", tmp_path / "plain/run-box.h5", **changes))
    scale = largest(plain, [0, 1])
    assert (scale > 0).all() and (largest(again - plain, [0, 1]) < 1e-13 * scale).all()
    assert (largest(again, [2, 3]) < 1e-13 * scale).all()
    made = let_in(tmp_path / "four", tmp_path / "plain/run-box.h5", **(changes | {"grid__order": 4}))
    expect(told(made))


def test_a_wrong_number_of_the_differences_leaks(tmp_path, recorded, monkeypatch):
    """The test above tells: one number off by a thousandth."""
    right = injection.interior_coefficients
    monkeypatch.setattr(
        injection, "interior_coefficients", lambda scheme: right(scheme) | {"c2v": 1.001 * right(scheme)["c2v"]}
    )
    leaked = motion(let_in(tmp_path, recorded[0]))
    assert (largest(leaked, OUTSIDE) > 1e-7 * largest(recorded[1], OUTSIDE)).all()


@pytest.mark.parametrize("backend", ["numpy", pytest.param("opencl", marks=opencl)])
def test_backends_record_and_let_in_alike(tmp_path, recorded, backend):
    mine = motion(settings(tmp_path / "record", numerics__backend=backend, end_time=0.3))
    assert mine == pytest.approx(recorded[1][: len(mine)], abs=1e-12 * np.abs(recorded[1]).max())
    found = motion(let_in(tmp_path / "again", tmp_path / "record/run-box.h5", numerics__backend=backend, end_time=0.3))
    assert np.abs(found - mine)[:, INSIDE].max() < 1e-13 * np.abs(mine).max()


def test_single_precision_is_exact_to_its_rounding(tmp_path):
    """Coefficients are then kept in sixteen bits, which waves that come in must feel, too."""
    plain = motion(settings(tmp_path / "plain", numerics__precision="single", end_time=0.5))
    again = motion(
        let_in(tmp_path / "again", tmp_path / "plain/run-box.h5", numerics__precision="single", end_time=0.5)
    )
    scale = largest(plain, [*INSIDE, *OUTSIDE])
    assert (largest(again - plain, INSIDE) < 3e-6 * scale).all() and (largest(again, OUTSIDE) < 3e-6 * scale).all()


def test_killed_and_resumed_it_is_the_same(tmp_path, monkeypatch):
    """To the last bit, both the record and the run that lets it in."""
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    found = {}
    for kind, make in (
        ("record", settings),
        ("let in", lambda folder, **c: let_in(folder, tmp_path / "record/run-box.h5", **c)),
    ):
        whole = motion(make(tmp_path / kind, attenuation=True, end_time=0.5))
        sim = fw.simulate(
            make(tmp_path / f"{kind} in parts", attenuation=True, end_time=0.5, output__checkpoint={"interval": 0.1})
        )
        with pytest.raises(RunError, match="faultwave.resume"):
            sim.run(progress=Stopped(sim, 0.27))
        resumed = fw.resume(tmp_path / f"{kind} in parts")
        assert 0.27 <= resumed.time < 0.5
        resumed.run()
        assert np.array_equal(resumed.receivers["values"], whole)
        found[kind] = tmp_path / kind, tmp_path / f"{kind} in parts"
    one, other = (read_box_record(folder / "run-box.h5") for folder in found["record"])
    for name, values in one.read(VELOCITIES, 0, one.samples).items():
        assert one.samples == other.samples and np.array_equal(values, other.read([name], 0, one.samples)[name])


def told(made):
    read, found = load_case(made)
    return "\n".join(map(str, found.errors if read is None else check(read).items))


@pytest.mark.parametrize(
    "changes",
    [
        {"injection__lower": [0, 480, -960], "injection__upper": TOP},
        {"injection__lower": LOWER, "injection__upper": [1120, 1040, -240]},
        {"injection__lower": [480, 480, -400], "injection__upper": TOP},
        {"injection__lower": [560, 480, -960], "injection__upper": TOP},
        {"injection__lower": LOWER, "injection__upper": BURIED},
        {"injection__lower": [480, 480, -960], "injection__upper": [640, 1040, 0]},
        {"injection__lower": LOWER},
        {"end_time": 0.9},
        {"material__constant__rho": 2600.0},
        {"grid__boundaries": {"z+": "absorbing"}},
        {"initial": {"kind": "plane-wave", "wave": [{"mode": "P", "k": [1e-3, 0, 0]}]}},
        {"grid__time_dispersion": "remove"},
        {"grid__step": 0.005},
        {"sources": [{"kind": "force", "location": [500, 800, -400], "force": [1e9, 0, 0],
                       "time_function": {"kind": "ricker", "duration": 0.3}}]},
        {"sources": [{"kind": "force", "location": [80, 800, -400], "force": [1e9, 0, 0],
                       "time_function": {"kind": "ricker", "duration": 0.3}}]},
        {"engine": "dg", "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1600], "upper": [1600, 1600, 0]}}},
    ],
)  # fmt: skip
def test_reported_before_the_run(tmp_path, recorded, changes):
    made = let_in(tmp_path, recorded[0])
    for key, value in changes.items():
        group = made
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    expect(told(made))


def test_other_bands_of_attenuation_are_told(tmp_path):
    """Softer rock in the box resolves less, which moves the band and with it all moduli; one band for both lets the waves in."""
    for band, words in (({}, "set attenuation.high in both cases"), ({"attenuation__high": 3.0}, "")):
        changes = {"attenuation": True, "grid__frequency": None, **band}
        folder = tmp_path / str(len(band))
        motion(settings(folder, **changes | {"end_time": 0.2}))
        found = told(let_in(tmp_path / "in", folder / "run-box.h5", inclusion=True, **changes, end_time=0.19))
        assert (words in found) if words else "rock" not in found, found


@pytest.mark.parametrize(
    "east",
    [
        500.0,
        80.0,
    ],
    ids=str,
)
def test_sources_by_longitude_or_of_files_are_looked_at_too(tmp_path, recorded, east):
    """Wherever the case says where they are."""
    projection = {"crs": "EPSG:32611", "origin": [-117.0, 34.0]}
    degrees = Projection(projection["crs"], (-117.0, 34.0), 0.0).to_geographic(np.array([[east, 800.0]]))[0]
    source = {"kind": "force", "geographic": [*map(float, degrees), -400.0], "force": [1e9, 0, 0],
              "time_function": {"kind": "ricker", "duration": 0.3}}  # fmt: skip
    expect(told(let_in(tmp_path, recorded[0]) | {"sources": [source], "projection": projection}))


def test_boxes_beside_borders_of_fluids_are_refused(tmp_path):
    """Where differences do not reach across."""
    made = settings(tmp_path)
    made["material"] = {
        "constant": {"rho": 2700.0, "vp": 3464.0},
        "expression": {"vs": "if (z > -880) {return 0;} return 2000;"},
    }
    expect(told(made))


def test_files_that_are_no_records_are_refused(tmp_path, recorded):
    import h5py

    broken = tmp_path / "broken.h5"
    broken.write_bytes(recorded[0].read_bytes())
    with h5py.File(broken, "a") as file:
        file.attrs["quantities"] = [name for name in file.attrs["quantities"] if name not in ("s_xy", "v2")]
    expect(told(let_in(tmp_path, broken)))
    with h5py.File(broken, "w") as file:
        file["something"] = [1.0]
    expect(told(let_in(tmp_path, broken)))
    with pytest.raises(InputError):
        RecordSource(read_box_record(broken))


def _sample(name, value):
    def damage(file):
        file[name][31, 5] = value

    return damage


def _far_index(file):
    file["v1_index"][7] = [2**30, 0, 0]


def _node_twice(file):
    file["s_xx_index"][8] = file["s_xx_index"][9]


def _no_material(file):
    file["material_" + file.attrs["material"][0]][3] = np.inf


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_sample("v1", np.nan), r"'v1' is nan at the node at \(\d+, \d+, -?\d+\) and 0\.315 s .allowed: finite numbers up to 1e\+06 m/s"),
        (_sample("s_xz", np.inf), r"'s_xz' is inf at the node at \(.*\) and 0\.32 s .allowed: finite numbers up to 1e\+15 Pa"),
        (_sample("v3", 1e9), r"'v3' is 1e\+09 at the node at .* Record again: the file is damaged"),
        (_far_index, r"'v1_index' puts node 7 at \[1073741824, 0, 0\], 1\.\d+e\+09 spacings outside of the box"),
        (_node_twice, "'s_xx_index' has a node twice"),
        (_no_material, "numbers for .* nodes, 1 of them not finite"),
    ],
    ids=["nan", "inf", "huge", "index", "twice", "material"],
)  # fmt: skip
def test_damaged_records_are_refused(tmp_path, recorded, damage, words):
    """With the file, the quantity, the node and the time, before the run; a record that is damaged later ends the run."""
    import h5py

    broken = tmp_path / "broken.h5"
    broken.write_bytes(recorded[0].read_bytes())
    with h5py.File(broken, "r+") as file:
        damage(file)
    found = told(let_in(tmp_path, broken))
    assert re.search(words, found), found
    assert "broken.h5" in found
    with raises(InputError):
        read_box_record(broken).check()
