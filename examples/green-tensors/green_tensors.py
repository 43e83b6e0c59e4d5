"""Strain Green tensors from Python: a few runs at the sites answer for every moment tensor at the sources.

    python green_tensors.py [PICTURE] [--until SECONDS]

makes the tensors of case.yaml, uses them for three earthquakes, and runs the first of these forwards to compare.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import faultwave as fw
from faultwave.green_tensors import green_tensors, seismograms

CASE = Path(__file__).with_name("case.yaml")
DURATION = 0.15  # s, of the Gaussian in case.yaml; the tensors hold the same one
TENSORS = {  # xx yy zz xy yz xz [N m]
    "strike slip": [0, 0, 0, 1e15, 0, 0],
    "thrust": [-1e15, 0, 1e15, 0, 0, 0],
    "explosion": [1e15, 1e15, 1e15, 0, 0, 0],
}


def main(arguments: list[str] | None = None) -> float:
    """Make the tensors, use them, draw; returns the largest difference from the forward run, as a part of the peak."""
    parser = argparse.ArgumentParser(description="Strain Green tensors of two sites.")
    parser.add_argument("picture", nargs="?", default="green-tensors.png", type=Path)
    parser.add_argument("--until", type=float, default=None, help="a shorter simulated time in seconds")
    asked = parser.parse_args(arguments)
    shorter = {} if asked.until is None else {"until": asked.until}

    green = green_tensors(CASE, duration=DURATION, **shorter)  # six runs: two sites, three directions
    motion = {name: seismograms(green, np.array([tensor])) for name, tensor in TENSORS.items()}

    forward = fw.simulate(CASE, output=asked.picture.parent / "forward", force=True, **shorter)
    forward.run()
    there = forward.receivers
    direct = np.stack([there.quantity(f"v{i}").T for i in (1, 2, 3)], axis=1)  # (site, 3, time)

    fig = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = fig.subplots(2, 3, sharex=True, sharey="row")
    for column, (name, velocity) in enumerate(motion.items()):
        for site in range(2):
            ax = axes[site, column]
            ax.plot(green["time"], 1e3 * velocity[site, 0], color="#1f4e79", label="by reciprocity")
            if column == 0:
                ax.plot(there["time"], 1e3 * direct[site, 0], ":", color="#c8553d", lw=2.2, label="forward run")
                ax.set_ylabel(f"site {site + 1}: $v_1$ [mm/s]")
            ax.spines[["top", "right"]].set_visible(False)
        axes[0, column].set_title(name, loc="left", fontsize=10)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].legend(frameon=False, fontsize=8)
    fig.savefig(asked.picture, dpi=150)

    both = min(direct.shape[2], len(green["time"]))
    difference = motion["strike slip"][:, :, :both] - direct[:, :, :both]
    return float(np.abs(difference).max() / np.abs(direct).max())


if __name__ == "__main__":
    print(f"the two differ by {main():.1e} of the peak")
