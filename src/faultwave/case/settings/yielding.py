"""Settings of media that yield: rock with plasticity, and soft soil whose stiffness decreases with strain."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Constants, Settings, need
from faultwave.case.settings.fields import FieldSetting


class Overburden(Settings):
    """Initial stress from the weight of the rock, on grids: the vertical and two horizontal stresses."""

    largest: Annotated[float, Field(gt=0)] = Field(
        description="Ratio of the largest horizontal to the vertical effective compression."
    )
    smallest: Annotated[float, Field(gt=0)] = Field(
        description="Ratio of the smallest horizontal to the vertical effective compression."
    )
    direction: Quantity("deg") = Field(
        0.0, description="Direction of the largest horizontal compression, from x towards y."
    )
    water_table: Quantity("m", ge=0) | None = Field(
        None,
        description="Depth of the water table, below which pore pressure reduces the effective stress; default: dry.",
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
        description="Depth at which the index reaches 100, linear in depth; default: a uniform index.",
    )
    constant: Annotated[float, Field(gt=0)] = Field(description="Hoek-Brown constant m_i of intact rock, 4 to 33.")
    intact_strength: Quantity("Pa", gt=0) | Literal["sandstone", "shale"] = Field(
        description="Uniaxial strength of intact rock, or its relation to the P speed.",
        json_schema_extra={"words": "a stress, sandstone or shale"},
    )
    disturbance: Annotated[float, Field(ge=0, le=1)] = Field(0.0, description="Disturbance factor D.")
    confinement: Literal["tunnel", "slope"] = Field(
        "tunnel", description="Range of stress over which cohesion and friction are fitted."
    )
    elastic_above: Quantity("m/s", gt=0) | None = Field(
        None, description="Rock with a higher S speed never yields; default: no limit."
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
        description="Points of a cell at which yielding is evaluated: nodes (as many as modes, in the "
        "interior), lattice (as many, also on faces, edges and vertices), or quadrature (more "
        "points; yielding then adds no energy, exactly).",
    )
    sampled: Literal["points", "centre"] = Field(
        "points", description="Evaluate parameters and initial stress at these points, or at the centre of each cell."
    )
    elastic: list[str | int] = Field(
        default_factory=list, description="Physical volumes, by name or number, that never yield."
    )

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        twice = self.overburden and "initial_stress" in self.model_fields_set
        need(
            (self.parameters or self.rock_quality, "set parameters or, on grids, rock_quality"),
            (
                self.parameters or self.overburden or not isinstance(self.initial_stress, str),
                "the initial stress is missing",
            ),
            (not twice, "set initial_stress or overburden"),
        )
        return self


_Row = tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(ge=0, le=1)]]


class Soil(Settings):
    """Soil with many yield surfaces (Iwan 1967)."""

    slower_than: Quantity("m/s", gt=0) = Field(
        description="Ground is soil where its S speed is below this; rock elsewhere stays elastic."
    )
    backbone: Literal["reference-strain", "strength", "darendeli", "table"] = Field(
        "reference-strain",
        description="Curve of shear stress over strain: a hyperbola with a prescribed reference strain, or "
        "with the reference strain that follows from the strength; Darendeli (2001); or a table.",
    )
    parameters: FieldSetting | None = Field(
        None,
        description=(
            "Parameters of the backbone: reference_strain; cohesion, friction_angle; or "
            "plasticity_index, overconsolidation_ratio."
        ),
    )
    table: list[_Row] = Field(
        default_factory=list,
        description="Rows of backbone table: shear strain and remaining fraction of the modulus; one surface per row.",
    )
    surfaces: Annotated[int, Field(ge=3, le=40)] = Field(
        20, description="Number of yield surfaces: 10 approximate a hyperbola to 4 %, 20 to 1 %, 40 to 0.2 %."
    )
    water_table: Quantity("m", ge=0) | None = Field(
        None,
        description="Depth of the water table, below which pore pressure reduces the effective stress; default: dry.",
    )
    earth_pressure: float = Field(
        0.5, gt=0, description="Ratio of horizontal to vertical effective stress at rest, for strength and darendeli."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        given, tabled = self.model_fields_set, self.backbone == "table"
        confined = self.backbone in ("strength", "darendeli")
        need(
            (tabled == bool(self.table), "table is required by backbone table and allowed with no other"),
            (not (tabled and "surfaces" in given), "surfaces has no effect with a table, which has one for each row"),
            (
                not (tabled and self.parameters),
                "parameters have no effect with a table, whose strains are those of the soil",
            ),
            (self.parameters or tabled or self.backbone == "darendeli", f"backbone {self.backbone} needs parameters"),
            (confined or "water_table" not in given, f"water_table has no effect with backbone {self.backbone}"),
            (confined or "earth_pressure" not in given, f"earth_pressure has no effect with backbone {self.backbone}"),
        )
        return self
