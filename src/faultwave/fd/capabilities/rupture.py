"""Spontaneous rupture of a vertical fault in a plane of the grid, by friction on split nodes (``fd.fault``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Self

import numpy as np

from faultwave.base.errors import Problem, collect_problems
from faultwave.base.precision import number_bytes
from faultwave.base.types import Json, Setting
from faultwave.case.plausibility import fault_loads
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.fault_forecast import FaultForecast, fault_sheet, finite_values
from faultwave.engine.rupture_maps import TOTALS
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running
from faultwave.fd.checks.case_checks import check_combined
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.fault import (
    FAULT_TAG,
    HUGE,
    STRESS,
    Directions,
    Given,
    Nucleation,
    Reader,
    Sliding,
    array_at,
    constants_of,
    directions_of,
    law_of,
    observer,
    parameter,
)
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.program import Observer
from faultwave.fd.method.regions import VECTOR
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.split_nodes import EVEN, FaultPlane, normal_axis, plane_of
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.operators.resources import Memory
from faultwave.kernels.overlap import intersect
from faultwave.kernels.stencil import Axis, Box
from faultwave.media.homogenise import at_points
from faultwave.media.perturbed import check_read, perturbation_rows
from faultwave.observe.model import Sheet
from faultwave.physics.friction import forecast
from faultwave.physics.friction.forecast import Added, Surroundings
from faultwave.physics.friction.initial_stress import check_starts
from faultwave.physics.friction.law import FrictionLaw

FINER_GRID = "use a smaller grid.spacing"


@dataclass(frozen=True)
class Forecast(FaultForecast):
    """Initial load of a planned fault; ``cells`` (n, 4, 3) are the corners [m] of the points' cells in the plane."""

    cells: np.ndarray

    def sheet(self, tag: int) -> Sheet:
        """Return the fault as a sheet of two triangles per cell for pictures of the plan."""
        triangles = self.cells[:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3, 3)
        values = {name: np.repeat(v, 2) for name, v in finite_values(self.points).items()}
        return fault_sheet(triangles, values, np.full(len(triangles), tag))


def forecast_of(
    law: FrictionLaw, constants: Mapping[str, float], given: Given, episodes: Sequence[Nucleation],
    rock: Mapping[str, np.ndarray], plane: FaultPlane, grid: Grid, end: float,
) -> Forecast | None:  # fmt: skip
    """Return the forecast of a fault, or None if no point below the ground may slip.

    Parameters
    ----------
    law : FrictionLaw
    constants : mapping
        Constants of the law.
    given : Given
        Values at the points of horizontal slip.
    episodes : sequence of Nucleation
    rock : mapping of ndarray
        Lame parameters [Pa] at these points.
    plane : FaultPlane
    grid : Grid
    end : float
        End time [s].
    """
    below = np.arange(plane.box.lo[0], plane.box.hi[0]) < grid.shape[0]  # ground points have no cell
    chosen = given.slips & below[:, None, None]
    if not chosen.any():
        return None
    values = {n: v[chosen] for n, v in given.values.items()}
    count, h = int(chosen.sum()), grid.spacing
    full = np.ones(count)
    around = Surroundings(h * h * full, rock["mu"][chosen], rock["lambda"][chosen], h * full)
    added = [
        Added(np.stack([values[f"nucleation{n}_{c}"] for c in ("n", "1", "2")], -1), e.start, e.duration)
        for n, e in enumerate(episodes)
    ]
    p = {n: values[parameter(n)] for n in law.kernel_parameters}
    points = forecast.loaded(law, (p, constants), np.stack([values[n] for n in STRESS], -1), added, around, end)
    k, i = np.nonzero(chosen.reshape(len(below), -1))
    wide = chosen.shape[1] * chosen.shape[2] + 1
    first = k * wide + i
    patch = forecast.largest_patch(np.stack([first, first + 1, first + wide + 1, first + wide], -1), points)
    along, up = np.eye(3)["xyz".index(plane.along)], np.array([0.0, 0.0, 1.0])
    sides = np.array([-along - up, along - up, along + up, up - along])
    return Forecast(points, patch, given.places[chosen][:, None] + 0.5 * h * sides)


name = "rupture"
ROOM, DEEP = 6, 8
"""Fewest points from split nodes to sides of the box, and fewest planes from a buried fault to the surface."""


