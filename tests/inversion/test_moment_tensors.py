"""Inversions of a run of a point source for its moment tensor and centroid, and problems before the computation."""

import csv
from dataclasses import replace

import numpy as np
import obspy
import pytest
import yaml
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.errors import InputError, RunError
from faultwave.cli.main import app
from faultwave.inversion.assembly import make_data
from faultwave.inversion.inversion import Inversion
from faultwave.inversion.moment_tensor.estimate import estimate
from faultwave.inversion.moment_tensor.mechanism import double_couple, scalar_moment, to_matrix
from faultwave.inversion.moment_tensor.result import read_moment_tensor, write_centroids, write_moment_tensor
from faultwave.inversion.moment_tensor.search import _by_place, locate
from faultwave.inversion.moment_tensor.solution import solve_moment_tensor
from faultwave.plot.inversions.moment_tensor import draw_moment_tensor
from tests.messages import expect

from .inputs import HALF, POINT, TENSOR, TIME, inversion, places, projection, tensor_inversion
from .test_offsets import WAVEFORMS, write_offsets


def synthetic(plan, tensors, place=POINT, time=2):
    """Return data of tensors (windows, 6) at a place and time of a plan, and the noise of a plan."""
    _, noise = make_data(plan.seismograms, plan.window, plan.inversion.noise, False, plan.offsets)
    forward = dict(_by_place(plan))[place]
    models = np.zeros((len(plan.times), *np.shape(tensors)))
    models[time] = tensors
    return forward.matmat(models.reshape(-1, 1))[:, 0], noise


