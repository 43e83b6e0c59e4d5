"""Case -> Plan: everything a run needs, found and checked before the first number is allocated on a backend."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.collect import collected
from faultwave.base.errors import Problem, Problems, suggest
from faultwave.base.projection import check_lengths
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.dg import integrators
from faultwave.dg.asked import check_asked
from faultwave.dg.drives import DrivePlan, plan_drives
from faultwave.dg.far_field import Around, plan_far_field
from faultwave.dg.fault_plan import FaultPlan, plan_fault
from faultwave.dg.initial import check_initial
from faultwave.dg.integrators import check_integrator
from faultwave.dg.layers import check_outside, layer_damping, tell_damped
from faultwave.dg.pieces import Whole
from faultwave.dg.points import Points, place_fault_receivers, place_receivers
from faultwave.dg.ports import plan_ports
from faultwave.dg.surfaces import Surface, plan_flux
from faultwave.domain import tets
from faultwave.media import homogenise, load_field
from faultwave.media.field import Field, limits_told, source_of, ways_to_give
from faultwave.observe.points import projected
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.released import check_time
from faultwave.physics.waves import Law, law

DEFAULT_CFL = {7: 0.4, 8: 0.3}
LARGEST_CFL = {2: 0.68, 3: 0.68, 4: 0.7, 5: 0.6, 6: 0.55, 7: 0.45, 8: 0.38}
"""Above these the scheme grows; both times the law's ``stability`` (docs/decisions/0004)."""


if TYPE_CHECKING:
    from faultwave.dg.share import Share


@dataclass(frozen=True)
class Plan:
    """Frozen answer to: what exactly will be computed."""

    case: Case
    law: Law
    mesh: tets.Mesh
    topology: tets.Topology
    geometry: tets.Geometry
    material: dict[str, np.ndarray]
    step: np.ndarray  # stable step of every cell [s]
    clustering: tets.Clustering
    frictional: np.ndarray  # (nc, 4)
    fault: FaultPlan | None
    receivers: Points | None
    fault_receivers: Points | None
    sources: tuple[PointSource, ...]
    source_cells: np.ndarray
    source_points: np.ndarray  # reference coordinates
    keep: np.ndarray  # cells whose derivatives others want: receivers, also of the fault, surfaces
    watched: np.ndarray  # cells whose state others read or change between steps: sources
    walls: np.ndarray  # (nc, 4) impedance of the faces of kind impedance
    drives: DrivePlan
    flux: tuple[Surface, ...]
    around: Around | None
    share: Share | None = None  # of several processes; None: all is here
    warnings: tuple[Problem, ...] = ()

    @property
    def time_unit(self) -> float:
        """Unit of time in the kernels [s]: one, or about the smallest step where powers of 1/step may leave single precision."""
        smallest = self.share.smallest_step if self.share else float(self.step.min())
        return 1.0 if smallest > 1e-4 else 2.0 ** round(np.log2(smallest))

    @property
    def numbers(self) -> np.ndarray:
        """Number (nc,) of every cell in the mesh."""
        return self.share.cells if self.share else np.arange(self.cells)

    @property
    def fault_numbers(self) -> np.ndarray:
        """Number of every fault face that is shown here in the whole fault."""
        return np.arange(0) if self.fault is None else self.fault.faces.number[: self.fault.faces.owned]

    @property
    def world(self) -> World:
        """The processes that share the run."""
        return self.share.world if self.share else World()

    @property
    def cells(self) -> int:
        return len(self.mesh.cells)


