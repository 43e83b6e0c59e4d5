"""An earthquake of magnitude 6.5 beside a sedimentary basin: from a finite fault to a map of shaking.

    python examples/basin/basin.py [FOLDER] [--frequency HZ] [--inputs-only]

writes the inputs into FOLDER (default: basin): a rupture in Standard Rupture Format and the case; runs it on the engine fd
with attenuation, up to 1 Hz unless told otherwise, and draws the maps. With the inputs alone, the rest is

    faultwave run basin/case.yaml --output basin/results
    faultwave plot basin/results

Everything about the earthquake is made up, nothing about the
physics: a strike-slip fault of 24 by 12 km that breaks from its southern end at 2.8 km/s, with slip that is largest in two
patches, and a basin 3 km deep, slow at the top, in layered rock.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

LENGTH, WIDTH, TOP = 24.0, 12.0, 3.0  # km
NODES = (24, 12)
STRIKE, DIP, RAKE = 330.0, 90.0, 180.0
MAGNITUDE, RIGIDITY = 6.5, 3.2e10
SPEED = 2.8  # km/s, of the rupture front
RISE, STEP = 1.6, 0.05  # s
ORIGIN = (-117.0, 34.0)
KM_PER_DEGREE = 111.195

CASE = """\
title: Magnitude 6.5 beside a basin
engine: fd
end_time: 40 s
projection: { crs: "EPSG:32611", origin: [-117.0, 34.0] }
grid:
  lower: [-24 km, -24 km, -18 km]
  upper: [24 km, 24 km, 0]
  frequency: %(frequency)g Hz
  points_per_wavelength: 5
attenuation: { reference: 1 Hz }
material:
  expression:
    # a basin, 3 km deep at (8, 6) km, 18 by 12 km wide, in rock that gets faster with depth
    rho: "%(inside)s return 2000 + 200 * d; } return min(2500 + 20 * -z / 1000, 2800);"
    vp: "%(inside)s return 2600 + 500 * d; } return min(5000 + 100 * -z / 1000, 6300);"
    vs: "%(inside)s return 1000 + 300 * d; } return min(2800 + 60 * -z / 1000, 3600);"
    Qs: "%(inside)s return 50 + 15 * d; } return 150;"
    Qp: "%(inside)s return 100 + 30 * d; } return 300;"
sources:
  - { kind: srf, file: rupture.srf }
output:
  folder: results
  receivers:
    points: [[8 km, 6 km, 0], [-10 km, 6 km, 0], [8 km, -14 km, 0]]
    interval: 0.05 s
  surface: { interval: 5 s }
  intensity: { periods: [1 s, 2 s, 3 s, 5 s], formats: [geotiff, shakemap] }
"""
INSIDE = (
    "d = -z / 1000; r = (x - 8000) * (x - 8000) / 81000000 + (y - 6000) * (y - 6000) / 36000000; "
    "if (r < 1 && d < 3 * (1 - r)) {"
)


def rupture() -> str:
    """Return the text of the rupture: version 2.0, one segment."""
    ns, nd = NODES
    along, down = (np.arange(ns) + 0.5) / ns, (np.arange(nd) + 0.5) / nd
    s, d = np.meshgrid(along, down, indexing="ij")
    patches = np.exp(-((s - 0.3) ** 2) / 0.02 - (d - 0.6) ** 2 / 0.08) + 0.8 * np.exp(
        -((s - 0.72) ** 2) / 0.015 - (d - 0.4) ** 2 / 0.06
    )
    slip = (0.25 + patches) * np.sqrt(np.sin(np.pi * s) * np.sin(np.pi * d))
    area = LENGTH * WIDTH / (ns * nd) * 1e6
    slip *= 10 ** (1.5 * MAGNITUDE + 9.1) / (RIGIDITY * area * slip.sum())
    distance = np.hypot((s - 0.05) * LENGTH, (d - 0.6) * WIDTH)
    azimuth = np.radians(STRIKE)
    lines = ["2.0", "# two patches of slip, unilateral rupture", "PLANE 1"]
    lines += [
        f" {ORIGIN[0]} {ORIGIN[1]} {ns} {nd} {LENGTH} {WIDTH}",
        f" {STRIKE} {DIP} {TOP} {-0.45 * LENGTH:g} {0.6 * WIDTH:g}",
    ]
    lines.append(f"POINTS {ns * nd}")
    count = round(RISE / STEP)
    shape = np.sin(np.pi * np.arange(count + 1) / count) ** 2
    shape /= shape.sum() * STEP
    for i in range(ns):
        for k in range(nd):
            offset = (along[i] - 0.5) * LENGTH
            lat = ORIGIN[1] + offset * np.cos(azimuth) / KM_PER_DEGREE
            lon = ORIGIN[0] + offset * np.sin(azimuth) / (KM_PER_DEGREE * np.cos(np.radians(lat)))
            depth = TOP + down[k] * WIDTH
            lines.append(
                f"{lon:.6f} {lat:.6f} {depth:.4f} {STRIKE} {DIP} {1e4 * area:.6e} {distance[i, k] / SPEED:.4f} {STEP} -1 -1"
            )
            lines.append(f"{RAKE} {100 * slip[i, k]:.4f} {count + 1} 0 0 0 0")
            rates = [f"{100 * slip[i, k] * r:.5e}" for r in shape]
            lines += [" ".join(rates[n : n + 6]) for n in range(0, len(rates), 6)]
    return "\n".join(lines) + "\n"


def write_inputs(folder: Path, frequency: float = 1.0) -> Path:
    """Write rupture.srf and case.yaml for waves up to ``frequency`` [Hz]; returns the case."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rupture.srf").write_text(rupture())
    (folder / "case.yaml").write_text(CASE % {"inside": INSIDE, "frequency": frequency})
    return folder / "case.yaml"


def main(arguments: list[str] | None = None) -> None:
    """Write, run, draw."""
    parser = argparse.ArgumentParser(description="An earthquake of magnitude 6.5 beside a sedimentary basin.")
    parser.add_argument("folder", nargs="?", default="basin", type=Path)
    parser.add_argument(
        "--frequency", type=float, default=1.0, help="highest frequency in Hz; twice as much takes 16 times as long"
    )
    parser.add_argument("--inputs-only", action="store_true", help="write the case and the rupture, run nothing")
    asked = parser.parse_args(arguments)
    case = write_inputs(asked.folder, asked.frequency)
    if asked.inputs_only:
        print(case)
        return
    from faultwave.plot import plot_run
    from faultwave.run import simulate

    results = asked.folder / "results"
    simulate(case, output=results, force=True).run()
    for picture in plot_run(results):
        print(picture)


if __name__ == "__main__":
    main()
