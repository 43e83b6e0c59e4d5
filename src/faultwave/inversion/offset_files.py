"""Readers of static offsets: tables (CSV) of GNSS stations and of InSAR in the line of sight."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.projection import Projection
from faultwave.base.units import finite_number
from faultwave.inversion.settings import GnssSettings, InsarSettings

METRES = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
LOCAL, DEGREES = ("x", "y"), ("longitude", "latitude")
AXES = ("east", "north", "up")
SIGMAS = tuple(f"sigma_{axis}" for axis in AXES)
CORRELATIONS = ("correlation_en", "correlation_eu", "correlation_nu")
LOOK = tuple(f"look_{axis}" for axis in AXES)
LARGEST = 50.0
"""Largest plausible offset [m]."""
LARGEST_SIGMA = 0.5
"""Median standard deviation above which the unit of a file is doubtful [m]."""
SMALLEST_SIGMA = 1e-5
"""Median standard deviation below which the unit of a file is doubtful [m]."""
LENGTH = 0.01
"""Largest difference from 1 of the length of a look vector."""


@dataclass(frozen=True)
class Observed:
    """Offsets of one file, a row for each component.

    Attributes
    ----------
    path : Path
        File.
    names : tuple of str
        Name of each offset.
    lines : tuple of str
        Line of the file of each offset.
    place : ndarray (n, 2)
        Places x, y [m].
    direction : ndarray (n, 3)
        Unit vectors of the offsets along east, north and up.
    values : ndarray (n,)
        Offsets [m].
    covariance : ndarray (n, n)
        Covariance of their noise [m^2].
    """

    path: Path
    names: tuple[str, ...]
    lines: tuple[str, ...]
    place: np.ndarray
    direction: np.ndarray
    values: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True)
class _Row:
    """Entries of a line by column: numbers, None where an entry is empty, and the station."""

    where: str
    station: str
    numbers: dict[str, float | None]

    def several(self, names: Sequence[str]) -> np.ndarray:
        """Return the numbers of columns, NaN where an entry is empty."""
        found = [self.numbers.get(name) for name in names]
        return np.array([np.nan if x is None else x for x in found])


def _read(path: Path, required: Sequence[str], optional: Sequence[str], problems: Problems) -> Iterator[_Row]:
    """Yield the rows of a table; wrong columns and entries that are no numbers are added to ``problems``."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            reader.fieldnames = [name.strip() for name in reader.fieldnames or ()]
            if not _check_columns(path, reader.fieldnames, required, optional, problems):
                return
            for row in reader:
                where = f"{path}:{reader.line_num}"
                texts = {str(name): str(text or "").strip() for name, text in row.items()}
                if None in row:
                    problems.error(where, "has more entries than the header", "one entry for each column")
                    continue
                station = texts.pop("station", "")
                numbers = {name: finite_number(text) for name, text in texts.items()}
                wrong = [name for name, text in texts.items() if text and numbers[name] is None]
                for name in wrong:
                    problems.error(where, f"{name} is '{texts[name]}'", "a finite number")
                if not wrong:
                    yield _Row(where, station, numbers)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", "a CSV table")) from None


def _check_columns(
    path: Path, names: Sequence[str], required: Sequence[str], optional: Sequence[str], problems: Problems
) -> bool:
    place, known = f"{path}:1", (*required, *optional, *LOCAL, *DEGREES)
    before, allowed = len(problems.items), ", ".join((*required, *optional))
    for name in required:
        if name not in names:
            problems.error(place, f"column '{name}' is missing", allowed)
    for name in dict.fromkeys(names):
        if name not in known:
            unit = name.replace("[", "_").replace("]", "").rpartition("_")[2].strip()
            advice = "State the unit of all offsets by the setting unit." if unit in METRES else suggest(name, known)
            problems.error(place, f"'{name}' is not a column", ", ".join(known), advice)
        if names.count(name) > 1:
            problems.error(place, f"column '{name}' occurs {names.count(name)} times", "each column once")
    pairs = [pair for pair in (LOCAL, DEGREES) if set(pair) <= set(names)]
    if len(pairs) != 1 or len({*LOCAL, *DEGREES} & set(names)) != 2:
        problems.error(place, "needs the columns of one kind of place", "x, y [m], or longitude, latitude [deg]")
    return len(problems.items) == before


