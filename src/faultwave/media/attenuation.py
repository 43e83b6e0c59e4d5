"""Mechanisms that yield a quality factor over a band of frequencies: coarse-grained relaxation and Maxwell elements.

The eight points of a cell have eight materials. Under a uniform strain E the cell strains by E + B u, where u are
periodic displacements with B^T C (E + B u) = 0, C contains the moduli of the points and B is the grid's difference
operator. For moduli that deviate from their mean by the relative amount e_n at point n, equal for the P and S modulus,
the mean stress over E is, to third order,

    M = mean (1 - sum A_ab e_a e_b + sum T_abc e_a e_b e_c)

A and T depend on the type of strain: S waves across each pair of axes and P waves along each axis. Because one set of
materials serves all, A and T are averaged over the six types.

A modulus with mechanisms of relaxation times tau_m and defects d_m is M(w) = M_u (1 - d_m / (1 + i w tau_m)), where M_u
is its value at high frequency. Either all mechanisms act at every point and their defects add, or, coarse-grained (Day
& Bradley 2001), each point of a cell of 2 x 2 x 2 has one of eight; waves much longer than the cell then see one
effective modulus (``coarse_grained``). The fit uses that modulus, so that it also holds for strong attenuation.

A modulus with L mechanisms of rates w_l is M(w) = M_u (1 - sum_l y_l w_l / (w_l + i w)), where M_u is its unrelaxed
value (Emmerich & Korn 1987). Rates are evenly spaced in log frequency over the band; weights y_l yield Im M / Re M =
1/Q in the sense of least squares at the rates and half-way between them (Kaeser et al. 2007).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

CELL = list(itertools.product((0, 1), repeat=3))
"""Points (z, y, x) of a cell in their order, x fastest."""
STRAINS: tuple[tuple[tuple[str, str, int], ...], ...] = (  # xx yy zz xy xz yz: velocity, axis, where the difference looks
    (("u", "x", -1),), (("v", "y", -1),), (("w", "z", -1),),
    (("u", "y", 1), ("v", "x", 1)), (("u", "z", 1), ("w", "x", 1)), (("v", "z", 1), ("w", "y", 1)),
)  # fmt: skip
FOURTH = 9.0 / 8.0 + 1.0 / 24.0
"""Weight of the nearest pair to which a fourth-order difference (9/8, -1/24) reduces for fields of period two points."""
P_OVER_S = 3.0
"""Ratio of P and S modulus of a Poisson solid; fits barely depend on it."""


def differences() -> np.ndarray:
    """Return B (48, 24), strains (6 by 8 points) due to displacements (3 by 8 points) that repeat from cell to cell."""
    b = np.zeros((6, 8, 3, 8))
    for strain, parts in enumerate(STRAINS):
        for of, axis, ahead in parts:
            for n, place in enumerate(CELL):
                adjacent = tuple(c ^ (a == axis) for a, c in zip("zyx", place, strict=True))
                b[strain, n, "uvw".index(of), CELL.index(adjacent)] += ahead * FOURTH
                b[strain, n, "uvw".index(of), n] -= ahead * FOURTH
    return b.reshape(48, 24)


def stiffness(moduli: np.ndarray) -> np.ndarray:
    """Return C (..., 48, 48) for the S moduli (..., 8) of the points."""
    c = np.zeros((*moduli.shape[:-1], 6, 8, 6, 8), moduli.dtype)
    for a, b in itertools.product(range(3), repeat=2):
        c[..., a, range(8), b, range(8)] = (P_OVER_S - 2.0 * (a != b)) * moduli
    for a in range(3, 6):
        c[..., a, range(8), a, range(8)] = moduli
    return c.reshape(*moduli.shape[:-1], 48, 48)


@functools.cache
def series() -> tuple[np.ndarray, np.ndarray]:
    """Return A (8, 8) and T (8, 8, 8), means over the six types of strain."""
    b, each = differences(), stiffness(np.eye(8))
    compliance = np.linalg.pinv(b.T @ stiffness(np.ones(8)) @ b)
    second, third = np.zeros((8, 8)), np.zeros((8, 8, 8))
    for shape in range(6):
        strain = np.repeat(np.eye(6)[shape], 8)
        forces = each @ strain @ b  # due to each point's deviation
        strains = forces @ compliance @ b.T
        unit = 6 * 8 * (P_OVER_S if shape < 3 else 1.0)
        second += forces @ compliance @ forces.T / unit
        third += np.einsum("ai,nij,bj->anb", strains, each, strains, optimize=True) / unit
    return second, third


def effective(moduli: np.ndarray) -> np.ndarray:
    """Return the effective modulus (...) for long waves from the moduli (..., 8) of the points of a cell."""
    second, third = series()
    mean = moduli.mean(-1, keepdims=True)
    e = moduli / mean - 1.0
    two = np.einsum("...a,ab,...b->...", e, second, e)
    three = np.einsum("...a,anb,...n,...b->...", e, third, e, e, optimize=True)
    return np.asarray(mean[..., 0] * (1.0 - two + three))


COARSE = 8
"""Number of mechanisms of a coarse-grained cell."""
ORDER = np.array([1, 6, 7, 4, 8, 3, 2, 5]) - 1
"""Mechanism of each point of a 2 x 2 x 2 cell, x fastest, then y, then z (Day & Bradley 2001)."""
LOWEST_Q = 5.0
FREQUENCIES = 60  # number of frequencies of the fit
WIDER = 2.5  # extent of relaxation times beyond the band, where they still improve the fit at its ends


@dataclass(frozen=True)
class Spectrum:
    """Frequency dependence of Q: constant, or growing as (f / corner)^exponent above ``corner``.

    Attributes
    ----------
    low, high : float
        Ends of the band [Hz].
    reference : float
        Frequency of the wave speeds [Hz], which may lie outside the band.
    exponent : float
    corner : float
        Frequency above which Q grows [Hz].
    """

    low: float
    high: float
    reference: float
    exponent: float = 0.0
    corner: float = 1.0

    def factor(self, frequency: np.ndarray) -> np.ndarray:
        """Return Q at a frequency [Hz] relative to the constant Q."""
        return np.maximum(np.asarray(frequency, float) / self.corner, 1.0) ** self.exponent

    @property
    def nearest(self) -> float:
        """Frequency of the band [Hz] nearest to the reference."""
        return float(np.clip(self.reference, self.low, self.high))

    def drift(self, inverse_q: float) -> float:
        """Return the ratio of the phase speeds at ``nearest`` and at the reference frequency.

        It follows from d ln c / d ln f = atan(1/Q) / pi (Kjartansson 1979).
        """
        path = np.linspace(np.log(self.reference), np.log(self.nearest), 65)
        rate = np.arctan(inverse_q / self.factor(np.exp(path))) / np.pi
        return float(np.exp(np.trapezoid(rate, path)))

    @property
    def times(self) -> np.ndarray:
        """Relaxation times (8,) [s], logarithmic over the band, ascending."""
        edges = np.log([1.0 / (2 * np.pi * self.high * WIDER), WIDER / (2 * np.pi * self.low)])
        return np.exp(np.linspace(edges[0], edges[1], COARSE))


def modulus(defects: np.ndarray, times: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Return the effective complex modulus (nf,) over M_u for long waves, the mean over all axes and wave types."""
    omega = 2 * np.pi * np.asarray(frequency, float)[:, None]
    return effective((1.0 - defects / (1.0 + 1j * omega * times))[:, ORDER])


