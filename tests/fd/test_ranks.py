"""Grids on several processes: the same numbers to the last bit, whatever the cut, and going on with others."""

import json

import h5py
import numpy as np
import pytest

import faultwave as fw
from tests.run.launch import launch

from .test_restart import numbers, settings

pytestmark = pytest.mark.mpi

FUSED = "import faultwave.fd.planning.process_partition as s; s.FUSED, s.WORTH = {}, 4"
CUT = """
import faultwave.fd.planning.process_partition as s
from faultwave.domain.grids import Cut
s.best_cut = lambda shape, parts, around, least: Cut(shape, {}, around)
"""


def asked(folder, **changes):
    """Layers, a free surface, attenuation, receivers at borders, everything written."""
    made = settings(folder, end_time=0.3, grid__spacing=60.0, **changes)
    rng = np.random.default_rng(3)
    points = rng.uniform((60, 60, -1400), (1440, 1540, 0), (12, 3)).round()
    made["output"]["receivers"] |= {"points": points.tolist(), "rotation": True}
    x = {"vp": "return 3464.0 + 0.3 * x + 0.2 * y;", "vs": "return 2000.0 - 0.1 * z;"}
    made["material"] = {"constant": {"rho": 2700.0, "Qp": 50, "Qs": 30}, "expression": x}
    made["sources"] += [
        {
            "kind": "force",
            "location": [751.0, 799.0, -30.0],
            "force": [1e9, 2e9, -1e9],
            "time_function": {"kind": "ricker", "duration": 0.3},
        }
    ]
    return made


def everything(folder):
    found = numbers(folder)
    return {k: v for k, v in found.items() if k != "energies"}, np.loadtxt(
        next(folder.glob("*-energy.csv")), delimiter=",", skiprows=1, usecols=2
    )


def same(folder, whole):
    mine, energies = everything(folder)
    assert mine.keys() == whole[0].keys()
    for name, values in whole[0].items():
        assert np.array_equal(mine[name], values), name
    assert np.abs(energies - whole[1]).max() <= 1e-12 * np.abs(whole[1]).max()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    fw.simulate(asked(folder / "out")).run()
    return everything(folder / "out")


@pytest.mark.parametrize(
    ("ranks", "cut", "fused"),
    [
        (2, None, 1),
        (4, (2, 1, 2), 2),
        pytest.param(4, (1, 2, 2), 3, marks=pytest.mark.slow),
        pytest.param(8, None, 1, marks=pytest.mark.slow),
    ],
)
def test_any_cut_gives_the_same(tmp_path, alone, ranks, cut, fused):
    setup = FUSED.format(fused) + (CUT.format(cut) if cut else "")
    see = f"assert sim.plan.partition.subdomain.steps == {fused}, sim.plan.partition.subdomain"
    done = launch(ranks, asked(tmp_path / "out"), setup=setup, after=see)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out", alone)
    manifest = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    assert manifest["rates"]["processes"] == ranks and manifest["rates"]["messages"] > 0


STOP = "progress=lambda p: os.kill(os.getpid(), signal.SIGTERM) if p.time > 0.1 else None"


@pytest.mark.parametrize(
    ("first", "then"), [(2, 1), pytest.param(1, 2, marks=pytest.mark.slow), pytest.param(4, 3, marks=pytest.mark.slow)]
)
def test_stopped_and_resumed_on_others(tmp_path, alone, first, then):
    case = asked(tmp_path / "out")
    slow = "import faultwave.fd.solver as m; m.CHUNK_SECONDS = 0.0"
    done = launch(first, case, setup=slow, run=STOP)
    assert done.returncode != 0 and "faultwave.resume" in done.stderr, done.stderr
    done = launch(then, str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "out", alone)


def same_on_four(tmp_path, case, **more):
    """Receivers' values of one process, which are to the last bit those of four."""
    fw.simulate(case).run()
    case["output"]["folder"] = str(tmp_path / "two")
    done = launch(4, case, **more)
    assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "one" / "run-receivers.h5") as a, h5py.File(tmp_path / "two" / "run-receivers.h5") as b:
        values = a["receivers/values"][()]
        assert np.array_equal(values, b["receivers/values"][()])
    return values


