"""Event of a file, whose format is detected by its content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown, similar
from faultwave.run.new_case.event_source import EventRequest, FiniteEvent, PointEvent, one_line
from faultwave.run.new_case.events.catalogs import read_ndk, read_quakeml
from faultwave.run.new_case.events.finite import read_finite
from faultwave.run.new_case.events.shakemap import read_rupture

FORMATS = (
    "QuakeML, ndk or CMTSOLUTION of the Global CMT project, rupture.json of ShakeMap, a finite fault of the USGS "
    "(basic_inversion.param), FSP of SRCMOD, SRF"
)
READERS: dict[str, Callable[[EventRequest, Problems], PointEvent | FiniteEvent]] = {
    "quakeml": read_quakeml,
    "ndk": read_ndk,
    "rupture.json": read_rupture,
}
"""Readers of the formats that are no source of a case."""
FIRST = 1 << 16
"""Number of characters by which a format is recognised."""


def read_event(request: EventRequest, warned: Problems) -> PointEvent | FiniteEvent:
    """Return the event of a file.

    Parameters
    ----------
    request : EventRequest
        File and choices.
    warned : Problems
        Collects warnings.

    Raises
    ------
    InputError
        With file and line of every problem.
    """
    path = request.file
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "the file does not exist"
        raise InputError(Problem(str(path), what, FORMATS, similar([path])))
    kind = _kind(path)
    _check_request(request, kind)
    if kind in READERS:
        found = READERS[kind](request, warned)
    else:
        found = read_finite(path, kind, warned)
    return replace(
        found, name=one_line(found.name), fields={key: one_line(words) for key, words in found.fields.items()}
    )


def _check_request(request: EventRequest, kind: str) -> None:
    """Raise InputError for choices that a format does not have."""
    problems, where = Problems(), f"format {kind}"
    if request.identifier is not None and kind not in ("quakeml", "ndk"):
        problems.error("--event-id", f"has no effect with the {where}, which holds one event", "QuakeML, ndk")
    if request.mechanism is not None and kind not in ("quakeml", "rupture.json"):
        problems.error(
            "--mechanism", f"has no effect with the {where}, which states the mechanism", "QuakeML, rupture.json"
        )
    problems.raise_errors()


def _kind(path: Path) -> str:
    """Return the format of a file, or raise InputError."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            begin = file.read(FIRST)
    except OSError as error:
        raise InputError(Problem(str(path), f"cannot be read: {error.strerror}")) from None
    lines = begin.splitlines()
    filled = [line.strip() for line in lines if line.strip()]
    if not filled:
        raise InputError(Problem(str(path), "the file is empty", FORMATS))
    if filled[0].startswith("<"):
        return "quakeml"
    if filled[0].startswith("{"):
        return "rupture.json"
    if filled[0].lower().startswith("#total number of fault_segments"):
        return "param"
    if any(line.startswith("%") for line in filled):
        return "fsp"
    if len(filled) > 1 and filled[1].lower().startswith("event name"):
        return "cmtsolution"
    if len(lines) > 2 and lines[2].startswith("CENTROID:"):
        return "ndk"
    data = [line for line in filled if not line.startswith("#")]
    if data and data[0] in ("1.0", "2.0"):
        return "srf"
    number = next(k for k, line in enumerate(lines, 1) if line.strip())
    what = f"'{shown(filled[0])}' begins no known format of events"
    raise InputError(Problem(f"{path}:{number}", what, FORMATS, "A fault trace is read by --fault."))
