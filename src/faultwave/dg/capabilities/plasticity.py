"""Plastic yielding of rock: a rheology evaluated at points of every cell between correction and prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.backends.base import Buffer
from faultwave.base.errors import InputError, Problem, collect_problems, suggest
from faultwave.base.types import Setting
from faultwave.case.settings.yielding import Plasticity as PlasticitySettings
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method import yielding
from faultwave.dg.method.basis import tet_basis
from faultwave.dg.method.forms import Form
from faultwave.dg.method.yielding import yield_points
from faultwave.dg.operators.buffers import Buffers
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, RestoredFrom, State
from faultwave.kernels.expr import Named, Scalars
from faultwave.kernels.language import Kernel
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.physics.friction.initial_stress import pressure_name
from faultwave.physics.rheology import STRESS, in_tension, rheology

name = "plasticity"


@dataclass(frozen=True)
class Plasticity(CapabilityPlan):
    """Plan of yielding in the cells of this process.

    Attributes
    ----------
    parameters : (nc, 1 or n points, columns) float
        Parameters of the rheology.
    stress : (nc, 1 or n points, 6) float
        Initial stress [Pa].
    distance : (nc,) float
        Distance to yield.
    mu : (nc,) float
        Shear modulus [Pa].
    numbers : (nc,) int
        Numbers of the cells in the whole mesh.
    """

    setting: PlasticitySettings
    medium: yielding.Medium
    parameters: np.ndarray
    stress: np.ndarray
    distance: np.ndarray
    mu: np.ndarray
    numbers: np.ndarray
    order: int
    summary: tuple[str, ...] = ()
    name: str = name

    @property
    def cell_work(self) -> YieldingCells:
        return YieldingCells(self)

    @property
    def volume_fields(self) -> Sequence[str]:
        return [output.name for output in self.medium.rheology.outputs]

    def partition(self, cut: Cut) -> Plasticity:
        here = cut.cells
        arrays = {n: getattr(self, n)[here] for n in ("parameters", "stress", "distance", "mu", "numbers")}
        return replace(self, **arrays)

    def attach(self, solver: Solver) -> AttachedPlasticity:
        return AttachedPlasticity(self, solver)

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        kind = f"at order {self.order}, {self.setting.points}"
        values = {"strength": self.parameters, "stress at rest": self.stress}
        return {f"{what} of yielding rock {kind}": (v, self.numbers) for what, v in values.items()}

    def report(self, plan: Plan) -> dict[str, list[tuple[str, ...]]]:
        count = len(self.medium.points.points)
        return {
            "size": [("points of a cell where it may yield", f"{count}, {self.setting.points}")],
            "resolution": [("rock that yields at t = 0", text) for text in self.summary],
        }


@dataclass(frozen=True)
class YieldingCells:
    """Kernel statements and buffers of yielding cells."""

    part: Plasticity

    def kernel(self, form: Form) -> Kernel:
        return yielding.yielding(form, self.part.medium)

    def buffers(self, operator: Buffers) -> Mapping[str, Buffer]:
        part, b, size = self.part, operator.backend, len(operator.layout.cell_at)
        medium = part.medium
        values = {yielding.PARAMETERS: part.parameters, yielding.INITIAL: part.stress}
        if medium.bounded:
            scale = operator.form.stress_scale(operator.cells)
            values[yielding.DISTANCE] = np.stack([part.distance, scale], 1)[:, None]
        found = {}
        for n, array in values.items():
            found[n] = b.batch(size, *array.shape[1:])
            operator.fill(found[n], array)
        if medium.rheology.state:
            shape = len(medium.points.points), medium.rheology.state_columns.size
            found[yielding.STATE] = b.batch(size, *shape)
        return found

    def scalars(self, step: float) -> Scalars:
        return {yielding.STEP: step}


class AttachedPlasticity(Capability):
    """Plasticity attached to a solver."""

    def __init__(self, part: Plasticity, solver: Solver):
        self.part, self.solver, self.medium = part, solver, part.medium
        self.columns = part.medium.rheology.state_columns
        self.states = solver.operator.own.get(yielding.STATE)
        self.names = yielding.energy_names(part.medium) if self.states is not None else ()
        if self.names:
            self._prepare_sums()

    def _held(self, cells: np.ndarray) -> np.ndarray:
        """Return the present rheology state (n, points, columns) of cells."""
        assert self.states is not None
        return np.asarray(self.states.get(self.solver.layout.position[cells]))

    def _all(self) -> np.ndarray:
        return np.arange(self.solver.plan.cells)

    def state(self) -> Mapping[str, State]:
        if self.states is None:
            return {}
        return {"state": State(self.part.numbers, lambda: self._held(self._all()), self._put)}

    def _put(self, values: np.ndarray, origin: RestoredFrom) -> None:
        """Restore the state from another order by evaluating its interpolating polynomial at the present points."""
        assert self.states is not None
        order = int(origin.notes["order"])
        if order != self.part.order:
            old, new = yield_points(self.part.setting.points, order - 1), self.medium.points
            moved = tet_basis(new.points, order - 1) @ old.back
            values = np.einsum("np,cpk->cnk", moved, values)
        self.states.put(values, self.solver.layout.position)

    def sample(self, points: np.ndarray, cells: np.ndarray, fields: Sequence[str]) -> np.ndarray:
        """Return the state at the end of each cell's last step."""
        part, rheology_ = self.part, self.medium.rheology
        if not rheology_.state:
            return np.zeros((len(cells), len(points), 0))
        s = self.columns.split(self._held(cells).astype(float))
        p = rheology_.parameter_columns.split(part.parameters[cells])
        outputs = {o.name: o for o in rheology_.outputs}
        shape = (len(cells), len(self.medium.points.points))
        found = [np.broadcast_to(outputs[f].formula(p, self.medium.constants, s), shape) for f in fields]
        table = tet_basis(points, part.order - 1) @ self.medium.points.back
        return np.stack([values @ table.T for values in found], -1)

    def returning(self, points: np.ndarray, cells: np.ndarray) -> Callable[[np.ndarray, float], np.ndarray] | None:
        """Return the function from the stress of an elastic step to the stress that yielding rock carries at points.

        Parameters
        ----------
        points : (n, 3) float
            Reference coordinates, one in each of ``cells`` (n,).
        cells : (n,) int
            Cells of the points.

        Returns
        -------
        callable or None
            Function of stress changes (n, 6) [Pa] and the time since the cells last yielded [s]. None for rheologies whose return map
            depends on the history of a point.
        """
        part, law = self.part, self.medium.rheology
        if not law.scales:
            return None
        table = tet_basis(points, part.order - 1) @ self.medium.points.back
        parameters, rest = (
            values[cells, 0] if values.shape[1] == 1 else np.einsum("np,npc->nc", table, values[cells])
            for values in (part.parameters, part.stress)
        )
        may = np.isfinite(part.distance[cells])  # elsewhere rock stays elastic
        p = law.parameter_columns.row(list(parameters.T))
        state = law.state_columns.row(list(np.zeros((law.state_columns.size, len(cells)))))

        def carried(stress: np.ndarray, step: float) -> np.ndarray:
            found = law.return_map(p, self.medium.constants, STRESS.row(list((stress + rest).T)), state, step)
            return np.where(may[:, None], np.stack(STRESS.flat(found.stress), -1) - rest, stress)

        return carried

    def energies(self) -> Mapping[str, float]:
        """Return the integrals of the rheology's energy densities [J]."""
        return {name: value for name, value in self._sums().items() if name != yielding.GIVEN}

    def energy_given(self) -> float:
        """Return the energy [J] that the initial stress has given."""
        return self._sums().get(yielding.GIVEN, np.inf)

    def _sums(self) -> dict[str, float]:
        """Return the sums over the cells of this process, computed on the backend."""
        if not self.names:
            return {}
        self.launch(0, self.sums.items)
        return dict(zip(self.names, self.sums.total()[0].tolist(), strict=True))

    def _prepare_sums(self) -> None:
        op, part = self.solver.operator, self.part
        cells = np.stack([self.solver.plan.geometry.volume, part.mu], 1)[:, None]
        about = op.backend.batch(len(op.layout.cell_at), 1, 2)  # padding has no volume
        op.fill(about, cells)
        padding = op.layout.cell_at < 0
        if padding.any():
            about.put(0.0, padding)
        self.sums = op.backend.batch(len(op.layout.cell_at), 1, len(self.names))
        arrays = {n: op.own[n] for n in (yielding.STATE, yielding.INITIAL)} | {"medium": about, "sums": self.sums}
        self.launch = op.backend.compile([yielding.dissipation(self.medium)])["dissipation"](arrays)


