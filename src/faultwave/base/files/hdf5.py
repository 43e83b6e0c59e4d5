"""Safe reading of external HDF5 files, with errors for missing, mistyped or oversized content."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.files import probe_child
from faultwave.base.files.probe import probe

BROKEN = (
    OSError,
    RuntimeError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    MemoryError,
)
"""Exceptions that libraries raise for invalid files."""


@contextmanager
def opened(path: str | Path, what: str, probed: bool = True) -> Iterator[h5py.File]:
    """Open an HDF5 file, and turn errors of its content inside the block into InputError.

    Parameters
    ----------
    path : str or Path
        File.
    what : str
        Expected content, for messages.
    probed : bool
        If True, a child process probes the file first. Not needed for files that this process wrote itself.

    Raises
    ------
    InputError
        If the file is not of the expected kind.
    """
    if probed:
        probe(path, what)
    with naming_file_errors(path, what), h5py.File(path, "r") as file:
        yield file


@contextmanager
def naming_file_errors(path: str | Path, what: str) -> Iterator[None]:
    """Turn errors of a file inside the block into an InputError that names the file."""
    try:
        yield
    except BROKEN as error:
        text = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, MemoryError):
            text = f"there is not enough memory for it ({text})"
        raise InputError(
            Problem(str(path), f"is not a valid {what}: {text}", advice="Was the file truncated during a transfer?")
        ) from None


def attribute(path: Path, owner: h5py.HLObject, name: str, default: object = None) -> Any:
    """Return an attribute as a number, text, array or list of texts.

    Parameters
    ----------
    path : Path
        File, for messages.
    owner : h5py.Group or h5py.Dataset
        Object with the attribute.
    name : str
        Name of the attribute.
    default : object, optional
        Value if it is missing.

    Raises
    ------
    InputError
        If it is missing and has no default.
    """
    if name not in owner.attrs:
        if default is not None:
            return default
        raise InputError(Problem(str(path), f"{owner.name} has no attribute '{name}'"))
    value = owner.attrs[name]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
        return value.decode(errors="replace") if isinstance(value, bytes) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":
        return [v.decode(errors="replace") if isinstance(v, bytes) else str(v) for v in value.reshape(-1)]
    return value


def text_attribute(path: Path, owner: h5py.HLObject, name: str, default: str | None = None) -> str:
    """Return an attribute that is a single text. Raises InputError if it is not, or is missing without a default."""
    value = attribute(path, owner, name, default)
    if not isinstance(value, str):
        raise InputError(Problem(str(path), f"attribute '{name}' of {owner.name} is {value!r}", "text"))
    return value


def text_list(path: Path, owner: h5py.HLObject, name: str) -> list[str]:
    """Return an attribute that is one text or several, as a list. Raises InputError if it is not."""
    value = attribute(path, owner, name)
    if isinstance(value, np.ndarray | h5py.Empty) and getattr(value, "size", 0) in (0, None):
        value = []
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise InputError(Problem(str(path), f"attribute '{name}' of {owner.name} is {value!r}", "texts"))
    return listed


def number_attribute(path: Path, owner: h5py.HLObject, name: str, default: float | None = None) -> float:
    """Return an attribute that is one finite number. Raises InputError if it is not."""
    value = attribute(path, owner, name, default)
    if not isinstance(value, int | float | np.integer | np.floating) or not np.isfinite(value):
        raise InputError(Problem(str(path), f"attribute '{name}' of {owner.name} is {value!r}", "one finite number"))
    return float(value)


def dataset(
    path: Path, file: h5py.File, name: str, dimensions: int | None, kinds: str = "fiu", empty: bool = False
) -> h5py.Dataset:
    """Return a dataset after checking its shape, type and size.

    Parameters
    ----------
    path : Path
        File, for messages.
    file : h5py.Group
        Open file or group.
    name : str
        Name of the dataset.
    dimensions : int or None
        Required number of dimensions, None for any.
    kinds : str
        Allowed NumPy kinds of the type.
    empty : bool
        True if it may contain no values.

    Raises
    ------
    InputError
        If there is no such dataset, or the file is too small for its values.
    """
    found = file.get(name)
    if not isinstance(found, h5py.Dataset):
        raise InputError(
            Problem(
                str(path),
                f"has no dataset '{name}'",
                advice="The file may be of another kind, or belong to a run that was interrupted.",
            )
        )
    if found.shape is None or found.ndim != (dimensions or found.ndim) or (0 in found.shape and not empty):
        allowed = f"{dimensions} dimension{'s' * (dimensions > 1)}" if dimensions else "at least one value"
        raise InputError(Problem(str(path), f"'{name}' has shape {found.shape}", allowed))
    if found.dtype.kind not in kinds:
        raise InputError(Problem(str(path), f"'{name}' holds {found.dtype}", "numbers"))
    check_size_of_dataset(path, found)
    return found


def check_size_of_dataset(path: str | Path, found: h5py.Dataset) -> h5py.Dataset:
    """Return a dataset after checking that the file is large enough for it, before memory is allocated.

    Raises
    ------
    InputError
        If it is too small.
    """
    size = Path(path).stat().st_size
    try:
        probe_child.check_dataset_size(str(found.name), found.shape or (), found.dtype.itemsize, size)
    except probe_child.Unsound as error:
        raise InputError(Problem(str(path), str(error), advice="Was the file truncated during a transfer?")) from None
    return found
