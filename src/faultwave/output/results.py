"""Reader of the results of Faultwave and SeisSol runs: receiver traces and the energy table."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.columns import NamedDict
from faultwave.observe.dataset import CODES, Dataset
from faultwave.observe.error_estimates.seismogram_errors import motion_errors
from faultwave.output.folder import find_prefix
from faultwave.output.formats.receivers_hdf5 import read_receivers
from faultwave.output.formats.seissol_dat import find_files, read_dat
from faultwave.output.formats.tables.energies_csv import read_energies
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


def _date(text: Any) -> datetime | None:
    """Return the date of an ISO 8601 text, as UTC unless it states an offset, or None if it is not a valid date."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
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

__all__ = ["KINDS", "Results", "load", "load_results"]
