"""Subfaults of planes that are settings: the same as those of an SRF file, their geometry, and problems."""

from dataclasses import fields

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.cli.main import app
from faultwave.inversion.fault import make_plane
from faultwave.inversion.inversion import Inversion
from faultwave.inversion.settings import PlaneSettings
from faultwave.physics.sources.readers.srf import read_srf_subfaults
from tests.messages import raises

from .inputs import ALONG, DOWN, PROJECTION, SPACING, inversion, places, projection


def plane(**changes):
    """Plane of the fault of the other tests: vertical, along local x, 20 degrees from east."""
    longitude, latitude = projection().to_geographic(np.array([[650 + SPACING, 690.0]]))[0]
    turn = projection().azimuth_of_y(longitude, latitude)
    found = {
        "top": [float(longitude), float(latitude), -600 + SPACING / 2], "strike": float(90 + turn), "dip": 90, "rake": 20,
        "length": ALONG * SPACING, "width": DOWN * SPACING, "subfaults": [ALONG, DOWN],
    }  # fmt: skip
    return found | changes


def of_planes(folder, *planes, **changes):
    made = inversion(folder, slip={"planes": list(planes)}, **changes)
    del made["slip"]["faults"]
    return made


def test_a_plane_has_the_subfaults_of_a_file(folder):
    found = make_plane(PlaneSettings(**plane(strike=110.0)), projection(), "")
    expected = read_srf_subfaults(folder / "fault.srf", projection())
    np.testing.assert_allclose(make_plane(PlaneSettings(**plane()), projection(), "").location, places(), atol=1e-3)
    np.testing.assert_allclose(found.potency, expected.potency, atol=1e-6 * SPACING**2)
    for field in fields(found):
        if field.name not in ("potency", "modulus", "vs", "density", "grids", "location", "geographic"):
            np.testing.assert_allclose(getattr(found, field.name), getattr(expected, field.name), err_msg=field.name)
    assert found.grids == ((ALONG, DOWN, 450.0, 300.0),) == expected.grids
    assert np.isnan(found.modulus).all()


def test_a_plane_dips_to_the_right_of_its_strike():
    settings = plane(top=[-117.0, 34.0, -1000.0], strike=30.0, dip=40.0, length=4000.0, width=3000.0, subfaults=[2, 3])
    found = make_plane(PlaneSettings(**settings), projection(), "")
    north = projection().norths(np.array([-117.0]), np.array([34.0]))[0]
    east = np.array([north[1], -north[0]])
    strike, dip = np.radians([30.0, 40.0])
    ahead, right = np.cos(strike) * north + np.sin(strike) * east, -np.sin(strike) * north + np.cos(strike) * east
    middle = projection().to_local([-117.0], [34.0])[0]
    for number, (s, d) in enumerate((s, d) for d in (500.0, 1500.0, 2500.0) for s in (-1000.0, 1000.0)):
        expected = [*(middle + s * ahead + d * np.cos(dip) * right), -1000.0 - d * np.sin(dip)]
        np.testing.assert_allclose(found.location[number], expected, atol=1e-6)
    normal = np.array([*(np.sin(dip) * -right), -np.cos(dip)])  # out of the foot wall, into the ground below
    for tensor in found.potency.reshape(-1, 6):
        matrix = np.array(
            [[tensor[0], tensor[3], tensor[5]], [tensor[3], tensor[1], tensor[4]], [tensor[5], tensor[4], tensor[2]]]
        )
        assert (
            abs(normal @ matrix @ normal) < 1e-3 * abs(matrix).max()
            and abs(np.trace(matrix)) < 1e-6 * abs(matrix).max()
        )


def test_slip_on_a_plane_is_that_on_the_file(folder, tmp_path):
    found = fw.invert(of_planes(folder, plane()), tmp_path / "one")
    expected = fw.invert(inversion(folder), tmp_path / "other")
    np.testing.assert_allclose(found.slip, expected.slip, atol=0.03)
    np.testing.assert_allclose(found.deviation, expected.deviation, rtol=0.05)
    assert (tmp_path / "one" / "mean.srf").stat().st_size > 500


def test_planes_that_are_wrong_have_messages(folder):
    for made in (
        of_planes(folder, plane(), plane()),
        of_planes(folder, plane(top=[-117.0, 34.0, -600.0])),
        of_planes(folder, plane(dip=100.0, subfaults=[3])),
        of_planes(folder),
    ):
        with raises(InputError):
            Inversion(made).plan()


def test_points_of_the_subfaults_are_written(folder, tmp_path):
    made = of_planes(folder, plane(), tensors=str(tmp_path / "later.nc"), projection=PROJECTION)
    (tmp_path / "plane.yaml").write_text(yaml.safe_dump(made))
    done = CliRunner().invoke(app, ["invert", str(tmp_path / "plane.yaml"), "--points", str(tmp_path / "points.txt")])
    assert done.exit_code == 0 and "6 points" in done.output, done.output
    np.testing.assert_allclose(np.loadtxt(tmp_path / "points.txt"), places(), atol=2e-3)
    assert Inversion(inversion(folder)).write_points(tmp_path / "other.txt") == 6
    with pytest.raises(InputError, match="projection is missing|no such file"):
        Inversion(made | {"projection": None}).write_points(tmp_path / "points.txt")
