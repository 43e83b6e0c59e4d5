"""Small campaign: SRF files of ruptures on a plane, a table with their rates, and tensors of sites on a small grid."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from faultwave.base.projection import Projection
from faultwave.green_tensors import save_green_tensors

PROJECTION: dict[str, Any] = {"crs": "EPSG:32611", "origin": [-117.0, 34.0], "azimuth": 20.0}
SITES = [[420.0, 930.0, 0.0], [1100.0, 400.0, 0.0]]
PLACES = np.array([[1010.0, 610.0, -820.0], [870.0, 700.0, -905.0], [930.0, 655.0, -860.0]])
SIGMA, INTERVAL, END = 0.06, 0.02, 1.8
MATERIAL = {"expression": {"rho": "2700 + 0.2 * x", "vp": "3464 + 0.3 * y - 0.2 * z", "vs": "2000 - 0.4 * z"}}
STEP = 0.03
"""Sampling interval of slip rates [s], no multiple of that of the tensors."""


def case(receivers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Case of the grid on which forces and sources act."""
    return {
        "engine": "fd", "end_time": END, "material": MATERIAL, "projection": PROJECTION,
        "grid": {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 100.0, "absorbing": {"width": 5}},
        "output": {"receivers": receivers}, **changes,
    }  # fmt: skip


def write_srf(
    path: Path,
    seed: int,
    onsets: tuple[float, ...] = (0.1, 0.05, 0.17),
    modulus: bool = True,
    across: bool = True,
    zeros: tuple[bool, ...] = (False, False, False),
) -> Path:
    """Write a rupture at ``PLACES`` with random slip along the rake, and across it at one of them.

    Where ``zeros`` is true, rates begin with a zero.
    """
    rng = np.random.default_rng(seed)
    projection = Projection(PROJECTION["crs"], tuple(PROJECTION["origin"]), PROJECTION["azimuth"])
    lonlat = projection.to_geographic(PLACES[:, :2])
    lines = ["2.0" if modulus else "1.0", f"POINTS {len(PLACES)}"]
    for i, ((lon, lat), place) in enumerate(zip(lonlat, PLACES, strict=True)):
        counts = (6 + i, 5 if across and i == 1 else 0, 0)
        rates = [100 * rng.random(n) for n in counts]
        if zeros[i]:
            rates = [np.concatenate([[0.0], rate]) if len(rate) else rate for rate in rates]
            counts = tuple(len(rate) for rate in rates)
        slips = [rate.sum() * STEP for rate in rates]
        rock = "230000 2.7" if modulus else ""
        head = f"{lon:.9f} {lat:.9f} {-1e-3 * place[2]:.6f} {40 + 10 * i} 60 4e8 {onsets[i]} {STEP} {rock}"
        lines += [head, f"{30 + 20 * i} " + " ".join(f"{s:.6f} {n}" for s, n in zip(slips, counts, strict=True))]
        lines += [" ".join(f"{x:.7f}" for x in rate) for rate in rates if len(rate)]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_table(path: Path) -> Path:
    """Write the table of two ruptures, one with three variations."""
    for name, seed in (("a1", 1), ("a2", 2), ("a3", 3), ("b1", 4)):
        write_srf(path.parent / f"{name}.srf", seed, onsets=(0.1, 0.05, 0.17) if seed != 2 else (0.2, 0.33, 0.04))
    path.write_text(
        "rupture,file,annual_rate,weight,magnitude\n"
        "a,a1.srf,0.01,1,\na,a2.srf,0.01,1,\na,a3.srf,0.01,2,\nb,b1.srf,0.002,,6.5\n"
    )
    return path


def write_tensors(folder: Path, points: Path, **changes: Any) -> Path:
    """Compute the tensors of both sites."""
    stations = folder / "stations.txt"
    stations.write_text(
        "\n".join(" ".join(map(str, s)) + f" {name}" for s, name in zip(SITES, ("ONE", "TWO"), strict=True))
    )
    deck = folder / "tensors.yaml"
    deck.write_text(yaml.safe_dump(case({"file": str(stations), "interval": INTERVAL}, **changes)))
    return save_green_tensors(str(deck), folder, points, SIGMA, lambda _: None)


def campaign(folder: Path, **changes: Any) -> dict[str, Any]:
    """Settings of the campaign in a folder."""
    return {
        "title": "Small", "tensors": str(folder / "run-sgt.nc"), "ruptures": str(folder / "ruptures.csv"), "projection": PROJECTION,
        "measures": {"PGV": ["1 mm/s", "3 mm/s", "5 mm/s", "1 cm/s"], "SA(0.3)": []}, "seismograms": True,
        "folder": str(folder / "results"), **changes,
    }  # fmt: skip
