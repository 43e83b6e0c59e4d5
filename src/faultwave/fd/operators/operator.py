"""Operator of a grid: arrays and program on a backend, advanced by whole steps, and the energies of the wave field.

A plane is processed in blocks of rows that fit in a cache. Results are summed plane by plane, so that no sum depends
on the number of threads. No quantity is averaged: each counts with the coefficient at its own place, and next to the
free surface with the weights for which the operator is self-adjoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.backends.grid import wrap_axis
from faultwave.base.errors import NotBuiltError, Problem
from faultwave.base.processes import host
from faultwave.base.processes.pieces import in_pieces
from faultwave.comm import World
from faultwave.comm.exchange import HaloExchange, Neighbour
from faultwave.comm.gpu_aware import HaloPath
from faultwave.fd.method import fluid_solid_interface, split_nodes
from faultwave.fd.method.differences import WHOLE
from faultwave.fd.method.effective_medium import Medium, Units, spread_rounding
from faultwave.fd.method.grid_block import DIRECTIONS, Subdomain, undivided
from faultwave.fd.method.program import ELASTIC, LEVELS, Observer, Scheme, build_program, profiles, sheets
from faultwave.fd.method.split_nodes import high
from faultwave.fd.method.stencils import FIELDS, NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators.points import RECORDED, Drive, Drives, Sampler, interpolation_stencils, norm_weights
from faultwave.kernels.overlap import Reach, works
from faultwave.kernels.stencil import REACH, Box, Program, Runner, Work
from faultwave.media.attenuation import ORDER, Relaxation

ENERGIES = ("elastic_energy", "elastic_kinetic_energy", "momentumX", "momentumY", "momentumZ")
"""Quantities returned by ``Operator.energies``."""

POINTS_AT_ONCE = 1 << 14
"""Number of points of a block of rows; a dozen arrays of this size fill most of a second-level cache."""


@dataclass(frozen=True)
class Side:
    """Values of the grid, or of one side of a fault, as the sums read them.

    Attributes
    ----------
    read : callable
        Returns the values (ny, nx) of a quantity in a plane.
    unit : callable
        Returns the unit of a quantity in SI units.
    share : callable
        Returns the weights of its points: a number, (nx,) or (ny, 1).
    """

    read: Callable[[str, int], np.ndarray]
    unit: Callable[[str], float]
    share: Callable[[str], float | np.ndarray]


@dataclass(frozen=True)
class Sums:
    """Sums of energy and momentum over planes of a grid.

    Attributes
    ----------
    scheme : Scheme
    sides : sequence of Side
        The grid, and the upper side of a fault separately.
    top : int
        Plane above the last cells.
    """

    scheme: Scheme
    sides: Sequence[Side]
    top: int

    def of(self, planes: range) -> np.ndarray:
        """Return the sums of ENERGIES over the planes, divided by h^3."""
        found = np.zeros((len(planes), len(self.sides), len(ENERGIES)))

        def work(piece: slice) -> None:
            for i in range(piece.start, piece.stop):
                for k, side in enumerate(self.sides):
                    found[i, k] = self._plane(planes[i], side)

        in_pieces(work, len(planes), 1)
        total = np.zeros(len(ENERGIES))
        for row in found.reshape(-1, len(ENERGIES)):
            total += row
        return total

    def _plane(self, plane: int, side: Side) -> list[float]:
        kinetic, momentum = self._motion(plane, side)
        return [self._normal(plane, side) + self._shear(plane, side), kinetic, *momentum]

    def _weight(self, name: str, plane: int) -> float:
        return float(norm_weights(self.scheme, name, plane))

    def _motion(self, plane: int, side: Side) -> tuple[float, list[float]]:
        """Return kinetic energy and momentum of a plane; on the surface only half planes have any."""
        energy, momentum = 0.0, [0.0, 0.0, 0.0]
        for k, (name, axis) in enumerate(VELOCITY.items()):
            if name in WHOLE and plane == self.top:
                continue
            weight, given = self._weight(name, plane), _Given(side, plane, name, f"b_{axis}")
            moved, densities = np.empty(given.shape), np.empty(given.shape)
            for rows, (speed, specific) in given.blocks():
                rho = _over(weight, specific)
                _weigh(rho, side.share(name), rows)
                np.multiply(rho, speed, out=moved[rows])
                np.multiply(moved[rows], speed, out=densities[rows])
            energy += 0.5 * float(densities.sum())
            momentum[k] = float(moved.sum())
        return energy, momentum

    def _normal(self, plane: int, side: Side) -> float:
        """Return the strain energy of the normal stresses of a plane."""
        given = _Given(side, plane, "lam", "mu2", *NORMAL)
        densities = np.empty(given.shape)
        for rows, (lam, mu2, *normal) in given.blocks():
            trace, square = normal[0] + normal[1], normal[0] * normal[0]
            trace += normal[2]
            for stress in normal[1:]:
                stress *= stress
                square += stress
            trace *= trace
            solid = mu2 > 0
            fluid = not solid.all()
            stiff = np.where(solid, mu2, 1.0) if fluid else mu2
            share = 3.0 * lam
            share += stiff
            np.divide(lam, share, out=share)
            share *= trace
            square -= share
            square /= 2.0 * stiff
            found = np.where(solid, square, trace / (18.0 * lam)) if fluid else square
            _weigh(found, side.share("szz"), rows)
            densities[rows] = found
        return self._weight("szz", plane) * float(densities.sum())

    def _shear(self, plane: int, side: Side) -> float:
        """Return the strain energy of the shear stresses of a plane, zero in fluids."""
        energy = 0.0
        for name in SHEAR:
            given = _Given(side, plane, f"mu_{name[1:]}", name)
            densities = np.empty(given.shape)
            for rows, (mu, stress) in given.blocks():
                stress *= stress
                found = stress / mu if (mu > 0).all() else np.divide(stress, mu, out=np.zeros_like(mu), where=mu > 0)
                _weigh(found, side.share(name), rows)
                densities[rows] = found
            energy += 0.5 * self._weight(name, plane) * float(densities.sum())
        return energy


class _Given:
    """Some quantities of one plane."""

    def __init__(self, side: Side, plane: int, *names: str):
        self.planes = [(side.read(name, plane), side.unit(name)) for name in names]
        self.shape = self.planes[0][0].shape

    def blocks(self) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """Yield slices of rows and copies of the quantities there in double precision and SI units."""
        ny, nx = self.shape
        size = max(1, POINTS_AT_ONCE // max(1, nx))
        for first in range(0, ny, size):
            rows = slice(first, first + size)
            found = [values[rows].astype(float) for values, _ in self.planes]
            for values, (_, unit) in zip(found, self.planes, strict=True):
                if unit != 1.0:
                    values *= unit
            yield rows, found


def _over(weight: float, specific: np.ndarray) -> np.ndarray:
    """Return a weight times density from specific volume; 0 where the latter is zero."""
    if (specific > 0).all():
        rho = 1.0 / specific
    else:
        rho = np.divide(1.0, specific, out=np.zeros_like(specific), where=specific > 0)
    if weight != 1.0:
        rho *= weight
    return rho


def _weigh(values: np.ndarray, share: float | np.ndarray, rows: slice) -> None:
    """Multiply values in place by the weights of the points in these rows."""
    if isinstance(share, np.ndarray):
        values *= share[rows] if share.ndim == 2 else share
    elif share != 1.0:
        values *= share


AT_ONCE = 1 << 24
"""Largest number of values passed to injections and taken by sample buffers in one call."""


@dataclass(frozen=True)
class Machine:
    """Backend, precision and number of processor threads (None: all) of a computation."""

    backend: str = "cpu"
    precision: str = "single"
    threads: int | None = None


@dataclass(frozen=True)
class Shared:
    """Partition of a grid over several processes, as one of them sees it.

    Attributes
    ----------
    world : World
    subdomain : Subdomain
        Box of this process.
    units : Units
        Units of coefficients common to all processes.
    rounding : str
        Compression of exchanged values (``numerics.halo_compression``).
    way : callable
        Returns the path of messages between devices.
    reach : Reach
        Reach of the whole grid's program for the steps between two exchanges.
    """

    world: World
    subdomain: Subdomain
    units: Units
    rounding: str
    way: Callable[[Any, Sequence[int]], HaloPath | None]  # arguments: device, None on the host, and its neighbours
    reach: Reach  # for the steps between two exchanges


def storage_units(medium: Medium, precision: str, shared: Shared | None) -> Units | None:
    """Return the units of coefficients stored in sixteen bits, or None if all bits are stored."""
    if precision != "single":
        return None
    return shared.units if shared else Units.fitting(medium.coefficients)


def memory_tables(relaxation: Relaxation, step: float) -> dict[str, np.ndarray]:
    """Return the coefficients A and B (2, 2, 2) of r' = A r - B (...) by parity along z, y and x."""
    tau = relaxation.spectrum.times[ORDER].reshape(2, 2, 2) / step
    return {"A": (tau - 0.5) / (tau + 0.5), "B": 0.5 / (tau + 0.5)}


