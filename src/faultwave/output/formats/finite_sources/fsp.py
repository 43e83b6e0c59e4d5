"""FSP, finite source parameters of the SRCMOD database (Mai & Thingbaijam 2014): PREFIX.fsp."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.base.formulas import magnitude
from faultwave.observe.finite_source import Segment
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.lattice import LatticeModel, lattice_model
from faultwave.output.formats.finite_sources.request import OPTIONS, Request, requested_source

COLUMNS = "LAT LON X==EW Y==NS Z SLIP RAKE TRUP RISE SF_MOMENT"
RULE = "% " + 98 * "-" + "\n"


def _write(conversion: Conversion) -> list[Path]:
    request = requested_source(conversion, geographic=True, lattice=True)
    model = lattice_model(request)
    path = request.path(".fsp")
    with atomic_text(path) as file:
        file.writelines(_header(request, model))
        for number in range(len(request.source.segments)):
            file.writelines(_segment(request, model, number))
    return [path]


def _header(request: Request, model: LatticeModel) -> Iterator[str]:
    """Yield the header of the file; of several segments, sizes and angles are those of the one with the hypocentre."""
    source, total = request.source, float(model.moment.sum())
    main = next(n for n, s in enumerate(source.segments) if s.first <= source.first < s.end)
    s = source.segments[main]
    (lon, lat), depth = model.hypocentre_lonlat, model.hypocentre_depth
    x, z = _on_segment(s, source.place[source.first])
    rake = np.degrees(np.arctan2(*(model.moment @ f(np.radians(model.rake)) for f in (np.sin, np.cos))))
    rise = float(model.moment @ np.nan_to_num(model.rise) / total)
    dates = f" {request.origin_time}" if request.origin_time else ""
    along, down = (1e-3 * x for x in s.edges)
    yield RULE + "% FINITE-SOURCE RUPTURE MODEL\n%\n"
    yield f"% Event : {' '.join(request.title.split())}{dates}\n% EventTAG: {request.target.name}\n%\n"
    yield f"% Loc  : LAT = {lat:.6f} LON = {lon:.6f} DEP = {1e-3 * depth:.5f} km\n"
    size = f"LEN = {1e-3 * s.length:.5f} km WID = {1e-3 * s.width:.5f} km"
    yield f"% Size : {size} Mw = {magnitude(total):.4f} Mo = {total:.7e} Nm\n"
    top = 1e-3 * model.tops[main]
    yield f"% Mech : STRK = {model.strikes[main]:.5f} DIP = {model.dips[main]:.5f} RAKE = {rake:.4f} Htop = {top:.5f} km\n"
    yield f"% Rupt : HypX = {x:.5f} km HypZ = {z:.5f} km avTr = {rise:.5f} s avVr = {model.speed():.5f} km/s\n"
    yield "%\n" + RULE + "%\n"
    yield f"% Invs : Nx = {s.shape[0]} Nz = {s.shape[1]} Fmin = 0.0 Hz Fmax = {source.frequency:.5g} Hz\n"
    yield f"% Invs : Dx = {along:.7f} km Dz = {down:.7f} km\n"
    yield f"% Invs : Ntw = 1 Nsg = {len(source.segments)}\n% SVF : isosceles triangle\n%\n"
    yield RULE + "% SOURCE MODEL PARAMETERS\n%\n"
    yield "% X, Y and Z in km; SLIP in m, RAKE in deg, TRUP and RISE in s, SF_MOMENT in Nm\n"
    yield "% Coordinates are given for center of each subfault\n"
    yield "% Origin of X and Y at the epicentre; TRUP is the time since the start of the simulation\n%\n"


def _on_segment(s: Segment, place: np.ndarray) -> tuple[float, float]:
    """Return the distances [km] of a place along strike from the beginning of a segment and down dip from its upper edge."""
    along, down = s.on_plane(place)
    return 1e-3 * (along + 0.5 * s.length), 1e-3 * down


def _segment(request: Request, model: LatticeModel, number: int) -> Iterator[str]:
    """Yield header and rows of a segment."""
    s = request.source.segments[number]
    if len(request.source.segments) > 1:
        lon, lat = request.earth.to_continuous(s.top_centre[None, :2])[0]
        yield f"% SEGMENT # {number + 1}: STRIKE = {model.strikes[number]:.5f} deg DIP = {model.dips[number]:.5f} deg\n"
        yield f"% LEN = {1e-3 * s.length:.5f} km WID = {1e-3 * s.width:.5f} km\n"
        yield "% Dx = {:.7f} km Dz = {:.7f} km\n".format(*(1e-3 * x for x in s.edges))
        yield f"% depth to top: Z2top = {1e-3 * model.tops[number]:.5f} km\n"
        yield f"% coordinates of top-center:\n% LAT = {lat:.6f}, LON = {lon:.6f}\n"
        if s.first <= request.source.first < s.end:
            x, z = _on_segment(s, request.source.place[request.source.first])
            yield f"% hypocenter on SEG # {number + 1}: along-strike (X) = {x:.5f} km, down-dip (Z) = {z:.5f} km\n"
    yield f"% Nsbfs = {s.end - s.first} subfaults\n%\n% {COLUMNS}\n{RULE}"
    for n in range(s.first, s.end):
        east, north = 1e-3 * model.from_epicentre[n]
        times = f"{np.nan_to_num(model.onset[n]):.6f} {np.nan_to_num(model.rise[n]):.6f}"
        yield (
            f"{model.lonlat[n, 1]:.7f} {model.lonlat[n, 0]:.7f} {east:.5f} {north:.5f} {1e-3 * model.depth[n]:.6f} "
            f"{model.slip[n]:.7e} {model.rake[n]:.5f} {times} {model.moment[n]:.7e}\n"
        )


FSP = Converter("fsp", _write, OPTIONS)
