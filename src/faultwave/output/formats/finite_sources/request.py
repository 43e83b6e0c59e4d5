"""Request of a finite source: checks of a run and of the options, subfaults, and their places on Earth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.projection import NEEDED, Projection
from faultwave.base.wording import option
from faultwave.observe.finite_source import SAMPLES_PER_PERIOD, FiniteSource, SlipHistories, finite_source
from faultwave.observe.stations.points import projected
from faultwave.output.formats import Conversion
from faultwave.output.formats.finite_sources.histories import histories_path, read_histories
from faultwave.output.manifest import read_manifest

OPTIONS = ("spacing", "frequency")
MOMENT = 1e-3
"""Largest relative difference between the moments of subfaults and of the elements of the fault."""
ROUNDING = 1e-6


@dataclass(frozen=True)
class Request:
    """Source to write, with what is known of the run.

    Attributes
    ----------
    source : FiniteSource
        Subfaults.
    projection : Projection or None
        Projection of the case, None if it has none.
    title : str
        Title of the case.
    origin_time : str
        Date and time of the start of the run, empty if unknown.
    histories : SlipHistories
        Slip of the elements of the fault.
    folder : Path
        Folder of the run.
    target : Path
        Folder and first part of the name of the file.
    """

    source: FiniteSource
    projection: Projection | None
    title: str
    origin_time: str
    histories: SlipHistories
    folder: Path
    target: Path

    def path(self, ending: str) -> Path:
        """Return the path of the file with an ending."""
        return self.target.with_name(self.target.name + ending)

    @property
    def earth(self) -> Projection:
        """Projection of a case that has one."""
        assert self.projection is not None
        return self.projection


def requested_source(conversion: Conversion, geographic: bool, lattice: bool = False) -> Request:
    """Return the source that a conversion requests.

    Parameters
    ----------
    conversion : Conversion
        Results of the run and options.
    geographic : bool
        True if the format holds longitudes and latitudes.
    lattice : bool
        True if the format requires subfaults on a lattice.

    Raises
    ------
    InputError
        With all problems of the run and of the options.
    """
    results, problems = conversion.results, Problems()
    manifest = _manifest(results.folder / f"{results.prefix}-manifest.json")
    case: Any = manifest.get("case", {})
    setting = case.get("projection")
    if geographic and not setting:
        problems.error(
            str(results.folder),
            "the format holds longitudes and latitudes, and the case has no projection",
            advice=NEEDED,
        )
    histories = _histories(conversion, case, problems)
    spacing, frequency = (_positive(conversion.options.get(name), name, problems) for name in OPTIONS)
    if lattice and conversion.options.get("spacing") is None:
        problems.error(option("spacing"), "is missing: the format describes subfaults on a lattice", "a length in m")
    if histories is not None:
        _check_spacing(histories, spacing, problems)
        frequency = _checked_frequency(histories, frequency, manifest.get("resolved_frequency_hz"), problems)
    problems.raise_errors()
    assert histories is not None and frequency is not None
    source = finite_source(histories, spacing, frequency)
    _check_moment(source, histories)
    projection = projected(SimpleNamespace(**setting), "projection") if setting else None
    origin = case.get("output", {}).get("origin_time") or ""
    target = conversion.folder / results.prefix
    title = str(case.get("title") or results.prefix)
    return Request(source, projection, title, str(origin), histories, results.folder, target)


def _manifest(path: Path) -> Any:
    return read_manifest(path) if path.is_file() else {}


def _histories(conversion: Conversion, case: Any, problems: Problems) -> SlipHistories | None:
    """Return the slip histories of the run, or report why there are none."""
    results = conversion.results
    path = histories_path(results.folder, results.prefix)
    if not path.is_file():
        where, advice = (
            str(results.folder),
            "Add output: { rupture: { slip_interval: 10 ms } } to the case, and run it again.",
        )
        if case and not case.get("fault"):
            problems.error(where, f"the run '{results.prefix}' has no fault with friction", "a run with a rupture")
        else:
            problems.error(
                where, f"the run '{results.prefix}' has stored no slip of its fault ({path.name})", advice=advice
            )
        return None
    found = read_histories(path)
    if not found.moments.any():
        problems.error(str(path), "the fault has not slipped", "a run with a rupture")
        return None
    return found


def _positive(value: object, name: str, problems: Problems) -> float | None:
    if value is None:
        return None
    number = float(value)  # type: ignore[arg-type]
    if not (np.isfinite(number) and number > 0):
        problems.error(option(name), f"is {number:g}", "> 0")
        return None
    return number


def _check_spacing(histories: SlipHistories, spacing: float | None, problems: Problems) -> None:
    """Check that subfaults are at least as large as the faces that slip, and smaller than the fault."""
    slips = histories.moments > 0
    largest, extent = float(histories.size[slips].max()), float(np.ptp(histories.corners, axis=(0, 1)).max())
    if spacing is not None and spacing > extent:
        what = f"{spacing:g} m is larger than the fault, {extent:.4g} m"
        problems.error(option("spacing", f"{spacing:g}"), what, f"{largest:.4g} to {extent:.4g} m")
    if spacing is not None and spacing < largest * (1 - ROUNDING):
        advice = f"Without {option('spacing')}, each face of the fault becomes a subfault."
        problems.error(
            option("spacing", f"{spacing:g}"),
            f"{spacing:g} m is below the size of the faces that slip, {largest:.4g} m",
            f"{largest:.4g} m or more",
            advice,
        )


def _checked_frequency(
    histories: SlipHistories, frequency: float | None, resolved: float | None, problems: Problems
) -> float | None:
    """Return the requested frequency, or the highest that both the run and the stored times resolve."""
    stored = histories.highest_frequency
    limit = np.inf if resolved is None else float(resolved)
    if frequency is None:
        if stored > 0:
            return min(stored, limit)
        problems.error("output.rupture", "the run has stored a single time of slip", "two or more")
        return None
    if frequency > limit * (1 + ROUNDING):
        problems.error(
            option("frequency", f"{frequency:g}"),
            f"{frequency:g} Hz is above the {limit:.4g} Hz that the run resolves",
            f"{limit:.4g} Hz or less",
        )
    if frequency > stored * (1 + 1e-3):  # rows fall on whole time steps
        needed = 1.0 / (SAMPLES_PER_PERIOD * frequency)
        what = f"slip is stored every {histories.interval:.4g} s, which suffices for {stored:.4g} Hz"
        advice = f"Run the case with output.rupture.slip_interval and interval of at most {needed:.4g} s."
        problems.error(option("frequency", f"{frequency:g}"), what, f"{stored:.4g} Hz or less", advice)
    return frequency


def _check_moment(source: FiniteSource, histories: SlipHistories) -> None:
    """Raise InputError if slip in different directions cancels within subfaults."""
    found, expected = float(source.moments.sum()), float(histories.moments.sum())
    if abs(found - expected) > MOMENT * expected:
        what = (
            f"slip in different directions cancels within subfaults: their moment is {found:.6g} of {expected:.6g} N m"
        )
        raise InputError(
            Problem(option("spacing"), what, f"a difference of {100 * MOMENT:g} %", "Use a smaller spacing.")
        )


def depths(request: Request, z: np.ndarray) -> np.ndarray:
    """Return the depths (n,) of heights ``z`` (n,) [m] below z = 0; raise InputError if some are above."""
    above = int((z > 0).sum())
    if above:
        what = f"{above} subfaults lie above z = 0, where the format has no depth"
        raise InputError(Problem(str(request.folder), what, "a fault below z = 0"))
    return np.asarray(-z)


def azimuths(projection: Projection | None, place: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the directions (n,) of vectors (n, 3) at places (n, 3), clockwise from true north, or from y without a projection [deg]."""
    north = np.tile([0.0, 1.0], (len(place), 1))
    if projection is not None:
        lonlat = projection.to_geographic(place[:, :2])
        north = projection.norths(lonlat[:, 0], lonlat[:, 1])
    east = np.stack([north[:, 1], -north[:, 0]], 1)
    level = vectors[:, :2]
    return np.asarray(np.degrees(np.arctan2((level * east).sum(1), (level * north).sum(1))) % 360.0)
