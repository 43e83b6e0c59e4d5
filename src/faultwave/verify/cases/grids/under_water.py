"""Explosion in water over rock in the engine fd, against an integral over wavenumbers.

Two floors: rock in which S waves are as fast as sound in water, and mud in which they are half as fast, with a strong Scholte wave along
it. Receivers are in the water close to the floor and in the rock below. The slowest waves have 12 and 8 points per wavelength where the
source's spectrum has fallen to 5 %. The relative L2 misfit of velocity, radial and vertical together, is judged.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

from faultwave.base.types import Settings
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array
from faultwave.verify.exact.half_space import UnderWater

WATER = (1000.0, 1500.0)
FLOORS = {"rock": (12.0, (2200.0, 3000.0, 1500.0)), "mud": (8.0, (1800.0, 2000.0, 750.0))}
"""Points per shortest wavelength, and density [kg/m^3], P and S speed [m/s] of each floor."""
HEIGHT, FALLEN, END = 1.25, 2.45, 2.2
"""Source height in shortest wavelengths, 2 pi f sigma where the spectrum has fallen to 5 %, end of the run [s]."""
SIGMA = 0.06
PLACES = {"in the water": 0.1875, "in the floor": -0.25}
"""Receiver heights above the floor, in shortest wavelengths."""
DISTANCES = (600.0, 1200.0)
LIMIT = 0.03


def misfits(floor: tuple[float, float, float], points: float, **numerics: object) -> dict[tuple[str, float], float]:
    """Return the misfits by (place, distance)."""
    slowest = min(WATER[1], floor[2])
    shortest = 2 * np.pi * SIGMA / FALLEN * slowest
    spacing = shortest / points
    exact = UnderWater(WATER, floor, 1e15, SIGMA, HEIGHT * shortest)
    deep, high = spacing * np.ceil(600.0 / spacing), spacing * np.ceil(700.0 / spacing)
    sea, rock = ({"rho": WATER[0], "vp": WATER[1], "vs": 0.0}, dict(zip(("rho", "vp", "vs"), floor, strict=True)))
    text = {name: f"if (z > 0.0) {{ return {sea[name]:g}; }} return {rock[name]:g};" for name in sea}
    where = [[0.8 * r, 0.6 * r, height * shortest] for r in DISTANCES for height in PLACES.values()]
    case: Settings = {
        "engine": "fd", "end_time": END, "material": {"expression": text}, "numerics": {"cfl": 0.5, **numerics},
        "grid": {"lower": [-400.0, -400.0, -deep], "upper": [1300.0, 1100.0, high], "spacing": spacing,
                 "boundaries": {"z+": "absorbing"}},
        "sources": [{"kind": "moment-tensor", "location": [0, 0, HEIGHT * shortest], "tensor": {"xx": 1e15, "yy": 1e15, "zz": 1e15},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": where, "interval": 0.01}},
    }  # fmt: skip
    data = simulate(case).run(write=False).receivers
    assert data is not None
    v, found = [data.quantity(f"v{k}") for k in (1, 2, 3)], {}
    for number, (x, y, z) in enumerate(where):
        r = float(np.hypot(x, y))
        made: Array = np.stack([0.8 * v[0][:, number] + 0.6 * v[1][:, number], v[2][:, number]], -1)
        times, series = exact.velocity(r, z, END + 0.2)
        expected = CubicSpline(times, series)(data["time"])
        name = [*PLACES][number % len(PLACES)]
        found[name, r] = float(np.linalg.norm(made - expected) / np.linalg.norm(expected))
    return found


def run(progress: Progress) -> Result:
    """Judge both floors."""
    rows: list[Row] = []
    for name, (points, floor) in FLOORS.items():
        speed = UnderWater(WATER, floor, 1.0, SIGMA, 1.0).scholte
        progress(f"{name}, Scholte waves at {speed:.4g} m/s")
        for (place, distance), misfit in misfits(floor, points).items():
            rows.append(at_most(f"{name}, {place}: misfit at {distance:g} m", misfit, LIMIT))
    return Result(tuple(rows))


CASE = VerificationCase("fd-under-water", "grids: an explosion in water over rock, against an integral", run, 2.0)
