"""Table of estimated seismogram errors: one row per receiver, relative errors per group such as velocity, then per quantity."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.observe.error_estimates.seismogram_errors import KIND, OF
from faultwave.observe.result import Result
from faultwave.output.atomic import atomic_text
from faultwave.output.writers import Writer


def _write(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
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


RESULTS = [Writer((KIND,), _write)]
