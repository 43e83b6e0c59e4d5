"""Settings of parameters that vary in space, among them ground models in files of other programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.registry import entries
from faultwave.base.units import Quantity
from faultwave.case.settings.common import InputFile, Kinds, Parameters, Settings, Vector, need, one_of, only_for_kinds

Count = Annotated[int, Field(ge=1)]
Name = Literal["rho", "vp", "vs", "Qp", "Qs"]


class GroundModel(Kinds):
    """Gridded model of density, wave speeds and quality factors."""

    kind: one_of(*entries("faultwave.media.models.formats")) = Field(description="Format of the file.")
    file: InputFile = Field(description="The model.")
    vertical: Literal["sea-level", "ground"] = Field(
        "sea-level",
        description="Reference of z: sea level, or the ground of a model with topography, which is thereby flattened.",
    )
    outside: Literal["error", "nearest"] = Field(
        "error",
        description="Points beyond the model: an error, or its nearest values. One spacing beyond is always allowed.",
    )
    water: Literal["error", "fluid"] = Field("error", description="Points without S speed: an error, or fluid.")
    crs: str | None = Field(
        None,
        description="Projection of an sfile, which does not state it; default: that of the case.",
        json_schema_extra=only_for_kinds("sfile"),
    )
    names: dict[Name, str] = Field(
        default_factory=dict,
        description="Names of variables that differ from the default names.",
        json_schema_extra=only_for_kinds("netcdf"),
    )
    shape: tuple[Count, Count, Count] | None = Field(
        None, description="Points along x, y, z.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    spacing: Quantity("m", gt=0) | None = Field(
        None, description="Between points.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    vertical_spacing: Quantity("m", gt=0) | None = Field(
        None, description="Spacing along z, if different.", json_schema_extra=only_for_kinds("awp-mesh")
    )
    origin: Vector = Field(
        (0.0, 0.0, 0.0),
        description="x, y and z of the first point; z goes down from there.",
        json_schema_extra=only_for_kinds("awp-mesh"),
    )
    variables: list[str] | None = Field(
        None,
        description="Quantities of each point, in order; by default those that AWP uses for their number (3, 5 or 8).",
        json_schema_extra=only_for_kinds("awp-mesh"),
    )
    byte_order: Literal["little", "big"] = Field(
        "little", description="Byte order.", json_schema_extra=only_for_kinds("awp-mesh")
    )

    def conditions(self) -> Iterable[tuple[object, str]]:
        return (
            (
                self.kind != "awp-mesh" or (self.shape and self.spacing),
                "kind awp-mesh needs shape and spacing: the file contains no metadata",
            ),
            (
                self.vertical == "sea-level" or self.kind in ("geomodelgrids", "rfile", "sfile"),
                f"vertical: ground needs a model with topography; {self.kind} has none",
            ),
        )


class FieldSetting(Settings):
    """Named parameters in space, given in one or several ways, each parameter once."""

    easi: InputFile | None = Field(None, description="easi YAML model file.")
    constant: Parameters = Field(
        default_factory=dict, description="Parameter: uniform value; strings may include a unit."
    )
    expression: dict[str, str] = Field(
        default_factory=dict, description="Parameter: body in the easi function language, inputs x, y, z (and t)."
    )
    layers: InputFile | None = Field(
        None, description="Text table of layers: header 'depth vp vs rho [Qp Qs]', SI, depth of layer top below z = 0."
    )

    models: list[GroundModel] = Field(
        default_factory=list,
        description="Gridded velocity models from files; where several cover a point, the first is used.",
    )
    regions: dict[str | int, Parameters] = Field(
        default_factory=dict,
        description="Physical volume, by name or number: parameters there. Every volume of the mesh needs an entry.",
    )
    minimum: Parameters = Field(default_factory=dict, description="Parameter: values below this are raised to it.")
    maximum: Parameters = Field(default_factory=dict, description="Parameter: values above this are lowered to it.")

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        twice = sorted(set(self.constant) & set(self.expression))
        ways = self.easi or self.constant or self.expression or self.layers or self.models or self.regions
        crossed = sorted(n for n in set(self.minimum) & set(self.maximum) if self.minimum[n] > self.maximum[n])
        need(
            (ways, "give easi, constant, expression, layers, models or regions"),
            (not crossed, f"minimum is above maximum: {', '.join(crossed)}"),
            (not twice, f"defined both as constant and as expression: {', '.join(twice)}"),
        )
        return self
