"""Settings of models of the ground that other programs and institutions keep as files."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.registry import entries
from faultwave.base.units import Quantity
from faultwave.case.belongs import one_of
from faultwave.case.common import InputFile, Settings, Vector, need

Count = Annotated[int, Field(ge=1)]
Name = Literal["rho", "vp", "vs", "Qp", "Qs"]


class GroundModel(Settings):
    """A gridded model of density, wave speeds and quality factors."""

    kind: one_of(*entries("faultwave.media.models.formats")) = Field(description="Format of the file.")
    file: InputFile = Field(description="The model.")
    vertical: Literal["sea-level", "ground"] = Field(
        "sea-level",
        description="What z counts from: sea level, or the ground of a model with topography, which is so made flat.",
    )
    outside: Literal["error", "nearest"] = Field(
        "error",
        description="Points beyond the model: an error, or its nearest values. One spacing beyond is always allowed.",
    )
    water: Literal["error", "fluid"] = Field("error", description="Points without S speed: an error, or fluid.")
    crs: str | None = Field(None, description="Projection of an sfile, which names none; default the case's.")
    names: dict[Name, str] = Field(default_factory=dict, description="netcdf: variables with names of their own.")
    shape: tuple[Count, Count, Count] | None = Field(None, description="awp-mesh: points along x, y, z.")
    spacing: Quantity("m", gt=0) | None = Field(None, description="awp-mesh: between points.")
    vertical_spacing: Quantity("m", gt=0) | None = Field(None, description="awp-mesh: along z, if another.")
    origin: Vector = Field(
        (0.0, 0.0, 0.0), description="awp-mesh: x, y and z of the first point; z goes down from there."
    )
    variables: list[str] | None = Field(
        None,
        description="awp-mesh: what each point holds, in order; default by their number (3, 5 or 8) as AWP has it.",
    )
    byte_order: Literal["little", "big"] = Field("little", description="awp-mesh: byte order.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        mesh = self.kind == "awp-mesh"
        alone = [n for n in ("shape", "spacing", "vertical_spacing", "variables") if getattr(self, n) is not None]
        need(
            (
                not mesh or (self.shape and self.spacing),
                "kind awp-mesh needs shape and spacing: the file says nothing of itself",
            ),
            (mesh or not alone, f"{', '.join(alone)} do nothing with kind {self.kind}"),
            (self.kind == "netcdf" or not self.names, f"names do nothing with kind {self.kind}"),
            (self.kind == "sfile" or self.crs is None, f"crs does nothing with kind {self.kind}"),
            (
                self.vertical == "sea-level" or self.kind in ("geomodelgrids", "rfile", "sfile"),
                f"vertical: ground needs a model with topography, which {self.kind} has not",
            ),
        )
        return self
