"""Checks an exact solution against the wave equations themselves, by sixth-order differences in space and time."""

import numpy as np

from faultwave.verify.exact import VOIGT, Medium

STENCIL = ((1, 0.75), (2, -0.15), (3, 1.0 / 60.0))


def difference(function, step):
    """Derivative at 0 of function(shift)."""
    return sum(c * (function(n * step) - function(-n * step)) for n, c in STENCIL) / step


def elastic_residual(solution, medium: Medium, points, t, step, time_step):
    """Largest residual of the 9 equations over the largest term of the same kind (stress rates, accelerations)."""
    rate = difference(lambda s: solution(points, t + s), time_step)
    gradient = np.stack([difference(lambda s, e=e: solution(points + s * e, t), step) for e in np.eye(3)], -1)
    velocity_gradient = gradient[:, 6:, :]
    divergence = np.trace(velocity_gradient, axis1=1, axis2=2)
    residual = np.empty_like(rate)
    for row, (i, j) in enumerate(VOIGT):
        strain_rate = velocity_gradient[:, i, j] + velocity_gradient[:, j, i]
        residual[:, row] = rate[:, row] - medium.mu * strain_rate - (medium.lam * divergence if i == j else 0.0)
    index = {pair: row for row, pair in enumerate(VOIGT)}
    for i in range(3):
        force = sum(gradient[:, index[(min(i, j), max(i, j))], j] for j in range(3))
        residual[:, 6 + i] = rate[:, 6 + i] - force / medium.rho
    return max(np.abs(residual[:, part]).max() / np.abs(rate[:, part]).max() for part in (slice(0, 6), slice(6, 9)))


def acoustic_residual(solution, medium: Medium, points, t, step, time_step):
    """The same for sigma_t = K div v, rho v_t = grad sigma."""
    rate = difference(lambda s: solution(points, t + s), time_step)
    gradient = np.stack([difference(lambda s, e=e: solution(points + s * e, t), step) for e in np.eye(3)], -1)
    pressure = rate[:, 0] - medium.lam * np.trace(gradient[:, 1:, :], axis1=1, axis2=2)
    motion = rate[:, 1:] - gradient[:, 0, :] / medium.rho
    return max(np.abs(pressure).max() / np.abs(rate[:, 0]).max(), np.abs(motion).max() / np.abs(rate[:, 1:]).max())


def maxwell_residual(solution, points, t, conductivity, step, time_step):
    """The same for E_t = curl H - conductivity E, H_t = -curl E."""
    rate = difference(lambda s: solution(points, t + s), time_step)
    gradient = np.stack([difference(lambda s, e=e: solution(points + s * e, t), step) for e in np.eye(3)], -1)

    def curl(first):
        g = gradient[:, first : first + 3]
        return np.stack([g[:, 2, 1] - g[:, 1, 2], g[:, 0, 2] - g[:, 2, 0], g[:, 1, 0] - g[:, 0, 1]], 1)

    electric = rate[:, :3] - curl(3) + conductivity * solution(points, t)[:, :3]
    magnetic = rate[:, 3:] + curl(0)
    return max(np.abs(electric).max(), np.abs(magnetic).max()) / np.abs(rate).max()
