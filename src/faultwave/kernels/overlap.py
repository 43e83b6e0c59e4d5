"""Overlapped tiling of several steps on a subdomain: which halo it needs, and what it can compute before halos arrive.

A subdomain owns a box and computes on a larger one that overlaps its neighbours. Everything it owns is correct after
several steps if the values of all arrays were known up to a certain ``depth`` beyond its border at their start. Within
these steps, launches shrink towards the owned box (``outward``). Launches that stay far enough inside the border to need
nothing from beyond (``inward``) can run first, for all steps; the remaining rim follows once the neighbours' values have
arrived. Neither overwrites what the other still reads. In the same way, steps of a grid that is coupled to another grid
through a face run first at a distance from that face, and then one by one next to it (``apart``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.stencil import Box, Launch, Program, Work, record

Place = tuple[str, bool]
"""Name of an array, and True for its planes outside the grid (above a free surface)."""
Points3 = tuple[int, int, int]
Key = tuple[str, ...]
"""Identity of a launch: its stencil and the arrays it uses; or the injections, or the sample buffers."""
INJECTIONS, SAMPLES = ("injections",), ("sample buffers",)


@dataclass(frozen=True)
class _Access:
    """Reads of a launch, with the largest distance along (z, y, x), and its writes."""

    key: Key
    reads: dict[Place, np.ndarray]
    writes: frozenset[Place]


@dataclass(frozen=True)
class Reach:
    """Distances in points along (z, y, x) for several steps of a subdomain.

    Attributes
    ----------
    depth : dict of str to tuple of int
        Width of the halo that must be known at the start, by array.
    outward : list of dict
        Width beyond the owned box on which each launch still works, by half-step.
    inward : list of dict
        Distance inside the border from which each launch can run without the neighbours' values, by half-step.
    """

    depth: dict[str, Points3]
    outward: list[dict[Key, Points3]]
    inward: list[dict[Key, Points3]]

    @property
    def margin(self) -> Points3:
        """Largest depth of all arrays along (z, y, x) [points]."""
        z, y, x = np.max(list(self.depth.values()), axis=0)
        return int(z), int(y), int(x)

    def last(self, steps: int, levels: int) -> Reach:
        """Return the distances of the last ``steps`` steps, for which the halo of the full number is enough."""
        halves = steps * levels
        return Reach(self.depth, self.outward[-halves:], self.inward[:halves])

    @property
    def border(self) -> Points3:
        """Width of the rim that must wait for the neighbours' values, along (z, y, x) [points]."""
        z, y, x = np.max([n for half in self.inward for n in half.values()], axis=0)
        return int(z), int(y), int(x)


def reach(program: Program, steps: int, stale: bool = True) -> Reach:
    """Return the distances for ``steps`` steps of the program of the whole grid.

    Parameters
    ----------
    program : Program
        Program of the whole grid.
    steps : int
        Number of steps between two exchanges.
    stale : bool
        True if values beyond the border are out of date at the start, as in a halo that overlaps neighbours.
    """
    accesses = [_accesses(program, number) for number in range(len(program.levels))]
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
    """Return the key of a launch in ``Reach``."""
    return launch.stencil.name, *(f"{a}={b}" for a, b in sorted(launch.names.items())), str(launch.lag)


def _accesses(program: Program, number: int) -> list[_Access]:
    """Return the accesses of a level in the order of execution: launches, injections, lagging launches, sample buffers."""
    level = program.levels[number]
    early, late = ([_access(program, x) for x in level if bool(x.lag) == lags] for lags in (False, True))
    here = np.zeros(3, int)
    pushed = {p: here for a in early for p in a.writes if program.arrays[p[0]].halo}
    seen = {p: here for a in (*early, *late) for p in a.writes}
    # a level without launches is sampled too, such as that of yielding in rock that does not yield
    seen |= {(b.array, outside): here for b in program.sample_buffers if b.level == number for outside in (False, True)}
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
    """Yield False if some of the planes [first, last] lie in the grid, then True if some lie above it."""
    if first < high and last >= low:
        yield False
    if last >= high:
        yield True


FAR = 1 << 40


@dataclass(frozen=True)
class Owned:
    """Box that a subdomain owns.

    Attributes
    ----------
    box : Box
        Owned points.
    inner : tuple of two tuples of bool
        True at the lower and upper sides (along z, y, x) that have a neighbour; elsewhere the grid ends.
    """

    box: Box
    inner: tuple[tuple[bool, bool, bool], tuple[bool, bool, bool]]

    def grown(self, by: Points3) -> Box:
        """Return the box extended by ``by`` points towards neighbours (negative: shrunk) and unbounded at other sides."""
        lows, highs = self.inner
        lo = [a - n if inner else -FAR for a, n, inner in zip(self.box.lo, by, lows, strict=True)]
        hi = [b + n if inner else FAR for b, n, inner in zip(self.box.hi, by, highs, strict=True)]
        return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def works(program: Program, owned: Owned, found: Reach, ahead: bool = True) -> tuple[Work | None, Work]:
    """Split the steps of ``found`` into work before and after the neighbours' values arrive.

    Parameters
    ----------
    program : Program
        Program of the subdomain, with some of the launches from which ``found`` was computed.
    owned : Owned
        Box of the subdomain.
    found : Reach
        Distances of the steps.
    ahead : bool
        Allow work before the neighbours' values arrive.

    Returns
    -------
    before : Work or None
        None if nothing can be done ahead.
    after : Work
        The rest.
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
            whole = intersect(box, owned.grown(outward[key]))
            core = intersect(box, owned.grown((-back[0], -back[1], -back[2]))) if early else EMPTY
            before[-1].append([core] if _some(core) else [])
            after[-1].append(around(whole, core))
    return (before if early else None), after


def apart(program: Program, work: Work, found: Reach, low: int, high: int) -> tuple[Work | None, Work]:
    """Split ``work`` of the steps of ``found`` into work that can run first, for all steps, and the rest.

    The first (None if empty) neither needs results of launches below the plane ``low`` or from the plane ``high`` on, nor
    overwrites what they read.
    """
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
            met = [intersect(box, middle) for box in boxes]
            first[-1].append([box for box in met if _some(box)])
            rest[-1].append([part for box, hole in zip(boxes, met, strict=True) for part in around(box, hole)])
    return first, rest


def _separable(program: Program, found: Reach, low: int, high: int) -> bool:
    """Return True if some work can run first and reads on absolute planes stay correct.

    Launches with such reads must either lie, with all they read, where everything runs first, or beyond ``low`` and ``high``;
    and work that runs first must never write what they read there later.
    """
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
"""Points that must remain in the middle of a subdomain for work ahead: the reads below a surface, and a margin."""
EMPTY = Box((0, 0, 0), (0, 0, 0))


def intersect(a: Box, b: Box) -> Box:
    """Return the intersection of two boxes."""
    lo = [max(x, y) for x, y in zip(a.lo, b.lo, strict=True)]
    hi = [max(low, min(x, y)) for low, x, y in zip(lo, a.hi, b.hi, strict=True)]
    return Box((lo[0], lo[1], lo[2]), (hi[0], hi[1], hi[2]))


def around(whole: Box, hole: Box) -> list[Box]:
    """Return ``whole`` minus ``hole`` as at most six disjoint boxes."""
    hole = intersect(whole, hole)
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
