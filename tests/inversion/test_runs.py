"""Inversions of a run on the grid of the tensors: prediction, results, the command, and problems before the computation."""

import shutil
from dataclasses import replace
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import obspy
import pytest
import yaml
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.cli.main import app
from faultwave.inversion.assembly import assemble, make_data
from faultwave.inversion.inversion import Inversion, sample_path
from faultwave.inversion.result import read_result
from faultwave.physics.sources.readers.srf import read_srf
from tests.messages import expect, raises

from .inputs import inversion, projection, tensor_inversion

MOMENT = 2700 * 2000.0**2 * 150.0**2 * 1.8
"""Moment of the rupture along the rake [N m]."""


@pytest.mark.parametrize("low", [None, 0.9])
def test_the_prediction_is_the_run(folder, truth, low):
    plan = Inversion(inversion(folder, band={"low": low, "high": 3.0})).plan()
    forward = assemble(plan.sources, plan.seismograms, plan.window, plan.every)
    data, _ = make_data(plan.seismograms, plan.window, plan.inversion.noise, False)
    found = forward.matmat(truth.reshape(-1, 1))[:, 0]
    assert abs(found - data).max() < 1e-3 * abs(data).max()  # interpolation of forces and sources on the grid


def test_the_slip_of_a_run_is_found_with_its_uncertainty(folder, truth, tmp_path):
    found = fw.invert(inversion(folder), tmp_path)
    total = truth.sum(0)
    assert (abs(found.slip - total) < 3 * found.deviation).all()
    assert abs(found.slip - total).max() < 0.2
    assert (found.resolution > 0.5).all()
    assert abs(found.numbers["moment"] - MOMENT) < 3 * found.numbers["moment_deviation"]
    assert found.numbers["magnitude"] == pytest.approx((np.log10(MOMENT) - 9.1) / 1.5, abs=0.03)
    assert found.numbers["variance_reduction"] > 0.99
    stored = read_result(tmp_path / "inversion.nc")
    for name in ("mean", "slip", "deviation", "resolution", "samples", "data", "predicted"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(found, name))
    assert stored.channels == found.channels
    assert stored.numbers == pytest.approx(found.numbers, rel=0, abs=0, nan_ok=True)


def test_samples_are_srf_files_with_their_slip(folder, tmp_path):
    fw.invert(inversion(folder, samples=5), tmp_path)
    found = fw.invert(inversion(folder, samples=3), tmp_path)
    assert len(list((tmp_path / "samples").glob("*.srf"))) == 3
    for number, sample in enumerate(found.samples):
        sources = read_srf(sample_path(tmp_path, number), projection())
        (group,) = sources.functions.groups
        slip = group.interval * np.add.reduceat(np.asarray(group.samples, float), group.first[:-1])
        np.testing.assert_allclose(slip, sample.sum(0).T.ravel(), atol=1e-6)


def test_unknown_noise_and_prior_are_estimated(folder, tmp_path):
    made = inversion(
        folder, slip={"amplitude": "auto", "correlation_length": "auto"}, noise={"fraction": 0.05, "scale": "auto"}
    )
    found, fixed = fw.invert(made, tmp_path / "auto"), fw.invert(inversion(folder), tmp_path / "fixed")
    assert found.numbers["noise_scale"] < 0.2  # the data have the errors of the grid only
    assert not fixed.numbers["length_limited"] and "an end of its range" not in str(fixed)
    assert found.numbers["log_evidence"] > fixed.numbers["log_evidence"] + 10
    assert abs(found.numbers["moment"] / MOMENT - 1) < 0.01


def test_the_summary_states_a_length_at_an_end_of_its_range_and_a_large_misfit(folder, tmp_path):
    rough = inversion(folder, slip={"correlation_length": "auto", "windows": 1, "across": 0.0}, samples=2)
    found = fw.invert(rough, tmp_path)
    initial = 0.25 * 300.0  # of the fault
    assert found.numbers["length_limited"] == (not 0.2 * 1.1 < found.numbers["length_strike"] / initial < 5 / 1.1)
    assert found.numbers["length_limited"] and "an end of its range" in str(found)
    assert found.numbers["chi2"] > 2 and "intervals are too narrow" in str(found)


def test_conjugate_gradients_find_the_same(folder, tmp_path):
    one = fw.invert(inversion(folder), tmp_path / "one")
    other = fw.invert(inversion(folder, solver="conjugate-gradients"), tmp_path / "other")
    np.testing.assert_allclose(other.slip, one.slip, atol=1e-6)
    np.testing.assert_allclose(other.deviation, one.deviation, rtol=1e-5)
    assert np.isnan(other.numbers["log_evidence"])


def test_the_command_checks_computes_and_draws(folder, tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(inversion(folder, folder=str(tmp_path / "results"))))
    found = CliRunner().invoke(app, ["invert", str(path), "--dry-run"])
    assert found.exit_code == 0 and "78 samples of 6 channels" in found.output and not (tmp_path / "results").exists()
    found = CliRunner().invoke(app, ["invert", str(path)])
    assert found.exit_code == 0, found.output
    for part in (
        "moment along the rake",
        "magnitude",
        "variance reduction",
        "log evidence",
        "inversion.nc",
        "mean.srf",
    ):
        assert part in found.output
    assert (tmp_path / "results" / "inversion.png").stat().st_size > 10_000


