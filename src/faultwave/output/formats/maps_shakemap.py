"""ShakeMap's grid.xml: intensity and peak motion on a grid of longitude and latitude, as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from faultwave.observe.dataset import Dataset, Result
from faultwave.observe.snapshots.lattice import MapFormat
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Writer
from faultwave.output.formats.maps_netcdf import without_degrees

PERCENT_G = 0.0980665
"""One percent of the acceleration of gravity [m/s^2]."""
NAMESPACE = "http://earthquake.usgs.gov/eqcenter/shakemap"
"""XML namespace; readers of ShakeMap files require it."""
SCHEMA = f"http://earthquake.usgs.gov {NAMESPACE}/xml/schemas/shakemap.xsd"
UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
"""Date of an event without one; readers of the format require a date."""
EVENT = ("event_id", "magnitude", "depth", "lat", "lon", "event_timestamp", "event_network", "event_description")
"""Mandatory attributes of an event; unknown numbers are nan."""


def instrumental_intensity(pgv: np.ndarray) -> np.ndarray:
    """Return the Modified Mercalli intensity of peak ground velocity [m/s], from 1 to 10 (Worden et al. 2012, table 1)."""
    log = np.log10(np.maximum(100.0 * pgv, 1e-6))
    return np.clip(np.where(log <= 0.53, 3.78 + 1.47 * log, 2.89 + 3.16 * log), 1.0, 10.0)


def timestamp(date: datetime) -> str:
    """Return a date in ShakeMap's format, such as 2019-07-06T03:19:53GMT."""
    return date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SGMT")


def spectral_name(period: float) -> str:
    """Return ShakeMap's name of a spectral period [s], such as PSA03 for 0.3 s.

    ShakeMap has names for periods from 0.1 to 9.9 s in steps of 0.1 s; others are called PSA0p25 or PSA10p0.
    """
    tenths = round(10 * period)
    if 1 <= tenths <= 99 and abs(10 * period - tenths) < 1e-6:
        return f"PSA{tenths:02d}"
    return "PSA" + np.format_float_positional(period, trim="0").replace(".", "p")


def _header(event: Mapping[str, object]) -> str:
    """Return the text of grid.xml up to the element of the event."""
    from xml.sax.saxutils import quoteattr  # slow import, needed by few runs

    identity = quoteattr(str(event.get("event_id", "")))
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    described = {
        **dict.fromkeys(EVENT[1:5], "nan"),
        "event_timestamp": timestamp(UNKNOWN),
        "event_network": "",
        **event,
    }
    undated = "event_timestamp" not in event
    attributes = "".join(f" {key}={quoteattr(str(described.get(key, '')))}" for key in EVENT)
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<shakemap_grid'
        f' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns="{NAMESPACE}" xsi:schemaLocation="{SCHEMA}"'
        f" event_id={identity} shakemap_id={identity}"
        f' shakemap_version="1" code_version="faultwave" process_timestamp="{now}"'
        ' shakemap_originator="faultwave" map_status="AUTOMATIC" shakemap_event_type="SCENARIO">\n'
        + "<!-- The run has no origin time: event_timestamp is no date. -->\n"
        * undated
        + "<!-- PGA, PGV and PSA are RotD50 of the horizontal motion; points outside of the simulation are "
        f"nan. -->\n<event{attributes} />\n"
    )


