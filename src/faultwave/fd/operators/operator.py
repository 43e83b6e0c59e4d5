"""Operator of a grid: arrays and program on a backend, advanced by whole steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave import backends
from faultwave.backends.grid import wrap_axis
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.base.processes import host
from faultwave.comm import World
from faultwave.fd.method import fluid_solid_interface, split_nodes
from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.effective_medium import Medium, Units, spread_rounding
from faultwave.fd.method.grid_block import undivided
from faultwave.fd.method.program import ELASTIC, Observer, build_program, profiles, sheets
from faultwave.fd.method.scheme import LEVELS, Level, Scheme
from faultwave.fd.method.split_nodes import high
from faultwave.fd.method.stencils import FIELDS, VELOCITY
from faultwave.fd.operators.energies import ENERGIES, Side, Sums
from faultwave.fd.operators.overlap import Overlap, ProcessPartition
from faultwave.fd.operators.points import RECORDED, Drive, Drives, Sampler, interpolation_stencils
from faultwave.kernels.stencil import REACH, Box
from faultwave.media.attenuation import ORDER, Relaxation

AT_ONCE = 1 << 24
"""Largest number of values passed to injections and taken by sample buffers in one call."""


@dataclass(frozen=True)
class Machine:
    """Backend, precision and number of processor threads (None: all) of a computation."""

    backend: str = "cpu"
    precision: str = "single"
    threads: int | None = None


def storage_units(medium: Medium, precision: str, partition: ProcessPartition | None) -> Units | None:
    """Return the units of coefficients stored in sixteen bits, or None if all bits are stored."""
    if precision != "single":
        return None
    return partition.units if partition else Units.fitting(medium.coefficients)


def memory_tables(relaxation: Relaxation, step: float) -> dict[str, np.ndarray]:
    """Return the coefficients A and B (2, 2, 2) of r' = A r - B (...) by parity along z, y and x."""
    tau = relaxation.spectrum.times[ORDER].reshape(2, 2, 2) / step
    return {"A": (tau - 0.5) / (tau + 0.5), "B": 0.5 / (tau + 0.5)}


def _planes(view: np.ndarray, box: Box, first: int) -> np.ndarray:
    """Return a box of an array with lowest plane ``first`` from a view with one halo point around."""
    start = 1 + box.lo[0] - first
    return view[start : start + box.shape[0], 1:-1, 1:-1]


