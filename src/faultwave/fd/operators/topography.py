"""Topography of a case: reading, checks, the curvilinear grid that follows it, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.settings.model import Case
from faultwave.domain.grid_relief import BEND, MARGIN, Relief
from faultwave.fd.method.differences import C1, C2, LOW, M1, M2
from faultwave.fd.method.grid import Grid, SideKind
from faultwave.fd.method.scheme import PLANES_BELOW_CURVILINEAR
from faultwave.kernels.stencil import REACH
from faultwave.media.field import Expression, Field
from faultwave.media.points import Floats, Integers
from faultwave.media.rasters import MISSING, RasterGround, load_ground
from faultwave.observe.stations.points import AS_CASE, GROUND

WHERE = "grid.topography"
Elevation = Callable[[np.ndarray, float], np.ndarray]
"""Function of places (n, 2) [m] and a width [m] with the elevation (n,) [m] averaged over that width."""
HIGHEST_GROUND = 9000.0
"""Elevation [m] above which raster values may stand for missing data; no ground is as high."""
GROUND_SAMPLES = 400
"""Number of places along x and y at which the ground is examined before there is a grid."""
THICK, THIN = 4.0, 2.0
"""Thickness of the curvilinear layer relative to the relief: default and minimum."""
LEAST_CAP = 8
"""Minimum thickness of the curvilinear layer in cells."""
STEEPEST, STEEP_GROUND = 2.0, 1.3
"""Slopes above which a ground is rejected, and above which results are not verified."""
SMOOTHING_WARNING_FRACTION = 0.5
"""Fraction of the relief left by smoothing below which a warning is issued."""
PERIODIC_STEP_TOLERANCE = 0.01
"""Largest step of the ground between the ends of a periodic axis, in spacings."""
TAPER, LEVEL = 4.0, 3.0
"""Number of cells over which the ground becomes level towards an absorbing side, and of level cells next to it.

