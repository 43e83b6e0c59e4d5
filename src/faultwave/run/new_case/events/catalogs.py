"""Events of catalogues as point sources: QuakeML and the ndk format of the Global CMT project, which ObsPy interprets."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from xml.parsers import expat

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.files.paths import shown
from faultwave.base.files.xml_text import refuse_declarations
from faultwave.base.formulas import magnitude, moment_of_magnitude
from faultwave.base.projection import exchange_advice
from faultwave.output.formats.waveforms import import_obspy
from faultwave.run.new_case.event_source import EventRequest, PointEvent, cmt_half_duration

if TYPE_CHECKING:
    from obspy.core.event import Catalog, Event, FocalMechanism, Magnitude, MomentTensor, Origin, ResourceIdentifier

COMPONENTS = ("rr", "tt", "pp", "rt", "rp", "tp")
LISTED = 8
"""Largest number of events that a message lists."""
ALIKE = 0.3
"""Largest difference of magnitudes that state the same moment."""
CONTRADICTION = 1.0
"""Difference of magnitudes from which on tensor and moment are in different units."""
BEGINNINGS = ("hypocenter", "rupture start")
"""Types of origins whose time is that of the first slip."""
MECHANISM = "--mechanism STRIKE,DIP,RAKE"


class Places(Protocol):
    """Lines of the fields of a file."""

    def find(self, identifier: str, name: str) -> str:
        """Return file, line and field ``name`` of the object with a public identifier."""
        ...

    def states(self, identifier: str, name: str) -> bool:
        """Return True if the file has the field."""
        ...


@dataclass
class XmlPlaces:
    """Lines of the elements of an XML file by the ``publicID`` of the object and the path below it."""

    path: Path
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> XmlPlaces:
        """Return the lines of all elements; raise InputError for text that is no XML."""
        data = path.read_bytes()
        found, stack, owners = cls(path), list[str](), list[tuple[int, str]]()
        parser = expat.ParserCreate()

        def begin(name: str, attributes: dict[str, str]) -> None:
            stack.append(name.rpartition(":")[2])
            if "publicID" in attributes:
                owners.append((len(stack), attributes["publicID"]))
            depth, owner = owners[-1] if owners else (0, "")
            found.lines.setdefault((owner, "/".join(stack[depth:])), parser.CurrentLineNumber)

        def end(name: str) -> None:
            if owners and owners[-1][0] == len(stack):
                owners.pop()
            stack.pop()

        parser.StartElementHandler, parser.EndElementHandler = begin, end
        try:
            refuse_declarations(data)
            parser.Parse(data, True)
        except (ValueError, expat.ExpatError) as error:
            place = re.search(r"line (\d+)", str(error))
            where = f"{path}:{place[1]}" if place else str(path)
            raise InputError(Problem(where, f"is not XML: {error}", "QuakeML 1.2")) from None
        return found

    def find(self, identifier: str, name: str) -> str:
        """Return file, line and element."""
        line = self.lines.get((identifier, name)) or self.lines.get((identifier, ""))
        return f"{self.path}:{line}" if line else str(self.path)

    def states(self, identifier: str, name: str) -> bool:
        """Return True if the file has the element."""
        return (identifier, name) in self.lines


NDK_LINES = {
    "time": 0,
    "latitude": 2,
    "longitude": 2,
    "depth": 2,
    "tensor": 3,
    "scalarMoment": 4,
    "sourceTimeFunction": 1,
}
"""Line within the five of an event of the first part of a field's name."""


@dataclass
class NdkPlaces:
    """Lines of the fields of an ndk file by the CMT event name."""

    path: Path
    first: dict[str, int]

    @classmethod
    def of(cls, path: Path) -> NdkPlaces:
        """Return the first lines of all events."""
        lines = path.read_text(errors="replace").splitlines()
        return cls(path, {lines[k + 1][:16].strip(): k + 1 for k in range(0, len(lines) - 1, 5)})

    def find(self, identifier: str, name: str) -> str:
        """Return file and line."""
        event = next((e for e in re.findall(r"[^/#]+", identifier) if e in self.first), None)
        if event is None:
            return str(self.path)
        return f"{self.path}:{self.first[event] + NDK_LINES.get(name.split('/')[0], 0)}"

    def states(self, identifier: str, name: str) -> bool:
        """Return True: every event has every field."""
        return True


