"""SRF, Standard Rupture Format (Graves 2014): PREFIX.srf, versions 2.0 and 1.0."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.wording import option
from faultwave.observe.finite_source import FiniteSource
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.request import OPTIONS, Request, azimuths, depths, requested_source

VERSIONS = ("2.0", "1.0")
IN_LINE = 6
"""Number of slip rates in a line."""
NO_HYPOCENTRE = -999.9
"""Value of the hypocentre of a segment that contains none."""


def _write(conversion: Conversion) -> list[Path]:
    version = str(conversion.options.get("srf_version") or VERSIONS[0])
    if version not in VERSIONS:
        raise InputError(Problem(option("srf_version", version), "is not a known version", ", ".join(VERSIONS)))
    request = requested_source(conversion, geographic=True)
    depth = 1e-3 * depths(request, request.source.place[:, 2])
    path = request.path(".srf")
    with atomic_text(path) as file:
        file.write(f"{version}\n")
        file.writelines(_planes(request))
        file.write(f"POINTS {len(depth)}\n")
        file.writelines(_points(request, depth, version))
    return [path]


def _planes(request: Request) -> Iterator[str]:
    """Yield the lines of the segments, if all subfaults are on lattices."""
    source, earth = request.source, request.earth
    if not all(s.shape[0] for s in source.segments):
        return
    yield f"PLANE {len(source.segments)}\n"
    for s in source.segments:
        top = s.top_centre[None]
        lon, lat = earth.to_continuous(top[:, :2])[0]
        strike = azimuths(earth, top, s.strike[None])[0]
        along, down = NO_HYPOCENTRE, NO_HYPOCENTRE
        if s.first <= source.first < s.end:
            along, down = (1e-3 * x for x in s.on_plane(source.place[source.first]))
        size = f"{s.shape[0]} {s.shape[1]} {1e-3 * s.length:.6f} {1e-3 * s.width:.6f}"
        yield f"{lon:.7f} {lat:.7f} {size}\n"
        dip = np.degrees(np.arcsin(np.clip(-s.dip[2], 0.0, 1.0)))
        yield f"{strike:.5f} {dip:.5f} {max(0.0, -1e-3 * top[0, 2]):.6f} {along:.6f} {down:.6f}\n"


def _areas(source: FiniteSource) -> np.ndarray:
    """Return the areas (n,) [m^2], of subfaults outside of the fault those of the lattice."""
    found = source.area.copy()
    for s in source.segments:
        if s.shape[0]:
            some = found[s.first : s.end]
            some[some == 0] = s.length * s.width / (s.shape[0] * s.shape[1])
    return found


def _points(request: Request, depth: np.ndarray, version: str) -> Iterator[str]:
    """Yield the lines of the subfaults."""
    source, earth = request.source, request.earth
    lonlat, areas = earth.to_continuous(source.place[:, :2]), 1e4 * _areas(source)
    strike = azimuths(earth, source.place, source.strike)
    dip, rake = np.degrees(source.dip_angle), np.degrees(source.rake)
    density = source.rigidity / np.maximum(source.shear_speed, 1e-30) ** 2
    for n in range(len(depth)):
        columns = [1e2 * rates for rates in source.along_rake(n)]
        onset = source.onset[n] if len(columns[0]) else 0.0
        where = f"{lonlat[n, 0]:.7f} {lonlat[n, 1]:.7f} {depth[n]:.6f}"
        line = f"{where} {strike[n]:.5f} {dip[n]:.5f} {areas[n]:.7e} {onset:.6f} {source.interval:.9g}"
        if version == "2.0":
            known = source.area[n] > 0
            rock = (1e2 * source.shear_speed[n], 1e-3 * density[n]) if known else (-1.0, -1.0)
            line += f" {rock[0]:.8e} {rock[1]:.8e}"
        yield line + "\n"
        slips = " ".join(f"{c.sum() * source.interval:.6e} {len(c)}" for c in columns)
        yield f"{rake[n]:.5f} {slips} 0.000000e+00 0\n"
        for column in columns:
            for begin in range(0, len(column), IN_LINE):
                yield " ".join(f"{v:.7e}" for v in column[begin : begin + IN_LINE]) + "\n"


SRF = Converter("srf", _write, (*OPTIONS, "srf_version"))
