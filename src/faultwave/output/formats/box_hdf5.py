"""Wave field around a box in one HDF5 file, PREFIX-box.h5, as input of another run; see ``observe.boxes.records``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.observe.boxes.records import KIND
from faultwave.observe.dataset import Dataset
from faultwave.observe.result import Result
from faultwave.output.field_files.hdf5 import atomic_hdf5
from faultwave.output.writers import Writer

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


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    return [write_box(folder / f"{prefix}-box.h5", r.data) for r in results if "box" in r.settings["formats"]]


RESULTS = [Writer((KIND,), _write)]
