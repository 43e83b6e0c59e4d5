"""Porous materials for tests: two whose waves are known, and pores for a frame of any stiffness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from faultwave.physics import waves as laws
from faultwave.physics.waves.law import jacobians

NORMALISED = {"mu": 1.0, "lambda": 1.0, "bulk_fluid": 1.0, "bulk_solid": 4.0, "permeability": 1.0, "porosity": 0.3, "rho_fluid": 0.5,
              "rho": 1.0, "tortuosity": 2.0, "viscosity": 0.1}  # fmt: skip
SANDSTONE = {"mu": 6.4e9, "lambda": 5.28e9, "bulk_fluid": 2.5e9, "bulk_solid": 2e10, "permeability": 6e-13, "porosity": 0.4,
             "rho_fluid": 1040.0, "rho": 2080.0, "tortuosity": 2.0, "viscosity": 1e-3}  # fmt: skip


def porous(values: Mapping[str, float]) -> dict[str, float]:
    """Pores and a fluid for a frame with rho, mu and lambda; no drag."""
    drained = values["lambda"] + 2.0 * values["mu"] / 3.0
    return {
        "rho": values["rho"], "mu": values["mu"], "lambda": values["lambda"], "bulk_solid": 2.5 * drained, "bulk_fluid": 0.3 * drained,
        "porosity": 0.3, "rho_fluid": 0.4 * values["rho"], "tortuosity": 1.7, "permeability": 0.4, "viscosity": 0.0,
    }  # fmt: skip


def matrices(values: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """A (3, 13, 13) and E of q_t + A_d q_d = E q."""
    arrays = {k: np.array([float(v)]) for k, v in values.items()}
    law: Any = laws.law("poroelastic").adapted(arrays)
    rates = [float(r[0]) for r in law.rates(arrays)]
    reaction = np.array([law.reaction(list(e), rates) for e in np.eye(13)], float).T
    return jacobians(law, dict(values)).matrices, reaction


def waves(values: Mapping[str, float], k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies w (13,) and states in columns of q exp(i (w t - k.x)), the fastest first."""
    a, e = matrices(values)
    frequency, states = np.linalg.eig(np.einsum("d,dij->ij", k, a) - 1j * e)
    order = np.argsort(-frequency.real)
    return frequency[order], states[:, order]
