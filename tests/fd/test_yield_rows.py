"""Rows of yielding rock that are left out: they change no bit, and they are left out indeed."""

import numpy as np
import pytest

from faultwave.fd.rheology.yielding import LOST_SHARE, YIELD_DISTANCE, distance_to_yield
from faultwave.physics.rheology import STRESS, rheology
from faultwave.run import simulate

from .test_plasticity import LATERAL, yielding

LAW = rheology("drucker-prager")
STRONG = "1.5e5"


def run(cohesion, room=None, steps=40):
    """A runner after some steps; ``room``: of all rows instead of what they have."""
    operator = simulate(yielding(cohesion)).solver.operator
    if room is not None:
        operator.runner.view(YIELD_DISTANCE)[...] = room
    operator.advance(steps)
    return operator.runner


@pytest.mark.parametrize("cohesion", [STRONG, LATERAL])
def test_rows_left_out_change_no_bit(cohesion):
    found, every = run(cohesion), run(cohesion, -1.0)
    lost = found.values("eta") > 0
    assert 0 < lost.mean() < 0.5 and not lost.any((0, 2)).all()
    moving = [n for n, layout in found.program.arrays.items() if layout.kind == "grid" and not layout.half]
    for name in set(moving) - {YIELD_DISTANCE}:
        assert np.array_equal(found.values(name), every.values(name), equal_nan=True), name


def test_rows_that_are_said_never_to_yield_are_left_out():
    assert run(LATERAL).values("eta").any()
    assert not run(LATERAL, np.nan, 1).values("eta").any()
    found = run(LATERAL, np.nan)
    assert not found.values(LOST_SHARE).any() and not found.values("eta").any()


def test_what_others_write_is_seen():
    """A share that was lost before, as from a checkpoint, is looked at again though waves are far from yield."""
    operator = simulate(yielding("1e9")).solver.operator
    operator.advance(2)
    operator.runner.view(LOST_SHARE)[7, 8, 7] = 0.5
    operator.advance(1)
    assert not operator.runner.values(LOST_SHARE).any()


def test_waves_within_the_room_make_no_point_yield():
    rng, count = np.random.default_rng(4), 4000
    given = {"strength": rng.uniform(1e5, 1e7, count), "slope": rng.uniform(0.0, 0.9, count)}
    rest = {n: rng.uniform(-3e6, 1e6, count) for n in STRESS}
    room = distance_to_yield(LAW, given, {}, rest)
    safe = room > 0
    assert 0.2 < safe.mean() < 1.0
    change = rng.normal(size=(count, 6))
    size = np.sqrt((change[:, :3] ** 2).sum(1) + 2.0 * (change[:, 3:] ** 2).sum(1))
    change *= (np.sqrt(np.maximum(room, 0.0)) / size)[:, None]
    whole = {n: (rest[n] + change[:, k]).astype(np.float32) for k, n in enumerate(STRESS)}
    p = {n: v.astype(np.float32) for n, v in given.items()}
    assert not LAW.yields(p, {}, whole, {}, 1.0)[safe].any()
    assert LAW.yields(p, {}, {n: (4.0 * v).astype(np.float32) for n, v in whole.items()}, {}, 1.0).any()
