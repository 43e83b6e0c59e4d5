"""Write a synthetic earthquake, and after its run the static offsets that GNSS stations and a satellite would see.

python offsets.py FOLDER          # earthquake.srf, points.txt
python offsets.py FOLDER data     # gnss.csv, insar.csv from the run in the folder data
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from faultwave.base.projection import Projection
from faultwave.output.results import load_results

PROJECTION = Projection("EPSG:32611", (-117.5, 34.0))
SIZE, ALONG, DOWN, TOP = 2000.0, 8, 4, 1000.0
"""Side of a subfault, and numbers of subfaults of a vertical fault along x; depth of its upper edge [m]."""
STRIKE, DIP, RAKE = 90.0, 90.0, 180.0
PATCH = (-2000.0, 4000.0, 3000.0, 1.5)
"""Place of a patch along strike and down dip, its radius, and its largest slip [m]."""
SPEED, RISE, STEP = 2500.0, 2.0, 0.1
"""Speed of the rupture [m/s], rise time and sampling interval [s]."""
DENSITY, SHEAR_SPEED = 2700.0, 3300.0
GNSS_SIGMA, INSAR_SIGMA = (0.003, 0.003, 0.006), 0.008
"""Standard deviations of noise: east, north and up; line of sight [m]."""
LOOK = np.array([-0.61, -0.11, 0.785])
"""Direction from the ground to the satellite: east, north and up."""


def places() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinates along strike and down dip (n,), and the local x, y, z (n, 3) of the subfaults [m]."""
    row, column = np.divmod(np.arange(ALONG * DOWN), ALONG)
    s, d = SIZE * (column + 0.5 - ALONG / 2), SIZE * (row + 0.5)
    return s, d, np.stack([s, np.zeros(len(s)), -TOP - d], 1)


def true_slip() -> np.ndarray:
    """Return the slip (n,) [m]."""
    s, d, _ = places()
    x, y, radius, largest = PATCH
    return np.asarray(largest * np.exp(-((s - x) ** 2 + (d - y) ** 2) / radius**2))


def write_earthquake(folder: Path) -> None:
    """Write the slip as an SRF file, and the places of the subfaults."""
    s, d, xyz = places()
    slip, onset = true_slip(), np.hypot(s + 6000.0, d - 5000.0) / SPEED
    rate = np.sin(np.pi * np.arange(round(RISE / STEP) + 1) / round(RISE / STEP))
    rate /= rate.sum() * STEP
    lon, lat = PROJECTION.to_geographic(np.zeros((1, 2)))[0]
    plane = f"{lon:.8f} {lat:.8f} {ALONG} {DOWN} {1e-3 * SIZE * ALONG:g} {1e-3 * SIZE * DOWN:g}"
    lines = ["2.0", "PLANE 1", plane, f"{STRIKE:g} {DIP:g} {1e-3 * TOP:g} 0 0", f"POINTS {len(slip)}"]
    for i, (longitude, latitude) in enumerate(PROJECTION.to_geographic(xyz[:, :2])):
        lines.append(
            f"{longitude:.8f} {latitude:.8f} {-1e-3 * xyz[i, 2]:.6f} {STRIKE:g} {DIP:g} {1e4 * SIZE**2:g} {onset[i]:.5f} {STEP:g} "
            f"{100 * SHEAR_SPEED:g} {1e-3 * DENSITY:g}"
        )
        lines.append(f"{RAKE:g} {100 * slip[i]:.6f} {len(rate)} 0 0 0 0")
        lines.append(" ".join(f"{100 * slip[i] * v:.6g}" for v in rate))
    (folder / "earthquake.srf").write_text("\n".join(lines) + "\n")
    np.savetxt(folder / "points.txt", xyz, fmt="%.3f")


def write_offsets(folder: Path, data: Path) -> None:
    """Write the displacement after all waves, with noise: GNSS at stations that begin with G, the line of sight at the others."""
    turn, rng = np.radians(PROJECTION.azimuth_of_y(-117.5, 34.0)), np.random.default_rng(5)
    gnss = ["station,x,y,east,north,up,sigma_east,sigma_north,sigma_up"]
    insar = ["x,y,offset,sigma,look_east,look_north,look_up"]
    for trace in load_results(data).traces["receiver"].values():
        x, y, z = (np.trapezoid(trace.columns[f"v{axis}"], trace.time) for axis in (1, 2, 3))
        moved = np.array([x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn), z])
        place = f"{trace.location[0]:.1f},{trace.location[1]:.1f}"
        if str(trace.station).startswith("G"):
            moved += GNSS_SIGMA * rng.standard_normal(3)
            gnss.append(f"{trace.station},{place}," + ",".join(f"{v:.5f}" for v in (*moved, *GNSS_SIGMA)))
        else:
            look = LOOK / np.linalg.norm(LOOK)
            seen = moved @ look + INSAR_SIGMA * rng.standard_normal()
            insar.append(f"{place},{seen:.5f},{INSAR_SIGMA}," + ",".join(f"{v:.6f}" for v in look))
    (folder / "gnss.csv").write_text("\n".join(gnss) + "\n")
    (folder / "insar.csv").write_text("\n".join(insar) + "\n")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write_offsets(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        write_earthquake(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
