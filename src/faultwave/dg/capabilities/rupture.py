"""Spontaneous rupture: faces with friction, their parameters, initial stress and nucleation."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.case.plausibility import fault_loads, warn_friction
from faultwave.case.settings.model import Case
from faultwave.case.settings.model import Fault as FaultSettings
from faultwave.dg.fault.faces import Fault, FaultFaces, NucleationEpisode, RemoteFaultSides, fault_faces
from faultwave.dg.fault.loads import FaultPiece, FaultPoints, face_sheet, largest_patch, loaded_fault, merge_pieces
from faultwave.dg.fault.points import PointRule, point_rule, resize_modes, transfer
from faultwave.dg.fault.record import JUMP_WORK
from faultwave.dg.fault.rupture import FrictionOptions
from faultwave.dg.mesh.placement import Cut, Planning, chosen
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import (
    Callback,
    Capability,
    CapabilityPlan,
    Requirements,
    RestoredFrom,
    State,
    decode_words,
    encode_words,
)
from faultwave.engine.fault_forecast import FaultForecast, resolution_rows
from faultwave.kernels.expr import Scalars
from faultwave.media import Field, load_field
from faultwave.media.field import Constant, Expression, check_used, leaves
from faultwave.media.perturbed import check_read, perturbation_rows
from faultwave.observe.model import Sheet
from faultwave.physics.friction import frame
from faultwave.physics.friction import laws as friction_laws
from faultwave.physics.friction.initial_stress import check_starts, initial_names
from faultwave.physics.friction.law import FrictionLaw, check_absent
from faultwave.physics.friction.modifiers import composed, names_of_modifiers

name = "rupture"

DISCONTINUOUS_VALUES = ("ruptured", "weakened", "least", "breakdown")
"""Recorded values that are discontinuous on a fault and never interpolated: times, and values reached at a time."""


@dataclass(frozen=True)
class Rupture(CapabilityPlan):
    """Plan of the fault faces of one process, with arrays (n faces, p points, ...).

    Attributes
    ----------
    setting
        Fault settings of the case.
    uniform : tuple of str
        Parameters that have one value on the whole fault.
    moved : bool
        True if outputs need slip by the velocity jump.
    perturbed
        Statistics of parameters perturbed by random fields.
    """

    setting: FaultSettings
    faces: FaultFaces
    material: dict[str, np.ndarray]  # (n, 2) of the plus and the minus cell, with lambda and mu
    rule: PointRule
    law: FrictionLaw
    constants: dict[str, float]
    parameters: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    stress: np.ndarray
    episodes: tuple[NucleationEpisode, ...]
    positions: np.ndarray  # (n, p, 3)
    topology: tets.Topology
    geometry: tets.Geometry
    vertices: np.ndarray
    order: int
    moved: bool
    uniform: tuple[str, ...] = ()
    perturbed: tuple[tuple[str, str], ...] = ()
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(face_work=self.law.work, flows=self.moved)

    @property
    def owned(self) -> np.ndarray:
        """Numbers in the whole fault of the faces that this process owns."""
        return self.faces.number[: self.faces.owned]

    def partition(self, cut: Cut) -> Rupture:
        rows, _ = cut.fault_rows(self.faces.cells)
        return self._of(rows, cut.here, cut.part[self.faces.cells[rows]])

    def _of(self, rows: np.ndarray, here: np.ndarray, sides: np.ndarray) -> Rupture:
        """Return the plan of the faces ``rows`` (n,); ``sides`` (n, 2) are the processes of their cells."""
        f = chosen(self.faces, rows)
        far = np.where(sides[:, 0] == sides[:, 1], -1, np.where(here[f.cells[:, 0]] >= 0, sides[:, 1], sides[:, 0]))
        return replace(
            self,
            faces=replace(f, cells=here[f.cells], far=far),
            material={k: v[rows] for k, v in self.material.items()},
            parameters={k: v[rows] for k, v in self.parameters.items()},
            state={k: v[rows] for k, v in self.state.items()},
            stress=self.stress[rows],
            episodes=tuple(replace(e, traction=e.traction[rows]) for e in self.episodes),
            positions=self.positions[rows],
        )

    def attach(self, solver: Solver) -> AttachedRupture:
        return AttachedRupture(self, solver)

    def ranges(self) -> dict[str, tuple[float, float]]:
        """Return minimum and maximum of each parameter of the law's kernels."""
        return {n: (float(x.min()), float(x.max())) for n in self.law.kernel_parameters for x in [self.parameters[n]]}

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        values = {**self.parameters, "initial stress": self.stress}
        values |= {f"nucleation {i}": e.traction for i, e in enumerate(self.episodes)}
        owned = self.faces.owned
        return {
            f"{name} of the fault at order {self.order}": (v[:owned], self.owned) for name, v in sorted(values.items())
        }

    def report(self, plan: Plan) -> dict[str, list[tuple[str, ...]]]:
        points = f" with {self.positions.shape[1]} points each"
        found: dict[str, list[tuple[str, ...]]] = {"size": [("fault faces", f"{len(self.faces.area):,}{points}")]}
        found |= {"random fields": list(self.perturbed)} if self.perturbed else {}
        fault = loaded_fault(self, plan.case.numerics.order, plan.case.end_time)
        if self.law.needs_stress:
            return found | FaultForecast(fault, largest_patch(self.faces.corners, fault)).report()
        return found | resolution_rows(fault)

    def shapes(self, plan: Plan) -> tuple[Sheet, ...]:
        return (face_sheet(self.faces, loaded_fault(self, plan.case.numerics.order, plan.case.end_time)),)