def test_tensor_place_and_time_of_a_run_are_found(point, tmp_path):
    found = fw.invert(tensor_inversion(point), tmp_path)
    n, deviations = found.numbers, np.sqrt(np.diagonal(found.covariance))
    assert (abs(found.tensor - TENSOR) < 3 * deviations).all()
    assert abs(found.tensor - TENSOR).max() < 0.02 * abs(TENSOR).max()
    assert n["moment"] == pytest.approx(scalar_moment(TENSOR), rel=0.02) and n["variance_reduction"] > 0.999
    assert n["centroid_time"] == pytest.approx(TIME) and n["z"] == places()[POINT, 2]
    longitude, latitude = projection().to_geographic(places()[[POINT], :2])[0]
    assert (n["longitude"], n["latitude"]) == (pytest.approx(longitude), pytest.approx(latitude))
    assert found.probability.sum() == pytest.approx(1.0) and found.misfit.shape == (6, 5)
    assert np.unravel_index(found.misfit.argmin(), found.misfit.shape) == (POINT, 2)
    stored = read_moment_tensor(tmp_path / "moment_tensor.nc")
    for name in ("tensor", "covariance", "samples", "misfit", "place_tensor", "data", "predicted"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(found, name))
    with (tmp_path / "centroids.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 and float(rows[0]["depth_km"]) == pytest.approx(-1e-3 * places()[POINT, 2])
    assert [float(r["misfit"]) for r in rows] == sorted(float(r["misfit"]) for r in rows)
    assert float(rows[0]["Mtt"]) == pytest.approx(found.tensor[1], rel=1e-5)


@pytest.mark.parametrize("windows", [1, 2])
def test_tensors_are_found_to_rounding_without_noise(point, windows):
    plan = Inversion(tensor_inversion(point, moment_tensor={"windows": windows})).plan()
    tensors = TENSOR * np.array([1.0, 0.3])[:windows, None]
    data, noise = synthetic(plan, tensors)
    found = locate(plan, data, noise)
    assert found.best == (POINT, 2)
    np.testing.assert_allclose(found.estimate.tensors, tensors, atol=1e-6 * abs(TENSOR).max())
    predicted = found.forward.matmat(found.estimate.tensors.reshape(-1, 1))[:, 0]
    np.testing.assert_allclose(predicted, data, atol=1e-8 * abs(data).max())


@pytest.mark.parametrize("place", [0, 3])
def test_double_couples_are_found_at_their_place(point, place):
    plan = Inversion(tensor_inversion(point, moment_tensor={"kind": "double-couple"})).plan()
    truth = 1e15 * double_couple(200.0, 60.0, -110.0)
    data, noise = synthetic(plan, truth[None], place, 1)
    found = locate(plan, data, noise)
    assert found.best == (place, 1)
    np.testing.assert_allclose(found.estimate.total, truth, atol=1e-6 * 1e15)
    assert (found.misfit >= found.misfit[place, 1]).all() and (found.misfit.ravel() > 1.0).sum() == 29
    exact = [estimate(m, "double-couple").misfit for m in found.misfits]
    likely = np.array(exact) < found.misfit.min() + 50
    np.testing.assert_allclose(found.misfit.ravel()[likely], np.array(exact)[likely], rtol=1e-6, atol=1e-6)


def test_the_centroid_lies_in_its_interval_with_noise(point):
    plan = Inversion(tensor_inversion(point, moment_tensor={"kind": "deviatoric"}, noise={"level": 2e-4})).plan()
    truth = TENSOR - np.array([1, 1, 1, 0, 0, 0]) * TENSOR[:3].mean()
    data, noise = synthetic(plan, truth[None])
    rng, probabilities, inside = np.random.default_rng(2), [], np.zeros(6)
    for _ in range(12):
        found = locate(plan, data + noise.draw(rng, 1)[:, 0], noise)
        probabilities.append(found.probability[POINT, 2])
        here = estimate(found.misfits[POINT * 5 + 2], "deviatoric")
        inside += abs(here.total - truth) < 2 * np.sqrt(np.diagonal(here.covariance))
    assert np.mean(probabilities) > 1 / 30 and min(probabilities) > 1e-4
    assert inside.min() >= 9  # of 12; 95 % on average


def test_the_noise_is_estimated_from_the_misfit(point, tmp_path):
    made = tensor_inversion(point, noise={"fraction": 0.05, "scale": "auto"})
    found = fw.invert(made, tmp_path)
    free = found.data.size - 6
    assert found.misfit.min() == pytest.approx(free)
    assert found.numbers["chi2"] == pytest.approx(free / found.data.size) and found.numbers["noise_scale"] < 0.5


def test_the_information_of_offsets_and_seismograms_adds(point, tmp_path):
    offsets = write_offsets(point, tmp_path)
    longitude, latitude = projection().to_geographic(places()[[POINT], :2])[0]
    here = {
        "times": [TIME, TIME],
        "near": [float(longitude), float(latitude), float(places()[POINT, 2])],
        "within": 1.0,
    }
    both, only = ({**tensor_inversion(point, moment_tensor=here), **o} for o in ({"offsets": offsets}, {}))
    alone = {k: v for k, v in both.items() if k not in WAVEFORMS}
    found = [fw.invert(made, tmp_path / str(number)) for number, made in enumerate((both, only, alone))]
    information = [np.linalg.inv(1e-30 * f.covariance) for f in found]
    np.testing.assert_allclose(
        information[0], information[1] + information[2], rtol=1e-3, atol=1e-3 * abs(information[0]).max()
    )
    assert found[0].numbers["offset_variance_reduction"] > 0.999 and np.isnan(found[2].numbers["variance_reduction"])
    assert (
        abs(found[2].tensor - TENSOR) < 3 * np.sqrt(np.diagonal(found[2].covariance)) + 0.02 * abs(TENSOR).max()
    ).all()


def test_the_event_is_written_as_quakeml(point, tmp_path):
    written = fw.convert(point / "data", "mseed", tmp_path / "records")
    fw.convert(point / "data", "stationxml", tmp_path / "records")
    begin = obspy.read(str(written[0]))[0].stats.starttime.datetime.isoformat()
    made = tensor_inversion(
        point, data=str(tmp_path / "records"), origin_time=begin, moment_tensor={"kind": "double-couple"}
    )
    path = tmp_path / "tensor.yaml"
    path.write_text(yaml.safe_dump(made | {"folder": str(tmp_path / "results")}))
    found = CliRunner().invoke(app, ["invert", str(path), "--dry-run"])
    assert found.exit_code == 0 and "double-couple, time windows: 1" in found.output
    assert not (tmp_path / "results").exists()
    found = CliRunner().invoke(app, ["invert", str(path)])
    assert found.exit_code == 0, found.output
    for part in (
        "first plane",
        "decomposition",
        "centroid time",
        "moment_tensor.nc",
        "centroids.csv",
        "moment_tensor.xml",
        "none is deeper",
    ):
        assert part in found.output
    assert (tmp_path / "results" / "moment_tensor.png").stat().st_size > 10_000
    stored = read_moment_tensor(tmp_path / "results" / "moment_tensor.nc")
    assert abs(np.linalg.det(to_matrix(stored.tensor / stored.numbers["moment"]))) < 1e-12
    assert abs(stored.numbers["clvd"]) < 1e-9 and stored.numbers["double_couple"] == pytest.approx(1.0)
    (event,) = obspy.read_events(str(tmp_path / "results" / "moment_tensor.xml"))
    mechanism = event.preferred_focal_mechanism()
    assert mechanism.moment_tensor.tensor.m_tp == pytest.approx(stored.tensor[5])
    plane = mechanism.nodal_planes.nodal_plane_1
    np.testing.assert_allclose([plane.strike, plane.dip, plane.rake], stored.planes[0])
    np.testing.assert_allclose(double_couple(*stored.planes[0]), stored.tensor / stored.numbers["moment"], atol=1e-6)
    origin = event.preferred_origin()
    assert origin.time - obspy.UTCDateTime(begin) == pytest.approx(stored.numbers["centroid_time"], abs=1e-5)
    assert origin.depth == -stored.numbers["z"] and event.preferred_magnitude().magnitude_type == "Mw"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"moment_tensor": None}, "needs either slip or moment_tensor"),
        ({"solver": "cholesky"}, "solver has no effect with moment_tensor"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [1.0, 0.0]}}, "the last of times is before the first"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [0, 1], "within": 100}}, "near and within belong together"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [0, 1], "kind": "dc"}}, "full, deviatoric, double-couple"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [0, 1], "time_step": 1e-4}}, "are 10,001 .*longer time_step"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [0, 1], "near": [-117.0, 34.0, -9000.0], "within": 500.0}},
         r"nearest to near is .* m away .*within"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [0, 1], "windows": 20}}, "data do not determine the 100 par"),
        ({"moment_tensor": {"half_duration": 0.1, "times": [-9, 0]}}, "the tensors of .* have"),
    ],
)  # fmt: skip
def test_problems_have_messages(point, changes, message):
    with pytest.raises(InputError, match=message):
        Inversion(tensor_inversion(point) | changes).plan()


