"""Soft soil in blocks of different spacing and below a topography."""

from itertools import product

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import RunError
from faultwave.fd.capabilities import soil
from faultwave.fd.method.differences import PlanePosition
from faultwave.fd.method.stencils import FIELDS
from faultwave.fd.operators.points import norm_weights
from faultwave.fd.rheology import stretched_means
from faultwave.fd.rheology.cell_means import mean_line, mean_lines
from faultwave.kernels.stencil import Box
from faultwave.output.formats.maps_netcdf import read_maps
from faultwave.physics.rheology import iwan
from faultwave.verify.cases.grids.soil import END, column, independent
from tests.run.launch import launch

from . import test_yielding_combined as rock
from .test_plasticity import energies, numbers
from .test_restart import Stopped
from .test_topography import HILL

REFERENCE, SURFACES = 2e-6, 5
OF = iwan.along_curve(SURFACES)
NAMES = ("blocks", "blocks of order 8", "hill", "hill of blocks")
SOIL_POINTS = [[1100.0, 1200.0, -130.0], [800.0, 1000.0, -1650.0]]
CLOSED = {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}


def soft(name, strain=f"return {REFERENCE};", **changes):
    """A case of rock that yields, with soil in its place everywhere; ``strain`` is an expression."""
    made = rock.CASES[name](**changes)
    made.pop("plasticity")
    parameters = {"expression": {"reference_strain": strain}}
    made["soil"] = {"slower_than": 2500.0, "surfaces": SURFACES, "parameters": parameters}
    return made


def away(made, radius, strain):
    """Return an expression that is ``strain`` at a distance from the source, and so large near it that soil is linear."""
    x, y, z = made["sources"][0]["location"]
    if topography := made["grid"].get("topography"):  # z is a depth
        z += eval(topography["expression"], {"exp": np.exp, "x": x, "y": y})
    distance = f"(x-({x}))*(x-({x})) + (y-({y}))*(y-({y})) + (z-({z}))*(z-({z}))"
    return f"if ({distance} < {radius**2}) {{ return 1e3; }} return {strain};"


@pytest.mark.parametrize("name", NAMES)
def test_soil_that_hardly_moves_is_linear_to_the_last_bit(name):
    made = soft(name, "return 1e3;", end_time=0.25, numerics={"threads": 1})
    linear = {key: value for key, value in made.items() if key != "soil"}
    a, b = (rock.ended(of).solver.operator for of in (made, linear))
    for one, other in zip(a.blocks, b.blocks, strict=True):
        for field in FIELDS:
            values = one.filled_values(field)
            assert values.any() and np.array_equal(values, other.filled_values(field)), field


# ---- uniform strain -----------------------------------------------------------------------------------------------------


def overlay(path):
    """Deviators (n, 3, 3) of the exact overlay in three dimensions, in G gamma_ref, along a path of doubled strains."""
    states, old, found = [np.zeros((3, 3)) for _ in OF.strains], np.zeros((3, 3)), []
    for strain in path:
        for n, limit in enumerate(OF.strains):
            trial = states[n] + strain - old
            states[n] = trial * min(1.0, limit / max(np.sqrt(0.5 * (trial * trial).sum()), 1e-300))
        old = strain
        found.append(sum(share * s for share, s in zip(OF.shares, states, strict=True)))
    return found


GRADIENT = np.array([[0.5, 0.8, 0.0], [0.3, -0.7, 0.0], [0.9, -0.6, 0.0]])
"""Velocities as linear functions of x and y, so that strain is the same everywhere."""
PLACES = {"sxx": (0, 0), "szz": (2, 2), "sxy": (0, 1), "sxz": (0, 2), "syz": (1, 2)}


