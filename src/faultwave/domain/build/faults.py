"""Fault surfaces in the flat box: from traces with a dip, or triangles, joined where they end at each other."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.domain.build.region import Relief
from faultwave.domain.build.traces import Trace, crossing, simplified

if TYPE_CHECKING:
    from faultwave.domain.build.region import FaultSettings

Floats = NDArray[np.float64]

ALONG = 0.15
"""Smallest cosine between a dip direction and the normal of a trace for which the direction determines a side."""

LONGEST = 400
"""Largest number of points into which a trace is divided."""


@dataclass(frozen=True)
class Fault:
    """Fault as given by a case: a trace at the ground or a triangulated surface.

    Attributes
    ----------
    xy : (n, 2) array or None
        Trace [m].
    triangles : (m, 3, 3) array or None
        Corners of triangles [m], instead of a trace.
    dips
        Pairs of a depth [m] and the dip [deg] below it.
    direction : (2,)
        Horizontal direction of dip.
    top, bottom : float
        Depth of the upper edge below the ground, and of the lower edge below z = 0 [m].
    size : float
        Element size on the fault [m].
    stops_at
        Names of faults at which it ends.
    """

    name: str
    source: str
    size: float
    xy: Floats | None = None
    triangles: Floats | None = None
    dips: tuple[tuple[float, float], ...] = ((0.0, 90.0),)
    direction: tuple[float, float] = (0.0, 0.0)
    top: float = 0.0
    bottom: float = 0.0
    stops_at: tuple[str, ...] = ()


def from_trace(trace: Trace, setting: FaultSettings, name: str, size: float, projection: Projection | None) -> Fault:
    """Return the fault of a trace; settings left at their default are taken from the properties of the trace, if present.

    Parameters
    ----------
    trace
        Trace.
    setting
        Has dip [deg] or rows of depth [m] and dip, dip_direction [deg] or None, top, depth, stops_at.
    name, size
        Name of the fault and element size on it [m].
    projection
        Projection of the case.
    """
    xy, about = simplified(trace.xy, size), trace.about
    given = getattr(setting, "model_fields_set", frozenset(vars(setting)))
    dip = setting.dip if about.dip is None or "dip" in given else about.dip
    top = setting.top if about.top is None or "top" in given else about.top
    bottom = setting.depth if about.bottom is None or "depth" in given else about.bottom
    if top >= bottom:
        what = f"the upper edge, {top:g} m, is not above the lower one, {bottom:g} m"
        raise InputError(Problem(trace.source, what, "top < depth", "Set both in mesh.build.faults."))
    dips = ((0.0, float(dip)),) if isinstance(dip, int | float) else tuple((float(d), float(a)) for d, a in dip)
    direction = side_of(trace, projection, xy)
    if setting.dip_direction is not None:
        direction = _towards(setting.dip_direction, xy, projection)
    towards = float(direction[0]), float(direction[1])
    return Fault(name, trace.source, size, xy, None, dips, towards, top, bottom, tuple(setting.stops_at))


def side_of(trace: Trace, projection: Projection | None, xy: Floats | None = None) -> Floats:
    """Return the unit vector (2,) across a trace to the side to which its properties say it dips, else to the right.

    Raises
    ------
    InputError
        If that direction is along the trace.
    """
    line = trace.xy if xy is None else xy
    right = right_of(line)
    if trace.about.azimuth is None:
        return right
    share = float(right @ _towards(trace.about.azimuth, line, projection))
    if abs(share) < ALONG:
        what = f"dips to {trace.about.azimuth:g} degrees, which is along its trace"
        raise InputError(
            Problem(trace.source, what, "a direction across it", "Set dip_direction in mesh.build.faults.")
        )
    return right if share > 0 else -right


def right_of(xy: Floats) -> Floats:
    """Return the unit vector across the line from its first to its last point, to the right, as for strikes."""
    along = xy[-1] - xy[0]
    if not np.linalg.norm(along) > 0:
        along = xy[1] - xy[0]
    return np.array([along[1], -along[0]]) / np.linalg.norm(along)


def _towards(azimuth: float, xy: Floats, projection: Projection | None) -> Floats:
    """Return the unit vector of an azimuth, clockwise from true north, or from y without a projection."""
    north = np.array([0.0, 1.0])
    if projection is not None:
        north = projection.north(*projection.to_geographic(xy[:1])[0])
    a = np.radians(azimuth)
    east = np.array([north[1], -north[0]])
    return np.cos(a) * north + np.sin(a) * east


def join(faults: Sequence[Fault], apart: Collection[str]) -> list[Fault]:
    """Extend traces that end less than an element from another fault, or must stop at it, across that fault.

    The part beyond is cut off later. Faults named in ``apart`` are unchanged, unless their setting requires a stop.
    """
    found = []
    for fault in faults:
        changed = fault
        for end in (0, -1) if fault.xy is not None else ():
            others = [
                o for o in faults if o.name != fault.name and (fault.name not in apart or o.name in fault.stops_at)
            ]
            changed = _joined(changed, end, others)
        found.append(changed)
    return found


def _joined(fault: Fault, end: int, others: Sequence[Fault]) -> Fault:
    assert fault.xy is not None
    tip, inner = fault.xy[end], fault.xy[1 if end == 0 else -2]
    for other in others:
        if other.xy is None or fault.name in other.stops_at:
            continue
        distance, foot = _nearest(tip, other.xy)
        crossed = any(
            crossing(a, b, c, d) is not None
            for a, b in zip(fault.xy, fault.xy[1:], strict=False)
            for c, d in zip(other.xy, other.xy[1:], strict=False)
        )
        near = distance < max(fault.size, other.size) and (not crossed or distance < 1e-6 * fault.size)
        nearer_end = distance <= _nearest(fault.xy[-1 if end == 0 else 0], other.xy)[0]
        if not near and not (other.name in fault.stops_at and nearer_end and not crossed):
            continue
        at_tip = min(np.linalg.norm(foot - other.xy[0]), np.linalg.norm(foot - other.xy[-1])) < 0.5 * fault.size
        if near and at_tip and other.name not in fault.stops_at:  # one fault continues where the other ends
            return _with_end(
                fault,
                end,
                other.xy[0]
                if np.linalg.norm(foot - other.xy[0]) < np.linalg.norm(foot - other.xy[-1])
                else other.xy[-1],
            )
        way = foot - inner
        beyond = fault.size + fault.bottom * (_cotangent(fault) + _cotangent(other))
        stretched = foot + way / np.linalg.norm(way) * beyond
        stops = tuple(dict.fromkeys((*fault.stops_at, other.name)))
        return replace(_with_end(fault, end, stretched), stops_at=stops)
    return fault


def _cotangent(fault: Fault) -> float:
    return max(1.0 / np.tan(np.radians(dip)) for _, dip in fault.dips)


def _with_end(fault: Fault, end: int, point: Floats) -> Fault:
    assert fault.xy is not None
    xy = fault.xy.copy()
    xy[end] = point
    return replace(fault, xy=xy)


def _nearest(point: Floats, line: Floats) -> tuple[float, Floats]:
    """Return the distance of a point from a line, and the nearest point on it."""
    a, b = line[:-1], line[1:]
    along = b - a
    share = np.clip(((point - a) * along).sum(1) / np.maximum((along**2).sum(1), 1e-300), 0.0, 1.0)
    feet = a + share[:, None] * along
    away = np.linalg.norm(feet - point, axis=1)
    return float(away.min()), feet[int(away.argmin())]


VARIANTS = ("falling", "rising", "even")
"""Ways to cut a fault into flat facets: with one diagonal or the other, or with depths relative to the mean ground.

