"""Moment tensor in a homogeneous full space, computed in a periodic box; the exact solution is a sum over a lattice of sources.

The box is two wavelengths wide at the peak frequency of the spectrum: it has no reflecting sides and is small. Waves recorded at the time
t have travelled for t periods from whichever source of the lattice, so that time windows correspond to distances.
"""

from __future__ import annotations

import functools
import itertools

import numpy as np

from faultwave.base.types import Settings
from faultwave.bench.accuracy.problem import (
    REGULAR,
    AccuracyProblem,
    Array,
    Point,
    Records,
    Setting,
    energetic_frequency,
    stepped,
    tail_of,
    velocity,
    windowed,
)
from faultwave.verify import setups
from faultwave.verify.exact import Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker

ROCK = Medium(rho=2700.0, lam=1.08e10, mu=1.08e10)  # vs 2000 m/s, vp 3464 m/s
WAVELET = np.sqrt(2.0 / 3.0)  # [Hz] of the Ricker wavelet; velocity peaks at 1 Hz
DELAY = 1.5 / WAVELET
SIDE = 2.0 * ROCK.cs  # [m]
MOMENT = {"xy": 1e15, "xx": 4e14, "zz": -4e14}
SOURCE = np.array([0.4565, 0.5685, 0.4355]) * SIDE
AWAY = np.array([[0.475, 0.31, 0.205], [-0.355, 0.45, -0.275], [0.24, -0.415, 0.485], [-0.45, -0.26, -0.39]])
RECEIVERS = (SOURCE + AWAY * SIDE) % SIDE
INTERVAL, HALF = 0.05, 1.0  # [s] of samples; half a window
SECONDS = np.array([2.0, 4.0, 8.0])  # after the wavelet's middle
END = DELAY + SECONDS[-1] + HALF
_f = np.linspace(0.0, 8.0, 8001)
FREQUENCY = energetic_frequency(_f, _f**2 * np.exp(-((_f / WAVELET) ** 2)))
TOGETHER = 50
"""Number of sources whose exact waves are computed in one call."""


@functools.cache
def expected(whole: bool = False) -> tuple[Array, Array]:
    """Return times (nt,), all or only within the windows, and exact velocities (nr, nt, 3)."""
    times = INTERVAL * np.arange(round(END / INTERVAL) + 1)
    if whole:
        times = times[times <= END]
    else:
        times = times[(np.abs(times[:, None] - DELAY - SECONDS) <= HALF + 1e-9).any(1)]
    reach = int(np.ceil(END * ROCK.cp / SIDE)) + 1
    shifts = SIDE * np.array(list(itertools.product(range(-reach, reach + 1), repeat=3)))
    x, y, z = (float(s) for s in SOURCE)
    exact = FullSpace(ROCK, ricker(WAVELET, DELAY), moment=tensor(**MOMENT), location=(x, y, z))
    total = np.zeros((len(RECEIVERS), len(times), 3))
    for receiver, seen in zip(RECEIVERS, total, strict=True):
        points = receiver + shifts
        distance = np.linalg.norm(points - SOURCE, axis=1)
        points = points[np.argsort(distance)][: int((distance < END * ROCK.cp).sum())]
        for some in np.array_split(points, max(1, len(points) // TOGETHER)):
            first = float(np.linalg.norm(some - SOURCE, axis=1).min()) / ROCK.cp
            late = times > first
            seen[late] += exact.velocity(some, times[late]).sum(0)
    return times, total


def points(setting: Setting) -> float:
    """Return the points per S wavelength."""
    wavelength = ROCK.cs / FREQUENCY
    spacing = SIDE / setting.size if setting.engine == "fd" else REGULAR * SIDE / setting.size / setting.order
    return float(wavelength / spacing)


def case_of(setting: Setting) -> Settings:
    """Return the case as a dictionary."""
    case: Settings = {
        "law": "elastic", "end_time": END + tail_of(setting, 1.0), "material": {"constant": ROCK.parameters()},
        "sources": [{"kind": "moment-tensor", "location": SOURCE.tolist(), "tensor": MOMENT,
                     "time_function": {"kind": "ricker", "duration": 1 / WAVELET}}],
        "output": {"receivers": {"points": RECEIVERS.tolist(), "interval": INTERVAL}},
    }  # fmt: skip
    if setting.engine == "dg":
        cells = (setting.size,) * 3
        mesh = setups.box(cells, (0.0,) * 3, (SIDE,) * 3, setups.periodic(), shuffle=True)
        numerics = {"order": setting.order, "precision": setting.precision, "clustering": {"rates": [1]}}
        return {**case, "mesh": mesh, "numerics": numerics}
    spacing, sides = SIDE / setting.size, setups.periodic()
    grid = {"lower": [0.0] * 3, "upper": [SIDE] * 3, "spacing": spacing, "boundaries": sides, "order": setting.order}
    return {**case, "engine": "fd", "grid": grid, "numerics": {"precision": setting.precision}}


def records(setting: Setting) -> Records:
    """Run one setting and return its records together with the exact ones."""
    data, seconds, count = stepped(case_of(setting))
    times, exact = expected()
    retained = np.searchsorted(data["time"], times - 1e-6)
    return Records(times, velocity(data)[:, retained], exact, seconds, count)


def run(setting: Setting) -> Point:
    """Return the point with errors 2, 4 and 8 s after the middle of the wavelet; velocity peaks at 1 Hz."""
    found = records(setting)
    errors = windowed(found, tuple(DELAY + SECONDS), HALF + 1e-9)
    return Point(setting, points(setting), found.core_seconds, found.updates, errors)


SIZES = (2, 3, 4, 5, 6, 8, 10, 12, 14, 17, 20, 24, 28)
GRIDS = (12, 16, 20, 28, 40, 56, 80, 112)
FULL_SPACE = AccuracyProblem(
    name="full-space",
    title="moment tensor in a full space",
    distances=tuple(float(s) * FREQUENCY for s in SECONDS),
    volume_time=(SIDE * FREQUENCY / ROCK.cs) ** 3 * END * FREQUENCY,
    points=points,
    run=run,
    ladders={
        **{("dg", order, "double"): SIZES for order in range(2, 9)},
        **{("dg", order, "single"): SIZES for order in (4, 6)},
        ("fd", 4, "single"): GRIDS, ("fd", 8, "single"): GRIDS, ("fd", 4, "double"): GRIDS,
    },
)  # fmt: skip
