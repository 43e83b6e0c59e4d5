"""Recording of the wave field around a box (``output.box``), for runs that inject it and for structural engineers.

Without a spacing, the points of the grid that an injection needs are recorded in every step, so that the same grid
replays the field exactly; with a spacing, the points of a lattice are recorded, interpolated by the polynomials of
receivers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from faultwave.base.precision import number_bytes, number_type
from faultwave.base.types import Json, Setting
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.comm.messages import gather_rows
from faultwave.engine.box_sources import RecordedFaces, SideCounts, side_of_sources, source_places
from faultwave.engine.capability import Requirements, RestoredFrom, State
from faultwave.fd.capabilities.receivers import PointSampler, PointSeries
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, Solution
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.injection.total_field import (
    Points,
    TotalField,
    Update,
    block_with,
    box_corners,
    check_border,
    check_dispersion_is_uncorrected,
    needed,
    stored_coefficient,
    total_field,
)
from faultwave.fd.method.effective_medium import LIVES
from faultwave.fd.method.grid import HALF, Grid, SideKind
from faultwave.fd.method.scheme import Level
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.points import RECORDED, Sampler
from faultwave.fd.operators.resources import Memory
from faultwave.fd.shared_samplers import sampler_of
from faultwave.kernels.stencil import SampleBuffer
from faultwave.media.homogenise import at_points
from faultwave.observe import boxes
from faultwave.observe.boxes import KIND, MATERIAL, Frame, Nodes, Recorder, Shell, SourceSide, as_dataset, shell_of
from faultwave.observe.dataset import Result, sample_count

QUANTITY = dict(zip(RECORDED, boxes.RECORDED, strict=True))
"""Names in files of the grid's fields."""


def plan(planning: Planning) -> GridCapabilityPlan | None:
    """Return the record of a box, None if the case does not request one."""
    case, problems = planning.case, planning.problems
    setting = case.output.box
    if setting is None:
        return None
    if case.initial.kind != "zero":
        problems.error(
            "output.box", "a record must start at rest, but the case has an initial state", "initial.kind: zero"
        )
    check_dispersion_is_uncorrected(case, "output.box", problems)
    if setting.spacing is None:
        return GridRecord(case, planning.sides["z+"] == SideKind.FREE_SURFACE)
    surface = float(planning.upper[2]) if planning.sides["z+"] == SideKind.FREE_SURFACE else None
    found = shell_of(setting, surface, problems)
    return None if found is None else LatticeRecord(case, found)


