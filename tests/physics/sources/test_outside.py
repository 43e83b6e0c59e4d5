"""Many mistakes of one kind in a source file are one error, with where to look first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from faultwave.base.errors import InputError, Problems
from faultwave.physics.sources.acting import report_outside
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.time_functions import Brune
from faultwave.run.planned import check

from .test_geographic import srf, subfault


def source(name: str, x: float) -> PointSource:
    return PointSource(np.array([x, 0.0, -1.0]), Brune(1.0), force=np.ones(3), name=name)


def test_sources_outside_are_told_once_for_each_file() -> None:
    sources = [source(f"a.srf subfault {n}", 10.0 * n) for n in range(60)] + [
        source("sources[1]", 9e9),
        source("b.nrf source 1", 1.0),
    ]
    distance = np.array([s.location[0] - 100.0 for s in sources])
    problems = Problems()
    report_outside(sources, distance, "mesh", problems, "a point in it")
    first, second = problems.items
    assert str(first) == (
        "source a.srf subfault 59 at (590, 0, -1): lies 490 m outside the mesh, the farthest of 49 that do, of 60 in a.srf "
        "(allowed: a point in it)"
    )
    assert second.where == "source sources[1] at (9e+09, 0, -1)" and "farthest" not in second.what


def test_subfaults_that_are_wrong_alike_are_one_error(tmp_path: Path) -> None:
    text = "1.0\nPOINTS 52\n" + subfault() + 50 * subfault(lat=94) + subfault(dip=100)
    with pytest.raises(InputError) as caught:
        srf(tmp_path, text)
    alike, other = caught.value.problems
    assert alike.where.endswith("a.srf:7") and "subfault 2 has longitude -117, latitude 94" in alike.what
    assert "so is the longitude of 49 more, the last of them subfault 51" in alike.what
    assert "subfault 52 has dip 100" in other.what and not alike.advice


def test_exchanged_longitudes_and_latitudes_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        srf(tmp_path, "1.0\nPOINTS 1\n" + subfault(lon=34, lat=-117))
    assert caught.value.problems[0].advice == "Are longitude and latitude exchanged?"


@pytest.mark.parametrize("engine", ["dg", "fd"])
def test_a_source_outside_is_told_with_its_line(tmp_path: Path, engine: str) -> None:
    domain = {
        "dg": "mesh:\n  generate: {shape: box, cells: [2, 2, 2], lower: [0, 0, -1000], upper: [1000, 1000, 0]}\n",
        "fd": "grid:\n  {lower: [0, 0, -1000], upper: [1000, 1000, 0], spacing: 100}\n",
    }[engine]
    path = tmp_path / "case.yaml"
    path.write_text(
        f"engine: {engine}\nend_time: 1\n{domain}material:\n  constant: {{rho: 2700, vp: 6000, vs: 3464}}\n"
        "sources:\n  - {kind: force, location: [500, 500, -500], force: [1, 0, 0], time_function: {kind: brune, duration: 0.2}}\n"
        "  - {kind: force, location: [500, 500, -1700], force: [1, 0, 0], time_function: {kind: brune, duration: 0.2}}\n"
    )
    (told,) = check(path).errors
    assert told.where == f"{path}:9" and "lies 700 m outside the" in told.what
    assert told.allowed.startswith("a point in")