Level ground keeps the layers reciprocal.
"""
ANGLES, LEVELS, CLASS = 361, 8, 0.05
"""Resolution of the largest wavenumber: phases, levels of the curvilinear layer, and width of slope classes."""


@dataclass(frozen=True, eq=False)
class Ground:
    """Topography of the box.

    Attributes
    ----------
    elevation : callable
        Elevation as a function of place and width (see ``Elevation``).
    raster : RasterGround or None
        Raster from which it is interpolated, if any.
    lowest, highest : float
        Extremes on a coarse lattice of the box [m].
    """

    elevation: Elevation
    raster: RasterGround | None
    lowest: float
    highest: float

    def missing_values(self, lower: np.ndarray, upper: np.ndarray) -> str:
        """Return a question about missing raster values for messages on a strange relief.

        Empty if none seem to be missing.
        """
        corners = np.array([[x, y] for x in (lower[0], upper[0]) for y in (lower[1], upper[1])])
        return "" if self.raster is None else self.raster.doubt(corners)


def read_ground(case: Case, lower: np.ndarray, upper: np.ndarray, sides: Mapping[str, SideKind]) -> Ground | None:
    """Return the topography of the case, None if the ground is flat.

    Parameters
    ----------
    case : Case
    lower, upper : ndarray (3,)
        Corners of the requested box [m].
    sides : mapping of str to SideKind

    Raises
    ------
    InputError
        If the setting, its file or its extent is wrong.
    """
    setting = None if case.grid is None else case.grid.topography
    if setting is None:
        return None
    _check_topography_settings(case, sides)
    raster: RasterGround | None = None
    if setting.expression is not None:
        elevation = _expression(setting.expression)
    else:
        raster = load_ground(setting, case.projection, WHERE)
        elevation = raster.elevation
    x, y = (np.linspace(lower[k], upper[k], GROUND_SAMPLES) for k in (0, 1))
    xy = np.stack([a.ravel() for a in np.meshgrid(x, y)], 1)
    found = elevation(xy, float(max(x[1] - x[0], y[1] - y[0])))
    bad = ~np.isfinite(found)
    if bad.any():
        raise InputError(
            Problem(WHERE, f"the ground is {found[bad][0]} at {_place(xy[bad][0])}", "a number everywhere")
        )
    high, low = int(found.argmax()), int(found.argmin())
    advice = MISSING if raster is not None and np.abs(found).max() > HIGHEST_GROUND else ""
    if found[high] > upper[2]:
        what = f"the ground, {found[high]:.6g} m high at {_place(xy[high])}, is above the box, which ends at z = {upper[2]:g} m"
        raise InputError(Problem(WHERE, what, "grid.upper above the highest ground, in metres", advice))
    if found[low] <= lower[2]:
        what = f"the ground, {found[low]:.6g} m high at {_place(xy[low])}, is below the box, which begins at z = {lower[2]:g} m"
        raise InputError(Problem(WHERE, what, "grid.lower well below the lowest ground", advice))
    return Ground(elevation, raster, float(found[low]), float(found[high]))


def _check_topography_settings(case: Case, sides: Mapping[str, SideKind]) -> None:
    """Report settings that cannot be combined with a topography, and missing ones."""
    problems, setting = Problems(), case.grid.topography if case.grid else None
    assert setting is not None
    if sides["z+"] != SideKind.FREE_SURFACE:
        problems.error(
            WHERE, f"the ground is a free surface, but z+ is {sides['z+']}", "grid.boundaries: {z+: free-surface}"
        )
    for name, given in needs_z_reference(case).items():
        if given and getattr(setting, name) is None:
            what = f"z of the {name} may mean elevation or depth below the ground"
            problems.error(f"{WHERE}.{name}", what, "elevation or depth (z = -500 is 500 m deep)")
    if case.output.volume is not None:
        what = "snapshots of the volume need a regular lattice, which a grid below a topography does not have"
        problems.error("output.volume", what, "output.surface, output.intensity or output.receivers")
    problems.raise_errors()


def needs_z_reference(case: Case) -> dict[str, bool]:
    """Return, for sources and for receivers, True if the case has some whose z may mean elevation or depth."""
    points = any(source.kind != "plane-wave" for source in case.sources)
    soil = case.output.soil is not None and bool(case.output.soil.points or case.output.soil.file)
    return {"sources": points, "receivers": case.output.receivers is not None or soil}


def _expression(body: str) -> Elevation:
    made = Expression.of({"expression": body}, WHERE)
    if "z" in made.axes or made.timed:
        raise InputError(Problem(f"{WHERE}.expression", "the ground depends on z or t", "a function of x and y"))

    def elevation(xy: np.ndarray, width: float) -> np.ndarray:
        points = np.column_stack([xy, np.zeros(len(xy))])
        return made.evaluate(points, np.ones(len(points), np.int64), ["expression"])["expression"]

    return elevation


def _place(xy: Sequence[float] | np.ndarray) -> str:
    return f"x = {xy[0]:g}, y = {xy[1]:g} m"


# ---- the grid that follows it --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AxisNodes:
    """Nodes of the grid along one axis, two for each cell.

    Attributes
    ----------
    first : float
        Lower end of the grid [m].
    cells : int
        Number of cells.
    low, high : float
        Ends of the requested box [m].
    absorbing : tuple of bool
        True for each end with an absorbing layer.
    periodic : bool
        True if the axis is periodic.
    """

    first: float
    cells: int
    low: float
    high: float
    absorbing: tuple[bool, bool]
    periodic: bool

    def even(self, spacing: float) -> np.ndarray:
        """Return the coordinates of the nodes [m]."""
        return np.asarray(self.first + 0.5 * spacing * (np.arange(2 * self.cells + 1 + 2 * MARGIN) - MARGIN))

    def inside(self, spacing: float) -> np.ndarray:
        """Return the coordinates moved into the box: wrapped along periodic axes, clipped along others."""
        x = self.even(spacing)
        if self.periodic:
            return np.asarray(self.low + (x - self.low) % (self.high - self.low))
        return np.clip(x, self.low, self.high)

    def nodes(self, spacing: float) -> np.ndarray:
        """Return the coordinates at which the ground of each node is evaluated, constant near absorbing sides."""
        if self.periodic:
            return self.inside(spacing)
        x = self.even(spacing)
        width, edge = TAPER * spacing, LEVEL * spacing
        low, high = (x - self.low - edge) / width, (self.high - edge - x) / width
        x = np.where(self.absorbing[0] & (low < 1.0), self.low + edge + width * _levelled(low), x)
        x = np.where(self.absorbing[1] & (high < 1.0), self.high - edge - width * _levelled(high), x)
        return np.clip(x, self.low, self.high)


def _levelled(t: np.ndarray) -> np.ndarray:
    """Return ``t`` above 1, a constant below 0, and a smooth transition between."""
    s = np.clip(t, 0.0, 1.0)
    return np.where(t < 1.0, 0.5 + s**4 * (2.5 + s * (-3.0 + s)), t)


def relief_of(
    case: Case, ground: Ground, lines: tuple[AxisNodes, AxisNodes], spacing: float, available: float, problems: Problems
) -> Relief:
    """Return the relief that the grid follows.

    Parameters
    ----------
    case : Case
    ground : Ground
    lines : tuple of AxisNodes
        Nodes along x and y.
    spacing : float
        Grid spacing [m].
    available : float
        Height of the lowest ground above the bottom of the box or of the uppermost block [m].
    problems : Problems

    Raises
    ------
    InputError
        If the ground, its smoothing or the thickness of the curvilinear layer is not possible.
    """
    setting = case.grid.topography if case.grid else None
    assert setting is not None
    smooth = _smooth(setting.smooth, spacing * (ground.raster is not None), lines)
    x, y = (line.inside(spacing) if smooth else line.nodes(spacing) for line in lines)
    xy = np.stack([a.ravel() for a in np.meshgrid(x, y)], 1)
    heights = ground.elevation(xy, 0.5 * spacing).reshape(len(y), len(x))
    if not np.isfinite(heights).all():
        n = int(np.flatnonzero(~np.isfinite(heights))[0])
        raise InputError(Problem(WHERE, f"the ground is not finite at {_place(xy[n])}"))
    _check_ends(lines, ground, spacing)
    before = float(np.ptp(heights))
    for axis, line in ((1, lines[0]), (0, lines[1])):
        heights = _smoothed(heights, axis, line, spacing, smooth)
    if float(np.ptp(heights)) < SMOOTHING_WARNING_FRACTION * before:
        what = f"smoothing over {smooth:g} m leaves {np.ptp(heights):.4g} m of a relief of {before:.4g} m"
        corners = np.array([[line.low, line.high] for line in lines]).T
        advice = f"Use a smaller smooth to preserve hills and valleys. {ground.missing_values(*corners)}".strip()
        problems.warn(f"{WHERE}.smooth", what, advice=advice)
    for axis, line in ((1, lines[0]), (0, lines[1])):
        if smooth and any(line.absorbing):  # after smoothing, which would deform level ground
            from scipy import interpolate  # takes long to import, and few runs need it

            spline = interpolate.CubicSpline(line.even(spacing), heights, axis)
            heights = np.asarray(spline(line.nodes(spacing)))
    top = float(heights.min())
    relief = float(heights.max()) - top
    thickness = _thickness(setting.thickness, relief, spacing, available, bool(case.grid and case.grid.blocks))
    around = (2 * lines[0].cells * lines[0].periodic, 2 * lines[1].cells * lines[1].periodic)
    return Relief(heights - top, (lines[0].first, lines[1].first), spacing, top, thickness, around)


def _check_ends(lines: tuple[AxisNodes, AxisNodes], ground: Ground, spacing: float) -> None:
    """Raise InputError if the ends of a periodic axis have different heights."""
    for axis, line, name in ((1, lines[0], "x"), (0, lines[1], "y")):
        if not line.periodic:
            continue
        other = lines[axis]
        across = other.nodes(spacing)
        ends = [np.full((len(across), 2), line.low), np.full((len(across), 2), line.high)]
        for end in ends:
            end[:, axis] = across
        step = np.abs(np.subtract(*(ground.elevation(end, 0.5 * spacing) for end in ends)))
        if step.max() > PERIODIC_STEP_TOLERANCE * spacing:
            what = f"the ground is {step.max():.4g} m higher at one end of the periodic axis {name} than at the other"
            raise InputError(Problem(WHERE, what, "the same at both", f"Or grid.boundaries: {{{name}: absorbing}}."))


def _smooth(requested: float | None, default: float, lines: tuple[AxisNodes, AxisNodes]) -> float:
    """Return the standard deviation of the Gaussian filter [m]; raises InputError if it exceeds the box."""
    longest = max(line.high - line.low for line in lines)
    if requested is not None and requested > longest:
        raise InputError(
            Problem(f"{WHERE}.smooth", f"{requested:g} m", f"at most {longest:g} m, the longer side of the box")
        )
    return default if requested is None else requested


def _smoothed(heights: np.ndarray, axis: int, line: AxisNodes, spacing: float, smooth: float) -> np.ndarray:
    """Return heights smoothed along an axis, periodic or with constant continuation."""
    from scipy import ndimage  # takes long to import, and few runs need it

    deviation = smooth / (0.5 * spacing)
    if not line.periodic:
        return ndimage.gaussian_filter1d(heights, deviation, axis, mode="nearest") if smooth else heights
    period = 2 * line.cells
    heights = np.take(heights, MARGIN + np.arange(period), axis)
    if smooth:
        heights = ndimage.gaussian_filter1d(heights, deviation, axis, mode="wrap")
    return np.take(heights, (np.arange(period + 1 + 2 * MARGIN) - MARGIN) % period, axis)


def _thickness(requested: float | None, relief: float, spacing: float, available: float, blocks: bool) -> float:
    """Return the thickness of the curvilinear layer [m]; raises InputError if there is not enough depth.

    Some planes below it remain flat, more of them if another block follows.
    """
    flat = PLANES_BELOW_CURVILINEAR + REACH + 1 + LOW * blocks
    most = available - flat * spacing
    least = max(THIN * relief, LEAST_CAP * spacing)
    if least > most:
        what = f"a relief of {relief:.6g} m needs a curvilinear layer down to {least:.6g} m below the lowest ground"
        needed = f"{least + flat * spacing:.6g} m of {'the uppermost block' if blocks else 'box'} below it, there are {available:.6g}"
        deeper = "Extend the uppermost block downwards (grid.blocks[0].below)."
        raise InputError(Problem(WHERE, what, needed, deeper if blocks else "Lower the third number of grid.lower."))
    if requested is not None and not least <= requested <= most:
        allowed = f"{least:.6g} to {most:.6g} m for a relief of {relief:.6g} m"
        raise InputError(Problem(f"{WHERE}.thickness", f"{requested:g} m", allowed))
    return requested if requested is not None else min(max(THICK * relief, 2 * LEAST_CAP * spacing), most)


def check_slopes(relief: Relief, ground: Ground, lower: np.ndarray, upper: np.ndarray, problems: Problems) -> None:
    """Report an error for cliffs and a warning for slopes beyond the verified range.

    Raster values may be missing there.
    """
    slope, x, y = relief.steepest()
    if slope <= STEEP_GROUND:
        return
    x, y = float(np.clip(x, lower[0], upper[0])), float(np.clip(y, lower[1], upper[1]))
    what = f"the ground has a slope of {slope:.3g} ({np.degrees(np.arctan(slope)):.0f} degrees) at {_place((x, y))}"
    advice = f"Smooth it, e.g. smooth: {2 * relief.spacing:g} m, or use a smaller spacing that resolves it."
    doubt = ground.missing_values(lower, upper)
    if slope > STEEPEST:
        usual = "If the location has no cliff, check the file for missing values." if ground.raster is not None else ""
        problems.error(WHERE, what, f"at most {STEEPEST:g}", f"{advice} {doubt or usual}".strip())
    else:
        problems.warn(WHERE, what, f"verified up to {STEEP_GROUND:g}", f"{advice} {doubt}".strip())


# ---- the step ------------------------------------------------------------------------------------------------------------


def relative_stable_step(relief: Relief) -> float:
    """Return the largest stable step relative to the flat grid, at most 1.

    It follows from the largest wavenumber of the curvilinear operator. Where the grid has slopes a, b and cells are
    stretched by J, a wave of phases t along the grid's axes has the wavenumbers d(t1) - a p(t1) p(t3) d(t3), d(t2) - b
    p(t2) p(t3) d(t3) and d(t3) / J, with the responses d of differences and p of means. Slopes are sorted into classes,
    each represented by its upper end.
    """
    t = np.linspace(0.0, np.pi, ANGLES)
    d = 2 * (C1 * np.sin(0.5 * t) + C2 * np.sin(1.5 * t))
    p = 2 * (M1 * np.cos(0.5 * t) + M2 * np.cos(1.5 * t))
    flat, q = 3.0 * d[-1] ** 2, np.abs(p * d)
    slopes = [np.abs(np.gradient(relief.heights, 0.5 * relief.spacing, axis=axis)) for axis in (1, 0)]
    levels = relief.bottom + relief.thickness * np.linspace(0.0, 1.0, LEVELS + 1)
    rise, rate = relief.rise(levels), relief.rate(levels)
    along: dict[int, np.ndarray] = {}
    worst = flat
    for above, below in zip(rise[1:], rate[:-1], strict=True):
        j = 1.0 + relief.heights * below
        kinds = [np.ceil(above * g / j / CLASS).astype(int) for g in slopes]
        least = np.full((kinds[0].max() + 1, kinds[1].max() + 1), np.inf)  # smallest stretch in each class
        np.minimum.at(least, (kinds[0], kinds[1]), j)
        for a, b in np.argwhere(np.isfinite(least)).tolist():
            for n in (a, b):
                if n not in along:
                    along[n] = ((d[None] + CLASS * n * np.abs(p)[None] * q[:, None]) ** 2).max(1)
            worst = max(worst, float((along[a] + along[b] + (d / least[a, b]) ** 2).max()))
    return float(np.sqrt(flat / worst))


# ---- material -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FieldBelowGround:
    """Field whose z is relative to the ground.

    Attributes
    ----------
    field : Field
    relief : Relief
    source : str
        Origin of the field, for messages.
    """

    field: Field
    relief: Relief
    source: str = "material"

    @property
    def parameters(self) -> frozenset[str]:
        return self.field.parameters

    @property
    def fields(self) -> tuple[Field, ...]:
        """Fields of which it consists."""
        return (self.field,)

    def evaluate(
        self, points: Floats, groups: Integers, names: Sequence[str], time: float | None = None
    ) -> dict[str, Floats]:
        below = np.array(points, float)
        below[:, 2] = np.minimum(below[:, 2] - self.relief.ground(below), 0.0)
        return self.field.evaluate(below, groups, names, time)


def placed(
    relief: Relief | None, points: np.ndarray, means: str | None, references: np.ndarray | None = None
) -> np.ndarray:
    """Return places (n, 3) [m] with z as elevation of points given by depth below the ground or by elevation.

    Parameters
    ----------
    relief : Relief or None
        The ground; None where it is flat.
    points : ndarray (n, 3)
        x, y and z [m], z minus a depth where it counts from the ground.
    means : str or None
        What z of the case's points means: ``depth`` or ``elevation``.
    references : ndarray (n,) of int, optional
        What z of each point counts from (``observe.stations.points``): as the case says, from sea level, or from the ground.
    """
    if relief is None or not len(points):
        return points
    below = np.full(len(points), means == "depth")
    if references is not None:
        below = np.where(references == AS_CASE, below, references == GROUND)
    if not below.any():
        return points
    found = np.array(points, float)
    found[below, 2] += relief.ground(found[below])
    return found


def report(grid: Grid) -> list[tuple[str, ...]]:
    """Return the rows of the report on the topography."""
    relief = grid.relief
    assert relief is not None
    share = relative_stable_step(relief)
    slope, x, y = relief.steepest()
    cap = f"{relief.thickness:.6g} m below the lowest ground, curved over the lower {100 * BEND:.0f} %"
    spacing = f"{grid.spacing:g} to {grid.spacing * relief.stretch:.4g} m along z in it, stretched by up to {relief.stretch:.3f}"
    limit = (
        "that of the flat grid: no cell is squeezed"
        if share > 0.9999
        else f"{share:.3f} of the flat grid's, for slopes"
    )
    return [
        ("ground", f"{relief.top:.6g} to {relief.top + relief.relief:.6g} m"),
        ("largest slope", f"{slope:.3f} ({np.degrees(np.arctan(slope)):.0f} degrees) at {_place((x, y))}"),
        ("cap", cap),
        ("spacing", spacing),
        ("largest step", limit),
    ]
