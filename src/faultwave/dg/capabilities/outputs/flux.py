"""Energy flux through named surfaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.dg.mesh.location import surface_tag, volume_numbers
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.operators.prescribed_faces import Faces, pair
from faultwave.dg.sampling import Surface, SurfaceSum
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements, State
from faultwave.engine.surface_sums import Reduce
from faultwave.observe.dataset import Result, energies_from_arrays
from faultwave.physics.waves import Law

name = "flux"


@dataclass(frozen=True)
class Flux(CapabilityPlan):
    """Plan of energy fluxes: the surfaces of ``output.flux`` found in the mesh, with their settings."""

    surfaces: tuple[Surface, ...]
    settings: tuple[Setting, ...]
    name: str = name

    @property
    def requirements(self) -> Requirements:
        listed = [s.cells for s in self.surfaces]
        lossless = tuple((f"flux surface '{s.name}'", s.cells) for s in self.surfaces)
        return Requirements(derivatives=np.concatenate([np.zeros(0, np.int64), *listed]), lossless=lossless)

    def partition(self, cut: Cut) -> Flux:
        return replace(self, surfaces=tuple(s.partition(cut) for s in self.surfaces))

    def attach(self, solver: Solver) -> AttachedFlux:
        return AttachedFlux(self, solver)


def needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has fluxes, whose surfaces are located in the whole mesh."""
    return bool(case.output.flux)


def plan(planning: Planning) -> Flux | None:
    """Report inner surfaces without the volume that the flux leaves."""
    mesh, topology, problems = planning.mesh, planning.topology, planning.problems
    found, settings = [], []
    for i, setting in enumerate(planning.case.output.flux):
        where = f"output.flux[{i}]"
        tag = surface_tag(setting.surface, mesh, topology, f"{where}.surface", problems)
        if tag is None:
            continue
        mine = topology.tags == tag
        if setting.out_of is not None:
            groups = volume_numbers([setting.out_of], mesh, f"{where}.out_of", problems)
            mine &= np.isin(mesh.groups, groups)[:, None]
        elif (mine & (topology.neighbours >= 0)).any():
            problems.error(
                f"{where}.out_of",
                f"is missing: '{setting.surface}' is inside the mesh",
                "the volume from which the flow is counted",
            )
        if not mine.any():
            problems.error(f"{where}.out_of", f"'{setting.surface}' is not a side of '{setting.out_of}'")
            continue
        found.append(Surface(str(setting.surface), *np.nonzero(mine)))
        settings.append(setting)
    return Flux(tuple(found), tuple(settings)) if found else None


class AttachedFlux(Capability):
    """Fluxes through surfaces, attached to a solver."""

    def __init__(self, part: Flux, solver: Solver):
        law = solver.plan.law
        self.sums = [
            SurfaceSum(solver, surface, setting.interval, lambda *faces: energy_flow(law, *faces))
            for surface, setting in zip(part.surfaces, part.settings, strict=True)
        ]
        self.callbacks = tuple(s.call for s in self.sums)

    @property
    def samples_complete(self) -> bool:
        return all(s.recorder.samples_complete for s in self.sums)

    def finish(self, time: float) -> None:
        for one in self.sums:
            one.finish(time)

    def state(self) -> Mapping[str, State]:
        return {k: v for i, s in enumerate(self.sums) for k, v in s.state(str(i)).items()}

    def results(self) -> Iterable[Result]:
        """Return the power [W] through each surface at its own times."""
        for one in self.sums:
            time, values = one.sums()
            if len(time):
                column = f"flux through {one.surface.name}"
                yield Result(name, energies_from_arrays(time, {column: values[:, 0]}), one.surface.name)


def energy_flow(law: Law, faces: Faces, points: np.ndarray, weights: np.ndarray) -> Reduce:
    """Return the power [W] that leaves through faces: -T.v of the cells' own traces, E x H . n in electromagnetism."""
    scale, f = 2.0 * faces.areas[:, None] * weights, law.face_channels

    def reduce(items: np.ndarray, values: np.ndarray) -> np.ndarray:
        traces = pair(law, faces.frames[items], values)
        return np.array([-(scale[items] * (traces[..., :f] * traces[..., f:]).sum(-1)).sum()])

    return reduce
