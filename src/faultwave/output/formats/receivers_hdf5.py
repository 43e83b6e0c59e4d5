"""Receivers of a whole run in one HDF5 array file, with units, descriptions and actual locations.

Groups ``receivers`` and ``fault_receivers``, one HDF5 dataset a variable with attributes ``dims``, ``unit`` and
``description``; ``quantities`` and ``units`` are attributes of the group. SeisSol's own HDF5 receiver layout
(``ReceiverData``) is read as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.dataset import Dataset, Variable, receivers_from_arrays
from faultwave.observe.result import Result
from faultwave.output.hdf5 import whole_hdf5
from faultwave.output.writers import Writer

LEGACY = {
    **{c: f"s_{c}" for c in ("xx", "yy", "zz", "xy", "yz", "xz")},
    "u": "v1",
    "v": "v2",
    "w": "v3",
    "ASI": "ASl",
}
"""Older quantity names and today's."""


def write_receivers(path: str | Path, datasets: Iterable[Dataset]) -> Path:
    """Write datasets (by name: 'receivers', 'fault_receivers') into one file, whole or not at all.

    Raises InputError if the path cannot be written, RunError if the disk fills.
    """
    path = Path(path)
    with whole_hdf5(path) as file:
        for dataset in datasets:
            group = file.create_group(dataset.name, track_order=True)
            for key, value in dataset.attrs.items():
                group.attrs[key] = value
            for name, variable in dataset.variables.items():
                item = group.create_dataset(name, data=variable.data)
                item.attrs["dims"] = list(variable.dims)
                item.attrs["unit"] = variable.unit
                item.attrs["description"] = variable.description
    return path


def read_receivers(path: str | Path) -> dict[str, Dataset]:
    """Every dataset of a receiver file by name. Raises InputError if the file is no receiver file."""
    try:
        with h5py.File(path, "r") as file:
            if "ReceiverData" in file:
                return {"receivers": _seissol(file)}
            return {name: _dataset(name, group) for name, group in file.items()}
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(Problem(str(path), f"is no readable receiver file: {error}")) from error


def _dataset(name: str, group: h5py.Group) -> Dataset:
    variables = {
        key: Variable(
            item[()], tuple(_text(d) for d in item.attrs["dims"]), _text(item.attrs["unit"]), item.attrs["description"]
        )
        for key, item in group.items()
    }
    return Dataset(name, variables, {key: _attribute(value) for key, value in group.attrs.items()})


def _seissol(file: h5py.File) -> Dataset:
    data = file["ReceiverData"]
    names = [_text(n) for n in data.attrs["VariableNames"]]
    values = data[()]
    quantities = [LEGACY.get(n, n) for n in names[1:]]
    return receivers_from_arrays(values[:, 0, 0], values[:, :, 1:], quantities, file["Coordinates"][()])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _attribute(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_attribute(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return _attribute(value.item())
    return value.decode() if isinstance(value, bytes) else value


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    return [write_receivers(folder / f"{prefix}-receivers.h5", [r.data for r in results])]


RESULTS = [Writer(("receivers", "fault_receivers"), _write)]
