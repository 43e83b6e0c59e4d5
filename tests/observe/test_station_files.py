"""Stations of foreign files by longitude and latitude, with file and line of everything wrong."""

import re
from pathlib import Path

import h5py
import numpy as np
import pyproj
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, Problems
from faultwave.fd.operators.topography import placed
from faultwave.fd.planning.plan import make_plan
from faultwave.observe.stations.files import read_station_file
from faultwave.observe.stations.points import GROUND, SEA_LEVEL, projected, read_points, read_stations, z_references
from faultwave.run.inputs import load_valid_case
from tests.messages import raises


def listed(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    found = read_station_file(path)
    assert all(s.where.startswith(f"{path}:") for s in found)
    return path, [(int(s.where.rsplit(":", 1)[1]), s.codes, s.place, s.degrees) for s in found]


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
    _, found = listed(tmp_path, "STATIONS", "A1 DB 67000.0 22732.14 0.0 0.0\nA2 DB 0.0 1.5D+01 0.0 2.0d1\n")
    assert found[1] == (2, ("A2", "DB"), (15.0, 0.0, -20.0), False)  # metres, as those of the first


def test_sw4(tmp_path):
    text = "grid h=50 nx=100\nrec lat=37.9 lon=-122.2 depth=0 sta=BKS file=bks usgsformat=1\nrec x=1000 y=2000 z=30 file=sta01\n"
    path = tmp_path / "quake.in"
    path.write_text(text.replace("rec x", "# rec x"))
    (found,) = read_station_file(path)
    assert (found.where, found.codes, found.place) == (f"{path}:2", ("BKS",), (-122.2, 37.9, 0.0))
    path.write_text(text)
    with raises(InputError):
        read_station_file(path)


def test_sw4_settings_of_files_are_reported(tmp_path):
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file.create_group("GEO")["STLA,STLO,STDP"] = np.array([34.1, -118.1, 7.0])
    path, warned = tmp_path / "q.in", Problems()
    path.write_text("grid h=1 lat=34 lon=-118\nsachdf5 infile=s.h5 downsample=4\n")
    (found,) = read_station_file(path, warned)
    assert found.where == f"{tmp_path / 's.h5'}: GEO"
    (problem,) = warned.warnings
    assert problem.where == f"{path}:2" and problem.what.startswith("downsample of station lines are not")


SW4_GRID = "grid x=10000 y=10000 z=5000 h=100 lat=34.1 lon=-118.1 az={}\n"


def stations_of(tmp_path, text, name="quake.in", azimuth=0.0):
    """Places, what z counts from, and codes of a case's stations, with the projection's origin at the grid's corner."""
    (tmp_path / name).write_text(text)
    case, _ = load_valid_case(in_a_case(tmp_path / name, azimuth))
    setting = case.output.receivers
    return read_points(setting, case.projection), z_references(setting), [s.code for s in read_stations(setting)]


@pytest.mark.parametrize(
    ("azimuth", "east", "north"),
    [(0, 1000, 3000), (90, 3000, -1000), (180, -1000, -3000), (270, -3000, 1000), (143.6, 975.22, -3007.98)],
)
def test_sw4_axes_are_those_of_the_grid_line(tmp_path, azimuth, east, north):
    """x points az degrees clockwise from north, y 90 degrees further: at 143.6 degrees x is (0.5934, -0.8049), y (-0.8049, -0.5934)."""
    points, _, _ = stations_of(tmp_path, SW4_GRID.format(azimuth) + "rec x=3000 y=1000 depth=0 sta=A\n")
    convergence = np.radians(0.62)  # true north is that much off the map's at this longitude in zone 11
    assert points[0, :2] == pytest.approx([east, north], abs=3200 * convergence)
    assert np.hypot(*points[0, :2]) == pytest.approx(np.hypot(3000, 1000), abs=0.1)


def test_sw4_axes_count_from_true_north(tmp_path):
    """In local axes turned by 30 degrees from the map's north, as an independent computation by a geodesic says."""
    points, _, _ = stations_of(tmp_path, SW4_GRID.format(20) + "rec x=3000 y=1000 depth=0 sta=A\n", azimuth=30.0)
    case, _ = load_valid_case(in_a_case(tmp_path / "quake.in", 30.0))
    lon, lat = projected(case.projection, "here").to_geographic(points[:, :2])[0]
    toward, _, away = pyproj.Geod(ellps="WGS84").inv(-118.1, 34.1, lon, lat)
    assert toward % 360 == pytest.approx(20 + np.degrees(np.arctan2(1000, 3000)), abs=0.05)
    assert away == pytest.approx(np.hypot(3000, 1000), rel=1e-3)


def _sw4_degrees(x, y, azimuth, mlat, mlon):
    """Longitude and latitude of x, y by SW4's formulas, with the corner at 34.1 N, 118.1 W."""
    c, s = np.cos(np.radians(azimuth)), np.sin(np.radians(azimuth))
    latitude = 34.1 + (x * c - y * s) / mlat
    east = mlat * np.cos(np.radians(latitude)) if mlon is None else mlon
    return -118.1 + (x * s + y * c) / east, latitude


@pytest.mark.parametrize(("keys", "mlat", "mlon"), [("mlat=110850", 110850, None), ("mlon=92000", 111319.5, 92000)])
def test_sw4_metres_per_degree_are_honoured(tmp_path, keys, mlat, mlon):
    grid = SW4_GRID.format(20).strip() + f" {keys}\n"
    _, ((_, _, place, degrees),) = listed(tmp_path, "q.in", grid + "rec x=3000 y=4000 depth=0 sta=A\n")
    assert degrees and place[:2] == pytest.approx(_sw4_degrees(3000, 4000, 20, mlat, mlon), abs=1e-9)


@pytest.mark.parametrize(
    ("keys", "crs"),
    [
        ("proj=tmerc datum=NAD83 lon_p=-118 lat_p=34", "+proj=tmerc +datum=NAD83 +lon_0=-118 +lat_0=34"),
        ("proj=utm", "EPSG:32611"),
        ("ellps=GRS80 lon_p=-123", "+proj=utm +zone=10 +ellps=GRS80"),
    ],
)
def test_sw4_projections_are_honoured(tmp_path, keys, crs):
    """x is az degrees from the projection's north, which differs from true north beside the central meridian."""
    grid = SW4_GRID.format(20).strip() + f" {keys}\n"
    _, ((_, _, place, degrees),) = listed(tmp_path, "q.in", grid + "rec x=3000 y=4000 depth=0 sta=A\n")
    project = pyproj.Proj(crs)
    e, n = np.subtract(project(*place[:2]), project(-118.1, 34.1))
    c, s = np.cos(np.radians(20)), np.sin(np.radians(20))
    assert degrees and (e * s + n * c, e * c - n * s) == pytest.approx((3000, 4000), abs=0.01)


@pytest.mark.parametrize(
    "keys",
    [
        "lat=34 lon=-118 mlat=111000 proj=utm", "lat=34 lon=-118 mlon=112000", "lat=34 lon=-118 mlat=110000",
        "mlat=111000", "lat=34 lon=-118 proj=tmurk",
        "lat=34 lon=-118 mlat=far",
    ],
)  # fmt: skip
def test_sw4_maps_that_do_not_exist(tmp_path, keys):
    with raises(InputError):
        listed(tmp_path, "q.in", f"grid h=100 {keys}\nrec x=1 y=2 sta=A\n")


def test_sw4_without_a_corner_has_its_own_axes(tmp_path):
    _, found = listed(tmp_path, "q.in", "grid h=100 x=1e4 y=1e4 z=5e3 az=90\nrec x=3000 y=1000 depth=10 sta=A\n")
    ((_, words, place, degrees),) = found
    assert place == pytest.approx((3000, -1000, -10)) and words == ("A",) and not degrees


def test_sw4_tells_heights_from_depths(tmp_path):
    """z of SW4 is absolute, depth is relative to the ground."""
    text = SW4_GRID.format(0) + "".join(
        f"rec\tx=100 y=200\t{below} sta={name}\r\n" for name, below in
        (("A", "z=-500"), ("B", "depth=20"), ("C", "topodepth=30"), ("D", ""), ("E", "z=1.5D+02"))
    )  # fmt: skip
    points, references, codes = stations_of(tmp_path, text)
    assert codes == ["A", "B", "C", "D", "E"]
    assert points[:, 2].tolist() == [500, -20, -30, 0, -150]
    assert references.tolist() == [SEA_LEVEL, GROUND, GROUND, GROUND, SEA_LEVEL]


def test_sw4_names_stay_whole(tmp_path):
    text = "grid h=100\nrec x=1 y=2 sta=LONGSTATION1\nrec x=3 y=4 sta=LONGSTATION2\n"
    _, _, codes = stations_of(tmp_path, text)
    assert codes == ["LONGSTATION1", "LONGSTATION2"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("rec x=1 y=2 dpeth=3 sta=A", r"q.in:2: 'dpeth=3' is not a key of rec .*did you mean 'depth'"),
        ("rec x=1 y=2 z=3 depth=3 sta=A", r"q.in:2: contains depth and z"),
        ("rec x=1 y=north sta=A", r"q.in:2: y=north is not a number"),
        ("rec x=1 sta=A", r"q.in:2: .* has no location"),
        ("rec x=1 y=2 depth=deep sta=A", r"q.in:2: depth=deep is not a number"),
        ("rec x=1 y=2 sta=this/that", r"q.in:2: 'this/that' is not a station code"),
        ("rec x=1 y=2 sta=" + 33 * "A", r"q.in:2: 'A+' is not a station code of 1 to 32"),
        ("rec lat=-118 lon=34 sta=A", r"q.in:2: longitude 34, latitude -118 .*exchanged"),
        ("rechdf5 infile=none.h5", r"q.in:2: rechdf5 infile=none.h5 is not a file"),
    ],
)
def test_sw4_mistakes(tmp_path, line, told):
    with pytest.raises(InputError, match=told):
        listed(tmp_path, "q.in", "grid h=100\n" + line + "\n")
    with raises(InputError):
        listed(tmp_path, "q.in", "grid h=100 lat=3\nrec x=1 y=2 sta=A\n")