def test_periodic_sides_and_plane_waves(tmp_path):
    """Where a grid goes round, parts overlap themselves or the part at the other end."""
    sides = {"x": "periodic", "y": "periodic", "z": "periodic"}
    wave = {"mode": "S", "k": [2 * np.pi / 2400, 0, 0], "polarisation": [0, 0, 1]}
    case = {
        "engine": "fd", "end_time": 0.4, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "grid": {"lower": [0, 0, 0], "upper": [2400, 2000, 1800], "spacing": 100.0, "boundaries": sides},
        "initial": {"kind": "plane-wave", "wave": [wave]}, "numerics": {"threads": 1},
        "output": {"receivers": {"points": [[50, 1999, 900], [1200, 1000, 1799]], "interval": 0.05}, "folder": str(tmp_path / "one")},
    }  # fmt: skip
    values = same_on_four(tmp_path, case)
    assert np.abs(values).max() > 0


def test_a_sponge_below_periodic_sides(tmp_path):
    """Profiles of a sponge go around with the grid, where parts overlap the other end."""
    force = {"kind": "force", "location": [130.0, 1020.0, -330.0], "force": [1e9, 2e9, -1e9],
             "time_function": {"kind": "ricker", "duration": 0.3}}  # fmt: skip
    case = {
        "engine": "fd", "end_time": 0.4, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "grid": {"lower": [0, 0, -1200], "upper": [2400, 2000, 0], "spacing": 100.0, "absorbing": {"kind": "sponge", "width": 5},
                 "boundaries": {"x": "periodic", "y": "periodic", "z+": "free-surface"}},
        "sources": [force], "numerics": {"threads": 1},
        "output": {"receivers": {"points": [[2350, 1999, 0], [300, 1000, -900]], "interval": 0.05}, "folder": str(tmp_path / "one")},
    }  # fmt: skip
    values = same_on_four(tmp_path, case)
    assert (np.abs(values[..., 6:]).max((0, 2)) > 0).all()


@pytest.mark.parametrize(
    "around",
    [("x", "y"), ("x",), pytest.param(("z", "y", "x"), marks=pytest.mark.slow)],
)
def test_odd_numbers_of_periodic_points_with_attenuation(tmp_path, around):
    """Mechanisms alternate from point to point, and two of a kind meet where an odd number goes around."""
    force = {"kind": "force", "location": [130.0, 1020.0, -330.0], "force": [1e9, 2e9, -1e9],
             "time_function": {"kind": "ricker", "duration": 0.3}}  # fmt: skip
    case = {
        "engine": "fd", "end_time": 1.0, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 20, "Qs": 10}},
        "attenuation": {},
        "grid": {"lower": [0, 0, -1300], "upper": [2500, 2100, 0], "spacing": 100.0, "absorbing": {"kind": "sponge", "width": 4},
                 "boundaries": dict.fromkeys(around, "periodic")},
        "sources": [force], "numerics": {"threads": 1},
        "output": {"receivers": {"points": [[2450, 2099, -20], [300, 1000, -900]], "interval": 0.05}, "folder": str(tmp_path / "one")},
    }  # fmt: skip
    steps = 3 if around == ("x",) else 1  # more of them would compute around the ends of y and z
    see = f"assert sim.plan.partition.subdomain.steps == {steps}, sim.plan.partition.subdomain"
    values = same_on_four(tmp_path, case, setup=FUSED.format(3) + CUT.format((1, 2, 2)), after=see)
    assert (np.abs(values[..., 6:]).max((0, 2)) > 0).all()


