"""Stiffness tensors for tests: in any frame, and more or less anisotropic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from faultwave.physics.waves.anisotropic import CONSTANTS, PAIRS, VOIGT, isotropic

TRANSVERSE = {
    **dict.fromkeys(CONSTANTS, 0.0), "rho": 2700.0, "c11": 97.2e9, "c22": 97.2e9, "c33": 70e9, "c12": 10e9, "c13": 30e9, "c23": 30e9,
    "c44": 32.4e9, "c55": 32.4e9, "c66": 43.6e9,
}  # fmt: skip
"""Rock with a vertical axis of symmetry."""


def turned(values: Mapping[str, Any], rotation: np.ndarray) -> dict[str, Any]:
    """The material turned by a rotation (3, 3)."""
    c = np.zeros((3, 3, 3, 3))
    for name, (p, q) in zip(CONSTANTS, PAIRS, strict=True):
        for i in range(3):
            for j in range(3):
                for k in range(3):
                    for m in range(3):
                        if {VOIGT[i][j], VOIGT[k][m]} == {p, q}:
                            c[i, j, k, m] = values[name]
    r = rotation
    c = np.einsum("ai,bj,ck,dm,ijkm->abcd", r, r, r, r, c)
    pair = {VOIGT[i][j]: (i, j) for i in range(3) for j in range(i, 3)}
    return {"rho": values["rho"]} | {
        name: c[(*pair[p], *pair[q])] for name, (p, q) in zip(CONSTANTS, PAIRS, strict=True)
    }


def rotation(seed: int) -> np.ndarray:
    """A random rotation (3, 3)."""
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return np.asarray(q * np.linalg.det(q))


def skewed(values: Mapping[str, float], seed: int = 0, share: float = 0.3) -> dict[str, Any]:
    """An isotropic material made stiffer by a random tensor, ``share`` of mu at most; no symmetry is left."""
    root = np.random.default_rng(seed).normal(size=(6, 6))
    extra = root @ root.T
    extra *= share * values["mu"] / np.linalg.eigvalsh(extra)[-1]
    found = isotropic(values)
    return {"rho": values["rho"]} | {
        name: float(found[name] + extra[i, j]) for name, (i, j) in zip(CONSTANTS, PAIRS, strict=True)
    }
