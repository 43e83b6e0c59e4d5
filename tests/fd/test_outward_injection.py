"""Waves of a box radiate into another grid: outside as in one whole run, inside only what returns."""

import re

import numpy as np
import pytest

import faultwave as fw
from faultwave.case.load import load_case
from faultwave.fd.injection.incident import in_time
from faultwave.run.planned import check
from tests.messages import expect

from .test_faults import case
from .test_injection import INSIDE, OUTSIDE, largest, motion, settings, told

BLOCK = "if (x > 1260 && x < 1500 && abs(y-760)<200 && z > -700) {return 1400;} return 2000;"
"""Soft rock outside of the box."""
AROUND = [[1000, 750, -3000], [10000, 3000, -1000], [-1000, -6000, -500], [500, 5000, -8000]]
FAULT_BOX = {"lower": [-8000, -3750, -11000], "upper": [8000, 3750, 0]}
OPEN = {"lower": [400, 400, -1440], "upper": [1200, 1120, 0]}
DEEP = {"lower": [400, 400, -1440], "upper": [1200, 1120, -640]}
SOURCE = {"kind": "moment-tensor", "location": [790, 750, -920], "tensor": {"xy": 1e15, "xx": 4e14, "zz": -4e14},
          "time_function": {"kind": "ricker", "duration": 0.3}}  # fmt: skip


def inner(folder, soft=False, **changes):
    """A source in the box, whose surroundings may be soft."""
    box = {"grid__lower": [-80, 0, -1840], "output__box": OPEN}
    made = settings(folder, inclusion=soft, **(box | changes))
    if soft:
        made["material"]["expression"]["vs"] = BLOCK
    return made | {"sources": [SOURCE]}


def changed(made, changes):
    """A case with other settings at the given paths."""
    for key, value in changes.items():
        group = made
        *path, last = key.split("__")
        for part in path:
            group = group.setdefault(part, {})
        group[last] = value
    return made


def outer(folder, record, soft=False, **changes):
    """The same without source, with the waves of a record that leave the box."""
    made = inner(folder, soft, **changes)
    del made["output"]["box"]
    return made | {"sources": [], "injection": {"file": str(record), "total_field": "outside"}}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """File and receivers of the run that is recorded."""
    folder = tmp_path_factory.mktemp("recorded")
    return folder / "run-box.h5", motion(inner(folder))


@pytest.mark.parametrize(("box", "attenuation"), [(OPEN, True), (DEEP, False)], ids=["surface", "buried"])
def test_total_field_outside_is_that_of_one_run(tmp_path, box, attenuation):
    """To rounding, with what soft rock outside sends back into the box; without it, nothing is inside."""
    changes = {"output__box": box, "attenuation": attenuation}
    plain, soft = (motion(inner(tmp_path / f"soft {kind}", kind, **changes)) for kind in (False, True))
    record = tmp_path / "soft False/run-box.h5"
    again, total = (motion(outer(tmp_path / f"again {kind}", record, kind, **changes)) for kind in (False, True))
    inside = [*INSIDE, 5] if box is OPEN else [0]  # others read across the upper face
    scale = largest(plain, OUTSIDE)
    assert (largest(soft - plain, OUTSIDE) > 0.01 * scale).all()
    assert (largest(soft - plain, inside) > 1e-3 * scale).all()
    inner_scale = largest(plain, [*inside, *OUTSIDE])
    assert (largest(again - plain, OUTSIDE) < 1e-12 * scale).all()
    assert (largest(again, inside) < 1e-13 * inner_scale).all()
    assert (largest(total - soft, OUTSIDE) < 1e-12 * scale).all()
    assert (largest(total - (soft - plain), inside) < 1e-13 * inner_scale).all()


def test_waves_of_a_fault_continue(tmp_path):
    """But for the differences of second order that the plane of a fault has on grids, also beyond the fault."""
    changes = {
        "end_time": 2.1, "grid__step": 0.03, "output__receivers": {"points": AROUND, "interval": 0.06},
        "numerics__precision": "double", "grid__lower": [-11000.0, -11250.0, -14000.0],
    }  # fmt: skip
    whole = motion(case(**changes, output__folder=str(tmp_path / "rupture"), output__box=FAULT_BOX))
    injection = {"file": str(tmp_path / "rupture/run-box.h5"), "total_field": "outside"}
    again = case(**changes, output__folder=str(tmp_path / "again"), injection=injection)
    del again["fault"], again["grid"]["fault"], again["output"]["rupture"]
    found = motion(again)
    scale = largest(whole, [1, 2, 3])
    assert (largest(found - whole, [1, 2, 3]) < 1e-4 * scale).all() and (largest(found, [0]) < 1e-8 * scale).all()


