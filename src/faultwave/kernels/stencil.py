"""Stencils (formulas over a regular grid) and the program of a time step composed of them.

A stencil is one function. It reads arrays at offsets from the current point and returns the new values of the arrays it
writes. The same function runs on NumPy arrays (the reference) and on ``Expr`` (code generation):

    def velocity(p):
        return {"u": p.at("u") + p.at("buoyancy") * (p.at("s", x=1) - p.at("s"))}

Arrays are three-dimensional with indices (z, y, x); x is contiguous in memory. A program is a list of levels, each a list
of launches over boxes of points; one time step runs the levels in order. The following rules allow a backend to execute
several steps in one pass through memory:

* A level reads at most ``reach`` points away, and along z, where arrays continue, also 2 ``reach`` - 1. A launch reads
  what it writes only in planes outside its own box or at the point itself.
* From the plane ``together`` of a program on, a level works on all planes at once: launches there may read any plane from
  ``reach`` below it (with ``on``) of arrays that other levels wrote. Arrays that no launch writes may be read on any
  plane, anywhere.
* If a program has ``stages``, a launch may read any plane of an array that no level of its own stage writes. The caller
  must then run such launches stage by stage, and several stages at once only at a distance from them (``overlap.apart``).
* The launches of a level without a ``lag`` come first, then its injections, then the launches with a lag. The latter may
  read what their own level wrote, in planes up to their own and, staying ``lag`` rows behind, in neighbouring rows.
* Backends may process whole vectors past the end of a box along x. Coefficients are zero there (arrays are padded
  with zeros), and a stencil must map zeros to zeros.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol

import numpy as np

from faultwave.kernels.expr import Condition, Expr, Key, Named, Number, wrap
from faultwave.kernels.values import Numbering, flops

REACH = 2
"""Default distance [points] that a stencil may read to either side: fourth order on a staggered grid."""

HALF_BITS = 11
"""Number of significand bits of IEEE half precision, the implicit one included."""

Axis = Literal["x", "y", "z"]


class Point(Protocol):
    """Argument of a stencil's function: access to values around the current point."""

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Number:
        """Return array ``name`` at an offset of (x, y, z) points from the current point."""

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> Number:
        """Return array ``name`` on plane number ``plane``, at an offset of (x, y) points from the current point."""

    def line(self, name: str, axis: Axis) -> Number:
        """Return a profile along one axis at the coordinate of the current point."""

    def parity(self, name: str) -> Number:
        """Return a table (2, 2, nx) at the parities of the point's plane and row, and at its x."""

    def scalar(self, name: str) -> Number:
        """Return a number that is passed at launch."""


class Row(Protocol):
    """Argument of a row mask: properties of the current row and of rows at an offset of (z, y) from it."""

    def largest(self, name: str, z: int = 0, y: int = 0) -> Number:
        """Return a peak of the program along a row."""

    def changed(self, name: str, z: int = 0, y: int = 0) -> Number:
        """Return 1 if the launch that writes this array changed it when it last visited a row, else 0."""

    def number(self, name: str) -> Number:
        """Return an array whose box is one point wide along x: one number per row."""


@dataclass(frozen=True)
class Stencil:
    """Named function from a point to the new values of the arrays it writes.

    Attributes
    ----------
    name : str
        Name of the stencil.
    function : callable
        Maps a ``Point`` to the new values by array name.
    changes : callable, optional
        Mask of a point. If false, ``function`` changes nothing, so that backends may skip groups of such points.
    rows : callable, optional
        Mask of a whole row. If false, ``changes`` is false at every point of the row.
    """

    name: str
    function: Callable[[Point], Named]
    changes: Callable[[Point], Condition] | None = None
    rows: Callable[[Row], Condition] | None = None


@dataclass(frozen=True)
class Peak:
    """Largest value along each row of ``of``, a function of the values that ``level`` has just written at a point.

    The result is at least zero; NaN is ignored.
    """

    level: int
    of: Callable[[Point], Number]


@dataclass(frozen=True)
class Box:
    """Box of the points lo <= (z, y, x) < hi."""

    lo: tuple[int, int, int]
    hi: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.hi[0] - self.lo[0], self.hi[1] - self.lo[1], self.hi[2] - self.lo[2])

    @property
    def points(self) -> int:
        return math.prod(map(int, self.shape))


