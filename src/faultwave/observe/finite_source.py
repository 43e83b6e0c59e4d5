"""Finite sources from the slip of a run: slip histories of the elements of a fault, and subfaults with sampled slip rates.

Subfaults are groups of elements. Their moment tensors are the sums of those of the elements, without the part that opens the mean plane
of the group, so that moment, mechanism and centroid of a plane fault are preserved exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.observe.dataset import Dataset, Result, Variable

KIND = "slip_histories"
SAMPLES_PER_PERIOD = 25.0
"""Number of samples in a period of the highest frequency: averages over an interval and linear interpolation then lower it by 0.8 %."""
UPRIGHT = 1e-3
"""Vertical component of a unit normal below which a plane counts as vertical."""
FAINT = 1e-5
"""Fraction of the largest slip rate of a subfault below which samples at both ends are omitted."""
ROUNDING = 1e-6
"""Fraction of the largest slip rate of a subfault below which slip across its rake is rounding."""
_TOGETHER = 2_000_000
"""Number of values that are summed at once."""


@dataclass(frozen=True)
class SlipHistories:
    """Slip of the elements of a fault over time.

    Attributes
    ----------
    time : ndarray of shape (nt,)
        Times [s], ascending.
    corners : ndarray of shape (n, 3 or 4, 3)
        Corners of the elements [m].
    normal, strike, dip : ndarray of shape (n, 3)
        Unit vectors; the normal points from the plus to the minus side, slip is that of the minus side relative to the plus side.
    area : ndarray of shape (n,)
        Areas [m^2].
    tag : ndarray of shape (n,)
        Fault tags.
    rigidity, shear_speed : ndarray of shape (n,)
        Shear modulus [Pa] that multiplies the slip in the moment, and S-wave speed [m/s].
    slip : ndarray of shape (n, nt, 2)
        Slip along strike and dip [m].
    """

    time: np.ndarray
    corners: np.ndarray
    normal: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    area: np.ndarray
    tag: np.ndarray
    rigidity: np.ndarray
    shear_speed: np.ndarray
    slip: np.ndarray

    @property
    def centre(self) -> np.ndarray:
        """Centres (n, 3) of the elements [m]."""
        return np.asarray(self.corners.mean(1))

    @property
    def size(self) -> np.ndarray:
        """Lengths (n,) of the sides of right-angled triangles or squares of the area of the elements [m]."""
        return np.sqrt(self.area * (2.0 if self.corners.shape[1] == 3 else 1.0))

    @property
    def moments(self) -> np.ndarray:
        """Final scalar moments (n,) of the elements [N m]."""
        return np.asarray(self.rigidity * self.area * np.linalg.norm(self.slip[:, -1].astype(float), axis=1))

    @property
    def interval(self) -> float:
        """Longest interval between stored times [s], without the last, which ends the run."""
        steps = np.diff(self.time)
        return float(steps[:-1].max() if len(steps) > 1 else steps.max(initial=0.0))

    @property
    def highest_frequency(self) -> float:
        """Highest frequency for which the stored times suffice [Hz]; 0 without intervals."""
        return 1.0 / (SAMPLES_PER_PERIOD * self.interval) if self.interval > 0 else 0.0

    def result(self) -> Result:
        """Return the histories as a result for writers."""
        values = {
            name: Variable(getattr(self, name), dims, unit, text) for name, (dims, unit, text) in _VARIABLES.items()
        }
        return Result(KIND, Dataset(KIND, values))

    @classmethod
    def of(cls, data: Dataset) -> SlipHistories:
        """Return the histories of a dataset that ``result`` made."""
        return cls(**{name: data[name] for name in _VARIABLES})


_VARIABLES = {
    "time": (("time",), "s", "time since the start of the simulation"),
    "corners": (("element", "corner", "component"), "m", "corners of the elements"),
    "normal": (("element", "component"), "", "unit normal from the plus to the minus side"),
    "strike": (("element", "component"), "", "unit vector along strike"),
    "dip": (("element", "component"), "", "unit vector along dip"),
    "area": (("element",), "m^2", "area"),
    "tag": (("element",), "", "tag of the fault"),
    "rigidity": (("element",), "Pa", "shear modulus"),
    "shear_speed": (("element",), "m/s", "S-wave speed"),
    "slip": (("element", "time", "direction"), "m", "slip of the minus side along strike and dip"),
}


@dataclass(frozen=True)
class Segment:
    """Part of a fault with one tag and its mean plane.

    Attributes
    ----------
    tag : int
        Fault tag.
    strike, dip : ndarray of shape (3,)
        Horizontal unit vector along strike and unit vector down dip of the mean plane, which dips to the right of strike.
    corner : ndarray of shape (3,)
        Corner of the plane at its top and the beginning of its strike [m].
    length, width : float
        Lengths along strike and down dip [m].
    shape : tuple of int
        Number of subfaults along strike and down dip; (0, 0) if the subfaults are the elements of the fault.
    first, end : int
        Range of its subfaults, along strike first.
    """

    tag: int
    strike: np.ndarray
    dip: np.ndarray
    corner: np.ndarray
    length: float
    width: float
    shape: tuple[int, int]
    first: int
    end: int

    @property
    def top_centre(self) -> np.ndarray:
        """Centre (3,) of the upper edge [m]."""
        return np.asarray(self.corner + 0.5 * self.length * self.strike)

    @property
    def edges(self) -> tuple[float, float]:
        """Lengths of the subfaults of a lattice along strike and down dip [m]."""
        return self.length / self.shape[0], self.width / self.shape[1]

    @property
    def centres(self) -> np.ndarray:
        """Centres (n, 3) of the subfaults of a lattice on the plane, along strike first [m]."""
        along, down = self.edges
        j, i = (a.reshape(-1, 1) + 0.5 for a in np.indices(self.shape[::-1]))
        return np.asarray(self.corner + i * along * self.strike + j * down * self.dip)

    def on_plane(self, place: np.ndarray) -> tuple[float, float]:
        """Return the distances of a place along strike from the centre of the upper edge and down dip from that edge [m]."""
        away = place - self.top_centre
        return float(away @ self.strike), float(away @ self.dip)


@dataclass(frozen=True)
class FiniteSource:
    """Subfaults with sampled slip rates.

    Attributes
    ----------
    segments : tuple of Segment
    place : ndarray of shape (n, 3)
        Centroids of the moment of the subfaults, or centres if they do not slip [m].
    normal, strike, up : ndarray of shape (n, 3)
        Unit vectors: normal out of the footwall, horizontal strike, and the direction up dip.
    area, rigidity, shear_speed : ndarray of shape (n,)
        Area [m^2], 0 for subfaults of the lattice outside of the fault, shear modulus [Pa] and S-wave speed [m/s].
    slip : ndarray of shape (n, 2)
        Final slip of the hanging wall along strike and up dip [m].
    rates : tuple of ndarray of shape (samples, 2)
        Slip rates along strike and up dip [m/s] at multiples of the interval, the first and last zero; empty without slip. Their sum
        times the interval is the slip.
    onset : ndarray of shape (n,)
        Time of the first sample [s]; NaN without slip.
    interval, frequency : float
        Sampling interval [s] and highest frequency [Hz].
    """

    segments: tuple[Segment, ...]
    place: np.ndarray
    normal: np.ndarray
    strike: np.ndarray
    up: np.ndarray
    area: np.ndarray
    rigidity: np.ndarray
    shear_speed: np.ndarray
    slip: np.ndarray
    rates: tuple[np.ndarray, ...]
    onset: np.ndarray
    interval: float
    frequency: float

    @property
    def moments(self) -> np.ndarray:
        """Scalar moments (n,) [N m]."""
        return np.asarray(self.rigidity * self.area * np.linalg.norm(self.slip, axis=1))

    @property
    def rake(self) -> np.ndarray:
        """Rake (n,) of the final slip [rad], from strike towards up dip; 0 without slip."""
        return np.arctan2(self.slip[:, 1], self.slip[:, 0])

    @property
    def dip_angle(self) -> np.ndarray:
        """Dip angles (n,) [rad], 0 to pi/2."""
        return np.arcsin(np.clip(self.up[:, 2], 0.0, 1.0))

    @cached_property
    def first(self) -> int:
        """Number of the subfault that slips first, which contains the hypocentre."""
        return int(np.nanargmin(self.times.onset))

    @property
    def slipping(self) -> np.ndarray:
        """Numbers (m,) of the subfaults that slip."""
        return np.flatnonzero([len(rates) > 0 for rates in self.rates])

    @property
    def directions(self) -> np.ndarray:
        """Unit vectors (n, 2, 3) along the rake of the final slip and across it, 90 degrees further."""
        c, s = np.cos(self.rake)[:, None], np.sin(self.rake)[:, None]
        return np.stack([c * self.strike + s * self.up, c * self.up - s * self.strike], 1)

    def along_rake(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the slip rates (samples,) [m/s] of a subfault along its rake and across it; empty without slip across it."""
        c, s = np.cos(self.rake[number]), np.sin(self.rake[number])
        along, across = (self.rates[number] @ np.array([[c, -s], [s, c]])).T
        crosses = np.abs(across).max(initial=0.0) > ROUNDING * np.abs(self.rates[number]).max(initial=0.0)
        return along, across if crosses else across[:0]

    @cached_property
    def times(self) -> SlipTimes:
        """Return when the subfaults slip, from the slip rates along their rake."""
        found = np.full((3, len(self.onset)), np.nan)
        for n in self.slipping:
            found[:, n] = _slip_times(self.rates[n], self.along_rake(n)[0], self.interval)
            found[:2, n] += self.onset[n]
        return SlipTimes(found[0], found[1], found[2])


