"""What runs of grids have written."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.output.formats.image import ImageReader


def datasets(folder: Path) -> dict[str, Any]:
    """Every dataset of a run's HDF5 and NetCDF files."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.h5")) + sorted(folder.glob("*.nc")):
        with h5py.File(path) as file:
            file.visititems(
                lambda n, d, p=path: found.update({f"{p.name}/{n}": d[()]}) if isinstance(d, h5py.Dataset) else None
            )
    return found


def fields(folder: Path, kinds: Iterable[str]) -> dict[str, Any]:
    """Every snapshot of the surface, the volume or both, and their times."""
    found: dict[str, Any] = {}
    for kind in kinds:
        (path,) = folder.glob(f"*-{kind}.vtkhdf")
        with ImageReader(path) as reader:
            found |= {f"{kind}/{f}/{k}": reader.field(f, k) for f in reader.fields for k in range(len(reader.times))}
            found[f"{kind} times"] = reader.times
    return found


def same(one: Path, other: Path) -> None:
    """Two runs have written the same bits."""
    expected, found = (datasets(folder) | fields(folder, ["surface"]) for folder in (one, other))
    assert expected.keys() == found.keys() and len(found) > 3
    for name, values in expected.items():
        assert np.array_equal(values, found[name]), name
