"""Spectra with their resonances, and radar cross sections, from the files of a run."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from faultwave.output.trace import Trace
from faultwave.plot import style
from faultwave.plot.scattering import frequency_unit


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV file of numbers by name."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in (rows[0] if rows else {})}


def clustered(values: np.ndarray, apart: float) -> list[np.ndarray]:
    """Sorted values in groups with gaps of more than ``apart`` between them: labels of one group would overlap."""
    values = np.sort(values)
    groups = np.split(values, np.flatnonzero(np.diff(values) > apart) + 1)
    return [group for group in groups if len(group)]


@style.house()
def plot_resonances(traces: list[Trace], found: Path, path: Path) -> Path | None:
    """Spectrum of the first receiver's electric field, and the resonances found. None without either."""
    table = read_columns(found)
    if not traces or not table:
        return None
    trace = traces[0]
    columns = [trace.columns[name] for name in ("E1", "E2", "E3") if name in trace.columns]
    if not columns:
        return None
    field = np.stack(columns, 1)
    step = float(trace.time[1] - trace.time[0])
    window = np.hanning(len(trace.time))[:, None]
    size = np.linalg.norm(np.fft.rfft(field * window, 8 * len(trace.time), axis=0), axis=1)
    frequency = np.fft.rfftfreq(8 * len(trace.time), step)
    unit, name = frequency_unit(table["frequency"])
    low, high = 0.9 * table["frequency"].min(), 1.05 * table["frequency"].max()
    shown = (frequency >= low) & (frequency <= high)
    decibels = 20 * np.log10(size[shown] / size[shown].max() + 1e-12)
    fig = style.figure(height=3.4)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    ax.plot(frequency[shown] / unit, decibels, color=style.COLOURS[0])
    for group in clustered(table["frequency"][table["share"] > 0.01], 0.015 * (high - low)):
        for f in group:
            ax.axvline(f / unit, color=style.COLOURS[1], lw=0.6, ls="--", zorder=0)
        text = ", ".join(f"{f / unit:.4g}" for f in group)
        ax.text(
            group.mean() / unit, 3.0, text, rotation=90, ha="center", va="bottom", fontsize=7, color=style.COLOURS[1]
        )
    ax.set_ylim(-70, 2)
    ax.set_xlim(low / unit, high / unit)
    ax.set_xlabel(f"frequency [{name}]")
    ax.set_ylabel("electric field [dB]")
    return style.save(fig, path)


@style.house()
def plot_far_field(table: Path, path: Path, exact: np.ndarray | None = None) -> Path | None:
    """Radar cross section of the first frequency against theta, a line for each phi; ``exact``, one value a row, as dots."""
    columns = read_columns(table)
    if not columns:
        return None
    first = columns["frequency"] == columns["frequency"][0]
    fig = style.figure(height=3.6)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    for colour, phi in zip(style.COLOURS, np.unique(columns["phi"]), strict=False):
        mine = first & (columns["phi"] == phi)
        ax.plot(
            columns["theta"][mine],
            10 * np.log10(columns["cross_section"][mine]),
            color=colour,
            label=f"$\\phi$ = {phi:g}°",
        )
        if exact is not None:
            ax.plot(
                columns["theta"][mine], 10 * np.log10(exact[mine]), "o", ms=3, color=colour, mfc="none", label="exact"
            )
    unit, name = frequency_unit(columns["frequency"])
    ax.set_title(f"{columns['frequency'][0] / unit:.4g} {name}")
    ax.set_xlabel(r"$\theta$ [degrees]")
    ax.set_ylabel("radar cross section [dB m$^2$]")
    ax.set_xlim(columns["theta"].min(), columns["theta"].max())
    ax.grid(color="#e4e4e4", lw=0.5)
    ax.set_axisbelow(True)
    ax.legend()
    return style.save(fig, path)


__all__ = ["plot_far_field", "plot_resonances", "read_columns"]
