"""Protocols of the settings of heights and of attenuation."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class HeightSettings(Protocol):
    """Settings of a raster of heights: its file, coordinate system and variable."""

    @property
    def file(self) -> Path: ...

    @property
    def crs(self) -> str | None: ...

    @property
    def variable(self) -> str | None: ...


class BandSettings(Protocol):
    """Settings of the frequency dependence of Q: the band and the reference [Hz], and the power law above a corner [Hz]."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def reference(self) -> float | None: ...

    @property
    def exponent(self) -> float: ...

    @property
    def corner(self) -> float: ...


__all__ = ["BandSettings", "HeightSettings"]
