"""Results of a run read from its folder: receiver traces, energies and snapshots, and their conversion to other formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from faultwave.base.columns import NamedDict
from faultwave.base.errors import InputError, Problem, Problems, describe_bad_values, suggest
from faultwave.base.types import Record
from faultwave.base.wording import option
from faultwave.observe.dataset import CODES, QUANTITIES, Dataset, Variable
from faultwave.observe.error_estimates import motion_errors
from faultwave.output.folder import create_folder, find_prefix
from faultwave.output.formats import Conversion, converters
from faultwave.output.formats.csv_tables import read_energies
from faultwave.output.formats.image import ImageReader, is_image
from faultwave.output.formats.receivers_hdf5 import read_receivers
from faultwave.output.formats.seissol_dat import find_files, read_dat
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.trace import Kind, Results, Trace

KINDS: tuple[Kind, ...] = ("receiver", "faultreceiver")
_GROUPS: dict[Kind, str] = {"receiver": "receivers", "faultreceiver": "fault_receivers"}


def load_results(folder: str | Path, prefix: str | None = None) -> Results:
    """Read the receivers and energies of a run.

    The receivers come from PREFIX-receivers.h5, or else from SeisSol's .dat files; the energies from PREFIX-energy.csv in any layout.

    Parameters
    ----------
    folder : str or Path
        Run folder.
    prefix : str, optional
        Prefix of the run's files; without it the folder must hold a single run.

    Returns
    -------
    Results
        Receivers and energies.

    Raises
    ------
    InputError
        If the folder has no results or a file is damaged.
    """
    folder = Path(folder)
    prefix = find_prefix(folder) if prefix is None else prefix
    native = folder / f"{prefix}-receivers.h5"
    traces = _native(native) if native.exists() else {kind: _ascii(folder, prefix, kind) for kind in KINDS}
    energy = folder / f"{prefix}-energy.csv"
    traces = NamedDict("kind of trace", {kind: NamedDict(kind, found) for kind, found in traces.items()})
    return Results(folder, prefix, traces, read_energies(energy) if energy.exists() else None)


def _native(path: Path) -> dict[Kind, dict[int, Trace]]:
    datasets = read_receivers(path)
    return {kind: _from_dataset(kind, datasets[_GROUPS[kind]]) if _GROUPS[kind] in datasets else {} for kind in KINDS}


def _from_dataset(kind: Kind, dataset: Dataset) -> dict[int, Trace]:
    vectors = [name for name in ("normal", "strike", "dip", "initial_traction") if name in dataset]
    degrees = [dataset[name] for name in ("longitude", "latitude", "y_azimuth") if name in dataset]
    units = dict(zip(dataset.quantities, dataset.attrs.get("units", []), strict=False))
    stations, networks = (dataset.attrs.get(name, [""] * len(dataset["location"])) for name in CODES)
    origin = _date(dataset.attrs.get("origin_time"))
    errors = motion_errors(dataset)
    event = {key: value for key, value in dataset.attrs.items() if key.startswith("event_")}
    traces = {}
    for i, location in enumerate(dataset["location"]):
        time = dataset["time"] if dataset["time"].ndim == 1 else dataset["time"][:, i]
        keep = np.isfinite(time)  # padding of points with fewer samples
        columns = NamedDict(
            "quantity", {name: dataset["values"][keep, i, q] for q, name in enumerate(dataset.quantities)}
        )
        place = (float(degrees[0][i]), float(degrees[1][i]), float(degrees[2][i])) if len(degrees) == 3 else None
        directions = {n: dataset[n][i] for n in vectors}
        error = None if errors is None else float(errors[i])
        traces[i + 1] = Trace(
            kind,
            i + 1,
            time[keep],
            columns,
            location,
            directions,
            place,
            units,
            stations[i],
            networks[i],
            origin,
            error,
            event,
        )
    return traces


def _date(text: object) -> datetime | None:
    """Return the date of an ISO 8601 text, as UTC unless it states an offset, or None if it is not a valid date."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _ascii(folder: Path, prefix: str, kind: Kind) -> dict[int, Trace]:
    traces = {}
    for number, path in find_files(folder, kind, prefix).items():
        file = read_dat(path)
        columns = NamedDict("quantity", {name: values for name, values in file.columns.items() if name != "Time"})
        known = np.isfinite(file.initial_traction).all()
        vectors = {"initial_traction": file.initial_traction} if known else {}
        traces[number] = Trace(kind, number, file.columns["Time"], columns, file.location, vectors)
    return traces


load = load_results
"""Alias of ``load_results``, available as ``faultwave.load``."""


AXES = ("x", "y", "z")


