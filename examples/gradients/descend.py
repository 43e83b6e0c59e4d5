"""Location and mechanism of an earthquake from seismograms by gradients and L-BFGS.

    python examples/gradients/descend.py [FOLDER] [--iterations N]

computes seismograms of the earthquake of case.yaml as data, starts from another one, and recovers the first. The picture
FOLDER/gradients.png (default: gradients) shows misfit and errors of the parameters in each iteration, and seismograms.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import faultwave as fw
from faultwave.gradients.gradient import Gradient
from faultwave.gradients.misfits import WaveformMisfit

CASE = Path(__file__).with_name("case.yaml")
START = {
    "location[0]": (500.0, 100.0, "m"),
    "location[1]": (-210.0, 100.0, "m"),
    "location[2]": (-1690.0, 100.0, "m"),
    "strike": (42.0, 10.0, "degrees"),
    "dip": (68.0, 10.0, "degrees"),
    "rake": (28.0, 10.0, "degrees"),
    "magnitude": (3.6, 0.1, ""),
}
"""Start and scale of each parameter of the source, and their unit."""
NAMES = {"location[0]": "x", "location[1]": "y", "location[2]": "z"}
PATHS = [f"sources[0].{name}" for name in START]


@dataclass
class Descent:
    """Evaluations of a minimisation.

    Attributes
    ----------
    true : ndarray (parameters,)
        Parameters of the earthquake, SI units.
    data : ndarray (stations, 3, samples)
        Its velocities [m/s].
    evaluated : list of Gradient
        All evaluations.
    """

    true: np.ndarray
    data: np.ndarray
    evaluated: list[Gradient] = field(default_factory=list)

    @property
    def best(self) -> list[Gradient]:
        """The evaluations that improved the misfit."""
        lowest = np.minimum.accumulate([e.value for e in self.evaluated])
        return [e for e, low in zip(self.evaluated, lowest, strict=True) if e.value == low]


def descend(iterations: int) -> Descent:
    """Minimise the misfit of the seismograms of case.yaml."""
    receivers = fw.simulate(CASE).run(write=False).receivers
    data = np.stack([receivers.quantity(f"v{n}").T for n in (1, 2, 3)], 1)
    misfit = WaveformMisfit(data, 1 / np.abs(data).max())
    true = fw.gradient(CASE, misfit, PATHS)
    descent = Descent(np.array([p.value for p in true.parameters]), data)
    start, scale = (np.array([values[k] for values in START.values()]) for k in (0, 1))

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        found = fw.gradient(CASE, misfit, dict(zip(PATHS, x * scale, strict=True)))
        descent.evaluated.append(found)
        print(f"evaluation {len(descent.evaluated)}: misfit {found.value:.4g}", flush=True)
        return found.value, found.vector * scale

    options = {"maxiter": iterations, "ftol": 1e-12}
    minimize(objective, start / scale, jac=True, method="L-BFGS-B", options=options)
    return descent


def print_table(descent: Descent) -> None:
    """Print start, result and true value of each parameter."""
    print(f"{'':12}{'start':>12}{'result':>12}{'true':>12}")
    first, last = descent.best[0], descent.best[-1]
    for k, (name, (_, _, unit)) in enumerate(START.items()):
        values = (first.parameters[k].value, last.parameters[k].value, descent.true[k])
        print(f"{name:12}" + "".join(f"{value:12.3f}" for value in values) + f" {unit}")


def draw(descent: Descent, folder: Path) -> Path:
    """Draw misfit, errors of the parameters, and seismograms along y of three stations."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), width_ratios=(1, 1, 1.4), layout="constrained")
    best = descent.best
    left.semilogy([e.value / best[0].value for e in best], "o-", color="tab:red", markersize=3)
    left.set(xlabel="improvement", ylabel="misfit relative to the start")
    for k, (name, (_, scale, _)) in enumerate(START.items()):
        errors = [abs(e.parameters[k].value - descent.true[k]) / scale for e in best]
        middle.semilogy(errors, label=NAMES.get(name, name), linewidth=1.2)
    middle.set(xlabel="improvement", ylabel="error [100 m, 10 degrees, 0.1 of magnitude]")
    middle.legend(fontsize="x-small", ncols=2)
    time, height = best[0].time, 1.5 * np.abs(descent.data[:, 1]).max()
    stations = range(0, len(descent.data), 4)
    for row, station in enumerate(stations):
        for values, style in (
            (descent.data, {"color": "0.6", "linewidth": 3, "label": "data"}),
            (best[0].velocity, {"color": "tab:blue", "linewidth": 1, "linestyle": "--", "label": "start"}),
            (best[-1].velocity, {"color": "tab:red", "linewidth": 1, "label": "result"}),
        ):
            right.plot(time, values[station, 1] / height + row, **style | ({"label": None} if row else {}))
    right.set(xlabel="time [s]", ylabel="velocity along y, scaled", yticks=range(len(stations)))
    right.set_yticklabels([f"station {station + 1}" for station in stations])
    right.legend(fontsize="small", loc="upper left")
    path = folder / "gradients.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description="Location and mechanism of an earthquake by gradients")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("gradients"))
    parser.add_argument("--iterations", type=int, default=30, help="iterations of L-BFGS")
    options = parser.parse_args(arguments)
    descent = descend(options.iterations)
    print_table(descent)
    options.folder.mkdir(parents=True, exist_ok=True)
    print(f"drawn: {draw(descent, options.folder)}")


if __name__ == "__main__":
    main()
