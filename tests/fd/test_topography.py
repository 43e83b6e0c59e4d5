"""Grids that follow a topography: the operator, runs over hills, and what is told before a run."""

from dataclasses import replace

import numpy as np
import pytest

from faultwave.backends import missing
from faultwave.case.load import load_case
from faultwave.fd.method.differences import Ends
from faultwave.fd.method.program import build_program
from faultwave.fd.method.stencils import NORMAL, SHEAR, VELOCITY
from faultwave.fd.operators import topography
from faultwave.fd.operators.operator import Operator
from faultwave.kernels.stencil import REACH, record
from faultwave.run import simulate
from faultwave.run.planned import check
from tests.messages import expect

from .reciprocity import TENSORS, is_reciprocal, moments
from .test_grids import case, problems
from .test_sgt import VARIED

HILL = "100 + 350*exp(-((x-700)*(x-700)+(y-820)*(y-820))/90000)"
ROUND = "60*sin(x*6.283185307179586/1500)*cos(y*6.283185307179586/1600)"
GROUND = {"expression": HILL, "sources": "depth", "receivers": "depth"}


def hilly(ground=GROUND, **changes):
    box = {"grid__lower": [0, 0, -1500], "grid__upper": [1500, 1600, 900]}
    return case(**{**box, "grid__topography": ground, **changes})


def run(made):
    sim = simulate(made)
    sim.run(write=False)
    return sim


def leapfrog_energy(sim, steps):
    """What leapfrog keeps after each step: velocities before and after, stresses between."""
    op, plan = sim.solver.operator, sim.plan
    made, top = plan.medium.coefficients, plan.scheme.grid.shape[0]

    def now():
        found = {n: np.array(op.filled_values(n), float) for n in (*VELOCITY, *NORMAL, *SHEAR)}
        return found, {n: Ends(top, free=True).norm(n, np.arange(len(v)))[:, None, None] for n, v in found.items()}

    def strain(s, h):
        lam, mu2, trace = made["lam"], made["mu2"], sum(s[n] for n in NORMAL)
        square = sum(s[n] ** 2 for n in NORMAL) - lam / (3 * lam + mu2) * trace**2
        total = (h["sxx"] * square / (2 * mu2)).sum()
        return total + sum((0.5 * h[n] * s[n] ** 2 / made[f"mu_{n[1:]}"][: len(s[n])]).sum() for n in SHEAR)

    found, (before, h) = [], now()
    for _ in range(steps):
        op.advance(1)
        after, _ = now()
        kinetic = sum(
            (0.5 * h[n] * before[n] * after[n] / made[f"b_{axis}"][: len(before[n])]).sum()
            for n, axis in VELOCITY.items()
        )
        found.append(kinetic + strain(before, h))
        before = after
    return np.array(found)


