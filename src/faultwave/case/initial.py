"""Settings of the state at time zero."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.belongs import Kinds, of_kind
from faultwave.case.common import Settings, need
from faultwave.case.fields import FieldSetting


class PlaneWave(Settings):
    """v = amplitude d cos(k.x - w t + phase) with d along k (P) or along the polarisation (S), w = c |k|."""

    mode: Literal["P", "S"] = Field(description="Which wave.")
    k: tuple[Quantity("1/m"), Quantity("1/m"), Quantity("1/m")] = Field(
        description="Wave vector; the wave travels along it."
    )
    amplitude: Quantity("m/s") = Field(1.0, description="Amplitude of the particle velocity.")
    polarisation: tuple[float, float, float] | None = Field(
        None, description="Direction of motion of an S wave; the part along k is removed."
    )
    phase: float = Field(0.0, description="Phase [rad].")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        k, d = self.k, self.polarisation or (0.0, 0.0, 0.0)
        across = (k[1] * d[2] - k[2] * d[1], k[2] * d[0] - k[0] * d[2], k[0] * d[1] - k[1] * d[0])
        need(
            (any(k), "k must not be zero"),
            (self.mode == "P" or any(across), "an S wave needs a polarisation that is not along k"),
        )
        return self


class Initial(Kinds):
    """State at time zero."""

    kind: Literal["zero", "plane-wave", "easi"] = Field("zero", description="Initial state.")
    wave: list[PlaneWave] = Field(
        default_factory=list, description="Superposed plane waves.", json_schema_extra=of_kind("plane-wave")
    )
    field: FieldSetting | None = Field(
        None, description="Initial quantities by name.", json_schema_extra=of_kind("easi")
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (self.kind != "plane-wave" or self.wave, "kind plane-wave needs at least one wave"),
            (self.kind != "easi" or self.field, "kind easi needs a field"),
        )


__all__ = ["Initial", "PlaneWave"]
