"""Snapshots of the volume, or of a part of it, at the centres of every n-th cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.base.projection import Projection
from faultwave.domain.grids import CENTRE, RegularGrid
from faultwave.engine.snapshots import assemble_blocks
from faultwave.fd.capability import FdPlan, Running
from faultwave.fd.contexts import PlacementContext, Planning
from faultwave.fd.method.grid import HALF
from faultwave.fd.method.grid_block import AXES as DOWN
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import RECORDED, along, lagrange
from faultwave.fd.rheology.yielding import YIELDED
from faultwave.fd.snapshots import LatticeSnapshotPlan, LatticeSnapshots, check_setting
from faultwave.observe.snapshots.fields import volume_fields
from faultwave.observe.snapshots.lattice import Lattice


def plan(planning: Planning) -> Volume | None:
    """Return the volume snapshots, None if the case does not request them."""
    case, problems = planning.case, planning.problems
    setting = case.output.volume
    if setting is None:
        return None
    if setting.groups is not None:
        problems.error("output.volume.groups", "a grid has no groups", "output.volume.region")
    check_setting("volume", setting, problems)
    with collect_problems(problems):
        more = YIELDED if case.plasticity is not None else ()
        return Volume(setting, tuple(volume_fields(setting, planning.law, more)), 0)
    return None


@dataclass(frozen=True)
class Window:
    """Regular subset of cells: ``first`` (z, y, x), ``count`` (z, y, x), every ``stride``-th."""

    first: tuple[int, int, int]
    count: tuple[int, int, int]
    stride: int

    def lattice(self, grid: RegularGrid, projection: Projection | None) -> Lattice:
        """Return the lattice of the cell centres."""
        x, y, z = grid.middle(np.array(self.first)).tolist()
        return Lattice((x, y, z), grid.spacing * self.stride, self.count).located(projection)

    def rows(self, chosen: np.ndarray) -> Window:
        """Return the window restricted to the consecutive planes ``chosen``."""
        first = self.first[0] + self.stride * (int(chosen[0]) if len(chosen) else 0)
        return Window((first, *self.first[1:]), (len(chosen), *self.count[1:]), self.stride)

    def numbers(self, k: int) -> np.ndarray:
        """Return the indices of the cells along z, y or x (0, 1, 2)."""
        return self.first[k] + self.stride * np.arange(self.count[k])


@dataclass(frozen=True)
class Volume(LatticeSnapshotPlan):
    """Volume snapshots of a case, in the cells of a ``window`` once there is a grid."""

    window: Window = Window((0, 0, 0), (0, 0, 0), 1)
    name = "volume"

    def locate(self, placing: PlacementContext) -> Self:
        low, high = placing.lower, placing.upper
        if self.setting.region is not None:
            low, high = np.maximum(low, self.setting.region[0::2]), np.minimum(high, self.setting.region[1::2])
        first = np.ceil(placing.grid.index(low) - 1e-6).astype(int)
        last = np.floor(placing.grid.index(high) + 1e-6).astype(int)
        if (last < first).any():
            box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(placing.lower, placing.upper, strict=True))
            placing.problems.error("output.volume.region", "holds no cell", f"a part of {box} m")
            return self
        # counted from the top, so that the uppermost plane of cells is always one of them
        stride = self.setting.every
        count = (last - first) // stride + 1
        first[0] = last[0] - (count[0] - 1) * stride
        a, b = first.tolist(), count.tolist()
        window = Window((a[0], a[1], a[2]), (b[0], b[1], b[2]), stride)
        return replace(self, window=window, disk=self.lattice_bytes(placing.case, int(np.prod(window.count))))

    def attach(self, solver: Running) -> VolumeSnapshots:
        return VolumeSnapshots(self, solver)


class VolumeSnapshots(LatticeSnapshots):
    """Volume snapshots of a run; each process contributes the cells that it owns."""

    def __init__(self, part: Volume, solver: Running):
        plan, window = solver.plan, part.window
        lattice = window.lattice(plan.scheme.grid, plan.projection)
        super().__init__(part, solver, lattice, self.now)
        self.plan = plan
        self.arrays = dict(zip(plan.law.quantities, RECORDED, strict=True)) | {name: name for name in YIELDED}
        heights = lattice.nodes("z")
        floors = [block.scheme.grid.lower[2] for block in plan.blocks[:-1]]
        block_of = np.sum([heights < floor for floor in floors], axis=0, dtype=int) * np.ones(len(heights), int)
        self.pieces = [
            (BlockPiece if plan.below else Piece)(
                op, block, window.rows(np.flatnonzero(block_of == n)), plan.scheme.grid
            )
            for n, (op, block) in enumerate(zip(self.operator.blocks, plan.blocks, strict=True))
        ]

    def now(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the present values (nz, ny, nx) of each field."""
        found: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for piece in reversed(self.pieces):  # from the lowest planes up
            piece.operator.refresh()
            for name in names:
                block = piece.values(self.arrays[name])
                found[name].append(assemble_blocks(self.plan.world, piece.shape, piece.place, block))
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in found.items()}


