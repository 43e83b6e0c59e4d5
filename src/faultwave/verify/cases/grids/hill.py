"""Engine fd over a Gaussian hill: against grids three times as fine, against tetrahedra of the same hill, and for 100,000 steps.

In two dimensions (sides along y are periodic) an explosion lies below the foot of the hill: one material, Vp/Vs = 1.73, a Ricker wavelet;
points are counted per S wavelength at 2.5 times its peak frequency. Both components of velocity at four positions on the ground are
judged by their relative L2 error against the same grid three times as fine. In three dimensions a double couple lies below the hill,
and the reference is the engine dg on a mesh whose surface is the same hill.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.types import Settings
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.run import simulate
from faultwave.verify import setups
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.exact import Array
from faultwave.verify.meshes import as_setting

if TYPE_CHECKING:
    from faultwave.domain.tets import Mesh

SHEAR, SPACING, CELLS = 1000.0, 10.0, 8
ROCK = {"rho": 2000.0, "vp": 3**0.5 * SHEAR, "vs": SHEAR}
LENGTH, DEPTH = 150 * SPACING, 59 * SPACING
ALONG = (75, 85, 95, 105)
"""Positions of receivers on the ground, in spacings."""
SHAPES = {0.71: (10.0, 12.0), 1.23: (10.0, 7.0)}
"""Height and width of the hill in spacings, by its largest slope."""
LIMITS = {(0.71, 6): 8.0, (0.71, 8): 3.7, (0.71, 12): 0.8, (1.23, 6): 9.8, (1.23, 8): 3.8, (1.23, 12): 0.9}
"""Largest error [%] by slope and points per wavelength."""
STEPS, LOOKS = 100_000, 50


def gaussian(height: float, width: float, axes: tuple[tuple[str, float], ...]) -> str:
    """Return a Gaussian hill as an expression of the (axis, centre) pairs in ``axes``."""
    square = " + ".join(f"({axis}-{at})*({axis}-{at})" for axis, at in axes)
    return f"{height} * exp(-({square}) / {width * width})"


def plane_case(points: int, slope: float, finer: int) -> Settings:
    """Return the case of a hill in two dimensions, with the spacing divided by ``finer``."""
    height, width = (SPACING * n for n in SHAPES[slope])
    h, f0 = SPACING / finer, SHEAR / (2.5 * points * SPACING)
    end = 1.2 / f0 + 95 * SPACING / SHEAR
    wavelet = {"kind": "ricker", "duration": 1 / f0}
    sources = [
        {"kind": "moment-tensor", "location": [60 * SPACING, (j + 0.5) * h, -11.5 * SPACING],
         "tensor": {"xx": 1e9 * h, "yy": 0.0, "zz": 1e9 * h}, "time_function": wavelet} for j in range(CELLS)
    ]  # fmt: skip
    ground = gaussian(height, width, (("x", 0.5 * LENGTH),))
    return {
        "engine": "fd", "end_time": end, "material": {"constant": ROCK}, "sources": sources,
        "numerics": {"precision": "double", "cfl": 0.9},
        "grid": {"lower": [0, 0, -DEPTH], "upper": [LENGTH, CELLS * h, 2 * height], "spacing": h,
                 "boundaries": {"x": "periodic", "y": "periodic", "z+": "free-surface"},
                 "topography": {"expression": ground, "sources": "elevation", "receivers": "depth"}},
        "output": {"receivers": {"points": [[n * SPACING, 0.5 * CELLS * h, 0] for n in ALONG], "interval": end / 400}},
    }  # fmt: skip


def plane_error(points: int, slope: float) -> float:
    """Return the relative L2 error [%] of the ground motion."""
    found = []
    for finer in (1, 3):
        data = simulate(plane_case(points, slope, finer)).run(write=False).receivers
        assert data is not None
        found.append(np.stack([data.quantity("v1"), data.quantity("v3")], -1))
    return 100 * float(np.sqrt(((found[0] - found[1]) ** 2).sum() / (found[1] ** 2).sum()))


# ---- against tetrahedra ---------------------------------------------------------------------------------------------------

HILL, WIDTH, SIDE, BOTTOM = 600.0, 800.0, 2600.0, -3000.0
"""Height and width of the hill, half width and bottom of the box around it [m]."""
SPEED, PEAK, END = 2000.0, 2.0, 1.6
"""S speed [m/s], peak frequency [Hz] of the wavelet, and end [s], before reflections from the sides of the mesh arrive."""
RECEIVERS = ((0.0, 0.0), (400.0, 300.0), (-500.0, 200.0), (100.0, -900.0))
EDGE = 150.0
ACROSS = np.array([-2600.0, -2200, -1800, -1400, *np.arange(-1050, 1051, EDGE), 1400, 1800, 2200, 2600])
UPWARDS = np.array([-3000.0, -2600, -2200, -1800, -1400, -1100, -850, *np.arange(-600, 1, EDGE)])
"""Coordinates of mesh vertices along x and y, and along z before the deformation."""


def height(x: Array, y: Array) -> Array:
    """Return the height of the hill [m]."""
    return np.asarray(HILL * np.exp(-(x * x + y * y) / WIDTH**2))


def hill_case(engine: str, points: int = 8) -> Settings:
    """Return the case for one of the engines, without the mesh."""
    common: Settings = {
        "engine": engine, "end_time": END, "material": {"constant": {"rho": 2500.0, "vp": 3**0.5 * SPEED, "vs": SPEED}},
        "sources": [{"kind": "moment-tensor", "location": [130.0, -70.0, -600.0], "tensor": {"xy": 1e15, "zz": 5e14, "xx": -5e14},
                     "time_function": {"kind": "ricker", "duration": 1 / PEAK}}],
    }  # fmt: skip
    if engine == "dg":
        hill = [float(height(np.array(x), np.array(y))) for x, y in RECEIVERS]
        below = [[x, y, min(z, facet(x, y) - 1e-3)] for (x, y), z in zip(RECEIVERS, hill, strict=True)]
        return common | {"numerics": {"order": 4}, "output": {"receivers": {"points": below, "interval": 0.01}}}
    ground = gaussian(HILL, WIDTH, (("x", 0.0), ("y", 0.0)))
    grid = {"lower": [-SIDE, -SIDE, BOTTOM], "upper": [SIDE, SIDE, 2 * HILL], "spacing": SPEED / (2.5 * PEAK * points),
            "topography": {"expression": ground, "sources": "elevation", "receivers": "depth"}}  # fmt: skip
    points_on = [[x, y, 0.0] for x, y in RECEIVERS]
    return common | {"grid": grid, "output": {"receivers": {"points": points_on, "interval": 0.01}}}


def raised(x: Array, y: Array) -> Array:
    """Return vertex heights for which the flat facets are, on average, as high as the curved hill.

    With vertices on the hill itself, facets lie below it where it is dome-shaped and above it where it is bowl-shaped.
    """
    h = height(x, y)
    bend = ((4 * x * x - 2 * WIDTH**2) + (4 * y * y - 2 * WIDTH**2) + 4 * x * y) * h / WIDTH**4
    return np.asarray(h - EDGE**2 / 12 * bend)


def facet(x: float, y: float) -> float:
    """Return the height of the mesh's surface, which has two triangular facets per lattice square."""
    i, j = (int(np.searchsorted(ACROSS, a, side="right")) - 1 for a in (x, y))
    (a, b), (c, d) = ACROSS[i : i + 2], ACROSS[j : j + 2]
    s, t = (x - a) / (b - a), (y - c) / (d - c)
    z = raised(np.array([a, b, a, b]), np.array([c, c, d, d]))
    along = s * (z[1] - z[0]) + t * (z[3] - z[1]) if s >= t else t * (z[2] - z[0]) + s * (z[3] - z[2])
    return float(z[0] + along)


