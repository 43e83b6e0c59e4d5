"""Seismograms for the tools of seismology: SAC and miniSEED (through ObsPy, an extra) and CSV.

Coordinates of a run are local metres, so files carry them as x, y, z and not as latitudes: x is taken as east, y as
north, z as up. Velocities are in m/s.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.observe.dataset import QUANTITIES
from faultwave.output.atomic import atomic_path, atomic_text
from faultwave.output.converters import Conversion, Converter
from faultwave.output.trace import Trace

ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
NETWORK = "FW"
_COMPONENTS = {"v1": ("E", 90.0, 90.0), "v2": ("N", 0.0, 90.0), "v3": ("Z", 0.0, 0.0)}  # letter, azimuth, incidence
_BANDS = ((1000.0, "F"), (250.0, "C"), (80.0, "H"), (10.0, "B"), (1.0, "M"))


def write_csv(folder: str | Path, prefix: str, traces: Sequence[Trace]) -> list[Path]:
    """One table a receiver, PREFIX-KIND-NNNNN.csv; the head names columns with units, a comment the location."""
    paths = []
    for trace in traces:
        path = Path(folder) / f"{prefix}-{trace.kind}-{trace.number:05d}.csv"
        with atomic_text(path) as file:
            file.write("# location [m]: " + " ".join(f"{x:.12g}" for x in trace.location) + "\n")
            file.write(",".join(["time [s]", *(_with_unit(name) for name in trace.columns)]) + "\n")
            rows = np.column_stack([trace.time, *trace.columns.values()])
            np.savetxt(file, rows, fmt="%.16e", delimiter=",")
        paths.append(path)
    return paths


def _with_unit(name: str) -> str:
    unit = QUANTITIES.get(name, ("", ""))[0]
    return f"{name} [{unit}]" if unit else name


def channel(rate: float, component: str) -> str:
    """Channel code of a synthetic from its sampling rate [1/s] and E, N or Z: band code, X, component."""
    band = next((letter for lowest, letter in _BANDS if rate >= lowest * (1 - 1e-9)), "L")
    return f"{band}X{component}"


def station(trace: Trace) -> str:
    """Station code of a receiver, five characters: R0007; beyond 9999 the number stands alone."""
    return f"R{trace.number:04d}" if trace.number < 10_000 else f"{trace.number:05d}"


def write_sac(folder: str | Path, traces: Sequence[Trace], origin: datetime = ORIGIN) -> list[Path]:
    """Write FW.STATION..CHANNEL.sac, one file a velocity component, float32 as the format demands.

    user0-2 hold x, y, z [m], stdp the depth -z [m]; o = 0 is the start of the simulation.
    Raises InputError without ObsPy or for receivers without velocity or even sampling.
    """
    obspy = _obspy()
    from obspy.io.sac import SACTrace

    paths = []
    for trace in traces:
        step = _step(trace)
        longitude, latitude, turned = trace.geographic or (None, None, 0.0)
        known = {} if longitude is None else {"stlo": longitude, "stla": latitude}
        for name, (letter, azimuth, incidence) in _COMPONENTS.items():
            code = channel(1.0 / step, letter)
            sac = SACTrace(
                data=_velocity(trace, name).astype(np.float32),
                delta=step,
                kstnm=station(trace),
                knetwk=NETWORK,
                kcmpnm=code,
                cmpaz=(azimuth + turned) % 360.0 if incidence else 0.0,
                cmpinc=incidence,
                idep="ivel",
                kuser0="m/s",
                stdp=-float(trace.location[2]),
                **known,
                **{f"user{i}": float(x) for i, x in enumerate(trace.location)},
            )
            sac.reftime = obspy.UTCDateTime(origin)
            sac.b = float(trace.time[0])  # setting the reference time shifts it
            sac.o = 0.0
            path = Path(folder) / f"{NETWORK}.{station(trace)}..{code}.sac"
            with atomic_path(path) as temporary:
                sac.write(str(temporary))
            paths.append(path)
    return paths


def write_mseed(path: str | Path, traces: Sequence[Trace], origin: datetime = ORIGIN) -> Path:
    """Write every velocity component of every receiver into one miniSEED file, float64, time 0 at ``origin``.

    Raises InputError without ObsPy or for receivers without velocity or even sampling.
    """
    obspy = _obspy()
    stream = obspy.Stream()
    for trace in traces:
        step = _step(trace)
        for name, (letter, _, _) in _COMPONENTS.items():
            header = {
                "network": NETWORK,
                "station": station(trace),
                "channel": channel(1.0 / step, letter),
                "delta": step,
                "starttime": obspy.UTCDateTime(origin) + float(trace.time[0]),
            }
            stream.append(obspy.Trace(np.ascontiguousarray(_velocity(trace, name)), header))
    path = Path(path)
    with atomic_path(path) as temporary:
        stream.write(str(temporary), format="MSEED", encoding="FLOAT64")
    return path


def _obspy() -> Any:
    try:
        import obspy
    except ImportError:
        what = "SAC and miniSEED need the package obspy, which is not installed"
        raise InputError(Problem("convert", what, advice='pip install "faultwave[seismo]"')) from None
    return obspy


def _step(trace: Trace) -> float:
    steps = np.diff(trace.time)
    step = float(np.mean(steps)) if len(steps) else 0.0
    # neither format holds uneven samples: refuse rather than bend the time axis
    if step <= 0 or np.max(np.abs(steps - step)) > 1e-3 * step:
        where = f"{trace.kind} {trace.number}"
        raise InputError(Problem(where, "is not evenly sampled", advice="Convert to csv instead"))
    return step


def _velocity(trace: Trace, name: str) -> np.ndarray:
    if name not in trace.columns:
        raise InputError(Problem(f"{trace.kind} {trace.number}", f"has no {name}", advice="Convert to csv instead"))
    return np.asarray(trace.columns[name], dtype=np.float64)


def _mseed(conversion: Conversion) -> list[Path]:
    path = conversion.folder / f"{conversion.results.prefix}-receivers.mseed"
    return [write_mseed(path, conversion.traces("receiver", what="off-fault receivers"))]


CSV = Converter("csv", lambda c: write_csv(c.folder, c.results.prefix, c.traces("receiver", "faultreceiver")))
SAC = Converter("sac", lambda c: write_sac(c.folder, c.traces("receiver", what="off-fault receivers")))
MSEED = Converter("mseed", _mseed)
