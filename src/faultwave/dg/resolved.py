"""Which frequencies a mesh resolves."""

from __future__ import annotations

import numpy as np

from faultwave.physics.waves import Law


def resolved_frequency(law: Law, material: dict[str, np.ndarray], edge: np.ndarray, order: int) -> np.ndarray:
    """Frequency (nc,) [Hz] of 10 points per wavelength of the slowest wave; ``edge`` (nc,) [m] of the cells: edge / order is then a tenth
    of the wavelength."""
    slow = law.speed(material)
    moduli = law.moduli(material)
    if "mu" in moduli:
        shear = np.sqrt(moduli["mu"] / law.density(material))
        slow = np.where(shear > 0, shear, slow)
    return np.asarray(slow * order / edge / 10.0)


def edge_length(volume: np.ndarray) -> np.ndarray:
    """Edge [m] of a regular tetrahedron of a volume."""
    return np.asarray(np.cbrt(6.0 * np.sqrt(2.0) * volume))


__all__ = ["edge_length", "resolved_frequency"]
