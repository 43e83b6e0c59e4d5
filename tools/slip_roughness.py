"""How rough slip is beside a patch of other stress, run by run: the table of docs/decisions/0019-smooth-slip.md.

usage: python tools/slip_roughness.py FOLDER... --patch X0 X1 Z0 Z1 [--reach METRES]

FOLDER: results with a fault file, of a vertical fault along x, all on one mesh. Rupture times are compared with the first one's.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import load_results
from faultwave.plot.triangles import near_sides, residuals


def slip_of(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Centres (n, 2), triangles (n, 3), slip and rupture time (n,) of the last snapshot, in one order of the triangles."""
    results = load_results(folder)
    with VtkHdfReader(results.folder / f"{results.prefix}-fault.vtkhdf") as file:
        order = np.argsort(file.field("global-id"), kind="stable")
        _, points = np.unique(np.round(file.points, 3), axis=0, return_inverse=True)
        centres = file.points[file.cells].mean(1)[:, [0, 2]]
        triangles = points.reshape(-1)[file.cells]
        return centres[order], triangles[order], file.field("ASl")[order], file.field("RT")[order]


def main() -> None:
    """Print the roughness of slip in the given folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--patch", nargs=4, type=float, required=True, metavar=("X0", "X1", "Z0", "Z1"))
    parser.add_argument("--reach", type=float, default=1000.0, help="distance from the patch's sides [m]")
    given = parser.parse_args()
    first = slip_of(given.folders[0])[3]
    print("| run | rough, rms [m] | largest [m] | rupture times, median and rms difference [ms] |\n|---|---|---|---|")
    for folder in given.folders:
        centres, triangles, slip, time = slip_of(folder)
        found = residuals(centres, triangles, slip)
        found = found[near_sides(centres, tuple(given.patch), given.reach) & np.isfinite(found)]
        both = (time > 0) & (first > 0)
        late = 1e3 * (time - first)[both]
        rms, largest = np.sqrt((found**2).mean()), np.abs(found).max()
        print(
            f"| {folder.name} | {rms:.4f} | {largest:.3f} | {np.median(np.abs(late)):.2f}, {np.sqrt((late**2).mean()):.2f} |"
        )


if __name__ == "__main__":
    main()
