"""Values of the libraries of devices, CuPy and PyOpenCL, which have no types."""

from __future__ import annotations

from typing import Any, TypeAlias

Memory: TypeAlias = Any
"""Memory of a device: an array of CuPy, or a buffer of PyOpenCL."""

Function: TypeAlias = Any
"""Compiled function that a device can launch."""

Arguments: TypeAlias = list[Any]
"""Arguments of a function: memory and numbers of NumPy."""

__all__ = ["Arguments", "Function", "Memory"]
