"""Plan of a run: all data that a case defines, located and checked before anything is allocated on a backend."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from types import ModuleType

import numpy as np

from faultwave import backends
from faultwave.base.errors import Problem, Problems, collect_problems, suggest
from faultwave.base.precision import number_bytes
from faultwave.base.processes.pieces import map_chunks
from faultwave.base.progress import startup_age
from faultwave.base.projection import warn_map_distortion
from faultwave.base.registry import modules
from faultwave.base.reuse import reused
from faultwave.base.spans import phase
from faultwave.case.plausibility import warn_rock_properties, warn_scene
from faultwave.case.settings.fields import FieldSetting
from faultwave.case.settings.grid import Projection
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.dg.checks.accuracy import estimate_single_precision_error, warn_conductors, warn_size
from faultwave.dg.checks.plausibility import scene_of, warn_attenuation_band, warn_material, warn_superluminal
from faultwave.dg.checks.small_steps import sliver_stable_steps, update_rate, warn_costly, warn_slivers
from faultwave.dg.mesh.boundaries import check_kinds, check_outside_layer, layer_damping, warn_symmetry_planes
from faultwave.dg.mesh.case_mesh import load_or_build
from faultwave.dg.mesh.distributed_mesh import WholeMesh
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.attenuation import attenuates, relaxing
from faultwave.dg.method.basis import tet_size
from faultwave.dg.method.forms import PenalisedFaces
from faultwave.dg.operators import scheme
from faultwave.dg.operators.layout import ProcessInterface
from faultwave.dg.operators.scheme import can_compensate, check_integrator, penalised_faces
from faultwave.domain import tets
from faultwave.domain.tets.mesh import fingerprint, narrowed
from faultwave.engine.capability import CapabilityPlan, output_size
from faultwave.engine.checks import OUTPUT_OVERHEAD, check_backend, check_disk
from faultwave.engine.precision import choose_precision
from faultwave.media import homogenise, load_field
from faultwave.media.checks import check_contradictions, warn_layers
from faultwave.media.field import Field, check_physics, check_used, derivable_parameters, limit_messages, source_of
from faultwave.media.perturbed import check_read, perturbation_rows
from faultwave.observe.stations.points import projected
from faultwave.physics.rheology import STRESS, rheologies
from faultwave.physics.waves import Law, law, readers_of

CAPABILITIES_PACKAGE, CAPABILITIES_GROUP = "faultwave.dg.capabilities", "faultwave.dg.parts"
"""Package of the capabilities, and the entry point group of capabilities in other packages."""


@cache
def capability_modules() -> tuple[ModuleType, ...]:
    """Return the modules of all capabilities (see ``dg.capabilities``) by name, but each after those it depends on."""
    own = modules(CAPABILITIES_PACKAGE, CAPABILITIES_GROUP, nested=True)
    found = {m.__name__.rsplit(".", 1)[-1]: m for m in own if hasattr(m, "plan")}
    ordered: list[str] = []

    def take(name: str) -> None:
        if name in found and name not in ordered:
            for before in getattr(found[name], "AFTER", ()):
                take(before)
            ordered.append(name)

    for name in sorted(found):
        take(name)
    return tuple(found[name] for name in ordered)


DEFAULT_CFL = {7: 0.4, 8: 0.3}
LARGEST_CFL = {2: 0.68, 3: 0.68, 4: 0.7, 5: 0.6, 6: 0.55, 7: 0.45, 8: 0.38}
"""Largest stable CFL numbers by order; both tables are multiplied by the ``stability`` of the law (docs/decisions/0004)."""


@dataclass(frozen=True)
class ProcessPartition:
    """Partition of one of several processes, and its knowledge of the whole run.

    Attributes
    ----------
    world : World
        Processes of the run.
    cells : ndarray (nc,)
        Numbers of this process's cells in the whole mesh.
    border : ProcessInterface
        Faces to cells of other processes.
    beyond : ndarray (nc, 4, k)
        Impedances of the neighbours on other processes.
    smallest_step : float
        Smallest stable step of the whole mesh [s].
    mesh_identity : str
        Hash of the whole mesh.
    fault_cluster : int
        Fastest cluster of the whole fault.
    """

    world: World
    cells: np.ndarray
    border: ProcessInterface
    beyond: np.ndarray
    smallest_step: float
    mesh_identity: str
    fault_cluster: int


@dataclass(frozen=True)
class Plan:
    """Frozen description of a computation; ``parts`` are the capabilities in the order in which they are attached."""

    case: Case
    law: Law
    mesh: tets.Mesh
    topology: tets.Topology
    geometry: tets.Geometry
    material: dict[str, np.ndarray]
    step: np.ndarray  # stable step of every cell [s]
    clustering: tets.Clustering
    frictional: np.ndarray  # (nc, 4)
    walls: np.ndarray  # (nc, 4) impedance of the faces of kind impedance
    parts: tuple[CapabilityPlan, ...]
    partition: ProcessPartition | None = None  # partition of this process; None for a single process
    warnings: tuple[Problem, ...] = ()
    penalised: PenalisedFaces | None = None  # faces with a flux other than Godunov's
    notes: tuple[str, ...] = ()  # automatic choices for the case, with reasons
    perturbed: tuple[tuple[str, str], ...] = ()  # statistics of materials perturbed by random fields
    seconds: float = 0.0  # duration of planning, with the import of libraries if the process began with it

    def __repr__(self) -> str:
        name = self.case.title or self.case.output.prefix
        order, clusters = self.case.numerics.order, len(self.clustering.steps)
        return f"<Plan '{name}': {self.cells:,} cells at order {order}, time steps: {clusters}>"

    def part(self, name: str) -> CapabilityPlan | None:
        """Return the capability with a name, None if the case has none."""
        return next((p for p in self.parts if p.name == name), None)

    @property
    def time_unit(self) -> float:
        """Unit of time in the kernels [s].

        One second, or about the smallest step if powers of 1/step may leave the range of single precision. In single
        precision exactly the smallest step, so that weights of derivatives are simple fractions.
        """
        if self.case.fault is not None:  # friction counts in seconds
            return 1.0
        if self.case.numerics.precision == "single":
            return float(self.clustering.steps[0])
        smallest = self.partition.smallest_step if self.partition else float(self.step.min())
        return 1.0 if smallest > 1e-4 else 2.0 ** round(np.log2(smallest))

    @property
    def numbers(self) -> np.ndarray:
        """Number (nc,) of every cell in the whole mesh."""
        return self.partition.cells if self.partition else np.arange(self.cells)

    @property
    def world(self) -> World:
        """Processes that share the run."""
        return self.partition.world if self.partition else World()

    @property
    def cells(self) -> int:
        """Number of cells on this process."""
        return len(self.mesh.cells)

    @property
    def identity(self) -> str:
        """Hash of vertices and cells by which a checkpoint identifies the mesh."""
        return (
            self.partition.mesh_identity if self.partition else as_text(fingerprint(self.mesh, np.arange(self.cells)))
        )

    @property
    def output_size(self) -> float:
        """Size [bytes] of the files that the run writes on this process, without checkpoints."""
        return output_size(self.parts)

    @property
    def stored_derivatives(self) -> np.ndarray:
        """Cells (nc,) whose derivatives capabilities read."""
        return self._marked([p.requirements.derivatives for p in self.parts])

    @property
    def observed(self) -> np.ndarray:
        """Cells (nc,) that capabilities read or change between correction and prediction."""
        return self._marked([p.requirements.between for p in self.parts])

    def _marked(self, cells: list[np.ndarray]) -> np.ndarray:
        found = np.zeros(self.cells, bool)
        for listed in cells:
            found[listed[listed >= 0]] = True
        return found

    @property
    def driven(self) -> np.ndarray:
        """Faces (nc, 4) on which capabilities prescribe the incoming wave."""
        return driven_faces(self.parts, self.topology.kinds.shape)

    @property
    def solved(self) -> np.ndarray:
        """Faces (nc, 4) on which capabilities compute the incoming wave from the outgoing one, a subset of ``driven``."""
        return marked_faces([p.requirements.solved for p in self.parts], self.topology.kinds.shape)

    @property
    def reflection_coefficients(self) -> np.ndarray | None:
        """Reflection coefficients a and b (nc, 4, 2) of boundary faces from capabilities, NaN elsewhere; None if there are none."""
        if not any(len(p.requirements.boundary_faces) for p in self.parts):
            return None
        found = np.full((*self.topology.kinds.shape, 2), np.nan)
        for part in self.parts:
            found[tuple(part.requirements.boundary_faces.T)] = part.requirements.reflection_coefficients
        return found

    @property
    def face_work(self) -> float:
        """Work of a face with friction, in updates of a cell."""
        return sum(p.requirements.face_work for p in self.parts)


def driven_faces(parts: Iterable[CapabilityPlan], shape: tuple[int, ...]) -> np.ndarray:
    """Return the faces (nc, 4) that capabilities prescribe or solve."""
    return marked_faces([listed for p in parts for listed in (p.requirements.faces, p.requirements.solved)], shape)


def marked_faces(lists: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    """Return the faces (nc, 4) marked by lists (k, 2) of cells and local faces."""
    found = np.zeros(shape, bool)
    for listed in lists:
        found[tuple(listed.T)] = True
    return found


def as_text(found: np.ndarray) -> str:
    """Return a fingerprint as text."""
    return "-".join(f"{int(x):016x}" for x in found)


def make_plan(case: Case, mesh: tets.Mesh | None = None, whole: WholeMesh | None = None) -> Plan:
    """Read and check a case and build its plan.

    Parameters
    ----------
    case : Case
        Case to plan.
    mesh : tets.Mesh, optional
        Mesh in place of the one that the case names.
    whole : WholeMesh, optional
        The rest of the mesh, if ``mesh`` is a piece of it; points in other pieces then have cell -2.

    Raises
    ------
    InputError
        With all problems that can be found at once.
    """
    started, before = clock.perf_counter(), startup_age()
    whole = whole or WholeMesh()
    physics = law(case.law)
    mesh, topology = whole.prepared(load_or_build(case) if mesh is None else mesh, case)
    shape = reused(tets.geometry, mesh, topology)
    problems = Problems()
    problems.extend(mesh.remarks)
    material, perturbed = _material_with_losses(case, physics, (mesh, topology, shape), whole, problems)
    physics = physics.adapted({k: np.array([whole.most(float(v.max()))]) for k, v in material.items()})
    frictional = topology.kinds == tets.BoundaryKind.FAULT
    frictional = frictional & whole.across(topology.neighbours) & (case.fault is not None)
    _check_regions(case, mesh, whole, problems)
    walls = _walls(case, mesh, topology, problems)
    _check_walls(case, mesh, topology, whole, problems)
    step = stable_steps(case, physics, shape, material, problems)
    check_integrator(case, physics, problems)
    steps = case.end_time / whole.least(float(step.min()))
    closed = not whole.any(bool((topology.kinds == tets.BoundaryKind.ABSORBING).any()))
    choice = choose_precision(
        case.numerics,
        estimate_single_precision_error(case, physics, steps, closed),
        can_compensate(case, physics),
        problems,
    )
    case = case.model_copy(update={"numerics": choice.numerics}) if choice.note else case
    planning = Planning(case, physics, mesh, topology, shape, material, frictional, whole, problems)
    parts = _parts(planning)
    penalised = penalised_faces(planning, driven_faces(parts, topology.kinds.shape))
    warn_size(planning, parts)
    warn_conductors(planning, step)
    if not whole.elsewhere:
        warn_scene(case, scene_of(planning, parts), problems)
    _check(planning, parts)
    step = _borne(planning, parts, step)
    clustering = _clusters(planning, parts, step)
    mesh = replace(mesh, cells=narrowed(mesh.cells, len(mesh.vertices)))
    warn_costly(planning, step, lambda steps: _clusters(planning, parts, steps))
    return Plan(
        case, physics, mesh, topology, shape, material, step, clustering, frictional, walls, parts, warnings=problems.warnings,
        penalised=penalised, notes=choice.notes, perturbed=perturbed, seconds=before + clock.perf_counter() - started,
    )  # fmt: skip


@phase("material")
def _material_with_losses(
    case: Case,
    physics: Law,
    domain: tuple[tets.Mesh, tets.Topology, tets.Geometry],
    whole: WholeMesh,
    problems: Problems,
) -> tuple[dict[str, np.ndarray], tuple[tuple[str, str], ...]]:
    """Return the parameters (nc,) of the wave law, of attenuation and of absorbing layers, and statistics of perturbed ones.

    Processes that plan pieces of a mesh stay synchronised.
    """
    mesh, topology, shape = domain
    material, perturbed, found = reused(_material, MaterialSource.of(case), mesh, topology)
    problems.extend(found)
    whole.agree(problems)
    material = relaxing(case, physics, material, shape, problems)
    whole.agree(problems)
    warn_attenuation_band(case, physics, material, shape, whole, problems)
    material |= layer_damping(case, physics, mesh, topology, material, problems)
    whole.agree(problems)
    return material, perturbed


@phase("capabilities")
def _parts(planning: Planning) -> tuple[CapabilityPlan, ...]:
    """Return the capabilities of the case; processes that plan pieces of a mesh stay synchronised."""
    for module in capability_modules():
        with collect_problems(planning.problems):
            made = module.plan(planning)
            if made is not None:
                planning.parts[made.name] = made
        planning.whole.meet(planning.problems)
    return tuple(planning.parts.values())


@phase("checks")
def _check(planning: Planning, parts: tuple[CapabilityPlan, ...]) -> None:
    """Check properties that belong to no capability. Raises InputError with all problems so far."""
    case, problems = planning.case, planning.problems
    check_backend(case.numerics, backends.names(), problems)
    if case.projection is not None:
        with collect_problems(problems):
            vertices = planning.mesh.vertices
            warn_map_distortion(projected(case.projection, "projection"), vertices.min(0), vertices.max(0), problems)
    written = sum(planning.whole.everywhere(_written(planning, parts))) + OUTPUT_OVERHEAD
    check_disk(case.output.folder, written, problems)
    _not_built(case, planning.law, problems)
    check_kinds(planning, driven_faces(parts, planning.topology.kinds.shape))
    warn_symmetry_planes(planning)
    check_outside_layer(planning.material, [found for p in parts for found in p.requirements.lossless], problems)
    planning.whole.agree(problems)


def _written(planning: Planning, parts: tuple[CapabilityPlan, ...]) -> float:
    """Return the bytes that capabilities write until the end, plus checkpoints.

    A checkpoint holds the degrees of freedom in the law's quantities and in the form's, each with the numbers of the
    cells.
    """
    case, retained = planning.case, planning.case.output.checkpoint
    values = tet_size(case.numerics.order - 1) * len(planning.law.quantities)
    state = 2 * len(planning.mesh.cells) * (values * number_bytes(case.numerics.precision) + 8)
    return output_size(parts) + (0.0 if retained is None else (retained.keep + 1.0) * state)


@phase("time clusters")
def _clusters(planning: Planning, parts: tuple[CapabilityPlan, ...], step: np.ndarray) -> tets.Clustering:
    """Assign cells to clusters; both cells of a frictional or prescribed face share one."""
    setting, near = planning.case.numerics.clustering, planning.topology.neighbours
    together = planning.frictional | (driven_faces(parts, near.shape) & (near >= 0))
    rates = setting.rates if planning.case.numerics.integrator == "ader" else (1,)
    return tets.assign_clusters(
        step, near, together, rates, tets.Wiggle(setting.wiggle_minimum, setting.wiggle_step), setting.maximum, elsewhere=planning.whole
    )  # fmt: skip


@phase("stable time steps")
def _borne(planning: Planning, parts: tuple[CapabilityPlan, ...], step: np.ndarray) -> np.ndarray:
    """Return the stable steps (nc,), reduced in flat cells where necessary, and warn if some are."""
    # Cells are tested at the step of their inradius: far below it, noise cannot decay in the steps of the test.
    own = _inradius_steps(planning.case, planning.law, planning.geometry, planning.material)
    available = largest_cfl(planning.case) / cfl_number(planning.case)
    stable = sliver_stable_steps(planning, own, available)
    borne = np.where(stable < own, np.minimum(step, stable), step)
    if (borne < step).any():
        longer = update_rate(_clusters(planning, parts, borne)) / update_rate(_clusters(planning, parts, step))
        warn_slivers(planning, step, borne, longer)
    return borne


@dataclass(frozen=True)
class MaterialSource:
    """Settings on which the material of the cells depends, apart from the mesh.

    Attributes
    ----------
    law : str
        Name of the wave law.
    setting : FieldSetting
        Material of the case.
    projection : Projection or None
        Map projection of the case.
    order : int or None
        Order of the quadrature of cell averages; None takes the values at the barycentres.
    averages : bool
        True if the case requests averages explicitly.
    """

    law: str
    setting: FieldSetting
    projection: Projection | None
    order: int | None
    averages: bool

    @classmethod
    def of(cls, case: Case) -> MaterialSource:
        """Return the settings of a case."""
        numerics = case.numerics
        order = numerics.order if numerics.homogenise else None
        averages = numerics.homogenise and "homogenise" in numerics.model_fields_set
        return cls(case.law, case.material, case.projection, order, averages)


def _material(
    source: MaterialSource, mesh: tets.Mesh, topology: tets.Topology
) -> tuple[dict[str, np.ndarray], tuple[tuple[str, str], ...], tuple[Problem, ...]]:
    """Return the material of each cell, statistics of its perturbed parameters, and problems."""
    problems, physics = Problems(), law(source.law)
    defaults = {p.name: p.default for p in physics.parameters if p.default is not None}
    with collect_problems(problems):
        field = load_field(
            source.setting, "material", None, mesh.named(3), defaults, source.projection, physics.derived
        )
        _check_names(physics, field, problems)
        parameters = [p.name for p in physics.parameters]
        check_contradictions(field, parameters, physics.derived, problems)
        names = [name for name in parameters if name in field.parameters or name not in defaults]
        corners = map_chunks(lambda piece: mesh.vertices[topology.cells[piece]], len(topology.cells))
        values = homogenise.cell_averages(field, names, corners, mesh.groups.astype(np.int64), source.order)
        warn_material(source.law, source.averages, values, problems)
        sizes = np.ptp(corners.reshape(-1, 3), axis=0)
        warn_rock_properties(values, float(sizes.max()), problems)
        warn_layers(field, float(sizes[2]), problems)
        for text in limit_messages(field):
            problems.warn("material", text)
        check_read(field, problems)
        for name, value in defaults.items():
            values.setdefault(name, np.full(len(corners), value))
        warn_superluminal(values, problems)
        _check_material(physics, values, lambda cell: corners[cell].mean(0), problems)
        material = {p.name: np.asarray(values[p.name], float) for p in physics.parameters}
        return material, tuple(perturbation_rows(field)), tuple(problems.items)
    return {}, (), tuple(problems.items)


def _check_names(physics: Law, field: Field, problems: Problems) -> None:
    """Check the names that the case states but the law does not read.

    Names in files are checked too if the law has defaults, which would silently replace a misspelt parameter.
    """
    known = derivable_parameters((p.name for p in physics.parameters), physics.derived)
    if all(p.default is None for p in physics.parameters):
        yielding = {n for r in rheologies().values() for p in r.parameters for n in (p.name, *p.aliases)}
        read = known | yielding | {*STRESS, "Qp", "Qs"}
        other = readers_of(field.parameters, read)
        check_physics(field, other, f"the {physics.name} law", problems)
        advice = "Set mu and lambda: rho, vp and vs do not determine this rock."
        instead = dict.fromkeys(("vp", "vs"), advice) if physics.derived is None else {}
        check_used(field, read | set(other), f"the {physics.name} law", problems, instead)
        if {"Qp", "Qs"} & field.parameters and not attenuates(physics):
            advice = "'attenuation: {high: 5 Hz}' uses them up to that frequency."
            problems.warn("material", "defines Qp and Qs, but the case is elastic: nothing attenuates", advice=advice)
        return
    for name in sorted(field.parameters - known):
        what = f"'{name}' is not a parameter of the {physics.name} law"
        problems.error(source_of(field), what, ", ".join(sorted(known)), suggest(name, known))


def _check_material(
    physics: Law, values: dict[str, np.ndarray], centre: Callable[[int], np.ndarray], problems: Problems
) -> None:
    def tell(bad: np.ndarray, what: Callable[[int], str], allowed: str) -> None:
        if bad.any():
            cell = int(np.flatnonzero(bad)[0])
            x = ", ".join(f"{v:g}" for v in centre(cell))
            problems.error("material", f"{what(cell)} at ({x}) and in {int(bad.sum()) - 1} other cells", allowed)

    reported = np.zeros(len(next(iter(values.values()))), bool)
    for p in physics.parameters:
        bad = values[p.name] <= 0 if p.positive else ~((values[p.name] >= p.lower) & (values[p.name] <= p.upper))
        what = partial(_as_given, p.name, values[p.name])
        least = "> 0" if p.positive else f">= {p.lower:g}"
        unit = f" [{p.unit}]" if p.unit else ""
        tell(bad, what, f"{least}{f' and <= {p.upper:g}' if p.upper < np.inf else ''}{unit}")
        reported |= bad
    for bad, words, allowed in physics.wrong(values):
        tell(bad & ~reported, words, allowed)  # in the other cells it may only be a consequence


def _as_given(name: str, values: np.ndarray, cell: int) -> str:
    return f"{name} is {values[cell]:g}"


def _walls(case: Case, mesh: tets.Mesh, topology: tets.Topology, problems: Problems) -> np.ndarray:
    """Return the impedance (nc, 4) of the faces of kind impedance."""
    nothing = np.broadcast_to(np.nan, topology.tags.shape)  # takes no memory
    wall = nothing.copy() if case.impedances else nothing
    names = mesh.named(2)
    for key, value in case.impedances.items():
        tag, where = mesh.surface(key), f"impedances.{key}"
        if tag is None:
            problems.error(where, f"the mesh has no surface '{key}'", ", ".join(names) or "face tags")
        elif not 0 <= value < np.inf:
            allowed = ">= 0 and finite: a wall cannot add energy, and a wall without current is of kind pmc"
            problems.error(where, f"{value:g}", allowed if "pmc" in law(case.law).boundaries else ">= 0 and finite")
        else:
            wall[topology.tags == tag] = value
    lost = (topology.kinds == tets.BoundaryKind.IMPEDANCE) & np.isnan(wall)
    if lost.any():
        tags = ", ".join(map(str, np.unique(topology.tags[lost])))
        problems.error("impedances", f"no impedance is defined for the faces of kind impedance with tag {tags}")
    return wall


def _check_walls(case: Case, mesh: tets.Mesh, topology: tets.Topology, whole: WholeMesh, problems: Problems) -> None:
    """Check that impedances refer to existing faces of kind impedance."""
    for key in case.impedances:
        here = topology.kinds[topology.tags == mesh.surface(key)] if mesh.surface(key) is not None else np.zeros(0)
        if mesh.surface(key) is not None and not whole.any(bool((here == tets.BoundaryKind.IMPEDANCE).any())):
            problems.error(
                f"impedances.{key}", "the mesh has no such face of kind impedance", advice="See mesh.boundaries."
            )


def _check_regions(case: Case, mesh: tets.Mesh, whole: WholeMesh, problems: Problems) -> None:
    """Check that each region of the material has cells; unknown names are reported with the material."""
    names = mesh.named(3)
    for key in case.material.regions:
        number = names.get(str(key), int(key) if str(key).isdigit() else None)
        if number is not None and not whole.any(bool((mesh.groups == number).any())):
            known = {n: name for name, n in names.items()}
            there = ", ".join(known.get(n, str(n)) for n in np.unique(mesh.groups).tolist())
            problems.error(f"material.regions.{key}", f"no cell of the mesh is in volume {key}", there)


def cfl_number(case: Case) -> float:
    """Return the case's CFL number, or the default of its order and law."""
    if case.numerics.integrator != "ader":
        return case.numerics.cfl or scheme.DEFAULT_CFL_SHARE * largest_cfl(case)
    return case.numerics.cfl or DEFAULT_CFL.get(case.numerics.order, 0.5) * law(case.law).stability


