"""Stations of foreign files by longitude and latitude, with file and line of everything wrong."""

import pytest

from faultwave.base.errors import InputError
from faultwave.observe.points import read_points, read_stations
from faultwave.observe.station_files import read_station_file
from faultwave.run.inputs import load_sound


def listed(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    return path, [(s.line, s.words, s.place, s.degrees) for s in read_station_file(path)]


def test_specfem(tmp_path):
    _, found = listed(
        tmp_path, "STATIONS", "# a comment\nPASC CI 34.17141 -118.18523 341.0 0.0\nX20 DB 33.5 -117.25 0.0 20.0\n"
    )
    assert found == [
        (2, ("PASC", "CI"), (-118.18523, 34.17141, 0.0), True),
        (3, ("X20", "DB"), (-117.25, 33.5, -20.0), True),
    ]


def test_specfem_in_metres(tmp_path):
    _, found = listed(tmp_path, "STATIONS", "A1 DB 67000.0 22732.14 0.0 0.0\n")
    assert found == [(1, ("A1", "DB"), (22732.14, 67000.0, 0.0), False)]


def test_sw4(tmp_path):
    text = "grid h=50 nx=100\nrec lat=37.9 lon=-122.2 depth=0 sta=BKS file=bks usgsformat=1\nrec x=1000 y=2000 z=30 file=sta01\n"
    path = tmp_path / "quake.in"
    path.write_text(text.replace("rec x", "# rec x"))
    (found,) = read_station_file(path)
    assert (found.line, found.words, found.place) == (2, ("BKS",), (-122.2, 37.9, 0.0))
    path.write_text(text)
    with pytest.raises(InputError, match="degrees in some lines and metres in others"):
        read_station_file(path)


@pytest.mark.parametrize(
    ("word", "metres"), [("Depth [km]", 1000), ("depth_km", 1000), ("burial(m)", 1), ("depth/ft", 0.3048)]
)
def test_units_of_depths(tmp_path, word, metres):
    _, [(_, _, place, _)] = listed(tmp_path, "s.csv", f"station,lon,lat,{word}\nA,1,2,0.5\n")
    assert place == pytest.approx((1, 2, -0.5 * metres))


def test_csv(tmp_path):
    _, found = listed(
        tmp_path, "s.csv", "Station,Network,Latitude,Longitude,Depth\nCCC,CI,35.5,-117.4,\nTOW2,CI,35.8,-117.8,5\n"
    )
    assert found == [(2, ("CCC", "CI"), (-117.4, 35.5, -0.0), True), (3, ("TOW2", "CI"), (-117.8, 35.8, -5.0), True)]


def test_stationxml(tmp_path):
    text = """<?xml version="1.0"?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.1">
 <Network code="CI">
  <Station code="CCC"><Latitude>35.5</Latitude><Longitude>-117.4</Longitude><Elevation>670</Elevation></Station>
 </Network>
</FDSNStationXML>"""
    _, found = listed(tmp_path, "s.xml", text)
    assert found == [(4, ("CCC", "CI"), (-117.4, 35.5, 0.0), True)]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("STATIONS", "PASC CI 34.1\n", r"STATIONS:1: 'PASC CI 34.1' has 3 words"),
        ("STATIONS", "PASC CI here there 0 0\n", r"STATIONS:1: .* has no place"),
        ("STATIONS", "\n", "names no station"),
        ("s.csv", "station,lon,lat,depth[yd]\nA,1,2,3\n", r"s.csv:1: 'depth\[yd\]' has no known unit"),
        ("s.csv", "station,lon\nA,1\n", r"s.csv:1: the header has no column latitude"),
        ("s.csv", "station,longitude,latitude\nA,35.5,-117.4\n", r"s.csv:2: .*swapped"),
        ("s.csv", "station,longitude,latitude\nA,x,1\n", r"s.csv:2: 'A,x,1' has no place"),
        ("s.xml", "<Station", "is no XML"),
    ],
)
def test_mistakes(tmp_path, name, text, told):
    with pytest.raises(InputError, match=told):
        listed(tmp_path, name, text)


def test_in_a_case(tmp_path):
    (tmp_path / "STATIONS").write_text("PASC CI 34.1 -118.1 0 0\nRIO CI 34.105 -118.1 0 12\n")
    case = {
        "end_time": 1.0, "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-3e3, -3e3, -3e3], "upper": [3e3, 3e3, 0]}},
        "projection": {"crs": "EPSG:32611", "origin": [-118.1, 34.1]},
        "output": {"receivers": {"stations": str(tmp_path / "STATIONS"), "points": [[1, 2, 0]], "names": ["MINE"]}},
    }  # fmt: skip
    made, _ = load_sound(case)
    setting = made.output.receivers
    points = read_points(setting, made.projection)
    assert points.shape == (3, 3) and abs(points[1]).max() < 1e-3
    assert points[2, 1] == pytest.approx(555, abs=2) and points[2, 2] == -12.0
    assert [(s.code, s.network) for s in read_stations(setting)] == [("MINE", "FW"), ("PASC", "CI"), ("RIO", "CI")]
