"""Safe reading of external NetCDF files: a child process opens them, so that no file can crash this process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from faultwave.base.files import probe_child
from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.probe import READER, ReaderCrashed, invalid_file_error, there
from faultwave.base.log import get_logger
from faultwave.base.types import Record

log = get_logger(__name__)


@dataclass(frozen=True)
class NetcdfVariable:
    """Variable of a NetCDF file, whose values are read on request.

    Attributes
    ----------
    path : Path
        File.
    what : str
        Expected content of the file, for errors.
    name : str
        Name of the variable.
    dimensions : tuple of str
        Names of its dimensions.
    shape : tuple of int
        Shape.
    kind : str
        NumPy kind of its type, '' for texts.
    attributes : mapping
        Attributes.
    """

    path: Path
    what: str
    name: str
    dimensions: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str
    attributes: Record

    def numbers(self, *window: slice, dtype: str = "f8") -> np.ndarray:
        """Return scaled values within a window, NaN where missing. Raises InputError if they cannot be read."""
        return self._values(window, dtype)

    def stored(self) -> np.ndarray:
        """Return scaled values in the type of the file, including compound types, without masking missing values."""
        return self._values((), None)

    def _values(self, window: tuple[slice, ...], dtype: str | None) -> np.ndarray:
        bounds = [[s.start, s.stop, s.step] for s in window]
        data = _request("read NetCDF", self.path, self.what, name=self.name, window=bounds, dtype=dtype)
        with naming_file_errors(self.path, self.what):
            head = BytesIO(data[: 1 << 16])
            np.lib.format.read_magic(head)
            shape, _, kind = np.lib.format.read_array_header_1_0(head)
            return np.frombuffer(data, kind, offset=head.tell()).reshape(shape)


@dataclass(frozen=True)
class NetcdfFile:
    """Variables and attributes of the root group of a file, by name."""

    variables: Mapping[str, NetcdfVariable]
    attributes: Record


def open_netcdf(path: str | Path, what: str) -> NetcdfFile:
    """Return the description of a NetCDF file.

    ``what`` is its expected content. Raises InputError if it cannot be read.
    """
    path = Path(path)
    there(path, what)
    said = json.loads(_request("describe NetCDF", path, what))
    variables = {
        name: NetcdfVariable(path, what, name, tuple(v["dimensions"]), tuple(v["shape"]), v["kind"], v["attributes"])
        for name, v in said["variables"].items()
    }
    return NetcdfFile(variables, said["attributes"])


def _request(task: str, path: Path, what: str, **wanted: object) -> bytearray:
    try:
        sent, wrong = READER.ask(task, str(path.absolute()), **wanted)
    except OSError as error:
        log.debug("%s is read in this process, because no child process can be started: %s", path, error)
        sent = bytearray()
        with naming_file_errors(path, what):
            probe_child.TASKS[task][1](str(path), os.path.getsize(path), wanted, sent.extend, _without_limits)
        return sent
    except ReaderCrashed as error:
        raise invalid_file_error(path, what, str(error)) from None
    if wrong is None:
        raise invalid_file_error(path, what, "the Python package netCDF4 is not installed")
    if wrong:
        raise invalid_file_error(path, what, wrong)
    return sent


def _without_limits(size: int, seconds: int) -> None:
    """Set no limits, because this process is the run itself and needs its memory and time for more than a file."""
