"""Figures of scattering parameters from Touchstone files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultwave.output.formats.touchstone import read_touchstone
from faultwave.plot import style

_UNITS = ((1e12, "THz"), (1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz"))


def frequency_unit(frequencies: np.ndarray) -> tuple[float, str]:
    """Return size [Hz] and name of a unit that gives the frequencies few digits."""
    return next(((size, name) for size, name in _UNITS if frequencies.max() >= size), (1.0, "Hz"))


@style.house()
def plot_scattering(path: str | Path, out: str | Path | None = None) -> Path:
    """Draw magnitudes [dB] of all parameters against frequency into a PNG adjacent to the file, or ``out``."""
    path = Path(path)
    frequencies, s = read_touchstone(path)
    size, name = frequency_unit(frequencies)
    fig = style.figure(height=3.4)
    ax = style.mosaic(fig, 1, 1)[0, 0]
    decibels = 20 * np.log10(np.maximum(np.abs(s), 1e-8))
    groups: list[list[tuple[int, int]]] = []  # coinciding curves are drawn once
    for i in range(s.shape[1]):
        for j in range(s.shape[2]):
            same = [g for g in groups if np.abs(np.abs(s[:, i, j]) - np.abs(s[:, g[0][0], g[0][1]])).max() < 5e-3]
            if same:
                same[0].append((i, j))
            else:
                groups.append([(i, j)])
    for number, group in enumerate(groups):
        label = ", ".join(f"S{i + 1}{j + 1}" for i, j in group)
        ax.plot(
            frequencies / size,
            decibels[:, group[0][0], group[0][1]],
            color=style.COLOURS[number % len(style.COLOURS)],
            label=label,
        )
    ax.set_xlabel(f"frequency [{name}]")
    ax.set_ylabel("magnitude [dB]")
    ax.set_ylim(max(-80.0, 10 * np.floor(decibels.min() / 10)), 3)
    ax.set_xlim(frequencies[0] / size, frequencies[-1] / size)
    ax.grid(color="#e4e4e4", lw=0.5)
    ax.set_axisbelow(True)
    ax.legend(ncols=min(4, len(groups)))
    return style.save(fig, Path(out) if out is not None else path.with_suffix(".png"))
