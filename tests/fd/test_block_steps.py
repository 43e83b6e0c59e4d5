"""Blocks of a grid take several steps at once away from their faces: the same bits as one step at a time."""

from dataclasses import replace

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.backends.cpu import joint, stencil
from faultwave.backends.cpu.blocking import Blocking
from faultwave.backends.cpu.stencil import StencilRunner
from faultwave.fd.method.stencils import FIELDS
from faultwave.run import simulate
from tests.run.launch import launch

from .test_block_ranks import same
from .test_blocks import QUIET, ROCK, case
from .test_yielding_combined import ROCK as YIELDING
from .test_yielding_combined import STRONG, rock

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))
HILL = "60 + 55*sin(x*6.283185307179586/2400)*cos(y*6.283185307179586/2400)"
PLACES = [[900.0, 800.0, 0.0], [1500.0, 1300.0, -2200.0], [1210.0, 1190.0, -3450.0], [1000.0, 1100.0, -4100.0]]


def deep(ratio=2, sides="absorbing", planes=(34, 30), **changes):
    """Blocks that are thick enough, with moments away from and beside the face, and receivers there."""
    h = 100.0 * ratio
    face = 100.0 * planes[0]
    grid = {
        "lower": [0, 0, -face - planes[1] * h], "upper": [2400, 2400, 0], "spacing": 100.0,
        "blocks": [{"below": face, "spacing": h}], "absorbing": {"width": 4},
        "boundaries": {"x": sides, "y": "absorbing", "z-": "absorbing", "z+": "free-surface"},
    }  # fmt: skip
    time = {"kind": "gaussian", "duration": 0.1}
    sources = [
        {"kind": "moment-tensor", "location": [1230.0, 1170.0, z], "tensor": {"xy": 1e15, "zz": 5e14}, "time_function": time}
        for z in (-900.0, -100.0 * planes[0] + 140.0, -100.0 * planes[0] - 3 * h)
    ]  # fmt: skip
    output = {"receivers": {"points": PLACES, "interval": 0.01}, "surface": {"interval": 0.1}}
    made = {"grid": grid, "sources": sources, "material": {"expression": QUIET}, "output": output, "end_time": 0.5}
    return case(**{**made, **changes})


