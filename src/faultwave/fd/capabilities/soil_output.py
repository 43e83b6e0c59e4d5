"""Strain and stress of soft soil at points, and maps of its peak strain, from the arrays of the capability ``soil``.

The stress is the stress of the yield surfaces in the cell itself, which is the modulus times the common strain less the
lost strain. Therefore stress and strain lie on the curve of the soil exactly. The shear stresses of the grid lie on
edges and lose the mean of four cells; their mean over a cell includes its neighbours and lies off the curve where
strain varies from cell to cell.

Strain, and the strain lost in the step, are read when the velocities of the next step are known: samples belong to the
step before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.base.precision import number_bytes, number_type
from faultwave.base.types import Json
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import Requirements, RestoredFrom, State
from faultwave.engine.receivers import SeriesRecorder, gather_receivers, series_state
from faultwave.fd.capabilities import soil
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, Solution
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.scheme import Level
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.resources import Memory
from faultwave.fd.shared_samplers import ANY
from faultwave.kernels.stencil import Box, SampleBuffer
from faultwave.media.homogenise import at_points
from faultwave.observe.dataset import Dataset, Result, Variable, receivers_from_arrays, sample_count
from faultwave.observe.soil_loops import largest
from faultwave.observe.stations.points import read_points
from faultwave.physics.rheology.iwan import PARTS

name = "soil_output"
WHERE = "output.soil"
SHEAR = ("xy", "yz", "xz")
STRAINS = tuple(f"gamma_{part}" if part in SHEAR else f"dev_strain_{part}" for part in PARTS)
STRESSES = tuple(f"s_{part}" if part in SHEAR else f"dev_s_{part}" for part in PARTS)
TENSOR = np.array([1.0 if part in SHEAR else 0.5 for part in PARTS])
"""Factors from the doubled strains of the elements to the output: shear strain gamma, and the tensor's deviator."""
SAMPLE_TIME_IN_STEP = 0.0
"""Time of the sampled state after the start of its step, in steps."""
COPIES = 4
"""Number of copies of the samples in memory at the end of a run."""


def plan(planning: Planning) -> SoilOutput | None:
    """Return the output of soil, None if the case does not request it."""
    case = planning.case
    if case.output.soil is None:
        return None
    if case.soil is None:
        planning.problems.error(WHERE, "the case has no soft soil", "a case with `soil`")
        return None
    with collect_problems(planning.problems):
        return SoilOutput(case, read_points(case.output.soil))
    return None


