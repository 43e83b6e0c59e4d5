"""Moment magnitude and scalar moment: Mw = 2/3 (log10 M0 - 9.1) with M0 in N m (Kanamori 1977; IASPEI 2013)."""

from __future__ import annotations

import numpy as np


def magnitude(moment: float) -> float:
    """Return the moment magnitude of a scalar moment [N m], NaN if the moment is not positive."""
    return float((np.log10(moment) - 9.1) / 1.5) if moment > 0 else float("nan")


def moment_of_magnitude(magnitude: float) -> float:
    """Return the scalar moment [N m] of a moment magnitude."""
    return float(10.0 ** (1.5 * magnitude + 9.1))


__all__ = ["magnitude", "moment_of_magnitude"]
