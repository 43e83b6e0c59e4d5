"""Seismograms of a moment tensor and of a force in a full space against the exact ones.

The moment rate is a Gaussian, whose far-field velocity has its spectral peak at 1/(2 pi width). The element edge over
the order is a tenth of the S wavelength at that frequency. The box is so wide that what its absorbing sides reflect
of the P wave (a few percent of an amplitude (vs/vp)^3 = 0.19 of the S wave's) reaches no receiver at full strength
before the S wave is over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact.full_space import FullSpace, tensor
from faultwave.verify.exact.medium import Array, Medium
from faultwave.verify.exact.time_functions import gaussian

ROCK = Medium(rho=2700.0, lam=1.08e10, mu=1.08e10)  # vs 2000 m/s, vp 3464 m/s
FREQUENCY = 1.0  # [Hz] peak of the far-field velocity
WAVELENGTH = ROCK.cs / FREQUENCY
WIDTH = 1 / (2 * np.pi * FREQUENCY)
CENTRE = 5 * WIDTH  # the source has risen to 4e-6 of its peak when the run starts
MOMENT = {"xy": 1e15, "xx": 4e14, "zz": -4e14}
FORCE = (6e11, -4e11, 7e11)
LIMIT = 0.01

# Receivers in wavelengths from the source: along an axis, in a plane, along a diagonal.
RECEIVERS = np.array([[3.0, 0.3, 0.1], [2.2, 2.5, -0.2], [2.4, -2.6, 2.3], [0.4, 4.5, 2.1], [3.3, 3.6, 3.4]])


def source_point(edge: float) -> Array:
    """Near the middle, but inside one cell: a point on a face belongs to two."""
    return edge * np.array([0.41, 0.27, 0.13])


def case_settings(order: int, kind: str, half_width: float = 7.5) -> tuple[dict[str, Any], FullSpace, Array]:
    """Settings, exact solution and receivers; ``half_width`` of the box in wavelengths."""
    edge = order * WAVELENGTH / 10
    half = int(np.ceil(half_width * WAVELENGTH / edge))
    where = tuple(float(x) for x in source_point(edge))
    points = np.asarray(where) + RECEIVERS * WAVELENGTH
    farthest = float(np.linalg.norm(RECEIVERS, axis=1).max()) * WAVELENGTH
    end = CENTRE + farthest / ROCK.cs + 4 * WIDTH
    source: dict[str, Any] = {
        "location": where,
        "onset": CENTRE - 6 * WIDTH,  # the shape is centred six widths after its onset
        "time_function": {"kind": "gaussian", "duration": WIDTH},
    }
    function = gaussian(WIDTH, CENTRE)
    if kind == "force":
        source |= {"kind": "force", "force": FORCE}
        exact = FullSpace(ROCK, function, force=FORCE, location=where)
    else:
        source |= {"kind": "moment-tensor", "tensor": MOMENT}
        exact = FullSpace(ROCK, function, moment=tensor(**MOMENT), location=where)
    mesh = setups.box((2 * half,) * 3, (-half * edge,) * 3, (half * edge,) * 3, {}, shuffle=True)
    output = {"receivers": {"points": points.tolist(), "interval": 0.02 / FREQUENCY}}
    case = setups.settings(
        "elastic", mesh, setups.uniform(ROCK, "elastic"), end, order, sources=[source], output=output
    )
    return case, exact, points


def misfits(measured: Array, expected: Array) -> Array:
    """Relative L2 misfit in time of vectors (times, receivers, 3) per receiver."""
    difference = ((measured - expected) ** 2).sum(axis=(0, 2))
    return np.sqrt(difference / (expected**2).sum(axis=(0, 2)))


def measure(order: int, kind: str, half_width: float = 7.5) -> Array:
    """Velocity misfit of every receiver."""
    case, exact, points = case_settings(order, kind, half_width)
    data = setups.started(case).run(write=False).receivers
    time = data.variables["time"].data
    column = data.attrs["quantities"].index("v1")
    measured = data.variables["values"].data[:, :, column : column + 3]
    expected = exact.velocity(points, time).transpose(1, 0, 2)
    return misfits(measured, expected)


def run(progress: Progress, orders: tuple[int, ...] = (4, 6)) -> Result:
    """Both sources, orders 4 and 6."""
    rows: list[Row] = []
    for order in orders:
        for kind in ("moment-tensor", "force"):
            progress(f"order {order}, {kind}")
            for distance, misfit in zip(np.linalg.norm(RECEIVERS, axis=1), measure(order, kind), strict=True):
                quantity = f"O={order} {kind}: velocity misfit at {distance:.1f} wavelengths"
                rows.append(at_most(quantity, misfit, LIMIT))
    return Result(tuple(rows))


FULL_SPACE = VerificationCase("full-space", "exact seismograms of a moment tensor and a force", run, 40.0)
