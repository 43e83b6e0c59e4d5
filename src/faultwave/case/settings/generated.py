"""Settings of built-in meshes: a box of bricks, and a planar fault in a box."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from faultwave.base.units import Quantity
from faultwave.case.settings.common import Settings, Vector, check_ascending, check_meshable, need
from faultwave.case.settings.grid import Side

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
        description="What is on an axis (x: both sides) or a side (x-, x+, which wins); absorbing where nothing "
        "is said. Kinds: periodic (whole axes only), absorbing, free-surface, sealed-surface, gravity, rigid, symmetry, impedance, "
        "dirichlet, analytic, pec, pmc.",
    )
    perturb: float = Field(
        0.0, ge=0, lt=0.5, description="Inner vertices moved at random by up to this part of an edge."
    )
    seed: int = Field(0, ge=0, description="Seed of everything random.")
    shuffle: bool = Field(False, description="Number the vertices at random and vary the tetrahedra's orientation.")
    tetrahedra: Literal[5, 6] = Field(6, description="Tetrahedra of a brick; 5, as SeisSol's cube generator has them.")
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
                "seed does nothing without perturb or shuffle",
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
        description="gmsh, or the graded mesh of this package, which needs nothing else; auto takes gmsh if it loads.",
    )
    patches: list[tuple[Quantity("m"), Quantity("m"), Quantity("m", ge=0), Quantity("m", ge=0)]] = Field(
        default_factory=list,
        description="Rectangles on the fault whose sides the faces follow, as a step of stress or strength asks for: from and to along x, "
        "from and to down dip.",
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
