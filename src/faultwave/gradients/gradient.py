"""Gradients of misfits with respect to sources or to a rupture on grids, with two runs for any number of parameters.

Waves on a grid are reciprocal to rounding: the seismogram at a receiver due to a moment at a point is the strain there due to a force
at the receiver. A second run with the derivatives of the misfit as forces at the receivers, reversed in time, therefore yields the
derivative of the misfit with respect to each sample of each moment and force, for the discrete equations themselves
(``docs/theory/gradients.md``). It is multiplied by the derivatives of these samples with respect to the parameters.
``gradients.rupture`` does the same for friction and initial stress of a rupture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, RunError
from faultwave.base.processes.host import machine_memory
from faultwave.base.types import Settings
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import Output
from faultwave.comm import world
from faultwave.engine.receivers import gather_receivers, interpolation_weights
from faultwave.engine.solver import BlowUp, Unattended
from faultwave.fd.capabilities.adjoint import Motion, MotionRecording, SeriesForces, unit_forces
from faultwave.fd.capabilities.fault_history import FaultHistory, LoadRecording
from faultwave.fd.capabilities.point_sources import mean_amplitudes
from faultwave.fd.capabilities.receivers import AttachedReceivers, Receivers
from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.capabilities.strain_green_tensors import COMPONENTS, Strain, lame_parameters
from faultwave.fd.capability import FdPlan, GridCapabilityPlan
from faultwave.fd.engine import ENGINE
from faultwave.fd.method.scheme import Level
from faultwave.fd.operators.points import RECORDED
from faultwave.fd.operators.time_dispersion import removes
from faultwave.fd.solver import FdSolver
from faultwave.gradients.misfits import Misfit
from faultwave.gradients.parameters import (
    Parameter,
    Parameters,
    difference_of,
    read_parameters,
    rupture_difference,
)
from faultwave.gradients.rupture import AdjointForces, FaultDerivatives, fault_derivatives, listed
from faultwave.physics.sources.point import Sources

NONLINEAR = {
    "plasticity": "motion of rock that yields",
    "soil": "motion of soil that loses stiffness",
}
"""Groups of a case whose motion is not differentiated."""
CLEAR = 3
"""Fewest spacings from a receiver to a fault whose friction is differentiated."""
FORCE = 1e12
"""Largest adjoint force [N], which is divided out again: numbers far from the smallest of single precision."""
WORKING = 3
"""Copies of the adjoint waves in memory at once."""
VELOCITIES = slice(RECORDED.index("u"), RECORDED.index("u") + 3)


@dataclass(frozen=True)
class Gradient:
    """Misfit and its derivatives.

    Attributes
    ----------
    value : float
        Misfit.
    derivatives : dict of str to float
        Derivative with respect to each parameter [1/unit].
    parameters : tuple of Parameter
        Parameters with values and units.
    time : ndarray (nt,)
        Times of the seismograms [s].
    velocity : ndarray (n, 3, nt)
        Velocity of each receiver [m/s].
    fault : FaultDerivatives or None
        Derivatives with respect to friction and initial stress at each point of a fault; None for parameters of sources.
    """

    value: float
    derivatives: Mapping[str, float]
    parameters: tuple[Parameter, ...]
    time: np.ndarray
    velocity: np.ndarray
    fault: FaultDerivatives | None = None

    @property
    def vector(self) -> np.ndarray:
        """Derivatives as an array, in the order of the parameters."""
        return np.array([self.derivatives[p.path] for p in self.parameters])

    def __str__(self) -> str:
        rows = [f"misfit {self.value:.6g}; derivatives:"]
        for p in self.parameters:
            unit = (f" {p.unit}", f" /{p.unit}") if p.unit else ("", "")
            rows.append(f"  {p.path} = {p.value:.6g}{unit[0]}: {self.derivatives[p.path]:.6g}{unit[1]}")
        return "\n".join(rows)


def gradient(
    case: Case | Settings | str | Path, misfit: Misfit, parameters: Sequence[str] | Mapping[str, float],
    say: Callable[[str], None] = lambda _: None, **overrides: object,
) -> Gradient:  # fmt: skip
    """Compute a misfit of seismograms and its derivatives with respect to parameters of the sources, or of a fault.

    Two runs are needed, whatever the number of parameters. Processes that share the grid all return the same.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case of the engine ``fd`` with sources or a fault, and with ``output.receivers``.
    misfit : Misfit
        Misfit of the seismograms, such as ``faultwave.gradients.misfits.WaveformMisfit(data)``.
    parameters : sequence of str, or mapping of str to float
        Paths of numeric settings of sources, such as ``sources[0].location[2]``, or of the parameters of a fault, such as
        ``fault.parameters.constant.d_c``; a mapping also replaces their values (SI units, degrees).
    say : callable
        Receiver of progress messages.
    **overrides
        Settings that replace values of the case.

    Returns
    -------
    Gradient
        Misfit, derivatives and seismograms, the same in all processes.

    Raises
    ------
    InputError
        With all problems of the case and the parameters.
    RunError
        If a run blows up.

    Examples
    --------
    >>> def objective(x):  # for scipy.optimize.minimize(objective, x0, jac=True)
    ...     found = gradient("quake.yaml", misfit, dict(zip(names, x)))
    ...     return found.value, found.vector
    """
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    plan, chosen = _plan(settings, parameters)
    if settings.fault is not None:
        return _of_rupture(plan, chosen, misfit, say)
    changes = _Changes.of(plan, chosen)
    _check_memory(plan, len(changes.points))
    say("seismograms")
    time, velocity, weights, _ = _forward(plan)
    value, slopes = _evaluated(misfit, time, velocity)
    say("adjoint waves")
    strain, motion = _adjoint(plan, weights(slopes), changes)
    found = changes.derivatives(plan, strain, motion)
    return Gradient(value, found, chosen.listed, time, velocity)


def _plan(case: Case, given: Sequence[str] | Mapping[str, float]) -> tuple[FdPlan, Parameters]:
    """Return the plan of the forward run, with receivers as its only output, and the parameters."""
    problems = Problems()
    if case.engine != "fd":
        problems.error("engine", f"'{case.engine}' has no gradients: only waves on grids are exactly reciprocal", "fd")
    if case.output.receivers is None:
        problems.error(
            "output.receivers", "missing: a misfit compares their seismograms", "output.receivers with points"
        )
    elif case.output.receivers.rotation or case.output.receivers.strain_rate:
        problems.error(
            "output.receivers", "records rotation or strain rate, of which there is no misfit", "velocity alone"
        )
    if case.fault is None and not case.sources:
        problems.error(
            "sources", "missing: gradients are derivatives with respect to their settings", "one source or more"
        )
    if removes(case):
        what = "removes time dispersion from seismograms, which is not differentiated"
        problems.error("grid.time_dispersion", what, "keep", "With order 8 the default is to remove it.")
    for name, what in NONLINEAR.items():
        if getattr(case, name) is not None:
            problems.error(name, f"{what} is not differentiated", "elastic or attenuating ground", f"Remove {name}.")
    if case.fault is not None and case.fault.modifiers:
        problems.error("fault.modifiers", "are not differentiated", "friction alone")
    problems.raise_errors()
    retained = {"folder": case.output.folder, "prefix": case.output.prefix}
    output = Output.model_validate(retained).model_copy(update={"receivers": case.output.receivers})
    together = world()
    grid = case.grid
    assert grid is not None
    named = given if isinstance(given, str) else [str(p) for p in given]
    first = case.model_copy(update={"output": output})
    made: FdPlan = together.agree(lambda: ENGINE.process_plan(first, together))
    chosen = read_parameters(
        first, given if isinstance(given, Mapping) else named, made.scheme.step, made.scheme.grid.spacing
    )
    if isinstance(given, Mapping):
        made = together.agree(lambda: ENGINE.process_plan(chosen.case, together))
    return made, chosen


def _of_rupture(plan: FdPlan, chosen: Parameters, misfit: Misfit, say: Callable[[str], None]) -> Gradient:
    """Return the gradient with respect to parameters of a fault."""
    rupture = plan.parts["rupture"]
    assert isinstance(rupture, Rupture) and rupture.plane is not None
    _check_rupture(plan, rupture)
    changes = {p.path: rupture_difference(chosen, p, plan, rupture) for p in chosen.listed}
    history = FaultHistory(rupture.plane)
    say("rupture")
    time, velocity, weights, solver = _forward(replace(plan, parts={**plan.parts, history.name: history}))
    value, slopes = _evaluated(misfit, time, velocity)
    say("adjoint waves")
    recording = solver.parts[history.name]
    assert isinstance(recording, LoadRecording)
    forces = _forces(plan, weights(slopes))
    found = fault_derivatives(plan, rupture, recording.histories(), forces)
    derivatives = {
        path: float(sum((found[axis][n] * values).sum() for axis in found for n, values in change[axis].items()))
        for path, change in changes.items()
    }
    return Gradient(value, derivatives, chosen.listed, time, velocity, listed(rupture, found))


def _check_rupture(plan: FdPlan, rupture: Rupture) -> None:
    """Raise InputError for ruptures that are not differentiated, or whose histories do not fit into memory."""
    problems, plane = Problems(), rupture.plane
    assert plane is not None
    if plan.world.size > 1:
        problems.error("processes", f"{plan.world.size} share the grid, gradients of ruptures need one", "1")
    if rupture.law.solver not in ("closed-form", "newton"):
        problems.error("fault.friction", f"{rupture.law.name} prescribes the slip", "a friction law")
    receivers, grid = plan.parts["receivers"], plan.scheme.grid
    k = "xyz".index(plane.axis)
    place = grid.lower[k] + (plane.index + 0.5) * grid.spacing
    for n, point in enumerate(receivers.places):
        if abs(point[k] - place) < CLEAR * grid.spacing:
            what = f"is {abs(point[k] - place):.6g} m from the plane of the fault"
            problems.error(
                f"output.receivers.points[{n}]", what, f"{CLEAR * grid.spacing:g} m or more: {CLEAR} spacings"
            )
    needed, there = 8.0 * 2 * 3 * plan.steps * plane.box.points, machine_memory() or float("inf")
    if needed > there:
        what = f"the load on {plane.box.points:,} points in {plan.steps:,} steps needs about {needed / 2**30:.3g} GiB"
        problems.error("grid.fault", f"{what}, this machine has {there / 2**30:.3g}", "", "Raise the spacing.")
    problems.raise_errors()


def _check_memory(plan: FdPlan, points: int) -> None:
    """Raise InputError if memory is too small for the adjoint waves at some points."""
    needed = WORKING * 8.0 * (plan.steps + 1) * (len(COMPONENTS) + 3) * points
    if needed > (there := machine_memory() or float("inf")):
        sizes = f"{points:,} points and {plan.steps:,} steps need about {needed / 2**30:.3g} GiB"
        what = f"adjoint waves at {sizes}, this machine has {there / 2**30:.3g}"
        raise InputError(
            Problem("parameters", what, advice="Use fewer parameters of locations at a time, or fewer sources.")
        )


def _run(plan: FdPlan, parts: Sequence[GridCapabilityPlan], what: str) -> FdSolver:
    """Run a plan with some capabilities to its end."""
    solver = ENGINE.solver(replace(plan, parts={part.name: part for part in parts}))
    assert isinstance(solver, FdSolver)
    try:
        solver.run(plan.case.end_time, Unattended())
    except BlowUp:
        raise RunError(f"the run of {what} blew up\n{solver.diagnose().text}") from None
    for part in solver.parts.values():
        part.finish(solver.time)
    return solver


def _forward(plan: FdPlan) -> tuple[np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray], FdSolver]:
    """Run the sources or the rupture.

    Returns
    -------
    time : ndarray (nt,)
    velocity : ndarray (n, 3, nt)
        Seismograms.
    transposed : callable
        Function from derivatives (n, 3, nt) with respect to the seismograms to those (n, 3, steps) with respect to the velocities in
        every step.
    solver : FdSolver
        Solver after the run.
    """
    receivers = plan.parts["receivers"]
    assert isinstance(receivers, Receivers)
    solver = _run(plan, list(plan.parts.values()), "the seismograms")
    recorded = solver.parts["receivers"]
    series = recorded.series() if isinstance(recorded, AttachedReceivers) else None
    time, values = plan.world.broadcast(series)
    velocity = np.moveaxis(values[:, :, 0, VELOCITIES], 0, -1)
    start, weights = interpolation_weights(time / plan.scheme.step + 0.5, plan.steps + 1)

    def transposed(slopes: np.ndarray) -> np.ndarray:
        every = np.zeros((*slopes.shape[:2], plan.steps + 1))
        for m, weight in enumerate(weights):
            np.add.at(every.T, start + m, (slopes * weight).T)
        return every[..., 1:]

    return time, velocity, transposed, solver


def _evaluated(misfit: Misfit, time: np.ndarray, velocity: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a misfit and its derivatives. Raises InputError if they are not finite or of another shape."""
    value, slopes = misfit.evaluate(time, velocity)
    slopes = np.asarray(slopes, float)
    if slopes.shape != velocity.shape:
        what = f"returns derivatives of the shape {slopes.shape}"
        raise InputError(Problem("misfit", what, f"{velocity.shape}, the shape of the seismograms"))
    if not np.isfinite(value) or not np.isfinite(slopes).all():
        raise InputError(
            Problem("misfit", "is not finite, or its derivatives are not", "finite numbers", "Check the data.")
        )
    return float(value), slopes


