"""Runs on grids whose rock yields: the linear limit, energies, restarts, processes, and what is told before."""

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.case.load import load_case
from faultwave.fd.method.stencils import FIELDS
from faultwave.run.planned import check
from tests.messages import expect
from tests.run.launch import launch

from .test_grids import case
from .test_restart import Stopped

AT_REST = {"s_xx": 11000, "s_yy": 6000, "s_zz": 16000, "s_xy": 700, "s_yz": 0, "s_xz": 0}


def yielding(cohesion="5e4", folder="", attenuation=True, **changes):
    """Rock whose strength varies from place to place, and stress at rest that grows with depth."""
    x = {n: f"return {0.1 * v} * z;" for n, v in AT_REST.items()}
    rock = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60, "Qs": 30}
    plasticity = {
        "parameters": {
            "constant": {"bulk_friction": 0.5},
            "expression": {**x, "plastic_cohesion": f"return {cohesion};"},
        },
        "constants": {"relaxation_time": 0.05},
    }
    made = case(plasticity=plasticity, material={"constant": rock}, numerics={"threads": 1}, **changes)
    made["output"] |= {"energies": {"interval": 0.1}, "volume": {"interval": 0.1, "every": 3, "fields": ["v1", "eta"]}}
    made["output"] |= {"folder": str(folder), "checkpoint": {"interval": 0.2}}
    return made | ({"attenuation": {}} if attenuation else {})


@pytest.mark.mpi
def test_odd_numbers_of_periodic_points_are_told_of_before(tmp_path):
    """With attenuation such a grid runs on one process: ``check`` warns of it, of several processes it is an error, and these refuse it."""
    sides = {"x": "periodic", "y": "periodic", "z-": "rigid"}
    made = yielding(
        folder=tmp_path / "out", grid__boundaries=sides, grid__upper=[1500.0, 1700.0, 0.0], grid__spacing=100.0
    )
    (told,) = (p for p in check(made).warnings if "one process only" in p.what)
    assert told.where == "grid" and told.what.startswith("17 points along y") and "rock that yields" in told.what
    shared = check(made, ranks=2)
    assert [p.what for p in shared.errors] == [told.what] and not any(p.what == told.what for p in shared.warnings)
    done = launch(2, made)
    assert done.returncode != 0 and "one process only" in done.stderr, done.stderr
    for changes in ({"attenuation": False}, {"grid__upper": [1500.0, 1600.0, 0.0]}):
        other = {"grid__upper": [1500.0, 1700.0, 0.0], "grid__boundaries": sides, "grid__spacing": 100.0} | changes
        assert not any("one process only" in p.what for p in check(yielding(**other)).warnings)


LATERAL = "5e4 + 20 * x + 10 * y"


def ended(made):
    sim = fw.simulate(made)
    sim.run(write=False)
    return sim


def numbers(folder):
    found = {}
    for path in sorted(folder.glob("*.h5")) + sorted(folder.glob("*.vtkhdf")):
        with h5py.File(path) as file:
            file.visititems(
                lambda n, d, p=path: found.update({f"{p.name}/{n}": d[()]}) if isinstance(d, h5py.Dataset) else None
            )
    return found


def energies(folder):
    return np.loadtxt(next(folder.glob("*-energy.csv")), delimiter=",", skiprows=1, usecols=2)


@pytest.mark.parametrize("precision", ["single", "double"])
def test_rock_too_strong_to_yield_is_linear_to_the_last_bit(precision):
    strong = yielding("1e12", numerics__precision=precision)
    linear = {key: value for key, value in strong.items() if key != "plasticity"}
    linear["output"] = {key: value for key, value in strong["output"].items() if key != "volume"}
    a, b = ended(strong), ended(linear)
    for name in FIELDS:
        assert np.array_equal(a.solver.operator.values(name), b.solver.operator.values(name)), name
        assert a.solver.operator.values(name).any()
    assert a.solver.energies()["plastic_work"] == 0