def plan(planning: Planning) -> Rupture | None:
    """Return the rupture of the case, None if it has no fault."""
    case, problems = planning.case, planning.problems
    grid = case.grid
    assert grid is not None
    if case.fault is None:
        if grid.fault is not None:
            problems.error("grid.fault", "the case has no fault with friction", advice="Add fault, or remove it.")
        if case.output.fault_receivers is not None:
            advice = "Add a fault group, or remove this setting."
            problems.error("output.fault_receivers", "the case has no fault with friction", advice=advice)
        return None
    if grid.fault is None:
        problems.error(
            "grid.fault", "lacks the location of the fault", "lower and upper, corners of a vertical rectangle"
        )
        return None
    check_combined(planning, "a fault", NOT_COMBINED, "Or use engine: dg.")
    law = law_of(case.fault, problems)
    if law is None:
        return None
    if law.double and case.numerics.precision == "single":
        problems.error(
            "numerics.precision",
            f"friction {law.name} does not maintain the balance of forces in single precision",
            "double, auto",
        )
    with collect_problems(problems):
        normal_axis(grid.fault)
        return Rupture(case, law, constants_of(case.fault, law), planning.sides["z+"] == SideKind.FREE_SURFACE)
    return None


NOT_COMBINED = {
    "grid.blocks": "a grid of one spacing",
    "grid.topography": "flat ground",
    "grid.order": "4",
    "grid.boundaries": "absorbing",
    "plasticity": "elastic rock",
    "injection": "sources in the box",
    "sources": "point sources",
    "grid.time_dispersion": "keep",
}
"""Allowed values of settings that are not implemented together with a fault."""


