"""How kernels are laid out for a device: temporaries split, phases, fast memory."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from faultwave.backends.device.compilers import Built
from faultwave.backends.device.lower import lower
from faultwave.backends.device.schedule import Plan, plan
from faultwave.backends.device.target import TARGETS, Target
from faultwave.backends.device.tasks import every, split_temporaries, tasks_of
from faultwave.base.errors import BackendError
from faultwave.dg.method.forms import form
from faultwave.dg.operators import kernels
from faultwave.kernels.language import Kernel
from faultwave.physics import waves as laws

H200 = TARGETS["sm_90"]


def doubled(x: Any) -> Any:
    return [[2.0 * y for y in x]]


def faces() -> Kernel:
    """One temporary for two things one after the other, as for the faces of a cell."""
    k = Kernel("faces")
    q, out, local = k.batch("q", 4, 2), k.batch("out", 4, 2, "inout"), k.temp("local", 4, 2)
    for i in range(2):
        k.contract(local, np.eye(4) + i, q)
        k.pointwise(doubled, [local], [out.view(2 * i, 2)], rows=2)
    return k


def test_a_temporary_used_twice_becomes_two_in_one_phase() -> None:
    tasks, arrays = split_temporaries(faces(), tasks_of(faces()))
    assert sorted(arrays) == ["local.0", "local.1"]
    made = plan(faces(), H200, False)
    working = [phase for phase in made.phases if any(p.task.work.__class__.__name__ == "Product" for p in phase)]
    assert len(working) == 1 and len(working[0]) == 2


def test_what_is_read_before_it_is_written_again_stays_one() -> None:
    k = Kernel("sums")
    q, out, local = k.batch("q", 3, 1), k.batch("out", 3, 1, "out"), k.temp("local", 3, 1)
    k.contract(local, np.eye(3), q)
    k.pointwise(doubled, [local.view(0, 1)], [local.view(0, 1)])  # a part changes, the rest stays
    k.pointwise(doubled, [local], [out])
    assert sorted(split_temporaries(k, tasks_of(k))[1]) == ["local.0"]


def test_products_into_the_same_columns_are_one() -> None:
    k = Kernel("gradient")
    q, after = k.batch("q", 4, 3), k.temp("after", 4, 2)
    for i in range(3):
        k.contract(after, np.eye(4), q, [(i, 0)], accumulate=i > 0)
        k.contract(after, np.eye(4), q, [(i, 1)], accumulate=False)
    products = [t.work for t in tasks_of(k)]
    assert [len(p.terms) for p in products] == [3, 1, 1, 1]  # type: ignore[union-attr]
    # Where something between reads what is being summed, they are not.
    k = Kernel("between")
    q, after, seen = k.batch("q", 4, 3), k.temp("after", 4, 1), k.temp("seen", 4, 1)
    k.contract(after, np.eye(4), q, [(0, 0)])
    k.pointwise(doubled, [after], [seen])
    k.contract(after, np.eye(4), q, [(1, 0)], accumulate=True)
    assert len(tasks_of(k)) == 3


def wave_kernels(order: int) -> list[Kernel]:
    f = form(laws.law("elastic"), order)
    return [
        kernels.predict(f, kernels.StoringVariant(fault=True)),
        kernels.correct(f),
        kernels.correct_and_predict(f),
        kernels.correct_and_predict(f, kernels.StoringVariant(fault=True)),
        kernels.correct_and_predict(f, kernels.StoringVariant(derivatives=False, parts=2), to_slower=True),
    ]


@pytest.mark.parametrize("name, order, single", (("sm_80", 6, True), ("sm_90", 4, False), ("gfx90a", 5, False)))
def test_plans_of_wave_kernels_fit_and_wait(name: str, order: int, single: bool) -> None:
    target = TARGETS[name]
    for kernel in wave_kernels(order):
        if kernel.name != "predict_keep":  # a part of correct_and_predict_keep
            made = plan(kernel, target, single)
            assert made.shared <= target.shared and made.threads <= target.threads and made.lanes % made.share == 0
            check_phases(made)


def check_phases(made: Plan) -> None:
    """Tasks of one phase wait for nothing but what their own thread did; arrays in use at once never overlap."""
    live: dict[str, set[int]] = {}
    for number, phase in enumerate(made.phases):
        for i, placed in enumerate(phase):
            for other in phase[:i]:
                waits, own = placed.task.after(other.task)
                assert not waits or (own and placed.worker == other.worker)
            for t in every([placed.task]):
                for r in (*t.reads, *t.writes):
                    live.setdefault(r.name, set()).add(number)
    places = {n: p for n, p in made.places.items() if n in live}
    for one, a in places.items():
        for two, b in places.items():
            apart_in_time = max(live[one]) < min(live[two]) or max(live[two]) < min(live[one])
            assert one == two or apart_in_time or a.end <= b.offset or b.end <= a.offset, (one, two)
    assert max(p.end for p in places.values()) * made.size == made.shared


@pytest.mark.parametrize("name", ("opencl", "sm_90", "gfx90a"))
def test_workers_share_every_loop_without_dividing(name: str) -> None:
    """Each row belongs to one worker, wherever its loop begins, in kernels of which the workers do several things at once. The
    start is no remainder: PoCL's compiler then left out the second turn of loops."""
    rotated = 0
    for kernel in (two_at_once(21, 33), *wave_kernels(4)):
        text, made = lower(kernel, TARGETS[name], False)
        for variable, start, count, step in re.findall(r"for \(int ([rkn]) = (.*?); \1 < (\d+); \1 \+= (\d+)\)", text):
            assert int(step) == made.workers and "%" not in start, start
            first = start.replace(" + skip", "").strip("()")
            condition = re.fullmatch(r"(.*) \? (.*) : (.*)", first)
            rotated += condition is not None
            python = "{1} if {0} else {2}".format(*condition.groups()) if condition else first
            starts = [eval(python, {"worker": worker}) for worker in range(made.workers)]
            rows = [row for begin in starts for row in range(begin, int(count), made.workers)]
            assert sorted(rows) == list(range(int(count))) and min(starts) == 0, (kernel.name, variable, start)
    assert rotated > 1