def strained(made):
    """Return a run that was loaded and unloaded by uniform strain without acceleration, and the exact stress (3, 3)."""
    sim = rock.still(made)
    dt, path, total = sim.plan.scheme.step, [], np.zeros((3, 3))
    for rate in (0.6, 0.9, 1.5, -0.8, -1.2, 0.4):
        for op in sim.solver.operator.blocks:
            box = op.scheme.filled(op.box)
            for k, field in enumerate("uvw"):
                places = op.scheme.grid.places(field, Box(box.lo, box.hi))
                op.filled_view(field)[...] = rate * REFERENCE / dt * (places @ GRADIENT[k])
        sim.solver.operator.restored()
        sim.solver.operator.advance(1)
        total = total + rate * (GRADIENT + GRADIENT.T)
        path.append(total - np.eye(3) * np.trace(total) / 3)
    mu = rock.ROCK["rho"] * rock.ROCK["vs"] ** 2
    bulk = rock.ROCK["rho"] * rock.ROCK["vp"] ** 2 - 4 / 3 * mu
    exact = mu * REFERENCE * overlay(path)[-1] + np.eye(3) * bulk * REFERENCE * np.trace(total) / 2
    assert np.abs(exact).max() < 0.7 * mu * REFERENCE * np.abs(path[2]).max()  # it has yielded
    return sim, exact


@pytest.mark.parametrize("name", NAMES[:2])
def test_uniform_strain_follows_the_exact_overlay_next_to_faces_too(name):
    sim, exact = strained(soft(name, grid__boundaries=CLOSED))
    for op in sim.solver.operator.blocks:
        low = 8 * (op is sim.solver.operator.blocks[-1])
        for field, at in PLACES.items():
            high = -1 if field in ("sxz", "syz") else None
            values = op.filled_values(field)[low:high, 5:-5, 5:-5]
            assert np.abs(values - exact[at]).max() < 1e-9 * np.abs(exact).max(), (field, values.min(), values.max())


def hill_error(spacing):
    """Return the largest error of any stress in uniformly strained soil below a steep hill, over the largest stress."""
    made = soft("hill", grid__boundaries=CLOSED)
    made["grid"] |= {
        "spacing": spacing,
        "topography": made["grid"]["topography"] | {"expression": HILL, "thickness": 1000.0},
    }
    sim, exact = strained(made)
    op, found = sim.solver.operator.blocks[0], 0.0
    for field, at in PLACES.items():
        values = op.filled_values(field)[: -1 if field in ("sxz", "syz") else None]
        x, y, z = np.moveaxis(op.scheme.grid.places(field, Box((0, 0, 0), values.shape)), -1, 0)
        inside = (x > 500) & (x < 1000) & (y > 500) & (y < 1100) & (z > -900)
        assert inside[-1].any()
        found = max(found, np.abs(values - exact[at])[inside].max())
    return found / np.abs(exact).max()


def test_uniform_strain_below_a_hill_converges_to_the_exact_overlay():
    """A ridge of 350 m with a standard deviation of two spacings, then of four; with the stretch of centres alone, 4 and 1 %."""
    coarse, fine = hill_error(100.0), hill_error(50.0)
    assert coarse < 0.003 and fine < coarse / 8


# ---- waves --------------------------------------------------------------------------------------------------------------


def at_shear_stresses(op, lost, part):
    """Return the means of what centres have lost at the places of a shear stress, by the profiles of the grid."""
    scheme, grid, whole = op.scheme, op.scheme.grid, PlanePosition.WHOLE
    lines, count, level = mean_lines(scheme), len(lost), [axis for axis in part if axis != "z"]
    stretches, sheets = {}, {}
    if scheme.cap is not None:
        stretches, sheets = stretched_means.stretch_lines(scheme), stretched_means.stretch_sheets(scheme, op.box)
    found = np.zeros_like(lost)
    for sides in product((0, 1), repeat=len(level)):
        near = np.roll(lost, [-side for side in sides], ["zyx".index(axis) for axis in level])
        height = sheets.get(stretched_means.sheet(dict(zip(level, sides, strict=True))), np.zeros((3, 3)))[1:-1, 1:-1]
        for n in range(count):
            row = {o: lines[mean_line(whole, o)][n] for o in range(-1, 3) if mean_line(whole, o) in lines}
            row = row if sum(row.values()) > 0.5 else {0: 0.5, 1: 0.5}
            for o, weight in row.items() if "z" in part else [(0, 1.0)]:
                if weight and 0 <= n + o < count:
                    rate = stretches.get(stretched_means.rate_line(whole, o), np.zeros(count))[n]
                    if "z" not in part and grid.relief is not None:
                        rate = grid.relief.rate(grid.levels(PlanePosition.HALF)[n])
                    found[n] += 0.5 ** len(level) * weight * (1.0 + height * rate) * near[n + o]
    return found / grid.stretch(f"s{part}", scheme.filled(op.box))


