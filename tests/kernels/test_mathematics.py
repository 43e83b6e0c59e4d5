"""Printed formulas: names, order of assignments, and the numbers that they give."""

import math
import re

import numpy as np
import pytest

from faultwave.bench.grids.kernel_report import all_launches
from faultwave.bench.kernel_report import all_kernels
from faultwave.kernels import math as mth
from faultwave.kernels.fingerprint import fingerprint
from faultwave.kernels.language import Kernel, Pointwise
from faultwave.kernels.mathematics import _stencil_input, _write_formula, write_kernel, write_stencil
from faultwave.kernels.stencil import Stencil, record
from faultwave.kernels.values import Numbering
from tests.messages import raises

FUNCTIONS = {
    name: getattr(math, name) for name in ("sqrt", "exp", "log", "log1p", "expm1", "sinh", "cosh", "tanh", "asinh", "erf", "hypot", "pow")
} | {"abs": abs, "minimum": min, "maximum": max}  # fmt: skip


def identifier(name):
    """A Python name for a printed quantity."""
    return re.sub(r"\W", lambda c: {"+": "p", "-": "m"}.get(c[0], "_"), name)


def evaluate(outputs, read):
    """Execute printed assignments; return the outputs' values and those of the recorded formula at the same random inputs."""
    lines = _write_formula(outputs, lambda key: identifier(read(key)))
    assert not any("times, while" in line for line in lines)
    numbering = Numbering()
    numbers = [numbering.number(value) for _, value in outputs]
    rng = np.random.default_rng(5)
    inputs, values = {}, []
    for v in numbering.values:
        if v.op == "input":
            values.append(inputs.setdefault(identifier(read(v.content)), rng.uniform(0.5, 1.5)))
        else:
            values.append(_apply(v.op, [values[a] for a in v.args], v.content))
    scope = dict(inputs) | {f"old_{name}": x for name, x in inputs.items()}
    exec("\n".join(lines).replace("old ", "old_"), dict(FUNCTIONS), scope)  # text that this test has printed itself
    return [scope[identifier(name)] for name, _ in outputs], [values[n] for n in numbers]


def _apply(op, args, content):
    match op:
        case "const":
            return content
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul":
            return args[0] * args[1]
        case "div":
            return args[0] / args[1]
        case "neg":
            return -args[0]
        case "lt":
            return args[0] < args[1]
        case "le":
            return args[0] <= args[1]
        case "and":
            return args[0] and args[1]
        case "or":
            return args[0] or args[1]
        case "not":
            return not args[0]
        case "where":
            return args[1] if args[0] else args[2]
    return FUNCTIONS[op](*args)


STENCILS = (
    "velocity",
    "stress_q",
    "stress_layer_xyz_along",
    "stress_surface",
    "velocity_cap",
    "stress_cap_q_near_surface",
    "slope_forces",
)


@pytest.mark.parametrize("name", STENCILS)
def test_printed_stencils_compute_what_is_recorded(name):
    _, writes = record(all_launches()[name].launch.stencil)
    printed, recorded = evaluate(list(writes.items()), _stencil_input)
    np.testing.assert_allclose(printed, recorded, rtol=1e-11)


@pytest.mark.parametrize("law", ["elastic", "acoustic", "maxwell", "viscoelastic"])
@pytest.mark.parametrize("name", ["correct_and_predict", "energies"])
def test_printed_cell_formulas_compute_what_is_recorded(law, name):
    kernel = all_kernels(2, law)[name]
    statements = [s for s in kernel.statements if isinstance(s, Pointwise)]
    assert statements
    for s in statements:

        def column(key, s=s):
            view = s.ins[key[0]]
            return f"{view.array.name}_{view.row}_{view.col + key[1]}"

        outputs = [
            (f"{v.array.name}_{v.row}_{v.col + c}", x)
            for v, columns in zip(s.outs, s.recorded(), strict=True)
            for c, x in enumerate(columns)
        ]
        printed, recorded = evaluate(outputs, column)
        np.testing.assert_allclose(printed, recorded, rtol=1e-11)


def test_a_stencil_is_printed_with_the_names_of_its_derivatives():
    lines = write_stencil(all_launches()["velocity"].launch.stencil)
    assert lines[0] == "dsxx_dx = c1s * (sxx[x+1] - sxx) + c2s * (sxx[x+2] - sxx[x-1])"
    assert lines[3] == "u += b_x * (dsxx_dx + dsxy_dy + dsxz_dz)"


def test_values_before_and_after_an_assignment_differ():
    lines = write_stencil(Stencil("swap", lambda p: {"a": p.at("b") + 1.0, "b": 2.0 * p.at("a") * (p.at("b") + 1.0)}))
    assert lines == ["a = b + 1", "b = 2 * old a * a"]


def test_parentheses_and_signs():
    def function(p):
        a, b, c = (p.scalar(n) for n in "abc")
        return {"x": a - (b - c), "y": a / (b * c), "z": -(a + b) * c, "w": a + -2.0 * b, "v": mth.where(a < b, a, -b)}

    assert write_stencil(Stencil("s", function)) == [
        "x = a - (b - c)", "y = a / (b * c)", "z = -(a + b) * c", "w = a - 2 * b", "v = a if a < b else -b",
    ]  # fmt: skip


def test_iterations_are_printed_with_their_condition():
    def function(p):
        def step(x):
            new = 0.5 * (x + p.scalar("a") / x)
            return (new,), mth.abs(new - x) > 1e-12

        return {"root": mth.iterate(step, (p.scalar("a"),), 30)[0]}

    lines = write_stencil(Stencil("root", function))
    assert lines == [
        "iterate = a", "at most 30 times, while 1e-12 < abs(t1 - iterate):", "  t1 = 0.5 * (iterate + a / iterate)", "  iterate = t1",
        "root = iterate",
    ]  # fmt: skip


@pytest.mark.parametrize("law", ["elastic", "acoustic", "anisotropic", "maxwell", "poroelastic", "viscoelastic"])
def test_every_kernel_can_be_printed(law):
    for kernel in all_kernels(2, law).values():
        lines = write_kernel(kernel)
        assert len(lines) >= len(kernel.statements)


def test_quantities_of_cells_have_names():
    text = "\n".join(write_kernel(all_kernels(2, "elastic")["predict"]))
    assert "divergence = after.gradient_xx + after.gradient_yy + after.gradient_zz" in text.replace("after[0]", "after")
    assert not re.search(r"\b(q|cell|face\[\d\]|after|trace)\.\d", text)


def test_names_do_not_change_a_kernel():
    def made(named):
        k = Kernel("k")
        a, b = k.batch("a", 2, 2), k.batch("b", 2, 2, "out")
        k.pointwise(lambda x: [[mth.named("twice", x[0] + x[0]), x[1]]] if named else [[x[0] + x[0], x[1]]], [a], [b])
        if named:
            k.name_columns(("p", "q"), a, b)
        return k

    assert fingerprint(made(True)) == fingerprint(made(False))
    with raises(ValueError):
        k = made(False)
        k.name_columns("xyz", k.arrays["a"])
