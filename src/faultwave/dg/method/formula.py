"""Types of pointwise formulas of the method, which run on arrays of NumPy or record expressions (``kernels.expr``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from faultwave.kernels.expr import Expr, Named, Number, Numbers

Operand = TypeVar("Operand", Expr, np.ndarray, Number)
"""Operand of a formula that returns what it is given: arrays for arrays, expressions for expressions."""

Outputs: TypeAlias = list[list[Number]]
"""Result of a pointwise formula: for each output of the kernel the numbers of its columns."""

Formula: TypeAlias = Callable[..., Outputs]
"""Pointwise formula of ``Kernel.pointwise``, with one argument for each input."""

Densities: TypeAlias = Callable[[Numbers, Named], dict[str, Number]]
"""Densities of energies and momenta by name, from the law's quantities and parameters, as ``Law.energies``."""
