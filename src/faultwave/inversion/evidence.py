"""Maximum marginal likelihood of amplitude, correlation length and noise level.

For one correlation length, F C F' whitened by the noise is diagonalised once; the evidence of every amplitude and noise level then follows
from its eigenvalues. Correlation lengths are searched by their logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import RunError
from faultwave.inversion.forward import Forward
from faultwave.inversion.noise import Noise
from faultwave.inversion.posterior import predicted_covariance
from faultwave.inversion.prior import SlipPrior

DECADES = 4.0
"""Range of amplitudes and noise levels that are searched, in powers of ten on both sides of the initial value."""
EDGE = 0.05
"""Distance from the ends of a range, in powers of ten, at which there is no maximum."""
SEARCHED = 12
"""Number of correlation lengths that are tried."""
LENGTHS = (0.2, 5.0)
"""Range of factors of the initial correlation length."""


@dataclass(frozen=True)
class Spectrum:
    """Data in the eigenvectors of F C F' after division by the noise.

    Attributes
    ----------
    values : ndarray (n,)
        Eigenvalues.
    data : ndarray (n,)
        Data.
    constant : float
        Logarithm of the determinant of the noise, and of the powers of 2 pi.
    """

    values: np.ndarray
    data: np.ndarray
    constant: float

    @classmethod
    def of(cls, predicted: np.ndarray, noise: Noise, data: np.ndarray) -> Spectrum:
        """Return the spectrum of F C F' (n, n) for noise and data (n,)."""
        half = noise.whiten(predicted)
        white = noise.whiten(half.T)
        values, vectors = np.linalg.eigh(0.5 * (white + white.T))
        constant = noise.log_determinant + len(data) * np.log(2 * np.pi)
        return cls(np.maximum(values, 0.0), vectors.T @ noise.whiten(data[:, None])[:, 0], constant)

    def log_evidence(self, amplitude: float, scale: float) -> float:
        """Return the logarithm of the evidence for factors of the prior's and the noise's standard deviations."""
        variance = amplitude**2 * self.values + scale**2
        return float(-0.5 * ((self.data**2 / variance).sum() + np.log(variance).sum() + self.constant))

    def best(self, amplitude: bool, scale: bool) -> tuple[float, float, float]:
        """Return the factors of amplitude and noise with the largest evidence, and its logarithm; factors not searched are 1."""
        from scipy.optimize import minimize

        free = [amplitude, scale]
        if not any(free):
            return 1.0, 1.0, self.log_evidence(1.0, 1.0)

        def factors(x: np.ndarray) -> tuple[float, float]:
            found = iter(10.0 ** np.clip(x, -DECADES, DECADES))
            return (float(next(found)) if amplitude else 1.0, float(next(found)) if scale else 1.0)

        starts = [np.full(sum(free), s) for s in (-1.0, 0.0, 1.0)]
        runs = [minimize(lambda x: -self.log_evidence(*factors(x)), s, method="Nelder-Mead",
                         options={"xatol": 1e-4, "fatol": 1e-4}) for s in starts]  # fmt: skip
        best = min(runs, key=lambda run: run.fun)
        return (*factors(best.x), -float(best.fun))


@dataclass(frozen=True)
class Estimate:
    """Settings of prior and noise with the largest evidence.

    Attributes
    ----------
    prior : SlipPrior
        Prior.
    noise : Noise
        Noise.
    predicted : ndarray (n, n)
        F C F' of this prior.
    log_evidence : float
        Logarithm of the evidence.
    searched : tuple of str
        Names of the settings that were estimated.
    """

    prior: SlipPrior
    noise: Noise
    predicted: np.ndarray
    log_evidence: float
    searched: tuple[str, ...]


def at_limit(factor: float) -> bool:
    """Return whether a factor of the initial correlation length is an end of the range that is searched, and no maximum."""
    low, high = LENGTHS
    return not low * 10**EDGE <= factor <= high / 10**EDGE


def _check_range(name: str, factor: float) -> None:
    if abs(np.log10(factor)) > DECADES - EDGE:
        limit = "smallest" if factor < 1 else "largest"
        raise RunError(
            f"{name} cannot be estimated: the evidence is largest at the {limit} value that is searched. The data contain no sign "
            "of slip, or are explained without noise: check unit, noise and window, or set a number."
        )


def estimate(forward: Forward, prior: SlipPrior, noise: Noise, data: np.ndarray, searched: tuple[str, ...]) -> Estimate:
    """Maximise the evidence over the settings in ``searched``: amplitude, correlation_length and noise.

    Raises
    ------
    RunError
        If the evidence of amplitude or noise has no maximum in the range that is searched.
    """
    from scipy.optimize import minimize_scalar

    found = dict[float, tuple[float, float, float, np.ndarray]]()

    def tried(logarithm: float) -> float:
        factor = float(np.exp(logarithm))
        predicted = predicted_covariance(forward, prior.with_lengths(factor))
        best = Spectrum.of(predicted, noise, data).best("amplitude" in searched, "noise" in searched)
        found.clear() if found and best[2] > max(f[2] for f in found.values()) else None
        if not found:
            found[factor] = (*best, predicted)
        return -best[2]

    if "correlation_length" in searched:
        minimize_scalar(
            tried, bounds=tuple(np.log(LENGTHS)), method="bounded", options={"maxiter": SEARCHED, "xatol": 0.05}
        )
    else:
        tried(0.0)
    ((factor, (amplitude, scale, logarithm, predicted)),) = found.items()
    _check_range("slip.amplitude", amplitude)
    _check_range("noise.scale", scale)
    chosen = prior.with_lengths(factor).with_amplitude(amplitude * prior.amplitude)
    return Estimate(chosen, noise.with_scale(scale * noise.scale), amplitude**2 * predicted, logarithm, searched)
