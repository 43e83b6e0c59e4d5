"""Table of radar cross sections: frequency [Hz], theta and phi [degrees], cross section [m^2]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultwave.observe.result import Result
from faultwave.output.atomic import atomic_text
from faultwave.output.writers import Writer


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    path = folder / f"{prefix}-far-field.csv"
    columns = results[0].data.variables
    with atomic_text(path) as file:
        file.write(",".join(columns) + "\n")
        rows = zip(*(v.data for v in columns.values()), strict=True)
        file.writelines(",".join(f"{v:.9e}" for v in row) + "\n" for row in rows)
    return [path]


RESULTS = [Writer(("far_field",), _write)]
