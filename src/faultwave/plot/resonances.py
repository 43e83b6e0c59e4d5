"""Figures of spectra with their resonances, from the files of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.output.formats.csv_tables import check_drawable, read_columns
from faultwave.output.results import Results
from faultwave.output.trace import Trace
from faultwave.plot import style
from faultwave.plot.scattering import frequency_unit


def clustered(values: np.ndarray, apart: float) -> list[np.ndarray]:
    """Return sorted values in groups separated by gaps larger than ``apart``; labels within a group would overlap."""
    values = np.sort(values)
    groups = np.split(values, np.flatnonzero(np.diff(values) > apart) + 1)
    return [group for group in groups if len(group)]


@style.house()
def plot_resonances(traces: list[Trace], found: Path, path: Path) -> Path | None:
    """Draw the spectrum of the first receiver's electric field, and the resonances found; return None without either."""
    table = read_columns(found)
    if not traces or not table:
        return None
    check_drawable(found, table, "frequency", "quality", "share", infinite=("quality",))
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


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-resonances."""
    found = results.folder / f"{results.prefix}-resonances.csv"
    if found.exists():
        yield plot_resonances(list(results.traces["receiver"].values()), found, Path(f"{stem}-resonances.png"))