def test_a_centroid_at_the_edge_of_places_or_times_is_a_warning(point, tmp_path):
    """The best place is in the middle of the lower of two rows of a vertical plane along x."""
    found = fw.invert(tensor_inversion(point, moment_tensor={"times": [0.15, TIME]}), tmp_path)
    assert found.sides == ("deeper",) and "at the edge of the places: none is deeper" in str(found)
    assert "an end of the times" in str(found)
    expect(found.warnings)
    read = read_moment_tensor(tmp_path / "moment_tensor.nc")
    assert read.warnings == found.warnings
    first = fw.invert(tensor_inversion(point, moment_tensor={"times": [TIME, 0.35]}), tmp_path)
    expect(first.warnings[1])
    within = replace(found, numbers=found.numbers | {"time_limited": 0.0, "outward_z": 0.0})
    assert not within.warnings and "edge" not in str(within) and "an end" not in str(within)


def test_deviations_that_the_spacing_does_not_resolve_are_the_spacing(point, tmp_path):
    found = fw.invert(tensor_inversion(point), tmp_path / "narrow")
    assert found.probability[POINT, 2] > 0.99
    assert "x < 150 m (spacing), y fixed, z < 150 m (spacing)" in str(found)
    assert "0.250 s; time < 0.050 s (spacing)" in str(found)
    wide = fw.invert(tensor_inversion(point, noise={"level": 1.0}), tmp_path / "wide")
    for name, values, shares in (
        ("x", places()[:, 0], wide.probability.sum(1)),
        ("time", wide.times, wide.probability.sum(0)),
    ):
        expected = np.sqrt(shares @ values**2 - (shares @ values) ** 2)
        assert wide.numbers[f"{name}_deviation"] == pytest.approx(expected, rel=1e-6)
        assert expected > 0.5 * wide.numbers[f"{name}_spacing"]
    assert f"x +- {wide.numbers['x_deviation']:.0f} m, y fixed" in str(wide)


