"""What seismograms of 1 % cost on grids of order 4 and 8 and on tetrahedra: LOH.1 and smooth basins, updates and core-seconds.

    python tools/grid_orders.py [basin] [loh1] [basin-on-tetrahedra]

Core-seconds are processor time of the stepping of one thread, so that a busy machine does not count. Basins are compared with a finer
grid of order 8, LOH.1 with wavenumber integration. Cost at 1 % is interpolated between two spacings, as powers. The basin of the last
problem repeats along x and y, so that grids and tetrahedra solve the same problem: nothing comes back from below until it ends.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from faultwave.run import simulate
from faultwave.verify.cases.grids import layered

SIGMA, END = 0.25, 6.0
FINE = 50.0
BASIN = "exp(-(x * x / 2.2e6 + y * y / 3e6 + z * z / 8e5))"
MATERIAL = {"rho": f"2600 - 500 * {BASIN}", "vp": f"5200 - 3000 * {BASIN}", "vs": f"3000 - 2100 * {BASIN}"}
RECEIVERS = [[1500.0, 900.0, 0.0], [-1200.0, 1600.0, 0.0], [0.0, -600.0, 0.0]]


ROUND = "exp(1.3 * (cos(x * 3.141592653589793 / 2400) - 1) + (cos(y * 3.141592653589793 / 2400) - 1) - z * z / 8e5)"
"""The basin that repeats every 4.8 km along x and y."""
UNTIL, DEPTH = 3.0, 9000.0
"""The fastest wave needs 3.1 s from the source to this depth and back to the ground."""

REPEATING = (
    ("fd", 4, (120.0, 150.0, 200.0)),
    ("fd", 8, (120.0, 150.0, 200.0)),
    ("dg", 4, (400.0, 480.0, 600.0)),
    ("dg", 6, (600.0, 800.0)),
)
"""Engine, order and spacings."""


def stepped(case: dict[str, Any]) -> tuple[Any, float, float]:
    """Receivers of a case, its point updates and the processor time of stepping [s]."""
    sim = simulate(case)
    started = time.process_time()
    sim.run(write=False)
    taken = time.process_time() - started
    updates = sim.plan.points * sim.plan.steps if case["engine"] == "fd" else sim.solver.updates
    return sim.receivers, float(updates), taken


def basin(order: int, spacing: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return times, velocities (3, receivers, nt), updates and seconds."""
    case = {
        "engine": "fd", "end_time": END, "numerics": {"threads": 1, "cfl": 0.9}, "material": {"expression": MATERIAL},
        "grid": {"lower": [-2400, -2400, -3600], "upper": [2400, 2400, 0], "spacing": spacing, "order": order,
                 "absorbing": {"frequency": 0.6}},
        "sources": [{"kind": "moment-tensor", "location": [-700, -300, -1700], "tensor": {"xy": 1e15, "xz": 5e14, "zz": 5e14},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": RECEIVERS, "interval": 0.02}},
    }  # fmt: skip
    data, updates, seconds = stepped(case)
    return data["time"], np.stack([data.quantity(f"v{k}").T for k in (1, 2, 3)]), updates, seconds


def repeating(engine: str, order: int, spacing: float) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the same quantities of the periodic basin; ``spacing`` of points, or edge of bricks of six tetrahedra each [m]."""
    bowl = {"rho": f"2600 - 500 * {ROUND}", "vp": f"5200 - 3000 * {ROUND}", "vs": f"3000 - 2100 * {ROUND}"}
    lower, upper = [-2400.0, -2400.0, -DEPTH], [2400.0, 2400.0, 0.0]
    case: dict[str, Any] = {
        "engine": engine, "end_time": UNTIL, "numerics": {"threads": 1}, "material": {"expression": bowl},
        "sources": [{"kind": "moment-tensor", "location": [-700, -300, -1700], "tensor": {"xy": 1e15, "xz": 5e14, "zz": 5e14},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": RECEIVERS, "interval": 0.02}},
    }  # fmt: skip
    if engine == "fd":
        case["grid"] = {"lower": lower, "upper": upper, "spacing": spacing, "order": order,
                        "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid"}}  # fmt: skip
        case["numerics"]["cfl"] = 0.9
    else:
        bricks = [round((b - a) / spacing) for a, b in zip(lower, upper, strict=True)]
        around = {"x": "periodic", "y": "periodic", "z+": "free-surface", "z-": "absorbing"}
        case["mesh"] = {
            "generate": {"shape": "box", "cells": bricks, "lower": lower, "upper": upper, "boundaries": around}
        }
        case["numerics"]["order"] = order
    data, updates, seconds = stepped(case)
    return data["time"], np.stack([data.quantity(f"v{k}").T for k in (1, 2, 3)]), updates, seconds


def misfit(times: np.ndarray, found: np.ndarray, reference: CubicSpline, end: float) -> float:
    """Relative L2 misfit of all velocities until a fifth of a second before ``end``."""
    late = times < end - 0.2
    right = reference(times)[..., late]
    return float(np.linalg.norm(found[..., late] - right) / np.linalg.norm(right))


def loh1(order: int, spacing: float) -> tuple[float, float, float]:
    """Misfit, updates and seconds."""
    kept: list[Any] = []

    def watched(case: dict[str, Any]) -> Any:
        sim = simulate({**case, "grid": {**case["grid"], "order": order}, "numerics": {"threads": 1, "cfl": 0.9}})
        run = sim.run

        def timed(**more: Any) -> Any:
            started = time.process_time()
            made = run(**more)
            kept.append((float(sim.plan.points * sim.plan.steps), time.process_time() - started))
            return made

        sim.run = timed  # type: ignore[method-assign]
        return sim

    layered.simulate = watched
    found = layered.layer_over_half_space(False, spacing)
    return float(np.sqrt((found**2).mean())), *kept[0]


def at_one_percent(rows: list[tuple[float, float, float, float]]) -> tuple[float, float, float]:
    """Spacing, updates and seconds where the misfit is 1 %, of (spacing, misfit, updates, seconds)."""
    logs = np.log(np.array(sorted(rows, key=lambda row: abs(np.log(row[1] / 0.01)))[:2]))
    share = (np.log(0.01) - logs[0, 1]) / (logs[1, 1] - logs[0, 1])
    made = np.exp(logs[0] + share * (logs[1] - logs[0]))
    return float(made[0]), float(made[2]), float(made[3])


def told(name: str, order: int, rows: list[tuple[float, float, float, float]]) -> None:
    """Print the rows of a case and an order."""
    for spacing, misfit, updates, seconds in rows:
        print(
            f"{name}, order {order}, {spacing:g} m: {100 * misfit:.2f} %, {updates:.3g} updates, {seconds:.1f} s",
            flush=True,
        )
    if min(row[1] for row in rows) > 0.01:
        print(f"| {name} | {order} | errs by more at all of these | | |", flush=True)
        return
    spacing, updates, seconds = at_one_percent(rows)
    print(f"| {name} | {order} | {spacing:.0f} m | {updates:.2g} | {seconds:.1f} |", flush=True)


def main(names: list[str]) -> None:
    """Measure the named cases."""
    if "basin" in names:
        times, exact, *_ = basin(8, FINE)
        spline = CubicSpline(times, exact, axis=-1)
        for order, spacings in ((4, (75.0, 100.0, 120.0)), (8, (75.0, 100.0, 120.0))):
            rows = []
            for spacing in spacings:
                t, found, updates, seconds = basin(order, spacing)
                rows.append((spacing, misfit(t, found, spline, END), updates, seconds))
            told("smooth basin", order, rows)
    if "basin-on-tetrahedra" in names:
        times, exact, *_ = repeating("fd", 8, FINE)
        spline = CubicSpline(times, exact, axis=-1)
        for engine, order, spacings in REPEATING:
            rows = []
            for spacing in spacings:
                t, found, updates, seconds = repeating(engine, order, spacing)
                rows.append((spacing, misfit(t, found, spline, UNTIL), updates, seconds))
            told(f"basin that repeats, {engine}", order, rows)
    if "loh1" in names:
        for order, spacings in ((4, (100.0, 125.0)), (8, (100.0, 125.0))):
            told("LOH.1", order, [(h, *loh1(order, h)) for h in spacings])


if __name__ == "__main__":
    main(sys.argv[1:] or ["basin", "loh1"])
