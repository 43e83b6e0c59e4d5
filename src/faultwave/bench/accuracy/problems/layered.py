"""LOH.1 (Day & Bradley 2001): a double couple below a layer over a half-space, compared with wavenumber integration.

The box is periodic along x and y, so that no side reflects; the exact solution is a sum over a lattice of sources. The bottom is so deep
that its reflections do not return. The interface lies between bricks or on grid points. Layer, source and depth are those defined by the
benchmark; the Gaussian has a duration of 0.2 s.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.interpolate import CubicSpline

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
from faultwave.domain.tets import Mesh
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.verify.cases.grids.layered import LAYERS, SIGMA, reference
from faultwave.verify.meshes import as_setting

PERIOD, LAYER, DEPTH = 4000.0, 1000.0, 2000.0  # [m] of the lattice, the layer's thickness, the source
BELOW, ROWS = 1.3, 7  # stretch factor of the bricks below the layer; their thickness [km] before stretching
SOURCE = (130.0, -170.0)
AWAY = ((600.0, 800.0), (1200.0, -1600.0), (-1500.0, 350.0))
INTERVAL, HALF = 0.02, 0.4  # [s]
TIMES = np.array([2.2, 3.6])  # of windows
END = float(TIMES[-1]) + HALF
SLOWEST, FASTEST = LAYERS[0][2], LAYERS[1][1]
_f = np.linspace(0.0, 8.0, 8001)
FREQUENCY = energetic_frequency(_f, np.exp(-((2 * np.pi * SIGMA * _f) ** 2) / 2))


@functools.cache
def expected() -> tuple[Array, Array]:
    """Return times (nt,) and exact velocities (nr, nt, 3)."""
    moment = np.zeros((3, 3))
    moment[0, 1] = moment[1, 0] = 1e18
    exact = reference(False, LAYERS, depth=DEPTH, moment=moment)
    reach = int(np.ceil(END * FASTEST / PERIOD)) + 1
    shifts = PERIOD * np.array(list(itertools.product(range(-reach, reach + 1), repeat=2)))
    shifts = shifts[np.hypot(*shifts.T) < END * FASTEST + PERIOD]
    times, series = exact.velocity((np.array(AWAY)[:, None] + shifts).reshape(-1, 2), 2.0 * END, 1.0 / SIGMA)
    summed = series.reshape(len(AWAY), len(shifts), len(times), 3).sum(1)
    wanted = INTERVAL * np.arange(round(END / INTERVAL) + 1)
    return wanted, np.stack([CubicSpline(times, s)(wanted) for s in summed])


def bricks(size: int) -> Mesh:
    """Return a mesh with ``size`` bricks across the layer and taller ones below.

    The interface lies between cells, the source within one.
    """
    half, bottom = PERIOD / 2, -(1 + ROWS) * LAYER
    count = round(PERIOD / LAYER) * size
    sides = {"x": "periodic", "y": "periodic", "z+": "free-surface"}
    box = Box((count, count, (1 + ROWS) * size), (-half, -half, bottom), (half, half, 0.0), sides, shuffle=True)
    mesh = box_mesh(box, "layered box")
    vertices = mesh.vertices.copy()
    vertices[:, 2] += (BELOW - 1.0) * np.minimum(vertices[:, 2] + LAYER, 0.0)
    return replace(mesh, vertices=vertices)


def points(setting: Setting) -> float:
    """Return the points per S wavelength in the layer."""
    wavelength = SLOWEST / FREQUENCY
    edge = REGULAR * LAYER / setting.size / setting.order if setting.engine == "dg" else LAYER / setting.size
    return float(wavelength / edge)


@contextmanager
def case_of(setting: Setting) -> Iterator[Settings]:
    """Yield the case; its files exist as long as the context."""
    case: Settings = {
        "end_time": END + tail_of(setting, 0.5),
        "sources": [{"kind": "moment-tensor", "location": [*SOURCE, -DEPTH], "tensor": {"xy": 1e18},
                     "time_function": {"kind": "gaussian", "duration": SIGMA}}],
        "output": {"receivers": {"points": [[*place, 0.0] for place in places()], "interval": INTERVAL}},
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="faultwave-bench-") as folder:
        table = Path(folder) / "layers.txt"
        table.write_text("depth vp vs rho\n" + "\n".join(" ".join(map(str, layer[:4])) for layer in LAYERS) + "\n")
        case["material"] = {"layers": str(table)}
        if setting.engine == "fd":
            yield {**case, **_grid(setting)}
            return
        with as_setting(bricks(setting.size)) as mesh:
            numerics = {"order": setting.order, "precision": setting.precision, "clustering": {"rates": [1]}}
            yield {**case, "mesh": mesh, "numerics": numerics}


def places() -> Array:
    """Return the places (nr, 2) of the receivers, wrapped into the box."""
    return np.asarray((np.array(SOURCE) + AWAY + PERIOD / 2) % PERIOD - PERIOD / 2)


def _grid(setting: Setting) -> Settings:
    half = PERIOD / 2
    sides = {"x": "periodic", "y": "periodic"}
    grid = {"lower": [-half, -half, -5000.0], "upper": [half, half, 0.0], "spacing": LAYER / setting.size}
    return {
        "engine": "fd",
        "grid": {**grid, "boundaries": sides, "order": setting.order},
        "numerics": {"precision": setting.precision},
    }


def records(setting: Setting) -> Records:
    """Run one setting and return its records together with the exact ones."""
    times, exact = expected()
    with case_of(setting) as case:
        data, seconds, count = stepped(case)
    return Records(times, velocity(data)[:, : len(times)], exact, seconds, count)


def run(setting: Setting) -> Point:
    """Return the point with errors of the direct waves and of the reverberations in the layer."""
    found = records(setting)
    errors = windowed(found, tuple(TIMES), HALF + 1e-9)
    return Point(setting, points(setting), found.core_seconds, found.updates, errors)


SIZES, GRIDS = (1, 2, 3, 4, 5, 6), (5, 7, 10, 14, 20, 28, 40)
_DELAY = 6 * SIGMA
LAYERED = AccuracyProblem(
    name="loh1",
    title="LOH.1, a layer over a half-space",
    distances=tuple(float(t - _DELAY) * FREQUENCY for t in TIMES),
    volume_time=(FREQUENCY / SLOWEST) ** 3 * PERIOD**2 * (1 + ROWS * BELOW) * LAYER * END * FREQUENCY,
    points=points,
    run=run,
    ladders={
        **{("dg", order, "double"): SIZES for order in range(2, 9)},
        **{("dg", order, "single"): SIZES for order in (4, 6)},
        ("fd", 4, "single"): GRIDS, ("fd", 8, "single"): GRIDS,
    },
)  # fmt: skip
