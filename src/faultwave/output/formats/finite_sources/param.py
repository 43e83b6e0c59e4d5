"""Finite faults of the USGS, ``basic_inversion.param``: PREFIX.param."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.observe.finite_source import Segment, SlipTimes
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.lattice import slip_over_cells
from faultwave.output.formats.finite_sources.request import OPTIONS, Request, azimuths, depths, requested_source

COLUMNS = "#Lat. Lon. depth slip rake strike dip t_rup t_ris t_fal mo\n"
DYNE_CM = 1e-7  # N m
LEAST_PART = 0.05
"""Smallest fraction of the duration of slip in which its rate rises or falls."""


def _write(conversion: Conversion) -> list[Path]:
    request = requested_source(conversion, geographic=True, lattice=True)
    rows = _rows(request)
    path = request.path(".param")
    with atomic_text(path) as file:
        file.write(f"#Total number of fault_segments= {len(request.source.segments)}\n")
        for number, segment in enumerate(request.source.segments, 1):
            file.writelines(_header(request, segment, number))
            file.writelines(rows[segment.first : segment.end])
    return [path]


def _header(request: Request, s: Segment, number: int) -> Iterator[str]:
    """Yield the lines of a segment before its subfaults; its hypocentre is in the cell nearest to the first that slips."""
    earth, hypocentre = request.earth, request.source.place[request.source.first]
    along, down = s.edges
    x, z = s.on_plane(hypocentre)
    cell = [
        int(np.clip(d // e, 0, n - 1)) + 1 for d, e, n in zip((x + 0.5 * s.length, z), s.edges, s.shape, strict=True)
    ]
    lon, lat = earth.to_continuous(hypocentre[None, :2])[0]
    yield (
        f"#Fault_segment = {number} nx(Along-strike)= {s.shape[0]} Dx= {1e-3 * along:.7f}km "
        f"ny(downdip)= {s.shape[1]} Dy= {1e-3 * down:.7f}km\n"
    )
    yield f"#Boundary of Fault_segment {number}. EQ in cell {cell[0]},{cell[1]}. Lon: {lon:.6f} Lat: {lat:.6f}\n"
    yield "#Lon.  Lat.  Depth\n"
    sides = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))
    corners = np.array([s.corner + a * s.length * s.strike + b * s.width * s.dip for a, b in sides])
    for (lon, lat), z in zip(earth.to_continuous(corners[:, :2]), corners[:, 2], strict=True):
        yield f"{lon:.6f} {lat:.6f} {max(0.0, -1e-3 * z):.5f}\n"
    yield COLUMNS


def _rows(request: Request) -> list[str]:
    """Return the lines of all subfaults."""
    source, earth = request.source, request.earth
    times = source.times
    rise, fall = cosine_parts(times)
    columns = {
        "lonlat": earth.to_continuous(source.place[:, :2]),
        "depth": 1e-3 * depths(request, source.place[:, 2]),
        "slip": 1e2 * slip_over_cells(source),
        "rake": np.degrees(source.rake),
        "strike": azimuths(earth, source.place, source.strike),
        "dip": np.degrees(source.dip_angle),
        "times": np.nan_to_num(np.stack([times.onset, rise, fall], 1)),
        "moment": source.moments / DYNE_CM,
    }
    return [
        "{1:.7f} {0:.7f} {depth:.6f} {slip:.7e} {rake:.5f} {strike:.5f} {dip:.5f} {2:.6f} {3:.6f} {4:.6f} {moment:.7e}\n".format(
            *columns["lonlat"][n],
            *columns["times"][n],
            **{name: float(c[n]) for name, c in columns.items() if c.ndim == 1},
        )
        for n in range(len(source.area))
    ]


def cosine_parts(times: SlipTimes) -> tuple[np.ndarray, np.ndarray]:
    """Return durations (n,) [s] of the two half periods of cosines with the mean time of slip after its onset.

    Their ratio is that with the standard deviation of the times of slip, as far as one exists.
    """
    q = np.linspace(LEAST_PART, 1.0 - LEAST_PART, 901)
    p, c = 1.0 - q, 2.0 / np.pi**2
    mean = (0.5 + c) * q + (0.5 - c) * p  # moments of a rate of unit duration that rises for q and falls for p
    square = (1 / 3 + c) * q**3 + q**2 * p + 2.0 * q * p**2 * (0.5 - c) + (1 / 3 - c) * p**3
    ratio = np.sqrt(square - mean**2) / mean  # falls with q
    after = times.centroid - times.onset
    part = np.interp(times.deviation / after, ratio[::-1], q[::-1])
    duration = after / np.interp(part, q, mean)
    return part * duration, (1.0 - part) * duration


PARAM = Converter("param", _write, OPTIONS)
