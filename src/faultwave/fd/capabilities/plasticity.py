"""Yielding rock: a rheology at cell centres, evaluated after every stress update (``fd.rheology.yielding``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.precision import number_bytes
from faultwave.base.types import Json
from faultwave.case.settings.model import Case
from faultwave.case.settings.yielding import Plasticity as Setting
from faultwave.comm import World
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.checks.case_checks import check_combined
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.operators.resources import Memory
from faultwave.fd.operators.topography import FieldBelowGround
from faultwave.fd.rheology import yielding, yielding_rock
from faultwave.fd.rheology.yielding_rock import Rock
from faultwave.kernels.stencil import Box
from faultwave.media import Field, load_field
from faultwave.media.field import Constant, axes_of, check_used
from faultwave.physics.rheology import STRESS, Rheology, rheology

name = "plasticity"


def plan(planning: Planning) -> Plasticity | None:
    """Return the plasticity of the case, None if rock does not yield."""
    case, problems = planning.case, planning.problems
    if case.plasticity is None:
        return None
    check_combined(planning, "plasticity", NOT_COMBINED)
    if case.plasticity.elastic:
        problems.error(
            "plasticity.elastic",
            "a grid has no volumes",
            advice="Use a large plastic_cohesion for rock that must not yield.",
        )
    with collect_problems(problems):
        return _read(case, problems)
    return None


NOT_COMBINED = {"injection": "sources in the box", "sources": "point sources", "grid.time_dispersion": "keep"}
"""Allowed values of settings that are not implemented together with plasticity."""


def _read(case: Case, problems: Problems) -> Plasticity:
    setting = case.plasticity
    assert setting is not None
    law = rheology(setting.rheology)
    if not law.scales:
        raise InputError(Problem("plasticity.rheology", f"'{law.name}' is not supported on grids", "drucker-prager"))
    constants = law.settings(setting.constants, "plasticity.constants", problems)
    if constants.get("seissol_strain"):
        what = "on grids plastic strain is computed from the loss of stress"
        problems.error("plasticity.constants.seissol_strain", what, "0")
    if setting.initial_stress == "fault":
        what = "faults in yielding rock are not supported on grids yet"
        raise InputError(Problem("plasticity.initial_stress", what, "a field or parameters"))
    own, at_rest = _given(case, setting, law, problems)
    bent, axes = case.grid is not None and case.grid.topography is not None, axes_of(own)
    varies = bool(axes & {"x", "y"}) or (bent and "z" in axes)
    if setting.rock_quality:
        varies = bent or yielding_rock.varies_laterally(setting.rock_quality)
    return Plasticity(case, Rock(law, constants, own, at_rest, varies))


def _given(case: Case, setting: Setting, law: Rheology, problems: Problems) -> tuple[Field, Field]:
    """Return the given fields of strength and initial stress; overburden and rock quality are evaluated later."""
    own: Field = Constant({}, "plasticity.parameters")
    if setting.parameters is not None:
        own = load_field(setting.parameters, "plasticity.parameters", projection=case.projection)
    inside, at_rest = setting.initial_stress == "parameters" and setting.overburden is None, own
    if not isinstance(setting.initial_stress, str):
        at_rest = load_field(setting.initial_stress, "plasticity.initial_stress", projection=case.projection)
        check_used(at_rest, set(STRESS), f"rheology {law.name}", problems)
    known = {n for q in law.parameters for n in (q.name, *q.aliases)} if setting.rock_quality is None else set()
    check_used(own, known.union(STRESS if inside else ()), f"rheology {law.name}", problems)
    missing = [n for n in STRESS if n not in at_rest.parameters]
    if missing and setting.overburden is None:
        where = "plasticity.parameters" if inside else "plasticity.initial_stress"
        what = f"no initial stress: {', '.join(missing)} missing"
        advice = "Set them there, or see plasticity.initial_stress and plasticity.overburden."
        raise InputError(Problem(where, what, ", ".join(STRESS), advice))
    return own, at_rest


@dataclass(frozen=True)
class Plasticity(GridCapabilityPlan):
    """Yielding rock of a case.

    Attributes
    ----------
    case : Case
    rock : Rock
        Strength and initial stress.
    points : int
        Number of points, once there is a grid.
    values : sequence of mapping of str to ndarray
        Stored rock properties of each block, over the box of this process or (nz,) by depth.
    summary : str
        Text on rock that yields at rest, for the report.
    """

    case: Case
    rock: Rock
    points: int = 0
    values: Sequence[Mapping[str, np.ndarray]] = ()
    summary: str = ""
    name = name

    def locate(self, placing: PlacementContext) -> Self:
        relief, rock = placing.grid.relief, self.rock
        setting = self.case.grid.topography if self.case.grid else None
        if relief is not None and setting is not None and setting.material == "depth":
            rock = replace(
                rock, strength=FieldBelowGround(rock.strength, relief), at_rest=FieldBelowGround(rock.at_rest, relief)
            )
        rock = replace(rock, lower=placing.lower, upper=placing.upper, relief=relief)
        return replace(self, rock=rock, points=placing.grid.box.points)

    def check(self, checking: MaterialContext) -> Self:
        """Evaluate strength and initial stress; report invalid values and rock that yields at rest."""
        problems, grids = checking.problems, [grid for grid, _ in checking.blocks]
        if (checking.coarse["mu"] <= 0).any():
            what = "water cannot be combined with yielding rock on a grid yet"
            problems.error(name, what, "rock")
        if len(problems.errors):
            return self
        with collect_problems(problems):
            rock = self._with_overburden(checking)
            rock = replace(rock, factors=rock.check_rest(grids))
            reported = rock.look(grids, problems)
            blocks = () if checking.surveyed else checking.blocks
            values = [rock.values(checking, grid, box) for grid, box in blocks]
            return replace(self, rock=rock, points=sum(g.box.points for g in grids), values=values, summary=reported)
        return self

    def _with_overburden(self, checking: MaterialContext) -> Rock:
        """Return the rock with strength and stress derived from overburden and rock quality."""
        setting, rock = self.case.plasticity, self.rock
        assert setting is not None
        if setting.overburden is None and setting.rock_quality is None:
            return rock
        spacing = checking.placing.grid.spacing
        load = yielding_rock.overburden_load(checking.field, rock.lower, rock.upper, spacing, rock.relief)
        if setting.overburden is not None:
            rock = replace(rock, at_rest=yielding_rock.Weight(load, setting.overburden))
        if setting.rock_quality is not None:
            rock = replace(rock, strength=yielding_rock.Quality(load, checking.field, setting.rock_quality))
        return rock

    def memory(self, steps: int, world: World) -> Memory:
        needed = float(self.points) * (4 + self.rock.numbers) * number_bytes(self.case.numerics.precision) / world.size
        return Memory(needed, name, f"yielding of {self.points:,} points", "Raise the spacing.")

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        rock = self.rock
        return [yielding.observers(scheme, box, rock.law, rock.constants, rock.storage(scheme), rock.factors)]

    @property
    def must_match(self) -> Json:
        """Settings and a digest of the rock's properties."""
        setting = self.case.plasticity
        quality = "" if setting is None or setting.rock_quality is None else repr(setting.rock_quality)
        digest = self.rock.digest(self.values, quality)
        return {"rheology": self.rock.law.name, **self.rock.constants, "digest": digest}

    def report(self, plan: FdPlan) -> dict[str, list[tuple[str, ...]]]:
        strength = "at every point" if self.rock.lateral else "by depth"
        stress = "by depth" if self.rock.relief is None else "at every point, in one number"
        return {
            "size": [("strength and stress at rest", f"strength {strength}, stress {stress}")],
            "resolution": [("rock that yields at t = 0", self.summary)],
        }

    def attach(self, solver: Running) -> AttachedPlasticity:
        return AttachedPlasticity(self, solver)


