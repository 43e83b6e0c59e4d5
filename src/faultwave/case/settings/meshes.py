"""Settings of meshes that Faultwave makes: for a place, a box of bricks, and a planar fault in a box."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import InputFile, Settings, Vector, check_ascending, check_meshable, need
from faultwave.case.settings.grid import Side

Corner = tuple[Quantity("m"), Quantity("m")]

COHESIVE_POINTS = 3.0
"""Number of solution points in the cohesive zone."""


class HeightFile(Settings):
    """Heights of the ground from a raster: GeoTIFF, NetCDF (including GMT grids) or ESRI ASCII."""

    file: InputFile = Field(description="The raster, heights in metres, the sea floor negative.")
    variable: str | None = Field(None, description="Variable with the heights, if a NetCDF file has several.")
    crs: str | None = Field(
        None,
        description=(
            "Coordinate system if the file does not state it: local (x, y of the case), or any that PROJ understands."
        ),
    )
    receivers: Literal["elevation", "depth"] = Field(
        "elevation",
        description="Meaning of z of receivers: elevation, or depth below the ground (z = 0 is on the mesh's).",
    )


class Surface(Settings):
    """Lower side of a layer, at a depth or from a raster of heights."""

    depth: Quantity("m", gt=0) | None = Field(None, description="Depth below z = 0.")
    file: InputFile | None = Field(None, description="Raster with the heights of the surface.")
    variable: str | None = Field(None, description="As of the topography.")
    crs: str | None = Field(None, description="As of the topography.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        need(((self.depth is None) != (self.file is None), "set either depth or file"))
        return self


def _table(value: object) -> object:
    """Return a single dip, valid at all depths, as a table of one row."""
    return value if isinstance(value, list | tuple) else [[0.0, value]]


Dips = Annotated[list[tuple[Quantity("m", ge=0), Quantity("deg", ge=10, le=90)]], BeforeValidator(_table)]


class BuildFault(Settings):
    """Fault given by its trace and dip, as a triangulated surface, or as the planes of a finite source."""

    name: str | None = Field(None, description="Name; default: that in the file, otherwise fault-1 and so on.")
    trace: InputFile | None = Field(
        None,
        description="GeoJSON (LineString), or rows of numbers with a header lon, lat or x, y; each line becomes a fault.",
    )
    surface: InputFile | None = Field(
        None, description="Triangles: GOCAD TSurf (.ts), STL or VTK polydata, z up, in x, y of the case or its map."
    )
    planes: InputFile | None = Field(
        None,
        description="Segments of a finite source, SRF or FSP, or rupture.json of ShakeMap: each becomes a fault with its own "
        "strike, dip, length, width and depth.",
    )
    outside: Literal["error", "clip"] = Field(
        "error",
        description=(
            "Treatment of a fault that leaves the region: an error, or cut it one element inside the sides and bottom."
        ),
    )
    dip: Dips = Field(
        [(0.0, 90.0)],
        validate_default=True,
        description="Dip, or rows [depth, dip], each valid from its depth downwards.",
        json_schema_extra={"words": "number >= 10 and <= 90 [deg], or rows [depth [m], dip [deg]]"},
    )
    dip_direction: Quantity("deg") | None = Field(
        None,
        description=(
            "Dip direction, clockwise from true north; default: to the right of the trace from its "
            "first to its last point."
        ),
    )
    top: Quantity("m", ge=0) = Field(
        0.0, description=("Depth of the upper edge below the ground; 0: the fault reaches the surface.")
    )
    depth: Quantity("m", gt=0) = Field(15e3, description="Depth of the lower edge below z = 0.")
    size: Quantity("m", gt=0) | None = Field(None, description="Element edge on the fault; default: fault_size.")
    stops_at: list[str] = Field(
        default_factory=list,
        description=(
            "Names of faults at which this fault ends; a trace that ends within an element of another "
            "fault ends there automatically."
        ),
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        rows: Any = self.dip
        depths = [depth for depth, _ in rows]
        need(
            (
                [self.trace, self.surface, self.planes].count(None) == 2,
                "set one of trace, surface and planes",
            ),
            (
                self.planes is None or not {"dip", "dip_direction", "top", "depth"} & self.model_fields_set,
                "planes define their own dip, top and depth",
            ),
            (self.surface is None or self.outside == "error", "outside: clip is for traces and planes"),
            (depths == sorted(set(depths)), "depths of dip must increase"),
            (self.top < self.depth, f"top, {self.top:g} m, must be above depth, {self.depth:g} m"),
        )
        return self


class Build(Settings):
    """Tetrahedral mesh for a place, made by Gmsh."""

    lower: Corner = Field(description="Corner of the region with the smallest x and y.")
    upper: Corner = Field(description="Corner of the region with the largest x and y.")
    depth: Quantity("m", gt=0) = Field(description="Bottom of the region below z = 0.")
    reflections_after: Quantity("s", gt=0) | None = Field(
        None,
        description="Move sides and bottom outwards until their reflections return to the region only after "
        "this time. Elements grow there.",
    )
    frequency: Quantity("Hz", gt=0) | None = Field(
        None, description="Highest frequency to resolve: element sizes follow the local slowest wave."
    )
    points_per_wavelength: float = Field(
        10.0, ge=2, description="Points per shortest wavelength (as many per edge as the order), as reported by `plan`."
    )
    far_size: Quantity("m", gt=0) | None = Field(
        None, description="Largest edge; default: an eighth of the longest side of the region."
    )
    fault_size: Quantity("m", gt=0) | None = Field(
        None, description="Edge on faults without a size; default: from cohesive_zone, otherwise as the waves require."
    )
    cohesive_zone: Quantity("m", gt=0) | None = Field(
        None,
        description=(
            "Length of the cohesive zone, which is resolved by three points (as many per edge as the "
            "order) if fault_size is absent."
        ),
    )
    growth: float = Field(0.3, gt=0, le=1, description="Growth of edges per metre of distance from fine elements.")
    topography: HeightFile | None = Field(None, description="Heights of the ground; absent: flat at z = 0.")
    sea: bool = Field(
        False, description="Fill the region below z = 0 that is connected to a side with water: a volume named sea."
    )
    sea_slope: float = Field(
        0.1,
        gt=0,
        le=1,
        description="Smallest slope of the sea floor at the coast; flatter shores require small time steps.",
    )
    sea_surface: Literal["free-surface", "gravity"] = Field(
        "free-surface", description="Boundary kind of the sea surface; gravity (tag 2) simulates tsunamis."
    )
    layers: list[Surface] = Field(
        default_factory=list,
        description=(
            "Lower interfaces of layers that element faces follow, from top to bottom: volumes layer-1, layer-2, ..."
        ),
    )
    faults: list[BuildFault] = Field(default_factory=list, description="Faults: tag 3, then 65, 66, ...")
    rounds: int = Field(
        4, ge=1, le=10, description="Largest number of meshing passes, each finer where waves are not resolved."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            check_ascending(self.lower, self.upper),
            self._meshable(),
            (not self.sea or self.topography is not None, "sea needs topography, which defines the sea floor"),
            (self.sea or self.sea_surface == "free-surface", "sea_surface needs sea: true"),
        )
        return self

    def _meshable(self) -> tuple[bool, str]:
        lower: Any = self.lower
        upper: Any = self.upper
        sides = [abs(upper[axis] - lower[axis]) for axis in range(2)]
        size = self.far_size or max(*sides, self.depth) / 8
        return check_meshable((*sides, self.depth), size, "lower, upper and depth")

    def edge_on_faults(self, order: int) -> float | None:
        """Return ``fault_size``, or the edge that resolves ``cohesive_zone``.

        Parameters
        ----------
        order : int
            Order of the solution.

        Returns
        -------
        float or None
            Edge length on faults [m], None if neither setting is given.
        """
        if self.fault_size is not None or self.cohesive_zone is None:
            return self.fault_size
        return min(self.cohesive_zone, self.cohesive_zone * order / COHESIVE_POINTS)


SideKind = Literal[
    "periodic",
    "absorbing",
    "free-surface",
    "sealed-surface",
    "gravity",
    "rigid",
    "symmetry",
    "impedance",
    "dirichlet",
    "analytic",
    "pec",
    "pmc",
]


class GenerateBox(Settings):
    """Box of bricks, each split into six tetrahedra, or five."""

    shape: Literal["box"] = Field(description="Which built-in mesh.")
    cells: tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]] = Field(
        description="Bricks along x, y and z."
    )
    lower: Vector = Field(description="Corner with the smallest coordinates.")
    upper: Vector = Field(description="Corner with the largest coordinates.")
    boundaries: dict[Side, SideKind] = Field(
        default_factory=dict,
        description="Kind of boundary of an axis (x: both sides) or of a side (x-, x+; overrides the axis); "
        "default: absorbing. Kinds: periodic (whole axes only), absorbing, free-surface, "
        "sealed-surface, gravity, rigid, symmetry, impedance, dirichlet, analytic, pec, pmc.",
    )
    perturb: float = Field(
        0.0, ge=0, lt=0.5, description="Move inner vertices randomly by up to this fraction of an edge."
    )
    seed: int = Field(0, ge=0, description="Seed of the random numbers.")
    shuffle: bool = Field(False, description="Number the vertices at random and vary the tetrahedra's orientation.")
    tetrahedra: Literal[5, 6] = Field(6, description="Tetrahedra per brick; SeisSol's cube generator has 5.")
    fault: tuple[Literal["x", "y", "z"], Quantity("m")] | None = Field(
        None, description="A plane of fault faces across the box: axis and coordinate, on a plane between bricks."
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        half = [s for s, kind in self.boundaries.items() if kind == "periodic" and len(s) == 2]
        named = {s[0] for s in self.boundaries if len(s) == 2}
        mixed = sorted(a for a in named if self.boundaries.get(a) == "periodic")  # type: ignore[call-overload]
        need(
            check_ascending(self.lower, self.upper),
            (not half, f"periodic is for a whole axis: write '{half[0][0] if half else ''}: periodic'"),
            (not mixed, f"axis {', '.join(mixed)} is periodic, so its sides cannot be anything else"),
            (
                not self.seed or self.perturb or self.shuffle,
                "seed has no effect without perturb or shuffle",
            ),
        )
        return self


class GenerateTpv5(Settings):
    """Planar fault that reaches the free surface, in a box whose elements grow away from it.

    The trace is along x through the origin, z = 0 is the free surface, all other sides absorb.
    """

    shape: Literal["tpv5"] = Field(description="Which built-in mesh.")
    size: Quantity("m", gt=0) = Field(500.0, description="Element edge on the fault.")
    far_size: Quantity("m", gt=0) = Field(5000.0, description="Largest element edge, far from the fault.")
    half_width: tuple[Quantity("m", gt=0), Quantity("m", gt=0)] = Field(
        (40e3, 30e3), description="Half extent of the box along x and y."
    )
    depth: Quantity("m", gt=0) = Field(40e3, description="Depth of the box.")
    fault_length: Quantity("m", gt=0) = Field(30e3, description="Length of the fault along x.")
    fault_depth: Quantity("m", gt=0) = Field(15e3, description="Down-dip width of the fault.")
    dip: Quantity("deg", gt=10, le=90) = Field(90.0, description="Dip; the fault dips towards +y.")
    mesher: Literal["auto", "gmsh", "builtin"] = Field(
        "auto",
        description="gmsh, or builtin (the graded mesh of this package); auto uses gmsh if it can be loaded.",
    )
    patches: list[tuple[Quantity("m"), Quantity("m"), Quantity("m", ge=0), Quantity("m", ge=0)]] = Field(
        default_factory=list,
        description="Rectangles on the fault whose sides the faces follow, for steps of stress or strength: "
        "from and to along x, from and to down dip.",
    )

    @model_validator(mode="after")
    def _sound(self) -> Self:
        need(
            (self.far_size >= self.size, "far_size must not be below size"),
            (self.size <= min(self.fault_length, self.fault_depth), "size must fit into fault_length and fault_depth"),
            (
                self.fault_length < 2 * self.half_width[0],
                "the fault must lie inside the box: raise half_width or cut fault_length",
            ),
            check_meshable(
                (2 * self.half_width[0], 2 * self.half_width[1], self.depth), self.far_size, "half_width and depth"
            ),
            check_meshable((self.fault_length, self.fault_depth), self.size, "fault_length and fault_depth"),
            (self.fault_depth < self.depth, "the fault must lie inside the box: raise depth or cut fault_depth"),
            (
                all(
                    -self.fault_length / 2 < a < b < self.fault_length / 2 and 0 < c < d < self.fault_depth
                    for a, b, c, d in self.patches
                ),
                "each of patches is [from, to] along x and [from, to] down dip, inside the fault",
            ),
        )
        return self