@dataclass(frozen=True)
class Layout:
    """Extent and storage of an array.

    Attributes
    ----------
    box : Box
        Points of the array, without its halo.
    kind : {'grid', 'line', 'parity'}
        A 'line' is one row of numbers along ``axis``; a 'parity' table has box (2, 2, nx).
    axis : {'x', 'y', 'z'}
        Axis of a 'line'.
    group : str
        Arrays of kind 'grid' of one group share box and halo, and a backend may interleave them.
    halo : int
        Points around the box. Without a halo an array can only be read at the point itself.
    half : bool
        Store in half precision in programs of single precision. Stencils can only read such arrays.
    """

    box: Box
    kind: Literal["grid", "line", "parity"] = "grid"
    axis: Axis = "x"
    group: str = ""
    halo: int = REACH
    half: bool = False


@dataclass(frozen=True)
class Launch:
    """Stencil over a box; ``names`` maps the stencil's names to the program's arrays where they differ."""

    stencil: Stencil
    box: Box
    names: Mapping[str, str] = field(default_factory=dict)
    lag: int = 0


@dataclass(frozen=True)
class Injection:
    """Source term after ``level``: array[points] += weight * amplitude[source], with points (n, 3) in the program's box."""

    level: int
    array: str
    points: np.ndarray
    weights: np.ndarray
    sources: np.ndarray


@dataclass(frozen=True)
class SampleBuffer:
    """Values of an array at points (n, 3), recorded after ``level`` in every step. Points may lie in the halo."""

    level: int
    array: str
    points: np.ndarray


@dataclass(frozen=True)
class Program:
    """Time step of a grid: levels of launches with their arrays and scalars.

    Attributes
    ----------
    name : str
        Name of the program.
    box : Box
        Points of the grid.
    arrays : mapping of str to Layout
        Arrays by name.
    levels : sequence of sequences of Launch
        Launches of each level, in the order of execution.
    scalars : mapping of str to float
        Numbers by name.
    injections, sample_buffers : sequence
        Sources and recorded values.
    periodic : frozenset of {'x', 'y', 'z'}
        Axes that wrap around after each level.
    together : int, optional
        First plane from which levels work on all planes at once.
    reach : int
        Distance that a level may read [points].
    stages : sequence of sequences of int
        Levels that are run together, stage by stage. If empty, all levels may be.
    peaks : mapping of str to Peak
        Peaks that row masks may read.
    """

    name: str
    box: Box
    arrays: Mapping[str, Layout]
    levels: Sequence[Sequence[Launch]]
    scalars: Mapping[str, float]
    injections: Sequence[Injection] = ()
    sample_buffers: Sequence[SampleBuffer] = ()
    periodic: frozenset[Axis] = frozenset()
    together: int | None = None
    reach: int = REACH
    stages: Sequence[Sequence[int]] = ()
    peaks: Mapping[str, Peak] = field(default_factory=dict)


Work = Sequence[Sequence[Sequence[Box]]]
"""Disjoint boxes to process, by half-step (level after level, step after step) and slot.

The slots of a level are its launches in order, then its injections, then its sample buffers.
"""


def whole_work(program: Program, level: int) -> list[list[Box]]:
    """Return the boxes of all work of a level, by slot."""
    far = tuple(v - 4 * program.reach for v in program.box.lo), tuple(v + 4 * program.reach for v in program.box.hi)
    all_points = Box(*far)  # type: ignore[arg-type]
    return [*([launch.box] for launch in program.levels[level]), [all_points], [all_points]]


def inside(points: np.ndarray, boxes: Sequence[Box]) -> np.ndarray:
    """Return a mask (n,) of the points (n, 3) that lie in one of the boxes."""
    found = np.zeros(len(points), bool)
    for box in boxes:
        found |= ((points >= box.lo) & (points < box.hi)).all(1)
    return found


class HaloBuffer(Protocol):
    """Boxes of arrays that are sent in one message.

    On the host the sender calls ``pack(into)`` and ``unpack(values)`` with arrays (size,). Buffers of a device build the
    messages themselves, with ``outgoing`` and ``incoming``.
    """

    size: int


