"""Fluids beside rock on a grid: energy is kept, nothing pushes the fluid for ever, waves reflect as they should."""

import numpy as np
import pytest

from faultwave.fd.method.stencils import VELOCITY
from faultwave.run import simulate
from tests.messages import expect

from .test_grids import case

FLOOR = -600.0
SEA = {"rho": f"if (z > {FLOOR}) {{ return 1000; }} return 2000;", "vp": f"if (z > {FLOOR}) {{ return 1500; }} return 3000;",
       "vs": f"if (z > {FLOOR}) {{ return 0; }} return 1500;"}  # fmt: skip
HILLS = {
    name: text.replace(f"z > {FLOOR}", f"z > {FLOOR} + 120 * sin(0.004 * x) * cos(0.005 * y)")
    for name, text in SEA.items()
}
RIGID = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}
BOX = {"lower": [0, 0, -1200], "upper": [1000, 800, 0], "spacing": 50.0}


def settings(material=SEA, sides=RIGID, **changes):
    made = case(
        end_time=0.4, grid=BOX | {"boundaries": sides}, numerics={"precision": "double", "threads": 1}, **changes
    )
    made["material"], made["output"] = {"expression": material}, {}
    made["sources"] = [{"kind": "moment-tensor", "location": [500, 400, -300], "tensor": {"xx": 1e12, "yy": 1e12, "zz": 1e12},
                        "time_function": {"kind": "gaussian", "duration": 0.03}}]  # fmt: skip
    return made


def energy(operator):
    """What leapfrog keeps: that of the stresses of now and half of v(n - 1/2) . rho v(n + 1/2)."""
    views = {name: operator.runner.view(name, 1) for name in VELOCITY}
    old, before = {name: v.copy() for name, v in views.items()}, operator.energies()
    operator.advance(1)
    new, after = {name: v.copy() for name, v in views.items()}, operator.energies()
    for name, v in views.items():
        v[...] = new[name] - old[name]
    change = operator.energies()["elastic_kinetic_energy"]
    for name, v in views.items():
        v[...] = new[name]
    kinetic = before["elastic_kinetic_energy"] + after["elastic_kinetic_energy"] - change
    return before["elastic_energy"] + 0.5 * kinetic


@pytest.mark.parametrize("material", [SEA, HILLS], ids=["flat", "hills"])
def test_energy_neither_grows_nor_falls(material):
    """At a step near the stable one, also over a floor of stairs."""
    sim = simulate(settings(material, numerics__cfl=0.95))
    assert sim.plan.scheme.border is not None
    operator = sim.solver.operator
    operator.advance(sim.plan.steps)
    early = energy(operator)
    operator.advance(1000)
    assert early > 0 and abs(energy(operator) / early - 1) < 1e-10


@pytest.mark.parametrize("material", [SEA, HILLS], ids=["flat", "hills"])
def test_what_stays_in_rock_leaves_the_fluid_alone(material):
    """Slip in rock: waves leave, and the fluid comes to rest. Where differences cross the border it is pushed for ever."""
    made = settings(material, sides={})
    made["end_time"], made["numerics"]["precision"] = 4.0, "single"
    made["sources"] = [{"kind": "moment-tensor", "location": [500, 400, -830], "tensor": {"xz": 1e12},
                        "time_function": {"kind": "gaussian", "duration": 0.05}}]  # fmt: skip
    made["output"] = {"receivers": {"points": [[400, 400, -575], [650, 300, -540], [500, 400, -610]], "interval": 0.02}}
    sim = simulate(made)
    sim.run(write=False)
    v, late = np.stack([sim.receivers.quantity(f"v{k}") for k in (1, 2, 3)]), sim.receivers["time"] > 2
    assert np.abs(v[:, late].mean(1)).max() < 2e-3 * np.abs(v).max()


def test_shallow_water_is_told():
    """Borders in the planes of the free surface's own differences, and those of order 8, are not cared for."""
    from faultwave.case.load import load_case
    from faultwave.run.planned import check

    def told(**changes):
        found = check(load_case(settings(**changes))[0]).items
        return [str(p) for p in found if "fluid next to rock" in str(p)]

    near = {name: text.replace(str(FLOOR), "-300.0") for name, text in SEA.items()}
    assert told() == [] and "within 9 cells of the surface" in told(material=near)[0]
    expect(told(grid__order=8)[0])


@pytest.mark.parametrize("backend", ["numpy", "opencl"])
def test_backends_agree(backend):
    from faultwave.backends import missing

    if missing(backend):
        pytest.skip(missing(backend))
    sides = {"x": "periodic", "y": "periodic"}
    found = []
    for name in ("cpu", backend):
        made = settings(HILLS, sides, attenuation={}, numerics__backend=name)
        made["material"]["constant"] = {"Qp": 80.0, "Qs": 50.0}
        made["material"]["expression"] = HILLS
        made["end_time"] = 0.15
        sim = simulate(made)
        sim.run(write=False)
        found.append(np.array(sim.solver.operator.values("w")))
    assert np.abs(found[0]).max() > 0 and np.abs(found[1] - found[0]).max() < 1e-11 * np.abs(found[0]).max()


def test_a_shift_of_a_periodic_box_shifts_all_there_is():
    """Borders are found across the ends of periodic axes; means of the material there are of one end only."""
    made, found = settings(HILLS, {"x": "periodic", "y": "periodic"}), []
    for shift in (0.0, 450.0):
        around = f"6.283185307179586 * (x - {shift}) / 1000"
        moved = {k: v.replace("0.004 * x", around).replace("0.005 * y", "0.0 * y") for k, v in HILLS.items()}
        made["material"], made["sources"][0]["location"][0] = {"expression": moved}, 500 + shift
        made["end_time"] = 0.2
        sim = simulate(made)
        sim.run(write=False)
        found.append(np.roll(np.array(sim.solver.operator.values("szz")), -int(shift / 50), 2))
    assert np.abs(found[1] - found[0]).max() < 1e-4 * np.abs(found[0]).max()
