"""Grids of blocks of different spacing: the operator, runs across faces, processes, checkpoints, and what is told before a run."""

from pathlib import Path

import numpy as np
import pytest
from ruamel.yaml import YAML

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.domain.grids import MIN_CELLS
from faultwave.fd.blocks.layout import MIN_BLOCKS, propose_blocks, proposed_faces, report_blocks
from faultwave.fd.method import differences
from faultwave.output.formats.image import ImageReader
from faultwave.run import simulate
from faultwave.verify.cases.grids.blocks import LeapfrogEnergy, basin, wave_error

from .reciprocity import OF_THREE, is_reciprocal, moments
from .results import datasets, fields
from .test_grids import case, problems
from .test_restart import Stopped

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
TWO = {"lower": [0, 0, -3800], "upper": [2400, 2400, 0], "spacing": 100.0}
THREE = {"lower": [0, 0, -8600], "upper": [4800, 4800, 0], "spacing": 100.0}
QUIET = {"vp": "3400 - 0.4*z + 0.05*x", "vs": "2000 - 0.2*z + 0.04*y", "rho": "2500 - 0.03*z"}
ROCKS = {"rho": 2500.0, "vp": 3464.0, "vs": 2000.0}
ROCK = {"expression": {**QUIET, "Qp": "60", "Qs": "50"}}


def two(ratio=2, **changes):
    """A block of 14 planes above one of spacing ratio * 100 m, of 8."""
    grid = {**TWO, "blocks": [{"below": 1400.0, "spacing": 100.0 * ratio}], "absorbing": {"width": 4}}
    return case(**{"grid": grid, "material": {"expression": QUIET}, **changes})


def eighth(ratio, **changes):
    """Of order 8: a block of 18 planes above one of 16."""
    h = 100.0 * ratio
    grid = {"lower": [0, 0, -1800 - 16 * h], "upper": [16 * h, 16 * h, 0], "spacing": 100.0, "order": 8,
            "blocks": [{"below": 1800.0, "spacing": h}], "absorbing": {"width": 4},
            "boundaries": {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}}  # fmt: skip
    return case(**{"grid": grid, "material": {"expression": QUIET}, "sources": [], "output": {}, **changes})


def three(sides="rigid", **changes):
    """Three blocks, of spacings 100, 200 and 600 m."""
    blocks = [{"below": 1400.0, "spacing": 200.0}, {"below": 3800.0, "spacing": 600.0}]
    boundaries = {"x": sides, "y": sides, "z-": "rigid", "z+": "free-surface"}
    grid = {**THREE, "blocks": blocks, "boundaries": boundaries, "absorbing": {"width": 4}}
    return case(**{"grid": grid, "material": {"expression": QUIET}, "sources": [], "output": {}, **changes})


def run(made):
    sim = simulate(made)
    sim.run(write=False)
    return sim