def plan(planning: Planning) -> Rupture | None:
    """Return the plan of spontaneous or imposed rupture, None if the case has no fault."""
    case, whole, frictional = planning.case, planning.whole, planning.frictional
    if case.fault is None:
        return None
    ruptures = whole.any(bool(frictional.any()))
    made = None
    problems = Problems()
    if frictional.any() or not ruptures:
        try:
            made = _plan_fault(planning)
        except InputError as error:
            problems.extend(error.problems)
    whole.meet(problems)
    first = whole.first_of(0 if made is None else len(made.faces.area))
    problems.raise_errors()
    _doubt(planning, made)
    ranges = whole.everywhere(None if made is None else made.ranges())
    if made is None:
        return None
    faces = replace(made.faces, number=made.faces.number + first)
    return replace(made, faces=faces, uniform=_uniform([found for found in ranges if found is not None]))


def _uniform(ranges: Sequence[Mapping[str, tuple[float, float]]]) -> tuple[str, ...]:
    """Return the parameters that have one value on all processes, from the minimum and maximum on each."""
    every = {name: [found[name] for found in ranges] for name in ranges[0]}
    return tuple(name for name, found in every.items() if min(x for x, _ in found) == max(y for _, y in found))


MAX_FORECAST_POINTS = 1 << 24
"""Largest number of fault points gathered from a distributed mesh for forecasts, about 3 GB."""


def _doubt(planning: Planning, made: Rupture | None) -> None:
    """Warn about ruptures that will probably not run as intended, on the first process for the whole fault."""
    case, whole = planning.case, planning.whole
    if (
        whole.elsewhere
        and whole.total(np.array([0 if made is None else made.positions[..., 0].size]))[0] > MAX_FORECAST_POINTS
    ):
        return
    piece = None
    if made is not None and made.law.needs_stress:
        piece = FaultPiece(made.faces.corners, loaded_fault(made, case.numerics.order, case.end_time))
    pieces = [p for p in whole.joined(piece) or [] if p is not None]
    if pieces:
        found = merge_pieces(pieces)
        loaded = FaultForecast(found.points, largest_patch(found.corners, found.points))
        loaded.warn(fault_loads(case), planning.problems)


