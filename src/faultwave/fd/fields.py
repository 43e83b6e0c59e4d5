"""Snapshots of a run on a grid: of the free surface and of the volume, at the centres of cells.

Where the points are is planned first (``surface_lattice``, ``volume_window``), so that ``faultwave check`` knows how much will be
written; ``Shots`` then takes them. A window is a part of the box: a process that owns a block of the grid takes its part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.projection import Projection
from faultwave.comm import World
from faultwave.fd.grid import HALF, Grid
from faultwave.fd.points import RECORDED, lagrange
from faultwave.observe.fields import surface_fields, volume_fields
from faultwave.output.formats.awp_series import COMPONENTS, AwpWriter
from faultwave.output.formats.image import ImageWriter, Lattice
from faultwave.output.formats.xdmf import XdmfWriter

if TYPE_CHECKING:
    from faultwave.case.model import Case
    from faultwave.fd.operator import Operator
    from faultwave.fd.plan import FdPlan
    from faultwave.physics.waves import Law

SUFFIX = {"vtkhdf": "vtkhdf", "netcdf": "nc"}
Values = Callable[[], Mapping[str, np.ndarray]]


@dataclass(frozen=True)
class Window:
    """Cells of the grid: ``first`` (x, y, z), ``count`` (x, y, z), every ``stride``-th."""

    first: tuple[int, int, int]
    count: tuple[int, int, int]
    stride: int

    def lattice(self, grid: Grid, projection: Projection | None) -> Lattice:
        """Where their centres are."""
        h = grid.spacing
        origin = grid.middle(np.array(self.first[::-1])).tolist()
        made = Lattice((origin[0], origin[1], origin[2]), h * self.stride, self.count[::-1])
        return Lattice(made.origin, made.spacing, made.shape, degrees(made, projection))


def degrees(lattice: Lattice, projection: Projection | None) -> dict[str, np.ndarray]:
    """Longitude and latitude (ny, nx) of a lattice's points."""
    if projection is None:
        return {}
    x, y = lattice.nodes("x"), lattice.nodes("y")
    found = projection.to_continuous(np.stack(np.meshgrid(x, y), -1).reshape(-1, 2))
    return {n: found[:, k].reshape(len(y), len(x)) for k, n in enumerate(("longitude", "latitude"))}