@dataclass(frozen=True)
class Relaxation:
    """Defects of each mechanism and unrelaxed modulus, tabulated over 1/Q.

    Attributes
    ----------
    spectrum : Spectrum
    inverse_q : ndarray (n,)
        1/Q, ascending from 0.
    defects : ndarray (n, 8)
    ratio : ndarray (n,)
        Unrelaxed modulus over the modulus of the phase speed at the reference frequency.
    """

    spectrum: Spectrum
    inverse_q: np.ndarray
    defects: np.ndarray
    ratio: np.ndarray

    def unrelaxed(self, q: np.ndarray) -> np.ndarray:
        """Return M_u over rho c^2 at quality factors ``q`` (1 at infinity)."""
        return np.interp(1.0 / np.asarray(q, float), self.inverse_q, self.ratio)

    def defect(self, q: np.ndarray, mechanism: np.ndarray) -> np.ndarray:
        """Return the defects of mechanisms (...), 0 to 7, at quality factors ``q`` (...)."""
        x = np.clip(1.0 / np.asarray(q, float), self.inverse_q[0], self.inverse_q[-1])
        i = np.clip(np.searchsorted(self.inverse_q, x) - 1, 0, len(self.inverse_q) - 2)
        part = (x - self.inverse_q[i]) / (self.inverse_q[i + 1] - self.inverse_q[i])
        return (1 - part) * self.defects[i, mechanism] + part * self.defects[i + 1, mechanism]


