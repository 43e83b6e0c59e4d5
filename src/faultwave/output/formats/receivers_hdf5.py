"""Receivers of a whole run in one HDF5 file, with units, descriptions and actual locations.

Groups ``receivers``, ``fault_receivers`` and ``soil_receivers``, one HDF5 dataset per variable with attributes ``dims``, ``unit`` and
``description``; ``quantities`` and ``units`` are attributes of the group. Every dimension has a dimension scale, so that NetCDF-4 and
xarray see coordinates: times (on faults, where each receiver has its own, sample numbers), receiver numbers, names of quantities
and components. The arrays of the first group are linked at the root too, where ``xarray.open_dataset`` without a group looks.
SeisSol's own HDF5 receiver layout (``ReceiverData``) is read as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files.hdf5 import dataset, opened, text_attribute, text_list
from faultwave.observe.dataset import CODES, Dataset, Result, Variable, receivers_from_arrays
from faultwave.output.field_files.hdf5 import atomic_hdf5
from faultwave.output.formats import Writer

LEGACY = {
    **{c: f"s_{c}" for c in ("xx", "yy", "zz", "xy", "yz", "xz")},
    "u": "v1",
    "v": "v2",
    "w": "v3",
    "ASI": "ASl",
    "pprime": "sigma",
}
"""Quantity names of SeisSol's files, including older ones, and Faultwave's names where they differ."""

RECEIVERS = ("receivers", "fault_receivers", "soil_receivers")
_PLACE = (("receiver", "component"),)
DIMENSIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "time": (("time",), ("time", "receiver")),
    "values": (("time", "receiver", "quantity"),),
    **dict.fromkeys(("location", "requested", "normal", "strike", "dip"), _PLACE),
    "initial_traction": (("receiver", "traction"),),
    **dict.fromkeys(("longitude", "latitude", "y_azimuth"), (("receiver",),)),
}
"""Allowed dimensions of each variable of receivers."""

TEXT = h5py.string_dtype()
WORDS = {"component": ("x", "y", "z"), "traction": ("P_0", "T_s", "T_d")}
"""Labels of the entries along dimensions."""
COORDINATES = {"sample", "receiver", "quantity", *WORDS, *CODES.values()}
"""Datasets that are coordinates of a dimension and no variables."""


def write_receivers(path: str | Path, datasets: Iterable[Dataset]) -> Path:
    """Write datasets ('receivers', 'fault_receivers', 'soil_receivers') into one file, atomically.

    Raises InputError if the path cannot be written, RunError if the disk fills.
    """
    path = Path(path)
    with atomic_hdf5(path) as file:
        for dataset in datasets:
            group = file.create_group(dataset.name, track_order=True)
            for key, value in dataset.attrs.items():
                if key not in CODES:  # attributes hold 64 KiB at most
                    group.attrs[key] = value
            for name, variable in dataset.variables.items():
                item = group.create_dataset(name, data=variable.data)
                item.attrs["dims"] = list(variable.dims)
                item.attrs["unit"] = item.attrs["units"] = variable.unit
                item.attrs["description"] = item.attrs["long_name"] = variable.description
            _make_scales(group, dataset)
        _link_first(file)
    return path


def _link_first(file: h5py.File) -> None:
    """Link the arrays of the first group at the root, for programs that look only there, and list the groups in an attribute."""
    groups = list(file)
    if not groups:
        return
    file.attrs["Conventions"], file.attrs["groups"] = "CF-1.8", ", ".join(groups)
    first = file[groups[0]]
    for key, value in first.attrs.items():
        file.attrs[key] = value
    for name in first:
        file[name] = first[name]


def _make_scales(group: h5py.Group, dataset: Dataset) -> None:
    """Create a coordinate for every dimension, and the text coordinates of receivers."""
    sizes, texts = dataset.sizes, {"quantity": dataset.quantities, **WORDS}
    for dim, size in sizes.items():
        name = dim
        if name in dataset and dataset.variables[name].dims != (dim,):
            name = "sample"  # each receiver has its own times
        if name not in group:
            words = texts.get(dim, ())
            group[name] = np.array(words, dtype=TEXT) if len(words) == size else np.arange(1, size + 1)
        group[name].make_scale(name)
        for key, variable in dataset.variables.items():
            for axis in (k for k, found in enumerate(variable.dims) if found == dim):
                if key != name:
                    group[key].dims[axis].attach_scale(group[name])
    for key, name in CODES.items():
        if key in dataset.attrs:
            group[name] = np.array(dataset.attrs[key], dtype=TEXT)
            group[name].dims[0].attach_scale(group["receiver"])


def read_receivers(path: str | Path) -> dict[str, Dataset]:
    """Return every dataset of a receiver file by name, or raise InputError if the file is not a receiver file."""
    path = Path(path)
    with opened(path, "receiver file") as file:
        if "ReceiverData" in file:
            return {"receivers": _seissol(path, file)}
        groups = [name for name in file if isinstance(file[name], h5py.Group)]
        return {name: _dataset(path, file, name) for name in groups or file}


def _dataset(path: Path, file: h5py.File, name: str) -> Dataset:
    group = file[name]
    if not isinstance(group, h5py.Group):
        raise InputError(Problem(str(path), f"'{name}' is not a group of receivers"))
    variables = {}
    for key in group:
        if key in COORDINATES:
            continue
        item = dataset(path, group, key, None, empty=True)
        dims = text_list(path, item, "dims")
        if len(dims) != item.ndim:
            raise InputError(
                Problem(str(path), f"'{name}/{key}' has shape {item.shape}", f"dimensions {', '.join(dims)}")
            )
        unit, description = (text_attribute(path, item, n, "") for n in ("unit", "description"))
        variables[key] = Variable(item[()], tuple(dims), unit, description)
    attrs = {key: _attribute(value) for key, value in group.attrs.items()}
    attrs |= {key: text_list(path, group, key) for key in ("quantities", "units", *CODES) if key in attrs}
    attrs |= {key: _codes(path, group, word) for key, word in CODES.items() if word in group}
    found = Dataset(name, variables, attrs)
    if name in RECEIVERS:
        _check(path, found)
    return found


def _codes(path: Path, group: h5py.Group, name: str) -> list[str]:
    found = dataset(path, group, name, 1, "O", empty=True)
    return [value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in found[()]]


def _check(path: Path, found: Dataset) -> None:
    """Raise InputError if receivers do not follow the conventions of ``observe.dataset``."""
    wrong = [f"no '{name}'" for name in ("time", "values", "location") if name not in found]
    for name, variable in found.variables.items():
        allowed = DIMENSIONS.get(name)
        if allowed is not None and variable.dims not in allowed:
            wrong.append(f"'{name}' along {', '.join(variable.dims) or 'nothing'}")
    count = found.sizes.get("quantity", 0)
    if len(set(found.quantities)) != count:
        wrong.append(f"{count} columns of values named {', '.join(found.quantities) or 'nothing'}")
    if found.sizes.get("component", 3) != 3:
        wrong.append(f"locations with {found.sizes['component']} coordinates")
    for key, word in CODES.items():
        if key in found.attrs and len(found.attrs[key]) != found.sizes.get("receiver", 0):
            wrong.append(f"{len(found.attrs[key])} words of '{word}' for {found.sizes.get('receiver', 0)} receivers")
    if not wrong and not np.isfinite(found["location"]).all():
        wrong.append("locations that are not finite numbers")
    if wrong:
        raise InputError(Problem(str(path), f"is not a valid receiver file: '{found.name}' has {'; '.join(wrong)}"))


def _seissol(path: Path, file: h5py.File) -> Dataset:
    data = dataset(path, file, "ReceiverData", 3)
    names = text_list(path, data, "VariableNames")
    values, places = data[()], dataset(path, file, "Coordinates", 2)[()]
    if len(names) != values.shape[2] or places.shape != (values.shape[1], 3):
        what = (
            f"values of shape {values.shape}, places of shape {places.shape} and {len(names)} names do not fit together"
        )
        raise InputError(Problem(str(path), what))
    quantities = [LEGACY.get(n, n) for n in names[1:]]
    return receivers_from_arrays(values[:, 0, 0], values[:, :, 1:], quantities, places)


def _attribute(value: object) -> object:
    if isinstance(value, np.ndarray):
        return [_attribute(v) for v in value.tolist()]
    if isinstance(value, np.generic):
        return _attribute(value.item())
    return value.decode() if isinstance(value, bytes) else value


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    return [write_receivers(folder / f"{prefix}-receivers.h5", [r.data for r in results])]


RESULTS = [Writer(RECEIVERS, _write)]
