"""Pictures of a run: every one is drawn, shows what the files hold, and needs nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib.figure
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure

from faultwave.base.errors import InputError
from faultwave.observe.dataset import energies_from_arrays
from faultwave.output.formats.csv_tables import write_energies
from faultwave.output.formats.vtkhdf import VtkHdfReader, VtkHdfWriter
from faultwave.output.manifest import build_manifest, write_manifest
from faultwave.output.trace import Trace
from faultwave.plot import plot_run, style
from faultwave.plot.energies import plot_energies
from faultwave.plot.fault import hypocentre, plot_rupture, read_fault_maps
from faultwave.plot.resonances import clustered
from faultwave.plot.seismograms import plot_receivers
from faultwave.plot.slip_rate import chosen_steps
from faultwave.plot.surface import map_frame, peak_velocity
from faultwave.plot.triangles import at_corners, at_points, split_along
from tests.messages import raises

from .conftest import grid

PICTURES = [
    *("rupture", "peak-slip-rate", "surface-peak-velocity", "surface-snapshots"),
    *("receivers", "fault-receivers", "energies", "rupture-maps", "moment-rate", "slip-rate"),
]


def settings() -> dict[str, object]:
    """Global settings; the backend is left out because it is only chosen when first looked at."""
    return {key: matplotlib.rcParams[key] for key in matplotlib.rcParams if key != "backend"}


def test_every_picture_is_written(run_folder: Path, tmp_path: Path) -> None:
    before = settings()
    paths = plot_run(run_folder, tmp_path)
    assert sorted(p.name for p in paths) == sorted(f"demo-{name}.png" for name in PICTURES)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    for path in paths:
        pixels = matplotlib.image.imread(path)[:, :, :3]
        assert pixels.shape[1] == style.WIDTH * style.DPI
        assert 0.02 < np.mean(np.any(pixels < 0.98, axis=2)) < 0.98, f"{path.name} is empty or full"
        assert np.all(pixels[:, [0, -1]] == 1), f"{path.name} runs over its edge"
    assert settings() == before


def test_axes_have_labels_with_units(run_folder: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder)
    assert len(drawn) == len(PICTURES)
    for name, fig in drawn.items():
        labels = [text for ax in fig.axes for text in (ax.get_xlabel(), ax.get_ylabel()) if text]
        labels += [c.get_ylabel() for ax in fig.axes for c in ax.child_axes]
        assert labels, name
        assert all("[" in text and "]" in text for text in labels if text), (name, labels)


def test_rupture_contours(run_folder: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder)
    ax = drawn["demo-rupture"].axes[0]
    contours = next(c for c in ax.collections if hasattr(c, "levels"))
    np.testing.assert_allclose(np.diff(contours.levels), 0.5)
    assert contours.levels[0] == 0.5
    # the front is an ellipse of known speed about the hypocentre (0 km, 7.5 km)
    for level, path in zip(contours.levels, contours.get_paths(), strict=True):
        if level > 1 and len(path.vertices):
            x, depth = path.vertices.T
            radius = np.hypot(x, 1.2 * (depth - 7.5))
            np.testing.assert_allclose(radius, 2.8 * (level - 0.15), atol=0.15)
    assert ax.get_ylim() == (15.0, 0.0)  # depth grows downwards
    assert ax.get_xlim() == (-15.0, 15.0)


def test_the_star_stands_in_the_middle_of_the_patch_that_breaks_first() -> None:
    """Triangles of a patch break one by one within a moment, the first at its edge; another breaks as early far away."""
    x, y = np.meshgrid(np.arange(13.0), np.arange(9.0), indexing="ij")
    index = np.arange(117).reshape(13, 9)
    low = np.stack([index[:-1, :-1], index[1:, :-1], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    high = np.stack([index[1:, 1:], index[:-1, 1:], index[1:, :-1]], axis=-1).reshape(-1, 3)
    xy, cells = np.column_stack([x.ravel(), y.ravel()]), np.concatenate([low, high])
    centres = xy[cells].mean(axis=1)
    away = np.abs(centres - [6.0, 4.0]).max(axis=1)
    time = np.where(away < 2.0, 0.03 - 0.002 * away, 0.3 * away)
    time[np.argmax(centres[:, 0])] = 0.03
    time[np.argmin(centres[:, 0])] = np.nan
    np.testing.assert_allclose(hypocentre(xy, cells, time), [6.0, 4.0], atol=1e-12)


def test_contours_are_straight_at_the_edges() -> None:
    """A plane of rupture times must come back as that plane, at the edges as well."""
    x, y = np.meshgrid(np.arange(9.0), np.arange(7.0), indexing="ij")
    index = np.arange(63).reshape(9, 7)
    low = np.stack([index[:-1, :-1], index[1:, :-1], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    high = np.stack([index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    xy, cells = np.column_stack([x.ravel(), y.ravel()]), np.concatenate([low, high])
    plane = xy @ [0.3, -0.2] + 5
    found = at_points(cells, len(xy), plane[cells].mean(axis=1))
    assert np.abs(found - plane).max() < 0.05  # plain averages are off by 0.25 at the corners


def test_a_fault_that_does_not_move(tmp_path: Path, drawn: dict[str, Figure]) -> None:
    points = np.array([[0.0, 0, 0], [1e3, 0, 0], [0, 0, -1e3], [1e3, 0, -1e3]])
    cells = np.array([[0, 1, 2], [1, 3, 2]])
    path = tmp_path / "a-fault.vtkhdf"
    with VtkHdfWriter(path, points, cells, {"fault-tag": np.array([3, 65])}, ["Sls", "Sld", "RT"]) as file:
        for time in (0.0, 1.0):
            file.append(time, {name: np.zeros(2) for name in ("Sls", "Sld", "RT")})
    maps = read_fault_maps(path)
    assert [m.title for m in maps] == ["fault 3, dip 90°", "fault 65, dip 90°"]
    assert plot_rupture(maps, tmp_path / "a-rupture.png") is not None
    assert len(drawn["a-rupture"].axes) == 2


def test_map_shows_the_fault_and_its_surroundings(run_folder: Path) -> None:
    with VtkHdfReader(run_folder / "demo-surface.vtkhdf") as surface:
        frame = map_frame(surface, run_folder / "demo-fault.vtkhdf", [])
        np.testing.assert_allclose(frame.limits, [[-30, -15], [30, 15]])
        np.testing.assert_allclose(frame.outline.reshape(-1, 2).min(axis=0), [-15, 0])
        whole = map_frame(surface, None, [])
        np.testing.assert_allclose(whole.limits, [[-60, -60], [60, 60]])
        written = peak_velocity(surface)
        steps = range(len(surface.times))
        speeds = [np.sqrt(sum(surface.field(f"v{i}", s) ** 2 for i in (1, 2, 3))) for s in steps]
        np.testing.assert_allclose(written, np.max(speeds, axis=0), rtol=1e-5, atol=1e-12)


def test_peak_velocity_from_snapshots(tmp_path: Path) -> None:
    points, cells = np.eye(3), np.array([[0, 1, 2]])
    with VtkHdfWriter(tmp_path / "a.vtkhdf", points, cells, {}, ["v1", "v2", "v3"]) as file:
        for time, v in enumerate([(0, 0, 0), (3, 4, 0), (1, 2, 2)]):
            file.append(time, {f"v{i + 1}": np.array([v[i]]) for i in range(3)})
    with VtkHdfReader(tmp_path / "a.vtkhdf") as surface:
        np.testing.assert_allclose(peak_velocity(surface), 5.0)


def test_only_what_is_there(run_folder: Path, tmp_path: Path) -> None:
    shutil.copy(run_folder / "demo-receivers.h5", tmp_path)
    assert {p.name for p in plot_run(tmp_path)} == {"demo-receivers.png", "demo-fault-receivers.png"}


def test_nothing_to_draw(tmp_path: Path) -> None:
    with raises(InputError):
        plot_run(tmp_path)
    write_energies(tmp_path / "a-energy.csv", energies_from_arrays([0.0, 1.0], {"seismic_moment": [0.0, 0.0]}))
    with raises(InputError):
        plot_run(tmp_path)


@pytest.mark.skipif(
    not (Path(__file__).parents[3] / "shared" / "cases").is_dir(), reason="no reference cases next to the project"
)
def test_reference_runs_can_be_drawn(tmp_path: Path) -> None:
    folder = Path(__file__).parents[3] / "shared" / "cases" / "tpv13" / "reference-head"
    names = {p.name for p in plot_run(folder, tmp_path)}
    assert names == {"tpv-receivers.png", "tpv-fault-receivers.png", "tpv-energies.png"}


def test_lines_too_close_for_labels_of_their_own_share_one() -> None:
    found = clustered(np.array([4.760, 2.6, 4.759, 5.5]), 0.06)
    assert [group.tolist() for group in found] == [[2.6], [4.759, 4.760], [5.5]]
    assert clustered(np.zeros(0), 0.1) == []


def test_energies_of_nanoseconds_below_their_legend(tmp_path: Path, drawn: dict[str, Figure]) -> None:
    time = np.linspace(0.0, 4e-9, 50)
    values = np.stack([np.cos(1e10 * time) ** 2, np.sin(1e10 * time) ** 2])
    energies = energies_from_arrays(time, {"electric_energy": values[0], "magnetic_energy": values[1]})
    plot_energies(energies, tmp_path / "energies.png")
    ax = drawn["energies"].axes[0]
    assert ax.get_xlabel() == "time [ns]" and ax.get_xlim() == pytest.approx((0, 4))
    legend = ax.transData.inverted().transform(ax.get_legend().get_window_extent())
    assert legend[0, 1] > values.max()


@pytest.mark.parametrize("places, unit", [([[0.1, 0.2, 0.3]], "m"), ([[0, 0, 0], [3000, 0, 0]], "km")])
def test_places_of_receivers_have_a_unit_that_shows_them(
    tmp_path: Path, drawn: dict[str, Figure], places: list[list[float]], unit: str
) -> None:
    time = np.linspace(0.0, 1.0, 20)
    traces = [Trace("receiver", 1 + i, time, {"v1": np.sin(time)}, np.array(place)) for i, place in enumerate(places)]
    plot_receivers(traces, tmp_path / "receivers.png")
    labels = [text.get_text().splitlines()[0] for text in drawn["receivers"].axes[0].get_yticklabels()]
    assert all(label.endswith(f") {unit}") for label in labels)
    assert labels[-1] == ("1  (0.1, 0.2, 0.3) m" if unit == "m" else "2  (3, 0, 0) km")


def test_snapshots_of_slip_rate_share_a_scale(run_folder: Path, tmp_path: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder, tmp_path)
    shown = [ax for ax in drawn["demo-slip-rate"].axes if ax.collections and ax.get_title(loc="left").startswith("t =")]
    assert len(shown) >= 2
    scales = {(ax.collections[0].norm.vmin, ax.collections[0].norm.vmax) for ax in shown}
    assert len(scales) == 1 and scales.pop()[0] == 0.0


def test_chosen_snapshots() -> None:
    assert chosen_steps(np.array([0.0, 0.001, 1.0, 2.0, 0.5])).tolist() == [2, 3, 4]
    assert chosen_steps(np.zeros(0)).tolist() == [] and chosen_steps(np.zeros(5)).tolist() == []
    many = chosen_steps(np.ones(30))
    assert len(many) == 8 and many[0] == 0 and many[-1] == 29


def test_maps_and_moment_rate_show_what_the_files_hold(
    run_folder: Path, tmp_path: Path, drawn: dict[str, Figure]
) -> None:
    plot_run(run_folder, tmp_path)
    titles = [ax.get_title(loc="left") for ax in drawn["demo-rupture-maps"].axes]
    for wanted in (
        "rupture speed [km/s]",
        "stress drop [MPa]",
        "points in the cohesive zone",
        "fracture energy [MJ/m²]",
    ):
        assert wanted in titles
    left, right = drawn["demo-moment-rate"].axes
    assert "Mw 6.83" in left.get_title(loc="left") and "corner frequency 0.32 Hz" in right.get_title(loc="left")


def test_smooth_pictures_keep_means_steps_and_faults() -> None:
    """A plane comes back at the corners of its cells; a step does not overshoot; across a split nothing is averaged."""
    xy, cells = grid(np.arange(9.0), np.arange(7.0))
    centres = xy[cells].mean(axis=1)
    plane = centres @ [0.3, -0.2] + 5
    inner = ((xy > 0) & (xy < [8.0, 6.0])).all(axis=1)[cells]  # at the rim nothing goes beyond the cells
    assert np.abs(at_corners(cells, plane) - (xy @ [0.3, -0.2] + 5)[cells])[inner].max() < 0.05
    step = np.where(centres[:, 0] < 4, -1.0, 2.0)
    assert np.abs(at_corners(cells, step) - 0.5).max() <= 1.5
    fault = np.array([[[4.0, y], [4.0, y + 1]] for y in range(6)])
    np.testing.assert_allclose(
        at_corners(split_along(xy, cells, fault), step), np.repeat(step[:, None], 3, 1), atol=1e-12
    )
    assert (split_along(xy, cells, fault[:0]) == cells).all()


@pytest.mark.parametrize(("form", "head"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_formats_and_resolution(run_folder: Path, tmp_path: Path, form: str, head: bytes) -> None:
    (path,) = plot_run(run_folder, tmp_path, field="PGV", format=form, dpi=60)
    assert path.name == f"demo-surface-PGV.{form}"
    assert path.read_bytes().startswith(head)
    if form == "png":
        assert matplotlib.image.imread(path).shape[1] == round(style.WIDTH * 60)


def test_a_field_at_a_time(run_folder: Path, tmp_path: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder, tmp_path, field="v1", time="3.2 s")
    ax = drawn["demo-surface-v1-3s"].axes[0]
    assert ax.get_title("left") == "particle velocity along x1, t = 3 s"
    low, high = ax.collections[0].get_clim()
    assert low == -high < 0  # velocities have both signs
    plot_run(run_folder, tmp_path, field="slip")
    assert drawn["demo-fault-slip"].axes[0].get_ylim() == (15.0, 0.0)
    plot_run(run_folder, tmp_path, field="speed", log=True)
    norm = drawn["demo-surface-speed"].axes[0].collections[0].norm
    assert type(norm).__name__ == "LogNorm" and norm.vmin == pytest.approx(1e-3 * norm.vmax)


def test_chosen_stations_are_named(run_folder: Path, tmp_path: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder, tmp_path, stations=[2, "7"], axes=["fault-parallel", "fault-normal", "up"])
    rows = [text.get_text() for text in drawn["demo-receivers"].axes[0].get_yticklabels()]
    assert [row.split()[0] for row in rows] == ["2", "7"]
    ax = drawn["demo-surface-peak-velocity"].axes[0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("fault-parallel [km]", "fault-normal [km]")
    assert {text.get_text() for text in ax.texts} == {"2", "7"}
    assert [a.get_title("left") for a in drawn["demo-receivers"].axes][2] == "up (v₃)"


@pytest.mark.parametrize(("projection", "label"), [({"azimuth": 0.0}, "east [km]"), ({"azimuth": 30.0}, "x [km]")])
def test_axes_are_those_of_the_projection(
    run_folder: Path, tmp_path: Path, drawn: dict[str, Figure], projection: dict[str, float], label: str
) -> None:
    for name in ("demo-surface.vtkhdf", "demo-receivers.h5"):
        shutil.copy(run_folder / name, tmp_path)
    write_manifest(tmp_path / "demo-manifest.json", build_manifest({"projection": projection}))
    plot_run(tmp_path)
    assert drawn["demo-surface-peak-velocity"].axes[0].get_xlabel() == label


@pytest.mark.parametrize(
    "asked",
    [
        {"field": "v4"},
        {"field": "v1", "time": "1 min"},
        {"field": "v1", "time": "soon"},
        {"time": 2.0, "format": "jpg", "stations": ["PASC"]},
    ],
    ids=str,
)
def test_what_cannot_be_drawn(run_folder: Path, tmp_path: Path, asked: dict[str, object]) -> None:
    with raises(InputError):
        plot_run(run_folder, tmp_path, **asked)


def test_notebooks_show_the_pictures(run_folder: Path, tmp_path: Path) -> None:
    found = plot_run(run_folder, tmp_path, field="PGV", dpi=30)
    page = found._repr_html_()
    assert page.startswith('<p><img src="data:image/png;base64,iVBOR') and "demo-surface-PGV.png" in page
    assert "pdf</p>" in plot_run(run_folder, tmp_path, field="PGV", format="pdf", dpi=30)._repr_html_()


def test_logarithmic_maps_have_no_holes(run_folder: Path, tmp_path: Path, drawn: dict[str, Figure]) -> None:
    plot_run(run_folder, tmp_path, field="speed", time=0, log=True)
    mesh = drawn["demo-surface-speed-0s"].axes[0].collections[0]
    assert np.min(mesh.get_array()) >= mesh.norm.vmin > 0
    plot_run(run_folder, tmp_path, field="Pn0")
    bar = drawn["demo-fault-Pn0"].axes[0].child_axes[0]
    assert bar.get_ylabel() == "Pn0 [MPa]"
