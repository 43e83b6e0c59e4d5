"""Settings of the regular grid, of attenuation and of the map projection."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import (
    InputFile,
    Kinds,
    Settings,
    Vector,
    check_ascending,
    need,
    only,
    only_for_kinds,
)

Side = Literal["x", "y", "z", "x-", "x+", "y-", "y+", "z-", "z+"]
GridSideKind = Literal["absorbing", "free-surface", "periodic", "rigid"]


LONGEST_SIDE = 1e7
"""Largest number of points along an axis; beyond it a single plane of the grid exceeds any machine's memory."""


class AbsorbingLayer(Kinds):
    """Layer outside the box that absorbs waves at absorbing sides."""

    kind: Literal["cpml", "sponge"] = Field(
        "cpml", description="Convolutional perfectly matched layer, or a sponge that damps every step."
    )
    width: int | None = Field(
        None,
        ge=4,
        description="Width in points (of the lowest block where grid.blocks defines several; the thickness in "
        "metres is the same in all). Default: 10 for cpml, 20 for sponge.",
    )
    frequency: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Dominant frequency of the waves; default: the resolved frequency.",
        json_schema_extra=only_for_kinds("cpml"),
    )
    along: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Ratio of the damping along the layer to that across it; stabilises soft material at the "
        "sides. Default 0 where the fastest P wave is at most 3 times the slowest S wave, 0.02 "
        "where it is 6 times that or more.",
        json_schema_extra=only_for_kinds("cpml"),
    )


From = Literal["depth", "elevation"]


class Topography(Settings):
    """Topography of a grid, whose upper planes follow the ground. z is elevation; the free surface is the ground."""

    file: InputFile | None = Field(
        None,
        description=(
            "Raster of elevations: GeoTIFF, NetCDF, GMT grid or ESRI ASCII grid, identified by its file name extension."
        ),
    )
    variable: str | None = Field(None, description="Variable of a NetCDF file that has several on x and y.")
    crs: str | None = Field(
        None,
        description=(
            "Projection of a raster that does not state it, e.g. EPSG:4326; 'local': the raster uses "
            "x and y of the case."
        ),
    )
    expression: str | None = Field(
        None, description="Elevation [m] as a body in the easi function language, inputs x, y: instead of a file."
    )
    smooth: Quantity("m", ge=0) | None = Field(
        None,
        description="Standard deviation of the Gaussian that smooths the ground; default the spacing for a raster, 0 for an expression.",
    )
    thickness: Quantity("m", gt=0) | None = Field(
        None,
        description="Thickness of the curvilinear layer below the lowest ground; default 4 times the relief "
        "where the box is deep enough. Cells are stretched by up to 1 + 1.33 relief / thickness.",
    )
    sources: From | None = Field(
        None,
        description="Meaning of z of sources: elevation, or depth below the ground (z = -500 is 500 m deep). "
        "Required if there are sources.",
    )
    receivers: From | None = Field(
        None,
        description="Meaning of z of receivers: elevation, or depth below the ground (z = 0 is on it). "
        "Required if there are receivers.",
    )
    material: From = Field(
        "elevation", description="Meaning of z of the material: elevation, or depth below the ground (z = 0 is on it)."
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        unused = [n for n in ("variable", "crs") if self.file is None and getattr(self, n) is not None]
        need(
            ((self.file is None) != (self.expression is None), "set either file or expression"),
            (not unused, f"{', '.join(unused)}: for a file only"),
        )
        return self


class Block(Settings):
    """Block of the grid with a larger spacing than the block above it."""

    below: Quantity("m", gt=0) = Field(
        description="Depth of the top of the block, below the upper side of the box or, with topography, "
        "below the lowest ground. The height of the block above must be a multiple of its spacing."
    )
    spacing: Quantity("m", gt=0) = Field(
        description=(
            "Spacing: 2 or 3 times that of the block above; below a first block with order 8 and "
            "topography it may also be the same."
        )
    )


class PlaneOfFault(Settings):
    """Position of a fault in a grid: a vertical rectangle along x or y, through the centres of cells."""

    lower: Vector = Field(description="Corner with the smallest coordinates; x or y equals that of the other corner.")
    upper: Vector = Field(
        description="Corner with the largest coordinates; at the upper side of the box the fault reaches the ground."
    )


class Grid(Settings):
    """Regular grid of the engine fd: z points up, and the upper side is the free surface."""

    lower: Vector | None = Field(
        None, description="Corner with the smallest coordinates; default: that of mesh.generate."
    )
    upper: Vector | None = Field(
        None, description="Corner with the largest coordinates; default: that of mesh.generate."
    )
    spacing: Quantity("m", gt=0) | None = Field(
        None, description="Edge of the cubic cells; alternatively set frequency."
    )
    frequency: Quantity("Hz", gt=0) | None = Field(
        None,
        description=("Highest frequency to resolve: determines the spacing if none is set, and is checked otherwise."),
    )
    points_per_wavelength: float = Field(
        6.0,
        ge=3,
        description="Points per shortest wavelength (S waves; P waves in fluids) that count as resolved. "
        "Order 8 needs 4 where the material hardly varies.",
    )
    order: Literal[4, 8] = Field(
        4,
        description="Order of differences in space: 4 or 8. Order 8 needs fewer points, each of which costs "
        "more, and pays off where the material hardly varies; elsewhere material averages "
        "dominate the error and order 4 is cheaper. Below a topography the uppermost of several "
        "blocks always has order 4.",
    )
    time_dispersion: Literal["keep", "remove"] | None = Field(
        None,
        description="Remove the dispersion of the time step from sources and seismograms, or keep it. "
        "Default: remove with order 8, keep with order 4, whose spatial error it partly "
        "compensates.",
    )
    step: Quantity("s", gt=0) | None = Field(
        None, description="Time step; default: the largest stable step that divides the end time."
    )
    lowpass: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Older name of numerics.source_lowpass, which applies to both engines; set only one of them.",
    )
    boundaries: dict[Side, GridSideKind] | None = Field(
        None,
        description="Kind of boundary of an axis (x: both sides) or of a side (x-, x+; overrides the axis). "
        "Default: those of mesh.generate if the box is taken from it, otherwise absorbing, with a "
        "free surface at z+. Kinds: absorbing, free-surface (z+ only), periodic (whole axes), "
        "rigid.",
    )
    blocks: list[Block] = Field(
        default_factory=list,
        description="Blocks of larger spacing, from above down; grid.spacing is that of the uppermost one. "
        "Where waves are faster at depth, fewer points suffice; 'faultwave plan' proposes blocks. "
        "The box is a multiple of the largest spacing along x and y.",
    )
    absorbing: AbsorbingLayer = Field(default_factory=AbsorbingLayer, description="Absorbing sides.")
    fault: PlaneOfFault | None = Field(
        None, description="Location of the fault of `fault`: one vertical plane along x or y."
    )
    topography: Topography | None = Field(
        None,
        description="Topography; the box must contain it, and the third number of upper has no other effect.",
    )

    @model_validator(mode="after")
    def _countable(self) -> Self:
        lower, upper, spacing = (getattr(self, name) for name in ("lower", "upper", "spacing"))
        if spacing is not None and lower is not None and upper is not None:
            sides = [(b - a) / spacing for a, b in zip(lower, upper, strict=True)]
            most = (
                f"{spacing:g} m between points makes {max(sides):.3g} points along a side; the maximum is "
                f"{LONGEST_SIDE:g}"
            )
            need((max(sides) <= LONGEST_SIDE, most))
        return self

    @model_validator(mode="after")
    def _sound(self) -> Self:
        sides = self.boundaries or {}
        half = [s for s, kind in sides.items() if kind == "periodic" and len(s) == 2]
        free = [s for s, kind in sides.items() if kind == "free-surface" and s != "z+"]
        need(
            (self.spacing or self.frequency, "set spacing or frequency"),
            (not self.blocks or self.spacing, "blocks need spacing, that of the uppermost block"),
            ((self.lower is None) == (self.upper is None), "set both lower and upper, or neither"),
            check_ascending(self.lower, self.upper),
            (not half, f"periodic is for a whole axis: write '{half[0][0] if half else ''}: periodic'"),
            (not free, f"a grid has its free surface at z+, not at {', '.join(free)}"),
        )
        return self


