"""Small inversion: a fault of a few subfaults, tensors of two sites on a small grid, and a run of a rupture on the same grid."""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from faultwave.base.projection import Projection
from faultwave.green_tensors import save_green_tensors

PROJECTION: dict[str, Any] = {"crs": "EPSG:32611", "origin": [-117.0, 34.0], "azimuth": 20.0}
SITES = {"ONE": [420.0, 930.0, 0.0], "TWO": [1100.0, 400.0, 0.0]}
MATERIAL = {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}}
SIGMA, INTERVAL, END = 0.06, 0.02, 1.8
ALONG, DOWN, SPACING = 3, 2, 150.0
WINDOWS, DURATION = 2, 0.3
HYPOCENTRE = [760.0, 690.0, -700.0]


def projection() -> Projection:
    return Projection(PROJECTION["crs"], tuple(PROJECTION["origin"]), PROJECTION["azimuth"])


def places() -> np.ndarray:
    """Subfaults of a vertical plane along local x, the strike fastest."""
    d, s = np.meshgrid(np.arange(DOWN), np.arange(ALONG), indexing="ij")
    return np.stack([650 + SPACING * s.ravel(), np.full(s.size, 690.0), -600 - SPACING * d.ravel()], 1)


def write_fault(path: Path) -> Path:
    """Write the geometry of the fault, which slips in one direction at its first subfault only."""
    lonlat = projection().to_geographic(places()[:, :2])
    lon, lat = lonlat.mean(0)
    length, width = 1e-3 * ALONG * SPACING, 1e-3 * DOWN * SPACING
    lines = [
        "2.0",
        "PLANE 1",
        f"{lon} {lat} {ALONG} {DOWN} {length} {width}",
        "110 90 0.525 0 0",
        f"POINTS {ALONG * DOWN}",
    ]
    for number, ((x, y), place) in enumerate(zip(lonlat, places(), strict=True)):
        lines.append(f"{x:.9f} {y:.9f} {-1e-3 * place[2]:.6f} 110 90 {1e4 * SPACING**2} 0.1 0.1 200000 2.7")
        lines += ["20 1 3 0 0 0 0", "0 10 0"] if number == 0 else ["20 0 0 0 0 0 0"]
    path.write_text("\n".join(lines) + "\n")
    return path


def case(**changes: Any) -> dict[str, Any]:
    """Case of the grid on which forces and sources act."""
    return {
        "engine": "fd", "end_time": END, "material": MATERIAL, "projection": PROJECTION,
        "grid": {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 100.0, "absorbing": {"width": 5}}, **changes,
    }  # fmt: skip


def write_tensors(folder: Path) -> Path:
    """Compute the tensors of both sites at all subfaults."""
    stations = folder / "stations.txt"
    stations.write_text("\n".join(" ".join(map(str, p)) + f" {n}" for n, p in SITES.items()))
    np.savetxt(folder / "points.txt", places())
    deck = folder / "tensors.yaml"
    deck.write_text(yaml.safe_dump(case(output={"receivers": {"file": str(stations), "interval": INTERVAL}})))
    return save_green_tensors(str(deck), folder, folder / "points.txt", SIGMA, lambda _: None)


def inversion(made: Path, **changes: Any) -> dict[str, Any]:
    """Settings of the inversion in a folder."""
    slip = {
        "faults": str(made / "fault.srf"), "hypocentre": [*map(float, projection().to_geographic(np.array([HYPOCENTRE[:2]]))[0]),
        HYPOCENTRE[2]], "front_speed": 1600.0, "onset": 0.05, "windows": WINDOWS, "window_duration": DURATION, "across": 0.5,
        "amplitude": 0.5, "correlation_length": [300.0, 300.0],
    }  # fmt: skip
    slip |= changes.pop("slip", {})
    found = {
        "title": "Small", "tensors": str(made / "sgt.nc"), "data": str(made / "data"), "unit": "m/s", "band": {"high": 3.0},
        "window": [0.0, 1.2], "noise": {"fraction": 0.05}, "slip": slip, "folder": str(made / "results"),
    }  # fmt: skip
    return found | changes


TENSOR = 1e15 * np.array([0.5, -0.9, 0.6, 0.3, -0.4, 0.7])
"""Moment tensor Mrr, Mtt, Mpp, Mrt, Mrp, Mtp of the run of a point source, with an isotropic part [N m]."""
POINT, TIME, HALF = 4, 0.25, 0.12
"""Number of its place, time of its middle and half its duration [s]."""


def point_source(made: Path) -> dict[str, Any]:
    """Source of the run of a point source, from the definition of the components: up, south and east."""
    place = places()[POINT]
    north = projection().norths(*projection().to_geographic(place[None, :2]).T)[0]
    axes = np.array([[0, 0, 1.0], [-north[0], -north[1], 0.0], [north[1], -north[0], 0.0]])  # up, south, east
    rr, tt, pp, rt, rp, tp = TENSOR
    matrix = axes.T @ np.array([[rr, rt, rp], [rt, tt, tp], [rp, tp, pp]]) @ axes
    names = {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "yz": (1, 2), "xz": (0, 2)}
    return {
        "kind": "moment-tensor", "location": place.tolist(), "tensor": {n: float(matrix[i]) for n, i in names.items()},
        "onset": TIME - HALF, "time_function": {"kind": "triangle", "duration": 2 * HALF},
    }  # fmt: skip


def tensor_inversion(made: Path, **changes: Any) -> dict[str, Any]:
    """Settings of an inversion for a moment tensor in a folder."""
    tensor = {"kind": "full", "half_duration": HALF, "times": [0.15, 0.35], "time_step": 0.05}
    tensor |= changes.pop("moment_tensor", {})
    found = {k: v for k, v in inversion(made).items() if k != "slip"}
    return found | {"moment_tensor": tensor} | changes
