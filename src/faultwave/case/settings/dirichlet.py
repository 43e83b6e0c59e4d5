"""Settings of faces with a prescribed velocity or traction."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Settings, need
from faultwave.case.settings.fields import FieldSetting
from faultwave.case.settings.sources import TimeFunction


class Dirichlet(Settings):
    """Boundary condition on faces of kind dirichlet."""

    surfaces: list[str | int] = Field(
        default_factory=list, description="Boundary surfaces, by name or tag; default all faces of kind dirichlet."
    )
    velocity: FieldSetting | None = Field(
        None,
        description="Velocity v1, v2, v3 of the faces; in fluids the part along the normal. What is not given is zero.",
    )
    traction: FieldSetting | None = Field(
        None,
        description="Traction T1, T2, T3 along the axes that acts on the faces, or pressure. What is not given is zero.",
    )
    ghost: FieldSetting | None = Field(
        None, description="State beyond the faces as SeisSol's boundary files give it: const_u, map_u_u and so on."
    )
    time_function: TimeFunction | None = Field(
        None,
        description="Factor S(t) of velocity or traction; default 1. Most have unit integral: what is given as velocity is then the "
        "displacement in the end.",
    )
    onset: Quantity("s") = Field(0.0, description="Start of the time function.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [n for n in ("velocity", "traction", "ghost") if getattr(self, n) is not None]
        need(
            (len(given) == 1, "give one of velocity, traction, ghost"),
            (self.time_function is None or self.ghost is None, "ghost knows no time_function"),
            (self.time_function is not None or not self.onset, "onset does nothing without time_function"),
        )
        return self


__all__ = ["Dirichlet"]
