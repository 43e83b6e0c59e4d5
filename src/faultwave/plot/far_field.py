"""Figures of radar cross sections, from the files of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from faultwave.output.formats.csv_tables import check_drawable, read_columns
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.scattering import frequency_unit


@style.house()
def plot_far_field(table: Path, path: Path, exact: np.ndarray | None = None) -> Path | None:
    """Draw the radar cross section of the first frequency against theta, a line per phi; ``exact`` values (one per row) as dots."""
    columns = read_columns(table)
    if not columns:
        return None
    check_drawable(table, columns, "frequency", "theta", "phi", "cross_section")
    first = columns["frequency"] == columns["frequency"][0]
    fig = style.figure(height=3.6)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    for colour, phi in zip(style.COLOURS, np.unique(columns["phi"]), strict=False):
        mine = first & (columns["phi"] == phi)
        ax.plot(
            columns["theta"][mine],
            10 * np.log10(columns["cross_section"][mine]),
            color=colour,
            label=f"φ = {phi:g}°",
        )
        if exact is not None:
            ax.plot(
                columns["theta"][mine], 10 * np.log10(exact[mine]), "o", ms=3, color=colour, mfc="none", label="exact"
            )
    unit, name = frequency_unit(columns["frequency"])
    ax.set_title(f"{columns['frequency'][0] / unit:.4g} {name}")
    ax.set_xlabel("θ [degrees]")
    ax.set_ylabel("radar cross section [dB m²]")
    ax.set_xlim(columns["theta"].min(), columns["theta"].max())
    ax.grid(color="#e4e4e4", lw=0.5)
    ax.set_axisbelow(True)
    ax.legend()
    return style.save(fig, path)


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-far-field."""
    table = results.folder / f"{results.prefix}-far-field.csv"
    if table.exists():
        yield plot_far_field(table, Path(f"{stem}-far-field.png"))
