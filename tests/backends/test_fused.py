"""Sums of products in stencils: joined as the formula says, by every compiler, with layers beside them or without."""

from __future__ import annotations

import ctypes
import platform
from fractions import Fraction
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from faultwave.backends.cpu import compile as compilation
from faultwave.backends.cpu import stencil
from faultwave.backends.cpu.rows import FusedFormula
from faultwave.backends.grid import GridArrays
from faultwave.kernels.expr import Expr
from faultwave.kernels.stencil import Box, Launch, Layout, Program, Stencil
from tests.backends.test_widths import FAMILIES, assembly_of, needs_compiler

NAMES = "abcdh"
"""Inputs of formulas; the last is the same for a whole row."""


def value(name: str) -> Expr:
    return Expr("input", value=name)


def written(made: Expr) -> str:
    """The expression of a value, of which all others are inputs or products of them."""
    formula = FusedFormula({n: (n, n != "h") for n in NAMES}, "f")
    formula.emit(made)
    text = formula.scopes[1].lines[-1].split(" = ")[1].rstrip(";")
    for line in reversed([*formula.scopes[0].lines, *formula.scopes[1].lines[:-1]]):
        name, what = line.removeprefix("const V ").rstrip(";").split(" = ")
        text = text.replace(name, what)
    return text


def test_products_are_joined_with_sums_as_the_formula_says() -> None:
    a, b, c, d, h = map(value, NAMES)
    assert written(a * b + c) == "fused(a, b, c)"
    assert written(c + a * b) == "fused(a, b, c)"
    assert written(a * b - c) == "fused(a, b, -c)"
    assert written(c - a * b) == "fused(-a, b, c)"
    assert written(a * b + c * d) == "fused(a, b, c * d)", "the first of two products"
    assert written(a * b - c * d) == "fused(a, b, -c * d)"
    assert written(h * h + a) == "h * h + a", "the product is worked out once a row"
    assert written(h * a + b) == "fused(h, a, b)"
    assert written((a + b) * c) == "a + b * c", "a sum in a product is no sum of products"


def source(real: str, lanes: int) -> str:
    """C that hands a function ``fused`` of vectors to arrays."""
    head = "".join(
        resources.files("faultwave.backends.cpu").joinpath("include", f).read_text() for f in ("vector.h", "fused.h")
    )
    return (
        f"{compilation.AS_WRITTEN}#define R {real}\n#define LANES {lanes}\n#define R_IS_DOUBLE {int(real == 'double')}\n{head}\n"
        "void joined(const R *a, const R *b, const R *c, R *out) {\n"
        "  *(VU *)out = fused(*(const VU *)a, *(const VU *)b, *(const VU *)c);\n}\n"
        "void apart(const R *a, const R *b, const R *c, R *out) {\n"
        "  *(VU *)out = *(const VU *)a * *(const VU *)b + *(const VU *)c;\n}\n"
    )


@pytest.mark.parametrize("real", ("double", "float"))
def test_a_sum_of_a_product_is_rounded_once_where_the_processor_can(real: str) -> None:
    dtype = np.float64 if real == "double" else np.float32
    lanes = compilation.vector_bytes() // np.dtype(dtype).itemsize
    library = ctypes.CDLL(str(compilation.build([("fused", source(real, lanes))])["fused"]))
    rng = np.random.default_rng(1)
    a, b = (rng.uniform(1, 2, lanes).astype(dtype) for _ in range(2))
    c = -a * b  # what is left is the rounding of the product
    found = {}
    for name in ("joined", "apart"):
        out = np.zeros(lanes, dtype)
        getattr(library, name)(*(x.ctypes.data_as(ctypes.c_void_p) for x in (a, b, c, out)))
        found[name] = out
    assert not found["apart"].any(), "the compiler joined them by itself"
    exact = [
        float(Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))) for x, y, z in zip(a, b, c, strict=True)
    ]
    can = "#define __FMA__ " in compilation._macros() or platform.machine() == "aarch64"
    assert found["joined"].tolist() == (exact if can else [0.0] * lanes)
    assert any(exact)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("real", ("double", "float"))
def test_every_family_of_processors_compiles_it(family: str, real: str, tmp_path: Path) -> None:
    needs_compiler(family)
    width = FAMILIES[family][2]
    box = Box((0, 0, 0), (4, 4, 8))
    made = Stencil("one", lambda p: {"a": p.at("a") * p.at("a", x=1) - p.at("a", x=2)})
    program = Program("one", box, {"a": Layout(box)}, [[Launch(made, box)]], {})
    dtype = np.float64 if real == "double" else np.float32
    lanes = width // np.dtype(dtype).itemsize
    text = stencil.lower(program, GridArrays(program, dtype, lanes), lanes)
    assembly = assembly_of(text, family, tmp_path, compilation.EXACT)
    joins = {"sse2": None, "avx2": "vfm", "avx512": "vfm", "neon": "fml"}[family]
    assert joins is None or joins in assembly