def rms(values, receivers):
    return float(np.sqrt(np.square(values[:, receivers][..., 6:]).mean()))


def smooth(make, folder, *given, **changes):
    """Longer waves, in a run that ends at rest."""
    wide = {"grid__lower": [-240, -240, -1920], "grid__upper": [1840, 1840, 0]}
    made = make(folder, *given, **({"end_time": 2.2} | wide | changes))
    made["sources"] = [{**source, "time_function": {"kind": "ricker", "duration": 0.6}} for source in made["sources"]]
    return made


def run_of(made):
    """Receivers, the errors reported before the run (shares), and all rows."""
    sim = fw.simulate(made)
    rows = dict(sim.plan.parts["injection"].summary)
    sim.run()
    shares = re.findall(r"about ([0-9.e+-]+) %", " ".join(rows.values()))
    return sim.receivers["values"], sum(map(float, shares)) / 100, rows


LATTICE = {"lower": [400, 480, -1280], "upper": [1200, 1120, 0], "interval": 0.02}


@pytest.fixture(scope="module")
def lattices(tmp_path_factory):
    """Folder of records at lattices of 80 and 160 m, and motion of the whole run."""
    folder, found = tmp_path_factory.mktemp("lattices"), np.zeros(0)
    for spacing in (80.0, 160.0):
        box = {**LATTICE, "spacing": spacing, "formats": ["box", "h5drm"], "layers": 3}
        found = motion(smooth(inner, folder / f"{spacing:g}", output__box=box))
    return folder, found


def test_lattices_converge_within_the_error_reported(tmp_path, lattices):
    """Half the spacing of the record has a small fraction of the error."""
    folder, whole = lattices
    errors = list[float]()
    for spacing in ("80", "160"):
        found, reported, rows = run_of(smooth(outer, tmp_path / spacing, folder / spacing / "run-box.h5"))
        errors.append(rms(found - whole, OUTSIDE) / rms(whole, OUTSIDE))
        assert 1e-4 < errors[-1] < reported < 0.3
        assert rms(found, [0, 1]) < reported * rms(whole, OUTSIDE)
        assert "the grid resolves 4 Hz" in rows["frequencies"]
    assert errors[0] < errors[1] / 5


def test_other_spacings_and_steps(tmp_path, lattices):
    """A grid of 60 m, whose points are not those of the record, and after the record ends at rest."""
    folder, whole = lattices
    finer = {"grid__upper": [1920, 1920, 0], "grid__spacing": 60.0, "grid__step": 0.0075, "end_time": 2.6}
    found, reported, rows = run_of(smooth(outer, tmp_path, folder / "80/run-box.h5", **finer))
    error = rms(found[: len(whole)] - whole, OUTSIDE) / rms(whole, OUTSIDE)
    print(
        error,
        reported,
        rows,
        rms(found[len(whole) :], OUTSIDE) / rms(whole, OUTSIDE),
        rms(found, [0, 1]) / rms(whole, OUTSIDE),
    )
    assert error < reported < 0.2
    assert rms(found, [0, 1]) < 0.03 * rms(whole, OUTSIDE)


def test_waves_of_tetrahedra_go_out(tmp_path, lattices):
    """As those of a whole run on the grid do, although sides of the mesh are near; what they send back is left inside."""
    made = smooth(inner, tmp_path / "dg", output__box={**LATTICE, "spacing": 80.0, "interval": 0.02})
    del made["grid"]
    sides = {"x": "absorbing", "y": "absorbing", "z-": "absorbing", "z+": "free-surface"}
    lower, upper = [-400, -400, -2000], [2000, 2000, 0]
    box = {"shape": "box", "cells": [7, 7, 6], "lower": lower, "upper": upper, "boundaries": sides}
    made |= {"engine": "dg", "mesh": {"generate": box}, "numerics": {"order": 5, "precision": "single", "threads": 1}}
    motion(made)
    found, reported, _ = run_of(smooth(outer, tmp_path / "fd", tmp_path / "dg/run-box.h5"))
    whole = lattices[1]
    assert 0.005 < reported < 0.03
    assert rms(found - whole, OUTSIDE) < 0.03 * rms(whole, OUTSIDE)
    assert rms(found, [0, 1]) < 0.1 * rms(whole, OUTSIDE)


class Ramp:
    """Record whose samples are their numbers, at one point."""

    samples = 8

    def read(self, names, begin, end):
        number = np.arange(begin, end, dtype=float)[:, None]
        return dict.fromkeys(names, np.where((number >= 0) & (number < self.samples), number, 0.0))


