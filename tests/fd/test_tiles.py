"""Tiles and steps that share a pass through memory change no bit, whatever grids are made of."""

import re
from dataclasses import replace

import numpy as np
import pytest

from faultwave.backends.cpu import two_planes
from faultwave.backends.cpu.blocking import Blocking, levels_begin_apart, skew
from faultwave.backends.cpu.stencil import StencilRunner
from faultwave.bench.grids import kernel_report
from faultwave.fd.method import stencils
from faultwave.fd.method.program import build_program
from faultwave.kernels.stencil import Box, Launch, Layout, Program, Stencil, whole_work
from faultwave.run import simulate

from . import test_faults, test_plasticity, test_soil, test_topography
from .setups import runner, scheme

ROCK = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60, "Qs": 30}
CASES = {
    "topography": lambda: test_topography.hilly(attenuation={}, material={"constant": ROCK}),
    "yielding rock": lambda: test_plasticity.yielding(test_plasticity.LATERAL),
    "fault": lambda: test_faults.case(),
    "soil": lambda: test_soil.basin(),
}
STEPS = 7


def state(case, blocking, threads):
    """All that moves after some steps from random velocities."""
    operator = simulate(case, threads=threads).solver.operator
    runner, rng = operator.runner, np.random.default_rng(3)
    moving = [name for name, layout in runner.program.arrays.items() if layout.kind == "grid" and not layout.half]
    for name in ("u", "v", "w"):
        runner.view(name)[...] += 1e-3 * rng.normal(size=runner.view(name).shape)
    runner.blocking = blocking
    operator.advance(STEPS)
    return {name: np.array(runner.view(name)) for name in moving}


@pytest.mark.parametrize("kind", CASES)
def test_tiles_and_passes_change_no_bit(kind):
    expected = state(CASES[kind](), Blocking(1, 1000), 1)
    assert expected["u"].any()
    for name, values in state(CASES[kind](), Blocking(3, 5), 2).items():
        assert np.array_equal(values, expected[name], equal_nan=True), name


FLAT_BELOW = {
    "hill": lambda: test_topography.hilly(grid__lower=[0, 0, -3000]),
    "soil": kernel_report.CASES["iwan"],
    "fault": lambda: test_faults.case(),
}
"""Grids on whose lowest planes some levels have nothing to do."""


@pytest.mark.parametrize("kind", FLAT_BELOW)
def test_passes_change_no_bit_of_level_after_level(kind):
    made = simulate(FLAT_BELOW[kind](), threads=2).solver.operator.runner
    assert levels_begin_apart(made.program)
    rng, levels = np.random.default_rng(3), len(made.program.levels)
    halos = {n: layout.halo for n, layout in made.program.arrays.items() if layout.kind == "grid" and not layout.half}
    start = {n: np.array(made.view(n, halo)) for n, halo in halos.items()}
    for name in ("u", "v", "w"):
        start[name] += 1e-3 * rng.normal(size=start[name].shape)
    sources = 1 + max([int(i.sources.max()) for i in made.program.injections], default=0)
    amplitudes = rng.normal(size=(levels, STEPS, sources))

    def after(advance):
        for name, values in start.items():
            made.view(name, halos[name])[...] = values
        samples = advance()
        return {n: np.array(made.view(n, halos[n])) for n in start} | dict(enumerate(samples))

    def one_by_one():
        taken = list[list[np.ndarray]]()
        for step in range(STEPS):
            parts = []
            for level in range(levels):
                work = [[b if n == level else [] for b in whole_work(made.program, n)] for n in range(levels)]
                parts.append(made.run(1, amplitudes[:, step : step + 1], work))
            taken.append([sum(each) for each in zip(*parts, strict=True)])  # where a level takes none, zeros
        return [np.concatenate(each) for each in zip(*taken, strict=True)]

    expected = after(one_by_one)
    assert np.abs(expected["u"] - start["u"]).max() > 0
    for made.blocking in (Blocking(3, 5), Blocking(2, 1000)):
        for name, values in after(lambda: made.run(STEPS, amplitudes)).items():
            assert np.array_equal(values, expected[name], equal_nan=True), (made.blocking, name)


