"""Tables of numbers in CSV files."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np


def read_columns(path: Path) -> dict[str, np.ndarray]:
    """Columns of a CSV file of numbers by name."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([float(row[name]) for row in rows]) for name in (rows[0] if rows else {})}


__all__ = ["read_columns"]
