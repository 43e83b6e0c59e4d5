"""Tables in CSV files: energies, error norms, estimated errors, far fields and resonances, and a reader of any table."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.dataset import Dataset, Result, energies_from_arrays
from faultwave.observe.error_estimates import KIND, OF
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Writer


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Return the columns of a CSV file of numbers by name; the dictionary is empty if the file has no rows.

    Raises
    ------
    InputError
        If the file cannot be read, or a row does not hold one number for each name of the header.
    """
    try:
        with path.open(newline="", encoding="utf-8", errors="replace") as file:
            header, *rows = list(csv.reader(file)) or [[]]
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except csv.Error as error:
        raise InputError(Problem(str(path), f"is not a table of numbers: {error}")) from None
    if not rows:
        return {}
    if len(set(header)) < len(header):
        double = next(name for name in header if header.count(name) > 1)
        raise InputError(Problem(f"{path}:1", f"contains the column '{double}' twice", "names that differ"))
    numbers = np.zeros((len(rows), len(header)))
    for i, row in enumerate(rows):
        found = [_number(word) for word in row]
        if len(found) != len(header) or None in found:
            raise InputError(Problem(f"{path}:{i + 2}", f"is not a row of {len(header)} numbers"))
        numbers[i] = found
    return dict(zip(header, numbers.T.copy(), strict=True))


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def check_drawable(path: Path, columns: dict[str, np.ndarray], *needed: str, infinite: tuple[str, ...] = ()) -> None:
    """Raise InputError if a table lacks a required column, or a required column contains a number that is not finite.

    Parameters
    ----------
    path : Path
        Path of the table, for messages.
    columns : dict of str to ndarray of shape (n,)
        Columns of the table.
    needed : str
        Names of the required columns.
    infinite : tuple of str
        Required columns that may contain infinite numbers.

    Raises
    ------
    InputError
        If a column is missing or holds a number that is not allowed.
    """
    missing = [name for name in needed if name not in columns]
    if missing:
        raise InputError(Problem(str(path), f"has no column {', '.join(missing)}", ", ".join(needed)))
    for name in needed:
        bad = np.isnan(columns[name]) if name in infinite else ~np.isfinite(columns[name])
        if bad.any():
            raise InputError(Problem(f"{path}:{int(np.argmax(bad)) + 2}", f"{name} is not finite", "finite numbers"))


def write_energies(path: str | Path, energies: Dataset) -> Path:
    """Write the wide table ``time,name,...`` in SI units with 17 significant digits; values not computed are empty fields."""
    path = Path(path)
    names = [name for name in energies.variables if name != "time"]
    with atomic_text(path) as file:
        file.write(",".join(["time", *names]) + "\n")
        for i, time in enumerate(energies["time"]):
            row = [float(energies[name][i]) for name in names]
            file.write(",".join([f"{time:.16e}", *("" if np.isnan(v) else f"{v:.16e}" for v in row)]) + "\n")
    return path


def read_energies(path: str | Path, simulation: int = 0) -> Dataset:
    """Read a wide table or the long form ``time,variable,[simulation_index,]measurement``.

    Names repeated at one time (SeisSol's plastic_moment) count once; values missing at a time are NaN; of fused simulations the one with
    index ``simulation`` is read. Raises InputError with the line of the first mistake.
    """
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            table = _table(path, csv.DictReader(file), simulation)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from error
    except csv.Error as error:  # an unterminated quoted field
        raise InputError(Problem(str(path), f"is not a table of energies: {error}")) from None
    times = sorted(table)
    names = list(dict.fromkeys(name for time in times for name in table[time]))
    columns = {name: np.array([table[time].get(name, np.nan) for time in times]) for name in names}
    return energies_from_arrays(np.array(times), columns)