def _places(rows: Sequence[_Row], projection: Projection, problems: Problems) -> np.ndarray:
    """Return the places x, y (n, 2) [m], NaN where they are wrong."""
    found = np.full((len(rows), 2), np.nan)
    for number, row in enumerate(rows):
        degrees = "longitude" in row.numbers
        pair = DEGREES if degrees else LOCAL
        first, second = row.several(pair)
        if not np.isfinite([first, second]).all():
            problems.error(row.where, f"{' or '.join(pair)} is missing", "two numbers")
        elif degrees and not (abs(first) <= 360 and abs(second) <= 90):
            advice = "Are longitude and latitude exchanged?" if abs(first) <= 90 else ""
            what = f"longitude {first:g}, latitude {second:g} is not a valid location"
            problems.error(row.where, what, "degrees", advice)
        else:
            found[number] = projection.to_local([first], [second])[0] if degrees else (first, second)
            if not np.isfinite(found[number]).all():
                problems.error(
                    row.where, f"longitude {first:g}, latitude {second:g} is not a location of the projection"
                )
    return found


def read_gnss(
    settings: GnssSettings, projection: Projection, stations: dict[str, str], problems: Problems
) -> Observed | None:
    """Return the offsets of GNSS stations, None with problems if the file has errors.

    The lines of the stations of this file are added to ``stations``, which has those of earlier files.
    """
    before, path = len(problems.errors), settings.file
    required = ("station", "east", "north", "sigma_east", "sigma_north")
    rows = list(_read(path, required, ("up", "sigma_up", *CORRELATIONS), problems))
    place = _places(rows, projection, problems)
    names, lines, places, blocks = list[str](), list[str](), list[np.ndarray](), list[np.ndarray]()
    values, direction = list[float](), list[np.ndarray]()
    for row, at in zip(rows, place, strict=True):
        if not row.station:
            problems.error(row.where, "station is missing", "a name")
        elif row.station in stations:
            problems.error(row.where, f"station {row.station} is also in {stations[row.station]}", "each station once")
        stations.setdefault(row.station, row.where)
        used, block = _gnss_covariance(row, METRES[settings.unit], problems)
        for axis in used:
            names.append(f"{row.station} {AXES[axis]}")
            lines.append(row.where)
            places.append(at)
            values.append(METRES[settings.unit] * float(row.numbers[AXES[axis]] or 0.0))
            direction.append(np.eye(3)[axis])
        blocks.append(block)
    if not rows and len(problems.errors) == before:
        problems.error(str(path), "contains no offsets", "a row for each station or place")
    if len(problems.errors) > before:
        return None
    from scipy.linalg import block_diag

    found = Observed(
        path, tuple(names), tuple(lines), np.array(places).reshape(-1, 2), np.array(direction).reshape(-1, 3),
        np.array(values), np.asarray(block_diag(*blocks)).reshape(len(values), -1),
    )  # fmt: skip
    return _checked(found, settings.unit, problems)


def _gnss_covariance(row: _Row, factor: float, problems: Problems) -> tuple[list[int], np.ndarray]:
    """Return the components (k,) that a station observed, and their covariance (k, k) [m^2]."""
    values, sigma = row.several(AXES), factor * row.several(SIGMAS)
    for axis, value, deviation in zip(AXES, values, sigma, strict=True):
        if np.isnan(value) != np.isnan(deviation):
            missing = axis if np.isnan(value) else f"sigma_{axis}"
            problems.error(row.where, f"{missing} is missing", f"{axis} and sigma_{axis}, or neither")
        elif deviation <= 0.0:
            problems.error(row.where, f"sigma_{axis} is {deviation / factor:g}", "a positive number")
    used = [k for k in range(3) if np.isfinite(values[k]) and sigma[k] > 0.0]
    if not used:
        problems.error(row.where, f"{row.station} has no offset", "east, north or up")
    correlation = np.eye(3)
    for (i, j), name in zip(combinations(range(3), 2), CORRELATIONS, strict=True):
        correlation[i, j] = correlation[j, i] = row.numbers.get(name) or 0.0
    correlation = correlation[np.ix_(used, used)]
    if used and np.linalg.eigvalsh(correlation).min() <= 0.0:
        problems.error(
            row.where, "the correlations are no correlations", "numbers that form a positive definite matrix"
        )
    return used, correlation * np.outer(sigma[used], sigma[used])


