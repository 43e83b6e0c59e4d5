"""Settings of soft soil whose stiffness decreases with strain."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Settings, need
from faultwave.case.settings.fields import FieldSetting

_Row = tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(ge=0, le=1)]]


class Soil(Settings):
    """Soil with many yield surfaces (Iwan 1967)."""

    slower_than: Quantity("m/s", gt=0) = Field(
        description="Ground is soil where its S speed is below this; rock elsewhere stays elastic."
    )
    backbone: Literal["reference-strain", "strength", "darendeli", "table"] = Field(
        "reference-strain",
        description="Curve of shear stress over strain: a hyperbola with a given reference strain, or with that of the soil's strength; "
        "after Darendeli (2001); or a table.",
    )
    parameters: FieldSetting | None = Field(
        None,
        description="What the backbone needs: reference_strain; cohesion, friction_angle; or plasticity_index, overconsolidation_ratio.",
    )
    table: list[_Row] = Field(
        default_factory=list,
        description="Of backbone table: shear strain and share of the modulus that is left, one surface for each row.",
    )
    surfaces: Annotated[int, Field(ge=3, le=40)] = Field(
        20, description="Yield surfaces: 10 follow a hyperbola to 4 %, 20 to 1 %, 40 to 0.2 %."
    )
    water_table: Quantity("m", ge=0) | None = Field(
        None,
        description="Depth below which pores hold water, whose pressure lowers the effective stress; default: dry.",
    )
    earth_pressure: float = Field(
        0.5, gt=0, description="Horizontal over vertical effective stress at rest, for strength and darendeli."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        given, tabled = self.model_fields_set, self.backbone == "table"
        confined = self.backbone in ("strength", "darendeli")
        need(
            (tabled == bool(self.table), "backbone table needs a table, and no other takes one"),
            (not (tabled and "surfaces" in given), "surfaces does nothing with a table, which has one for each row"),
            (
                not (tabled and self.parameters),
                "parameters do nothing with a table, whose strains are those of the soil",
            ),
            (self.parameters or tabled or self.backbone == "darendeli", f"backbone {self.backbone} needs parameters"),
            (confined or "water_table" not in given, f"water_table does nothing with backbone {self.backbone}"),
            (confined or "earth_pressure" not in given, f"earth_pressure does nothing with backbone {self.backbone}"),
        )
        return self


__all__ = ["Soil"]
