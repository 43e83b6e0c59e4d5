"""Benchmarks of the SCEC/USGS comparison: their texts, meshes, cases, what is measured, and one whole run."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.case.load import load_case
from faultwave.media.load import load_field
from faultwave.output.results import load_results
from faultwave.run.planned import check
from faultwave.verify.scec import checks, drive, folder, on_grid, page, texts
from faultwave.verify.scec.benchmark import Fault, Resolution, benchmarks, find, quick, undisturbed
from faultwave.verify.scec.folder import Cost, begin, end, settings, write_case
from faultwave.verify.scec.folder import ended as has_ended
from faultwave.verify.scec.measure import Measured, Rupture, differences, read_ruptures
from faultwave.verify.scec.summary import PICTURE, SUMMARY, read_summaries
from tests.messages import raises

WANTED = {
    3,
    5,
    6,
    7,
    8,
    10,
    11,
    12,
    13,
    14,
    15,
    16,
    24,
    25,
    26,
    27,
    28,
    29,
    30,
    31,
    32,
    33,
    36,
    37,
    101,
    102,
    103,
    104,
    105,
}


def value(text, *points):
    """An expression of the case files at points (x, y, z)."""
    setting = SimpleNamespace(constant={}, expression={"f": text}, easi=None, layers=None, regions=None, models=None)
    found = load_field(setting).evaluate(np.array(points, float), np.zeros(len(points), int), ["f"])
    return found["f"]


def test_every_benchmark_is_found_and_makes_a_sound_case():
    found = benchmarks()
    assert {f"tpv{n}" for n in WANTED} <= set(found)
    assert list(found) == sorted(found, key=lambda name: int(name[3:]))
    for benchmark in found.values():
        for resolution in (benchmark.quick, benchmark.full):
            case = {**settings(benchmark, resolution), "mesh": {"generate": {"shape": "tpv5"}}}
            loaded, problems = load_case(case)
            assert loaded is not None and not problems.items, (benchmark.name, problems.items)
        assert benchmark.source and undisturbed(benchmark) > 1.0
        places = [fault.point(s, d) for fault in benchmark.faults for s in (0.0, 3e3, 9e3) for d in (100.0, 9e3)]
        for text in benchmark.fault_settings["parameters"].get("expression", {}).values():
            assert np.isfinite(value(text, *places)).all()
        assert benchmark.full.size / benchmark.full.order == pytest.approx(benchmark.recommended)


def test_an_unknown_benchmark_is_told():
    with raises(InputError):
        find("tpv4")


def test_numbers_have_no_exponents():
    assert float(texts.number(1 / 32.03812032e9)) == 1 / 32.03812032e9
    assert texts.number(-120e6) == "(-120000000.0)"
    assert value("return " + texts.number(1e-6) + "*x;", (2e6, 0, 0)) == pytest.approx(2.0)


def test_means_of_squares_over_cells():
    """Points on an edge have the mean of both sides, on a corner a quarter; so the patch is as large as it is."""
    h, text = 200.0, texts.mean_squares(70e6, [(0, 7500, 3000, 81.6e6), (7500, 7500, 3000, 62e6)], 200.0)
    found = value(text, (0, 0, -7500), (1500, 0, -7500), (1500, 0, -9000), (7500, 0, -6000), (3000, 0, -7500))
    np.testing.assert_allclose(found, [81.6e6, 75.8e6, 72.9e6, 66e6, 70e6])
    lattice = np.meshgrid(np.arange(-2000, 2001, h), [0.0], -7500 + np.arange(-2000 + h / 2, 2000, h))
    excess = value(text, *np.stack(lattice, -1).reshape(-1, 3)) - 70e6
    assert excess.sum() * h * h == pytest.approx(11.6e6 * 3000.0**2)


def test_squares_follow_the_distance_down_dip():
    text = texts.squares("0.1*d", [(0, 12000, 3000, "7.0")], dip=60.0)
    on = Fault("main", (-15e3, 15e3), (0, 15e3), dip=60.0)
    found = value(text, on.point(0, 12e3), on.point(1499, 13499), on.point(1501, 12e3), on.point(0, 9e3))
    np.testing.assert_allclose(found, [7.0, 7.0, 1200.0, 900.0], rtol=1e-9)


def test_forced_rupture_slows_down_to_nothing():
    """Harris et al. (2018): r/(0.7 Vs) + (0.081 rc/(0.7 Vs)) (1/(1 - (r/rc)^2) - 1)."""
    r, rc, v = 2000.0, 4000.0, 0.7 * 3464.0
    expected = r / v + 0.081 * rc / v * (1 / (1 - (r / rc) ** 2) - 1)
    found = value(texts.forced(-5e3, 10e3, rc, 3464.0), (-3e3, 0, -10e3), (-5e3, 0, -10e3), (0, 0, -10e3))
    np.testing.assert_allclose(found, [expected, 0.0, texts.NEVER])


def test_profiles_jump_where_a_depth_stands_twice():
    text = texts.profile((0.0, 1000.0, 1000.0, 3000.0), (1.0, 2.0, 4.0, 8.0))
    found = value(text, *[(0, 0, -d) for d in (0, 500, 999, 1001, 2000, 5000)])
    np.testing.assert_allclose(found, [1.0, 1.5, 1.999, 4.002, 6.0, 8.0])


def test_stress_of_tpv26_and_of_the_branches():
    """Values worked out by hand from the descriptions' tensors."""
    point = (-5e3, 0.0, -10e3)
    fields = find("tpv26").fault_settings["parameters"]["expression"]
    normal, shear = (float(value(fields[name], point)[0]) for name in ("s_yy", "s_xy"))
    assert normal == pytest.approx(-175.641e6, rel=1e-5) and shear == pytest.approx(27.663e6, rel=1e-4)
    for name, across, along in (("tpv24", 0.8902098, -0.1479345), ("tpv25", 1.0604563, 0.1726990)):
        benchmark = find(name)
        fields = benchmark.fault_settings["parameters"]["expression"]
        xx, yy, xy = (float(value(fields[n], (4e3, -2e3, -10e3))[0]) for n in ("s_xx", "s_yy", "s_xy"))
        strike, down = benchmark.fault("branch").axes
        n = np.cross(strike, down)[:2]
        tensor = np.array([[xx, xy], [xy, yy]])
        vertical = -16366.0 * 10e3
        assert n @ tensor @ n == pytest.approx(across * vertical, rel=2e-5)
        assert abs(strike[:2] @ tensor @ n) == pytest.approx(abs(along * vertical), rel=2e-4)


