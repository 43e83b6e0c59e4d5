"""Static offsets: prediction, joint posterior, files and their problems."""

from dataclasses import replace
from pathlib import Path

import netCDF4
import numpy as np
import pytest
from scipy.linalg import block_diag

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.inversion.assembly import assemble, make_data
from faultwave.inversion.inversion import Inversion
from faultwave.inversion.noise import Noise
from faultwave.inversion.posterior import CholeskySolver, IterativeSolver, Posterior, predicted_covariance
from faultwave.inversion.prior import make_prior
from faultwave.inversion.result import read_result
from faultwave.output.results import load_results
from faultwave.plot.inversions.slip import draw_inversion
from tests.messages import raises

from .dense import STATIC, dense_forward, dense_prior, make_forward, make_slip_prior
from .inputs import SITES, inversion, projection
from .test_runs import MOMENT

LOOKS = np.array([[-0.6, -0.1, 0.0], [0.5, -0.2, 0.0]])
LOOKS[:, 2] = np.sqrt(1 - (LOOKS[:, :2] ** 2).sum(1))
GNSS = "station,longitude,latitude,east,north,up,sigma_east,sigma_north,sigma_up,correlation_en"
INSAR = "x,y,offset,sigma,look_east,look_north,look_up"
WAVEFORMS = ("data", "unit", "band", "window", "noise")


def true_offsets(folder: Path) -> dict[str, np.ndarray]:
    """Displacement east, north and up of the run at each site after all waves."""
    turn, found = np.radians(projection().azimuth_of_y(-117.0, 34.0)), {}
    for trace in load_results(folder / "data").traces["receiver"].values():
        x, y, z = (np.trapezoid(trace.columns[f"v{i}"], trace.time) for i in (1, 2, 3))
        found[trace.station] = np.array([x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn), z])
    return found


def write_offsets(folder: Path, target: Path, sigma: float = 1e-4, factor: float = 1.0) -> dict[str, object]:
    """Write the offsets of the run as files, in metres times ``factor``, and return the settings."""
    true, rows = true_offsets(folder), [GNSS]
    for name, place in SITES.items():
        degrees = projection().to_geographic(np.array([place[:2]]))[0]
        values = [*degrees, *(factor * true[name]), *[factor * sigma] * 3, 0.3]
        rows.append(f"{name}," + ",".join(f"{v:.12g}" for v in values))
    (target / "gnss.csv").write_text("\n".join(rows))
    rows = [INSAR]
    for (name, place), look in zip(SITES.items(), LOOKS, strict=True):
        values = [*place[:2], factor * true[name] @ look, factor * sigma, *look]
        rows.append(",".join(f"{v:.12g}" for v in values))
    (target / "insar.csv").write_text("\n".join(rows))
    return {
        "gnss": [{"file": str(target / "gnss.csv")}],
        "insar": [{"file": str(target / "insar.csv"), "sill": 4e-8, "range": 800.0, "constant": 1e-5}],
    }


def static_only(folder: Path, offsets: dict[str, object], **changes: object) -> dict[str, object]:
    return {k: v for k, v in inversion(folder, offsets=offsets, **changes).items() if k not in WAVEFORMS}