def test_a_rising_plane_wave(tmp_path):
    """Its plane is cut along x and y, and is near a cut along z; sides are periodic and absorbing."""
    wave = {
        "kind": "plane-wave",
        "z": -880.0,
        "velocity": [0.1, 0.2, 0.3],
        "time_function": {"kind": "ricker", "duration": 0.3},
    }
    case = {
        "engine": "fd", "end_time": 0.6,
        "material": {"constant": {"rho": 2700.0, "vp": 3464.0}, "expression": {"vs": "return 2000 - 0.1 * x;"}},
        "grid": {"lower": [0, 0, -1800], "upper": [2400, 2000, 0], "spacing": 100.0, "boundaries": {"x": "periodic", "z+": "free-surface"}},
        "sources": [wave], "numerics": {"threads": 1},
        "output": {"receivers": {"points": [[50, 1999, 0], [1200, 1000, -900]], "interval": 0.05}, "folder": str(tmp_path / "one")},
    }  # fmt: skip
    values = same_on_four(tmp_path, case)
    assert np.abs(values[..., 6:]).max() > 0.1


@pytest.mark.parametrize("halo", ["zfp-20", pytest.param("single", marks=pytest.mark.slow)])
def test_overlaps_in_fewer_bytes(tmp_path, halo):
    """In double precision: half the bytes, and what that takes is told."""
    pytest.importorskip("zfpy")
    found = {}
    for name in ("exact", halo):
        case = asked(tmp_path / name)
        case["numerics"] |= {"precision": "double", "halo_compression": name}
        done = launch(2, case, setup=FUSED.format(1))
        assert done.returncode == 0, done.stderr
        rates = json.loads((tmp_path / name / "run-manifest.json").read_text())["rates"]
        found[name] = rates["message_bytes"], rates.get("halo_error_rms", 0.0), everything(tmp_path / name)[0]
    (full, none, exact), (less, rms, rounded) = found["exact"], found[halo]
    assert none == 0 < rms < 1e-4 and less < 0.51 * full
    key = "run-receivers.h5/receivers/values"
    error = np.abs(rounded[key] - exact[key]).max((0, 1)) / np.abs(exact[key]).max((0, 1))
    assert 0 < error.max() < 1e-2


@pytest.mark.slow
def test_devices_round_overlaps_as_processors_do(tmp_path):
    """The same bytes, made on the device."""
    pytest.importorskip("pyopencl")
    pytest.importorskip("zfpy")
    case = asked(tmp_path / "out")
    case["numerics"] |= {"backend": "numpy", "precision": "double", "halo_compression": "zfp-20"}
    assert launch(2, case).returncode == 0
    whole = everything(tmp_path / "out")
    case["numerics"]["backend"] = "opencl"
    case["output"]["folder"] = str(tmp_path / "two")
    done = launch(2, case)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "two", whole)
    rates = [json.loads((tmp_path / name / "run-manifest.json").read_text())["rates"] for name in ("out", "two")]
    assert rates[0]["halo_error_rms"] == pytest.approx(rates[1]["halo_error_rms"], rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("halo", ["direct", "host"])
def test_devices_share_a_grid(tmp_path, halo):
    """Overlaps are gathered on the device, and go from there or through the host's memory."""
    pytest.importorskip("pyopencl")
    case = asked(tmp_path / "out")
    case["numerics"]["backend"] = "numpy"
    fw.simulate(case).run()
    whole = everything(tmp_path / "out")
    case["numerics"] |= {"backend": "opencl", "halo": halo}
    case["output"]["folder"] = str(tmp_path / "two")
    done = launch(2, case)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "two", whole)


def test_too_many_processes_and_bad_material_are_said_once(tmp_path):
    case = asked(tmp_path / "out")
    wide = "import faultwave.fd.planning.process_partition as s; cut = s.best_cut; s.best_cut = lambda a, n, b, c: cut(a, n, b, 99)"
    done = launch(3, case, setup=wide)
    assert done.returncode != 0 and "too few for 3 processes" in done.stderr and "1 or fewer" in done.stderr
    case["material"]["expression"]["vs"] = "return 2000.0 - x * 2.0;"
    done = launch(2, case)
    assert done.returncode != 0 and not (tmp_path / "out").exists()
    assert "vs" in done.stderr.lower() or "mu" in done.stderr