@dataclass(frozen=True)
class Rupture(GridCapabilityPlan):
    """Rupture of a fault in a plane of the grid.

    Attributes
    ----------
    case : Case
    law : FrictionLaw
    constants : mapping of str to float
        Constants of the law.
    surface : bool
        True if the box has a free surface.
    plane : FaultPlane or None
        Plane of the fault, once there is a grid.
    directions : Directions or None
        Unit vectors of the fault.
    episodes : tuple of Nucleation
    given : mapping of Axis to Given
        Parameters at the points of the velocity along each axis of the plane.
    rigidity, shear_speed : mapping of Axis to ndarray
        Shear modulus [Pa] and S speed [m/s] at the same points.
    forecast : Forecast or None
        Expected start of the rupture.
    acts_until : float
        Time [s] until which it drives the grid.
    perturbed : tuple
        Statistics of parameters perturbed by random fields.
    """

    case: Case
    law: FrictionLaw
    constants: Mapping[str, float]
    surface: bool
    plane: FaultPlane | None = None
    directions: Directions | None = None
    episodes: tuple[Nucleation, ...] = ()
    given: Mapping[Axis, Given] = field(default_factory=dict)
    rigidity: Mapping[Axis, np.ndarray] = field(default_factory=dict)
    shear_speed: Mapping[Axis, np.ndarray] = field(default_factory=dict)
    forecast: Forecast | None = None
    acts_until: float = np.inf
    perturbed: tuple[tuple[str, str], ...] = ()
    name = name

    @property
    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,) [m] of the fault."""
        setting: Setting = self.case.grid.fault  # type: ignore[union-attr]
        return np.array(setting.lower, float), np.array(setting.upper, float)

    @property
    def sliding(self) -> Sliding:
        """Friction on the plane."""
        assert self.plane is not None and self.directions is not None
        return Sliding(self.plane, self.law, self.constants, self.directions.sign, self.episodes)

    def locate(self, placing: PlacementContext) -> Self:
        setting: Setting = placing.case.grid.fault  # type: ignore[union-attr]
        plane = plane_of(setting, placing.grid)
        before = len(placing.problems.errors)
        self._check_place(plane, placing)
        if len(placing.problems.errors) > before:
            return self  # a plane that leaves the box may have any number of points
        found: Directions | None = None
        with collect_problems(placing.problems):
            found = directions_of(placing.case.fault, plane, self.extent[0])
        return replace(self, plane=plane, directions=found)

    def _check_place(self, plane: FaultPlane, placing: PlacementContext) -> None:
        """Report a fault that is not on cell centres, or is too near to the sides of the box."""
        (lower, upper), h, problems = self.extent, placing.grid.spacing, placing.problems
        k = "xyz".index(plane.axis)
        exact = float(placing.grid.lower[k]) + (plane.index + 0.5) * h
        if abs(exact - lower[k]) > EVEN * h:
            what = f"{plane.axis} = {lower[k]:g} m lies {abs(exact - lower[k]):.6g} m from the nearest centres of cells, {exact:g} m"
            shift = float(placing.lower[k]) + (lower[k] - exact)
            advice = f"Begin the box at {plane.axis} = {shift:g} m, or move the fault."
            problems.error("grid.fault", what, f"{plane.axis} = {exact:g} m in this box", advice)
        for n in range(3):
            axis, top = "xyz"[n], n == 2
            available = [(ROOM + more) * h for more in _layers(placing, n)]
            low, high = lower[n] - placing.lower[n], placing.upper[n] - upper[n]
            if low < available[0] * (1 - EVEN):
                text = f"begins {low:.6g} m from the side {axis}- of the box"
                problems.error("grid.fault", text, f"{available[0]:g} m or more", "Make the box larger.")
            breaks = top and abs(high) < EVEN * h and self.surface
            least = (DEEP + ROOM) * h if top else available[1]
            if high < least * (1 - EVEN) and not breaks:
                text = f"ends {high:.6g} m from the side {axis}+ of the box"
                allowed = f"{least:g} m or more" + ", or 0 m: at the free surface" * top
                problems.error("grid.fault", text, allowed, "" if top else "Make the box larger.")

    def check(self, checking: MaterialContext) -> Self:
        problems, plane = checking.problems, self.plane
        if plane is None or self.directions is None:
            return self
        check_starts(self.case.fault.nucleation, self.case.end_time, problems)  # type: ignore[union-attr]
        with collect_problems(problems):
            reader = Reader(self.case.fault, self.law, self.constants, self.directions, problems)
            grid = checking.placing.grid
            if (checking.coarse["mu"] <= 0).any():
                text = "fluids in the box and a fault cannot be combined on a grid yet"
                problems.error("grid.fault", text, "rock everywhere", "Or use engine: dg.")
            given = {axis: reader.read(grid, plane, axis, self.extent) for axis in plane.sliding}
            check_read(reader.field, problems)
            rock = {axis: self._rock(checking, g) for axis, g in given.items()}
            if not any(g.slips.any() for g in given.values()):
                problems.error(
                    "grid.fault", "it contains no point of the grid", "a few spacings or more along each axis"
                )
            for values in rock.values():
                if (values["mu"] <= 0).any():
                    problems.error("grid.fault", "is partly in a fluid", "mu > 0")
                    break
            return replace(
                self, episodes=tuple(reader.episodes), given=given, forecast=self._forecast(checking, given, rock, reader.episodes),
                rigidity={a: r["mu"] for a, r in rock.items()},
                shear_speed={a: np.sqrt(r["mu"] / r["rho"]) for a, r in rock.items()},
                perturbed=tuple(perturbation_rows(reader.field)),
            )  # fmt: skip
        return self

    def _forecast(
        self,
        checking: MaterialContext,
        given: Mapping[Axis, Given],
        rock: Mapping[Axis, Mapping[str, np.ndarray]],
        episodes: list[Nucleation],
    ) -> Forecast | None:
        """Return the expected start of a rupture under a law that depends on stress; warns of doubtful input."""
        assert self.plane is not None
        axis = self.plane.along
        if not self.law.needs_stress:
            return None
        grid, end = checking.placing.grid, self.case.end_time
        found = forecast_of(self.law, self.constants, given[axis], episodes, rock[axis], self.plane, grid, end)
        if found is not None:
            found.warn(fault_loads(self.case), checking.problems, FINER_GRID)
        return found

    def _rock(self, checking: MaterialContext, given: Given) -> dict[str, np.ndarray]:
        """Return rho and the Lame parameters at points of the fault."""
        points = np.clip(given.places.reshape(-1, 3), *self.extent)
        found = at_points(checking.field, ["rho", "lambda", "mu"], points, np.ones(len(points), np.int64))
        return {n: np.asarray(v).reshape(given.places.shape[:3]) for n, v in found.items()}

    def memory(self, steps: int, world: World) -> Memory | None:
        if self.plane is None:
            return None
        count = len(self.law.state_columns.widths) + len(self.law.kernel_parameters) + 12
        needed = 2.0 * self.plane.box.points * count * number_bytes(self.case.numerics.precision)
        return Memory(needed, "grid.fault", f"{self.plane.box.points:,} split nodes", "Raise the spacing.")

    def volume_observers(self, scheme: Scheme, box: Box) -> Sequence[Observer]:
        known = self.plane is not None and self.directions is not None
        return [observer(scheme, self.sliding, box)] if known else []

    @property
    def must_match(self) -> Json:
        """Friction law and a digest of the parameters at the points."""
        found = sha256()
        for axis in sorted(self.given):
            for n, values in sorted(self.given[axis].values.items()):
                found.update(n.encode() + np.ascontiguousarray(values).tobytes())
        episodes = [[float(e.start), float(e.duration)] for e in self.episodes]
        constants = {n: x for n, x in self.constants.items() if not np.isnan(x)}  # NaN: varies, in the digest
        return {"friction": self.law.name, **constants, "nucleation": episodes, "digest": found.hexdigest()}

    def report(self, plan: FdPlan) -> dict[str, list[tuple[str, ...]]]:
        count = sum(int(g.slips.sum()) for g in self.given.values())
        found: dict[str, list[tuple[str, ...]]] = {"size": [("fault points", f"{count:,}")]}
        found |= {"random fields": list(self.perturbed)} if self.perturbed else {}
        return found | (self.forecast.report() if self.forecast else {})

    def shapes(self, plan: FdPlan) -> tuple[Sheet, ...]:
        return (self.forecast.sheet(FAULT_TAG),) if self.forecast else ()

    def attach(self, solver: Running) -> AttachedRupture:
        return AttachedRupture(self, solver)


def _layers(placing: PlacementContext, axis: int) -> tuple[int, int]:
    """Return the numbers of points inside the box that belong to the absorbing layers of an axis (0: x).

    Along x layers end at whole vectors.
    """
    if axis:
        return 0, 0
    count, h = placing.grid.shape[2], placing.grid.spacing
    first = round((float(placing.lower[0]) - placing.grid.lower[0]) / h)
    last = round((float(placing.upper[0]) - placing.grid.lower[0]) / h)
    return -first % VECTOR if first else 0, last % VECTOR if last < count else 0


def _slices(box: Box, within: Box) -> tuple[slice, slice, slice]:
    """Return the slices of a box in arrays over a larger one."""
    z, y, x = (slice(a - c, b - c) for a, b, c in zip(box.lo, box.hi, within.lo, strict=True))
    return z, y, x


class AttachedRupture(GridCapability):
    """Fault of a run on one process.

    Attributes
    ----------
    part : Rupture
    plane : FaultPlane
    box : Box
        Points of the plane that this process owns.
    at : tuple of slice
        Position of the box in arrays of the whole plane.
    area : dict of Axis to ndarray
        Area [m^2] of each point that slips, by axis of the velocity.
    """

    def __init__(self, part: Rupture, solver: Running):
        assert part.plane is not None
        self.part, self.operator, self.plane, self.world = part, solver.operator, part.plane, solver.plan.world
        op, scheme, runner = solver.operator, solver.operator.scheme, solver.operator.runner
        whole = self.plane.box
        available, self.box = (intersect(whole, scheme.filled(box)) for box in (op.box, op.subdomain.owned.box))
        self.at, self._in_storage = _slices(self.box, whole), _slices(self.box, available)
        for axis, given in part.given.items() if available.points else ():
            for n, values in {**given.values, **given.state, "least": np.full(whole.shape, HUGE)}.items():
                runner.view(array_at(n, axis))[...] = values[_slices(available, whole)]
        self.area: dict[Axis, np.ndarray] = {
            axis: self._area(axis, self.box) * part.given[axis].slips[self.at] for axis in self.plane.sliding
        }

    def _area(self, axis: Axis, box: Box) -> np.ndarray:
        """Return the area (nz, 1, 1) [m^2] of a point of the velocity along an axis in each plane of a box."""
        scheme = self.operator.scheme
        planes = np.arange(box.lo[0], box.hi[0])
        weight = norm_weights(scheme, self.plane.sliding[axis], planes)
        weight = weight * ~((axis == "z") & (planes == scheme.grid.shape[0]))
        return np.asarray(scheme.grid.spacing**2 * weight[:, None, None])

    def whole_area(self) -> np.ndarray:
        """Return the area (nz, ny, nx) [m^2] of each point of horizontal slip of the whole fault that may slip."""
        axis = self.plane.along
        return np.asarray(self._area(axis, self.plane.box) * self.part.given[axis].slips)

    def values(self, name: str, axis: Axis) -> np.ndarray:
        """Return the present values (nz, ny, nx) of this process at the points of the velocity along an axis."""
        if not self.box.points:
            return np.zeros(self.box.shape)
        return np.asarray(self.operator.runner.values(array_at(name, axis))[self._in_storage], float)

    def whole(self, names: Iterable[str], axis: Axis) -> dict[str, np.ndarray] | None:
        """Return the present values of the whole fault by name, on the first process; None elsewhere.

        All processes must call it.
        """
        listed = list(names)
        pieces = self.world.gather((self.at, [self.values(n, axis) for n in listed]))
        if pieces is None:
            return None
        found = {n: np.zeros(self.plane.box.shape) for n in listed}
        for where, values in pieces:
            for n, v in zip(listed, values, strict=True):
                found[n][where] = v
        return found

    def energies(self) -> Mapping[str, float]:
        """Return work, moment and potency of the fault, defined as in the engine dg.

        The contributions of slip along each axis are evaluated at the points of that velocity. Work is summed up to the
        time of the slip rates, half a step before the stresses of waves; the remaining half step follows from the last
        power.
        """
        half = 0.5 * self.operator.scheme.step
        found = dict.fromkeys(("total_frictional_work", "static_frictional_work"), 0.0)
        slip: dict[Axis, np.ndarray] = {}
        for axis, area in self.area.items():
            n = 2 if axis == "z" else 1
            own, change = self.values(f"slip{n}", axis), self.values(f"traction{n}", axis)
            found["static_frictional_work"] -= 0.5 * float((area * change * own).sum())
            work = self.values("work", axis) + half * change * self.values(f"slip_rate{n}", axis)
            found["total_frictional_work"] -= float((area * work).sum())
            slip[axis] = self.values("accumulated_slip", axis)
        moment = sum(0.5 * float((self.area[a] * self.part.rigidity[a][self.at] * s).sum()) for a, s in slip.items())
        potency = sum(0.5 * float((self.area[a] * s).sum()) for a, s in slip.items())
        return found | {"seismic_moment": moment, "potency": potency}

    def energy_given(self) -> float:
        """Return an upper bound of the energy [J] that the fault has supplied.

        It follows from the initial traction and nucleation. If slip is imposed, it follows from the traction that slip
        can cause: by radiation of its rate and by strain from one point to the next.
        """
        found = 0.0
        if not self.part.law.needs_stress:
            h = self.operator.scheme.grid.spacing
            for axis, area in self.area.items():
                slip, mu = self.values("accumulated_slip", axis), self.part.rigidity[axis][self.at]
                made = mu / self.part.shear_speed[axis][self.at] * self.values("peak_slip_rate", axis) + mu / h * slip
                found += float((area * made * slip).sum())
            return found
        for axis, area in self.area.items():
            values = self.part.given[axis].values
            size = np.hypot(values["stress1"], values["stress2"])
            for n in range(len(self.part.episodes)):
                size = size + np.hypot(values[f"nucleation{n}_1"], values[f"nucleation{n}_2"])
            found += float((area * size[self.at] * self.values("accumulated_slip", axis)).sum())
        return found

    def totals(self) -> Mapping[str, float]:
        """Return the ``TOTALS`` of the whole fault (collective)."""
        found = self.energies()
        return dict(zip(TOTALS, self.world.total(np.array([found[n] for n in TOTALS])).tolist(), strict=True))

    def remarks(self) -> list[Problem]:
        """Return warnings on events that the friction law has counted."""
        counted, found = self.part.law.counted, []
        here = np.array([sum(float(self.values(n, a).sum()) for a in self.area) for n in counted])
        for what, count in zip(counted.values(), self.world.total(here) if counted else here, strict=True):
            if count:
                advice = "check rs_* parameters and initial stress, or shorten the step (numerics.largest_step)"
                found.append(Problem("fault", f"{count:,.0f} {what}", advice=advice, severity="warning"))
        return found
