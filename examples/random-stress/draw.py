"""The random initial stress on the fault with the front of the rupture, the slip that results, and the S speed of the rock.

python draw.py RESULTS [PICTURE]        after faultwave run case.yaml --output RESULTS
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from faultwave.case.load import load_case
from faultwave.media import load_field
from faultwave.output.formats.vtkhdf import VtkHdfReader

CASE = Path(__file__).parent / "case.yaml"


def fields(centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the initial shear stress [MPa] and the S speed [m/s] at points (n, 3) of the fault."""
    case, _ = load_case(CASE)
    groups = np.ones(len(centres), int)
    stress = load_field(case.fault.parameters, "fault.parameters").evaluate(centres, groups, ["T_s"])["T_s"]
    speed = load_field(case.material, "material").evaluate(centres, groups, ["vs"])["vs"]
    return 1e-6 * stress, speed


def draw(results: Path, picture: Path) -> None:
    """Draw three maps of the fault."""
    with VtkHdfReader(next(results.glob("*-rupture.vtkhdf"))) as file:
        centres = np.asarray(file.points)[np.asarray(file.cells)].mean(1)
        slip, time = np.asarray(file.field("slip")), np.asarray(file.field("rupture_time"))
    x, depth = 1e-3 * centres[:, 0], -1e-3 * centres[:, 2]
    stress, speed = fields(centres)
    panels = (
        ("initial shear stress [MPa], front each 0.5 s", stress, "RdYlBu_r"),
        ("slip [m]", slip, "magma_r"),
        ("S speed of the rock [m/s]", speed, "cividis"),
    )
    fig, axes = plt.subplots(1, 3, figsize=(10.5, 2.6), layout="constrained", sharey=True)
    for ax, (title, values, colours) in zip(axes, panels, strict=True):
        image = ax.tricontourf(x, depth, values, 24, cmap=colours)
        fig.colorbar(image, ax=ax, orientation="horizontal", shrink=0.8, pad=0.02, ticks=MaxNLocator(5))
        ax.set_title(title, loc="left", fontsize=9)
        ax.set_xlabel("along strike [km]")
        ax.set(aspect="equal", xlim=(x.min(), x.max()), ylim=(depth.max(), depth.min()))
    there = np.isfinite(time)
    front = axes[0].tricontour(
        x[there], depth[there], time[there], np.arange(0.5, 6.5, 0.5), colors="k", linewidths=0.7
    )
    axes[0].clabel(front, fontsize=7)
    axes[0].set_ylabel("down dip [km]")
    fig.savefig(picture, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "random-stress.png"))
