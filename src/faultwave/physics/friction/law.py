"""Interface of friction laws: parameters at points or uniform, state and pure functions; a law names its solver and does not implement it.

A law answers one question per fault point and sub-step: given the traction that the fault would carry if it did not slip now (``Load``),
how fast does it slip? With the radiation damping eta (half the shear impedance for equal sides) and the slip rate V = v_minus - v_plus,
the traction on both sides is T* = tau - eta V, and V is parallel to T* (docs/theory/friction.md, "Friction solve").

Functions marked *kernel* use only ``kernels.math`` and operators: they run on NumPy arrays and record expressions for code generation.
Constants are plain numbers when a kernel is recorded, so these functions may branch on them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from math import isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from faultwave.base.columns import Columns
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.quantities import Output, Parameter, State, parameters_at_points, resolve_constants, state_columns
from faultwave.kernels import math as m
from faultwave.kernels.expr import Changes, Condition, Number, Numbers
from faultwave.physics.friction.frame import Directions
from faultwave.physics.friction.load import Load, Solved, Values
from faultwave.physics.friction.solvers import SOLVERS, in_any_direction


@dataclass(frozen=True)
class PointOrUniform:
    """Parameter at points, NaN if not given, and the constant used instead, NaN if not given either.

    A NaN in a given field is an error (``FrictionLaw.check_given``) and never means missing.
    """

    point: Parameter
    uniform: Parameter


def point_or_uniform(name: str, unit: str, description: str, default: float = nan, **bounds: Any) -> PointOrUniform:
    """Return a parameter that can be given at points or as a constant.

    If ``default`` is NaN, a case must give one of the two. ``bounds`` are bounds and ``aliases`` of ``Parameter``.
    """
    at_points = Parameter(name, unit, f"{description}; absent: the constant", nan, **bounds)
    return PointOrUniform(at_points, Parameter(name, unit, description, default, **bounds))


def filled(p: Values, c: Values, quantities: Iterable[PointOrUniform]) -> dict[str, np.ndarray]:
    """Return the values (n,) by name: at points where given, else the constant."""
    names = [q.point.name for q in quantities]
    return {name: np.asarray(np.where(np.isnan(p[name]), c[name], p[name])) for name in names}


def check_filled(
    p: Values, c: Values, quantities: Iterable[PointOrUniform], problems: Problems
) -> dict[str, np.ndarray]:
    """Return the same as ``filled``, and report parameters given in neither way.

    They are replaced by 1, so that no other check reports them again.
    """
    found = {}
    for q in quantities:
        name, values = q.point.name, filled(p, c, [q])[q.point.name]
        absent = np.isnan(values)
        if absent.all():
            _tell(q.point, q.uniform, problems)
        found[name] = np.where(absent, 1.0, values)
    return found


def check_absent(
    points: Iterable[Parameter], constants: Iterable[Parameter], given: Container[str], problems: Problems
) -> None:
    """Report parameters without default that are neither given at points nor as a constant."""
    uniform = {q.name: q for q in constants}
    for q in points:
        constant = uniform.get(q.name)
        if constant is None or q.default is None or constant.default is None:
            continue
        if (
            isnan(q.default)
            and isnan(constant.default)
            and not any(n in given for n in (q.name, *q.aliases, *constant.aliases))
        ):
            _tell(q, constant, problems)


def _tell(point: Parameter, constant: Parameter, problems: Problems) -> None:
    advice = f"Define it there or as fault.constants.{point.name}"
    problems.error(f"fault.parameters.{point.name}", f"missing: {constant.description}", point.allowed(), advice)


COMMON_STATE = (
    State("friction", "", "friction coefficient"),
    State("slip_rate1", "m/s", "slip rate along the first tangent"),
    State("slip_rate2", "m/s", "slip rate along the second tangent"),
    State("slip_rate", "m/s", "magnitude of the slip rate"),
    State("slip1", "m", "slip along the first tangent"),
    State("slip2", "m", "slip along the second tangent"),
    State("accumulated_slip", "m", "length of the slip's path"),
    State("peak_slip_rate", "m/s", "largest slip rate so far"),
)
"""State variables of every fault point, whatever the law; ``common_update`` advances them."""


def _zero(p: Values, c: Values, s: Values) -> np.ndarray:
    return np.zeros_like(s["friction"])


STANDARD_OUTPUTS = (
    Output("Mud", "", "friction coefficient", _zero),
    Output("StV", "", "state variable of the friction law", _zero),
)
FLUID_OUTPUTS = (
    Output("P_f", "Pa", "pore pressure", _zero),
    Output("Tmp", "K", "temperature", _zero),
)
"""Outputs of fluids, zero where a law does not declare its own; they are then written only on request.

