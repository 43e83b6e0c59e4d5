"""Files of a finished rupture: PREFIX-rupture.vtkhdf, PREFIX-rupture.json, PREFIX-moment-rate.csv and PREFIX-moment-spectrum.csv.

The first holds maps, the second source parameters and the units of the maps. Unknown numbers are NaN, null in JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.observe.dataset import Result, Variable
from faultwave.output.atomic import atomic_text
from faultwave.output.formats import Writer
from faultwave.output.formats.vtkhdf import VtkHdfWriter


def _write_maps(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    paths = []
    for result in results:
        data, path = result.data, folder / f"{prefix}-rupture.vtkhdf"
        fields = [n for n, v in data.variables.items() if v.dims == ("face",) and n != "fault-tag"]
        static = {"fault-tag": data["fault-tag"]}
        with VtkHdfWriter(path, data["points"], data["cells"], static, fields, np.float64) as file:
            file.append(data.attrs["time"], {name: data[name] for name in fields})
        paths.append(path)
    return paths


def _write_parameters(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    content: Settings = {}
    for result in results:
        variables = result.data.variables.items()
        if result.kind == "source_parameters":
            content |= {
                name: {"value": _number(v), "unit": v.unit, "description": v.description} for name, v in variables
            }
        else:
            reported = {n: {"unit": v.unit, "description": v.description} for n, v in variables if v.dims == ("face",)}
            content[f"fields of {prefix}-rupture.vtkhdf"] = reported
    path = folder / f"{prefix}-rupture.json"
    with atomic_text(path) as file:
        json.dump(content, file, indent=1)
        file.write("\n")
    return [path]


def _number(variable: Variable) -> float | None:
    value = float(variable.data)
    return value if np.isfinite(value) else None


def read_parameters(path: Path) -> dict[str, float]:
    """Return the source parameters of a PREFIX-rupture.json by name, NaN if unknown; raise InputError for other files."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        known = {name: entry["value"] for name, entry in content.items() if "value" in entry}
        return {name: float("nan") if value is None else float(value) for name, value in known.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(Problem(str(path), f"is not a file of source parameters: {error}")) from error


def _write_tables(results: Sequence[Result], folder: Path, prefix: str) -> list[Path]:
    paths = []
    for result in results:
        path = folder / f"{prefix}-{result.kind.replace('_', '-')}.csv"
        columns = result.data.variables
        with atomic_text(path) as file:
            file.write(",".join(f"{name} [{v.unit}]" for name, v in columns.items()) + "\n")
            rows = zip(*(v.data for v in columns.values()), strict=True)
            file.writelines(",".join(f"{value:.9e}" for value in row) + "\n" for row in rows)
        paths.append(path)
    return paths


RESULTS = [
    Writer(("rupture_map",), _write_maps),
    Writer(("rupture_map", "source_parameters"), _write_parameters),
    Writer(("moment_rate", "moment_spectrum"), _write_tables),
]