class Overlap:
    """Steps of one of several processes, with work that is done while messages travel, and the rest."""

    def __init__(self, shared: Shared, program: Program, runner: Runner, precision: str):
        self.shared, self.program, self.runner = shared, program, runner
        self.works: dict[int, tuple[Work | None, Work]] = {}
        listed = []
        for rank, direction, out, into in shared.subdomain.exchanges(program, shared.reach.depth):
            if out or into:
                opposite = len(DIRECTIONS) - 1 - direction
                listed.append(Neighbour(rank, direction, opposite, runner.halo_buffer(out), runner.halo_buffer(into)))
        dtype = np.float32 if precision == "single" else np.float64
        self.way = shared.way(getattr(runner, "device", None), [n.rank for n in listed])
        gpu_aware = self.way is not None and self.way.gpu_aware
        self.halo = HaloExchange(shared.world, listed, dtype, shared.rounding, gpu_aware)

    def run(self, steps: int, amplitudes: np.ndarray) -> list[np.ndarray]:
        parts: list[list[np.ndarray]] = []
        for first in range(0, steps, self.shared.subdomain.steps):
            count = min(self.shared.subdomain.steps, steps - first)
            before, after = self.works_of(count)
            given = amplitudes[:, first : first + count]
            self.halo.start()
            ahead = self.runner.run(count, given, before) if before is not None else None
            self.halo.finish()
            sample_buffers = self.runner.run(count, given, after)
            parts.append([a + b for a, b in zip(ahead, sample_buffers, strict=True)] if ahead else sample_buffers)
        return [np.concatenate(buffer) for buffer in zip(*parts, strict=True)]

    def works_of(self, count: int) -> tuple[Work | None, Work]:
        """Return the work of ``count`` steps before the messages arrive, and the rest."""
        if count not in self.works:
            found = self.shared.reach.last(count, len(self.program.levels))
            self.works[count] = works(self.program, self.shared.subdomain.owned, found)
        return self.works[count]


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
    shared : Shared or None
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
        Sums over steps of absolute source amplitudes, 0-dimensional before the first step.
    """

    def __init__(
        self, scheme: Scheme, medium: Medium, relaxation: Relaxation | None = None, drives: Sequence[Drive] = (),
        samplers: Sequence[Sampler] = (), observers: Sequence[Observer] = (), machine: Machine | None = None,
        shared: Shared | None = None,
    ):  # fmt: skip
        machine = machine or Machine()
        self.scheme, self.drives, self.samplers, self.steps = scheme, Drives(drives), tuple(samplers), 0
        self.shared, self.subdomain = shared, shared.subdomain if shared else undivided(scheme.grid)
        self.box, precision = self.subdomain.box, machine.precision
        self.units = storage_units(medium, precision, shared) or Units()
        sample_buffers = [buffer for sampler in self.samplers for buffer in sampler.sample_buffers]
        part = self.box if shared else None
        program = build_program(scheme, self.drives.injections, sample_buffers, observers, self.units, part)
        self.backend = machine.backend
        place = shared.world.local_rank if shared else 0  # processes on one machine use a device each
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
        self.given = np.zeros(
            ()
        )  # sums over steps of absolute source amplitudes (levels, sources), after the first step
        self.pushed = np.zeros(2)  # sums over steps of squared amplitudes, and of these times the number of the step
        if relaxation is not None:
            self._memory_coefficients(relaxation)
        self.overlap = Overlap(shared, program, self.runner, precision) if shared else None
        numbers = LEVELS * self.drives.count + sum(len(buffer.points) for buffer in sample_buffers)
        most = max(1, AT_ONCE // numbers)
        self._most = int(-shared.world.largest([-float(most)])[0]) if shared else most

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
        levels[[self.scheme.level(n) for n in range(LEVELS)]] = amplitudes
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
        self._wrap()

    def restored(self) -> None:
        """Update the periodic ends of the arrays after a checkpoint was read."""
        self._wrap()

    def _wrap(self, names: Sequence[str] = FIELDS) -> None:
        for name in names if self.shared is None else ():
            for axis in self.scheme.periodic:
                wrap_axis(self.runner.view(name, self.scheme.reach), "zyx".index(axis), self.scheme.reach)

    def sample(self, points: np.ndarray) -> np.ndarray:
        """Return the current quantities (n, 9) at points (n, 3) [m], NaN outside the grid; only in one process."""
        if self.shared is not None:
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
        return not self.shared.world.any(not here) if self.shared else here

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
        return np.asarray(self.shared.world.total(sums)) if self.shared else sums

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