def two_at_once(rows: int, points: int) -> Kernel:
    """A contraction with a matrix given at launch beside another thing."""
    k = Kernel("two_at_once", fixed=True)
    a, b, out = k.batch("a", points, 3), k.batch("b", points, 1, "inout"), k.batch("out", rows, 3, "out")
    matrix, near, sums = k.matrix("matrix", rows, points), k.temp("near", points, 3), k.temp("sums", rows, 3)
    k.pointwise(doubled, [a], [near])
    k.pointwise(doubled, [b], [b])
    k.contract(sums, matrix, near)
    k.pointwise(doubled, [sums], [out])
    return k


def test_what_does_not_fit_is_told_with_numbers() -> None:
    tiny = Target("tiny", "opencl", 2048, 4096)
    with pytest.raises(BackendError, match=r"correct_and_predict needs \d+ bytes .* has 2048; .*cpu backend"):
        plan(wave_kernels(4)[2], tiny, False)


def test_a_smaller_share_where_fast_memory_is_small() -> None:
    turn = wave_kernels(4)[2]
    assert plan(turn, TARGETS["gfx90a"], False).share < plan(turn, H200, False).share == 16
    assert plan(turn, H200, True).share == 32


def test_launch_bounds_are_counted_as_each_compiler_does() -> None:
    """Groups a multiprocessor for CUDA; waves of 64 threads on each of four units for HIP."""
    assert H200.bound(18, 64) == 18
    amd = TARGETS["gfx90a"]
    assert [amd.bound(g, t) for g, t in ((18, 64), (4, 256), (2, 256), (1, 64), (64, 64))] == [4, 4, 2, 1, 8]
    narrow = kernels.samples(form(laws.law("elastic"), 2), 1)
    text, made = lower(narrow, amd, False)
    assert made.threads != 256 and f"KERNEL({made.threads}, {amd.bound(made.groups, made.threads)}) void" in text
    waves = amd.bound(made.groups, made.threads)
    assert 512 // waves >= 64, "registers of a thread"


def test_small_multiprocessors_hold_fewer_threads() -> None:
    k = Kernel("few")
    q = k.batch("q", 1, 1, "inout")
    k.pointwise(doubled, [q], [q])
    for arch, threads in (("sm_86", 1536), ("sm_89", 1536), ("sm_90", 2048)):
        made = plan(k, TARGETS[arch], False)
        assert TARGETS[arch].resident == threads and made.groups * made.threads <= threads
        built = Built(made, 16, 0, 0, 1)
        assert built.groups * made.threads <= threads and built.occupancy <= 1.0
    full = Built(made, 16, 0, 0, 1)
    assert full.groups == min(228 * 1024 // (made.shared + 1024), 65536 // (16 * made.threads), 2048 // made.threads)
