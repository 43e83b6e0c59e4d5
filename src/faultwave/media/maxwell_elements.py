"""Maxwell elements for constant quality factors, with Debye mechanisms that all act at every point.

A modulus with L mechanisms of rates w_l is M(w) = M_u (1 - sum_l y_l w_l / (w_l + i w)), where M_u is its unrelaxed
value (Emmerich & Korn 1987). Rates are evenly spaced in log frequency over the band; weights y_l yield Im M / Re M =
1/Q in the sense of least squares at the rates and half-way between them (Kaeser et al. 2007).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.media.attenuation import Spectrum

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


__all__ = ["Elements", "Mechanisms", "maxwell_elements"]