@pytest.mark.parametrize("attenuation", [None, {}])
def test_two_planes_at_once_change_no_bit(attenuation, monkeypatch):
    """Profiles and tables of the upper plane are its own, and each value is rounded as on one plane."""
    rigid = dict.fromkeys(("x", "y", "z-"), "rigid") | {"z+": "free-surface"}
    numerics = {"numerics": {"precision": "single"}, "attenuation": attenuation, "material": {"constant": ROCK}}
    found = []
    for most in (0, 200):
        monkeypatch.setattr(two_planes, "MOST_READ", most)
        made = test_topography.hilly(grid__boundaries=rigid, **numerics)
        source = simulate(made).solver.operator.runner.source
        name = "stress_cap" + "_q" * (attenuation is not None)
        assert (f"_{name}_of_two_planes" in source) == (most > 0)
        found.append(state(made, Blocking(2, 7), 1))
    assert np.abs(found[0]["u"]).max() > 0
    for name, values in found[0].items():
        assert np.array_equal(values, found[1][name], equal_nan=True), name


LAYERS = {
    "plain": {},
    "along": {"along": 0.5},
    "attenuation": {"attenuation": True},
    "uneven": {"shape": (19, 8, 49), "width": 10, "sides": {"y-": "rigid", "y+": "rigid"}},
    "one side": {"sides": {"x+": "rigid"}},
}
RIGID = {"sides": {"x-": "rigid", "x+": "rigid"}}
PAIRED = re.compile(r"velocity_layer_x\w*_of_two_planes")


def shaken(kind, blocking, precision="single"):
    """A box with layers after some steps from noise, and the source of its kernels."""
    more = dict(RIGID if kind == "rigid" else LAYERS[kind])
    along = more.pop("along", 0.0)
    of = scheme(**{"shape": (19, 26, 53), "sides": {}} | more)
    made, rng = (
        runner(replace(of, absorber=replace(of.absorber, along=along)), "cpu", precision),
        np.random.default_rng(3),
    )
    names = [n for n, layout in made.program.arrays.items() if layout.kind == "grid" and not layout.half]
    for name in names:
        noise = rng.normal(size=made.view(name).shape) * (1e-7 if name in stencils.VELOCITY else 1.0)
        made.view(name)[...] = noise if made.program.arrays[name].group != "medium" else made.view(name)
    for name in {"A", "B", "defect_p", "defect_s"} & made.program.arrays.keys():
        made.view(name)[...] = rng.uniform(0.1, 0.5, made.view(name).shape)
    made.blocking = blocking
    made.run(STEPS, np.zeros((2, STEPS, 1)))
    return {name: np.array(made.view(name)) for name in names}, made.source


@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("kind", LAYERS)
def test_two_planes_of_layers_change_no_bit(kind, precision, monkeypatch):
    """Memories of the upper plane are its own, at both ends of a row, also where these are of different width."""
    monkeypatch.setattr(two_planes, "LONG_ROW", 1000)
    (expected, apart), (found, together) = (
        _with(monkeypatch, two_planes, "MOST_READ", most, lambda: shaken(kind, Blocking(2, 7), precision))
        for most in (0, 200)
    )
    assert not PAIRED.search(apart) and PAIRED.search(together)
    assert max(np.abs(values).max() for name, values in expected.items() if name.startswith("psi")) > 0
    for name, values in expected.items():
        assert np.array_equal(values, found[name], equal_nan=True), name


def test_long_rows_through_layers_are_worked_on_one_plane_at_a_time(monkeypatch):
    monkeypatch.setattr(two_planes, "LONG_ROW", 16 * 4)
    assert not PAIRED.search(shaken("plain", Blocking(2, 7))[1])


