"""Vertical surface-rupturing fault on both engines: rupture times, slip and moment (docs/theory/grids.md, "Split nodes").

Rock, friction and stress are taken from TPV3 (Day et al. 2005), on a fault of 12 x 9 km. Tetrahedra of order 4 have edges of 350 m on it.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.types import Settings
from faultwave.dg.capabilities.rupture import AttachedRupture as MeshRupture
from faultwave.fd.capabilities.rupture import AttachedRupture as GridRupture
from faultwave.run import simulate
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most
from faultwave.verify.scec.benchmark import Benchmark, Domain, Fault, Resolution, Start, square
from faultwave.verify.scec.benchmarks.uniform import TPV3
from faultwave.verify.scec.folder import write_case
from faultwave.verify.scec.texts import squares

END, EDGE, SPACING = 3.0, 350.0, 100.0
LATER = 0.3
"""Smallest rupture time [s] that is compared; earlier ones belong to the nucleation patch."""
EDGES = (
    "if (abs(x) <= 1501) { if (abs(z + 4500) <= 1501) { if (abs(x) < 1499) { return 81600000.0; } return 75800000.0; } } "
    "return 70000000.0;"
)
"""Traction along strike; points on the edge of the nucleation patch take the mean of both sides.

The patch is then as large as on the faces of the mesh.
"""
INNER = 0.98
"""Fraction of the points that is judged: at the rupture's edge, one engine may rupture a point that the other does not."""
CONSTANT = TPV3.fault_settings["parameters"]["constant"]
SMALL = Benchmark(
    name="fault-plane",
    title="rock, friction and stress of TPV3 on a fault of 12 by 9 km that breaks the ground",
    faults=(Fault("main", (-6e3, 6e3), (0.0, 9e3), patches=(square(0, 4.5e3),)),),
    material=TPV3.material,
    fault_settings={
        "friction": TPV3.fault_settings["friction"],
        "parameters": {
            "constant": CONSTANT,
            "expression": {"T_s": squares("70000000.0", [(0, 4500, 3000, "81600000.0")])},
        },
    },
    start=Start((0.0, 4.5e3), 1.5e3 * 2**0.5),
    stations={"main": ((0, 4.5e3),)},
    end_time=END,
    domain=Domain(margin=6e3, far_size=2.5e3),
)


def on_grid(spacing: float) -> Settings:
    """Return the case of the fault on a grid."""
    half, parameters = 0.5 * spacing, {"constant": CONSTANT, "expression": {"T_s": EDGES}}
    friction = {"friction": SMALL.fault_settings["friction"], "parameters": parameters}
    lower, upper = [-10.5e3, -6e3 - half, -13.5e3], [10.5e3, 6e3 + half, 0.0]
    return {
        "engine": "fd", "end_time": END, "material": SMALL.material,
        "grid": {"lower": lower, "upper": upper, "spacing": spacing, "fault": {"lower": [-6e3, 0.0, -9e3], "upper": [6e3, 0.0, 0.0]}},
        "fault": {"reference": [0.0, 1.0, 0.0], "reference_method": "direction", **friction},
    }  # fmt: skip


@dataclass(frozen=True)
class Broken:
    """Final state of the friction points.

    Attributes
    ----------
    at : array (n, 2)
        Positions along the fault and z [m].
    time : array (n,)
        Rupture times [s]; 0 where the fault stayed locked.
    slip : array (n,)
        Slip [m].
    moment : float
        Seismic moment [N m].
    """

    at: np.ndarray
    time: np.ndarray
    slip: np.ndarray
    moment: float


def broken_on_grid(spacing: float) -> Broken:
    """Run the case on a grid and return the points of horizontal slip."""
    sim = simulate(on_grid(spacing))
    sim.run(write=False)
    fault = sim.solver.parts["rupture"]
    assert isinstance(fault, GridRupture)
    given = fault.part.given["x"]
    time, one, two = (fault.values(name, "x")[given.slips] for name in ("ruptured", "slip1", "slip2"))
    return Broken(given.places[given.slips][:, [0, 2]], time, np.hypot(one, two), fault.energies()["seismic_moment"])


def broken_in_mesh(edge: float, folder: Path) -> Broken:
    """Run the case on tetrahedra and return all friction points of the faces."""
    sim = simulate(write_case(SMALL, Resolution(edge, 4, END, "single"), folder))
    sim.run(write=False)
    fault = sim.solver.parts["rupture"]
    assert isinstance(fault, MeshRupture) and fault.fault is not None
    record, places = fault.fault.record(), fault.part.positions
    slip = np.hypot(record["slip1"], record["slip2"]).reshape(-1)
    moment = fault.energies()["seismic_moment"]
    return Broken(places.reshape(-1, 3)[:, [0, 2]], record["ruptured"].reshape(-1), slip, moment)


def rows(spacing: float, edge: float, folder: Path) -> list[Row]:
    """Return the differences of the grid from tetrahedra."""
    from scipy.interpolate import LinearNDInterpolator

    here, mesh = broken_on_grid(spacing), broken_in_mesh(edge, folder)
    broken = mesh.time > 0
    there = LinearNDInterpolator(mesh.at[broken], mesh.time[broken])(here.at)
    known = (here.time > 0) & (there > LATER)
    error = np.sort(np.abs(here.time - there)[known])
    inner = error[: int(INNER * len(error))]
    misfit = float(np.sqrt((inner**2).mean()) / there[known].mean())
    slips = LinearNDInterpolator(mesh.at, mesh.slip)(here.at)
    inside = np.isfinite(slips)
    apart = float(np.linalg.norm((here.slip - slips)[inside]) / np.linalg.norm(slips[inside]))
    return [
        at_most("rupture times, rms over their mean", misfit, 0.015),
        at_most("slip", apart, 0.08),
        at_most("moment", abs(here.moment / mesh.moment - 1.0), 0.08),
    ]


def run(progress: Progress) -> Result:
    """Judge the grid against tetrahedra; skipped without Gmsh."""
    try:
        import gmsh  # noqa: F401
    except (ImportError, OSError) as error:  # OSError if its shared libraries lack dependencies
        return Result((), skipped=f"meshes need Gmsh, which cannot be loaded: {error}")
    progress(f"spacing {SPACING:g} m, then tetrahedra with edges of {EDGE:g} m")
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as scratch:
        return Result(tuple(rows(SPACING, EDGE, Path(scratch))))


FD_FAULT_PLANE = VerificationCase("fd-fault-plane", "grids: a fault in a plane against tetrahedra", run, 2.0)
