"""Small ruptures for the tests: a mesh of some hundred cells with a fault, settings in the manner of TPV5, histories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.domain.tets import FILE_FACES, Mesh, write_puml
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.physics.friction.outputs import QUANTITIES
from faultwave.run import simulate

ROCK = {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}
SLIP_WEAKENING = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0}
MU = ROCK["rho"] * ROCK["vs"] ** 2
ON_FAULT = np.array([[0.0, 0.0, -2210.0], [310.0, 0.0, -1300.0], [-1710.0, 0.0, -2790.0], [2500.0, 0.0, -600.0]])
"""Points on the vertical fault, inside faces."""


@cache
def small_mesh(dip: float = 90.0) -> Mesh:
    """744 cells, 32 fault faces of 1.5 km: 6 km along x, 4.5 km down dip, in a box of 12 x 10 x 7 km.

    Vertices off the fault are moved at random, so that no cell's stable step is exactly a power of two of the smallest.
    """
    mesh = graded_mesh(Tpv5(1500.0, 6000.0, (6000.0, 5000.0), 7000.0, 6000.0, 4500.0, dip))
    x = mesh.vertices
    free = (x > x.min(0)).all(1) & (x < x.max(0)).all(1)
    free[np.unique(mesh.cells[:, FILE_FACES][mesh.tags == 3])] = False
    shift = np.random.default_rng(0).uniform(-60.0, 60.0, x.shape) * free[:, None]
    return replace(mesh, vertices=x + shift)


def patch(inside: float, outside: float, x: float = 0.0, z: float = -2250.0, half: float = 1500.0) -> str:
    """Expression: ``inside`` within a square of the fault, by x and z."""
    return (
        f"if (max(abs(x - {x:.1f}), abs(z - {z:.1f})) <= {half:.1f}) {{ return {inside:.1f}; }} return {outside:.1f};"
    )


def slip_weakening(**more: Any) -> dict[str, Any]:
    """Fault settings in the manner of TPV5: 70 MPa, and 81.6 MPa in a square that breaks at once."""
    values = {"T_n": -120e6, "T_d": 0.0, **SLIP_WEAKENING, **more.pop("values", {})}
    expression = {"T_s": patch(81.6e6, 70e6), **more.pop("expression", {})}
    constant = {k: v for k, v in values.items() if k not in expression}
    given = {"constant": constant, **({"expression": expression} if expression else {})}
    return {"friction": "linear-slip-weakening", "reference": (0.0, -1000.0, 0.0), "parameters": given, **more}


def settings(path: Path, fault: dict[str, Any], mesh: Mesh | None = None, **more: Any) -> dict[str, Any]:
    """A case on ``mesh`` (written below ``path``), order 3, fault histories at ON_FAULT unless ``points`` are given."""
    file = path / f"mesh{len(list(path.glob('mesh*')))}.h5"
    write_puml(file, small_mesh() if mesh is None else mesh)
    receivers = {"points": more.pop("points", ON_FAULT).tolist(), "position": more.pop("position", "exact")}
    receivers["fields"] = list(QUANTITIES)
    numerics = {"order": 3, "threads": 2, **more.pop("numerics", {})}
    output = {
        "fault_receivers": receivers,
        "folder": str(path / "out"),
        "precision": "double",
        **more.pop("output", {}),
    }
    case = {"end_time": 0.8, "material": {"constant": ROCK}, "mesh": {"file": str(file)}, **more}
    return {**case, "fault": fault, "numerics": numerics, "output": output}


@dataclass(frozen=True)
class Histories:
    """Fault receivers: time (nt, nr), NaN where there is no sample, and each quantity (nt, nr); the finished run."""

    time: np.ndarray
    values: dict[str, np.ndarray]
    sim: Any

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[name]

    def last(self, name: str) -> np.ndarray:
        """Last sample of every receiver (nr,)."""
        column = self.values[name]
        return np.array([c[np.isfinite(c)][-1] for c in column.T])


def run(case: dict[str, Any], write: bool = False) -> Histories:
    """Run the case; with ``write`` its files appear too."""
    sim = simulate(case, force=True).run(write=write)
    data = sim.fault_receivers
    names = data.quantities
    return Histories(data["time"], {name: data["values"][:, :, i] for i, name in enumerate(names)}, sim)


def difference(a: np.ndarray, b: np.ndarray, scale: np.ndarray | float | None = None) -> float:
    """Largest difference relative to the largest value of b or ``scale``; what is NaN must be NaN in both."""
    assert a.shape == b.shape and (np.isnan(a) == np.isnan(b)).all()
    size = np.nanmax(np.abs(b)) if scale is None else scale
    return float(np.nanmax(np.abs(a - b)) / size) if np.any(size) else float(np.nanmax(np.abs(a)))
