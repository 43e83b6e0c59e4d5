"""Stencils: formulas over a regular grid, and the program of a time step made of them.

A stencil is one function. It reads arrays at offsets from the point at hand and returns the new values of the arrays it
writes; it runs on NumPy arrays (the reference) and on ``Expr`` (code generation) alike:

    def velocity(p):
        return {"u": p.at("u") + p.at("buoyancy") * (p.at("s", x=1) - p.at("s"))}

Arrays are three-dimensional, planes of rows of points: indices are (z, y, x), x runs along memory. A program is a list
of levels, each a list of launches over boxes of points; one step of time runs the levels in turn. Backends may run
several steps in one pass through memory, because of these rules:

* a level reads at most the program's ``reach`` points away, along z where arrays go on also 2 ``reach`` - 1; a launch reads what it
  writes only in planes outside its own box or at the point itself;
* from the plane ``together`` of a program on, a level works on all planes at once: launches there may read any plane from
  ``reach`` below it, ``on`` which they find what other levels wrote; of arrays that no launch writes, any plane may be read anywhere;
* where a program has ``stages``, a launch may read any plane of what no level of its own stage writes; whoever runs the program gives
  such launches one stage at a time as work, and the others several only away from them (``overlap.apart``);
* the launches of a level without a ``lag`` come first, then its injections, then those with one: they may read what
  their own level wrote, in planes up to their own and, staying ``lag`` rows behind, in neighbouring rows;
* backends may work on whole vectors past the end of a box along x: there, coefficients are zero (arrays are padded
  with zeros), and a stencil must leave zeros zero.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np

from faultwave.kernels.expr import Expr, wrap
from faultwave.kernels.values import Numbering, flops

REACH = 2
"""Points to either side that a stencil may read where a program says nothing else: that of fourth order on a staggered grid."""

HALF_BITS = 11
"""Binary digits of a number kept in sixteen bits (IEEE half precision)."""

Axis = Literal["x", "y", "z"]


class Point(Protocol):
    """What a stencil's function is given: values around the point at hand."""

    def at(self, name: str, x: int = 0, y: int = 0, z: int = 0) -> Any:
        """Array ``name`` so many points further along each axis."""

    def on(self, name: str, plane: int, x: int = 0, y: int = 0) -> Any:
        """Array ``name`` on the plane of this number, so many points further along x and y."""

    def line(self, name: str, axis: Axis) -> Any:
        """A profile along one axis, at the point's own coordinate."""

    def parity(self, name: str) -> Any:
        """A table (2, 2, nx) at the parities of the point's plane and row, and its own x."""

    def scalar(self, name: str) -> Any:
        """A number given at launch."""


class Row(Protocol):
    """What the mask of a row is given: what is known of the row at hand, and of those so many planes and rows further."""

    def largest(self, name: str, z: int = 0, y: int = 0) -> Any:
        """A peak of the program along a row."""

    def changed(self, name: str, z: int = 0, y: int = 0) -> Any:
        """1 where the launch that writes this array changed something when it was last at a row, else 0."""

    def number(self, name: str) -> Any:
        """An array whose box is one point wide along x: a number for each row."""


@dataclass(frozen=True)
class Stencil:
    """A named function from a point to the new values of the arrays it writes. ``changes``: a mask of the point; where it does not hold,
    the function leaves all as it was, so that backends may leave out points of which none changes. ``rows``: a mask of a whole row;
    where it does not hold, that of no point does."""

    name: str
    function: Callable[[Point], Mapping[str, Any]]
    changes: Callable[[Point], Any] | None = None
    rows: Callable[[Row], Any] | None = None


@dataclass(frozen=True)
class Peak:
    """The largest value along each row of ``of``, a function of what launches of a level have just written at a point; at least zero.
    A value that is no number does not count."""

    level: int
    of: Callable[[Point], Any]


@dataclass(frozen=True)
class Box:
    """Points lo <= (z, y, x) < hi."""

    lo: tuple[int, int, int]
    hi: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        return (self.hi[0] - self.lo[0], self.hi[1] - self.lo[1], self.hi[2] - self.lo[2])

    @property
    def points(self) -> int:
        return int(np.prod(self.shape))


@dataclass(frozen=True)
class Layout:
    """Where an array lives: its box (without halo), ``kind`` and group.

    Arrays of kind 'grid' of one group share box and halo, and a backend may interleave them; without a halo they can only be
    read at the point itself. A 'line' is one row of numbers along ``axis``; a 'parity' table has box (2, 2, nx).
    ``half``: programs in single precision keep its numbers in sixteen bits; stencils only read it.
    """

    box: Box
    kind: Literal["grid", "line", "parity"] = "grid"
    axis: Axis = "x"
    group: str = ""
    halo: int = REACH
    half: bool = False


