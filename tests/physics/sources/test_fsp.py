"""FSP files: moments, places and times against the formulas, both conventions of coordinates, and files that are wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.readers.fsp import read_fsp
from faultwave.physics.sources.time_functions import Yoffe
from tests.messages import expect, raises

from .test_geographic import HERE, aki_richards

ROWS = (
    "34.0 -117.0 0.0 0.0 {z} 1.5 40.0 2.0 0.8 {moment}\n34.01 -117.0 0.0 1.1 {z} 0.5 50.0 2.5 1.0 {other}\n"
    "34.02 -117.0 0.0 2.2 {z} 0.0 0.0 0.0 0.0 0.0\n"
)
COLUMNS = "% LAT LON X==EW Y==NS Z SLIP RAKE TRUP RISE SF_MOMENT\n% ------\n"
SIZE = "% Size : LEN = 6.0 km WID = 3.0 km Mw = {mw} Mo = 3.6e+17 Nm\n"
MODEL = (
    "% ----- FINITE-SOURCE RUPTURE MODEL -----\n%\n% Event : Somewhere 01/01/2001 [Someone et al. (2001)]\n"
    "% Loc  : LAT = 34.0 LON = -117.0 DEP = 8.0\n" + SIZE.format(mw="5.64")
    + "% Mech : STRK = 30 DIP = 60 RAKE = 45 Htop = {top} km\n"
    "% Rupt : HypX = 1.0 km HypZ = 1.5 km avTr = 0.9 s avVr = 2.8 km/s\n"
    "% Invs :  Nx = 3 Nz = 1 Fmin = 0.01 Hz Fmax = 1.00 Hz\n% Invs :  Dx = 2.00 km Dz = 3.00 km\n"
    "% Invs :  Ntw = 1 Nsg = 1\n% Invs :  LEN = 2 s SHF = 1 s\n% Nsbfs = 3 subfaults\n"
    "%   Coordinates are given for {which} of each subfault or segment: |'|\n" + COLUMNS + ROWS
)  # fmt: skip
MU, AREA = 3e10, 6e6


def model(z=8.0, which="center", top=6.7010, **more) -> str:
    moments = {"moment": MU * AREA * 1.5, "other": MU * AREA * 0.5} | more
    return MODEL.format(z=z, which=which, top=top, **moments)


def fsp(tmp_path, text, slip_rate="triangle", warned=None):
    path = tmp_path / "a.fsp"
    path.write_text(text)
    return read_fsp(path, HERE, slip_rate, warned)


@pytest.mark.parametrize("slip_rate", ["triangle", "cosine", "yoffe"])
def test_moment_and_times(tmp_path, slip_rate):
    first, second = fsp(tmp_path, model(), slip_rate)
    assert first.shear_modulus == pytest.approx(MU)
    moment = first.moment_tensor(2e10, 1e9) * float(first.integral(0.0, 9.0))
    assert moment == pytest.approx(MU * AREA * 1.5 * aki_richards(30, 60, 40), abs=1e-6 * MU * AREA * 1.5)
    assert first.location == pytest.approx([0, 0, -8000], abs=1e-3)
    assert (first.onset, second.onset) == (2.0, 2.5)
    assert float(first.integral(0.0, 2.0)) == 0 and float(first.integral(0.0, 2.8)) == pytest.approx(1.0)
    yoffe = Yoffe(0.64, 0.08)  # of Tinti et al., 0.8 s long
    for after in (0.1, 0.2, 0.4):
        x = after / 0.8
        exact = {
            "triangle": 2 * x * x,
            "cosine": x - np.sin(2 * np.pi * x) / (2 * np.pi),
            "yoffe": float(yoffe.integral(after)),
        }[slip_rate]
        assert float(first.integral(0.0, 2.0 + after)) == pytest.approx(exact, abs=1e-3)


def test_modulus_of_the_cell_without_moments(tmp_path):
    text = model().replace(" SF_MOMENT", "")
    text = "\n".join(line if line.startswith("%") else line.rpartition(" ")[0] for line in text.splitlines())
    first, _ = fsp(tmp_path, text)
    assert first.shear_modulus is None
    assert first.moment_tensor(2e10, 1e9) == pytest.approx(
        1e9 * AREA * 1.5 * aki_richards(30, 60, 40), rel=1e-6, abs=1e6
    )


def test_upper_edges_become_centres(tmp_path):
    """Half a width of 1.5 km down dip, to the right of the strike."""
    first, _ = fsp(tmp_path, model(z=6.701, which="top-center"))
    away = 1500.0 * np.cos(np.radians(60.0)) * np.array([np.cos(np.radians(30.0)), -np.sin(np.radians(30.0))])
    assert first.location == pytest.approx([*away, -6701.0 - 1500.0 * np.sin(np.radians(60.0))], rel=2e-3)


def test_depths_decide_where_the_statement_differs(tmp_path):
    warned = Problems()
    first, _ = fsp(tmp_path, model(z=6.701, which="center"), warned=warned)
    assert first.location[2] == pytest.approx(-8000.0, abs=1.0)
    fsp(tmp_path, model(z=20.0, which="center"), warned=warned)
    expect(warned.warnings)


def test_other_moment_of_the_header_is_a_warning(tmp_path):
    warned = Problems()
    fsp(tmp_path, model(moment=2.0 * MU * AREA * 1.5), warned=warned)
    expect(warned.warnings)


def test_segments_have_their_own_mechanisms(tmp_path):
    head = "% Invs : Dx = 2.0 km Dz = 3.0 km\n% Invs : Ntw = 1 Nsg = 2\n"
    part = (
        "% SEGMENT # {n}: STRIKE = {strike} deg DIP = {dip} deg\n% LEN = 6.0 km WID = 3.0 km\n% Nsbfs = 3 subfaults\n"
        + COLUMNS
    )
    rows = ROWS.format(z=8.0, moment=MU * AREA * 1.5, other=MU * AREA * 0.5)
    text = head + "".join(part.format(n=n, strike=s, dip=d) + rows for n, s, d in ((1, 30, 60), (2, 200, 25)))
    found = fsp(tmp_path, text)
    assert len(found) == 4
    for source, angles in zip(found[::2], ((30, 60, 40), (200, 25, 40)), strict=True):
        assert source.moment_tensor(0.0, 0.0) == pytest.approx(
            MU * AREA * 1.5 * aki_richards(*angles), abs=1e-3 * MU * AREA
        )


@pytest.mark.parametrize(
    "change",
    [
        ("Mw = 5.64", "Mw = 7.1"),
        ("Nsg = 1", "Nsg = 2"),
        ("Nsbfs = 3", "Nsbfs = 4"),
        ("LEN = 6.0 km", "LEN = 9.0 km"),
        ("STRK = 30 DIP = 60", "DIP = 60"),
        ("Dx = 2.00 km Dz = 3.00 km", "Dx = 0.0 km Dz = 3.00 km"),
        ("TRUP RISE SF_MOMENT", "TW1 TW2 SF_MOMENT"),
        ("40.0 2.0 0.8", "40.0 2.0"),
        ("40.0 2.0 0.8", "40.0 x 0.8"),
        ("40.0 2.0 0.8", "40.0 2.0 0.0"),
        ("34.0 -117.0 0.0", "-117.0 34.0 0.0"),
        ("2.7e+17", "2.7e+24"),
        ("% LAT LON X==EW", "% lon X==EW"),
        ("X==EW Y==NS", "TW_1 SLIP_TW2"),
        ("X==EW", "LAT"),
    ],
)  # fmt: skip
def test_files_that_are_wrong(tmp_path, change):
    text = model(moment="2.7e+17", other="9e+16")
    assert change[0] in text
    with raises(InputError):
        fsp(tmp_path, text.replace(*change))


def test_values_of_999_are_unknown(tmp_path):
    expected = fsp(tmp_path, model())
    text = (
        model()
        .replace("RAKE = 45 Htop = 6.701 km", "RAKE = 999 Htop = 999.00 km")
        .replace("Mw = 5.64 Mo = 3.6e+17", "Mw = 999 Mo = 999")
    )
    assert text.count("999") == 4
    warned = Problems()
    found = fsp(tmp_path, text.replace("0.0 0.0 0.0 0.0 0.0", "0.0 999 999 999 0.0"), warned=warned)
    assert not warned.items and len(found) == 2
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.moment_tensor(0.0, 0.0), other.moment_tensor(0.0, 0.0))
        assert one.location == pytest.approx(other.location)
    rows = model().replace("1.5 40.0 2.0 0.8", "1.5 999 2.0 999").replace("0.5 50.0 2.5", "0.5 50.0 999.00")
    with raises(InputError):
        fsp(tmp_path, rows)
    with raises(InputError):
        fsp(tmp_path, text.replace("STRK = 30 DIP = 60", "STRK = 999 DIP = 999"))


def test_slip_in_another_unit_is_an_error(tmp_path):
    text = model().replace(" 1.5 40.0", " 150 40.0").replace(" 0.5 50.0", " 50 50.0")
    with raises(InputError):
        fsp(tmp_path, text)
    without = text.replace(" SF_MOMENT", "")
    without = "\n".join(line if line.startswith("%") else line.rpartition(" ")[0] for line in without.splitlines())
    with raises(InputError):
        fsp(tmp_path, without)


def test_files_without_subfaults(tmp_path):
    with raises(InputError):
        fsp(tmp_path, "% only a header\n")
    with raises(InputError):
        fsp(tmp_path, model(moment=0.0, other=0.0).replace(" 1.5 40.0", " 0.0 40.0").replace(" 0.5 50.0", " 0.0 50.0"))


def test_segments_whose_rows_are_missing(tmp_path):
    with raises(InputError):
        fsp(tmp_path, model() + "% SEGMENT # 2: STRIKE = 30 deg DIP = 60 deg\n" + COLUMNS)


def test_headers_with_other_numbers_and_lines(tmp_path):
    """Numbers of Fortran, and the names of columns before the first segment and again after it."""
    text = model().replace("3.6e+17", "3.6D+17").replace("Dz = 3.00 km", "Dz = 3.D0 km")
    text = text.replace("Htop = 6.7010", "Htop = 7.")
    again = COLUMNS + "% SEGMENT#1: STRIKE = 30. deg DIP = 60. deg\n% LEN = 6. km WID = 3. km\n" + COLUMNS
    first, second = fsp(tmp_path, text.replace(COLUMNS, again))
    assert first.shear_modulus == second.shear_modulus == pytest.approx(MU)
    assert first.location == pytest.approx([0, 0, -8000], abs=1e-3)


def test_time_windows_of_the_inversion_are_a_warning(tmp_path):
    warned = Problems()
    fsp(tmp_path, model().replace("Ntw = 1", "Ntw = 3"), warned=warned)
    expect(warned.warnings)


def test_kind_of_a_case(tmp_path):
    path = tmp_path / "a.fsp"
    path.write_text(model())
    setting = SimpleNamespace(kind="fsp", file=path, onset=1.0, slip_rate="cosine")
    mapped = SimpleNamespace(crs="EPSG:32611", origin=(-117.0, 34.0), azimuth=0.0)
    first, _ = load_sources([setting], projection=mapped)
    assert first.onset == 3.0 and float(first.value(3.4)) == pytest.approx(2.5, rel=1e-3)
