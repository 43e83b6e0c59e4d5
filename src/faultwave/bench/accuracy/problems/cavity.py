"""Resonance of the lowest three-dimensional mode in a cube of perfectly conducting walls (Maxwell's equations).

Errors are measured on records of E and H at three places. A relative error e of the frequency causes a phase error of 2 pi D e after D
wavelengths, which is also the relative error of the record, so that the error of the frequency is at most the record's over 2 pi D.
"""

from __future__ import annotations

import numpy as np

from faultwave.bench.accuracy.problem import REGULAR, AccuracyProblem, Point, Records, Setting, stepped, windowed
from faultwave.verify.cases.maxwell import closed_cube
from faultwave.verify.exact.cavity import Cavity

MODE = Cavity()
FREQUENCY = MODE.frequency / (2 * np.pi)  # the speed is one
PLACES = ((0.23, 0.31, 0.42), (0.61, 0.27, 0.18), (0.37, 0.66, 0.59))
PERIODS = (5.0, 10.0, 20.0)
INTERVAL, HALF = 0.02, 0.5 / FREQUENCY
END = PERIODS[-1] / FREQUENCY + HALF


def points(setting: Setting) -> float:
    """Return the points per wavelength."""
    return setting.order * setting.size / (REGULAR * FREQUENCY)


def records(setting: Setting) -> Records:
    """Run one setting and return its records together with the exact ones."""
    output = {"receivers": {"points": [list(p) for p in PLACES], "interval": INTERVAL}}
    case = closed_cube(setting.size, setting.order, END, output=output, numerics={"precision": setting.precision})
    data, seconds, count = stepped(case, MODE)
    exact = np.stack([MODE(np.array(PLACES), t) for t in data["time"]], 1)
    return Records(data["time"], data["values"].transpose(1, 0, 2)[..., :6], exact, seconds, count)


def run(setting: Setting) -> Point:
    """Return the point with errors after 5, 10 and 20 periods."""
    found = records(setting)
    errors = windowed(found, [n / FREQUENCY for n in PERIODS], HALF)
    return Point(setting, points(setting), found.core_seconds, found.updates, errors)


SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20)
CAVITY = AccuracyProblem(
    name="cavity",
    title="electromagnetic cavity that rings",
    distances=PERIODS,
    volume_time=FREQUENCY**3 * END * FREQUENCY,
    points=points,
    run=run,
    ladders={**{("dg", n, "double"): SIZES for n in range(2, 9)}, **{("dg", n, "single"): SIZES for n in (4, 6)}},
)
