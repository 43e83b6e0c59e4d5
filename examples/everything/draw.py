"""Slip, motion of sea and land, and where the energy is: draw.py [RESULTS] [PICTURE]."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results

SPRINGS = "strain and motion of rock"
WATER = "sound and height of the sea"
YIELDING = "yielding of rock"
ATTENUATION = "attenuation"


def budget(energies: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Work [J] that the fault has done on the rock, and where it is or has gone, at the times of the table.

    The rock at rest is loaded: the work is that of the change of traction, and of what yielding dissipates the stress at rest gives a part.
    """
    e = energies
    spent = {
        SPRINGS: e["elastic_energy"] + e["elastic_kinetic_energy"],
        WATER: e["acoustic_energy"] + e["acoustic_kinetic_energy"] + e["gravitational_energy"],
        YIELDING: e["plastic_work"] - e["initial_stress_work"],
        ATTENUATION: e["attenuation_work"],
    }
    return np.asarray(e["total_frictional_work"]), spent


def draw_slip(ax: Any, path: Path) -> Any:
    """Slip at the end over the plane of the fault, and the front every half second."""
    with VtkHdfReader(path) as file:
        corners, cells = file.points, file.cells
        slip, time = np.abs(file.field("Sld", -1)), np.asarray(file.field("RT", -1), float)
    along, down = corners[:, 1] / 1e3, -corners[:, 2] / np.sin(np.radians(60.0)) / 1e3
    shown = ax.tripcolor(along, down, cells, facecolors=slip, cmap="magma_r", vmin=0)
    middle = np.stack([along[cells].mean(1), down[cells].mean(1)])
    broken = time > 0
    ax.tricontour(*middle[:, broken], time[broken], np.arange(0.5, 4.0, 0.5), colors="tab:blue", linewidths=0.8)
    ax.invert_yaxis()
    ax.set(xlabel="along strike [km]", ylabel="down dip [km]", aspect="equal")
    ax.set_title("slip [m]", loc="left", fontsize=10)
    return shown


def draw_uplift(ax: Any, path: Path) -> Any:
    """Vertical displacement of the sea floor and the land at the end, and the coast."""
    with VtkHdfReader(path) as file:
        place = file.field("locationFlag")
        rock, sea = np.isin(place, (0, 2)), place == 3
        lift = np.asarray(file.field("u3", -1), float)
        x, y = file.points[:, 0] / 1e3, file.points[:, 1] / 1e3
        most = np.abs(lift[rock]).max()
        shown = ax.tripcolor(x, y, file.cells[rock], facecolors=lift[rock], cmap="RdBu_r", vmin=-most, vmax=most)
        wet = file.points[file.cells[sea]].mean(1)
        dry = file.points[file.cells[place == 2]].mean(1)
    around = np.concatenate([wet, dry])[:, :2] / 1e3
    ax.tricontour(*around.T, np.r_[np.ones(len(wet)), np.zeros(len(dry))], [0.5], colors="0.3", linewidths=0.8)
    ax.plot([0, 0], [-8, 8], color="k", lw=1.5)
    ax.set(xlim=(-20, 20), ylim=(-20, 20), aspect="equal", xlabel="x [km]", ylabel="y [km]")
    ax.set_title("uplift of ground and sea floor [m]", loc="left", fontsize=10)
    return shown


def draw_energies(ax: Any, energies: Any) -> None:
    """Draw stored and lost energies on top of each other, and the work of the sources."""
    work, spent = budget(energies)
    colors = ("#1f4e79", "#5aa9e6", "#c8553d", "#f2b134")
    ax.stackplot(energies["time"], *(v / 1e12 for v in spent.values()), labels=list(spent), colors=colors)
    ax.plot(energies["time"], work / 1e12, color="k", lw=1.2, ls="--", label="work of the fault")
    ax.set(xlabel="time [s]", xlim=(1, energies["time"][-1]))
    ax.set_title("energy [TJ]", loc="left", fontsize=10)
    ax.legend(frameon=False, fontsize=7, loc="upper left")
    ax.spines[["top", "right"]].set_visible(False)


def draw(results: Path, picture: Path) -> None:
    """Draw the energies of a run."""
    energies = load_results(results).energies
    fig = Figure(figsize=(10, 3.3), layout="constrained")
    slip, uplift, table = fig.subplots(1, 3)
    fig.colorbar(draw_slip(slip, results / "all-fault.vtkhdf"), ax=slip, location="bottom", shrink=0.8, pad=0.02)
    fig.colorbar(draw_uplift(uplift, results / "all-surface.vtkhdf"), ax=uplift, location="right", shrink=0.8)
    draw_energies(table, energies)
    fig.savefig(picture, dpi=100)


if __name__ == "__main__":
    given = [Path(text) for text in sys.argv[1:]]
    default = [Path("results"), Path("everything.png")]
    draw(*(given + default[len(given) :]))