def stored(sim):
    """Return the energy [J] of elements that is not in the stresses of the grid.

    It is what elements hold against each other, and what is lost at centres but not in the means of shear stresses.
    """
    found = 0.0
    for op in sim.solver.operator.blocks:
        scheme, filled = op.scheme, op.scheme.filled(op.box)
        planes, volume = np.arange(filled.lo[0], filled.hi[0]), scheme.grid.spacing**3
        weight = {
            n: np.asarray(norm_weights(scheme, n, planes))[:, None, None] * volume * scheme.grid.stretch(n, filled)
            for n in ("szz", "sxz", "syz", "sxy")
        }
        mu = 0.5 * op.filled_view("mu2") * op.units.of("mu2") * scheme.grid.stretch("szz", filled)
        lost = {part: np.zeros(filled.shape) for part in ("xy", "yz", "xz")}
        for tile in sim.plan.parts["soil"].tiles_of(scheme.grid):
            box = op.runner.program.arrays[tile.named(soil.REFERENCE)].box
            at = tuple(slice(a - n, b - n) for a, b, n in zip(box.lo, box.hi, filled.lo, strict=True))

            def view(name, tile=tile, op=op):
                return op.runner.view(tile.named(name))

            strain, reference = [view(soil.total(part)) for part in iwan.PARTS], view(soil.REFERENCE)
            plastic = [[view(soil.element(n, part)) for part in iwan.PARTS] for n in range(len(OF.shares))]
            own = [[e - p for e, p in zip(strain, state, strict=True)] for state in plastic]
            mean = [sum(f * e[k] for f, e in zip(OF.shares, own, strict=True)) for k in range(5)]
            each = sum(f * iwan.square(e) for f, e in zip(OF.shares, own, strict=True)) - iwan.square(mean)
            found += (np.broadcast_to(weight["szz"], filled.shape)[at] * 0.5 * mu[at] * reference**2 * each).sum()
            for k, part in enumerate(iwan.PARTS):
                if part in lost:
                    lost[part][at] = reference * sum(f * p[k] for f, p in zip(OF.shares, plastic, strict=True))
        for part, values in lost.items():
            at_edges = at_shear_stresses(op, values, part)
            found += 0.5 * mu.max() * ((weight["szz"] * values**2).sum() - (weight[f"s{part}"] * at_edges**2).sum())
    return found


def balance(sim):
    """Return the energy [J] of waves and elements, and the work [J] of soil; advances by a step, whose motion is half of it."""
    now = sim.solver.energies()
    found = now["elastic_energy"] + stored(sim)
    sim.solver.operator.advance(1)
    later = sim.solver.energies()
    return found + 0.5 * (now["elastic_kinetic_energy"] + later["elastic_kinetic_energy"]), now["soil_work"]


@pytest.mark.parametrize("name", ["blocks", "hill"])
def test_energy_falls_while_soil_dissipates(name):
    """A closed box after the source, with soil on both sides of a face or below a hill."""
    made = soft(name, end_time=1.5, grid__boundaries=CLOSED)
    made["sources"][0]["time_function"] = {"kind": "triangle", "duration": 0.4}
    made["soil"]["parameters"]["expression"]["reference_strain"] = away(made, 500.0, 1e-4)
    sim = fw.simulate(made)
    sim.solver.operator.advance(int(0.5 / sim.plan.scheme.step))
    found = []
    for _ in range(6):
        sim.solver.operator.advance(9)
        found.append(balance(sim))
    waves, work = np.array(found).T
    assert all(op.runner.values(f"{soil.WORK}@0").any() for op in sim.solver.operator.blocks)
    assert (np.diff(waves) < 0).all() and (np.diff(work) > 0).all()
    assert 0.8 < (waves[0] - waves[-1]) / (work[-1] - work[0]) < 1.2