def make_plan(case: Case, mesh: tets.Mesh | None = None, whole: Whole | None = None) -> Plan:
    """Read and check everything. Raises InputError with all problems that can be known at once.

    ``mesh``: taken instead of the one the case names; ``whole``: knows the rest of it where it is a piece, and points in
    other pieces then have cell -2.
    """
    physics, whole = law(case.law), whole or Whole()
    mesh, topology = whole.prepared(tets.load_mesh(case.mesh) if mesh is None else mesh, case)
    shape = tets.geometry(mesh, topology)
    problems = Problems()
    material = _material(case, physics, mesh, topology, problems)
    whole.agree(problems)
    material |= layer_damping(case, physics, mesh, topology, material, problems)
    whole.agree(problems)
    physics = physics.adapted({k: np.array([whole.most(float(v.max()))]) for k, v in material.items()})
    across = whole.across(topology.neighbours)
    frictional = (topology.kinds == tets.BoundaryKind.FAULT) & across & (case.fault is not None)
    walls = _walls(case, mesh, topology, problems)
    step = stable_steps(case, physics, shape, material, problems)
    clusters = case.numerics.clustering
    check_integrator(case, physics, problems)
    drives = DrivePlan(np.zeros_like(frictional))
    with collected(problems):
        drives = plan_drives(case, physics, mesh, topology, material, problems)
    ports = plan_ports(case, mesh, topology, shape, material, problems)
    for port in ports:
        drives.driven[port.surface.cells, port.surface.faces] |= port.function is not None
    drives = replace(drives, ports=ports)
    whole.meet(problems)
    clustering = tets.assign_clusters(
        step,
        topology.neighbours,
        frictional | (drives.driven & (topology.neighbours >= 0)),
        clusters.rates if case.numerics.integrator == "ader" else (1,),
        clusters.wiggle_minimum,
        clusters.wiggle_step,
        clusters.maximum,
        elsewhere=whole,
    )
    fault = None
    ruptures = whole.any(bool(frictional.any()))
    with collected(problems):
        if case.fault is not None and (frictional.any() or not ruptures):
            fault = plan_fault(case, mesh, topology, shape, material, frictional)
    whole.meet(problems)
    receivers = fault_receivers = None
    with collected(problems):
        receivers = place_receivers(case.output.receivers, mesh, topology, shape, whole, case.projection)
    whole.meet(problems)
    if fault is not None or case.fault is None or whole.elsewhere:  # a fault that could not be planned has said so
        with collected(problems):
            fault_receivers = place_fault_receivers(case.output.fault_receivers, fault, whole)
    if case.projection is not None:
        with collected(problems):
            check_lengths(
                projected(case.projection, "projection"), mesh.vertices.min(0), mesh.vertices.max(0), problems
            )
    sources: tuple[PointSource, ...] = ()
    with collected(problems):
        sources = (*load_sources(case.sources, projection=case.projection, warned=problems), *drives.points)
        check_time(sources, case.end_time, problems)
    where, local = np.zeros(0, np.int64), np.zeros((0, 3))
    if sources:
        found = whole.locate(np.array([s.location for s in sources], float), topology, shape, mesh)
        where, local = found.cells, found.xi
        for s, cell, far in zip(sources, found.cells, found.distance, strict=True):
            if cell == -1:
                problems.error(f"source at {tuple(map(float, s.location))}", f"lies {far:.6g} m outside the mesh")
    for i, source in enumerate(case.sources):
        if source.kind == "plane-wave":
            problems.error(f"sources[{i}].kind", "'plane-wave' needs the engine fd", ", ".join(physics.point_sources))
        elif source.kind not in physics.point_sources:
            what = f"a {source.kind} does not act on the {physics.name} law"
            problems.error(
                f"sources[{i}].kind", what, ", ".join(physics.point_sources), "Give electric ones as 'currents'."
            )
    _not_built(case, topology, problems)
    check_asked(case, physics, mesh, topology, shape, problems, whole.any)
    with collected(problems):
        check_initial(case, physics, material, shape.centroids)
    whole.agree(problems)
    flux: tuple[Surface, ...] = ()
    with collected(problems):
        flux = plan_flux(case, mesh, topology, problems)
    around = None
    with collected(problems):
        around = plan_far_field(case, mesh, topology, material, problems)
    check_outside(material, _placed(sources, where, drives, across, flux, around), problems)
    tell_damped(material, receivers, problems)
    whole.agree(problems)
    keep = np.zeros(len(mesh.cells), bool)
    if around is not None:
        keep[around.cells] = True
    for surface in (*flux, *(port.surface for port in ports)):
        keep[surface.cells] = True
    if receivers is not None:
        keep[receivers.cells[receivers.cells >= 0]] = True
    watched = np.zeros(len(mesh.cells), bool)
    watched[where[where >= 0]] = True
    for body in drives.bodies:
        watched[body.cells] = True
    if fault is not None and fault_receivers is not None:
        keep[fault.faces.cells[fault_receivers.cells[fault_receivers.cells >= 0]]] = True
    if case.output.surface is not None:
        keep |= (topology.kinds == tets.BoundaryKind.FREE_SURFACE).any(1)
    return Plan(
        case, physics, mesh, topology, shape, material, step, clustering, frictional, fault, receivers, fault_receivers,
        sources, where, local, keep, watched, walls, drives, flux, around, warnings=problems.warnings,
    )  # fmt: skip


def _placed(
    sources: tuple[PointSource, ...], where: np.ndarray, drives: DrivePlan, across: np.ndarray,
    flux: tuple[Surface, ...], around: Around | None,
) -> list[tuple[str, np.ndarray]]:  # fmt: skip
    """What drives or measures waves, and in which cells."""
    found = [(f"source at {tuple(map(float, s.location))}", where[i : i + 1]) for i, s in enumerate(sources)]
    found += [(f"current in {len(body.cells)} cells", body.cells) for body in drives.bodies]
    found += [("current sheet", np.nonzero(sheet.faces)[0]) for sheet in drives.sheets]
    found += [("incident wave", np.nonzero((wave.signs != 0) & across)[0]) for wave in drives.waves]
    found += [(f"flux surface '{surface.name}'", surface.cells) for surface in flux]
    return found + ([("far field", around.cells)] if around is not None else [])


