"""Events in files of sources that a case reads itself: CMTSOLUTION, SRF, FSP and the USGS's param."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown
from faultwave.base.projection import Projection
from faultwave.case.settings.sources import Source
from faultwave.physics.sources.acting import moments_of
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.readers.cmtsolution import SPECFEM
from faultwave.physics.sources.time_functions import Bell
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import FiniteEvent

WORLD = "+proj=eqc +units=m"
"""Projection in which positions of the whole Earth are read."""
FIELDS = {
    "srf": ("LON, LAT, DEP", "SLIP1, SLIP2, AREA, and VS, DEN", "STK, DIP, RAKE", "TINIT and slip rates"),
    "fsp": ("LAT, LON, Z", "SLIP, Dx, Dz, and SF_MOMENT", "STRK, DIP, RAKE", "TRUP, RISE"),
    "param": ("Lat., Lon., depth", "mo", "strike, dip, rake", "t_rup, t_ris, t_fal"),
    "cmtsolution": ("latitude, longitude, depth", "Mrr to Mtp", "Mrr to Mtp", "half duration, time shift"),
}
"""Fields of each format with place, moment, mechanism and duration."""
_DATE = re.compile(r"(\d{4})\s+(\d{1,2})\s+(\d{1,2})\s+(\d{1,2})\s+(\d{1,2})\s+(\d{1,2}(?:\.\d*)?)")
SPECTRUM_END = float(np.sqrt(np.log(20.0)) / np.pi)
"""Frequency times the width T of exp(-(t/T)^2) at which its spectrum has fallen to 5 %."""


def read_finite(path: Path, kind: str, warned: Problems) -> FiniteEvent:
    """Return the event of a file of sources.

    Parameters
    ----------
    path : Path
        The file.
    kind : str
        Its format, as in ``sources.kind``.
    warned : Problems
        Collects warnings.

    Raises
    ------
    InputError
        With file and line of every problem, and for positions in metres.
    """
    setting = Source.model_validate({"kind": kind, "file": path})
    _check_degrees(path, setting)
    world = SimpleNamespace(crs=WORLD, origin=None, azimuth=0.0)
    found = load_sources([setting], projection=world, warned=warned)
    degrees = Projection(WORLD).to_geographic(found.location[:, :2])
    points = np.column_stack([degrees, -found.location[:, 2]])
    numbers = ("place", "moment", "mechanism", "duration")
    fields = {name: f"{path.name}: {words}" for name, words in zip(numbers, FIELDS[kind], strict=True)}
    name, radiates, time = path.stem, np.inf, None
    if kind == "cmtsolution" and len(found) == 1 and isinstance(bell := found[0].function, Bell):
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        name = shown(lines[1].partition(":")[2].strip() or name)
        radiates, time = SPECTRUM_END / bell.width, _origin_time(lines[0], bell.delay)
        fields |= _cmt_fields(path.name, lines)
    return FiniteEvent(name, kind, points, _moment(found), fields, radiates, time)


CMT_FIRST = {
    "place": "latitude, longitude, depth",
    "moment": "Mrr to Mtp",
    "mechanism": "Mrr to Mtp",
    "duration": "half duration",
}
"""Fields of a CMTSOLUTION, which begin in the line of the first one."""


def _cmt_fields(file: str, lines: Sequence[str]) -> dict[str, str]:
    """Return file, line and fields of a CMTSOLUTION with one source."""
    keys = [line.partition(":")[0].strip().lower() for line in lines]
    keys = [SPECFEM.get(key, key) for key in keys]
    found = {"time": f"{file}:1, date and time of the first line"}
    for name, words in CMT_FIRST.items():
        first = words.partition(" to ")[0].partition(",")[0].lower()
        number = keys.index(first) + 1 if first in keys else None
        found[name] = f"{file}:{number}, {words}" if number else f"{file}: {words}"
    return found


def _check_degrees(path: Path, setting: Source) -> None:
    """Raise InputError if positions of a CMTSOLUTION are x and y, which have no place on Earth."""
    if setting.kind != "cmtsolution":
        return
    try:
        load_sources([setting], warned=Problems())
    except InputError:  # it needs a projection, or has other problems, which the next reading reports
        return
    what = "positions are x and y in metres, so that the place on Earth is unknown"
    advice = "Write degrees, or write a case by hand: docs/guide/sources.md."
    raise InputError(Problem(str(path), what, "latitude and longitude in degrees", advice))


def _moment(sources: Sources) -> float:
    """Return the scalar moment [N m], with the shear modulus of the layers where a file has none."""
    modulus = text.shear_modulus_at(-sources.location[:, 2])
    return moments_of(sources, sources.moment_tensors(modulus, modulus), float(sources.end.max())).scalar


def _origin_time(first: str, delay: float) -> datetime | None:
    """Return the date at which the time of a CMTSOLUTION begins: that of its ``first`` line less the delay of its Gaussian [s]."""
    found = _DATE.search(first)
    if found is None:
        return None
    *whole, seconds = found.groups()
    try:
        minute = datetime(*(int(n) for n in whole), tzinfo=UTC)  # type: ignore[misc, arg-type]
    except ValueError:
        return None
    return minute + timedelta(seconds=float(seconds) - delay)
