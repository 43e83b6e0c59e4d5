"""Faults in attenuating rock: each side has memory of its own, friction laws act as in elastic rock, and all runs agree to the last bit."""

import dataclasses

import numpy as np
import pytest

import faultwave as fw
from faultwave import backends
from faultwave.base.errors import RunError
from faultwave.fd import fault as friction
from faultwave.fd.method.grid import SIDES
from faultwave.fd.method.program import fields
from faultwave.fd.method.split_nodes import high
from faultwave.fd.method.stencils import VELOCITY
from faultwave.fd.operators.operator import memory_tables
from tests.run.launch import launch

from . import test_split as split
from .setups import runner, scheme
from .test_fault_laws import LAWS, ROCK, middle, string, uniform
from .test_fault_ranks import asked, everything, same
from .test_faults import FRICTION, case, fault_of, seismograms
from .test_restart import Stopped

Q = {"Qp": 60.0, "Qs": 30.0}


def names(s):
    return (*fields(True), *(high(n) for n in s.fault.doubled + s.fault.doubled_memory))


def made(axis, backend="cpu", flipped=False, **given):
    """A box of random motion around a fault that slips, in attenuating rock whose mechanisms do not vary across it."""
    elastic = scheme(split.SHAPE, dict.fromkeys(SIDES, "rigid") | {"z+": "free-surface"}, True, courant=0.4)
    s = dataclasses.replace(elastic, fault=split.plane(axis))
    sliding = split.sliding(axis, -1.0 if flipped else 1.0)
    r = runner(s, backend, "double", observers=[friction.observer(s, sliding, s.grid.box)])
    a, b = r.view("A"), r.view("B")
    a[...], b[...] = a[:1, :1, :1] * np.array([1.0, 0.9])[:, None, None], 0.2
    for along in s.fault.sliding:
        for name, value in (split.GIVEN | split.REST | given).items():
            r.view(split.array(name, along))[...] = value
        slips = np.moveaxis(r.view(friction.array_at(friction.SLIPS, along)), "zyx".index(axis), 0)
        slips[:, 3:, 3:-3] = 1.0
    numbers, k = np.random.default_rng(5), "zyx".index(axis)
    for name, own in VELOCITY.items():
        planes = split.SHAPE[0] + (name != "w")
        values = 0.01 * numbers.normal(size=(planes, *split.SHAPE[1:]))
        across, centre = np.moveaxis(values, k, 0), s.fault.index
        across[: centre - 3] = 0.0  # further out there are no images in the box
        across[centre + 3 + (own != axis) :] = 0.0
        images = across[centre - 3 : centre + 3 + (own != axis)]
        if flipped:
            images[...] = images[::-1] * (-1.0 if own == axis else 1.0)
        r.view(name, 2)[2 : 2 + planes, 2:-2, 2:-2] = values
    at = slice(s.fault.index, s.fault.index + 5)
    for name in s.fault.sliding.values():
        r.view(high(name), 2)[...] = r.view(name, 2)[:, at] if axis == "y" else r.view(name, 2)[:, :, at]
    return s, r


@pytest.mark.parametrize("axis", "xy")
def test_the_sides_of_a_fault_are_alike(axis):
    """What the lower side does in a box is what the upper one does in its mirror image; so both press alike."""
    (s, one), (_, other) = (made(axis, flipped=flipped, stress1=0.8e6, stress2=0.1e6) for flipped in (False, True))
    for r in (one, other):
        split.step(r, 3)  # before anything reaches the sides of the box, which have no images
    plane = s.fault
    for name in (plane.normal, *plane.doubled, *plane.doubled_memory):
        whole = [
            np.array(r.view(name))[:, plane.index] if axis == "y" else np.array(r.view(name))[:, :, plane.index]
            for r in (one, other)
        ]
        pairs = [whole] if name == plane.normal else [
            (whole[0], np.array(other.view(high(name))).squeeze()), (np.array(one.view(high(name))).squeeze(), whole[1])
        ]  # fmt: skip
        for a, b in pairs:
            assert np.abs(a).max() > 0
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * np.abs(a).max(), err_msg=name)


