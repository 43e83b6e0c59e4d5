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
        description="Points, of the lowest block where grid.blocks gives several: layers are as thick in all. Default 10 for cpml, "
        "20 for sponge.",
    )
    frequency: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Dominant frequency of the waves; default the resolved one.",
        json_schema_extra=only_for_kinds("cpml"),
    )
    along: float | None = Field(
        None,
        ge=0,
        le=1,
        description="Damping of all motion in the layer over that across it, which keeps soft layers at the sides stable. "
        "Default 0 where the fastest P wave is at most 3 times the slowest S wave, 0.02 where it is 6 times that or more.",
        json_schema_extra=only_for_kinds("cpml"),
    )


From = Literal["depth", "elevation"]


class Topography(Settings):
    """Topography of a grid, whose upper planes follow the ground. z is elevation; the free surface is the ground."""

    file: InputFile | None = Field(
        None, description="Raster of elevations: GeoTIFF, NetCDF, GMT grid or ESRI ASCII grid, known by its ending."
    )
    variable: str | None = Field(None, description="Variable of a NetCDF file that has several on x and y.")
    crs: str | None = Field(
        None,
        description="Projection of a raster that names none, e.g. EPSG:4326; 'local': it lies in the case's own x and y.",
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
        description="Of the cap below the lowest ground in which the grid's planes bend; default 4 times the relief where the box is deep "
        "enough. Cells are stretched by up to 1 + 1.33 relief / thickness.",
    )
    sources: From | None = Field(
        None,
        description="What z of sources means: elevation, or depth below the ground (z = -500 is 500 m deep). To be said where there are "
        "sources.",
    )
    receivers: From | None = Field(
        None,
        description="What z of receivers means: elevation, or depth below the ground (z = 0 is on it). To be said where there are "
        "receivers.",
    )
    material: From = Field(
        "elevation", description="What z of the material means: elevation, or depth below the ground (z = 0 is on it)."
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        unused = [n for n in ("variable", "crs") if self.file is None and getattr(self, n) is not None]
        need(
            ((self.file is None) != (self.expression is None), "give a file or an expression, one of both"),
            (not unused, f"{', '.join(unused)}: for a file only"),
        )
        return self


class Block(Settings):
    """Block of the grid with a larger spacing than the block above it."""

    below: Quantity("m", gt=0) = Field(
        description="Depth at which it begins: below the upper side of the box, below the lowest ground where there is a topography. From "
        "the block above it, a multiple of that block's spacing."
    )
    spacing: Quantity("m", gt=0) = Field(
        description="Its spacing: 2 or 3 times that of the block above; the same, too, below a first block with order 8 and topography."
    )


class PlaneOfFault(Settings):
    """Position of a fault in a grid: a vertical rectangle along x or y, through the centres of cells."""

    lower: Vector = Field(description="Corner with the smallest coordinates; x or y is that of the other corner, too.")
    upper: Vector = Field(
        description="Corner with the largest coordinates; at the upper side of the box the fault breaks the ground."
    )


class Grid(Settings):
    """Regular grid of the engine fd: z points up, and the upper side is the free surface."""

    lower: Vector | None = Field(
        None, description="Corner with the smallest coordinates; default that of mesh.generate."
    )
    upper: Vector | None = Field(
        None, description="Corner with the largest coordinates; default that of mesh.generate."
    )
    spacing: Quantity("m", gt=0) | None = Field(None, description="Edge of the cubic cells; or give frequency.")
    frequency: Quantity("Hz", gt=0) | None = Field(
        None, description="Highest frequency to resolve: chooses the spacing where none is given, else is checked."
    )
    points_per_wavelength: float = Field(
        6.0,
        ge=3,
        description="Points per shortest wavelength that count as resolved: of S waves, in fluids of P waves. Order 8 needs 4 where the "
        "material hardly varies.",
    )
    order: Literal[4, 8] = Field(
        4,
        description="Order of differences in space: 4, or 8, with which waves need fewer points that take longer each, where the material "
        "hardly varies. Elsewhere means of the material rule, and 4 costs less. Below a topography the uppermost of several blocks has "
        "order 4 always.",
    )
    time_dispersion: Literal["keep", "remove"] | None = Field(
        None,
        description="Whether sources and seismograms are freed of the error of the time step. Default: remove with order 8, keep with "
        "order 4, whose error in space it partly makes up for.",
    )
    step: Quantity("s", gt=0) | None = Field(
        None, description="Time step; default the largest stable one that divides the end time."
    )
    lowpass: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Older name of numerics.source_lowpass, which holds for both engines; one of them is enough.",
    )
    boundaries: dict[Side, GridSideKind] | None = Field(
        None,
        description="What is on an axis (x: both sides) or a side (x-, x+, which wins); absorbing where nothing is said, free-surface at "
        "z+ where nothing is said of z or z+. Default: those of mesh.generate where the box is its. Kinds: absorbing, "
        "free-surface (z+ only), periodic (whole axes), rigid.",
    )
    blocks: list[Block] = Field(
        default_factory=list,
        description="Blocks of larger spacing, from above down; grid.spacing is that of the uppermost one. Where waves are faster at depth "
        "they need fewer points there; 'faultwave plan' proposes blocks. The box is a multiple of the largest spacing along x and y.",
    )
    absorbing: AbsorbingLayer = Field(default_factory=AbsorbingLayer, description="Absorbing sides.")
    fault: PlaneOfFault | None = Field(
        None, description="Where the fault of `fault` lies: a grid has one, vertical, along x or y."
    )
    topography: Topography | None = Field(
        None,
        description="A ground that is not flat; the box must contain it, and the third number of upper does nothing else.",
    )

    @model_validator(mode="after")
    def _countable(self) -> Self:
        lower, upper, spacing = (getattr(self, name) for name in ("lower", "upper", "spacing"))
        if spacing is not None and lower is not None and upper is not None:
            sides = [(b - a) / spacing for a, b in zip(lower, upper, strict=True)]
            most = f"{spacing:g} m between points makes {max(sides):.3g} points along a side, up to {LONGEST_SIDE:g} can be"
            need((max(sides) <= LONGEST_SIDE, most))
        return self

    @model_validator(mode="after")
    def _sound(self) -> Self:
        sides = self.boundaries or {}
        half = [s for s, kind in sides.items() if kind == "periodic" and len(s) == 2]
        free = [s for s, kind in sides.items() if kind == "free-surface" and s != "z+"]
        need(
            (self.spacing or self.frequency, "give spacing or frequency"),
            (not self.blocks or self.spacing, "blocks: give spacing, that of the uppermost block"),
            ((self.lower is None) == (self.upper is None), "give lower and upper, or neither"),
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
        description="Upper end of the band; default the frequency that a grid resolves; on tetrahedra it must be given.",
    )
    reference: Quantity("Hz", gt=0) | None = Field(
        None,
        description="Frequency of the material's wave speeds; default 1 Hz, or the end of low to high that is nearer to it. What is given "
        "outside of these is taken to the nearer end by the law of constant Q.",
    )
    exponent: float = Field(
        0.0, ge=0, le=1, description="Q grows as (f / corner)^exponent above corner; 0: constant Q."
    )
    corner: Quantity("Hz", gt=0) = Field(1.0, description="Where Q begins to grow with frequency.")
    mechanisms: int | None = Field(
        None,
        ge=1,
        le=8,
        description="Maxwell elements that make Q, 3 by default: constant Q is then within 5 % over two decades.",
        json_schema_extra=only("dg", "is a setting of the engine dg: a grid has eight, each at every other point"),
    )
    limit: bool = Field(
        False,
        description="Take quality factors that cannot be had to the nearest that can, with a warning, instead of refusing the case: Q "
        "below 5, and Qp above 3/4 (Vp/Vs)^2 Qs, with which compression would gain energy.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (self.low is None or self.high is None or self.low < self.high, "low must be below high"),
            (
                self.exponent > 0 or "corner" not in self.model_fields_set,
                "corner does nothing without an exponent: Q is constant",
            ),
        )
        return self