def test_times_of_several_windows_are_those_of_their_centroid(point, tmp_path):
    """The source lies in the first of two windows if its middle is the true time, and in the second if that is one window earlier."""
    late = {"windows": 2, "times": [TIME - HALF, TIME - HALF], "half_duration": HALF}
    found = fw.invert(tensor_inversion(point, moment_tensor=late), tmp_path)
    sizes = found.window_tensors @ ([1, 1, 1, 2, 2, 2] * found.tensor)
    expected = TIME - HALF + HALF * sizes[1] / sizes.sum()
    assert found.numbers["centroid_time"] == pytest.approx(expected) and abs(expected - TIME) < 0.01
    with (tmp_path / "centroids.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert float(rows[0]["time"]) == pytest.approx(expected, abs=1e-5)
    other = found.misfit[:, 0].argsort()[1]
    assert float(rows[1]["time"]) == pytest.approx(found.place_time[other], abs=1e-5)
    assert abs(found.place_time[other] - found.place_time[POINT]) > 1e-3
    best = np.abs(found.sample_centroid[:, 2] - places()[POINT, 2]) < 1
    assert best.any() and found.sample_centroid[best, 3] == pytest.approx(expected)


def test_slip_and_a_moment_tensor_are_two_inversions(point, folder):
    made = tensor_inversion(point) | {"slip": inversion(folder)["slip"]}
    with pytest.raises(InputError, match="needs either slip or moment_tensor"):
        Inversion(made).plan()


def test_offsets_have_no_time(point, tmp_path):
    made = {k: v for k, v in tensor_inversion(point).items() if k not in WAVEFORMS}
    with pytest.raises(InputError, match="static offsets do not depend on time"):
        Inversion(made | {"offsets": write_offsets(point, tmp_path)}).plan()


def test_data_that_do_not_determine_a_tensor_have_a_message(point):
    plan = Inversion(tensor_inversion(point)).plan()
    data, noise = synthetic(plan, TENSOR[None])
    blind = type(plan)(**{**vars(plan), "north": np.zeros_like(plan.north)})  # no horizontal component acts
    with pytest.raises(RunError, match="do not determine the moment tensor"):
        locate(blind, data, noise)


@pytest.mark.parametrize("kind", ["full", "deviatoric", "double-couple"])
def test_places_that_do_not_determine_a_tensor_are_excluded(point, tmp_path, kind):
    """As at the free surface; here horizontal components do not act at two places. Others have the result that they have alone."""
    plan = Inversion(tensor_inversion(point, moment_tensor={"kind": kind})).plan()
    north = plan.north.copy()
    north[[1, 5]] = 0.0
    blind = type(plan)(**{**vars(plan), "north": north})
    found, expected = solve_moment_tensor(blind), solve_moment_tensor(plan)
    assert np.isinf(found.misfit[[1, 5]]).all() and (found.probability[[1, 5]] == 0.0).all()
    others = [0, 2, 3, 4]
    likely = expected.misfit[others] < expected.misfit.min() + 50
    np.testing.assert_allclose(found.misfit[others][likely], expected.misfit[others][likely])
    np.testing.assert_allclose(found.tensor, expected.tensor)
    expect(found.warnings)
    path = write_moment_tensor(tmp_path / "moment_tensor.nc", found, "")
    assert read_moment_tensor(path).warnings == found.warnings
    assert kind != "full" or draw_moment_tensor(path).stat().st_size > 10_000
    table = write_centroids(tmp_path / "centroids.csv", found).read_text()
    assert len(table.splitlines()) == 5 and "nan" not in table and "inf" not in table


def test_points_around_a_place_only_are_tried(point):
    longitude, latitude = projection().to_geographic(places()[[POINT], :2])[0]
    near = [float(longitude), float(latitude), float(places()[POINT, 2])]
    plan = Inversion(tensor_inversion(point, moment_tensor={"near": near, "within": 160.0})).plan()
    np.testing.assert_allclose(plan.location, places()[[1, 3, 4, 5]], atol=1e-6)
    assert ("places", "4 from z = -750 to -600 m") in plan.rows()