def test_energy_of_the_waves_falls_by_plastic_work():
    """A closed box without stress at rest, once the source is silent; kinetic energy is that of half a step before."""
    sides = {"x": "periodic", "y": "periodic", "z-": "rigid"}
    made = yielding("2e4", attenuation=False, grid__boundaries=sides)
    made["grid"]["upper"] = [1500, 1600, 0]
    made["plasticity"]["parameters"]["expression"] |= dict.fromkeys(AT_REST, "return 0;")
    made["numerics"]["precision"] = "double"
    made["sources"][0]["time_function"] = {"kind": "triangle", "duration": 0.2}
    table = ended(made).energies
    after = table["time"] > 0.25
    waves = (table["elastic_energy"] + table["elastic_kinetic_energy"])[after]
    work = table["plastic_work"][after]
    assert len(waves) >= 3 and (np.diff(waves) < 0).all() and (np.diff(work) > 0).all()
    share = (work[-1] - work[0]) / (waves[0] - waves[-1])
    assert 0.97 < share < 1.04
    assert (table["initial_stress_work"] == 0).all() and table["plastic_moment"][-1] > 0


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(yielding(LATERAL, tmp_path / "whole")).run()
    sim = fw.simulate(yielding(LATERAL, tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    fw.resume(tmp_path / "parts").run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert any("eta" in name and values.any() for name, values in whole.items())
    for name, values in whole.items():
        assert np.array_equal(values, parts[name]), name
    assert np.array_equal(energies(tmp_path / "whole"), energies(tmp_path / "parts"))


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "cohesion"), [(2, LATERAL), (4, "5e4")])
def test_processes_give_the_same(tmp_path, ranks, cohesion):
    small = {"grid__spacing": 60.0, "end_time": 0.35}
    fw.simulate(yielding(cohesion, tmp_path / "one", **small)).run()
    done = launch(ranks, yielding(cohesion, tmp_path / "more", **small))
    assert done.returncode == 0, done.stderr
    one, more = numbers(tmp_path / "one"), numbers(tmp_path / "more")
    assert one.keys() == more.keys()
    assert any("eta" in name and values.any() for name, values in one.items())
    for name, values in one.items():
        assert np.array_equal(values, more[name]), name
    a, b = energies(tmp_path / "one"), energies(tmp_path / "more")
    assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()


def told(change):
    made = yielding()
    change(made)
    settings, found = load_case(made)
    found = found if settings is None else check(settings)
    return "\n".join(map(str, [*found.errors, *found.warnings]))


def strength(made):
    return made["plasticity"]["parameters"]["expression"]


NARROW = "if ((x - 470)*(x - 470) + (y - 660)*(y - 660) < 14400) { return 1e6; } return 0;"
"""A stress in a few columns."""


