"""Gridded data: `!ASAGI` (NetCDF) and `!SCECFile` (text)."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, NotBuiltError, Problem, suggest
from faultwave.base.files.hdf5 import BROKEN
from faultwave.base.files.netcdf import NetcdfFile, open_netcdf
from faultwave.base.files.paths import candidate_paths, first_file, search_advice, shown
from faultwave.media.easi.component import Batch, Builder, Component, Mask, Values, tag
from faultwave.media.easi.source import Block
from faultwave.media.points import Floats


@dataclass(frozen=True)
class Grid:
    """Values at the vertices of a regular grid.

    Attributes
    ----------
    origin, spacing, shape : tuple
        One entry per dimension, the first varying fastest in ``data``.
    data : ndarray (parameters, vertices)
        Values in the precision of the file.
    """

    origin: tuple[float, ...]
    spacing: tuple[float, ...]
    shape: tuple[int, ...]
    data: np.ndarray

    @property
    def last(self) -> tuple[float, ...]:
        return tuple(o + h * (n - 1) for o, h, n in zip(self.origin, self.spacing, self.shape, strict=True))

    def interpolate(self, columns: Sequence[Floats], rows: Sequence[int], linear: bool) -> list[Floats]:
        """Return linear or nearest values of the parameters ``rows`` at points given by coordinate, clamped to the grid."""
        low: list[NDArray[np.int64]] = []
        weight: list[Floats] = []
        for x, origin, spacing, count in zip(columns, self.origin, self.spacing, self.shape, strict=True):
            position = np.clip((x - origin) / spacing, 0.0, count - 1.0)
            start = np.floor(position if linear else position + 0.5).astype(np.int64)
            start = np.minimum(start, max(count - 2, 0) if linear else count - 1)
            low.append(start)
            weight.append(position - start)
        strides = np.concatenate(([1], np.cumprod(self.shape[:-1]))).astype(np.int64)
        base = sum((i * int(s) for i, s in zip(low, strides, strict=True)), start=np.zeros(len(columns[0]), np.int64))
        if not linear:
            return [self.data[row].take(base).astype(np.float64) for row in rows]
        totals = [np.zeros(len(base)) for _ in rows]
        spans = [(0, 1) if count > 1 else (0,) for count in self.shape]
        for corner in itertools.product(*spans):
            share = np.ones(len(base))
            for step, w, count in zip(corner, weight, self.shape, strict=True):
                if count > 1:
                    share *= w if step else 1.0 - w
            index = base + int(np.dot(corner, strides))
            for total, row in zip(totals, rows, strict=True):
                total += share * self.data[row].take(index)
        return totals


def _interpolation(block: Block) -> bool:
    """Return True for linear interpolation (the default), False for nearest."""
    given = block.get("interpolation")
    kind = "linear" if given is None else given.text("'interpolation'").lower()
    if given is not None and kind == "cubic":
        raise NotBuiltError(Problem(given.where, "cubic interpolation is not supported", "nearest, linear"))
    if given is not None and kind not in ("linear", "nearest"):
        raise given.error(f"'interpolation' is '{kind}'", "nearest, linear", suggest(kind, ("nearest", "linear")))
    return kind == "linear"


def _data_file(block: Block) -> Path:
    """Return the path of a data file named in a model: next to the model, next to the case, or in the working directory."""
    name = Path(block.text("'file'"))
    candidates = candidate_paths(name, block.source.path.parent)
    found = first_file(candidates)
    if found is None:
        raise block.error(f"'{shown(name)}' does not exist", advice=search_advice(candidates))
    return found


@dataclass(frozen=True, kw_only=True)
class Gridded(Component):
    """Component that interpolates a grid in its sorted dimensions."""

    grid: Grid
    inputs: tuple[str, ...]
    names: tuple[str, ...]  # of the rows of the grid's data
    linear: bool

    def transform(self, batch: Batch, wanted: Iterable[str]) -> Values:
        names = tuple(wanted)
        columns = [batch.columns[name] for name in self.inputs]
        for name, column in zip(self.inputs, columns, strict=True):
            if np.isnan(column).any():
                raise batch.failure(self.where, f"coordinate '{name}' of the grid is NaN", np.isnan(column))
        rows = [self.names.index(name) for name in names]
        return dict(zip(names, self.grid.interpolate(columns, rows, self.linear), strict=True))


@tag("!ASAGI")
@dataclass(frozen=True, kw_only=True)
class Asagi(Gridded):
    """NetCDF grid; points outside it are not accepted."""

    keys = frozenset({"file", "parameters", "var", "interpolation", "components"})

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        file, given, variable = block.require("file"), block.require("parameters"), block.get("var")
        names = given.names("'parameters'")
        named = "data" if variable is None else variable.text("'var'")
        grid = read_netcdf(_data_file(file), named, file.where, builder.warn)
        if len(grid.shape) != len(inputs):
            what = f"the grid has {len(grid.shape)} dimension(s), but this component receives {', '.join(inputs)}"
            raise file.error(what, "equal numbers")
        if len(grid.data) != len(names):
            what = f"'parameters' lists {len(names)} name(s), but the file has {len(grid.data)} value(s) per point"
            raise given.error(what, "one name per value, in the order of the file")
        outputs = tuple(sorted(names))
        return cls(
            where=block.where,
            outputs=outputs,
            children=builder.children(block, outputs),
            grid=grid,
            inputs=inputs,
            names=tuple(names),
            linear=_interpolation(block),
        )

    def accepts(self, batch: Batch) -> Mask | None:
        mask = np.ones(len(batch), dtype=bool)
        for name, low, high in zip(self.inputs, self.grid.origin, self.grid.last, strict=True):
            mask &= (batch.columns[name] >= low) & (batch.columns[name] <= high)
        return mask


def read_netcdf(path: Path, variable: str, where: str, warn: Callable[[str, str, str], None]) -> Grid:
    """Read a regular grid from a NetCDF file, as ASAGI does (Rettenberger et al. 2016).

    The variable holds plain or compound floats, slowest dimension first. ASAGI uses only the first and the last
    coordinate of a dimension: vertices between them are spaced evenly, with a warning if the file has other
    coordinates; without coordinates vertices lie at 0, 1, 2 and so on.

    Parameters
    ----------
    path, variable
        File and its variable.
    where : str
        Place in the model that names the file.
    warn : callable
        Function of place, oddity and advice.

    Raises
    ------
    InputError
        At ``where``, for anything else, such as descending coordinates.
    """
    with _relocate_errors(path, where):
        dataset = open_netcdf(path, "NetCDF grid")
        if variable not in dataset.variables:
            names = ", ".join(dataset.variables)
            raise InputError(Problem(where, f"{path} has no variable '{variable}'", names, "Choose it with 'var'"))
        held = dataset.variables[variable]
        counts = dict(zip(held.dimensions, held.shape, strict=True))
        axes = [_axis(dataset, name, counts[name], path, where, warn) for name in reversed(held.dimensions)]
        values = held.stored()
    kinds = [values.dtype] if values.dtype.fields is None else [values.dtype[n] for n in values.dtype.names or ()]
    if not axes or any(kind.kind not in "fiu" for kind in kinds):
        raise InputError(Problem(where, f"{path}: '{variable}' is not a grid of numbers", "floats or a flat compound"))
    parts = [values] if values.dtype.fields is None else [values[name] for name in values.dtype.names or ()]
    data = np.stack([np.ascontiguousarray(part).reshape(-1) for part in parts])
    origin, spacing, shape = zip(*axes, strict=True)
    return Grid(origin, spacing, shape, data)


@contextmanager
def _relocate_errors(path: Path, where: str) -> Iterator[None]:
    """Re-raise errors of a damaged file with the place that names it."""
    try:
        yield
    except InputError as error:
        reported = (p if p.where == where else replace(p, where=where, what=f"{path} {p.what}") for p in error.problems)
        raise InputError(reported) from None
    except BROKEN as error:
        raise InputError(Problem(where, f"{path} cannot be read to its end: {error}")) from None


def _axis(
    dataset: NetcdfFile, name: str, count: int, path: Path, where: str, warn: Callable[[str, str, str], None]
) -> tuple[float, float, int]:
    """Return origin, spacing and number of vertices of one dimension."""
    if name not in dataset.variables:
        what = f"{path}: dimension '{name}' has no coordinate variable, so its vertices lie at 0 to {count - 1}, as in ASAGI"
        warn(where, what, "Write a 1-D variable named like the dimension.")
        return 0.0, 1.0, count
    x = np.asarray(dataset.variables[name].stored(), dtype=np.float64)
    if x.ndim != 1 or len(x) != count or count < 1:
        raise InputError(Problem(where, f"{path}: coordinate '{name}' has shape {x.shape}", "one dimension"))
    if len(x) == 1:
        return float(x[0]), 1.0, 1
    spacing = float(x[-1] - x[0]) / (len(x) - 1)
    # Coordinates are often single precision, so equal spacing is judged with its rounding in mind.
    tolerance = 1e-3 * abs(spacing) + 4 * np.finfo(np.float32).eps * float(np.abs(x).max())
    if not 0 < spacing < np.inf or not (np.diff(x) > 0).all():
        what = f"{path}: coordinate '{name}' is not ascending"
        raise InputError(Problem(where, what, "equal steps upwards, as ASAGI has them"))
    off = np.abs(x - (x[0] + spacing * np.arange(count)))
    if not np.all(np.abs(np.diff(x) - spacing) <= tolerance):
        worst, steps = int(off.argmax()), np.diff(x)
        warn(
            where,
            f"{path}: coordinate '{name}' is not ascending with equal spacing: its steps are {steps.min():.6g} "
            f"to {steps.max():.6g}. ASAGI assumes {spacing:.6g} everywhere, and so does Faultwave, which moves "
            f"values from {x[worst]:.6g} to {x[0] + spacing * worst:.6g}",
            "Resample the grid to equal steps.",
        )
    return float(x[0]), spacing, len(x)


# Columns 4 and up of a row after 'i j x y': name, or None for columns that the component does not deliver.
_SCEC_COLUMNS = (
    "s_normal", "s_strike", "s_dip", None, None, "mu_s", "mu_d", "d_c", "cohesion", "forced_rupture_time",
)  # fmt: skip


@tag("!SCECFile")
@dataclass(frozen=True, kw_only=True)
class ScecFile(Gridded):
    """Fault parameters on a strike-dip grid, in the SCEC's signs; clamped outside."""

    keys = frozenset({"file", "interpolation", "components"})

    @classmethod
    def build(cls, block: Block, inputs: tuple[str, ...], builder: Builder) -> Component:
        if len(inputs) != 2:
            raise block.error(f"!SCECFile receives {', '.join(inputs)}", "two dimensions: along strike, down dip")
        file = block.require("file")
        names = tuple(name for name in _SCEC_COLUMNS if name)
        outputs = tuple(sorted(names))
        return cls(
            where=block.where,
            outputs=outputs,
            children=builder.children(block, outputs),
            grid=read_scec(_data_file(file), file.where),
            inputs=inputs,
            names=names,
            linear=_interpolation(block),
        )