def test_sw4_settings_of_output_are_told(tmp_path):
    path, warned = tmp_path / "q.in", Problems()
    path.write_text(
        "grid h=1\nrec x=1 y=2 sta=A variables=strains nsew=1\nrec x=1 y=3 sta=B writeEvery=10 sacformat=1\n"
    )
    assert len(read_station_file(path, warned)) == 2
    (problem,) = warned.warnings
    assert problem.where == f"{path}:2" and problem.what.startswith(
        "nsew, variables, writeEvery of station lines are not"
    )


def test_sw4_stations_in_hdf5(tmp_path):
    """Groups with latitude, longitude and depth, or with x, y and z of the grid whose input names the file."""
    with h5py.File(tmp_path / "s.h5", "w") as file:
        for name, key, place, absolute in (
            ("GEO", "STLA,STLO,STDP", [34.1, -118.1, 7.0], False),
            ("HIGH", "STLA,STLO,STDP", [34.1, -118.1, -9.0], True),
        ):
            group = file.create_group(name)
            group[key] = np.array(place)
            group["ISNSEW"] = np.array([1], np.int32)
            if absolute:
                group["USEZVALUE"] = np.array([1], np.int32)
        file["DOWNSAMPLE"] = np.array([1], np.int32)
    made, _ = load_valid_case(in_a_case(tmp_path / "s.h5", 0.0))
    setting = made.output.receivers
    assert read_points(setting, made.projection) == pytest.approx(np.array([[0, 0, -7], [0, 0, 9]]), abs=1e-3)
    assert z_references(setting).tolist() == [GROUND, SEA_LEVEL]
    with h5py.File(tmp_path / "xy.h5", "w") as file:
        file.create_group("LOCAL")["STX,STY,STZ"] = np.array([3000.0, 1000.0, 5.0])
    points, _, codes = stations_of(tmp_path, SW4_GRID.format(90) + "rechdf5 infile=xy.h5 outfile=out.h5\n")
    assert codes == ["LOCAL"] and points[0] == pytest.approx([3000, -1000, -5], abs=35)
    with raises(InputError):
        read_station_file(tmp_path / "xy.h5")
    (tmp_path / "cut.h5").write_bytes((tmp_path / "xy.h5").read_bytes()[:600])
    with raises(InputError):
        read_station_file(tmp_path / "cut.h5")