def shaken(made):
    """A run that begins with random velocities."""
    sim, rng = simulate(made), np.random.default_rng(0)
    sim.solver.set_initial(lambda x, t: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
    return sim.solver.operator


@pytest.mark.parametrize("sides", ["rigid", "periodic"])
def test_energy_is_kept_to_rounding(sides):
    """Of any motion, in any material."""
    op = shaken(three(sides, numerics={"precision": "double", "backend": "numpy"}))
    kept = [energy.now() for energy in [LeapfrogEnergy(op)] for _ in range(40)]
    assert kept[0] > 0 and np.ptp(kept) < 1e-13 * kept[0]


@pytest.mark.parametrize("ratio", [2, 3])
def test_energy_is_kept_with_order_8(ratio):
    """And does not grow at 0.95 of the stable step, where rock below the face is as much faster as its points are farther apart."""
    jump = {name: f"if (z < -1800) {{ return {ratio * v}; }} return {v};" for name, v in (("vp", 3464), ("vs", 2000))}
    made = eighth(
        ratio, material={"expression": jump | {"rho": "2500"}}, numerics={"precision": "double", "backend": "cpu"}
    )
    op = shaken(made)
    kept = [energy.now() for energy in [LeapfrogEnergy(op)] for _ in range(40)]
    assert kept[0] > 0 and np.ptp(kept) < 1e-13 * kept[0]
    first = sum(op.energies().values())
    op.advance(400)
    assert sum(op.energies().values()) < 1.5 * first


def test_order_8_is_reciprocal_through_a_face():
    """A force on the ground, moments above, beside and below the face; times of both with the time step's own error."""
    places = [[1460.0, 1600.0, -500.0], [1905.0, 1510.0, -1760.0], [1305.0, 1210.0, -3650.0]]
    sources = moments(places, OF_THREE, 0.1)
    made = eighth(
        2, sources=sources, end_time=1.6, numerics={"precision": "double"},
        output={"receivers": {"points": [[1520.0, 1730.0, 0.0]], "interval": 0.01}},
    )  # fmt: skip
    made["grid"]["time_dispersion"] = "keep"
    is_reciprocal(made, OF_THREE, 0.1)


@pytest.mark.parametrize("which", ["joint", "norm"])
def test_another_coefficient_would_be_noticed(which, monkeypatch):
    """A weight that is not exactly half of the jump, or a norm that is not that of the differences, loses or gains energy."""
    if which == "joint":
        exact = differences.joint
        monkeypatch.setattr(
            differences, "joint", lambda grid, order: exact(grid, order) * (1 + 1e-6 * (grid == "half"))
        )
    made = two(3, sources=[], output={}, numerics={"precision": "double", "backend": "numpy"})
    made["grid"]["boundaries"] = {"x": "periodic", "y": "periodic", "z-": "rigid", "z+": "free-surface"}
    op = shaken(made)
    energy = LeapfrogEnergy(op)
    if which == "norm":
        energy.shares[0][0]["w"][0] *= 1 + 1e-6
    found = [energy.now() for _ in range(20)]
    assert np.ptp(found) > 1e-10 * found[0]


DEEP = [[2360.0, 2100.0, -500.0], [2905.0, 2610.0, -2620.0], [1905.0, 2210.0, -7650.0]]
BESIDE = [[2360.0, 2100.0, -1380.0], [2905.0, 2610.0, -1440.0], [2210.0, 2430.0, -3800.0]]
"""In each of three blocks; beside their faces and on one."""


@pytest.mark.parametrize(
    ("sides", "ground", "places"), [("rigid", False, DEEP), ("periodic", True, DEEP), ("periodic", False, BESIDE)]
)
def test_moments_and_forces_are_reciprocal_through_two_faces(sides, ground, places):
    """A force on the ground, moments in each block, or beside faces; below a hill too."""
    hill = "60 + 55*sin(x*6.283185307179586/4800)*cos(y*6.283185307179586/4800)"
    deeper = 600.0 * ground
    places = [[x, y, z - deeper * (z < -1000)] for x, y, z in places]
    sources = moments(places, OF_THREE, 0.1)
    made = three(
        sides, sources=sources, material=ROCK, attenuation={}, end_time=2.0,
        output={"receivers": {"points": [[2020.0, 2930.0, 0.0]], "interval": 0.01}}, numerics={"precision": "double"},
    )  # fmt: skip
    if ground:
        made["grid"] |= {"topography": {"expression": hill, "sources": "elevation", "receivers": "depth"}}
        made["grid"] |= {"upper": [4800, 4800, 200], "lower": [0, 0, -9200]}
        made["grid"]["blocks"] = [{"below": 2000.0, "spacing": 200.0}, {"below": 4400.0, "spacing": 600.0}]
    is_reciprocal(made, OF_THREE, 0.1)


def test_a_fault_may_cross_a_face():
    """Moments beside it are told of and right: their waves are those of the smaller spacing everywhere, to what the larger one allows."""
    source = {"kind": "moment-tensor", "tensor": {"xy": 1e15}, "time_function": {"kind": "gaussian", "duration": 0.2}}
    sources = [source | {"location": [1210.0, 1190.0, z]} for z in (-1250.0, -1370.0, -1420.0, -1610.0)]
    output = {"receivers": {"points": [[700.0, 900.0, 0.0], [1500.0, 1600.0, -600.0]], "interval": 0.02}}
    made = two(2, sources=sources, output=output, end_time=1.2, material={"constant": ROCKS})
    made["grid"]["boundaries"] = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}
    found = run(made)
    assert any("is less exact" in str(w) and "3 more are as close" in str(w) for w in found.plan.warnings)
    made["grid"]["blocks"] = []
    one, other = (of.receivers["values"][..., 6:] for of in (found, run(made)))
    assert np.abs(other).max() > 0
    assert np.linalg.norm(one - other) < 0.05 * np.linalg.norm(other)


