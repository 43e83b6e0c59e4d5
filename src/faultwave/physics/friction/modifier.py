"""Modifiers of friction laws, such as pore pressure, and their composition with a friction law.

A modifier changes the normal traction that acts on friction, or the strength that a law computes. It is one instance of
a subclass of ``Modifier`` at the top of a module of ``physics.friction.modifiers``, or an entry point of that name. It
works with every friction law, or with laws of the solvers that it names: ``with_modifiers(law, modifiers)`` is again a
friction law, with the parameters, state variables and outputs of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.kernels.expr import Changes, Condition, Number, Numbers
from faultwave.physics.friction.law import (
    COMMON_STATE,
    Directions,
    FrictionLaw,
    Load,
    Solved,
    Values,
    Weakening,
    report,
)

_KINDS = {"closed-form": "slip weakening", "newton": "rate and state", "imposed": "imposed slip"}
"""Description of the friction laws that use each solver."""


class Modifier:
    """Base class of modifiers; attributes not listed are as in ``FrictionLaw``.

    Functions marked *kernel* are written with ``kernels.math``.

    Attributes
    ----------
    solvers
        Solvers of the friction laws that the modifier works with; empty: all.
    project
        False if no slip must be projected on the face polynomials when this modifier is used.
    work
        Cost added to the cost of the law.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...] = ()
    constants: tuple[Parameter, ...] = ()
    kernel_parameters: tuple[str, ...] = ()
    state: tuple[State, ...] = ()
    outputs: tuple[Output, ...] = ()
    solvers: tuple[str, ...] = ()
    project: bool = True
    work: float = 0.0

    def prepare(self, p: Values, c: Values) -> dict[str, np.ndarray]:
        """Return the values (n,) per point that kernels receive, by the names of ``kernel_parameters``."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def check(self, p: Values, c: Values, points: np.ndarray) -> Problems:
        """Return all problems of the parameters ``p``, each with the first of ``points`` (n, 3) concerned."""
        problems = Problems()
        for q in self.parameters:
            report(problems, ~q.accepts(p[q.name]), points, f"{q.name} is", p[q.name], q.allowed())
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Return state variables at t = 0, (n,) or (n, size) each; missing ones start at zero."""
        return {}

    def normal_traction(self, p: Values, c: Values, s: Values, sigma: Number) -> Number:
        """Return the normal traction that acts on friction for a total normal traction ``sigma`` (kernel); compression is negative."""
        return sigma

    def strength(self, p: Values, c: Values, s: Values, strength: Number, load: Load) -> Number:
        """Return the modified strength at the end of the sub-step of ``load`` (kernel).

        Only used where the strength of the law is known before slip (solver 'closed-form').

        Parameters
        ----------
        p, c, s : mapping
            Parameters, constants, and state before the sub-step.
        strength : number or expression
            Strength that the law computes [Pa].
        load : Load
            Load of the sub-step. If ``load.dt`` is 0, the result is the strength in the state ``s``.
        """
        return strength

    def evolve(self, p: Values, c: Values, s: Values, slip_rate: Number, load: Load) -> Changes:
        """Return state variables after a sub-step in which the fault slips at ``slip_rate`` (kernel).

        The shear traction is then ``load.shear() - load.eta * slip_rate``. Iterative solvers call this for each trial
        slip rate, with the same ``s``.
        """
        return {}

    def keep(self, p: Values, c: Values, strength: Number) -> Changes:
        """Return state variables that follow from the strength at the end of a sub-step or at the start of the run (kernel)."""
        return {}

    def stays_locked(self, p: Values, c: Values, s: Values) -> Condition:
        """Return where its state variables stay unchanged while a point is locked (kernel), as the same method of ``FrictionLaw``."""
        return False

    def of_step(self, times: int) -> tuple[State, ...]:
        """Return the vectors that persist only within a step, as ``FrictionLaw.of_step``."""
        return ()

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        """Return state before a step (kernel), as ``FrictionLaw.begin_step``."""
        return {}

    def end_substep(self, p: Values, c: Values, s: Values) -> Changes:
        """Return state for the next sub-step (kernel), as ``FrictionLaw.end_substep``."""
        return {}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        """Return state at the end of a step (kernel), as ``FrictionLaw.end_step``."""
        return {}


