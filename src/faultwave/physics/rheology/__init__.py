"""Rheologies: their interface, and the return maps of media that yield, one file each.

A rheology is a pure function of one point: ``return_map(p, c, stress, s, step)`` receives the stress after an elastic
step and returns the stress that the medium can carry, with the state variables of the point. It is written with
``kernels.math``, so it runs on NumPy arrays and is recorded in generated code; it does not depend on cells, grids or
processes. Every instance of ``Rheology`` in a module of this package, or of an entry point
'faultwave.physics.rheology', is found by its name.

Both engines call it with ``statement`` between elastic steps, at points where all six stress components are available.
On tetrahedra these are nodes of the cell: modes are evaluated there, the statement is applied, and the result is
projected back, inside the kernel that corrects and predicts. On grids they are the centres of grid cells: shear
stresses are averaged to them, and the change is averaged back. The state is a buffer of the engine, and part of its
checkpoints by the names of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from faultwave.base.columns import Columns
from faultwave.base.errors import Problems
from faultwave.base.quantities import Output, Parameter, State, parameters_at_points, resolve_constants, state_columns
from faultwave.base.registry import get_entry, scan
from faultwave.kernels import math as m
from faultwave.kernels.expr import Condition, Number

Values = Mapping[str, Any]

STRESS = Columns(**dict.fromkeys(("s_xx", "s_yy", "s_zz", "s_xy", "s_yz", "s_xz")))
"""Columns of a stress tensor [Pa], negative in compression: total stress including the initial stress."""


def in_tension(stress: Values) -> np.ndarray:
    """Return True for points whose mean stress is tensile by more than rounding."""
    normal = [np.asarray(stress[n], float) for n in ("s_xx", "s_yy", "s_zz")]
    return np.asarray(sum(normal) > 1e-9 * np.abs(normal).max(0))


@dataclass(frozen=True)
class Returned:
    """Result of a return map: ``stress`` by the names of ``STRESS``, and changed ``state`` variables."""

    stress: Values
    state: Values = field(default_factory=dict)


class Rheology:
    """Base class of rheologies; a rheology is one instance of a subclass at the top of a module of this package.

    Attributes
    ----------
    parameters, constants
        Parameters given at every point, and once for all points.
    kernel_parameters
        Names of the values per point that ``prepare`` computes from the parameters and the medium, and formulas receive
        as ``p``.
    state
        State variables of a point.
    outputs
        Quantities computed from the state.
    keeps_mean
        True if the mean stress never changes.
    scales
        True if yielding reduces each component of the deviator by the same fraction, which ``loss`` returns. Grids that
        store normal and shear stresses at different points need this.
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
        """Columns of all state variables of a point."""
        return state_columns(self.state)

    @property
    def parameter_columns(self) -> Columns:
        return Columns(**dict.fromkeys(self.kernel_parameters))

    def prepare(self, p: Values, c: Values, medium: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the values (n,) per point for kernels, from the parameters and the elastic medium (rho, mu, lambda)."""
        return {name: np.array(p[name], float) for name in self.kernel_parameters}

    def given(self, values: Values, count: int, where: str, problems: Problems) -> dict[str, np.ndarray]:
        """Return the parameters (count,) by name from user values by name or alias; missing ones get their default.

        ``where`` is the setting that messages state.
        """
        return parameters_at_points(self.parameters, values, count, self.name, where, problems)

    def settings(self, values: Mapping[str, float], where: str, problems: Problems) -> dict[str, float]:
        """Return the constants by name from user values by name or alias; ``where`` is the setting that messages state."""
        return resolve_constants(self.constants, values, self.name, where, problems)

    def initial(self, p: Values, c: Values, stress: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return state variables at t = 0, (n,) or (n, size) each; missing ones start at zero."""
        return {}

    def energies(
        self,
        c: Values,
        s: Values,
        at_rest: Values,
        medium: Values,
    ) -> dict[str, Number]:
        """Return densities [J/m^3, N m/m^3] by name, for the state ``s`` and the initial stress ``at_rest`` (kernel).

        ``medium`` has the shear modulus ``mu``.
        """
        return {}

    def initial_stress_gives(self, c: Values, s: Values, at_rest: Values) -> Number | None:
        """Return an upper bound of the work density [J/m^3] of the initial stress until the state ``s``; it never decreases (kernel).

        A run whose waves contain much more energy is unstable. None: unknown, and no conclusion is drawn.
        """
        return None

    def return_map(self, p: Values, c: Values, stress: Values, s: Values, step: Number) -> Returned:
        """Return the stress that the medium carries after a step of ``step`` [s] to the elastic ``stress`` (kernel).

        The stress of points that do not yield is bitwise unchanged.
        """
        raise NotImplementedError

    def relaxed(self, c: Values, step: Number) -> Number:
        """Return the fraction of the excess over yield that relaxes in a step of ``step`` [s], if the rheology ``scales``."""
        raise NotImplementedError

    def loss(
        self, p: Values, c: Values, stress: Values, s: Values, time: tuple[Number, Number]
    ) -> tuple[Number, dict[str, Number]]:
        """Return the fraction of the deviator lost by yielding and the state after the step, if the rheology ``scales`` (kernel).

        Both agree with ``return_map``. ``time`` is the step [s] and the fraction ``relaxed`` in it.
        """
        raise NotImplementedError

    def yields(self, p: Values, c: Values, stress: Values, s: Values, step: Number) -> Condition:
        """Return a mask of points whose stress or state ``return_map`` changes (kernel); overridden for speed."""
        found = self.return_map(p, c, stress, s, step)
        pairs = [(found.stress[n], stress[n]) for n in STRESS] + [
            pair
            for n, v in found.state.items()
            for pair in (zip(v, s[n], strict=True) if isinstance(v, list) else [(v, s[n])])
        ]
        changed = [m.abs(new - old) > 0.0 for new, old in pairs]
        any_changed: Condition = changed[0]
        for other in changed[1:]:
            any_changed = any_changed | other
        return any_changed

    def distance(self, p: Values, c: Values, stress: Mapping[str, np.ndarray]) -> np.ndarray | None:
        """Return the distance of points from yield (n,) [Pa], or None if unknown.

        No change of ``stress`` whose Frobenius norm sqrt(ds : ds) is at most this makes them yield, so that whole cells
        need no check of their points. It is negative beyond yield, where points yield even without change. With None
        every point is checked.
        """
        return None


def statement(rheology: Rheology, constants: Values) -> Callable[..., list[list[Number]]]:
    """Return the return map as a pointwise statement of a kernel.

    The statement maps (parameters, stress, state, step) to [stress, state], rows of numbers in the order of
    ``parameter_columns``, ``STRESS`` and ``state_columns``; ``step`` is a row of one number. Without state variables it
    returns [stress].
    """
    parameters, states = rheology.parameter_columns, rheology.state_columns

    def function(p: Sequence[Number], stress: Sequence[Number], *rest: Sequence[Number]) -> list[list[Number]]:
        state, step = rest if states.size else ([], rest[0])
        s = states.row(state)
        found = rheology.return_map(parameters.row(p), constants, STRESS.row(stress), s, step[0])
        new = [STRESS.flat(found.stress)]
        return [*new, states.flat({**s, **found.state})] if states.size else new

    return function


def rheologies() -> dict[str, Rheology]:
    """Return all rheologies by name."""
    return scan("faultwave.physics.rheology", Rheology)


def rheology(name: str) -> Rheology:
    """Return the rheology called ``name``; raises InputError that lists the names that exist."""
    return get_entry(rheologies(), name, "rheology", "rheology")
