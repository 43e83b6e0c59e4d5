"""Several steps on a part of a grid: what it must know of its neighbours, and what it can do before it knows.

A part owns a box and computes on a larger one, which overlaps its neighbours'. After some steps all it owns is right, if at their
start it had the values of all arrays a certain ``depth`` beyond its border. Within the steps, launches shrink towards what is
owned (``outward``). Launches that stay so far inside the border that they need nothing from beyond (``inward``) can go first, all steps of
them; what is left between both, the rim, follows once the neighbours' values are there. Neither overwrites what the other still reads.
In the same way steps of a grid with a face to another one go first away from that face, and one by one beside it (``apart``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.stencil import Box, Launch, Program, Work, record

Place = tuple[str, bool]
"""An array, and whether on planes outside the grid: those above a free surface."""
Points3 = tuple[int, int, int]
Key = tuple[str, ...]
"""A launch: its stencil and the arrays behind it; or injections, or sample buffers."""
INJECTIONS, SAMPLES = ("injections",), ("sample buffers",)


@dataclass(frozen=True)
class _Access:
    """What a launch reads, with the largest distance along (z, y, x), and what it writes."""

    key: Key
    reads: dict[Place, np.ndarray]
    writes: frozenset[Place]


@dataclass(frozen=True)
class Reach:
    """Points along (z, y, x): ``depth`` by array; ``outward`` and ``inward`` by half-step and launch."""

    depth: dict[str, Points3]
    outward: list[dict[Key, Points3]]
    inward: list[dict[Key, Points3]]

    @property
    def margin(self) -> Points3:
        """The largest depth."""
        z, y, x = np.max(list(self.depth.values()), axis=0)
        return int(z), int(y), int(x)

    def last(self, steps: int, levels: int) -> Reach:
        """Of fewer steps, for which what was asked for is enough."""
        halves = steps * levels
        return Reach(self.depth, self.outward[-halves:], self.inward[:halves])

    @property
    def border(self) -> Points3:
        """How far from its border a part cannot begin before it has heard of its neighbours."""
        z, y, x = np.max([n for half in self.inward for n in half.values()], axis=0)
        return int(z), int(y), int(x)


def reach(program: Program, steps: int, stale: bool = True) -> Reach:
    """Of so many steps of the whole grid's program. ``stale``: whether values beyond the border are out of date at the start, as those
    that overlap neighbours' are."""
    accesses = [_accesses(program, level) for level in program.levels]
    moving = {place for level in accesses for a in level for place in a.writes}
    inward: list[dict[Key, Points3]] = []
    start = np.full(3, 0 if stale else -FAR)
    known: dict[Place, np.ndarray] = defaultdict(lambda: start)  # right at such a distance from the border
    busy: dict[Place, np.ndarray] = defaultdict(lambda: np.zeros(3, int))  # not to be overwritten nearer to it
    for _ in range(steps):
        for level in accesses:
            found: dict[Key, np.ndarray] = {}
            for a in level:
                bounds = [known[p] + d for p, d in a.reads.items() if p in moving] + [busy[p] for p in a.writes]
                far = found[a.key] = np.max([np.zeros(3, int), *bounds], axis=0)
                for p, d in a.reads.items():
                    busy[p] = np.maximum(busy[p], far + d)
                for p in a.writes:
                    known[p] = np.maximum(known[p], far)
            inward.append(_whole(found))
    outward: list[dict[Key, Points3]] = []
    needed: dict[Place, np.ndarray] = defaultdict(lambda: np.zeros(3, int))
    for _ in range(steps):
        for level in reversed(accesses):
            found = {}
            for a in reversed(level):
                far = found[a.key] = np.max([np.zeros(3, int), *(needed[p] for p in a.writes)], axis=0)
                for p, d in a.reads.items():
                    needed[p] = np.maximum(needed[p], far + d)
            outward.append(_whole(found))
    depth: dict[str, Points3] = {}
    for (name, outside), far in sorted(needed.items()):  # in an order that all processes share
        if (name, outside) not in moving:
            continue
        z, y, x = np.maximum(far, depth.get(name, (0, 0, 0)))
        depth[name] = int(z), int(y), int(x)
    return Reach(depth, outward[::-1], inward)


