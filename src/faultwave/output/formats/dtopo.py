"""Sea-floor motion for tsunami codes: PREFIX-dtopo.tt3, a ``dtopo`` file of type 3 as read by GeoClaw."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.projection import Projection
from faultwave.base.wording import option
from faultwave.observe.snapshots.fields import LOCATIONS
from faultwave.observe.stations.points import projected
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.formats.image import is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.manifest import read_manifest

STEEPEST = 0.05
"""Minimum vertical component of a unit normal; horizontal motion of steeper walls is ignored."""

MOST = 20_000_000
"""Maximum number of values in a file."""

DEGREE = 6371e3 * np.pi / 180.0
"""Length of a degree of latitude [m]."""


def _write(conversion: Conversion) -> list[Path]:
    results = conversion.results
    path = results.folder / f"{results.prefix}-surface.vtkhdf"
    if not path.is_file() or is_image(path):
        what = f"the run '{results.prefix}' has no snapshots of its surface to convert"
        raise InputError(Problem(str(results.folder), what, "output.surface with sea_floor: true"))
    with VtkHdfReader(path) as file:
        centres, uplift, size = _uplift(file, path)
        times, retained = _regular(file.times, path)
    projection = _projection(conversion)
    places = centres if projection is None else projection.to_continuous(centres)
    target = conversion.folder / f"{results.prefix}-dtopo.tt3"
    given = conversion.options.get("spacing")
    spacing = size if given is None else _checked(float(given), float(np.ptp(centres, axis=0).max()))
    x, y = _axes(places, spacing, projection is not None, len(times))
    values = _on_grid(places, uplift[:, retained], x, y)
    with atomic_text(target) as file_:
        header = ((len(x), "mx"), (len(y), "my"), (len(times), "mt"))
        file_.writelines(f"{count:<24d} {name}\n" for count, name in header)
        steps = (x[1] - x[0], y[1] - y[0], times[1] - times[0] if len(times) > 1 else 0.0)
        numbers = zip((x[0], y[0], times[0], *steps), ("xlower", "ylower", "t0", "dx", "dy", "dt"), strict=True)
        file_.writelines(f"{number:<24.16e} {name}\n" for number, name in numbers)
        for i in range(len(times)):
            np.savetxt(file_, values[::-1, :, i], fmt="%.7e")  # from north to south
    return [target]


def _uplift(file: VtkHdfReader, path: Path) -> tuple[np.ndarray, np.ndarray, float]:
    """Return centres (n, 2) [m] and water uplift (n, nt) [m] of the sea-floor and land triangles, and the triangle size [m]."""
    lacking = [name for name in ("u1", "u2", "u3", "locationFlag") if name not in file]
    if lacking:
        raise InputError(Problem(str(path), f"lacks {', '.join(lacking)}", "output.surface.fields: u1, u2, u3"))
    if len(file.cells) and not (file.field("locationFlag") == LOCATIONS["rock"]).any():
        raise InputError(
            Problem(
                str(path), "contains no sea floor", "output.surface.sea_floor: true, in a case with rock below water"
            )
        )
    file.choose(np.isin(file.field("locationFlag"), [LOCATIONS["rock"], LOCATIONS["free surface"]]))
    corners = file.points[file.cells]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    level = np.abs(normal[:, 2]) > STEEPEST * length
    file.choose(level)
    slope = normal[level, :2] / normal[level, 2:]
    found = np.empty((len(file.cells), len(file.times)))
    for step in range(len(file.times)):
        u = [np.asarray(file.field(f"u{i}", step), float) for i in (1, 2, 3)]
        found[:, step] = u[2] + slope[:, 0] * u[0] + slope[:, 1] * u[1]
    size = float(np.sqrt(0.5 * np.abs(normal[level, 2]).mean()))
    return corners[level].mean(1)[:, :2], found, size


def _checked(spacing: float, largest: float) -> float:
    """Return a valid grid spacing [m] for a floor of length ``largest`` [m], or raise InputError."""
    if 0.0 < spacing <= largest:
        return spacing
    allowed = f"above 0 m, up to the {largest:g} m of the floor"
    raise InputError(Problem(option("spacing", f"{spacing:g}"), f"{spacing:g} m is not a spacing of a grid", allowed))


def _regular(times: np.ndarray, path: Path) -> tuple[np.ndarray, slice]:
    """Return the leading equally spaced times and their slice; a run that ends between snapshots adds one uneven time."""
    if len(times) < 2:
        return times, slice(None)
    step = times[1] - times[0]
    even = np.abs(np.diff(times) - step) <= 1e-6 * step
    retained = len(times) if even.all() else int(np.argmin(even)) + 1
    if retained < len(times) - 1:
        raise InputError(Problem(str(path), "its snapshots are not equally spaced in time, as a dtopo file requires"))
    return times[:retained], slice(0, retained)


def _projection(conversion: Conversion) -> Projection | None:
    """Return the projection of the case, or None."""
    path = conversion.results.folder / f"{conversion.results.prefix}-manifest.json"
    setting = read_manifest(path)["case"].get("projection") if path.is_file() else None
    return projected(SimpleNamespace(**setting), "projection") if setting else None


def _axes(places: np.ndarray, spacing: float, degrees: bool, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes of a grid over all places (n, 2) with about ``spacing`` [m]; places are in degrees or metres."""
    low, high = places.min(0), places.max(0)
    step = np.array([spacing, spacing])
    if degrees:
        step = spacing / DEGREE / np.array([np.cos(np.radians(0.5 * (low[1] + high[1]))), 1.0])
    counts = np.maximum(np.ceil((high - low) / step).astype(int) + 1, 2)
    if counts.prod() * count > MOST:
        what = f"{spacing:g} m makes {counts[0]} x {counts[1]} points at {count} times"
        advice = f"Use a larger spacing ({option('spacing')}), or write fewer snapshots."
        raise InputError(Problem(option("spacing", f"{spacing:g}"), what, f"up to {MOST:,} numbers", advice))
    x, y = (np.linspace(a, b, n) for a, b, n in zip(low, high, counts, strict=True))
    return x, y


def _on_grid(places: np.ndarray, values: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Interpolate values (n, nt) at places (n, 2) to a grid (ny, nx, nt), with the nearest value outside the convex hull."""
    from scipy.interpolate import LinearNDInterpolator, NearestNDInterpolator

    grid = np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)
    found = LinearNDInterpolator(places, values, rescale=True)(grid)
    outside = np.isnan(found[:, 0])
    if outside.any():
        found[outside] = NearestNDInterpolator(places, values, rescale=True)(grid[outside])
    return np.asarray(found.reshape(len(y), len(x), -1))


DTOPO = Converter("dtopo", _write, ("spacing",))
