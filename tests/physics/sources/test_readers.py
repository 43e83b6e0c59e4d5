"""Source files: layout, signs, rotations; and what is said about broken ones."""

import h5py
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics.sources.readers.fsrm import read_fsrm, rotation
from faultwave.physics.sources.readers.nrf import read_nrf
from tests.messages import raises

VECTOR = np.dtype([("x", "f8"), ("y", "f8"), ("z", "f8")])
SUBFAULT = np.dtype([("tinit", "f8"), ("timestep", "f8"), ("mu", "f8"), ("area", "f8"),
                     ("tan1", VECTOR), ("tan2", VECTOR), ("normal", VECTOR)])  # fmt: skip


def directions(strike, dip, rake):
    """Slip at rake, at rake + 90, and the normal (degrees), in north, east, down.

    See docs/theory/sources.md, "Source files".
    """
    p, d = np.radians([strike, dip])

    def slip(rake):
        r = np.radians(rake)
        return (np.sin(r) * np.sin(p) * np.cos(d) + np.cos(r) * np.cos(p),
                -np.sin(r) * np.cos(d) * np.cos(p) + np.sin(p) * np.cos(r), -np.sin(d) * np.sin(r))  # fmt: skip

    return slip(rake), slip(rake + 90), (-np.sin(d) * np.sin(p), np.sin(d) * np.cos(p), -np.cos(d))


def write_nrf(path, mu=0.0, third=True):
    tan1, tan2, normal = directions(30.0, 60.0, 20.0)
    subfaults = np.zeros(2, SUBFAULT)
    subfaults[0] = (0.5, 0.1, mu, 2e6, tan1, tan2, normal)
    subfaults[1] = (1.0, 0.2, mu, 1e6, *directions(0.0, 90.0, 0.0))
    centres = np.array([(1.0, 2.0, 3.0), (4.0, 5.0, 6.0)], VECTOR)
    with h5py.File(path, "w") as f:
        f["centres"], f["subfaults"] = centres, subfaults
        f["sroffsets"] = np.array([[0, 0, 0], [3, 2, 0], [7, 2, 0]], np.uint32)
        f["sliprates1"], f["sliprates2"] = np.array([0.0, 1, 0, 0, 2, 2, 0]), np.array([1.0, 1.0])
        if third:
            f["sliprates3"] = np.zeros(0)
    return path


@pytest.mark.parametrize("third", [True, False])
def test_nrf_records(tmp_path, third):
    records = read_nrf(write_nrf(tmp_path / "a.nrf", third=third))
    assert [r.name.split(" ", 1)[1] for r in records] == ["subfault 0 tan1", "subfault 0 tan2", "subfault 1 tan1"]
    assert records[2].location.tolist() == [4, 5, 6] and records[0].onset == 0.5
    assert records[0].integral(0.0, 9.0) == pytest.approx(0.1) and records[0].value(0.55) == pytest.approx(0.5)
    assert records[1].integral(0.5, 0.55) == pytest.approx(0.05)
    assert records[2].integral(-1.0, 1.3) == pytest.approx(0.2 * (1.0 + 0.75 * 0 + 0.5 * 2.0))


def test_nrf_moment_by_aki_and_richards(tmp_path):
    """Double couple of strike 30, dip 60, rake 20 (Aki & Richards 2002, eq. 4.84 with x north, y east, z down)."""
    record = read_nrf(write_nrf(tmp_path / "a.nrf"))[0]
    assert record.shear_modulus is None
    xx, yy, zz, xy, yz, xz = record.moment_tensor(lam=7e9, mu=3e10)
    s, d, r = np.radians([30.0, 60.0, 20.0])
    m0 = 3e10 * 2e6
    sin, cos = np.sin, np.cos
    assert xx == pytest.approx(-m0 * (sin(d) * cos(r) * sin(2 * s) + sin(2 * d) * sin(r) * sin(s) ** 2))
    assert yy == pytest.approx(m0 * (sin(d) * cos(r) * sin(2 * s) - sin(2 * d) * sin(r) * cos(s) ** 2))
    assert zz == pytest.approx(m0 * sin(2 * d) * sin(r))
    assert xy == pytest.approx(m0 * (sin(d) * cos(r) * cos(2 * s) + 0.5 * sin(2 * d) * sin(r) * sin(2 * s)))
    assert xz == pytest.approx(-m0 * (cos(d) * cos(r) * cos(s) + cos(2 * d) * sin(r) * sin(s)))
    assert yz == pytest.approx(-m0 * (cos(d) * cos(r) * sin(s) - cos(2 * d) * sin(r) * cos(s)))


def test_nrf_own_shear_modulus_wins(tmp_path):
    own, cell = (read_nrf(write_nrf(tmp_path / f"{mu}.nrf", mu=mu))[0] for mu in (2e10, 0.0))
    assert own.moment_tensor(1e9, 5e10) == pytest.approx(cell.moment_tensor(1e9, 2e10), abs=1.0)


