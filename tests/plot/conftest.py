"""A run as a simulation would leave it, made from formulas: a crack that grows on a vertical fault, and its waves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from faultwave.observe.dataset import (
    FaultFrame,
    energies_from_arrays,
    fault_receivers_from_arrays,
    receivers_from_arrays,
)
from faultwave.observe.rupture import INNER, FaultHistory, FinishedRupture, rupture_results
from faultwave.output.formats import write_results
from faultwave.output.formats.csv_tables import write_energies
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.manifest import build_manifest, write_manifest
from faultwave.plot import style

SPEED = 2800.0  # [m/s] of the rupture front
END = 6.0
HYPOCENTRE = np.array([0.0, 0.0, -7500.0])


def grid(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) of a tensor grid and its triangles (m, 3)."""
    a, b = np.meshgrid(first, second, indexing="ij")
    index = np.arange(a.size).reshape(a.shape)
    low = np.stack([index[:-1, :-1], index[1:, :-1], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    high = np.stack([index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    return np.column_stack([a.ravel(), b.ravel()]), np.concatenate([low, high])


def fault_values(centres: np.ndarray, time: float) -> dict[str, np.ndarray]:
    distance = np.linalg.norm((centres - HYPOCENTRE) * [1.0, 1.0, 1.2], axis=1)
    front = distance / SPEED + 0.15
    taper = np.clip(1 - (np.abs(centres[:, 0]) / 15e3) ** 4, 0, 1) * np.clip(1 - (-centres[:, 2] / 15e3) ** 6, 0, 1)
    since = np.clip(time - front, 0.0, None)
    slip = 2.5 * taper * np.tanh(since / 1.5)
    rate = 2.5 * taper / 1.5 / np.cosh(since / 1.5) ** 2 * (since > 0)
    ruptured = since > 0
    return {
        "SRs": rate,
        "SRd": 0.02 * rate,
        "Ts0": 70e6 + np.where(ruptured, -7e6, 4e6 * np.exp(-(front - time))),
        "Td0": np.zeros_like(rate),
        "Pn0": np.full_like(rate, -120e6),
        "Sls": slip,
        "Sld": 0.02 * slip,
        "PSR": np.where(ruptured, 2.5 * taper / 1.5 * (1 + distance / 2e4), 0.0),
        "RT": np.where(ruptured, front, 0.0),
    }


def velocity(points: np.ndarray, time: np.ndarray | float) -> np.ndarray:
    """Velocities (..., 3) of an S-like pulse from the hypocentre, stronger along the fault."""
    offset = points - HYPOCENTRE
    distance = np.linalg.norm(offset, axis=-1)
    delay = time - distance / 3000.0 - 0.8
    size = 1.2e4 / (distance + 4e3) * np.exp(-((delay / 0.35) ** 2)) * (1 - 2 * (delay / 0.35) ** 2)
    direction = offset / distance[..., None]
    return size[..., None] * np.stack(
        [-np.sign(points[..., 1]) * 0.6, direction[..., 0] * 0.8, 0.3 * direction[..., 1]], -1
    )


def write_fault(path: Path) -> None:
    xy, cells = grid(np.linspace(-15e3, 15e3, 61), np.linspace(0.0, 15e3, 31))
    points = np.column_stack([xy[:, 0], np.zeros(len(xy)), -xy[:, 1]])[cells].reshape(-1, 3)  # three points a triangle
    cells = np.arange(len(points)).reshape(-1, 3)
    centres = points[cells].mean(axis=1)
    names = list(fault_values(centres, 0.0))
    with VtkHdfWriter(path, points, cells, {"fault-tag": np.full(len(cells), 3)}, names) as writer:
        for time in np.linspace(0.0, END, 4):
            writer.append(time, fault_values(centres, time))


def finished_rupture() -> FinishedRupture:
    """The same crack at its end, with a moment rate of a Brune source."""
    xy, cells = grid(np.linspace(-15e3, 15e3, 61), np.linspace(0.0, 15e3, 31))
    corners = np.column_stack([xy[:, 0], np.zeros(len(xy)), -xy[:, 1]])[cells]
    centres, edge = corners.mean(axis=1), corners[:, 1:] - corners[:, :1]
    inner = corners[:, :1] + INNER[None, :, :1] * edge[:, :1] + INNER[None, :, 1:] * edge[:, 1:]
    times = fault_values(inner.reshape(-1, 3), END)["RT"].reshape(-1, 3)
    times[centres[:, 0] > 13e3] = np.nan
    now = fault_values(centres, END)
    broken, slip = np.isfinite(times).all(axis=1).astype(float), np.hypot(now["Sls"], now["Sld"])
    full = np.ones(len(corners))
    faces = {
        "corners": corners, "tag": 3 * full, "area": 125e3 * full, "spacing": 170 * full, "share": broken, "rupture_time": times,
        "weakened": times.mean(axis=1) + 0.2 + 0.1 * slip, "slip_strike": now["Sls"], "slip_dip": now["Sld"], "slip": slip,
        "path": slip, "peak_slip_rate": now["PSR"], "slip_rate": now["SRs"], "drop_times_slip": (7e6 - 3 * -centres[:, 2]) * slip,
        "breakdown": 3e6 + 0.5e6 * slip, "dissipated": 63e6 * slip, "rigidity": 32e9 * full, "shear_speed": 3464 * full,
    }  # fmt: skip
    time = np.linspace(0.0, 12.0, 601)
    potency = float(slip @ faces["area"]) * (1 - (1 + 2 * time) * np.exp(-2 * time))
    return FinishedRupture(faces, FaultHistory(time, 6e6 * potency, 3.5e6 * potency, 32e9 * potency, potency))


def write_surface(path: Path) -> None:
    side = np.sinh(np.linspace(-2.6, 2.6, 90)) / np.sinh(2.6) * 60e3
    xy, cells = grid(side, side)
    points = np.column_stack([xy, np.zeros(len(xy))])
    centres = points[cells].mean(axis=1)
    peak = np.zeros(len(cells))
    with VtkHdfWriter(path, points, cells, {}, ["v1", "v2", "v3", "PGV"]) as writer:
        for time in np.linspace(0.0, END, 13):
            v = velocity(centres, time)
            peak = np.maximum(peak, np.linalg.norm(v, axis=1))
            writer.append(time, {"v1": v[:, 0], "v2": v[:, 1], "v3": v[:, 2], "PGV": peak})


def receivers() -> tuple[object, object]:
    time = np.linspace(0.0, END, 601)
    places = np.array([[x, y, 0.0] for x in (-12e3, 0.0, 12e3) for y in (-3e3, 3e3, 9e3)])
    values = np.stack([velocity(np.broadcast_to(p, (len(time), 3)), time) for p in places], axis=1)
    off = receivers_from_arrays(time, values, ["v1", "v2", "v3"], places)
    spots = np.array([[x, 0.0, z] for x in (-12e3, -4.5e3, 0.0, 7.5e3) for z in (0.0, -7.5e3)])
    names = ["SRs", "SRd", "Ts0", "Td0", "Pn0", "Sls", "Sld", "RT"]
    history = [fault_values(spots, t) for t in time]
    table = np.stack([np.stack([step[n] for n in names], axis=-1) for step in history])
    times = np.repeat(time[:, None], len(spots), axis=1)
    times[500:, 3], table[500:, 3] = np.nan, np.nan  # a point whose cluster made fewer steps
    axes = {
        "normal": np.tile([0.0, 1.0, 0.0], (len(spots), 1)),
        "strike": np.tile([1.0, 0.0, 0.0], (len(spots), 1)),
        "dip": np.tile([0.0, 0.0, -1.0], (len(spots), 1)),
        "initial_traction": np.tile([-120e6, 70e6, 0.0], (len(spots), 1)),
    }
    return off, fault_receivers_from_arrays(times, table, names, spots, frame=FaultFrame(**axes))


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    build_run(folder)
    return folder


def build_run(folder: Path) -> None:
    write_fault(folder / "demo-fault.vtkhdf")
    write_surface(folder / "demo-surface.vtkhdf")
    write_receivers(folder / "demo-receivers.h5", receivers())
    time = np.linspace(0.0, END, 61)
    growth = (time / END) ** 2
    columns = {
        "elastic_energy": 3e15 * growth,
        "elastic_kinetic_energy": 6e14 * growth * np.exp(-time / 8),
        "total_frictional_work": 4e15 * growth,
        "static_frictional_work": 2.8e15 * growth,
        "gravitational_energy": np.zeros_like(time),
        "seismic_moment": 2.6e19 * growth,
        "plastic_moment": np.where(np.arange(61) % 2, np.nan, 0.0),
    }
    write_energies(folder / "demo-energy.csv", energies_from_arrays(time, columns))
    write_results(list(rupture_results(finished_rupture())), folder, "demo")
    manifest = build_manifest({"title": "A crack on a vertical fault"}, outputs=folder.glob("demo-*"))
    write_manifest(folder / "demo-manifest.json", manifest)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """Figures by file name, kept instead of written."""
    kept: dict[str, Figure] = {}

    def keep(fig: Figure, path: Path) -> Path:
        fig.draw_without_rendering()
        kept[path.stem] = fig
        return path

    monkeypatch.setattr(style, "save", keep)
    return kept