class Runner(Protocol):
    """Program prepared for execution by a backend."""

    program: Program

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        """Return a writable view (nz, ny, nx) of array ``name``, extended by ``halo`` points on each side."""

    def values(self, name: str, halo: int = 0) -> np.ndarray:
        """Return array ``name`` as ``view`` does, read-only and valid until the next step; cheaper on a device."""

    def finite(self, names: Iterable[str]) -> bool:
        """Return True if arrays are finite according to a quick check.

        Sums may be checked instead of single values: a value that is not finite soon spreads to all others.
        """

    def halo_buffer(self, listed: Sequence[tuple[str, Box]]) -> HaloBuffer:
        """Return a message buffer of boxes of arrays, which may lie in their halos."""

    def prepare(self, steps: int, together: bool = False) -> None:
        """Prepare for about ``steps`` steps on a state of zeros, and measure the fastest variant where that pays.

        Parameters
        ----------
        steps : int
            Expected number of steps.
        together : bool
            The whole program is stepped jointly with the programs that send it planes, so that it may take more steps in one
            pass than by default.
        """

    def run(self, steps: int, amplitudes: np.ndarray, work: Work | None = None) -> list[np.ndarray]:
        """Advance by ``steps`` steps.

        Parameters
        ----------
        steps : int
            Number of steps.
        amplitudes : ndarray, (levels, steps, sources)
            Amplitudes of the sources.
        work : Work, optional
            Restricts the steps to these boxes, which lie within the launches' own boxes. Default: everything.

        Returns
        -------
        list of ndarray, (steps, points)
            Sample buffers. Samples outside ``work`` are zero.
        """

    @property
    def steps_a_pass(self) -> int:
        """Number of steps in one pass through memory, if at least that number is requested."""

    @property
    def nbytes(self) -> int:
        """Memory of all arrays [bytes]."""


class Recorder:
    """Point that records the reads of a stencil; each value is an ``Expr`` input (kind, name, offsets)."""

    def __init__(self) -> None:
        self.reads: dict[Key, Expr] = {}

    def _input(self, *key: str | int) -> Expr:
        return self.reads.setdefault(key, Expr("input", value=key))

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Expr:
        return self._input("at", name, z, y, x)

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> Expr:
        return self._input("on", name, plane, y, x)

    def line(self, name: str, axis: Axis) -> Expr:
        return self._input("line", name, axis)

    def parity(self, name: str) -> Expr:
        return self._input("parity", name)

    def scalar(self, name: str) -> Expr:
        return self._input("scalar", name)


@functools.lru_cache(maxsize=1024)
def record(stencil: Stencil) -> tuple[Mapping[Key, Expr], Mapping[str, Expr]]:
    """Return the reads of a stencil and the expressions it writes, by array name.

    Results are cached, because each stencil is recorded about ten times.
    """
    point = Recorder()
    writes = {name: wrap(value) for name, value in stencil.function(point).items()}
    return MappingProxyType(point.reads), MappingProxyType(writes)


def record_point_mask(stencil: Stencil) -> tuple[dict[Key, Expr], Expr] | None:
    """Return the reads of a stencil's point mask and its expression, or None if it has no mask."""
    if stencil.changes is None:
        return None
    point = Recorder()
    return point.reads, wrap(stencil.changes(point))


class _RowRecorder:
    """Row that records the reads of a mask; each value is an ``Expr`` input (kind, name, offsets)."""

    def __init__(self) -> None:
        self.reads: dict[Key, Expr] = {}

    def _input(self, *key: str | int) -> Expr:
        return self.reads.setdefault(key, Expr("input", value=key))

    def largest(self, name: str, z: int = 0, y: int = 0) -> Expr:
        return self._input("largest", name, z, y)

    def changed(self, name: str, z: int = 0, y: int = 0) -> Expr:
        return self._input("changed", name, z, y)

    def number(self, name: str) -> Expr:
        return self._input("number", name)


def record_row_mask(stencil: Stencil) -> tuple[dict[Key, Expr], Expr] | None:
    """Return the reads of a stencil's row mask and its expression, or None if it has no row mask."""
    if stencil.rows is None:
        return None
    row = _RowRecorder()
    return row.reads, wrap(stencil.rows(row))


def row_scalars(program: Program) -> frozenset[str]:
    """Return the names of the arrays that store one number per row for row masks."""
    found = set[str]()
    for launch in (launch for level in program.levels for launch in level):
        reads = record_row_mask(launch.stencil)
        found |= {launch.names.get(k[1], k[1]) for k in reads[0] if k[0] == "number"} if reads else set()
    return frozenset(found)


