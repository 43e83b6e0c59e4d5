"""Rupture extent of ShakeMap as GeoJSON: PREFIX-rupture.json."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from faultwave.base.formulas import magnitude
from faultwave.base.version import __version__
from faultwave.observe.finite_source import FiniteSource, Segment, SlipHistories
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.finite_sources.request import Request, requested_source

RUPTURED = 0.01
"""Fraction of the largest slip from which on an element is part of the rupture."""
MECHANISMS = {"SS": (0.0, 180.0), "RS": (90.0,), "NM": (-90.0,)}
"""Rakes [deg] of strike-slip, reverse and normal faulting."""
WITHIN = 30.0
"""Largest difference [deg] from these rakes; other rakes have the mechanism ALL."""


def _write(conversion: Conversion) -> list[Path]:
    request = requested_source(conversion, geographic=True)
    slip = np.linalg.norm(request.histories.slip[:, -1].astype(float), axis=1)
    quadrilaterals = [
        _corners(request, s, request.histories.corners[items].reshape(-1, 3))
        for s in request.source.segments
        if len(items := _ruptured(request.histories, slip, s.tag))
    ]
    geometry = {"type": "MultiPolygon", "coordinates": [quadrilaterals]}
    feature = {"type": "Feature", "properties": {"rupture type": "rupture extent"}, "geometry": geometry}
    path = request.path("-rupture.json")
    with atomic_text(path) as file:
        json.dump({"type": "FeatureCollection", "metadata": _metadata(request), "features": [feature]}, file, indent=1)
        file.write("\n")
    return [path]


def _ruptured(histories: SlipHistories, slip: np.ndarray, tag: int) -> np.ndarray:
    """Return the numbers of the elements with a tag whose final ``slip`` (n,) is part of the rupture."""
    return np.flatnonzero((histories.tag == tag) & (slip >= RUPTURED * slip.max()))


def _corners(request: Request, s: Segment, points: np.ndarray) -> list[list[float]]:
    """Return the closed rectangle of ``points`` (n, 3) on the plane of a segment: longitude, latitude [deg] and depth [km].

    It begins with the upper edge along strike, so that the plane dips to the right of it.
    """
    along, down = (points - s.corner) @ s.strike, (points - s.corner) @ s.dip
    sides = ((along.min(), down.min()), (along.max(), down.min()), (along.max(), down.max()), (along.min(), down.max()))
    place = np.array([s.corner + a * s.strike + b * s.dip for a, b in sides])
    lonlat = request.earth.to_continuous(place[:, :2])
    found = [
        [round(float(lon), 7), round(float(lat), 7), round(max(0.0, -1e-3 * float(z)), 6)]
        for (lon, lat), z in zip(lonlat, place[:, 2], strict=True)
    ]
    return [*found, found[0]]


def _metadata(request: Request) -> dict[str, object]:
    """Return the event: hypocentre, magnitude, mean rake and mechanism, and the date if it is known."""
    source = request.source
    hypocentre = source.place[source.first]
    lon, lat = request.earth.to_continuous(hypocentre[None, :2])[0]
    rake = _mean_rake(source)
    found: dict[str, object] = {
        "id": request.target.name, "netid": "", "network": "", "lat": round(float(lat), 7), "lon": round(float(lon), 7),
        "depth": round(-1e-3 * float(hypocentre[2]), 6), "mag": round(magnitude(float(source.moments.sum())), 4),
        "locstring": request.title, "reference": f"Faultwave {__version__}", "rake": round(rake, 3), "mech": mechanism(rake),
    }  # fmt: skip
    if request.origin_time:
        begins = datetime.fromisoformat(request.origin_time)
        begins = begins if begins.tzinfo else begins.replace(tzinfo=UTC)
        found["time"] = begins.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return found


def _mean_rake(source: FiniteSource) -> float:
    """Return the rake of the sum of unit vectors along the rakes of the subfaults, weighted by moment [deg]."""
    return float(np.degrees(np.arctan2(*(source.moments @ f(source.rake) for f in (np.sin, np.cos)))))


def mechanism(rake: float) -> str:
    """Return the mechanism of a rake [deg] in ShakeMap's terms: SS, RS, NM, or ALL for oblique slip."""
    for name, rakes in MECHANISMS.items():
        if any(abs((rake - r + 180.0) % 360.0 - 180.0) <= WITHIN for r in rakes):
            return name
    return "ALL"


RUPTURE_JSON = Converter("rupture-json", _write)
