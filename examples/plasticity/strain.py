"""Draw the plastic strain beside the fault in map view: strain.py RESULTS PICTURE."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from faultwave.output.formats.vtkhdf import VtkHdfReader


def main(arguments):
    """Draw the plastic strain of a run."""
    folder, picture = map(Path, arguments)
    with VtkHdfReader(folder / "rock-volume.vtkhdf") as file:
        x = file.points[file.cells].mean(1) / 1e3
        eta = file.field("eta", len(file.times) - 1)
    near = (x[:, 2] > -7) & (x[:, 2] < -1)
    order = np.flatnonzero(near)[np.argsort(eta[near])]  # the largest on top
    figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
    shown = axes.scatter(*x[order, :2].T, c=1e4 * eta[order], s=14, cmap="magma_r", vmin=0)
    axes.plot([-12, 12], [0, 0], color="tab:blue", lw=1)
    axes.set(
        xlabel="x along strike (km)", ylabel="y (km)", aspect="equal", title="Plastic strain between 1 and 7 km depth"
    )
    figure.colorbar(shown, label="eta (1e-4)")
    figure.savefig(picture, dpi=80)


if __name__ == "__main__":
    main(sys.argv[1:])