def test_stress_of_layers_is_that_of_their_rigidity():
    """At the hypocentre of TPV31 34.95 MPa of shear against a strength of 0.58 times 60 MPa, times the rigidity over TPV5's."""
    for name, rigidity in (("tpv31", 2720 * 3450.0**2), ("tpv32", 2693.75 * 3375.0**2)):
        fields = find(name).fault_settings["parameters"]["expression"]
        ratio = rigidity / 32.03812032e9
        normal, shear = (value(fields[n], (0, 0, -7500), (6e3, 0, -7500), (0, 0, -500)) for n in ("T_n", "T_s"))
        np.testing.assert_allclose(normal[:2], -60e6 * ratio, rtol=1e-12)
        np.testing.assert_allclose(shear[:2], [34.95e6 * ratio, 30e6 * ratio], rtol=1e-12)
        assert value(fields["cohesion"], (0, 0, -400)) == pytest.approx(-425 * 2000.0)


def test_rock_of_tpv13_and_tpv27_is_near_yield():
    """Stress at 10 km depth worked out by hand (TPV27: 0.93 of yield), and stress on the fault that of TPV12's tractions."""
    point = (2e3, 3e3, -10e3)
    for name, ratio in (("tpv13", None), ("tpv27", 0.9301)):
        rock = find(name).plasticity["parameters"]
        s = [float(value(rock["expression"][n], point)[0]) for n in ("s_xx", "s_yy", "s_zz")]
        shear = float(value(rock["expression"]["s_xy"], point)[0]) if "s_xy" in rock["expression"] else 0.0
        dev = np.array(s) - np.mean(s)
        phi = np.arctan(rock["constant"]["bulk_friction"])
        limit = rock["constant"]["plastic_cohesion"] * np.cos(phi) - np.mean(s) * np.sin(phi)
        tau = np.sqrt(0.5 * (dev**2).sum() + shear**2)
        assert tau < limit and (ratio is None or tau / limit == pytest.approx(ratio, abs=1e-4))
    benchmark, n = find("tpv13"), np.array([0.0, np.sin(np.pi / 3), np.cos(np.pi / 3)])
    on = benchmark.faults[0].point(1e3, 8e3)
    rock = benchmark.plasticity["parameters"]["expression"]
    tensor = np.diag([float(value(rock[c], on)[0]) for c in ("s_xx", "s_yy", "s_zz")])
    normal = float(value(benchmark.fault_settings["parameters"]["expression"]["T_n"], on)[0])
    assert n @ tensor @ n == pytest.approx(normal, rel=1e-3)


