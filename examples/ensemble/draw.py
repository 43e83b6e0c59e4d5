"""Draw the results of the ensemble: slip, its probability of exceedance, and the magnitude against the parameters."""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import faultwave as fw

LEVELS = {"probability of more than 2 m": np.linspace(0, 1, 11)}


def draw(ensemble: fw.Ensemble, path: Path) -> None:
    """Draw the ensemble, which has run, into the file ``path``."""
    data, statistics = ensemble.open(), ensemble.statistics()
    place = statistics["fault_place_location"].values / 1e3
    figure, axes = plt.subplots(2, 2, figsize=(10, 6), layout="constrained")
    maps = (
        ("median slip [m]", statistics["slip_percentiles"].sel(percentile=50)),
        ("standard deviation of slip [m]", statistics["slip_std"]),
        ("probability of more than 2 m", statistics["slip_exceedance"].sel(slip_level=2.0)),
    )
    for axis, (title, values) in zip(axes.flat, maps, strict=False):
        shown = axis.tricontourf(place[:, 0], place[:, 2], np.nan_to_num(values.values), LEVELS.get(title, 20))
        figure.colorbar(shown, ax=axis)
        axis.set(title=title, xlabel="along strike [km]", ylabel="z [km]", aspect="equal")
    axis = axes.flat[3]
    dots = axis.scatter(data["critical_slip"], data["scalar_moment_magnitude"], c=data["dynamic_friction"])
    figure.colorbar(dots, ax=axis, label="dynamic friction")
    axis.set(title="members", xlabel="critical slip [m]", ylabel="moment magnitude")
    figure.savefig(path, dpi=80)
    plt.close(figure)


if __name__ == "__main__":
    made = fw.Ensemble(Path(__file__).with_name("study.yaml"), folder=sys.argv[1])
    draw(made, Path(sys.argv[2]))
