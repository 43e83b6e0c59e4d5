"""Exact waves of a point force and of a moment tensor in a homogeneous elastic full space.

Aki & Richards, Quantitative Seismology (2002), equations 4.23 and 4.29, with their near-, intermediate- and far-field
terms, written as derivatives of functions of distance so that stress comes from the same code. With F the time function

    4 pi rho u_i = f_i chi + f_j d_i d_j psi,   chi = F(t - r/b) / (b^2 r),   dpsi/dr = -N,

    N(r, t) = integral over slowness s from 1/a to 1/b of s F(t - r s) ds      (the near-field integral),

a and b being the P and S speeds. D = (1/r) d/dr turns these into Cartesian derivatives, and integration by parts closes the
recursion: r dN/dr = F(t - r/b)/b^2 - F(t - r/a)/a^2 - 2 N. Only N needs quadrature. A moment tensor is the force
-M_jk d_k delta.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from faultwave.verify.exact import VOIGT, Array, Medium, stress
from faultwave.verify.exact.time_functions import TimeFunction, integrate

# A function of distance: {(basis, derivative of F): {power of r: coefficient}}; 'P' is F(t - r/a), 'S' F(t - r/b).
Series = dict[tuple[str, int], dict[int, float]]


def _add(series: Series, key: tuple[str, int], power: int, coefficient: float) -> None:
    powers = series.setdefault(key, {})
    powers[power] = powers.get(power, 0.0) + coefficient


def _divide_gradient(series: Series, medium: Medium) -> Series:
    """Return (1/r) d/dr of a series, term by term."""
    speed = {"P": medium.cp, "S": medium.cs}
    result: Series = {}
    for (basis, order), powers in series.items():
        for power, c in powers.items():
            if basis == "N":
                _add(result, ("N", 0), power - 2, c * (power - 2))
                _add(result, ("S", 0), power - 2, c / medium.cs**2)
                _add(result, ("P", 0), power - 2, -c / medium.cp**2)
            else:
                _add(result, (basis, order), power - 2, c * power)
                _add(result, (basis, order + 1), power - 1, -c / speed[basis])
    return result


def _ladder(first: Series, medium: Medium, count: int) -> list[Series]:
    ladder = [first]
    for _ in range(count - 1):
        ladder.append(_divide_gradient(ladder[-1], medium))
    return ladder


class _Radial:
    """Values of D^n chi and D^n psi for distances r (n,) and times t (m,): arrays (n, m), for F = S^(level)."""

    def __init__(self, medium: Medium, function: TimeFunction, level: int, r: Array, t: Array):
        self.medium, self.function, self.level = medium, function, level
        self.r, self.t = r[:, None], t[None, :]
        self._chi = _ladder({("S", 0): {-1: medium.cs**-2}}, medium, 3)
        self._psi = _ladder({("N", 0): {-1: -1.0}}, medium, 4)
        self._cache: dict[tuple[str, int], Array] = {}

    def chi(self, n: int) -> Array:
        """Return D^n chi."""
        return self._sum(self._chi[n])

    def psi(self, n: int) -> Array:
        """Return D^n psi, n >= 1."""
        return self._sum(self._psi[n - 1])

    def _sum(self, series: Series) -> Array:
        total = np.zeros((self.r.shape[0], self.t.shape[1]))
        for key, powers in series.items():
            radial = sum(c * self.r ** float(p) for p, c in powers.items())
            total += radial * self._basis(key)
        return total

    def _basis(self, key: tuple[str, int]) -> Array:
        if key not in self._cache:
            basis, order = key
            speed = self.medium.cp if basis == "P" else self.medium.cs
            self._cache[key] = (
                self._near() if basis == "N" else self.function.level(self.level + order)(self.t - self.r / speed)
            )
        return self._cache[key]

    def _near(self) -> Array:
        """Return N by quadrature in the retarded time, never across a kink of F."""
        start, end = self.t - self.r / self.medium.cs, self.t - self.r / self.medium.cp
        stops = [start] + [np.clip(b, start, end) for b in sorted(self.function.breakpoints)]
        f = self.function.level(self.level)
        t, r = self.t[..., None, None], self.r[..., None, None]
        return integrate(lambda tau: (t - tau) / r**2 * f(tau), np.stack(stops, -1), end, self.function.scale)


def _displacement_force(rad: _Radial, x: Array, f: Array) -> Array:
    fx = x @ f
    return f * (rad.chi(0) + rad.psi(1))[..., None] + (x * fx[:, None])[:, None] * rad.psi(2)[..., None]


def _gradient_force(rad: _Radial, x: Array, f: Array) -> Array:
    fx, eye = x @ f, np.eye(3)
    outer = np.einsum("i,nl->nil", f, x)
    second = outer + outer.transpose(0, 2, 1) + eye * fx[:, None, None]
    third = np.einsum("ni,nl,n->nil", x, x, fx)
    parts = ((rad.chi(1), outer), (rad.psi(2), second), (rad.psi(3), third))
    return np.asarray(sum(a[..., None, None] * b[:, None] for a, b in parts))


def _displacement_moment(rad: _Radial, x: Array, m: Array) -> Array:
    mx, trace = x @ m, np.trace(m)
    q = (x * mx).sum(axis=1)[:, None]
    parts = ((rad.chi(1), mx), (rad.psi(2), 2 * mx + trace * x), (rad.psi(3), x * q))
    return -np.asarray(sum(a[..., None] * b[:, None] for a, b in parts))


def _gradient_moment(rad: _Radial, x: Array, m: Array) -> Array:
    mx, trace, eye = x @ m, np.trace(m), np.eye(3)
    q = (x * mx).sum(axis=1)[:, None, None]
    mxx, xmx, xx = (np.einsum("ni,nl->nil", a, b) for a, b in ((mx, x), (x, mx), (x, x)))
    parts = (
        (rad.chi(1), np.broadcast_to(m, mxx.shape)),
        (rad.chi(2), mxx),
        (rad.psi(2), np.broadcast_to(2 * m + trace * eye, mxx.shape)),
        (rad.psi(3), 2 * mxx + trace * xx + eye * q + 2 * xmx),
        (rad.psi(4), xx * q),
    )
    return -np.asarray(sum(a[..., None, None] * b[:, None] for a, b in parts))


@dataclass(frozen=True)
class FullSpace:
    """Point source in a full space: ``force`` (3,) [N] times S(t), or ``moment`` (3, 3) [N m] with moment RATE S(t).

    Give exactly one of the two, else ValueError. Called with points (n, 3) and a time it returns the nine elastic
    quantities (n, 9); ``seismograms`` evaluates many times at once. The solution is singular (infinite) at the source point.
    """

    medium: Medium
    function: TimeFunction
    force: tuple[float, float, float] | None = None
    moment: tuple[tuple[float, float, float], ...] | None = None
    location: tuple[float, float, float] = (0.0, 0.0, 0.0)
    _strength: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if (self.force is None) == (self.moment is None):
            raise ValueError("give a force or a moment tensor, not both")
        strength = np.asarray(self.moment if self.force is None else self.force, dtype=float)
        if self.moment is not None and not (strength.shape == (3, 3) and np.allclose(strength, strength.T)):
            raise ValueError("a moment tensor is a symmetric 3x3 matrix")
        object.__setattr__(self, "_strength", strength)

    def displacement(self, points: ArrayLike, times: ArrayLike) -> Array:
        """Return the displacement (n, m, 3) [m] at points (n, 3) and times (m,)."""
        return self._motion(points, times, 0 if self.force is not None else -1)

    def velocity(self, points: ArrayLike, times: ArrayLike) -> Array:
        """Return the velocity (n, m, 3) [m/s] at points (n, 3) and times (m,)."""
        return self._motion(points, times, 1 if self.force is not None else 0)

    def stress(self, points: ArrayLike, times: ArrayLike) -> Array:
        """Return the stress (n, m, 6) [Pa] in the order of the elastic law."""
        x, t = self._arguments(points, times)
        gradient = _gradient_force if self.force is not None else _gradient_moment
        radial = self._radial(x, t, 0 if self.force is not None else -1)
        return stress(self.medium, gradient(radial, x, self._strength) / (4 * np.pi * self.medium.rho))

    def seismograms(self, points: ArrayLike, times: ArrayLike) -> Array:
        """Return the nine elastic quantities (n, m, 9)."""
        return np.concatenate([self.stress(points, times), self.velocity(points, times)], axis=-1)

    def __call__(self, points: Array, t: float) -> Array:
        return self.seismograms(points, [t])[:, 0]

    def _arguments(self, points: ArrayLike, times: ArrayLike) -> tuple[Array, Array]:
        x = np.atleast_2d(np.asarray(points, dtype=float)) - np.asarray(self.location)
        return x, np.atleast_1d(np.asarray(times, dtype=float))

    def _radial(self, x: Array, t: Array, level: int) -> _Radial:
        return _Radial(self.medium, self.function, level, np.linalg.norm(x, axis=1), t)

    def _motion(self, points: ArrayLike, times: ArrayLike, level: int) -> Array:
        x, t = self._arguments(points, times)
        motion = _displacement_force if self.force is not None else _displacement_moment
        return motion(self._radial(x, t, level), x, self._strength) / (4 * np.pi * self.medium.rho)


def tensor(**components: float) -> tuple[tuple[float, float, float], ...]:
    """Return a symmetric 3x3 tensor from components named xx yy zz xy yz xz; missing ones are zero."""
    matrix = np.zeros((3, 3))
    for (i, j), name in zip(VOIGT, ("xx", "yy", "zz", "xy", "yz", "xz"), strict=True):
        matrix[i, j] = matrix[j, i] = components.pop(name, 0.0)
    if components:
        raise ValueError(f"unknown tensor components {sorted(components)}")
    return tuple((float(a), float(b), float(c)) for a, b, c in matrix)
