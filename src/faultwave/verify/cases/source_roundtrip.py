"""Dynamic rupture written as a finite source (SRF), and run again as a kinematic source on the same grid.

Rock, friction and stress are those of TPV5, on a fault of 9 by 6 km that breaks the ground, in a box of uniform rock.
Below the resolved frequency, seismograms at stations several kilometres from the fault equal those of the rupture.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from faultwave.base.projection import Projection
from faultwave.base.types import Settings
from faultwave.observe.finite_source import SlipHistories
from faultwave.output.formats.finite_sources.histories import histories_path, read_histories
from faultwave.output.manifest import read_manifest
from faultwave.output.results import convert, load_results
from faultwave.physics.sources.readers.srf import read_srf
from faultwave.run import simulate
from faultwave.verify.bands import RESOLVED, Band, filter_runs
from faultwave.verify.case import Progress, Result, Row, VerificationCase, at_most, near
from faultwave.verify.exact import Array

SPACING, END = 250.0, 9.0
STATIONS = ((9e3, 4e3, 0.0), (-8e3, 6e3, 0.0), (1e3, 8e3, 0.0), (-1e4, -2e3, 0.0), (3e3, -8e3, -3e3))
BAND = 0.5
"""Fraction of the resolved frequency below which seismograms are compared.

It gives 12 points per S wavelength, which sources near the free surface require (docs/guide/sources.md)."""
MISFIT, MOMENT, PLACE, TIME = 0.01, 1e-3, 1.0, 0.01
"""Limits: relative misfit, relative difference of the moment, distance of centroids [m], difference of mean slip times [s]."""
SLIPS = 0.01
"""Fraction of the largest moment of a subfault above which its time of slip is compared."""
PROJECTION: Mapping[str, object] = {"crs": "EPSG:32611", "origin": [-117.0, 34.0], "azimuth": 20.0}
PATCH = "if (max(abs(x), abs(z + 3000)) <= 1500) { return 81600000.0; } return 70000000.0;"
FRICTION = {"mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0, "T_n": -120e6, "T_d": 0.0}


def case(folder: Path, spacing: float = SPACING, end_time: float = END) -> Settings:
    """Return the case of the dynamic rupture."""
    half = 0.5 * spacing
    return {
        "engine": "fd", "end_time": end_time, "projection": dict(PROJECTION),
        "grid": {"lower": [-14000.0, -11000.0 - half, -12000.0], "upper": [14000.0, 11000.0 + half, 0.0], "spacing": spacing,
                 "fault": {"lower": [-4500.0, 0.0, -6000.0], "upper": [4500.0, 0.0, 0.0]}},
        "material": {"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0}},
        "fault": {"friction": "linear-slip-weakening", "reference_method": "direction", "reference": [0.0, 1.0, 0.0],
                  "parameters": {"constant": FRICTION, "expression": {"T_s": PATCH}}},
        "output": {"folder": str(folder), "receivers": {"points": [list(p) for p in STATIONS], "interval": 0.02},
                   "rupture": {"interval": 0.01, "slip_interval": 0.01}, "energies": {"interval": 0.1}},
    }  # fmt: skip


def kinematic(rupture: Settings, file: Path, folder: Path) -> Settings:
    """Return the case of the rupture with a source file instead of the fault."""
    made = {key: value for key, value in rupture.items() if key != "fault"}
    made["grid"] = {key: value for key, value in rupture["grid"].items() if key != "fault"}
    receivers = rupture["output"]["receivers"]
    return {
        **made,
        "sources": [{"kind": "srf", "file": str(file)}],
        "output": {"folder": str(folder), "receivers": receivers},
    }


def misfits(run: Path, reference: Path) -> Array:
    """Return the relative L2 difference of velocity at each receiver, below ``BAND`` of the resolved frequency."""
    high = BAND * float(read_manifest(reference / "run-manifest.json")[RESOLVED])
    pair = filter_runs(load_results(run), load_results(reference), Band(None, high))
    a, b = (
        {n: np.stack([t.columns[f"v{i}"] for i in (1, 2, 3)]) for n, t in r.traces["receiver"].items()} for r in pair
    )
    return np.array([np.linalg.norm(a[n] - b[n]) / np.linalg.norm(b[n]) for n in b])


def conserved(slip: SlipHistories, file: Path) -> list[Row]:
    """Judge moment, centroid and mean slip times of a source file against the stored slip."""
    from scipy.spatial import cKDTree

    earth = Projection(PROJECTION["crs"], PROJECTION["origin"], PROJECTION["azimuth"])  # type: ignore[arg-type]
    found = read_srf(file, earth)
    released = found.released(slip.time)
    potency = np.sqrt(found.potency[:, :3] ** 2 @ np.ones(3) / 2 + found.potency[:, 3:] ** 2 @ np.ones(3))
    moments = 2.0 * found.shear_modulus * potency * released[:, -1]
    centre, centroid = (
        (m[:, None] * x).sum(0) / m.sum() for m, x in ((slip.moments, slip.centre), (moments, found.location))
    )
    item = cKDTree(slip.centre).query(found.location)[1]
    final = slip.slip[item, -1].astype(float)
    along = np.einsum("etc,ec->et", slip.slip[item], final) / np.maximum((final**2).sum(1), 1e-30)[:, None]
    late = np.abs(np.trapezoid(released / np.maximum(released[:, -1:], 1e-30) - along, slip.time, axis=1))
    some = moments > SLIPS * moments.max()
    return [
        near("moment [N m]", moments.sum(), slip.moments.sum(), MOMENT * slip.moments.sum()),
        at_most("distance of the centroids [m]", float(np.linalg.norm(centroid - centre)), PLACE),
        at_most("difference of mean slip times [s]", float(late[some].max()), TIME),
    ]


def run(progress: Progress) -> Result:
    """Judge the file against the slip of the rupture, and the seismograms of the source against those of the rupture."""
    with tempfile.TemporaryDirectory(prefix="faultwave-verify-") as scratch:
        folder = Path(scratch)
        rupture = case(folder / "rupture")
        progress("rupture")
        simulate(rupture).run()
        (file,) = convert(folder / "rupture", "srf", folder)
        rows = conserved(read_histories(histories_path(folder / "rupture", "run")), file)
        progress("source")
        simulate(kinematic(rupture, file, folder / "source")).run()
        found = misfits(folder / "source", folder / "rupture")
    rows += [
        at_most(f"misfit at ({x:g}, {y:g}, {z:g}) m", m, MISFIT) for (x, y, z), m in zip(STATIONS, found, strict=True)
    ]
    return Result(tuple(rows))


SOURCE_ROUNDTRIP = VerificationCase(
    "source-roundtrip", "a rupture written as a finite source: the same waves on the same grid", run, 1.0
)
