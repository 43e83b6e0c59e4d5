"""Settings of waves injected into a box on a grid, and of the record of the wave field around a box."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import InputFile, Settings, Vector, check_ascending, need
from faultwave.case.settings.sources import TimeFunction

_Row = tuple[float, float, float]


class BoxOutput(Settings):
    """Wave field around a box, for `injection` of a later run or for structural engineers."""

    lower: Vector = Field(description="Lower corner of the box.")
    upper: Vector = Field(description="Upper corner; a box that reaches the free surface has five faces, else six.")
    spacing: Quantity("m", gt=0) | None = Field(
        None,
        description="Of the points, one lattice for all quantities, which divides the box. Default on grids: the grid's own points, "
        "which the same grid lets in again exactly. Engine dg and the format h5drm need it.",
    )
    interval: Quantity("s", gt=0) | None = Field(
        None,
        description="Between samples; needed with a spacing. The points of the grid itself are recorded in every step.",
    )
    formats: list[Literal["box", "h5drm"]] = Field(
        default_factory=lambda: ["box"],
        min_length=1,
        description="box (PREFIX-box.h5, what `injection` reads) and h5drm (PREFIX.h5drm for OpenSees, as ShakerMaker writes).",
    )
    layers: Annotated[int, Field(ge=1, le=16)] = Field(
        1, description="Of elements around the box in h5drm; OpenSees needs 1, `injection` of a finer grid 3."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            check_ascending(self.lower, self.upper),
            ((self.spacing is None) == (self.interval is None), "spacing and interval go together"),
            (
                self.spacing is not None or "h5drm" not in self.formats,
                "h5drm needs a spacing, the edge of its elements, and an interval",
            ),
            (self.layers == 1 or "h5drm" in self.formats, "layers are of h5drm"),
        )
        return self


class Pulse(Settings):
    """Plane wave v = velocity d S(t - n.(x - reference) / c) along n; d is n for P, across it for S."""

    mode: Literal["P", "S"] = Field(description="Which wave.")
    direction: tuple[float, float, float] = Field(description="The way it travels, of any length.")
    polarisation: tuple[float, float, float] | None = Field(
        None, description="Motion of an S wave; the part along the direction is removed."
    )
    velocity: Quantity("m/s") = Field(1.0, description="Particle velocity where S(t) is 1.")
    reference: Vector = Field((0.0, 0.0, 0.0), description="Where the wave has the times of S(t - onset).")
    onset: Quantity("s") = Field(0.0, description="Start of the time function at the reference.")
    time_function: TimeFunction = Field(description="S(t).")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        across = np.cross(self.direction, self.polarisation or (0.0, 0.0, 0.0))
        need(
            (any(self.direction), "direction must not be zero"),
            (self.mode == "P" or across.any(), "an S wave needs a polarisation that is not along its direction"),
            (self.mode == "S" or self.polarisation is None, "polarisation does nothing with mode P"),
            (self.velocity != 0, "velocity must not be zero"),
        )
        return self


class H5drmAxes(Settings):
    """Placement of an H5DRM file in the case, as in OpenSees.

    x = axes (x in the file - its drmbox_x0) scale + origin.
    """

    scale: float = Field(1.0, gt=0, description="Metres in a unit of length of the file: 1000 where it has kilometres.")
    axes: tuple[_Row, _Row, _Row] = Field(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        description="Rotation from the file's axes to x, y, z up: [[0,1,0],[1,0,0],[0,0,-1]] for x north, y east, z down.",
    )
    origin: Vector | None = Field(
        None,
        description="Place of the file's drmbox_x0 in the case. Default: the file's own coordinates count, turned and scaled.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        turned = np.array(self.axes)
        axes = np.allclose(turned @ turned.T, np.eye(3)) and set(np.abs(turned).round(9).ravel()) == {0.0, 1.0}
        need((axes, "axes must be a rotation or mirror image that takes axes to axes"))
        return self


class Injection(Settings):
    """Waves that enter a box: the total field inside it, the scattered field outside."""

    file: InputFile | None = Field(
        None,
        description="Record of an earlier run (its output.box), of this or a coarser grid or of engine dg, or an H5DRM file.",
    )
    plane_wave: Pulse | None = Field(
        None, description="A plane wave in uniform rock, with what a free surface sends back."
    )
    lower: Vector | None = Field(None, description="Lower corner of the box; default that of the record.")
    upper: Vector | None = Field(None, description="Upper corner of the box; default that of the record.")
    h5drm: H5drmAxes | None = Field(None, description="Where an H5DRM file lies in the case.")

    @model_validator(mode="after")
    def _sound(self) -> Self:
        corners = None not in (self.lower, self.upper)
        need(
            ((self.file is None) != (self.plane_wave is None), "give one of file and plane_wave"),
            (corners or (self.lower is None and self.upper is None), "give both lower and upper, or neither"),
            (self.plane_wave is None or corners, "a plane_wave needs lower and upper of the box"),
            (self.h5drm is None or self.file is not None, "h5drm is of a file"),
            check_ascending(self.lower, self.upper),
        )
        return self


__all__ = ["BoxOutput", "H5drmAxes", "Injection", "Pulse"]
