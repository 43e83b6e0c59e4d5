"""Exact motion of half-spaces: layered rock, a vertical force on the surface (Pekeris 1955), and an explosion in water over rock.

In the plane of a horizontal wavenumber (angle phi, length k) displacement splits into P-SV (r, z) and SH (t) parts, each a
sum of two exponentials per layer. All layers are solved at once, with exponentials that only decay (the global matrix of Schmidt
& Jensen 1985). A moment tensor enters as a stress glut: displacement and traction jump across its plane.
The integral over phi is analytic, Bessel functions of the trigonometric polynomial in phi; the integral over k is a sum
(Bouchon 1981) at complex frequencies, which suppress the periodic repetitions of the sum in space and time.

Time dependence is exp(-i w t), z is up, and the surface lies at z = 0.

z is height above the sea floor. Pressure of horizontal wavenumber k is reflected by the floor with the coefficient

    R = (n - q)/(n + q),    q = rho_w w^2 n_p k_s^2 / (mu D),    D = (2 k^2 - k_s^2)^2 - 4 k^2 n_p n_s

with n, n_p, n_s the vertical decay of sound, P and S waves, and k_s = w/cs: normal displacement and pressure are continuous across
the floor, and its shear traction vanishes (Aki & Richards 2002, ch. 5 and 6). n + q = 0 is the Scholte wave. Frequencies have an
imaginary part, which suppresses wrap-around from times after the window and makes the integral smooth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.optimize import brentq
from scipy.special import j0, j1

from faultwave.verify.exact import Array, Medium

DIRECTIONS = 8  # angles phi: enough for harmonics up to the third
DAMPING_FOLDS = 10.0
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
        omega = 2 * np.pi * np.arange(count) / window + 1j * DAMPING_FOLDS / window
        result = np.zeros((count, len(points), 3), complex)
        for n, w in enumerate(omega):
            result[n] = self._displacement(w, points, window) * self.spectrum(w)
        samples = 4 * count
        times = np.arange(samples) * window / samples
        full = np.zeros((samples, *result.shape[1:]), complex)
        full[:count] = result
        full[0] *= 0.5
        series = 2 * np.fft.fft(full, axis=0).real / window  # exp(-i w t), both halves of the spectrum
        series *= np.exp(DAMPING_FOLDS / window * times)[:, None, None]
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


P_ARRIVAL = np.sqrt(1 / 3)  # P arrival in travel times of the S wave
RAYLEIGH_ARRIVAL = 0.5 * np.sqrt(3 + np.sqrt(3))
FINE_SAMPLES = 40  # samples per standard deviation of the Gaussian


def step_integral(tau: Array) -> Array:
    """Return the time integral of the normalised surface uplift after a force that starts at once and stays.

    The integrand over tau = (S speed) t / r is 16 pi mu r / F times the uplift under a force F (Pekeris 1955, integrated in closed form).
    It has three pieces; the second ends at the Rayleigh wave with an inverse square root of the remaining time.
    """
    tau = np.asarray(tau, float)
    a, b, c = np.sqrt(3 * np.sqrt(3) + 5), np.sqrt(3 * np.sqrt(3) - 5), np.sqrt(3) / 4
    high, low = c + 0.75, c - 0.75  # high equals RAYLEIGH squared

    def early(t: Array) -> Array:
        logarithms = -np.sqrt(3) * np.arccosh(2 * t) + b * np.log(t + np.sqrt(t * t + low))
        return 0.5 * np.asarray(6 * t + logarithms - a * np.arcsin(t / RAYLEIGH_ARRIVAL))

    def late(t: Array) -> Array:
        return np.asarray(6 * t - a * np.arcsin(np.minimum(t / np.sqrt(high), 1.0)))

    first, second = np.clip(tau, P_ARRIVAL, 1.0), np.clip(tau, 1.0, RAYLEIGH_ARRIVAL)
    start = float(early(np.array([P_ARRIVAL]))[0] + late(np.array([1.0]))[0])
    whole = early(first) + late(second) - start
    return np.asarray(whole + 6 * np.maximum(tau - RAYLEIGH_ARRIVAL, 0.0))


def vertical_velocity(medium: Medium, distance: float, times: Array, sigma: float, centre: float) -> Array:
    """Return the upward velocity [m/s] of the surface under an upward force with Gaussian time function.

    Parameters
    ----------
    medium : Medium
        Half-space with Poisson's ratio 1/4.
    distance : float
        Distance from the force [m].
    times : array (n,)
        Times [s].
    sigma, centre : float
        Standard deviation and centre of the Gaussian of unit integral [s].

    Returns
    -------
    array (n,)

    Raises
    ------
    ValueError
        If Poisson's ratio is not 1/4.
    """
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution requires Poisson's ratio 1/4")
    s = np.arange(-8 * FINE_SAMPLES, 8 * FINE_SAMPLES + 1) / FINE_SAMPLES  # abscissae of the Gaussian
    third = (3 * s - s**3) * np.exp(-0.5 * s * s) / (np.sqrt(2 * np.pi) * sigma**4)  # third derivative
    shear = np.sqrt(medium.mu / medium.rho)
    ago = np.asarray(times)[:, None] - centre - sigma * s
    integral = step_integral(shear * ago / distance) * distance / shear
    scale = 16 * np.pi * medium.mu * distance
    return np.asarray((integral * third).sum(1) * sigma / FINE_SAMPLES / scale)


BUMP = 51480.0
"""Factor that makes the integral of ``bump`` one."""


def bump(t: Array) -> Array:
    """Return a smooth force from 0 to 1 s of unit integral: C6SmoothBump of SW4's Lamb problem, smooth to the sixth derivative."""
    x = np.clip(np.asarray(t, float), 0.0, 1.0)
    return np.asarray(BUMP * (x * (1 - x)) ** 7)