BEGINS = 0.01
"""Fraction of the largest slip rate of a subfault at which its slip begins."""


@dataclass(frozen=True)
class SlipTimes:
    """Times of the slip of subfaults, NaN without slip.

    Attributes
    ----------
    onset : ndarray of shape (n,)
        Time at which the slip rate reaches a hundredth of its largest value [s].
    centroid : ndarray of shape (n,)
        Mean time of the slip along the rake, at least half a sampling interval later than the onset [s].
    deviation : ndarray of shape (n,)
        Standard deviation of the times of the slip along the rake [s].
    """

    onset: np.ndarray
    centroid: np.ndarray
    deviation: np.ndarray


def _slip_times(rates: np.ndarray, along: np.ndarray, interval: float) -> tuple[float, float, float]:
    """Return onset and centroid after the first sample, and deviation [s], of rates (samples, 2) and those along the rake."""
    size = np.linalg.norm(rates, axis=1)
    level = BEGINS * size.max()
    k = int(np.flatnonzero(size >= level)[0])  # the first sample is zero
    onset = interval * (k - 1 + (level - size[k - 1]) / (size[k] - size[k - 1]))
    t = interval * np.arange(len(along))
    mean = float(t @ along / along.sum())
    variance = max(0.0, float((t - mean) ** 2 @ along / along.sum())) + interval**2 / 6.0  # of the linear interpolation
    return onset, max(mean, onset + 0.5 * interval), float(np.sqrt(variance))


