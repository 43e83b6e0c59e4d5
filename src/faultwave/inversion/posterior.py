"""Exact Gaussian posterior in data space: mean C F' K^-1 d with K = F C F' + noise, by Cholesky factor or conjugate gradients.

The prior covariance C is applied as an operator (``prior.py``), and so is the prediction F (``forward.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from faultwave.base.errors import RunError
from faultwave.inversion.forward import Forward
from faultwave.inversion.noise import Noise

TOLERANCE = 1e-10
"""Residual of conjugate gradients over the norm of the right-hand side."""
ITERATIONS = 2000
"""Largest number of iterations of conjugate gradients."""


class Prior(Protocol):
    """Covariance of a Gaussian prior of zero mean."""

    @property
    def variance(self) -> np.ndarray: ...

    def apply(self, models: np.ndarray) -> np.ndarray: ...

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray: ...


class Solver(Protocol):
    """Solver of K x = y."""

    def solve(self, data: np.ndarray) -> np.ndarray: ...


def predicted_covariance(forward: Forward, prior: Prior) -> np.ndarray:
    """Return F C F', the covariance (n, n) of data that the prior predicts."""
    found = np.empty((forward.shape[0], forward.shape[0]))
    for begin, end in forward.row_blocks():
        found[:, begin:end] = forward.matmat(prior.apply(forward.rows(begin, end)))
    return 0.5 * (found + found.T)


@dataclass(frozen=True)
class CholeskySolver:
    """Solution by the Cholesky factor of K.

    Attributes
    ----------
    factor : ndarray (n, n)
        Lower triangular factor.
    """

    factor: np.ndarray

    @classmethod
    def of(cls, predicted: np.ndarray, noise: Noise) -> CholeskySolver:
        """Return the solver for F C F' and the covariance of noise.

        Raises
        ------
        RunError
            If the noise is too small for double precision.
        """
        from scipy.linalg import cholesky

        matrix = predicted.copy()
        noise.add_to(matrix)
        try:
            return cls(cholesky(matrix, lower=True, overwrite_a=True, check_finite=False))
        except np.linalg.LinAlgError:
            raise RunError(
                "the covariance of the data has no Cholesky factor in double precision: the noise is far smaller than the motion "
                "that the prior predicts. Increase noise.fraction or noise.level, or decrease slip.amplitude."
            ) from None

    def solve(self, data: np.ndarray) -> np.ndarray:
        """Return K^-1 times data (n, k)."""
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve((self.factor, True), data, check_finite=False))

    def log_evidence(self, data: np.ndarray) -> float:
        """Return the logarithm of the marginal likelihood of data (n,)."""
        from scipy.linalg import solve_triangular

        white = solve_triangular(self.factor, data, lower=True, check_finite=False)
        logarithms = np.log(np.diagonal(self.factor)).sum()
        return float(-0.5 * white @ white - logarithms - 0.5 * len(data) * np.log(2 * np.pi))


@dataclass(frozen=True)
class IterativeSolver:
    """Solution by conjugate gradients, preconditioned by the diagonal blocks of K, one for each channel.

    Attributes
    ----------
    forward : Forward
        Prediction.
    prior : Prior
        Prior covariance.
    noise : Noise
        Covariance of noise.
    """

    forward: Forward
    prior: Prior
    noise: Noise

    def product(self, data: np.ndarray) -> np.ndarray:
        """Return K times data (n,)."""
        column = data.reshape(-1, 1)
        found = self.forward.matmat(self.prior.apply(self.forward.rmatmat(column))) + self.noise.apply(column)
        return np.asarray(found[:, 0])

    @cached_property
    def _blocks(self) -> list[tuple[slice, np.ndarray]]:
        """Inverses of the diagonal blocks of K, by the data that they concern."""
        found = list[tuple[slice, np.ndarray]]()
        for begin, end, noise in self._ranges():
            rows = self.forward.rows(begin, end)
            block = self.forward.matmat(self.prior.apply(rows))[begin:end] + noise
            found.append((slice(begin, end), np.linalg.inv(0.5 * (block + block.T))))
        return found

    def _ranges(self) -> Iterator[tuple[int, int, np.ndarray]]:
        """Yield the first and last datum of each channel, and of all static offsets, with their noise."""
        samples = self.forward.window.count
        for number in range(self.forward.channels):
            yield number * samples, (number + 1) * samples, self.noise.block(number)
        if len(self.noise.static):
            yield self.forward.samples, self.forward.shape[0], self.noise.scale**2 * self.noise.static

    def _precondition(self, data: np.ndarray) -> np.ndarray:
        found = np.empty(data.size)
        for part, inverse in self._blocks:
            found[part] = inverse @ data.ravel()[part]
        return found

    def solve(self, data: np.ndarray) -> np.ndarray:
        """Return K^-1 times data (n, k).

        Raises
        ------
        RunError
            If conjugate gradients do not converge.
        """
        from scipy.sparse.linalg import LinearOperator, cg

        size = data.shape[0]
        matrix = LinearOperator((size, size), matvec=self.product, dtype=float)
        blocks = LinearOperator((size, size), matvec=self._precondition, dtype=float)
        columns = list[np.ndarray]()
        for column in data.reshape(size, -1).T:
            found, failed = cg(matrix, column, rtol=TOLERANCE, maxiter=ITERATIONS, M=blocks)
            if failed:
                raise RunError(
                    f"conjugate gradients did not converge in {ITERATIONS} iterations. Increase noise.fraction, or use fewer data "
                    "so that a Cholesky factor is possible."
                )
            columns.append(found)
        return np.stack(columns, 1).reshape(data.shape)


@dataclass(frozen=True)
class Posterior:
    """Gaussian posterior of a model.

    Attributes
    ----------
    forward : Forward
        Prediction.
    prior : Prior
        Prior covariance.
    noise : Noise
        Covariance of noise.
    solver : Solver
        Solver of K x = y.
    data : ndarray (n,)
        Data.
    """

    forward: Forward
    prior: Prior
    noise: Noise
    solver: Solver
    data: np.ndarray

    def mean_of(self, data: np.ndarray) -> np.ndarray:
        """Return the posterior means (m, k) for data (n, k)."""
        return self.prior.apply(self.forward.rmatmat(self.solver.solve(data)))

    @cached_property
    def mean(self) -> np.ndarray:
        """Posterior mean (m,)."""
        return self.mean_of(self.data[:, None])[:, 0]

    def covariance_of(self, functionals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return posterior variance and resolution (k,) of linear functionals (m, k) of the model.

        The resolution is one minus the ratio of posterior and prior variance: 0 where data say nothing, 1 where they determine it.
        """
        variance, resolution = np.empty(functionals.shape[1]), np.empty(functionals.shape[1])
        for begin in range(0, functionals.shape[1], step := max(16, self.forward.block)):
            part = functionals[:, begin : begin + step]
            spread = self.prior.apply(part)
            data = self.forward.matmat(spread)
            before = (part * spread).sum(0)
            gained = (data * self.solver.solve(data)).sum(0)
            variance[begin : begin + step] = np.maximum(before - gained, 0.0)
            resolution[begin : begin + step] = gained / np.where(before > 0, before, 1.0)
        return variance, resolution

    def samples(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return independent samples (m, count) of the posterior: prior samples corrected by their own misfit."""
        models = self.prior.draw(rng, count)
        misfit = self.data[:, None] - self.forward.matmat(models) - self.noise.draw(rng, count)
        return models + self.mean_of(misfit)
