"""What a friction law is: parameters, state and pure functions; the solver is named, not written, by the law.

A law answers one question per fault point and sub-step: given the traction the fault would carry if it did not slip now
(``Load``), how fast does it slip? With the radiation damping eta (half the shear impedance for equal sides) and V the
slip rate v_minus - v_plus, the traction on both sides is T* = tau - eta V, and V is parallel to T*
(docs/theory/friction.md, "Friction solve").

Functions marked *kernel* are written with ``kernels.math`` and operators only: they run on NumPy arrays and record on
expressions. Constants are plain numbers when a kernel is recorded, so those functions may branch on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.quantities import Output, Parameter, State, given_at_points, given_constants, state_columns
from faultwave.kernels import math as m
from faultwave.physics.friction.directions import in_any_direction
from faultwave.physics.friction.load import Load, Solved, Values
from faultwave.physics.friction.solvers import SOLVERS

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
"""What every fault point remembers whatever the law; ``common_update`` advances it."""


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
"""Outputs that every law may be asked for: zero where a law does not declare its own. Those of fluids are then not written unless a case
asks for them."""


@dataclass(frozen=True)
class Directions:
    """Direction cosines of the strike and dip vectors along the face tangents s1, s2; arrays (n,)."""

    strike1: np.ndarray
    strike2: np.ndarray
    dip1: np.ndarray
    dip2: np.ndarray


@dataclass(frozen=True)
class Weakening:
    """What a rupture meets at points (n,), for forecasts: the shear strength [Pa] that it must overcome (``peak``) and the one that it
    leaves (``dynamic``), and the slip [m] over which a linear fall would dissipate as much (``distance``).

    ``threshold``: whether points rest until the load exceeds the peak. ``forced`` (n,) [s]: when points break whatever the load;
    infinite: never.
    """

    peak: np.ndarray
    dynamic: np.ndarray
    distance: np.ndarray
    threshold: bool = True
    forced: np.ndarray | None = None


class FrictionLaw:
    """Base of all laws; a law is one instance of a subclass at the top of a module of this package.

    Class attributes describe it:

    * ``parameters`` per fault point as users give them, ``constants`` uniform ones;
    * ``kernel_parameters`` names of the per-point numbers that ``prepare`` makes of them and kernels get as ``p``;
    * ``state`` what a point remembers between sub-steps beyond COMMON_STATE: numbers and vectors, read by name;
    * ``of_step`` what a point remembers between the sub-steps of one step (a method);
    * ``solver`` one of ``solvers.SOLVERS``; ``needs_stress`` whether initial stress is read;
    * ``project`` whether |V| is projected on the face polynomials before ``evolve``;
    * ``resampled`` own state, numbers only, whose change over a whole step is projected on the face polynomials;
    * ``counted`` own state that counts what went wrong at a point, with the words for it;
    * ``work`` of a face's friction in updates of a cell at order 4, as measured: processes are given equal work by it;
    * ``double`` whether its formulas need double precision whatever the run's;
    * ``outputs`` quantities beside slip, traction and times that can be written out.
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
        """All that a point remembers, side by side."""
        return state_columns((*COMMON_STATE, *self.state))

    @property
    def shown_columns(self) -> Columns:
        """What of it outputs and the strength may read."""
        return state_columns(s for s in (*COMMON_STATE, *self.state) if not s.inner)

    @property
    def inner_columns(self) -> Columns:
        """The rest."""
        return state_columns(s for s in self.state if s.inner)

    def of_step(self, times: int) -> tuple[State, ...]:
        """Vectors that ``begin_step`` makes, in steps of so many sub-steps."""
        return ()

    @property
    def all_outputs(self) -> dict[str, Output]:
        """STANDARD_OUTPUTS, FLUID_OUTPUTS and the law's own by name."""
        return {output.name: output for output in (*STANDARD_OUTPUTS, *FLUID_OUTPUTS, *self.outputs)}

    # ---- host side -----------------------------------------------------------------------------------------------

    def given(self, values: Mapping[str, np.ndarray], count: int) -> dict[str, np.ndarray]:
        """Parameters (count,) by name from user values by name or alias; absent ones get their default.

        Raises InputError listing every parameter that is missing and has no default.
        """
        problems = Problems()
        found = given_at_points(self.parameters, values, count, self.name, "fault.parameters", problems)
        problems.raise_errors()
        return found

    def check_given(self, values: Mapping[str, np.ndarray], points: np.ndarray) -> Problems:
        """NaN among user values of parameters that may be absent: after ``given``, it would read as absent there."""
        problems = Problems()
        for q in self.parameters:
            if q.default is None or not np.isnan(q.default):
                continue
            for name in (n for n in (q.name, *q.aliases) if n in values):
                x = np.broadcast_to(np.asarray(values[name], float), (len(points),))
                report(problems, np.isnan(x), points, f"{name} is", x, q.allowed())
        return problems

    def settings(self, values: Mapping[str, float], elsewhere: Mapping[str, str] | None = None) -> dict[str, float]:
        """Constants by name from user values by name or alias; InputError for unknown, missing or out of bounds. ``elsewhere``: what to do
        for constants, by name, that this law does not have."""
        problems = Problems()
        found = given_constants(self.constants, values, self.name, "fault.constants", problems, elsewhere)
        problems.raise_errors()
        return found

    def in_single(self, c: Mapping[str, float]) -> dict[str, float]:
        """The constants for a run in single precision, where ``c`` are those given."""
        return dict(c)

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        """Per-point numbers kernels get, (n,) each, named by ``kernel_parameters``."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        """All that is wrong with ``p`` (of ``given``) and the initial stress, with the first of ``points`` (n,3)."""
        problems = Problems()
        for q in self.parameters:
            if q.name in p:
                report(problems, ~q.accepts(p[q.name]), points, f"{q.name} is", p[q.name], q.allowed())
        if self.needs_stress:
            for label, value in (("initial shear traction", tau), ("initial normal traction", sigma)):
                report(problems, ~np.isfinite(value), points, f"{label} is", value, "a finite number")
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Own state and the friction coefficient at t = 0, (n,) or (n, size) each, from |tau| and sigma; ``p`` of ``prepare``.

        May also return values of COMMON_STATE that do not start at zero.
        """
        raise NotImplementedError

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening | None:
        """What a rupture meets under the initial stress, for forecasts before a run; ``p`` of ``prepare``. None: the law cannot tell."""
        return None

    # ---- kernel side ---------------------------------------------------------------------------------------------

    def solve(self, p: Values, c: Values, s: Values, load: Load) -> Solved:
        """Slip rate and strength of a sub-step (kernel); ``s`` holds the state before it."""
        solver = SOLVERS[self.solver]
        if load.coupling is None or not self.needs_stress:
            return solver(self, p, c, s, load)
        return in_any_direction(solver, self, p, c, s, load)

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Any:
        """Shear traction [Pa] that the fault carries in the state ``s`` under the normal traction of ``load`` (kernel)."""
        return -s["friction"] * m.minimum(load.sigma, 0.0)

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load:
        """The load with the normal traction that counts for friction in the state ``s`` (kernel): see ``modifier``."""
        return load

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        """State of modifiers after the sub-step at a slip rate (kernel); none without modifiers."""
        return {}

    def evolve(
        self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Any, load: Load
    ) -> dict[str, Any]:
        """Own state, and the friction coefficient if it changes with it, after the sub-step (kernel)."""
        return dict(solved.state)

    def advance(
        self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Any, load: Load
    ) -> dict[str, Any]:
        """All of COMMON_STATE and of the law's own state after the sub-step (kernel)."""
        return common_update(s, solved, projected_rate, load.dt) | self.evolve(p, c, s, solved, projected_rate, load)

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        """All of ``of_step``, and state that is not ``inner``, before a step whose sub-steps have these ``lengths`` (kernel). ``s`` holds
        ``inner`` state, too. Laws with ``inner`` state or ``of_step`` are asked."""
        return {}

    def end_substep(self, p: Values, c: Values, s: Values) -> dict[str, Any]:
        """All of ``of_step``, and state that is not ``inner``, for the next sub-step (kernel); ``s`` holds ``of_step``, too. Laws with
        ``of_step`` are asked."""
        return {}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        """State of any kind at the end of a step (kernel); ``s`` holds ``of_step`` and ``inner`` state, too. Laws with ``inner`` state or
        ``of_step`` are asked."""
        return {}

    def rests(self, p: Values, c: Values, s: Values) -> Any:
        """Where a point that does not slip certainly stays as it is (kernel): False for nowhere, True for everywhere, or a mask. There, own
        state that ``evolve`` leaves as it is at the end of a step without slip stays so through all of its sub-steps, and strength does not
        fall when compression grows. Asked of laws with the solver 'closed-form'."""
        return False

    def relative_slip(self, p: Values, c: Values, s: Values) -> Any:
        """Slip in distances over which friction becomes dynamic (kernel); asked of laws with ``project``."""
        raise NotImplementedError

    def weakened_fully(self, p: Values, c: Values, s: Values) -> Any:
        """Return the friction coefficient of a point whose face has weakened as a whole (kernel).

        Asked of laws with ``project``, where faces slide smoothly. A law that heals returns ``s['friction']``.
        """
        raise NotImplementedError

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Any) -> Any:
        """Mask for output DS (kernel), to be combined with 'not yet recorded' and, where the law is rate dependent,
        with 'has ruptured'; never true for a law without a dynamic strength."""
        return mu < -1.0


