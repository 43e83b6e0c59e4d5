"""Seismograms for seismological tools: SAC, miniSEED and StationXML (through ObsPy, an extra) and CSV.

Coordinates of a run are local metres, so files store them as x, y, z, and as longitude and latitude if the case has a projection: x is
taken as east, y as north, z as up. Velocities are in m/s. Time 0 is the case's origin time. If the case has none, SAC's reference time is
undefined and StationXML has no start dates, as both formats allow; miniSEED must have a date, which is then 1970-01-01, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.log import get_logger
from faultwave.observe.dataset import QUANTITIES
from faultwave.observe.stations.codes import default_code
from faultwave.output.atomic import atomic_path, atomic_text
from faultwave.output.formats import Conversion, Converter
from faultwave.output.trace import Trace

if TYPE_CHECKING:
    from types import ModuleType

    import obspy

UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)
"""Date in miniSEED files if no origin time is given."""
NETWORK = "FW"
log = get_logger(__name__)
_COMPONENTS = {"v1": ("E", 90.0, 90.0), "v2": ("N", 0.0, 90.0), "v3": ("Z", 0.0, 0.0)}  # letter, azimuth, incidence
_REFERENCE = ("nzyear", "nzjday", "nzhour", "nzmin", "nzsec", "nzmsec")
_BANDS = ((1000.0, "F"), (250.0, "C"), (80.0, "H"), (10.0, "B"), (1.0, "M"))


def write_csv(folder: str | Path, prefix: str, traces: Sequence[Trace]) -> list[Path]:
    """Write one table per receiver, PREFIX-KIND-NNNNN.csv, with units in the header and the location in a comment."""
    paths = []
    for trace in traces:
        path = Path(folder) / f"{prefix}-{trace.kind}-{trace.number:05d}.csv"
        with atomic_text(path) as file:
            called = f", station {trace.network}.{trace.station}" if trace.station else ""
            since = f", origin time {trace.origin.isoformat()}" if trace.origin else ""
            file.write("# location [m]: " + " ".join(f"{x:.12g}" for x in trace.location) + called + since + "\n")
            file.write(",".join(["time [s]", *(_with_unit(name) for name in trace.columns)]) + "\n")
            rows = np.column_stack([trace.time, *trace.columns.values()])
            np.savetxt(file, rows, fmt="%.16e", delimiter=",")
        paths.append(path)
    return paths


def _with_unit(name: str) -> str:
    unit = QUANTITIES.get(name, ("", ""))[0]
    return f"{name} [{unit}]" if unit else name


def channel(rate: float, component: str) -> str:
    """Return the channel code of a synthetic: band code of its sampling rate [1/s], X, and component E, N or Z."""
    band = next((letter for lowest, letter in _BANDS if rate >= lowest * (1 - 1e-9)), "L")
    return f"{band}X{component}"


def codes(trace: Trace) -> tuple[str, str]:
    """Return the network and station codes of a receiver, by default FW and its number, such as R0007."""
    return trace.network or NETWORK, trace.station or default_code(trace.number)


def write_sac(folder: str | Path, traces: Sequence[Trace]) -> list[Path]:
    """Write NETWORK.STATION..CHANNEL.sac, one file per velocity component, float32 as the format requires.

    Headers user0-2 hold x, y, z [m] of the station, stdp its depth -z [m]; of the event, as far as known, user3-5 hold x, y, z [m], evla
    and evlo its place [deg], evdp its depth [km], mag its magnitude, and o its onset [s] after the start of the simulated time, else 0.
    Without an origin time the reference time is undefined (nzyear to nzmsec -12345, iztype unknown).

    Raises InputError if ObsPy is missing, and for receivers without velocity or even sampling.
    """
    import_obspy()
    from obspy.io.sac import SACTrace

    paths = []
    for trace in traces:
        step = evenly_sampled(trace)
        longitude, latitude, turned = trace.geographic or (None, None, 0.0)
        network, station = codes(trace)
        known = {} if longitude is None else {"stlo": longitude, "stla": latitude}
        for name, (letter, azimuth, incidence) in _COMPONENTS.items():
            code = channel(1.0 / step, letter)
            sac = SACTrace(
                data=velocity(trace, name).astype(np.float32),
                delta=step,
                kstnm=station,
                knetwk=network,
                kcmpnm=code,
                cmpaz=(azimuth + turned) % 360.0 if incidence else 0.0,
                cmpinc=incidence,
                idep="ivel",
                kuser0="m/s",
                stdp=-float(trace.location[2]),
                **known,
                **_event_headers(trace),
                **{f"user{i}": float(x) for i, x in enumerate(trace.location)},
            )
            _refer(sac, trace)
            path = Path(folder) / f"{network}.{station}..{code}.sac"
            with atomic_path(path) as temporary:
                sac.write(str(temporary))
            paths.append(path)
    return paths


def _event_headers(trace: Trace) -> dict[str, float]:
    """Return the SAC headers that describe the event, as far as known."""
    known = _numbers(trace.event)
    names = {"event_latitude": "evla", "event_longitude": "evlo", "event_magnitude": "mag"}
    found = {header: known[name] for name, header in names.items() if name in known}
    if "event_depth" in known:
        found["evdp"] = 1e-3 * known["event_depth"]
    if {"evla", "evlo"} <= found.keys() and trace.geographic is not None:
        found["lcalda"] = True  # SAC then computes distance and azimuths
    place = np.asarray(trace.event.get("event_location", ()), float)
    return found | {f"user{3 + i}": float(x) for i, x in enumerate(place[:3])}


def _numbers(event: Mapping[str, object]) -> dict[str, float]:
    """Return the attributes of an event that are finite numbers."""
    found = {k: float(v) for k, v in event.items() if isinstance(v, int | float | np.number)}
    return {k: v for k, v in found.items() if np.isfinite(v)}


def _refer(sac: obspy.core.AttribDict, trace: Trace) -> None:
    """Set the times of a SAC header, relative to the origin time or to an undefined reference time."""
    if trace.origin is not None:
        sac.reftime = import_obspy().UTCDateTime(trace.origin)
    sac.b, sac.o = (
        float(trace.time[0]),
        _numbers(trace.event).get("event_onset", 0.0),
    )  # after reftime, which shifts them
    if trace.origin is None:
        sac.iztype = "iunkn"
        for part in _REFERENCE:
            setattr(sac, part, None)


def write_mseed(path: str | Path, traces: Sequence[Trace]) -> Path:
    """Write every velocity component of every receiver into one miniSEED file, float64.

    Without an origin time samples count from 1970-01-01, as the format requires a date, and a warning is logged. Raises InputError if
    ObsPy is missing, for receivers without velocity or even sampling, and for codes that are too long for the format.
    """
    obspy = import_obspy()
    stream = obspy.Stream()
    _check_codes(traces)
    if any(trace.origin is None for trace in traces):
        log.warning("%s: the run has no origin time and miniSEED requires one: its times are relative to "
                    "1970-01-01. Set output.origin_time, or convert to sac, which requires none", path)  # fmt: skip
    for trace in traces:
        step = evenly_sampled(trace)
        network, station = codes(trace)
        for name, (letter, _, _) in _COMPONENTS.items():
            header = {
                "network": network,
                "station": station,
                "channel": channel(1.0 / step, letter),
                "delta": step,
                "starttime": obspy.UTCDateTime(trace.origin or UNKNOWN) + float(trace.time[0]),
            }
            stream.append(obspy.Trace(np.ascontiguousarray(velocity(trace, name)), header))
    path = Path(path)
    with atomic_path(path) as temporary:
        stream.write(str(temporary), format="MSEED", encoding="FLOAT64")
    return path


def _check_codes(traces: Sequence[Trace]) -> None:
    """Raise InputError for codes longer than the two and five characters that miniSEED 2 holds."""
    problems = Problems()
    for trace in traces:
        network, station = codes(trace)
        if len(network) > 2 or len(station) > 5:
            what = f"is called {network}.{station}, but miniSEED allows two and five characters"
            problems.error(f"{trace.kind} {trace.number}", what, advice="Convert to sac, or use shorter codes")
    problems.raise_errors()


def write_stationxml(path: str | Path, traces: Sequence[Trace]) -> Path:
    """Write networks, stations and channels with locations and directions as StationXML 1.1.

    Channels correspond to the SAC and miniSEED files: m/s, without a response, and without dates if the run has no origin time. Raises
    InputError if ObsPy is missing, and for receivers without longitude and latitude.
    """
    obspy = import_obspy()
    from obspy.core.inventory import Channel, Inventory, Network, Site, Station

    networks: dict[str, list[Station]] = {}
    for trace in traces:
        if trace.geographic is None:
            what, advice = "has no longitude and latitude, which StationXML needs", "Add a projection to the case"
            raise InputError(Problem(f"{trace.kind} {trace.number}", what, advice=advice))
        longitude, latitude, turned = trace.geographic
        step = evenly_sampled(trace)
        place = {"latitude": latitude, "longitude": longitude, "elevation": float(trace.location[2])}
        begin = None if trace.origin is None else obspy.UTCDateTime(trace.origin) + float(trace.time[0])
        network, station = codes(trace)
        channels = [
            Channel(
                channel(1.0 / step, letter), "", depth=0.0, azimuth=(azimuth + turned) % 360.0 if incidence else 0.0,
                dip=incidence - 90.0, sample_rate=1.0 / step, start_date=begin, **place,
            )
            for letter, azimuth, incidence in _COMPONENTS.values()
        ]  # fmt: skip
        about = Site(f"receiver {trace.number} of a simulation")
        made = Station(station, **place, site=about, channels=channels, start_date=begin)
        networks.setdefault(network, []).append(made)
    made = Inventory([Network(code, stations) for code, stations in networks.items()], source="Faultwave")
    path = Path(path)
    with atomic_path(path) as temporary:
        made.write(str(temporary), format="STATIONXML", validate=True)
    return path


def import_obspy(where: str = "convert", users: str = "SAC, miniSEED and StationXML") -> ModuleType:
    """Return the module obspy, or raise InputError at ``where`` with installation advice if it is not installed."""
    try:
        import obspy
    except ImportError:
        what = f"{users} need the package obspy, which is not installed"
        raise InputError(Problem(where, what, advice='pip install "faultwave[seismo]"')) from None
    return obspy


def evenly_sampled(trace: Trace) -> float:
    """Return the sampling interval [s], or raise InputError if samples are uneven, which no format here supports."""
    steps = np.diff(trace.time)
    step = float(np.mean(steps)) if len(steps) else 0.0
    # refuse rather than distort the time axis
    if step <= 0 or np.max(np.abs(steps - step)) > 1e-3 * step:
        where = f"{trace.kind} {trace.number}"
        raise InputError(Problem(where, "is not evenly sampled", advice="Convert to csv instead"))
    return step


def velocity(trace: Trace, name: str) -> np.ndarray:
    """Return a component of the velocity [m/s], or raise InputError if the receiver has none."""
    if name not in trace.columns:
        raise InputError(Problem(f"{trace.kind} {trace.number}", f"has no {name}", advice="Convert to csv instead"))
    return np.asarray(trace.columns[name], dtype=np.float64)


def _mseed(conversion: Conversion) -> list[Path]:
    path = conversion.folder / f"{conversion.results.prefix}-receivers.mseed"
    return [write_mseed(path, conversion.traces("receiver", what="off-fault receivers"))]


CSV = Converter("csv", lambda c: write_csv(c.folder, c.results.prefix, c.traces("receiver", "faultreceiver")))


def _stationxml(conversion: Conversion) -> list[Path]:
    path = conversion.folder / f"{conversion.results.prefix}-stations.xml"
    return [write_stationxml(path, conversion.traces("receiver", what="off-fault receivers"))]


SAC = Converter("sac", lambda c: write_sac(c.folder, c.traces("receiver", what="off-fault receivers")))
MSEED = Converter("mseed", _mseed)
STATIONXML = Converter("stationxml", _stationxml)