# ---- at the points of the grid ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GridRecord(GridCapabilityPlan):
    """Record at the points of the grid.

    Attributes
    ----------
    case : Case
    free_surface : bool
        True if the upper side of the grid is a free surface.
    where : TotalField or None
        Box into which an injection brings this record, once there is a grid.
    points : mapping of str to ndarray (n, 3)
        Recorded points (z, y, x) by array.
    grid : Grid or None
        Grid of the block that contains the box.
    material : mapping of str to (Nodes, ndarray)
        Material at points on both sides of the faces.
    requirements : Requirements
    block : int
        Number of the block.
    update : Update
        Stencils of the block.
    side : SourceSide
        Side of the faces with the sources of the case.
    """

    case: Case
    free_surface: bool
    where: TotalField | None = None
    points: Mapping[str, Points] = field(default_factory=dict)
    grid: Grid | None = None
    material: Mapping[str, tuple[Nodes, np.ndarray]] = field(default_factory=dict)
    requirements: Requirements = Requirements()
    block: int = 0
    update: Update = Update(False, 4)
    side: SourceSide = SourceSide.UNKNOWN
    name = "box"
    boxed = True

    @property
    def count(self) -> int:
        """Number of recorded points of all arrays."""
        return sum(len(points) for points in self.points.values())

    @property
    def must_match(self) -> Json:
        return None if self.where is None else [*self.where.box.lo, *self.where.box.hi]

    @property
    def places(self) -> np.ndarray:
        if self.grid is None:
            return np.zeros((0, 3))
        return np.concatenate([self.grid.place(of, HALF[name]) for name, of in self.points.items()])

    def locate(self, placing: PlacementContext) -> Self:
        setting: Setting = self.case.output.box
        lower, upper = np.array(setting.lower), np.array(setting.upper)
        block = block_with(placing, lower, upper)
        placing = placing.of_block(block)
        where = total_field(placing, lower, upper, self.free_surface, "output.box")
        if where is None:
            return self
        update = Update.of(self.case, placing.order)
        return replace(self, where=where, points=needed(where, update), grid=placing.grid, block=block, update=update)

    def memory(self, steps: int, world: World) -> Memory:
        needed = float(self.count * steps * number_bytes(self.case.numerics.precision)) * (
            2.0 / world.size + (world.size > 1)
        )
        what = f"{self.count:,} points around the box of output.box in {steps:,} steps"
        return Memory(needed, "output.box", what, "Choose a smaller box, or set a spacing and an interval.")

    def check(self, checking: MaterialContext) -> Self:
        if self.where is None or self.grid is None:
            return self
        check_border(checking.of_block(self.block), self.where, "output.box")
        points = self.where.strip(self.update.reach)
        nodes = nodes_of(self.grid, "sxx", points, self.where)
        values = at_points(checking.field, list(MATERIAL), nodes.places(), np.ones(len(points), np.int64))
        requirements = Requirements(disk=self.count * checking.steps * number_bytes(self.case.numerics.precision))
        faces = RecordedFaces(*box_corners(self.grid, self.where), self.where.top is not None)
        material = {name: (nodes, of) for name, of in values.items()}
        return replace(
            self,
            requirements=requirements,
            material=material,
            side=_side_of_sources(checking, faces, self.update.reach * self.grid.spacing),
        )

    def sampler(self, plan: FdPlan) -> Sampler | None:
        return GridSampler(self.points, plan)

    def attach(self, solver: Running) -> GridCapability:
        return GridRecording(self, solver.plan.blocks[self.block], solver.samplers[self.name].mine)

    def report(self, plan: FdPlan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        size = self.count * plan.steps * number_bytes(self.case.numerics.precision)
        return {
            "output": [("record of a box", f"{self.count:,} points in {plan.steps:,} steps, {size / 2**20:,.0f} MiB")]
        }


class GridSampler:
    """Sampler of grid points without interpolation.

    Attributes
    ----------
    mine : ndarray
        Indices of the points that this process owns, counted over all arrays.
    """

    shape = ()

    def __init__(self, points: Mapping[str, Points], plan: FdPlan):
        self.sample_buffers: list[SampleBuffer] = []
        mine, first = list[np.ndarray](), 0
        for name, listed in points.items():
            here = np.arange(len(listed))
            if plan.partition is not None:
                subdomain = plan.partition.subdomain
                here = np.flatnonzero(subdomain.cut.rank_of(listed) == subdomain.rank)
            level = Level.VELOCITY if name in VELOCITY else Level.STRESS
            self.sample_buffers.append(SampleBuffer(level, name, listed[here]))
            mine.append(first + here)
            first += len(listed)
        self.mine = np.concatenate(mine)

    def values(self, sample_buffers: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values (steps, points)."""
        return np.concatenate(sample_buffers, 1)


class GridRecording(GridCapability):
    """Samples of every step so far at the points ``mine``."""

    def __init__(self, part: GridRecord, plan: FdPlan, mine: np.ndarray):
        self.part, self.plan, self.mine = part, plan, mine
        self.dtype = number_type(part.case.numerics.precision)
        self.start(None)

    def start(self, state: Solution | None) -> None:
        self.steps: list[np.ndarray] = [np.zeros((0, len(self.mine)), self.dtype)]

    def sampled(self, values: np.ndarray) -> None:
        self.steps.append(np.array(values, self.dtype))

    def _whole(self) -> np.ndarray:
        self.steps = [np.concatenate(self.steps)]
        return self.steps[0]

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.steps = [np.ascontiguousarray(values.T, self.dtype)]

        return {"samples": State(self.mine, lambda: self._whole().T, write)}

    def results(self) -> Iterable[Result]:
        part, world, values = self.part, self.plan.world, self._whole()
        coefficients = {name: of for name in LIVES if (of := self._coefficient(name)) is not None}
        if world.size > 1:
            found = gather_rows(world, self.mine, [values.T], part.count)
            if found is None:
                return
            values = found[0].T
        assert part.where is not None and part.grid is not None
        grid, step = part.grid, self.plan.scheme.step
        lower, upper = box_corners(grid, part.where)
        frame = Frame(lower, upper, part.where.top is not None, grid.spacing, step, recorded_by(self.plan, part.side))
        series, nodes, first = dict[str, np.ndarray](), dict[str, Nodes](), 0
        for name, points in part.points.items():
            series[QUANTITY[name]] = values[:, first : first + len(points)]
            nodes[QUANTITY[name]] = nodes_of(grid, name, points, part.where)
            first += len(points)
        begin = {QUANTITY[name]: (0.5 if name in VELOCITY else 1.0) * step for name in part.points}
        yield Result(
            KIND,
            as_dataset(frame, nodes, begin, series, {**part.material, **coefficients}),
            settings={"formats": ["box"]},
        )

    def _coefficient(self, name: str) -> tuple[Nodes, np.ndarray] | None:
        """Return a material coefficient on both sides of the faces, on the first process.

        A run that injects must have the same values on the side of its scattered field.
        """
        where, grid, plan = self.part.where, self.part.grid, self.plan
        assert where is not None and grid is not None
        points = where.strip(self.part.update.reach)
        points = points[where.there(LIVES[name], points)]
        here = np.arange(len(points))
        if plan.partition is not None:
            here = np.flatnonzero(plan.partition.subdomain.cut.rank_of(points) == plan.partition.subdomain.rank)
        found = gather_rows(plan.world, here, [stored_coefficient(plan, name, points[here])], len(points))
        return None if found is None else (nodes_of(grid, LIVES[name], points, where), found[0])


def recorded_by(plan: FdPlan, side: SourceSide) -> Recorder:
    """Return the description of this grid and of the ``side`` of its sources for the record."""
    return Recorder("fd", plan.scheme.order, plan.scheme.grid.spacing, plan.scheme.step, side)


FAULT_REACH = 6
"""Number of points around a fault within which nothing can be recorded: its split points and the stencils that read them."""


def _side_of_sources(checking: MaterialContext, faces: RecordedFaces, margin: float) -> SourceSide:
    """Return the side of the faces with the sources of the case; report faults and sources at the faces.

    Sources within ``margin`` [m] of the faces act on recorded points of both sides.
    """
    case = checking.case
    places = source_places(case)
    if len(places):
        places = checking.placing.located(places, "sources")
    fault: Setting = None if case.grid is None else case.grid.fault
    corners = np.zeros((2, 0, 3)) if fault is None else np.array([[fault.lower], [fault.upper]], float)
    points = SideCounts.of(faces.count(places, places, margin), margin)
    apart = max(margin, FAULT_REACH * checking.placing.grid.spacing)
    faults = SideCounts.of(faces.count(corners[0], corners[1], apart), apart)
    return side_of_sources(case, points, faults, checking.problems)


def nodes_of(grid: Grid, name: str, points: Points, where: TotalField) -> Nodes:
    """Return grid points as stored in files, with indices along x, y and z from the first cell of the box."""
    lo = np.array(where.box.lo)
    top = grid.upper[2] if where.top is not None else np.inf
    return Nodes(grid.first(HALF[name]) + grid.spacing * lo[::-1], grid.spacing, (points - lo)[:, ::-1], top)


# ---- at the points of a lattice -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LatticeRecord(GridCapabilityPlan):
    """Record at the points of a lattice.

    Attributes
    ----------
    case : Case
    shell : Shell
        Lattice points around the box.
    material : mapping of str to ndarray (n,)
        Material at the points.
    requirements : Requirements
    chosen : ndarray or None
        Indices of the points of the shell that are recorded; None for all.
    side : SourceSide
        Side of the faces with the sources of the case.
    """

    case: Case
    shell: Shell
    material: Mapping[str, np.ndarray] = field(default_factory=dict)
    requirements: Requirements = Requirements()
    chosen: np.ndarray | None = None
    side: SourceSide = SourceSide.UNKNOWN
    name = "box"

    @property
    def setting(self) -> Setting:
        """Settings ``output.box`` of the case."""
        return self.case.output.box

    @property
    def points(self) -> np.ndarray:
        return self.shell.places if self.chosen is None else self.shell.places[self.chosen]

    @property
    def places(self) -> np.ndarray:
        return self.points

    def select(self, numbers: np.ndarray) -> Self:
        return replace(self, chosen=numbers)

    @property
    def must_match(self) -> Json:
        return [*self.setting.lower, *self.setting.upper, self.setting.spacing]

    @property
    def numbers(self) -> int:
        """Number of recorded values."""
        return len(self.points) * len(RECORDED) * sample_count(self.case.end_time, self.setting.interval)

    def locate(self, placing: PlacementContext) -> Self:
        lower, upper = self.points.min(0), self.points.max(0)
        if placing.grid.relief is not None and self.shell.open_top:
            placing.problems.error(
                "output.box", "below a topography a box cannot reach the free surface", "a lower upper face"
            )
        elif placing.outside(np.stack([lower, upper])).any():
            what = f"the points around the box, {self.shell.text}, are partly outside of the grid"
            placing.problems.error("output.box", what, f"points in {placing.box} m")
        return replace(self, requirements=Requirements(disk=8 * self.numbers))

    def check(self, checking: MaterialContext) -> Self:
        found = at_points(checking.field, list(MATERIAL), self.points, np.ones(len(self.points), np.int64))
        shell = self.shell
        faces = RecordedFaces(shell.lower, shell.upper, shell.open_top)
        return replace(self, material=found, side=_side_of_sources(checking, faces, shell.deep * shell.spacing))

    def memory(self, steps: int, world: World) -> Memory:
        what = f"{len(self.points):,} points around the box of output.box"
        return Memory(
            float(self.numbers) * (number_bytes(self.case.numerics.precision) / world.size + 16),
            "output.box",
            what,
            "Raise its interval.",
        )

    def sampler(self, plan: FdPlan) -> Sampler | None:
        return sampler_of(plan.partition, plan.scheme, self.points, lambda x: PointSampler(plan.scheme, x, False))

    def attach(self, solver: Running) -> GridCapability:
        return LatticeRecording(self, solver.plan, solver.samplers[self.name].mine)


class LatticeRecording(PointSeries):
    """Samples at lattice points, recorded in the same way as at receivers."""

    def __init__(self, part: LatticeRecord, plan: FdPlan, mine: np.ndarray):
        super().__init__(plan, part.points, mine, part.setting.interval)
        self.part = part

    def results(self) -> Iterable[Result]:
        found, part = self.gathered(), self.part
        if found is None:
            return
        series = {QUANTITY[name]: found[1][:, :, 0, column] for column, name in enumerate(RECORDED)}
        data = part.shell.dataset(series, part.material, part.setting.interval, recorded_by(self.plan, part.side))
        yield Result(KIND, data, settings={"formats": part.setting.formats, "layers": part.setting.layers})
