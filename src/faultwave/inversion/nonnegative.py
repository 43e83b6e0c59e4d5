"""Slip that is nowhere negative: projection of models onto those within 45 degrees of the rake.

The most probable non-negative model minimises the negative logarithm of the Gaussian posterior, (m - mean)' H (m - mean) / 2 with the
precision H = F' G^-1 F + C^-1, over all models with slip in the directions rake - 45 and rake + 45 degrees of at least zero; with one
direction only, over slip along the rake of at least zero. It is the projection of the mean in the metric H. Samples are projections of
samples of the Gaussian posterior: they have a finite probability of exactly no slip [1]_.

References
----------
.. [1] Everink, Dong & Andersen (2023), Bayesian inference with projected densities, SIAM/ASA J. Uncertainty Quantification 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import RunError
from faultwave.inversion.forward import Forward
from faultwave.inversion.noise import Noise
from faultwave.inversion.prior import SlipPrior

MOST = 3000
"""Largest number of parameters, of which dense matrices are computed."""


@dataclass(frozen=True)
class NonnegativeProjection:
    """Projection of models onto those without negative slip in the metric of the posterior precision.

    Attributes
    ----------
    root : ndarray (m, m)
        Upper triangular factor of the precision H.
    directions : ndarray (m, m)
        Models of unit slip in the directions that must not be negative.
    """

    root: np.ndarray
    directions: np.ndarray

    @classmethod
    def of(cls, forward: Forward, prior: SlipPrior, noise: Noise) -> NonnegativeProjection:
        """Return the projection for a prediction, a prior and noise."""
        from scipy.linalg import cho_factor, cho_solve, cholesky

        unit = np.eye(prior.size)
        white = noise.whiten(forward.matmat(unit))
        precision = white.T @ white + cho_solve(cho_factor(prior.apply(unit)), unit)
        return cls(cholesky(0.5 * (precision + precision.T)), slip_directions(prior))

    def apply(self, models: np.ndarray) -> np.ndarray:
        """Return the nearest models (m, k) without negative slip to models (m, k).

        Raises
        ------
        RunError
            If the search does not converge.
        """
        from scipy.optimize import nnls

        matrix = self.root @ self.directions
        try:
            found = [nnls(matrix, target)[0] for target in (self.root @ models).T]
        except RuntimeError as error:
            raise RunError(f"slip.nonnegative: the search of non-negative slip failed: {error}.") from error
        return np.asarray(self.directions @ np.array(found).T)


def slip_directions(prior: SlipPrior) -> np.ndarray:
    """Return models (m, m) of unit slip along the rake, or at 45 degrees to both sides of it if slip has two components."""
    turn = np.eye(1) if len(prior.ratios) == 1 else np.sqrt(0.5) * np.array([[1.0, 1.0], [-1.0, 1.0]])
    return np.kron(np.eye(prior.windows), np.kron(turn, np.eye(prior.subfaults)))