def test_blocks_do_what_one_spacing_does():
    """Soil on both sides of a face, except around the source: motion, work, and maps of the whole column."""

    def found(split, linear=False):
        made = soft("blocks", end_time=1.1)
        made["sources"][0] |= {
            "location": [1180.0, 1230.0, -530.0], "time_function": {"kind": "gaussian", "duration": 0.3},
        }  # fmt: skip
        made["soil"]["parameters"]["expression"]["reference_strain"] = away(made, 500.0, 1e-5)
        made["output"]["receivers"] = {"points": [[700, 900, 0], [1500, 1600, -700]], "interval": 0.05}
        made["output"]["soil"] = {"points": [], "interval": 0.05}
        if not split:
            made["grid"] |= {"blocks": [], "absorbing": {"width": 8}}
        if linear:
            made.pop("soil")
            made["output"].pop("soil")
        sim = rock.ended(made)
        return sim.receivers["values"][..., 6:], sim.solver.energies().get("soil_work", 0.0), sim

    (one, w1, a), (two, w2, b), (plain, _, _) = found(False), found(True), found(False, linear=True)
    size = np.linalg.norm(one)
    assert np.linalg.norm(plain - one) > 0.05 * size and np.linalg.norm(two - one) < 0.005 * size
    assert w1 > 0 and w2 == pytest.approx(w1, rel=0.01)
    assert all(op.runner.values(f"{soil.WORK}@0").any() for op in b.solver.operator.blocks)
    strains = [sim.result("soil_maps")["peak_strain"] for sim in (a, b)]
    assert np.abs(strains[1] - strains[0]).max() < 0.05 * strains[0].max()


def test_level_ground_is_the_flat_grid():
    """To rounding, with a reference strain from the weight of the ground."""
    found = []
    for name in ("hill", "blocks"):
        made = soft(name)
        made["soil"] |= {"backbone": "strength", "parameters": {"constant": {"cohesion": 0.1, "friction_angle": 0.2}}}
        made["grid"] = rock.hilly({"expression": "0", "sources": "elevation", "receivers": "depth"})["grid"]
        made["sources"][0]["location"] = [750.0, 730.0, -420.0]
        made["output"] = {
            "receivers": {"points": [[300, 900, 0], [1200, 500, -900]], "interval": 0.05},
            "soil": {"points": [[700, 800, -130]], "interval": 0.02},
        }
        if name == "blocks":
            made["grid"].pop("topography")
            made["grid"]["upper"] = [*made["grid"]["upper"][:2], 0.0]
        made["end_time"] = 0.5
        found.append(rock.ended(made))
    level, flat = found
    a, b = (sim.receivers["values"] for sim in (flat, level))
    assert (np.abs(a - b).max((0, 1)) <= 1e-9 * np.abs(a).max((0, 1))).all()
    one, other = (sim.solver.energies()["soil_work"] for sim in (flat, level))
    assert one > 0 and other == pytest.approx(one, rel=1e-9)
    a, b = (sim.result("soil_maps") for sim in (flat, level))
    for key in a.variables:
        assert b[key] == pytest.approx(a[key], rel=1e-8, nan_ok=True), key
    a, b = (sim.result("soil_receivers").quantity("s_xz") for sim in (flat, level))
    assert a.any() and np.abs(a - b).max() <= 1e-9 * np.abs(a).max()


def test_depth_and_weight_are_measured_from_the_ground():
    """The reference strain by strength is proportional to the depth below a hill, in a uniform rock."""
    made = soft("hill of blocks")
    made["soil"] |= {"backbone": "strength", "parameters": {"constant": {"cohesion": 0.0, "friction_angle": 30.0}}}
    plan = fw.simulate(made).plan
    relief, mu = plan.scheme.grid.relief, rock.ROCK["rho"] * rock.ROCK["vs"] ** 2
    for block, found in zip(plan.blocks, plan.parts["soil"].blocks, strict=True):
        grid = block.scheme.grid
        low, top = 6, grid.shape[0]
        places = grid.places("sxx", Box((low, 8, 8), (top, grid.shape[1] - 8, grid.shape[2] - 8)))
        depth = relief.ground(places) - places[..., 2]
        exact = 0.5 * rock.ROCK["rho"] * 9.81 * depth * 2 / 3 / mu
        reference = found.reference[low - found.first : top - found.first, 8:-8, 8:-8]
        assert reference == pytest.approx(exact, rel=1e-4)