@pytest.mark.parametrize("backend", ["cpu", pytest.param("opencl", marks=opencl)])
@pytest.mark.parametrize(("attenuation", "kind"), [(None, "cpml"), ({}, "cpml"), (None, "sponge")])
def test_backends_agree(backend, attenuation, kind):
    points = {"points": [[900.0, 800.0, 0.0], [1500.0, 1300.0, -2200.0]], "interval": 0.02}
    changes = {"end_time": 0.4, "attenuation": attenuation, "output": {"receivers": points}}
    if attenuation is not None:
        changes["material"] = ROCK
    found = []
    for name in ("numpy", backend):
        made = two(3, numerics={"precision": "double", "backend": name, "threads": 1}, **changes)
        made["grid"]["absorbing"] = {"width": 4, "kind": kind}
        found.append(run(made).receivers["values"])
    expected, found = found
    assert (np.abs(expected).max((0, 2)) > 0).all()
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("sides", ["absorbing", "periodic"])
def test_snapshots_of_the_volume_are_what_receivers_record(tmp_path, sides):
    """On one lattice of the smallest spacing through all blocks, each value of its block."""
    points = [[950.0, 650.0, -350.0], [1850.0, 1250.0, -1550.0], [2150.0, 2150.0, -2750.0], [50.0, 1250.0, -1550.0]]
    output = {
        "folder": str(tmp_path), "receivers": {"points": points, "interval": 0.002}, "precision": "double",
        "volume": {"interval": 0.2, "fields": ["v1", "v3", "s_xx", "s_xz"], "every": 3},
    }  # fmt: skip
    made = two(2, end_time=0.6, numerics={"precision": "double"}, output=output)
    made["grid"]["boundaries"] = {"x": sides, "y": sides, "z-": "absorbing", "z+": "free-surface"}
    sim = fw.simulate(made)
    sim.run()
    with ImageReader(tmp_path / "run-volume.vtkhdf") as file:
        assert file.z[-1] == -50.0 and len(file.z) == 13 and np.ptp(np.diff(file.z)) == 0
        for n, place in enumerate(points):
            i, j, k = (int(np.argmin(np.abs(a - v))) for a, v in zip((file.x, file.y, file.z), place, strict=True))
            assert (file.x[i], file.y[j], file.z[k]) == tuple(place)
            for name in file.fields:
                late = 0.5 * sim.plan.scheme.step if name.startswith("s") else 0.0
                series = sim.receivers.quantity(name)[:, n]
                trace = np.interp(file.times + late, sim.receivers["time"], series)
                found = [file.field(name, s)[k, j, i] for s in range(len(file.times))]
                assert np.abs(np.array(found) - trace).max() < 0.01 * np.abs(series).max() + 1e-12, (name, n)


def test_an_absorbing_top_lies_above_the_box(tmp_path):
    """As that of a grid of one spacing: what is recorded at the top of the box is what passes there in a full space."""
    found = []
    for blocks in ({}, {"blocks": [{"below": 1500.0, "spacing": 300.0}]}):
        sides = {"x": "absorbing", "y": "absorbing", "z": "absorbing"}
        grid = {**TWO, "lower": [0, 0, -3900], "absorbing": {"width": 5 if blocks else 15}, "boundaries": sides}
        output = {"receivers": {"points": [[950.0, 650.0, -50.0]], "interval": 0.01}}
        made = two(material={"constant": ROCKS}, end_time=0.8, output=output, grid=grid | blocks)
        sim = run(made)
        assert sim.plan.scheme.grid.upper[2] == 1500.0
        found.append(sim.receivers["values"])
    assert np.linalg.norm(found[1] - found[0]) < 0.05 * np.linalg.norm(found[0])


