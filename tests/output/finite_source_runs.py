"""Small runs with imposed slip, of both engines, from which finite sources are converted."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.observe.finite_source import SlipHistories
from faultwave.output.formats.finite_sources.histories import read_histories
from faultwave.run import simulate
from tests.run.rupture.setup import ROCK, settings, small_mesh

PROJECTION = {"crs": "EPSG:32611", "origin": [-117.0, 34.0], "azimuth": 20.0}
SIZES = {"fd": 1000.0, "dg": 2300.0}
"""Edges of subfaults that hold several elements, by engine [m]."""
SHAPE = "max(0.0, 1.0 - x*x/9000000.0) * max(0.0, 1.0 - (z + {z:.1f})*(z + {z:.1f})/{w:.1f})"
ONSET = "return 0.1 + sqrt((x - 800.0)*(x - 800.0) + (z + {z:.1f})*(z + {z:.1f})) / 2800.0;"


def imposed(z: float, width: float) -> dict[str, Any]:
    """Slip of up to 1.2 m right-lateral and 0.7 m along dip around the depth z, with a rupture that spreads."""
    shape = SHAPE.format(z=z, w=width**2)
    expression = {
        "strike_slip": f"return 1.2 * {shape};",
        "dip_slip": f"return 0.7 * {shape};",
        "rupture_onset": ONSET.format(z=z),
    }
    return {
        "friction": "imposed-gaussian",
        "parameters": {"constant": {"rupture_rise_time": 0.6}, "expression": expression},
    }


def grid_case(folder: Path, **rupture: Any) -> dict[str, Any]:
    """Return a case on a grid with a vertical fault along x."""
    return {
        "engine": "fd",
        "end_time": 3.0,
        "projection": PROJECTION,
        "grid": {
            "lower": [-13000.0, -3250.0, -10500.0], "upper": [11000.0, 3250.0, 0.0], "spacing": 500.0, "absorbing": {"width": 5},
            "fault": {"lower": [-4000.0, 0.0, -7000.0], "upper": [4000.0, 0.0, 0.0]},
        },
        "material": {"constant": ROCK},
        "fault": {**imposed(3500.0, 2500.0), "reference_method": "direction", "reference": [0.0, 1.0, 0.0]},
        "numerics": {"threads": 1},
        "output": {"folder": str(folder), "precision": "double", "energies": {"interval": 0.5},
                   "rupture": {"interval": 0.02, "slip_interval": 0.04, **rupture}},
    }  # fmt: skip


@cache
def grid_run(folder: Path) -> Path:
    """Run ``grid_case`` and return its folder."""
    simulate(grid_case(folder), force=True).run()
    return folder


def mesh_case(path: Path) -> dict[str, Any]:
    """Return a case on tetrahedra with a fault that dips by 60 degrees; its folder is ``path / "out"``."""
    fault = {**imposed(2000.0, 1500.0), "reference": (0.0, 5000.0, -1000.0)}
    output = {"energies": {"interval": 0.5}, "rupture": {"interval": 0.02, "slip_interval": 0.04}}
    made = settings(path, fault, small_mesh(60.0), end_time=2.4, projection=PROJECTION, output=output)
    del made["output"]["fault_receivers"]
    return made


@cache
def mesh_run(path: Path) -> Path:
    """Run ``mesh_case`` and return its folder."""
    simulate(mesh_case(path), force=True).run()
    return path / "out"


def histories(folder: Path) -> SlipHistories:
    """Return the stored slip of a run."""
    return read_histories(folder / "run-slip.h5")


def moment_tensor(h: SlipHistories) -> np.ndarray:
    """Return the final moment tensor (3, 3) [N m] of the elements, independent of the code under test."""
    slip = h.slip[:, -1, :1] * h.strike + h.slip[:, -1, 1:] * h.dip
    one = (h.rigidity * h.area)[:, None, None] * slip[:, :, None] * h.normal[:, None, :]
    return (one + one.swapaxes(1, 2)).sum(0)


def in_two_segments(folder: Path, made: Path) -> Path:
    """Copy a run to ``made`` with two tags, which divide the fault across its strike at x = 500 m."""
    made.mkdir()
    for path in folder.glob("run-*"):
        if path.suffix in (".h5", ".json", ".csv"):
            shutil.copy(path, made)
    with h5py.File(made / "run-slip.h5", "r+") as file:
        middle = file["corners"][()].mean(1)[:, 0]
        file["tag"][...] = np.where(middle < 500.0, 1, 2)
    return made