def test_every_problem_of_the_data_is_reported_at_once(folder):
    made = inversion(
        folder, window=[-1.0, 5.0], band={"high": 30.0}, nearest=1.0, slip={"correlation_length": [1e6, 300.0]},
        solver="conjugate-gradients", noise={"fraction": 0.1, "scale": "auto"},
    )  # fmt: skip
    with raises(InputError):
        Inversion(made).plan()


@pytest.mark.parametrize(
    "changes",
    [
        {"tensors": "absent.nc"},
        {"data": "absent"},
        {"noise": {}},
        {"noise": {"level": 1.0, "pre_event": 0.1}},
        {"noise": {"fraction": 1e-9}},
        {"noise": {"pre_event": 2.0}},
        {"window": [1.0, 0.5]},
        {"window": [0.0, 0.3]},
        {"band": {"low": 4.0, "high": 3.0}},
        {"slip": {"amplitude": -1.0}},
        {"slip": {"correlation_length": [0.0, 100.0]}},
        {"slip": {"hurst": 2.0}},
        {"slip": {"hypocentre": [-117.0, 34.0, -70000.0]}},
        {"slip": {"hypocentre": [34.0, -117.0, -700.0]}},
        {"slip": {"hypocentre": [-116.9894, 34.0032, 700.0]}},
        {"band": {"low": 0.5, "high": 3.0}},
        {"window": [1.0, 2.0], "noise": {"pre_event": 0.9}, "band": {"low": 1.0, "high": 3.0}},
        {"unit": "counts"},
        {"unit": "m"},
    ],
    ids=str,
)
def test_problems_have_messages(folder, changes):
    with raises(InputError):
        Inversion(inversion(folder, **changes)).plan()


@pytest.mark.parametrize("written", [False, True])
def test_messages_of_settings_state_their_place_once(folder, tmp_path, written):
    made = inversion(folder, slip={"amplitude": "5 s", "correlation_length": [1.0], "hurst": 2.0})
    made["slip"]["hypocentre"] = [-117.0, 34.0]
    del made["slip"]["window_duration"]
    path = tmp_path / "nested.yaml"
    path.write_text(yaml.safe_dump(made))
    with raises(InputError):
        Inversion(path if written else made)


def test_results_neither_mix_with_others_nor_replace_files_that_are_read(folder, tmp_path):
    for name in ("moment_tensor.nc", "centroids.csv", "inversion.png", "inversion.nc"):
        (tmp_path / name).write_text("earlier")
    shutil.copy(folder / "fault.srf", tmp_path / "mean.srf")
    (tmp_path / "samples").mkdir()
    shutil.copy(folder / "fault.srf", tmp_path / "samples" / "sample-0001.srf")
    faults = [str(tmp_path / "mean.srf"), str(tmp_path / "samples" / "sample-0001.srf")]
    with raises(InputError):
        Inversion(inversion(folder, slip={"faults": faults}), tmp_path).plan()
    tensor = tensor_inversion(folder, moment_tensor={"near": [-117.0, 34.0, -700.0], "within": 5e3})
    with raises(InputError):
        Inversion(tensor, tmp_path).plan()
    for name in ("moment_tensor.nc", "centroids.csv"):
        (tmp_path / name).unlink()
    fw.invert(inversion(folder), tmp_path)
    assert not (tmp_path / "inversion.png").exists()  # of the earlier inversion


def test_a_fault_file_is_in_the_list_once(folder, tmp_path):
    (tmp_path / "link.srf").symlink_to(folder / "fault.srf")
    made = inversion(folder, slip={"faults": [str(folder / "fault.srf"), str(tmp_path / "link.srf")]})
    with pytest.raises(InputError, match=r"slip.faults\[1\]: .*link.srf is in the list twice"):
        Inversion(made).plan()


def test_the_fraction_of_noise_is_that_of_the_strongest_component(folder):
    plan = Inversion(inversion(folder, noise={"fraction": 0.1, "level": 1e-3})).plan()
    data, noise = make_data(plan.seismograms, plan.window, plan.inversion.noise, False)
    power = (data.reshape(2, 3, -1) ** 2).mean(-1).max(1)  # of each station
    assert np.ptp((data.reshape(2, 3, -1) ** 2).mean(-1), axis=1).min() > 0.1 * power.min()  # components differ
    expected = np.repeat(1e-6 + 0.01 * power, 3) * 1.001  # white noise
    np.testing.assert_allclose(noise.columns[:, 0], expected, rtol=1e-10)