def finite_source(histories: SlipHistories, spacing: float | None, frequency: float) -> FiniteSource:
    """Return the subfaults of a fault.

    Parameters
    ----------
    histories : SlipHistories
        Slip of the elements.
    spacing : float or None
        Edge of the subfaults [m]; None for one subfault per element.
    frequency : float
        Highest frequency [Hz].

    Returns
    -------
    FiniteSource
        Subfaults, by segment.
    """
    h = histories
    normals = np.zeros_like(h.normal)
    segments, groups = list[Segment](), np.zeros(len(h.area), np.int64)
    start = 0
    for tag in np.unique(h.tag):
        items = np.flatnonzero(h.tag == tag)
        mean = _mean_normal(h.normal[items], h.area[items])
        normals[items] = h.normal[items] * np.where(h.normal[items] @ mean >= 0, 1.0, -1.0)[:, None]
        segment, number = _segment(h, items, mean, spacing, start)
        segments.append(segment)
        groups[items], start = start + number, segment.end
    return _summed(h, normals, groups, tuple(segments), frequency)


def _mean_normal(normals: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return the mean normal (3,), out of the footwall; the strike of a vertical fault points along +x, or +y."""
    # the principal direction of n n^T does not depend on the sign of each normal
    _, vectors = np.linalg.eigh((normals * areas[:, None]).T @ normals)
    n = vectors[:, -1]
    if abs(n[2]) >= UPRIGHT:
        return np.asarray(n * np.sign(n[2]))
    strike = np.array([-n[1], n[0]])
    return np.asarray(n if strike[0] > UPRIGHT or (abs(strike[0]) <= UPRIGHT and strike[1] > 0) else -n)


def _directions(normals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return strike and up-dip vectors (n, 3) for normals (n, 3) out of the footwall; a horizontal plane strikes along +y."""
    level = np.hypot(normals[:, 0], normals[:, 1])
    flat = level <= 1e-9
    size = np.where(flat, 1.0, level)
    strike = np.stack([-normals[:, 1] / size, normals[:, 0] / size, np.zeros(len(size))], 1)
    strike[flat] = [0.0, 1.0, 0.0]
    return strike, np.cross(normals, strike)


def _segment(
    h: SlipHistories, items: np.ndarray, mean: np.ndarray, spacing: float | None, start: int
) -> tuple[Segment, np.ndarray]:
    """Return the segment of the elements ``items`` (n,) with its mean normal, and the number (n,) of the subfault of each."""
    strike, up = (v[0] for v in _directions(mean[None]))
    dip, corners = -up, h.corners[items].reshape(-1, 3)
    u, w = corners @ strike, corners @ dip
    length, width = float(np.ptp(u)), float(np.ptp(w))
    middle = h.centre[items]
    corner = u.min() * strike + w.min() * dip + ((middle @ mean) @ h.area[items] / h.area[items].sum()) * mean
    if spacing is None:
        end = start + len(items)
        return Segment(int(h.tag[items[0]]), strike, dip, corner, length, width, (0, 0), start, end), np.arange(
            len(items)
        )
    along, down = (max(1, round(extent / spacing)) for extent in (length, width))
    i, j = (
        np.clip(((x - low) / extent * count).astype(int), 0, count - 1)
        for x, low, extent, count in (
            (middle @ strike, u.min(), length, along),
            (middle @ dip, w.min(), width, down),
        )
    )
    end = start + along * down
    return Segment(int(h.tag[items[0]]), strike, dip, corner, length, width, (along, down), start, end), j * along + i


def _summed(
    h: SlipHistories, normals: np.ndarray, groups: np.ndarray, segments: Sequence[Segment], frequency: float
) -> FiniteSource:
    """Return the sums of elements with oriented ``normals`` over ``groups`` (n,)."""
    count = segments[-1].end

    def total(values: np.ndarray) -> np.ndarray:
        columns = values.reshape(len(values), -1).T
        return np.stack([np.bincount(groups, c, count) for c in columns], -1).reshape(count, *values.shape[1:])

    area = total(h.area)
    filled = area > 0
    safe = np.where(filled, area, 1.0)
    normal = total(h.area[:, None] * normals)
    place = total(h.area[:, None] * h.centre) / safe[:, None]
    rigidity, speed = (total(h.area * v) / safe for v in (h.rigidity, h.shear_speed))
    _fill_lattice(segments, filled, place, normal)
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    normal *= np.where(normal[:, 2] < -UPRIGHT, -1.0, 1.0)[
        :, None
    ]  # subfaults steeper than 90 degrees strike the other way
    strike, up = _directions(normal)
    moments = total(h.moments)
    slips = moments > 0
    place[slips] = (total(h.moments[:, None] * h.centre) / np.where(slips, moments, 1.0)[:, None])[slips]
    matrices = _projections(h, normals, normal[groups], strike[groups], up[groups])
    matrices /= np.where(filled, rigidity * safe, 1.0)[groups][:, None, None]
    interval, first, rates, slip = _sampled(h, matrices, groups, count, frequency)
    onset = np.where([len(r) > 0 for r in rates], interval * first, np.nan)
    return FiniteSource(
        tuple(segments), place, normal, strike, up, area, rigidity, speed, slip, tuple(rates), onset, interval, frequency
    )  # fmt: skip


def _fill_lattice(segments: Sequence[Segment], filled: np.ndarray, place: np.ndarray, normal: np.ndarray) -> None:
    """Set place and normal of the subfaults of lattices that contain no element."""
    for s in segments:
        empty = np.flatnonzero(~filled[s.first : s.end])
        if len(empty):
            place[s.first + empty], normal[s.first + empty] = s.centres[empty], np.cross(s.dip, s.strike)


def _projections(
    h: SlipHistories, normals: np.ndarray, normal: np.ndarray, strike: np.ndarray, up: np.ndarray
) -> np.ndarray:
    """Return matrices (n, 2, 2) from slip along strike and dip of an element to its moment on the plane of its subfault [N].

    The moment tensor M of an element acts on a plane of unit normal n as the slip M n, without the part along n.
    """
    side = np.where((h.normal * normals).sum(1) >= 0, 1.0, -1.0)  # slip of the side that the normal points to
    found = np.empty((len(side), 2, 2))
    for column, direction in enumerate((h.strike, h.dip)):
        slip = side[:, None] * direction
        vector = slip * (normals * normal).sum(1)[:, None] + normals * (slip * normal).sum(1)[:, None]
        for row, axis in enumerate((strike, up)):
            found[:, row, column] = h.rigidity * h.area * (vector * axis).sum(1)
    return found


def _sampled(
    h: SlipHistories, matrices: np.ndarray, groups: np.ndarray, count: int, frequency: float
) -> tuple[float, np.ndarray, list[np.ndarray], np.ndarray]:
    """Return interval, number of the first sample (n,), slip rates and final slip (n, 2) of ``count`` subfaults.

    A rate is the mean over an interval around its time. Slip between stored times is interpolated monotonically.
    """
    from scipy.interpolate import PchipInterpolator

    interval = 1.0 / (SAMPLES_PER_PERIOD * frequency)
    number = int(np.ceil(h.time[-1] / interval - 1e-9)) + 2
    edges = np.clip((np.arange(number + 1) - 0.5) * interval, h.time[0], h.time[-1])
    order = np.argsort(groups, kind="stable")
    bounds = np.searchsorted(groups[order], np.arange(count + 1))
    first, rates, final = np.zeros(count, np.int64), [np.zeros((0, 2))] * count, np.zeros((count, 2))
    begin = 0
    while begin < count:
        most = bounds[begin] + max(1, _TOGETHER // (2 * len(h.time)))
        end = max(begin + 1, int(np.searchsorted(bounds, most, "right")) - 1)
        items = order[bounds[begin] : bounds[end]]
        parts = np.einsum("eij,etj->eti", matrices[items], h.slip[items].astype(float))
        slip = np.zeros((end - begin, len(h.time), 2))
        np.add.at(slip, groups[items] - begin, parts)
        mean = np.diff(PchipInterpolator(h.time, slip, axis=1)(edges), axis=1) / interval
        mean[:, 1] += mean[:, 0]  # no source begins before the run
        mean[:, 0] = 0.0
        final[begin:end] = slip[:, -1] - slip[:, 0]
        for n in range(begin, end):
            first[n], rates[n] = _trimmed(mean[n - begin], final[n], interval)
        begin = end
    return interval, first, rates, final


def _trimmed(rates: np.ndarray, slip: np.ndarray, interval: float) -> tuple[int, np.ndarray]:
    """Return the number of the first sample and the rates (n, 2) without faint ends, with one zero at each end.

    The rates are changed in proportion to their path, so that their sum times the interval is the slip (2,) exactly.
    """
    size = np.linalg.norm(rates, axis=1)
    seen = np.flatnonzero(size > FAINT * size.max(initial=0.0))
    if not len(seen) or not np.any(slip):
        return 0, np.zeros((0, 2))
    low, high = int(seen[0]), int(seen[-1]) + 1
    found, path = rates[low:high].copy(), size[low:high]
    found += path[:, None] / path.sum() * (slip / interval - found.sum(0))
    whole = np.zeros((len(found) + 2, 2))
    whole[1:-1] = found
    return low - 1, whole
