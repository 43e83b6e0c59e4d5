"""Statistics of maps that need no stored members: moments, percentiles and probabilities of exceedance at every place.

No result depends on the order in which members arrive. Counts are integers. Means and sums of squares are combined in pairs of
neighbouring members, pairs of pairs and so on (Chan, Golub and LeVeque 1983), in an order that only the numbers of the members
determine; a failed member counts as empty. Percentiles interpolate linearly between the two values next to their rank, as NumPy's do.
These values are those of a histogram with logarithmic bins (Masson, Rim and Lee 2019), whose relative error is at most ``ACCURACY``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from faultwave.base.types import JsonObject
from faultwave.output.atomic import atomic_path

ACCURACY = 0.01
"""Largest relative error of a value in percentiles."""
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
SMALLEST = 1e-9
"""Magnitude below which a value counts as zero in percentiles."""
BLOCK = 4096
"""Number of places whose histograms are summed at once, so that percentiles take little memory besides the histograms."""


@dataclass(frozen=True)
class Moments:
    """Number, mean and sum of squared deviations at each place, arrays (place,)."""

    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray

    @staticmethod
    def of(values: np.ndarray) -> Moments:
        """Return the moments of one member; NaN counts as no value."""
        known = np.isfinite(values)
        return Moments(known.astype(np.int64), np.where(known, values, 0.0).astype(np.float64), np.zeros(len(values)))

    def __add__(self, other: Moments) -> Moments:
        """Return the moments of both sets of members."""
        count = self.count + other.count
        whole = np.maximum(count, 1)
        difference = other.mean - self.mean
        mean = np.where(
            self.count == 0,
            other.mean,
            np.where(other.count == 0, self.mean, self.mean + difference * (other.count / whole)),
        )
        squares = self.squares + other.squares + difference**2 * (self.count * (other.count / whole))
        return Moments(count, mean, np.where(self.count * other.count == 0, self.squares + other.squares, squares))

    @property
    def deviation(self) -> np.ndarray:
        """Standard deviation of the sample, NaN for fewer than two values."""
        return np.where(self.count > 1, np.sqrt(self.squares / np.maximum(self.count - 1, 1)), np.nan)


@dataclass
class MomentTree:
    """Moments of members that arrive in any order, combined in a fixed order.

    Attributes
    ----------
    nodes : dict of (int, int) to Moments
        Complete nodes by level and number; node (k, n) has the members from n 2^k to (n + 1) 2^k.
    """

    nodes: dict[tuple[int, int], Moments] = field(default_factory=dict)

    def add(self, member: int, found: Moments) -> None:
        """Add a member, and combine every complete pair."""
        level, number = 0, member
        while (level, number ^ 1) in self.nodes:
            other = self.nodes.pop((level, number ^ 1))
            found = found + other if number % 2 == 0 else other + found
            level, number = level + 1, number // 2
        self.nodes[level, number] = found

    def total(self) -> Moments | None:
        """Return the moments of all members so far, None without any."""
        nodes = dict(self.nodes)
        if not nodes:
            return None
        level = 0
        while len(nodes) > 1 or any(k != level for k, _ in nodes):
            raised: dict[tuple[int, int], Moments] = {n: m for n, m in nodes.items() if n[0] > level}
            for number in sorted(n for k, n in nodes if k == level):
                above, mine = (level + 1, number // 2), nodes[level, number]
                raised[above] = raised[above] + mine if above in raised else mine
            nodes, level = raised, level + 1
        return next(iter(nodes.values()))


@dataclass
class Sketch:
    """Histograms (place, bin) with logarithmic bins that grow where values occur.

    Bins of positive values have the numbers from ``first``; those of negative values mirror them.
    """

    places: int
    zero: np.ndarray
    bins: dict[int, tuple[int, np.ndarray]] = field(default_factory=dict)

    @staticmethod
    def empty(places: int) -> Sketch:
        """Return histograms without values."""
        return Sketch(places, np.zeros(places, np.uint32))

    def add(self, values: np.ndarray) -> None:
        """Count the values (place,) of a member; NaN counts as no value."""
        size = np.abs(values)
        self.zero += (size < SMALLEST).astype(np.uint32)
        for sign in (1, -1):
            at = np.flatnonzero((sign * values >= SMALLEST) & np.isfinite(values))
            if not len(at):
                continue
            number = np.ceil(np.log(size[at].astype(np.float64)) / math.log(GAMMA)).astype(np.int64)
            first, counts = self._covering(sign, int(number.min()), int(number.max()))
            counts[at, number - first] += 1

    def _covering(self, sign: int, low: int, high: int) -> tuple[int, np.ndarray]:
        """Return the first bin and the counts of a sign, enlarged to include the bins from ``low`` to ``high``."""
        first, counts = self.bins.get(sign, (low, np.zeros((self.places, 0), np.uint32)))
        begin, end = min(first, low), max(first + counts.shape[1], high + 1)
        if begin < first or end > first + counts.shape[1]:
            wider = np.zeros((self.places, end - begin), np.uint32)
            wider[:, first - begin : first - begin + counts.shape[1]] = counts
            first, counts = begin, wider
            self.bins[sign] = (first, counts)
        return first, counts

    def percentiles(self, wanted: Sequence[float]) -> np.ndarray:
        """Return the percentiles (percentile, place), interpolated between the values next to their ranks; NaN without values."""
        found = np.full((len(wanted), self.places), np.nan)
        for begin in range(0, self.places, BLOCK):
            places = slice(begin, begin + BLOCK)
            found[:, places] = self._percentiles_of(places, wanted)
        return found

    def _percentiles_of(self, places: slice, wanted: Sequence[float]) -> np.ndarray:
        """Return the percentiles (percentile, place) of some places."""
        parts, centres = [self.zero[places, None]], [np.zeros(1)]
        for sign in (1, -1):
            if sign in self.bins:
                first, counts = self.bins[sign][0], self.bins[sign][1][places]
                value = sign * 2 * GAMMA ** np.arange(first, first + counts.shape[1], dtype=float) / (GAMMA + 1)
                parts = [*parts, counts] if sign > 0 else [counts[:, ::-1], *parts]
                centres = [*centres, value] if sign > 0 else [value[::-1], *centres]
        total, centre = np.concatenate(parts, 1).cumsum(1, dtype=np.int64), np.concatenate(centres)
        whole = total[:, -1]
        found = np.full((len(wanted), len(whole)), np.nan)
        for row, percentile in enumerate(wanted):
            rank = percentile / 100 * np.maximum(whole - 1, 0)
            below = np.floor(rank + 1e-9).astype(np.int64)
            low, high = (
                centre[np.minimum((total <= n[:, None]).sum(1), len(centre) - 1)]
                for n in (below, np.minimum(below + 1, np.maximum(whole - 1, 0)))
            )
            found[row] = np.where(whole > 0, low + np.maximum(rank - below, 0.0) * (high - low), np.nan)
        return found


@dataclass
class MapStatistics:
    """Statistics of one map.

    Attributes
    ----------
    levels : tuple of float
        Levels of exceedance.
    moments : MomentTree
        Mean and deviation.
    sketch : Sketch or None
        Histograms for percentiles.
    above : ndarray of shape (level, place)
        Number of members above each level.
    least, most : ndarray of shape (place,)
        Extremes, infinite without values.
    """

    places: int
    levels: tuple[float, ...]
    sketch: Sketch | None
    moments: MomentTree = field(default_factory=MomentTree)
    above: np.ndarray = field(init=False)
    least: np.ndarray = field(init=False)
    most: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.above = np.zeros((len(self.levels), self.places), np.int64)
        self.least, self.most = np.full(self.places, np.inf), np.full(self.places, -np.inf)

    def add(self, member: int, values: np.ndarray) -> None:
        """Add the values (place,) of a member."""
        self.moments.add(member, Moments.of(values))
        if self.sketch is not None:
            self.sketch.add(values)
        for row, level in enumerate(self.levels):
            self.above[row] += values > level
        self.least, self.most = np.fmin(self.least, values), np.fmax(self.most, values)


@dataclass
class Statistics:
    """Statistics of all maps, and the members in them.

    Attributes
    ----------
    maps : dict of str to MapStatistics
        Statistics by map.
    members : dict of int to str
        Version of the record of each member in the statistics.
    """

    maps: dict[str, MapStatistics] = field(default_factory=dict)
    members: dict[int, str] = field(default_factory=dict)

    def add(
        self,
        member: int,
        version: str,
        maps: Mapping[str, np.ndarray],
        levels: Mapping[str, tuple[float, ...]],
        sketch: bool,
    ) -> None:
        """Add the maps of a member; a member that is already there is ignored."""
        if member in self.members:
            return
        for name, values in maps.items():
            if name not in self.maps:
                self.maps[name] = MapStatistics(
                    len(values), levels.get(name, ()), Sketch.empty(len(values)) if sketch else None
                )
            self.maps[name].add(member, values.astype(np.float64))
        self.members[member] = version

    def save(self, path: Path) -> None:
        """Write the statistics as an npz file from which they continue."""
        arrays: list[np.ndarray] = []

        def put(array: np.ndarray) -> int:
            arrays.append(array)
            return len(arrays) - 1

        about: dict[str, object] = {}
        for name, m in self.maps.items():
            nodes = [[k, n, put(v.count), put(v.mean), put(v.squares)] for (k, n), v in sorted(m.moments.nodes.items())]
            sketch = None
            if m.sketch is not None:
                sketch = [put(m.sketch.zero), [[s, f, put(c)] for s, (f, c) in sorted(m.sketch.bins.items())]]
            about[name] = {"places": m.places, "levels": m.levels, "nodes": nodes, "sketch": sketch,
                           "above": put(m.above), "least": put(m.least), "most": put(m.most)}  # fmt: skip
        header = json.dumps({"maps": about, "members": self.members}).encode()
        with atomic_path(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, np.frombuffer(header, np.uint8), *arrays)

    @staticmethod
    def load(path: Path) -> Statistics:
        """Return the statistics of a file, empty if it is missing or damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                header = json.loads(file["arr_0"].tobytes())
                return Statistics(
                    {name: _loaded(about, [file[f"arr_{i}"] for i in range(1, len(file.files))]) for name, about in header["maps"].items()},
                    {int(k): str(v) for k, v in header["members"].items()},
                )  # fmt: skip
        except Exception:  # zip files raise many kinds of errors when they are damaged
            return Statistics()


def _loaded(about: JsonObject, arrays: Sequence[np.ndarray]) -> MapStatistics:
    sketch = None
    if about["sketch"] is not None:
        zero, bins = about["sketch"]
        sketch = Sketch(about["places"], arrays[zero], {s: (f, arrays[c]) for s, f, c in bins})
    made = MapStatistics(about["places"], tuple(about["levels"]), sketch)
    made.moments.nodes = {(k, n): Moments(arrays[a], arrays[b], arrays[c]) for k, n, a, b, c in about["nodes"]}
    made.above, made.least, made.most = (arrays[about[n]] for n in ("above", "least", "most"))
    return made
