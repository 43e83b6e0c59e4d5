"""Types and sizes of the numbers of a precision."""

from __future__ import annotations

import numpy as np


def number_type(precision: str) -> type[np.floating]:
    """Return the type of the numbers of a precision, single or double."""
    return np.float32 if precision == "single" else np.float64


def number_bytes(precision: str) -> int:
    """Return the size [bytes] of a number of a precision, single or double."""
    return np.dtype(number_type(precision)).itemsize
