"""Type of results of measurements."""

from __future__ import annotations

from typing import Any, TypeAlias

Measured: TypeAlias = dict[str, Any]
"""Results of one measurement by name: plain data, as written to JSON and read back (docs/benchmarks.md explains each key)."""

__all__ = ["Measured"]
