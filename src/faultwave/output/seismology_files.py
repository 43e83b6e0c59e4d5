"""Seismological files, read by ObsPy with the format determined from file name and first bytes.

ObsPy's own format detection offers a file to every reader it has, including one that unpickles and thereby executes the contents; given
a name it also expands patterns, fetches URLs and unpacks archives. Here a reader of one format receives the bytes of one file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.files.xml_text import refuse_declarations

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
        raise ValueError(f"it is no {CALLED[detect]} file: its first bytes are {data[:12]!r}")
    read = _reader("waveform", name)
    declared = sum(_samples(trace.stats.npts) for trace in read(BytesIO(data), headonly=True))
    if declared > PACKED * len(data):
        raise ValueError(f"it declares {declared:,} samples, more than its {len(data):,} bytes can hold")
    stream = read(BytesIO(data))
    for trace in stream:
        rate = float(trace.stats.sampling_rate)
        if not 0 < rate < 1e9:
            raise ValueError(f"its sampling rate is {rate:g} Hz")
        if not isinstance(trace.data, np.ndarray) or trace.data.dtype.kind not in "fiu" or trace.data.ndim != 1:
            raise ValueError("it holds no series of numbers")
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
        raise ValueError("it is no StationXML")
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


def _samples(count: Any) -> int:
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


__all__ = ["FORMATS", "read_stations", "read_waveforms", "spans_gaps"]