def test_places_on_a_fault_go_there_and_back():
    fault = Fault("a", (-5e3, 5e3), (0, 9e3), origin=(1e3, -2e3), strike=-30.0, dip=60.0)
    point = fault.point(1200.0, 3400.0)
    np.testing.assert_allclose(fault.places(point[None])[0], [1200.0, 3400.0])
    assert point[2] == pytest.approx(-3400 * np.sin(np.radians(60)))
    np.testing.assert_allclose(fault.point(0, 0), [1e3, -2e3, 0.0])


def rupture(time, fault=None, slip=1.0):
    """A fault of 30 x 15 km cut into right triangles, with rupture times of a function of s and d."""
    fault = fault or Fault("main", (-15e3, 15e3), (0.0, 15e3))
    s, d = np.meshgrid(np.arange(-15e3, 15e3, 500), np.arange(0, 15e3, 500))
    base = np.stack([s.ravel(), d.ravel()], 1)
    lower = base[:, None] + np.array([[0, 0], [500, 0], [0, 500]])
    upper = base[:, None] + np.array([[500, 500], [0, 500], [500, 0]])
    corners = np.concatenate([lower, upper])
    places = corners.mean(1)
    area = np.full(len(places), 125e3)
    return Rupture(fault, places, corners, area, time(*places.T), np.full(len(places), slip), np.ones(len(places)))


def measured(time, coarse=None, energy=1.0, name="tpv3"):
    benchmark = find(name)

    def run(function, size):
        energies = {
            "time": np.arange(0.0, 8.1, 0.1), "elastic_energy": np.full(81, 0.8 * energy), "seismic_moment": np.ones(81),
            "elastic_kinetic_energy": np.full(81, 0.2 * energy), "total_frictional_work": np.ones(81),
        }  # fmt: skip
        return SimpleNamespace(
            ruptures={"main": rupture(function)}, energies=energies, resolution=Resolution(size, 4, 8.0), stations={}
        )

    return Measured(benchmark, run(time, 800.0), run(coarse or time, 1200.0), True)


def front(speed):
    return lambda s, d: np.hypot(s, d - 7.5e3) / speed


def test_a_sound_rupture_passes_and_times_are_measured():
    good = measured(front(2800.0), lambda s, d: front(2800.0)(s, d) + 0.1)
    difference, mean = differences(good.fine.ruptures["main"], good.coarse.ruptures["main"], 1200.0)
    assert difference == pytest.approx(0.1, abs=0.01) and 2.0 < mean < 4.5
    assert all(row.ok for row in checks.general(good)), checks.general(good)
    run = good.fine
    run.resolution = replace(run.resolution, coarser=1.25)  # the other run is better: the difference must be smaller
    assert checks.converged(good)[0].limit == pytest.approx(0.15 * 0.953125 / 2.375)
    assert checks.symmetric()(good).ok and checks.symmetric_down_dip(7.5e3)(good).ok
    assert checks.ruptures("main", 0.99)(good).ok and not checks.stays("main", 0.9)(good).ok
    assert checks.speed_between(good, "main", (3e3, 7.5e3), (12e3, 7.5e3)) == pytest.approx(2800.0, rel=1e-2)


@pytest.mark.parametrize(
    "check, wrong",
    [
        (lambda m: checks.converged(m)[0], measured(front(2800.0), front(2200.0))),
        (lambda m: checks.converged(m)[1], measured(front(2800.0), lambda s, d: np.where(s > 5e3, np.nan, front(2800.0)(s, d)))),
        (checks.budget, measured(front(2800.0), energy=0.8)),
        (checks.causal, measured(front(8000.0))),
        (checks.symmetric(), measured(lambda s, d: front(2800.0)(s - 500, d))),
        (checks.symmetric_down_dip(7.5e3), measured(lambda s, d: front(2800.0)(s, d - 500))),
        (checks.earlier("main", (6e3, 7.5e3), (3e3, 7.5e3), ""), measured(front(2800.0))),
        (checks.slower("main", (3e3, 7.5e3), (12e3, 7.5e3), ""), measured(front(5000.0))),
        (checks.faster("main", (3e3, 7.5e3), (12e3, 7.5e3), ""), measured(front(2800.0))),
        (checks.ruptures("main", 0.97), measured(lambda s, d: np.where(s > 5e3, np.nan, front(2800.0)(s, d)))),
    ],
)  # fmt: skip
def test_what_is_wrong_fails(check, wrong):
    assert not check(wrong).ok


