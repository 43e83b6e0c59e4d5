"""CMTSOLUTION: centroid moment tensors as text, thirteen lines a source (Global CMT: Ekstroem et al. 2012)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, geographic_tensor, needed, voigt
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Bell

DYNE_CM = 1e-7  # N m
KEYS = ("time shift", "half duration", "latitude", "longitude", "depth", "Mrr", "Mtt", "Mpp", "Mrt", "Mrp", "Mtp")
LINES = 2 + len(KEYS)
LARGEST = 1e35  # of a moment [dyne cm], far beyond any earthquake
RANGES = {
    "time shift": (-1e9, 1e9), "half duration": (0.0, 1e6), "latitude": (-90.0, 90.0), "longitude": (-360.0, 360.0), "depth": (0.0, 7000.0),
    **dict.fromkeys(KEYS[5:], (-LARGEST, LARGEST)),
}  # fmt: skip
GAUSSIAN = 1.628  # half duration over the width of the Gaussian that has about the spectrum of that triangle
DELAY = 1.5  # half durations from onset to centroid
SHORTEST = 1e-3  # half duration [s]: 0 means a point in time


def read(path: Path, setting: Any, projection: Projection | None, warned: Problems | None = None) -> list[PointSource]:
    return read_cmt(path, projection)


def read_cmt(path: Path, projection: Projection | None) -> list[PointSource]:
    """One record a source; InputError with file and line.

    The moment rate is a Gaussian of width half duration / 1.628, centred 1.5 half durations after the run's start plus
    the file's time shift: so much later than the file's origin time everything happens.
    """
    projection = needed(projection, str(path))
    try:
        listed = list(enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1))
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    lines = [(k, line) for k, line in listed if line.strip()]
    problems, records = Problems(), []
    if not lines or len(lines) % LINES:
        problems.error(_first_amiss(path, lines), f"has {len(lines)} lines with text", f"{LINES} a source")
    else:
        for first in range(0, len(lines), LINES):
            values = _values(path, lines[first + 2 : first + LINES], problems)
            if values:
                records.append(_source(path, values, projection, first // LINES + 1))
    problems.raise_errors()
    return records


def _first_amiss(path: Path, lines: list[tuple[int, str]]) -> str:
    """File and line where the keys cease to be those of the format."""
    for place, (number, line) in enumerate(lines):
        row = place % LINES
        if row >= 2 and line.partition(":")[0].strip().lower() != KEYS[row - 2].lower():
            return f"{path}:{number}, where '{KEYS[row - 2]}:' should stand"
    return f"{path}:{lines[-1][0] if lines else 1}"


def _values(path: Path, lines: list[tuple[int, str]], problems: Problems) -> dict[str, float]:
    found: dict[str, float] = {}
    for (number, line), key in zip(lines, KEYS, strict=True):
        name, colon, value = line.partition(":")
        if not colon or name.strip().lower() != key.lower():
            problems.error(f"{path}:{number}", f"'{line.strip()}'", f"{key}: number")
            continue
        try:
            found[key] = float(value.split()[0].lower().replace("d", "e"))
        except (ValueError, IndexError):
            problems.error(f"{path}:{number}", f"'{value.strip()}' is no number", f"{key}: number")
            continue
        low, high = RANGES.get(key, (-np.inf, np.inf))
        if not (np.isfinite(found[key]) and low <= found[key] <= high):
            allowed = f"{low:g} to {high:g}" if key in RANGES else "a finite number"
            problems.error(f"{path}:{number}", f"{key} is {found.pop(key):g}", allowed)
    return found if len(found) == len(KEYS) else {}


def _source(path: Path, v: dict[str, float], projection: Projection, number: int) -> PointSource:
    """r is up, t south, p east."""
    ned = DYNE_CM * np.array([
        [v["Mtt"], -v["Mtp"], v["Mrt"]],
        [-v["Mtp"], v["Mpp"], -v["Mrp"]],
        [v["Mrt"], -v["Mrp"], v["Mrr"]],
    ])  # fmt: skip
    x, y = projection.to_local(v["longitude"], v["latitude"])[0]
    half = max(v["half duration"], SHORTEST)
    return PointSource(
        np.array([x, y, -1e3 * v["depth"]]),
        Bell(half / GAUSSIAN, DELAY * half),
        moment=voigt(geographic_tensor(ned, projection.north(v["longitude"], v["latitude"]))),
        onset=v["time shift"],
        name=f"{path.name} source {number}",
    )
