"""What a rheology is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State, given_at_points, given_constants, state_columns
from faultwave.kernels import math as m

Values = Mapping[str, Any]

STRESS = Columns(**dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")))
"""Columns of a stress tensor [Pa], compression negative: the whole stress, initial stress included."""


def in_tension(stress: Values) -> np.ndarray:
    """Whether the mean stress at points pulls, by more than rounding."""
    normal = [np.asarray(stress[n], float) for n in ("s_xx", "s_yy", "s_zz")]
    return np.asarray(sum(normal) > 1e-9 * np.abs(normal).max(0))


@dataclass(frozen=True)
class Returned:
    """``stress`` after the return map, by the names of ``STRESS``; own ``state``, what is left out stays as it was."""

    stress: Values
    state: Values = field(default_factory=dict)


class Rheology:
    """Base of all rheologies; a rheology is one instance of a subclass at the top of a module of this package.

    ``parameters`` are given at every point, ``constants`` once; ``kernel_parameters`` name the per-point numbers that ``prepare``
    makes of the parameters and of the medium's, and that formulas get as ``p``; ``state``: what a point remembers; ``outputs`` are made
    of it; ``keeps_mean``: the mean stress never changes; ``scales``: yielding takes the same share of each part of the deviator, which
    ``loss`` tells, as grids need it that keep normal and shear stresses in different places.
    """

    name: str
    title: str
    parameters: tuple[Parameter, ...] = ()
    constants: tuple[Parameter, ...] = ()
    kernel_parameters: tuple[str, ...] = ()
    state: tuple[State, ...] = ()
    outputs: tuple[Output, ...] = ()
    keeps_mean: bool = False
    scales: bool = False

    @property
    def state_columns(self) -> Columns:
        """All that a point remembers, side by side."""
        return state_columns(self.state)

    @property
    def parameter_columns(self) -> Columns:
        return Columns(**dict.fromkeys(self.kernel_parameters))

    def prepare(self, p: Values, c: Values, medium: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Per-point numbers kernels get, (n,) each, from the parameters and those of the elastic medium (rho, mu, lambda)."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def given(self, values: Values, count: int, where: str, problems: Problems) -> dict[str, np.ndarray]:
        """Parameters (count,) by name from user values by name or alias; absent ones get their default. ``where``: the setting."""
        return given_at_points(self.parameters, values, count, self.name, where, problems)

    def settings(self, values: Mapping[str, float], where: str, problems: Problems) -> dict[str, float]:
        """Constants by name from user values by name or alias. ``where``: the setting."""
        return given_constants(self.constants, values, self.name, where, problems)

    def initial(self, p: Values, c: Values, stress: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Own state at t = 0, (n,) or (n, size) each; what is left out starts at zero."""
        return {}

    def energies(
        self,
        c: Values,
        s: Values,
        at_rest: Values,
        medium: Values,
    ) -> dict[str, Any]:
        """Densities [J/m^3, N m/m^3] by name, of points with the state ``s`` and the stress ``at_rest``, in a medium with ``mu``
        (kernel)."""
        return {}

    def initial_stress_gives(self, c: Values, s: Values, at_rest: Values) -> Any:
        """Density [J/m^3] of the work that the stress ``at_rest`` has done, at most, on the way of points to the state ``s``; it never
        falls (kernel). A run whose waves hold much more has blown up. None: not known, and nothing is concluded."""
        return None

    def return_map(self, p: Values, c: Values, stress: Values, s: Values, step: Any) -> Returned:
        """The stress that the medium carries after a step of ``step`` [s] to the elastic ``stress`` (kernel). Points that do not yield
        keep every bit of theirs."""
        raise NotImplementedError

    def relaxed(self, c: Values, step: Any) -> Any:
        """Share of what is beyond yield that is gone after a step of ``step`` [s], of a rheology that ``scales``."""
        raise NotImplementedError

    def loss(
        self, p: Values, c: Values, stress: Values, s: Values, time: tuple[Any, Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Share of the deviator that yielding takes, and the state after the step, as ``return_map`` has them, of a rheology that
        ``scales`` (kernel). ``time``: the step [s] and what is ``relaxed`` in it."""
        raise NotImplementedError

    def yields(self, p: Values, c: Values, stress: Values, s: Values, step: Any) -> Any:
        """Mask of points whose stress or state ``return_map`` changes (kernel). One with fewer operations saves time."""
        found = self.return_map(p, c, stress, s, step)
        pairs = [(found.stress[n], stress[n]) for n in STRESS] + [
            pair
            for n, v in found.state.items()
            for pair in (zip(v, s[n], strict=True) if isinstance(v, list) else [(v, s[n])])
        ]
        changed = [m.abs(new - old) > 0.0 for new, old in pairs]
        any_changed = changed[0]
        for other in changed[1:]:
            any_changed = any_changed | other
        return any_changed

    def distance(self, p: Values, c: Values, stress: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """How far from yielding points are, (n,) [Pa]: no change of ``stress`` whose Frobenius norm sqrt(ds : ds) is at most this
        makes them yield. Whole cells then need no look at their points. Negative beyond yield: such points yield though nothing
        moves. None: not known, and every point is looked at."""
        return None


def statement(rheology: Rheology, constants: Values) -> Callable[..., list[Any]]:
    """The return map as a pointwise statement of a kernel: (parameters, stress, state, step) -> [stress, state], rows of numbers in the
    order of ``parameter_columns``, ``STRESS`` and ``state_columns``; ``step`` a row of one number. Without state: [stress]."""
    parameters, states = rheology.parameter_columns, rheology.state_columns

    def function(p: Any, stress: Any, *rest: Any) -> list[Any]:
        state, step = rest if states.size else ([], rest[0])
        s = states.row(state)
        found = rheology.return_map(parameters.row(p), constants, STRESS.row(stress), s, step[0])
        new = [STRESS.flat(found.stress)]
        return [*new, states.flat({**s, **found.state})] if states.size else new

    return function


__all__ = ["STRESS", "Returned", "Rheology", "Values", "statement"]