@dataclass(frozen=True)
class SoilOutput(GridCapabilityPlan):
    """Output of soil at points and as maps.

    Attributes
    ----------
    case : Case
    points : ndarray (n, 3)
        Requested points [m], with z as elevation once there is a grid.
    requirements : Requirements
    cells : ndarray (n, 3)
        Cells (z, y, x) that contain them, once there is a grid.
    centres : ndarray (n, 3)
        Centres of these cells [m].
    columns : int
        Number of columns of the maps.
    block : ndarray (n,) of int
        Number of the block that contains each point.
    """

    case: Case
    points: np.ndarray
    requirements: Requirements = Requirements()
    cells: np.ndarray = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    centres: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    columns: int = 0
    block: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    name = name

    @property
    def interval(self) -> float:
        """Sampling interval [s]."""
        setting = self.case.output.soil
        assert setting is not None
        return setting.interval

    @property
    def samples(self) -> int:
        """Number of samples in time."""
        return sample_count(self.case.end_time, self.interval)

    @property
    def must_match(self) -> Json:
        return self.points.tolist()

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Self:
        chosen = {n: getattr(self, n)[numbers] for n in ("points", "cells", "centres", "block")}
        return replace(self, **chosen)

    def locate(self, placing: PlacementContext) -> Self:
        points = placing.located(self.points, "receivers")
        placing.check_inside([(f"{WHERE}.points[{i}]", p) for i, p in enumerate(points)], "receivers")
        block = (points[:, 2, None] < np.array(placing.faces)).sum(1)
        cells, centres = np.zeros((len(points), 3), np.int64), np.zeros((len(points), 3))
        for number in np.unique(block):
            here, (cell, centre) = block == number, _cells(placing.of_block(int(number)), points[block == number])
            cells[here], centres[here] = cell, centre
        disk = 8 * 2 * len(PARTS) * len(points) * self.samples
        columns = int(np.prod(placing.surface))
        disk += 8 * len(MAPS) * columns
        requirements = Requirements(disk=disk)
        return replace(
            self, requirements=requirements, points=points, cells=cells, centres=centres, columns=columns, block=block
        )

    def check(self, checking: MaterialContext) -> Self:
        """Report an error for points in rock."""
        setting = self.case.soil
        assert setting is not None
        if not len(self.points) or len(checking.problems.errors):
            return self
        rock = at_points(checking.field, ["rho", "mu"], self.centres, np.ones(len(self.centres), np.int64))
        speeds = np.sqrt(rock["mu"] / rock["rho"])
        for i in np.flatnonzero(speeds >= setting.slower_than):
            x = ", ".join(f"{v:g}" for v in self.points[i])
            what = f"({x}) is in rock, whose S speed is {speeds[i]:g} m/s"
            checking.problems.error(f"{WHERE}.points[{i}]", what, f"soil, slower than {setting.slower_than:g} m/s")
        return self

    def memory(self, steps: int, world: World) -> Memory:
        numbers = float(len(self.points) * 2 * len(PARTS)) * self.samples
        needed = (
            numbers * (number_bytes(self.case.numerics.precision) / world.size + COPIES * 8) + 3 * 8.0 * self.columns
        )
        what = f"soil at {len(self.points):,} points with {self.samples:,} samples"
        return Memory(needed, WHERE, what, "Raise output.soil.interval, or use fewer points.")

    def sampler(self, plan: FdPlan) -> CellSampler | None:
        return CellSampler(self.cells, plan) if len(self.points) else None

    def attach(self, solver: Running) -> AttachedSoilOutput:
        sampler = solver.samplers.get(self.name)
        return AttachedSoilOutput(self, solver, np.zeros(0, np.int64) if sampler is None else sampler.mine)


