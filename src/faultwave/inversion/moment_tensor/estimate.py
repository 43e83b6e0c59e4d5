"""Tensors of a kind with the smallest quadratic misfit: full, without trace, or double couples.

The misfit of tensors m of all time windows is c - 2 b'm + m'A m, with A and b of the whitened prediction and data. With a flat prior of
tensors, full and deviatoric ones have a Gaussian posterior with the covariance A^-1, restricted to a linear subspace for the latter. Double
couples are no subspace: the smallest misfit is searched over strike, dip and rake, with the best moment of each window for these angles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from faultwave.inversion.moment_tensor.mechanism import DEVIATORIC, double_couple, from_matrix, planes, to_matrix

Kind = Literal["full", "deviatoric", "double-couple"]
DOUBLED = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
"""Number of times that each component is in a tensor."""
FREE = [0, 1, 3, 4, 5]
"""Components of a tensor that are its coefficients in ``DEVIATORIC``."""
STEP = 1e-4
"""Step of angles for derivatives [deg]."""
STARTS = ((30.0, 45.0, 0.0), (150.0, 75.0, 90.0), (270.0, 60.0, -90.0))
"""Angles from which the search also begins, in addition to the double couples in the deviatoric tensor [deg]."""
COARSE, FINE = 1e-6, 1e-15
"""Tolerances of the search from each start, and of the last one from the best of these."""
SINGULAR = 1e-14
"""Ratio of eigenvalues of A, scaled to a diagonal of one, below which data do not determine a tensor."""


@dataclass(frozen=True)
class Misfit:
    """Quadratic misfit of tensors at a place and time.

    Attributes
    ----------
    curvature : ndarray (6 w, 6 w)
        Matrix A for w time windows.
    slope : ndarray (6 w,)
        Vector b.
    constant : float
        Squared data c, divided by the noise.
    """

    curvature: np.ndarray
    slope: np.ndarray
    constant: float

    def of(self, tensors: np.ndarray) -> float:
        """Return the squared residuals of tensors (6 w,), divided by the noise."""
        return float(self.constant - 2.0 * self.slope @ tensors + tensors @ self.curvature @ tensors)

    @property
    def windows(self) -> int:
        """Number of time windows."""
        return len(self.slope) // 6

    def within(self, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return curvature and slope of coefficients of a basis (6 w, k)."""
        return basis.T @ self.curvature @ basis, basis.T @ self.slope


@dataclass(frozen=True)
class Estimate:
    """Tensors with the smallest misfit.

    Attributes
    ----------
    tensors : ndarray (w, 6)
        Tensor of each time window [N m].
    covariance : ndarray (6, 6)
        Covariance of their sum [N^2 m^2]; for double couples its linear approximation.
    misfit : float
        Squared residuals, divided by the noise.
    angles : ndarray (3,)
        Strike, dip and rake of a double couple [deg], else NaN.
    spread : ndarray (3 + w, 3 + w)
        Covariance of these angles and of the moments of all time windows over the largest one; empty for other kinds.
    """

    tensors: np.ndarray
    covariance: np.ndarray
    misfit: float
    angles: np.ndarray
    spread: np.ndarray

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations (3,) of the angles of a double couple [deg], else NaN."""
        return np.sqrt(np.diagonal(self.spread)[:3]) if len(self.spread) else np.full(3, np.nan)

    def scaled(self, scale: float) -> Estimate:
        """Return the estimate for noise with standard deviations times a factor."""
        factor = scale**2
        return replace(
            self, covariance=factor * self.covariance, spread=factor * self.spread, misfit=self.misfit / factor
        )

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return a sample (6,) of the sum of the tensors [N m]."""
        if not len(self.spread):
            values, vectors = np.linalg.eigh(self.covariance)
            noise = np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(6)
            return np.asarray(self.total + vectors @ noise)
        change = rng.multivariate_normal(np.zeros(len(self.spread)), self.spread)
        shape = double_couple(*self.angles)
        sizes = self.tensors @ shape / (shape @ shape)
        moment = sizes.sum() + np.abs(sizes).max() * change[3:].sum()
        return np.asarray(moment * double_couple(*(self.angles + change[:3])))

    @property
    def delay(self) -> float:
        """Mean number of the time window, weighted by its moment in the direction of the sum of the tensors."""
        weights = self.tensors @ (DOUBLED * self.total)
        return float(weights @ np.arange(len(weights)) / max(float(weights.sum()), 1e-300))

    @property
    def total(self) -> np.ndarray:
        """Sum (6,) of the tensors of all time windows [N m]."""
        return np.asarray(self.tensors.sum(0))


def subspace(kind: Kind, windows: int) -> np.ndarray:
    """Return a basis (6 w, k) of the tensors of a kind; of all deviatoric ones for double couples."""
    return np.kron(np.eye(windows), np.eye(6) if kind == "full" else DEVIATORIC)


def freedom(kind: Kind, windows: int) -> int:
    """Return the number of parameters of the tensors of a kind."""
    return {"full": 6 * windows, "deviatoric": 5 * windows, "double-couple": 3 + windows}[kind]