@pytest.mark.parametrize("quick_run", [True, False])
@pytest.mark.parametrize("late, good", [(1.07, True), (1.1, False)])
def test_decks_on_coarse_meshes_bound_rupture_times(tmp_path, monkeypatch, quick_run, late, good):
    """Finer runs come earlier than a deck whose elements are large: what is asked of a quick run is asked of a full one."""
    place = np.array([2e3, 0.0, -5.5e3])
    time = late * np.hypot(2e3, 2e3) / 2800.0
    trace = SimpleNamespace(columns={"RT": np.array([0.0, time])}, location=place)
    (tmp_path / "tpv5" / "reference-head").mkdir(parents=True)
    monkeypatch.setattr(checks, "cases_folder", lambda: tmp_path)
    monkeypatch.setattr(checks, "load_results", lambda folder: SimpleNamespace(traces={"faultreceiver": {1: trace}}))
    (row,) = checks.against_reference(replace(measured(front(2800.0), name="tpv5"), quick=quick_run))
    assert row.ok == good and row.measured == pytest.approx(1 - 1 / late, abs=0.01)


def test_benchmarks_on_grids_are_sound_cases():
    """Those that have none are told, with those that do."""
    found = [b for b in benchmarks().values() if b.grid is not None]
    assert {b.name for b in found} >= {"tpv3", "tpv5", "tpv104"}
    for benchmark in found:
        coarse = replace(on_grid.resolution_of(benchmark, True), size=400.0)
        problems = check(on_grid.settings(benchmark, coarse))
        assert not problems.errors, (benchmark.name, problems.errors)
    with raises(InputError):
        on_grid.check_possible([find("tpv3"), find("tpv10")])


def test_one_benchmark_on_a_grid_and_on_tetrahedra(tmp_path):
    """TPV5 for a second: the patch breaks at once, its surroundings soon, on both engines."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    known = find("tpv5")
    grid = replace(known.grid, spacings=(300.0, 300.0))
    benchmark = replace(known, quick=Resolution(1500.0, 3, 1.0, "single"), checks=(), reference="", grid=grid)
    benchmark = replace(benchmark, stations={"main": ((0, 7.5e3), (1e3, 7e3))})
    summary = drive.run_on_grid(lambda text: None, benchmark, True, tmp_path)
    rows = {row.quantity: row for row in summary.rows}
    against = rows["rupture times against engine dg with edges of 1000 m, RMS over mean"]
    assert against.limit == on_grid.AGREE[0] and np.isfinite(against.measured)
    assert rows["slip at 2 stations against engine dg, RMS over RMS"].measured < 0.2
    assert next(row for name, row in rows.items() if name.startswith("energy budget")).ok
    assert 0.01 < summary.ruptured < 0.2 and summary.sizes == (300.0, 450.0) and summary.moments[0] > 1e16
    assert (tmp_path / PICTURE).is_file() and (tmp_path / "dg").is_dir()


def areas(mesh, tag):
    from faultwave.domain.tets.mesh import FILE_FACES

    corners = mesh.vertices[mesh.cells[:, FILE_FACES]][mesh.tags == tag]
    return 0.25 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)


@pytest.mark.parametrize("name", ["tpv3", "tpv10", "tpv24", "tpv31", "tpv36"])
def test_meshes_hold_the_whole_faults(name):
    """Every triangle of a fault has two cells, hence a quarter; the free surface is the top of the box."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    from faultwave.domain.tets import check_mesh
    from faultwave.verify.scec.benchmark import box_of
    from faultwave.verify.scec.mesh import build

    benchmark = find(name)
    mesh = build(benchmark, quick(2500.0))
    for number, fault in enumerate(benchmark.faults):
        area = np.ptp(fault.along) * np.ptp(fault.down)
        assert areas(mesh, 3 if number == 0 else 64 + number).sum() == pytest.approx(area, rel=1e-9)
    box = box_of(benchmark)
    top = np.prod((box.upper - box.lower)[:2]) if benchmark.domain.free_surface else 0.0
    assert 2 * areas(mesh, 1).sum() == pytest.approx(top, rel=1e-9)
    check_mesh(mesh)