def _plan_fault(planning: Planning) -> Rupture:
    """Plan the fault.

    Raises
    ------
    InputError
        If any setting of the fault is wrong, with all problems.
    """
    case, material, frictional = planning.case, planning.material, planning.frictional
    setting = case.fault
    assert setting is not None
    law = composed(setting.friction, setting.modifiers)
    problems, lacking = Problems(), Problems()
    constants = _constants(law, setting, planning.problems, lacking)
    _require_fault_faces(frictional, problems, lacking)
    rule = point_rule(setting.points, case.numerics.order - 1)
    faces = fault_faces(
        planning.mesh, planning.topology, planning.geometry, frictional, setting.reference, setting.reference_method, len(rule.phi)
    )  # fmt: skip
    material = material | planning.law.moduli(material)
    if "mu" not in material:
        _refuse_law(planning, case)
    _check_solid(material, faces, problems)
    positions = faces.positions(rule.points[faces.group])
    points, tags = positions.reshape(-1, 3), np.repeat(faces.tags, positions.shape[1])
    field = load_field(setting.parameters, "fault.parameters")
    given = _parameters(law, field, points, tags, problems)
    warn_friction(given, constants, float(np.ptp(points, axis=0).max()), problems)
    places = FaultPoints(points, tags, faces, setting.pore_pressure)
    stress = np.zeros((len(points), 3))
    with collect_problems(lacking):
        values = law.given(given, len(points))
    with collect_problems(lacking):
        if law.needs_stress:
            stress = places.traction(field, 0, "fault.parameters", problems)
            places.check_sides(field, problems)
        episodes = places.episodes(setting.nucleation, problems)
        check_starts(setting.nucleation, planning.case.end_time, problems)
    problems.extend(lacking.items)
    if lacking.items:  # parameters are missing, so nothing can be computed, but other problems can be reported
        check_absent(law.parameters, law.constants, {*given, *setting.constants}, problems)
        problems.raise_errors()
    check_read(field, problems)
    vectors = (faces.tangent1, faces.tangent2, faces.strike, faces.dip)
    prepared = law.prepare(values, constants, frame.directions(*[np.repeat(v, positions.shape[1], 0) for v in vectors]))
    problems.extend(law.check(values, constants, np.hypot(stress[:, 1], stress[:, 2]), stress[:, 0], points).items)
    problems.raise_errors()
    state = _initial_state(law, prepared, constants, stress)
    planning.problems.extend(problems.warnings)
    sides = {k: v[faces.cells] for k, v in material.items()}
    energies = case.output.energies
    return Rupture(
        setting, faces, sides, rule, law, constants, _shaped(prepared, positions), _shaped(state, positions),
        stress.reshape(positions.shape), episodes, positions, planning.topology, planning.geometry, planning.mesh.vertices,
        case.numerics.order, energies is not None and energies.slip_from_velocity,
        perturbed=tuple(perturbation_rows(field)),
    )  # fmt: skip


def _require_fault_faces(frictional: np.ndarray, problems: Problems, lacking: Problems) -> None:
    """Raise the problems found so far if the mesh has no fault faces."""
    if not frictional.any():
        advice = "Tag them 3 or from 65 on, or see mesh.boundaries."
        problems.error("fault", "the mesh has no fault faces", advice=advice)
        problems.extend(lacking.items)
        problems.raise_errors()


def _constants(law: FrictionLaw, setting: FaultSettings, problems: Problems, lacking: Problems) -> dict[str, float]:
    """Return the constants of the law; empty if some are missing or wrong, which is added to ``lacking``."""
    own = {"forced_rupture_ramp": setting.forced_rupture_ramp, "healing_threshold": setting.healing_threshold}
    declared = {c.name for c in law.constants}
    _check_used(setting, law, declared, problems)
    known = {k: v for k, v in own.items() if k in declared} | setting.constants
    with collect_problems(lacking):
        return law.settings(known, _points_or_modifiers(law))
    return {}


def _parameters(
    law: FrictionLaw, field: Field, points: np.ndarray, tags: np.ndarray, problems: Problems
) -> dict[str, np.ndarray]:
    """Return the parameters of the law (n,) that a field defines at the points (n, 3) with fault tags (n,)."""
    _check_spelling(law, field.parameters)
    _check_parameters(field, law, problems)
    wanted = [n for q in law.parameters for n in (q.name, *q.aliases) if n in field.parameters]
    given = field.evaluate(points, tags, wanted)
    problems.extend(law.check_given(given, points).items)
    return given


