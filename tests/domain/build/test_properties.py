"""Dip, direction and depths that databases of faults give beside a trace."""

import json

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.case.settings.meshes import BuildFault
from faultwave.domain.build import Place, build
from faultwave.domain.build.faults import from_trace
from faultwave.domain.build.traces import Properties, read_properties, read_traces
from tests.domain.build.places import Even, setting
from tests.messages import raises

MAP = Projection("EPSG:32611", (-117.5, 35.7))
LINE = [[-117.54, 35.66], [-117.46, 35.74]]  # towards the north-east


def write(path, **properties):
    line = {"type": "LineString", "coordinates": LINE}
    path.write_text(json.dumps({"type": "Feature", "properties": properties, "geometry": line}))
    return path


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"average_dip": "(60,45,70)", "dip_dir": "NW", "average_rake": "(90,,)", "lower_seis_depth": "(20.5,,)"},
         Properties(60, 315, 90, None, 20.5e3)),
        ({"dip": [50, 40, 60], "upper_seis_depth": "(0,,)", "lower_seis_depth": 12}, Properties(50, None, None, 0, 12e3)),
        ({"DipDeg": 35, "DipDir": 120.5, "UpDepth": 1.5, "LowDepth": 14, "Rake": -90}, Properties(35, 120.5, -90, 1.5e3, 14e3)),
        ({"Dip_pref": 70, "Dip_dir": "SE", "Rake_pref": 135}, Properties(70, 135, 135)),
        ({"lower depth": "9000 m", "dip": "", "rake": None, "dip_dir": "V"}, Properties(bottom=9e3)),
        ({"slip_type": "Dextral", "name": "x", "net_slip_rate": "(1,,)"}, Properties()),
        ({"Depth_D90": 15, "fault_width": "12", "dip_slip_rate": "1", "rake_err": None}, Properties(unread=("Depth_D90", "fault_width"))),
    ],
)  # fmt: skip
def test_dialects_of_databases(given, expected):
    assert read_properties("f", given) == expected


def test_values_that_are_none_are_told_at_once():
    with pytest.raises(InputError) as error:
        read_properties("f: feature 1", {"dip": 120, "dip_dir": "up", "lower_seis_depth": 15000, "rake": "(x,,)"})
    found = {p.what: p.advice for p in error.value.problems}
    assert set(found) == {"dip is 120", "dip_dir is up", "lower_seis_depth is 15000", "rake is (x,,)"}
    assert "kilometres" in found["lower_seis_depth is 15000"]
    with raises(InputError):
        read_properties("f", {"upper_seis_depth": 12, "lower_seis_depth": 10})


@pytest.mark.parametrize(("towards", "side"), [("NW", -1), ("SE", 1), ("S", 1), ("N", -1), (None, 1)])
def test_the_fault_dips_where_the_file_says(tmp_path, towards, side):
    """Across its trace, on the side that the direction names; what the case states wins."""
    [trace] = read_traces(write(tmp_path / "a.geojson", dip="(60,,)", dip_dir=towards, lower_seis_depth=9), MAP)
    right = np.array([1, -1]) / np.sqrt(2)
    found = from_trace(trace, BuildFault(trace=tmp_path / "a.geojson"), "f", 500.0, MAP)
    assert found.dips == ((0.0, 60.0),) and found.bottom == 9e3 and found.top == 0
    assert found.direction @ right * side == pytest.approx(1, abs=0.02)
    own = BuildFault(trace=tmp_path / "a.geojson", dip=80, depth=7e3, dip_direction=135)
    found = from_trace(trace, own, "f", 500.0, MAP)
    assert (
        found.dips == ((0.0, 80.0),) and found.bottom == 7e3 and found.direction @ right == pytest.approx(1, abs=0.02)
    )


def test_a_direction_along_the_trace_is_no_side(tmp_path):
    [trace] = read_traces(write(tmp_path / "a.geojson", dip=60, dip_dir="NE"), MAP)
    with raises(InputError):
        from_trace(trace, BuildFault(trace=tmp_path / "a.geojson"), "f", 500.0, MAP)


def test_a_mesh_says_what_it_took(tmp_path):
    path = write(tmp_path / "a.geojson", name="Demo", dip=60, dip_dir="SE", lower_seis_depth=6, mean_depth=3)
    mesh = build(setting(faults=[BuildFault(trace=path)], fault_size=2e3), Place(Even(), projection=MAP))
    texts = [p.what for p in mesh.remarks]
    assert texts == [
        "properties of the trace 'Demo' are used: dip 60 deg, dips to 135 deg, lower edge 6 km deep",
        "properties that are not read: mean_depth",
    ]
    corners = mesh.vertices[mesh.cells[(mesh.tags == 3).any(1)]].reshape(-1, 3)
    assert corners[:, 2].min() < -5.9e3
