"""Energy tables: one row per time and one column per name (native), and every layout that SeisSol has used."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.dataset import Dataset, energies_from_arrays
from faultwave.observe.result import Result
from faultwave.output.atomic import atomic_text
from faultwave.output.writers import Writer


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
        raise InputError(Problem(str(path), f"is no table of energies: {error}")) from None
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
            raise InputError(Problem(f"{path}:{rows.line_num}", f"is no row of energies: {error}")) from error
    return table


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
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


RESULTS = [Writer(("energies",), _write, ("native",)), Writer(("flux",), _write_flux)]