def taken(made, fused, counts=(1, 2, 3, 7, 5)):
    """What samplers saw of rough motion, and all fields after, of steps that are taken so many at once; the operator."""
    sim, rng = simulate(made), np.random.default_rng(0)
    sim.solver.set_initial(lambda x, t: rng.normal(size=(len(x), 9)) * ([0.0] * 6 + [1.0] * 3))
    op = sim.solver.operator
    for block in op.blocks if fused > 1 and hasattr(op.runner, "blocking") else ():
        block.runner.blocking = Blocking(fused, 7)  # several tiles
    op.fuse(fused)
    seen = [op.advance(count) for count in counts]
    samples = [np.concatenate(of) for of in zip(*seen, strict=True)]
    return samples + [block.filled_values(name).copy() for block in op.blocks for name in FIELDS], op


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Several, where blocks are stepped together beside their faces alone, too."""
    monkeypatch.setattr(joint, "TILE", 2e5)


def compare(made, fused=3, swept=None):
    """The same bits, and not of nothing. ``swept``: whether the uppermost block goes through all of its steps together with its face; None:
    no two blocks are stepped together."""
    expected, _ = taken(made, 1)
    found, op = taken(made, fused)
    assert (None if op.joint is None else op.joint.sweeps) == swept
    assert all(steps.works(fused).away is not None for steps in op.block_steps)
    assert len(found) == len(expected) > 18 and all(np.abs(values).max() > 0 for values in expected)
    for number, (a, b) in enumerate(zip(expected, found, strict=True)):
        assert np.array_equal(a, b), number


@pytest.mark.parametrize(
    ("backend", "ratio", "kind"),
    [("numpy", 2, "cpml"), ("cpu", 2, "cpml"), ("cpu", 3, "sponge"), pytest.param("opencl", 3, "sponge", marks=opencl)],
)
def test_several_steps_at_once_give_the_bits_of_one(backend, ratio, kind):
    made = deep(ratio, numerics={"backend": backend, "precision": "single"})
    made["grid"]["absorbing"]["kind"] = kind
    compare(made, swept=True if backend == "cpu" else None)


@pytest.mark.parametrize(("ratio", "fused", "threads"), [(2, 4, 2), (3, 2, 2), (2, 3, 1)])
def test_with_attenuation_and_threads_that_follow_each_other(ratio, fused, threads):
    numerics = {"precision": "double", "backend": "cpu", "threads": threads}
    compare(deep(ratio, "rigid", material=ROCK, attenuation={}, numerics=numerics), fused, swept=True)


def test_a_backend_without_joint_steps_is_asked_first(monkeypatch):
    """What blocks tell each other need not lie in the memory of the host there."""
    monkeypatch.setattr("faultwave.fd.blocks.interface.Interface.transfers", None)  # whoever calls it fails
    made = deep(2, planes=(12, 8), sources=[], output={}, numerics={"backend": "numpy"})
    op = simulate(made).solver.operator
    op.fuse(3)
    assert op.joint is None


@pytest.mark.parametrize("ratio", [2, 3])
def test_six_steps_at_once(ratio):
    compare(deep(ratio, "rigid", (62, 54), numerics={"precision": "single", "backend": "cpu"}), 6, swept=True)


def prepared(monkeypatch, made, steps):
    """An operator whose blocks found so many steps a pass quickest."""
    monkeypatch.setattr(StencilRunner, "prepare", lambda self, *_: setattr(self, "blocking", Blocking(steps, 8)))
    return simulate(made).solver.operator


def test_blocks_take_as_many_steps_as_are_quickest_for_the_uppermost(monkeypatch):
    numerics = {"precision": "single", "backend": "cpu"}
    made = deep(2, "rigid", (62, 54), sources=[], output={}, numerics=numerics)
    assert [prepared(monkeypatch, made, n).steps_at_once for n in (1, 3, 4, 6)] == [1, 3, 4, 6]
    thinner = deep(2, "rigid", (62, 22), sources=[], output={}, numerics=numerics)
    op = prepared(monkeypatch, thinner, 6)
    assert 3 < op.steps_at_once < 6
    away = [op.block_steps[1].works(n).away is not None for n in (op.steps_at_once, op.steps_at_once + 1)]
    assert away == [True, False], "the lower block would have nothing to do before the tiles"
    periodic = prepared(monkeypatch, deep(2, "periodic", (62, 54), sources=[], output={}, numerics=numerics), 6)
    assert periodic.joint is None and periodic.steps_at_once == 3


def test_more_steps_are_tried_where_blocks_are_swept_together(monkeypatch, tmp_path):
    """Elsewhere they would not be taken."""
    tried = []

    def tune(self, listed):
        tried.append({b.steps for b in listed})
        return {listed[0]: 1.0}

    monkeypatch.setattr(StencilRunner, "tune", tune)
    monkeypatch.setattr(stencil, "WORTH_TUNING", 0.0)
    monkeypatch.setattr(stencil, "cache_folder", lambda: tmp_path)
    numerics = {"precision": "single", "backend": "cpu"}
    simulate(deep(2, "rigid", sources=[], output={}, numerics=numerics))
    made = deep(2, planes=(46, 30), sources=[], output={}, numerics=numerics)
    made["grid"] |= {"topography": {"expression": HILL, "sources": "elevation", "receivers": "depth"}}
    made["grid"]["upper"] = [2400, 2400, 200]
    made["grid"]["blocks"][0]["below"], made["grid"]["lower"][2] = 4600.0, -4600.0 - 30 * 200.0
    simulate(made)
    assert tried == [{3, 4, 6}, {3}, {3}, {3}], "of each pair the uppermost block comes first"


def test_processes_that_share_blocks_try_the_usual_steps(monkeypatch):
    """They take no more between two exchanges, so that tiles for more would be too low."""
    op = simulate(deep(2, "rigid", sources=[], output={}, numerics={"backend": "cpu"})).solver.operator
    asked = []
    monkeypatch.setattr(StencilRunner, "prepare", lambda self, steps, together: asked.append(together))
    op.prepare(10)
    op.subdomain = replace(op.subdomain, steps=3)
    op.prepare(10)
    assert asked == [True, False, False, False]


@pytest.mark.parametrize("fused", [2, 3])
def test_with_attenuation_and_periodic_sides(fused):
    compare(
        deep(2, "periodic", material=ROCK, attenuation={}, numerics={"precision": "double", "backend": "cpu"}), fused
    )


def test_below_a_hill():
    made = deep(2, planes=(46, 30))
    made["grid"] |= {"topography": {"expression": HILL, "sources": "elevation", "receivers": "depth"}}
    made["grid"]["upper"] = [2400, 2400, 200]
    made["grid"]["blocks"][0]["below"], made["grid"]["lower"][2] = 4600.0, -4600.0 - 30 * 200.0
    compare(made, swept=False)


def test_where_rock_yields():
    made = deep(2, planes=(46, 36), material={"constant": YIELDING}, plasticity=rock())
    for source in made["sources"]:
        source |= STRONG
    compare(made, 2, swept=False)
    _, op = taken(made, 2)
    assert all((block.values("plastic_work") > 0).any() for block in op.blocks)


def test_of_order_8():
    made = deep(2, planes=(50, 40), end_time=0.2)
    made["grid"]["upper"] = [3200, 3200, 0]
    made["grid"] |= {"order": 8, "boundaries": {"x": "rigid", "y": "rigid", "z-": "rigid", "z+": "free-surface"}}
    compare(made, 2, swept=True)


def test_a_block_between_two_faces():
    made = deep(2, planes=(34, 44))
    made["grid"]["blocks"].append({"below": 3400.0 + 44 * 200.0, "spacing": 400.0})
    made["grid"]["lower"][2] -= 26 * 400.0
    made["grid"]["upper"] = [3200, 3200, 0]
    compare(made, swept=True)


def test_thin_blocks_have_nothing_away_from_faces():
    made = deep(2, planes=(12, 8), sources=[], output={})
    op = simulate(made).solver.operator
    assert op.steps_at_once > 1 and all(steps.works(3).away is None for steps in op.block_steps)
    made["numerics"] = {"backend": "cpu", "precision": "single"}
    expected, found = (taken(made, fused)[0] for fused in (1, 3))
    assert all(np.array_equal(a, b) for a, b in zip(expected, found, strict=True))


@pytest.mark.mpi
@pytest.mark.parametrize("sides", ["absorbing", "periodic"])
def test_processes_take_several_steps_between_two_exchanges(tmp_path, sides):
    """Where their parts are wide enough for it to pay, which is not asked for here."""
    output = {
        "receivers": {"points": PLACES, "interval": 0.01},
        "surface": {"interval": 0.1},
        "volume": {"interval": 0.25, "every": 2},
    }
    made = deep(2, sides, output=output | {"folder": str(tmp_path / "one")}, numerics={"threads": 1})
    made["grid"]["upper"] = [6000, 6000, 0]
    fw.simulate(made).run()
    made["output"]["folder"] = str(tmp_path / "parts")
    three = "assert sim.solver.operator.steps_at_once == 3"
    done = launch(2, made, setup="import faultwave.fd.planning.process_partition as m; m.WORTH = 0", after=three)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "parts")
