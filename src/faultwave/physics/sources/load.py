"""From source settings to point sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import Projection, geographic_tensor, needed, voigt
from faultwave.base.registry import entries
from faultwave.base.units import LARGEST
from faultwave.physics.sources.double_couple import moment_of_magnitude, moment_tensor
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import time_function

SHOWN = 5
KINDS = ("moment-tensor", "double-couple", "force")
_ORDER = ("xx", "yy", "zz", "xy", "yz", "xz")


def load_sources(
    settings: Sequence[Any], where: str = "sources", projection: Any = None, warned: Problems | None = None
) -> list[PointSource]:
    """All point sources asked for; raises one InputError with every problem of every setting.

    A setting has kind, location, tensor, force, onset, time_function and file. Onset and location of a setting with a
    file come from the file; the setting's onset is added. ``projection`` (crs, origin, azimuth) is the setting by which files
    with longitudes and latitudes are read; ``warned`` takes the readers' warnings.
    """
    problems, result = Problems(), []
    mapped = None
    if projection is not None:
        try:
            mapped = Projection(projection.crs, projection.origin, projection.azimuth)
        except InputError as error:
            problems.extend(error.problems)
            problems.raise_errors()
    for i, setting in enumerate(settings):
        try:
            result += _load(setting, f"{where}[{i}]", mapped, warned)
        except InputError as error:
            problems.extend(error.problems)
    problems.raise_errors()
    return result


def _load(setting: Any, where: str, projection: Projection | None, warned: Problems | None) -> list[PointSource]:
    problems = Problems()
    files = entries("faultwave.physics.sources.readers")
    if setting.kind in files:
        if setting.file is None:
            problems.error(f"{where}.file", f"missing: kind '{setting.kind}' reads a file")
            problems.raise_errors()
        file = Path(setting.file)
        with np.errstate(all="ignore"):  # numbers too large for a product are told below
            records = files[setting.kind].load().read(file, setting, projection, warned)
        return [_shifted(r, setting.onset) for r in sound(records, file)]
    if setting.kind == "plane-wave":  # no point source: the engine that has them makes them itself
        return []
    return [_point(setting, where, projection, (*KINDS, "plane-wave", *files))]


def _point(setting: Any, where: str, projection: Projection | None, known: Sequence[str]) -> PointSource:
    problems = Problems()
    if setting.kind not in KINDS:
        problems.error(f"{where}.kind", f"'{setting.kind}' does not exist", ", ".join(known))
    if setting.time_function is None:
        problems.error(f"{where}.time_function", f"missing: kind '{setting.kind}' needs one")
    tensor = np.array([float(setting.tensor.get(c, 0.0)) for c in _ORDER])
    force = np.array(setting.force, float)
    acting = {"moment-tensor": tensor, "force": force}.get(setting.kind)
    if acting is not None and not np.any(acting):
        problems.error(where, "acts with nothing", "a moment tensor or force that is not zero")
    problems.raise_errors()
    function = time_function(setting.time_function, f"{where}.time_function")
    geographic = getattr(setting, "geographic", None)
    if geographic is None:
        location = np.array(setting.location, float)
    else:
        location = needed(projection, f"{where}.geographic").places(geographic, f"{where}.geographic")[0]
    source = PointSource(location, function, onset=float(setting.onset), name=where)
    if setting.kind == "force":
        return replace(source, force=force)
    return replace(source, moment=tensor if setting.kind == "moment-tensor" else _couple(setting, location, projection))


def _couple(setting: Any, location: np.ndarray, projection: Projection | None) -> np.ndarray:
    """Moment tensor (6,) of a double couple; without a projection y is taken for north."""
    given = setting.seismic_moment
    moment = moment_of_magnitude(setting.magnitude) if given is None else given
    strike, dip, rake = np.radians([setting.strike, setting.dip, setting.rake])
    north = np.array([0.0, 1.0])
    if projection is not None:
        north = projection.north(*projection.to_geographic(location[None, :2])[0])
    return voigt(geographic_tensor(moment_tensor(strike, dip, rake, moment), north))


def sound(records: list[PointSource], file: Path) -> list[PointSource]:
    """The records of a file. Raises InputError where one has a number that is not finite or beyond all physics."""
    wrong = []
    for record in records:
        numbers = {
            "location": record.location, "moment": record.moment, "force": record.force, "potency": record.potency,
            "fluid": record.porous,
            "onset": record.onset, "shear modulus": record.shear_modulus or 0.0, "end": record.function.end,
            "samples": getattr(record.function, "samples", 0.0),
        }  # fmt: skip
        bad = [name for name, values in numbers.items() if not float(np.max(np.abs(values), initial=0.0)) <= LARGEST]
        wrong += [f"{record.name}: {', '.join(bad)}"] if bad else []
    if wrong:
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        what = f"{len(wrong)} of its {len(records)} sources have numbers that are not finite or too large"
        raise InputError(Problem(str(file), f"{what} ({'; '.join(wrong[:SHOWN])}{more})", f"up to {LARGEST:g} in SI"))
    return records


def _shifted(record: PointSource, onset: float) -> PointSource:
    return replace(record, onset=record.onset + onset) if onset else record