def write_shakemap(path: str | Path, maps: Dataset, to_local: Callable[[np.ndarray, np.ndarray], np.ndarray], corners: np.ndarray,
                   event: Mapping[str, object]) -> Path:  # fmt: skip
    """Write grid.xml over the largest longitude-latitude rectangle covered by the maps, at about their spacing.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    maps : Dataset
        Maps in local coordinates.
    to_local : callable
        ``to_local(lon, lat)`` returns local coordinates (n, 2) [m].
    corners : ndarray of shape (n, 2)
        Longitude and latitude [deg] of points whose extent limits the grid. Points that were not simulated are nan.
    event : mapping
        Attributes of the event element; a comment marks a date that is unknown.
    """
    path = Path(path)
    (west, south), (east, north) = corners.min(0), corners.max(0)
    ny, nx = maps["PGV"].shape
    lon, lat = np.linspace(west, east, nx), np.linspace(north, south, ny)
    covered = np.isfinite(_near(maps, to_local(*(a.ravel() for a in np.meshgrid(lon, lat))))).all(1).reshape(ny, nx)
    rows, places = largest_rectangle(covered)
    lon, lat = lon[places], lat[rows]
    (west, east), (south, north), (ny, nx) = lon[[0, -1]], lat[[-1, 0]], (len(lat), len(lon))
    longitude, latitude = np.meshgrid(lon, lat)
    xy = to_local(longitude.ravel(), latitude.ravel())
    columns = {"LON": ("dd", longitude.ravel()), "LAT": ("dd", latitude.ravel())}
    pgv = _sample(maps, "PGV", xy)
    columns |= {
        "MMI": ("intensity", instrumental_intensity(pgv)),
        "PGA": ("pctg", _sample(maps, "PGA", xy) / PERCENT_G),
        "PGV": ("cms", 100 * pgv),
    }
    for name in maps.variables:
        if name.startswith("SA_"):
            columns[spectral_name(float(name[3:].rstrip("s")))] = ("pctg", _sample(maps, name, xy) / PERCENT_G)
    with atomic_text(path) as file:
        write = file.write
        write(_header(event))
        write(
            f'<grid_specification lon_min="{west:.6f}" lat_min="{south:.6f}" lon_max="{east:.6f}" lat_max="{north:.6f}" '
            f'nominal_lon_spacing="{lon[1] - lon[0]:.8f}" nominal_lat_spacing="{lat[0] - lat[1]:.8f}" nlon="{nx}" nlat="{ny}" />\n'
        )
        for index, (name, (unit, _)) in enumerate(columns.items(), 1):
            write(f'<grid_field index="{index}" name="{name}" units="{unit}" />\n')
        write("<grid_data>\n")
        np.savetxt(
            file, np.stack([v for _, v in columns.values()], 1), fmt=["%.6f", "%.6f", *["%.5g"] * (len(columns) - 2)]
        )
        write("</grid_data>\n</shakemap_grid>\n")
    return path


def _write_intensity(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write PREFIX-grid.xml for ground motion maps whose ``formats`` include shakemap and that have a ``projection``."""
    written = []
    for result in results:
        projection, maps = result.settings["projection"], result.data
        if "shakemap" not in result.settings["formats"] or projection is None:
            continue
        x, y = maps["x"], maps["y"]
        corners = projection.to_continuous(np.array([[a, b] for a in x[[0, -1]] for b in y[[0, -1]]]))
        begins = maps.attrs.get("origin_time")
        dated = {"event_timestamp": timestamp(datetime.fromisoformat(begins))} if begins else {}
        event = {"event_id": prefix, **dated, **result.settings["event"], "event_description": maps.attrs["case"]}
        path = folder / f"{prefix}-grid.xml"
        written.append(write_shakemap(path, without_degrees(maps), projection.to_local, corners, event))
    return written


def _sample(maps: Dataset, name: str, xy: np.ndarray) -> np.ndarray:
    """Return bilinear values of a map at local points (n, 2), constant in the outer half cell, nan outside."""
    from scipy.interpolate import RegularGridInterpolator

    made = RegularGridInterpolator((maps["y"], maps["x"]), maps[name], bounds_error=False, fill_value=np.nan)
    return np.asarray(made(_near(maps, xy)[:, ::-1]))


def _near(maps: Dataset, xy: np.ndarray) -> np.ndarray:
    """Return local points (n, 2) clipped to the maps if at most half a cell outside, else nan."""
    x, y = maps["x"], maps["y"]
    low, high, half = np.array([x[0], y[0]]), np.array([x[-1], y[-1]]), 0.5 * np.array([x[1] - x[0], y[1] - y[0]])
    within = (xy >= low - half) & (xy <= high + half)
    return np.where(within, np.clip(xy, low, high), np.nan)


def largest_rectangle(covered: np.ndarray) -> tuple[slice, slice]:
    """Return rows and columns of the largest rectangle of at least 2 x 2 points of a mask (ny, nx) that are all True.

    If there is none, the slices select the whole mask.
    """
    best, found = 0, (slice(None), slice(None))
    above = np.zeros(covered.shape[1], int)  # covered points that end in this row, by column
    for row, line in enumerate(covered):
        above = np.where(line, above + 1, 0)
        open_: list[tuple[int, int]] = []  # first column and height of the rectangles that still grow
        for column, height in enumerate([*above.tolist(), 0]):
            first = column
            while open_ and open_[-1][1] >= height:
                first, tall = open_.pop()
                if tall > 1 and column - first > 1 and tall * (column - first) > best:
                    best, found = tall * (column - first), (slice(row - tall + 1, row + 1), slice(first, column))
            open_.append((first, height))
    return found


RESULTS = [Writer(("intensity",), _write_intensity)]
SHAKEMAP = MapFormat("shakemap", True)
