"""Figures of energies and seismic moment over time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from faultwave.base.formulas import magnitude
from faultwave.observe.dataset import Dataset
from faultwave.output.results import Results
from faultwave.plot import style

_ENERGIES = {
    "elastic_energy": "strain energy",
    "elastic_kinetic_energy": "kinetic energy",
    "acoustic_energy": "acoustic strain energy",
    "acoustic_kinetic_energy": "acoustic kinetic energy",
    "gravitational_energy": "gravitational energy",
    "electric_energy": "electric energy",
    "magnetic_energy": "magnetic energy",
    "total_frictional_work": "frictional work",
    "static_frictional_work": "static frictional work",
}
_MOMENTS = {"seismic_moment": "seismic moment", "plastic_moment": "plastic moment"}


@style.house()
def plot_energies(energies: Dataset, path: Path) -> Path | None:
    """Draw energies [J], and moments [N m] with the moment magnitude, without series that stay zero; return None if all do."""
    panels = [(names, label) for names, label in ((_ENERGIES, "energy [J]"), (_MOMENTS, "moment [N m]"))]
    panels = [(drawn, label) for names, label in panels if (drawn := _moving(energies, names))]
    if not panels or len(energies["time"]) < 2:
        return None
    scale, unit = style.time_unit(float(energies["time"][-1]))
    time = energies["time"] / scale
    fig = style.figure(height=3.1, width=style.WIDTH if len(panels) == 2 else 0.6 * style.WIDTH)
    for ax, (names, label) in zip(style.mosaic(fig, 1, len(panels))[0], panels, strict=True):
        for colour, (name, text) in zip(style.COLOURS * 2, names.items(), strict=False):
            known = np.isfinite(energies[name])
            few = {"marker": "o", "ms": 3} if known.sum() <= 25 else {}
            ax.plot(time[known], energies[name][known], color=colour, label=text, **few)
        ax.set_xlabel(f"time [{unit}]")
        ax.set_ylabel(label)
        ax.set_xlim(time[0], time[-1])
        lowest = min(float(energies[name][np.isfinite(energies[name])].min()) for name in names)
        highest = max(float(energies[name][np.isfinite(energies[name])].max()) for name in names)
        rows = -(-len(names) // 2)  # rows of the legend, which is placed above the curves
        ax.set_ylim(min(0.0, 1.05 * lowest), max((1.03 + 0.09 * rows) * highest, 0.0) or None)
        ax.grid(color="#e4e4e4", lw=0.5)
        ax.set_axisbelow(True)
        ax.legend(loc="upper left", ncols=2)
        infinite = sum(int(np.isinf(energies[name]).sum()) for name in names)
        if "seismic_moment" in names:
            _magnitude(ax, energies)
        if infinite:
            ax.set_title(f"without {infinite} infinite value{'s' * (infinite != 1)}", color=style.COLOURS[1])
    return style.save(fig, path)


def _moving(energies: Dataset, names: dict[str, str]) -> dict[str, str]:
    """Return the names whose finite values are not all zero."""
    found = {n: energies[n][np.isfinite(energies[n])] for n in names if n in energies}
    return {n: names[n] for n, values in found.items() if values.any()}


def _magnitude(ax: Axes, energies: Dataset) -> None:
    moment = energies["seismic_moment"]
    final = moment[np.isfinite(moment)][-1]
    if final > 0 and np.isfinite(moment[-1]):
        ax.set_title(f"moment magnitude at the end: Mw {magnitude(final):.2f}")


IN_REPORT = True
"""True since reports contain an interactive version of this figure."""


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-energies."""
    if results.energies is not None:
        yield plot_energies(results.energies, Path(f"{stem}-energies.png"))
