"""SRF and CMTSOLUTION files: moments, places and times against the formulas, and files that are wrong."""

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import Projection
from faultwave.physics.sources.readers.cmtsolution import read_cmt
from faultwave.physics.sources.readers.srf import read_srf
from tests.messages import raises

HERE = Projection("EPSG:32611", (-117.0, 34.0))  # on the central meridian: grid north is true north
TURNED = Projection("EPSG:32611", (-117.0, 34.0), 30.0)
ORDER = ["xx", "yy", "zz", "xy", "yz", "xz"]


def aki_richards(strike, dip, rake):
    """Moment tensor of a unit double couple in x east, y north, z up (Aki & Richards 2002, box 4.4)."""
    s, d, r = np.radians([strike, dip, rake])
    sin, cos = np.sin, np.cos
    nn = -(sin(d) * cos(r) * sin(2 * s) + sin(2 * d) * sin(r) * sin(s) ** 2)
    ne = sin(d) * cos(r) * cos(2 * s) + 0.5 * sin(2 * d) * sin(r) * sin(2 * s)
    nd = -(cos(d) * cos(r) * cos(s) + cos(2 * d) * sin(r) * sin(s))
    ee = sin(d) * cos(r) * sin(2 * s) - sin(2 * d) * sin(r) * cos(s) ** 2
    ed = -(cos(d) * cos(r) * sin(s) - cos(2 * d) * sin(r) * cos(s))
    dd = sin(2 * d) * sin(r)
    return np.array([ee, nn, dd, ne, -nd, -ed])


def subfault(lon=-117.0, lat=34.0, strike=30, dip=60, rake=40, more="", second="0 0", rates="0 10 20\n10 0", slip=4):
    return f"{lon} {lat} 8.5 {strike} {dip} 2e10 1.5 0.1 {more}\n{rake} {slip} 5 {second} 0 0\n{rates}\n"


def srf(tmp_path, text):
    path = tmp_path / "a.srf"
    path.write_text(text)
    return read_srf(path, HERE)


@pytest.mark.parametrize(("strike", "dip", "rake"), [(0, 90, 0), (30, 60, 40), (200, 25, -110), (310, 45, 90)])
def test_moment_of_a_subfault(tmp_path, strike, dip, rake):
    (source,) = srf(tmp_path, "1.0\nPOINTS 1\n" + subfault(strike=strike, dip=dip, rake=rake))
    mu = 3e10
    area, slip = 2e10 * 1e-4, 0.1 * (0.0 + 10 + 20 + 10) * 1e-2  # m^2, m: trapezoids, zero at both ends
    moment = source.moment_tensor(2e10, mu) * float(source.integral(0.0, 10.0))
    assert moment == pytest.approx(mu * area * slip * aki_richards(strike, dip, rake), abs=1e-6 * mu * area * slip)
    assert source.location == pytest.approx([0, 0, -8500], abs=1e-3)
    assert float(source.value(1.5 + 0.2)) == pytest.approx(0.2) and float(source.value(1.5)) == 0


def test_version_two_with_segments_comments_and_moduli(tmp_path):
    text = (
        "2.0\n# a comment\nPLANE 2\n -117 34 2 1 4 2\n 30 60 8 0 1\n -117.1 34 1 1 4 2\n 40 60 8 0 1\nPOINTS 2\n"
        + subfault(more="3e5 2.7") + subfault(more="-1 -1", second="1 2", rates="0 10 20 10 0 5 5")
        + "# the second segment\nPOINTS 1\n" + subfault(lat=34.1, more="2e5 2.5")
    )  # fmt: skip
    records = srf(tmp_path, text)
    assert [r.shear_modulus for r in records] == pytest.approx([2.43e10, None, None, 1e10])
    assert records[2].potency == pytest.approx(
        records[1].potency * 0 + 2e6 * 0.5 * 2 * aki_richards(30, 60, 130) / 2, rel=1e-9
    )
    assert records[3].location[1] == pytest.approx(11090, rel=2e-3)


