"""Seismograms of a moment tensor and of a force in a full space, against the exact solution.

Three symmetry planes near the source act as mirrors, so that an octant is enough: the exact solution is the
sum over eight full-space sources. The other three sides absorb and are so far away that their reflections arrive after
the S wave of every receiver.

The time function is a Ricker wavelet, the moment RATE of the tensor. The S wavelength is defined at the peak of the far
field's velocity spectrum, sqrt(3/2) times the wavelet's frequency. The relative L2 misfit in time of the
velocity vector must be at most 1 % on a mesh that resolves that wavelength by ``POINTS`` times the order; a coarser mesh with
ten points is run as well and its misfit reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from faultwave.base.types import Settings
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array, Medium
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.time_functions import ricker

ROCK = Medium(rho=2700.0, lam=1.08e10, mu=1.08e10)  # vs 2000 m/s, vp 3464 m/s
PEAK = 1.0  # peak frequency of the far field's velocity [Hz]
FREQUENCY = PEAK / np.sqrt(1.5)
DELAY = 1.5 / FREQUENCY
WAVELENGTH = ROCK.cs / PEAK
MOMENT = {"xy": 1e15, "xx": 4e14, "zz": -4e14}
FORCE = (6e11, -4e11, 7e11)
LIMIT = 0.01
POINTS = {4: 30, 6: 20}  # wavelength over (edge / order)
FAR_SIDE = 6.0  # wavelengths from the symmetry planes
SOURCE = np.array([0.45, 0.37, 0.53])  # wavelengths from them
RECEIVERS = SOURCE + np.array([[3.0, 0.3, 0.4], [2.2, 2.5, 0.3], [0.4, 2.2, 2.3], [2.3, 2.2, 2.4]])


@dataclass(frozen=True)
class Mirrored:
    """Exact velocity (n, m, 3) of a source and its images in the planes x = 0, y = 0 and z = 0."""

    kind: str
    location: tuple[float, float, float]

    def velocity(self, points: Array, times: Array) -> Array:
        total = np.zeros((len(points), len(times), 3))
        for signs in product((1.0, -1.0), repeat=3):
            mirror = np.diag(signs)
            x, y, z = mirror @ np.array(self.location)
            image: Settings = {"location": (x, y, z)}
            if self.kind == "force":
                image["force"] = tuple(mirror @ np.array(FORCE))
            else:
                image["moment"] = tuple(map(tuple, mirror @ np.array(tensor(**MOMENT)) @ mirror))
            total += FullSpace(ROCK, ricker(FREQUENCY, DELAY), **image).velocity(points, times)
        return total


def case_settings(order: int, points_per_wavelength: float, kind: str) -> tuple[Settings, Mirrored]:
    """Return the case of the octant and its exact solution."""
    edge = order * WAVELENGTH / points_per_wavelength
    cells = int(np.ceil(FAR_SIDE * WAVELENGTH / edge))
    x, y, z = (float(s) for s in SOURCE * WAVELENGTH)
    source: Settings = {
        "kind": kind,
        "location": (x, y, z),
        "time_function": {"kind": "ricker", "duration": 1 / FREQUENCY},
        **({"force": FORCE} if kind == "force" else {"tensor": MOMENT}),
    }
    sides = {f"{axis}-": "symmetry" for axis in "xyz"}
    mesh = setups.box((cells,) * 3, (0.0,) * 3, (cells * edge,) * 3, sides, shuffle=True)
    farthest = float(np.linalg.norm(RECEIVERS - SOURCE, axis=1).max())
    output = {"receivers": {"points": (RECEIVERS * WAVELENGTH).tolist(), "interval": 0.02 / PEAK}}
    case = setups.settings(
        "elastic",
        mesh,
        setups.uniform(ROCK, "elastic"),
        2 * DELAY + farthest / PEAK,
        order,
        sources=[source],
        output=output,
    )
    return case, Mirrored(kind, (x, y, z))


def misfits(measured: Array, expected: Array) -> Array:
    """Return the relative L2 misfit in time of vectors (times, receivers, 3) per receiver."""
    difference = ((measured - expected) ** 2).sum(axis=(0, 2))
    return np.sqrt(difference / (expected**2).sum(axis=(0, 2)))


def measure(order: int, points_per_wavelength: float, kind: str) -> Array:
    """Return the velocity misfit of every receiver."""
    case, exact = case_settings(order, points_per_wavelength, kind)
    return compare_receivers(case, exact)


def compare_receivers(case: Settings, exact: Mirrored) -> Array:
    """Run the case and return the velocity misfit of every receiver."""
    data = setups.started(case).run(write=False).receivers
    time, column = data.variables["time"].data, data.attrs["quantities"].index("v1")
    points = np.array(case["output"]["receivers"]["points"])
    expected = exact.velocity(points, time).transpose(1, 0, 2)
    return misfits(data.variables["values"].data[:, :, column : column + 3], expected)


def run(progress: Progress, orders: tuple[int, ...] = (4, 6)) -> Result:
    """Judge both sources at orders 4 and 6."""
    rows: list[Row] = []
    notes: list[str] = []
    distances = np.linalg.norm(RECEIVERS - SOURCE, axis=1)
    for order in orders:
        for kind in ("moment-tensor", "force"):
            progress(f"order {order}, {kind}, edge / order = wavelength / 10")
            coarse = ", ".join(f"{m:.3g}" for m in measure(order, 10, kind))
            notes.append(f"O={order} {kind}, edge / order = wavelength / 10: misfits {coarse}")
            progress(f"order {order}, {kind}, edge / order = wavelength / {POINTS[order]}")
            for distance, misfit in zip(distances, measure(order, POINTS[order], kind), strict=True):
                rows.append(at_most(f"O={order} {kind}: misfit at {distance:.1f} wavelengths", misfit, LIMIT))
    return Result(tuple(rows), tuple(notes))


FULL_SPACE = VerificationCase("full-space", "exact seismograms of a moment tensor and a force", run, 90.0)
