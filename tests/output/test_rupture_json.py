"""Ruptures written as GeoJSON of ShakeMap: the extent of slip, read back as planes, and the event."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.domain.build.planes import read_planes
from faultwave.output.formats.finite_sources.rupture_json import mechanism
from faultwave.output.manifest import read_manifest
from faultwave.output.results import convert
from tests.messages import raises

from .finite_source_runs import PROJECTION, in_two_segments

EARTH = Projection(PROJECTION["crs"], PROJECTION["origin"], PROJECTION["azimuth"])


def ruptured(slip) -> np.ndarray:
    """Return the corners of the elements with at least a hundredth of the largest slip."""
    final = np.linalg.norm(slip.slip[:, -1], axis=1)
    return slip.corners[final >= 0.01 * final.max()].reshape(-1, 3)


def test_extent_is_that_of_the_slip(run, tmp_path) -> None:
    (path,) = convert(run.folder, "rupture-json", tmp_path)
    (plane,) = read_planes(path)
    points = ruptured(run.slip)
    assert plane.dip == pytest.approx(90.0 if run.engine == "fd" else 60.0, abs=0.1)
    assert plane.length == pytest.approx(np.ptp(points[:, 0]), rel=1e-3)
    depth = -points[:, 2]
    assert plane.top == pytest.approx(depth.min(), abs=1.0)
    assert plane.width * np.sin(np.radians(plane.dip)) == pytest.approx(np.ptp(depth), rel=1e-3)
    middle = EARTH.to_local(*plane.middle)[0]
    assert middle[0] == pytest.approx(0.5 * (points[:, 0].min() + points[:, 0].max()), abs=2.0)
    upper = points[depth < depth.min() + 1.0]
    assert middle[1] == pytest.approx(upper[:, 1].mean(), abs=2.0)


def test_each_tag_is_a_polygon(run, tmp_path) -> None:
    (path,) = convert(in_two_segments(run.folder, tmp_path / "run"), "rupture-json", tmp_path)
    planes = read_planes(path)
    assert len(planes) == 2
    assert sum(p.length for p in planes) >= np.ptp(ruptured(run.slip)[:, 0]) * 0.999


def test_event(run, tmp_path) -> None:
    (path,) = convert(run.folder, "rupture-json", tmp_path)
    found = json.loads(path.read_text())
    event = found["metadata"]
    moments = run.slip.moments
    assert event["mag"] == pytest.approx((np.log10(moments.sum()) - 9.1) / 1.5, abs=1e-3)
    assert event["id"] == "run" and "time" not in event
    moving = np.linalg.norm(run.slip.slip, axis=2) > 0
    begins = np.where(moving.any(1), run.slip.time[moving.argmax(1)], np.inf)
    local = EARTH.to_local(event["lon"], event["lat"])[0]
    away = np.linalg.norm(run.slip.centre - [*local, -1e3 * event["depth"]], axis=1)
    assert away.min() < 1.0  # the hypocentre is the centre of an element that is among the first to slip
    assert begins[away.argmin()] <= begins.min() + run.slip.interval
    first = found["features"][0]["geometry"]["coordinates"][0][0]
    assert first[0] == first[-1] and len(first) == 5


def test_date_of_the_event(run, tmp_path) -> None:
    folder = in_two_segments(run.folder, tmp_path / "run")
    path = folder / "run-manifest.json"
    manifest = json.loads(path.read_text())
    manifest["case"]["output"]["origin_time"] = "2019-07-06T03:19:53.040000+00:00"
    path.write_text(json.dumps(manifest))
    assert read_manifest(path)
    (written,) = convert(folder, "rupture-json", tmp_path)
    time = json.loads(written.read_text())["metadata"]["time"]
    assert datetime.fromisoformat(time) == datetime(2019, 7, 6, 3, 19, 53, 40000, tzinfo=UTC)


def test_options_of_other_formats_are_errors(run, tmp_path) -> None:
    with raises(InputError):
        convert(run.folder, "rupture-json", tmp_path, spacing=1000.0)


@pytest.mark.parametrize(
    ("rake", "name"), [(-175, "SS"), (20, "SS"), (100, "RS"), (-75, "NM"), (45, "ALL"), (181, "SS")]
)
def test_mechanisms(rake, name) -> None:
    assert mechanism(rake) == name
