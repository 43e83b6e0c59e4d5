"""ShakeMap's grid.xml: intensity and peaks on a grid of longitude and latitude, as text (FORMATS 8.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from faultwave.observe.dataset import Dataset
from faultwave.output.atomic import atomic_text

PERCENT_G = 0.0980665
"""One percent of gravity [m/s^2]."""


def instrumental_intensity(pgv: np.ndarray) -> np.ndarray:
    """Modified Mercalli intensity of peak ground velocity [m/s] (Worden et al. 2012, table 1), 1 to 10."""
    log = np.log10(np.maximum(100.0 * pgv, 1e-6))
    return np.clip(np.where(log <= 0.53, 3.78 + 1.47 * log, 2.89 + 3.16 * log), 1.0, 10.0)


def write_shakemap(path: str | Path, maps: Dataset, to_local: Callable[[np.ndarray, np.ndarray], np.ndarray], corners: np.ndarray,
                   event: Mapping[str, object]) -> Path:  # fmt: skip
    """Write grid.xml over the longitudes and latitudes of ``corners`` (n, 2), at about the maps' own spacing.

    ``to_local(lon, lat)`` gives (n, 2) x, y; points outside the maps are nan. ``event``: attributes of the event element.
    """
    path = Path(path)
    (west, south), (east, north) = corners.min(0), corners.max(0)
    ny, nx = maps["PGV"].shape
    lon, lat = np.linspace(west, east, nx), np.linspace(north, south, ny)
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
            period = float(name[3:].rstrip("s"))
            columns[f"PSA{round(10 * period):02d}"] = ("pctg", _sample(maps, name, xy) / PERCENT_G)
    with atomic_text(path) as file:
        write = file.write
        write('<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<shakemap_grid')
        write(
            f" event_id={quoteattr(str(event.get('event_id', '')))} shakemap_id={quoteattr(str(event.get('event_id', '')))}"
        )
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        write(' shakemap_version="1" code_version="faultwave" shakemap_originator="faultwave" map_status="RELEASED"')
        write(f' process_timestamp="{now}"')
        write(' shakemap_event_type="SCENARIO">\n<event')
        write("".join(f" {key}={quoteattr(str(value))}" for key, value in event.items()) + " />\n")
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


def _sample(maps: Dataset, name: str, xy: np.ndarray) -> np.ndarray:
    """Bilinear values of a map at local points (n, 2); nan outside."""
    from scipy.interpolate import RegularGridInterpolator

    made = RegularGridInterpolator((maps["y"], maps["x"]), maps[name], bounds_error=False, fill_value=np.nan)
    return np.asarray(made(xy[:, ::-1]))
