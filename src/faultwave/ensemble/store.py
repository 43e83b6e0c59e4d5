"""Store of an ensemble: one NetCDF-4 file with the results of all members, its statistics, and a table of scalars.

The store is written in the order of the members under a temporary name and renamed: it is always complete. Members of an earlier store are
copied from it.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.errors import InputError, Problem, RunError
from faultwave.ensemble.folder import STATISTICS, TABLE, EnsembleFolder, Record
from faultwave.ensemble.statistics import MapStatistics, Statistics
from faultwave.observe.dataset import Dataset, Variable
from faultwave.output.atomic import atomic_path, atomic_text, translate_os_errors

if TYPE_CHECKING:
    import netCDF4

SHARED = ("time", "station_location", "fault_station_location", "place_location", "fault_place_location")
"""Variables that all members have in common."""
GROWING = ("time", "fault_sample")
"""Dimensions whose length can differ between members; shorter series are filled with NaN."""
ABOUT = ("status", "reason", "version")
READ_VALUES, COMPUTED_VALUES = 1 << 26, 1 << 22
"""Numbers of values of a map that are read, and of which percentiles are computed, at once."""
Results = Callable[[Record], Dataset | None]
"""Function that returns the results of a record, None if there are none."""


class StoreReader:
    """Reader of an existing store; without a file it holds no members.

    Attributes
    ----------
    versions : dict of int to str
        Versions of the records of its members.

    Raises
    ------
    RunError
        If the file exists and cannot be opened; its members would be computed again.
    """

    def __init__(self, path: Path):
        self.file: netCDF4.Dataset | None = None
        self.versions: dict[int, str] = {}
        if path.is_file():
            import netCDF4

            try:
                self.file = netCDF4.Dataset(path)
                self.file.set_auto_mask(False)
                numbers, done = self.file["member"][:], self.file["status"][:]
                self.rows = {int(m): row for row, m in enumerate(numbers)}
                versions = self.file["version"][:]
            except (OSError, RuntimeError, KeyError, IndexError, ValueError) as error:
                raise RunError(
                    f"{path} cannot be read as the store of an ensemble: {error}. Close programs that write to it; remove it "
                    "to compute its members again."
                ) from None
            self.versions = {int(m): str(versions[r]) for r, m in enumerate(numbers) if done[r] == "done"}

    def __enter__(self) -> StoreReader:
        return self

    def __exit__(self, *error: object) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def results(self, record: Record) -> Dataset | None:
        """Return the results of a record, None if the store does not hold them."""
        if self.file is None or self.versions.get(record.member) != record.version:
            return None
        row, found = self.rows[record.member], {}
        for name, v in self.file.variables.items():
            if name in SHARED:
                found[name] = Variable(v[:], v.dimensions, getattr(v, "units", ""), getattr(v, "long_name", ""))
            elif v.dimensions[:1] == ("member",) and len(v.dimensions) > 1:
                found[name] = Variable(v[row], v.dimensions[1:], getattr(v, "units", ""), getattr(v, "long_name", ""))
        names = [str(n) for n in self.file["station"][:]] if "station" in self.file.variables else []
        return Dataset("member", found, {"stations": names})


def stored_versions(folder: EnsembleFolder, kind: Literal["members", "statistics"]) -> dict[int, str]:
    """Return the versions of the members in the store, or in the statistics if members are not stored."""
    if kind == "statistics":
        return Statistics.load(statistics_state(folder)).members
    with StoreReader(folder.store) as store:
        return dict(store.versions)


def statistics_state(folder: EnsembleFolder) -> Path:
    """Return the file from which statistics continue."""
    return folder.path / "statistics-state.npz"


# ---- the store --------------------------------------------------------------------------------------------------------------


def write_store(
    folder: EnsembleFolder,
    records: Sequence[Record],
    parameters: Mapping[str, tuple[Sequence[object], str]],
    results: Results | None,
    title: str,
) -> None:
    """Write the store of all members with a record.

    Parameters
    ----------
    folder : EnsembleFolder
        Folder of the ensemble.
    records : sequence of Record
        Records in the order of the members.
    parameters : mapping of str to (list, str)
        Values of each variable for these members, and its unit.
    results : callable or None
        ``results(record)`` returns the results of a record; None if only parameters and scalars are stored.
    title : str
        Title of the study.

    Raises
    ------
    InputError
        If places or stations differ between members.
    RunError
        If results of members are damaged; these members count as missing from then on.
    """
    import netCDF4

    done = [r for r in records if r.status == "done"]
    shape = _common_shape(folder, done, results) if results is not None else Dataset("ensemble", {}, {"stations": []})
    with (
        atomic_path(folder.store) as temporary,
        translate_os_errors(folder.store),
        netCDF4.Dataset(temporary, "w") as file,
    ):
        file.Conventions = "CF-1.10"
        file.title = title
        file.createDimension("member", len(records))
        _write_members(file, records, parameters)
        _declare(file, shape)
        coordinates = [*parameters, *(n for n in SHARED if n in file.variables and n != "time"), *ABOUT[:1]]
        file.coordinates = " ".join(coordinates)
        for row, record in enumerate(records):
            found = results(record) if results is not None and record.status == "done" else None
            for name, v in (found.variables if found is not None else {}).items():
                if name not in SHARED:
                    file[name][(row, *(slice(0, n) for n in v.data.shape))] = v.data


def _common_shape(folder: EnsembleFolder, records: Sequence[Record], results: Results) -> Dataset:
    """Return the variables of all members with the longest series.

    Raises
    ------
    InputError
        If places or stations differ between members.
    RunError
        If results of members are damaged.
    """
    common: dict[str, Variable] = {}
    names: list[str] = []
    damaged: list[int] = []
    for member, found in ((r.member, results(r)) for r in records):
        if found is None:
            damaged.append(member)
            continue
        names = names or found.attrs.get("stations", [])
        for name, v in found.variables.items():
            known = common.get(name)
            if known is None or (name == "time" and v.data.size > known.data.size):
                known = common[name] = v
            fixed = [(a, b) for d, a, b in zip(v.dims, v.data.shape, known.data.shape, strict=True) if d not in GROWING]
            same = all(a == b for a, b in fixed)
            if name in SHARED and same:
                n = min(len(v.data), len(known.data))
                same = np.allclose(v.data[:n], known.data[:n], rtol=1e-6, atol=1e-6, equal_nan=True)
            if not same:
                what = f"member {member} has another '{name}' than members before it, so that they cannot be combined"
                raise InputError(
                    Problem(str(folder.path), what, advice="Set results.maps: [] or results.stations: false.")
                )
            longest = tuple(max(a, b) for a, b in zip(v.data.shape, known.data.shape, strict=True))
            if longest != known.data.shape:
                common[name] = Variable(np.broadcast_to(np.float32(0), longest), v.dims, v.unit, v.description)
    forget_damaged(folder, damaged)
    sizes: dict[str, int] = {}
    for v in common.values():
        for dim, size in zip(v.dims, v.data.shape, strict=True):
            sizes[dim] = max(size, sizes.get(dim, 0))
    wide = dict(common)
    for name, v in common.items():
        if name not in SHARED:
            blank = np.broadcast_to(v.data.dtype.type(0), tuple(sizes[d] for d in v.dims))
            wide[name] = Variable(blank, v.dims, v.unit, v.description)
    return Dataset("ensemble", wide, {"stations": names})


def forget_damaged(folder: EnsembleFolder, members: Sequence[int]) -> None:
    """Remove the records of members whose results are damaged, and raise RunError if there are any."""
    for member in members:
        folder.forget(member)
    if members:
        names = ", ".join(map(str, members[:10])) + ", ..." * (len(members) > 10)
        raise RunError(
            f"{folder.path}: the results of members {names} are damaged; the same command computes them again"
        )


def _write_members(
    file: netCDF4.Dataset, records: Sequence[Record], parameters: Mapping[str, tuple[Sequence[object], str]]
) -> None:
    numbers = file.createVariable("member", "i8", ("member",))
    numbers.long_name = "number of the member"
    numbers[:] = np.array([r.member for r in records], np.int64)
    for name in ABOUT:
        texts = file.createVariable(name, str, ("member",))
        texts.long_name = {
            "status": "done or failed",
            "reason": "reason of a failure",
            "version": "digest of the case and of the files that the run read",
        }[name]
        texts[:] = np.array([str(getattr(r, name)) for r in records], object)
    for name, (values, unit) in parameters.items():
        numeric = all(isinstance(v, int | float) for v in values)
        made = file.createVariable(name, "f8" if numeric else str, ("member",))
        made.units, made.long_name = unit, "parameter"
        made[:] = np.array(values, float) if numeric else np.array(values, object)
    for name in sorted({n for r in records for n in r.scalars}):
        label = f"scalar_{name}"
        made = file.createVariable(label, "f8", ("member",), fill_value=np.nan)
        made.long_name = name.replace("_", " ")
        made[:] = np.array([r.scalars.get(name, np.nan) for r in records])


def _declare(file: netCDF4.Dataset, shape: Dataset) -> None:
    """Create dimensions and variables of the results, one chunk for each member."""
    for dim, size in shape.sizes.items():
        file.createDimension(dim, size)
    for name, v in shape.variables.items():
        dims = v.dims if name in SHARED else ("member", *v.dims)
        if name in SHARED:
            made = file.createVariable(name, "f8", dims)
            made[:] = v.data
        else:
            chunks = tuple(max(1, n) for n in (1, *v.data.shape))
            made = file.createVariable(
                name, v.data.dtype, dims, zlib=True, complevel=1, shuffle=True, chunksizes=chunks, fill_value=np.nan
            )
        made.units, made.long_name = v.unit, v.description
    if shape.attrs["stations"] and "station" in file.dimensions:
        named = file.createVariable("station", str, ("station",))
        named[:] = np.array(shape.attrs["stations"], object)


# ---- statistics -------------------------------------------------------------------------------------------------------------


def write_statistics(
    folder: EnsembleFolder,
    statistics: Statistics,
    percentiles: Sequence[float],
    about: Dataset,
    exact: Mapping[str, np.ndarray],
) -> None:
    """Write ``statistics.nc``.

    Parameters
    ----------
    folder : EnsembleFolder
        Folder of the ensemble.
    statistics : Statistics
        Statistics of all members.
    percentiles : sequence of float
        Percentiles.
    about : Dataset
        Results of a member, for units and places.
    exact : mapping of str to ndarray of shape (percentile, place)
        Exact percentiles of stored members; those of other maps are taken from the histograms.
    """
    import netCDF4

    path = folder.path / STATISTICS
    with atomic_path(path) as temporary, translate_os_errors(path), netCDF4.Dataset(temporary, "w") as file:
        file.Conventions, file.members = "CF-1.10", len(statistics.members)
        if percentiles:
            file.createDimension("percentile", len(percentiles))
            file.createVariable("percentile", "f8", ("percentile",))[:] = np.asarray(percentiles, float)
        for name, v in about.variables.items():
            if name.endswith("place_location"):
                for dim, size in zip(v.dims, v.data.shape, strict=True):
                    if dim not in file.dimensions:
                        file.createDimension(dim, size)
                made = file.createVariable(name, "f8", v.dims)
                made.units, made.long_name = "m", v.description
                made[:] = v.data
        for name, found in statistics.maps.items():
            _write_map(file, name, found, about.variables[name], percentiles, exact.get(name), len(statistics.members))


def _write_map(
    file: netCDF4.Dataset,
    name: str,
    found: MapStatistics,
    about: Variable,
    percentiles: Sequence[float],
    exact: np.ndarray | None,
    members: int,
) -> None:
    total = found.moments.total()
    assert total is not None
    (place,) = about.dims

    def write(label: str, values: np.ndarray, unit: str, text: str, dims: tuple[str, ...] = (place,)) -> None:
        made = file.createVariable(f"{name}_{label}", values.dtype, dims, zlib=True, complevel=1)
        made.units, made.long_name = unit, f"{text} of {about.description or name}"
        made[:] = values

    known = total.count > 0
    write("count", total.count, "", "number of members with a value")
    write("mean", np.where(known, total.mean, np.nan), about.unit, "mean")
    write("std", total.deviation, about.unit, "standard deviation")
    write("min", np.where(known, found.least, np.nan), about.unit, "smallest value")
    write("max", np.where(known, found.most, np.nan), about.unit, "largest value")
    if percentiles and (exact is not None or found.sketch is not None):
        values = exact if exact is not None else found.sketch.percentiles(percentiles)  # type: ignore[union-attr]
        write("percentiles", values, about.unit, "percentiles", ("percentile", place))
    if found.levels:
        level = f"{name}_level"
        file.createDimension(level, len(found.levels))
        made = file.createVariable(level, "f8", (level,))
        made.units, made[:] = about.unit, np.asarray(found.levels)
        write("exceedance", found.above / max(members, 1), "", "probability of exceedance", (level, place))


def exact_percentiles(path: Path, names: Sequence[str], percentiles: Sequence[float]) -> dict[str, np.ndarray]:
    """Return the percentiles (percentile, place) of maps in a store.

    A chunk of the store holds all places of a member, so that as many places as memory allows are read at once.
    """
    import netCDF4

    found: dict[str, np.ndarray] = {}
    with netCDF4.Dataset(path) as file:
        file.set_auto_mask(False)
        for name in names if percentiles else ():
            v = file[name]
            members, places = v.shape
            made, step = np.full((len(percentiles), places), np.nan), max(1, READ_VALUES // max(1, members))
            for begin in range(0, places, step):
                made[:, begin : begin + step] = _percentiles(v[:, begin : begin + step], percentiles)
            found[name] = made
    return found


def _percentiles(values: np.ndarray, percentiles: Sequence[float]) -> np.ndarray:
    """Return the percentiles (percentile, place) of values (member, place), NaN at places without values."""
    made, step = np.full((len(percentiles), values.shape[1]), np.nan), max(1, COMPUTED_VALUES // max(1, len(values)))
    for begin in range(0, values.shape[1], step):
        block = values[:, begin : begin + step].astype(np.float64)
        known = np.isfinite(block).any(0)
        if known.any():
            made[:, begin : begin + step][:, known] = np.nanpercentile(block[:, known], percentiles, axis=0)
    return made


# ---- table ------------------------------------------------------------------------------------------------------------------


def write_table(
    folder: EnsembleFolder, records: Sequence[Record], parameters: Mapping[str, tuple[Sequence[object], str]]
) -> list[Path]:
    """Write parameters, status and scalar results of all members as CSV, and as Parquet if pyarrow is installed."""
    scalars = sorted({n for r in records for n in r.scalars})
    columns: dict[str, Sequence[object]] = {
        "member": [r.member for r in records],
        "status": [r.status for r in records],
    }
    columns |= {name: list(values) for name, (values, _) in parameters.items()}
    for name in scalars:
        columns[name if name not in columns else f"scalar_{name}"] = [
            r.scalars.get(name, float("nan")) for r in records
        ]
    columns["seconds"] = [round(r.seconds, 3) for r in records]
    columns["reason"] = [" ".join(r.reason.split()) for r in records]
    path = folder.path / TABLE
    with atomic_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(_cells(columns))
    written = [path]
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow
        import pyarrow.parquet

        with atomic_path(path.with_suffix(".parquet")) as temporary:
            pyarrow.parquet.write_table(pyarrow.table(columns), temporary)
        written.append(path.with_suffix(".parquet"))
    return written


def _cells(columns: Mapping[str, Sequence[object]]) -> Iterator[list[str]]:
    for row in zip(*columns.values(), strict=True):
        yield ["" if isinstance(v, float) and np.isnan(v) else repr(v) if isinstance(v, float) else str(v) for v in row]
