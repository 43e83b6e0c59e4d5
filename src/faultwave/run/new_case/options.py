"""Options of a new case, checked before anything is written, and the names of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import NotBuiltError, Problem, Problems
from faultwave.run.new_case import text as text
from faultwave.run.new_case.event_source import FiniteEvent, PointEvent

GENERATED_FILES = ("case.yaml", "layers.txt", "stations.txt", "results")
"""Names of the generated files and the results folder."""

SMALLEST_SIZE_RATIO = 0.1
"""Smallest ratio of region size to shortest wavelength; a smaller size was meant in kilometres."""


@dataclass(frozen=True)
class Mechanism:
    """Double-couple source.

    Attributes
    ----------
    strike, dip, rake : float
        Angles [deg].
    magnitude : float
        Moment magnitude.
    depth : float
        Depth [m].
    """

    strike: float
    dip: float
    rake: float
    magnitude: float
    depth: float


@dataclass(frozen=True)
class NewCaseOptions:
    """Options of a new case, with lengths in metres and times in seconds.

    ``lon``, ``lat`` and ``size`` are derived from the traces if None. Exactly one of ``faults``, ``mechanism``, ``source`` (a file of
    ``source_kind``) and ``event`` (a point) is given.
    """

    lon: float | None = None
    lat: float | None = None
    size: float | None = None
    frequency: float = 1.0
    depth: float | None = None
    engine: str = "dg"
    order: int = 4
    faults: tuple[Path, ...] = ()
    dip: float = 90.0
    fault_depth: float = 15e3
    rake: float = 180.0
    mechanism: Mechanism | None = None
    source: Path | None = None
    source_kind: str = "srf"
    topography: Path | None = None
    topography_crs: str | None = None
    sea: bool = False
    end_time: float | None = None
    event: PointEvent | FiniteEvent | None = None
    """Event; ``source`` is the file of its sources, unless it is a point."""
    event_file: Path | None = None
    """File of the event."""
    stations: Path | None = None
    """File of stations instead of a lattice."""
    of_traces: frozenset[tuple[Path, str]] = frozenset()
    """Pairs of trace file and option (dip, fault_depth) that the file's own properties define."""


def check(options: NewCaseOptions, folder: Path, force: bool) -> None:
    """Raise InputError with every problem of the options."""
    problems = Problems()
    point = isinstance(options.event, PointEvent)
    ways = [bool(options.faults), options.mechanism is not None, options.source is not None, point]
    if sum(ways) != 1:
        problems.error("new", f"{sum(ways)} of --fault, --moment-tensor, --srf and --event are set", "one of them")
    if options.engine not in ("dg", "fd"):
        problems.error("--engine", f"'{options.engine}'", "dg, fd")
    _check_numbers(options, problems)
    _check_files(options, problems)
    _check_unused_options(options, problems)
    if (folder.exists() and not folder.is_dir()) or (folder.is_dir() and any(folder.iterdir()) and not force):
        advice = "Use --force to write into it." if folder.is_dir() else "Choose another folder."
        problems.error(
            str(folder), "already exists and contains files" if folder.is_dir() else "is a file", advice=advice
        )
    problems.raise_errors()
    if options.engine == "fd" and options.faults:
        what = "faults of a grid are planes along x or y (docs/guide/grids.md), none can follow a trace"
        raise NotBuiltError(Problem("--engine fd", what, "engine dg", "Or use --srf or --moment-tensor."))
    if options.engine == "fd" and options.sea:
        raise NotBuiltError(Problem("--sea", "a grid has no sea above its topography", "engine dg"))


