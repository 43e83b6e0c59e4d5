"""H5DRM files: velocities at the nodes of elements around a box, as written by ShakerMaker for OpenSees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import dataset, opened
from faultwave.base.types import Setting
from faultwave.observe.boxes import DAMAGED, VELOCITIES, Frame, Nodes, Recorder, check_samples

WHAT = "H5DRM file"
OFF = 1e-3
"""Maximum distance of nodes from their lattice, as a fraction of the spacing."""
EMPTIEST = 1e4
"""Maximum ratio of lattice points around all nodes to nodes, which form a layer around a box."""


def is_h5drm(path: Path) -> bool:
    """Return True if a file is an HDF5 file with the group ``DRM_Data``."""
    try:
        with h5py.File(path, "r") as file:
            return "DRM_Data" in file
    except OSError:
        return False


@dataclass(frozen=True)
class H5drmRecord:
    """Record with velocities (samples, nodes) in memory and the interface of ``box_records.BoxRecord``.

    Its box is the extent of the internal nodes.
    """

    path: Path
    frame: Frame
    samples: int
    nodes: Mapping[str, Nodes]
    first: Mapping[str, float]
    velocity: Mapping[str, np.ndarray]

    @property
    def last(self) -> float:
        """Time of the last sample [s]."""
        return min(self.first.values()) + (self.samples - 1) * self.frame.interval

    def read(self, names: Sequence[str], begin: int, end: int) -> dict[str, np.ndarray]:
        """Return samples [begin, end) of quantities, (samples, points), zero outside the record."""
        found = {}
        for name in names:
            values = np.zeros((end - begin, len(self.nodes[name].index)))
            low, high = max(begin, 0), min(end, self.samples)
            if low < high:
                values[low - begin : high - begin] = self.velocity[name][low:high]
            found[name] = values
        return found


def read_h5drm(path: Path, placed: Setting) -> H5drmRecord:
    """Read a file and rotate and move its coordinates by ``placed``, the case's ``injection.h5drm``; raise InputError if invalid."""
    with opened(path, WHAT) as file:
        about = {name: _number(path, file, f"DRM_Metadata/{name}") for name in ("dt", "tstart")}
        if not about["dt"] > 0:
            raise InputError(Problem(str(path), f"DRM_Metadata/dt is {about['dt']:g}", "above 0"))
        xyz = dataset(path, file, "DRM_Data/xyz", 2)[()].astype(float)
        internal = dataset(path, file, "DRM_Data/internal", 1, "biu")[()].astype(bool)
        rows = dataset(path, file, "DRM_Data/data_location", 1, "iu")[()].astype(np.int64)
        values = dataset(path, file, "DRM_Data/velocity", 2)
        if (
            xyz.shape != (len(rows), 3)
            or len(internal) != len(rows)
            or (rows < 0).any()
            or rows.max() + 3 > len(values)
        ):
            what = f"has {len(xyz)} places, {len(internal)} of internal, {len(rows)} of data_location, {len(values)} rows of velocity"
            raise InputError(Problem(str(path), what, "as many of each, three rows a node"))
        if not np.isfinite(xyz).all() or internal.all() or not internal.any():
            raise InputError(Problem(str(path), "needs finite places of nodes, internal ones and others"))
        turn, scale = np.array(placed.axes), placed.scale
        middle = dataset(path, file, "DRM_Metadata/drmbox_x0", 1)[()].astype(float)
        places = scale * (xyz - middle) @ turn.T + (
            scale * turn @ middle if placed.origin is None else np.array(placed.origin)
        )
        retained, nodes, h = _lattice(path, file, places, scale)
        block = np.asarray(values[()], np.float32)
    motion = np.stack([block[rows[retained] + k] for k in range(3)])
    turned = np.einsum("ij,jnt->itn", turn.astype(np.float32), motion)
    box = places[internal].min(0), places[internal].max(0)
    open_top = abs(places[:, 2].max() - box[1][2]) < OFF * h
    frame = Frame(*box, open_top, h, about["dt"], Recorder("h5drm", 0))
    velocity = {name: np.ascontiguousarray(turned[k]) for k, name in enumerate(VELOCITIES)}
    first = dict.fromkeys(VELOCITIES, about["tstart"])
    record = H5drmRecord(path, frame, block.shape[1], dict.fromkeys(VELOCITIES, nodes), first, velocity)
    for name in VELOCITIES:
        check_samples(record, name, velocity[name], 0)
    return record


def _number(path: Path, file: h5py.File, name: str) -> float:
    value = np.asarray(dataset(path, file, name, None)[()]).ravel()
    if value.size != 1 or not np.isfinite(value).all():
        raise InputError(Problem(str(path), f"'{name}' is {value.tolist()}", "one finite number"))
    return float(value[0])


def _lattice(path: Path, file: h5py.File, places: np.ndarray, scale: float) -> tuple[np.ndarray, Nodes, float]:
    """Return the indices of the distinct nodes, the lattice they lie on and its spacing [m]."""
    edges = np.asarray(dataset(path, file, "DRM_Metadata/h", 1)[()], float) * scale
    h, low = float(edges[0]), places.min(0)
    if not h > 0 or np.ptp(edges) > OFF * h:
        raise InputError(Problem(str(path), f"has elements of edges {edges.tolist()} m", "cubes"))
    fraction = (places - low) / h
    count = (np.ptp(places, axis=0) / h + 1.0).prod()
    if not count <= EMPTIEST * len(places):
        farthest = int(np.abs(places - np.median(places, axis=0)).max(1).argmax())
        x, y, z = places[farthest]
        what = f"the node at ({x:g}, {y:g}, {z:g}) is far from the others"
        raise InputError(Problem(str(path), what, f"nodes of a box of cubes of {h:g} m", DAMAGED))
    index = np.rint(fraction).astype(np.int64)
    if np.abs(fraction - index).max() > OFF:
        worst = int(np.abs(fraction - index).max(1).argmax())
        x, y, z = places[worst]
        raise InputError(
            Problem(str(path), f"the node at ({x:g}, {y:g}, {z:g}) is off the lattice of {h:g} m", "nodes of cubes")
        )
    _, retained = np.unique(index, axis=0, return_index=True)
    return retained, Nodes(low, h, index[retained], float(places[:, 2].max())), h