def test_junk_is_told_before_the_projection_that_it_would_need(tmp_path):
    path = tmp_path / "a.srf"
    for content in (b"\x00\x01junk\nmore", b"<html>no such page</html>\n", b""):
        path.write_bytes(content)
        with pytest.raises(InputError) as error:
            read_srf(path, None)
        assert "projection" not in str(error.value) and "a.srf:1" in str(error.value)
        assert not content or "is not an SRF file" in str(error.value)
    path.write_text("1.0\nPOINTS 1\n" + subfault())
    with raises(InputError):
        read_srf(path, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("3.0\n", ["a.srf:1", "version '3.0'", "1.0, 2.0"]),
        ("1.0\nPOINTS 1\n", ["a.srf:2", "ends in a subfault"]),
        ("1.0\nPOINTS 1\n" + subfault(rates="0 x 0 0 0"), ["a.srf:5", "'x' is not a number"]),
        ("1.0\nPOINTS 1\n" + subfault(rates="0 nan 0 0 0"), ["a.srf:5", "not a finite number"]),
        ("1.0\nPOINTS 1\n" + subfault(rates="0 1 0"), ["ends in slip rates of subfault 1: 3 of 5"]),
        ("1.0\nPOINTS 2\n" + subfault(dip=95) + subfault(lat=99), ["a.srf:3", "dip 95", "a.srf:7", "latitude 99"]),
        ("1.0\nPOINTS 1.5\n", ["the number of subfaults is 1.5"]),
        ("1.0\nPOINT 1\n", ["'POINT' where a block begins"]),
        ("1.0\nPLANE 1\n 1 2 3 4 5 6 7 8 9 10 11\n", ["holds no subfaults"]),
        ("", ["ends where the version"]),
        (
            "1.0\nPLANE 1\n -117 34 2 1 4 2\n 30 60 8 0 1\nPOINTS 1\n" + subfault(),
            ["holds 1 subfaults, its segments have 2"],
        ),
        (
            "1.0\nPLANE 2\n -117 34 1 1 4 2\n 30 60 8 0 1\n -117 94 0 1 -4 2\n 30 120 -8 0 1\nPOINTS 1\n" + subfault(),
            [
                "a.srf:5",
                "segment 2 has longitude -117, latitude 94",
                "0 x 1 subfaults",
                "length -4",
                "dip 120",
                "top -8 km",
            ],
        ),
    ],
)
def test_a_bad_srf_file(tmp_path, text, words):
    with pytest.raises(InputError) as found:
        srf(tmp_path, text)
    for word in words:
        assert word in str(found.value), found.value


@pytest.mark.parametrize("rates", ["1000", "500 500", "0 500 500", "100 800 100"])
def test_rates_carry_their_slip(tmp_path, rates):
    """Sum times interval, here 100 cm of 0.1 s, whether or not a file begins and ends with zero; centred on the samples."""
    count = len(rates.split())
    warned = Problems()
    (tmp_path / "a.srf").write_text(f"1.0\nPOINTS 1\n-117 34 5 0 90 1e10 1.5 0.1\n0 100 {count} 0 0 0 0\n{rates}\n")
    (source,) = read_srf(tmp_path / "a.srf", HERE, warned)
    assert float(source.integral(0.0, 10.0)) == pytest.approx(1.0) and not warned.items
    t = np.linspace(1.0, 3.0, 20001)
    values = np.array(rates.split(), float)
    assert np.average(t, weights=source.value(t)) == pytest.approx(
        1.5 + 0.1 * np.average(np.arange(count), weights=values), abs=1e-4
    )


def test_slip_that_is_not_that_of_the_rates(tmp_path):
    warned = Problems()
    path = tmp_path / "a.srf"
    path.write_text("1.0\nPOINTS 3\n" + subfault() + subfault(slip=4.1) + subfault(slip=8))
    assert len(read_srf(path, HERE, warned)) == 3
    (warning,) = warned.warnings
    assert warning.where.endswith("a.srf:12") and "1 of 9 slips" in warning.what and "8 cm and 4 cm" in warning.what


def test_areas_that_are_not_those_of_the_segments(tmp_path):
    plane = "1.0\nPLANE 1\n -117 34 2 1 {} 2\n 30 60 8 0 1\nPOINTS 2\n" + 2 * subfault()
    for length, count in ((2, 0), (9, 1), (0.5, 1)):  # the subfaults have 4 km^2
        warned = Problems()
        (tmp_path / "a.srf").write_text(plane.format(length))
        read_srf(tmp_path / "a.srf", HERE, warned)
        assert len(warned.warnings) == count
    assert "a.srf:2: subfaults have a total area of 4e+10 cm^2, the segments 1e+10 cm^2" in str(warned.warnings[0])