def _whole(found: dict[Key, np.ndarray]) -> dict[Key, Points3]:
    return {key: (int(z), int(y), int(x)) for key, (z, y, x) in found.items()}


def key_of(launch: Launch) -> Key:
    """By which ``Reach`` knows a launch."""
    return launch.stencil.name, *(f"{a}={b}" for a, b in sorted(launch.names.items())), str(launch.lag)


def _accesses(program: Program, level: Sequence[Launch]) -> list[_Access]:
    """In the order in which a level is done: launches, injections, launches that lag, sample buffers."""
    early, late = ([_access(program, x) for x in level if bool(x.lag) == lags] for lags in (False, True))
    here = np.zeros(3, int)
    pushed = {p: here for a in early for p in a.writes if program.arrays[p[0]].halo}
    seen = {p: here for a in (*early, *late) for p in a.writes}
    injected = _Access(INJECTIONS, dict(pushed), frozenset(pushed))
    return [*early, injected, *late, _Access(SAMPLES, dict(seen), frozenset())]


def _access(program: Program, launch: Launch) -> _Access:
    reads, writes = record(launch.stencil)
    low, high = program.box.lo[0], program.box.hi[0]
    above = launch.box.lo[0] >= high
    result: dict[Place, np.ndarray] = {}
    for key in reads:
        if key[0] not in ("at", "on"):
            continue
        name, offset = launch.names.get(key[1], key[1]), np.abs(key[2:])
        first, last = launch.box.lo[0] + key[2], launch.box.hi[0] - 1 + key[2]
        if key[0] == "on":  # planes that are worked on at once are never cut apart
            first, last, offset[0] = key[2], key[2], 0
        for outside in _sides(first, last, low, high):
            # Up and down nothing is cut at a surface: its neighbours there are in the same part.
            distance = offset * np.array([not (outside or above), 1, 1])
            place = (name, outside)
            result[place] = np.maximum(result.get(place, 0), distance)
    sides = list(_sides(launch.box.lo[0], launch.box.hi[0] - 1, low, high))
    written = {(launch.names.get(n, n), outside) for n in writes for outside in sides}
    return _Access(key_of(launch), result, frozenset(written))


def _sides(first: int, last: int, low: int, high: int) -> Iterator[bool]:
    """Whether planes [first, last] are among those of the grid, then whether among those above it."""
    if first < high and last >= low:
        yield False
    if last >= high:
        yield True


FAR = 1 << 40