def plan(planning: Planning) -> Plasticity | None:
    """Return the plan of plasticity, None if the case has none."""
    setting, problems = planning.case.plasticity, planning.problems
    if setting is None:
        return None
    law, numerics = planning.law, planning.case.numerics
    if "stress" not in law.roles or "mu" not in law.moduli(planning.material):
        problems.error("plasticity", f"the {law.name} law has no shear stress that could yield", "law: elastic")
        return None
    if "pressure" in law.roles:
        problems.error(
            "plasticity",
            f"is not supported for the {law.name} law, whose frame carries only part of the stress",
            "law: elastic",
        )
        return None
    if numerics.integrator != "ader":
        problems.error("plasticity", f"needs integrator ader, not {numerics.integrator}", "ader")
    return _Planner(planning).made()


class _Planner:
    """Planner that evaluates parameters and initial stress at the points of all cells (n,)."""

    def __init__(self, planning: Planning):
        self.planning, self.problems, setting = planning, planning.problems, planning.case.plasticity
        assert setting is not None
        self.material = planning.material | planning.law.moduli(planning.material)
        self.setting = setting
        self.rheology = rheology(self.setting.rheology)
        self.points = yield_points(self.setting.points, planning.case.numerics.order - 1)
        self.constants = self.rheology.settings(self.setting.constants, f"{name}.constants", self.problems)
        geometry = planning.geometry
        places = geometry.centroids[:, None]
        if self.setting.sampled == "points":
            places = geometry.points(slice(None), self.points.points)
        self.shape = places.shape[:2]
        self.elastic = self._elastic()
        self.may_yield = np.repeat(~self.elastic, self.shape[1])  # points that may yield
        self.places = places.reshape(-1, 3)[self.may_yield]
        self.groups = np.repeat(planning.mesh.groups.astype(np.int64), self.shape[1])[self.may_yield]

    def made(self) -> Plasticity:
        """Return the plan.

        Raises
        ------
        InputError
            If problems were found, with all of them.
        """
        planning, law, whole = self.planning, self.rheology, self.planning.whole
        self._check_solid()
        with collect_problems(self.problems):
            given, stress = self._values()
            self._check(given, stress)
        whole.agree(self.problems)
        medium = {n: np.repeat(v, self.shape[1])[self.may_yield] for n, v in self.material.items()}
        prepared = law.prepare(given, self.constants, medium)
        p = law.parameter_columns.row([np.asarray(prepared[n], float) for n in law.kernel_parameters])
        reported = self._at_rest(p, stress)
        available = law.distance(p, self.constants, STRESS.split(stress))
        distance = self._spread(np.full(len(stress), -1.0) if available is None else available).min(1)
        distance[self.elastic] = np.inf
        parameters, stress = self._narrow(law.parameter_columns.join(p)), self._narrow(stress)
        bounded = available is not None or whole.any(bool(self.elastic.any()))
        made = yielding.Medium(law, self.constants, self.points, parameters.shape[1], stress.shape[1], bounded)
        numbers = getattr(whole, "numbers", np.arange(self.shape[0]))
        order, mu = planning.case.numerics.order, self.material["mu"]
        return Plasticity(self.setting, made, parameters, stress, distance, mu, numbers, order, reported)

    def _elastic(self) -> np.ndarray:
        """Return a mask (nc,) of the cells in volumes that never yield."""
        mesh, whole, found = self.planning.mesh, self.planning.whole, np.zeros(self.shape[0], bool)
        names = mesh.named(3)
        for i, key in enumerate(self.setting.elastic):
            group = names.get(str(key), int(key) if str(key).isdigit() else None)
            mine = mesh.groups == (-1 if group is None else group)
            if group is None or not whole.any(bool(mine.any())):
                what = f"the mesh has no volume '{key}'"
                self.problems.error(
                    f"{name}.elastic[{i}]", what, ", ".join(names) or "group numbers", suggest(str(key), names)
                )
            found |= mine
        return found

    def _check_solid(self) -> None:
        fluid = (self.material["mu"] <= 0) & ~self.elastic
        if fluid.any():
            x = self.planning.geometry.centroid(np.flatnonzero(fluid)[0])
            what = f"water cannot yield: mu is 0 in the cell at ({x[0]:g}, {x[1]:g}, {x[2]:g}) and in {fluid.sum() - 1} others"
            self.problems.error(name, what, advice="Name the water's volumes in plasticity.elastic.")

    def _values(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the rheology's parameters by name and the initial stress (n, 6) [Pa].

        The stress is effective where the fault reads pore pressure.
        """
        case, setting, where = self.planning.case, self.setting, f"{name}.parameters"
        user = f"rheology {self.rheology.name}"
        pressure: tuple[str, ...] = ()
        if setting.parameters is None or setting.overburden is not None or setting.rock_quality is not None:
            what = "strength from rock quality and stress from overburden are supported on grids only"
            raise InputError(Problem(name, what, "parameters and initial_stress", "Or set engine: fd."))
        own = self._field(setting.parameters, where)
        law, count = self.rheology, len(self.places)
        known = {n for q in law.parameters for n in (q.name, *q.aliases)}
        check_used(own, known.union(STRESS if setting.initial_stress == "parameters" else ()), user, self.problems)
        wanted = [n for q in law.parameters for n in (q.name, *q.aliases) if n in own.parameters]
        values = law.given(own.evaluate(self.places, self.groups, wanted), count, where, self.problems)
        field = own
        if setting.initial_stress == "fault":
            where = "fault.parameters"
            if case.fault is None:
                raise InputError(Problem(f"{name}.initial_stress", "there is no fault", "a field or parameters"))
            field = self._field(case.fault.parameters, where)
            pressure = tuple(field.parameters & {pressure_name("")}) if case.fault.pore_pressure else ()
        elif setting.initial_stress != "parameters":
            where = f"{name}.initial_stress"
            field = self._field(setting.initial_stress, where)
            check_used(field, set(STRESS), user, self.problems)
        missing = [n for n in STRESS if n not in field.parameters]
        if missing:
            what, allowed = f"no initial stress: {', '.join(missing)} missing", ", ".join(STRESS)
            raise InputError(Problem(where, what, allowed, "Set them there, or see plasticity.initial_stress."))
        found = field.evaluate(self.places, self.groups, [*STRESS, *pressure])
        stress = np.stack([np.asarray(found[n], float) for n in STRESS], 1)
        for n in pressure:
            stress[:, :3] += np.asarray(found[n], float)[:, None]
        return values, stress

    def _field(self, setting: Setting, where: str) -> Field:
        planning = self.planning
        return load_field(setting, where, None, planning.mesh.named(3), {}, planning.case.projection)

    def _check(self, given: Mapping[str, np.ndarray], stress: np.ndarray) -> None:
        """Report values that are not finite or out of bounds, with the first position."""
        bounds = {q.name: q for q in self.rheology.parameters}
        listed = [(n, v, ~bounds[n].accepts(v), bounds[n].allowed()) for n, v in given.items()]
        listed += [(n, stress[:, i], ~np.isfinite(stress[:, i]), "a finite number") for i, n in enumerate(STRESS)]
        for what, values, bad, allowed in listed:
            if bad.any():
                first = int(np.flatnonzero(bad)[0])
                text = f"{what} is {values[first]:g} at {_text(self.places[first])} and wrong at {bad.sum() - 1} other points"
                self.problems.error(name, text, allowed)

    def _at_rest(self, p: Named, stress: np.ndarray) -> tuple[str, ...]:
        """Describe the yielding of the initial state; warn if any rock yields before anything moves."""
        law = self.rheology
        sizes = law.state_columns.widths.items()
        zero = {n: 0.0 if size is None else [0.0] * size for n, size in sizes}
        yields = np.broadcast_to(
            np.asarray(law.yields(p, self.constants, STRESS.split(stress), zero, 1.0)), len(stress)
        )
        some, every = self.planning.whole.total(np.array([int(yields.sum()), len(yields)]))
        text = f"{100 * some / max(every, 1):.3g} % of {every:,} points"
        if yields.any():
            places = f"the first at {_text(self.places[np.flatnonzero(yields)[0]])}"
            advice = (
                "Check initial stress against cohesion and friction, or use the same stress on the fault "
                "and in the rock."
            )
            self.problems.warn(name, f"at rest {text} are beyond yield, {places}", advice=advice)
        pulled = in_tension(STRESS.split(stress))
        (some,) = self.planning.whole.total(np.array([int(pulled.sum())]))
        if pulled.any():
            share = f"{100 * some / max(every, 1):.3g} % of {every:,} points are in tension"
            places = f"the first at {_text(self.places[np.flatnonzero(pulled)[0]])}"
            self.problems.warn(name, f"at rest {share}, {places}", "mean stress below 0", "Compression is negative.")
        return (text,)

    def _spread(self, values: np.ndarray) -> np.ndarray:
        """Expand values of points that may yield (n, ...) to (nc, points, ...), with 0 for other points."""
        found = np.zeros((len(self.may_yield), *values.shape[1:]))
        found[self.may_yield] = values
        return found.reshape(*self.shape, *values.shape[1:])

    def _narrow(self, values: np.ndarray) -> np.ndarray:
        """Expand values like ``_spread``, with one row if the points of every cell on all processes share one value."""
        found = self._spread(values)
        varies = self.planning.whole.any(bool((found != found[:, :1]).any()))
        return found if varies else found[:, :1]


def _text(x: np.ndarray) -> str:
    return f"({x[0]:g}, {x[1]:g}, {x[2]:g})"
