"""Opening HDF5 models: what is missing or of a wrong shape is told by name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem


@contextmanager
def opened(path: Path, what: str) -> Iterator[h5py.File]:
    """The file. Raises InputError where it is no sound HDF5 file, also where that shows inside the block."""
    try:
        with h5py.File(path, "r") as file:
            yield file
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        text = " ".join(str(error).split())
        raise InputError(
            Problem(str(path), f"is no sound {what}: {text}", advice="Was it cut short on the way?")
        ) from None


def attribute(path: Path, owner: Any, name: str, default: Any = None) -> Any:
    """An attribute as number, text or array; InputError where it is missing and has no default."""
    if name not in owner.attrs:
        if default is not None:
            return default
        raise InputError(Problem(str(path), f"{owner.name} has no attribute '{name}'"))
    value = owner.attrs[name]
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
        return value.decode() if isinstance(value, bytes) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return [v.decode() if isinstance(v, bytes) else str(v) for v in value.reshape(-1)]
    return value


def dataset(path: Path, file: Any, name: str, dimensions: int) -> Any:
    """A dataset with so many dimensions; InputError where there is none."""
    if name not in file or not isinstance(file[name], h5py.Dataset):
        raise InputError(Problem(str(path), f"has no dataset '{name}'"))
    found = file[name]
    if found.ndim != dimensions or 0 in found.shape:
        raise InputError(Problem(str(path), f"'{name}' has shape {found.shape}", f"{dimensions} dimensions"))
    return found