@pytest.mark.parametrize(
    "change",
    [
        lambda c: strength(c).pop("plastic_cohesion"),
        lambda c: strength(c).pop("s_xy"),
        lambda c: strength(c).update(plastic_cohesion="return -1;"),
        lambda c: strength(c).update(plastic_cohesion="return 0;", s_xy="return 1e6;"),
        lambda c: strength(c).update(s_xy="return x;"),
        lambda c: strength(c).update(s_xy=NARROW),
        lambda c: c["plasticity"].update(elastic=["water"]),
        lambda c: c["plasticity"].update(initial_stress="fault"),
        lambda c: c["plasticity"]["constants"].update(seissol_strain=1),
        lambda c: c["plasticity"].update(points="lattice"),
        lambda c: c["grid"].update(order=8),
        lambda c: c["grid"].update(time_dispersion="remove"),
        lambda c: c["material"]["constant"].update(vs=0.0, Qs=1e9),
        lambda c: c["sources"].append({"kind": "plane-wave", "z": -900.0, "velocity": [1, 0, 0],
                                        "time_function": {"kind": "ricker", "duration": 0.5}}),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_before(change):
    expect(told(change))


def test_a_sound_case_has_no_complaint():
    assert "plasticity" not in told(lambda c: None)


WEIGHT = {"largest": 1.5, "smallest": 0.5, "direction": 30.0, "water_table": 200.0}
QUALITY = {"index": 50, "intact_below": 4000.0, "constant": 12, "intact_strength": "80 MPa"}


def planned(**plasticity):
    made = yielding()
    made["plasticity"] = {"constants": {"relaxation_time": 0.05}} | plasticity
    settings, found = load_case(made)
    assert settings is not None, found.errors
    return fw.simulate(made).plan.parts["plasticity"]


def test_stress_at_rest_is_the_weight_of_the_rock():
    part = planned(overburden=WEIGHT, parameters={"constant": {"plastic_cohesion": 1e9, "bulk_friction": 0.5}})
    z = np.array([0.0, -100.0, -1000.0])
    found = part.rock.rest_at(z)
    vertical = 2700 * 9.81 * z + 9810 * np.array([0.0, 0.0, 800.0])
    assert found["s_zz"] == pytest.approx(vertical)
    tensor = np.array([[found["s_xx"], found["s_xy"]], [found["s_xy"], found["s_yy"]]])[:, :, 2]
    values, vectors = np.linalg.eigh(tensor)
    assert values == pytest.approx([1.5 * vertical[2], 0.5 * vertical[2]])
    assert abs(vectors[:, 0]) == pytest.approx([np.cos(np.pi / 6), 0.5])
    assert not found["s_xz"].any() and not found["s_yz"].any()


@pytest.mark.parametrize("more", [{}, {"elastic_above": 1900.0}, {"loose_below": 2100.0, "loose_angle": 30.0}])
def test_strength_of_rock_quality(more):
    part = planned(overburden=WEIGHT | {"largest": 1.1, "smallest": 0.9}, rock_quality=QUALITY | more)
    strength = next(v for n, v in part.values[0].items() if n == "strength")
    if "elastic_above" in more:
        assert strength.min() > 1e11
    elif "loose_below" in more:
        assert not strength.any() and part.values[0]["slope"] == pytest.approx(0.5)
    else:  # by depth alone, and stronger the deeper
        assert strength.ndim == 1 and np.ptp(strength) > 1e5
        z = np.arange(len(strength))
        assert np.corrcoef(z, strength)[0, 1] < -0.9
    assert "% of" in part.summary


PULLED = {"s_xx": 5e7, "s_yy": 5e7, "s_zz": 5e7, "s_xy": 0.0, "s_yz": 0.0, "s_xz": 0.0}
"""Stress at rest with compression positive."""


@pytest.mark.parametrize(
    "plasticity",
    [
        {"rock_quality": QUALITY},
        {"overburden": WEIGHT},
        {"overburden": WEIGHT | {"largest": 0.4}, "rock_quality": QUALITY},
        {"overburden": WEIGHT, "rock_quality": QUALITY | {"index": 0}},
        {"overburden": WEIGHT, "rock_quality": QUALITY | {"intact_strength": "granite"}},
        {"overburden": WEIGHT, "rock_quality": QUALITY | {"loose_angle": 30}},
        {"overburden": WEIGHT, "initial_stress": "parameters", "rock_quality": QUALITY},
        {"overburden": WEIGHT, "rock_quality": QUALITY, "parameters": {"constant": {"plastic_cohesion": 1e6}}},
        {"overburden": WEIGHT | {"largest": 60.0}, "rock_quality": QUALITY},
        {"parameters": {"constant": {"plastic_cohesion": 1e6, "bulk_friction": 0.5}}, "initial_stress": {"constant": PULLED}},
    ],
)  # fmt: skip
def test_wrong_weight_or_quality_is_told(plasticity):
    expect(told(lambda c: c.update(plasticity=plasticity)))


def test_tetrahedra_refuse_strength_from_quality():
    sides = {"z+": "free-surface"}
    mesh = {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, -1500], "upper": [1500, 1600, 0], "boundaries": sides}

    def change(made):
        made |= {
            "engine": "dg",
            "mesh": {"generate": mesh},
            "plasticity": {"overburden": WEIGHT, "rock_quality": QUALITY},
        }
        for name in ("grid", "attenuation"):
            made.pop(name)

    expect(told(change))