@pytest.mark.parametrize("count", [3, 1])
def test_strain_green_tensors(tmp_path, count):
    """Points on both sides of a cut, and beside it; one point, so that one process has none."""
    case = asked(tmp_path / "out")
    del case["attenuation"]
    case["end_time"], case["output"] = 0.1, {"receivers": {"points": [[700, 800, 0]], "interval": 0.02}}
    points = [[700.0, 300.0, -500.0], [700.0, 790.0, -300.0], [400.0, 1200.0, -700.0]][:count]
    body = f"from faultwave.green_tensors import green_tensors as g; d = g(case, {points}, 0.1)['strain']"
    body += "; from faultwave.comm import world; world().first and np.save(extra['to'], d); sys.exit()"
    found = []
    for ranks in (1, 2):
        done = launch(ranks, case, setup=body, extra={"to": str(tmp_path / f"{ranks}.npy")})
        assert done.returncode == 0, done.stderr
        found.append(np.load(tmp_path / f"{ranks}.npy"))
    assert found[0].shape == (1, 3, count, 6, 6) and np.abs(found[0]).max() > 0 and np.array_equal(*found)


def over_hills(folder):
    """Parts border on each other under a hill: layers, attenuation, receivers on and below the ground, maps and snapshots on it."""
    made = settings(folder, end_time=0.3, grid__spacing=60.0)
    del made["output"]["volume"]
    made["grid"] |= {"lower": [0, 0, -1900], "upper": [1500, 1600, 600]}
    hill = "300 * exp(-((x-760)*(x-760) + (y-790)*(y-790)) / 90000)"
    made["grid"]["topography"] = {"expression": hill, "sources": "depth", "receivers": "depth"}
    points = np.random.default_rng(3).uniform((60, 60, -1400), (1440, 1540, 0), (10, 3)).round()
    points[::2, 2] = 0.0
    made["output"]["receivers"] |= {"points": points.tolist(), "rotation": True}
    return made


def over_hills_found(folder):
    found = {}
    for name in ("run-receivers.h5", "run-surface.vtkhdf", "run-intensity.nc"):
        with h5py.File(folder / name) as file:
            file.visititems(
                lambda n, d, f=name: found.update({f"{f}/{n}": d[()]}) if isinstance(d, h5py.Dataset) else None
            )
    return found


@pytest.mark.slow
def test_hills_beside_layers_of_different_width(tmp_path):
    """One process has whole rows, with 16 points in one layer and 8 in the other; of two each has one of them."""

    def asked_of(folder):
        made = over_hills(folder)
        made["end_time"], made["numerics"] = 0.1, {"precision": "double", "threads": 1}
        made["grid"] |= {"upper": [1440, 1600, 600], "absorbing": {"width": 8}}
        return made

    fw.simulate(asked_of(tmp_path / "one")).run()
    done = launch(2, asked_of(tmp_path / "two"), setup=FUSED.format(1) + CUT.format((1, 1, 2)))
    assert done.returncode == 0, done.stderr
    alone, found = (over_hills_found(tmp_path / name) for name in ("one", "two"))
    for name, values in alone.items():
        assert np.array_equal(found[name], values), name
    assert np.abs(alone["run-receivers.h5/receivers/values"]).max() > 0