def _table(path: str | Path, rows: csv.DictReader[str], simulation: int) -> dict[float, dict[str, float]]:
    if rows.fieldnames is None or "time" not in rows.fieldnames:
        raise InputError(Problem(f"{path}:1", "has no column 'time': not a table of energies"))
    table: dict[float, dict[str, float]] = {}
    for row in rows:
        try:
            time = float(row["time"])
            if not math.isfinite(time):
                raise ValueError(f"time {time}")
            values = table.setdefault(time, {})
            if "variable" not in row:
                values |= {k: float(v) for k, v in row.items() if k != "time" and v}
            elif int(row.get("simulation_index") or 0) == simulation:
                values[row["variable"]] = float(row["measurement"])
        except (TypeError, ValueError, KeyError) as error:
            raise InputError(Problem(f"{path}:{rows.line_num}", f"is not a row of energies: {error}")) from error
    return table


def _write_energy_tables(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    return [write_energies(folder / f"{prefix}-energy.csv", r.data) for r in results]


def _write_flux(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    """Write one table per surface, with the name of the surface and, if that is not unique, a number."""
    files: list[Path] = []
    for result in results:
        name = re.sub(r"[^\w.-]+", "-", result.name)
        names = itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2)))
        paths = (folder / f"{prefix}-flux-{n}.csv" for n in names)
        files.append(write_energies(next(path for path in paths if path not in files), result.data))
    return files


ENERGY_WRITERS = [Writer(("energies",), _write_energy_tables, ("native",)), Writer(("flux",), _write_flux)]


def _error_norm_writer(numbered: bool) -> Callable[[Sequence[Result], Path, str], list[Path]]:
    """Return the write function; with ``numbered``, quantities are identified by number instead of name."""

    def write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
        path, data = folder / f"{prefix}-analysis.csv", results[0].data
        names = [str(int(i)) for i in data["number"]] if numbered else data.attrs["quantities"]
        with atomic_text(path) as file:
            file.write("variable,norm,error\n")
            for i, variable in enumerate(names):
                file.writelines(f"{variable},{n},{data[n][i]:.16e}\n" for n in data.variables if n != "number")
        return [path]

    return write


ERROR_NORM_WRITERS = [
    Writer(("error_norms",), _error_norm_writer(False), ("native",)),
    Writer(("error_norms",), _error_norm_writer(True), ("seissol",)),
]


def _write_errors(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    path, data = folder / f"{prefix}-errors.csv", results[0].data
    count = len(data["location"])
    codes = [data.attrs.get(name, [""] * count) for name in ("networks", "stations")]
    totals = [name for name in data.variables if name.startswith(OF)]
    numbers = np.column_stack([*(data[name] for name in totals), data["relative_error"]])
    with atomic_text(path) as file:
        table = csv.writer(file, lineterminator="\n")
        names = [*(name.removeprefix(OF) for name in totals), *data.quantities]
        table.writerow(["receiver", "network", "station", "x", "y", "z", *names])
        for i, place in enumerate(data["location"]):
            where = [f"{x:.10g}" for x in place]
            table.writerow([i + 1, codes[0][i], codes[1][i], *where, *(f"{e:.4e}" for e in numbers[i])])
    return [path]


ERROR_WRITERS = [Writer((KIND,), _write_errors)]


def _write_far_fields(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    path = folder / f"{prefix}-far-field.csv"
    columns = results[0].data.variables
    with atomic_text(path) as file:
        file.write(",".join(columns) + "\n")
        rows = zip(*(v.data for v in columns.values()), strict=True)
        file.writelines(",".join(f"{v:.9e}" for v in row) + "\n" for row in rows)
    return [path]


FAR_FIELD_WRITERS = [Writer(("far_field",), _write_far_fields)]


def _write_resonances(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    path = folder / f"{prefix}-resonances.csv"
    columns = results[0].data.variables
    rows = zip(*(v.data for v in columns.values()), strict=True)
    with atomic_text(path) as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join([f"{row[0]:.9e}", *(f"{v:.6e}" for v in row[1:])]) + "\n" for row in rows)
    return [path]


RESONANCE_WRITERS = [Writer(("resonances",), _write_resonances)]

RESULTS = [*ENERGY_WRITERS, *ERROR_NORM_WRITERS, *ERROR_WRITERS, *FAR_FIELD_WRITERS, *RESONANCE_WRITERS]
