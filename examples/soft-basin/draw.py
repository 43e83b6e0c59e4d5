"""The shaking of soft soil beside that of the same ground if it stayed linear, and the ratio of both.

python draw.py [PICTURE]        runs the case twice, in the folders yielding and linear
"""

import sys
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import yaml

import faultwave as fw

CASE = Path(__file__).parent / "case.yaml"


def maps_of(folder: Path, linear: bool) -> Any:
    """Peak ground velocity (RotD50) [cm/s] of a run with soil or without, and x and y [m]."""
    case = yaml.safe_load(CASE.read_text())
    case["output"]["folder"] = str(folder)
    if linear:
        del case["soil"], case["output"]["soil"]
    sim = fw.simulate(case)
    sim.run()
    maps = sim.result("intensity")
    return 100 * maps["PGV"], maps["x"], maps["y"]


def draw(yielding: np.ndarray, linear: np.ndarray, x: np.ndarray, y: np.ndarray, picture: Path) -> None:
    """Two maps in the same colours, and their ratio."""
    fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.0), layout="constrained", sharey=True)
    top = linear.max()
    for ax, values, title in zip(axes, (linear, yielding), ("linear", "soil that yields"), strict=False):
        mesh = ax.pcolormesh(x, y, values, cmap="magma_r", vmin=0, vmax=top, rasterized=True)
        ax.set_title(f"{title}: at most {values.max():.0f} cm/s", loc="left", fontsize=9)
    fig.colorbar(mesh, ax=axes[:2], label="peak velocity [cm/s]", shrink=0.75, pad=0.01)
    ratio = axes[2].pcolormesh(x, y, yielding / linear, cmap="RdBu_r", vmin=0.2, vmax=1.8, rasterized=True)
    axes[2].set_title("yielding over linear", loc="left", fontsize=9)
    fig.colorbar(ratio, ax=axes[2], label="ratio", shrink=0.75, pad=0.02)
    bowl = 1 - (x / 400) ** 2 - (y[:, None] / 280) ** 2
    for ax in axes:
        ax.contour(x, y, bowl, levels=[0], colors="k", linewidths=0.6)
        ax.set_aspect("equal")
        ax.set_xlabel("x [m]")
    axes[0].set_ylabel("y [m]")
    fig.savefig(picture, dpi=120)


if __name__ == "__main__":
    yielding, x, y = maps_of(Path("yielding"), linear=False)
    linear, x, y = maps_of(Path("linear"), linear=True)
    draw(yielding, linear, x, y, Path(sys.argv[1] if len(sys.argv) > 1 else "soft-basin.png"))