def read_insar(settings: InsarSettings, projection: Projection, problems: Problems) -> Observed | None:
    """Return the offsets of InSAR in the line of sight, None with problems if the file has errors."""
    before, path, factor = len(problems.errors), settings.file, METRES[settings.unit]
    rows = list(_read(path, ("offset", "sigma", *LOOK), (), problems))
    place = _places(rows, projection, problems)
    for row in rows:
        value, sigma = row.several(("offset", "sigma"))
        length = float(np.linalg.norm(row.several(LOOK)))
        if np.isnan(value):
            problems.error(row.where, "offset is missing", "a number")
        if not sigma > 0.0:
            what = "sigma is missing" if np.isnan(sigma) else f"sigma is {sigma:g}"
            problems.error(row.where, what, "a positive number")
        if not abs(length - 1.0) <= LENGTH:
            what = f"the look vector has a length of {length:.4g}"
            advice = "It is the unit vector along which offset is positive, by its components along east, north and up."
            problems.error(row.where, what, "1", advice)
    _check_upward(rows, problems)
    if not rows and len(problems.errors) == before:
        problems.error(str(path), "contains no offsets", "a row for each station or place")
    if len(problems.errors) > before:
        return None
    values = factor * np.array([row.several(("offset",))[0] for row in rows])
    sigma = factor * np.array([row.several(("sigma",))[0] for row in rows])
    covariance = np.diag(sigma**2) + settings.constant**2
    if settings.range is not None:
        apart = np.linalg.norm(place[:, None] - place, axis=-1)
        covariance = covariance + settings.sill * np.exp(-apart / settings.range)
    lines = tuple(row.where for row in rows)
    names = tuple(f"{path.stem} {number + 1}" for number in range(len(rows)))
    look = np.array([row.several(LOOK) for row in rows]).reshape(-1, 3)
    return _checked(Observed(path, names, lines, place, look, values, covariance), settings.unit, problems)


def _check_upward(rows: Sequence[_Row], problems: Problems) -> None:
    """Report look vectors that point down, away from the satellite; those along the ground are of offsets along the orbit."""
    down = [row for row in rows if float(row.several(LOOK)[2]) < -LENGTH]
    if down:
        several = f"; {len(down) - 1:,} more point down" if len(down) > 1 else ""
        what = f"the look vector points down, as look_up is {down[0].numbers['look_up']:g}{several}"
        advice = (
            "The vector is that from the ground to the satellite, and offset is positive along it. Change the sign of look_east, "
            "look_north and look_up, and that of offset too if motion away from the satellite is positive in the file."
        )
        problems.error(down[0].where, what, "look_up of 0 or more", advice)


def _checked(found: Observed, unit: str, problems: Problems) -> Observed | None:
    """Return offsets that are plausible in metres, else None."""
    path = str(found.path)
    before, largest = len(problems.errors), int(np.abs(found.values).argmax())
    sigma = float(np.median(np.sqrt(np.diagonal(found.covariance))))
    advice = "Are offsets in mm or cm? State it by the setting unit."
    if (size := float(abs(found.values[largest]))) > LARGEST:
        what = f"{found.names[largest]} is {size:.4g} m, as unit is {unit}"
        problems.error(found.lines[largest], what, f"up to {LARGEST:g} m", advice)
    if sigma > LARGEST_SIGMA:
        what = f"the median of all standard deviations is {sigma:.4g} m, as unit is {unit}"
        problems.error(path, what, f"up to {LARGEST_SIGMA:g} m", advice)
    elif sigma < SMALLEST_SIGMA:
        what = f"the median of all standard deviations is {sigma:.4g} m, as unit is {unit}"
        problems.error(path, what, f"from {SMALLEST_SIGMA:g} m", "Are offsets in metres, or are these variances?")
    return found if len(problems.errors) == before else None