def test_attenuation_takes_energy_of_a_fault_without_friction():
    s, r = made("y", friction=0.0, mu_s=0.0, mu_d=0.0, stress1=0.0, stress2=0.0)
    found = []
    for _ in range(6):
        split.step(r, 20)
        before = split.taken(s, r)
        split.step(r)
        found.append(split.energy(s, before, split.taken(s, r)))
    assert (np.diff(found) < 0).all() and 0.0 < found[-1] < 0.7 * found[0]


@pytest.mark.parametrize("axis", "xy")
@pytest.mark.parametrize("backend", ["cpu", "opencl"])
def test_backends_agree(axis, backend):
    if lacking := backends.missing(backend):
        pytest.skip(lacking)
    (s, one), (_, other) = made(axis, "numpy"), made(axis, backend)
    for r in (one, other):
        split.step(r, 12)
    for name in (*names(s), *(friction.array_at(n, "z") for n in ("slip1", "slip2", "friction", "work"))):
        a, b = np.array(one.view(name)), np.array(other.view(name))
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * np.abs(a).max(), err_msg=name)
        assert np.abs(a).max() > 0, name


def lossy(made, q=Q):
    return made | {"attenuation": {}, "material": {"constant": ROCK | q}}


@pytest.mark.parametrize("law", LAWS)
def test_a_uniform_fault_moves_as_its_law_says(law):
    """Points of the string have the mean of the eight mechanisms; the grid has one at each, so single points differ a little."""
    sim = fw.simulate(lossy(uniform(law, *LAWS[law])))
    sim.run(write=False)
    fault, plan = fault_of(sim), sim.solver.plan
    step, (mu, defect) = plan.scheme.step, (plan.medium.coefficients[n].flat[0] for n in ("mu_xy", "defect_s"))
    a, b = (table.reshape(8, 1) for table in memory_tables(plan.relaxation, step).values())
    memory = np.zeros((8, 60))

    def lost(change):
        before = memory.copy()
        memory[...] = a * before - b * float(defect) * change
        return (before + memory).mean(0)

    wanted = string(fault, step, plan.steps, float(mu), lost)
    assert abs(wanted["slip1"][0]) > 0.02
    assert middle(fault, "slip1") == pytest.approx(wanted["slip1"][0], rel=0.025)
    assert middle(fault, "peak_slip_rate") == pytest.approx(wanted["peak_slip_rate"][0], rel=0.03)


def test_a_fault_that_holds_is_no_fault_and_large_q_is_elastic():
    """Waves of a source cross a locked fault as they cross rock."""
    source = {
        "kind": "moment-tensor", "location": [-2000, -2700, -4000], "tensor": {"xy": 1e16, "xx": 1e16},
        "time_function": {"kind": "ricker", "duration": 2.0},
    }  # fmt: skip
    made = case(end_time=2.4, sources=[source])
    made["output"] = {"receivers": {"points": [[1500, 2600, -3000], [0, 1700, 0]], "interval": 0.1}}
    made["fault"]["parameters"]["constant"] = FRICTION | {"cohesion": -1e12}
    none = made | {"grid": {k: v for k, v in made["grid"].items() if k != "fault"}}
    del none["fault"]
    elastic, weak, strong, whole = (
        seismograms(m)[0] for m in (made, lossy(made, {"Qp": 2e4, "Qs": 2e4}), lossy(made), lossy(none))
    )
    size = np.abs(whole).max()
    assert np.abs(strong - whole).max() < 0.01 * size < 0.03 * size < np.abs(strong - elastic).max()
    assert np.abs(weak - elastic).max() < 5e-4 * size


def test_processes_and_a_checkpoint_keep_every_bit(tmp_path, monkeypatch):
    found = {n: lossy(asked(tmp_path / n)) | {"end_time": 0.3} for n in ("one", "three", "parts")}
    for m in found.values():
        m["output"]["checkpoint"] = {"interval": 0.1}
    fw.simulate(found["one"]).run()
    whole = everything(tmp_path / "one")
    done = launch(3, found["three"])
    assert done.returncode == 0, done.stderr
    same(tmp_path / "three", whole)
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    sim = fw.simulate(found["parts"])
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.15))
    fw.resume(tmp_path / "parts").run()
    same(tmp_path / "parts", whole)
