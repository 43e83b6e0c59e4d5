"""The perfectly matched layer: hardly an echo, no growth, and where it cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.physics.waves.law import LAYER

UNIT = {"constant": {"permittivity": 1.0, "permeability": 1.0}}


def bar(cells: int, order: int, **more: Any) -> dict[str, Any]:
    """A bar of unit length and edges of 1/8, ``cells`` more in the layer at its end, a conductor behind."""
    length = 1.0 + cells / 8
    mesh = {"generate": {"shape": "box", "cells": (8 + cells, 1, 1), "lower": (0.0,) * 3, "upper": (length, 0.125, 0.125),
                         "boundaries": {"x-": "absorbing", "x+": "pec", "y": "pec", "z": "pmc"}, "shuffle": True}}  # fmt: skip
    return {
        "law": "maxwell", "mesh": mesh, "material": UNIT, "end_time": 4.0, "numerics": {"order": order},
        "matched_layer": {"sides": ["x+"], "thickness": cells / 8},
        "output": {"receivers": {"points": [[0.5, 0.05, 0.07]], "interval": 0.02}},
    } | more  # fmt: skip


def pulse(x: np.ndarray, t: float) -> np.ndarray:
    q = np.zeros((len(x), 12))
    s = x[:, 0] - 0.4
    q[:, 1] = q[:, 5] = np.exp(-((s / 0.1) ** 2)) * np.cos(4 * np.pi * s)
    return q


@pytest.mark.parametrize("order, numerics", [(4, {}), (5, {"precision": "single"}), (4, {"integrator": "rk4"})])
def test_no_echo_at_normal_incidence(order: int, numerics: dict[str, Any]) -> None:
    """Eight cells, order 4 and more: below -40 dB, measured -59 dB at order 4 and -72 dB at order 5."""
    sim = fw.simulate(bar(8, order, numerics={"order": order, **numerics}))
    sim.set_initial(pulse)
    sim.run(write=False)
    data = sim.receivers
    assert data is not None and data.quantities == ["E1", "E2", "E3", "H1", "H2", "H3"]
    echo = np.abs(data["values"][data["time"] > 0.7][:, 0, 1]).max()
    assert 20 * np.log10(echo) < (-55 if order == 4 else -65)


def beside(cells: int, layer: float | None, **more: Any) -> dict[str, Any]:
    """A bar of two media side by side, speeds 1 and 1/3, both run into the layer at its end."""
    case = bar(0, 4)
    case["mesh"]["generate"] |= {"cells": (cells, 2, 1), "upper": (cells / 8, 0.25, 0.125)}
    case["mesh"]["generate"]["boundaries"] = {"x": "pec", "y": "pec", "z": "pmc"}
    fast = {"permittivity": "if (y < 0.125) { return 1.0; } return 9.0;", "permeability": "return 1.0;"}
    return (
        case
        | {"material": {"expression": fast}, "matched_layer": layer and {"sides": ["x+"], "thickness": layer}}
        | more
    )


def test_an_interface_that_runs_into_the_layer_sends_nothing_back() -> None:
    """Against a bar so long that its end is not heard: -49 and -42 dB of E; -32 and -35 with each medium's own speed."""
    dipole = {"kind": "point", "location": [0.31, 0.073, 0.052], "moment": [0, 1, 0],
              "time_function": {"kind": "ricker", "duration": 1.5}}  # fmt: skip
    heard = []
    for cells, layer in ((23, None), (13, 0.8)):
        output = {"receivers": {"points": [[0.4, 0.07, 0.05], [0.45, 0.19, 0.05]], "interval": 0.05}}
        sim = fw.simulate(beside(cells, layer, currents=[dipole], output=output, end_time=4.8)).run(write=False)
        heard.append(sim.receivers["values"][..., :3])
    echo = np.abs(heard[1] - heard[0]).max((0, 2)) / np.abs(heard[0]).max((0, 2))
    assert (20 * np.log10(echo) < -40).all(), 20 * np.log10(echo)


def test_a_layer_stretches_an_axis_alike_in_every_medium() -> None:
    """Of the fastest in it, here 1: the same numbers as of that alone."""
    mixed = fw.simulate(beside(16, 0.9)).plan.material
    alone = fw.simulate(beside(16, 0.9, material=UNIT)).plan.material
    for name in LAYER:
        np.testing.assert_allclose(mixed[name], alone[name], rtol=1e-12)
    assert alone["damping_x"].max() > 0 and alone["damping_shift"].max() == pytest.approx(0.1 / 0.9)


