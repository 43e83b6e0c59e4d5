"""Number of cells of a mesh before it is read or generated."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError
from faultwave.base.files.hdf5 import opened
from faultwave.domain.tets.gmsh.ahead import gmsh_cells


def cells_ahead(setting: object) -> int | None:
    """Return the number of cells of a box, or of a PUML, netCDF or Gmsh file from its headers; None if unknown.

    ``setting`` is as for ``load_mesh``. None means that only reading or generating the mesh determines the number.
    """
    box, path = getattr(setting, "generate", None), getattr(setting, "file", None)
    if box is not None:
        return box.tetrahedra * math.prod(box.cells) if box.shape == "box" else None
    if path is None or not Path(path).is_file():
        return None
    if not h5py.is_hdf5(path):
        return gmsh_cells(Path(path))
    with (
        suppress(InputError, OSError),
        opened(path, "mesh") as file,
    ):  # errors are reported when the mesh is read
        if isinstance(file.get("element_size"), h5py.Dataset):
            return int(np.sum(file["element_size"][()]))
        connections = file.get("connect")
        return len(connections) if isinstance(connections, h5py.Dataset) and connections.ndim == 2 else None
    return None


__all__ = ["cells_ahead"]
