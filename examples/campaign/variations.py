"""Write variations of three ruptures of one fault: SRF files with random slip and hypocentres, and the table of their rates.

python variations.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from faultwave.base.projection import Projection

PROJECTION = Projection("EPSG:32611", (-117.5, 34.0))
STRIKE, DIP, RAKE, TOP = 90.0, 60.0, 90.0, 1000.0
"""A thrust fault along x [degrees, m]."""
SIZE = 400.0
"""Side of a subfault [m]."""
ALONG, DOWN = 15, 8
RIGIDITY, SPEED, RISE, STEP = 2.5e10, 2200.0, 0.6, 0.05
"""Shear modulus [Pa], rupture speed [m/s], rise time and sampling interval [s]."""
RUPTURES = {"whole": (0, 15, 5.7, 2e-3), "west": (0, 8, 5.3, 5e-3), "east": (7, 15, 5.3, 5e-3)}
"""First and last column of subfaults, magnitude and annual rate of each rupture."""
VARIATIONS = 8


def write_variations(folder: Path, variations: int = VARIATIONS) -> Path:
    """Write all SRF files and the table of ruptures into a folder, and return the path of the table."""
    rows = ["rupture,file,annual_rate"]
    for number, (name, (first, last, magnitude, rate)) in enumerate(RUPTURES.items()):
        for variation in range(variations):
            rng = np.random.default_rng([number, variation])
            path = folder / f"{name}-{variation + 1}.srf"
            path.write_text(rupture(rng, first, last, 10 ** (1.5 * magnitude + 9.1)))
            rows.append(f"{name},{path.name},{rate:g}")
    table = folder / "ruptures.csv"
    table.write_text("\n".join(rows) + "\n")
    return table


def rupture(rng: np.random.Generator, first: int, last: int, moment: float) -> str:
    """Return the text of an SRF file of a rupture with smooth random slip and a random hypocentre."""
    dip = np.radians(DIP)
    column, row = np.meshgrid(np.arange(first, last), np.arange(DOWN))
    s, d = SIZE * (column.ravel() + 0.5 - ALONG / 2), SIZE * (row.ravel() + 0.5)
    x, y, depth = s, -d * np.cos(dip), TOP + d * np.sin(dip)
    slip = smooth_noise(rng, last - first).ravel()
    slip *= moment / (RIGIDITY * SIZE**2 * slip.sum())
    start = rng.integers(len(s))
    onset = np.hypot(s - s[start], d - d[start]) / SPEED + STEP
    rate = np.sin(np.pi * np.arange(int(RISE / STEP) + 1) / int(RISE / STEP))
    rate /= rate.sum() * STEP
    lonlat = PROJECTION.to_geographic(np.stack([x, y], 1))
    rake = RAKE + 15 * rng.standard_normal(len(s))
    vs, density = 100 * np.sqrt(RIGIDITY / 2600), 2.6
    lines = ["2.0", f"POINTS {len(s)}"]
    for i, (lon, lat) in enumerate(lonlat):
        lines.append(
            f"{lon:.8f} {lat:.8f} {1e-3 * depth[i]:.6f} {STRIKE:g} {DIP:g} {1e4 * SIZE**2:g} {onset[i]:.5f} {STEP:g} {vs:.2f} {density}"
        )
        lines.append(f"{rake[i]:.3f} {100 * slip[i]:.5f} {len(rate)} 0 0 0 0")
        lines.append(" ".join(f"{100 * slip[i] * v:.6g}" for v in rate))
    return "\n".join(lines) + "\n"


def smooth_noise(rng: np.random.Generator, columns: int) -> np.ndarray:
    """Return positive random slip (DOWN, columns) that decreases towards the edges."""
    from scipy.ndimage import gaussian_filter

    noise = np.exp(gaussian_filter(rng.standard_normal((DOWN, columns)), 1.5, mode="wrap") * 3)
    taper = np.outer(
        np.sin(np.pi * (np.arange(DOWN) + 1) / (DOWN + 1)), np.sin(np.pi * (np.arange(columns) + 1) / (columns + 1))
    )
    return np.asarray(noise * np.sqrt(taper))


if __name__ == "__main__":
    print(write_variations(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