def test_stations_of_a_file_count_from_the_ground(tmp_path):
    """On a hill of 800 m those of a depth are at the ground, whatever z of other receivers means; z= of SW4 is a height."""
    text = SW4_GRID.format(0) + "rec x=0 y=0 depth=0 sta=A\nrec x=0 y=0 z=-500 sta=B\n"
    (tmp_path / "q.in").write_text(text)
    for means, given in (("elevation", -5.0), ("depth", 795.0)):
        case = in_a_case(tmp_path / "q.in", 0.0)
        del case["mesh"]
        ground = {"expression": "800", "receivers": means}
        box = {"lower": [-3e3, -3e3, -8e3], "upper": [3e3, 3e3, 1e3], "spacing": 500.0, "topography": ground}
        case |= {"engine": "fd", "grid": box}
        case["output"]["receivers"]["points"] = [[0, 0, -5.0]]
        made, _ = load_valid_case(case)
        setting = made.output.receivers
        relief = make_plan(made).scheme.grid.relief
        z = placed(relief, read_points(setting, made.projection), means, z_references(setting))[:, 2]
        assert z == pytest.approx([given, 800.0, 500.0], abs=1e-6)


def test_fdsn_text(tmp_path):
    text = (
        "#Network | Station | Latitude | Longitude | Elevation | SiteName | StartTime | EndTime\n"
        'CI|CCC|35.52495|-117.36453|670.0|China Lake, "CA" # 1|1990-01-01|2000-01-01\n'
        "CI|CCC|35.52495|-117.36453|670.0|China Lake|2000-01-01|\n"
    )
    _, found = listed(tmp_path, "s.txt", text)
    assert found == [(2, ("CCC", "CI"), (-117.36453, 35.52495, 0.0), True)]


