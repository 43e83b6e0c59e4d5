"""Rock that yields in blocks of different spacing, below a topography and with order 8."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.fd.method.stencils import FIELDS, NORMAL, SHEAR
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.rheology import yielding
from faultwave.kernels.stencil import Box
from faultwave.output.formats.image import ImageReader
from tests.run.launch import launch

from .results import datasets, fields
from .test_grids import case, problems
from .test_restart import Stopped
from .test_topography import HILL, hilly

ROCK = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60, "Qs": 30}
AT_REST = {"s_xx": 11000, "s_yy": 6000, "s_zz": 16000, "s_xy": 700, "s_yz": 0, "s_xz": 0}
WEIGHT = {"largest": 1.2, "smallest": 0.8, "direction": 30.0}
DOUBLE = {"precision": "double", "threads": 1}
STRONG = {"tensor": {"xy": 2e16, "xx": 8e15, "zz": -8e15}, "time_function": {"kind": "triangle", "duration": 0.2}}


def rock(cohesion="return 2e4;", rest=1.0, **more):
    """Stress at rest that grows with depth, ``rest`` times a tenth of the weight."""
    x = {n: f"return {0.1 * rest * v} * z;" for n, v in AT_REST.items()}
    parameters = {"constant": {"bulk_friction": 0.5}, "expression": {**x, "plastic_cohesion": cohesion}}
    return {"parameters": parameters, "constants": {"relaxation_time": 0.05}} | more


def weighed(cohesion):
    """Stress at rest from the weight of the rock."""
    parameters = {"constant": {"bulk_friction": 0.5, "plastic_cohesion": cohesion}}
    return {"parameters": parameters, "overburden": WEIGHT, "constants": {"relaxation_time": 0.05}}


def blocks(order=4, ratio=2, **changes):
    """A block of 14 planes (order 8: 18) above one of ``ratio`` times the spacing, around a source in the upper one."""
    deep, low = (1400.0, 12) if order == 4 else (1800.0, 16)
    side = 2400.0 if order == 4 else 3600.0
    h = 100.0 * ratio
    grid = {"lower": [0, 0, -deep - low * h], "upper": [side, side, 0], "spacing": 100.0, "order": order,
            "blocks": [{"below": deep, "spacing": h}], "absorbing": {"width": 4}}  # fmt: skip
    if order == 8:
        grid["time_dispersion"] = "keep"
    made = case(**{"grid": grid, "material": {"constant": ROCK}, "plasticity": rock(), "numerics": DOUBLE, **changes})
    made["sources"][0] |= STRONG | {"location": [1180.0, 1230.0, -620.0]}
    return made


def hill(**changes):
    made = hilly(**{"material": {"constant": ROCK}, "plasticity": weighed(2e4), "numerics": DOUBLE, **changes})
    made["sources"][0] |= STRONG
    return made


def hill_of_blocks(**changes):
    """Below a hill of 60 m, with attenuation."""
    made = blocks(attenuation={}, **changes)
    made["grid"] |= {
        "upper": [2400, 2400, 200],
        "lower": [0, 0, -4400],
        "blocks": [{"below": 2000.0, "spacing": 200.0}],
    }
    ground = "60*exp(-((x-1300)*(x-1300)+(y-1150)*(y-1150))/250000)"
    made["grid"]["topography"] = {"expression": ground, "sources": "depth", "receivers": "depth"}
    return made | {"plasticity": weighed(2e4)}


def eighth(**changes):
    """Of order 8, in one spacing."""
    grid = {"lower": [0, 0, -1500], "upper": [1500, 1600, 0], "spacing": 75.0, "order": 8, "time_dispersion": "keep"}
    made = case(
        **{"grid": grid | {"absorbing": {"width": 5}}, "material": {"constant": ROCK}, "numerics": DOUBLE, **changes}
    )
    made["sources"][0] |= STRONG
    return {"plasticity": rock(), **made}


def eighth_in_blocks(**changes):
    """Of order 8."""
    return blocks(8, **changes)


CASES = {
    "blocks": blocks,
    "hill": hill,
    "hill of blocks": hill_of_blocks,
    "order 8": eighth,
    "blocks of order 8": eighth_in_blocks,
}


def ended(made):
    sim = fw.simulate(made)
    sim.run(write=False)
    return sim


def energy_of_waves(sim):
    return sum(sim.solver.energies()[n] for n in ("elastic_energy", "elastic_kinetic_energy"))


# ---- the plain case -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_rock_too_strong_to_yield_is_linear_to_the_last_bit(name):
    strong = CASES[name](end_time=0.3, numerics={"threads": 1})
    strong["plasticity"]["parameters"]["constant"]["plastic_cohesion"] = 1e12
    strong["plasticity"]["parameters"].get("expression", {}).pop("plastic_cohesion", None)
    linear = {key: value for key, value in strong.items() if key != "plasticity"}
    a, b = ended(strong).solver.operator, ended(linear).solver.operator
    for one, other in zip(a.blocks, b.blocks, strict=True):
        for field in FIELDS:
            values = one.filled_values(field)
            assert values.any() and np.array_equal(values, other.filled_values(field)), field


def test_blocks_do_what_one_spacing_does():
    """Rock on both sides of a face yields far from the source, around which it is strong: there it would depend on the spacing."""

    def found(plasticity, split):
        made = blocks(end_time=1.4, plasticity=plasticity)
        made["sources"][0] |= {
            "location": [1180.0, 1230.0, -530.0],
            "time_function": {"kind": "gaussian", "duration": 0.3},
        }
        points = [[700, 900, 0], [1500, 1600, -700], [900, 1500, -2100]]
        made["output"]["receivers"] = {"points": points, "interval": 0.05}
        if not split:
            made["grid"] |= {"blocks": [], "absorbing": {"width": 8}}
        sim = ended(made)
        if split and plasticity:
            assert all(op.filled_values("eta").any() for op in sim.solver.operator.blocks)
        return sim.receivers["values"][..., 6:], sim.solver.energies()

    def misfit(a, b):
        return np.sqrt(((a - b) ** 2).sum() / (b**2).sum())

    away = "(x-1180)*(x-1180) + (y-1230)*(y-1230) + (z+530)*(z+530)"
    weak = rock(f"if ({away} < 250000) {{ return 1e12; }} return 1e5;", rest=0.0)
    (one, e1), (two, e2), (linear, _) = found(weak, False), found(weak, True), found(None, False)
    assert misfit(linear, one) > 0.2
    assert misfit(two, one) < 0.002 and misfit(two[:, 2], one[:, 2]) < 0.07  # the last is in the coarser block
    for name in ("plastic_work", "plastic_moment"):
        assert e1[name] > 0 and e2[name] == pytest.approx(e1[name], rel=0.002), name


@pytest.mark.parametrize("depth", ["depth", "elevation"])
def test_level_ground_is_the_flat_grid(depth):
    """To rounding: stress by weight or by fields, strength that varies, energies and the plastic strain of the surface."""
    strong = "return 2e3 - 20 * z + 3 * x;"
    output = {"receivers": {"points": [[300, 900, 0], [1200, 500, -900]], "interval": 0.05}}
    changes = {"material": {"constant": ROCK}, "attenuation": {}, "numerics": DOUBLE, "output": output,
               "plasticity": rock(strong) if depth == "depth" else weighed(2e3)}  # fmt: skip
    ground = {"expression": "0", "sources": "elevation", "receivers": "depth", "material": depth}
    found = [case(**changes), hilly(ground, **changes)]
    for made in found:
        made["sources"][0] |= STRONG
    flat, level = map(ended, found)
    a, b = (sim.receivers["values"] for sim in (flat, level))
    assert (np.abs(a - b).max((0, 1)) <= 1e-11 * np.abs(a).max((0, 1))).all()
    one, other = flat.solver.energies(), level.solver.energies()
    for name in ("plastic_work", "plastic_moment", "initial_stress_work"):
        assert abs(one[name]) > 0 and other[name] == pytest.approx(one[name], rel=1e-9), name
    eta = [sim.solver.operator.filled_values("eta")[-1] for sim in (flat, level)]
    assert eta[0].any() and np.abs(eta[0] - eta[1]).max() <= 1e-10 * eta[0].max()


def test_order_8_does_what_order_4_does():
    """Rock yields far from the source, in waves that both resolve."""
    away = "(x-750)*(x-750) + (y-730)*(y-730) + (z+620)*(z+620)"
    found = []
    for order, yields in ((4, True), (8, True), (8, False)):
        made = eighth(plasticity=rock(f"if ({away} < 160000) {{ return 1e12; }} return 1e5;", rest=0.0), end_time=1.4)
        made["sources"][0]["time_function"] = {"kind": "gaussian", "duration": 0.3}
        made["grid"]["order"] = order
        if not yields:
            made.pop("plasticity")
        sim = ended(made)
        found.append((sim.receivers["values"][..., 6:], sim.solver.energies()))
    (four, e4), (eight, e8), (linear, _) = found
    size = np.linalg.norm(four)
    assert np.linalg.norm(linear - eight) > 0.2 * size and np.linalg.norm(eight - four) < 0.02 * size
    assert e4["plastic_work"] > 0 and e8["plastic_work"] == pytest.approx(e4["plastic_work"], rel=0.02)


# ---- formulas -----------------------------------------------------------------------------------------------------------


def still(made):
    """A run of rock that does not move, and its blocks."""
    made["sources"] = []
    made["output"] = {}
    sim = fw.simulate(made)
    for op in sim.solver.operator.blocks:
        for axis in "xyz":
            op.filled_view(f"b_{axis}")[...] = 0.0
    return sim


@pytest.mark.parametrize("name", CASES)
def test_yielding_never_adds_energy(name):
    """Random stresses in rock that cannot move, without stress at rest."""
    made = CASES[name](plasticity=rock(rest=0.0))
    if name == "hill of blocks":
        made["plasticity"] = rock(rest=0.0)
        made.pop("attenuation")
    sim, rng = still(made), np.random.default_rng(3)
    for op in sim.solver.operator.blocks:
        for field in (*NORMAL, *SHEAR):
            values = op.filled_view(field)
            values[...] = rng.normal(0.0, 1e5, values.shape)
    sim.solver.operator.restored()
    energies, works = [], []
    for _ in range(12):
        energies.append(energy_of_waves(sim))
        works.append(sim.solver.energies()["plastic_work"])
        sim.solver.operator.advance(1)
    falls = -np.diff(energies)
    assert (falls > 0).all() and falls.sum() > 0.1 * energies[0]
    assert works[-1] - works[0] == pytest.approx(falls.sum(), rel=0.06)


@pytest.mark.parametrize("name", CASES)
def test_uniform_stress_relaxes_as_it_must_wherever_planes_lie(name):
    """The same stress everywhere, in the axes x, y and z: the exact relaxation of one point, beside faces and under slopes too."""
    made = CASES[name](plasticity=rock(rest=0.0), grid__boundaries={"x": "periodic", "y": "periodic", "z-": "rigid"})
    made["grid"]["boundaries"]["z+"] = "free-surface"
    made.pop("attenuation", None)
    made["plasticity"] = rock(rest=0.0)
    if "hill" in name:
        made["grid"]["topography"]["expression"] = HILL if name == "hill" else "60*cos(x*6.283185307179586/2400)"
    if name == "hill":
        made["grid"]["boundaries"] |= {"x": "rigid", "y": "rigid"}
    sim = still(made)
    stress = dict(zip((*NORMAL, *SHEAR), (-2e5, 1e5, -3e5, 8e4, -5e4, 6e4), strict=True))
    count, mu = 3, ROCK["rho"] * ROCK["vs"] ** 2
    for op in sim.solver.operator.blocks:
        for field, value in stress.items():
            op.filled_view(field)[...] = value
    sim.solver.operator.restored()
    sim.solver.operator.advance(count)
    mean = (stress["sxx"] + stress["syy"] + stress["szz"]) / 3
    deviator = {n: v - mean * (n in NORMAL) for n, v in stress.items()}
    tau = np.sqrt(sum((0.5 if n in NORMAL else 1.0) * d * d for n, d in deviator.items()))
    phi = np.arctan(0.5)
    limit = 2e4 * np.cos(phi) - mean * np.sin(phi)
    assert tau > 1.2 * limit
    left = (limit + (tau - limit) * np.exp(-count * sim.plan.scheme.step / 0.05)) / tau
    for op in sim.solver.operator.blocks:
        low = 5 * (op is sim.solver.operator.blocks[-1])  # beside the rigid bottom nothing yields
        eta = op.filled_values("eta")[low:, 5:-5, 5:-5]
        assert np.abs(eta - tau * (1 - left) / (2 * mu)).max() < 1e-9 * eta.max()
        for field, value in stress.items():
            high = -1 if field in ("sxz", "syz") else None  # they have no plane on the uppermost half one
            values = op.filled_values(field)[low:high, 5:-5, 5:-5]
            exact = mean * (field in NORMAL) + left * deviator[field]
            assert abs(exact - value) > 1e3 and np.abs(values - exact).max() < 1e-9 * abs(limit), field


@pytest.mark.parametrize("name", ["blocks", "hill"])
def test_energy_of_the_waves_falls_by_plastic_work(name):
    """A closed box without stress at rest, once the source is silent; kinetic energy is that of half a step before."""
    sides = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}
    made = CASES[name](plasticity=rock(rest=0.0), end_time=0.7, grid__boundaries=sides)
    made["output"] = {"energies": {"interval": 0.05}}
    table = ended(made).energies
    after = table["time"] > 0.25
    waves = (table["elastic_energy"] + table["elastic_kinetic_energy"])[after]
    work = table["plastic_work"][after]
    assert len(waves) >= 3 and (np.diff(waves) < 0).all() and (np.diff(work) > 0).all()
    assert 0.95 < (work[-1] - work[0]) / (waves[0] - waves[-1]) < 1.05


def test_overburden_is_measured_from_the_ground():
    plan = fw.simulate(hill()).plan
    rock_, grid = plan.parts["plasticity"].rock, plan.scheme.grid
    places = np.array([[700.0, 820.0, 300.0], [700.0, 820.0, -900.0], [200.0, 1400.0, -350.0]])
    depth = grid.relief.ground(places) - places[:, 2]
    assert np.ptp(grid.relief.ground(places)) > 200
    assert rock_.rest(places)["s_zz"] == pytest.approx(-2700 * 9.81 * depth, rel=1e-6)
    op = fw.simulate(hill()).solver.operator
    owned = op.scheme.filled(op.box)
    centres = grid.places("sxx", Box(owned.lo, owned.hi))[:, 8:-8, 8:-8]
    deep = grid.relief.ground(centres.reshape(-1, 3)).reshape(centres.shape[:3]) - centres[..., 2]
    load = op.filled_values(yielding.LOAD)[:, 8:-8, 8:-8] * rock_.factors["s_zz"]
    low = centres[..., 2] > plan.lower[2]
    assert np.abs(load + 2700 * 9.81 * deep)[low].max() < 1e-3 * 2700 * 9.81 * deep.max()


# ---- backends, processes, checkpoints -----------------------------------------------------------------------------------


opencl = pytest.param("hill of blocks", "opencl", marks=pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL"))


@pytest.mark.parametrize(("name", "backend"), [*((name, "cpu") for name in CASES), opencl])
def test_backends_agree(name, backend):
    found = []
    for which in ("numpy", backend):
        sim = ended(CASES[name](end_time=0.25, numerics=DOUBLE | {"backend": which}))
        op = sim.solver.operator
        kept = {
            f"{n}{k}": b.filled_values(n).copy() for k, b in enumerate(op.blocks) for n in (*FIELDS, *yielding.YIELDED)
        }
        found.append(kept | {"energies": np.array([sim.solver.energies()["plastic_work"]])})
    assert found[0]["eta0"].any()
    for n, values in found[0].items():
        assert np.abs(values - found[1][n]).max() <= 1e-11 * np.abs(values).max(), n


def surfaced(name, folder, **changes):
    output = {
        "folder": str(folder), "energies": {"interval": 0.1}, "checkpoint": {"interval": 0.2},
        "surface": {"interval": 0.1, "fields": ["v1", "PGV", "eta", "plastic_work"]},
        "receivers": {"points": [[800, 900, 0], [1200, 500, -900]], "interval": 0.05},
    }  # fmt: skip
    if name == "blocks":
        output["volume"] = {"interval": 0.2, "every": 2, "fields": ["v1", "eta"]}
    changes = {"end_time": 0.4, "output": output, "numerics": {"threads": 1}, **changes}
    return CASES[name](**changes) | {"attenuation": {}}


def numbers(folder):
    kinds = ["surface"] + ["volume"] * bool(list(folder.glob("*-volume.vtkhdf")))
    return datasets(folder) | fields(folder, kinds)


def same(one, other):
    expected, found = numbers(one), numbers(other)
    assert expected.keys() == found.keys() and len(found) > 5
    assert any("eta" in n and np.any(v) for n, v in expected.items() if n.startswith("surface"))
    for n, values in expected.items():
        assert np.array_equal(values, found[n]), n


@pytest.mark.parametrize("name", ["blocks", "hill"])
def test_resumed_is_undisturbed(name, tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(surfaced(name, tmp_path / "whole")).run()
    sim = fw.simulate(surfaced(name, tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    resumed = fw.resume(tmp_path / "parts")
    assert 0.2 <= resumed.time < 0.4
    resumed.run()
    same(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.mpi
@pytest.mark.parametrize("name", [name for name in CASES if name != "order 8"])
def test_processes_give_the_same(name, tmp_path):
    finer = {"grid__spacing": 60.0, "end_time": 0.35} if name == "hill" else {}
    fw.simulate(surfaced(name, tmp_path / "one", **finer)).run()
    done = launch(2, surfaced(name, tmp_path / "more", **finer))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "more")


@pytest.mark.mpi
def test_rock_yields_across_periodic_sides_on_every_process(tmp_path):
    """Where a part overlaps the other end of the grid."""

    def made(folder):
        found = surfaced("blocks", folder)
        found["grid"]["boundaries"] = {"x": "periodic", "y": "periodic", "z-": "absorbing", "z+": "free-surface"}
        found["sources"][0]["location"] = [130.0, 1230.0, -320.0]
        return found

    fw.simulate(made(tmp_path / "one")).run()
    done = launch(2, made(tmp_path / "more"))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "more")


# ---- what is written ----------------------------------------------------------------------------------------------------


def test_snapshots_hold_the_plastic_strain_of_the_surface_and_of_cells(tmp_path):
    sim = fw.simulate(surfaced("blocks", tmp_path))
    sim.run()
    with ImageReader(tmp_path / "run-surface.vtkhdf") as file:
        eta, work = (file.field(n, len(file.times) - 1) for n in ("eta", "plastic_work"))
        earlier = file.field("eta", len(file.times) - 2)
    assert eta.any() and work.any() and (eta >= earlier).all()
    op = sim.solver.operator
    kept = op.filled_values("eta")[-1, 8:-8, 8:-8]
    assert eta == pytest.approx(kept, rel=1e-6)
    with ImageReader(tmp_path / "run-volume.vtkhdf") as file:
        low = file.field("eta", len(file.times) - 1)[file.z < -1400]
    below = op.blocks[1].values("eta")
    assert low.any() and np.isin(low.astype(np.float32), below.astype(np.float32)).all()


# ---- what is told -------------------------------------------------------------------------------------------------------


NARROW = f"if ((x - 560)*(x - 560) + (y - 610)*(y - 610) < 14400) {{ return 0; }} return {0.1 * AT_REST['s_xx']} * z;"
"""Another stress in a few columns."""


@pytest.mark.parametrize("stress", ["return 1000 * z - 5e5;", NARROW])
def test_stress_below_a_hill_must_keep_its_proportions(stress):
    uneven = rock()
    uneven["parameters"]["expression"]["s_xx"] = stress
    found = problems(**{k: v for k, v in hill(plasticity=uneven).items() if k in ("plasticity", "material", "grid")})
    assert "is not proportional to it" in found and "plasticity.overburden" in found


def test_surface_maps_of_rock_that_does_not_yield_have_no_plastic_strain():
    assert "'eta' does not exist" in problems(output__surface={"interval": 0.1, "fields": ["eta"]})


def test_planes_of_every_block_weigh_as_much_as_the_block():
    """Norms that means beside faces use."""
    for op in fw.simulate(blocks()).solver.operator.blocks:
        first, top = op.scheme.ends.first, op.scheme.grid.shape[0]
        assert norm_weights(op.scheme, "szz", np.arange(first, top + op.scheme.ends.upper)).sum() == pytest.approx(
            top, abs=1e-9
        )


@pytest.mark.parametrize("name", ["blocks", "hill"])
def test_a_checkpoint_is_not_gone_on_from_with_rock_of_another_strength(name):
    """Which varies from place to place: what files say may have changed since."""

    def kept(strength):
        made = CASES[name](plasticity=rock(strength) if name == "blocks" else weighed(1e4))
        if name == "hill":
            parameters = made["plasticity"]["parameters"]
            parameters["constant"].pop("plastic_cohesion")
            parameters["expression"] = {"plastic_cohesion": strength}
        return fw.simulate(made).plan.parts["plasticity"].must_match

    one = kept("return 2e4 + 3*x;")
    assert one == kept("return 2e4 + 3*x;") and one != kept("return 2e4 + 3*y;")