def _text(path: Path, where: str) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(Problem(where, f"{path} cannot be read: {error.strerror}")) from None


def read_scec(path: Path, where: str) -> Grid:
    """Read the text layout of SCEC's TPV16 and TPV17: three header lines, then one row of 14 numbers for each vertex."""
    lines = [(number, line.split()) for number, line in enumerate(_text(path, where).splitlines(), 1) if line.strip()]
    if len(lines) < 3 or len(lines[1][1]) < 4:
        raise InputError(Problem(where, f"{path} lacks its three header lines", "seeds; nx ny Lx Ly; hypocentre"))
    try:
        nx, ny = int(lines[1][1][0]), int(lines[1][1][1])
        lengths = float(lines[1][1][2]), float(lines[1][1][3])
    except ValueError:
        raise InputError(
            Problem(
                f"{path}:{lines[1][0]}", "not 'nx ny Lx Ly'", "four numbers: cells along strike and dip, lengths [m]"
            )
        ) from None
    if nx < 1 or ny < 1 or not min(lengths) > 0:
        raise InputError(Problem(f"{path}:{lines[1][0]}", f"{nx} x {ny} cells of {lengths}", "positive numbers"))
    count, given = (nx + 1) * (ny + 1), len(lines) - 3
    if count > given:
        raise InputError(Problem(where, f"{path} lacks {count - given} of {count} rows"))
    data = np.full((len(_SCEC_COLUMNS), ny + 1, nx + 1), np.nan)
    for number, words in lines[3:]:
        try:
            i, j, row = int(words[0]), int(words[1]), [float(word) for word in words[4:]]
        except (ValueError, IndexError):
            raise InputError(Problem(f"{path}:{number}", "not a row 'i j x y' and 10 numbers")) from None
        if len(row) != len(_SCEC_COLUMNS) or not (0 <= i <= nx and 0 <= j <= ny):
            allowed = f"14 numbers, i in 0..{nx}, j in 0..{ny}"
            raise InputError(Problem(f"{path}:{number}", f"row i={i} j={j} with {len(words)} numbers", allowed))
        data[:, j, i] = row
    absent = int(np.isnan(data[0]).sum())
    if absent:
        raise InputError(Problem(where, f"{path} lacks {absent} of {(nx + 1) * (ny + 1)} rows"))
    retained = data[[k for k, name in enumerate(_SCEC_COLUMNS) if name]].reshape(-1, (nx + 1) * (ny + 1))
    return Grid((0.0, 0.0), (lengths[0] / nx, lengths[1] / ny), (nx + 1, ny + 1), retained)