def determined(misfits: list[Misfit], kind: Kind) -> np.ndarray:
    """Return whether (n,) data determine all tensors of a kind; those at a free surface do not move the ground in some components."""
    basis = subspace(kind, misfits[0].windows)
    a = basis.T @ np.array([m.curvature for m in misfits]) @ basis
    scale = np.sqrt(np.maximum(np.diagonal(a, axis1=1, axis2=2), 0.0))
    moved = (scale > 0.0).all(1)
    scale[~moved] = 1.0
    values = np.linalg.eigvalsh(a / (scale[:, :, None] * scale[:, None]))
    return np.asarray(moved & (values[:, 0] > SINGULAR * values[:, -1]))


def smallest_misfits(misfits: list[Misfit], kind: Kind) -> np.ndarray:
    """Return the smallest misfit (n,) of full or deviatoric tensors; of deviatoric ones for double couples."""
    basis = subspace(kind, misfits[0].windows)
    a = basis.T @ np.array([m.curvature for m in misfits]) @ basis
    b = np.array([m.slope for m in misfits]) @ basis
    best = np.linalg.solve(a, b[..., None])[..., 0]
    return np.array([m.constant for m in misfits]) - (b * best).sum(-1)


def estimate(misfit: Misfit, kind: Kind) -> Estimate:
    """Return the tensors of a kind with the smallest misfit."""
    if kind == "double-couple":
        return _double_couples(misfit)
    basis = subspace(kind, misfit.windows)
    a, b = misfit.within(basis)
    inverse = np.linalg.inv(a)
    tensors = basis @ np.linalg.solve(a, b)
    return linear_estimate(misfit, basis @ inverse @ basis.T, tensors)


def no_estimate(windows: int) -> Estimate:
    """Return the estimate at a place where data do not determine the tensor: an infinite misfit."""
    unknown = np.full((6, 6), np.nan)
    return Estimate(np.full((windows, 6), np.nan), unknown, np.inf, np.full(3, np.nan), np.zeros((0, 0)))


def linear_estimate(misfit: Misfit, covariance: np.ndarray, tensors: np.ndarray) -> Estimate:
    """Return the estimate for tensors (6 w,) and their covariance (6 w, 6 w)."""
    w = misfit.windows
    total = covariance.reshape(w, 6, w, 6).sum((0, 2))
    return Estimate(tensors.reshape(w, 6), total, misfit.of(tensors), np.full(3, np.nan), np.zeros((0, 0)))


def _double_couples(misfit: Misfit) -> Estimate:
    """Return the double couples of one mechanism with the smallest misfit."""
    from scipy.optimize import leastsq  # ten times as fast as least_squares for small problems

    basis = subspace("deviatoric", misfit.windows)
    a, b = misfit.within(basis)
    centre = np.linalg.solve(a, b)
    root = np.linalg.cholesky(a).T
    target, blocks = root @ centre, root.reshape(len(root), misfit.windows, 5)

    def moments(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the best moments (w,) for angles, and the residuals (5 w,)."""
        design = blocks @ double_couple(*angles)[FREE]
        found = np.linalg.solve(design.T @ design, design.T @ target)
        return found, design @ found - target

    scale = max(float(np.linalg.norm(target)), 1e-300)

    def search(start: np.ndarray, tolerance: float) -> tuple[float, np.ndarray]:
        """Return the smallest norm of the residuals near a start, and its angles."""
        found, *_ = leastsq(lambda x: moments(x)[1] / scale, start, ftol=tolerance, xtol=tolerance, gtol=tolerance)
        return float(np.linalg.norm(moments(found)[1])), found

    starts = [*_nearest((basis @ centre).reshape(-1, 6).sum(0)), *map(np.array, STARTS)]
    _, coarse = min((search(start, COARSE) for start in starts), key=lambda run: run[0])
    _, angles = search(coarse, FINE)
    sizes, _ = moments(angles)
    if sizes.sum() < 0.0:  # the opposite slip has a positive moment
        angles, sizes = angles + [0.0, 0.0, 180.0], -sizes
    return _of_angles(misfit, angles, sizes)


def _of_angles(misfit: Misfit, angles: np.ndarray, sizes: np.ndarray) -> Estimate:
    """Return the estimate of double couples for angles [deg] and moments (w,), with its linear approximation of the covariance."""
    shape = double_couple(*angles)
    plane, _ = planes(shape)  # in the usual range of angles
    slopes = [
        (double_couple(*(plane + step)) - double_couple(*(plane - step))) / (2 * STEP) for step in STEP * np.eye(3)
    ]
    size = max(float(np.abs(sizes).max()), 1e-300)
    jacobian = np.concatenate(
        [np.stack([np.outer(sizes, s).ravel() for s in slopes], 1), size * np.kron(np.eye(len(sizes)), shape[:, None])],
        1,
    )
    inverse = np.linalg.pinv(jacobian.T @ misfit.curvature @ jacobian, hermitian=True)
    found = linear_estimate(misfit, jacobian @ inverse @ jacobian.T, np.outer(sizes, shape).ravel())
    return replace(found, angles=plane, spread=inverse)


def _nearest(tensor: np.ndarray) -> list[np.ndarray]:
    """Return angles [deg] of the double couples with the null axis along each principal axis of a tensor (6,)."""
    values, vectors = np.linalg.eigh(to_matrix(tensor))
    found = []
    for null in range(3):
        first, second = (axis for axis in range(3) if axis != null)
        t, p = (second, first) if values[second] >= values[first] else (first, second)
        shape = np.outer(vectors[:, t], vectors[:, t]) - np.outer(vectors[:, p], vectors[:, p])
        found.append(planes(from_matrix(shape))[0])
    return found