def test_slip_without_rates(tmp_path):
    none = "-117 34 5 0 90 1e10 0 0.1\n0 {} 0 0 0 0 0\n"
    assert len(srf(tmp_path, "1.0\nPOINTS 2\n" + none.format(0.03) + subfault())) == 1  # less than writers keep
    warned = Problems()
    (tmp_path / "a.srf").write_text("1.0\nPOINTS 3\n" + none.format(100) + none.format(50) + subfault(slip=4))
    (source,) = read_srf(tmp_path / "a.srf", HERE, warned)
    assert source.name == "a.srf subfault 3"
    (warning,) = warned.warnings
    lost = 100 * 150 * 1e10 / (150 * 1e10 + 4 * 2e10)
    assert warning.where.endswith("a.srf:4")
    assert warning.what.startswith(
        f"2 of 3 slips have no rates, here 100 cm: they lose {lost:.3g} % of the slip times area"
    )
    two = "2.0\nPOINTS 2\n" + none.format(100).replace("0.1\n", "0.1 3e5 2.7\n", 1) + subfault(more="3e5 2.7")
    (tmp_path / "a.srf").write_text(two)
    read_srf(tmp_path / "a.srf", HERE, warned := Problems())
    assert "a moment of 2.43e+16 N m" in warned.warnings[0].what  # 24.3 GPa, 1 km^2, 1 m
    with raises(InputError):
        srf(tmp_path, "1.0\nPOINTS 1\n" + none.format(100))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("more", ["", "3e5 2.7"])
def test_columns_are_those_of_the_lines(tmp_path, version, more):
    """Writers give vs and density in version 1.0, and leave them out of 2.0; what differs from the version is told once."""
    (tmp_path / "a.srf").write_text(f"{version}\nPOINTS 2\n" + 2 * subfault(more=more))
    first, second = read_srf(tmp_path / "a.srf", HERE, warned := Problems())
    assert first.shear_modulus == (pytest.approx(2.43e10) if more else None)
    assert second.location == pytest.approx([0, 0, -8500], abs=1e-3) and second.onset == 1.5
    assert float(second.integral(0.0, 10.0)) == pytest.approx(0.04)
    differs = (version == "2.0") != bool(more)
    assert [w.where[-7:] for w in warned.warnings] == (["a.srf:3"] if differs else [])


def test_numbers_may_stand_on_any_lines(tmp_path):
    """Free format counts columns by the version; Fortran writes exponents with D."""
    text = subfault(more="3D+05 2.7D0").split()
    (tmp_path / "a.srf").write_text("\ufeff2.0\r\nPOINTS 1\r\n" + "\r\n".join(text))
    (source,) = read_srf(tmp_path / "a.srf", HERE)
    assert source.shear_modulus == pytest.approx(2.43e10) and float(source.integral(0, 9)) == pytest.approx(0.04)


def test_moduli_in_other_units(tmp_path):
    with pytest.raises(InputError) as found:
        srf(tmp_path, "2.0\nPOINTS 2\n" + subfault(more="3464 2.7") + subfault(more="3e5 2700"))
    assert "a.srf:3: subfault 1 has vs 3464 cm/s" in str(found.value)
    assert "a.srf:7: subfault 2 has density 2700 g/cm^3" in str(found.value)


CMT = """ PDE 1994  1 17 12 30 55.39  34.2130 -118.5370  18.0 6.4 6.8 NORTHRIDGE
event name:     nr
time shift:      2.0000
half duration:   1.6280
latitude:       34.0000
longitude:    -117.0000
depth:          16.8000
Mrr:       1.0e+26
Mtt:      -9.0e+25
Mpp:      -1.0e+25
Mrt:      -4.0e+25
Mrp:       2.0e+25
Mtp:      -3.0e+25
"""


