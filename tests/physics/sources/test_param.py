"""Files of the USGS: moments, places and times against the formulas, and files that are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.readers.param import read_param
from tests.messages import raises

from .test_geographic import HERE, aki_richards

MU, AREA = 3e10, 6e6  # Pa, m^2
SEGMENT = (
    "#Fault_segment =   {n} nx(Along-strike)=   2 Dx=  2.00km ny(downdip)=   1 Dy=  3.00km\n"
    "#Boundary of Fault_segment     {n}. EQ in cell 1,1. Lon: -117.0000   Lat:  34.0000\n#Lon.  Lat.  Depth\n"
    "-117.0 33.98 7.0\n-117.0 34.02 7.0\n-116.98 34.02 9.6\n-116.98 33.98 9.6\n-117.0 33.98 7.0\n"
    "#Lat. Lon. depth slip rake strike dip t_rup t_ris t_fal mo\n"
    "   34.0 -117.0 8.0 150.0 40.0 {angles} 2.0 0.6 1.0 2.7e+24\n   34.01 -117.0 8.0 0.0 50.0 {angles} 0.0 0.0 0.0 0.0\n"
)
PARAM = (
    "#Total number of fault_segments=     2\n"
    + SEGMENT.format(n=1, angles="30.0 60.0")
    + SEGMENT.format(n=2, angles="200.0 25.0")
)


def param(tmp_path, text=PARAM):
    path = tmp_path / "a.param"
    path.write_text(text)
    return read_param(path, HERE)


def test_moments_places_and_times(tmp_path):
    found = param(tmp_path)
    assert len(found) == 2
    for source, angles in zip(found, ((30, 60, 40), (200, 25, 40)), strict=True):
        moment = source.moment_tensor(2e10, 1e9) * float(source.integral(0.0, 9.0))
        assert moment == pytest.approx(MU * AREA * 1.5 * aki_richards(*angles), abs=1e-6 * MU * AREA)
        assert source.location == pytest.approx([0, 0, -8000], abs=1e-3)
        assert source.onset == 2.0


def test_blank_lines_before_the_header(tmp_path):
    first, _ = param(tmp_path, "\n  \n" + PARAM)
    assert first.location == pytest.approx([0, 0, -8000], abs=1e-3)
    with raises(InputError):
        param(tmp_path, "\n\n" + PARAM.replace("segments=     2", "segments=     3"))
    with raises(InputError):
        param(tmp_path, "\n\n" + PARAM.replace("40.0 30.0 60.0 2.0", "40.0 x 60.0 2.0"))
    with raises(InputError):
        param(tmp_path, "\n\n")


@pytest.mark.parametrize(("rise", "fall"), [(0.6, 1.0), (1.0, 0.2), (0.0, 0.8), (0.8, 0.0)])
def test_slip_rates_are_half_cosines(tmp_path, rise, fall):
    first, _ = param(tmp_path, PARAM.replace("0.6 1.0", f"{rise} {fall}"))
    t = np.linspace(0.0, rise + fall, 9)[1:-1]
    up = 1.0 - np.cos(np.pi * t / max(rise, 1e-9))
    down = 1.0 + np.cos(np.pi * (t - rise) / max(fall, 1e-9))
    assert first.value(2.0 + t) == pytest.approx(np.where(t < rise, up, down) / (rise + fall), rel=0.02, abs=2e-3)
    assert float(first.integral(0.0, 2.0 + rise)) == pytest.approx(rise / (rise + fall), abs=0.02)
    assert float(first.integral(0.0, 2.0 + rise + fall)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "change",
    [
        ("fault_segments=     2", "fault_segments=     3"),
        ("#Total number", "#Number"),
        ("ny(downdip)=   1", "ny(downdip)=   4"),
        ("Dx=  2.00km", "Dx=  0.00km"),
        ("Dx=  2.00km", ""),
        ("t_ris t_fal mo", "t_ris mo"),
        ("40.0 30.0 60.0 2.0", "40.0 30.0 2.0"),
        ("40.0 30.0 60.0 2.0", "40.0 x 60.0 2.0"),
        ("40.0 30.0 60.0 2.0", "40.0 30.0 99.0 2.0"),
        ("2.0 0.6 1.0", "2.0 0.0 0.0"),
        ("2.0 0.6 1.0", "2.0 -0.6 1.0"),
        ("2.7e+24", "2.7e+31"),
        ("34.0 -117.0 8.0", "-117.0 34.0 8.0"),
        ("34.0 -117.0 8.0", "34.0 -117.0 -8.0"),
        ("#Fault_segment", "#Segment"),
    ],
)
def test_files_that_are_wrong(tmp_path, change):
    assert change[0] in PARAM
    with raises(InputError):
        param(tmp_path, PARAM.replace(*change))


def test_kind_of_a_case(tmp_path):
    path = tmp_path / "a.param"
    path.write_text(PARAM)
    mapped = SimpleNamespace(crs="EPSG:32611", origin=(-117.0, 34.0), azimuth=0.0)
    first, _ = load_sources([SimpleNamespace(kind="param", file=path, onset=1.0)], projection=mapped)
    assert first.onset == 3.0