def test_rock_rests_after_the_end_of_a_record():
    at = np.array([5.0, 6.5, 7.0, 7.5, 30.0])
    assert in_time(Ramp(), "v2", at)[:, 0] == pytest.approx([5.0, 6.5, 7.0, 0.0, 0.0])
    assert in_time(Ramp(), "s_xy", at)[:, 0] == pytest.approx([5.0, 6.5, 7.0, 7.0, 7.0])
    assert in_time(Ramp(), "s_xy", np.array([9.0, 10.0]))[:, 0] == pytest.approx([7.0, 7.0])


def test_waves_of_an_h5drm_file_leave_the_box(tmp_path, lattices):
    """Within the error reported; sources in the box are a warning, as the file does not contain the side of its own."""
    folder, whole = lattices
    made = smooth(outer, tmp_path, folder / "160/run.h5drm")
    found, reported, _ = run_of(made)
    assert 1e-4 < rms(found - whole, OUTSIDE) / rms(whole, OUTSIDE) < reported < 0.3
    assert "1 of 1 act inside the injection box" in told(made | {"sources": [SOURCE]})


NEAR = {"kind": "force", "force": [1e9, 0, 0], "time_function": {"kind": "ricker", "duration": 0.5}}


@pytest.mark.parametrize(
    "changes",
    [
        {"injection__total_field": "inside"},
        {"sources": [{**NEAR, "location": [800, 800, -800]}]},
        {"sources": [{**NEAR, "location": [500, 800, -800]}]},
        {"end_time": 0.9},
        {"material__expression__vs": "if (z < -1300) {return 1800;} return 2000;"},
        {"material__expression__vs": "if (x > 1260) {return 900;} return 2000;", "grid__frequency": 2.0},
        {"injection__lower": [400, 400, -1600], "injection__upper": [1200, 1120, 0]},
        {"grid__spacing": 60.0, "grid__step": 0.005, "grid__upper": [1600, 1580, 0], "grid__lower": [-80, 20, -1800]},
    ],
    ids=["inside", "source", "source near a face", "end", "rock", "frequency", "box", "spacing"],
)
def test_reported_before_the_run(tmp_path, recorded, changes):
    made = outer(tmp_path, recorded[0])
    made["material"] = {"constant": {"rho": 2700.0, "vp": 3464.0}, "expression": {"vs": "return 2000;"}}
    expect(told(changed(made, changes)))


def test_plane_waves_have_no_source_in_the_box(tmp_path):
    wave = {
        "mode": "P",
        "direction": [0, 0, 1],
        "reference": [0, 0, 0],
        "time_function": {"kind": "ricker", "duration": 0.5},
    }
    made = outer(tmp_path, "")
    made["injection"] = {**OPEN, "plane_wave": wave, "total_field": "outside"}
    expect(told(made))


@pytest.mark.parametrize("interval", [None, 0.02], ids=["grid", "lattice"])
@pytest.mark.parametrize("places", [[[790, 750, -920], [100, 100, -300]], [[480, 750, -920]]], ids=["both", "near"])
def test_sources_on_both_sides_are_reported(tmp_path, places, interval):
    """When the box is recorded, by the side of its faces that the sources are on."""
    lattice = {} if interval is None else {"spacing": 80.0, "interval": interval}
    made = inner(tmp_path, output__box={**LATTICE, **lattice} if lattice else OPEN, grid__lower=[-240, -240, -1920])
    made["grid"]["upper"] = [1840, 1840, 0]
    found = told(made | {"sources": [{**NEAR, "location": place} for place in places]})
    expect("\n".join(line for line in found.splitlines() if line.startswith("output.box")))


@pytest.mark.parametrize("lower", [[-3000, -3750, -11000], [-8000, -1500, -11000]], ids=["crosses", "near"])
def test_boxes_that_cut_a_fault_are_refused(tmp_path, lower):
    made = case(
        output__folder=str(tmp_path),
        output__box={**FAULT_BOX, "lower": lower},
        grid__lower=[-11000.0, -11250.0, -14000.0],
    )
    found = told(made)
    expect("\n".join(line for line in found.splitlines() if line.startswith("output.box")))


def test_boxes_that_cut_a_fault_of_tetrahedra_are_refused(tmp_path):
    box = {"lower": [-8000, -8000, -8000], "upper": [8000, 8000, 0], "spacing": 1000, "interval": 0.05}
    made, found = load_case("tpv5")
    assert made is not None and not found.errors
    output = made.output.model_copy(update={"box": type(made.output).model_validate({"box": box}).box})
    made = made.model_copy(update={"output": output})
    found = "\n".join(map(str, check(made).items))
    expect(found[found.index("output.box") :])