def recorded_peak(peak: Peak) -> tuple[frozenset[str], Expr]:
    """Return the names of the arrays that a peak reads, and its expression."""
    point = Recorder()
    value = wrap(peak.of(point))
    if any(key[0] != "at" or any(key[2:]) for key in point.reads):
        raise ValueError("a peak can read only values that were written at the point itself")
    return frozenset(key[1] for key in point.reads), value


def check(program: Program) -> None:
    """Raise ValueError if a launch breaks the rules that allow several steps in one pass (see the module's text)."""
    stages = program.stages or [range(len(program.levels))]
    for stage in stages:
        recorded = [(launch, *record(launch.stencil)) for level in stage for launch in program.levels[level]]
        moving = {launch.names.get(n, n) for launch, _, writes in recorded for n in writes}
        for launch, reads, writes in recorded:
            _check_launch(program, launch, reads, writes, moving)
    _check_levels(program)


def stage_work(program: Program, stage: int, boxes: Sequence[Sequence[Sequence[Box]]]) -> list[list[list[Box]]]:
    """Return the work of one stage within a step whose work by level and slot is ``boxes``."""
    return [
        [list(slot) if level in program.stages[stage] else [] for slot in boxes[level]]
        for level in range(len(program.levels))
    ]


def _check_launch(
    program: Program,
    launch: Launch,
    reads: Mapping[Key, Expr],
    writes: Mapping[str, Expr],
    moving: set[str],
) -> None:
    who = f"{program.name}, {launch.stencil.name}"
    for name in {launch.names.get(k[1], k[1]) for k in reads if k[0] != "scalar"} | {
        launch.names.get(n, n) for n in writes
    }:
        if name not in program.arrays:
            raise ValueError(f"{who}: the program has no array '{name}' (allowed: {', '.join(sorted(program.arrays))})")
    for name in (launch.names.get(n, n) for n in writes):
        if program.arrays[name].half:
            raise ValueError(f"{who}: {name} is stored in sixteen bits and cannot be written")
    for key in reads:
        if key[0] == "scalar" and key[1] not in program.scalars:
            raise ValueError(
                f"{who}: the program has no scalar '{key[1]}' (allowed: {', '.join(sorted(program.scalars)) or 'none'})"
            )
        if key[0] == "on" and launch.names.get(key[1], key[1]) in moving:
            _check_plane(program, launch, key, who)
        if key[0] == "at" and max(map(abs, key[2:])) > 2 * program.reach - 1:
            raise ValueError(
                f"{who}: {key[1]} is read {key[2:]} (z, y, x) points away, but the halo has {2 * program.reach - 1}"
            )
        if key[0] != "at" or key[1] not in writes:
            continue
        inside = abs(key[2]) < launch.box.shape[0]
        if inside and key[2:] != (0, 0, 0):
            raise ValueError(
                f"{who}: {key[1]} is read at {key[2:]} (z, y, x) and written in the same launch. Use two launches"
            )


def _check_levels(program: Program) -> None:
    late = [i.level for i in program.injections] + [t.level for t in program.sample_buffers]
    if any(not 0 <= level < len(program.levels) for level in late):
        raise ValueError(f"{program.name}: an injection or sample buffer names a level that does not exist")


def _check_plane(program: Program, launch: Launch, key: Key, who: str) -> None:
    """Raise ValueError if the launch must not read the plane of ``key``."""
    name, plane = key[1:3]
    first = program.together
    if first is None or launch.box.lo[0] < first or plane < first - program.reach:
        raise ValueError(f"{who}: plane {plane} is read, but levels do not work on all planes at once there")
    if launch.names.get(name, name) in {launch.names.get(n, n) for n in record(launch.stencil)[1]}:
        raise ValueError(f"{who}: {name} is read on plane {plane} and written in the same launch. Use two launches")


def cost(stencil: Stencil) -> tuple[int, int]:
    """Return the flops per point and the numbers moved per point.

    Equal operations count once, and so does each array that is read or written.
    """
    reads, writes = record(stencil)
    numbering = Numbering()
    for value in writes.values():
        numbering.number(value)
    grids = {key[1] for key in reads if key[0] in ("at", "on")}
    return flops(numbering.values), len(grids) + len(writes)