@pytest.mark.parametrize(("sides", "ground"), [("rigid", HILL), ("periodic", ROUND)])
def test_energy_is_kept_to_rounding(sides, ground):
    """Of any motion, in any material: here of random velocities."""
    boundaries = dict.fromkeys(("x", "y"), sides) | {"z-": "rigid", "z+": "free-surface"}
    made = hilly(
        {**GROUND, "expression": ground}, grid__boundaries=boundaries, material=VARIED, numerics={"precision": "double"}
    )
    sim, rng = simulate(made), np.random.default_rng(0)
    sim.solver.operator.drives.drives = ()
    sim.solver.operator.drives.count = 1
    sim.solver.set_initial(lambda x, t: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
    energy = leapfrog_energy(sim, 40)
    assert energy[0] > 0 and np.ptp(energy) <= 1e-13 * energy[0]


@pytest.mark.parametrize(("sides", "depth"), [("rigid", 0.0), ("absorbing", 310.0)])
def test_moments_and_forces_are_reciprocal_over_hills(sides, depth):
    boundaries = dict.fromkeys(("x", "y", "z-"), sides) | {"z+": "free-surface"}
    sources = moments(([760.0, 700.0, -35.0], [905.0, 810.0, -420.0]), TENSORS, 0.06)
    made = hilly(
        grid__boundaries=boundaries, sources=sources, material=VARIED, end_time=0.7,
        output={"receivers": {"points": [[420.0, 930.0, -depth]], "interval": 0.01}}, numerics={"precision": "double"},
    )  # fmt: skip
    is_reciprocal(made, TENSORS, 0.06)


def test_nothing_is_read_below_the_arrays():
    """Where there is no more room below the cap than it must have."""
    sides = dict.fromkeys(("x", "y", "z-"), "rigid") | {"z+": "free-surface"}
    scheme = simulate(hilly(grid__boundaries=sides, grid__upper=[2000, 1600, 900])).plan.scheme
    assert scheme.cap is not None and scheme.cap < 2 * REACH
    program = build_program(scheme)
    for launch in (launch for level in program.levels for launch in level):
        for key in (key for key in record(launch.stencil)[0] if key[0] == "at"):
            layout = program.arrays[launch.names.get(key[1], key[1])]
            assert launch.box.lo[0] + key[2] >= layout.box.lo[0] - layout.halo, (launch.stencil.name, key)


def test_level_ground_is_the_flat_grid():
    """To rounding: the cap's operator, sources, receivers and their derivatives."""
    points = {"points": [[300.0, 900.0, 0.0], [1200.0, 500.0, -430.0]], "interval": 0.05, "rotation": True}
    changes = {"output__receivers": points, "numerics": {"precision": "double"}, "attenuation": {}, "end_time": 0.6}
    changes["material"] = {"expression": {**VARIED["expression"], "Qp": "60", "Qs": "50"}}
    flat = run(case(**changes)).receivers["values"]
    level = run(hilly({"expression": "0", "sources": "elevation", "receivers": "depth"}, **changes)).receivers["values"]
    assert np.abs(flat).max() > 0
    scale = np.abs(flat).max((0, 1))
    assert (np.abs(level - flat).max((0, 1)) <= 1e-11 * scale).all()


@pytest.mark.parametrize("attenuation", [None, {}])
def test_backends_agree(attenuation):
    changes = {"numerics": {"precision": "double", "backend": "numpy"}, "end_time": 0.25, "attenuation": attenuation}
    if attenuation is not None:
        changes["material"] = {"expression": {**VARIED["expression"], "Qp": "60", "Qs": "50"}}
    expected = run(hilly(**changes)).receivers["values"]
    found = run(hilly(**{**changes, "numerics": {"precision": "double", "backend": "cpu"}})).receivers["values"]
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max()


def told(ground=GROUND, **changes):
    return problems(
        **{"grid__lower": [0, 0, -1500], "grid__upper": [1500, 1600, 900], "grid__topography": ground, **changes}
    )


def test_bad_ground_is_told_with_coordinates_and_advice():
    expect(told({"sources": "depth"}))
    expect(told({**GROUND, "expression": "x^2"}))
    expect(told({**GROUND, "expression": "100 + z"}))
    high = told({**GROUND, "expression": "2000 * exp(-(x*x + y*y) / 100000)"})
    expect(high)
    low = told({**GROUND, "expression": "-1600 + x"})
    expect(low)
    cliff = told({**GROUND, "expression": "if (x > 700) { return 300; } return 0;"})
    expect(cliff)
    shallow = told(grid__lower=[0, 0, -600])
    expect(shallow)
    thick = told({**GROUND, "thickness": 100.0})
    expect(thick)
    expect(told(grid__boundaries={"z": "absorbing"}))
    periodic = told(
        grid__boundaries={"x": "periodic", "z+": "free-surface"}, grid__topography={**GROUND, "expression": "0.1*x"}
    )
    expect(periodic)


def test_how_deep_the_uppermost_block_must_be_is_told():
    """That many planes are enough."""
    box = {"grid__lower": [0, 0, -3600], "grid__upper": [1600, 1600, 900], "grid__absorbing": {"width": 4}}

    def below(depth):
        return told(grid__blocks=[{"below": depth, "spacing": 200.0}], **box)

    found = below(1200.0)
    expect(found)
    assert below(1800.0) != "" and below(1900.0) == ""


def raster(path, hole):
    """A ground of 100 m, declared to be -32768 where it is missing, with a hole of another number."""
    heights = np.full((41, 41), 100.0)
    heights[15:18, 20:23] = hole
    header = "ncols 41\nnrows 41\nxllcenter 0\nyllcenter 0\ncellsize 50\nNODATA_value -32768\n"
    path.write_text(header + "\n".join(" ".join(map(str, row)) for row in heights.tolist()) + "\n")
    return {"file": str(path), "crs": "local", "sources": "elevation", "receivers": "depth"}


def test_missing_values_that_a_raster_does_not_declare_are_told(tmp_path):
    expect(told(raster(tmp_path / "a.asc", -9999.0)))
    strange = told(raster(tmp_path / "b.asc", -12345.0), grid__upper=[1500, 1600, 3000])
    expect(strange)
    zero = told(raster(tmp_path / "c.asc", 0.0) | {"smooth": 10.0}, grid__spacing=40.0)
    expect(zero)
    high = told(raster(tmp_path / "d.asc", 100.0), grid__upper=[1500, 1600, 0])
    assert "is above the box" in high and "missing values" not in high


def test_what_z_means_must_be_said():
    found = told({"expression": HILL})
    expect(found)


def test_points_above_the_ground_are_told():
    found = told({**GROUND, "receivers": "elevation"}, output__receivers={"points": [[700, 820, 451], [100, 100, 470]]})
    expect(found)
    assert "z of a depth" not in found
    buried = told({**GROUND, "sources": "elevation"})
    assert buried == ""
    source = {"kind": "force", "location": [700, 820, 460], "force": [0, 0, 1], "time_function": {"kind": "brune"}}
    found = told({**GROUND, "sources": "elevation"}, sources=[source])
    expect(found)
    found = told({**GROUND, "receivers": "depth"}, output__receivers={"points": [[700, 820, 5]]})
    expect(found)


def test_what_does_nothing_below_a_topography_is_told():
    warned = check(load_case(hilly(output={"surface": {"interval": 0.1}}))[0]).warnings
    assert ["grid.topography.receivers"] == [w.where for w in warned if "the case has no receivers" in w.what]
    assert not any("topography" in w.where for w in check(load_case(hilly())[0]).warnings)


def test_smoothing_that_levels_the_ground_is_told():
    def warned(smooth):
        made = load_case(hilly({**GROUND, "smooth": smooth}))[0]
        return [str(w) for w in check(made).warnings if w.where == "grid.topography.smooth"]

    assert warned(100.0) == []
    (found,) = warned(700.0)
    expect(found)
    expect(told({**GROUND, "smooth": 1700.0}))


@pytest.mark.parametrize("smooth", [100.0, 300.0, 500.0, 1000.0])
def test_a_periodic_ground_is_smoothed_around_its_ends(smooth):
    """A Gaussian takes exp(-(k smooth)^2 / 2) of a sine."""
    k = 2 * np.pi / 1500.0
    ground = {**GROUND, "expression": "300*sin((x-200)*6.283185307179586/1500)", "smooth": smooth}
    made = hilly(ground, grid__boundaries={"x": "periodic", "z+": "free-surface"}, grid__lower=[0, 0, -2600])
    relief = simulate(made).plan.scheme.grid.relief
    x = np.linspace(0.0, 1500.0, 31)
    left = 300 * np.exp(-0.5 * (k * smooth) ** 2)
    found = relief.ground(np.stack([x, np.full(31, 800.0)], 1))
    assert np.abs(found - left * np.sin(k * (x - 200))).max() < 0.05


@pytest.mark.parametrize("smooth", [0.0, 200.0, 400.0])
def test_the_ground_is_level_beside_absorbing_sides_however_smooth(smooth):
    """Of the outermost cells, in the layers, and beyond: there z of planes changes along no x, as reciprocity needs."""
    ground = {**GROUND, "expression": "100 + 0.2*x", "smooth": smooth}
    relief = simulate(hilly(ground)).plan.scheme.grid.relief
    x = np.array([-400.0, -100.0, 0.0, 100.0, 200.0, 300.0])
    found = [relief.ground(np.stack([np.full(6, 0.0) + at, np.full(6, 800.0)], 1)) for at in (x, 1500.0 - x)]
    assert all(np.ptp(side) < 1e-9 for side in found)
    assert found[1][0] - found[0][0] > 80


def test_volume_snapshots_are_refused():
    expect(told(output__volume={"interval": 0.1}))


def test_depth_and_elevation_are_the_same_place():
    """A receiver and a source by elevation record and radiate what they do by depth."""
    by_depth = run(hilly(numerics={"precision": "double"}))
    relief = by_depth.plan.scheme.grid.relief
    points = np.array([[300.0, 900.0, 0.0], [1200.0, 500.0, -900.0]])
    ground = relief.ground(points)
    source = [750.0, 730.0, float(relief.ground(np.array([[750.0, 730.0]]))[0] - 620.0)]
    made = hilly({**GROUND, "sources": "elevation", "receivers": "elevation"}, numerics={"precision": "double"})
    made["sources"][0]["location"] = source
    made["output"]["receivers"]["points"] = [
        [x, y, z + g] for (x, y, z), g in zip(points.tolist(), ground.tolist(), strict=True)
    ]
    a, b = by_depth.receivers["values"], run(made).receivers["values"]
    assert np.abs(a).max() > 0 and np.abs(a - b).max() <= 1e-9 * np.abs(a).max()
    assert np.allclose(by_depth.receivers["location"], points + np.outer(ground, [0, 0, 1]))


def test_material_by_depth_follows_the_ground():
    """A soft layer below the ground, not at an elevation."""
    layer = {"expression": {"rho": "2700", "vp": "3464", "vs": "if (z > -300) { return 1000; } return 2000;"}}
    plan = simulate(hilly({**GROUND, "material": "depth"}, material=layer)).plan
    grid, made = plan.scheme.grid, plan.medium.coefficients
    stretch = grid.stretch("sxx", plan.scheme.filled(grid.box))
    shear = np.sqrt(0.5 * made["mu2"] * stretch / 2700.0)
    places = grid.places("sxx", plan.scheme.filled(grid.box))
    depth = grid.relief.ground(places.reshape(-1, 3)).reshape(places.shape[:3]) - places[..., 2]
    inside = (slice(None), slice(8, -8), slice(8, -8))  # beside layers the ground is that of the edge
    assert np.allclose(shear[inside][depth[inside] < 200], 1000, rtol=1e-5)
    assert np.allclose(shear[inside][depth[inside] > 400], 2000, rtol=1e-5)


@pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
def test_on_a_device():
    """With a sponge at the sides, in single precision."""
    changes = {"grid__absorbing": {"kind": "sponge", "width": 6}, "end_time": 0.25}
    values = [
        run(hilly(**changes, numerics={"backend": backend, "threads": 1})).receivers["values"]
        for backend in ("cpu", "opencl")
    ]
    assert np.abs(values[0]).max() > 0 and np.abs(values[1] - values[0]).max() <= 2e-5 * np.abs(values[0]).max()


def test_a_plane_wave_starts_below_the_cap():
    wave = {"kind": "plane-wave", "velocity": [0.1, 0, 0], "time_function": {"kind": "ricker", "duration": 0.3}}
    bad = {**GROUND, "sources": None}
    found = told(bad, sources=[{**wave, "z": -100.0}])
    expect(found)
    assert told(bad, sources=[{**wave, "z": -1400.0}]) == ""


def test_the_plan_tells_of_the_topography():
    told_rows = dict(topography.report(simulate(hilly()).plan.scheme.grid))
    slope, *_ = told_rows["largest slope"].split()
    assert float(slope) == pytest.approx(0.858 * 350 / 300, rel=0.05)
    assert "m below the lowest ground" in told_rows["cap"] and "no cell is squeezed" in told_rows["largest step"]


def test_the_resolved_frequency_counts_the_stretch():
    plan = simulate(hilly()).plan
    relief = plan.scheme.grid.relief
    assert plan.frequency * relief.stretch == pytest.approx(2000.0 / (6 * 100.0), rel=0.01)


@pytest.mark.parametrize("slope", [0.4, 1.0, 1.9])
def test_the_largest_step_is_stable_and_a_larger_one_is_not(slope):
    """For 1,000 steps of noise: the bound is at most 12 % too low."""
    width = 0.858 * 300 / slope
    ground = f"300*exp(-((x-750)*(x-750)+(y-800)*(y-800))/{width * width})"
    rigid = dict.fromkeys(("x", "y", "z-"), "rigid") | {"z+": "free-surface"}
    grown = []
    for share in (1.0, 1.12):
        made = hilly(
            {**GROUND, "expression": ground}, grid__boundaries=rigid, numerics={"precision": "double"}, end_time=20.0
        )
        made["grid"]["spacing"] = 75.0
        plan = simulate({**made, "numerics": {"precision": "double", "cfl": 1.0}}).plan
        scheme = replace(plan.scheme, step=share * plan.scheme.step)
        operator = Operator(scheme, plan.medium, machine=plan.machine)
        rng = np.random.default_rng(0)
        operator.set_state(lambda x, t, rng=rng: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
        before = sum(operator.energies()[n] for n in ("elastic_energy", "elastic_kinetic_energy"))
        operator.advance(1000)
        after = sum(operator.energies()[n] for n in ("elastic_energy", "elastic_kinetic_energy"))
        grown.append(after / before)
    assert grown[0] < 5 and not grown[1] < 1e6