def bent_mesh() -> Mesh:
    """Return a box of tetrahedra whose upper side is the hill."""
    axes = (ACROSS, ACROSS, UPWARDS)
    counts = (len(ACROSS) - 1, len(ACROSS) - 1, len(UPWARDS) - 1)
    box = Box(counts, (0.0, 0.0, 0.0), (float(counts[0]), float(counts[1]), float(counts[2])), {"z+": "free-surface"})
    mesh = box_mesh(box, "hill")
    x, y, z = (np.interp(n, np.arange(len(axis)), axis) for n, axis in zip(mesh.vertices.T, axes, strict=True))
    return replace(mesh, vertices=np.stack([x, y, z + raised(x, y) * (1 - z / BOTTOM)], 1))


def against_tetrahedra(points: int = 8) -> Array:
    """Return the relative L2 difference [%] of velocity at each receiver."""
    found = []
    with as_setting(bent_mesh()) as mesh:
        for case in (hill_case("fd", points), hill_case("dg") | {"mesh": mesh}):
            data = simulate(case).run(write=False).receivers
            assert data is not None
            found.append(np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1))
    grid, tetrahedra = found
    return np.asarray(100 * np.sqrt(((grid - tetrahedra) ** 2).sum((0, 2)) / (tetrahedra**2).sum((0, 2))))


