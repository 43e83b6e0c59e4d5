"""Protocols of the settings of receivers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class PointSettings(Protocol):
    """Settings of points: listed ones and a file of more."""

    @property
    def points(self) -> Sequence[Sequence[float]]: ...

    @property
    def file(self) -> Path | None: ...


class StationSettings(PointSettings, Protocol):
    """Settings of stations, also by longitude and latitude, with names."""

    @property
    def geographic(self) -> Sequence[Sequence[float]]: ...

    @property
    def geographic_file(self) -> Path | None: ...

    @property
    def stations(self) -> Path | None: ...

    @property
    def names(self) -> Sequence[str] | None: ...

    @property
    def network(self) -> str: ...


class NearFaultSettings(Protocol):
    """Settings of receivers on faults: the largest distance [m] of a point from the fault."""

    @property
    def maximum_distance(self) -> float | None: ...


__all__ = ["NearFaultSettings", "PointSettings", "StationSettings"]
