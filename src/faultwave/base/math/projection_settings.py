"""Protocol of the settings of a map projection."""

from __future__ import annotations

from typing import Protocol


class ProjectionSettings(Protocol):
    """Settings of a ``Projection``: the system, the local origin (longitude and latitude), and the direction of the y axis [deg]."""

    @property
    def crs(self) -> str: ...

    @property
    def origin(self) -> tuple[float, float] | None: ...

    @property
    def azimuth(self) -> float: ...


__all__ = ["ProjectionSettings"]