# ---- for many steps -------------------------------------------------------------------------------------------------------


def long_case(rigid: bool) -> Settings:
    """Return the case of a small box under a hill of slope 1.27 for many steps.

    Rigid sides are run at the largest stable step, absorbing ones with soft ground.
    """
    boundaries = dict.fromkeys(("x", "y", "z-"), "rigid") if rigid else {}
    soft = {
        "rho": "2200",
        "vp": "if (z > -300) { return 1500; } return 4500;",
        "vs": "if (z > -300) { return 400; } return 2600;",
    }
    rock = {"rho": "2700", "vp": "3464", "vs": "2000"}
    ground = gaussian(420.0, 277.0, (("x", 850.0), ("y", 850.0)))
    return {
        "engine": "fd", "end_time": 10.0, "material": {"expression": rock if rigid else soft},
        "numerics": {"precision": "double", "cfl": 1.0} if rigid else {},
        "grid": {"lower": [0, 0, -1600], "upper": [1700, 1700, 900], "spacing": 100.0, "absorbing": {"width": 5},
                 "boundaries": boundaries | {"z+": "free-surface"},
                 "topography": {"expression": ground, "sources": "depth", "material": "elevation" if rigid else "depth"}},
        "sources": [{"kind": "moment-tensor", "location": [800, 830, -100], "tensor": {"xy": 1e15, "xx": 4e14, "zz": -4e14},
                     "time_function": {"kind": "ricker", "duration": 0.5}}],
    }  # fmt: skip


def energies(case: Settings) -> Array:
    """Return the energies of the grid [J] at LOOKS equally spaced times over STEPS steps."""
    operator = setups.grid_solver(case).operator
    found = []
    for _ in range(LOOKS):
        operator.advance(STEPS // LOOKS)
        now = operator.energies()
        found.append(now["elastic_energy"] + now["elastic_kinetic_energy"])
    return np.array(found)


def run_plane(progress: Progress) -> Result:
    """Judge the errors of ground motion in two dimensions."""
    rows: list[Row] = []
    for (slope, points), limit in LIMITS.items():
        progress(f"slope {slope}, {points} points a wavelength")
        rows.append(at_most(f"error [%], slope {slope}, {points} points", plane_error(points, slope), limit))
    return Result(tuple(rows))


def run_against_tetrahedra(progress: Progress) -> Result:
    """Judge the misfits against tetrahedra at the receivers."""
    progress("both engines")
    places = zip(RECEIVERS, against_tetrahedra(), strict=True)
    return Result(tuple(at_most(f"misfit [%] at ({x:g}, {y:g}) m, 8 points", float(m), 5.0) for (x, y), m in places))


def run_long(progress: Progress) -> Result:
    """Judge the growth of energy in 100,000 steps."""
    progress("rigid sides, the largest step")
    retained = energies(long_case(True))
    progress("absorbing sides, soft ground")
    left = energies(long_case(False))
    return Result((
        at_most("largest over first energy, rigid sides", float(retained.max() / retained[0]), 1.2),
        at_most("energy of the second half over that after 2,000 steps, absorbing sides", float(left[LOOKS // 2 :].max() / left[0]), 1e-2),
    ))  # fmt: skip


FD_HILL = VerificationCase("fd-hill", "grids over a Gaussian hill, by points a wavelength", run_plane, 8.0)
FD_HILL_AND_DG = VerificationCase(
    "fd-hill-and-dg", "grids and tetrahedra over the same hill", run_against_tetrahedra, 6.0
)
FD_HILL_STABLE = VerificationCase("fd-hill-stable", "100,000 steps over a steep hill", run_long, 5.0)