@pytest.mark.parametrize(
    ("word", "metres"),
    [("Depth [km]", 1000), ("depth_km", 1000), ("depthkm", 1000), ("burial(m)", 1), ("depth/ft", 0.3048)],
)
def test_units_of_depths(tmp_path, word, metres):
    _, [(_, _, place, _)] = listed(tmp_path, "s.csv", f"station,lon,lat,{word}\nA,1,2,0.5\n")
    assert place == pytest.approx((1, 2, -0.5 * metres))


def test_csv(tmp_path):
    _, found = listed(
        tmp_path, "s.csv", "Station,Network,Latitude,Longitude,Depth\nCCC,CI,35.5,-117.4,\nTOW2,CI,35.8,-117.8,5\n"
    )
    assert found == [(2, ("CCC", "CI"), (-117.4, 35.5, -0.0), True), (3, ("TOW2", "CI"), (-117.8, 35.8, -5.0), True)]
    _, found = listed(tmp_path, "s.csv", "\ufeffsta,lat,lon,Depth (km)\r\nCCC,35.5,242.6,1.5\r\n")
    assert found == [(2, ("CCC",), (242.6, 35.5, -1500.0), True)]


def test_stationxml(tmp_path):
    text = """<?xml version="1.0"?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.1">
 <Network code="CI">
  <Station code="CCC"><Latitude>35.5</Latitude><Longitude>-117.4</Longitude><Elevation>670</Elevation></Station>
  <Station code="CCC"><Latitude>35.5</Latitude><Longitude>-117.4</Longitude><Elevation>670</Elevation></Station>
 </Network>
</FDSNStationXML>"""
    _, found = listed(tmp_path, "s.xml", text)
    assert found == [(4, ("CCC", "CI"), (-117.4, 35.5, 0.0), True)]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("STATIONS", "PASC CI 34.1\n", r"STATIONS:1: 'PASC CI 34.1' has 3 words"),
        ("STATIONS", "PASC CI here there 0 0\n", r"STATIONS:1: .* has no location"),
        ("STATIONS", "\n", "names no station"),
        ("STATIONS", "PASC CI -118.1 34.1 0 0\n", r"STATIONS:1: latitude -118.1, longitude 34.1 .*exchanged"),
        ("s.json", '{"type": "FeatureCollection",\n "features": []}', "s.json:1: is JSON, which is not a"),
        ("s.csv", "station,longitude,latitude\nLos Angeles,-117,35\n", r"s.csv:2: 'Los Angeles' is not a station code"),
        ("s.csv", "station,lon,lat,depth[yd]\nA,1,2,3\n", r"s.csv:1: 'depth\[yd\]' has no known unit"),
        ("s.csv", "station,lon\nA,1\n", r"s.csv:1: the header has no column latitude"),
        ("s.csv", "station,longitude,latitude\nA,35.5,-117.4\n", r"s.csv:2: .*exchanged"),
        ("s.csv", "station,longitude,latitude\nA,x,1\n", r"s.csv:2: 'A,x,1' has no location"),
        ("s.xml", "<Station", "is not XML"),
    ],
)
def test_mistakes(tmp_path, name, text, told):
    with pytest.raises(InputError, match=told):
        listed(tmp_path, name, text)


XML = """<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1"><Network code="{}"><Station code="{}">
<Latitude>34.1</Latitude><Longitude>-118.1</Longitude></Station></Network></FDSNStationXML>"""
FILES = {
    "specfem": "{1} {0} 34.1 -118.1 0 0\n",
    "csv": "station,network,longitude,latitude\n{1},{0},-118.1,34.1\n",
    "sw4": "rec lat=34.1 lon=-118.1 depth=0 sta={1}\n",
    "fdsn": "{0}|{1}|34.1|-118.1|0|Pasadena|2000-01-01|\n",
    "stationxml": XML,
}
"""A station of a network in every text format."""


