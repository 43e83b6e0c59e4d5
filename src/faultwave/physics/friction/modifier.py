"""What changes the normal traction that counts for friction, such as pore pressure, and how it is composed with a friction law.

A modifier is one instance of a subclass of ``Modifier`` at the top of a module of ``physics.friction.modifiers``, or an entry point of
that name. It works with every friction law: ``with_modifiers(law, modifiers)`` is a friction law again, with the parameters, state
and outputs of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.quantities import Output, Parameter, State
from faultwave.physics.friction.law import Directions, FrictionLaw, Load, Solved, Values, Weakening, report


class Modifier:
    """Base of all modifiers. Its attributes are as those of ``FrictionLaw``; functions marked *kernel* are written with
    ``kernels.math``."""

    name: str
    title: str
    parameters: tuple[Parameter, ...] = ()
    constants: tuple[Parameter, ...] = ()
    kernel_parameters: tuple[str, ...] = ()
    state: tuple[State, ...] = ()
    outputs: tuple[Output, ...] = ()

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
        raise NotImplementedError

    def evolve(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        """Own state after a sub-step in which the fault slips at ``slip_rate`` (kernel). Its shear traction is then
        ``load.shear() - load.eta * slip_rate``. Solvers that iterate call it with each of their slip rates, from the same ``s``."""
        return {}


class Modified(FrictionLaw):
    """A friction law with modifiers, applied in their order."""

    def __init__(self, law: FrictionLaw, modifiers: Sequence[Modifier]):
        self.law, self.modifiers = law, tuple(modifiers)
        parts: tuple[FrictionLaw | Modifier, ...] = (law, *self.modifiers)
        self.name, self.title = (" + ".join(getattr(part, of) for part in parts) for of in ("name", "title"))
        self.parameters = tuple(x for part in parts for x in part.parameters)
        self.constants = tuple(x for part in parts for x in part.constants)
        self.kernel_parameters = tuple(x for part in parts for x in part.kernel_parameters)
        self.state = tuple(x for part in parts for x in part.state)
        self.outputs = tuple(x for part in parts for x in part.outputs)
        self._check_names()
        self.deck_number, self.solver, self.project = law.deck_number, law.solver, law.project
        self.resampled, self.counted = law.resampled, law.counted
        self.needs_stress, self.work, self.double = law.needs_stress, law.work, law.double

    def _check_names(self) -> None:
        """InputError where two of them use one name for different things."""
        for what, listed in (
            ("parameters", self.parameters), ("constants", self.constants), ("states", self.state), ("outputs", self.outputs),
        ):  # fmt: skip
            names = [x.name for x in listed]
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise InputError(
                    Problem("fault.modifiers", f"two {what} of '{self.name}' are called {', '.join(twice)}")
                )

    def __getattr__(self, name: str) -> Any:
        """What the solver of the law asks it, such as ``coefficient``."""
        if name == "law":
            raise AttributeError(name)
        return getattr(self.law, name)

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        result = self.law.prepare(p, c, directions)
        for modifier in self.modifiers:
            result |= modifier.prepare(p, c)
        return result

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = self.law.check(p, c, tau, sigma, points)
        for modifier in self.modifiers:
            problems.extend(modifier.check(p, c, points).items)
        return problems

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        """Modifiers first: the law starts from the normal traction that they leave."""
        own, sigma = self._modified_at_start(p, c, tau, sigma)
        return self.law.initial(p, c, tau, sigma) | own

    def _modified_at_start(
        self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """The modifiers' state at t = 0, and the normal traction that they leave of ``sigma``."""
        own: dict[str, np.ndarray] = {}
        for modifier in self.modifiers:
            zero = {x.name: np.zeros(sigma.shape if x.size is None else (*sigma.shape, x.size)) for x in modifier.state}
            made = zero | modifier.initial(p, c, tau, sigma)
            rows = {
                x.name: made[x.name] if x.size is None else list(np.moveaxis(made[x.name], -1, 0))
                for x in modifier.state
            }
            sigma = np.asarray(modifier.normal_traction(p, c, rows, sigma))
            own |= made
        return own, sigma

    def weakening(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> Weakening | None:
        return self.law.weakening(p, c, tau, self._modified_at_start(p, c, tau, sigma)[1])

    def pressed(self, p: Values, c: Values, s: Values, load: Load) -> Load:
        sigma = load.sigma
        for modifier in self.modifiers:
            sigma = modifier.normal_traction(p, c, s, sigma)
        return replace(load, sigma=sigma)

    def modified(self, p: Values, c: Values, s: Values, slip_rate: Any, load: Load) -> dict[str, Any]:
        return {k: v for modifier in self.modifiers for k, v in modifier.evolve(p, c, s, slip_rate, load).items()}

    def strength(self, p: Values, c: Values, s: Values, load: Load) -> Any:
        return self.law.strength(p, c, s, load)

    def evolve(
        self, p: Values, c: Values, s: Values, solved: Solved, projected_rate: Any, load: Load
    ) -> dict[str, Any]:
        own = {x.name: solved.state[x.name] for mod in self.modifiers for x in mod.state if x.name in solved.state}
        return self.law.evolve(p, c, s, solved, projected_rate, load) | own

    def dynamic_stress_reached(self, p: Values, c: Values, s: Values, mu: Any) -> Any:
        return self.law.dynamic_stress_reached(p, c, s, mu)


def with_modifiers(law: FrictionLaw, modifiers: Sequence[Modifier]) -> FrictionLaw:
    """The law with modifiers; itself where there are none."""
    return Modified(law, modifiers) if modifiers else law


__all__ = ["Modified", "Modifier", "with_modifiers"]
