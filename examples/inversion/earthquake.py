"""Write a synthetic earthquake of magnitude 6: its slip, the subfaults on which an inversion looks for it, and their places.

python earthquake.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from faultwave.base.projection import Projection

PROJECTION = Projection("EPSG:32611", (-117.5, 34.0))
STRIKE, DIP, RAKE, TOP = 90.0, 50.0, 90.0, 3000.0
"""A thrust fault along x [degrees, m]."""
SIZE, ALONG, DOWN = 1500.0, 10, 6
"""Side of a subfault [m], and number of subfaults along strike and down dip."""
MOMENT, SPEED, RISE, STEP = 1.26e18, 2500.0, 1.5, 0.1
"""Moment [N m], rupture speed [m/s], rise time and sampling interval [s]."""
PATCHES = ((-3500.0, 3500.0, 2500.0, 1.0), (3500.0, 5500.0, 2000.0, 0.7))
"""Places along strike and down dip, radius [m], and relative slip of two patches."""
START = (-5000.0, 5500.0)
"""Hypocentre along strike and down dip [m]."""
DENSITY, SHEAR_SPEED = 2700.0, 3300.0
"""Rock around the fault."""


def places() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinates along strike and down dip (n,), and the local x, y, z (n, 3) of the subfaults [m]."""
    row, column = np.divmod(np.arange(ALONG * DOWN), ALONG)
    s, d = SIZE * (column + 0.5 - ALONG / 2), SIZE * (row + 0.5)
    dip = np.radians(DIP)
    return s, d, np.stack([s, -d * np.cos(dip), -TOP - d * np.sin(dip)], 1)


def true_slip() -> np.ndarray:
    """Return the slip (n,) [m] of two patches with the moment of the earthquake."""
    s, d, _ = places()
    slip = sum(a * np.exp(-((s - x) ** 2 + (d - y) ** 2) / r**2) for x, y, r, a in PATCHES)
    return np.asarray(slip * MOMENT / (DENSITY * SHEAR_SPEED**2 * SIZE**2 * np.sum(slip)))


def write_srf(path: Path, slip: np.ndarray) -> None:
    """Write slip with a circular rupture front as an SRF file."""
    s, d, xyz = places()
    onset = np.hypot(s - START[0], d - START[1]) / SPEED
    rate = np.sin(np.pi * np.arange(round(RISE / STEP) + 1) / round(RISE / STEP))
    rate /= rate.sum() * STEP
    lonlat = PROJECTION.to_geographic(xyz[:, :2])
    lon, lat = PROJECTION.to_geographic(np.zeros((1, 2)))[0]
    plane = f"{lon:.8f} {lat:.8f} {ALONG} {DOWN} {1e-3 * SIZE * ALONG:g} {1e-3 * SIZE * DOWN:g}"
    lines = ["2.0", "PLANE 1", plane, f"{STRIKE:g} {DIP:g} {1e-3 * TOP:g} 0 0", f"POINTS {len(slip)}"]
    for i, (longitude, latitude) in enumerate(lonlat):
        lines.append(
            f"{longitude:.8f} {latitude:.8f} {-1e-3 * xyz[i, 2]:.6f} {STRIKE:g} {DIP:g} {1e4 * SIZE**2:g} {onset[i]:.5f} {STEP:g} "
            f"{100 * SHEAR_SPEED:g} {1e-3 * DENSITY:g}"
        )
        lines.append(f"{RAKE:g} {100 * slip[i]:.6f} {len(rate) if slip[i] else 0} 0 0 0 0")
        if slip[i]:
            lines.append(" ".join(f"{100 * slip[i] * v:.6g}" for v in rate))
    path.write_text("\n".join(lines) + "\n")


def write_earthquake(folder: Path) -> None:
    """Write the files of the earthquake and of the inversion into a folder."""
    write_srf(folder / "earthquake.srf", true_slip())
    write_srf(folder / "fault.srf", np.zeros(ALONG * DOWN))
    np.savetxt(folder / "points.txt", places()[2], fmt="%.3f")


if __name__ == "__main__":
    write_earthquake(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
