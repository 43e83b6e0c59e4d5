"""Which frequencies a mesh resolves."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from faultwave.case.model import Case
from faultwave.engine.part import Part
from faultwave.physics.sources.time_functions import ricker_duration
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


def highest_frequency(case: Case, parts: Iterable[Part]) -> float | None:
    """The highest frequency [Hz] that a case's mesh, parts, currents and incident waves name; None where none does."""
    built = getattr(case.mesh, "build", None)
    found = [p.demand.frequency for p in parts if p.demand.frequency is not None]
    if built is not None and built.frequency is not None:
        found.append(built.frequency)
    for function in [c.time_function for c in case.currents] + [w.time_function for w in case.incident]:
        if function.kind == "burst":
            found.append(function.frequency + 0.5 / function.duration)
        elif function.kind == "ricker":
            found.append(2.5 / ricker_duration(function))
    return max(found, default=None)


def edge_length(volume: np.ndarray) -> np.ndarray:
    """Edge [m] of a regular tetrahedron of a volume."""
    return np.asarray(np.cbrt(6.0 * np.sqrt(2.0) * volume))


__all__ = ["edge_length", "highest_frequency", "resolved_frequency"]