def vertical_displacement(medium: Medium, distance: float, times: Array) -> Array:
    """Return the upward displacement [m] at ``distance`` [m] and ``times`` [s] under an upward force of ``bump`` newtons."""
    if not np.isclose(medium.lam, medium.mu):
        raise ValueError("the solution requires Poisson's ratio 1/4")
    count = 100 * FINE_SAMPLES
    s = (np.arange(count) + 0.5) / count
    y = s * (1 - s)
    second = BUMP * 7 * y**5 * (6 * (1 - 2 * s) ** 2 - 2 * y)  # second derivative of the bump
    shear = np.sqrt(medium.mu / medium.rho)
    times = np.asarray(times, float)
    found = np.zeros(len(times))
    for first in range(0, len(times), 256):
        ago = times[first : first + 256, None] - s
        found[first : first + 256] = (step_integral(shear * ago / distance) * second).sum(1) / count
    return found * distance / shear / (16 * np.pi * medium.mu * distance)


QUIET = 1e-5
"""Attenuation of signals that arrive one window late and wrap around."""
DECAYED = 28.0
"""Negative exponent of evanescent waves at the upper end of the integral over wavenumbers."""


@dataclass(frozen=True)
class UnderWater:
    """Exact solution of an explosion in a fluid half-space over an elastic one.

    Attributes
    ----------
    water : tuple of float
        Density [kg/m^3] and sound speed [m/s].
    rock : tuple of float
        Density [kg/m^3], P and S speed [m/s].
    moment : float
        Isotropic moment [N m].
    sigma : float
        Width of the Gaussian moment rate, which is centred at 6 sigma [s].
    height : float
        Height of the source above the floor [m].
    """

    water: tuple[float, float]
    rock: tuple[float, float, float]
    moment: float
    sigma: float
    height: float

    def velocity(self, distance: float, z: float, end: float) -> tuple[Array, Array]:
        """Return the times (n,) up to ``end`` [s] and the radial and vertical velocity (n, 2) [m/s] at a distance and height z [m].

        ``distance`` is horizontal; negative ``z`` lies in the rock.
        """
        highest = 6.5 / self.sigma
        window = 1.5 * end
        count = 2 * int(np.ceil(highest * window / (2 * np.pi))) * 4
        damping = -np.log(QUIET) / window
        w = 2 * np.pi / window * np.arange(count // 2 + 1) + 1j * damping
        found = np.zeros((2, len(w)), complex)
        for n in np.flatnonzero(w.real <= highest):
            found[:, n] = self._at(w[n], distance, z, window)
        times = window / count * np.arange(count)
        series = np.fft.irfft(np.conj(found), count) * count / window * np.exp(damping * times)
        inside = times <= end
        return np.asarray(times[inside], float), np.asarray(series.T[inside])

    def _at(self, w: complex, r: float, z: float, window: float) -> Array:
        (rho, c), (heavy, cp, cs) = self.water, self.rock
        fall = self.height + abs(z)
        step = 2 * np.pi / (r + cp * window)
        k = step * (np.arange(int((abs(w) / min(c, cs) + DECAYED / fall) / step) + 1) + 0.5)
        n, n_p, n_s = (np.sqrt(k * k - (w / v) ** 2 + 0j) for v in (c, cp, cs))
        ks, mu = w / cs, heavy * cs**2
        twice = 2 * k * k - ks**2
        d = twice**2 - 4 * k * k * n_p * n_s
        q = rho * w**2 * n_p * ks**2 / (mu * d)
        thrown = (n - q) / (n + q)
        # pressure of moment rate S: the rate of S over 4 pi c^2 R, R the distance
        spectrum = self.moment * np.exp(-((w * self.sigma) ** 2) / 2 + 6j * w * self.sigma)
        strength = -1j * w * spectrum / (4 * np.pi * c * c) * k / n * step
        if z > 0:
            down = np.sign(self.height - z)
            direct, back = np.exp(-n * abs(z - self.height)), thrown * np.exp(-n * (z + self.height))
            # rho v' = - grad p
            along, up = -k * (direct + back), n * (down * direct - back)
            share = strength / (1j * w * rho)
        else:
            phi = -(1 + thrown) * np.exp(-n * self.height) * twice / (mu * d)
            psi = -2 * n_p * phi / twice
            p, s = np.exp(n_p * z), np.exp(n_s * z)
            along, up = -k * (phi * p + n_s * psi * s), n_p * phi * p + k * k * psi * s
            share = -1j * w * strength
        return np.array([(share * along * j1(k * r)).sum(), (share * up * j0(k * r)).sum()])

    @property
    def scholte(self) -> float:
        """Speed of the Scholte wave along the floor [m/s]."""
        (rho, c), (heavy, cp, cs) = self.water, self.rock

        def function(v: float) -> float:
            n, n_p, n_s = (np.sqrt(1 - (v / speed) ** 2) for speed in (c, cp, cs))
            x = (v / cs) ** 2
            return float(n * ((2 - x) ** 2 - 4 * n_p * n_s) + rho / heavy * n_p * x * x)

        return float(brentq(function, 0.05 * min(c, cs), min(c, cs) * (1 - 1e-12)))