def test_a_layer_damps_as_much_as_it_says() -> None:
    """R = exp(-2/c int d dx) there and back, whatever the cells."""
    case = bar(8, 2, matched_layer={"sides": ["x+"], "thickness": 0.77, "reflection": 1e-5})
    plan = fw.simulate(case).plan
    integral = (plan.material["damping_x"] * plan.geometry.volume).sum() / 0.125**2
    assert np.exp(-2 * integral) == pytest.approx(1e-5, rel=0.05)  # a cell that the inner edge cuts takes it as a whole


def test_waves_at_all_angles_leave_a_box_with_edges_and_corners() -> None:
    """Against a first-order absorbing box of the same size."""

    def burst(size: int) -> Any:
        def field(x: np.ndarray, t: float) -> np.ndarray:
            q = np.zeros((len(x), size))
            s = x - 0.5
            q[:, :3] = np.exp(-30 * (s**2).sum(1))[:, None] * np.cross([1.0, 2.0, 0.5], s)
            return q

        return field

    left = []
    for layer in (None, {"sides": ["x-", "x+", "y-", "y+", "z-", "z+"], "thickness": 0.25}):
        case = bar(0, 4)
        case["mesh"]["generate"] |= {"cells": (8, 8, 8), "upper": (1.0,) * 3, "boundaries": {}}
        sim = fw.simulate(case | {"matched_layer": layer})
        sim.set_initial(burst(len(sim.plan.law.quantities)))
        x = np.random.default_rng(0).uniform(0.3, 0.7, (200, 3))
        before = np.abs(sim.sample(x)[:, :6]).max()
        sim.run(until=1.6, write=False)
        left.append(np.abs(sim.sample(x)[:, :6]).max() / before)
    assert left[1] < 0.3 * left[0] and left[1] < 0.01, left


@pytest.mark.parametrize(
    "sides, order, steps",
    [
        (["x-", "x+", "y+", "z-"], 3, 400),
        pytest.param(["x-", "x+", "y-", "y+", "z-", "z+"], 4, 10_000, marks=pytest.mark.slow),
    ],
)
def test_noise_dies_out(sides: list[str], order: int, steps: int) -> None:
    case = bar(0, order)
    case["mesh"]["generate"] |= {"cells": (4, 4, 4), "upper": (1.0,) * 3, "boundaries": dict.fromkeys("xyz", "pec")}
    sim = fw.simulate(case | {"matched_layer": {"sides": sides, "thickness": 0.3}})
    rng = np.random.default_rng(0)
    sim.solver.operator.set_dofs(rng.normal(size=sim.solver.operator.dofs().shape) * (np.arange(12) < 6))
    step, largest = sim.solver.march.longest, []
    for _ in range(4):
        sim.run(until=sim.time + steps * step, write=False)
        largest.append(np.abs(sim.solver.operator.dofs()[..., :6]).max())
    assert largest[-1] <= largest[0], largest


@pytest.mark.parametrize(
    "change, said",
    [
        (
            {"law": "elastic", "material": {"constant": {"rho": 1, "mu": 1, "lambda": 1}}},
            "does not exist for the elastic law",
        ),
        ({"numerics": {"integrator": "leapfrog"}}, "react with each other"),
        ({"numerics": {"integrator": "rk4", "clustering": {"rates": [2]}}}, "uses one time step for all cells"),
        ({"material": {"constant": {"conductivity": 0.1}}}, "medium with losses"),
        ({"matched_layer": {"sides": ["y-"], "thickness": 0.1}}, "below half the mesh"),
        ({"matched_layer": {"sides": ["x+", "y-"], "thickness": 0.05}}, "periodic along y, so y- is not a side of it"),
    ],
)
def test_where_it_cannot_be(change: dict[str, Any], said: str) -> None:
    case = bar(4, 3) | change
    if change.get("law") == "elastic":
        case["mesh"]["generate"]["boundaries"] = {}
    if "periodic" in said:
        case["mesh"]["generate"]["boundaries"]["y"] = "periodic"
    with pytest.raises(InputError, match=said):
        fw.simulate(case)


def test_nothing_is_driven_in_the_layer_and_receivers_there_are_told() -> None:
    current = {"kind": "point", "location": [1.5, 0.05, 0.07], "moment": [0, 0, 1],
               "time_function": {"kind": "ricker", "duration": 0.2}}  # fmt: skip
    with pytest.raises(InputError, match=r"source at \(1.5, 0.05, 0.07\): is in the matched layer"):
        fw.simulate(bar(8, 2, currents=[current]))
    points = [[0.5, 0.05, 0.07], [1.5, 0.05, 0.07]]
    sim = fw.simulate(bar(8, 2, output={"receivers": {"points": points, "interval": 0.02}}))
    assert [p.what for p in sim.plan.warnings] == ["in the matched layer, where they record damped waves: 2"]
