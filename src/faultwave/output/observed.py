"""Observed records read from seismological files: miniSEED, SAC, GSE and K-NET, with adjacent StationXML.

ObsPy's own format detection offers a file to every reader it has, including one that unpickles and thereby executes the contents; given
a name it also expands patterns, fetches URLs and unpacks archives. Here a reader of one format receives the bytes of one file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import entry_points
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.files.xml_text import refuse_declarations
from faultwave.base.wording import option
from faultwave.observe.motions.processing import QUANTITIES, direction, resampled, to_axes
from faultwave.output.formats.waveforms import import_obspy

if TYPE_CHECKING:
    import obspy


LARGEST = 1 << 31
"""Maximum size of a file that is read [bytes], far above the records of one station."""

PACKED = 16
"""Maximum number of samples per byte of a file; the closest packing of miniSEED holds 1.75."""

GAPS = 10
"""Maximum ratio of the time span of a channel to the duration of its samples."""


def _sac(head: bytes) -> str:
    """Return ObsPy's name of the SAC format: header version 6 or 7 in either byte order, or text."""
    if head[304:308] in (b"\6\0\0\0", b"\7\0\0\0", b"\0\0\0\6", b"\0\0\0\7"):
        return "SAC"
    return "SACXY" if re.fullmatch(rb"[-+0-9.eE\s]+", head[:150]) and len(head) >= 150 else ""


def _mseed(head: bytes) -> str:
    return "MSEED" if re.match(rb"[0-9 \0]{6}[DRQMVAST]", head) else ""


def _gse(head: bytes) -> str:
    begin = head.lstrip()
    if begin.startswith((b"WID1", b"XW01")):
        return "GSE1"
    return "GSE2" if begin.startswith((b"WID2", b"BEGIN")) else ""


def _knet(head: bytes) -> str:
    return "KNET" if head.startswith(b"Origin Time") else ""


def _unread(head: bytes) -> str:
    """Return '' for formats that ObsPy cannot read but that are commonly mistaken for records."""
    return ""


FORMATS: dict[str, Callable[[bytes], str]] = {
    **dict.fromkeys((".mseed", ".miniseed", ".msd", ".ms", ".seed"), _mseed),
    ".sac": _sac,
    **dict.fromkeys((".gse", ".gse2"), _gse),
    ".knet": _knet,
    **dict.fromkeys((".v1", ".v2"), _unread),
}
"""Functions that return ObsPy's format name from the first bytes ('' if not of this type), by file name suffix."""

CALLED: dict[Callable[[bytes], str], str] = {
    _mseed: "miniSEED",
    _sac: "SAC",
    _gse: "GSE",
    _knet: "K-NET",
    _unread: "miniSEED, SAC, GSE or K-NET",
}


def read_waveforms(path: Path) -> obspy.Stream:
    """Return the traces of a file as ObsPy's stream.

    Parameters
    ----------
    path : Path
        File with one of the suffixes in ``FORMATS``.

    Raises
    ------
    ValueError
        If the contents do not have the format that the name states, declare more samples than the file can hold, or are no time series.
    Exception
        Any exception of ObsPy's reader of that format.
    """
    detect = FORMATS[path.suffix.lower()]
    data = _content(path)
    name = detect(data[:512])
    if not name:
        raise ValueError(f"it is not a {CALLED[detect]} file: its first bytes are {data[:12]!r}")
    read = _reader("waveform", name)
    declared = sum(_samples(trace.stats.npts) for trace in read(BytesIO(data), headonly=True))
    if declared > PACKED * len(data):
        raise ValueError(f"it declares {declared:,} samples, more than its {len(data):,} bytes can contain")
    stream = read(BytesIO(data))
    for trace in stream:
        rate = float(trace.stats.sampling_rate)
        if not 0 < rate < 1e9:
            raise ValueError(f"its sampling rate is {rate:g} Hz")
        if not isinstance(trace.data, np.ndarray) or trace.data.dtype.kind not in "fiu" or trace.data.ndim != 1:
            raise ValueError("it contains no series of numbers")
    return stream


