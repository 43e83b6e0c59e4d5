"""Coefficients in sixteen bits: what a material is known to, and half the memory.

A number is kept as an IEEE half, in a ``unit`` (a power of two) in which the largest is below 2^15, so that thirty binary orders of
magnitude stay at full relative precision, 2^-11. It is rounded up or down by a pattern that fills the interval evenly in
space: means over a few points keep six digits or more, and waves, which feel means, travel at the speed they should.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.kernels.stencil import HALF_BITS

_ROOT = 1.2207440846057596  # g^4 = g + 1: powers of 1/g spread points most evenly in three dimensions (Roberts 2018)
_STEPS = (_ROOT**-3, _ROOT**-2, _ROOT**-1)  # along z, y, x
_SMALLEST = -24  # exponent of the smallest half


@dataclass(frozen=True)
class Units:
    """What coefficients are counted in: one over density [m^3/kg] and moduli [Pa]."""

    buoyancy: float = 1.0
    modulus: float = 1.0

    @classmethod
    def fitting(cls, coefficients: Mapping[str, np.ndarray]) -> Units:
        """Units in which the largest of each kind lies between 2^14 and 2^15."""
        return cls.holding(*largest(coefficients))

    @classmethod
    def holding(cls, buoyancy: float, modulus: float) -> Units:
        """Units for coefficients up to these."""
        b, m = (float(2.0 ** (np.frexp(v)[1] - 15)) if v else 1.0 for v in (buoyancy, modulus))
        return cls(b, m)

    def of(self, name: str) -> float:
        """Unit of a coefficient."""
        return {"b": self.buoyancy, "m": self.modulus, "": 1.0}[kind_of(name)]


SI = Units()


def kind_of(name: str) -> str:
    """'b' of a buoyancy, 'm' of a modulus, '' of what has no unit."""
    return "b" if name.startswith("b_") else "m" if name.startswith("mu") or name == "lam" else ""


def largest(coefficients: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """Of all buoyancies and of all moduli."""
    found = {"b": 0.0, "m": 0.0}
    for name, values in coefficients.items():
        kind = kind_of(name)
        if kind:
            found[kind] = max(found[kind], float(np.abs(values).max()))
    return found["b"], found["m"]


def spread_rounding(values: np.ndarray, first: Sequence[int | np.ndarray], pattern: int) -> np.ndarray:
    """``values`` (nz, ny, nx), whose point (0, 0, 0) is number ``first`` of the grid, as halves; exact ones stay. ``first`` may give the
    numbers of all points along an axis instead.

    ``pattern`` tells arrays apart that shall not be rounded alike.
    """
    threshold = _threshold(pattern)
    for axis, (start, count, slope) in enumerate(zip(first, np.shape(values), _STEPS, strict=True)):
        line = slope * (start if isinstance(start, np.ndarray) else start + np.arange(count))
        threshold = threshold + line.reshape([-1 if k == axis else 1 for k in range(3)])
    return _rounded(values, threshold)


def rounded_at(values: np.ndarray, points: np.ndarray, pattern: int) -> np.ndarray:
    """What ``spread_rounding`` makes of ``values`` (n,) at ``points`` (n, 3) of the grid, as double precision."""
    threshold = _threshold(pattern)
    for axis, slope in enumerate(_STEPS):
        threshold = threshold + slope * points[:, axis]
    return _rounded(values, threshold.reshape(-1)).astype(float)


def _threshold(pattern: int) -> np.ndarray:
    return np.full((1, 1, 1), 0.6180339887 * pattern)


def _rounded(values: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Up where the part that is cut off is more than what the threshold leaves of one, down elsewhere."""
    x = np.asarray(values, float)
    step = np.ldexp(1.0, np.maximum(np.frexp(x)[1] - HALF_BITS, _SMALLEST))
    return (np.floor(x / step + threshold % 1.0) * step).astype(np.float16)
