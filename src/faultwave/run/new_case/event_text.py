"""Text of the parts of a case that come from an event, with the file and field of each number."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from faultwave.base.projection import Projection, geographic_tensor, voigt
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import FiniteEvent, PointEvent

Event = PointEvent | FiniteEvent

TURNED = 0.01
"""Smallest angle between y and north at which components of a tensor are no longer those of the file [deg]."""
LOWPASS = 0.45
"""Corner of the low-pass of finite sources over the highest frequency, above which they then radiate less than 8 %."""
ABSORBING = {20.0: 30, np.inf: 15}
"""Points of absorbing layers by the largest width of a region in shortest wavelengths; most waves are longer than these."""
LOWPASS_DELAY = 0.416
"""Delay of the low-pass of sources times its corner frequency (docs/guide/sources.md)."""
COMPONENTS = {"xx": "Mpp", "yy": "Mtt", "zz": "Mrr", "xy": "-Mtp", "yz": "-Mrt", "xz": "Mrp"}
"""Components of the file that are those along x (east), y (north) and z (up)."""
DIGITS = 7
"""Significant digits of a component of a moment tensor."""


def transverse_mercator(lon: float, lat: float) -> str:
    """Return a projection without distortion at a place [deg], where y points north."""
    return f"+proj=tmerc +lat_0={lat:.6f} +lon_0={lon:.6f} +datum=WGS84 +units=m"


def title(event: Event) -> str:
    """Return the title of the case."""
    return f"{event.name}, Mw {event.magnitude:.2f}"


def origins(event: Event, file: str) -> list[str]:
    """Return comments that list where the numbers of the source came from."""
    known = [
        (key, event.fields[key]) for key in ("place", "moment", "mechanism", "duration", "time") if key in event.fields
    ]
    return [
        f"# Event {event.name} of {file}, Mw {event.magnitude:.2f}. Its numbers came from\n",
        *(f"#   {name + ':':<11}{what}\n" for name, what in known),
    ]


def absorbing(size: float, frequency: float) -> str:
    """Return the line of the absorbing layers of a region of a size [m] for the highest frequency [Hz]."""
    waves = size * frequency / text.SLOWEST_S_SPEED
    width = next(points for limit, points in ABSORBING.items() if waves < limit)
    return f"  absorbing: {{ width: {width} }}      # points of a layer, as most waves are longer than those of the highest frequency\n"


def point_source(event: PointEvent, frequency: float, projection: Projection) -> str:
    """Return the text of the group ``sources`` for the highest frequency [Hz]."""
    lon, lat, depth = event.place
    lines = [
        "sources:",
        f"  - kind: {'double-couple' if event.tensor is None else 'moment-tensor'}",
        f"    geographic: [{lon:.8g}, {lat:.8g}, {-depth:.8g} m]   # longitude, latitude [degrees], z; {event.fields['place']}",
    ]
    if event.tensor is None:
        assert event.angles is not None
        lines += [
            f"    {name}: {angle:.6g} deg   # {event.fields['mechanism']}"
            for name, angle in zip(("strike", "dip", "rake"), event.angles, strict=True)
        ]
        lines.append(
            f"    seismic_moment: {event.moment:.6g} N*m   # Mw {event.magnitude:.2f}; {event.fields['moment']}"
        )
    else:
        lines += _tensor(event, projection)
    deviation = event.deviation(frequency)
    why = f"half duration {event.half_duration:.4g} s / (1.628 sqrt 2) as in CMTSOLUTION; {event.fields['duration']}"
    if event.radiates > frequency:
        why = (
            f"its spectrum has fallen to 5 % at the highest frequency, {frequency:g} Hz; the half duration of the event, "
            f"{event.half_duration:.3g} s ({event.fields['duration']}), is shorter"
        )
    lines.append(f"    time_function: {{ kind: gaussian, duration: {text.number(deviation)} s }}   # {why}")
    return "\n".join(lines) + "\n"


def _tensor(event: PointEvent, projection: Projection) -> list[str]:
    """Return the lines of the moment tensor, rotated from r, t, p of the file to x, y, z of the case."""
    assert event.tensor is not None
    rr, tt, pp, rt, rp, tp = event.tensor
    ned = np.array([[tt, -tp, rt], [-tp, pp, -rp], [rt, -rp, rr]])
    north = projection.north(*event.place[:2])
    found = voigt(geographic_tensor(ned, north))
    turn = float(np.degrees(np.arctan2(-north[0], north[1])))
    lines = [f"    tensor:                      # along x, y, z; {event.fields['mechanism']}"]
    if abs(turn) > TURNED:
        lines[0] += f", rotated by {turn:.3f} degrees, the angle between y and north at the source"
    smallest = 10.0**-DIGITS * float(np.abs(found).max())
    for name, value in zip(("xx", "yy", "zz", "xy", "yz", "xz"), found, strict=True):
        own = f"# {COMPONENTS[name]}" if abs(turn) <= TURNED else ""
        number = f"{0.0 if abs(value) < smallest else float(value):.{DIGITS}g} N*m"
        lines.append(f"      {name}: {number:<20}{own}".rstrip())
    return lines


def file_source(event: FiniteEvent, name: str, file: str) -> str:
    """Return the text of the group ``sources`` for a file in the folder of the case."""
    about = f"made from {file}" if event.content is not None else "the file of the event, unchanged"
    return f"sources:\n  - {{ kind: {event.kind}, file: {text.quoted(name)} }}   # {about}; it holds longitudes, latitudes, depths\n"


def lowpass(event: Event, frequency: float) -> float | None:
    """Return the corner of the low-pass [Hz] of an event for the highest frequency [Hz], None if it radiates no more."""
    return None if isinstance(event, PointEvent) or event.radiates <= frequency else LOWPASS * frequency


def begin(event: Event, frequency: float) -> str:
    """Return the line ``origin_time`` for the highest frequency [Hz], empty if the time of the event is unknown."""
    if event.time is None:
        return ""
    corner = lowpass(event, frequency)
    delay = LOWPASS_DELAY / corner if corner else 0.0
    if isinstance(event, PointEvent):
        delay += 6.0 * event.deviation(frequency)
    start = event.time - timedelta(seconds=delay)
    less = f", less {delay:.3g} s by which the time function is late" if delay else ""
    return f"  origin_time: {start:%Y-%m-%dT%H:%M:%S}.{start.microsecond // 1000:03d}   # UTC, of t = 0; {event.fields['time']}{less}\n"