def _check_spelling(law: FrictionLaw, given: Iterable[str]) -> None:
    """Raise InputError for names that differ from the law's only in case, as they would not be read."""
    known = {n for q in law.parameters for n in (q.name, *q.aliases)}
    meant = {n.lower(): q.name for q in law.parameters for n in (*q.aliases, q.name)}
    problems = Problems()
    for wrong in sorted(n for n in set(given) - known if n.lower() in meant):
        problems.error(
            "fault.parameters", f"'{law.name}' does not read '{wrong}'", advice=f"Write {meant[wrong.lower()]}"
        )
    problems.raise_errors()


def _check_used(setting: FaultSettings, law: FrictionLaw, declared: set[str], problems: Problems) -> None:
    """Report settings of the fault that the friction law does not read."""
    for name in ("forced_rupture_ramp", "healing_threshold"):
        if name in setting.model_fields_set and name not in declared:
            problems.error(
                f"fault.{name}", f"has no effect with friction {law.name}", "friction laws that weaken with slip"
            )
    for name in ("weakening", "sliding"):
        if name in setting.model_fields_set and getattr(setting, name) != "full" and not law.project:
            problems.error(
                f"fault.{name}",
                f"has no effect with friction {law.name}",
                "linear-slip-weakening, without prakash-clifton",
            )
    if setting.nucleation and not law.needs_stress:
        problems.error(
            "fault.nucleation",
            f"adds stress, which friction {law.name} does not read",
            advice="Remove fault.nucleation, or choose a law that reads stress: `faultwave laws`.",
        )
    if setting.damping_end is not None and setting.damping == 1.0:
        problems.warn("fault.damping_end", "has no effect while fault.damping is 1")


def _check_parameters(field: Field, law: FrictionLaw, problems: Problems) -> None:
    """Report parameters that the friction law does not read; in files only parameters of other laws."""
    known = {name for p in law.parameters for name in (p.name, *p.aliases)}
    if law.needs_stress:
        known |= initial_names("")
    check_used(field, known, f"friction {law.name}", problems, _elsewhere())
    stated = {n for leaf in leaves(field) if isinstance(leaf, Constant | Expression) for n in leaf.parameters}
    others = {n for one in friction_laws().values() for p in one.parameters for n in (p.name, *p.aliases)}
    others |= set(names_of_modifiers())
    unread = sorted((field.parameters & others) - known - stated)
    if unread:
        these = "it" if len(unread) == 1 else "them"
        problems.warn("fault.parameters", f"{', '.join(unread)}: friction {law.name} does not read {these}")


def _elsewhere() -> dict[str, str]:
    """Return advice for missing constants of modifiers, by name."""
    return {name: f"Add {modifier} to fault.modifiers" for name, modifier in names_of_modifiers().items()}


def _points_or_modifiers(law: FrictionLaw) -> dict[str, str]:
    """Return advice for constants that a law does not have, by name: parameters at points and constants of modifiers."""
    names = {name for p in law.parameters for name in (p.name, *p.aliases)}
    return _elsewhere() | {name: f"{name} is a parameter: define it in fault.parameters" for name in names}


def _refuse_law(planning: Planning, case: Case) -> None:
    """Raise InputError for a fault in a law without shear stress, which decks have where their material lacks ``mu``."""
    given = ", ".join(sorted(n for n in planning.material if n in {p.name for p in planning.law.parameters}))
    advice = "Faults need a solid: add mu (or vs)."
    if case.material.easi is not None:
        where, what = (
            str(case.material.easi),
            f"defines {given} but no mu: that is the law '{planning.law.name}' of a fluid",
        )
    else:
        where, what = "law", f"'{planning.law.name}' has no shear stress, so the fault cannot slip"
        advice = "Choose a law of solids, such as elastic, or remove 'fault'."
    raise InputError(Problem(where, what, "a material with mu", advice))


