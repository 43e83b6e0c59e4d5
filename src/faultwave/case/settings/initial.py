"""Settings of the initial state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, Self

from pydantic import Field, model_validator

from faultwave.base.registry import entries
from faultwave.base.units import Quantity
from faultwave.case.settings.common import Kinds, Settings, Vector, need, one_of, only_for_kinds
from faultwave.case.settings.fields import FieldSetting


class PlaneWave(Settings):
    """Plane wave v = amplitude d cos(k.x - w t + phase) with d along k (P) or along the polarisation (S), w = c |k|."""

    mode: Literal["P", "S", "slow-P"] = Field(description="Kind of wave; slow-P exists in porous rock only.")
    k: tuple[Quantity("1/m"), Quantity("1/m"), Quantity("1/m")] = Field(
        description="Wave vector; the wave travels along it."
    )
    amplitude: Quantity("m/s") = Field(1.0, description="Amplitude of the particle velocity.")
    polarisation: tuple[float, float, float] | None = Field(
        None, description="Direction of motion of an S wave; the part along k is removed."
    )
    phase: float = Field(0.0, description="Phase [rad].")
    origin: Vector = Field((0.0, 0.0, 0.0), description="Origin of the phase: x in k.x is x - origin.")
    solid_only: bool = Field(False, description="Omit this wave in fluids, which carry no S wave.")
    window: tuple[float, float] | None = Field(
        None,
        description=(
            "Restrict the wave to places where k.x - w t + phase lies between these angles [rad]; default: everywhere."
        ),
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        k, d = self.k, self.polarisation or (0.0, 0.0, 0.0)
        across = (k[1] * d[2] - k[2] * d[1], k[2] * d[0] - k[0] * d[2], k[0] * d[1] - k[1] * d[0])
        need(
            (any(k), "k must not be zero"),
            (self.window is None or self.window[0] < self.window[1], "window is from a smaller to a larger angle"),
            (self.mode != "S" or any(across), "an S wave needs a polarisation that is not along k"),
            (self.mode == "S" or self.polarisation is None, "polarisation has no effect with modes P and slow-P"),
        )
        return self


KINDS = tuple(entries("faultwave.physics.initial"))


class Initial(Kinds):
    """State at time zero."""

    kind: one_of("zero", *KINDS, "easi") = Field(
        "zero", description="Initial state: none, an exact solution by name, or a field of place (and time)."
    )
    wave: list[PlaneWave] = Field(
        default_factory=list, description="Superposed plane waves.", json_schema_extra=only_for_kinds("plane-wave")
    )
    field: FieldSetting | None = Field(
        None,
        description="Initial quantities by name, functions of x, y, z and t.",
        json_schema_extra=only_for_kinds("easi"),
    )
    mode: int = Field(
        0,
        ge=0,
        le=20,
        description="Number of the mode: 0 is a wave of the sea surface.",
        json_schema_extra=only_for_kinds("ocean"),
    )
    wavenumbers: tuple[Quantity("1/m", gt=0), Quantity("1/m", gt=0)] | None = Field(
        None, description="Horizontal wavenumbers along x and y.", json_schema_extra=only_for_kinds("ocean")
    )
    depth: Quantity("m", gt=0) | None = Field(
        None, description="Depth of the water.", json_schema_extra=only_for_kinds("ocean")
    )
    height: Quantity("m") | None = Field(
        None,
        description="Largest height of the sea; default: that of waves with (w t, x, y) in sines of 1 Pa, as SeisSol's.",
        json_schema_extra=only_for_kinds("ocean"),
    )
    level: Quantity("m") = Field(
        0.0,
        description="z of the sea surface, or of the interface of fluid and solid.",
        json_schema_extra=only_for_kinds("ocean", "scholte", "snell"),
    )
    frequency: Quantity("Hz", gt=0) = Field(
        1.0, description="Frequency of the waves.", json_schema_extra=only_for_kinds("scholte", "snell")
    )
    amplitude: Quantity("m/s") = Field(
        1.0,
        description="Largest vertical velocity at the interface, or velocity of the incident sound.",
        json_schema_extra=only_for_kinds("scholte", "snell"),
    )
    angle: Quantity("deg", gt=0, lt=90) = Field(
        10.0, description="Angle of the incident sound from the vertical.", json_schema_extra=only_for_kinds("snell")
    )
    phase: float = Field(
        0.0, description="Phase of the incident sound [rad].", json_schema_extra=only_for_kinds("snell")
    )
    pressure: Quantity("Pa") | None = Field(
        None, description="Pore pressure at the centre.", json_schema_extra=only_for_kinds("pressure-injection")
    )
    width: Quantity("1/m^2", gt=0) | None = Field(
        None,
        description="Decay of the pressure with the distance r: exp(-width r^2).",
        json_schema_extra=only_for_kinds("pressure-injection"),
    )
    center: Vector = Field(
        (0.0, 0.0, 0.0),
        description="Location of the injection.",
        json_schema_extra=only_for_kinds("pressure-injection"),
    )
    boundaries_only: bool = Field(
        False,
        description="Start at rest: the solution enters only through faces of kind analytic.",
        json_schema_extra=only_for_kinds(*KINDS, "easi"),
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (self.kind != "plane-wave" or self.wave, "kind plane-wave needs at least one wave"),
            (self.kind != "easi" or self.field, "kind easi needs a field"),
            (self.kind != "pressure-injection" or self.width, "kind pressure-injection needs a width"),
            (self.kind != "pressure-injection" or self.pressure, "kind pressure-injection needs a pressure, not zero"),
            (
                self.kind != "ocean" or (self.wavenumbers and self.depth is not None),
                "kind ocean needs wavenumbers and depth",
            ),
        )