def test_the_posterior_of_offsets_alone_is_that_of_full_matrices():
    forward, prior = make_forward(channels=0), make_slip_prior()
    noise = Noise(np.zeros((0, forward.window.count)), STATIC, 1.3)
    data = np.array([2.0, -1.0])
    f, c = dense_forward(forward), dense_prior(prior)
    k = f @ c @ f.T + 1.69 * STATIC
    for solver in (
        CholeskySolver.of(predicted_covariance(forward, prior), noise),
        IterativeSolver(forward, prior, noise),
    ):
        found = Posterior(forward, prior, noise, solver, data)
        np.testing.assert_allclose(found.mean, c @ f.T @ np.linalg.solve(k, data), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(noise.whiten(data[:, None])[:, 0] @ noise.whiten(data[:, None])[:, 0],
                               data @ np.linalg.solve(1.69 * STATIC, data), rtol=1e-10)  # fmt: skip
    assert noise.log_determinant == pytest.approx(np.linalg.slogdet(1.69 * STATIC)[1], rel=1e-10)


def test_rows_are_integrals_of_strain_along_their_directions(folder, tmp_path):
    plan = Inversion(static_only(folder, write_offsets(folder, tmp_path))).plan()
    found = assemble(plan.sources, (), plan.window, plan.every, plan.offsets).static
    with netCDF4.Dataset(folder / "sgt.nc") as file:
        strain, interval = np.asarray(file["strain"][:], float), file.interval
    moved = (interval * np.cumsum(strain, -1))[..., -max(2, strain.shape[-1] // 10) :].mean(
        -1
    )  # site, force, point, component
    turn = np.radians(projection().azimuth_of_y(*projection().to_geographic(np.array([SITES["ONE"][:2]]))[0]))
    east, north = np.array([np.cos(turn), np.sin(turn), 0.0]), np.array([-np.sin(turn), np.cos(turn), 0.0])
    moment = 2.0 * 2700 * 2000.0**2 * plan.sources.potency * [1, 1, 1, 2, 2, 2]
    each = np.einsum("sfpc,pdc->sfdp", moved, moment).reshape(2, 3, -1)
    expected = [east @ each[0], north @ each[0], each[0, 2]]
    np.testing.assert_allclose(found[:3], expected, rtol=1e-6, atol=1e-7 * abs(found).max())  # directions at the place
    look = LOOKS[1] @ np.stack([plan.offsets.direction[3], plan.offsets.direction[4], [0, 0, 1]])
    np.testing.assert_allclose(found[7], look @ each[1], rtol=1e-10, atol=1e-10 * abs(found).max())
    exact = plan.offsets.direction[:6].reshape(2, 3, 3) @ each
    np.testing.assert_allclose(found[:6], exact.reshape(6, -1), rtol=1e-10, atol=1e-10 * abs(found).max())


def test_the_prediction_is_the_displacement_of_the_run(folder, truth, tmp_path):
    plan = Inversion(static_only(folder, write_offsets(folder, tmp_path))).plan()
    forward = assemble(plan.sources, (), plan.window, plan.every, plan.offsets)
    found = forward.matmat(truth.reshape(-1, 1))[:, 0]
    np.testing.assert_allclose(found, plan.offsets.values, atol=0.01 * abs(plan.offsets.values).max())


def test_the_joint_posterior_is_the_product_of_both_likelihoods_and_the_prior(folder, tmp_path):
    offsets = write_offsets(folder, tmp_path)
    covariance = {}
    information, weighted = 0.0, 0.0
    for made in (inversion(folder), static_only(folder, offsets)):
        plan = Inversion(made).plan()
        forward = assemble(plan.sources, plan.seismograms, plan.window, plan.every, plan.offsets)
        data, noise = make_data(plan.seismograms, plan.window, plan.inversion.noise, False, plan.offsets)
        f = noise.whiten(forward.matmat(np.eye(forward.shape[1])))
        information, weighted = information + f.T @ f, weighted + f.T @ noise.whiten(data[:, None])[:, 0]
    prior = make_prior(plan.fault.segments, (300.0, 300.0), 0.75, 0.5, (1.0, 0.5), 2)
    precision = information + np.linalg.inv(prior.apply(np.eye(prior.size)))
    found = fw.invert(inversion(folder, offsets=offsets), tmp_path / "joint")
    expected = np.linalg.solve(precision, weighted)
    np.testing.assert_allclose(found.mean.ravel(), expected, rtol=1e-6, atol=1e-6 * abs(expected).max())
    totals = np.tile(np.eye(12), (2, 1))
    covariance = totals.T @ np.linalg.inv(precision) @ totals
    np.testing.assert_allclose(found.deviation.ravel(), np.sqrt(np.diagonal(covariance)), rtol=1e-6)
    assert found.numbers["offset_variance_reduction"] > 0.99 and found.numbers["variance_reduction"] > 0.99
    assert "variance reduction of offsets" in str(found) and "misfit of offsets" in str(found)


def test_offsets_alone_find_the_moment(folder, tmp_path):
    made = static_only(folder, write_offsets(folder, tmp_path, 5e-4))
    found = fw.invert(made, tmp_path / "results")
    assert abs(found.numbers["moment"] - MOMENT) < 2 * found.numbers["moment_deviation"]
    assert found.numbers["moment_deviation"] < 0.4 * MOMENT
    assert np.isnan(found.numbers["variance_reduction"]) and found.data.shape == (0, 0)
    stored = read_result(tmp_path / "results" / "inversion.nc")
    assert stored.offset_names == found.offset_names and stored.offset_names[:2] == ("ONE east", "ONE north")
    np.testing.assert_array_equal(stored.offset_predicted, found.offset_predicted)
    assert draw_inversion(tmp_path / "results" / "inversion.nc").stat().st_size > 10_000


def test_the_covariance_has_correlations_sill_and_constant(folder, tmp_path):
    plan = Inversion(static_only(folder, write_offsets(folder, tmp_path))).plan()
    station = 1e-8 * np.array([[1, 0.3, 0], [0.3, 1, 0], [0, 0, 1]])
    apart = np.linalg.norm(np.subtract(SITES["ONE"], SITES["TWO"]))
    image = np.full((2, 2), 1e-10 + 4e-8 * np.exp(-apart / 800.0))
    np.fill_diagonal(image, 1e-8 + 1e-10 + 4e-8)
    np.testing.assert_allclose(plan.offsets.covariance, block_diag(station, station, image), rtol=1e-12, atol=1e-24)


def test_units_and_missing_components(folder, tmp_path):
    expected = Inversion(static_only(folder, write_offsets(folder, tmp_path))).plan().offsets
    settings = write_offsets(folder, tmp_path, factor=1e3)
    settings = {"gnss": [settings["gnss"][0] | {"unit": "mm"}]}
    lines = (tmp_path / "gnss.csv").read_text().splitlines()
    entries = lines[1].split(",")
    entries[5] = entries[8] = ""
    (tmp_path / "gnss.csv").write_text("\n".join([lines[0], ",".join(entries), lines[2]]))
    found = Inversion(static_only(folder, settings)).plan().offsets
    assert found.names == ("ONE east", "ONE north", "TWO east", "TWO north", "TWO up")
    kept = [0, 1, 3, 4, 5]
    np.testing.assert_allclose(found.values, expected.values[kept], rtol=1e-9)
    np.testing.assert_allclose(found.covariance, expected.covariance[np.ix_(kept, kept)], rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("gnss", ",1e-04,1e-04,1e-04,", ",0,1e-04,1e-04,", r"gnss.csv:2: sigma_east is 0 \(allowed: a positive number"),
        ("gnss", ",1e-04,1e-04,1e-04,", ",,1e-04,1e-04,", "sigma_east is missing .*east and sigma_east, or neither"),
        ("gnss", ",0.3", ",1.2", "correlations are no correlations"),
        ("gnss", "TWO", "ONE", "station ONE is also in .*gnss.csv:2"),
        ("gnss", "up,", "height,", "'height' is not a column"),
        ("gnss", "sigma_east,", "sigma_east_mm,", "State the unit of all offsets by the setting unit"),
        ("gnss", "longitude,", "x,", "needs the columns of one kind of place"),
        ("gnss", ",1e-04,", ",many,", "sigma_east is 'many'"),
        ("gnss", "ONE,-116", "ONE,-115", "gnss.csv:2: has no tensors within 10 m"),
        ("gnss", "ONE,-116", "ONE,-416", "longitude -416.992, latitude 34.0066 is not a valid location"),
        ("insar", "420,", "480,", "insar.csv:2: has no tensors within 10 m; the nearest site is 60 m away"),
        ("insar", ",-0.6,", ",-6.0,", "the look vector has a length of 6.0"),
        ("insar", ",1e-04,", ",0,", "insar.csv:2: sigma is 0"),
        ("insar", "look_up", "look", "column 'look_up' is missing"),
    ],
)  # fmt: skip
def test_problems_of_files_have_messages(folder, tmp_path, name, before, after, message):
    settings = write_offsets(folder, tmp_path)
    path = tmp_path / f"{name}.csv"
    text = path.read_text().replace("0.0001", "1e-04")
    assert before in text
    path.write_text(text.replace(before, after, 1))
    with pytest.raises(InputError, match=message):
        Inversion(static_only(folder, settings)).plan()


def test_look_vectors_point_up_or_along_the_ground(folder, tmp_path):
    settings = {"insar": write_offsets(folder, tmp_path)["insar"]}
    path = tmp_path / "insar.csv"
    header, *rows = path.read_text().splitlines()
    turned = [",".join([*r.split(",")[:4], *(f"{-float(v):.12g}" for v in r.split(",")[4:])]) for r in rows]
    path.write_text("\n".join([header, *turned]))
    with raises(InputError):
        Inversion(static_only(folder, settings)).plan()
    level = [",".join([*r.split(",")[:4], "0.6,0.8,0"]) for r in rows]  # offsets of pixels along the orbit
    path.write_text("\n".join([header, *level]))
    offsets = Inversion(static_only(folder, settings)).plan().offsets
    np.testing.assert_allclose(offsets.direction[:, 2], 0.0, atol=1e-12)


def test_offsets_count_once(folder, tmp_path):
    settings = write_offsets(folder, tmp_path)
    for name, message in (
        ("gnss", "station ONE is also in .*gnss.csv:2"),
        ("insar", "place and the offset of .*:2; 1 more"),
    ):
        with pytest.raises(InputError, match=message):
            Inversion(static_only(folder, {name: settings[name] * 2})).plan()
    path = tmp_path / "insar.csv"
    path.write_text("\n".join([*(lines := path.read_text().splitlines()), lines[1]]))
    with pytest.raises(InputError, match=r"insar.csv:4: has the place and the offset of .*insar.csv:2"):
        Inversion(static_only(folder, {"insar": settings["insar"]})).plan()


@pytest.mark.parametrize(("name", "header"), [("gnss", GNSS), ("insar", INSAR)])
def test_tables_without_rows_are_errors(folder, tmp_path, name, header):
    settings = write_offsets(folder, tmp_path)
    (tmp_path / f"{name}.csv").write_text(header + "\n")
    with pytest.raises(InputError, match=f"{name}.csv: contains no offsets"):
        Inversion(static_only(folder, settings)).plan()


def test_units_that_are_not_metres_are_suspected(folder, tmp_path):
    settings = write_offsets(folder, tmp_path, sigma=2e-3, factor=1e3)
    with pytest.raises(InputError, match=r"median of all standard deviations is 2 m, as unit is m .*mm or cm"):
        Inversion(static_only(folder, settings)).plan()
    (tmp_path / "gnss.csv").write_text(f"{GNSS}\nONE,-117,34,0.1,70.0,0.1,0.01,0.01,0.01,0")
    with pytest.raises(InputError, match=r"gnss.csv:2: ONE north is 70 m, as unit is m .*mm or cm"):
        Inversion(static_only(folder, {"gnss": settings["gnss"]})).plan()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": None}, "needs data, offsets or both"),
        ({"band": {"high": 1.0}}, "band has no effect without data"),
        ({"offsets": {"nearest": 5.0}}, "needs gnss or insar"),
    ],
)
def test_problems_of_settings_have_messages(folder, tmp_path, changes, message):
    settings = write_offsets(folder, tmp_path)
    with pytest.raises(InputError, match=message):
        Inversion(static_only(folder, settings) | changes).plan()
    with pytest.raises(InputError, match="sill and range belong together"):
        Inversion(static_only(folder, {"insar": [settings["insar"][0] | {"range": None}]})).plan()
    with pytest.raises(InputError, match="band is missing, which data needs"):
        Inversion({k: v for k, v in inversion(folder).items() if k != "band"}).plan()


