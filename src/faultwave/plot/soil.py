"""Figures of soft soil: stress-strain loops at points, and maps of peak strain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize

from faultwave.observe.dataset import Dataset
from faultwave.observe.soil_loops import largest
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.formats.receivers_hdf5 import read_receivers
from faultwave.output.results import Results
from faultwave.plot import style

MOST, COLUMNS = 9, 3
"""Maximum number of points drawn, and number of columns."""
SHEAR = ("xy", "yz", "xz")


@style.house()
def plot_loops(data: Dataset, path: Path) -> Path:
    """Draw, for each point, the loops of the shear component of the largest strain, with its largest half loop thick."""
    count = min(MOST, data["values"].shape[1])
    chosen = np.round(np.linspace(0, data["values"].shape[1] - 1, count)).astype(int)
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    fig = style.figure(height=0.5 + 2.3 * rows)
    axes = style.mosaic(fig, rows, columns)
    for ax, n in zip(axes.flat, chosen, strict=False):
        _loops(ax, data, int(n))
    for ax in axes.flat[count:]:
        ax.set_visible(False)
    for ax in axes[:, 0]:
        ax.set_ylabel("shear stress [kPa]")
    for ax in axes.flat[max(0, count - columns) : count]:
        ax.set_xlabel("shear strain [%]")
    return style.save(fig, path)


def _loops(ax: Axes, data: Dataset, n: int) -> None:
    part = max(SHEAR, key=lambda c: float(np.ptp(data.quantity(f"gamma_{c}")[:, n])))
    strain, stress = data.quantity(f"gamma_{part}")[:, n], data.quantity(f"s_{part}")[:, n]
    loop = largest(strain, stress)
    ax.plot(100 * strain, 1e-3 * stress, color=style.COLOURS[0], lw=0.7)
    if loop.last:
        thick = slice(loop.first, loop.last + 1)
        ax.plot(100 * strain[thick], 1e-3 * stress[thick], color=style.COLOURS[1], lw=1.8)
        text = f"{100 * loop.amplitude:.2g} %: G = {1e-6 * loop.modulus:.3g} MPa\ndamping {100 * loop.damping:.2g} %"
        ax.text(0.03, 0.97, text, transform=ax.transAxes, va="top", fontsize=7.5)
    place = ", ".join(f"{round(x, 1) + 0.0:g}" for x in data["location"][n])
    ax.set_title(f"{n + 1}  ({place}) m, {part}", fontsize=8.5)
    ax.margins(0.08, 0.15)


@style.house()
def plot_maps(source: Path, path: Path) -> Path | None:
    """Draw peak strain and its depth in the soil column; return None if there is no soil."""
    maps = read_maps(source)
    strain, depth = (np.ma.masked_invalid(maps[n]) for n in ("peak_strain", "peak_strain_depth"))
    if strain.mask.all() or not strain.max() > 0:
        return None
    x, y = style.KM * maps["x"], style.KM * maps["y"]
    shape = float(np.clip((y[-1] - y[0]) / max(x[-1] - x[0], 1e-9), 0.3, 1.6))
    fig = style.figure(height=2.75 * shape + 0.8)
    axes = style.mosaic(fig, 1, 2, sharex=True, sharey=True)[0]
    (norm, extend), deepest = style.positive_scale(100 * strain.compressed()), style.top_value(depth.compressed())
    norms, extends = (norm, Normalize(0.0, deepest)), (extend, "neither")
    titles, names = ("largest shear strain [%]", "depth of the largest strain [m]"), ("magma_r", "viridis_r")
    for k, (ax, values) in enumerate(zip(axes, (100 * strain, depth), strict=True)):
        colours = style.colours(names[k])
        mesh = ax.pcolormesh(x, y, values, norm=norms[k], cmap=colours, shading="nearest", rasterized=True)
        ax.set_aspect("equal")
        ax.set_title(titles[k])
        ax.set_xlabel(style.along(0, "km"))
        style.colour_bar(ax, mesh, "", extends[k])
    axes[0].set_ylabel(style.along(1, "km"))
    return style.save(fig, path)


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-soil-loops and PREFIX-soil."""
    records, maps = (results.folder / f"{results.prefix}-{end}" for end in ("receivers.h5", "soil.nc"))
    if records.exists():
        found = read_receivers(records).get("soil_receivers")
        if found is not None and len(found["time"]):
            yield plot_loops(found, Path(f"{stem}-soil-loops.png"))
    if maps.exists():
        yield plot_maps(maps, Path(f"{stem}-soil.png"))
