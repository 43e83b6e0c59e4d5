"""Friction of a fault on a grid, step by step on arrays of the whole fault, and its transpose.

The formulas are the recorded stencils of the grid's program, so that both are those of the run.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from faultwave.fd.capabilities.rupture import Rupture
from faultwave.fd.fault import SLIPS, STEPS, Given, array_at, initial_state, observer, parameter
from faultwave.fd.fault import STRESS as TRACTION
from faultwave.fd.method.scheme import Level, Scheme
from faultwave.fd.method.split_nodes import FaultPlane, high, locked
from faultwave.kernels.derivatives import DifferentiableFormula, Evaluation
from faultwave.kernels.expr import Key
from faultwave.kernels.stencil import Axis, Box, Launch, record
from faultwave.physics.friction.law import FrictionLaw
from faultwave.physics.friction.solvers import BalancedLaw, differentiable_rate, newton

Arrays = Mapping[str, np.ndarray]
"""Values on a ``Frame`` by the names of the program's arrays."""
RELATIVE = 1e-4
"""Interval of the differences of initial states relative to a parameter; they have fourth order."""


def differentiable(law: FrictionLaw) -> FrictionLaw:
    """Return a law whose recorded solution has the derivatives of the exact one."""
    if law.solver != "newton":
        return law
    found = copy.copy(law)
    balanced = cast(BalancedLaw, found)
    found.solve = lambda p, c, s, load: newton(balanced, p, c, s, load, differentiable_rate)  # type: ignore[method-assign]
    return found


@dataclass(frozen=True)
class Frame:
    """Points (z, along) of a fault plane with one more around, on which arrays of this module are stored."""

    plane: FaultPlane

    @property
    def shape(self) -> tuple[int, int]:
        (z0, a0), (z1, a1) = self.plane.first, self.plane.end
        return z1 - z0 + 2, a1 - a0 + 2

    @property
    def _axis(self) -> int:
        """Axis of arrays (z, y, x) along the plane."""
        return "zyx".index(self.plane.along)

    def at(self, box: Box, z: int = 0, along: int = 0) -> tuple[slice, slice]:
        """Return the position of a box, shifted by some points, in arrays of the frame."""
        k = self._axis
        first = box.lo[0] - self.plane.first[0] + 1 + z, box.lo[k] - self.plane.first[1] + 1 + along
        return slice(first[0], first[0] + box.shape[0]), slice(first[1], first[1] + box.shape[k])

    def offsets(self, key: Key) -> tuple[int, int]:
        """Return the shift (z, along) of a read ('at', name, z, y, x). Raises ValueError if it leaves the plane."""
        _, name, z, y, x = key
        along, across = (x, y) if self.plane.along == "x" else (y, x)
        if across:
            raise ValueError(f"{name} is read {across} points from the plane of the fault")
        return z, along

    def flat(self, values: np.ndarray) -> np.ndarray:
        """Return values (..., nz, ny, nx) on points of the plane as (..., nz, n)."""
        return values.squeeze(self._normal - 3)

    @property
    def _normal(self) -> int:
        return "zyx".index(self.plane.axis)

    def fill(self, values: np.ndarray, box: Box) -> np.ndarray:
        """Return an array of the frame with values (nz, ny, nx) in a box and zeros elsewhere."""
        found = np.zeros(self.shape)
        found[self.at(box)] = self.flat(values)
        return found


@dataclass(frozen=True)
class _Piece:
    """Launch of the program on arrays of the frame."""

    formula: DifferentiableFormula
    box: Box

    def inputs(self, frame: Frame, arrays: Arrays, scalars: Mapping[str, float]) -> dict[Key, np.ndarray | float]:
        found = dict[Key, np.ndarray | float]()
        for key in self.formula.inputs:
            if key[0] == "scalar":
                found[key] = scalars[key[1]]
            else:
                found[key] = arrays[key[1]][frame.at(self.box, *frame.offsets(key))]
        return found


