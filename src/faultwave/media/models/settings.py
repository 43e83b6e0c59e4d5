"""Protocol of the settings of a ground model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol


class ModelSettings(Protocol):
    """Settings of one ground model, as declared for a case; readers use those of their kind."""

    @property
    def file(self) -> Path: ...

    @property
    def kind(self) -> str: ...

    @property
    def crs(self) -> str | None: ...

    @property
    def names(self) -> dict[str, str]: ...

    @property
    def outside(self) -> Literal["error", "nearest"]: ...

    @property
    def water(self) -> Literal["error", "fluid"]: ...

    @property
    def vertical(self) -> str: ...

    @property
    def shape(self) -> tuple[int, int, int] | None: ...

    @property
    def spacing(self) -> float | None: ...

    @property
    def vertical_spacing(self) -> float | None: ...

    @property
    def origin(self) -> tuple[float, float, float]: ...

    @property
    def variables(self) -> Sequence[str] | None: ...

    @property
    def byte_order(self) -> str: ...


__all__ = ["ModelSettings"]