def _material(
    case: Case, physics: Law, mesh: tets.Mesh, topology: tets.Topology, problems: Problems
) -> dict[str, np.ndarray]:
    defaults = {p.name: p.default for p in physics.parameters if p.default is not None}
    with collected(problems):
        field = load_field(case.material, "material", None, mesh.named(3), defaults, case.projection)
        _check_names(physics, field, problems)
        names = [p.name for p in physics.parameters if p.name in field.parameters or p.name not in defaults]
        corners = mesh.vertices[topology.cells]
        order = case.numerics.order if case.numerics.homogenise else None
        values = homogenise.cell_averages(field, names, corners, mesh.groups.astype(np.int64), order)
        for text in limits_told(field):
            problems.warn("material", text)
        for name, value in defaults.items():
            values.setdefault(name, np.full(len(corners), value))
        _check_material(physics, values, corners.mean(1), problems)
        return {p.name: np.asarray(values[p.name], float) for p in physics.parameters}
    return {}


def _check_names(physics: Law, field: Field, problems: Problems) -> None:
    """Where a law has defaults a name it does not know would leave one of them in place, unseen."""
    if all(p.default is None for p in physics.parameters):
        return
    known = ways_to_give(p.name for p in physics.parameters)
    for name in sorted(field.parameters - known):
        what = f"'{name}' is no parameter of the {physics.name} law"
        problems.error(source_of(field), what, ", ".join(sorted(known)), suggest(name, known))


def _check_material(physics: Law, values: dict[str, np.ndarray], centres: np.ndarray, problems: Problems) -> None:
    for p in physics.parameters:
        bad = values[p.name] <= 0 if p.positive else values[p.name] < p.lower
        if bad.any():
            cell = int(np.flatnonzero(bad)[0])
            x = ", ".join(f"{v:g}" for v in centres[cell])
            problems.error(
                "material",
                f"{p.name} is {values[p.name][cell]:g} at ({x}) and in {int(bad.sum()) - 1} other cells",
                f"{'> 0' if p.positive else f'>= {p.lower:g}'} [{p.unit}]",
            )


def _walls(case: Case, mesh: tets.Mesh, topology: tets.Topology, problems: Problems) -> np.ndarray:
    """Impedance (nc, 4) of the faces of kind impedance."""
    wall = np.full(topology.tags.shape, np.nan)
    names = mesh.named(2)
    for key, value in case.impedances.items():
        tag = names.get(str(key), int(key) if str(key).isdigit() else None)
        where = f"impedances.{key}"
        if tag is None:
            problems.error(where, f"the mesh has no surface '{key}'", ", ".join(names) or "face tags")
        elif not 0 <= value < np.inf:
            allowed = (
                ">= 0 and finite: a wall that adds energy is no wall, and one that no current crosses is of kind pmc"
            )
            problems.error(where, f"{value:g}", allowed if case.law == "maxwell" else ">= 0 and finite")
        else:
            wall[topology.tags == tag] = value
    lost = (topology.kinds == tets.BoundaryKind.IMPEDANCE) & np.isnan(wall)
    if lost.any():
        tags = ", ".join(map(str, np.unique(topology.tags[lost])))
        problems.error("impedances", f"nothing is said of the faces of kind impedance with tag {tags}")
    return wall


def cfl_number(case: Case) -> float:
    """The case's CFL number, or the default of its order and law."""
    if case.numerics.integrator != "ader":
        return case.numerics.cfl or integrators.DEFAULT_SHARE * largest_cfl(case)
    return case.numerics.cfl or DEFAULT_CFL.get(case.numerics.order, 0.5) * law(case.law).stability


def largest_cfl(case: Case) -> float:
    """Largest CFL number a case of this order and law may ask for."""
    if case.numerics.integrator != "ader":
        return integrators.limit(case.numerics, law(case.law))
    return LARGEST_CFL[case.numerics.order] * law(case.law).stability


def stable_steps(
    case: Case, physics: Law, shape: tets.Geometry, material: dict[str, np.ndarray], problems: Problems
) -> np.ndarray:
    """dt = CFL 2 r_in / ((2 N + 1) c) of every cell (docs/theory/time-stepping.md, "Stable time step")."""
    order, cfl = case.numerics.order, cfl_number(case)
    limit = largest_cfl(case)
    if cfl > limit:
        problems.error("numerics.cfl", f"{cfl:g} is unstable at order {order}", f"at most {limit:g} at this order")
    step = cfl * 2.0 * shape.inradius / ((2 * order - 1) * physics.speed(material))
    step = step / (1.0 + 0.5 * step * physics.stiffness(material))
    return np.minimum(step, case.numerics.largest_step)


def _not_built(case: Case, topology: tets.Topology, problems: Problems) -> None:
    if case.output.intensity is not None:
        problems.error("output.intensity", "maps of intensity exist on grids only", "engine: fd")
    if case.attenuation is not None:
        problems.error("attenuation", "is simulated on grids only", "engine: fd")
    for kind in (tets.BoundaryKind.GRAVITY, tets.BoundaryKind.DIRICHLET, tets.BoundaryKind.ANALYTIC):
        count = int((topology.kinds == kind).sum())
        if count:
            name = kind.name.lower().replace("_", " ")
            problems.items.append(
                Problem("mesh", f"{count} faces of kind '{name}', which this version cannot simulate")
            )
    if case.fault is not None and case.law != "elastic":
        problems.error("fault", f"dynamic rupture needs the elastic law, not '{case.law}'")