def read_stations(path: Path) -> obspy.Inventory:
    """Return the stations and responses of a StationXML as ObsPy's inventory.

    Raises
    ------
    ValueError
        If the file is not StationXML, or declares XML entities.
    Exception
        Any exception of ObsPy's reader.
    """
    data = _content(path)
    if b"FDSNStationXML" not in data[:4096]:
        raise ValueError("it is not StationXML")
    refuse_declarations(data)
    return _reader("inventory", "STATIONXML")(BytesIO(data), level="response")


def spans_gaps(traces: Iterable[obspy.Trace]) -> bool:
    """Return True if the traces of a channel lie so far apart that joining them would exhaust the memory with padding."""
    begin, end = min(t.stats.starttime for t in traces), max(t.stats.endtime for t in traces)
    samples = (end - begin) * max(t.stats.sampling_rate for t in traces)
    return bool(samples > GAPS * sum(t.stats.npts for t in traces) + 1e6)


def _content(path: Path) -> bytes:
    size = path.stat().st_size
    if size > LARGEST:
        raise ValueError(f"it has {size:,} bytes, and at most {LARGEST:,} are read")
    return path.read_bytes()


def _samples(count: float | str) -> int:
    if int(count) < 0:
        raise ValueError(f"it declares {count} samples")
    return int(count)


def _reader(kind: str, name: str) -> Callable[..., Any]:
    """Return ObsPy's reader of a format, bypassing ``obspy.read``."""
    for found in entry_points(group=f"obspy.plugin.{kind}.{name}", name="readFormat"):
        if found.dist is not None and found.dist.name.lower() == "obspy":
            reader: Callable[..., Any] = found.load()
            return reader
    raise ValueError(f"this version of ObsPy does not read {name}")


SUFFIXES = {*FORMATS, ".xml"}
INSTRUMENTS = {
    "N": "acceleration",
    "G": "acceleration",
    "H": "velocity",
    "L": "velocity",
    "P": "velocity",
    "X": "velocity",
}
"""Quantity measured by an instrument, from the second letter of its SEED channel code; X is synthetic."""
OTHERS = {
    "D": "pressure",
    "F": "magnetic field",
    "J": "rotation",
    "K": "temperature",
    "S": "strain",
    "A": "tilt",
    "V": "strain in a borehole",
}
"""Quantities of the channel code letters that denote no ground motion."""
SAC_QUANTITIES = {6: "displacement", 7: "velocity", 8: "acceleration"}
"""Quantity by the value of the SAC header field IDEP."""
UNITS = {
    "M": "displacement", "M/S": "velocity", "M/SEC": "velocity", "M/S**2": "acceleration", "M/S^2": "acceleration",
    "M/S/S": "acceleration", "M/(S**2)": "acceleration", "M/SEC**2": "acceleration",
}  # fmt: skip
"""Quantity by the StationXML unit, without metric prefixes such as the N of NM/S."""
PREFIXES = ("", "N", "M", "C")
WATER = 60.0
"""Water level of the response deconvolution [dB]."""
DEFAULT_ORIENTATIONS = {"E": (90.0, 0.0), "N": (0.0, 0.0), "Z": (0.0, -90.0)}
"""Default azimuth and dip of components [deg], used if neither StationXML nor SAC headers state them."""


@dataclass(frozen=True)
class Record:
    """Ground motion recorded at one station.

    Attributes
    ----------
    network, station : str
        SEED codes.
    begin : datetime
        UTC time of the first sample.
    step : float
        Sampling interval [s].
    motion : ndarray of shape (3, n)
        East, north and upward components in SI units.
    quantity : str
        Physical quantity: displacement, velocity or acceleration.
    place : tuple of float, optional
        Longitude and latitude [deg], None if unknown.
    components : tuple of bool
        True for each of the three components that was recorded.
    """

    network: str
    station: str
    begin: datetime
    step: float
    motion: np.ndarray
    quantity: str
    place: tuple[float, float] | None = None
    components: tuple[bool, bool, bool] = (True, True, True)

    @property
    def name(self) -> str:
        return f"{self.network}.{self.station}".strip(".")


