"""Settings of what is measured from fields: flow through surfaces, resonances."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.common import Settings, need


class Flux(Settings):
    """Energy that flows through a surface."""

    surface: str | int = Field(description="Physical surface, by name or tag.")
    out_of: str | int | None = Field(
        None, description="Volume that the flow leaves; needed for surfaces inside the mesh."
    )
    interval: Quantity("s", gt=0) = Field(description="Time between samples.")


class Spectrum(Settings):
    """Resonances of what the receivers record: frequencies and quality factors by harmonic inversion."""

    band: tuple[Quantity("Hz", gt=0), Quantity("Hz", gt=0)] = Field(
        description="Lowest and highest frequency looked for."
    )
    start: Quantity("s", ge=0) = Field(0.0, description="Take samples from here on, when the sources are quiet.")
    floor: float = Field(1e-3, gt=0, lt=1, description="Leave out what is weaker than this share of the strongest.")
    resolution: float = Field(1e-6, gt=0, lt=1, description="Relative size of what is taken for noise.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.band[0] < self.band[1], "band must be lowest, highest frequency"))
        return self
