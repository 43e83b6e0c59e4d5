"""Protocols of the settings of boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Placement(Protocol):
    """Settings of where a record lies in a case: the axes and the scale of its coordinates, and the origin [m]."""

    @property
    def axes(self) -> Sequence[Sequence[float]]: ...

    @property
    def scale(self) -> float: ...

    @property
    def origin(self) -> Sequence[float] | None: ...


__all__ = ["Placement"]