def _cells(placing: PlacementContext, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cells (n, 3) of a block that contain points (n, 3) [m], and their centres [m]."""
    grid = placing.grid
    low, high = (np.round((side - np.array(grid.lower)) / grid.spacing) for side in (placing.lower, placing.upper))
    cells = np.clip(grid.cell(points), low[::-1], high[::-1] - 1).astype(np.int64)
    return cells, grid.middle(cells)


class CellSampler:
    """Sampler of strains, and of strains lost in each step, in cells (n, 3) of soil that the process owns."""

    shape = (1, 2 * len(PARTS))

    def __init__(self, cells: np.ndarray, plan: FdPlan):
        own = np.arange(len(cells))
        if plan.partition is not None:
            subdomain = plan.partition.subdomain
            own = np.flatnonzero(subdomain.cut.rank_of(cells) == subdomain.rank)
        self.mine = own
        self.sample_buffers: list[SampleBuffer] = []
        self.read: list[np.ndarray] = []  # by tile, indices among the places of this process
        arrays = (soil.REFERENCE, *map(soil.total, PARTS))
        for tile in plan.parts["soil"].tiles_of(plan.scheme.grid):  # type: ignore[attr-defined]
            here = np.flatnonzero(tile.holds(cells[own]))
            if len(here):
                self.read.append(here)
                listed = cells[own][here]
                names = [*map(tile.named, arrays), *map(soil.loss, PARTS)]
                self.sample_buffers += [SampleBuffer(Level.VELOCITY, n, listed) for n in names]
        if not self.read:  # to learn the number of steps
            self.sample_buffers.append(SampleBuffer(Level.VELOCITY, ANY, cells[:0]))

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return strains and the strains lost in each step, both twice the tensor's, (steps, points, 1, 10)."""
        result = np.zeros((len(sample_buffers[0]), len(self.mine), *self.shape))
        each = 1 + 2 * len(PARTS)
        for n, here in enumerate(self.read):
            reference, *others = (b.astype(float) for b in sample_buffers[n * each : (n + 1) * each])
            strains = [reference * strain for strain in others[: len(PARTS)]]
            result[:, here, 0] = np.stack([*strains, *others[len(PARTS) :]], -1)
        return result


class AttachedSoilOutput(GridCapability):
    """Samples at the points ``mine`` of this process, and maps."""

    def __init__(self, part: SoilOutput, solver: Running, mine: np.ndarray):
        self.part, self.plan, self.operator, self.mine = part, solver.plan, solver.operator, mine
        moduli = [
            _shear_modulus(solver.operator.blocks[n], cell)
            for n, cell in zip(part.block[mine], part.cells[mine], strict=True)
        ]
        self.modulus = np.array(moduli).reshape(-1, 1)
        self.start(None)

    def start(self, state: Solution | None) -> None:
        """Start the series; soil begins without strain."""
        retained = number_type(self.part.case.numerics.precision)
        first = np.zeros((len(self.mine), *CellSampler.shape), retained)
        late = [SAMPLE_TIME_IN_STEP] * first.shape[-1]
        self.recorder = SeriesRecorder(self.plan.scheme.step, late, first, self.part.interval)
        self.lost = np.zeros((len(self.mine), len(PARTS)))

    def sampled(self, values: np.ndarray) -> None:
        """Append strains, and the stresses [Pa] of the yield surfaces."""
        strain, lost = values[:, :, 0, : len(PARTS)], values[:, :, 0, len(PARTS) :]
        lost = self.lost + np.cumsum(lost, axis=0)
        self.lost = lost[-1].copy()
        stress = self.modulus * (strain - lost)
        self.recorder.append(np.concatenate([strain * TENSOR, stress], -1)[:, :, None])

    def state(self) -> Mapping[str, State]:
        if not len(self.part.points):
            return {}

        def restore(values: np.ndarray, origin: RestoredFrom) -> None:
            self.lost = np.asarray(values, float)

        return {**series_state(self.recorder, self.mine), "lost": State(self.mine, lambda: self.lost, restore)}

    def results(self) -> Iterable[Result]:
        """Return the samples and maps of all processes, on the first."""
        if len(self.part.points):
            yield from self._records()
        yield from self._maps()

    def _records(self) -> Iterable[Result]:
        time, values = self.recorder.arrays()
        gathered = gather_receivers(values, self.mine, len(self.part.points), self.plan.world)
        if gathered is None:
            return
        columns = gathered[:, :, 0]
        made = receivers_from_arrays(time, columns, (*STRAINS, *STRESSES), self.part.centres, self.part.points)
        variables = made.variables | loops(columns)
        yield Result("soil_receivers", Dataset("soil_receivers", variables, made.attrs))

    def _maps(self) -> Iterable[Result]:
        """Yield the maps of the columns within the requested box, NaN where there is no soil."""
        plan, h = self.plan, self.plan.scheme.grid.spacing
        nx, ny = np.round((plan.upper - plan.lower) / h).astype(int)[:2]
        maps = [self._block_maps(op, block) for op, block in zip(self.operator.blocks, plan.blocks, strict=True)]
        if not plan.world.first:
            return
        whole = maps[0]
        for below in maps[1:]:  # a cell of a block of larger spacing covers several columns
            _keep_larger(whole, {key: np.kron(v, np.ones((ny // len(v), ny // len(v)))) for key, v in below.items()})
        variables = {
            n: Variable(plan.lower[k] + h * (np.arange(count) + 0.5), (n,), "m", f"{n} of the cell centres")
            for k, (n, count) in enumerate((("x", nx), ("y", ny)))
        }
        variables |= {key: Variable(whole[key], ("y", "x"), *MAPS[key]) for key in MAPS}
        yield Result("soil_maps", Dataset("strain of soft soil", variables, {"case": plan.case.title}))

    def _block_maps(self, op: Operator, block: FdPlan) -> dict[str, np.ndarray]:
        """Return the maps (ny, nx) of a block within the requested box; valid on the first process."""
        grid, plan = block.scheme.grid, self.plan
        first = np.round((plan.lower - np.array(grid.lower)) / grid.spacing).astype(int)[:2]
        nx, ny = np.round((plan.upper - plan.lower) / grid.spacing).astype(int)[:2]
        whole = {key: np.full(grid.shape[1:], np.nan) for key in MAPS}
        for part in plan.world.gather(self._columns(op)) or ():
            for (y, x), found in part:
                here = {key: whole[key][y : y + v.shape[0], x : x + v.shape[1]] for key, v in found.items()}
                _keep_larger(here, found)
        return {key: v[first[1] : first[1] + ny, first[0] : first[0] + nx] for key, v in whole.items()}

    def _columns(self, op: Operator) -> list[tuple[tuple[int, int], dict[str, np.ndarray]]]:
        """Return the maps of each tile of a block that this process owns, with its corner (y, x)."""
        scheme, found = op.scheme, []
        owned = scheme.filled(op.subdomain.owned.box)
        for tile in self.plan.parts["soil"].tiles_of(scheme.grid):  # type: ignore[attr-defined]
            if tile.named(soil.PEAK) not in op.runner.program.arrays:
                continue
            box = op.runner.program.arrays[tile.named(soil.PEAK)].box
            low = [max(a, b) for a, b in zip(owned.lo, box.lo, strict=True)]
            high = [min(a, b) for a, b in zip(owned.hi, box.hi, strict=True)]
            if any(a >= b for a, b in zip(low, high, strict=True)):
                continue
            at = tuple(slice(a - b, c - b) for a, b, c in zip(low, box.lo, high, strict=True))
            ratio, reference = (op.runner.values(tile.named(n))[at].astype(float) for n in (soil.PEAK, soil.REFERENCE))
            strain = np.where(reference > 0, ratio * reference, np.nan)
            plane = np.where(reference > 0, strain, -1.0).argmax(0)[None]
            places = scheme.grid.places("sxx", Box((low[0], low[1], low[2]), (high[0], high[1], high[2])))
            relief = self.plan.scheme.grid.relief
            deep = (self.plan.upper[2] if relief is None else relief.ground(places)) - places[..., 2]
            top, depth, of = (np.take_along_axis(v, plane, 0)[0] for v in (strain, deep, reference))
            soft = ~np.isnan(top)
            over = np.where(soft, top / np.where(soft, of, 1.0), np.nan)
            maps = dict(zip(MAPS, (top, np.where(soft, depth, np.nan), over), strict=True))
            found.append(((low[1], low[2]), maps))
        return found


def _keep_larger(into: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> None:
    """Replace the values of maps where the strain of other maps is larger."""
    larger = (found["peak_strain"] > into["peak_strain"]) | np.isnan(into["peak_strain"])
    for key, values in into.items():
        values[larger] = found[key][larger]


def _shear_modulus(op: Operator, cell: np.ndarray) -> float:
    """Return the shear modulus [Pa] at the centre of a cell (z, y, x) that this process owns."""
    z, y, x = cell.tolist()
    (_, y0, x0) = op.subdomain.owned.box.lo
    stretch = op.scheme.grid.stretch("sxx", Box((z, y, x), (z + 1, y + 1, x + 1)))  # by which coefficients are divided
    return float(0.5 * op.plane("mu2", z)[y - y0, x - x0] * stretch[0, 0, 0])


MAPS = {
    "peak_strain": ("", "largest shear strain in the column of soil"),
    "peak_strain_depth": ("m", "depth of the largest shear strain"),
    "peak_strain_ratio": ("", "largest shear strain over the reference strain there"),
}
"""Unit and description of each map by name."""


def loops(values: np.ndarray) -> dict[str, Variable]:
    """Return amplitude, modulus and damping of the largest loop of each point from samples (nt, n, 10).

    The loop is taken of the shear component with the largest range of strain.
    """
    found = []
    for n in range(values.shape[1]):
        record = [values[:, n, [STRAINS.index(f"gamma_{c}"), len(PARTS) + STRESSES.index(f"s_{c}")]] for c in SHEAR]
        strain, stress = max(record, key=lambda r: float(np.ptp(r[:, 0])) if len(r) else 0.0).T
        found.append(largest(strain, stress) if len(strain) else None)
    named = {
        "loop_strain": ("amplitude", "", "strain amplitude of the largest half loop between two turns; NaN without"),
        "loop_modulus": ("modulus", "Pa", "shear modulus from turn to turn of that half loop"),
        "loop_damping": ("damping", "", "damping of that half loop, as a fraction of critical"),
    }
    return {
        key: Variable(np.array([getattr(x, of, np.nan) for x in found], float), ("receiver",), unit, text)
        for key, (of, unit, text) in named.items()
    }
