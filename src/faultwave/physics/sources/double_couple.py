"""Slip on a plane of given strike, dip and rake: directions and moment tensors (Aki & Richards 2002, ch. 4).

Strike is clockwise from north, the plane dips to its right, and rake is the slip of the block on the right, above the
plane, measured in the plane anticlockwise from strike. All angles in radians, all vectors and tensors in north, east,
down.
"""

from __future__ import annotations

import numpy as np


def slip_frame(
    strike: np.ndarray | float, dip: np.ndarray | float, rake: np.ndarray | float
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the normal of the plane, out of the foot wall, and the unit vectors of slip (..., 3) for angles (...).

    The vectors are along the rake, across it in the plane, and along the normal.
    """

    def along(angle: np.ndarray | float) -> np.ndarray:
        return np.stack([
            np.cos(angle) * np.cos(strike) + np.sin(angle) * np.cos(dip) * np.sin(strike),
            np.cos(angle) * np.sin(strike) - np.sin(angle) * np.cos(dip) * np.cos(strike),
            -np.sin(angle) * np.sin(dip),
        ], -1)  # fmt: skip

    normal = np.stack([-np.sin(dip) * np.sin(strike), np.sin(dip) * np.cos(strike), -np.cos(dip)], -1)
    return normal, (along(rake), along(rake + np.pi / 2), normal)


def moment_tensor(strike: float, dip: float, rake: float, moment: float) -> np.ndarray:
    """Return the tensor (3, 3) [N m] of a double couple with scalar moment [N m]: M0 (slip normal + normal slip)."""
    normal, (slip, _, _) = slip_frame(strike, dip, rake)
    return np.asarray(moment * (np.outer(slip, normal) + np.outer(normal, slip)))


__all__ = ["moment_tensor", "slip_frame"]
