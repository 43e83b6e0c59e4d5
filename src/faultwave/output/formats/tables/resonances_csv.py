"""Table of resonances: frequency [Hz], quality factor, amplitude and fraction of the signal energy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from faultwave.observe.result import Result
from faultwave.output.atomic import atomic_text
from faultwave.output.writers import Writer


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    path = folder / f"{prefix}-resonances.csv"
    columns = results[0].data.variables
    rows = zip(*(v.data for v in columns.values()), strict=True)
    with atomic_text(path) as file:
        file.write(",".join(columns) + "\n")
        file.writelines(",".join([f"{row[0]:.9e}", *(f"{v:.6e}" for v in row[1:])]) + "\n" for row in rows)
    return [path]


RESULTS = [Writer(("resonances",), _write)]