def test_triangles_grow_beyond_the_reach():
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    from faultwave.domain.tets.mesh import FILE_FACES
    from faultwave.verify.scec.mesh import ALONG, build

    benchmark, resolution = find("tpv5"), quick(1000.0, reach=4e3)
    mesh = build(benchmark, resolution)
    corners = mesh.vertices[mesh.cells[:, FILE_FACES]][mesh.tags == 3]
    away = np.linalg.norm(corners.mean(1) - benchmark.fault("main").point(*benchmark.start.place), axis=1)
    edge = np.linalg.norm(corners - np.roll(corners, 1, 1), axis=2).mean(1)
    for near, far in ((0.0, 4e3), (12e3, 16e3)):
        here = (away > near) & (away < far)
        wanted = 1000.0 + ALONG * np.maximum(away[here] - 4e3, 0.0)
        assert 0.8 < (edge[here] / wanted).mean() < 1.2


def test_hills_stand_out_of_the_fault():
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    from faultwave.domain.tets.mesh import FILE_FACES
    from faultwave.verify.scec.mesh import build

    mesh = build(find("tpv28"), quick(1500.0))
    on = np.unique(mesh.cells[:, FILE_FACES][mesh.tags == 3])
    x, y, z = mesh.vertices[on].T
    relief = find("tpv28").domain.relief
    np.testing.assert_allclose(y, relief(x, z), atol=1e-6)
    assert relief(np.array([10.5e3]), np.array([-7.5e3])) == pytest.approx(-600.0)
    assert np.abs(y[np.abs(x) < 7e3]).max() < 1e-6 < 300 < np.abs(y).max()


def test_a_folder_holds_a_case_that_runs_by_itself(tmp_path):
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    path = write_case(find("tpv24"), Resolution(4000.0, 2, 0.1), tmp_path)
    case, problems = load_case(str(path))
    assert case is not None and not problems.items, problems.items
    assert "https://strike.scec.org" in path.read_text() and case.mesh.file == tmp_path / "mesh.h5"


def test_one_benchmark_from_mesh_to_page(tmp_path):
    """TPV5 on large elements until the patch of higher stress breaks: rows, a picture, a summary that is read back, the page."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    benchmark = replace(
        find("tpv5"), quick=Resolution(1200.0, 4, 3.6, "single"), checks=find("tpv5").checks[1:2], reference=""
    )
    summary = drive.run_one(lambda text: None, benchmark, True, tmp_path / "scec" / "tpv5")
    rows = {row.quantity: row for row in summary.rows}
    assert rows["earlier through the patch of higher stress than through that of lower, by [s]"].ok
    assert next(row for name, row in rows.items() if name.startswith("fastest")).ok
    assert next(row for name, row in rows.items() if name.startswith("energy")).measured < 0.2
    assert 0.2 < summary.ruptured < 1.0 and summary.cells > 1000 and summary.moments[0] > 1e18
    folder = tmp_path / "scec" / "tpv5"
    kept = read_summaries(tmp_path / "scec")
    assert repr(kept) == repr({"tpv5": (folder, summary)})  # places that never ruptured are NaN
    target = tmp_path / "scec.md"
    target.write_text(f"# Benchmarks\n{page.BEGIN}\nold\n{page.END}\nthe end\n")
    written = page.write(target, tmp_path / "scec")
    text = target.read_text()
    assert "old" not in text and text.endswith("the end\n") and "| [TPV5](#tpv5) | quick |" in text
    picture = tmp_path / "images" / "scec-tpv5.png"
    assert picture in written and picture.stat().st_size > 1e4
    assert "Not run at full resolution for this page: TPV3, TPV3 on a grid, TPV5, TPV5 on a grid, TPV6" in text
    page.write(target, tmp_path / "no information")
    assert target.read_text() == text
    _rename(tmp_path / "scec", "tpv5", "tpv6")  # another one's result is put beside what the page shows
    page.write(target, tmp_path / "scec")
    both = target.read_text()
    _rename(tmp_path / "scec", "tpv6", "tpv5-fd")  # on a grid: a row of its own, below
    page.write(target, tmp_path / "scec")
    three = target.read_text()
    assert three.index("| [TPV5](#tpv5) |") < three.index("| [TPV5 on a grid](#tpv5-fd) |") < three.index("#tpv6")
    assert "images/scec-tpv5-fd.png" in three and "compared with, a spacing of" in three
    places = [both.index(text) for text in ("| [TPV5](#tpv5) |", "| [TPV6](#tpv6) |", "{ #tpv5 }", "{ #tpv6 }")]
    assert places == sorted(places)


def _rename(folder, name, new):
    """A result as that of another benchmark."""
    (folder / name).rename(folder / new)
    kept = folder / new / SUMMARY
    kept.write_text(kept.read_text().replace(f'"name": "{name}"', f'"name": "{new.removesuffix("-fd")}"'))


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """TPV5 for a second, quick and "full" on large elements; the folder."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    short = Resolution(1800.0, 3, 1.0, "single")
    benchmark = replace(find("tpv5"), quick=short, recommended=400.0, end_time=1.2, checks=(), reference="")
    folder = tmp_path_factory.mktemp("scec")
    for wanted, name in ((True, "tpv5"), (False, "tpv5-full")):
        drive.run_one(lambda text: None, benchmark, wanted, folder / name)
    return folder