def _with(monkeypatch, room, name, value, function):
    monkeypatch.setattr(room, name, value)
    return function()


def test_stencils_that_read_few_numbers_go_two_planes_at_once():
    box = Box((0, 0, 0), (9, 9, 9))

    def go(function):
        return two_planes.can_pair_planes([Launch(Stencil("one", function), box)], 9)

    assert go(lambda p: {"u": p.at("u") + p.scalar("c") * (p.at("s", z=1) - p.at("s"))})
    assert not go(lambda p: {"u": sum(p.at("s", x=n % 7, y=n // 7) for n in range(two_planes.MOST_READ + 1))})


@pytest.mark.parametrize("precision", ["single", "double"])
def test_a_product_that_both_planes_need_changes_no_bit(precision, monkeypatch):
    """It joins the sums of both, rounded once in each, as on one plane alone."""

    def function(p):
        upper, lower = p.line("a", "x") * p.at("s", z=1), p.line("a", "x") * p.at("s")
        return {"u": p.at("u") + (upper - lower), "v": upper * lower + p.at("v")}

    box, found = Box((0, 0, 0), (9, 9, 37)), []
    layouts = {
        "u": Layout(box),
        "v": Layout(box),
        "s": Layout(box, halo=2),
        "a": Layout(Box((0, 0, 0), (1, 1, 37)), "line", "x", halo=0),
    }
    program = Program("one", box, layouts, [[Launch(Stencil("one", function), box)]], {})
    for most in (0, 45):
        monkeypatch.setattr(two_planes, "MOST_READ", most)
        made, rng = StencilRunner(program, precision, 1), np.random.default_rng(2)
        assert ("row_1_one_of_two_planes" in made.source) == (most > 0)
        for name in layouts:
            made.view(name)[...] = rng.normal(size=made.view(name).shape)
        made.run(3, np.zeros((1, 3, 1)))
        found.append({name: np.array(made.view(name)) for name in "uv"})
    assert all(np.array_equal(found[0][name], found[1][name]) for name in "uv") and found[0]["u"].any()


def test_levels_stay_behind_as_far_as_they_read():
    for order, reach in ((4, 2), (8, 4)):
        found = skew(build_program(scheme((30, 16, 16), order=order)))
        assert (found.z, found.y, found.step) == ((0, reach), (0, reach), (2 * reach, 2 * reach))


def test_means_along_one_axis_cost_no_planes_along_the_other():
    """Slopes act within planes, means and differences across them."""
    program = simulate(test_topography.hilly()).solver.operator.runner.program
    found = skew(program)
    assert found.z == (0, 3, 6, 6) and found.y == (0, 0, 0, 2) and found.step == (6, 4)


def test_levels_of_blocks_stay_behind_as_far_as_those_of_one_grid():
    """What a launch reads on planes that it names beside the face below, it reads in a stage that writes nothing there."""
    blocks = [{"below": 2400.0, "spacing": 200.0}]
    made = test_topography.hilly(grid__blocks=blocks, grid__lower=[0, 0, -4800], grid__upper=[1600, 1600, 900])
    upper, lower = simulate(made).solver.operator.blocks
    found = skew(upper.runner.program)
    assert found.z == (0, 3, 6, 6) and found.y == (0, 0, 0, 2) and found.step == (6, 4)
    assert skew(lower.runner.program).step == (4, 4)


@pytest.mark.parametrize("axis", ["x", "y"])
def test_a_fault_keeps_no_more_planes_at_hand(axis):
    """Friction of vertical slip alone reads a plane above its own, and stresses read that slip one plane above theirs."""
    plan = simulate(test_faults.case(axis)).plan
    friction = plan.parts["rupture"].volume_observers(plan.scheme, plan.scheme.grid.box)
    found = skew(build_program(plan.scheme, observers=friction))
    assert found.z == (0, 0, 1, 2) and found.step[0] == 4