class AttachedPlasticity(GridCapability):
    """Yielding rock of a run; sums cover what this process owns."""

    def __init__(self, part: Plasticity, solver: Running):
        self.part, self.blocks = part, solver.operator.blocks
        for op, values in zip(self.blocks, part.values, strict=True):
            _fill(op, part.rock, values)

    def _sums(
        self, of: Callable[[Operator, int, Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
    ) -> dict[str, float]:
        """Return the volume integrals of densities over the points of this process.

        ``of(block, plane, state)`` returns densities by name from the state variables of a plane.
        """
        found: dict[str, float] = {}
        for op in self.blocks:
            scheme, owned = op.scheme, op.scheme.filled(op.subdomain.owned.box)
            retained = {n: op.filled_values(n) for n in (*yielding.YIELDED, yielding.INITIAL_STRESS_WORK)}
            stretch = np.broadcast_to(scheme.grid.stretch("sxx", owned), retained[yielding.INITIAL_STRESS_WORK].shape)
            for k, share in enumerate(stretch):
                weight = float(norm_weights(scheme, "szz", owned.lo[0] + k)) * scheme.grid.spacing**3
                for n, density in of(op, owned.lo[0] + k, {m: v[k].astype(float) for m, v in retained.items()}).items():
                    found[n] = found.get(n, 0.0) + weight * float((density * share).sum())
        return found

    def energies(self) -> Mapping[str, float]:
        """Return plastic moment, dissipated work, and the share of it that the initial stress has supplied."""

        def densities(op: Operator, plane: int, s: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            return {
                "plastic_moment": _shear_modulus(op, plane) * s["eta"],
                "plastic_work": s["plastic_work"],
                "initial_stress_work": s[yielding.INITIAL_STRESS_WORK],
            }

        return self._sums(densities)

    def energy_given(self) -> float:
        """Return the energy [J] supplied by the initial stress."""
        rock = self.part.rock
        flat = self.blocks if rock.relief is None else ()
        by_depth = {op: rock.rest_at(yielding.heights(op.scheme, PlanePosition.HALF)) for op in flat}

        def densities(op: Operator, plane: int, s: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
            if rock.relief is None:
                here = {n: v[plane - op.scheme.ends.first] for n, v in by_depth[op].items()}
            else:
                load = op.filled_values(yielding.LOAD)[plane - op.scheme.filled(op.subdomain.owned.box).lo[0]]
                here = {n: rock.factors[n] * load.astype(float) for n in STRESS}
            return {"given": np.asarray(rock.law.initial_stress_gives(rock.constants, s, here))}

        return self._sums(densities).get("given", 0.0)


def _fill(op: Operator, rock: Rock, values: Mapping[str, np.ndarray]) -> None:
    """Write the profiles and arrays of the rock in a block."""
    found = yielding.lines(op.scheme, rock.rest_at if rock.relief is None else None)
    for n in yielding.own_parameters(rock.law):
        if rock.lateral:
            op.filled_view(n)[...] = values[n]
        else:
            found[n] = values[n][: len(yielding.heights(op.scheme, PlanePosition.HALF))]
    for n, line in found.items():
        op.fill_line(n, line)
    if yielding.LOAD in values:
        load, low = values[yielding.LOAD], op.scheme.filled(op.box).lo[0] - op.box.lo[0]
        op.runner.view(yielding.LOAD, 1)[1 + low : 1 + low + len(load)] = load
    _fill_yield_distances(op, rock)


def _fill_yield_distances(op: Operator, rock: Rock) -> None:
    """Write the squared distance from yield of every row, the limit of stress changes by waves."""
    names, filled, runner = yielding.own_parameters(rock.law), op.scheme.filled(op.box), op.runner

    def line(name: str, axis: int) -> np.ndarray:
        first = runner.program.arrays[name].box.lo[axis]
        return np.asarray(runner.values(name)[filled.lo[axis] - first : filled.hi[axis] - first], float)

    may = [line(yielding.may_yield_profile(a), axis) > 0 for axis, a in enumerate(("z", "y", "x"))]  # type: ignore[arg-type]
    for k, available in enumerate(runner.view(yielding.YIELD_DISTANCE)[:, :, 0]):
        if rock.relief is None:
            rest: dict[str, np.ndarray] = {n: line(yielding.rest(n), 0)[k] for n in STRESS}
        else:
            load = op.filled_view(yielding.LOAD)[k].astype(float)
            rest = {n: rock.factors[n] * load for n in STRESS}
        given = {n: op.filled_view(n)[k] if rock.lateral else line(n, 0)[k] for n in names}
        distance = np.broadcast_to(yielding.distance_to_yield(rock.law, given, rock.constants, rest), filled.shape[1:])
        found = np.where(may[2], distance, np.inf).min(1)
        available[...] = np.where(may[0][k] & may[1], found, np.nan)


def _shear_modulus(op: Operator, plane: int) -> np.ndarray:
    """Return the shear modulus [Pa] at the centres of a plane.

    Below a topography coefficients are stored divided by the stretch of cells.
    """
    lo, hi = op.subdomain.owned.box.lo, op.subdomain.owned.box.hi
    stretch = op.scheme.grid.stretch("sxx", Box((plane, *lo[1:]), (plane + 1, *hi[1:])))[0]
    return np.asarray(0.5 * op.plane("mu2", plane) * stretch)