class Projection(Settings):
    """Conversion of longitude and latitude to x and y: a map projection, an origin and a direction."""

    crs: str = Field(description="Anything PROJ understands, with metres: EPSG:32611, or +proj=utm +zone=11.")
    origin: tuple[float, float] | None = Field(
        None, description="Longitude and latitude [deg] of x = y = 0; default where the projection's coordinates are 0."
    )
    azimuth: Quantity("deg") = Field(0.0, description="Direction of the y axis, clockwise from the projection's north.")

    @field_validator("crs", mode="before")
    @classmethod
    def _named(cls, value: object) -> object:
        """Reject a bare number, which could belong to any register, with advice to name it."""
        if isinstance(value, int) and not isinstance(value, bool):
            raise ValueError(f"{value} is a number: write 'EPSG:{value}' if it is one of the EPSG register")
        return value


class IntensityOutput(Settings):
    """Maps of ground motion on the free surface, accumulated during the run (engine fd)."""

    periods: list[Quantity("s", gt=0)] = Field(
        default_factory=lambda: [0.3, 1.0, 3.0], description="Periods of the spectral accelerations."
    )
    damping: float = Field(0.05, ge=0, lt=1, description="Damping of the oscillators, part of critical.")
    formats: list[str] = Field(
        default_factory=lambda: ["netcdf"],
        description="Besides NetCDF, which is always written: geotiff and shakemap (grid.xml), which need a projection, or what an "
        "installed package adds.",
    )