def surfaced(folder, **changes):
    """Receivers in both blocks, maps, energies and checkpoints."""
    points = {"points": [[900.0, 800.0, 0.0], [1500.0, 1300.0, -2200.0], [700.0, 1100.0, -700.0]], "interval": 0.02}
    output = {
        "folder": str(folder), "receivers": points, "surface": {"interval": 0.1}, "intensity": {"periods": [0.3]},
        "volume": {"interval": 0.25, "every": 2}, "energies": {"interval": 0.1}, "checkpoint": {"interval": 0.2},
    }  # fmt: skip
    made = {"end_time": 0.5, "attenuation": {}, "material": ROCK, "output": output, "numerics": {"threads": 1}}
    return two(2, **{**made, **changes})


def numbers(folder):
    """Every number of a run's results."""
    return datasets(folder) | fields(folder, ["surface", "volume"])


def test_resumed_is_undisturbed(tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(surfaced(tmp_path / "whole")).run()
    sim = fw.simulate(surfaced(tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    resumed = fw.resume(tmp_path / "parts")
    assert 0.27 <= resumed.time < 0.5
    resumed.run()
    expected, found = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert expected.keys() == found.keys() and len(found) > 10
    for name, values in expected.items():
        assert np.array_equal(values, found[name]), name


@pytest.mark.parametrize(
    ("grid", "text"),
    [
        ({"blocks": [{"below": 1400.0, "spacing": 400.0}]}, "400 m is 4 times the 100 m of the block above"),
        ({"blocks": [{"below": 1400.0, "spacing": 50.0}]}, "a finer block below is not supported"),
        ({"blocks": [{"below": 1450.0, "spacing": 200.0}]}, "no multiple of the spacing of the block above"),
        (
            {"blocks": [{"below": 700.0, "spacing": 200.0}]},
            "leaves only 7 planes of 100 m in the block from 0 to 700 m (allowed: 12 planes or more at 1200 m or deeper)",
        ),
        ({"blocks": [{"below": 5000.0, "spacing": 200.0}]}, "lies below the box"),
        ({"blocks": [{"below": 3000.0, "spacing": 200.0}, {"below": 2400.0, "spacing": 400.0}]}, "lies above the face"),
        ({"upper": [2500.0, 2400.0, 0.0]}, "12.5 of the largest spacing, 200 m, long along x"),
        ({"boundaries": {"z": "periodic"}}, "z is periodic"),
        ({"spacing": None, "frequency": 2.0}, "blocks need spacing, that of the uppermost block"),
    ],
)
def test_bad_blocks_are_told_before_a_run(grid, text):
    made = two()
    made["grid"] |= grid
    if grid.get("spacing", 1) is None:
        del made["grid"]["spacing"]
    assert text in problems(grid=made["grid"])


def test_the_guide_tells_the_least_number_of_planes():
    guide = (Path(__file__).parents[2] / "docs/guide/grids.md").read_text()
    upper, lowest = MIN_BLOCKS, MIN_CELLS
    assert f"at least {upper[4]} planes below the top of that block ({upper[8]} with order 8)" in guide
    assert f"the lowest has {lowest[4]} planes or more ({lowest[8]})" in guide
    assert f"spacing along x and y, {lowest[4]} or more ({lowest[8]})" in guide


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"sources": [{"kind": "force", "location": [1000, 1000, -1500], "force": [0, 0, 1],
                       "time_function": {"kind": "brune"}}]}, "leaves motion behind, 100 m from the face between blocks at z = -1400 m"),
        ({"material": {"expression": {"rho": "1000", "vp": "1500", "vs": "if (z > -1000) { return 0; } return 500;"}}},
         "a border of fluid and rock"),
    ],
)  # fmt: skip
def test_what_blocks_cannot_do_is_told_before_a_run(changes, text):
    assert text in problems(grid=two()["grid"], **changes)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [2, 3])
