"""Settings of parameters that vary in space."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from faultwave.case.settings.common import InputFile, Parameters, Settings, need
from faultwave.case.settings.ground import GroundModel


class FieldSetting(Settings):
    """Named parameters in space, given in one or several ways, each parameter once."""

    easi: InputFile | None = Field(None, description="easi YAML model file.")
    constant: Parameters = Field(
        default_factory=dict, description="Parameter: value, the same everywhere; text may carry a unit."
    )
    expression: dict[str, str] = Field(
        default_factory=dict, description="Parameter: body in the easi function language, inputs x, y, z (and t)."
    )
    layers: InputFile | None = Field(
        None, description="Text table of layers: header 'depth vp vs rho [Qp Qs]', SI, depth of layer top below z = 0."
    )

    models: list[GroundModel] = Field(
        default_factory=list,
        description="Gridded models of the ground from files; of several that reach a point the first counts.",
    )
    regions: dict[str | int, Parameters] = Field(
        default_factory=dict,
        description="Physical volume, by name or number: parameters there. Every volume of the mesh must have some.",
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
            (not twice, f"given twice, as constant and as expression: {', '.join(twice)}"),
        )
        return self


__all__ = ["FieldSetting"]
