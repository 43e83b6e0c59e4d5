"""How much of sources falls into a run."""

import numpy as np
import pytest

from faultwave.base.errors import Problems
from faultwave.base.formulas import magnitude
from faultwave.base.projection import Projection
from faultwave.physics.sources.acting import check_representable, check_time, moments_of, shares_within
from faultwave.physics.sources.point import PointSource
from faultwave.physics.sources.readers.srf import read_srf
from faultwave.physics.sources.time_functions import (
    Brune,
    Burst,
    Ricker,
    Samples,
    Triangle,
    Yoffe,
    error_function,
    gaussian,
)

FUNCTIONS = [Brune(0.3), Ricker(0.5), gaussian(0.1), error_function(0.2), Triangle(1.0), Yoffe(1.0, 0.1), Burst(0.2, 10.0),
             Samples(np.array([0.0, 1.0, -2.0, 0.0]), 0.1)]  # fmt: skip


def source(function, onset=0.0, name="source"):
    return PointSource(np.zeros(3), function, moment=np.array([0, 0, 0, 1e15, 0, 0]), onset=onset, name=name)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_end(function):
    """What comes after ``end`` is less than a millionth of the largest integral, and much of S lies before it."""
    t = np.linspace(0, function.end, 4001)
    whole = function.integral(t)
    assert abs(function.integral(50 * function.end) - whole[-1]) < 1e-6 * np.abs(whole).max()
    assert np.abs(function.value(t[2000:] * 2 - function.end + 1e-9)).max() >= 0
    assert (
        np.abs(function.value(function.end * (1 + np.linspace(1e-6, 5, 500))))
        < 1e-4 * np.abs(function.value(t[1:])).max()
    ).all()


@pytest.mark.parametrize(
    ("onset", "end", "share"), [(0.0, 1.0, 1), (0.5, 1.0, 0.5), (-0.25, 9.0, 0.875), (-50, 9, 0), (50, 0.5, 0)]
)
def test_share_of_a_triangle(onset, end, share):
    assert shares_within([source(Triangle(1.0), onset)], end)[0] == pytest.approx(share, abs=0.003)


def test_wavelets_are_missed_too():
    """Though their integral is nothing."""
    assert shares_within([source(Ricker(0.5), -50.0)], 9.0)[0] == 0.0
    assert shares_within([source(Ricker(0.5), 8.25)], 9.0)[0] == pytest.approx(0.5, abs=0.01)


def test_what_is_lost_is_named():
    problems = Problems()
    check_time(
        [source(Triangle(1.0), 0.0), source(Triangle(1.0), 5.0, "late"), source(Triangle(1.0), -0.5, "early")],
        5.0,
        problems,
    )
    (warning,) = problems.warnings
    assert "2 of 3 act partly outside of the run, 0 to 5 s" in warning.what
    assert "late with onset 5 s: 100 %, early with onset -0.5 s: 50 %" in warning.what
    check_time([source(Triangle(1.0))], 1.0, none := Problems())
    assert not none.items


def test_moment_within_the_run():
    sources = [source(Triangle(1.0)), source(Triangle(1.0), 9.5)]
    tensors = np.stack([s.moment for s in sources])
    assert moments_of(sources, tensors, 5.0).scalar == pytest.approx(1e15)
    both = moments_of(sources, tensors, 10.0)
    assert both.scalar == both.tensor == pytest.approx(1.5e15)
    assert magnitude(1.0e15) == pytest.approx(3.93, abs=0.005)
    assert [row[0] for row in both.rows()] == ["sum of scalar moments", "Mw"]


def test_moments_of_other_mechanisms(tmp_path):
    """Two subfaults of 3.24e16 N m, rakes 0 and 60: 6.48e16 by sum, 2 cos(30 degrees) times one as a tensor."""
    subfault = "-117 34 5 30 60 1e10 0.2 0.1\n{} 100 3 0 0 0 0\n0 1000 0\n"
    path = tmp_path / "two.srf"
    path.write_text("1.0\nPOINTS 2\n" + subfault.format(0) + subfault.format(60))
    table = read_srf(path, Projection("EPSG:32611", (-117.0, 34.0)))
    found = moments_of(table, table.moment_tensors(32.4e9, 32.4e9), 2.0)
    assert found.scalar == pytest.approx(6.48e16, rel=1e-6)
    assert found.tensor == pytest.approx(2 * np.cos(np.radians(30)) * 3.24e16, rel=1e-6)
    names, texts = zip(*found.rows(), strict=True)
    assert names == ("sum of scalar moments", "moment of the summed tensor", "Mw")
    assert texts == (
        "6.48e+16 N m within the run, Mw 5.14", "5.612e+16 N m within the run, Mw 5.10", "2/3 (log10 M0 - 9.1), M0 in N m",
    )  # fmt: skip


def test_directions_of_a_subfault_are_one_source(tmp_path):
    """Slip of 3 m along the rake and 4 m across it is slip of 5 m."""
    path = tmp_path / "a.srf"
    head = "-117 34 5 30 60 1e10 0.2 0.1\n0 300 1 400 1 0 0\n3000\n4000\n"
    path.write_text("1.0\nPOINTS 2\n" + 2 * head)
    table = read_srf(path, Projection("EPSG:32611", (-117.0, 34.0)))
    assert len(table) == 4
    assert moments_of(table, table.moment_tensors(3e10, 3e10), 2.0).scalar == pytest.approx(2 * 3e10 * 1e6 * 5.0)


def test_onsets_beyond_the_end_are_told_however_late_they_are():
    """A duration beside 1e90 s is lost to rounding, on both sides of the run."""
    for onset in (5.0, 1e90, -5.0, -1e30):
        problems = Problems()
        check_time([source(gaussian(0.1), onset)], 4.0, problems)
        assert f"with onset {onset:g} s: 100 %" in str(problems.warnings[0])


def test_sources_beyond_the_precision_are_an_error():
    force = PointSource(np.zeros(3), gaussian(0.1), force=np.array([0.0, 0.0, 1e40]), name="push")
    for precision, wrong in (("single", 1), ("double", 0)):
        problems = Problems()
        check_representable([source(gaussian(0.1)), force], precision, problems)
        assert len(problems.errors) == wrong
    assert not problems.warnings
    check_representable([force], "single", problems)
    assert "push is 1e+40, which single precision cannot represent" in str(problems.errors[0])


@pytest.mark.parametrize(("precision", "size", "doubted"), [
    ("single", 1e-60, True), ("single", 1e-20, True), ("single", 1e-3, False), ("double", 1e-60, False),
])  # fmt: skip
def test_sources_whose_waves_underflow_are_doubted(precision, size, doubted):
    """1e-60 N in single precision leaves seismograms of zeros."""
    problems = Problems()
    faint = PointSource(np.zeros(3), gaussian(0.1), force=np.array([0.0, 0.0, size]), name="push")
    check_representable([source(gaussian(0.1)), faint], precision, problems)
    assert not problems.errors
    assert [f"push is {size:g}" in str(p) for p in problems.warnings] == [True] * doubted
