"""Reader of snapshot files into Datasets: fields with their times and coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, suggest
from faultwave.observe.dataset import QUANTITIES, Dataset, Variable
from faultwave.output.folder import find_prefix
from faultwave.output.formats.image import ImageReader, is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader

AXES = ("x", "y", "z")


def series(folder: Path, prefix: str) -> list[str]:
    """Return the kinds of snapshots and maps that a run has written, such as 'fault', 'rupture', 'surface' and 'volume'."""
    return sorted(
        path.stem.removeprefix(f"{prefix}-") for path in folder.glob("*.vtkhdf") if path.stem.startswith(f"{prefix}-")
    )


def snapshots(
    folder: str | Path, kind: str, fields: Sequence[str] | None = None, *, prefix: str | None = None
) -> Dataset:
    """Read the snapshots of one kind from a run folder.

    On a mesh the Dataset holds ``time`` (time,) [s], fields (time, cell) or (cell,), the cell centres ``x``, ``y``, ``z`` (cell,) [m],
    ``points`` (point, component) [m] and ``cells`` (cell, corner), indices into the points. For cells of high degree (``degree``),
    ``points`` are nodes, and ``cells`` (cell, node) and fields (time, cell, node) hold all nodes of a cell in VTK's order. On a grid it
    holds fields (time, z, y, x) or (time, y, x), and the axes ``x``, ``y``, ``z`` [m]. ``.to_xarray()`` converts it to xarray.

    Parameters
    ----------
    folder : str or Path
        Run folder.
    kind : str
        'surface', 'fault', 'volume', or the maps 'rupture'.
    fields : sequence of str, optional
        Fields to read, by default all.
    prefix : str, optional
        Prefix of the run's files.

    Raises
    ------
    InputError
        If there are no snapshots of this kind, or a field is unknown.
    """
    where = Path(folder)
    prefix = find_prefix(where) if prefix is None else prefix
    path = where / f"{prefix}-{kind}.vtkhdf"
    if not path.is_file():
        there = series(where, prefix)
        what = f"the run '{prefix}' has no snapshots '{kind}'"
        raise InputError(Problem(str(where), what, ", ".join(there) or "none", suggest(kind, there)))
    return _image(path, fields) if is_image(path) else _mesh(path, fields)


def _chosen(path: Path, fields: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    fields = [fields] if isinstance(fields, str) else fields
    unknown = [name for name in fields or () if name not in there]
    if unknown:
        what = f"has no field {', '.join(map(repr, unknown))}"
        raise InputError(Problem(str(path), what, ", ".join(there), suggest(unknown[0], there)))
    return list(there if fields is None else fields)


def _variable(name: str, values: np.ndarray, dims: tuple[str, ...]) -> Variable:
    return Variable(values, dims, *QUANTITIES.get(name, ("", name)))


def _time(times: np.ndarray) -> Variable:
    return Variable(times, ("time",), "s", "time since the start of the simulation")


def _mesh(path: Path, fields: Sequence[str] | None) -> Dataset:
    with VtkHdfReader(path) as file:
        names = _chosen(path, fields, (*file.fields, *file.static))
        centres = file.points[file.cells].mean(1)
        found = {"time": _time(file.times)}
        for axis, values in zip(AXES, centres.T, strict=True):
            found[axis] = Variable(values, ("cell",), "m", f"{axis} of the centre")
        found["points"] = Variable(file.points, ("point", "component"), "m", "corners of the cells")
        simple = file.nodes.shape == file.cells.shape
        dims = ("cell", "corner" if simple else "node")
        found["cells"] = Variable(file.nodes, dims, "", f"numbers of the {dims[1]}s among the points")
        for name in names:
            if name in file.static:
                found[name] = _variable(name, file.field(name), ("cell",))
            else:
                rows = [file.at_nodes(name, step) for step in range(len(file.times))]
                values = np.stack(rows) if rows else np.zeros((0, len(file.cells)))
                found[name] = _variable(name, values, ("time", *dims)[: values.ndim])
    return Dataset(path.stem, found)


def _image(path: Path, fields: Sequence[str] | None) -> Dataset:
    with ImageReader(path) as file:
        found = {"time": _time(file.times)}
        for axis in AXES:
            found[axis] = Variable(getattr(file, axis), (axis,), "m", axis)
        for name in _chosen(path, fields, file.fields):
            rows = [file.field(name, step) for step in range(len(file.times))]
            values = np.stack(rows) if rows else np.zeros((0, len(file.y), len(file.x)))
            found[name] = _variable(name, values, ("time", *("z", "y", "x")[-values.ndim + 1 :]))
    return Dataset(path.stem, found)


__all__ = ["series", "snapshots"]
