"""Exact surface motion of a layered half-space under a point source, by integration over wavenumbers.

In the plane of a horizontal wavenumber (angle phi, length k) displacement splits into P-SV (r, z) and SH (t) parts, each a
sum of two exponentials per layer. All layers are solved at once, with exponentials that only decay (the global matrix of Schmidt
& Jensen 1985). A moment tensor enters as a stress glut: displacement and traction jump across its plane.
The integral over phi is analytic, Bessel functions of the trigonometric polynomial in phi; the integral over k is a sum
(Bouchon 1981) at complex frequencies, which suppress the periodic repetitions of the sum in space and time.

Time dependence is exp(-i w t), z is up, and the surface lies at z = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from faultwave.verify.exact.medium import Array

DIRECTIONS = 8  # angles phi: enough for harmonics up to the third
QUIET = 10.0
"""E-folds by which the repetitions in time and space are damped over a window: by a factor of 5e-5."""
Modulus = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Layer:
    """Homogeneous layer, or the half-space as the last one.

    Attributes
    ----------
    top : float
        Depth of the top [m].
    rho, vp, vs : float
        Density [kg/m^3], P and S speed [m/s].
    relax_p, relax_s : callable or None
        Complex P and S moduli over the moduli of ``vp`` and ``vs``, as functions of complex frequency [Hz] for time dependence
        exp(+i w t); None for an elastic layer.
    """

    top: float
    rho: float
    vp: float
    vs: float
    relax_p: Modulus | None = None
    relax_s: Modulus | None = None

    def moduli(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return complex lambda and mu at complex angular frequencies."""
        frequency = np.conj(omega) / (2 * np.pi)  # moduli are given for time as exp(+i w t)
        p = self.rho * self.vp**2 * (np.ones_like(omega) if self.relax_p is None else np.conj(self.relax_p(frequency)))
        s = self.rho * self.vs**2 * (np.ones_like(omega) if self.relax_s is None else np.conj(self.relax_s(frequency)))
        return p - 2 * s, s