@dataclass(frozen=True)
class Launch:
    """A stencil over a box; ``names``: the program's arrays behind the names the stencil uses, where they differ."""

    stencil: Stencil
    box: Box
    names: Mapping[str, str] = field(default_factory=dict)
    lag: int = 0


@dataclass(frozen=True)
class Injection:
    """After ``level``: array[points] += weight * amplitude[source]. Points (n, 3) lie in the program's box."""

    level: int
    array: str
    points: np.ndarray
    weights: np.ndarray
    sources: np.ndarray


@dataclass(frozen=True)
class SampleBuffer:
    """After ``level``, every step: the values of an array at points (n, 3), which may lie in its halo."""

    level: int
    array: str
    points: np.ndarray


@dataclass(frozen=True)
class Program:
    """Levels of launches, arrays by name, numbers by name; ``periodic`` axes wrap around after each level. From the plane ``together`` on,
    levels work on all planes at once. ``stages``: levels that are run together, each stage for itself; none: all may be. ``peaks``:
    what masks of rows may ask for."""

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
"""Disjoint boxes to work on, by half-step (level after level, step after step) and slot: the launches of the level in their order, then
its injections, then its sample buffers."""


def whole_work(program: Program, level: int) -> list[list[Box]]:
    """All that is done in a level, by slot."""
    far = tuple(v - 4 * program.reach for v in program.box.lo), tuple(v + 4 * program.reach for v in program.box.hi)
    all_points = Box(*far)  # type: ignore[arg-type]
    return [*([launch.box] for launch in program.levels[level]), [all_points], [all_points]]


def inside(points: np.ndarray, boxes: Sequence[Box]) -> np.ndarray:
    """Which of the points (n, 3) lie in one of the boxes."""
    found = np.zeros(len(points), bool)
    for box in boxes:
        found |= ((points >= box.lo) & (points < box.hi)).all(1)
    return found


class HaloBuffer(Protocol):
    """Boxes of arrays that are sent in one message. The sender packs and unpacks those of the host, ``pack(into)`` and
    ``unpack(values)`` (size,); a device's make messages of themselves, ``outgoing`` and ``incoming``."""

    size: int


class Runner(Protocol):
    """A program made ready by a backend."""

    program: Program

    def view(self, name: str, halo: int = 0) -> np.ndarray:
        """Array ``name`` as (nz, ny, nx), with so many points of its halo around; writing to it changes the array."""

    def values(self, name: str, halo: int = 0) -> np.ndarray:
        """The same, to be read only and until the next step; where arrays live on a device, that is cheaper."""

    def finite(self, names: Iterable[str]) -> bool:
        """Whether the numbers of arrays are finite, as far as a quick look tells; one that is not spreads to all of them soon."""

    def halo_buffer(self, listed: Sequence[tuple[str, Box]]) -> HaloBuffer:
        """Boxes of arrays, which may lie in their halos."""

    def prepare(self, steps: int, together: bool = False) -> None:
        """Get ready for about so many steps, on a state of zeros: measure what is fastest where that pays. ``together``: whether all of it
        is stepped jointly with the programs that tell it planes, so that it may take more steps at once than by default."""

    def run(self, steps: int, amplitudes: np.ndarray, work: Work | None = None) -> list[np.ndarray]:
        """Advance by ``steps``; amplitudes (levels, steps, sources). Returns the sample buffers, each (steps, points).

        ``work``: only that part of the steps, within the boxes of the launches; sample buffers not taken are zeros.
        """

    @property
    def steps_a_pass(self) -> int:
        """Steps that it takes in one pass through memory where it is given as many."""

    @property
    def nbytes(self) -> int:
        """Memory of all arrays."""


class Recorder:
    """A point that records what a stencil reads; each value is an ``Expr`` input (kind, name, offsets)."""

    def __init__(self) -> None:
        self.reads: dict[tuple[Any, ...], Expr] = {}

    def _input(self, *key: Any) -> Expr:
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
def record(stencil: Stencil) -> tuple[Mapping[tuple[Any, ...], Expr], Mapping[str, Expr]]:
    """What a stencil reads and writes, as expressions; the last ones are remembered, for each is asked for some ten times."""
    point = Recorder()
    writes = {name: wrap(value) for name, value in stencil.function(point).items()}
    return MappingProxyType(point.reads), MappingProxyType(writes)


def recorded_mask(stencil: Stencil) -> tuple[dict[tuple[Any, ...], Expr], Expr] | None:
    """What the mask of a stencil reads, and the mask; None where it has none."""
    if stencil.changes is None:
        return None
    point = Recorder()
    return point.reads, wrap(stencil.changes(point))


class _RowRecorder:
    """A row that records what a mask reads; each value is an ``Expr`` input (kind, name, offsets)."""

    def __init__(self) -> None:
        self.reads: dict[tuple[Any, ...], Expr] = {}

    def _input(self, *key: Any) -> Expr:
        return self.reads.setdefault(key, Expr("input", value=key))

    def largest(self, name: str, z: int = 0, y: int = 0) -> Expr:
        return self._input("largest", name, z, y)

    def changed(self, name: str, z: int = 0, y: int = 0) -> Expr:
        return self._input("changed", name, z, y)

    def number(self, name: str) -> Expr:
        return self._input("number", name)