As for STANDARD_OUTPUTS, they can be requested with any law.
"""


@dataclass(frozen=True)
class Weakening:
    """Strength of points before and after weakening, for forecasts before a run.

    Attributes
    ----------
    peak, dynamic : (n,) array
        Shear strength that a rupture must overcome, and the one after weakening [Pa].
    distance : (n,) array
        Slip [m] over which a linear decrease would dissipate the same energy.
    threshold : bool
        True if points stay locked until the load exceeds the peak.
    forced : (n,) array or None
        Time [s] at which points break whatever the load; infinite: never.
    """

    peak: np.ndarray
    dynamic: np.ndarray
    distance: np.ndarray
    threshold: bool = True
    forced: np.ndarray | None = None


class FrictionLaw:
    """Base class of friction laws; a law is one instance of a subclass at the top of a module of this package.

    Attributes
    ----------
    name, title : str
        Name in a case, and description in results.
    deck_number : int
        FL number of SeisSol decks.
    parameters, constants
        Parameters that users give per fault point, and uniform ones.
    kernel_parameters
        Names of the numbers per point that ``prepare`` computes from them and kernels receive as ``p``.
    state
        State variables between sub-steps in addition to COMMON_STATE: numbers and vectors, read by name.
    solver
        Name of one of ``solvers.SOLVERS``.
    needs_stress
        True if the initial stress is read.
    project
        True if |V| is projected on the face polynomials before ``evolve``.
    resampled
        Scalar state variables of the law whose change over a whole step is projected on the face polynomials.
    counted
        State variables that count failures at a point, with their description.
    work
        Cost of the friction of a face relative to the update of a cell at order 4, as measured; processes are balanced by it.
    double
        True if the formulas need double precision whatever the precision of the run.
    outputs
        Quantities in addition to slip, traction and times that can be written.
    """

    name: str
    title: str
    deck_number: int
    parameters: tuple[Parameter, ...]
    constants: tuple[Parameter, ...] = ()
    kernel_parameters: tuple[str, ...]
    state: tuple[State, ...] = ()
    solver: str
    needs_stress: bool = True
    project: bool = False
    resampled: tuple[str, ...] = ()
    counted: Mapping[str, str] = {}
    work: float = 1.2
    double: bool = False
    outputs: tuple[Output, ...] = (Output("Mud", "", "friction coefficient", lambda p, c, s: s["friction"]),)

    @property
    def state_columns(self) -> Columns:
        """Columns of all state variables of a point."""
        return state_columns((*COMMON_STATE, *self.state))

    @property
    def shown_columns(self) -> Columns:
        """Columns of the state variables that outputs and the strength can read."""
        return state_columns(s for s in (*COMMON_STATE, *self.state) if not s.inner)

    @property
    def inner_columns(self) -> Columns:
        """Columns of the state variables that only the start and end of a step use."""
        return state_columns(s for s in self.state if s.inner)

    def of_step(self, times: int) -> tuple[State, ...]:
        """Return the vectors that ``begin_step`` computes and that persist only within a step of ``times`` sub-steps."""
        return ()

    @property
    def all_outputs(self) -> dict[str, Output]:
        """STANDARD_OUTPUTS, FLUID_OUTPUTS and the outputs of the law, by name."""
        return {output.name: output for output in (*STANDARD_OUTPUTS, *FLUID_OUTPUTS, *self.outputs)}

    # ---- host side -----------------------------------------------------------------------------------------------

    def given(self, values: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        """Return the parameters (count,) by name from user values by name or alias; missing ones get their default.

        Raises
        ------
        InputError
            Lists every parameter that is missing and has no default.
        """
        problems = Problems()
        found = parameters_at_points(self.parameters, values, count, self.name, "fault.parameters", problems)
        problems.raise_errors()
        return found

    def check_given(self, values: Mapping[str, np.ndarray], points: np.ndarray) -> Problems:
        """Return errors for NaN in user values of optional parameters, which ``given`` would treat as missing there."""
        problems = Problems()
        for q in self.parameters:
            if q.default is None or not np.isnan(q.default):
                continue
            for name in (n for n in (q.name, *q.aliases) if n in values):
                x = np.broadcast_to(np.asarray(values[name], float), (len(points),))
                report(problems, np.isnan(x), points, f"{name} is", x, q.allowed())
        return problems

    def settings(self, values: Mapping[str, float], elsewhere: Mapping[str, str] | None = None) -> dict[str, float]:
        """Return the constants by name from user values by name or alias.

        Parameters
        ----------
        values : mapping of str to float
            Constants as given.
        elsewhere : mapping of str to str
            Advice for constants, by name, that this law does not have.

        Raises
        ------
        InputError
            If constants are unknown, missing or out of bounds.
        """
        problems = Problems()
        found = resolve_constants(self.constants, values, self.name, "fault.constants", problems, elsewhere)
        problems.raise_errors()
        return found

    def in_single(self, c: Mapping[str, float]) -> dict[str, float]:
        """Return the constants to use in single precision for given constants ``c``."""
        return dict(c)

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        """Return the values (n,) per point that kernels receive, by the names of ``kernel_parameters``."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        """Return all problems of parameters and initial stress, each with the first point concerned.

        Parameters
        ----------
        p, c : mapping
            Parameters as returned by ``given``, and constants.
        tau, sigma : (n,) array
            Magnitude of the initial shear traction, and normal traction [Pa].
        points : (n, 3) array
            Positions [m].
        """
        problems = Problems()
        for q in self.parameters:
            if q.name in p:
                report(problems, ~q.accepts(p[q.name]), points, f"{q.name} is", p[q.name], q.allowed())
        if self.needs_stress:
            for label, value in (("initial shear traction", tau), ("initial normal traction", sigma)):
                report(problems, ~np.isfinite(value), points, f"{label} is", value, "a finite number")
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Return the law's state variables and friction coefficient at t = 0, (n,) or (n, size) each.

        May also return values of COMMON_STATE that do not start at zero.

        Parameters
        ----------
        p, c : mapping
            Parameters as returned by ``prepare``, and constants.
        tau, sigma : (n,) array
            Magnitude of the initial shear traction, and normal traction [Pa].
        """
        raise NotImplementedError

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening | None:
        """Return the strengths under the initial stress, for forecasts before a run, or None if the law has none.

        Parameters
        ----------
        p, c : mapping
            Parameters as returned by ``prepare``, and constants.
        tau, sigma : (n,) array
            Magnitude of the initial shear traction, and normal traction [Pa].
        """
        return None

    # ---- kernel side ---------------------------------------------------------------------------------------------

    def solve(self, p: Values, c: Values, s: Values, load: Load) -> Solved:
        """Return the slip rate and strength of a sub-step (kernel); ``s`` is the state before it."""
        solver = SOLVERS[self.solver]
        if load.coupling is None or not self.needs_stress:
            return solver(self, p, c, s, load)
        return in_any_direction(solver, self, p, c, s, load)

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Number:
        """Return the shear strength [Pa] in the state ``s`` under the normal traction of ``load`` (kernel)."""
        return -s["friction"] * m.minimum(load.sigma, 0.0)

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load:
        """Return the load with the normal traction that acts on friction in the state ``s`` (kernel); modifiers change it."""
        return load

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Number, load: Load) -> Changes:
        """Return the state variables of modifiers after the sub-step at a slip rate (kernel); none without modifiers."""
        return {}

    def evolve(self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Number, load: Load) -> Changes:
        """Return the law's state variables after the sub-step, and the friction coefficient if it changes with them (kernel)."""
        return dict(solved.state)

    def advance(self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Number, load: Load) -> Changes:
        """Return COMMON_STATE and the law's state variables after the sub-step (kernel)."""
        return common_update(s, solved, projected_rate, load.dt) | self.evolve(p, c, s, solved, projected_rate, load)

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        """Return all of ``of_step``, and state variables that are not ``inner``, before a step (kernel).

        Called for laws with ``inner`` state variables or ``of_step``. ``lengths`` are the lengths of the sub-steps [s];
        ``s`` includes ``inner`` state variables.
        """
        return {}

    def end_substep(self, p: Values, c: Values, s: Values) -> Changes:
        """Return all of ``of_step``, and state variables that are not ``inner``, for the next sub-step (kernel).

        Called for laws with ``of_step``, which ``s`` includes.
        """
        return {}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        """Return state variables of any kind at the end of a step (kernel).

        Called for laws with ``inner`` state variables or ``of_step``, both of which ``s`` includes. ``lengths`` are the
        lengths of the sub-steps [s].
        """
        return {}

    def stays_locked(self, p: Values, c: Values, s: Values) -> Condition:
        """Return where the state of a locked point certainly stays unchanged (kernel): False (nowhere), True (everywhere) or a mask.

        There, state variables that ``evolve`` leaves unchanged at the end of a step without slip stay so through all of
        its sub-steps, and strength does not decrease when compression increases. Called for laws with the solver
        'closed-form'.
        """
        return False

    def relative_slip(self, p: Values, c: Values, s: Values) -> Number:
        """Return the slip divided by the distance over which friction becomes dynamic (kernel); called for laws with ``project``."""
        raise NotImplementedError

    def weakened_fully(self, p: Values, c: Values, s: Values) -> Number:
        """Return the friction coefficient of a point whose face has weakened as a whole (kernel).

        Called for laws with ``project``, where faces slide smoothly. A law that heals returns ``s['friction']``.
        """
        raise NotImplementedError

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Number) -> Condition:
        """Return a mask of points that have reached the dynamic strength, for the output DS (kernel).

        The caller combines it with 'not yet recorded' and, for rate-dependent laws, with 'has ruptured'. It is False
        everywhere for laws without a dynamic strength.
        """
        return mu < -1.0


