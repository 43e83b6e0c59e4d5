"""Points that a case asks for: listed, in files, by longitude and latitude."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.collect import collected
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, needed
from faultwave.observe.dataset import Dataset, with_places


def read_points(setting: Any, projection: Any = None) -> np.ndarray:
    """Points (n, 3) of a receiver setting: listed ones, those by longitude and latitude, then those of its files.

    ``projection``: the case's setting. Raises InputError with file:line.
    """
    problems, parts = Problems(), [np.array(setting.points, float).reshape(-1, 3)]
    listed, path = getattr(setting, "geographic", None), getattr(setting, "geographic_file", None)
    mapped = None
    if listed or path is not None:
        with collected(problems):
            where = "output.receivers." + ("geographic" if listed else "geographic_file")
            mapped = projected(projection, where)
    if listed and mapped is not None:
        with collected(problems):
            parts.append(mapped.places(listed, "output.receivers.geographic"))
    if setting.file is not None:
        with collected(problems):
            parts.append(point_lines(setting.file, "x y z in metres")[1])
    if path is not None:
        with collected(problems):
            lines, points = point_lines(path, "longitude latitude z, in degrees and metres")
            if mapped is not None:
                local = [mapped.places(p, f"{path}:{k}") for k, p in zip(lines, points, strict=True)]
                parts += local
    problems.raise_errors()
    return np.concatenate(parts)


def point_lines(path: Path, form: str) -> tuple[list[int], np.ndarray]:
    """Numbers of the lines with a point and three numbers (n, 3) of each. Raises InputError with file:line."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        raise InputError(Problem(str(path), f"receiver file cannot be read: {error.strerror}")) from None
    problems, numbers, points = Problems(), [], []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            point = tuple(float(w.lower().replace("d", "e")) for w in words[:3])
        except ValueError:
            point = ()
        if len(point) != 3 or not np.isfinite(point).all():
            problems.error(f"{path}:{number}", f"'{line.strip()}' is no point", form)
        elif len(words) > 3:
            what = f"'{' '.join(words[3:])}' after the third number would do nothing"
            problems.error(f"{path}:{number}", what, form, "Put names and remarks behind a #.")
        else:
            numbers.append(number)
            points.append(point)
    problems.raise_errors()
    return numbers, np.array(points, float).reshape(-1, 3)


def projected(setting: Any, where: str) -> Projection:
    """The case's projection, which ``where`` needs. Raises InputError."""
    return needed(None if setting is None else Projection(setting.crs, setting.origin, setting.azimuth), where)


def with_degrees(receivers: Dataset, setting: Any) -> Dataset:
    """Receivers with their longitudes and latitudes, and where the y axis points there, if the case has a projection."""
    if setting is None:
        return receivers
    projection = projected(setting, "projection")
    lonlat = projection.to_geographic(receivers["location"][:, :2])
    turned = np.array([projection.azimuth_of_y(*place) for place in lonlat])
    return with_places(receivers, np.column_stack([lonlat, turned]))