def test_a_column_in_blocks_follows_an_independent_integration():
    """A face in soft soil, at 7 of its 20 m, from a spacing of 0.5 m to one of 1 m; and a grid of 1 m throughout."""
    times, found = np.arange(0.01, END - 0.01, 0.002), []
    exact = independent(times)
    for blocks in ([], [{"below": 7.0, "spacing": 1.0}]):
        made = column(1)
        if blocks:
            made["grid"] |= {"upper": [12, 12, 0], "spacing": 0.5, "blocks": blocks}
            made["output"]["soil"]["points"] = [[3.1, 3.1, -18.4], [3.1, 3.1, -4.1]]
        sim = rock.ended(made)
        data = sim.receivers
        found.append(np.interp(times, data.variables["time"].data, data.variables["values"].data[:, 0, 7]))
    size = np.linalg.norm(exact)
    assert np.linalg.norm(found[1] - exact) < 0.008 * size and np.linalg.norm(found[1] - found[0]) < 0.004 * size
    assert all(op.runner.values(f"{soil.WORK}@0").any() for op in sim.solver.operator.blocks)
    records = sim.result("soil_receivers")
    assert records["location"].tolist() == [[3.5, 3.5, -18.5], [3.25, 3.25, -4.25]]
    assert records["loop_strain"][0] > 0.3 * 2e-3 and records["loop_strain"][1] > 0.05 * 2e-3


# ---- backends, processes, checkpoints -----------------------------------------------------------------------------------


opencl = pytest.param("hill of blocks", "opencl", marks=pytest.mark.skipif(bool(missing("opencl")), reason="no OpenCL"))


@pytest.mark.parametrize(("name", "backend"), [*((name, "cpu") for name in NAMES), opencl])
def test_backends_agree(name, backend):
    found = []
    for which in ("numpy", backend):
        sim = rock.ended(soft(name, end_time=0.2, numerics=rock.DOUBLE | {"backend": which}))
        own = {}
        for k, op in enumerate(sim.solver.operator.blocks):
            own |= {f"{n}{k}": op.filled_values(n).copy() for n in FIELDS}
            tiles = sim.plan.parts["soil"].tiles_of(op.scheme.grid)
            own |= {
                f"{t.named(n)}{k}": op.runner.values(t.named(n)).copy() for t in tiles for n in (soil.WORK, soil.PEAK)
            }
        found.append(own)
    assert found[0][f"{soil.WORK}@00"].any()
    for n, values in found[0].items():
        assert np.abs(values - found[1][n]).max() <= 1e-10 * np.abs(values).max(), n


def written(name, folder, **changes):
    made = soft(name, **{"end_time": 0.4, "numerics": {"threads": 1}, **changes})
    made["output"] = {
        "folder": str(folder), "energies": {"interval": 0.1}, "checkpoint": {"interval": 0.2},
        "soil": {"points": SOIL_POINTS, "interval": 0.02},
        "receivers": {"points": [[800, 900, 0], [1200, 500, -900]], "interval": 0.05},
    }  # fmt: skip
    return made


def same_numbers(one, other):
    """All points are strained, soil yields, and files contain the same numbers."""
    a, b = numbers(one), numbers(other)
    assert a.keys() == b.keys() and len(a)
    for n, values in a.items():
        assert np.array_equal(values, b[n], equal_nan=values.dtype.kind == "f"), n
    assert (np.abs(a["run-receivers.h5/soil_receivers/values"]).max(0) > 0).any(1).all()
    maps = [read_maps(folder / "run-soil.nc") for folder in (one, other)]
    for key in maps[0].variables:
        assert np.array_equal(maps[0][key], maps[1][key], equal_nan=True), key
    assert np.nanmax(maps[0]["peak_strain_ratio"]) > 1.0


@pytest.mark.parametrize("name", ["blocks", "hill of blocks"])
def test_resumed_is_undisturbed(name, tmp_path, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(written(name, tmp_path / "whole")).run()
    sim = fw.simulate(written(name, tmp_path / "parts"))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    fw.resume(tmp_path / "parts").run()
    same_numbers(tmp_path / "whole", tmp_path / "parts")
    assert np.array_equal(energies(tmp_path / "whole"), energies(tmp_path / "parts"))


@pytest.mark.mpi
@pytest.mark.parametrize(("ranks", "name"), [(2, "blocks"), (3, "blocks"), (2, "hill of blocks")])
def test_processes_give_the_same(ranks, name, tmp_path):
    fw.simulate(written(name, tmp_path / "one")).run()
    done = launch(ranks, written(name, tmp_path / "more"))
    assert done.returncode == 0, done.stderr
    same_numbers(tmp_path / "one", tmp_path / "more")
    a, b = energies(tmp_path / "one"), energies(tmp_path / "more")
    assert np.abs(a - b).max() <= 1e-12 * np.abs(a).max()
