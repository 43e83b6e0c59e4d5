"""Settings of rock that yields plastically."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Constants, Settings, need
from faultwave.case.settings.fields import FieldSetting


class Overburden(Settings):
    """Initial stress from the weight of the rock, on grids: the vertical and two horizontal stresses."""

    largest: Annotated[float, Field(gt=0)] = Field(
        description="Largest horizontal compression over the vertical one, of effective stress."
    )
    smallest: Annotated[float, Field(gt=0)] = Field(
        description="Smallest horizontal compression over the vertical one, of effective stress."
    )
    direction: Quantity("deg") = Field(0.0, description="Of the largest one, from x towards y.")
    water_table: Quantity("m", ge=0) | None = Field(
        None,
        description="Depth below which pores hold water, whose pressure lowers the effective stress; default: dry.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need((self.largest >= self.smallest, "largest must not be below smallest"))
        return self


class RockQuality(Settings):
    """Cohesion and friction of jointed rock after Hoek and Brown, on grids."""

    index: Annotated[float, Field(gt=0, le=100)] = Field(
        description="Geological strength index GSI at the surface; 100: intact rock."
    )
    intact_below: Quantity("m", gt=0) | None = Field(
        None,
        description="Depth at which the index reaches 100, on a straight line; default: it is the same everywhere.",
    )
    constant: Annotated[float, Field(gt=0)] = Field(description="Hoek-Brown constant m_i of intact rock, 4 to 33.")
    intact_strength: Quantity("Pa", gt=0) | Literal["sandstone", "shale"] = Field(
        description="Uniaxial strength of intact rock, or how it follows from the P speed.",
        json_schema_extra={"words": "a stress, sandstone or shale"},
    )
    disturbance: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="Disturbance factor D.")
    confinement: Literal["tunnel", "slope"] = Field(
        "tunnel", description="Range of stress that cohesion and friction are fitted to."
    )
    elastic_above: Quantity("m/s", gt=0) | None = Field(
        None, description="Rock with a higher S speed never yields; default: all may."
    )
    loose_below: Quantity("m/s", gt=0) | None = Field(
        None,
        description="Ground with a lower S speed has no cohesion and the friction angle loose_angle; default: none.",
    )
    loose_angle: Quantity("deg", gt=0, lt=90) = Field(35.0, description="Friction angle of such ground.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        crossed = self.elastic_above and self.loose_below and self.loose_below > self.elastic_above
        need(
            (not crossed, "loose_below is above elastic_above"),
            ("loose_angle" not in self.model_fields_set or self.loose_below, "loose_angle needs loose_below"),
        )
        return self


class Plasticity(Settings):
    """Plastic yielding of rock away from the fault."""

    rheology: str = Field("drucker-prager", description="Name of a rheology; `faultwave laws` lists them.")
    parameters: FieldSetting | None = Field(
        None,
        description="The rheology's parameters, and s_xx..s_xz, the initial stress, unless initial_stress or overburden gives it.",
    )
    rock_quality: RockQuality | None = Field(
        None, description="Cohesion and friction from rock quality instead of parameters, on grids."
    )
    overburden: Overburden | None = Field(
        None, description="Initial stress from the weight of the rock instead of initial_stress, on grids."
    )
    initial_stress: FieldSetting | Literal["fault", "parameters"] = Field(
        "parameters",
        description="Stress at rest s_xx..s_xz [Pa], compression negative: a field, or that of fault.parameters.",
        json_schema_extra={"words": "a field, fault or parameters"},
    )
    constants: Constants = Field(default_factory=dict, description="Constants of the rheology, e.g. relaxation_time.")
    points: Literal["nodes", "lattice", "quadrature"] = Field(
        "nodes",
        description="Where in a cell stress is looked at: nodes (as many as modes, inside), lattice (the same, also on faces, edges and "
        "vertices), or quadrature (some more points; yielding then adds no energy to the last digit).",
    )
    sampled: Literal["points", "centre"] = Field(
        "points", description="Parameters and initial stress at these points, or those of a cell's centre."
    )
    elastic: list[str | int] = Field(
        default_factory=list, description="Physical volumes, by name or number, that never yield."
    )

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        twice = self.overburden and "initial_stress" in self.model_fields_set
        need(
            (self.parameters or self.rock_quality, "give parameters, or on grids rock_quality"),
            (
                self.parameters or self.overburden or not isinstance(self.initial_stress, str),
                "no initial stress is given",
            ),
            (not twice, "give initial_stress or overburden"),
        )
        return self


__all__ = ["Overburden", "Plasticity", "RockQuality"]