@dataclass
class _Files:
    stream: obspy.Stream
    inventory: obspy.Inventory
    problems: Problems = field(default_factory=Problems)


def holds_records(folder: Path) -> bool:
    """Return True if a folder contains seismological waveform files."""
    return any(f.suffix.lower() in SUFFIXES - {".xml"} for f in _files(folder))


def _files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix.lower() in SUFFIXES)


def read_records(folder: str | Path, quantity: str | None = None) -> tuple[list[Record], tuple[Problem, ...]]:
    """Read the record of every station in a folder.

    Counts are converted to ground motion by the instrument response of a StationXML.

    Parameters
    ----------
    folder : str or Path
        Folder, searched recursively.
    quantity : str, optional
        Physical quantity of files in SI units that do not state it.

    Returns
    -------
    records : list of Record
        At most one record per station.
    warnings : tuple of Problem
        Data that could not be used.

    Raises
    ------
    InputError
        If ObsPy is not installed, the quantity is unknown, or the folder has no usable record.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(Problem(str(folder), "is no folder", "a folder with miniSEED or SAC files"))
    if quantity is not None and quantity not in QUANTITIES:
        reported = suggest(quantity, QUANTITIES)
        raise InputError(Problem(option("units"), f"'{quantity}' is none", ", ".join(QUANTITIES), reported))
    found = _read(folder)
    records = []
    for key in sorted({(t.stats.network, t.stats.station) for t in found.stream}):
        mine = [t for t in found.stream if (t.stats.network, t.stats.station) == key]
        for group in _groups(mine):
            record = _record(key, group, found, quantity)
            if record is not None:
                records.append(record)
                break
    if not records:
        allowed = "miniSEED or SAC files, with StationXML where they hold counts"
        reasons = [replace(problem, severity="error") for problem in found.problems.items]
        raise InputError([Problem(str(folder), "contains no usable record", allowed), *reasons])
    return records, tuple(found.problems.items)


def _read(folder: Path) -> _Files:
    obspy = import_obspy()
    found = _Files(obspy.Stream(), obspy.Inventory())
    for file in _files(folder):
        try:
            if file.suffix.lower() == ".xml":
                found.inventory += read_stations(file)
            else:
                found.stream += read_waveforms(file)
        except Exception as error:  # ObsPy's readers raise arbitrary exceptions
            found.problems.warn(str(file), f"cannot be read: {error}")
    for key in sorted({trace.id for trace in found.stream}):
        pieces = obspy.Stream([trace for trace in found.stream if trace.id == key])
        try:
            if spans_gaps(pieces):
                raise ValueError("they are far apart in time")
            joined = pieces.copy().merge(method=1, fill_value=None)
        except Exception as error:  # ObsPy raises if pieces differ in rate or type
            found.problems.warn(key, f"its pieces cannot be joined, and it is omitted: {error}")
            joined = obspy.Stream()
        for trace in pieces:
            found.stream.remove(trace)
        found.stream.extend(joined)
    return found


def _groups(traces: Sequence[obspy.Trace]) -> Iterable[list[obspy.Trace]]:
    """Group the traces of a station by instrument and location, most components first, then highest sampling rate."""
    groups: dict[str, list[obspy.Trace]] = {}
    for trace in traces:
        groups.setdefault(f"{trace.stats.location}.{trace.stats.channel[:-1]}", []).append(trace)
    return sorted(groups.values(), key=lambda g: (-len(g), -g[0].stats.sampling_rate))


def _record(key: tuple[str, str], traces: Sequence[obspy.Trace], files: _Files, given: str | None) -> Record | None:
    """Return the record of one instrument, or None with a warning if its traces are no record of ground motion."""
    where, problems = ".".join(key), files.problems
    if any(np.ma.is_masked(t.data) or not np.isfinite(t.data).all() for t in traces):
        problems.warn(where, "has gaps or values that are not finite; it is omitted")
        return None
    motions, ways, quantities = [], [], set()
    for trace in traces:
        physical = _physical(trace, files, given)
        if physical is None:
            return None
        way = _component_direction(trace, files)
        if way is None:
            problems.warn(where, f"the direction of channel {trace.stats.channel} is not known; it is omitted")
            continue
        quantities.add(physical[0])
        motions.append((trace.stats.starttime, trace.stats.delta, physical[1]))
        ways.append(way)
    if len(ways) < 2 or len(quantities) != 1:
        problems.warn(where, f"{len(ways)} components of known direction: two orthogonal ones are needed")
        return None
    ways_array = np.array(ways)
    try:
        begin, step, values = _align_components(motions)
        if len(ways) == 2 and np.abs(ways_array[:, 2]).max() > 0.1:
            raise ValueError("one of two components is vertical")
        motion = to_axes(values, ways_array)
    except ValueError as error:
        problems.warn(where, f"is omitted: {error}")
        return None
    moment = begin.datetime.replace(tzinfo=UTC)
    has = (True, True, len(ways) > 2)
    return Record(key[0], key[1], moment, step, motion, quantities.pop(), _place(traces[0], files), has)


def _physical(trace: obspy.Trace, files: _Files, given: str | None) -> tuple[str, np.ndarray] | None:
    """Return quantity and values in SI units, by the instrument response if known, otherwise as the file or channel code states."""
    where, said = trace.id, _sac_quantity(trace)
    channel = _channel(trace, files)
    response = None if channel is None else channel.response
    unit = _unit(response)
    wanted = _quantity_of(unit)
    if unit and wanted is None:
        files.problems.warn(where, f"is in {unit}, which is not a motion; it is omitted", ", ".join(UNITS))
        return None
    if response is not None and response.response_stages:
        wanted = wanted or "velocity"
        try:
            return wanted, _without_response(trace, files, wanted, response)
        except Exception as error:  # ObsPy passes on arbitrary exceptions of its readers and evalresp
            files.problems.warn(where, f"its response cannot be used: {error}")
            return None
    if np.issubdtype(trace.data.dtype, np.integer) and said is None:
        what = "contains counts, but no StationXML has its response"
        files.problems.warn(where, what, advice="Add its StationXML to the folder, or use files in m, m/s or m/s^2")
        return None
    found = said or wanted or given or _quantity_of_channel(trace.stats.channel, where, files)
    return None if found is None else (found, np.asarray(trace.data, float))


def _quantity_of_channel(channel: str, where: str, files: _Files) -> str | None:
    """Return the quantity that a SEED channel code states, or None if it is no ground motion.

    SEED channel codes have three letters, of which the second denotes the instrument.
    """
    advice = f"Set their quantity with {option('units')}"
    if len(channel) != 3:
        files.problems.warn(where, "its channel code does not define its quantity: read as velocity", "", advice)
        return "velocity"
    letter = channel[1]
    if letter not in INSTRUMENTS:
        what = f"its channel code means {OTHERS.get(letter, 'no known instrument')}; it is omitted"
        allowed = ", ".join(f"{code} {quantity}" for code, quantity in INSTRUMENTS.items())
        files.problems.warn(where, what, f"as second letter: {allowed}", advice)
    return INSTRUMENTS.get(letter)


def _unit(response: obspy.core.inventory.Response) -> str:
    """Return the input unit of an instrument in capital letters, '' if unknown."""
    if response is None:
        return ""
    sensitivity, stages = response.instrument_sensitivity, response.response_stages
    found = sensitivity.input_units if sensitivity else stages[0].input_units if stages else ""
    return str(found or "").upper()


def _quantity_of(unit: str) -> str | None:
    """Return the quantity of a unit, or None if it is no ground motion.

    ObsPy converts NM/S and similar units to M/S.
    """
    named = (UNITS.get(unit[len(p) :]) for p in PREFIXES if unit.startswith(p))
    return next((quantity for quantity in named if quantity), None)


def _without_response(
    trace: obspy.Trace, files: _Files, wanted: str, response: obspy.core.inventory.Response
) -> np.ndarray:
    """Return the recorded motion with the instrument response removed.

    The tapers that the deconvolution needs are added before and after the record, so that the record itself remains unchanged. Its mean is
    restored if the instrument records constant motion, since it contributes to permanent displacement.
    """
    made = trace.copy()
    mean = float(np.mean(made.data))
    values = np.asarray(made.data, float) - mean
    count = max(10, len(values) // 10)
    fade = 0.5 - 0.5 * np.cos(np.pi * (np.arange(count) + 0.5) / count)
    made.data = np.concatenate([values[0] * fade, values, values[-1] * fade[::-1]])
    output = {"displacement": "DISP", "velocity": "VEL", "acceleration": "ACC"}[wanted]
    made.remove_response(inventory=files.inventory, output=output, water_level=WATER, taper=False, zero_mean=False)
    return np.asarray(made.data[count:-count], float) + mean * _of_steady_motion(response, output, trace.stats.delta)


def _of_steady_motion(response: obspy.core.inventory.Response, output: str, step: float) -> float:
    """Return the constant motion per count, or 0 if the gain at zero frequency lies below the water level."""
    gains = response.get_evalresp_response_for_frequencies([0.0, *np.geomspace(1e-3, 0.5 / step, 50)], output=output)
    steady, best = gains[0].real, np.abs(gains).max()
    return 1.0 / steady if abs(steady) > best * 10 ** (-WATER / 20) else 0.0


def _sac_quantity(trace: obspy.Trace) -> str | None:
    sac = trace.stats.get("sac")
    return None if sac is None else SAC_QUANTITIES.get(int(sac.get("idep", -1)))


def _channel(trace: obspy.Trace, files: _Files) -> obspy.core.inventory.Channel | None:
    """Return the StationXML entry of a trace at its start time, any entry of the channel failing that, or None."""
    s = trace.stats
    chosen = files.inventory.select(network=s.network, station=s.station, location=s.location, channel=s.channel)
    channels = [c for network in chosen for station in network for c in station]
    at = [c for c in channels if (c.start_date or s.starttime) <= s.starttime <= (c.end_date or s.starttime)]
    return next(iter(at or channels), None)


def _component_direction(trace: obspy.Trace, files: _Files) -> np.ndarray | None:
    """Return the direction vector (3,) of a component, or None if unknown."""
    entry, sac, letter = _channel(trace, files), trace.stats.get("sac"), trace.stats.channel[-1:]
    if entry is not None and entry.azimuth is not None and entry.dip is not None:
        return direction(float(entry.azimuth), float(entry.dip))
    if sac is not None and "cmpaz" in sac and "cmpinc" in sac:
        return direction(float(sac["cmpaz"]), float(sac["cmpinc"]) - 90.0)
    return direction(*DEFAULT_ORIENTATIONS[letter]) if letter in DEFAULT_ORIENTATIONS else None


def _place(trace: obspy.Trace, files: _Files) -> tuple[float, float] | None:
    entry, sac = _channel(trace, files), trace.stats.get("sac")
    if entry is not None:
        return float(entry.longitude), float(entry.latitude)
    if sac is not None and "stlo" in sac and "stla" in sac:
        return float(sac["stlo"]), float(sac["stla"])
    s = trace.stats
    known = [station for network in files.inventory.select(network=s.network, station=s.station) for station in network]
    return (float(known[0].longitude), float(known[0].latitude)) if known else None


def _align_components(
    motions: Sequence[tuple[obspy.UTCDateTime, float, np.ndarray]],
) -> tuple[obspy.UTCDateTime, float, np.ndarray]:
    """Return begin, step [s] and values (k, n) of components at their common times.

    Raises ValueError if the components have no times in common.
    """
    begin = max(start for start, _, _ in motions)
    end = min(start + step * (len(v) - 1) for start, step, v in motions)
    step = max(step for _, step, _ in motions)
    if end - begin < step:
        raise ValueError("its components have no times in common")
    count = max(2, int((end - begin) / step + 1e-6) + 1)
    at = step * np.arange(count)
    rows = []
    for start, own, values in motions:
        time = (start - begin) + own * np.arange(len(values))
        first = round((begin - start) / own)
        same = abs(own - step) < 1e-9 and abs(time[first]) < 1e-6 * own and first + count <= len(values)
        rows.append(values[first : first + count] if same else resampled(time, values, at))
    return begin, step, np.array(rows)