def volume_window(setting: Any, grid: Grid, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> Window | None:
    """The cells of ``output.volume``: of its region, which lies in the box [lower, upper]; None if there are none."""
    low, high = np.array(lower, float), np.array(upper, float)
    if setting.region is not None:
        low, high = np.maximum(low, setting.region[0::2]), np.minimum(high, setting.region[1::2])
    h, corner = grid.spacing, np.array(grid.lower)
    first = np.ceil((low - corner) / h - 0.5 - 1e-6).astype(int)
    last = np.floor((high - corner) / h - 0.5 + 1e-6).astype(int)
    if (last < first).any():
        box = " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(lower, upper, strict=True))
        problems.error("output.volume.region", "holds no cell", f"a part of {box} m")
        return None
    # counted from the top, so that the uppermost plane of cells is always one of them
    stride = setting.every
    count = (last - first) // stride + 1
    first[2] = last[2] - (count[2] - 1) * stride
    a, b = first.tolist(), count.tolist()
    return Window((a[0], a[1], a[2]), (b[0], b[1], b[2]), stride)


def at_centres(
    values: np.ndarray, name: str, at: Sequence[np.ndarray], low: Sequence[int], grid: Grid, around: Collection[str]
) -> np.ndarray:
    """(nz, ny, nx) of a field at the cells numbered ``at`` along (z, y, x): cubic polynomials along each axis on which it sits half an
    edge off. ``values`` begin at the point ``low``; along the axes ``around`` they are those of the whole periodic grid."""
    result: np.ndarray = values
    for k, axis in enumerate("zyx"):
        if not HALF[name][2 - k]:
            result = np.take(result, at[k] - low[k], axis=k)
            continue
        start, size = at[k] - 2, grid.shape[k]
        if axis in around:
            places = [(start + m) % size for m in range(4)]
        else:
            start = np.clip(start, 0, size - 4) if len(values) and low[k] >= 0 else start
            places = [start + m - low[k] for m in range(4)]
        weights = lagrange(at[k] - 0.5, start)[0]
        parts = (
            np.take(result, places[m], axis=k) * weights[:, m].reshape([-1 if d == k else 1 for d in range(3)])
            for m in range(4)
        )
        result = sum(parts, start=np.zeros(1))
    return np.asarray(result)


def shot_steps(interval: float, case: Case, step: float, steps: int) -> list[int]:
    """After which steps: those whose velocities are nearest to the multiples of an interval."""
    count = int(case.end_time / interval + 1e-9)
    return sorted({min(round(k * interval / step + 0.5), steps) for k in range(count + 1)})


def disk_needed(case: Case, law: Law, grid: Grid, window: Window | None, surface: tuple[int, int]) -> float:
    """Bytes of all snapshots; ``surface``: points of it along x and y."""
    out, total = case.output, 0.0
    size = 4 if out.precision == "single" else 8

    def series(setting: Any, points: float, fields: int) -> float:
        snapshots = int(case.end_time / setting.interval + 1e-9) + 1
        images = len([f for f in setting.formats if f in SUFFIX])
        flat = 4 * len(COMPONENTS) if "awp" in setting.formats else 0
        return snapshots * points * (images * size * fields + flat)

    if out.surface is not None:
        every = out.surface.every
        points = float(np.prod([-(-n // every) for n in surface]))
        total += series(out.surface, points, len(surface_fields(out.surface)))
        if out.xdmf:
            total += (int(case.end_time / out.surface.interval) + 1) * 2 * float(np.prod(surface)) * size * 7
    if out.volume is not None and window is not None:
        total += series(out.volume, float(np.prod(window.count)), len(volume_fields(out.volume, law)))
    return total


class Shots:
    """Snapshots of one kind, ``surface`` or ``volume``, at multiples of an interval."""

    def __init__(
        self, kind: str, plan: FdPlan, lattice: Lattice, fields: Sequence[str], values: Values, folder: Path,
        stack: ExitStack, done: Sequence[float],
    ) -> None:  # fmt: skip
        """``done``: times of the snapshots that files of an earlier run hold, to go on from."""
        self.kind, self.plan, self.fields, self.values = kind, plan, list(fields), values
        self.writers: list[Any] = []
        out = plan.case.output
        setting = getattr(out, kind)
        self.due = shot_steps(setting.interval, plan.case, plan.scheme.step, plan.steps)
        dtype = np.float32 if out.precision == "single" else np.float64
        for form in dict.fromkeys(setting.formats) if plan.world.first else ():
            path = folder / f"{out.prefix}-{kind}"
            if form == "awp":
                self.writers.append(AwpWriter(f"{path}-S", lattice, done))
            else:
                self.writers.append(
                    ImageWriter(f"{path}.{SUFFIX[form]}", lattice, fields, dtype, len(self.due), done, plan.case.title)
                )
        for writer in self.writers:
            stack.enter_context(writer)

    def take(self, step: int) -> None:
        """Write a snapshot of now, after ``step`` steps, at the time of the velocities; stresses are half a step later. The first process
        writes what all have."""
        time = max(step - 0.5, 0.0) * self.plan.scheme.step
        found = self.values()
        for writer in self.writers:
            writer.append(time, {name: found[name] for name in writer.fields})


class Triangles(XdmfWriter):
    """A plane of cells (ny, nx) as two triangles each."""

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        super().append(time, {name: np.repeat(v.reshape(-1), 2) for name, v in values.items()})


def triangles(path: Path, plan: FdPlan, fields: Sequence[str], stack: ExitStack, done: Sequence[float]) -> Triangles:
    """The whole surface as XDMF: two triangles a cell."""
    h, (x0, y0, z0) = plan.scheme.grid.spacing, (plan.lower[0], plan.lower[1], plan.upper[2])
    nx, ny = np.round((plan.upper - plan.lower) / h).astype(int)[:2]
    x, y = x0 + h * np.arange(nx + 1), y0 + h * np.arange(ny + 1)
    points = np.stack([*np.meshgrid(x, y), np.full((ny + 1, nx + 1), z0)], -1).reshape(-1, 3)
    corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).reshape(-1)
    far = corner + nx + 1
    cells = np.stack([np.stack([corner, corner + 1, far + 1], 1), np.stack([corner, far + 1, far], 1)], 1).reshape(
        -1, 3
    )
    dtype = np.float32 if plan.case.output.precision == "single" else np.float64
    setting = plan.case.output.surface
    assert setting is not None
    steps = len(shot_steps(setting.interval, plan.case, plan.scheme.step, plan.steps)) if done else 0
    return stack.enter_context(Triangles(path, points, cells, {}, fields, dtype, steps, done))


def volume_values(plan: FdPlan, operator: Operator, window: Window) -> Values:
    """What a snapshot of the volume holds: the law's quantities asked for."""
    names = volume_fields(plan.case.output.volume, plan.law)
    if plan.case.output.volume is not None and "awp" in plan.case.output.volume.formats:
        names = list(dict.fromkeys([*names, *COMPONENTS]))
    arrays = dict(zip(plan.law.quantities, RECORDED, strict=True))
    grid, part = plan.scheme.grid, operator.subdomain
    whole = [window.first[2 - k] + window.stride * np.arange(window.count[2 - k]) for k in range(3)]
    owned, low = part.owned.box, part.box.lo
    mine = [np.flatnonzero((a >= owned.lo[k]) & (a < owned.hi[k])) for k, a in enumerate(whole)]
    at = [a[m] for a, m in zip(whole, mine, strict=True)]
    around = () if plan.shared else plan.scheme.periodic
    shape = (len(whole[0]), len(whole[1]), len(whole[2]))
    place = tuple(slice(int(m[0]), int(m[-1]) + 1) if len(m) else slice(0, 0) for m in mine)

    def values() -> dict[str, np.ndarray]:
        operator.refresh()
        found = {}
        for n in names:
            array = arrays[n]
            block = np.zeros([len(a) for a in at])
            if block.size:
                block = at_centres(operator.runner.values(array), array, at, low, grid, around)
            found[n] = assembled(plan.world, shape, place, block)
        return found

    return values


def assembled(world: World, shape: Sequence[int], place: tuple[slice, ...], block: np.ndarray) -> np.ndarray:
    """An array put together on the first process from a block of each; elsewhere nothing to be used."""
    if world.size == 1:
        return block
    found = np.zeros(shape, block.dtype)
    for where, part in world.gather((place, block)) or ():
        found[where] = part
    return found


__all__ = ["Shots", "Window", "assembled", "at_centres", "disk_needed", "triangles", "volume_values", "volume_window"]
