"""Protocol of the settings of attenuation."""

from __future__ import annotations

from typing import Protocol


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


__all__ = ["BandSettings"]
