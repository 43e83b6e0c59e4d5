"""Seismograms of two runs of one case over each other.

python draw.py [FD] [DG] [PICTURE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure

from faultwave.output.results import load_results


def draw(grid: Path, mesh: Path, picture: Path) -> None:
    """Velocities at every receiver, one row each, of the runs in two folders."""
    runs = [load_results(folder).traces["receiver"] for folder in (grid, mesh)]
    fig = Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = fig.subplots(len(runs[0]), 3, sharex=True, sharey="row", squeeze=False)
    for row, number in enumerate(runs[0]):
        for i, ax in enumerate(axes[row]):
            for traces, line, label in ((runs[0], "-", "grid"), (runs[1], ":", "tetrahedra")):
                trace = traces[number]
                style = {"color": "#1f4e79", "lw": 1.2} if label == "grid" else {"color": "#c8553d", "lw": 2.2}
                ax.plot(trace.time, 1e3 * trace.columns[f"v{i + 1}"], line, label=label, **style)
            ax.spines[["top", "right"]].set_visible(False)
        axes[row, 0].set_ylabel(f"receiver {number} [mm/s]")
    for i in range(3):
        axes[0, i].set_title(f"$v_{i + 1}$", loc="left", fontsize=10)
        axes[-1, i].set_xlabel("time [s]")
    axes[0, 0].legend(frameon=False, fontsize=8)
    fig.savefig(picture, dpi=150)


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    default = [Path("fd"), Path("dg"), Path("two-engines.png")]
    draw(*(given + default[len(given) :]))