def read_quakeml(request: EventRequest, warned: Problems) -> PointEvent:
    """Return the chosen event of a QuakeML file; raise InputError with file and line of every problem."""
    places = XmlPlaces.of(request.file)
    catalog, said = _read(request.file, "QUAKEML")
    if catalog is None:
        what = f"is no QuakeML: {said[-1] if said else 'it has no event'}"
        raise InputError(Problem(f"{request.file}:1", what, "QuakeML 1.2, with the element quakeml first"))
    return _Reader(request, places, warned).read(_chosen(request, catalog))


def read_ndk(request: EventRequest, warned: Problems) -> PointEvent:
    """Return the chosen event of an ndk file; raise InputError with file and line of every problem."""
    problems, path = Problems(), request.file
    catalog, said = _read(path, "NDK")
    for text in said:
        number = re.search(r"event (\d+)", text)
        where = f"{path}:{5 * int(number[1]) - 4}" if number else str(path)
        what = text if number is None else f"event {number[1]} is unreadable: {text.strip().splitlines()[-1]}"
        problems.error(where, what, "five lines of 80 characters an event, as in the ndk files of globalcmt.org")
    if catalog is None or request.identifier is None:
        problems.raise_errors()
    if catalog is None:
        raise InputError(Problem(str(path), "has no event", "five lines an event"))
    try:
        event = _chosen(request, catalog)
    except InputError as error:
        problems.extend(error.problems)
        raise InputError(problems.errors) from None
    return _Reader(request, NdkPlaces.of(path), warned).read(event)


def _read(path: Path, form: str) -> tuple[Catalog | None, list[str]]:
    """Return the events of a file, and the texts of warnings; the last is that of an error."""
    obspy = import_obspy(str(path), "QuakeML and ndk")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            catalog = obspy.read_events(str(path), format=form)
        except Exception as error:  # of many kinds, whatever the reader meets
            said = [str(w.message) for w in caught if w.category.__name__.startswith("ObsPy")]
            return None, said or [str(error)]
    if not len(catalog):
        return None, []
    return catalog, [str(w.message) for w in caught if w.category.__name__.startswith("ObsPy")]


def _chosen(request: EventRequest, catalog: Catalog) -> Event:
    """Return the event of the request. Raises InputError unless there is exactly one."""
    wanted = request.identifier
    found = [e for e in catalog if wanted is None or wanted.lower() in str(e.resource_id).lower() or wanted == _name(e)]
    exact = [
        e for e in found if wanted is not None and wanted.lower() in re.split(r"[/=#?&]", str(e.resource_id).lower())
    ]
    if len(exact) == 1:
        return exact[0]
    if len(found) == 1:
        return found[0]
    listed = found or list(catalog)
    lines = "; ".join(_summary(e) for e in listed[:LISTED])
    more = f"; and {len(listed) - LISTED} more" if len(listed) > LISTED else ""
    what = (
        f"holds {len(found)} events"
        if wanted is None
        else f"{len(found)} of its {len(catalog)} events match '{wanted}'"
    )
    raise InputError(Problem(str(request.file), what, f"--event-id with one of: {lines}{more}"))


def _name(event: Event) -> str:
    described = sorted(event.event_descriptions, key=lambda d: d.type != "earthquake name")
    texts = [d.text for d in described if d.text]
    return " ".join(texts[:1]) or str(event.resource_id).rpartition("/")[2]


def _summary(event: Event) -> str:
    """Return identifier, time and magnitude of an event."""
    origin, size = _preferred(event.origins, event.preferred_origin_id), _size(event)
    parts = [shown(event.resource_id)]
    if origin is not None and origin.time is not None:
        parts.append(origin.time.strftime("%Y-%m-%dT%H:%M:%S"))
    if size is not None and size.mag is not None:
        parts.append(f"M {size.mag:.1f}")
    return " ".join(parts)