@dataclass(frozen=True)
class LayeredHalfSpace:
    """Exact solver for a point source at (0, 0, -depth) in a layered half-space.

    Attributes
    ----------
    layers : sequence of Layer
        Layers from the surface down.
    depth : float
        Depth of the source [m].
    spectrum : callable
        ``spectrum(omega)``: Fourier transform (exp(+i w t)) of the moment rate, or of the rate of change of the force, at complex
        angular frequencies.
    moment, force : array (3, 3) or (3,)
        Moment tensor [N m] or force [N], z up.
    """

    layers: Sequence[Layer]
    depth: float
    spectrum: Callable[[np.ndarray], np.ndarray]
    moment: Array | None = None
    force: Array | None = None

    def velocity(self, points: Array, window: float, highest: float) -> tuple[Array, Array]:
        """Return the velocity at points on the surface; the source lies below (0, 0).

        Parameters
        ----------
        points : array (n, 2)
            Positions on the surface [m].
        window : float
            Length of the seismograms [s].
        highest : float
            Highest frequency included [Hz].

        Returns
        -------
        times : array (nt,)
            Times [s].
        velocity : array (n, nt, 3)
            Velocity [m/s].
        """
        points = np.asarray(points, float).reshape(-1, 2)
        count = int(np.ceil(highest * window)) + 1
        omega = 2 * np.pi * np.arange(count) / window + 1j * QUIET / window
        result = np.zeros((count, len(points), 3), complex)
        for n, w in enumerate(omega):
            result[n] = self._displacement(w, points, window) * self.spectrum(w)
        samples = 4 * count
        times = np.arange(samples) * window / samples
        full = np.zeros((samples, *result.shape[1:]), complex)
        full[:count] = result
        full[0] *= 0.5
        series = 2 * np.fft.fft(full, axis=0).real / window  # exp(-i w t), both halves of the spectrum
        series *= np.exp(QUIET / window * times)[:, None, None]
        return times, series.transpose(1, 0, 2)

    def _displacement(self, omega: complex, points: Array, window: float) -> np.ndarray:
        """Return the displacement (n, 3) of one frequency for a source of unit time function."""
        fastest, slowest = max(x.vp for x in self.layers), min(x.vs for x in self.layers)
        r, theta = np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])
        length = r.max() + fastest * window + self.depth
        step = 2 * np.pi / length
        highest = 1.3 * abs(omega) / slowest + 12.0 / self.depth
        k = (np.arange(int(np.ceil(highest / step))) + 0.5) * step
        waves = self._surface(omega, k)  # (k, phi, 3)
        harmonics = np.fft.fft(waves, axis=1) / DIRECTIONS
        total = np.zeros((len(points), 3), complex)
        for m in range(-3, 4):
            bessel = special.jv(m, k[:, None] * r) * (k * step)[:, None] * (1j**m) * np.exp(1j * m * theta)
            total += np.einsum("kn,kc->nc", bessel, harmonics[:, m]) / (2 * np.pi)
        return total

    def _surface(self, omega: complex, k: Array) -> np.ndarray:
        """Return the surface displacement (k, phi, 3) in x, y, z of plane waves exp(i k (x cos phi + y sin phi))."""
        regions, source = self._regions()
        psv, sh = self._psv(omega, k, regions, source), self._sh(omega, k, regions, source)
        lam, mu = (complex(x[0]) for x in regions[source][1].moduli(np.array([omega])))
        result = np.zeros((len(k), DIRECTIONS, 3), complex)
        for n, phi in enumerate(2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS):
            c, s = np.cos(phi), np.sin(phi)
            turn = np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]])  # to r, t, z
            jumps, across = np.zeros((4, len(k)), complex), np.zeros((2, len(k)), complex)
            if self.moment is not None:
                m = turn @ self.moment @ turn.T
                jumps[0], jumps[1] = m[0, 2] / mu, m[2, 2] / (lam + 2 * mu)
                jumps[2] = 1j * k * (m[0, 0] - lam / (lam + 2 * mu) * m[2, 2])
                across[0], across[1] = m[1, 2] / mu, 1j * k * m[0, 1]
            if self.force is not None:
                f = turn @ np.asarray(self.force)
                jumps[2], jumps[3], across[1] = jumps[2] - f[0], jumps[3] - f[2], across[1] - f[1]
            u = np.einsum("kcj,jk->kc", psv, jumps)
            v = np.einsum("kj,jk->k", sh, across)
            result[:, n] = np.stack([u[:, 0] * c - v * s, u[:, 0] * s + v * c, u[:, 1]], 1)
        return result

    def _regions(self) -> tuple[list[tuple[float, Layer]], int]:
        """Return all regions (top, layer), the source's layer split at the source, and the index of the region below the source."""
        tops = [(layer.top, layer) for layer in self.layers]
        above = [x for x in tops if x[0] < self.depth]
        return [*above, (self.depth, above[-1][1]), *[x for x in tops if x[0] >= self.depth]], len(above)

    def _psv(self, omega: complex, k: Array, regions: list[tuple[float, Layer]], source: int) -> np.ndarray:
        """Return u_r and u_z at the surface (k, 2, 4) for unit jumps of u_r, u_z, s_rz, s_zz across the source (above - below)."""

        def modes(layer: Layer, drop_up: float, drop_down: float) -> np.ndarray:
            """Return u_r u_z s_rz s_zz (k, 4, 4) of P and S waves, ``drop_up`` below their top or ``drop_down`` above their bottom.

            The former decay downwards, the latter upwards.
            """
            lam, mu = (complex(x[0]) for x in layer.moduli(np.array([omega])))
            p = np.sqrt(k**2 - omega**2 * layer.rho / (lam + 2 * mu) + 0j)
            s = np.sqrt(k**2 - omega**2 * layer.rho / mu + 0j)
            ik = 1j * k
            columns = []
            for sign, drop in ((1.0, drop_up), (-1.0, drop_down)):
                columns.append(
                    np.stack([ik, sign * p, sign * 2 * mu * ik * p, (lam + 2 * mu) * p**2 - lam * k**2], 1)
                    * np.exp(-p * drop)[:, None]
                )
                columns.append(
                    np.stack([-sign * s, ik, -mu * (s**2 + k**2), sign * 2 * mu * ik * s], 1)
                    * np.exp(-s * drop)[:, None]
                )
            return np.stack(columns, -1)

        return self._solve(modes, k, regions, source, 4)

    def _sh(self, omega: complex, k: Array, regions: list[tuple[float, Layer]], source: int) -> np.ndarray:
        """Return u_t at the surface (k, 2) for unit jumps of u_t and s_tz."""

        def modes(layer: Layer, drop_up: float, drop_down: float) -> np.ndarray:
            _, mu = (complex(x[0]) for x in layer.moduli(np.array([omega])))
            s = np.sqrt(k**2 - omega**2 * layer.rho / mu + 0j)
            one = np.ones_like(s)
            columns = [
                np.stack([one, sign * mu * s], 1) * np.exp(-s * drop)[:, None]
                for sign, drop in ((1.0, drop_up), (-1.0, drop_down))
            ]
            return np.stack(columns, -1)

        return self._solve(modes, k, regions, source, 2)[:, 0]

    def _solve(
        self, modes: Callable[..., np.ndarray], k: Array, regions: list[tuple[float, Layer]], source: int, size: int
    ) -> np.ndarray:
        """Return displacements at the surface (k, size / 2, size) for unit jumps at the top of region ``source``."""
        half, count = size // 2, len(regions)
        unknowns = size * count - half
        matrix, right = np.zeros((len(k), unknowns, unknowns), complex), np.zeros((len(k), unknowns, size), complex)
        surface = np.zeros((0, 0, 0), complex)
        for n, (top, layer) in enumerate(regions):
            thick = regions[n + 1][0] - top if n + 1 < count else np.inf
            retained = slice(size * n, size * n + (size if n + 1 < count else half))
            at_top = modes(layer, 0.0, thick if np.isfinite(thick) else 0.0)[:, :, : retained.stop - retained.start]
            if n == 0:
                surface = at_top[:, :half]
                matrix[:, :half, retained] = at_top[:, half:]
            else:
                rows = slice(half + size * (n - 1), half + size * n)
                matrix[:, rows, retained] = -at_top
                if n == source:
                    right[:, rows] = np.eye(size)
            if n + 1 < count:
                matrix[:, half + size * n : half + size * (n + 1), retained] = modes(layer, thick, 0.0)
        # rows of traction are far larger than rows of displacement
        scale = np.abs(matrix).max(2, keepdims=True)
        amplitudes = np.linalg.solve(matrix / scale, right / scale)
        return np.asarray(np.einsum("kij,kjs->kis", surface, amplitudes[:, : surface.shape[2]]))
