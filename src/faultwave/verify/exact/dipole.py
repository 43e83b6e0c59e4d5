"""Exact fields of a current dipole in a homogeneous, lossless space, in the time domain (Jackson 1999, section 9.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.verify.exact.medium import Array


@dataclass(frozen=True)
class CurrentDipole:
    """E and H of the current j = moment S(t) delta(x - location); returns (n, 6), singular at the location.

    The dipole moment is p = moment int S dt; with R = |x - location| and everything at the retarded time,
    4 pi eps E = (3 n(n.p) - p)/R^3 + (3 n(n.p') - p')/(c R^2) + (n(n.p'') - p'')/(c^2 R), 4 pi H = p' x n/R^2 + p'' x n/(c R).
    """

    location: tuple[float, float, float]
    moment: tuple[float, float, float]
    function: Any
    permittivity: float = 1.0
    permeability: float = 1.0

    def __call__(self, points: Array, t: float) -> Array:
        away = np.asarray(points, float) - np.asarray(self.location)
        r = np.linalg.norm(away, axis=1)
        n, c = away / r[:, None], 1.0 / np.sqrt(self.permittivity * self.permeability)
        s, small = t - r / c, 1e-5 * r.max() / c
        slope = (self.function.value(s + small) - self.function.value(s - small)) / (2 * small)
        m = np.asarray(self.moment, float)
        along = (n @ m)[:, None] * n
        near = (self.function.integral(s) / r**3 + self.function.value(s) / (c * r**2))[:, None]
        far = (slope / (c**2 * r))[:, None]
        electric = ((3 * along - m) * near + (along - m) * far) / (4 * np.pi * self.permittivity)
        magnetic = np.cross(m, n) * (self.function.value(s) / r**2 + slope / (c * r))[:, None] / (4 * np.pi)
        return np.concatenate([electric, magnetic], 1)