class Piece:
    """Lattice in a grid of one spacing; each process contributes the cells that it owns."""

    def __init__(self, operator: Operator, plan: FdPlan, window: Window, grid: RegularGrid):
        self.operator, self.plan, self.shape = operator, plan, window.count
        cells = [window.numbers(k) for k in range(3)]
        owned = operator.subdomain.owned.box
        home = self.home(cells, grid)
        mine = [np.flatnonzero((a >= owned.lo[k]) & (a < owned.hi[k])) for k, a in enumerate(home)]
        self.at = [a[m] for a, m in zip(cells, mine, strict=True)]
        self.place = tuple(slice(int(m[0]), int(m[-1]) + 1) if len(m) else slice(0, 0) for m in mine)

    def home(self, cells: Sequence[np.ndarray], grid: RegularGrid) -> Sequence[np.ndarray]:
        """Return the indices of the block's cells that contain ``cells`` of the ``grid``."""
        return cells

    def values(self, array: str) -> np.ndarray:
        """Return the values of a field in the cells that this process owns."""
        if not all(len(a) for a in self.at):
            return np.zeros([len(a) for a in self.at])
        around = () if self.plan.partition else self.plan.scheme.periodic
        values, low = self.operator.runner.values(array), self.operator.subdomain.box.lo
        return at_centres(values, array, self.at, low, self.plan.scheme, around)


class BlockPiece(Piece):
    """Part of a lattice in one block, interpolated because a block of larger spacing has other points."""

    def home(self, cells: Sequence[np.ndarray], grid: RegularGrid) -> Sequence[np.ndarray]:
        own = self.plan.scheme.grid
        self.lines = [grid.line(2 - k, a) for k, a in enumerate(cells)]
        self.homes = [
            np.floor((line - own.lower[2 - k]) / own.spacing + 1e-9).astype(int) for k, line in enumerate(self.lines)
        ]
        return self.homes

    def values(self, array: str) -> np.ndarray:
        op, scheme = self.operator, self.plan.scheme
        if not all(len(a) for a in self.at):
            return np.zeros([len(a) for a in self.at])
        if array in YIELDED:  # no interpolation, because the field may jump between cells
            homes = [home[part] for home, part in zip(self.homes, self.place, strict=True)]
            inside = np.ix_(*(home - low for home, low in zip(homes, op.subdomain.box.lo, strict=True)))
            return np.asarray(op.runner.values(array)[inside], float)
        lines = [line[part] for line, part in zip(self.lines, self.place, strict=True)]
        result: np.ndarray = np.asarray(op.filled_around(array), float)
        low, size = scheme.filled(op.subdomain.box).lo, scheme.grid.shape
        for k, axis in enumerate(DOWN):
            points = np.zeros((len(lines[k]), 3))
            points[:, 2 - k] = lines[k]
            found = along(scheme, array, points, axis)
            places = found.nodes - low[k]
            if (
                axis in scheme.periodic
            ):  # of two images of a point, the one next to the cell: the outer overlap is out of date
                home = (self.homes[k][self.place[k]] - low[k])[:, None]
                places = home + (places - home + size[k] // 2) % size[k] - size[k] // 2
                around = (places < 0) | (places >= result.shape[k])
                places = np.where(around, places % size[k], places)
            shape = [-1 if d == k else 1 for d in range(3)]
            parts = (
                np.take(result, places[:, m], axis=k) * found.value[:, m].reshape(shape)
                for m in range(found.nodes.shape[1])
            )
            result = sum(parts, start=np.zeros(1))
        return result


def at_centres(
    values: np.ndarray, name: str, at: Sequence[np.ndarray], low: Sequence[int], scheme: Scheme, around: Collection[str]
) -> np.ndarray:  # fmt: skip
    """Return the values (nz, ny, nx) of a field at cell centres.

    Along each axis on which the field is staggered by half an edge, they are interpolated by polynomials, cubic at
    order 4.

    Parameters
    ----------
    values : ndarray
        Array of the field, whose first point is ``low``.
    name : str
        Field.
    at : sequence of ndarray
        Indices of the cells along (z, y, x).
    low : sequence of int
    scheme : Scheme
    around : collection of str
        Axes along which ``values`` cover the whole periodic grid.
    """
    result: np.ndarray = values
    order = scheme.order
    for k, axis in enumerate("zyx"):
        if not HALF.get(name, CENTRE)[2 - k]:
            result = np.take(result, at[k] - low[k], axis=k)
            continue
        start, size = at[k] - order // 2, scheme.grid.shape[k]
        if axis in around:
            places = [(start + m) % size for m in range(order)]
        else:
            start = np.clip(start, 0, size - order) if len(values) and low[k] >= 0 else start
            places = [start + m - low[k] for m in range(order)]
        weights = lagrange(at[k] - 0.5, start[:, None] + np.arange(order))[0]
        parts = (
            np.take(result, places[m], axis=k) * weights[:, m].reshape([-1 if d == k else 1 for d in range(3)])
            for m in range(order)
        )
        result = sum(parts, start=np.zeros(1))
    return np.asarray(result)