def _forces(plan: FdPlan, slopes: np.ndarray) -> AdjointForces:
    """Return the forces of the adjoint run from derivatives (n, 3, steps), as large as single precision needs."""
    receivers = plan.parts["receivers"]
    assert isinstance(receivers, Receivers)
    scale = FORCE / (float(np.abs(slopes).max()) or 1.0)
    series = scale * slopes.reshape(-1, slopes.shape[-1])[:, ::-1]
    return AdjointForces(SeriesForces(series, unit_forces(receivers.points)), scale)


def _adjoint(plan: FdPlan, slopes: np.ndarray, changes: _Changes) -> tuple[np.ndarray, np.ndarray]:
    """Run the adjoint waves of derivatives (n, 3, steps).

    Returns
    -------
    strain : ndarray (steps, points, 6)
    motion : ndarray (steps, points, 3)
        Derivatives of the misfit with respect to the samples of a unit moment [1/(N m)] and force [1/N] at each point.
    """
    points = changes.points
    strain, motion = np.zeros((plan.steps, len(points), len(COMPONENTS))), np.zeros((plan.steps, len(points), 3))
    if not slopes.any():
        return strain, motion
    forces = _forces(plan, slopes)
    scale, parts = forces.scale, list[GridCapabilityPlan]([forces.part])
    parts += [Strain(points, plan.scheme.step, scale)] if changes.moments else []
    parts += [Motion(points)] if changes.forces else []
    recorded = _run(plan, parts, "the adjoint waves").parts
    if "strain" in recorded:
        values = [result.data["strain"] for result in recorded["strain"].results()]  # on the first process
        strain = plan.world.broadcast(values[0][:-1] if values else None)
    if isinstance(part := recorded.get("motion"), MotionRecording):
        motion = plan.world.broadcast(gather_receivers(part.velocities / scale, part.mine, len(points), plan.world))
    return strain[::-1], motion[::-1]