class Modified(FrictionLaw):
    """Friction law with modifiers, which are applied in their order."""

    def __init__(self, law: FrictionLaw, modifiers: Sequence[Modifier]):
        self.law, self.modifiers = law, tuple(modifiers)
        parts = self.parts = _parts(law, self.modifiers)
        self.name, self.title = (" + ".join(getattr(part, of) for part in parts) for of in ("name", "title"))
        self.parameters = tuple(x for part in parts for x in part.parameters)
        self.constants = tuple(x for part in parts for x in part.constants)
        self.kernel_parameters = tuple(x for part in parts for x in part.kernel_parameters)
        self.state = tuple(x for part in parts for x in part.state)
        self.outputs = tuple(x for part in parts for x in part.outputs)
        self._check_names()
        self._check_solver()
        self.deck_number, self.solver = law.deck_number, law.solver
        self.project = law.project and all(modifier.project for modifier in self.modifiers)
        self.resampled, self.counted = law.resampled, law.counted
        self.work = law.work + sum(modifier.work for modifier in self.modifiers)
        self.needs_stress, self.double = law.needs_stress, law.double

    def _check_names(self) -> None:
        """Raise InputError if two of the parts use the same name for different things."""
        for what, listed in (
            ("parameters", self.parameters), ("constants", self.constants), ("states", (*self.state, *self.of_step(1))),
            ("outputs", self.outputs),
        ):  # fmt: skip
            names = [x.name for x in listed]
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise InputError(
                    Problem("fault.modifiers", f"two {what} of '{self.name}' are called {', '.join(twice)}")
                )

    def _check_solver(self) -> None:
        """Raise InputError if a modifier does not work with the solver of the law."""
        for modifier in self.modifiers:
            if modifier.solvers and self.law.solver not in modifier.solvers:
                allowed = " and ".join(_KINDS.get(solver, solver) for solver in modifier.solvers)
                what = f"'{modifier.name}' does not work with '{self.law.name}'"
                raise InputError(Problem("fault.modifiers", what, f"laws of {allowed}"))

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the law that its solver uses, such as ``balance``."""
        if name == "law":
            raise AttributeError(name)
        return getattr(self.law, name)

    def in_single(self, c: Mapping[str, float]) -> dict[str, float]:
        return self.law.in_single(c)

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        result = self.law.prepare(p, c, directions)
        for modifier in self.modifiers:
            result |= modifier.prepare(p, c)
        return result

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        """Return all problems; the law is checked with the normal traction that modifiers leave, if their own parameters are valid."""
        found = Problems()
        for modifier in self.modifiers:
            found.extend(modifier.check(p, c, points).items)
        if not found.errors:
            ready = {**p, **{k: v for modifier in self.modifiers for k, v in modifier.prepare(p, c).items()}}
            sigma = self._first(ready, c, tau, sigma)[1]
        problems = self.law.check(p, c, tau, sigma, points)
        problems.extend(found.items)
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Return the initial state; the law starts from the normal traction that modifiers leave."""
        own, sigma = self._first(p, c, tau, sigma)
        start = self.law.initial(p, c, tau, sigma) | own
        return start | self._modified_values(p, c, self._first_strength(p, c, start, tau, sigma))

    def _first(
        self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Return the state variables of modifiers at t = 0, and the normal traction [Pa] that they leave."""
        own: dict[str, np.ndarray] = {}
        for modifier in self.modifiers:
            zero = {x.name: np.zeros(sigma.shape if x.size is None else (*sigma.shape, x.size)) for x in modifier.state}
            made = zero | modifier.initial(p, c, tau, sigma)
            sigma = np.asarray(modifier.normal_traction(p, c, _rows(modifier.state, made), sigma))
            own |= made
        return own, sigma

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening | None:
        return self.law.weakening(p, c, tau, self._first(p, c, tau, sigma)[1])

    def relative_slip(self, p: Values, c: Values, s: Values) -> Number:
        return self.law.relative_slip(p, c, s)

    def weakened_fully(self, p: Values, c: Values, s: Values) -> Number:
        return self.law.weakened_fully(p, c, s)

    def _first_strength(self, p: Values, c: Values, start: Values, tau: np.ndarray, sigma: np.ndarray) -> Number:
        """Return the strength (n,) of the law at t = 0 [Pa]."""
        zero = {x.name: np.zeros(sigma.shape) for x in COMMON_STATE}
        none = np.zeros(sigma.shape)
        state = {**zero, **start, **_rows([x for x in self.state if x.name in start], start)}
        return self.law.strength(p, c, state, Load(tau, none, sigma, none + 1.0, none, none))

    def _modified_values(self, p: Values, c: Values, strength: Number) -> Changes:
        return {k: v for modifier in self.modifiers for k, v in modifier.keep(p, c, strength).items()}

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load:
        sigma = load.sigma
        for modifier in self.modifiers:
            sigma = modifier.normal_traction(p, c, s, sigma)
        return replace(load, sigma=sigma)

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Number, load: Load) -> Changes:
        return {k: v for modifier in self.modifiers for k, v in modifier.evolve(p, c, s, slip_rate, load).items()}

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Number:
        strength = self.law.strength(p, c, s, load)
        for modifier in self.modifiers:
            strength = modifier.strength(p, c, s, strength, load)
        return strength

    def evolve(self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Number, load: Load) -> Changes:
        own = {x.name: solved.state[x.name] for mod in self.modifiers for x in mod.state if x.name in solved.state}
        return (
            self.law.evolve(p, c, s, solved, projected_rate, load) | own | self._modified_values(p, c, solved.strength)
        )

    def stays_locked(self, p: Values, c: Values, s: Values) -> Condition:
        """Return where the law and all modifiers stay unchanged while a point is locked (kernel)."""
        found = [part.stays_locked(p, c, s) for part in self.parts]
        if any(x is False for x in found):
            return False
        masks = [x for x in found if x is not True]
        return reduce(and_, masks) if masks else True

    def of_step(self, times: int) -> tuple[State, ...]:
        return tuple(x for part in self.parts for x in part.of_step(times))

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        return {k: v for part in self.parts for k, v in part.begin_step(p, c, s, lengths).items()}

    def end_substep(self, p: Values, c: Values, s: Values) -> Changes:
        return {k: v for part in self.parts for k, v in part.end_substep(p, c, s).items()}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Numbers) -> Changes:
        return {k: v for part in self.parts for k, v in part.end_step(p, c, s, lengths).items()}

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Number) -> Condition:
        return self.law.dynamic_stress_reached(p, c, s, mu)


def _parts(law: FrictionLaw, modifiers: Sequence[Modifier]) -> tuple[FrictionLaw | Modifier, ...]:
    return (law, *modifiers)


def _rows(states: Sequence[State], values: Values) -> Changes:
    """Return values (n,) or (n, size) as formulas use them: vectors as lists of their components."""
    return {x.name: values[x.name] if x.size is None else list(np.moveaxis(values[x.name], -1, 0)) for x in states}


def with_modifiers(law: FrictionLaw, modifiers: Sequence[Modifier]) -> FrictionLaw:
    """Return the law combined with modifiers, or the law itself if there are none."""
    return Modified(law, modifiers) if modifiers else law
