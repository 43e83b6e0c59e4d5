"""What changes the normal traction that counts for friction, such as pore pressure, or the strength that a law finds, and how it is
composed with a friction law.

A modifier is one instance of a subclass of ``Modifier`` at the top of a module of ``physics.friction.modifiers``, or an entry point of
that name. It works with every friction law, or with those whose solver it names: ``with_modifiers(law, modifiers)`` is a friction law
again, with the parameters, state and outputs of all of them.
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
"""Friction laws by the solver that they name."""


class Modifier:
    """Base of all modifiers. Its attributes are as those of ``FrictionLaw``; functions marked *kernel* are written with
    ``kernels.math``.

    ``solvers`` of the laws it works with, none: of all;
    ``project`` False: with it no law's slip is projected on the face's polynomials;
    ``work`` that it adds to the law's.
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
        """Per-point numbers kernels get, (n,) each, named by ``kernel_parameters``."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def check(self, p: Values, c: Values, points: np.ndarray) -> Problems:
        """All that is wrong with ``p``, with the first of ``points`` (n, 3)."""
        problems = Problems()
        for q in self.parameters:
            report(problems, ~q.accepts(p[q.name]), points, f"{q.name} is", p[q.name], q.allowed())
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Own state at t = 0, (n,) or (n, size) each; what is left out starts at zero."""
        return {}

    def normal_traction(self, p: Values, c: Values, s: Values, sigma: Any) -> Any:
        """Normal traction that counts for friction where the total is ``sigma`` (kernel); compression is negative."""
        return sigma

    def strength(self, p: Values, c: Values, s: Values, strength: Any, load: Load) -> Any:
        """Strength at the end of the sub-step of ``load`` where the law has ``strength`` (kernel); ``s`` is the state before it. With
        ``load.dt`` 0: the strength in the state ``s``. Only where the law's strength is known before slip: solver 'closed-form'."""
        return strength

    def evolve(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        """Own state after a sub-step in which the fault slips at ``slip_rate`` (kernel). Its shear traction is then
        ``load.shear() - load.eta * slip_rate``. Solvers that iterate call it with each of their slip rates, from the same ``s``."""
        return {}

    def keep(self, p: Values, c: Values, strength: Any) -> dict[str, Any]:
        """Own state that follows from the strength that a sub-step, or the start of the run, ends with (kernel)."""
        return {}

    def rests(self, p: Values, c: Values, s: Values) -> Any:
        """As ``FrictionLaw.rests``, of its own state (kernel)."""
        return False

    def of_step(self, times: int) -> tuple[State, ...]:
        """As ``FrictionLaw.of_step``."""
        return ()

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        """As ``FrictionLaw.begin_step`` (kernel)."""
        return {}

    def end_substep(self, p: Values, c: Values, s: Values) -> dict[str, Any]:
        """As ``FrictionLaw.end_substep`` (kernel)."""
        return {}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        """As ``FrictionLaw.end_step`` (kernel)."""
        return {}


class Modified(FrictionLaw):
    """A friction law with modifiers, applied in their order."""

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
        """InputError where two of them use one name for different things."""
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
        """InputError where one of the modifiers does not work with such a law."""
        for modifier in self.modifiers:
            if modifier.solvers and self.law.solver not in modifier.solvers:
                allowed = " and ".join(_KINDS.get(solver, solver) for solver in modifier.solvers)
                what = f"'{modifier.name}' does not work with '{self.law.name}'"
                raise InputError(Problem("fault.modifiers", what, f"laws of {allowed}"))

    def __getattr__(self, name: str) -> Any:
        """What the solver of the law asks it, such as ``coefficient``."""
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
        """The law's check sees the normal traction that modifiers leave, where they find nothing wrong with their own parameters."""
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
        """Modifiers first: the law starts from the normal traction that they leave."""
        own, sigma = self._first(p, c, tau, sigma)
        start = self.law.initial(p, c, tau, sigma) | own
        return start | self._kept(p, c, self._first_strength(p, c, start, tau, sigma))

    def _first(
        self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """State of modifiers at t = 0, and the normal traction that they leave."""
        own: dict[str, np.ndarray] = {}
        for modifier in self.modifiers:
            zero = {x.name: np.zeros(sigma.shape if x.size is None else (*sigma.shape, x.size)) for x in modifier.state}
            made = zero | modifier.initial(p, c, tau, sigma)
            sigma = np.asarray(modifier.normal_traction(p, c, _rows(modifier.state, made), sigma))
            own |= made
        return own, sigma

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening | None:
        return self.law.weakening(p, c, tau, self._first(p, c, tau, sigma)[1])

    def relative_slip(self, p: Values, c: Values, s: Values) -> Any:
        return self.law.relative_slip(p, c, s)

    def weakened_fully(self, p: Values, c: Values, s: Values) -> Any:
        return self.law.weakened_fully(p, c, s)

    def _first_strength(self, p: Values, c: Values, start: Values, tau: np.ndarray, sigma: np.ndarray) -> Any:
        """Strength (n,) of the law at t = 0."""
        zero = {x.name: np.zeros(sigma.shape) for x in COMMON_STATE}
        none = np.zeros(sigma.shape)
        state = {**zero, **start, **_rows([x for x in self.state if x.name in start], start)}
        return self.law.strength(p, c, state, Load(tau, none, sigma, none + 1.0, none, none))

    def _kept(self, p: Values, c: Values, strength: Any) -> dict[str, Any]:
        return {k: v for modifier in self.modifiers for k, v in modifier.keep(p, c, strength).items()}

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load:
        sigma = load.sigma
        for modifier in self.modifiers:
            sigma = modifier.normal_traction(p, c, s, sigma)
        return replace(load, sigma=sigma)

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        return {k: v for modifier in self.modifiers for k, v in modifier.evolve(p, c, s, slip_rate, load).items()}

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Any:
        strength = self.law.strength(p, c, s, load)
        for modifier in self.modifiers:
            strength = modifier.strength(p, c, s, strength, load)
        return strength

    def evolve(
        self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Any, load: Load
    ) -> dict[str, Any]:
        own = {x.name: solved.state[x.name] for mod in self.modifiers for x in mod.state if x.name in solved.state}
        return self.law.evolve(p, c, s, solved, projected_rate, load) | own | self._kept(p, c, solved.strength)

    def rests(self, p: Values, c: Values, s: Values) -> Any:
        """Where all of them do."""
        found = [part.rests(p, c, s) for part in self.parts]
        if any(x is False for x in found):
            return False
        masks = [x for x in found if x is not True]
        return reduce(and_, masks) if masks else True

    def of_step(self, times: int) -> tuple[State, ...]:
        return tuple(x for part in self.parts for x in part.of_step(times))

    def begin_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        return {k: v for part in self.parts for k, v in part.begin_step(p, c, s, lengths).items()}

    def end_substep(self, p: Values, c: Values, s: Values) -> dict[str, Any]:
        return {k: v for part in self.parts for k, v in part.end_substep(p, c, s).items()}

    def end_step(self, p: Values, c: Values, s: Values, lengths: Sequence[Any]) -> dict[str, Any]:
        return {k: v for part in self.parts for k, v in part.end_step(p, c, s, lengths).items()}

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Any) -> Any:
        return self.law.dynamic_stress_reached(p, c, s, mu)


def _parts(law: FrictionLaw, modifiers: Sequence[Modifier]) -> tuple[FrictionLaw | Modifier, ...]:
    return (law, *modifiers)


def _rows(states: Sequence[State], values: Values) -> dict[str, Any]:
    """Values (n,) or (n, size) as formulas take them: vectors as lists of numbers."""
    return {x.name: values[x.name] if x.size is None else list(np.moveaxis(values[x.name], -1, 0)) for x in states}


def with_modifiers(law: FrictionLaw, modifiers: Sequence[Modifier]) -> FrictionLaw:
    """The law with modifiers; itself where there are none."""
    return Modified(law, modifiers) if modifiers else law


__all__ = ["Modified", "Modifier", "with_modifiers"]
