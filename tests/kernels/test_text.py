"""Kernels as text and their costs, against counts by hand."""

import numpy as np

from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel
from faultwave.kernels.text import cost, formulas_text, statements_text


def small() -> Kernel:
    """y = A x for two of three columns, then z = sqrt(y0 y0 + s) twice, in a loop of three rounds with a gather."""
    k = Kernel("small")
    x, y = k.batch("x", 4, 3), k.batch("y", 2, 2, "inout")
    store, index = k.store("store", 2, 2), k.index("where", 2)
    s, z = k.scalar("s", 3), k.temp("z", 2, 1)
    matrix = np.array([[1.0, 0.0, 0.0, 2.0], [0.0, 3.0, 0.0, 0.0]])
    k.contract(y, matrix, x, [(0, 1), (2, 0)])

    def body(i):
        k.gather(y, store, index, 1)
        k.pointwise(lambda y, s: [[m.sqrt(y[0] * y[0] + s[0]) + m.sqrt(y[0] * y[0] + s[0])]], [y, s.view(i, 1)], [z])

    k.repeat("i", 3, body)
    k.scatter(z, store, index, 0, accumulate=True)
    return k


def test_cost_by_hand():
    # contraction: 3 nonzeros, 2 columns; formula: mul, add, sqrt once (equal terms merge), add: 4, on 2 rows, 3 times
    # bytes: x 12, y 4 in and out, 2 indices; gather 4 numbers three times; scatter 2 numbers in and out
    work = cost(small())
    assert work.flops == 2 * 3 * 2 + 4 * 2 * 3
    assert work.bytes == 8 * (12 + 2 * 4 + 2 + 3 * 4 + 2 * 2)
    assert cost(small(), 4).bytes == 4 * (12 + 2 * 4 + 3 * 4 + 2 * 2) + 8 * 2


def test_a_kernel_in_double_costs_the_same_in_single():
    k = Kernel("fixed", fixed=True)
    k.pointwise(lambda a: [[a[0] + 1.0]], [k.batch("a", 5, 1)], [k.batch("b", 5, 1, "out")])
    assert cost(k, 4) == cost(k, 8)
    assert cost(k).flops == 5


def test_a_dense_matrix_given_at_launch():
    k = Kernel("dense")
    a, b, phi = k.batch("a", 3, 2), k.batch("b", 4, 2, "out"), k.matrix("phi", 4, 3)
    k.contract(b, phi, a)
    assert cost(k).flops == 2 * 12 * 2
    assert "b = phi (4 x 3, 12 nonzeros) @ a" in statements_text(k)


def test_statements():
    lines = statements_text(small()).splitlines()
    assert lines[0] == "kernel small"
    assert "  batch  y     (2, 2) inout" in lines
    assert "  y = (2 x 4, 3 nonzeros) @ x, columns 0->1, 2->0" in lines
    assert lines[-4:] == [
        "  for i in 0..2:",
        "    y = store[where[1]]",
        "    z = formula 1(y, s[i, :])",
        "  store[where[0]] += z",
    ]


def test_formulas_merge_equal_terms():
    text = formulas_text(small())
    assert text.count("sqrt(") == 1
    assert "t1 = y.0 * y.0" in text
    assert "z.0 = t4" in text


def test_an_iteration_is_listed_once():
    def newton(a):
        x, _ = m.iterate(lambda x, n: ((0.5 * (x + a[0] / x), n + 1.0), x * x - a[0] > 1e-9), (a[0], 0.0 * a[0]), 20)
        return [[x + x]]

    k = Kernel("root")
    k.pointwise(newton, [k.batch("a", 1, 1)], [k.batch("b", 1, 1, "out")])
    text = formulas_text(k)
    assert text.count("repeat at most 20 times, x1 from (a.0, 0)") == 1
    assert cost(k).flops == sum(" = " in line and " t" in line for line in text.splitlines() if line.strip()[0] == "t")
