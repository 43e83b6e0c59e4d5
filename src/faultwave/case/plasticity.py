"""Settings of rock that yields."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from faultwave.case.common import Parameters, Settings
from faultwave.case.fields import FieldSetting


class Plasticity(Settings):
    """Rock away from the fault that yields."""

    rheology: str = Field("drucker-prager", description="Name of a rheology; `faultwave laws` lists them.")
    parameters: FieldSetting = Field(
        description="The rheology's parameters, and s_xx..s_xz, the initial stress, unless initial_stress gives it."
    )
    initial_stress: FieldSetting | Literal["fault", "parameters"] = Field(
        "parameters",
        description="Stress at rest s_xx..s_xz [Pa], compression negative: a field, or that of fault.parameters.",
        json_schema_extra={"words": "a field, fault or parameters"},
    )
    constants: Parameters = Field(default_factory=dict, description="Constants of the rheology, e.g. relaxation_time.")
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


__all__ = ["Plasticity"]