@pytest.mark.parametrize("character", ["\x1b[31m", "\a", "\x00", "\x7f", "\x9b", "\u202e"], ids=ascii)
@pytest.mark.parametrize("form", FILES)
def test_control_characters_in_codes_are_refused(tmp_path, form, character):
    """They would move a terminal's cursor, or turn the order of what follows."""
    path = tmp_path / "stations"
    path.write_text(FILES[form].format("CI", "PASC"), encoding="utf-8")
    assert read_station_file(path)[0].codes == (("PASC",) if form == "sw4" else ("PASC", "CI"))
    for network, station in (("CI", f"PA{character}C"), (f"C{character}I", "PASC")):
        if form == "sw4" and network != "CI":
            continue  # it names no networks
        path.write_text(FILES[form].format(network, station), encoding="utf-8")
        with pytest.raises(InputError):
            read_station_file(path)


@pytest.mark.parametrize("character", ["\x1b[31m", "\a", "\x7f", "\x9b", "\u202e"], ids=ascii)
def test_control_characters_of_sw4_and_of_geographic_points_are_refused(tmp_path, character):
    """In HDF5 the name is that of a group; the third column of geographic points is a depth."""
    with h5py.File(tmp_path / "stations.h5", "w") as file:
        file[f"PA{character}C/STLA,STLO,STDP"] = np.array([34.1, -118.1, 0.0])
    with pytest.raises(InputError, match="is not a station code"):
        read_station_file(tmp_path / "stations.h5")
    (tmp_path / "sites").write_text(f"-118.1 34.1 0 PA{character}C CI\n", encoding="utf-8")
    case = in_a_case(tmp_path / "sites", 0.0)
    case["output"]["receivers"] = {"geographic_file": str(tmp_path / "sites")}
    assert any("is not a station code" in str(p) for p in fw.check(case).errors)
    (tmp_path / "sites").write_text("-118.1 34.1 0 PAC CI\n")
    assert not fw.check(case).errors


@pytest.mark.parametrize("character", ["\x1c", "\x1f", "\x85", "\u2028"], ids=ascii)
@pytest.mark.parametrize("form", FILES)
def test_control_characters_that_separate_words_or_lines_are_in_no_code(tmp_path, form, character):
    path = tmp_path / "stations"
    path.write_text(FILES[form].format("CI", f"PA{character}C"), encoding="utf-8")
    try:
        found = read_station_file(path)
    except InputError:
        return
    assert all(word.isascii() and word.isalnum() for station in found for word in station.codes)


def in_a_case(path, azimuth):
    """A case with stations of a file; its projection's y axis is ``azimuth`` degrees from the map's north."""
    return {
        "end_time": 1.0, "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-3e3, -3e3, -3e3], "upper": [3e3, 3e3, 0]}},
        "projection": {"crs": "EPSG:32611", "origin": [-118.1, 34.1], "azimuth": azimuth},
        "output": {"receivers": {"stations": str(path)}},
    }  # fmt: skip


def test_in_a_case(tmp_path):
    (tmp_path / "STATIONS").write_text("PASC CI 34.1 -118.1 0 0\nRIO CI 34.105 -118.1 0 12\n")
    case = {
        "end_time": 1.0, "material": {"constant": {"rho": 2700, "vp": 6000, "vs": 3464}},
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [-3e3, -3e3, -3e3], "upper": [3e3, 3e3, 0]}},
        "projection": {"crs": "EPSG:32611", "origin": [-118.1, 34.1]},
        "output": {"receivers": {"stations": str(tmp_path / "STATIONS"), "points": [[1, 2, 0]], "names": ["MINE"]}},
    }  # fmt: skip
    made, _ = load_valid_case(case)
    setting = made.output.receivers
    points = read_points(setting, made.projection)
    assert points.shape == (3, 3) and abs(points[1]).max() < 1e-3
    assert points[2, 1] == pytest.approx(555, abs=2) and points[2, 2] == -12.0
    assert [(s.code, s.network) for s in read_stations(setting)] == [("MINE", "FW"), ("PASC", "CI"), ("RIO", "CI")]


DAMAGED = Path(__file__).resolve().parents[2] / ".." / "shared" / "defects" / "plot-damaged"


@pytest.mark.skipif(not DAMAGED.is_dir(), reason="needs shared/defects")
@pytest.mark.parametrize(
    ("name", "line", "words"), [("stationfile-103", 2, "z = -2.14748e+09 m"), ("stationfile-1313", 2, "z = -1e+101 m")]
)
def test_stations_below_the_center_of_the_earth(name, line, words):
    with pytest.raises(InputError, match=rf"{name}:{line}: a station lies at {re.escape(words)}"):
        read_station_file(DAMAGED / name)
