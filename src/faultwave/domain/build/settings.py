"""Protocols of the settings of meshes that Faultwave makes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class FaultSettings(Protocol):
    """Settings of a fault: its source (trace, planes or surface), its shape below a trace, and where it stops."""

    @property
    def trace(self) -> Path | None: ...

    @property
    def planes(self) -> Path | None: ...

    @property
    def surface(self) -> Path | None: ...

    @property
    def name(self) -> str | None: ...

    @property
    def size(self) -> float | None: ...

    @property
    def dip(self) -> float | Sequence[Sequence[float]]: ...

    @property
    def dip_direction(self) -> float | None: ...

    @property
    def top(self) -> float: ...

    @property
    def depth(self) -> float: ...

    @property
    def outside(self) -> str: ...

    @property
    def stops_at(self) -> Sequence[str]: ...


class RegionSettings(Protocol):
    """Settings of the region: its corners, depth and the growth of cells beyond."""

    @property
    def lower(self) -> Sequence[float]: ...

    @property
    def upper(self) -> Sequence[float]: ...

    @property
    def depth(self) -> float: ...

    @property
    def growth(self) -> float: ...


class BuildSettings(RegionSettings, Protocol):
    """Settings of a mesh with relief and faults."""

    @property
    def faults(self) -> Sequence[FaultSettings]: ...

    @property
    def fault_size(self) -> float | None: ...

    @property
    def far_size(self) -> float | None: ...

    @property
    def reflections_after(self) -> float | None: ...

    @property
    def rounds(self) -> int: ...

    @property
    def sea(self) -> bool: ...

    @property
    def sea_slope(self) -> float: ...

    @property
    def sea_surface(self) -> str: ...


__all__ = ["BuildSettings", "FaultSettings", "RegionSettings"]