def test_nrf_refusals(tmp_path):
    (tmp_path / "text").write_text("no")
    with raises(InputError):
        read_nrf(tmp_path / "text")
    with raises(InputError):
        read_nrf(tmp_path / "absent")
    with h5py.File(tmp_path / "other", "w") as f:
        f["centres"] = [1.0]
    with raises(InputError):
        read_nrf(tmp_path / "other")
    path = write_nrf(tmp_path / "short")
    with h5py.File(path, "a") as f:
        del f["sliprates1"]
        f["sliprates1"] = np.zeros(3)
    with raises(InputError):
        read_nrf(path)


FSRM = """Seismic Moment Tensor
0.0 -1e18 0.0
-1e18 0.0 0.0
0.0 0.0 0.0
{extra}Number of sources
2
x y z strike dip rake area onset
0. 0. 2000. 0. 0. 0. 1.0 0.0
1. 2. 3. {angles} 0.5 0.25
source time function
0.1 3
samples
0. 1. 0.
2. 2.
2.
"""


def write_fsrm(path, extra="", angles="0. 0. 0.", text=FSRM):
    path.write_text(text.format(extra=extra, angles=angles))
    return path


def test_fsrm_has_the_physical_sign(tmp_path):
    first, second = read_fsrm(write_fsrm(tmp_path / "s.dat"))
    assert first.moment.tolist() == [0, 0, 0, 1e18, 0, 0] and second.moment.tolist() == [0, 0, 0, 5e17, 0, 0]
    assert first.moment_tensor(1.0, 1.0).tolist() == first.moment.tolist()
    assert first.location.tolist() == [0, 0, 2000] and second.onset == 0.25
    assert first.integral(0, 1) == pytest.approx(0.1) and second.integral(0, 1) == pytest.approx(0.4)
    assert not np.any(first.force)


def test_fsrm_forces_and_rotation(tmp_path):
    extra = "velocity components\n0. 0. 3.\npressure\n0.\n"
    _, turned = read_fsrm(write_fsrm(tmp_path / "s.dat", extra, "0.3 0.7 -0.4"))
    r = rotation(0.3, 0.7, -0.4)
    assert r @ r.T == pytest.approx(np.eye(3)) and np.linalg.det(r) == pytest.approx(1.0)
    assert turned.force == pytest.approx(0.5 * 3.0 * r[:, 2])
    x, y = r[:, 0], r[:, 1]
    m = 0.5e18 * (np.outer(x, y) + np.outer(y, x))
    assert turned.moment == pytest.approx([m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[1, 2], m[0, 2]])


def test_fsrm_rotation_by_hand():
    q = np.pi / 2
    assert rotation(q, 0, 0)[:, 0] == pytest.approx([0, -1, 0])  # strike turns x towards -y (clockwise seen from +z)
    assert rotation(0, q, 0)[:, 1] == pytest.approx([0, 0, -1])  # dip turns y down
    assert rotation(0, 0, q)[:, 0] == pytest.approx([0, 1, 0])  # rake turns x towards y


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("-1e18 0.0 0.0\n0.0", "-1e18 zero 0.0\n0.0"), r"s\.dat:3: 'zero' is not a number"),
        (("2.\n", ""), "the file ends in the samples"),
        (("0.1 3", "0.0 3"), "dt 0 s"),
        (("0.1 3", "0.1 2.5"), "2.5 samples"),
        (("-1e18 0.0 0.0\n0.0", "1e18 0.0 0.0\n0.0"), "not symmetric"),
        (("\n2\nx", "\n0\nx"), "number of sources is 0"),
    ],
)
def test_fsrm_refusals_name_the_line(tmp_path, change, text):
    assert change[0] in FSRM
    with pytest.raises(InputError, match=text):
        read_fsrm(write_fsrm(tmp_path / "s.dat", text=FSRM.replace(*change)))


def test_fsrm_sources_of_porous_rock(tmp_path):
    extra = "velocity components\n0. 0. 3.\npressure component\n1.5\nfluid velocity components\n0. 2. 0.\n"
    _, turned = read_fsrm(write_fsrm(tmp_path / "s.dat", extra, "0.3 0.7 -0.4"))
    r = rotation(0.3, 0.7, -0.4)
    assert turned.porous == pytest.approx(0.5 * np.concatenate([3.0 * r[:, 2], [1.5], 2.0 * r[:, 1]]))
    assert turned.porous[3:].any() and turned.force == pytest.approx(turned.porous[:3])
    _, plain = read_fsrm(write_fsrm(tmp_path / "s.dat", "fluid\n0. 0. 0.\n"))
    assert not plain.porous[3:].any()


def test_fsrm_file_that_is_missing(tmp_path):
    with raises(InputError):
        read_fsrm(tmp_path / "absent")