def _check_numbers(options: NewCaseOptions, problems: Problems) -> None:
    for name, value in (
        ("--size", options.size), ("--frequency", options.frequency), ("--fault-depth", options.fault_depth), ("--depth", options.depth),
        ("--until", options.end_time),
    ):  # fmt: skip
        if value is not None and not 0 < value < np.inf:
            problems.error(name, f"{value:g}", "a positive number")
    for name, value, most in (("--lon", options.lon, 360.0), ("--lat", options.lat, 84.0)):
        if value is not None and not abs(value) <= most:
            advice = "Longitude and latitude seem to be exchanged." if name == "--lat" and abs(value) <= 360 else ""
            problems.error(name, f"{value:g} degrees", f"-{most:g} to {most:g}", advice)
    if not 10 <= options.dip <= 90:
        problems.error("--dip", f"{options.dip:g}", "10 to 90 degrees")
    if not abs(options.rake) <= 360:
        problems.error("--rake", f"{options.rake:g}", "-360 to 360 degrees")
    if options.mechanism is not None:
        _check_mechanism(options.mechanism, problems)
    if not 0 < options.frequency < np.inf:
        return
    wavelength = text.SLOWEST_S_SPEED / options.frequency
    for name, value in (("--size", options.size), ("--depth", options.depth)):
        if value is not None and 0 < value < SMALLEST_SIZE_RATIO * wavelength:
            what = f"{value:g} m is far less than the shortest wavelength, {wavelength:.4g} m"
            problems.error(
                name, what, f"{SMALLEST_SIZE_RATIO * wavelength:.4g} m or more", f"Kilometres? Write {value:g}km."
            )
    deepest = max(
        options.fault_depth if options.faults else 0.0,
        options.mechanism.depth if options.mechanism else 0.0,
        options.event.bottom if options.event else 0.0,
    )
    if options.depth is not None and 0 < options.depth <= deepest:
        what = f"{options.depth:g} m: the {'fault' if options.faults else 'source'} reaches {deepest:g} m"
        problems.error("--depth", what, f"more than {deepest:g} m")


def _check_mechanism(m: Mechanism, problems: Problems) -> None:
    sound = (
        abs(m.strike) <= 360
        and 0 <= m.dip <= 90
        and abs(m.rake) <= 360
        and 0 < m.magnitude < 10
        and 0 < m.depth < 700e3
    )
    if not sound:  # NaN is rejected, too
        what = f"{m.strike:g},{m.dip:g},{m.rake:g},{m.magnitude:g},{m.depth / 1e3:g}"
        allowed = "strike and rake -360 to 360, dip 0 to 90 degrees, magnitude 0 to 10, depth 0 to 700 km"
        problems.error("--moment-tensor", what, allowed)


def _check_files(options: NewCaseOptions, problems: Problems) -> None:
    for path in filter(None, [*options.faults, options.source, options.topography, options.stations]):
        if not path.is_file():
            problems.error(str(path), "the file does not exist")
    for path in sorted({p for p in options.faults if options.faults.count(p) > 1}):
        problems.error("--fault", f"{path} is listed twice", advice="Its faults would coincide: list it once.")


def _check_unused_options(options: NewCaseOptions, problems: Problems) -> None:
    """Report options that would have no effect."""
    usual = NewCaseOptions()
    if options.sea and options.topography is None and options.engine == "dg":
        problems.error("--sea", "needs --topography, whose raster defines the sea floor", "--topography FILE")
    if options.topography_crs is not None and options.topography is None:
        problems.error(
            "--topography-crs", "has no effect without --topography", advice="Set --topography, or remove this option."
        )
    if options.engine == "fd" and options.order != usual.order:
        problems.error("--order", "has no effect with --engine fd", "engine dg", "Leave it out.")
    for name, changed in (
        ("--dip", options.dip != usual.dip), ("--rake", options.rake != usual.rake),
        ("--fault-depth", options.fault_depth != usual.fault_depth),
    ):  # fmt: skip
        if changed and not options.faults:
            advice = "Remove it: the source defines its own angles and depth."
            problems.error(name, "has no effect without --fault", advice=advice)


def names(options: NewCaseOptions) -> dict[Path, str]:
    """Return the name in the case's folder of every file it needs: its own, with a number if that is taken."""
    found: dict[Path, str] = {}
    taken = {name.lower() for name in GENERATED_FILES}  # some file systems ignore case
    for path in [*options.faults, options.source, options.topography, options.stations]:
        if path is None or path in found:
            continue
        name, number = path.name, 2
        while name.lower() in taken:
            name, number = f"{path.stem}-{number}{path.suffix}", number + 1
        found[path] = name
        taken.add(name.lower())
    if options.topography is not None and options.topography.with_suffix(".prj").is_file():  # projection of the raster
        found[options.topography.with_suffix(".prj")] = str(Path(found[options.topography]).with_suffix(".prj"))
    return found
