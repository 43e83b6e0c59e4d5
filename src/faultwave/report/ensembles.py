"""Self-contained HTML report of an ensemble: members, distributions, rank correlations, sensitivities, maps and seismograms."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, describe_bad_values
from faultwave.report.blocks import Block, Browser, Figure, Plotted, Section, Table, Text, numbers
from faultwave.report.figures import axis, bar, length_unit, scale
from faultwave.report.page import render, write

STORE, STATISTICS = "ensemble.nc", "statistics.nc"
SCALARS = {
    "moment_magnitude": "", "seismic_moment": "N m", "ruptured_area": "m^2", "mean_slip": "m", "stress_drop": "Pa",
    "rupture_speed": "m/s", "largest_slip_rate": "m/s", "duration": "s", "peak_ground_velocity": "m/s",
}  # fmt: skip
"""Scalar results that are shown, in this order, and their units."""
SHOWN_UNITS = {"Pa": ("MPa", 1e-6), "m^2": ("km^2", 1e-6), "N m": ("10^18 N m", 1e-18)}
"""Unit in which values are shown and the factor to it, by unit of the store."""
QUANTILES = (0.0, 16.0, 50.0, 84.0, 100.0)
"""Percentiles of the table of the summary."""
LABELS = {
    "mean": "mean",
    "std": "standard deviation",
    "min": "smallest",
    "max": "largest",
    "count": "members with a value",
}
MAP_PIXELS = (800.0, 300.0)
"""Width and height of a map [pixels]."""
LISTED = 200
"""Largest number of members in a table."""
BYTES = 6_000_000
"""Largest size of the seismograms in a report [bytes]."""
ENOUGH = 256
"""Smallest number of members from which Sobol indices are estimated; with 32 their standard deviation is 0.35."""
DEPENDENT = 0.25
"""Rank correlation of two parameters from which their indices have no meaning; by chance, 256 members have 0.06."""
FEW = 10
"""Number of different values below which a parameter has no index."""


@dataclass(frozen=True)
class StoredEnsemble:
    """Contents of an ensemble that a report shows.

    Attributes
    ----------
    folder : Path
        Folder.
    title : str
        Title of the study.
    members : ndarray of shape (n,)
        Numbers of the members.
    status, reasons : ndarray of shape (n,)
        Status, and reason of a failure.
    parameters : dict of str to (ndarray of shape (n,), str)
        Values of each variable and its unit.
    scalars : dict of str to ndarray of shape (n,)
        Scalar results, NaN where unknown.
    """

    folder: Path
    title: str
    members: np.ndarray
    status: np.ndarray
    reasons: np.ndarray
    parameters: dict[str, tuple[np.ndarray, str]]
    scalars: dict[str, np.ndarray]

    @property
    def numeric(self) -> dict[str, np.ndarray]:
        """Parameters that are numbers and differ between members."""
        return {n: v for n, (v, _) in self.parameters.items() if v.dtype.kind == "f" and np.ptp(v) > 0}

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Values of all parameters and scalar results."""
        return {n: v for n, (v, _) in self.parameters.items()} | self.scalars

    def label(self, name: str) -> str:
        """Return the name of a parameter or result with its unit."""
        unit = self.parameters[name][1] if name in self.parameters else _shown_unit(SCALARS[name])
        return name.replace("_", " ") + (f" [{unit}]" if unit else "")


def is_ensemble(folder: str | Path) -> bool:
    """Return True if a folder holds the results of an ensemble."""
    return (Path(folder) / STORE).is_file()


def write_ensemble_report(folder: str | Path, out: str | Path | None = None) -> Path:
    """Write report.html into the folder of an ensemble, or to ``out``, and return its path.

    Raises
    ------
    InputError
        If the folder holds no readable results of an ensemble.
    """
    where = Path(folder)
    with describe_bad_values(str(where), "cannot be shown"):
        found = _load(where)
        sections = [s for s in (_summary(found), _distributions(found), _sensitivity(found)) if s.blocks]
        members = Section("Members", [*_seismograms(where).blocks, _member_table(found)])
        sections += [s for s in (_maps(where), members) if s.blocks]
    title = found.title or where.resolve().name
    return write(Path(out) if out is not None else where / "report.html", render(title, str(where), sections))


