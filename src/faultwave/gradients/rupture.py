"""Derivatives with respect to friction and initial stress of a rupture on a grid, with one adjoint run.

Waves on a grid with split nodes are reciprocal to rounding, and all that is not linear happens at the fault. The adjoint run therefore
is a run of the same program, reversed in time, with the derivatives of the misfit as forces at the receivers, and with the transpose of
linearised friction in place of friction. The latter follows from the load on the fault in each step, which the forward run records
(``docs/theory/gradients.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from faultwave.base.errors import RunError
from faultwave.fd.capabilities.adjoint import SeriesForces
from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.capability import FdPlan
from faultwave.fd.engine import ENGINE
from faultwave.fd.fault import STRESS as TRACTION
from faultwave.fd.fault import array_at, parameter
from faultwave.fd.method.scheme import Scheme
from faultwave.fd.method.split_nodes import WEIGHTS, compliance, high, locked
from faultwave.fd.method.stencils import AXES, normal_stresses
from faultwave.fd.operators.operator import Operator
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.solver import FdSolver
from faultwave.gradients.friction import Arrays, FrictionStep, add_initial_state
from faultwave.kernels.derivatives import Evaluation
from faultwave.kernels.stencil import REACH, Axis, whole_work

TRACTIONS = ("traction_normal", "traction_along", "traction_up")
"""Names of the components of the initial traction: along the normal, the horizontal axis of the plane and z [Pa]."""
STATES_AT_ONCE = 1 << 30
"""Memory [bytes] of the states of friction that are stored; states in between are computed again."""


@dataclass(frozen=True)
class FaultDerivatives:
    """Derivatives of a misfit with respect to the values at each point of a fault.

    Attributes
    ----------
    points : ndarray (n, 3)
        Points of the fault [m]: those of the slip along the horizontal axis, then those of the slip along z.
    values : mapping of str to ndarray (n,)
        Derivative with respect to the value of a quantity at each point [1/unit]: the parameters of the friction law by name,
        ``traction_normal``, ``traction_along`` and ``traction_up`` of the initial stress, and ``nucleation0_normal`` etc. of each episode.
    """

    points: np.ndarray
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class AdjointForces:
    """Forces of the adjoint run: derivatives with respect to the velocities at receivers, times ``scale`` [N]."""

    part: SeriesForces
    scale: float


def fault_derivatives(
    plan: FdPlan, rupture: Rupture, histories: Mapping[str, np.ndarray], forces: AdjointForces
) -> dict[Axis, dict[str, np.ndarray]]:
    """Run the adjoint waves of a rupture.

    Parameters
    ----------
    plan : FdPlan
        Plan of the rupture.
    rupture : Rupture
    histories : mapping of ndarray
        Load on the fault after each step (``fd.capabilities.fault_history``).
    forces : AdjointForces

    Returns
    -------
    dict of Axis to dict of str to ndarray, each of the shape of the points of slip along the axis
        Derivatives with respect to the values of ``Given``.

    Raises
    ------
    RunError
        If the adjoint waves are not finite.
    """
    solver = ENGINE.solver(replace(plan, parts={forces.part.name: forces.part}))
    assert isinstance(solver, FdSolver) and rupture.plane is not None
    operator = solver.operator
    adjoint = _AdjointFault(operator, rupture, forces.scale)
    step, loads = adjoint.friction, _Loads(adjoint.friction, histories)
    adjoints = step.adjoints()
    program = operator.runner.program
    whole = [whole_work(program, n) for n in range(len(program.levels))]
    nothing = [[[] for _ in level] for level in whole]  # type: ignore[var-annotated]
    before, after = [whole[0], *nothing[1:]], [nothing[0], *whole[1:]]
    for tape in _tapes(step, step.initial(rupture.given), loads, plan.steps):
        amplitudes = operator.pushes(1)
        operator.runner.run(1, amplitudes, before)
        adjoint.add_jumps(adjoints)
        step.pull_back(tape, adjoints)
        adjoint.set_jumps(adjoints)
        operator.runner.run(1, 0.0 * amplitudes, after)
        adjoint.press(adjoints)
        operator.steps += 1
    if not operator.finite():
        raise RunError(
            "the adjoint waves of the rupture are not finite: the derivatives of this rupture grow without bound"
        )
    add_initial_state(rupture, step, adjoints)
    here = step.frame.at(step.frame.plane.box)
    return {
        axis: {n: adjoints[array_at(n, axis)][here].reshape(given.places.shape[:3]) for n in given.values if array_at(n, axis) in adjoints}
        for axis, given in rupture.given.items()
    }  # fmt: skip


def listed(rupture: Rupture, found: Mapping[Axis, Mapping[str, np.ndarray]]) -> FaultDerivatives:
    """Return the derivatives at all points that may slip, by the names that users know."""
    names = dict(zip(TRACTION, TRACTIONS, strict=True)) | {parameter(n): n for n in rupture.law.kernel_parameters}
    for n in range(len(rupture.episodes)):
        names |= {
            f"nucleation{n}_{c}": f"nucleation{n}_{name}"
            for c, name in zip(("n", "1", "2"), ("normal", "along", "up"), strict=True)
        }
    points = np.concatenate([g.places[g.slips] for g in rupture.given.values()])
    values = {
        names[n]: np.concatenate([found[axis][n][g.slips] for axis, g in rupture.given.items()])
        for n in next(iter(found.values()))
    }
    return FaultDerivatives(points, values)


class _Loads:
    """Load on the fault in each step, on the frame."""

    def __init__(self, step: FrictionStep, histories: Mapping[str, np.ndarray]):
        self.step, self.histories = step, histories

    def of(self, number: int) -> dict[str, np.ndarray]:
        """Return the locking tractions of a step and the normal stress before it."""
        frame, plane = self.step.frame, self.step.frame.plane
        found = {locked(a): frame.fill(self.histories[locked(a)][number], plane.box) for a in self.step.axes}
        found[plane.normal] = np.zeros(frame.shape)
        if number:
            values = frame.flat(self.histories[plane.normal][number - 1])
            found[plane.normal][1 : 1 + values.shape[0], 1 : 1 + values.shape[1]] = values
        return found


def _tapes(step: FrictionStep, initial: Arrays, loads: _Loads, count: int) -> Iterator[list[Evaluation]]:
    """Return what the transpose of each step needs, from the last step to the first."""
    size = sum(v.nbytes for v in initial.values())
    length = count if count * size <= STATES_AT_ONCE else ceil(sqrt(count))
    state, starts = dict(initial), dict[int, dict[str, np.ndarray]]()
    for n in range(0, count, length):
        starts[n] = state
        if n + length < count:
            for k in range(n, n + length):
                state, _ = step.advance(state, loads.of(k))
    for n in sorted(starts, reverse=True):
        states = [starts.pop(n)]
        for k in range(n, min(n + length, count) - 1):
            states.append(step.advance(states[-1], loads.of(k))[0])
        for k in range(n + len(states) - 1, n - 1, -1):
            yield step.advance(states.pop(), loads.of(k))[1]


class _AdjointFault:
    """Fault in an adjoint run: reads and sets slip rates, and adds normal stress.

    The adjoint of a velocity is its value in the run times the mass of its point, with a sign for stresses. A unit of the values is
    ``unit`` times one of the run.

    Parameters
    ----------
    operator : Operator
    rupture : Rupture
    scale : float
        Factor of the adjoint forces.
    """

    def __init__(self, operator: Operator, rupture: Rupture, scale: float):
        assert rupture.plane is not None
        self.operator, self.plane, self.unit = operator, rupture.plane, scale * operator.scheme.step
        scheme, scalars = operator.scheme, operator.runner.program.scalars
        self.point = _PlanePoint(self, scheme)
        self.friction = FrictionStep(rupture, scheme, self.point.coefficients, scalars)
        planes = np.arange(self.plane.first[0] - 1, self.plane.end[0] + 1)
        self.area, self.compliance = dict[Axis, np.ndarray](), dict[Axis, np.ndarray]()
        for axis, name in self.plane.sliding.items():
            self.area[axis] = scheme.grid.spacing**2 * norm_weights(scheme, name, planes)[:, None]
            self.compliance[axis] = np.asarray(compliance(self.point, axis))  # type: ignore[arg-type]
        self.volume = scheme.grid.spacing**3 * WEIGHTS[0] * norm_weights(scheme, self.plane.normal, planes)[:, None]

    def _view(self, name: str) -> np.ndarray:
        """Return a writable view of an array of the program on the frame."""
        runner, plane = self.operator.runner, self.plane
        lo = runner.program.arrays[name].box.lo
        view, k = runner.view(name, REACH), "zyx".index(plane.axis)
        index: list[slice | int] = [slice(None)] * 3
        index[k] = plane.index - lo[k] + REACH
        first = (plane.first[0], plane.first[1])
        for n, axis in enumerate(("z", plane.along)):
            i = "zyx".index(axis)
            start = first[n] - 1 - lo[i] + REACH
            index[i] = slice(start, start + plane.end[n] - plane.first[n] + 2)
        return np.asarray(view[tuple(index)])

    def add_jumps(self, adjoints: Mapping[str, np.ndarray]) -> None:
        """Add the derivatives with respect to the slip rates of a step."""
        for axis, (low, upper) in self.friction.jumps.items():
            moves, c = self.friction.moves[axis], self.compliance[axis]
            jump = self._view(upper).astype(float) - self._view(low)
            found = np.where(moves & (c > 0), self.area[axis] * jump / np.where(c > 0, c, 1.0), 0.0)
            found *= self.operator.scheme.step / self.unit
            adjoints[upper][...], adjoints[low][...] = found, -found

    def set_jumps(self, adjoints: Mapping[str, np.ndarray]) -> None:
        """Set the slip rates of the run to the derivatives with respect to the locking tractions, and clear these."""
        for axis, (low, upper) in self.friction.jumps.items():
            weight = self.area[axis] * self.operator.scheme.step / self.unit
            jump = adjoints[locked(axis)] / np.where(weight > 0, weight, 1.0)
            adjoints[locked(axis)][...] = 0.0
            below, above = self._view(low), self._view(upper)
            mean, moves = 0.5 * (below.astype(float) + above), self.friction.moves[axis]
            below[moves], above[moves] = (mean - 0.5 * jump)[moves], (mean + 0.5 * jump)[moves]

    def press(self, adjoints: Mapping[str, np.ndarray]) -> None:
        """Add strain across the fault according to the derivatives with respect to the normal stress, and clear these."""
        normal = adjoints[self.plane.normal]
        if normal.any():
            strain = -self.unit * normal / np.where(self.volume > 0, self.volume, 1.0)
            self.point.strain(strain)
            normal[...] = 0.0


class _PlanePoint:
    """Points of the frame as a stencil reads them, at rest: the change of stress due to strain across the fault."""

    def __init__(self, fault: _AdjointFault, scheme: Scheme):
        self.fault, self.attenuation = fault, scheme.attenuation
        buoyancies = (f"b_{axis}" for axis in fault.plane.sliding)
        names = (*buoyancies, "lam", "mu2", *(("defect_p", "defect_s") if scheme.attenuation else ()))
        self.coefficients = {n: fault._view(n).astype(float) for n in names}

    def at(self, name: str) -> np.ndarray | float:
        return self.coefficients.get(name, 0.0)

    def scalar(self, name: str) -> float:
        return self.fault.operator.runner.program.scalars[name]

    def parity(self, name: str) -> np.ndarray:
        table = self.fault.operator.runner.view(name)
        plane, box = self.fault.plane, self.fault.operator.box
        z = np.arange(plane.first[0] - 1, plane.end[0] + 1) % 2
        n = np.arange(plane.first[1] - 1, plane.end[1] + 1)
        if plane.along == "x":
            return np.asarray(
                table[z[:, None], plane.index % 2, np.clip(n - box.lo[2], 0, table.shape[2] - 1)[None, :]], float
            )
        return np.asarray(table[z[:, None], n[None, :] % 2, plane.index - box.lo[2]], float)

    def strain(self, strain: np.ndarray) -> None:
        """Add the stress of some strain [1] across the fault to both of its sides."""
        fault = self.fault
        e = {axis: strain if axis == fault.plane.axis else 0.0 * strain for axis in AXES}
        unit = fault.operator.units.modulus
        doubled = fault.plane.doubled + fault.plane.doubled_memory
        for name, change in normal_stresses(self, e, self.attenuation).items():  # type: ignore[arg-type]
            for array in (name, *((high(name),) if name in doubled else ())):
                view = fault._view(array)
                view += np.asarray(unit * change, view.dtype)