def test_sites_without_data_are_in_the_plan(folder, tmp_path):
    assert "sites without data" not in dict(Inversion(inversion(folder)).plan().rows())
    (path,) = map(Path, fw.convert(folder / "data", "mseed", tmp_path))
    fw.convert(folder / "data", "stationxml", tmp_path)
    stream = obspy.read(str(path))
    stream.select(station="ONE").write(str(path), format="MSEED")
    plan = Inversion(inversion(folder, data=str(tmp_path), origin_time="1970-01-01T00:00:00")).plan()
    assert dict(plan.rows())["sites without data"] == "TWO"


def test_subfaults_away_from_the_points_are_an_error(folder, tmp_path):
    text = (folder / "fault.srf").read_text().replace(" 0.750000 ", " 0.790000 ")
    (tmp_path / "deep.srf").write_text(text)
    with raises(InputError):
        Inversion(inversion(folder, slip={"faults": str(tmp_path / "deep.srf")})).plan()


def test_recorded_files_give_the_result_of_the_run(folder, tmp_path):
    written = fw.convert(folder / "data", "mseed", tmp_path / "records")
    fw.convert(folder / "data", "stationxml", tmp_path / "records")
    begin = obspy.read(str(written[0]))[0].stats.starttime.datetime.isoformat()
    made = inversion(folder, data=str(tmp_path / "records"), origin_time=begin)
    found, expected = fw.invert(made, tmp_path / "one"), fw.invert(inversion(folder), tmp_path / "other")
    np.testing.assert_allclose(found.data, expected.data, atol=1e-3 * abs(expected.data).max())
    np.testing.assert_allclose(found.slip, expected.slip, atol=0.02)
    fw.convert(folder / "data", "sac", tmp_path / "sac")  # states its quantity
    made |= {"unit": "m", "data": str(tmp_path / "sac")}
    with raises(InputError):
        Inversion(made).plan()
    del made["origin_time"]
    with raises(InputError):
        Inversion(made).plan()


@pytest.mark.parametrize(("dead", "left"), [("BXE", "ONE z"), ("BXZ", "ONE x, ONE y")])
def test_components_that_do_not_move_are_omitted(folder, tmp_path, dead, left):
    (path,) = map(Path, fw.convert(folder / "data", "mseed", tmp_path))
    fw.convert(folder / "data", "stationxml", tmp_path)
    stream = obspy.read(str(path))
    for trace in stream.select(station="ONE", channel=dead):
        trace.data = np.full_like(trace.data, 0.01)
    stream.write(str(path), format="MSEED")
    plan = Inversion(inversion(folder, data=str(tmp_path), origin_time="1970-01-01T00:00:00")).plan()
    assert ", ".join(plan.channels).replace("FW.", "") == f"{left}, TWO x, TWO y, TWO z"
    expect(plan.warnings)


def test_records_that_end_in_motion_near_the_window_have_a_warning(folder, tmp_path):
    (path,) = map(Path, fw.convert(folder / "data", "mseed", tmp_path))
    fw.convert(folder / "data", "stationxml", tmp_path)
    made = inversion(
        folder, data=str(tmp_path), origin_time="1970-01-01T00:00:00", window=[0.0, 0.88], band={"high": 3.3}
    )
    assert not Inversion(made).plan().warnings
    stream = obspy.read(str(path))
    stream.trim(endtime=stream[0].stats.starttime + 0.9)
    stream.write(str(path), format="MSEED")
    expect(Inversion(made).plan().warnings)


def test_an_offset_of_the_motion_before_the_window_is_noise(folder):
    plan = Inversion(inversion(folder, window=[0.5, 1.5], noise={"pre_event": 0.5}, band={"high": 6.0})).plan()
    _, before = make_data(plan.seismograms, plan.window, plan.inversion.noise, False)
    moved = [replace(s, motion=s.motion + 0.3) for s in plan.seismograms]
    _, found = make_data(moved, plan.window, plan.inversion.noise, False)
    np.testing.assert_allclose(found.columns[:, 0] - before.columns[:, 0], 0.09, atol=0.01)


def test_values_that_are_not_finite_are_reported_of_their_station_only(folder, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(folder / "data", data)
    with h5py.File(data / "run-receivers.h5", "a") as file:
        file["receivers/values"][3, 0, :] = np.nan
    with raises(InputError):
        Inversion(inversion(folder, data=str(data))).plan()


def test_counts_and_stations_without_tensors_are_errors(folder, tmp_path):
    for path in map(Path, fw.convert(folder / "data", "mseed", tmp_path)):
        stream = obspy.read(str(path))
        for trace in stream:
            trace.data = (1e8 * trace.data).astype("int32")
            trace.stats.station = trace.stats.station.replace("TWO", "NEW")
        stream.write(str(path), format="MSEED", encoding="INT32")
    made = inversion(folder, data=str(tmp_path), origin_time="2000-01-01T00:00:00")
    with raises(InputError):
        Inversion(made).plan()
    receivers = folder / "data"
    other = tmp_path / "site.nc"
    other.write_bytes((folder / "sgt.nc").read_bytes())
    with netCDF4.Dataset(other, "a") as file:
        file.stations = "ONE XYZ"
        file["site_location"][1, 0] += 500.0
    with raises(InputError):
        Inversion(inversion(folder, data=str(receivers), tensors=str(other))).plan()
