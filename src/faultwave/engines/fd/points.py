"""Sources and receivers anywhere between the points of the grid: cubic Lagrange weights, order 4 like the stencils."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.engines.fd.grid import HALF, Grid
from faultwave.engines.fd.halves import Units, rounded_at
from faultwave.engines.fd.program import STRESS_LEVEL, VELOCITY_LEVEL, Scheme
from faultwave.engines.fd.stencils import C1, C2, NORMAL, STRAINS, VELOCITY
from faultwave.kernels.stencil import Box, Injection, Tape
from faultwave.sources.point import PointSource

ACROSS = ("sxz", "syz")  # zero at a free surface, odd about it
BLOCK = 512  # steps whose amplitudes are computed together
POINTS = 4  # of a stencil along an axis
MOMENT = ("sxx", "syy", "szz", "sxy", "syz", "sxz")
"""Stresses in the order of a source's moment and of the law's quantities."""
RECORDED = (*MOMENT, "u", "v", "w")
"""Fields in the order of the law's quantities: s_xx ... s_xz, v1, v2, v3."""


def lagrange(x: np.ndarray, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and slopes (n, 4) at x (n,) of the cubic polynomials that are 1 at one of start, ..., start + 3."""
    nodes = start[:, None] + np.arange(POINTS)
    value, slope = np.ones(nodes.shape), np.zeros(nodes.shape)
    for m in range(POINTS):
        others = [n for n in range(POINTS) if n != m]
        for n in others:
            value[:, m] *= (x - nodes[:, n]) / (m - n)
        for d in others:
            term = np.full(len(x), 1.0 / (m - d))
            for n in others:
                if n != d:
                    term *= (x - nodes[:, n]) / (m - n)
            slope[:, m] += term
    return value, slope


@dataclass(frozen=True)
class Stencils:
    """Around points (n, 3): grid points (n, 64, 3) as (z, y, x), weights of the value (n, 64) and of d/dx, d/dy, d/dz
    (n, 3, 64) [1/m]."""

    points: np.ndarray
    value: np.ndarray
    slope: np.ndarray


def stencils_at(scheme: Scheme, name: str, points: np.ndarray, ghosts: bool) -> Stencils:
    """Interpolation of a quantity at points (n, 3) [m]; near a side the stencil shifts inside.

    ``ghosts``: the plane above the free surface may be read. Without, shear across the surface is continued as what it is there, odd: a
    moment beside the surface then acts as its image does, with none of it on the surface, where nothing would relax it.
    """
    grid = scheme.grid
    index, value, slope = [], [], []
    for k, axis in enumerate("xyz"):
        x = (points[:, k] - grid.origin(name)[k]) / grid.spacing
        count, odd = grid.shape[2 - k], False
        start = np.floor(x + 1e-9).astype(np.int64) - 1
        if axis not in scheme.periodic:
            above = ghosts and axis == "z" and scheme.free_surface and name in VELOCITY
            odd = axis == "z" and scheme.free_surface and name in ACROSS and not ghosts
            start = np.clip(start, 0, count - 1 if odd else count - POINTS + above)
        nodes = start[:, None] + np.arange(POINTS)
        v, s = lagrange(x, start)
        if odd:
            sign = np.sign(count - 1 - nodes)
            nodes, v, s = np.minimum(nodes, 2 * (count - 1) - nodes), sign * v, sign * s
        index.append(nodes % count if axis in scheme.periodic else nodes)
        value.append(v)
        slope.append(s / grid.spacing)
    shape = (len(points), POINTS, POINTS, POINTS)
    places = [
        np.broadcast_to(index[k].reshape(len(points), *s), shape)
        for k, s in ((2, (4, 1, 1)), (1, (1, 4, 1)), (0, (1, 1, 4)))
    ]
    vx, vy, vz = value

    def product(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        return np.einsum("nz,ny,nx->nzyx", z, y, x).reshape(len(points), POINTS**3)

    return Stencils(
        np.stack(places, -1).reshape(len(points), POINTS**3, 3),
        product(vx, vy, vz),
        np.stack([product(slope[0], vy, vz), product(vx, slope[1], vz), product(vx, vy, slope[2])], 1),
    )


def held(scheme: Scheme, name: str, plane: int | np.ndarray) -> np.ndarray:
    """Share of a cell whose mass moves with a quantity in planes of the grid: half of one for w on the free surface.

    There the images make the difference of szz twice what is below, over the whole spacing: what a cell of half the height feels.
    """
    half = name == "w" and scheme.free_surface
    return np.where(half & (np.asarray(plane) == scheme.grid.shape[0] - 1), 0.5, 1.0)


class Sources:
    """Point sources as injections, and their amplitudes: means of the time functions over each step.

    A stress gets -(moment) S / h^3, a velocity force S / (rho h^3), rho that of its point of the grid, each times the step
    (Graves 1996); on the free surface a force moves half a cell only.
    """

    def __init__(
        self, scheme: Scheme, sources: Sequence[PointSource], moduli: np.ndarray, coefficients: Mapping[str, np.ndarray],
        box: Box | None = None, units: Units | None = None,
    ):  # fmt: skip
        """``moduli`` (n, 2): lambda and mu at each source, for those given by slip; ``coefficients``: the medium's. ``box``: of all they
        do, only what is done to its points, whose coefficients are given. ``units``: where coefficients are kept in sixteen bits, those
        they are counted in; forces then push what the grid keeps, as reciprocity needs."""
        self.scheme, self.box, self.units = scheme, box or scheme.grid.box, units
        if box is not None and len(sources):
            near = _near(scheme, box, np.array([s.location for s in sources], float).reshape(-1, 3))
            sources, moduli = [s for s, n in zip(sources, near, strict=True) if n], moduli[near]
        self.sources = tuple(sources)
        self.injections: list[Injection] = []
        self._kept: dict[int, np.ndarray] = {}
        if not self.sources:
            return
        points = np.array([s.location for s in self.sources], float).reshape(-1, 3)
        scale = scheme.step / scheme.grid.spacing**3
        moments = np.array([s.moment_tensor(*m) for s, m in zip(self.sources, moduli, strict=True)])
        forces = np.array([s.force for s in self.sources])
        for column, name in enumerate(MOMENT):
            self._add(name, STRESS_LEVEL, points, -scale * moments[:, column])
        for column, name in enumerate(VELOCITY):
            self._add(name, VELOCITY_LEVEL, points, scale * forces[:, column], coefficients)

    def _add(
        self, name: str, level: int, points: np.ndarray, strength: np.ndarray,
        coefficients: Mapping[str, np.ndarray] | None = None,
    ) -> None:  # fmt: skip
        acting = np.flatnonzero(strength)
        if not len(acting):
            return
        s = stencils_at(self.scheme, name, points[acting], False)
        weights = (s.value * strength[acting, None] / held(self.scheme, name, s.points[..., 0])).reshape(-1)
        numbers = np.repeat(acting, s.value.shape[1])
        which, places = images(self.scheme, self.box, s.points.reshape(-1, 3))
        weights, numbers = weights[which], numbers[which]
        if coefficients is not None:
            weights = weights * self._buoyancy(coefficients, f"b_{VELOCITY[name]}", places)
        some = weights != 0
        self.injections.append(Injection(level, name, places[some], weights[some], numbers[some]))

    def _buoyancy(self, coefficients: Mapping[str, np.ndarray], name: str, places: np.ndarray) -> np.ndarray:
        """One over density as the grid keeps it at points (n, 3) of the box."""
        whole = np.broadcast_to(coefficients[name], self.box.shape)
        values = np.asarray(whole[tuple((places - np.array(self.box.lo)).T)], float)
        if self.units is None:
            return values
        unit, number = self.units.of(name), list(coefficients).index(name)
        return unit * rounded_at(values / unit, places % np.array(self.scheme.grid.shape), number)

    def amplitudes(self, first: int, steps: int) -> np.ndarray:
        """(levels, steps, sources) of steps first, first + 1, ...: velocities are pushed around t = n dt, stresses over n dt to
        (n + 1) dt."""
        parts = []
        for block in range(first // BLOCK, (first + steps - 1) // BLOCK + 1):
            if block not in self._kept:
                self._kept = {block: self._block(block)}  # time functions of many sources are slow one step at a time
            low, high = max(first - block * BLOCK, 0), min(first + steps - block * BLOCK, BLOCK)
            parts.append(self._kept[block][:, low:high])
        return np.concatenate(parts, 1)

    def _block(self, block: int) -> np.ndarray:
        dt, result = self.scheme.step, np.zeros((2, BLOCK, max(1, len(self.sources))))
        edges = (block * BLOCK + np.arange(BLOCK + 1)) * dt
        for n, source in enumerate(self.sources):
            if source.force.any():
                result[VELOCITY_LEVEL, :, n] = source.integral(edges[:-1] - 0.5 * dt, edges[1:] - 0.5 * dt) / dt
            if source.moment.any() or source.potency.any():
                result[STRESS_LEVEL, :, n] = source.integral(edges[:-1], edges[1:]) / dt
        return result


MARGIN = 6
"""Points around a place within which everything lies that a source or receiver there touches."""


def _near(scheme: Scheme, box: Box, points: np.ndarray) -> np.ndarray:
    """Which places (n, 3) [m] may touch points of a box."""
    grid, near = scheme.grid, np.ones(len(points), bool)
    for k, axis in enumerate("xyz"):
        index, count = np.floor((points[:, k] - grid.lower[k]) / grid.spacing), grid.shape[2 - k]
        shifts = (-count, 0, count) if axis in scheme.periodic else (0,)
        low, high = box.lo[2 - k] - MARGIN, box.hi[2 - k] + MARGIN
        near &= np.any([(index + s >= low) & (index + s < high) for s in shifts], axis=0)
    return near


def images(scheme: Scheme, box: Box, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of the points (n, 3) of the grid lie in a box, and where there: where the grid is periodic, each may more than once."""
    number, found = np.arange(len(points)), points
    for k, axis in enumerate("zyx"):
        if axis in scheme.periodic:
            shifts = np.array([-1, 0, 1])[:, None] * scheme.grid.shape[k] * np.eye(3, dtype=np.int64)[k]
            number, found = np.tile(number, 3), (found + shifts[:, None]).reshape(-1, 3)
    inside = ((found >= box.lo) & (found < box.hi)).all(1)
    order = np.argsort(number[inside], kind="stable")
    return number[inside][order], found[inside][order]


class Sampler:
    """Receivers: tapes of the grid points around them, and what a block of tapes says about each."""

    def __init__(self, scheme: Scheme, points: np.ndarray, gradients: bool):
        self.points, self.gradients = points, gradients
        self.shape = (4 if gradients else 1, len(RECORDED))  # of the values of a point
        self.around = [stencils_at(scheme, name, points, True) for name in RECORDED]
        levels = [VELOCITY_LEVEL if name in VELOCITY else STRESS_LEVEL for name in RECORDED]
        self.tapes = [
            Tape(level, name, s.points.reshape(-1, 3))
            for level, name, s in zip(levels, RECORDED, self.around, strict=True)
        ]

    def values(self, tapes: Sequence[np.ndarray]) -> np.ndarray:
        """(steps, points, 1 or 4, 9): quantities and, if wanted, their derivatives along x, y, z."""
        columns = []
        for tape, s in zip(tapes, self.around, strict=True):
            block = tape.reshape(len(tape), len(self.points), -1).astype(float)
            functionals = np.concatenate([s.value[:, None], s.slope], 1) if self.gradients else s.value[:, None]
            columns.append(np.einsum("tnp,ncp->tnc", block, functionals))
        return np.stack(columns, -1)


class StrainSampler:
    """Strain rates (steps, points, 6), order xx yy zz xy yz xz, where the scheme has them, weighted as sources are injected.

    So a force here and a moment there see the same: reciprocity holds for the grid itself (Graves & Wald 2001). At the free
    surface shear across it is zero.
    """

    def __init__(self, scheme: Scheme, points: np.ndarray):
        self.count, self.parts = len(points), list[tuple[int, np.ndarray]]()
        self.shape = (len(MOMENT),)
        self.tapes: list[Tape] = []
        for column, name in enumerate(MOMENT):
            s = stencils_at(scheme, name, points, False)
            normal = name in NORMAL
            pairs = [(of, axis) for of, axis in VELOCITY.items() if name[1] == axis] if normal else STRAINS[name]
            for of, axis in pairs:
                self._add(scheme, of, axis, s.points, s.value * (1.0 if normal else 0.5), not normal, column)

    def _add(
        self, scheme: Scheme, of: str, axis: str, points: np.ndarray, value: np.ndarray, forward: bool, column: int
    ) -> None:
        places, weights = [], []
        for offset, weight in ((0, -C1), (1, C1), (-1, -C2), (2, C2)):
            step = np.zeros(3, np.int64)
            k = "zyx".index(axis)
            step[k] = offset if forward else offset - 1
            moved = points + step
            if axis in scheme.periodic:
                moved[..., k] %= scheme.grid.shape[k]
            places.append(moved)
            weights.append(weight / scheme.grid.spacing * value)
        self.tapes.append(Tape(VELOCITY_LEVEL, of, np.concatenate(places, 1).reshape(-1, 3)))
        self.parts.append((column, np.concatenate(weights, 1)))

    def values(self, tapes: Sequence[np.ndarray]) -> np.ndarray:
        """(steps, points, 6), half a step before the end of each step."""
        result = np.zeros((len(tapes[0]), self.count, len(MOMENT)))
        for tape, (column, weights) in zip(tapes, self.parts, strict=True):
            block = tape.reshape(len(tape), self.count, -1).astype(float)
            result[..., column] += np.einsum("tnp,np->tn", block, weights)
        return result


def outside(grid: Grid, lower: np.ndarray, upper: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How far (n,) each point lies outside the box asked for [m]; 0 inside."""
    gap = np.maximum(np.maximum(lower - points, points - upper), 0.0)
    distance: np.ndarray = np.linalg.norm(gap, axis=1)
    return np.where(distance > 1e-6 * grid.spacing, distance, 0.0)


__all__ = [
    "HALF",
    "MOMENT",
    "RECORDED",
    "Sampler",
    "StrainSampler",
    "Sources",
    "Stencils",
    "held",
    "images",
    "lagrange",
    "outside",
    "stencils_at",
]
