"""Rates by the model: below the bounds, and moved by what should move them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from faultwave.backends.device.model import LATENCY, PHASE, modelled, streamed
from faultwave.backends.device.schedule import plan
from faultwave.backends.device.target import TARGETS
from faultwave.dg.method.forms import form
from faultwave.dg.operators import kernels
from faultwave.kernels.count import cost
from faultwave.kernels.language import Kernel
from faultwave.physics import waves as laws

H200 = TARGETS["sm_90"]


def doubled() -> Kernel:
    """Two numbers of an item times two, through fast memory: read, multiplied, added up, written."""
    k = Kernel("doubled")
    q, total = k.batch("q", 2, 1, "inout"), k.temp("total", 2, 1)
    k.pointwise(lambda x: [[2.0 * x[0]]], [q], [total])
    k.pointwise(lambda x, t: [[x[0] + t[0]]], [q, total], [q])
    return k


def test_a_kernel_by_hand() -> None:
    """Three phases, of which the first waits for memory: the argument is copied near, the formulas go row by row, it is copied back. Fast
    memory sees seven numbers a row: in, read, the product, both read again, the sum, out."""
    made = plan(doubled(), H200, False)
    moved, flops = 2 * 2 * 8, 2 * 2
    assert [len(p) for p in made.phases] == [1, 2, 1] and len(made.places) == 2
    for groups in (1, 4, 64):
        found = modelled(made, groups, moved, flops)
        assert found.near == 2 * 7 * 8
        per = H200.units * H200.clock
        work = [
            made.share * x for x in (moved * per / H200.bandwidth, flops * per / H200.peak[0], found.near / H200.near)
        ]
        alone = (LATENCY + 3 * PHASE + sum(work)) / groups
        assert found.rate == pytest.approx(per * made.share / max(alone, *work))
        assert found.limit == ("memory" if work[0] >= alone else "waiting")
    assert found.limit == "memory" and found.rate == pytest.approx(H200.roof(moved, flops, False))


@pytest.mark.parametrize("order", (4, 6))
@pytest.mark.parametrize("single", (False, True))
def test_the_update_on_an_h200(order: int, single: bool) -> None:
    """Above what is wanted of it, below the bound; more groups, memory or fast memory make it no slower."""
    kernel = kernels.correct_and_predict(form(laws.law("elastic"), order))
    made, c = plan(kernel, H200, single), cost(kernel)
    moved = c.bytes(4 if single else 8, 4)
    found = modelled(made, made.groups, moved, c.flops)
    wanted = {4: 150e6, 6: 45e6}[order] * (1.8 if single else 1.0)
    assert wanted < found.rate < H200.roof(moved, c.flops, single)
    assert modelled(made, 1, moved, c.flops).rate < found.rate <= modelled(made, 8, moved, c.flops).rate
    for better in (replace(H200, near=256), replace(H200, bandwidth=2 * H200.bandwidth)):
        assert modelled(replace(made, target=better), made.groups, moved, c.flops).rate > found.rate
    # All of a number's ways through fast memory, read off the statements: more than once in and out of every argument.
    assert found.near > moved


def test_threads_of_a_stencil_wait_for_themselves() -> None:
    busy, alone = (streamed(H200, threads, 54, 57, True) for threads in (1024, 32))
    assert busy.limit == "memory" and busy.rate == pytest.approx(H200.roof(54, 57, True))
    assert alone.limit == "waiting" and alone.rate == pytest.approx(32 / LATENCY * H200.units * H200.clock, rel=0.02)


def test_targets_know_their_units() -> None:
    """Peaks of data sheets are so many operations a cycle of each multiprocessor."""
    for name, t in TARGETS.items():
        if name != "opencl":
            each = [p / (t.units * t.clock) for p in t.peak]
            assert all(2 <= e <= 520 for e in each), (name, each)