def largest_cfl(case: Case) -> float:
    """Return the largest CFL number that a case of this order and law may set."""
    if case.numerics.integrator != "ader":
        return scheme.largest_stable_cfl(case.numerics, law(case.law))
    return LARGEST_CFL[case.numerics.order] * law(case.law).stability


def stable_steps(
    case: Case, physics: Law, shape: tets.Geometry, material: dict[str, np.ndarray], problems: Problems
) -> np.ndarray:
    """Return the stable step of every cell (nc,) [s].

    The step is dt = CFL 2 r_in / ((2 N + 1) c), reduced by the stiffness of the law and by the largest permitted step
    (docs/theory/time-stepping.md, "Stable time step").
    """
    order, cfl = case.numerics.order, cfl_number(case)
    limit = largest_cfl(case)
    if cfl > limit:
        problems.error("numerics.cfl", f"{cfl:g} is unstable at order {order}", f"at most {limit:g} at this order")
    step = _inradius_steps(case, physics, shape, material)
    return np.minimum(step, min(case.numerics.largest_step, physics.longest_step()))


def _inradius_steps(case: Case, physics: Law, shape: tets.Geometry, material: dict[str, np.ndarray]) -> np.ndarray:
    """Return the steps (nc,) [s] that the inradius and the stiffness of the law allow."""
    step = cfl_number(case) * 2.0 * shape.inradius / ((2 * case.numerics.order - 1) * physics.speed(material))
    return np.asarray(step / (1.0 + 0.5 * step * physics.stiffness(material)))


def _not_built(case: Case, law: Law, problems: Problems) -> None:
    if case.fault is not None and "stress" not in law.roles:
        problems.error(
            "fault",
            f"dynamic rupture needs the elastic law, not '{case.law}'",
            "a law with stress: elastic, viscoelastic, anisotropic, ...",
            "Remove the fault group to weld faults.",
        )
