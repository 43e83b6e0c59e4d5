"""A soft valley in the waves of a distant earthquake, in two runs: the domain reduction method on grids.

    python examples/injection/injection.py [FOLDER] [--end SECONDS] [--inputs-only]

writes two cases into FOLDER (default: injection). The first has the earthquake, a coarse grid, and records the waves around a box. The
second is the box and little more, twice as fine, with a soft valley; the recorded waves are let in. Then it draws the ground's motion
in both. With the inputs alone, the rest is

    faultwave run injection/regional.yaml --output injection/regional
    faultwave run injection/site.yaml --output injection/site
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

REGIONAL = """\
title: An earthquake and a box that its waves go through
engine: fd
end_time: %(end)g s
grid: { lower: [-4 km, -3 km, -4 km], upper: [4 km, 3 km, 0], spacing: 100 m, frequency: 2.5 Hz }
material: { constant: { rho: 2500 kg/m^3, vp: 3 km/s, vs: 1.7 km/s } }
sources:
  - kind: double-couple
    location: [-2.5 km, -0.6 km, -1.5 km]
    strike: 20 deg
    dip: 60 deg
    rake: 70 deg
    magnitude: 4
    time_function: { kind: ricker, frequency: 1 Hz }
output:
  prefix: regional
  box:
    lower: [0.6 km, -1.2 km, -1.2 km]
    upper: [3 km, 1.2 km, 0]
    spacing: 100 m
    interval: 0.02 s
    formats: [box, h5drm]
  receivers: { points: [[1.8 km, 0, 0]], interval: 0.02 s }
  surface: { interval: 0.1 s }
"""
SITE = """\
title: The box, and a soft valley in it
engine: fd
end_time: %(end)g s
grid: { lower: [-0.2 km, -2 km, -2 km], upper: [3.8 km, 2 km, 0], spacing: 50 m, frequency: 2.5 Hz }
injection: { file: %(record)s }
material:
  expression:
    # 200 m deep, 1.6 by 1.2 km wide
    rho: "if (z > -200 * (1 - (x-1800)*(x-1800)/640000 - y*y/360000)) { return 2000; } return 2500;"
    vp: "if (z > -200 * (1 - (x-1800)*(x-1800)/640000 - y*y/360000)) { return 1700; } return 3000;"
    vs: "if (z > -200 * (1 - (x-1800)*(x-1800)/640000 - y*y/360000)) { return 750; } return 1700;"
output:
  prefix: site
  receivers: { points: [[1.8 km, 0, 0]], interval: 0.02 s }
  surface: { interval: 0.1 s }
"""
BOX = (0.6, 3.0, -1.2, 1.2)
"""West, east, south and north [km]."""


def write_inputs(folder: Path, end: float) -> None:
    """Both cases."""
    folder.mkdir(parents=True, exist_ok=True)
    record = (folder / "regional" / "regional-box.h5").resolve()
    (folder / "regional.yaml").write_text(REGIONAL % {"end": end})
    (folder / "site.yaml").write_text(SITE % {"end": end, "record": record})


def draw(folder: Path) -> Path:
    """Draw the speed of the ground at its largest in the valley, in both runs, and the motion at the centre of the valley."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from faultwave.output.formats.image import ImageReader
    from faultwave.output.formats.receivers_hdf5 import read_receivers

    runs = {"regional": "the earthquake, no valley", "site": "waves let into the box, with a valley"}
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), width_ratios=(1, 1, 1.1), layout="constrained")
    with ImageReader(folder / "site" / "site-surface.vtkhdf") as site:
        peaks = [max(np.abs(site.field(n, k)).max() for n in ("v1", "v2", "v3")) for k in range(len(site.times))]
    when = int(np.argmax(peaks))
    for axis, (name, title) in zip(axes[:2], runs.items(), strict=True):
        with ImageReader(folder / name / f"{name}-surface.vtkhdf") as file:
            speed = 1e3 * np.sqrt(sum(np.square(file.field(n, when)) for n in ("v1", "v2", "v3")))
            x, y = np.asarray(file.x) / 1e3, np.asarray(file.y) / 1e3
            mesh = axis.pcolormesh(
                x, y, speed.reshape(len(y), len(x)), cmap="magma_r", vmin=0, vmax=1e3 * peaks[when], rasterized=True
            )
            axis.set(
                title=f"{title}, {file.times[when]:.1f} s",
                xlabel="x [km]",
                xlim=(-0.2, 3.8),
                ylim=(-2, 2),
                aspect="equal",
            )
        axis.plot([BOX[k] for k in (0, 1, 1, 0, 0)], [BOX[k] for k in (2, 2, 3, 3, 2)], "k--", linewidth=1)
        t = np.linspace(0, 2 * np.pi, 100)
        axis.plot(1.8 + 0.8 * np.cos(t), 0.6 * np.sin(t), color="tab:blue", linewidth=1)
    axes[0].set_ylabel("y [km]")
    figure.colorbar(mesh, ax=axes[:2], label="ground speed [mm/s]", shrink=0.9)
    for (name, title), colour in zip(runs.items(), ("0.5", "tab:red"), strict=True):
        data = read_receivers(folder / name / f"{name}-receivers.h5")["receivers"]
        axes[2].plot(data["time"], 1e3 * data.quantity("v1")[:, 0], color=colour, label=title)
    axes[2].set(xlabel="time [s]", ylabel="velocity along x in the middle [mm/s]")
    axes[2].legend(fontsize="small", loc="upper left")
    path = folder / "injection.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def main(arguments: list[str] | None = None) -> None:
    """See the text above."""
    parser = argparse.ArgumentParser(description="A soft valley in the waves of a distant earthquake")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("injection"))
    parser.add_argument("--end", type=float, default=5.0, help="simulated seconds")
    parser.add_argument("--inputs-only", action="store_true")
    asked = parser.parse_args(arguments)
    write_inputs(asked.folder, asked.end)
    if asked.inputs_only:
        return
    from faultwave.run import simulate

    for name in ("regional", "site"):
        simulate(asked.folder / f"{name}.yaml", output=asked.folder / name, force=True).run()
    print(f"drawn: {draw(asked.folder)}")


if __name__ == "__main__":
    main()
