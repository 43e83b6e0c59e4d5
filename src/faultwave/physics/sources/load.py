"""Construction of point sources from the settings of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.formulas import moment_of_magnitude
from faultwave.base.projection import Projection, geographic_tensor, needed, voigt
from faultwave.base.registry import entries
from faultwave.base.types import Setting
from faultwave.base.units import LARGEST
from faultwave.physics.sources.point import PointSource, Sources, moment_tensor
from faultwave.physics.sources.time_functions import time_function

SHOWN = 5
KINDS = ("moment-tensor", "double-couple", "force")
_ORDER = ("xx", "yy", "zz", "xy", "yz", "xz")


def load_sources(
    settings: Sequence[Setting], where: str = "sources", projection: Setting = None, warned: Problems | None = None
) -> Sources:
    """Return all point sources of the settings of a case.

    A setting has kind, location, tensor, force, onset, time_function and file. Onset and location of a setting with a
    file are read from the file; the onset of the setting is added.

    Parameters
    ----------
    settings
        Source settings.
    where
        Name of the group in messages.
    projection
        Setting (crs, origin, azimuth) to convert longitudes and latitudes of files.
    warned
        Receives warnings of the readers.

    Raises
    ------
    InputError
        With every problem of every setting.
    """
    problems, result = Problems(), list[Sources]()
    mapped = None
    if projection is not None:
        try:
            mapped = Projection(projection.crs, projection.origin, projection.azimuth)
        except InputError as error:
            problems.extend(error.problems)
            problems.raise_errors()
    for i, setting in enumerate(settings):
        try:
            result.append(_load(setting, f"{where}[{i}]", mapped, warned))
        except InputError as error:
            problems.extend(error.problems)
    problems.raise_errors()
    return Sources.joined(result)


def _load(setting: Setting, where: str, projection: Projection | None, warned: Problems | None) -> Sources:
    problems = Problems()
    files = entries("faultwave.physics.sources.readers")
    if setting.kind in files:
        if setting.file is None:
            problems.error(
                f"{where}.file",
                f"missing: kind '{setting.kind}' reads a file",
                "the path of a file, relative to the case",
            )
            problems.raise_errors()
        file = Path(setting.file)
        with np.errstate(all="ignore"):  # products that overflow are reported below
            found = Sources.of(files[setting.kind].load().read(file, setting, projection, warned))
        sound(found, file)
        return replace(found, onset=found.onset + setting.onset)
    if setting.kind == "plane-wave":  # no point source: handled by the engines that support it
        return Sources.of(())
    return Sources.of([_point(setting, where, projection, (*KINDS, "plane-wave", *files))])


def _point(setting: Setting, where: str, projection: Projection | None, known: Sequence[str]) -> PointSource:
    problems = Problems()
    if setting.kind not in KINDS:
        problems.error(f"{where}.kind", f"'{setting.kind}' does not exist", ", ".join(known))
    if setting.time_function is None:
        problems.error(
            f"{where}.time_function",
            f"missing: kind '{setting.kind}' needs one",
            "a time_function with its kind, e.g. {kind: gaussian, duration: 0.2 s}",
        )
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


def _couple(setting: Setting, location: np.ndarray, projection: Projection | None) -> np.ndarray:
    """Return the moment tensor (6,) of a double couple; without a projection, y is north."""
    given = setting.seismic_moment
    moment = moment_of_magnitude(setting.magnitude) if given is None else given
    strike, dip, rake = np.radians([setting.strike, setting.dip, setting.rake])
    north = np.array([0.0, 1.0])
    if projection is not None:
        north = projection.north(*projection.to_geographic(location[None, :2])[0])
    return voigt(geographic_tensor(moment_tensor(strike, dip, rake, moment), north))


def sound(sources: Sources, file: Path) -> None:
    """Raise InputError if a source of a file has a number that is not finite or unphysically large."""
    own = np.where(np.isnan(sources.shear_modulus), 0.0, sources.shear_modulus)
    columns = {
        "location": sources.location, "moment": sources.moment, "force": sources.force, "potency": sources.potency,
        "fluid": sources.porous,
        "onset": sources.onset, "shear modulus": own, "end": sources.functions.end,
        "samples": sources.functions.largest,
    }  # fmt: skip
    bad = {
        name: ~(np.abs(v.reshape(len(sources), -1)).max(1) <= LARGEST) for name, v in columns.items()
    }  # also true for NaN
    wrong = np.flatnonzero(np.any(list(bad.values()), axis=0))
    if len(wrong):
        reported = [f"{sources.names[i]}: {', '.join(n for n, rows in bad.items() if rows[i])}" for i in wrong[:SHOWN]]
        more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        what = f"{len(wrong)} of its {len(sources)} sources have numbers that are not finite or too large"
        raise InputError(Problem(str(file), f"{what} ({'; '.join(reported)}{more})", f"up to {LARGEST:g} in SI"))
