"""Snapshots of the free surface at every n-th point along each axis.

Fields are velocity, displacement, peak speed, and the plastic strain of rock that yields.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import collect_problems
from faultwave.base.precision import number_bytes
from faultwave.fd.capability import Running
from faultwave.fd.contexts import PlacementContext, Planning
from faultwave.fd.method.grid import SideKind
from faultwave.fd.rheology.yielding import YIELDED
from faultwave.fd.snapshots import LatticeSnapshotPlan, LatticeSnapshots, SurfaceView, check_setting
from faultwave.observe.snapshots.fields import snapshot_count, surface_fields
from faultwave.observe.snapshots.lattice import Lattice

ARRAYS = {**{f"{q}{c}": f"surface_{q}{c}" for q in "vu" for c in "123"}, "PGV": "surface_peak"}
"""Arrays of the program by field."""
DISPLACEMENTS = {f"u{c}": f"v{c}" for c in "123"}
"""Velocity of each displacement."""


def plan(planning: Planning) -> Surface | None:
    """Return the surface snapshots, None if the case does not request them."""
    case, problems = planning.case, planning.problems
    setting = case.output.surface
    if setting is None:
        if case.output.xdmf:
            problems.warn("output.xdmf", "has no effect without output.surface")
        return None
    check_setting("surface", setting, problems)
    if case.output.xdmf and setting.every != 1:
        problems.error("output.xdmf", "writes the whole surface only", "output.surface: {every: 1}")
    if planning.sides["z+"] != SideKind.FREE_SURFACE:
        problems.error("output.surface", "the grid has no free surface", "grid.boundaries: {z+: free-surface}")
    with collect_problems(problems):
        more = YIELDED if case.plasticity is not None else ()
        return Surface(setting, tuple(surface_fields(setting, more)), 0)
    return None


@dataclass(frozen=True)
class Surface(LatticeSnapshotPlan):
    """Surface snapshots of a case."""

    name = "surface"
    on_surface = True

    def locate(self, placing: PlacementContext) -> Self:
        case, points = placing.case, int(np.prod([-(-n // self.setting.every) for n in placing.surface]))
        disk = self.lattice_bytes(case, points)
        if case.output.xdmf:
            number = number_bytes(case.output.precision)
            snapshots = snapshot_count(self.setting, case)
            disk += snapshots * 2 * int(np.prod(placing.surface)) * number * len(ARRAYS)
        return replace(self, disk=disk)

    def attach(self, solver: Running) -> SurfaceSnapshots:
        return SurfaceSnapshots(self, solver)


class SurfaceSnapshots(LatticeSnapshots):
    """Surface snapshots of a run."""

    def __init__(self, part: Surface, solver: Running):
        view, self.every = SurfaceView(solver), part.setting.every
        x, y = (a[:: self.every] for a in (view.x, view.y))
        h = self.every * view.spacing
        ground = None if view.elevation is None else view.elevation[:: self.every, :: self.every]
        lattice = Lattice((float(x[0]), float(y[0]), view.top), h, (len(y), len(x)), elevation=ground)
        super().__init__(part, solver, lattice.located(solver.plan.projection), self.now)
        self.view, self.plan, self.xdmf = view, solver.plan, solver.plan.case.output.xdmf

    def now(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the present values (ny, nx) of each field.

        Displacements have been summed to the end of the step, half a step after the velocities: its second half is removed.
        """
        half = 0.5 * self.operator.scheme.step

        @functools.cache  # velocities are assembled once, also if displacements need them
        def read(name: str) -> np.ndarray:
            return self.view(ARRAYS.get(name, name), name in YIELDED)[:: self.every, :: self.every]

        return {n: read(n) - half * read(DISPLACEMENTS[n]) if n in DISPLACEMENTS else read(n) for n in names}

    @property
    def mesh(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Points and triangles of the whole surface, two triangles per cell; None if XDMF is not requested."""
        if not self.xdmf:
            return None
        h, (x0, y0, z0) = self.view.spacing, (*self.plan.lower[:2], self.plan.upper[2])
        ny, nx = self.lattice.shape
        x, y = x0 + h * np.arange(nx + 1), y0 + h * np.arange(ny + 1)
        across = np.stack([*np.meshgrid(x, y), np.full((ny + 1, nx + 1), z0)], -1).reshape(-1, 3)
        points = self.plan.scheme.grid.up(across)
        corner = (np.arange(ny)[:, None] * (nx + 1) + np.arange(nx)).reshape(-1)
        far = corner + nx + 1
        both = np.stack([np.stack([corner, corner + 1, far + 1], 1), np.stack([corner, far + 1, far], 1)], 1)
        return points, both.reshape(-1, 3)