@pytest.fixture
def both_runs(ended, tmp_path):
    """The same, to change things in."""
    return shutil.copytree(ended, tmp_path / "scec")


def test_quick_and_full_stand_side_by_side(both_runs, tmp_path):
    """Each with its row and text; what both differ by, and the picture of the full one. Either stays where the other is written anew."""
    target, picture = tmp_path / "scec.md", tmp_path / "images" / "scec-tpv5.png"
    target.write_text(f"{page.BEGIN}\n{page.END}\n")
    page.write(target, both_runs)
    text, drawn = target.read_text(), picture.read_bytes()
    assert text.count("{ #tpv5 }") == 1 and text.count("images/scec-tpv5.png") == 1
    for part in (
        "| [TPV5](#tpv5) | quick | 1800, 3 | 1 |",
        "| [TPV5](#tpv5) | full | 1600, 4 | 1.2 |",
        "**Quick.** 1 s",
        "**Full.** 1.2 s",
    ):
        assert text.count(part) == 1, part
    assert "TPV5," not in next(line for line in text.splitlines() if line.startswith("Not run at full"))
    (quick_at, quick_summary), (full_at, full_summary) = kept = tuple(read_summaries(both_runs).values())
    found = page.apart(*kept)
    times = [read_ruptures(find("tpv5"), at / f"{s.sizes[0]:.0f}m")["main"] for at, s in kept]
    assert found.time == 1.0 and 0 < found.difference < 0.2 and found.difference == differences(*times, 1800.0)[0]
    moments = [_moment_at_one(at / f"{s.sizes[0]:.0f}m") for at, s in kept]
    assert found.moment == pytest.approx(moments[0] / moments[1] - 1) and abs(found.moment) > 1e-3
    assert (
        f"rupture times differ by {1e3 * found.difference:.0f} ms" in text
        and "at 1 s the quick run's moment is" in text
    )
    both = next(f"{line}\n\n" for line in text.splitlines() if line.startswith("Quick and full: "))
    for gone, left in ((full_at, text), (quick_at, text.replace(both, ""))):  # one of them alone cannot be compared
        gone.rename(gone.with_name("away"))
        page.write(target, both_runs)
        assert target.read_text() == left and picture.read_bytes() == drawn
        gone.with_name("away").rename(gone)
    begin(quick_at / f"{quick_summary.sizes[0]:.0f}m", "title: begun anew")
    assert page.apart(*kept) is None  # as what it leaves may be half written
    quick_at.rename(quick_at.with_name("old"))  # full results were once kept under the names of quick ones
    full_at.rename(quick_at)
    (name,) = read_summaries(both_runs)
    assert name == "tpv5-full"


def _moment_at_one(place):
    energies = load_results(place / "results", "run").energies
    return float(np.interp(1.0, energies["time"], energies["seismic_moment"]))


