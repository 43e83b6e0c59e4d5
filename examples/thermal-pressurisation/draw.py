"""Slip rate, temperature and pore pressure at the stations on the fault.

python draw.py [RESULTS] [PICTURE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from faultwave.output.results import load_results


def draw(results: Path, picture: Path) -> None:
    """Draw slip rate, temperature and pore pressure at the fault receivers of a run."""
    fig = Figure(figsize=(7.2, 2.6), layout="constrained")
    axes = fig.subplots(1, 3, sharex=True)
    stations = load_results(results).traces["faultreceiver"].values()
    for trace, color, label in zip(stations, ("#c8553d", "#1f4e79"), ("fluid stays", "fluid leaves"), strict=True):
        c = trace.columns
        # P_f has the sign of stress, the fluid's pressure the other one
        for ax, values in zip(axes, (np.hypot(c["SRs"], c["SRd"]), c["Tmp"], -c["P_f"] / 1e6), strict=True):
            ax.plot(trace.time, values, color=color, lw=1.2, label=label)
    for ax, title in zip(axes, ("slip rate [m/s]", "temperature [K]", "rise of pressure [MPa]"), strict=True):
        ax.set_title(title, loc="left", fontsize=10)
        ax.set_xlabel("time [s]")
        ax.spines[["top", "right"]].set_visible(False)
    axes[2].legend(frameon=False, fontsize=8)
    fig.savefig(picture, dpi=150)


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    default = [Path("results"), Path("thermal-pressurisation.png")]
    draw(*(given + default[len(given) :]))