def test_tensors_that_have_not_come_to_rest_are_an_error(folder, tmp_path):
    short = tmp_path / "short.nc"
    with netCDF4.Dataset(folder / "sgt.nc") as file, netCDF4.Dataset(short, "w") as made:
        made.setncatts({n: file.getncattr(n) for n in file.ncattrs()})
        for name, dim in file.dimensions.items():
            made.createDimension(name, 45 if name == "time" else len(dim))
        for name, variable in file.variables.items():
            made.createVariable(name, variable.dtype, variable.dimensions)[:] = (
                variable[..., :45] if "time" in variable.dimensions else variable[:]
            )
    with pytest.raises(
        InputError, match=r"ground at site .* is not at rest: .* so are 2 sites in total .*longer end_time"
    ):
        Inversion(static_only(folder, write_offsets(folder, tmp_path), tensors=str(short))).plan()


def test_a_scale_of_the_noise_applies_to_offsets_too(folder, tmp_path):
    plan = Inversion(inversion(folder, offsets=write_offsets(folder, tmp_path))).plan()
    _, noise = make_data(plan.seismograms, plan.window, plan.inversion.noise, False, plan.offsets)
    assert plan.size == noise.size == plan.samples + 8
    twice = replace(noise, scale=2.0)
    np.testing.assert_allclose(twice.deviations, 2 * noise.deviations)