def snapshot_kinds(folder: Path, prefix: str) -> list[str]:
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

    Returns
    -------
    Dataset
        Snapshots with their times and places.

    Raises
    ------
    InputError
        If there are no snapshots of this kind, or a field is unknown.
    """
    where = Path(folder)
    prefix = find_prefix(where) if prefix is None else prefix
    path = where / f"{prefix}-{kind}.vtkhdf"
    if not path.is_file():
        there = snapshot_kinds(where, prefix)
        what = f"the run '{prefix}' has no snapshots '{kind}'"
        raise InputError(Problem(str(where), what, ", ".join(there) or "none", suggest(kind, there)))
    return _grid_snapshots(path, fields) if is_image(path) else _mesh_snapshots(path, fields)


def _chosen_fields(path: Path, fields: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    fields = [fields] if isinstance(fields, str) else fields
    unknown = [name for name in fields or () if name not in there]
    if unknown:
        what = f"has no field {', '.join(map(repr, unknown))}"
        raise InputError(Problem(str(path), what, ", ".join(there), suggest(unknown[0], there)))
    return list(there if fields is None else fields)


def _snapshot_variable(name: str, values: np.ndarray, dims: tuple[str, ...]) -> Variable:
    return Variable(values, dims, *QUANTITIES.get(name, ("", name)))


def _snapshot_time(times: np.ndarray) -> Variable:
    return Variable(times, ("time",), "s", "time since the start of the simulation")


def _mesh_snapshots(path: Path, fields: Sequence[str] | None) -> Dataset:
    with VtkHdfReader(path) as file:
        names = _chosen_fields(path, fields, (*file.fields, *file.static))
        centres = file.points[file.cells].mean(1)
        found = {"time": _snapshot_time(file.times)}
        for axis, values in zip(AXES, centres.T, strict=True):
            found[axis] = Variable(values, ("cell",), "m", f"{axis} of the centre")
        found["points"] = Variable(file.points, ("point", "component"), "m", "corners of the cells")
        simple = file.nodes.shape == file.cells.shape
        dims = ("cell", "corner" if simple else "node")
        found["cells"] = Variable(file.nodes, dims, "", f"numbers of the {dims[1]}s among the points")
        for name in names:
            if name in file.static:
                found[name] = _snapshot_variable(name, file.field(name), ("cell",))
            else:
                rows = [file.at_nodes(name, step) for step in range(len(file.times))]
                values = np.stack(rows) if rows else np.zeros((0, len(file.cells)))
                found[name] = _snapshot_variable(name, values, ("time", *dims)[: values.ndim])
    return Dataset(path.stem, found)


def _grid_snapshots(path: Path, fields: Sequence[str] | None) -> Dataset:
    with ImageReader(path) as file:
        found = {"time": _snapshot_time(file.times)}
        for axis in AXES:
            found[axis] = Variable(getattr(file, axis), (axis,), "m", axis)
        for name in _chosen_fields(path, fields, file.fields):
            rows = [file.field(name, step) for step in range(len(file.times))]
            values = np.stack(rows) if rows else np.zeros((0, len(file.y), len(file.x)))
            found[name] = _snapshot_variable(name, values, ("time", *("z", "y", "x")[-values.ndim + 1 :]))
    return Dataset(path.stem, found)


def convert(
    folder: str | Path, kind: str, out: str | Path | None = None, *, prefix: str | None = None, **options: object
) -> list[Path]:
    """Convert the receivers or the sea floor of a run to another format and return the files written.

    Receivers are read from Faultwave's files or SeisSol's text files.

    Parameters
    ----------
    folder : str or Path
        Run folder.
    kind : str
        Output format. ``sac``, ``mseed``: velocities of the off-fault receivers; ``stationxml``: their locations; ``motions``: tables of
        their intensity measures; ``csv``: all quantities of all receivers; ``scec``: station files, and the contour file if the fault's
        snapshots exist; ``dtopo``: motion of the sea floor, for tsunami codes; ``srf``, ``nrf``,
        ``fsrm``, ``fsp``, ``param``: a finite source from the rupture; ``rupture-json``: its extent, for ShakeMap.
    out : str or Path, optional
        Folder of the files, by default the run folder.
    prefix : str, optional
        Prefix of the run's files.
    **options
        Options of the format: ``header`` and ``state`` of scec, ``spacing`` [m] of dtopo; ``spacing`` [m] and ``frequency`` [Hz] of finite
        sources, ``srf_version`` of srf.

    Returns
    -------
    list of Path
        Written files.

    Raises
    ------
    InputError
        If the format or an option is unknown, the folder has no receivers, or the format cannot represent the results.
    """
    known = converters()
    if kind not in known:
        raise InputError(
            Problem("convert", f"'{kind}' is not a known format", ", ".join(sorted(known)), suggest(kind, known))
        )
    _check_conversion_options(kind, options, {name: converter.options for name, converter in known.items()})
    results = load_results(folder, prefix)
    target = Path(out) if out is not None else results.folder
    create_folder(target)
    with describe_bad_values(str(results.folder), f"cannot be converted to {kind}"):
        return known[kind].write(Conversion(results, target, options))


def _check_conversion_options(kind: str, given: Record, known: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError for options that the format does not accept."""
    problems = Problems()
    for name in (name for name, value in given.items() if value is not None and name not in known[kind]):
        takers = [other for other, names in known.items() if name in names]
        what = f"has no effect for {kind}: it applies to {', '.join(takers)}" if takers else "does not exist"
        problems.error(option(name), what, ", ".join(map(option, known[kind])), suggest(name, known[kind]))
    problems.raise_errors()
