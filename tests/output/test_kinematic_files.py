"""Ruptures written as models with rise times: read back, moment, mechanism, place, rake and times are those of the run."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.observe.finite_source import SlipTimes, finite_source
from faultwave.output.formats.finite_sources.histories import read_histories
from faultwave.output.formats.finite_sources.param import cosine_parts
from faultwave.output.results import convert
from faultwave.physics.sources.readers.fsp import read_fsp
from faultwave.physics.sources.readers.param import read_param
from tests.messages import raises

from .finite_source_runs import PROJECTION, SIZES, in_two_segments, moment_tensor

EARTH = Projection(PROJECTION["crs"], PROJECTION["origin"], PROJECTION["azimuth"])
READERS = {"fsp": read_fsp, "param": read_param}
TIMES = np.linspace(0.0, 4.0, 1601)


def full(six: np.ndarray) -> np.ndarray:
    return six[..., [0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(*six.shape[:-1], 3, 3)


def mean_time(released: np.ndarray) -> float:
    """Return the mean time of the release of a moment tensor (times, 3, 3), along its final value."""
    final = released[-1]
    part = np.einsum("tij,ij->t", released, final) / (final**2).sum()
    return float(np.trapezoid(1.0 - part, TIMES))


def of_the_run(slip) -> np.ndarray:
    """Return the moment tensor released by the elements of a run until ``TIMES``."""
    found = np.zeros((len(TIMES), 3, 3))
    for e in range(len(slip.area)):
        along, down = (np.interp(TIMES, slip.time, slip.slip[e, :, c].astype(float)) for c in range(2))
        vector = along[:, None] * slip.strike[e] + down[:, None] * slip.dip[e]
        one = slip.rigidity[e] * slip.area[e] * vector[:, :, None] * slip.normal[e]
        found += one + one.swapaxes(1, 2)
    return found


@pytest.mark.parametrize("segments", [1, 2])
@pytest.mark.parametrize("kind", READERS)
def test_source_equals_the_run(run, tmp_path, kind, segments) -> None:
    folder = run.folder if segments == 1 else in_two_segments(run.folder, tmp_path / "run")
    spacing = SIZES[run.engine]
    (path,) = convert(folder, kind, tmp_path, spacing=spacing)
    sources = READERS[kind](path, EARTH)
    tensors = full(sources.moment_tensors(0.0, 0.0))
    released = np.einsum("nij,nt->tij", tensors, sources.released(TIMES))
    exact = of_the_run(run.slip)
    assert np.abs(exact[-1] - moment_tensor(run.slip)).max() < 1e-9 * np.abs(exact).max()
    assert np.abs(released[-1] - exact[-1]).max() < 1e-3 * np.abs(exact).max()
    moments = np.sqrt((tensors**2).sum((1, 2)) / 2.0)
    assert moments.sum() == pytest.approx(run.slip.moments.sum(), rel=1e-3)
    centroid = (run.slip.moments[:, None] * run.slip.centre).sum(0) / run.slip.moments.sum()
    assert (moments[:, None] * sources.location).sum(0) / moments.sum() == pytest.approx(centroid, abs=0.15 * spacing)
    assert mean_time(released) == pytest.approx(mean_time(exact), abs=0.01)


@pytest.mark.parametrize("kind", READERS)
def test_times_and_rakes_are_those_of_the_subfaults(run, tmp_path, kind) -> None:
    spacing, frequency = SIZES[run.engine], 0.25
    (path,) = convert(run.folder, kind, tmp_path, spacing=spacing, frequency=frequency)
    found, source = READERS[kind](path, EARTH), finite_source(run.slip, spacing, frequency)
    numbers = source.slipping
    assert len(found) == len(numbers)
    for row, n in enumerate(numbers):
        size = np.linalg.norm(source.rates[n], axis=1)
        times = source.onset[n] + source.interval * np.arange(len(size))
        begins = np.interp(0.01 * size.max(), size[: size.argmax() + 1], times[: size.argmax() + 1])
        assert found.onset[row] == pytest.approx(begins, abs=1e-5)
        until = found.released(TIMES, np.array([row]))[0]
        along = source.rates[n] @ source.slip[n]
        mean = max(times @ along / along.sum(), begins + 0.5 * source.interval)
        assert np.trapezoid(1.0 - until / until[-1], TIMES) == pytest.approx(mean, abs=2e-3)
        vector = source.slip[n] @ [source.strike[n], source.up[n]]
        one = source.rigidity[n] * source.area[n] * np.outer(vector, source.normal[n])
        tensor = full(found.moment_tensors(0.0, 0.0)[row]) * until[-1]
        # a segment of fsp has one strike from true north, which changes by 0.1 degrees along it
        largest = {"fsp": 2e-3, "param": 2e-6}[kind]
        assert np.abs(tensor - one - one.T).max() < largest * np.abs(one).max()
        assert np.linalg.norm(found.location[row] - source.place[n]) < spacing


def test_header_of_fsp(run, tmp_path) -> None:
    (path,) = convert(in_two_segments(run.folder, tmp_path / "run"), "fsp", tmp_path, spacing=SIZES[run.engine])
    text = path.read_text()
    moment = run.slip.moments.sum()
    values = {key: float(text.split(f"{key} = ")[1].split()[0]) for key in ("Mw", "Mo", "STRK", "DIP", "Nsg", "HypX")}
    assert values["Mo"] == pytest.approx(moment, rel=1e-3)
    assert values["Mw"] == pytest.approx((np.log10(moment) - 9.1) / 1.5, abs=1e-3)
    azimuth = EARTH.azimuth_of_y(*EARTH.to_geographic(np.zeros((1, 2)))[0]) + 90.0  # of x
    assert (values["STRK"] - azimuth) % 180.0 == pytest.approx(0.0, abs=0.1) or (
        values["STRK"] - azimuth
    ) % 180.0 == pytest.approx(180.0, abs=0.1)
    assert values["DIP"] == pytest.approx(90.0 if run.engine == "fd" else 60.0, abs=1e-3)
    source = finite_source(run.slip, SIZES[run.engine], run.slip.highest_frequency)
    place = EARTH.to_local(*(float(text.split(f"{key} = ")[1].split()[0]) for key in ("LON", "LAT")))[0]
    away = np.linalg.norm(source.place[source.slipping, :2] - place, axis=1)
    assert source.onset[source.slipping][away.argmin()] <= np.nanmin(source.onset) + 0.1
    assert values["Nsg"] == text.count("% SEGMENT #") == 2


@pytest.mark.parametrize("kind", READERS)
def test_formats_on_lattices_need_a_spacing(run, tmp_path, kind) -> None:
    with raises(InputError):
        convert(run.folder, kind, tmp_path)


@pytest.mark.parametrize(("rise", "fall"), [(0.5, 0.5), (0.2, 1.0), (1.5, 0.3)])
def test_parts_of_cosines_are_found_again(rise, fall) -> None:
    t = np.linspace(0.0, rise + fall, 20001)
    rate = np.where(t < rise, 1 - np.cos(np.pi * t / rise), 1 + np.cos(np.pi * (t - rise) / fall))
    mean = (t * rate).sum() / rate.sum()
    deviation = np.sqrt(((t - mean) ** 2 * rate).sum() / rate.sum())
    times = SlipTimes(*(np.array([x]) for x in (3.0, 3.0 + mean, deviation)))
    assert np.ravel(cosine_parts(times)) == pytest.approx([rise, fall], rel=1e-3)


def test_faults_that_bend_are_no_lattice(run, tmp_path) -> None:
    """One strike and dip of a segment would turn the slip of its subfaults; rows of param have their own."""
    folder = in_two_segments(run.folder, tmp_path / "run")
    with h5py.File(folder / "run-slip.h5", "r+") as file:
        turn = np.radians(np.where(file["tag"][()] == 1, 12.0, -12.0))
        c, s = np.cos(turn), np.sin(turn)
        for name in ("normal", "strike", "dip"):
            x, y, z = file[name][()].T
            file[name][...] = np.stack([c * x - s * y, s * x + c * y, z], 1)
        file["tag"][...] = 1
        middle = np.abs(file["corners"][()].mean(1)[:, 0] - 500.0) < 1500.0
        file["slip"][...] = np.where(middle[:, None, None], 0.0, file["slip"][()])  # no subfault slips on both sides
    with raises(InputError):
        convert(folder, "fsp", tmp_path, spacing=SIZES[run.engine])
    found = read_param(convert(folder, "param", tmp_path, spacing=SIZES[run.engine])[0], EARTH)
    tensor = full(found.moment_tensors(0.0, 0.0).sum(0))
    exact = moment_tensor(read_histories(folder / "run-slip.h5"))
    assert np.abs(tensor - exact).max() < 1e-3 * np.abs(exact).max()
