"""Settings of derived measurements (far field, energy flux, ports, resonances) and of checkpoints."""

from __future__ import annotations

import re
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Settings, need


class Flux(Settings):
    """Energy flow through a surface."""

    surface: str | int = Field(description="Physical surface, by name or tag.")
    out_of: str | int | None = Field(
        None, description="Volume that the flow leaves; needed for surfaces inside the mesh."
    )
    interval: Quantity("s", gt=0) = Field(description="Time between samples.")


class Spectrum(Settings):
    """Resonances in receiver records: frequencies and quality factors by harmonic inversion."""

    band: tuple[Quantity("Hz", gt=0), Quantity("Hz", gt=0)] = Field(
        description="Lowest and highest frequency looked for."
    )
    start: Quantity("s", ge=0) = Field(0.0, description="Take samples from here on, when the sources are quiet.")
    floor: float = Field(0.01, gt=0, lt=1, description="Leave out what is weaker than this share of the strongest.")
    resolution: float = Field(1e-6, gt=0, lt=1, description="Relative size of what is taken for noise.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.band[0] < self.band[1], "band must be lowest, highest frequency"))
        return self


def _mode(text: str) -> str:
    if not re.fullmatch(r"T[EM][0-9][0-9]", text):
        raise ValueError(f"'{text}' is not a mode; TEmn or TMmn with two digits, such as TE10")
    low = min(text[2:])
    if text[2:] == "00" or (text[1] == "M" and low == "0"):
        raise ValueError(f"{text} does not exist in a rectangular guide: {'TM' if text[1] == 'M' else 'TE'} modes have "
                         f"{'both indices' if text[1] == 'M' else 'one index at least'} above 0")  # fmt: skip
    return text


class PortSurface(Settings):
    """Waveguide port, a plane rectangular surface across a waveguide."""

    surface: str | int = Field(description="Physical surface, by name or tag; a boundary of kind absorbing.")
    mode: Annotated[str, AfterValidator(_mode)] = Field(
        "TE10", description="TEmn or TMmn; the first index counts along the longer side, or along `along`."
    )
    along: tuple[float, float, float] | None = Field(
        None,
        description="Direction of the side that the mode's first index counts along; needed where both sides are equally long.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.along is None or any(self.along), "along must not be zero"))
        return self


class Ports(Settings):
    """Waveguide ports, and the band of their scattering parameters."""

    surfaces: list[PortSurface] = Field(min_length=1, description="Ports 1, 2, ... in this order.")
    band: tuple[Quantity("Hz", gt=0), Quantity("Hz", gt=0)] = Field(description="Lowest and highest frequency.")
    points: Annotated[int, Field(ge=2, le=100_001)] = Field(201, description="Frequencies in the band.")
    drive: int = Field(
        1, ge=1, description="The port that a single run drives; scattering parameters need one run each."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (self.band[0] < self.band[1], "band must be lowest, highest frequency"),
            (self.drive <= len(self.surfaces), f"drive is {self.drive}, but there are {len(self.surfaces)} ports"),
        )
        return self


class Checkpoints(Settings):
    """Checkpoints from which an interrupted run resumes; one is also written when a run is stopped."""

    interval: Quantity("s", gt=0) | None = Field(None, description="Simulated time between checkpoints.")
    wall_time: Quantity("s", gt=0) | None = Field(None, description="Wall-clock time between checkpoints.")
    keep: int = Field(2, ge=1, description="How many are kept.")


class FarField(Settings):
    """Radar cross section from the scattered field around volumes."""

    volumes: list[str | int] = Field(min_length=1, description="Volumes that the closed surface surrounds.")
    frequencies: list[Quantity("Hz", gt=0)] = Field(min_length=1, description="Frequencies.")
    theta: list[Quantity("deg")] = Field(min_length=1, description="Angles from the z axis.")
    phi: list[Quantity("deg")] = Field(
        [0.0], min_length=1, description="Angles around the z axis, from x; each with every theta."
    )
    interval: Quantity("s", gt=0) | None = Field(
        None, description="Sampling interval; default a twentieth of the shortest period."
    )