@functools.lru_cache(maxsize=8)
def relaxation(spectrum: Spectrum) -> Relaxation:
    """Fit the mechanisms for every Q above ``LOWEST_Q``."""
    from scipy.optimize import least_squares

    inverse = np.concatenate(([0.0], np.geomspace(1e-4, 1.0 / LOWEST_Q, 48)))
    times = spectrum.times
    frequency = np.geomspace(spectrum.low, spectrum.high, FREQUENCIES)
    defects, ratio = np.zeros((len(inverse), COARSE)), np.ones(len(inverse))
    start = _linear(spectrum, frequency)
    for n, x in enumerate(inverse[1:], 1):
        target = x / spectrum.factor(frequency)

        def misfit(d: np.ndarray, target: np.ndarray = target) -> np.ndarray:
            m = modulus(d, times, frequency)
            return m.imag / m.real / target - 1.0

        guess = np.clip(start if n == 1 else defects[n - 1] / inverse[n - 1], 0, None) * x
        defects[n] = least_squares(misfit, np.clip(guess, 1e-9, 0.9), bounds=(0.0, 0.99), x_scale=max(x, 1e-9)).x
        speed = 1.0 / (1.0 / np.sqrt(modulus(defects[n], times, np.array([spectrum.nearest]))[0])).real
        ratio[n] = (spectrum.drift(float(x)) / speed) ** 2
    return Relaxation(spectrum, inverse, defects, ratio)


def _linear(spectrum: Spectrum, frequency: np.ndarray) -> np.ndarray:
    """Return defects per 1/Q for weak attenuation, where mechanisms are averaged, by non-negative least squares."""
    from scipy.optimize import nnls

    x = 2 * np.pi * frequency[:, None] * spectrum.times
    target = 1.0 / spectrum.factor(frequency)
    return nnls(x / (1 + x * x) / COARSE / target[:, None], np.ones(len(frequency)))[0]


SHOWN = 200  # number of frequencies at which the error of the fit is evaluated
ROUNDS = 20  # iterations of the passive weights of compression