def test_runs_that_ended_are_read_where_that_is_asked(both_runs, monkeypatch):
    """The same case is not run again; another one is, and one that was broken off."""
    place = both_runs / "tpv5"
    known = replace(find("tpv5"), quick=Resolution(1800.0, 3, 1.0, "single"), checks=(), reference="")
    before = (place / SUMMARY).read_text()

    class Ran(Exception): ...

    def simulate(*args, **settings):
        raise Ran

    monkeypatch.setattr(drive, "simulate", simulate)
    drive.run_one(lambda text: None, known, True, place, reuse=True)
    assert (place / SUMMARY).read_text() == before
    with pytest.raises(Ran):
        drive.run_one(
            lambda text: None, replace(known, quick=replace(known.quick, end_time=1.1)), True, place, reuse=True
        )
    with pytest.raises(Ran):  # the one that was begun just now
        drive.run_one(lambda text: None, known, True, place, reuse=True)


def test_runs_on_other_meshes_are_not_read(tmp_path, monkeypatch):
    """Where the shapes change, or the code that makes meshes."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    tpv5, tpv29 = find("tpv5"), find("tpv29")
    at = tpv5.quick
    key = folder.mesh_key(tpv5, at)
    begin(tmp_path, "title: a case")
    end(tmp_path, Cost(12.0, 1000, mesh=key))
    assert has_ended(tmp_path, "title: a case", folder.mesh_key(tpv5, replace(at, order=6, end_time=1.0)))
    assert has_ended(tmp_path, "title: a case") is None

    (fault, *_) = tpv5.faults
    hills = tpv29.domain.relief
    others = [
        folder.mesh_key(tpv5, replace(at, size=2 * at.size)),
        folder.mesh_key(tpv5, replace(at, reach=5e3)),
        folder.mesh_key(replace(tpv5, domain=replace(tpv5.domain, margin=9e3)), at),
        folder.mesh_key(replace(tpv5, faults=(replace(fault, dip=60.0),)), at),
        folder.mesh_key(tpv29, at),
        folder.mesh_key(replace(tpv29, domain=replace(tpv29.domain, relief=lambda x, z: 1.1 * hills(x, z))), at),
    ]
    made = {path.name for path in folder.makers()}
    assert {"mesh.py", "benchmark.py", "gmsh_planar.py", "assemble.py", "puml.py"} <= made and "solver.py" not in made
    copies = []
    for path in folder.makers():  # a line more in any of the files
        copies.append(tmp_path / f"{len(copies)}-{path.name}")
        copies[-1].write_bytes(path.read_bytes())
    monkeypatch.setattr(folder, "makers", lambda: copies)
    assert folder.mesh_key(tpv5, at) == key
    with copies[-1].open("a") as file:
        file.write("# more\n")
    others.append(folder.mesh_key(tpv5, at))
    assert len({key, *others}) == 1 + len(others)
    assert not any(has_ended(tmp_path, "title: a case", other) for other in others)


def test_runs_of_other_versions_are_not_read(tmp_path, monkeypatch):
    begin(tmp_path, "title: a case")
    end(tmp_path, Cost(12.0, 1000))
    assert has_ended(tmp_path, "title: a case") == Cost(12.0, 1000)
    monkeypatch.setattr("faultwave.verify.scec.folder.__version__", "0.0.1")
    assert has_ended(tmp_path, "title: a case") is None


def test_rupture_is_forced_beside_a_branch(tmp_path):
    """TPV24 for a second: rupture starts where the forced front has weakened friction, not before it comes, and nowhere else."""
    pytest.importorskip("gmsh", exc_type=(ImportError, OSError))
    benchmark = find("tpv24")
    run = drive.run_at(lambda text: None, benchmark, Resolution(1600.0, 3, 1.2, "single"), tmp_path)
    main, branch = run.ruptures["main"], run.ruptures["branch"]
    front = value(benchmark.fault_settings["parameters"]["expression"]["forced_rupture_time"], (-7e3, 0, -10e3))
    assert float(front[0]) < main.at(-7e3, 10e3) < float(front[0]) + 0.5
    assert main.at(-7.8e3, 10e3) < main.at(-7e3, 10e3)
    assert 0.0 < main.ruptured < 0.1 and branch.ruptured == 0.0
    assert ("branch", 2e3, 7.5e3) in run.stations and run.cost.core_seconds > 0.0
