"""Seismograms of both engines over each other, at a station of each ring, below the frequency that both resolve.

python examples/mw6/draw.py [FD] [DG] [PICTURE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from faultwave.output.results import load_results
from faultwave.verify.bands import Band, common_resolved, filter_pair

SHOWN = 4
COMPONENTS = ("east", "north", "up")


def draw(grid: Path, mesh: Path, picture: Path) -> float:
    """Draw velocities of the runs in two folders and return their relative L2 misfit over all stations and components."""
    runs = load_results(grid), load_results(mesh)
    resolved = common_resolved(*runs)
    traces = [run.traces["receiver"] for run in runs]
    pairs = {n: filter_pair(traces[0][n], traces[1][n], Band(high=resolved)) for n in traces[1]}
    values = {n: [np.stack([t.columns[f"v{i}"] for i in (1, 2, 3)]) for t in pair] for n, pair in pairs.items()}
    difference = sum(float(((a - b) ** 2).sum()) for a, b in values.values())
    misfit = float(np.sqrt(difference / sum(float((b**2).sum()) for _, b in values.values())))
    distance = {n: float(np.hypot(*pair[1].location[:2])) for n, pair in pairs.items()}
    nearest = sorted(distance, key=lambda n: distance[n])
    shown = [nearest[i] for i in np.linspace(0, len(nearest) - 1, SHOWN).astype(int)]
    fig = Figure(figsize=(7.2, 5.4), layout="constrained")
    axes = fig.subplots(SHOWN, 3, sharex=True, sharey="row", squeeze=False)
    for row, number in zip(axes, shown, strict=True):
        for i, ax in enumerate(row):
            for pair, data, look, label in zip(
                pairs[number], values[number], ({"color": "#1f4e79", "lw": 1.2}, {"color": "#c8553d", "lw": 2.2, "ls": ":"}),
                ("grid", "tetrahedra"), strict=True,
            ):  # fmt: skip
                ax.plot(pair.time, 100 * data[i], label=label, **look)
            ax.spines[["top", "right"]].set_visible(False)
            ax.tick_params(labelsize=8)
        row[0].set_ylabel(f"{pairs[number][1].station}, {1e-3 * distance[number]:.0f} km\n[cm/s]", fontsize=8)
    for ax, name in zip(axes[0], COMPONENTS, strict=True):
        ax.set_title(name, loc="left", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]", fontsize=9)
    axes[0, 0].legend(frameon=False, fontsize=8)
    band = "" if resolved is None else f" below {resolved:.2g} Hz, which both resolve"
    fig.suptitle(f"velocity{band}: misfit {100 * misfit:.1f} %", x=0.01, ha="left", fontsize=10)
    fig.savefig(picture, dpi=150)
    return misfit


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    default = [Path("fd"), Path("dg"), Path("mw6.png")]
    print(f"misfit {draw(*(given + default[len(given) :])):.4f}")
