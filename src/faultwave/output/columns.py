"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem


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
        raise InputError(Problem(str(path), f"is no table of numbers: {error}")) from None
    if not rows:
        return {}
    if len(set(header)) < len(header):
        raise InputError(Problem(f"{path}:1", "names a column twice", "names that differ"))
    numbers = np.zeros((len(rows), len(header)))
    for i, row in enumerate(rows):
        found = [_number(word) for word in row]
        if len(found) != len(header) or None in found:
            raise InputError(Problem(f"{path}:{i + 2}", f"is no row of {len(header)} numbers"))
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


__all__ = ["check_drawable", "read_columns"]