@dataclass(frozen=True)
class Mechanisms:
    """Relaxation mechanisms over the band of a ``spectrum``, ``count`` in number, with ``rates`` (L,) [1/s]."""

    spectrum: Spectrum
    count: int

    @property
    def sampled(self) -> np.ndarray:
        """Angular frequencies (2 L - 1,) at which Q is fitted, the rates included; the middle of the band if L = 1."""
        s = self.spectrum
        if self.count == 1:
            return np.array([2 * np.pi * np.sqrt(s.low * s.high)])
        return np.asarray(2 * np.pi * np.geomspace(s.low, s.high, 2 * self.count - 1))

    @property
    def rates(self) -> np.ndarray:
        return self.sampled[::2]

    def weights(self, q: np.ndarray) -> np.ndarray:
        """Return the weights y (n, L) for quality factors ``q`` (n,); zero for infinite ones."""
        unique, place = np.unique(np.asarray(q, float), return_inverse=True)
        w, k = self.rates, self.sampled[:, None]
        wanted = (1.0 / unique)[:, None] / self.spectrum.factor(self.sampled / (2 * np.pi))  # n, 2 L - 1
        table = (w * k + w**2 * wanted[..., None]) / (w**2 + k**2)
        found = np.matmul(np.linalg.pinv(table), wanted[..., None])[..., 0]
        bad = np.flatnonzero((found < 0).any(1))
        for i in bad:
            found[i] = _not_negative(table[i], wanted[i])
        return np.asarray(found[place.reshape(-1)])

    def modulus(self, weights: np.ndarray, frequency: np.ndarray) -> np.ndarray:
        """Return M/M_u (n, nf) at frequencies (nf,) [Hz]."""
        w, iw = self.rates, 2j * np.pi * np.asarray(frequency, float)[:, None]
        return 1.0 - np.asarray(weights) @ (w / (w + iw)).T

    def unrelaxed(self, weights: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return M_u (n,) over the modulus of the phase speed at the reference frequency."""
        s = self.spectrum
        m = self.modulus(weights, np.array([s.nearest]))[:, 0]
        ratio = ((m**-0.5).real) ** 2
        if s.nearest != s.reference:
            unique, place = np.unique(np.asarray(q, float), return_inverse=True)
            ratio = ratio * np.array([s.drift(1.0 / x) ** 2 for x in unique])[place.reshape(-1)]
        return np.asarray(ratio)

    def error(self, q: float) -> float:
        """Return the largest relative error of the fitted Q within the band."""
        s = self.spectrum
        frequency = np.geomspace(s.low, s.high, SHOWN)
        m = self.modulus(self.weights(np.array([q])), frequency)[0]
        return float(np.abs(m.real / m.imag / (q * s.factor(frequency)) - 1.0).max())


def _not_negative(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    from scipy.optimize import nnls

    return np.asarray(nnls(table, wanted)[0])


@dataclass(frozen=True)
class Elements:
    """Moduli of a viscoelastic medium.

    Attributes
    ----------
    lam, mu : ndarray (n,)
        Unrelaxed moduli of the medium [Pa].
    element_lam, element_mu : ndarray (n, L)
        Moduli of the Maxwell elements [Pa].
    """

    lam: np.ndarray
    mu: np.ndarray
    element_lam: np.ndarray
    element_mu: np.ndarray


def maxwell_elements(mechanisms: Mechanisms, material: Mapping[str, np.ndarray]) -> Elements:
    """Return the unrelaxed moduli and Maxwell elements of a material.

    No element's bulk modulus is negative: where the fit would yield one, its weight of compression is raised until it
    is zero, so that no volume change ever gains energy.

    Parameters
    ----------
    mechanisms : Mechanisms
    material : mapping of str to ndarray (n,)
        lambda and mu at the reference frequency, Qp and Qs. Qs is ignored in fluids.
    """
    mu, p_modulus = material["mu"], material["lambda"] + 2.0 * material["mu"]
    qs = np.where(mu > 0, material["Qs"], np.inf)
    shear, fitted = mechanisms.weights(qs), mechanisms.weights(material["Qp"])
    mu_u = mu * mechanisms.unrelaxed(shear, qs)
    element_mu = mu_u[:, None] * shear
    press, p_u = fitted, p_modulus * mechanisms.unrelaxed(fitted, material["Qp"])
    for _ in range(ROUNDS):
        least = 4.0 / 3.0 * element_mu / p_u[:, None]
        if (press >= least * (1.0 - 1e-14)).all():
            break
        press = np.maximum(fitted, least)
        p_u = p_modulus * mechanisms.unrelaxed(press, material["Qp"])
    return Elements(p_u - 2.0 * mu_u, mu_u, p_u[:, None] * press - 2.0 * element_mu, element_mu)