def test_cmt(tmp_path):
    path = tmp_path / "CMTSOLUTION"
    path.write_text(CMT + "\n" + CMT.replace("time shift:      2.0", "time shift:      4.0"))
    first, second = read_cmt(path, HERE)
    # r up, t south, p east; x east, y north, z up: xx = pp, yy = tt, xy = -tp, yz = -rt, xz = rp
    assert first.moment == pytest.approx(np.array([-1e18, -9e18, 1e19, 3e18, 4e18, 2e18]))
    assert first.location == pytest.approx([0, 0, -16800], abs=1e-3) and second.onset == 4.0
    assert float(first.integral(-10, 20)) == pytest.approx(1.0)
    peak = 2.0 + 1.5 * 1.628
    assert float(first.value(peak)) > max(float(first.value(peak - 0.1)), float(first.value(peak + 0.1)))
    # exp(-(t/T)^2), T = half duration / 1.628 = 1 s
    assert float(first.value(peak + 1.0) / first.value(peak)) == pytest.approx(np.exp(-1.0))


def test_cmt_of_specfem3d(tmp_path):
    """Keys latorUTM and longorUTM; beyond 90 they are y and x in metres, and nothing needs a projection."""
    path = tmp_path / "CMTSOLUTION"
    keys = CMT.replace("latitude:", "latorUTM:").replace("longitude:", "longorUTM:").replace("1.0e+26", "1.0D+26")
    path.write_bytes(("\ufeff" + keys).replace("\n", "\r\n").encode())
    (source,) = read_cmt(path, HERE)
    assert source.location == pytest.approx([0, 0, -16800], abs=1e-3)
    assert source.moment == pytest.approx(np.array([-1e18, -9e18, 1e19, 3e18, 4e18, 2e18]))
    metres = keys.replace("34.0000", "67000.0").replace("-117.0000", "42.0")
    path.write_text(metres + keys)
    first, second = read_cmt(path, None)
    assert first.location.tolist() == [42.0, 67000.0, -16800.0]
    assert second.location.tolist() == [-117.0, 34.0, -16800.0]  # metres, as of the first
    assert first.moment.tolist() == source.moment.tolist() == read_cmt(path, TURNED)[0].moment.tolist()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("latitude:       34.0000\nlongitude:    -117.0000", "latitude: -117\nlongitude: 34"),
            ["latitude -117", "exchanged"],
        ),
        (("Mrr:", "Mxx:"), [":8", "Mrr: number"]),
        (("1.6280", "long"), [":4", "'long' is not a number"]),
        (("depth:          16.8000\n", ""), ["has 12 lines"]),
        (("16.8000", "-2"), [":7", "depth is -2"]),
        (("34.0000", "nan"), [":5", "latitude is nan"]),
    ],
)
def test_a_bad_cmt_file(tmp_path, change, words):
    path = tmp_path / "CMTSOLUTION"
    path.write_text(CMT.replace(*change))
    with pytest.raises(InputError) as found:
        read_cmt(path, HERE)
    for word in words:
        assert word in str(found.value)


def test_a_large_srf_file_is_read_subfault_by_subfault(tmp_path):
    """What is in memory at once is little more than the rates, in single precision."""
    import tracemalloc

    subfaults, count = 150, 2000
    rates = np.random.default_rng(2).uniform(0, 100, (subfaults, count))
    path = tmp_path / "a.srf"
    with path.open("w") as file:
        file.write(f"1.0\nPOINTS {subfaults}\n")
        for each in rates:
            file.write(f"-117 34 5 0 90 1e10 0 0.01\n0 {each.sum() * 0.01:.9g} {count} 0 0 0 0\n")
            file.writelines(" ".join(f"{rate:12.5e}" for rate in row) + "\n" for row in each.reshape(-1, 8))
    read_srf(path, HERE)  # what is loaded for it
    tracemalloc.start()
    records = read_srf(path, HERE)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(records) == subfaults and path.stat().st_size > 3.8e6
    assert peak < 12 * rates.size, f"{peak / rates.size:.1f} bytes a number"
    found = records[7].function
    assert found.samples.dtype == np.float32 and np.allclose(
        found.value(0.01 * np.arange(count) + 0.01), 1e-2 * rates[7], rtol=1e-5
    )
    assert float(found.integral(100.0)) == pytest.approx(1e-4 * rates[7].sum(), rel=1e-6)


@pytest.mark.parametrize("read", [read_srf, read_cmt])
def test_without_projection(tmp_path, read):
    (tmp_path / "a").write_text("1.0\n" if read is read_srf else CMT)
    with raises(InputError):
        read(tmp_path / "a", None)