@dataclass(frozen=True)
class _Changes:
    """Sources of a case in which one parameter after the other is changed.

    Attributes
    ----------
    parameters : Parameters
    changed : list of list of (float, Sources)
        Sources whose weighted sum is the derivative with respect to each parameter.
    points : ndarray (n, 3)
        Locations [m] of all these sources, each once.
    moments, forces : bool
        True if some source is a moment or slip, or a force.
    """

    parameters: Parameters
    changed: list[list[tuple[float, Sources]]]
    points: np.ndarray
    moments: bool
    forces: bool

    @classmethod
    def of(cls, plan: FdPlan, parameters: Parameters) -> _Changes:
        changed = [difference_of(parameters, p, plan) for p in parameters.listed]
        every = [sources for group in changed for _, sources in group]
        points = np.unique(np.concatenate([s.location for s in every]), axis=0)
        moments = any(bool(s.moment.any() or s.potency.any()) for s in every)
        return cls(parameters, changed, points, moments, any(bool(s.force.any()) for s in every))

    def derivatives(self, plan: FdPlan, strain: np.ndarray, motion: np.ndarray) -> dict[str, float]:
        """Return the derivative with respect to each parameter from the adjoint waves (steps, points, 6 and 3)."""
        number = {tuple(point): n for n, point in enumerate(self.points.tolist())}
        twice = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])

        def response(sources: Sources) -> float:
            at = np.array([number[tuple(place)] for place in sources.location.tolist()])
            amplitudes = mean_amplitudes(sources, plan.scheme.step, 0, plan.steps)
            tensors = sources.moment_tensors(*lame_parameters(plan, sources.location).T)
            by_stress = np.einsum("ts,tsc,sc->", amplitudes[Level.STRESS], strain[:, at], twice * tensors)
            by_force = np.einsum("ts,tsc,sc->", amplitudes[Level.VELOCITY], motion[:, at], sources.force)
            return float(by_stress + by_force)

        found = {}
        for parameter, group in zip(self.parameters.listed, self.changed, strict=True):
            found[parameter.path] = sum(weight * response(sources) for weight, sources in group)
        return found