def common_update(s: Values, solved: Solved, projected_rate: Number, dt: Number) -> Changes:
    """Return COMMON_STATE after a sub-step (kernel); ``projected_rate`` is |V| for laws without projection."""
    return {
        "friction": solved.friction,
        "slip_rate1": solved.slip_rate1,
        "slip_rate2": solved.slip_rate2,
        "slip_rate": solved.slip_rate,
        "slip1": s["slip1"] + solved.slip_rate1 * dt,
        "slip2": s["slip2"] + solved.slip_rate2 * dt,
        "accumulated_slip": s["accumulated_slip"] + projected_rate * dt,
        "peak_slip_rate": m.maximum(s["peak_slip_rate"], solved.slip_rate),
    }


def report(
    problems: Problems, bad: np.ndarray, points: np.ndarray, what: str, values: npt.ArrayLike, allowed: str
) -> None:
    """Add one error for all points where ``bad`` (n,) is True; it states the first point, its value and how many more there are."""
    where = np.flatnonzero(bad)
    if len(where):
        x, value = points[where[0]], np.broadcast_to(values, bad.shape)[where[0]]
        more = f" (and at {len(where) - 1} more points)" if len(where) > 1 else ""
        place = f"fault point ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        problems.error(place, f"{what} {value:g}{more}", allowed)


def doubt(problems: Problems, bad: np.ndarray, points: np.ndarray, what: str, advice: str) -> None:
    """Add one warning for all points where ``bad`` (n,) is True; it states their number and the first one."""
    where = np.flatnonzero(bad)
    if len(where):
        x = points[where[0]]
        share = f"at {len(where):,} of {len(bad):,} fault points, first at ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        problems.warn("fault.parameters", f"{what} {share}", advice=advice)


def refuse(what: str, allowed: str = "", advice: str = "") -> InputError:
    """Return the error that friction of a case cannot be computed."""
    return InputError(Problem("fault", what, allowed, advice))