def _preferred(items: Sequence[Any], wanted: ResourceIdentifier | None) -> Any:
    """Return the item with an identifier, else the first, None if there is none."""
    return next((i for i in items if wanted is not None and i.resource_id == wanted), items[0] if items else None)


def _size(event: Event) -> Magnitude | None:
    """Return the preferred magnitude, else the first moment magnitude, else the first magnitude, None if there is none."""
    known = [m for m in event.magnitudes if m.mag is not None] or list(event.magnitudes)
    found: Magnitude | None = _preferred(sorted(known, key=lambda m: not _is_moment(m)), event.preferred_magnitude_id)
    return found


def _is_moment(size: Magnitude) -> bool:
    """Return True for moment magnitudes, of whatever waves (Mw, Mwb, Mwc, Mwr, Mww)."""
    return str(size.magnitude_type or "").lower().startswith("mw")


@dataclass
class _Reader:
    """Conversion of an event of ObsPy to a point source."""

    request: EventRequest
    places: Places
    warned: Problems
    problems: Problems = field(default_factory=Problems)
    fields: dict[str, str] = field(default_factory=dict)

    def read(self, event: Event) -> PointEvent:
        """Return the point source; raise InputError with every problem."""
        mechanism = self._mechanism(event)
        tensor = mechanism.moment_tensor if mechanism is not None else None
        own = self._tensor(tensor) if tensor is not None else None
        angles = None if own is not None else self._angles(event, mechanism)
        origin, derived = self._origin(event, tensor if own is not None else None)
        place = self._place(event, origin)
        moment = self._moment(event, tensor, own)
        self.problems.raise_errors()
        self.warned.extend(self.problems.warnings)
        half = self._half_duration(tensor, moment)
        kind = origin.origin_type if origin is not None else None
        centroid = kind == "centroid" or (derived and kind not in BEGINNINGS)
        time = self._time(origin, 0.0 if centroid else half)
        name = shown(" ".join(_name(event).split()))
        return PointEvent(name, place, moment, own, angles, half, time, self.fields)

    def _noted(self, key: str, owner: object, name: str, words: str) -> None:
        """Record where a number came from: an object of ObsPy or its identifier, and the path of the element below it."""
        identifier = str(getattr(owner, "resource_id", owner))
        self.fields[key] = f"{Path(self.places.find(identifier, name)).name}, {words}"

    def _mechanism(self, event: Event) -> FocalMechanism | None:
        """Return the preferred mechanism, or the first that has a tensor or planes."""
        known = [
            m for m in event.focal_mechanisms if m.moment_tensor is not None and m.moment_tensor.tensor is not None
        ]
        known += [m for m in event.focal_mechanisms if m.nodal_planes is not None and m not in known]
        return _preferred(known, event.preferred_focal_mechanism_id) if known else None

    def _tensor(self, found: MomentTensor) -> tuple[float, ...] | None:
        """Return the components [N m], None if there is no tensor."""
        if found.tensor is None:
            return None
        identifier, values = str(found.resource_id), []
        for name in COMPONENTS:
            value = getattr(found.tensor, f"m_{name}")
            if value is None or not np.isfinite(value):
                element = (
                    f"tensor/M{name}/value" if self.places.states(identifier, f"tensor/M{name}/value") else "tensor"
                )
                self.problems.error(
                    self.places.find(identifier, element),
                    f"the moment tensor has no number M{name}",
                    "six numbers in N m",
                )
            else:
                values.append(float(value))
        if len(values) == len(COMPONENTS) and not any(values):
            self.problems.error(self.places.find(identifier, "tensor"), "the moment tensor is zero", "a tensor in N m")
        if self.request.mechanism is not None:
            what = "has no effect: the event has a moment tensor"
            self.problems.error("--mechanism", what, "an event without one", "Leave it out.")
        self._noted("mechanism", identifier, "tensor", "momentTensor/tensor")
        return tuple(values)

    def _angles(self, event: Event, mechanism: FocalMechanism | None) -> tuple[float, float, float] | None:
        """Return strike, dip and rake [deg] of the request or of the preferred nodal plane."""
        asked = self.request.mechanism
        planes = mechanism.nodal_planes if mechanism is not None else None
        number = 2 if planes is not None and planes.preferred_plane == 2 else 1
        plane = getattr(planes, f"nodal_plane_{number}") if planes is not None else None
        if asked is not None:
            if len(asked) != 3:
                self.problems.error(
                    "--mechanism", "the rake alone, without a plane to which it refers", "strike,dip,rake"
                )
                return None
            self.fields["mechanism"] = "--mechanism"
            check_angles(asked, "--mechanism", self.problems)
            return asked[0], asked[1], asked[2]
        if plane is not None and None not in (plane.strike, plane.dip, plane.rake):
            identifier, name = str(getattr(mechanism, "resource_id", "")), f"nodalPlanes/nodalPlane{number}"
            self._noted("mechanism", identifier, name, f"nodalPlane{number}")
            check_angles((plane.strike, plane.dip, plane.rake), self.places.find(identifier, name), self.problems)
            return float(plane.strike), float(plane.dip), float(plane.rake)
        where = self.places.find(str(event.resource_id), "")
        what = "the event has neither a moment tensor nor a nodal plane, and the directions of its waves depend on them"
        if plane is not None:
            where = self.places.find(str(getattr(mechanism, "resource_id", "")), f"nodalPlanes/nodalPlane{number}")
            what = f"nodalPlane{number} has no strike, dip or rake"
        advice = "0,90,0 is a vertical left-lateral fault along north, 0,45,90 a thrust."
        self.problems.error(where, what, MECHANISM, advice)
        return None

    def _origin(self, event: Event, tensor: MomentTensor | None) -> tuple[Origin | None, bool]:
        """Return the origin of the tensor and True, else the preferred origin and False."""
        if tensor is not None and tensor.derived_origin_id is not None:
            wanted = tensor.derived_origin_id.id
            own = next((o for o in event.origins if str(o.resource_id) == wanted), None)
            if own is not None:
                return own, True
        return _preferred(event.origins, event.preferred_origin_id), False

    def _place(self, event: Event, origin: Origin | None) -> tuple[float, float, float]:
        """Return longitude, latitude [deg] and depth [m]."""
        if origin is None:
            self.problems.error(
                self.places.find(str(event.resource_id), ""), "the event has no origin", "latitude, longitude and depth"
            )
            return 0.0, 0.0, 0.0
        identifier, values = str(origin.resource_id), dict[str, float]()
        for name in ("longitude", "latitude", "depth"):
            value = getattr(origin, name)
            where = self.places.find(identifier, f"{name}/value")
            if value is None:
                given = self.places.states(identifier, f"{name}/value")
                what = f"the {name} of the origin is no number" if given else f"the origin has no {name}"
                self.problems.error(where, what, "degrees" if name != "depth" else "metres below sea level")
                continue
            values[name] = float(value)
        if len(values) < 3:
            return 0.0, 0.0, 0.0
        lon, lat, depth = values["longitude"], values["latitude"], values["depth"]
        if not (abs(lon) <= 360.0 and abs(lat) <= 90.0):
            what = f"longitude {lon:g}, latitude {lat:g}"
            self.problems.error(
                self.places.find(identifier, "latitude/value"),
                what,
                "-360 to 360, -90 to 90 degrees",
                exchange_advice(lon, lat),
            )
        check_depth(
            depth, self.places.find(identifier, "depth/value"), "QuakeML counts depths in metres.", self.problems
        )
        kind = f"origin ({origin.origin_type})" if origin.origin_type else "origin"
        self._noted("place", identifier, "latitude/value", f"latitude, longitude and depth of the {kind}")
        return lon, lat, depth

    def _moment(self, event: Event, tensor: MomentTensor | None, own: tuple[float, ...] | None) -> float:
        """Return the scalar moment [N m] of the tensor, else the stated one, else that of the magnitude."""
        size = _size(event)
        stated = tensor.scalar_moment if tensor is not None else None
        if own is not None and len(own) == len(COMPONENTS):
            moment = float(np.sqrt(0.5 * (np.square(own[:3]).sum() + 2.0 * np.square(own[3:]).sum())))
            self._check_moment(moment, stated, tensor)
            self.fields["moment"] = f"{self.fields['mechanism']}: sqrt(M:M / 2)"
            return moment
        if own is not None:
            return 0.0
        if stated is not None and stated > 0:
            self._noted("moment", tensor, "scalarMoment/value", "scalarMoment [N m]")
            return float(stated)
        if size is None or size.mag is None:
            owner = event if size is None else size
            self.problems.error(
                self.places.find(str(owner.resource_id), "mag/value"),
                "the event has no magnitude",
                "a magnitude, or a moment tensor",
            )
            return 0.0
        where, kind = self.places.find(str(size.resource_id), "mag/value"), size.magnitude_type or "without a type"
        if not 0 < size.mag < 10:
            self.problems.error(where, f"the magnitude is {size.mag:g}", "0 to 10")
        elif not _is_moment(size):
            self.warned.warn(where, f"the magnitude {size.mag:g} ({kind}) is used as moment magnitude", "Mw")
        self._noted("moment", size, "mag/value", f"mag of the magnitude ({kind})")
        return moment_of_magnitude(float(size.mag))

    def _check_moment(self, moment: float, stated: float | None, tensor: MomentTensor | None) -> None:
        """Report a tensor that contradicts the stated scalar moment."""
        if tensor is None or not stated or not stated > 0 or not moment > 0:
            return
        off = abs(magnitude(moment) - magnitude(stated))
        where = self.places.find(str(tensor.resource_id), "scalarMoment/value")
        what = f"the scalar moment is {stated:.4g} N m, that of the tensor {moment:.4g} N m"
        if off > CONTRADICTION:
            self.problems.error(where, what, "the same moment", "Is one of them in dyne cm? 1 N m is 1e7 dyne cm.")
        elif off > ALIKE:
            self.warned.warn(where, what, "the same moment", "The tensor is used.")

    def _half_duration(self, tensor: MomentTensor | None, moment: float) -> float:
        """Return the half duration of the moment rate [s], by the scaling of the Global CMT project if none is given."""
        function = tensor.source_time_function if tensor is not None else None
        if function is not None and function.duration is not None and 0 < function.duration < 1e4:
            self._noted("duration", tensor, "sourceTimeFunction/duration", "half the duration of sourceTimeFunction")
            return 0.5 * float(function.duration)
        self.fields["duration"] = "no duration in the file: 1.05e-8 M0^(1/3), M0 in dyne cm (Ekstroem et al. 2012)"
        return cmt_half_duration(moment)

    def _time(self, origin: Origin | None, later: float) -> datetime | None:
        """Return the centroid time; ``later`` is its delay after the time of the origin [s]."""
        if origin is None or origin.time is None:
            return None
        self._noted(
            "time",
            origin,
            "time/value",
            "time of the origin" + (f" + half duration {later:.3g} s" if later else ""),
        )
        return origin.time.datetime.replace(tzinfo=UTC) + timedelta(seconds=later)