def test_waves_pass_faces_as_in_the_finer_grid(ratio):
    """The error falls with the fourth power of the spacing, about, which is that of the differences inside."""
    coarse, fine = wave_error(ratio, 6), wave_error(ratio, 10)
    assert coarse < 2.0 and np.log(coarse / fine) / np.log(10 / 6) > 2.5


def test_blocks_are_proposed_where_waves_are_faster():
    """Of a column in which S waves grow from 300 to 3,000 m/s; they resolve what the one spacing does."""
    made = basin(1, False)
    made["grid"] |= {"upper": [3600.0, 3600.0, 0.0], "absorbing": {}}
    plan = simulate(made).plan
    found = propose_blocks(plan)
    listed, points = found.blocks, found.points
    assert len(listed) >= 2 and points < plan.points / 4
    slowest = [min(3000.0, 300.0 + 0.75 * depth) for depth, _ in listed]
    assert all(v >= 6 * h for v, (_, h) in zip(slowest, listed, strict=True))
    made["grid"] |= {"blocks": [{"below": below, "spacing": h} for below, h in listed]}
    blocks = simulate(made).plan
    assert blocks.points == points and blocks.frequency == pytest.approx(plan.frequency, rel=0.02)
    told = dict(report_blocks(blocks))
    assert len(blocks.blocks) == len(listed) + 1 and "times as many" in told["points"]


def test_a_box_that_is_no_multiple_grows_with_the_blocks_proposed():
    """To a case that can run as it is printed; sides that are not absorbing stay where they are."""
    made = basin(1, False)
    made["grid"] |= {"upper": [3630.0, 3555.0, 0.0], "absorbing": {}, "boundaries": {}}
    made["sources"] = []
    plan = simulate(made).plan
    told = dict(report_blocks(plan))["proposed"]
    settings = YAML(typ="safe").load(told.replace(" m", ""))["grid"]
    coarsest = settings["blocks"][-1]["spacing"]
    assert settings["upper"] == [coarsest * np.ceil(x / coarsest) for x in (3630.0, 3555.0)] + [0.0]
    made["grid"] |= settings
    assert simulate(made).plan.points == propose_blocks(plan).points
    made["grid"] |= {"upper": [3650.0, 3550.0, 0.0], "blocks": [], "boundaries": {"x": "periodic", "y": "rigid"}}
    assert propose_blocks(simulate(made).plan).blocks == []


def test_too_thin_or_too_slow_rock_has_no_faces():
    assert proposed_faces(np.full(40, 99.0), 50.0, 0.0, (2,)) is None
    assert proposed_faces(np.r_[np.full(15, 50.0), np.full(25, 160.0)], 50.0, 0.0, (3,)) == [(750.0, 150.0)]
    assert proposed_faces(np.full(40, 160.0), 50.0, 0.0, (3,)) == [(600.0, 150.0)]
    assert proposed_faces(np.full(30, 160.0), 50.0, 0.0, (3,)) is None  # six planes of 150 m are too few
    assert proposed_faces(np.full(40, 160.0), 50.0, 700.0, (3,)) == [(700.0, 150.0)]


def test_rock_below_a_hill_is_that_of_one_spacing():
    """Coefficients of the uppermost block, which are kept over the stretch of its cells."""
    made = two(2)
    ground = "60*exp(-((x-1300)*(x-1300)+(y-1150)*(y-1150))/250000)"
    topography = {"expression": ground, "thickness": 900.0, "sources": "depth", "receivers": "depth"}
    made["grid"] |= {"upper": [2400, 2400, 200], "lower": [0, 0, -4400], "topography": topography}
    made["grid"] |= {"blocks": [{"below": 2000.0, "spacing": 200.0}]}
    split = simulate(made).plan
    made["grid"] |= {"blocks": [], "absorbing": {"width": 8}}
    whole = simulate(made).plan
    planes = split.scheme.grid.shape[0]
    stretch = split.scheme.grid.relief.stretch
    assert stretch > 1.05
    for name, values in split.medium.coefficients.items():
        assert np.allclose(values[2:], whole.medium.coefficients[name][-planes:], rtol=1e-5), name
