"""Panels of the fit of an inversion: static offsets and seismograms with their predictions."""

from __future__ import annotations

import numpy as np

from faultwave.plot import style

SHOWN = 12
"""Largest number of channels in a picture."""


def draw_offsets(fig: style.Figure, grid: object, row: int, arrays: dict[str, np.ndarray]) -> None:
    """Draw static offsets and their prediction in a row of a grid: horizontal vectors, residuals, and all of them by size."""
    panels = [fig.add_subplot(grid[row, column]) for column in range(3)]  # type: ignore[index]
    data, predicted, sigma = (arrays[f"offset_{name}"] for name in ("data", "predicted", "deviations"))
    places, flat = 1e-3 * arrays["offset_place"], arrays["offset_direction"]
    vectors = [_vectors(places, flat, values) for values in (data, predicted)]
    size = max(float(np.linalg.norm(v, axis=1).max()) for _, v in vectors)
    for (at, vector), colour, label in zip(vectors, style.COLOURS, ("data", "prediction"), strict=False):
        panels[0].quiver(*at.T, *vector.T, color=colour, scale=5 * max(size, 1e-300), width=0.01, label=label)
    panels[0].plot(*places.T, ".", ms=2, color=style.INK)
    panels[0].set_title(f"offsets, up to {size:.2g} m")
    panels[0].legend(fontsize="x-small")
    residuals = data - predicted
    norm, extend = style.signed_scale(1e3 * residuals)
    x, y = places.T
    dots = panels[1].scatter(
        x, y, c=1e3 * residuals, cmap=style.colours("RdBu_r"), norm=norm, s=18, edgecolors=style.INK, lw=0.4
    )
    style.colour_bar(panels[1], dots, "mm", extend)
    panels[1].set_title("residuals of offsets")
    for panel in panels[:2]:
        panel.margins(0.25)
        panel.set_xlabel("x [km]")
    panels[0].set_ylabel("y [km]")
    panels[2].errorbar(data, predicted, xerr=2 * sigma, fmt="o", ms=3, color=style.COLOURS[1], lw=0.8)
    panels[2].axline((0.0, 0.0), slope=1.0, color=style.INK, lw=0.6)
    panels[2].set_title("offsets, 2 sd of noise")
    panels[2].set_xlabel("data [m]")
    panels[2].set_ylabel("prediction [m]")


def _vectors(places: np.ndarray, direction: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places and horizontal vectors: sums of the horizontal components of a place, and the parts of lines of sight."""
    level = np.abs(direction[:, 2]) < 1e-9
    parts = values[:, None] * direction[:, :2]
    found, number = np.unique(places[level], axis=0, return_inverse=True)
    sums = np.zeros((len(found), 2))
    np.add.at(sums, number.ravel(), parts[level])
    return np.concatenate([found, places[~level]]), np.concatenate([sums, parts[~level]])


def draw_fits(fig: style.Figure, grid: object, first: int, shown: np.ndarray, arrays: dict[str, np.ndarray]) -> None:
    """Draw some channels of the data with their prediction, three in a row from row ``first`` of a grid."""
    for number, channel in enumerate(shown):
        panel = fig.add_subplot(grid[first + number // 3, number % 3])  # type: ignore[index]
        predicted, deviation = arrays["predicted"][channel], arrays["deviations"][channel]
        panel.fill_between(
            arrays["time"],
            predicted - 2 * deviation,
            predicted + 2 * deviation,
            color=style.COLOURS[1],
            alpha=0.2,
            lw=0,
        )
        panel.plot(arrays["time"], arrays["data"][channel], color=style.COLOURS[0], label="data")
        panel.plot(arrays["time"], predicted, "--", color=style.COLOURS[1], label="prediction, 2 sd of noise")
        panel.set_title(str(arrays["channel_name"][channel]))
        panel.set_ylabel("m/s" if number % 3 == 0 else "")
        panel.set_xlabel("time [s]" if number >= len(shown) - 3 else "")
    fig.legend(*panel.get_legend_handles_labels(), loc="outside lower center", ncols=2)