The last one bends straight faults least. All have their corners at the right positions, except for the last one: by up
to the height of the hills over the tangent of the dip.
"""


def facets(fault: Fault, relief: Relief, variant: str = VARIANTS[0]) -> tuple[Floats, Floats]:
    """Return facets (m, 4, 3) in the flat box, and the same at their true positions; triangles repeat their last corner.

    Lower edges less than half an element from a layer boundary are moved onto it.
    """
    if fault.triangles is not None:
        return _of_triangles(fault, relief)
    xy = _divided(fault, relief)
    if variant == "even":
        xy = fault.xy  # type: ignore[assignment]
    ground = relief.at(xy)[:, 0]
    if variant == "even":
        ground = np.full(len(xy), ground.mean())
    direction = np.array(fault.direction)
    rows = []
    for z in _heights(fault, ground):
        away = np.array([_offset(fault.dips, g, h) for g, h in zip(ground, z, strict=True)])
        rows.append(np.column_stack([xy + away[:, None] * direction, z]))
    truth = np.stack(rows)  # (rows, n, 3)
    flat = relief.flat(truth.reshape(-1, 3)).reshape(truth.shape)
    if variant == "even":
        flat[..., 2] = flat[..., 2].mean(1, keepdims=True)
    if fault.top == 0:
        flat[0, :, 2] = 0.0
    for level in relief.cuts[1:]:
        near = np.abs(flat[-1, :, 2] - level) < 0.5 * fault.size
        if near.all():
            flat[-1, :, 2] = level
    return _cut(flat, flat, variant), _cut(truth, flat, variant)


def _heights(fault: Fault, ground: Floats) -> list[Floats]:
    """Return z (n,) of the rows of corners, from the top down, with a row at each change of dip that is below the ground."""
    highest = ground - fault.top
    inner = [d for d, _ in fault.dips if (d > fault.size - highest.min()) and d < fault.bottom - fault.size]
    return [highest, *(np.full(len(ground), -d) for d in inner), np.full(len(ground), -fault.bottom)]


def _offset(dips: Sequence[tuple[float, float]], top: float, z: float) -> float:
    """Return the horizontal distance [m] down-dip from the outcrop at height ``top`` to the fault at height z [m]."""
    tops = [np.inf, *(-d for d, _ in dips[1:])]
    bottoms = [*tops[1:], -np.inf]
    total = 0.0
    for (_, dip), upper, lower in zip(dips, tops, bottoms, strict=True):
        if dip < 90:
            total += max(0.0, min(top, upper) - max(z, lower)) / np.tan(np.radians(dip))
    return total


def _divided(fault: Fault, relief: Relief) -> Floats:
    """Return the trace with more points where the ground is curved, which moves a dipping fault sideways."""
    xy, lean = fault.xy, _cotangent(fault)
    assert xy is not None
    while lean > 1e-6 and len(xy) < LONGEST:
        middle = 0.5 * (xy[:-1] + xy[1:])
        ground = relief.at(xy)[:, 0]
        off = np.abs(relief.at(middle)[:, 0] - 0.5 * (ground[:-1] + ground[1:])) * lean
        long = np.linalg.norm(np.diff(xy, axis=0), axis=1) > 3.0 * fault.size
        wanted = np.flatnonzero((off > 0.25 * fault.size) & long)
        if not len(wanted):
            break
        xy = np.insert(xy, wanted + 1, middle[wanted], axis=0)
    return xy


def _cut(rows: Floats, like: Floats, variant: str) -> Floats:
    """Return the facets of a lattice of corners (rows, n, 3): quadrilaterals where ``like`` is planar, else two triangles."""
    found = []
    for k in range(len(rows) - 1):
        for i in range(rows.shape[1] - 1):
            a, b, c, d = rows[k, i], rows[k, i + 1], rows[k + 1, i + 1], rows[k + 1, i]
            if _plane(like[k, i], like[k, i + 1], like[k + 1, i + 1], like[k + 1, i]):
                found.append([a, b, c, d])
            elif variant == "rising":
                found += [[a, b, d, d], [b, c, d, d]]
            else:
                found += [[a, b, c, c], [a, c, d, d]]
    return np.array(found)


def _plane(a: Floats, b: Floats, c: Floats, d: Floats) -> bool:
    normal = np.cross(c - a, d - b)
    size = np.linalg.norm(normal)
    return bool(size > 0 and abs((b - a) @ normal) / size < 1e-7 * np.sqrt(size))


def _of_triangles(fault: Fault, relief: Relief) -> tuple[Floats, Floats]:
    """Return the facets of a triangulated surface; corners close to the ground are moved onto it."""
    assert fault.triangles is not None
    truth = fault.triangles
    flat = relief.flat(truth.reshape(-1, 3)).reshape(truth.shape)
    near = np.abs(flat[..., 2]) < 0.4 * fault.size
    flat[near, 2] = 0.0
    return np.concatenate([flat, flat[:, 2:]], 1), np.concatenate([truth, truth[:, 2:]], 1)


MARGIN = 1.05
"""Distance in elements between a clipped fault and the sides of the region."""


def clipped(fault: Fault, lower: Floats, upper: Floats) -> Fault:
    """Return the longest part of a fault whose upper and lower edge lie within the region, limited in depth to it.

    Raises
    ------
    InputError
        If there is none.
    """
    assert fault.xy is not None
    margin = MARGIN * fault.size
    bottom = min(fault.bottom, -float(lower[2]) - margin)
    away = np.array(fault.direction) * _offset(fault.dips, 0.0, -bottom)
    low = np.maximum(lower[:2], lower[:2] - away) + margin
    high = np.minimum(upper[:2], upper[:2] - away) - margin
    pieces: list[list[Floats]] = []
    for a, b in zip(fault.xy, fault.xy[1:], strict=False):
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.stack([(low - a) / (b - a), (high - a) / (b - a)])
        still = b == a
        first = max(0.0, float(np.where(still, -np.inf, shares.min(0)).max()))
        last = min(1.0, float(np.where(still, np.inf, shares.max(0)).min()))
        if first >= last or (still & ((a < low) | (a > high))).any():
            continue
        ends = [a + first * (b - a), a + last * (b - a)]
        if pieces and np.allclose(pieces[-1][-1], ends[0]):
            pieces[-1].append(ends[1])
        else:
            pieces.append(ends)
    lines = [np.array(piece) for piece in pieces]
    lengths = [float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum()) for line in lines]
    if not lines or max(lengths) < fault.size or bottom <= fault.top:
        what = f"the part of fault {fault.name} in the region is shorter than an element ({fault.size:g} m)"
        raise InputError(Problem(fault.source, what, advice="Is it in the coordinates of the case?"))
    return replace(fault, xy=lines[int(np.argmax(lengths))], bottom=bottom)


def check_inside(fault: Fault, truth: Floats, lower: Floats, upper: Floats, problems: Problems) -> None:
    """Report a fault whose surface is closer than an element to the sides or the bottom of the region."""
    corners = truth.reshape(-1, 3)
    near = (corners[:, :2] < lower[:2] + fault.size) | (corners[:, :2] > upper[:2] - fault.size)
    deep = corners[:, 2] < lower[2] + fault.size
    bad = near.any(1) | deep
    if bad.any():
        x, y, z = corners[bad][0]
        what = f"fault {fault.name} leaves the region: it reaches ({x:.6g}, {y:.6g}, {z:.6g}) m"
        allowed = f"an element ({fault.size:g} m) inside of " + ", ".join(
            f"{a} {p:g} to {q:g}" for a, p, q in zip("xyz", lower, upper, strict=True)
        )
        problems.error(
            fault.source,
            what,
            allowed,
            "Enlarge the region: lower, upper, depth of mesh.build. Or make the fault less deep or wide.",
            corners[bad],
        )