def common_update(s: Values, solved: Solved, projected_rate: Any, dt: Any) -> dict[str, Any]:
    """COMMON_STATE after a sub-step (kernel); ``projected_rate`` is |V| for laws without projection."""
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


def report(problems: Problems, bad: np.ndarray, points: np.ndarray, what: str, values: Any, allowed: str) -> None:
    """One problem for all points where ``bad``, told by the first of them."""
    where = np.flatnonzero(bad)
    if len(where):
        x, value = points[where[0]], np.broadcast_to(values, bad.shape)[where[0]]
        more = f" (and at {len(where) - 1} more points)" if len(where) > 1 else ""
        place = f"fault point ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        problems.error(place, f"{what} {value:g}{more}", allowed)


def doubt(problems: Problems, bad: np.ndarray, points: np.ndarray, what: str, advice: str) -> None:
    """One warning for all points where ``bad``, told by the first of them and by how many they are."""
    where = np.flatnonzero(bad)
    if len(where):
        x = points[where[0]]
        share = f"at {len(where):,} of {len(bad):,} fault points, first at ({x[0]:g}, {x[1]:g}, {x[2]:g})"
        problems.warn("fault.parameters", f"{what} {share}", advice=advice)


def refuse(what: str, allowed: str = "", advice: str = "") -> InputError:
    return InputError(Problem("fault", what, allowed, advice))