def _check_solid(material: dict[str, np.ndarray], faces: FaultFaces, problems: Problems) -> None:
    fluid = (material["mu"][faces.cells] <= 0).any(1)
    if fluid.any():
        x = faces.corners[np.flatnonzero(fluid)[0]].mean(0)
        problems.error(
            f"fault face at ({x[0]:g}, {x[1]:g}, {x[2]:g})", f"touches a fluid (and {fluid.sum() - 1} more)", "mu > 0"
        )


def _initial_state(
    law: FrictionLaw, prepared: dict[str, np.ndarray], constants: dict[str, float], stress: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the friction state (points,) that balances the initial traction ``stress`` (points, 3) [Pa]."""
    tau = np.hypot(stress[:, 1], stress[:, 2])
    state = law.initial(prepared, constants, tau, stress[:, 0])
    if "slip_rate" in state:  # the rate along the initial traction, so that the first sub-step starts from it
        scale = state["slip_rate"] / np.where(tau > 0, tau, 1.0)
        state = state | {"slip_rate1": scale * stress[:, 1], "slip_rate2": scale * stress[:, 2]}
    return state


def _shaped(values: dict[str, np.ndarray], positions: np.ndarray) -> dict[str, np.ndarray]:
    """Reshape values (points,) or (points, size) to faces and points."""
    arrays = {name: np.asarray(v, float) for name, v in values.items()}
    return {name: v.reshape(*positions.shape[:2], *v.shape[1:]) for name, v in arrays.items()}


class AttachedRupture(Capability):
    """Rupture of a run; ``fault`` is None if this process has no fault faces."""

    def __init__(self, part: Rupture, solver: Solver):
        self.part, self.solver = part, solver
        self.fault = self._fault() if len(part.faces.area) else None
        energies = solver.plan.case.output.energies
        self.energy_options = (energies.plain_mean, energies.slip_from_velocity) if energies else (False, False)
        if self.fault is not None:
            self.channels = self.fault.channels
            where = frozenset(filter(self.fault.acts, range(solver.layout.clusters)))
            self.callbacks = (
                Callback("friction", self.fault.correct, on_device=FrictionReplay(self.fault), clusters=where),
            )

    def _fault(self) -> Fault:
        part, plan, setting = self.part, self.solver.plan, self.part.setting
        options = FrictionOptions(
            times=setting.time_points or plan.case.numerics.order,
            whole_steps=setting.points == "conical",
            damping=setting.damping,
            damping_end=setting.damping_end if setting.damping_end is not None else np.inf,
            moved=part.moved,
            breakdown=plan.case.output.rupture is not None,
            linear_normal=setting.normal_traction == "linear",
            quadratic_slip=setting.weakening == "quadratic",
            smooth_sliding=setting.sliding == "smooth",
            grains=setting.pore_density == "grains",
        )
        return Fault(self.solver.operator, part, options, plan.clustering.cluster, RemoteFaultSides(plan.world))

    def finish_reads(self, wait: bool = True) -> None:
        """Combine the readings at the fault."""
        if self.fault is not None:
            self.fault.finish_reads(wait or self.solver.messages.exchange is not None)

    def prepare_energies(self) -> None:
        if self.fault is not None:
            self.fault.prepare_energies(*self.energy_options)

    def energies(self) -> Mapping[str, float]:
        return self.fault.energies(*self.energy_options) if self.fault is not None else {}

    def state(self) -> Mapping[str, State]:
        fault = self.fault
        if fault is None:
            return {}
        columns = fault.column_names()
        reported = encode_words([f"{k}: {' '.join(v)}" for k, v in columns.items()])
        states = {"columns": State(None, lambda: reported, self._same_columns)}
        return states | {
            k: State(fault.faces.number, lambda k=k: fault.state_of(k), lambda v, origin, k=k: self._put(k, v, origin))  # type: ignore[misc]
            for k in columns
        }

    def _same_columns(self, values: np.ndarray, origin: RestoredFrom) -> None:
        fault = self.fault
        assert fault is not None
        retained, wanted = decode_words(values), [f"{k}: {' '.join(v)}" for k, v in fault.column_names().items()]
        if retained != wanted:
            had, needed = ({name for row in rows for name in row.split()[1:]} for rows in (retained, wanted))
            reported = [f"lacks {', '.join(sorted(needed - had))}"] if needed - had else []
            reported += [f"holds {', '.join(sorted(had - needed))}"] if had - needed else []
            what = "the checkpoint belongs to a different friction law, modifiers, outputs, or version of Faultwave"
            advice = "Start the run again, or continue with the original version and settings."
            raise InputError(Problem("fault", "; it ".join([what, *reported]), advice=advice))

    def _put(self, name: str, values: np.ndarray, origin: RestoredFrom) -> None:
        """Restore an array, from another order by transfer to the present points."""
        fault, order = self.fault, origin.notes["order"]
        assert fault is not None
        of_faces = {"jumped": fault.rule.phi.shape[2], JUMP_WORK: 1}  # rows of values per face instead of per point
        if order != self.solver.plan.case.numerics.order:
            old = point_rule(self.part.setting.points, order - 1)
            if name in of_faces:
                return fault.put_state(name, resize_modes(values, of_faces[name]))
            columns, positive = fault.column_names()[name], {s.name for s in fault.law.state if s.decades}
            jumps, decades = (np.array([n in names for n in columns]) for names in (DISCONTINUOUS_VALUES, positive))
            values = transfer(values, old, fault.rule, fault.faces.group, jumps, decades)
            if name == "stress":
                values = fault.stress_at(origin.notes["time"])
        fault.put_state(name, values)

    def diagnosis(self, place: np.ndarray, cells: np.ndarray) -> tuple[Sequence[str], Sequence[str]]:
        if self.fault is None:
            return (), ()
        broken = bool(self.solver.plan.frictional[cells].any())
        cause = "cells at the fault: check initial stress and friction parameters there (faultwave check)"
        return [_nearest_state(self.fault, self.part.positions, place)], [cause] if broken else []

    def remarks(self) -> list[Problem]:
        """Return the friction law's remarks about the points that all processes own."""
        counted = self.part.law.counted
        here = np.zeros(len(counted))
        if self.fault is not None and counted:
            record = self.fault.record(np.arange(self.part.faces.owned))
            here = np.array([record[name].sum() for name in counted])
        total = self.solver.plan.world.total(here) if counted else here
        advice = "check rs_* parameters and initial stress, or shorten the step (numerics.largest_step)"
        return [
            Problem("fault", f"{count:,.0f} {what}", advice=advice, severity="warning")
            for what, count in zip(counted.values(), total, strict=True)
            if count
        ]

    @property
    def nbytes(self) -> int:
        return self.fault.nbytes() if self.fault is not None else 0


@dataclass(frozen=True)
class FrictionReplay:
    """Friction during replays: launches are the same in every step except for the scalars that depend on time."""

    fault: Fault

    def key(self, steps: Sequence[int]) -> Hashable:
        return ()

    def table_bytes(self, steps: Sequence[int]) -> int:
        return 0

    def begin(self, due: bool) -> None:
        self.fault.rewind()

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Scalars]:
        return [self.fault.changing(time, step)] * self.fault.acts(cluster)

    def end(self) -> None:
        pass


def _nearest_state(fault: Fault, positions: np.ndarray, place: np.ndarray) -> str:
    """Describe the state of the first broken point, or of the nearest one."""
    record = fault.record()
    broken = ~np.isfinite(record["slip_rate"]) | ~np.isfinite(record["traction_n"])
    distance = np.linalg.norm(positions - place, axis=2)
    face, point = np.unravel_index(
        np.argmin(np.where(broken, distance, np.inf) if broken.any() else distance), distance.shape
    )
    y = positions[face, point]
    values = ", ".join(
        f"{k} = {record[k][face, point]:.4g}" for k in ("slip_rate", "friction", "strength", "stress_n", "traction_n")
    )
    kind = "first broken" if broken.any() else "nearest"
    return f"{kind} fault point at ({y[0]:g}, {y[1]:g}, {y[2]:g}), {distance[face, point]:.4g} m away: {values}"
