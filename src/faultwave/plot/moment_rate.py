"""Moment rate of a rupture, and its amplitude spectrum with the fitted Brune spectrum."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from faultwave.output.formats.csv_tables import read_columns
from faultwave.output.formats.rupture_files import read_parameters
from faultwave.output.results import Results
from faultwave.plot import style

_DECADES = 4.0
"""Number of decades of the spectrum shown below the moment."""


@style.house()
def plot_moment_rate(
    rate: dict[str, np.ndarray], spectrum: dict[str, np.ndarray], parameters: dict[str, float], path: Path
) -> Path | None:
    """Draw moment rate and spectrum with source parameters; return None if nothing slips.

    ``rate`` and ``spectrum`` are the columns of PREFIX-moment-rate.csv and PREFIX-moment-spectrum.csv.
    """
    if not rate or not spectrum:
        return None
    fig = style.figure(height=2.9)
    left, right = style.mosaic(fig, 1, 2)[0]
    time, values = rate["time [s]"], rate["moment_rate [N*m/s]"]
    left.fill_between(time, values, color=style.COLOURS[0], alpha=0.15, lw=0)
    left.plot(time, values, color=style.COLOURS[0])
    left.set_xlim(0.0, time[-1])
    left.set_ylim(0.0, 1.08 * values.max())
    left.set_xlabel("time [s]")
    left.set_ylabel("moment rate [N m/s]")
    left.set_title(
        f"Mw {parameters['moment_magnitude']:.2f}, {parameters['duration']:.2g} s for 5 to 95 % of the moment"
    )
    _draw_spectrum(right, spectrum, parameters)
    for ax in (left, right):
        ax.grid(color="#e4e4e4", lw=0.5)
        ax.set_axisbelow(True)
    return style.save(fig, path)


def _draw_spectrum(ax: Axes, spectrum: dict[str, np.ndarray], parameters: dict[str, float]) -> None:
    frequency, moment, corner = spectrum["frequency [Hz]"], parameters["seismic_moment"], parameters["corner_frequency"]
    ax.loglog(frequency, spectrum["amplitude [N*m]"], color=style.COLOURS[0], label="rupture")
    ax.loglog(frequency, spectrum["brune [N*m]"], "--", color=style.COLOURS[1], label="Brune")
    ax.axvline(corner, color=style.INK, lw=0.7, ls=":")
    ax.set_xlim(frequency[0], frequency[-1])
    if frequency[-1] > 10.0 * frequency[0]:  # labels between powers of ten would overlap
        ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(moment * 10**-_DECADES, 3.0 * moment)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("amplitude [N m]")
    ax.set_title(f"corner frequency {corner:.2g} Hz")
    ax.legend(loc="lower left")


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-moment-rate."""
    start = results.folder / results.prefix
    files = [Path(f"{start}-{name}") for name in ("moment-rate.csv", "moment-spectrum.csv", "rupture.json")]
    if all(file.exists() for file in files):
        rate, spectrum = (read_columns(file) for file in files[:2])
        yield plot_moment_rate(rate, spectrum, read_parameters(files[2]), Path(f"{stem}-moment-rate.png"))