@dataclass(frozen=True)
class Owned:
    """What a part owns, and at which sides (2, along z, y, x) it has neighbours; elsewhere the grid ends."""

    box: Box
    inner: tuple[tuple[bool, bool, bool], tuple[bool, bool, bool]]

    def grown(self, by: Points3) -> Box:
        """Towards neighbours by so many points (inside, where negative), everywhere else without end."""
        lows, highs = self.inner
        lo = [a - n if inner else -FAR for a, n, inner in zip(self.box.lo, by, lows, strict=True)]
        hi = [b + n if inner else FAR for b, n, inner in zip(self.box.hi, by, highs, strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def works(program: Program, owned: Owned, found: Reach, ahead: bool = True) -> tuple[Work | None, Work]:
    """What a part does of the steps of ``found`` before it has heard of its neighbours (None: nothing, or not ``ahead``), and after.

    ``program`` is the part's own, with some of the launches that ``found`` was made of.
    """
    sizes, sides = np.array(owned.box.shape), np.sum(owned.inner, axis=0)
    early = ahead and bool((sizes - sides * np.array(found.border) > MIDDLE).all())
    before: list[list[list[Box]]] = []
    after: list[list[list[Box]]] = []
    everything = owned.grown(found.margin)
    for half, (outward, inward) in enumerate(zip(found.outward, found.inward, strict=True)):
        level = program.levels[half % len(program.levels)]
        slots = [*((key_of(x), x.box) for x in level), (INJECTIONS, everything), (SAMPLES, everything)]
        before.append([])
        after.append([])
        for key, box in slots:
            back = inward[key]
            whole = meet(box, owned.grown(outward[key]))
            core = meet(box, owned.grown((-back[0], -back[1], -back[2]))) if early else EMPTY
            before[-1].append([core] if _some(core) else [])
            after[-1].append(around(whole, core))
    return (before if early else None), after


def apart(program: Program, work: Work, found: Reach, low: int, high: int) -> tuple[Work | None, Work]:
    """``work`` of the steps of ``found`` in two: what can be done first, all steps of it, because it neither needs what launches below the
    plane ``low`` or from ``high`` on do nor overwrites what they read (None: nothing), and the rest."""
    if not _separable(program, found, low, high):
        return None, work
    first: list[list[list[Box]]] = []
    rest: list[list[list[Box]]] = []
    for half, (inward, slots) in enumerate(zip(found.inward, work, strict=True)):
        level = program.levels[half % len(program.levels)]
        first.append([])
        rest.append([])
        for key, boxes in zip((*map(key_of, level), INJECTIONS, SAMPLES), slots, strict=True):
            back = inward[key][0]
            middle = Box((low + back, -FAR, -FAR), (high - back, FAR, FAR))
            met = [meet(box, middle) for box in boxes]
            first[-1].append([box for box in met if _some(box)])
            rest[-1].append([part for box, hole in zip(boxes, met, strict=True) for part in around(box, hole)])
    return first, rest


def _separable(program: Program, found: Reach, low: int, high: int) -> bool:
    """Whether something can be done first, and what launches read on planes that they name stays right: those either lie with all they read
    where everything is done first, or beyond ``low`` and ``high``, and what is done first never writes what they read there later."""
    inner = low + found.border[0], high - found.border[0]
    if min(inner[1], program.box.hi[0]) <= max(inner[0], program.box.lo[0]):
        return False
    recorded = [[(launch, *record(launch.stencil)) for launch in level] for level in program.levels]
    written = [
        [(key_of(launch), {launch.names.get(name, name) for name in writes}) for launch, _, writes in level]
        for level in recorded
    ]
    moving = {name for level in written for _, names in level for name in names}
    for number, level in enumerate(recorded):
        for launch, reads, _ in level:
            on = [(launch.names.get(key[1], key[1]), key[2]) for key in reads if key[0] == "on"]
            planes = [plane for name, plane in on if name in moving]
            if not planes:
                continue
            first, last = min(*planes, launch.box.lo[0]), max(*planes, launch.box.hi[0] - 1)
            if inner[0] <= first and last < inner[1]:
                continue
            names = {name for name, _ in on}
            backs = [
                inward[key][0]
                for half, inward in enumerate(found.inward) if half > number
                for key, of in written[half % len(written)] if of & names
            ]  # fmt: skip
            below = launch.box.hi[0] <= low and all(max(planes) < low + back for back in backs)
            above = launch.box.lo[0] >= high and all(min(planes) >= high - back for back in backs)
            if not (below or above):
                return False
    return True


MIDDLE = 8
"""Points that must be left in the middle of a part for anything to be done ahead: those that a surface reads below it, and some."""
EMPTY = Box((0, 0, 0), (0, 0, 0))


def meet(a: Box, b: Box) -> Box:
    """The points in both."""
    lo = [max(x, y) for x, y in zip(a.lo, b.lo, strict=True)]
    hi = [max(low, min(x, y)) for low, x, y in zip(lo, a.hi, b.hi, strict=True)]
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def around(whole: Box, hole: Box) -> list[Box]:
    """``whole`` without the box ``hole`` in it: at most six boxes."""
    hole = meet(whole, hole)
    if not _some(whole):
        return []
    if not _some(hole):
        return [whole]
    result, lo, hi = [], list(whole.lo), list(whole.hi)
    for k in range(3):
        below, above = list(hi), list(lo)
        below[k], above[k] = hole.lo[k], hole.hi[k]
        result += [
            Box((lo[0], lo[1], lo[2]), (below[0], below[1], below[2])),
            Box((above[0], above[1], above[2]), (hi[0], hi[1], hi[2])),
        ]
        lo[k], hi[k] = hole.lo[k], hole.hi[k]
    return [box for box in result if _some(box)]


def _some(box: Box) -> bool:
    return all(a < b for a, b in zip(box.lo, box.hi, strict=True))


__all__ = ["EMPTY", "FAR", "Owned", "Reach", "apart", "around", "key_of", "meet", "reach", "works"]