def recorded_rows(stencil: Stencil) -> tuple[dict[tuple[Any, ...], Expr], Expr] | None:
    """What the mask of rows of a stencil reads, and the mask; None where it has none."""
    if stencil.rows is None:
        return None
    row = _RowRecorder()
    return row.reads, wrap(stencil.rows(row))


def numbers_of_rows(program: Program) -> frozenset[str]:
    """Arrays that keep a number for each row, for masks of rows."""
    found = set[str]()
    for launch in (launch for level in program.levels for launch in level):
        reads = recorded_rows(launch.stencil)
        found |= {launch.names.get(k[1], k[1]) for k in reads[0] if k[0] == "number"} if reads else set()
    return frozenset(found)


def recorded_peak(peak: Peak) -> tuple[frozenset[str], Expr]:
    """The arrays that a peak reads, and its value."""
    point = Recorder()
    value = wrap(peak.of(point))
    if any(key[0] != "at" or any(key[2:]) for key in point.reads):
        raise ValueError("a peak is one of what was written at the point itself")
    return frozenset(key[1] for key in point.reads), value


def check(program: Program) -> None:
    """Raise ValueError where a launch breaks the rules that let steps be run together."""
    stages = program.stages or [range(len(program.levels))]
    for stage in stages:
        recorded = [(launch, *record(launch.stencil)) for level in stage for launch in program.levels[level]]
        moving = {launch.names.get(n, n) for launch, _, writes in recorded for n in writes}
        for launch, reads, writes in recorded:
            _check_launch(program, launch, reads, writes, moving)
    _check_levels(program)


def stage_work(program: Program, stage: int, boxes: Sequence[Sequence[Sequence[Box]]]) -> list[list[list[Box]]]:
    """Of a step whose work by level and slot is ``boxes``: that of one stage."""
    return [
        [list(slot) if level in program.stages[stage] else [] for slot in boxes[level]]
        for level in range(len(program.levels))
    ]


def _check_launch(
    program: Program,
    launch: Launch,
    reads: Mapping[tuple[Any, ...], Expr],
    writes: Mapping[str, Expr],
    moving: set[str],
) -> None:
    who = f"{program.name}, {launch.stencil.name}"
    for name in {launch.names.get(k[1], k[1]) for k in reads if k[0] != "scalar"} | {
        launch.names.get(n, n) for n in writes
    }:
        if name not in program.arrays:
            raise ValueError(f"{who}: no array {name}")
    for name in (launch.names.get(n, n) for n in writes):
        if program.arrays[name].half:
            raise ValueError(f"{who}: {name} is kept in sixteen bits and cannot be written")
    for key in reads:
        if key[0] == "scalar" and key[1] not in program.scalars:
            raise ValueError(f"{who}: no number {key[1]}")
        if key[0] == "on" and launch.names.get(key[1], key[1]) in moving:
            _check_plane(program, launch, key, who)
        if key[0] == "at" and max(map(abs, key[2:])) > 2 * program.reach - 1:
            raise ValueError(f"{who}: {key[1]} is read {key[2:]} (z, y, x) points away, farther than the halo")
        if key[0] != "at" or key[1] not in writes:
            continue
        inside = abs(key[2]) < launch.box.shape[0]
        if inside and key[2:] != (0, 0, 0):
            raise ValueError(f"{who}: {key[1]} is read at {key[2:]} (z, y, x) and written in one launch")


def _check_levels(program: Program) -> None:
    late = [i.level for i in program.injections] + [t.level for t in program.sample_buffers]
    if any(not 0 <= level < len(program.levels) for level in late):
        raise ValueError(f"{program.name}: an injection or sample buffer names a level that does not exist")


def _check_plane(program: Program, launch: Launch, key: tuple[Any, ...], who: str) -> None:
    """Raise ValueError where a launch reads the plane of ``key`` that it must not read."""
    name, plane = key[1:3]
    first = program.together
    if first is None or launch.box.lo[0] < first or plane < first - program.reach:
        raise ValueError(f"{who}: plane {plane} is read, but levels do not work on all planes at once there")
    if launch.names.get(name, name) in {launch.names.get(n, n) for n in record(launch.stencil)[1]}:
        raise ValueError(f"{who}: {name} is read on plane {plane} and written in one launch")


def cost(stencil: Stencil) -> tuple[int, int]:
    """(flops, numbers) a point: operations, equal ones once, and numbers moved with every array read or written once."""
    reads, writes = record(stencil)
    numbering = Numbering()
    for value in writes.values():
        numbering.number(value)
    grids = {key[1] for key in reads if key[0] in ("at", "on")}
    return flops(numbering.values), len(grids) + len(writes)