def check_angles(angles: Sequence[float], where: str, problems: Problems) -> None:
    """Add an error for strike, dip and rake [deg] that are no angles of a fault."""
    strike, dip, rake = angles
    if not (abs(strike) <= 360.0 and 0.0 <= dip <= 90.0 and abs(rake) <= 360.0):  # False for NaN
        what = f"strike {strike:g}, dip {dip:g}, rake {rake:g}"
        problems.error(where, what, "strike and rake -360 to 360, dip 0 to 90 degrees")


SHALLOWEST, DEEPEST = 0.0, 700e3
"""Depths between which an event lies [m]."""
SHALLOW = 100.0
"""Depth [m] above which few events are located."""


def check_depth(depth: float, where: str, unit: str, problems: Problems) -> None:
    """Add an error for a depth [m] at which no earthquake occurs, or a warning for one that is probably in kilometres."""
    if not SHALLOWEST < depth <= DEEPEST:
        advice = "A source above the flat ground needs another depth in the file." if depth <= 0 else unit
        problems.error(where, f"the depth is {depth:g} m", f"above {SHALLOWEST:g} to {DEEPEST:g} m below z = 0", advice)
    elif depth < SHALLOW:
        problems.warn(
            where, f"the depth is {depth:g} m", f"usually {SHALLOW:g} m or more", f"{unit} Is it in kilometres?"
        )
