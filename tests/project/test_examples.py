"""The examples: every one is checked and runs, shortened; their inputs are what their texts say."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import faultwave as fw
from faultwave.base.projection import Projection
from faultwave.case.load import example_text, examples, load_case
from faultwave.cli.main import app
from faultwave.inversion.moment_tensor.result import read_moment_tensor
from faultwave.inversion.result import read_result
from faultwave.observe.boxes import read_box_record
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.output.results import load_results
from faultwave.physics.sources.readers.srf import read_srf

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
FOLDERS = sorted(folder for folder in EXAMPLES.iterdir() if folder.is_dir())
BASIN = EXAMPLES / "basin" / "basin.py"
PICTURE = re.compile(r"!\[([^\]]+)\]\(([^)]+\.png)\)")
BUILT_IN = examples().keys()


def case_of(folder: Path) -> str | None:
    """The case of an example: a file in its folder, or the built-in one of the folder's name; None for scripts."""
    if (folder / "case.yaml").exists():
        return str(folder / "case.yaml")
    return folder.name if folder.name in BUILT_IN else None


CASES = {folder.name: case for folder in FOLDERS if (case := case_of(folder)) is not None}


@pytest.mark.parametrize("name", sorted(CASES))
def test_an_example_runs(tmp_path, name):
    """Checked without a warning but of long waves in small boxes, run for a hundredth of its time, at a low order if there is a choice."""
    case, problems = load_case(CASES[name])
    assert case is not None and not problems.items, problems.items
    if case.mesh is not None and (case.mesh.build or str(case.mesh.file or "").endswith(".geo")):
        pytest.importorskip("gmsh")
    order = ["--order", "2"] if case.engine == "dg" else []
    until = f"{(0.15 if case.ports or case.output.spectrum else 0.01) * case.end_time}"  # bursts take their time
    for command in (
        ["check", CASES[name]],
        ["run", CASES[name], "--threads", "1", "--until", until, "--output", str(tmp_path), *order],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        # so short, it misses its sources
        expected = command[0] == "run" or "cause errors of displacement" in done.output
        assert "warning" not in done.output or expected, done.output
    made = {path.name.removeprefix(case.output.prefix) for path in tmp_path.iterdir()}
    asked = {"receivers": "-receivers.h5", "surface": "-surface.vtkhdf", "fault": "-fault.vtkhdf"}
    assert {file for output, file in asked.items() if getattr(case.output, output)} <= made


def test_every_example_is_in_the_gallery_with_its_picture():
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    built_in = BUILT_IN - {folder.name for folder in FOLDERS}
    assert not built_in, f"examples/ has no folder for the built-in {built_in}"
    for folder in FOLDERS:
        text = (folder / "README.md").read_text()
        assert f"examples/{folder.name}" in gallery, folder.name
        shown = PICTURE.findall(text)
        assert shown or folder.name == "restart", f"{folder.name}: README.md shows no picture"
        for _, picture in shown:
            assert (folder / picture).is_file(), f"{folder.name}: {picture}"
            assert (folder / picture).stat().st_size < 150_000 or folder.name in ("basin", "hills", "tpv5")
            assert f"(images/{Path(picture).name})" in gallery, picture
    for _, picture in PICTURE.findall(gallery):
        assert (ROOT / "docs" / picture).is_file(), picture


def test_the_energy_of_an_earthquake_with_everything_on_adds_up(tmp_path):
    """To 1 % of the work that the fault has done, at every time; without what yields, attenuates or is in the sea it would not."""
    pytest.importorskip("gmsh", exc_type=ImportError)
    done = CliRunner().invoke(app, ["run", CASES["everything"], "--threads", "1", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    script = runpy.run_path(str(EXAMPLES / "everything" / "draw.py"))
    energies = load_results(tmp_path).energies
    work, spent = script["budget"](energies)
    largest = np.abs([work, *spent.values()]).max()
    assert np.abs(work - sum(spent.values())).max() < 0.01 * largest
    assert all(part[-1] > 0.01 * largest for part in spent.values()), {k: v[-1] / largest for k, v in spent.items()}
    assert energies["gravitational_energy"][-1] > 0 and energies["seismic_moment"][-1] > 1e18
    script["draw"](tmp_path, tmp_path / "everything.png")
    assert (tmp_path / "everything.png").stat().st_size > 10_000


def test_the_ensemble_runs_and_is_drawn(tmp_path):
    """Shortened to a tenth of its time and two members."""
    pytest.importorskip("xarray")
    folder = EXAMPLES / "ensemble"
    for name, before, after in (
        ("case.yaml", "end_time: 4 s", "end_time: 0.4 s"),
        ("study.yaml", "members: 16", "members: 2"),
    ):
        text = (folder / name).read_text()
        assert before in text
        (tmp_path / name).write_text(text.replace(before, after))
    done = CliRunner().invoke(app, ["ensemble", str(tmp_path / "study.yaml"), "--output", str(tmp_path / "results")])
    assert done.exit_code == 0 and "2 of 2 members done" in done.output, done.output
    ensemble = fw.Ensemble(tmp_path / "study.yaml", folder=tmp_path / "results")
    assert float(ensemble.open()["slip"].max()) > 0.01
    runpy.run_path(str(folder / "draw.py"))["draw"](ensemble, tmp_path / "ensemble.png")
    assert (tmp_path / "ensemble.png").stat().st_size > 10_000


def test_the_campaign_runs(tmp_path):
    """With the commands of its text, one site, two variations and a coarser grid."""
    for path in (EXAMPLES / "campaign").iterdir():
        shutil.copy(path, tmp_path)
    for name, before, after in (
        ("tensors.yaml", "spacing: 200 m", "spacing: 500 m"),
        ("tensors.yaml", "end_time: 9 s", "end_time: 8 s"),
        ("campaign.yaml", "duration: 7 s", "duration: 3 s"),
        ("campaign.yaml", "max_frequency: 1 Hz", "max_frequency: 0.5 Hz"),
    ):
        text = (tmp_path / name).read_text()
        assert before in text
        (tmp_path / name).write_text(text.replace(before, after))
    (tmp_path / "stations.txt").write_text("0 -1200 0 NEAR\n")
    runpy.run_path(str(tmp_path / "variations.py"))["write_variations"](tmp_path, 2)
    campaign, points = str(tmp_path / "campaign.yaml"), str(tmp_path / "points.txt")
    for command in (
        ["campaign", campaign, "--points", points],
        ["sgt", str(tmp_path / "tensors.yaml"), "--points", points, "--output", str(tmp_path)],
        ["campaign", campaign, "--output", str(tmp_path / "results")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    assert "6 of 6 seismograms" in done.output
    found = fw.Campaign(campaign, tmp_path / "results")
    peaks = found.site("NEAR").measures["PGV"]
    assert len(peaks) == 6 and 0.01 < peaks.min() < peaks.max() < 3
    assert found.plan().magnitudes == pytest.approx([5.7, 5.7, 5.3, 5.3, 5.3, 5.3], abs=0.01)


def test_the_inversion_finds_the_slip(tmp_path):
    """With the commands of its text, three stations, a coarser grid and lower frequencies."""
    for path in (EXAMPLES / "inversion").iterdir():
        shutil.copy(path, tmp_path)
    for name, before, after in (
        ("tensors.yaml", "spacing: 500 m", "spacing: 1 km"),
        ("earthquake.yaml", "spacing: 500 m", "spacing: 1 km"),
        ("earthquake.yaml", "folder: data", f"folder: {tmp_path / 'data'}"),
        ("inversion.yaml", "high: 0.4 Hz", "high: 0.2 Hz"),
    ):
        text = (tmp_path / name).read_text()
        assert before in text
        (tmp_path / name).write_text(text.replace(before, after))
    stations = (tmp_path / "stations.txt").read_text().splitlines()
    (tmp_path / "stations.txt").write_text("\n".join(stations[::5]))
    script = runpy.run_path(str(tmp_path / "earthquake.py"))
    script["write_earthquake"](tmp_path)
    points = str(tmp_path / "points.txt")
    for command in (
        ["run", str(tmp_path / "earthquake.yaml"), "--threads", "1"],
        ["sgt", str(tmp_path / "tensors.yaml"), "--points", points, "--output", str(tmp_path)],
        ["invert", str(tmp_path / "inversion.yaml"), "--output", str(tmp_path / "results")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    found, truth = read_result(tmp_path / "results" / "inversion.nc"), script["true_slip"]()
    assert found.numbers["magnitude"] == pytest.approx(6.0, abs=0.05)
    assert np.corrcoef(found.slip[0], truth)[0, 1] > 0.7
    assert (np.abs(found.slip[0] - truth) < 3 * found.deviation[0]).mean() > 0.9


def shortened(folder: Path, target: Path, changes: dict[str, dict[str, str]], stations: slice) -> None:
    """Copy an example with changes of its files and some of its stations."""
    for path in folder.iterdir():
        shutil.copy(path, target)
    for name, pairs in changes.items():
        text = (target / name).read_text()
        for before, after in pairs.items():
            assert before in text, before
            text = text.replace(before, after)
        (target / name).write_text(text)
    lines = (target / "stations.txt").read_text().splitlines()
    (target / "stations.txt").write_text("\n".join(lines[stations]))


def run_commands(*commands: list[str]) -> None:
    for command in commands:
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output


def test_the_moment_tensor_is_found(tmp_path):
    """With the commands of its text, two stations, a coarser grid and lower frequencies."""
    pytest.importorskip("obspy")
    coarse = {"spacing: 500 m": "spacing: 1 km", "end_time: 13 s": "end_time: 16 s"}
    changes = {
        "tensors.yaml": coarse, "earthquake.yaml": coarse | {"folder: data": f"folder: {tmp_path / 'data'}"},
        "inversion.yaml": {"high: 0.5 Hz": "high: 0.3 Hz"},
    }  # fmt: skip
    shortened(EXAMPLES / "moment-tensor", tmp_path, changes, slice(None, None, 2))
    runpy.run_path(str(tmp_path / "points.py"))["write_points"](tmp_path)
    run_commands(
        ["run", str(tmp_path / "earthquake.yaml"), "--threads", "1"],
        ["sgt", str(tmp_path / "tensors.yaml"), "--points", str(tmp_path / "points.txt"), "--output", str(tmp_path)],
        ["invert", str(tmp_path / "inversion.yaml"), "--output", str(tmp_path / "results")],
    )
    found = read_moment_tensor(tmp_path / "results" / "moment_tensor.nc")
    assert found.numbers["magnitude"] == pytest.approx(5.0, abs=0.1)
    assert min(abs(plane - [215, 65, 150]).max() for plane in found.planes) < 15
    assert found.numbers["z"] in (-6000, -5000, -4000) and found.numbers["centroid_time"] == pytest.approx(1.2, abs=0.3)
    assert not found.sides


def test_slip_from_offsets_is_found(tmp_path):
    """With the commands of its text, six places and a coarser grid."""
    coarse = {"spacing: 1 km": "spacing: 2 km", "end_time: 20 s": "end_time: 26 s"}
    changes = {"tensors.yaml": coarse, "earthquake.yaml": coarse | {"folder: data": f"folder: {tmp_path / 'data'}"}}
    shortened(EXAMPLES / "offsets", tmp_path, changes, slice(None, None, 2))
    script = runpy.run_path(str(tmp_path / "offsets.py"))
    script["write_earthquake"](tmp_path)
    run_commands(["run", str(tmp_path / "earthquake.yaml"), "--threads", "1"])
    script["write_offsets"](tmp_path, tmp_path / "data")
    run_commands(
        ["sgt", str(tmp_path / "tensors.yaml"), "--points", str(tmp_path / "points.txt"), "--output", str(tmp_path)],
        ["invert", str(tmp_path / "inversion.yaml"), "--output", str(tmp_path / "results")],
    )
    found, truth = read_result(tmp_path / "results" / "inversion.nc"), script["true_slip"]()
    assert len(found.offset_names) == 12
    assert np.corrcoef(found.slip[0], truth)[0, 1] > 0.5
    moment = script["SIZE"] ** 2 * 2700 * 3300**2 * truth.sum()
    assert abs(found.numbers["moment"] - moment) < 3 * found.numbers["moment_deviation"]


def test_green_tensors_are_reciprocal(tmp_path):
    script = runpy.run_path(str(EXAMPLES / "green-tensors" / "green_tensors.py"))
    assert script["main"]([str(tmp_path / "green.png"), "--until", "1.5"]) < 1e-4
    assert (tmp_path / "green.png").stat().st_size > 10_000


@pytest.mark.mpi
def test_a_run_goes_on_with_another_number_of_processes(tmp_path):
    """As the script shows; it ends with a comparison of both runs."""
    beside = os.path.dirname(sys.executable)
    env = os.environ | {"FAULTWAVE": f"{sys.executable} -m faultwave", "PATH": f"{beside}:{os.environ['PATH']}"}
    if shutil.which("mpiexec", path=env["PATH"]) is None:
        pytest.skip("mpiexec is not there")
    script = str(EXAMPLES / "restart" / "restart.sh")
    done = subprocess.run(["sh", script, str(tmp_path)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "within all limits" in done.stdout


def test_the_inputs_of_the_basin(tmp_path):
    example = runpy.run_path(str(BASIN))
    case, problems = load_case(example["write_inputs"](tmp_path))
    assert case is not None and not problems.items
    sources = read_srf(tmp_path / "rupture.srf", Projection(case.projection.crs, case.projection.origin))
    moment = sum(s.moment_tensor(3.2e10, 3.2e10) * float(s.integral(0, 100)) for s in sources)
    size = np.sqrt((moment[:3] ** 2).sum() + 2 * (moment[3:] ** 2).sum()) / np.sqrt(2)
    assert (np.log10(size) - 9.1) / 1.5 == pytest.approx(6.5, abs=1e-3)
    places = np.array([s.location for s in sources])
    assert np.hypot(*(places[:, :2] - places[0, :2]).T).max() == pytest.approx(23e3, rel=2e-3)
    assert places[:, 2].max() == -3500 and places[:, 2].min() == -14500


def test_the_basin_runs_to_the_picture(tmp_path):
    """As the guide says, with the commands; at a tenth of the frequency, and so in seconds."""
    runpy.run_path(str(BASIN))["main"]([str(tmp_path), "--frequency", "0.1", "--inputs-only"])
    for command in (
        ["run", str(tmp_path / "case.yaml"), "--output", str(tmp_path / "results")],
        ["plot", str(tmp_path / "results")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    made = {p.name for p in (tmp_path / "results").iterdir()}
    assert {"run-intensity.png", "run-intensity.nc", "run-intensity.tif", "run-grid.xml", "run-receivers.h5"} <= made
    maps = read_maps(tmp_path / "results" / "run-intensity.nc")
    speed = maps["PGV"]
    assert 0.02 < speed.max() < 5.0 and np.isfinite(speed).all()
    # the rupture runs to the north-west: its end shakes harder than its beginning
    x, y = (np.argmin(np.abs(maps[a][:, None] - 1e3 * np.array(p)), 0) for a, p in (("x", (-8, 8)), ("y", (14, -14))))
    assert speed[y[0], x[0]] > 2 * speed[y[1], x[1]]


def test_the_hills_run_to_maps_on_the_ground(tmp_path):
    """At a third of the frequency, for half a second."""
    runpy.run_path(str(EXAMPLES / "hills" / "hills.py"))["main"]([str(tmp_path), "--frequency", "0.5", "--inputs-only"])
    case = str(tmp_path / "case.yaml")
    done = CliRunner().invoke(app, ["run", case, "--until", "0.5", "--threads", "1", "--output", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    maps = read_maps(tmp_path / "out" / "hills-intensity.nc")
    assert np.isfinite(maps["PGV"]).all()
    assert 300 < maps["elevation"].min() < 800 and 1500 < maps["elevation"].max() < 2400


def test_a_basin_between_ranges_runs_to_shakemap(tmp_path):
    """At two fifths of the frequency, for half a second: relief and rock from files, three blocks, a fault through a face."""
    script = runpy.run_path(str(EXAMPLES / "basin-and-ranges" / "basin_and_ranges.py"))
    script["main"]([str(tmp_path), "--frequency", "0.25", "--inputs-only"])
    made, out = load_case(tmp_path / "case.yaml")[0], tmp_path / "out"
    floors = [-block.below for block in made.grid.blocks]
    depths = [
        p.location[2] for p in read_srf(tmp_path / "thrust.srf", Projection("EPSG:32611", made.projection.origin))
    ]
    assert min(depths) < floors[0] < max(depths)
    for command in (["run", str(tmp_path / "case.yaml"), "--until", "0.5", "--threads", "1"], ["plot", str(out)]):
        done = CliRunner().invoke(app, [*command, *(["--output", str(out)] if command[0] == "run" else [])])
        assert done.exit_code == 0, done.output
    assert {"ranges-intensity.png", "ranges-intensity.tif", "ranges-grid.xml"} <= {p.name for p in out.iterdir()}
    maps = read_maps(out / "ranges-intensity.nc")
    assert np.isfinite(maps["PGV"]).all() and maps["PGV"].max() > 0
    assert maps["elevation"].min() < 600 and maps["elevation"].max() > 1200


def test_the_waves_around_a_box_are_recorded(tmp_path):
    """For a fifth of a second, before they get there."""
    script = runpy.run_path(str(EXAMPLES / "injection" / "injection.py"))
    script["main"]([str(tmp_path), "--end", "0.2", "--inputs-only"])
    case, to = str(tmp_path / "regional.yaml"), str(tmp_path / "regional")
    done = CliRunner().invoke(app, ["run", case, "--threads", "1", "--output", to])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "regional" / "regional.h5drm").is_file()
    record = read_box_record(tmp_path / "regional" / "regional-box.h5")
    assert record.samples == 11 and record.frame.lower.tolist() == [600, -1200, -1200]


def test_a_descent_by_gradients(tmp_path, monkeypatch):
    """Two iterations of a shorter case."""
    script = runpy.run_path(str(EXAMPLES / "gradients" / "descend.py"))
    short = load_case(script["CASE"], {"until": 1.6})[0]
    monkeypatch.setitem(script["descend"].__globals__, "CASE", short)
    descent = script["descend"](2)
    script["print_table"](descent)
    assert len(descent.best) >= 3 and descent.best[-1].value < 0.5 * descent.best[0].value
    assert script["draw"](descent, tmp_path).stat().st_size > 10_000


@pytest.mark.parametrize(
    "small", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["small", "as the guide says"]
)
def test_two_engines(tmp_path, monkeypatch, small):
    """One case on a grid and on tetrahedra, compared."""
    monkeypatch.chdir(tmp_path)
    text = example_text("two-engines")
    if small:  # twice the wavelength of the source, as coarse as that allows
        changes = {
            "duration: 0.25 s": "duration: 0.5 s",
            "[20, 20, 12]": "[10, 10, 6]",
            "80 m": "160 m",
            "end_time: 2.4 s": "end_time: 1.6 s",
        }
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
    (tmp_path / "case.yaml").write_text(text)
    for engine in ("fd", "dg"):
        done = CliRunner().invoke(app, ["run", "case.yaml", "--engine", engine, "--output", engine])
        assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, ["compare", "fd", "dg"])
    runpy.run_path(str(EXAMPLES / "two-engines" / "draw.py"))["draw"](Path("fd"), Path("dg"), Path("both.png"))
    assert Path("both.png").stat().st_size > 10_000
    misfit = float(re.search(r"velocity\D+([\d.]+)", done.output)[1])
    assert misfit < (0.2 if small else 0.03), done.output
    assert small or done.exit_code == 0, done.output


def test_the_inputs_of_mw6_are_what_the_script_writes(tmp_path):
    """Magnitude 6 in 448 subfaults, none on a plane of the layers; 30 stations."""
    folder = EXAMPLES / "mw6"
    script = runpy.run_path(str(folder / "make_inputs.py"))
    script["main"]([str(tmp_path)])
    for name in ("rupture.srf", "stations.txt"):
        assert (tmp_path / name).read_text() == (folder / name).read_text(), name
    case, problems = load_case(folder / "mw6.yaml")
    assert case is not None and not problems.items
    sources = read_srf(folder / "rupture.srf", Projection(case.projection.crs, case.projection.origin))
    depth = np.array([-s.location[2] for s in sources])
    assert len(sources) == 448 and np.abs(depth[:, None] - np.array([2000.0, 6000.0])).min() > 20.0
    rigidity = np.array([2400 * 2300.0**2, 2650 * 3200.0**2, 2800 * 3600.0**2])[
        np.searchsorted([2000.0, 6000.0], depth)
    ]
    moment = sum(
        float(s.integral(0, 100)) * float(np.linalg.norm(s.potency * [1, 1, 1, 2**0.5, 2**0.5, 2**0.5])) * 2**0.5 * mu
        for s, mu in zip(sources, rigidity, strict=True)
    )
    assert (np.log10(moment) - 9.1) / 1.5 == pytest.approx(6.0, abs=2e-3)
    assert len((folder / "stations.txt").read_text().splitlines()) == 31


@pytest.mark.slow
@pytest.mark.parametrize("small", [True, False], ids=["small", "as it is"])
def test_mw6_agrees_between_engines(tmp_path, small):
    """Three components at 30 stations, below the lower of the two resolved frequencies."""
    folder = tmp_path / "mw6"
    shutil.copytree(EXAMPLES / "mw6", folder)
    if small:  # half the frequency on twice the lengths, until 9 s
        changes = {
            "mw6.yaml": {
                "[26, 26, 10]": "[13, 13, 5]",
                "spacing: 400 m": "spacing: 800 m",
                "order: 5": "order: 4",
                "end_time: 10 s": "end_time: 9 s",
                "source_lowpass: 0.25 Hz": "source_lowpass: 0.15 Hz",
            },
            "layers.txt": {"\n2000 ": "\n4000 ", "\n6000 ": "\n8000 "},
        }
        for name, pairs in changes.items():
            text = (folder / name).read_text()
            for old, new in pairs.items():
                assert old in text
                text = text.replace(old, new)
            (folder / name).write_text(text)
    for engine in ("fd", "dg"):
        done = CliRunner().invoke(
            app, ["run", str(folder / "mw6.yaml"), "--engine", engine, "--output", str(tmp_path / engine)]
        )
        assert done.exit_code == 0, done.output
    draw = runpy.run_path(str(folder / "draw.py"))["draw"]
    assert draw(tmp_path / "fd", tmp_path / "dg", tmp_path / "both.png") < 0.03
    assert (tmp_path / "both.png").stat().st_size > 10_000
