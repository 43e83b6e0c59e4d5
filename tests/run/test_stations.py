"""Codes of stations and the origin time: from a case and its files to HDF5, xarray, SAC, miniSEED and StationXML."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import h5py
import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.run.session import Session

ORIGIN = "2019-07-06T05:19:53.04+02:00"
CODES = [("CI", "GSC"), ("CI", "SVD"), ("NP", "PASC"), ("CI", "R0004"), ("CI", "LAX")]
SOURCE = {
    "kind": "moment-tensor", "location": [0.0, 0.0, -500.0], "tensor": {"xy": 1e15},
    "time_function": {"kind": "brune", "duration": 0.01},
}  # fmt: skip
ENGINES = {
    "dg": {
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-1e3, -1e3, -2e3], "upper": [1e3, 1e3, 0.0]}},
        "numerics": {"order": 2, "backend": "numpy", "threads": 1},
    },
    "fd": {
        "engine": "fd",
        "grid": {"spacing": 200.0, "lower": [-2e3, -2e3, -4e3], "upper": [2e3, 2e3, 0.0]},
        "numerics": {"backend": "numpy", "threads": 1},
    },
}  # fmt: skip


def run(engine: str, folder: Path) -> Session:
    (folder / "xyz.txt").write_text("100 50 -300 PASC NP  # Pasadena\n200 50 -300\n")
    (folder / "lonlat.txt").write_text("-117.0 34.001 -100 LAX\n")
    receivers = {
        "points": [[100.0, -50.0, 0.0]], "geographic": [[-117.0, 34.0, -100.0]], "names": ["GSC", "SVD"], "network": "CI",
        "file": str(folder / "xyz.txt"), "geographic_file": str(folder / "lonlat.txt"), "interval": 0.01,
    }  # fmt: skip
    case = {
        "end_time": 0.04,
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
        "projection": {"crs": "+proj=utm +zone=11 +datum=WGS84", "origin": [-117.0, 34.0]},
        "sources": [SOURCE],
        "output": {"folder": str(folder / "out"), "origin_time": ORIGIN, "receivers": receivers},
    }
    return fw.run(case | ENGINES[engine])


@pytest.fixture(scope="module", params=list(ENGINES))
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    return run(request.param, tmp_path_factory.mktemp(request.param))


def test_files_and_python_know_them(session: Session) -> None:
    traces = fw.load(session.folder).traces["receiver"]
    assert [(t.network, t.station) for t in traces.values()] == CODES
    assert {t.origin for t in traces.values()} == {datetime(2019, 7, 6, 3, 19, 53, 40000, UTC)}
    assert repr(traces[1]).startswith("<Trace receiver 1 CI.GSC: 5 samples")
    manifest = json.loads((session.folder / "run-manifest.json").read_text())
    assert manifest["case"]["output"]["origin_time"] == "2019-07-06T03:19:53.040000Z"


def test_xarray_sees_coordinates(session: Session) -> None:
    """In the file as in memory: times, receivers, quantities and components are coordinates, stations words along receivers."""
    xarray = pytest.importorskip("xarray")
    made = session.receivers.to_xarray()
    with xarray.open_dataset(session.folder / "run-receivers.h5", group="receivers", engine="netcdf4") as found:
        assert set(found.coords) >= {"time", "receiver", "quantity", "component"}
        assert found["values"].dims == ("time", "receiver", "quantity")
        assert found["location"].dims == ("receiver", "component")
        np.testing.assert_array_equal(found.receiver, [1, 2, 3, 4, 5])
        assert [str(c) for c in found.component.values] == ["x", "y", "z"]
        assert found["location"].attrs["units"] == "m"
        stations = found.set_coords(["station", "network"]).swap_dims(receiver="station")
        here = stations["values"].sel(station="PASC", quantity="v2")
        assert here.sel(time=0.02, method="nearest").item() == session.receivers.quantity("v2")[2, 2]
        assert here.network.item() == "NP"
    assert list(made.station.values) == [code for _, code in CODES]
    assert made.attrs["origin_time"].startswith("2019-07-06T03:19:53.04")


def test_obspy_reads_them(session: Session, tmp_path: Path) -> None:
    obspy = pytest.importorskip("obspy")
    begin = obspy.UTCDateTime(ORIGIN)
    stream = obspy.read(str(fw.convert(session.folder, "mseed", tmp_path)[0]))
    assert {(t.stats.network, t.stats.station) for t in stream} == set(CODES)
    assert all(t.stats.starttime == begin for t in stream)
    sac = obspy.read(str(tmp_path / "NP.PASC..HXN.sac")) if fw.convert(session.folder, "sac", tmp_path) else None
    assert sac is not None and (sac[0].stats.network, sac[0].stats.station) == ("NP", "PASC")
    assert abs(sac[0].stats.starttime - begin) < 1e-3 and sac[0].stats.sac.o == 0.0  # SAC counts in milliseconds
    inventory = obspy.read_inventory(str(fw.convert(session.folder, "stationxml", tmp_path)[0]))
    places = {(net.code, s.code): s for net in inventory for s in net}
    assert set(places) == set(CODES)
    assert (places["CI", "LAX"].longitude, places["CI", "LAX"].latitude) == pytest.approx((-117.0, 34.001), abs=1e-6)
    assert inventory.get_coordinates("CI.SVD..HXZ", begin)["elevation"] == pytest.approx(-100.0)
    orientation = inventory.get_orientation("CI.SVD..HXZ", begin)
    assert (orientation["azimuth"], orientation["dip"]) == (0.0, -90.0)
    csv = fw.convert(session.folder, "csv", tmp_path)[2].read_text()
    assert csv.startswith("# location [m]: 100 50 -300, station NP.PASC, origin time 2019-07-06T03:19:53.04")


def test_without_an_origin_time_nothing_is_dated(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Only miniSEED must have a date: it is 1970, and told once."""
    obspy = pytest.importorskip("obspy")
    from obspy.io.sac import SACTrace

    case = {"end_time": 0.02, "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}, **ENGINES["dg"]}
    case["projection"] = {"crs": "+proj=utm +zone=11 +datum=WGS84", "origin": [-117.0, 34.0]}
    receivers = {"points": [[100.0, -50.0, -300.0], [200.0, -50.0, -300.0]], "names": ["AAA", "BBB"], "interval": 0.01}
    folder = fw.run(case | {"output": {"folder": str(tmp_path / "out"), "receivers": receivers}}).folder
    assert "origin_time" not in h5py.File(folder / "run-receivers.h5")["receivers"].attrs
    sac = SACTrace.read(str(fw.convert(folder, "sac", tmp_path)[0]), headonly=True)
    assert all(getattr(sac, name) is None for name in ("nzyear", "nzjday", "nzhour", "nzmin", "nzsec", "nzmsec"))
    assert sac.iztype == "iunkn" and (sac.b, sac.o) == (0.0, 0.0)
    inventory = obspy.read_inventory(str(fw.convert(folder, "stationxml", tmp_path)[0]))
    assert all(part.start_date is None for network in inventory for station in network for part in (station, *station))
    assert not [record for record in caplog.records if "1970" in record.getMessage()]
    stream = obspy.read(str(fw.convert(folder, "mseed", tmp_path)[0]))
    assert all(trace.stats.starttime == obspy.UTCDateTime(0) for trace in stream)
    (told,) = [record.getMessage() for record in caplog.records if "1970" in record.getMessage()]
    assert "output.origin_time" in told and "run-receivers.mseed" in told


def test_codes_that_miniseed_cannot_hold(tmp_path: Path) -> None:
    pytest.importorskip("obspy")
    case = {"end_time": 0.02, "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}}, **ENGINES["dg"]}
    receivers = {"points": [[100.0, -50.0, -300.0]], "names": ["PASADENA"], "interval": 0.01}
    made = fw.run(case | {"output": {"folder": str(tmp_path / "out"), "receivers": receivers}})
    with pytest.raises(InputError, match=r"receiver 1: is called FW.PASADENA.*two and five characters"):
        fw.convert(made.folder, "mseed")
    with pytest.raises(InputError, match=r"receiver 1: has no longitude and latitude.*projection"):
        fw.convert(made.folder, "stationxml")
    assert [p.name for p in fw.convert(made.folder, "sac")][0] == "FW.PASADENA..HXE.sac"