class Operator:
    """Operator of a whole grid, or of the part of one process.

    After n ``steps`` velocities are at (n - 1/2) dt and stresses at n dt.

    Parameters
    ----------
    scheme : Scheme
    medium : Medium
        Coefficients in the box of this process.
    relaxation : Relaxation or None
        Mechanisms of attenuation.
    drives : sequence of Drive
        Source injectors.
    samplers : sequence of Sampler
    observers : sequence of Observer
        Arrays and launches of capabilities.
    machine : Machine or None
        Backend, precision and threads; None for the defaults.
    partition : ProcessPartition or None
        Partition over several processes.

    Attributes
    ----------
    steps : int
        Number of steps taken.
    box : Box
        Box that this process computes, including the overlap.
    units : Units
        Units of stored coefficients.
    runner : Runner
        Arrays and program on the backend.
    given : ndarray, shape (levels, sources)
        Sums over steps of absolute source amplitudes.
    pushed : ndarray, shape (2,)
        Sums over steps of squared amplitudes, and of these times the number of the step.
    """

    def __init__(
        self, scheme: Scheme, medium: Medium, relaxation: Relaxation | None = None, drives: Sequence[Drive] = (),
        samplers: Sequence[Sampler] = (), observers: Sequence[Observer] = (), machine: Machine | None = None,
        partition: ProcessPartition | None = None,
    ):  # fmt: skip
        machine = machine or Machine()
        self.scheme, self.drives, self.samplers, self.steps = scheme, Drives(drives), tuple(samplers), 0
        self.partition, self.subdomain = partition, partition.subdomain if partition else undivided(scheme.grid)
        self.box, precision = self.subdomain.box, machine.precision
        self.units = storage_units(medium, precision, partition) or Units()
        sample_buffers = [buffer for sampler in self.samplers for buffer in sampler.sample_buffers]
        part = self.box if partition else None
        program = build_program(scheme, self.drives.injections, sample_buffers, observers, self.units, part)
        self.backend = machine.backend
        place = (partition.world if partition else World()).device_number  # processes on one machine use a device each
        self.runner = backends.make_stencils(machine.backend, program, precision, machine.threads, place)
        for number, (name, values) in enumerate(medium.coefficients.items()):
            if name in program.arrays:
                self._fill(name, np.asarray(values), number)
        self._wrap(fluid_solid_interface.ARRAYS if scheme.border else ())
        for name, values in profiles(scheme).items():
            if name in program.arrays:
                self.fill_line(name, values)
        for name, values in sheets(scheme, self.box).items():
            self.runner.view(name, REACH)[REACH] = values
        self.given, self.pushed = np.zeros((LEVELS, self.drives.count)), np.zeros(2)
        if relaxation is not None:
            self._memory_coefficients(relaxation)
        self.overlap = Overlap(partition, program, self.runner, precision) if partition else None
        numbers = LEVELS * self.drives.count + sum(len(buffer.points) for buffer in sample_buffers)
        most = max(1, AT_ONCE // numbers)
        self._most = int(-partition.world.largest([-float(most)])[0]) if partition else most

    def _fill(self, name: str, values: np.ndarray, number: int) -> None:
        box = self.scheme.filled(self.box)
        view, unit = _planes(self.runner.view(name, 1), box, self.box.lo[0]), self.units.of(name)
        full = np.broadcast_to(values, view.shape)
        count = len(full)
        if self.scheme.surfaced(self.box) and name in (
            "b_z",
            "mu_xz",
            "mu_yz",
        ):  # other quantities have this plane
            count, view[-1] = count - 1, 0.0
        if view.dtype != np.float16:
            view[:count] = full[:count] / unit
            return
        z, y, x = (np.arange(a, b) % n for a, b, n in zip(box.lo, box.hi, self.scheme.grid.shape, strict=True))
        for k in range(count):
            view[k] = spread_rounding(full[k : k + 1] / unit, (z[k : k + 1], y, x), number)[0]

    def fill_line(self, name: str, values: np.ndarray) -> None:
        """Set a profile along an axis from its values on the whole grid, with periodic images."""
        layout, k = self.runner.program.arrays[name], "zyx".index(self.runner.program.arrays[name].axis)
        if layout.axis in self.scheme.periodic:
            values = values[np.arange(layout.box.lo[k], layout.box.hi[k]) % self.scheme.grid.shape[k]]
        self.runner.view(name)[...] = values

    def filled_view(self, name: str) -> np.ndarray:
        """Return a writable view of an array in this process's box, including planes on the surface and joined faces."""
        return _planes(self.runner.view(name, 1), self.scheme.filled(self.box), self.box.lo[0])

    @property
    def blocks(self) -> tuple[Operator, ...]:
        """Operators of the blocks of a grid, from the uppermost down."""
        return (self,)

    def prepare(self, steps: int) -> None:
        """Prepare passes of about ``steps`` steps, on a state of zeros."""
        self.runner.prepare(steps)

    @property
    def steps_at_once(self) -> int:
        """Number of steps per call with the best performance."""
        return self.subdomain.steps or self.runner.steps_a_pass

    def refresh(self) -> None:
        """Update the overlap with other processes; a collective call of all of them."""
        if self.overlap:
            self.overlap.halo.start()
            self.overlap.halo.finish()

    def values(self, name: str) -> np.ndarray:
        """Return the read-only values of an array owned by this process."""
        return self.runner.values(name)[self.subdomain.own]

    def filled_values(self, name: str) -> np.ndarray:
        """Return the owned values of an array, including planes on the surface and on joined faces."""
        z, y, x = self.own_filled
        return self.filled_around(name)[z, y, x]

    def filled_around(self, name: str) -> np.ndarray:
        """Return the values of an array including these planes and the overlap with other processes."""
        return _planes(self.runner.values(name, 1), self.scheme.filled(self.box), self.box.lo[0])

    @property
    def own_filled(self) -> tuple[slice, slice, slice]:
        """Slices of the owned points, including these planes, in arrays over the box of ``filled_around``."""
        _, y, x = self.subdomain.own
        owned, box = (self.scheme.filled(b) for b in (self.subdomain.owned.box, self.box))
        return slice(owned.lo[0] - box.lo[0], owned.hi[0] - box.lo[0]), y, x

    def coefficient(self, name: str) -> np.ndarray:
        """Return a coefficient (nz, ny, nx) in SI units, as the kernels use it."""
        return self.values(name).astype(float) * self.units.of(name)

    def _memory_coefficients(self, relaxation: Relaxation) -> None:
        """Set the coefficients of r' = A r - B (...).

        This is Crank-Nicolson for tau r_t + r = -(defect) (strain rate), with r halved (Day & Bradley 2001).
        """
        for name, table in memory_tables(relaxation, self.scheme.step).items():
            along = np.arange(self.box.lo[2], self.box.hi[2]) % self.scheme.grid.shape[2]
            self.runner.view(name)[...] = table[:, :, along % 2]

    @property
    def time(self) -> float:
        """Time [s] of the stresses; velocities are half a step behind."""
        return self.steps * self.scheme.step

    def advance(self, steps: int) -> list[np.ndarray]:
        """Take ``steps`` steps and return the samples (steps, places, ...) of each sampler.

        Velocities are half a step earlier. All processes of a grid call it with the same number of steps.
        """
        parts = self._pieces(steps)
        if len(parts) == 1:
            return self._advance(steps)
        found = [self._advance(count) for count in parts]
        return [np.concatenate(values) for values in zip(*found, strict=True)]

    def _pieces(self, steps: int) -> list[int]:
        """Return the numbers of steps per call, smaller if many values are passed or read in each."""
        return [min(self._most, steps - first) for first in range(0, steps, self._most)]

    def _advance(self, steps: int) -> list[np.ndarray]:
        pushes = self.pushes(steps)
        sample_buffers = self.overlap.run(steps, pushes) if self.overlap else self.runner.run(steps, pushes)
        self.steps += steps
        return self.seen(sample_buffers)

    def pushes(self, steps: int) -> np.ndarray:
        """Return the source amplitudes (levels of the program, steps, sources) of the next ``steps`` steps.

        The sums ``given`` and ``pushed`` are updated.
        """
        amplitudes = self.drives.amplitudes(self.steps, steps)
        self.given = self.given + np.abs(amplitudes).sum(1)
        squares = np.einsum("lsc,lsc->s", amplitudes, amplitudes)
        self.pushed += squares.sum(), squares @ np.arange(self.steps, self.steps + steps)
        levels = np.zeros((len(self.runner.program.levels), *amplitudes.shape[1:]))
        levels[[self.scheme.levels[Level(n)] for n in range(LEVELS)]] = amplitudes
        return levels

    def seen(self, sample_buffers: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the samples of each sampler from the sample buffers."""
        found, first = [], 0
        for sampler in self.samplers:
            found.append(sampler.values(sample_buffers[first : first + len(sampler.sample_buffers)]))
            first += len(sampler.sample_buffers)
        return found

    def places(self, name: str) -> np.ndarray:
        """Return the places (nz, ny, nx, 3) [m] of a quantity at the points that this process owns."""
        return self.scheme.grid.places(name, self.subdomain.owned.box)

    def set_state(self, state: Callable[[np.ndarray, float], np.ndarray]) -> None:
        """Set the fields to state(points (n, 3), time) -> (n, 9), velocities half a step before the current time."""
        for column, name in enumerate(RECORDED):
            when = self.time - 0.5 * self.scheme.step if name in VELOCITY else self.time
            owned = self.subdomain.owned.box
            filled = self.scheme.filled(owned)
            available = Box(filled.lo, (owned.hi[0], *filled.hi[1:])) if name in WHOLE else filled
            places = self.scheme.grid.places(name, available)
            values = state(places.reshape(-1, 3), when)[:, column].reshape(places.shape[:3])
            z, y, x = self.own_filled
            view = self.filled_view(name)
            view[z.start : z.start + len(values), y, x] = values
        self._join_sides()
        self._wrap()

    def _join_sides(self) -> None:
        """Set the upper side of a fault to the lower one, as before any slip."""
        fault = self.scheme.fault
        if fault is None:
            return
        k, halo = "zyx".index(fault.axis), 1
        start = fault.index - self.box.lo[k]
        plane = [slice(None)] * 3
        plane[k] = slice(start, start + 1 + 2 * halo)
        for name in fault.doubled:
            self.runner.view(high(name), halo)[...] = self.runner.view(name, halo)[tuple(plane)]

    def restored(self) -> None:
        """Update the periodic ends of the arrays after a checkpoint was read."""
        self._wrap()

    def _wrap(self, names: Sequence[str] = FIELDS) -> None:
        for name in names if self.partition is None else ():
            for axis in self.scheme.periodic:
                wrap_axis(self.runner.view(name, self.scheme.reach), "zyx".index(axis), self.scheme.reach)

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the current quantities (n, 9) at points (n, 3) [m], NaN outside the grid; only in one process."""
        if self.partition is not None:
            raise NotBuiltError(Problem("sample", "several processes share the grid", "one process"))
        found = np.full((len(points), len(RECORDED)), np.nan)
        here = ((points >= self.scheme.grid.lower) & (points <= self.scheme.grid.upper)).all(1)
        for column, name in enumerate(RECORDED):
            s = interpolation_stencils(self.scheme, name, points[here])
            z, y, x = np.moveaxis(s.points, -1, 0)
            z = z - self.scheme.ends.first
            found[here, column] = (s.value * self.filled_values(name)[z, y, x]).sum(1)
        return found

    def finite(self) -> bool:
        """Return True if all velocities are finite; a value that is not soon spreads to all of them."""
        here = self._finite()
        return not self.partition.world.any(not here) if self.partition else here

    def _finite(self) -> bool:
        return self.runner.finite(VELOCITY)

    def error(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """Return the relative L2 error (9,) against solution(points, time), each quantity at its place and time."""
        sums = self._total(self._errors(solution))
        return np.asarray(np.sqrt(sums[0] / np.maximum(sums[1], 1e-300)))

    def _errors(self, solution: Callable[[np.ndarray, float], np.ndarray]) -> np.ndarray:
        """Return the sums (2, 9) of squared errors and of squared values over the owned points."""
        sums = np.zeros((2, len(RECORDED)))
        for column, name in enumerate(RECORDED):
            when = self.time - 0.5 * self.scheme.step if name in VELOCITY else self.time
            places = self.places(name)
            exact = solution(places.reshape(-1, 3), when)[:, column].reshape(places.shape[:3])
            mine = self.values(name).astype(float)
            sums[:, column] = ((mine - exact) ** 2).sum(), (exact**2).sum()
        return sums

    def _total(self, sums: np.ndarray) -> np.ndarray:
        """Return the sums over all processes."""
        return np.asarray(self.partition.world.total(sums)) if self.partition else sums

    def energies(self) -> dict[str, float]:
        """Return strain energy, kinetic energy and momentum of the grid with its absorbing layers (``ENERGIES``).

        Strain energy is at the time of the stresses, the others half a step before.
        """
        found = self._total(self._energies()).tolist()
        return dict(zip(ENERGIES, found, strict=True))

    def _energies(self) -> np.ndarray:
        """Return the sums of energy and momentum over the owned points."""
        owned = self.subdomain.owned.box
        filled = self.scheme.filled(owned)
        sums = Sums(self.scheme, self._sides(filled.lo[0]), owned.hi[0])
        with host.limit_threads(getattr(self.runner, "threads", None)):
            return sums.of(range(filled.lo[0], filled.hi[0])) * self.scheme.grid.spacing**3

    def _sides(self, first: int) -> list[Side]:
        """Return the sides of the energy sums; a fault adds its upper side. ``first`` is the lowest plane."""
        whole = {name: self.filled_values(name) for name in (*FIELDS, *ELASTIC)}  # devices transfer whole arrays
        fault, unit = self.scheme.fault, self.units.of
        if fault is None:
            return [Side(lambda name, plane: whole[name][plane - first], unit, lambda name: 1.0)]
        box, (_, y, x) = self.scheme.filled(self.box), self.subdomain.own
        doubled = {name: _planes(self.runner.values(high(name), 1), box, self.box.lo[0]) for name in fault.doubled}

        def upper(name: str, plane: int) -> np.ndarray:
            if name not in doubled:
                return fault.of_sheet(whole[name][plane - first])
            sheet = doubled[name]
            return (sheet[:, :, x] if fault.axis == "y" else sheet[:, y])[plane - box.lo[0]]

        counts = {name: self.scheme.grid.shape["zyx".index(fault.axis)] for name in FIELDS}
        shares = {name: split_nodes.shares(fault, name, count) for name, count in counts.items()}
        return [
            Side(lambda name, plane: whole[name][plane - first], unit, shares.__getitem__),
            Side(
                upper,
                lambda name: 1.0 if name in doubled else unit(name),
                lambda name: split_nodes.upper_side_norm(fault, name),
            ),
        ]

    def plane(self, name: str, plane: int) -> np.ndarray:
        """Return a plane of a field or coefficient in SI units; this process must own a part of it."""
        first = self.scheme.filled(self.subdomain.owned.box).lo[0]
        return self.filled_values(name)[plane - first].astype(float) * self.units.of(name)

    def nbytes(self) -> int:
        """Return the size [bytes] of all arrays."""
        return self.runner.nbytes