class Attenuation(Settings):
    """Anelastic attenuation; the material then needs Qp and Qs, and its speeds are those at the reference frequency."""

    low: Quantity("Hz", gt=0) | None = Field(None, description="Lower end of the band; default a hundredth of high.")
    high: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Upper end of the band; default the frequency that a grid resolves; required on tetrahedra.",
    )
    reference: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Frequency of the material's wave speeds; default 1 Hz, or the limit of the band that is "
        "nearer to it. Speeds at a frequency outside of the band are converted to the nearer "
        "limit by the law of constant Q.",
    )
    exponent: float = Field(
        0.0, ge=0, le=1, description="Q grows as (f / corner)^exponent above corner; 0: constant Q."
    )
    corner: Quantity("Hz", gt=0) = Field(1.0, description="Frequency above which Q grows.")
    mechanisms: int | None = Field(
        None,
        ge=1,
        le=8,
        description="Number of Maxwell elements, 3 by default: constant Q is then within 5 % over two decades.",
        json_schema_extra=only(
            "dg", ("is a setting of the engine dg: a grid has eight mechanisms, each at every other point")
        ),
    )
    limit: bool = Field(
        False,
        description="Replace quality factors that cannot be represented by the nearest possible ones, with a "
        "warning, instead of rejecting the case: Q below 5, and Qp above 3/4 (Vp/Vs)^2 Qs, for "
        "which compression would gain energy.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (self.low is None or self.high is None or self.low < self.high, "low must be below high"),
            (
                self.exponent > 0 or "corner" not in self.model_fields_set,
                "corner has no effect without an exponent: Q is constant",
            ),
        )
        return self


class Projection(Settings):
    """Conversion of longitude and latitude to x and y: a map projection, an origin and a direction."""

    crs: str = Field(description="Any projection that PROJ understands, in metres: EPSG:32611, or +proj=utm +zone=11.")
    origin: tuple[float, float] | None = Field(
        None, description="Longitude and latitude [deg] of x = y = 0; default where the projection's coordinates are 0."
    )
    azimuth: Quantity("deg") = Field(0.0, description="Direction of the y axis, clockwise from the projection's north.")

    @field_validator("crs", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Reject a bare number, which could belong to any register, with advice to name it."""
        if isinstance(value, int) and not isinstance(value, bool):
            raise ValueError(f"{value} is a number: write 'EPSG:{value}' for a code of the EPSG register")
        return value


class IntensityOutput(Settings):
    """Maps of ground motion on the free surface, accumulated during the run (engine fd)."""

    periods: list[Quantity("s", gt=0)] = Field(
        default_factory=lambda: [0.3, 1.0, 3.0], description="Periods of the spectral accelerations."
    )
    damping: float = Field(0.05, ge=0, lt=1, description="Damping of the oscillators as a fraction of critical.")
    formats: list[str] = Field(
        default_factory=lambda: ["netcdf"],
        description="Formats in addition to NetCDF, which is always written: geotiff and shakemap (grid.xml), "
        "which need a projection, or a format of an installed package.",
    )
