"""Files of seismology are read by the reader of their own format, which runs nothing of what they hold and believes no count."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.output.observed import FORMATS, read_records, read_stations, read_waveforms
from tests.messages import raises

obspy = pytest.importorskip("obspy")


class Runs:
    """Makes a folder when it is unpickled."""

    def __init__(self, mark: Path):
        self.mark = str(mark)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.mark,)


def pickled(mark: Path) -> bytes:
    """What ObsPy's detection takes for a stream of its own and unpickles."""
    body, name = pickle.dumps(Runs(mark), protocol=2), b"obspy.core.stream"
    return b"\x80\x02X" + struct.pack("<I", len(name)) + name + b"0" + body[2:]


def stream(count: int = 50, begin: float = 0.0, channel: str = "BHE") -> obspy.Stream:
    header = {"network": "CI", "station": "PAS", "channel": channel, "sampling_rate": 10.0,
              "starttime": obspy.UTCDateTime(begin)}  # fmt: skip
    return obspy.Stream([obspy.Trace(np.arange(count, dtype=np.float32), header)])


@pytest.mark.parametrize("suffix", [*FORMATS, ".xml"])
def test_no_file_is_unpickled(tmp_path: Path, suffix: str) -> None:
    data, mark = tmp_path / "data", tmp_path / "code-was-run"
    data.mkdir()
    (data / f"CI.PAS{suffix}").write_bytes(pickled(mark))
    with pytest.raises(InputError, match=f"CI.PAS{suffix}: cannot be read: it is not "):
        read_records(data)
    assert not mark.exists()
    with pytest.raises(OSError):  # the file does what it is for
        pickle.loads(pickled(tmp_path))


@pytest.mark.parametrize(
    ("name", "format"), [("a.mseed", "MSEED"), ("a[1]*.ms", "MSEED"), ("a.sac", "SAC"), ("b.sac", "SACXY")]
)
def test_sound_files_are_read_by_their_format(tmp_path: Path, name: str, format: str) -> None:
    """Also where the name would be a pattern."""
    stream().write(str(tmp_path / "plain"), format=format)
    (tmp_path / "plain").rename(tmp_path / name)
    (trace,) = read_waveforms(tmp_path / name)
    np.testing.assert_allclose(trace.data, np.arange(50))


def test_an_archive_behind_a_record_is_not_unpacked(tmp_path: Path) -> None:
    stream().write(str(tmp_path / "plain"), format="SAC")
    with zipfile.ZipFile(tmp_path / "a.sac", "w") as file:
        file.writestr("inner.sac", (tmp_path / "plain").read_bytes())
    with pytest.raises(ValueError, match="it is not a SAC file"):
        read_waveforms(tmp_path / "a.sac")
    both = tmp_path / "both.mseed"
    stream().write(str(both), format="MSEED")
    with zipfile.ZipFile(both, "a") as file:
        file.write(tmp_path / "plain", "inner.sac")
    assert [t.stats.npts for t in read_waveforms(both)] == [50]


def test_a_count_that_the_file_cannot_hold(tmp_path: Path) -> None:
    stream().write(str(tmp_path / "a.sac"), format="SAC", byteorder="<")
    data = bytearray((tmp_path / "a.sac").read_bytes())
    data[316:320] = struct.pack("<i", 2_000_000_000)
    (tmp_path / "a.sac").write_bytes(data)
    with pytest.raises(Exception, match="declares 2,000,000,000 samples|size"):
        read_waveforms(tmp_path / "a.sac")


def test_pieces_that_lie_years_apart_fill_no_memory(tmp_path: Path) -> None:
    for number, begin in enumerate((0.0, 3e9)):
        stream(begin=begin).write(str(tmp_path / f"{number}.mseed"), format="MSEED")
    with raises(InputError):
        read_records(tmp_path)


def test_components_without_a_common_time(tmp_path: Path) -> None:
    for channel, begin in (("BHE", 0.0), ("BHN", 1000.0), ("BHZ", 0.0)):
        stream(begin=begin, channel=channel).write(str(tmp_path / f"{channel}.mseed"), format="MSEED")
    with raises(InputError):
        read_records(tmp_path)


BOMB = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>'
ROOT = '<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.1">{}</FDSNStationXML>'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'<?xml version="1.0"?>{BOMB}{ROOT}', "declares '<!DOCTYPE'"),
        (f'<?xml version="1.0" encoding="utf-7"?>{ROOT}', "encoding is 'utf-7'"),
        (ROOT.format("<a>" * 300 + "</a>" * 300), "nested more than 200"),
        ("<other/>", "not StationXML"),
    ],
)
def test_xml_declares_nothing(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(ValueError, match=told):
        read_stations(tmp_path / "a.xml")
