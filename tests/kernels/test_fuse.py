"""Several kernels in one pass: the same numbers as one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.kernels import math as m
from faultwave.kernels.count import cost
from faultwave.kernels.language import Kernel, fuse
from tests.backends.here import present
from tests.messages import raises

MODES, POINTS, ITEMS = 10, 14, 32
RNG = np.random.default_rng(4)
LIFT, DERIVE = RNG.normal(size=(MODES, MODES)), np.tril(RNG.normal(size=(MODES, MODES)), -1)
AT_POINTS = RNG.normal(size=(POINTS, MODES))
TO_MODES = np.linalg.pinv(AT_POINTS)


def correct() -> Kernel:
    """Add to the modes what arrived through an index."""
    k = Kernel("correct")
    q, slot, waves = k.batch("q", MODES, 3, "inout"), k.index("slot"), k.store("waves", MODES, 3)
    arrived = k.temp("arrived", MODES, 3)
    k.gather(arrived, waves, slot)
    k.contract(q, LIFT, arrived, accumulate=True)
    return k


def limit() -> Kernel:
    """At points, vectors longer than what the item allows are shortened to that, and remember by how much: a return map."""
    k = Kernel("limit")
    q, allowed = k.batch("q", MODES, 3, "inout"), k.batch("allowed", 1, 1)
    lost = k.batch("lost", POINTS, 1, "inout")
    here = k.temp("at_points", POINTS, 3)

    def shortened(v: Any, a: Any, lost: Any) -> Any:
        length = m.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
        factor = m.where(length > a[0], a[0] / length, 0.0 * length + 1.0)
        return [[factor * x for x in v], [lost[0] + (1.0 - factor) * length]]

    k.contract(here, AT_POINTS, q)
    k.pointwise(shortened, [here, allowed, lost], [here, lost])
    k.contract(q, TO_MODES, here)
    return k


def damp() -> Kernel:
    k = Kernel("damp")
    q, factor = k.batch("q", MODES, 3, "inout"), k.scalar("factor")
    k.pointwise(lambda q, f: [[f[0] * x for x in q]], [q, factor], [q])
    return k


def predict() -> Kernel:
    """Derivatives of the modes, out through the index."""
    k = Kernel("predict")
    q, slot, sent = k.batch("q", MODES, 3, "in"), k.index("slot"), k.store("sent", MODES, 3, "out")
    derived = k.temp("derived", MODES, 3)
    k.contract(derived, DERIVE, q)
    k.scatter(derived, sent, slot)
    return k


def run(kernels: list[Kernel], name: str, precision: str) -> dict[str, np.ndarray]:
    """What the kernels leave, one after the other."""
    backend = backends.make(name, precision, 1)
    rng = np.random.default_rng(7)
    memory: dict[str, Any] = {
        "slot": backend.index(rng.permutation(np.arange(ITEMS))[:, None]),
        "waves": backend.store(ITEMS, MODES * 3),
        "sent": backend.store(ITEMS, MODES * 3),
        "q": backend.batch(ITEMS, MODES, 3),
        "allowed": backend.batch(ITEMS, 1, 1),
        "lost": backend.batch(ITEMS, POINTS, 1),
    }
    memory["waves"].put(rng.normal(size=(ITEMS, MODES * 3)))
    memory["q"].put(rng.normal(size=(ITEMS, MODES, 3)))
    memory["allowed"].put(rng.uniform(0.0, 20.0, (ITEMS, 1, 1)))
    made = backend.compile(kernels)
    for k in kernels:
        scalars = {"factor": 0.9} if k.scalars else {}
        made[k.name]({a.name: memory[a.name] for a in k.arguments})(0, ITEMS, **scalars)
    backend.finish()
    return {n: memory[n].get() for n in ("q", "lost", "sent")}


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", present(backends.names()))
def test_statements_between_two_kernels_run_inside_the_fused_one(name: str, precision: str) -> None:
    """To the last bit: correct, limit at points, damp, predict in one pass, and each by itself."""
    parts = [correct(), limit(), damp(), predict()]
    one, each = run([fuse("fused", *parts)], name, precision), run(parts, name, precision)
    assert 0.1 < np.mean(each["lost"] > 0.0) < 0.9 and np.any(each["sent"])
    for what in each:
        np.testing.assert_array_equal(one[what], each[what], err_msg=what)
    tolerance = {"double": 1e-12, "single": 3e-5}[precision]
    for what, want in run(parts, "numpy", precision).items():
        np.testing.assert_allclose(one[what], want, atol=tolerance * np.abs(want).max())


def test_a_fused_kernel_moves_shared_arguments_once() -> None:
    parts = [correct(), limit(), damp(), predict()]
    fused = fuse("fused", *parts)
    assert cost(fused).flops == sum(cost(p).flops for p in parts)
    # q in and out, allowed in, lost in and out, slot, waves in, sent out
    assert cost(fused).numbers == 2 * MODES * 3 + 1 + 2 * POINTS + 1 + MODES * 3 + MODES * 3
    assert fused.arrays["q"].intent == "inout" and fused.arrays["waves"].intent == "in"
    assert len(fuse("alone", damp()).statements) == 1


def test_refuses_names_that_mean_two_things() -> None:
    other = Kernel("other")
    other.batch("q", MODES, 2)
    with raises(ValueError):
        fuse("fused", correct(), other)
    table = Kernel("table")
    table.scalar("factor", changing=True)
    with raises(ValueError):
        fuse("fused", damp(), table)
    with raises(ValueError):
        fuse("fused", damp(), Kernel("fixed", fixed=True))
