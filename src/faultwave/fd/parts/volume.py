"""Snapshots of the volume, or of a part of it: quantities at the centres of every n-th cell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from faultwave.base.collect import collected
from faultwave.base.projection import Projection
from faultwave.case.model import Case
from faultwave.domain.grids.mapping import CENTRE, RegularGrid
from faultwave.engine.part import Demand
from faultwave.fd.grid import HALF
from faultwave.fd.part import GridPart, Placing, Planning, Running
from faultwave.fd.points import RECORDED, lagrange
from faultwave.fd.program import Scheme
from faultwave.fd.snapshots import Snapshots, assembled, check_setting, disk_bytes
from faultwave.fd.yielding import YIELDED
from faultwave.observe.fields import volume_fields
from faultwave.observe.lattice import Lattice


def plan(planning: Planning) -> Volume | None:
    """None where the case asks for none."""
    case, problems = planning.case, planning.problems
    setting = case.output.volume
    if setting is None:
        return None
    if setting.groups is not None:
        problems.error("output.volume.groups", "a grid has no groups", "output.volume.region")
    check_setting("volume", setting, problems)
    with collected(problems):
        more = YIELDED if case.plasticity is not None else ()
        return Volume(case, tuple(volume_fields(setting, planning.law, more)))
    return None


@dataclass(frozen=True)
class Window:
    """Cells of the grid: ``first`` (z, y, x), ``count`` (z, y, x), every ``stride``-th."""

    first: tuple[int, int, int]
    count: tuple[int, int, int]
    stride: int

    def lattice(self, grid: RegularGrid, projection: Projection | None) -> Lattice:
        """Where their centres are."""
        x, y, z = grid.middle(np.array(self.first)).tolist()
        return Lattice((x, y, z), grid.spacing * self.stride, self.count).located(projection)

    def numbers(self, k: int) -> np.ndarray:
        """Of the cells along z, y or x (0, 1, 2)."""
        return self.first[k] + self.stride * np.arange(self.count[k])


@dataclass(frozen=True)
class Volume(GridPart):
    """``fields`` in the cells of a ``window``, once there is a grid."""

    case: Case
    fields: tuple[str, ...]
    window: Window = Window((0, 0, 0), (0, 0, 0), 1)
    demand: Demand = Demand()
    name = "volume"

    @property
    def setting(self) -> Any:
        """The case's ``output.volume``."""
        return self.case.output.volume

    def placed(self, placing: Placing) -> Self:
        if placing.faces:
            what = "snapshots of a volume and blocks of different spacing are not combined yet"
            placing.problems.error("output.volume", what, "output.surface, receivers, or a grid of one spacing")
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
        disk = disk_bytes(self.case, self.setting, int(np.prod(window.count)), len(self.fields))
        return replace(self, window=window, demand=Demand(disk=disk))

    def attach(self, solver: Running) -> VolumeSnapshots:
        return VolumeSnapshots(self, solver)


class VolumeSnapshots(Snapshots):
    """Those of a run; a process gives the cells that it owns."""

    def __init__(self, part: Volume, solver: Running):
        plan, window = solver.plan, part.window
        lattice = window.lattice(plan.scheme.grid, plan.projection)
        super().__init__("volume", part.setting, solver, lattice, part.fields, self.now)
        self.plan = plan
        self.arrays = dict(zip(plan.law.quantities, RECORDED, strict=True)) | {name: name for name in YIELDED}
        owned, cells = self.operator.subdomain.owned.box, [window.numbers(k) for k in range(3)]
        mine = [np.flatnonzero((a >= owned.lo[k]) & (a < owned.hi[k])) for k, a in enumerate(cells)]
        self.at = [a[m] for a, m in zip(cells, mine, strict=True)]
        self.place = tuple(slice(int(m[0]), int(m[-1]) + 1) if len(m) else slice(0, 0) for m in mine)

    def now(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """(nz, ny, nx) of each field."""
        op, found = self.operator, {}
        around = () if self.plan.shared else self.plan.scheme.periodic
        op.refresh()
        for name in names:
            array, block = self.arrays[name], np.zeros([len(a) for a in self.at])
            if block.size:
                values, low = op.runner.values(array), op.subdomain.box.lo
                block = at_centres(values, array, self.at, low, self.plan.scheme, around)
            found[name] = assembled(self.plan.world, self.lattice.shape, self.place, block)
        return found


def at_centres(
    values: np.ndarray, name: str, at: Sequence[np.ndarray], low: Sequence[int], scheme: Scheme, around: Collection[str]
) -> np.ndarray:  # fmt: skip
    """(nz, ny, nx) of a field at the cells numbered ``at`` along (z, y, x): polynomials, cubic with order 4, along each axis on which it
    sits half an edge off. ``values`` begin at the point ``low``; along the axes ``around`` they are those of the whole periodic grid."""
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


__all__ = ["Volume", "VolumeSnapshots", "Window", "at_centres", "plan"]
