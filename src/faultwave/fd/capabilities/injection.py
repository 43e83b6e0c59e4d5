"""Injection of the waves of another run, or of plane waves, into a box of the grid or out of it (``injection``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.base.types import Json, Setting
from faultwave.case.settings.model import Case
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.injection.incident import Incident
from faultwave.fd.injection.incident_fields import Source, source_of
from faultwave.fd.injection.total_field import (
    LevelCorrections,
    Points,
    StencilCoefficients,
    TotalField,
    Update,
    block_with,
    box_corners,
    check_border,
    check_dispersion_is_uncorrected,
    levels,
    needed,
    stored_coefficient,
    total_field,
)
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.program import interior_coefficients
from faultwave.fd.method.scheme import LEVELS
from faultwave.fd.operators.operator import memory_tables
from faultwave.fd.operators.points import images
from faultwave.kernels.stencil import Injection as Push
from faultwave.observe.boxes import SourceSide
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import Sources

AT_ONCE = 1 << 22
"""Number of values of the incident field that are read in one block."""


def plan(planning: Planning) -> InjectedWaves | None:
    """Return the injection of the case, None if it has none."""
    case, problems = planning.case, planning.problems
    if case.injection is None:
        return None
    if case.initial.kind != "zero":
        problems.error(
            "injection", "injection needs a box at rest, but the case has an initial state", "initial.kind: zero"
        )
    check_dispersion_is_uncorrected(case, "injection", problems)
    with collect_problems(problems):
        return InjectedWaves(case, source_of(case.injection), planning.sides["z+"] == SideKind.FREE_SURFACE)
    return None


@dataclass(frozen=True)
class InjectedWaves(GridCapabilityPlan):
    """Injection of an incident wave field into a box, or out of it.

    Attributes
    ----------
    case : Case
    source : Source
        Incident field.
    free_surface : bool
        True if the upper side of the grid is a free surface.
    where : TotalField or None
        Points with the total field, once there is a grid.
    points : mapping of str to ndarray (n, 3)
        Points whose incident field is needed, by array.
    acts_until : float
        Time [s] until which it acts.
    summary : tuple
        Rows of the report on the incident field.
    block : int
        Number of the block that contains the box.
    grid : Grid or None
        Grid of that block.
    """

    case: Case
    source: Source
    free_surface: bool
    where: TotalField | None = None
    points: Mapping[str, Points] = field(default_factory=dict)
    acts_until: float = 0.0
    summary: tuple[tuple[str, ...], ...] = ()
    block: int = 0
    grid: Grid | None = None
    name = "injection"
    boxed = True

    @property
    def radiating(self) -> Sources:  # type: ignore[override]
        return self.source.radiating

    @property
    def must_match(self) -> Json:
        if self.where is None:
            return None
        direction = ["outward"] * self.where.outward
        return [*self.where.box.lo, *self.where.box.hi, *self.source.identity, *direction]

    @property
    def places(self) -> np.ndarray:
        """Corners of the box."""
        if self.where is None or self.grid is None:
            return np.zeros((0, 3))
        return np.stack(box_corners(self.grid, self.where))

    def locate(self, placing: PlacementContext) -> Self:
        setting: Setting = self.case.injection
        given = setting.lower is not None
        lower, upper = (np.array(setting.lower), np.array(setting.upper)) if given else self.source.box
        block = block_with(placing, lower, upper)
        placing = placing.of_block(block)
        where = total_field(placing, lower, upper, self.free_surface, "injection")
        if where is None:
            return self
        where = replace(where, outward=setting.total_field == "outside")
        points = needed(where, Update.of(self.case, placing.order))
        self.source.check_reach(placing, where, points)
        return replace(self, where=where, points=points, block=block, grid=placing.grid)

    def check(self, checking: MaterialContext) -> Self:
        if self.where is None or checking.problems.errors:
            return self
        checking = checking.of_block(self.block)
        check_border(checking, self.where, "injection")
        _check_sources(self.case, self.where, checking, self.source.recorded)
        reported = tuple(self.source.check(checking, self.where, self.points))
        return replace(self, summary=reported, acts_until=self.case.end_time)

    def drive(self, plan: FdPlan) -> InjectedWaveInjector:
        assert self.where is not None
        return InjectedWaveInjector(plan, self.where, self.points, self.source)

    def report(self, plan: FdPlan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        assert self.where is not None and self.grid is not None
        a, b = box_corners(self.grid, self.where)
        box = " x ".join(f"[{x:g}, {y:g}]" for x, y in zip(a, b, strict=True))
        faces = "five faces and the free surface" if self.where.top is not None else "six faces"
        count = sum(map(len, self.points.values()))
        return {
            "injection": [
                ("box", f"{box} m, {faces}"),
                (
                    "total field",
                    "outside; inside the box are waves that return to it" if self.where.outward else "inside",
                ),
                ("incident field", f"{count:,} numbers a step"),
                *self.summary,
            ]
        }


def _check_sources(case: Case, where: TotalField, checking: MaterialContext, recorded: SourceSide) -> None:
    """Report errors for sources near a face of the box or on the side of the ``recorded`` ones.

    A source of the case on that side would radiate twice: from its place, and as part of the injected waves. Where the
    side of the sources of the injected waves is unknown, sources on the side of the scattered field cause a warning.
    """
    placing, problems = checking.placing, checking.problems
    reach = 2 * Update.of(case, placing.order).reach
    lower, upper = box_corners(placing.grid, where)
    if any(source.kind == "plane-wave" for source in case.sources):
        problems.error("sources", "the plane z of a plane wave crosses the injection box", "injection.plane_wave")
    found = load_sources(case.sources, projection=case.projection)
    if not len(found):
        return
    places = placing.located(found.location, "sources")
    if where.top is not None:
        upper[2] = np.inf
    gap = np.minimum(places - lower, upper - places).min(1) / placing.grid.spacing
    close = np.flatnonzero(np.abs(gap) < reach)
    if len(close):
        x, y, z = places[close[0]]
        more = f", and {len(close) - 1} more," * (len(close) > 1)
        what = f"the source at ({x:g}, {y:g}, {z:g}){more} lies within {reach} points of a face of the injection box"
        problems.error(str(found.names[close[0]]), what, "deeper inside, or farther outside")
    scattered = int((gap >= reach if where.outward else gap <= -reach).sum())
    if scattered:
        side = "inside" if where.outward else "outside of"
        if recorded in (SourceSide.BOTH, SourceSide.INSIDE if where.outward else SourceSide.OUTSIDE):
            what = (
                f"{scattered} of {len(found)} act {side} the injection box, like the sources of the record: their waves would be "
                "added twice"
            )
            allowed = f"sources {'outside of' if where.outward else 'inside'} the box"
            advice = (
                "Remove them. Waves of other sources there follow from a separate run and add to those of this one."
            )
            problems.error("sources", what, allowed, advice)
            return
        what = f"{scattered} of {len(found)} act {side} the injection box: their waves are part of the scattered field"
        problems.warn("sources", what, advice="Remove sources whose waves are in the record.")


class InjectedWaveInjector:
    """Source injector of the corrections near the faces of the box (``fd.injection.total_field``)."""

    def __init__(self, plan: FdPlan, where: TotalField, listed: Mapping[str, Points], source: Source):
        update = Update.of(plan.case, plan.scheme.order)
        strip = where.strip(update.reach)
        number, places = images(plan.scheme, plan.box, strip)
        tables = {} if plan.relaxation is None else memory_tables(plan.relaxation, plan.scheme.step)
        numbers = StencilCoefficients(
            lambda name: stored_coefficient(plan, name, places), interior_coefficients(plan.scheme), tables
        )
        found = levels(where, update, numbers, listed, strip[number]) if len(places) else []
        self.levels: list[LevelCorrections] = [level for level in found if level.count]
        self.count = max((level.count for level in self.levels), default=0)
        self.injections: list[Push] = []
        for level in self.levels:
            first = 0
            for name, rows in level.rows.items():
                sources = first + np.arange(len(rows))
                self.injections.append(Push(level.number, name, places[rows], np.ones(len(rows)), sources))
                first += len(rows)
        self.incident: Incident | None = source.incident(plan, where, listed) if self.levels else None
        self.block = max(1, AT_ONCE // max(1, sum(map(len, listed.values()))))
        self._cached: dict[int, dict[int, np.ndarray]] = {}

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """Return amplitudes (levels, steps, count) (see ``Drive``)."""
        found = np.zeros((LEVELS, steps, self.count))
        for block in range(first // self.block, (first + steps - 1) // self.block + 1):
            begin = block * self.block
            low, high = max(first, begin), min(first + steps, begin + self.block)
            made = self._block(block)
            for level in self.levels:
                values = made[level.number][low - begin : high - begin]
                found[level.number, low - first : high - first, : level.count] = values
        return found

    def _block(self, number: int) -> dict[int, np.ndarray]:
        if number not in self._cached:
            assert self.incident is not None
            values = self.incident.values(number * self.block, self.block)
            self._cached = {number: {level.number: level.increments(values) for level in self.levels}}
        return self._cached[number]
