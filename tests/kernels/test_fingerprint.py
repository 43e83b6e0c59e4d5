"""A fingerprint tells kernels apart that are lowered to different text, and no others."""

from __future__ import annotations

import itertools

import numpy as np

from faultwave.backends.cpu.lower import lower
from faultwave.kernels import math as m
from faultwave.kernels.fingerprint import fingerprint
from faultwave.kernels.language import Kernel
from tests.messages import raises


def kernel(
    formula=lambda a, s: [[a[0] * s[0], a[1] + 1.0]],
    matrix=None,
    rows=4,
    columns=((0, 0), (1, 1)),
    accumulate=False,
    name="k",
):
    made = Kernel(name)
    x, y = made.batch("x", rows, 2), made.batch("y", rows, 2, "inout")
    s, t = made.scalar("s"), made.temp("t", rows, 2)
    made.pointwise(formula, [x, s], [t])
    made.contract(y, np.eye(rows) if matrix is None else matrix, t, columns, accumulate)
    return made


def iterated(factor, most):
    def formula(a, s):
        (found,) = m.iterate(lambda v: ((v - factor * (v * v - s[0]),), v * v > s[0]), (a[0],), most)
        return [[found, a[1]]]

    return formula


def conditional(threshold, inside):
    """One statement under a flag, and one that is there or outside."""
    made = Kernel("k")
    x, y, flag = made.batch("x", 1, 2), made.batch("y", 1, 2, "inout"), made.temp("flag", 1, 1)
    made.pointwise(lambda a: [[m.where(a[0] > threshold, 1.0, 0.0)]], [x], [flag])
    add = lambda: made.pointwise(lambda a, b: [[b[0] + a[0], b[1]]], [x, y], [y])  # noqa: E731
    made.when_any(flag, lambda: (made.contract(y, np.eye(1), x), add() if inside else None))
    if not inside:
        add()
    return made


CASES = [
    conditional(0.0, True), conditional(1.0, True), conditional(0.0, False),
    kernel(), kernel(lambda a, s: [[a[0] * s[0], a[1] + 2.0]]), kernel(lambda a, s: [[a[0] * s[0], a[1] - 1.0]]),
    kernel(lambda a, s: [[s[0] * a[0], a[1] + 1.0]]), kernel(lambda a, s: [[a[1] * s[0], a[0] + 1.0]]),
    kernel(lambda a, s: [[a[0] * s[0], m.where(a[1] < 0.0, a[1], -0.0 * s[0])]]),
    kernel(iterated(0.1, 5)), kernel(iterated(0.1, 6)), kernel(iterated(0.2, 5)),
    kernel(matrix=2.0 * np.eye(4)), kernel(rows=3), kernel(columns=((0, 1), (1, 0))), kernel(accumulate=True),
]  # fmt: skip


def test_other_text_has_another_fingerprint():
    texts = [lower(k, "double", 8) for k in CASES]
    found = [fingerprint(k) for k in CASES]
    for i, j in itertools.combinations(range(len(CASES)), 2):
        assert found[i] != found[j] or texts[i] == texts[j], (i, j)
    assert len(set(found)) == len(CASES)


def test_the_same_kernel_made_twice_has_one_fingerprint():
    assert fingerprint(kernel()) == fingerprint(kernel())
    assert fingerprint(kernel(iterated(0.1, 5))) == fingerprint(kernel(iterated(0.1, 5)))
    assert fingerprint(kernel(name="other")) != fingerprint(kernel())


def test_statements_that_it_does_not_know_are_refused():
    made = kernel()
    made.statements.append("surprise")
    with raises(TypeError):
        fingerprint(made)
