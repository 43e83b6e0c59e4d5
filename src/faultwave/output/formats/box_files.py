"""Files of the wave field around a box: PREFIX-box.h5 as input of another run, and H5DRM for OpenSees.

``DRM_Data``: ``xyz`` (n, 3), ``internal`` (n,): True if a node belongs to the box, False if it lies outside, ``data_location`` (n,): the
first of a node's three rows in ``velocity``, ``displacement`` and ``acceleration`` (3 n, samples). ``DRM_Metadata``: ``dt``, ``tstart``,
``tend``, ``drmbox_x0`` (3,): the centre of the upper side, the extent ``drmbox_xmin`` ... ``drmbox_zmax``, ``h`` (3,) and names. Places
are in metres, motion is in SI units along x, y and z (up) of the case.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.observe.boxes import KIND, VELOCITIES
from faultwave.observe.dataset import Dataset, Result
from faultwave.output.field_files.hdf5 import atomic_hdf5
from faultwave.output.formats import Writer

STEPS = 32
"""Number of samples in a chunk."""


def write_box(path: Path, data: Dataset) -> Path:
    """Write a record atomically; raise InputError if the path cannot be written, RunError if the disk fills."""
    with atomic_hdf5(path) as file:
        for key, value in data.attrs.items():
            file.attrs[key] = value
        for name, variable in data.variables.items():
            series = variable.data.ndim == 2 and variable.dims[0] == "sample" and variable.data.size
            chunks = (min(STEPS, len(variable.data)), variable.data.shape[1]) if series else None
            item = file.create_dataset(name, data=variable.data, chunks=chunks)
            item.attrs["unit"], item.attrs["description"] = variable.unit, variable.description
            item.attrs["dims"] = np.array(variable.dims, dtype="S")
    return path


def _write_boxes(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    return [write_box(folder / f"{prefix}-box.h5", r.data) for r in results if "box" in r.settings["formats"]]


BOX_WRITERS = [Writer((KIND,), _write_boxes)]


def write_h5drm(path: Path, data: Dataset, layers: int = 1) -> Path:
    """Write a record on a lattice with this number of ``layers`` of elements.

    Raises InputError if the path cannot be written, RunError if the disk fills.
    """
    lower, upper, h = data.attrs["lower"], data.attrs["upper"], float(data.attrs["spacing"])
    index = data["v1_index"]
    cells = np.rint((upper - lower) / h).astype(int)
    retained = np.flatnonzero(_h5drm_nodes(index, cells, layers, bool(data.attrs["free_surface"])))
    index, places = index[retained], lower + h * index[retained]
    internal = ((index >= 0) & (index <= cells)).all(1)
    velocity = np.stack([data[name][:, retained].T for name in VELOCITIES], 1).reshape(3 * len(retained), -1)
    dt = float(data.attrs["interval"])
    with atomic_hdf5(path) as file:
        group = file.create_group("DRM_Data")
        group["xyz"], group["internal"] = places, internal
        group["data_location"] = 3 * np.arange(len(retained), dtype=np.int32)
        chunks = (3, velocity.shape[1])
        group.create_dataset("velocity", data=velocity, chunks=chunks)
        group.create_dataset("displacement", data=displacement(velocity, dt), chunks=chunks)
        group.create_dataset("acceleration", data=np.gradient(velocity, dt, axis=1, edge_order=2), chunks=chunks)
        about = file.create_group("DRM_Metadata")
        about["dt"], about["tstart"], about["tend"] = dt, 0.0, dt * (velocity.shape[1] - 1)
        about["drmbox_x0"] = np.array([*(0.5 * (lower + upper))[:2], upper[2]])
        about["h"] = np.full(3, h)
        for k, axis in enumerate("xyz"):
            about[f"drmbox_{axis}min"], about[f"drmbox_{axis}max"] = (
                float(places[:, k].min()),
                float(places[:, k].max()),
            )
        about["name"], about["program_used"] = path.stem, "Faultwave"
    return path


def _h5drm_nodes(index: np.ndarray, cells: np.ndarray, layers: int, open_top: bool) -> np.ndarray:
    """Return True for the nodes (n,) that belong to the given number of element layers.

    These are the nodes on the faces of the box and one more plane outside for each layer, plus ``layers`` - 1 planes inside. With
    ``open_top`` there are no planes above the box.
    """
    out, inwards = layers, layers - 1
    last = cells + out
    if open_top:
        last[2] = cells[2]
    around = ((index >= -out) & (index <= last)).all(1)
    deep = (index > inwards) & (index < cells - inwards)
    if open_top:
        deep[:, 2] = index[:, 2] > inwards
    return np.asarray(around & ~deep.all(1))


def displacement(velocity: np.ndarray, dt: float) -> np.ndarray:
    """Integrate velocity (rows, samples) over time by cubics through four adjacent samples, from zero displacement."""
    v = np.concatenate([np.zeros((len(velocity), 1)), velocity, 2 * velocity[:, -1:] - velocity[:, -2:-1]], 1)
    pieces = dt * (13.0 * (v[:, 1:-2] + v[:, 2:-1]) - v[:, :-3] - v[:, 3:]) / 24.0
    return np.concatenate([np.zeros((len(velocity), 1)), np.cumsum(pieces, 1)], 1)


def _write_h5drm_files(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    requested = [r for r in results if "h5drm" in r.settings["formats"]]
    return [write_h5drm(folder / f"{prefix}.h5drm", r.data, r.settings["layers"]) for r in requested]


H5DRM_WRITERS = [Writer((KIND,), _write_h5drm_files)]

RESULTS = [*BOX_WRITERS, *H5DRM_WRITERS]