def test_a_part_without_layers_under_a_hill(tmp_path):
    """Of three processes along x the middle one has no absorbing layer in its rows, which are other code than whole ones."""

    case = {
        "engine": "fd", "end_time": 0.06, "numerics": {"threads": 1},
        "grid": {"lower": [0, 0, -2400], "upper": [6000, 1600, 900], "spacing": 100.0, "absorbing": {"width": 5},
                 "boundaries": {"y": "periodic", "z-": "rigid"},
                 "topography": {"expression": "100 + 250 * exp(-((x-3000)*(x-3000)) / 160000)", "sources": "depth"}},
        "material": {"constant": {"rho": 2600, "vp": 4000, "vs": 2300}},
        "sources": [{"kind": "moment-tensor", "location": [3010, 530, -300], "tensor": {"xy": 1e15, "zz": 4e14},
                     "time_function": {"kind": "gaussian", "duration": 0.02}}],
    }  # fmt: skip

    def asked_of(folder):
        return {**case, "output": {"folder": str(folder), "prefix": "run", "surface": {"interval": 0.02}}}

    fw.simulate(asked_of(tmp_path / "one")).run()
    done = launch(3, asked_of(tmp_path / "three"))
    assert done.returncode == 0, done.stderr
    with (
        h5py.File(tmp_path / "one/run-surface.vtkhdf") as one,
        h5py.File(tmp_path / "three/run-surface.vtkhdf") as three,
    ):
        for name in ("v1", "v2", "v3"):
            alone, found = (file[f"VTKHDF/PointData/{name}"][()] for file in (one, three))
            assert np.array_equal(alone, found) and np.abs(alone).max() > 0, name


def test_over_hills(tmp_path):
    """Stopped on the way, and resumed with another cut: every axis is cut."""
    fw.simulate(over_hills(tmp_path / "one")).run()
    alone = over_hills_found(tmp_path / "one")
    setup = FUSED.format(1) + CUT.format((2, 1, 2)) + "import faultwave.fd.solver as m; m.CHUNK_SECONDS = 0.0"
    done = launch(4, over_hills(tmp_path / "four"), setup=setup, run=STOP)
    assert done.returncode != 0 and "faultwave.resume" in done.stderr, done.stderr
    done = launch(4, str(tmp_path / "four"), setup=FUSED.format(1) + CUT.format((1, 2, 2)))
    assert done.returncode == 0, done.stderr
    found = over_hills_found(tmp_path / "four")
    assert found.keys() == alone.keys()
    for name, values in alone.items():
        assert np.array_equal(found[name], values), name
    assert np.abs(alone["run-receivers.h5/receivers/values"]).max() > 0
    assert np.ptp(alone["run-intensity.nc/elevation"]) > 200


@pytest.mark.parametrize(
    "grid",
    [{"order": 8}, {"boundaries": {"x": "periodic", "y": "absorbing", "z-": "absorbing"}}],
    ids=["order 8", "sea"],
)
def test_wide_stencils_and_borders_of_fluids(tmp_path, grid):
    """Order 8, whose seismograms are freed of time dispersion; and a sea floor of stairs that all cuts cross."""
    floor = "z > -650 + 150 * sin(0.00523598775598 * x) * cos(0.005 * y)"
    sea = {"rho": f"if ({floor}) {{ return 1000; }} return 2000;", "vp": f"if ({floor}) {{ return 1500; }} return 3000;",
           "vs": f"if ({floor}) {{ return 0; }} return 1500;"}  # fmt: skip
    rock = {"expression": {"rho": "2700 + 0.1 * x", "vp": "3464 + 0.1 * y", "vs": "2000 - 0.1 * z"}}
    case = {
        "engine": "fd", "end_time": 0.3, "material": rock if "order" in grid else {"expression": sea},
        "grid": {"lower": [0, 0, -1800], "upper": [2400, 2200, 0], "spacing": 50.0, "absorbing": {"width": 5}, **grid},
        "sources": [{"kind": "moment-tensor", "location": [1190, 1110, -300], "tensor": {"xx": 1e15, "yy": 1e15, "zz": 1e15},
                     "time_function": {"kind": "gaussian", "duration": 0.04}}], "numerics": {"threads": 1},
        "output": {"receivers": {"points": [[1200, 1000, -900], [1500, 1400, -610], [1000, 1005, 0]], "interval": 0.02},
                   "folder": str(tmp_path / "one")},
    }  # fmt: skip
    values = same_on_four(tmp_path, case)
    assert np.abs(values).max() > 0