def _open(path: Path) -> Any:
    import netCDF4

    try:
        file = netCDF4.Dataset(path)
    except (OSError, RuntimeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", advice="Run the ensemble again.")) from error
    file.set_auto_mask(False)
    return file


def _load(folder: Path) -> StoredEnsemble:
    with _open(folder / STORE) as file:
        texts = {n: np.array([str(v) for v in file[n][:]]) for n in ("status", "reason")}
        parameters, scalars = {}, {}
        for name, v in file.variables.items():
            if v.dimensions != ("member",):
                continue
            if getattr(v, "long_name", "") == "parameter":
                values = v[:]
                numeric = values.dtype.kind == "f"
                parameters[name] = (values if numeric else np.array([str(x) for x in values]), str(v.units))
            elif name.startswith("scalar_"):
                scalars[name.removeprefix("scalar_")] = v[:]
        scalars = {n: scalars[n] for n in SCALARS if n in scalars and np.isfinite(scalars[n]).any()}
        shown = {n: (_in_shown_unit(v, unit), _shown_unit(unit)) for n, (v, unit) in parameters.items()}
        results = {n: _in_shown_unit(v, SCALARS[n]) for n, v in scalars.items()}
        return StoredEnsemble(
            folder, str(file.title), file["member"][:], texts["status"], texts["reason"], shown, results
        )


def _shown_unit(unit: str) -> str:
    return SHOWN_UNITS.get(unit, (unit, 1.0))[0]


def _in_shown_unit(values: np.ndarray, unit: str) -> np.ndarray:
    """Return numbers in the unit in which they are shown, and texts unchanged."""
    return values * SHOWN_UNITS[unit][1] if unit in SHOWN_UNITS and values.dtype.kind == "f" else values


def _summary(found: StoredEnsemble) -> Section:
    failed = found.status != "done"
    text = f"{(~failed).sum():,} of {len(failed):,} members are done, {failed.sum():,} failed."
    blocks: list[Block] = [Text(text)]
    if failed.any():
        reasons = [(str(m), str(r)) for m, r in zip(found.members[failed], found.reasons[failed], strict=True)]
        blocks.append(Table("Failed members", ("member", "reason"), reasons[:LISTED]))
    rows = list[tuple[str, ...]]()
    for name, column in (found.numeric | found.scalars).items():
        known = column[np.isfinite(column)]
        rows.append((found.label(name), str(len(known)), *(f"{x:.4g}" for x in np.percentile(known, QUANTILES))))
    if rows:
        header = ("quantity", "members", "smallest", *(f"{p:g} %" for p in QUANTILES[1:-1]), "largest")
        blocks.append(Table("Parameters and results: percentiles of the members with a value", header, rows))
    return Section("Summary", blocks)


def _member_table(found: StoredEnsemble) -> Table:
    """Return a table of the parameters and results of the first members."""
    columns, count = found.columns, len(found.members)
    rows = [(str(m), *(_cell(c[i]) for c in columns.values())) for i, m in enumerate(found.members[:LISTED])]
    title = (
        "Parameters and results"
        if count <= LISTED
        else f"The first {LISTED} of {count:,} members; all are in members.csv"
    )
    return Table(title, ("member", *map(found.label, columns)), rows)


def _cell(value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if np.isfinite(value) else "-"


def _distributions(found: StoredEnsemble) -> Section:
    values = found.numeric | found.scalars
    blocks = []
    for name, column in values.items():
        known = column[np.isfinite(column)]
        low, middle, high = np.percentile(known, [16, 50, 84])
        text = f"{len(known)} members; 16, 50 and 84 % are below {low:.4g}, {middle:.4g} and {high:.4g}."
        data = {"type": "histogram", "x": numbers(known)}
        layout = {"xaxis": axis(found.label(name)), "yaxis": axis("members"), "bargap": 0.05}
        blocks.append(Figure(found.label(name), text, [data], layout, height=260))
    return Section("Distributions", blocks)


def rank_correlations(rows: Mapping[str, np.ndarray], columns: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return Spearman's rank correlations (row, column) of values of the same members, NaN if unknown."""
    from scipy.stats import rankdata

    made = np.full((len(rows), len(columns)), np.nan)
    for i, a in enumerate(rows.values()):
        for j, b in enumerate(columns.values()):
            known = np.isfinite(a) & np.isfinite(b)
            if known.sum() > 2 and np.ptp(a[known]) > 0 and np.ptp(b[known]) > 0:
                made[i, j] = np.corrcoef(rankdata(a[known]), rankdata(b[known]))[0, 1]
    return made


def _sensitivity(found: StoredEnsemble) -> Section:
    if not found.numeric or not found.scalars:
        return Section("Sensitivity", [])
    matrix = rank_correlations(found.numeric, found.scalars)
    names, results = list(map(found.label, found.numeric)), list(map(found.label, found.scalars))
    data: Plotted = {
        "type": "heatmap", "x": results, "y": names, "z": numbers(matrix), "zmin": -1.0, "zmax": 1.0,
        "colorscale": scale("RdBu_r"), "colorbar": bar("rank correlation"),
    }  # fmt: skip
    text = "Spearman's rank correlation of each parameter with each result: 1 if the result grows with the parameter."
    layout = {"yaxis": {"automargin": True}, "xaxis": {"automargin": True}}
    blocks: list[Block] = [Figure("Rank correlations", text, [data], layout, height=180 + 40 * len(names))]
    rows = [(n, *(f"{x:.2f}" for x in line)) for n, line in zip(names, matrix, strict=True)]
    blocks.append(Table("Rank correlations", ("parameter", *results), rows))
    indices = first_order_indices(found.numeric, found.scalars)
    if indices is not None:
        rows = [(n, *(f"{x:.2f}" for x in line)) for n, line in zip(names, indices, strict=True)]
        title = "First-order Sobol indices (RBD-FAST), which assume independent parameters"
        blocks.append(Table(title, ("parameter", *results), rows))
    return Section("Sensitivity", blocks)


def first_order_indices(parameters: Mapping[str, np.ndarray], results: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return the first-order Sobol indices (parameter, result) that RBD-FAST estimates from any sample (Plischke 2010).

    None without SALib, and for fewer than ``ENOUGH`` members. NaN for correlated parameters and for those with few values.
    """
    if importlib.util.find_spec("SALib") is None or not parameters:
        return None
    from SALib.analyze import rbd_fast

    x = np.stack(list(parameters.values()), 1)
    bounds = [[float(c.min()), float(c.max())] for c in x.T]
    problem = {"num_vars": x.shape[1], "names": list(parameters), "bounds": bounds}
    made = np.full((x.shape[1], len(results)), np.nan)
    for column, y in enumerate(results.values()):
        known = np.isfinite(y)
        if known.sum() >= ENOUGH and np.ptp(y[known]) > 0:
            made[:, column] = rbd_fast.analyze(problem, x[known], y[known], num_resamples=2, seed=0)["S1"]
    among = np.abs(rank_correlations(parameters, parameters)) - np.eye(len(parameters))
    made[(np.nan_to_num(among) > DEPENDENT).any(1)] = np.nan
    made[[len(np.unique(c)) < FEW for c in parameters.values()]] = np.nan
    return made if np.isfinite(made).any() else None


# ---- maps -------------------------------------------------------------------------------------------------------------------


def _maps(folder: Path) -> Section:
    if not (folder / STATISTICS).is_file():
        return Section("Maps", [])
    with _open(folder / STATISTICS) as file:
        names = [n.removesuffix("_mean") for n in file.variables if n.endswith("_mean")]
        blocks = [_map(file, name) for name in names]
    return Section("Maps", blocks)


def _map(file: Any, name: str) -> Figure:
    """Return the figure of one map with a menu of its statistics."""
    mean = file[f"{name}_mean"]
    (place,) = mean.dimensions
    location = file[f"{place}_location"][:]
    factor, unit = length_unit(location)
    along, up = _flat(location * factor, place == "fault_place")
    shown = dict(_layers(file, name))
    data: list[Plotted] = []
    for title, (values, label) in shown.items():
        marker = {
            "color": numbers(values),
            "colorscale": scale("viridis"),
            "colorbar": bar(label),
            "symbol": "square",
            "size": _marker_size(along, up),
        }
        data.append(
            {"type": "scattergl", "mode": "markers", "name": title, "x": numbers(along), "y": numbers(up), "marker": marker,
             "visible": not data}
        )  # fmt: skip
    buttons = [
        {"label": title, "method": "restyle", "args": ["visible", [i == k for i in range(len(data))]]}
        for k, title in enumerate(shown)
    ]
    layout: Plotted = {
        "xaxis": axis(f"along strike [{unit}]" if place == "fault_place" else f"x [{unit}]", constrain="domain"),
        "yaxis": axis(f"z [{unit}]" if place == "fault_place" else f"y [{unit}]", scaleanchor="x", constrain="domain"),
        "updatemenus": [{"buttons": buttons, "x": 0.0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}],
        "showlegend": False,
    }
    text = f"{str(mean.long_name).removeprefix('mean of ')}: a menu selects the statistic."
    return Figure(name.replace("_", " "), text, data, layout, height=420)


def _marker_size(x: np.ndarray, y: np.ndarray) -> float:
    """Return the size [pixels] of markers that cover a map without gaps."""
    width, height = max(float(np.ptp(x)), 1e-30), max(float(np.ptp(y)), 1e-30)
    pixels = min(MAP_PIXELS[0] / width, MAP_PIXELS[1] / height)
    return float(np.clip(1.2 * pixels * np.sqrt(width * height / len(x)), 3.0, 40.0))


def _flat(location: np.ndarray, fault: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the two coordinates of a map: along strike and z of a fault, x and y of the ground."""
    if not fault:
        return location[:, 0], location[:, 1]
    centred = location[:, :2] - location[:, :2].mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    strike = axes[0] * (1.0 if axes[0][np.argmax(np.abs(axes[0]))] > 0 else -1.0)
    return location[:, :2] @ strike, location[:, 2]


def _layers(file: Any, name: str) -> Iterator[tuple[str, tuple[np.ndarray, str]]]:
    """Yield the statistics of a map with their titles and labels."""
    unit = str(file[f"{name}_mean"].units)
    label = f"{name.replace('_', ' ')}{f' [{unit}]' if unit else ''}"
    for kind, title in LABELS.items():
        yield title, (file[f"{name}_{kind}"][:], "members" if kind == "count" else label)
    if f"{name}_percentiles" in file.variables:
        for percentile, values in zip(file["percentile"][:], file[f"{name}_percentiles"][:], strict=True):
            yield f"percentile {percentile:g}", (values, label)
    if f"{name}_exceedance" in file.variables:
        for level, values in zip(file[f"{name}_level"][:], file[f"{name}_exceedance"][:], strict=True):
            yield f"probability of more than {level:g} {unit}".strip(), (values, "probability")


def _seismograms(folder: Path) -> Section:
    """Return a browser of the seismograms of members and stations."""
    with _open(folder / STORE) as file:
        if "station" not in file.dimensions:
            return Section("Members", [])
        names = [n for n, v in file.variables.items() if v.dimensions == ("member", "station", "time")]
        members, time = file["member"][:], file["time"][:]
        stations = [str(s) for s in file["station"][:]] if "station" in file.variables else []
        stations = stations or [f"station {n + 1}" for n in range(len(file.dimensions["station"]))]
        done = [i for i, status in enumerate(file["status"][:]) if status == "done"]
        count = int(max(1, min(len(done), BYTES // max(1, 4 * len(time) * (1 + len(names)) * len(stations)))))
        chosen = [done[i] for i in np.unique(np.linspace(0, len(done) - 1, count).round().astype(int))] if done else []
        labels, series = list[str](), list[Plotted]()
        for row in chosen:
            values = {n: file[n][row] for n in names}
            labels += [f"member {members[row]}, {station}" for station in stations]
            series += _station_series(values, time, len(stations))
        units = {n: str(file[n].units) for n in names}
    if not series:
        return Section("Members", [])
    note = f"Seismograms of {len(chosen)} of {len(done)} members. Choose a member and station, quantities and a filter."
    return Section("Members", [Browser("Seismograms", note, labels, units, [{"name": "ensemble", "stations": series}])])


def _station_series(values: Mapping[str, np.ndarray], time: np.ndarray, stations: int) -> Sequence[Plotted]:
    """Return the seismograms of a member at each station, without the filling at their ends."""
    made = []
    for station in range(stations):
        known = np.isfinite(next(iter(values.values()))[station])
        columns = {n: numbers(v[station][known]) for n, v in values.items()}
        made.append({"time": numbers(time[known]), "values": columns})
    return made
