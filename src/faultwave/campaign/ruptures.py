"""Table of ruptures: files of the variations of each rupture, annual rates, weights and magnitudes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.files.paths import similar
from faultwave.base.units import as_float

REQUIRED = ("rupture", "file", "annual_rate")
PLACE = ("hypocentre_lon", "hypocentre_lat", "hypocentre_depth")
OPTIONAL = ("weight", "magnitude", *PLACE, "rupture_speed")
SAME = 1e-6
"""Relative difference of numbers that count as equal."""


@dataclass(frozen=True)
class Hypocentre:
    """Hypocentre from which a rupture spreads at a constant speed, instead of the onsets of its file.

    Attributes
    ----------
    longitude, latitude : float
        Place [deg].
    depth : float
        Depth [m].
    speed : float
        Rupture speed [m/s].
    """

    longitude: float
    latitude: float
    depth: float
    speed: float


@dataclass(frozen=True)
class Variation:
    """Variation of a rupture: one possible earthquake.

    Attributes
    ----------
    event : int
        Number of the variation, from 0 in the order of the table.
    rupture : str
        Name of the rupture.
    path : Path
        SRF file.
    rate : float
        Annual rate of this variation.
    magnitude : float or None
        Moment magnitude of the table, None if the file determines it.
    hypocentre : Hypocentre or None
        Hypocentre of the table, None if the onsets of the file apply.
    where : str
        Line of the table.
    """

    event: int
    rupture: str
    path: Path
    rate: float
    magnitude: float | None
    hypocentre: Hypocentre | None
    where: str


@dataclass(frozen=True)
class _Row:
    rupture: str
    path: Path
    rate: float
    weight: float
    magnitude: float | None
    hypocentre: Hypocentre | None
    where: str


def read_ruptures(path: Path) -> tuple[Variation, ...]:
    """Read the table of ruptures.

    ``annual_rate`` is the rate of the rupture, the same for all its variations, which divide it in proportion to their ``weight``.

    Raises
    ------
    InputError
        With every problem of the table.
    """
    problems = Problems()
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            names = [n.strip() for n in reader.fieldnames or ()]
            reader.fieldnames = names
            _check_columns(path, names, problems)
            problems.raise_errors()
            rows = [row for r in reader if (row := _row(r, path, f"{path}:{reader.line_num}", problems)) is not None]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", "a CSV table")) from None
    if not rows and not problems.errors:
        problems.error(str(path), "contains no ruptures", f"rows with {', '.join(REQUIRED)}")
    problems.raise_errors()
    found = _variations(rows, problems)
    problems.raise_errors()
    return found


def _check_columns(path: Path, names: list[str], problems: Problems) -> None:
    for name in REQUIRED:
        if name not in names:
            problems.error(f"{path}:1", f"column '{name}' is missing", ", ".join(REQUIRED + OPTIONAL))
    for name in names:
        if name not in REQUIRED + OPTIONAL:
            allowed = ", ".join(REQUIRED + OPTIONAL)
            problems.error(f"{path}:1", f"'{name}' is not a column", allowed, suggest(name, REQUIRED + OPTIONAL))
    for name in sorted({n for n in names if names.count(n) > 1}):
        problems.error(f"{path}:1", f"column '{name}' occurs {names.count(name)} times", "each column once")


def _row(row: dict[str, str | None], table: Path, where: str, problems: Problems) -> _Row | None:
    """Return a row, None with problems if it is wrong."""
    texts = {name: str(text or "").strip() for name, text in row.items() if name is not None}
    if None in row:
        problems.error(where, "has more entries than the header", "one entry for each column")
        return None
    before, numbers = len(problems.items), dict[str, float | None]()
    for name, default in (("annual_rate", ""), ("weight", "1"), ("magnitude", "")):
        text = texts.get(name) or default
        value = numbers[name] = as_float(text) if text else None
        if text and (value is None or not 0 < value < 1e30):
            problems.error(where, f"{name} is {text}", "a positive number")
    if numbers["annual_rate"] is None and not texts["annual_rate"]:
        problems.error(where, "annual_rate is missing", "a positive number")
    if not texts["rupture"]:
        problems.error(where, "rupture is missing", "a name")
    path = table.parent / Path(texts["file"]).expanduser()
    if not texts["file"] or not path.is_file():
        problems.error(where, f"no such file: {path}" if texts["file"] else "file is missing", advice=similar([path]))
    hypocentre = _hypocentre(texts, where, problems)
    if len(problems.items) > before:
        return None
    rate, weight = numbers["annual_rate"], numbers["weight"]
    assert rate is not None and weight is not None
    return _Row(texts["rupture"], path.absolute(), rate, weight, numbers["magnitude"], hypocentre, where)


def _hypocentre(texts: dict[str, str], where: str, problems: Problems) -> Hypocentre | None:
    """Return the hypocentre of a row, None if it has none or, with problems, if it is wrong."""
    names = (*PLACE, "rupture_speed")
    stated = {name: texts[name] for name in names if texts.get(name)}
    if not stated:
        return None
    missing = [name for name in names if name not in stated]
    if missing:
        problems.error(
            where, f"has {', '.join(stated)} without {', '.join(missing)}", f"all of {', '.join(names)}, or none"
        )
        return None
    limits = ((-360.0, 360.0, "degrees"), (-90.0, 90.0, "degrees"), (0.0, 7e5, "metres"), (10.0, 1e5, "m/s"))
    values = list[float]()
    for name, (low, high, unit) in zip(names, limits, strict=True):
        value = as_float(stated[name])
        if value is None or not low <= value <= high:
            problems.error(where, f"{name} is {stated[name]}", f"{low:g} to {high:g} {unit}")
        else:
            values.append(value)
    return Hypocentre(*values) if len(values) == len(names) else None


def _variations(rows: list[_Row], problems: Problems) -> tuple[Variation, ...]:
    first, weights = dict[str, _Row](), dict[str, float]()
    for row in rows:
        known = first.setdefault(row.rupture, row)
        weights[row.rupture] = weights.get(row.rupture, 0.0) + row.weight
        if abs(row.rate - known.rate) > SAME * known.rate:
            what = f"rupture {row.rupture} has the annual rate {row.rate:g}, and {known.rate:g} at {known.where}"
            problems.error(row.where, what, "the rate of the rupture in all rows, which weights divide")
    return tuple(
        Variation(i, r.rupture, r.path, r.rate * r.weight / weights[r.rupture], r.magnitude, r.hypocentre, r.where)
        for i, r in enumerate(rows)
    )
