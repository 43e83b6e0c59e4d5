"""FSRM, the text files of point sources of SeisSol (type 50 of parameter files): PREFIX-fsrm.dat.

The stress rate of a source is area R M R^T S(t), where M is common to all sources and R turns by strike, dip and rake.
Here M is a unit couple, S(t) the shear modulus times the slip rate, and R turns x into the direction of slip and z into
the normal of the subfault, whatever its direction in the axes of the case.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.request import OPTIONS, requested_source

COUPLE = "0 0 -1\n0 0 0\n-1 0 0\n"
"""Tensor of slip along x on a plane of normal z; the format adds it to the stress, which moments reduce."""


def _write(conversion: Conversion) -> list[Path]:
    request = requested_source(conversion, geographic=False)
    source = request.source
    directions = source.directions
    rows, rates = list[str](), list[np.ndarray]()
    for n in source.slipping:
        place = " ".join(f"{x:.4f}" for x in source.place[n])
        for direction, slip_rate in zip(directions[n], source.along_rake(n), strict=True):
            if len(slip_rate):
                angles = " ".join(f"{a:.12f}" for a in frame_angles(direction, source.normal[n]))
                rows.append(f"{place} {angles} {source.area[n]:.9e} {source.onset[n]:.9f}\n")
                rates.append(source.rigidity[n] * slip_rate)
    path = request.path("-fsrm.dat")
    with atomic_text(path) as file:
        file.writelines(_lines(rows, rates, source.interval))
    return [path]


def _lines(rows: list[str], rates: list[np.ndarray], interval: float) -> Iterator[str]:
    """Yield the file: headers and tensor, a row for each source, then as many samples for each of them [Pa m/s]."""
    count = max(map(len, rates))
    yield f"Moment tensor of a unit couple in the frame of each source\n{COUPLE}"
    yield f"Number of sources\n{len(rows)}\n"
    yield "x y z [m] strike dip rake [rad] area [m^2] onset [s]\n"
    yield from rows
    yield f"Interval [s] and number of samples of each source\n{interval:.12g} {count}\n"
    yield "Shear modulus times slip rate [Pa m/s], a line for each source\n"
    for samples in rates:
        yield " ".join(f"{v:.7e}" for v in samples) + " 0" * (count - len(samples)) + "\n"


def frame_angles(slip: np.ndarray, normal: np.ndarray) -> tuple[float, float, float]:
    """Return strike, dip and rake [rad] of the rotation of the format that turns x into ``slip`` and z into ``normal``.

    It is the inverse of ``faultwave.physics.sources.readers.fsrm.rotation``; both vectors are unit vectors (3,), and
    orthogonal.
    """
    dip = float(np.arctan2(np.hypot(normal[0], normal[1]), normal[2]))
    strike = float(np.arctan2(normal[0], normal[1])) if np.hypot(normal[0], normal[1]) > 0 else 0.0
    c, s = np.cos(strike), np.sin(strike)
    level, steep = np.array([c, -s, 0.0]), np.array([s * np.cos(dip), c * np.cos(dip), -np.sin(dip)])
    return strike, dip, float(np.arctan2(slip @ steep, slip @ level))


FSRM = Converter("fsrm", _write, OPTIONS)
