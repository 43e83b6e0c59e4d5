"""Storage of coefficients in sixteen bits, which is as precise as materials are known and halves their memory.

A number is stored as an IEEE half in a ``unit`` (a power of two) that puts the largest value below 2^15, so that
thirty binary orders of magnitude keep the full relative precision, 2^-11. It is rounded up or down by a
low-discrepancy pattern in space. Means over a few points are therefore exact to six digits or more, and waves, which
depend on means, have the right speed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.stencil import HALF_BITS

_ROOT = 1.2207440846057596  # root of g^4 = g + 1; inverse powers spread points evenly in 3D (Roberts 2018)
_STEPS = (_ROOT**-3, _ROOT**-2, _ROOT**-1)  # along z, y, x
_SMALLEST = -24  # exponent of the smallest half


@dataclass(frozen=True)
class Units:
    """Units of stored coefficients: buoyancy [m^3/kg] and modulus [Pa]."""

    buoyancy: float = 1.0
    modulus: float = 1.0

    @classmethod
    def fitting(cls, coefficients: Mapping[str, np.ndarray]) -> Units:
        """Return the units in which the largest coefficient of each kind lies between 2^14 and 2^15."""
        return cls.holding(*largest(coefficients))

    @classmethod
    def holding(cls, buoyancy: float, modulus: float) -> Units:
        """Return the units for coefficients up to these."""
        b, m = (float(2.0 ** (np.frexp(v)[1] - 15)) if v else 1.0 for v in (buoyancy, modulus))
        return cls(b, m)

    def of(self, name: str) -> float:
        """Return the unit of a coefficient."""
        return {"b": self.buoyancy, "m": self.modulus, "": 1.0}[kind_of(name)]


SI = Units()


def kind_of(name: str) -> str:
    """Return 'b' for a buoyancy, 'm' for a modulus and '' for quantities without a unit."""
    return "b" if name.startswith("b_") else "m" if name.startswith("mu") or name == "lam" else ""


def largest(coefficients: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Return the largest buoyancy and the largest modulus, by absolute value."""
    found = {"b": 0.0, "m": 0.0}
    for name, values in coefficients.items():
        kind = kind_of(name)
        if kind:
            found[kind] = max(found[kind], float(np.abs(values).max()))
    return found["b"], found["m"]


def spread_rounding(values: np.ndarray, first: Sequence[int | np.ndarray], pattern: int) -> np.ndarray:
    """Return values as halves, rounded by a pattern that is even in space; representable values are unchanged.

    Parameters
    ----------
    values : ndarray, shape (nz, ny, nx)
    first : sequence of int or ndarray
        Grid number of the first point along each axis, or the numbers of all points along it.
    pattern : int
        Number of the array; arrays with different numbers are rounded independently.
    """
    threshold = _threshold(pattern)
    for axis, (start, count, slope) in enumerate(zip(first, np.shape(values), _STEPS, strict=True)):
        line = slope * (start if isinstance(start, np.ndarray) else start + np.arange(count))
        threshold = threshold + line.reshape([-1 if k == axis else 1 for k in range(3)])
    return _rounded(values, threshold)


def rounded_at(values: np.ndarray, points: np.ndarray, pattern: int) -> np.ndarray:
    """Return ``values`` (n,) at grid points (n, 3) as ``spread_rounding`` rounds them, in double precision."""
    threshold = _threshold(pattern)
    for axis, slope in enumerate(_STEPS):
        threshold = threshold + slope * points[:, axis]
    return _rounded(values, threshold.reshape(-1)).astype(float)


def _threshold(pattern: int) -> np.ndarray:
    return np.full((1, 1, 1), 0.6180339887 * pattern)


def _rounded(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Return values rounded up where the truncated fraction plus the threshold reaches one, else down."""
    x = np.asarray(values, float)
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - HALF_BITS, _SMALLEST))
    return (np.floor(x / step + threshold % 1.0) * step).astype(np.float16)
