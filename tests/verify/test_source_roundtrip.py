"""Ruptures written as finite sources conserve moment, place and time of slip, and radiate the same waves on the same grid."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultwave.output.results import convert
from faultwave.verify.cases.source_roundtrip import PROJECTION, conserved, run
from tests.output.finite_source_runs import PROJECTION as SAME
from tests.output.finite_source_runs import grid_run, histories


def test_file_conserves_the_slip(tmp_path_factory) -> None:
    folder = grid_run(tmp_path_factory.mktemp("source") / "out")
    slip = histories(folder)
    (file,) = convert(folder, "srf")
    assert dict(PROJECTION) == SAME
    assert all(row.ok for row in conserved(slip, file))
    late = conserved(replace(slip, time=slip.time + 0.02), file)
    more = conserved(replace(slip, slip=1.002 * slip.slip, corners=slip.corners + 2.0), file)
    assert [row.ok for row in late] == [True, True, False]
    assert [row.ok for row in more] == [False, False, True]


def test_source_radiates_the_waves_of_the_rupture() -> None:
    rows = run(lambda text: None).rows
    assert len(rows) == 8
    assert all(row.ok for row in rows), rows
    assert max(row.measured for row in rows[3:]) == pytest.approx(0.0094, abs=5e-4)