class FrictionStep:
    """One step of friction on the whole fault.

    Parameters
    ----------
    rupture : Rupture
    scheme : Scheme
    constant : mapping of str to ndarray
        Coefficients that friction reads, on the frame.
    scalars : mapping of str to float
        Scalars of the program.

    Attributes
    ----------
    frame : Frame
    state : tuple of str
        Names of the arrays that a step changes and a later one reads.
    given : tuple of str
        Names of the arrays of initial traction, nucleation and parameters.
    jumps : dict of Axis to (str, str)
        Names of the arrays of the velocities on the lower and upper side.
    moves : dict of Axis to ndarray
        Mask of the points where friction sets the slip rate.
    """

    def __init__(self, rupture: Rupture, scheme: Scheme, constant: Arrays, scalars: Mapping[str, float]):
        assert rupture.plane is not None
        plane = rupture.plane
        sliding = replace(rupture.sliding, law=differentiable(rupture.law))
        self.frame, self.scalars, self.axes = Frame(plane), scalars, tuple(plane.sliding)
        evolving = (STEPS, "traction_n", *sliding.state)
        self.state = tuple(array_at(n, axis) for axis in self.axes for n in evolving)
        self.given = tuple(array_at(n, axis) for axis in self.axes for n in sliding.given if n != SLIPS)
        self.jumps = {axis: (name, high(name)) for axis, name in plane.sliding.items()}
        at_rest = {n: np.zeros(self.frame.shape) for pair in self.jumps.values() for n in pair}
        values = {
            array_at(n, axis): self.frame.fill(v, plane.box)
            for axis, given in rupture.given.items()
            for n, v in given.values.items()
        }
        self._constant: Arrays = {**constant, **values, **at_rest}
        fixed = {*constant, *(array_at(n, axis) for axis in self.axes for n in (SLIPS, STEPS))}
        launches = sorted(observer(scheme, sliding, scheme.grid.box).launches, key=lambda x: scheme.levels[Level(x[0])])
        self._pieces = [self._piece(launch, fixed) for _, launch in launches]
        self.moves = {axis: np.zeros(self.frame.shape, bool) for axis in self.axes}
        for _, launch in launches:
            for axis in self.axes:
                if launch.stencil.name.startswith(f"slide_{plane.axis}{axis}"):
                    self.moves[axis][self.frame.at(launch.box)] = True

    def _piece(self, launch: Launch, fixed: Iterable[str]) -> _Piece:
        moved = {*self.state, *(n for pair in self.jumps.values() for n in pair)}
        writes = {n: e for n, e in record(launch.stencil)[1].items() if n in moved}
        without = frozenset(fixed)
        return _Piece(DifferentiableFormula(writes, lambda key: key[0] == "at" and key[1] not in without), launch.box)

    def initial(self, given: Mapping[Axis, Given]) -> dict[str, np.ndarray]:
        """Return the state before the first step."""
        found = {n: np.zeros(self.frame.shape) for n in self.state}
        for axis, values in given.items():
            for n, v in values.state.items():
                found[array_at(n, axis)] = self.frame.fill(v, self.frame.plane.box)
        return found

    def advance(self, state: Arrays, load: Arrays) -> tuple[dict[str, np.ndarray], list[Evaluation]]:
        """Return the state after a step under a load, with what ``pull_back`` needs.

        Parameters
        ----------
        state : mapping of ndarray
        load : mapping of ndarray
            Locking tractions of the step and normal stress before it.
        """
        arrays = {**self._constant, **state, **load}
        tape = []
        for piece in self._pieces:
            at = piece.formula.evaluate(piece.inputs(self.frame, arrays, self.scalars))
            tape.append(at)
            for name, values in at.outputs.items():
                arrays[name] = arrays[name].copy()
                arrays[name][self.frame.at(piece.box)] = values
        return {n: arrays[n] for n in self.state}, tape

    def pull_back(self, tape: list[Evaluation], adjoints: MutableMapping[str, np.ndarray]) -> None:
        """Turn derivatives with respect to the arrays after a step into those before it, in place.

        Parameters
        ----------
        tape : list of Evaluation
            Second result of ``advance``.
        adjoints : mapping of ndarray
            Derivatives with respect to state, velocities, loads and given values; those of given values are added up.
        """
        for piece, at in zip(reversed(self._pieces), reversed(tape), strict=True):
            here = self.frame.at(piece.box)
            weights = {n: adjoints[n][here].copy() for n in at.outputs}
            for n in weights:
                adjoints[n][here] = 0.0
            for key, values in piece.formula.pull_back(at, weights).items():
                adjoints[key[1]][self.frame.at(piece.box, *self.frame.offsets(key))] += values

    def adjoints(self) -> dict[str, np.ndarray]:
        """Return zeros for ``pull_back``."""
        loads = (*(locked(axis) for axis in self.axes), self.frame.plane.normal)
        names = (*self.state, *self.given, *loads, *(n for pair in self.jumps.values() for n in pair))
        return {n: np.zeros(self.frame.shape) for n in names}


def add_initial_state(rupture: Rupture, step: FrictionStep, adjoints: MutableMapping[str, np.ndarray]) -> None:
    """Add the derivatives through the initial state to those with respect to parameters and initial traction.

    Parameters
    ----------
    rupture : Rupture
    step : FrictionStep
    adjoints : mapping of ndarray
        Derivatives with respect to the state before the first step and to given values, changed in place.
    """
    law, c, frame = rupture.law, rupture.constants, step.frame
    for axis, given in rupture.given.items():
        flat = {n: v.reshape(-1) for n, v in given.values.items()}

        def state_of(values: Arrays) -> dict[str, np.ndarray]:
            parameters = {n: values[parameter(n)] for n in law.kernel_parameters}
            return initial_state(law, parameters, c, np.stack([values[n] for n in TRACTION], -1))

        shape = frame.flat(given.places[..., 0]).shape
        here = frame.at(frame.plane.box)
        weights = {n: adjoints[array_at(n, axis)][here] for n in state_of(flat)}
        for name in (*TRACTION, *map(parameter, law.kernel_parameters)):
            h = RELATIVE * np.maximum(np.abs(flat[name]), np.abs(flat[name]).max() or 1.0)
            h = np.where(np.isfinite(h), h, 0.0)
            total = np.zeros(shape)
            for offset, weight in ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12)):
                with np.errstate(all="ignore"):
                    changed = state_of({**flat, name: flat[name] + offset * h})
                    for n, w in weights.items():
                        change = np.where(h > 0, changed[n] * weight / np.where(h > 0, h, 1.0), 0.0)
                        total += np.where(w == 0.0, 0.0, w * change.reshape(shape))
            adjoints[array_at(name, axis)][here] += total
