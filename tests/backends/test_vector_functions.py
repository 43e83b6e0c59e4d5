"""The vector functions of the cpu backend against NumPy, to the ends of their range."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.kernels import math as m
from faultwave.kernels.language import Kernel

PRECISIONS = ("double", "single")
ONE = (
    "sqrt",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "asin",
    "atan",
    "sin",
    "cos",
    "erf",
    "abs",
)
TWO = ("minimum", "maximum", "pow", "hypot")
# Units in the last place by which a function may differ from NumPy's (one where nothing is said).
ULPS = {"exp": 3, "log": 3, "log1p": 4, "expm1": 6, "sinh": 8, "cosh": 6, "tanh": 8, "asinh": 6, "hypot": 3, "erf": 5}


def run(function: Any, inputs: list[np.ndarray], outputs: int, precision: str, name: str) -> np.ndarray:
    """``function`` of the columns ``inputs`` on the cpu backend, (n, outputs)."""
    backend: Any = backends.make("cpu", precision, 1)
    size = len(inputs[0])
    padded = size + -size % backend.lanes
    k = Kernel(name)
    given, made = k.batch("given", 1, len(inputs)), k.batch("made", 1, outputs, "out")
    k.pointwise(lambda x: [function(*x)], [given], [made])
    buffers = {"given": backend.batch(padded, 1, len(inputs)), "made": backend.batch(padded, 1, outputs)}
    buffers["given"].put(np.stack(inputs, 1)[:, None], np.arange(size))
    backend.compile([k])[name](buffers)(0, padded)
    return buffers["made"].get(np.arange(size))[:, 0]


def samples(dtype: type) -> np.ndarray:
    """Numbers of every size and sign, the special ones, and those around which formulas change."""
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    top = np.log(float(info.max))
    low = np.log(float(info.smallest_subnormal))
    sizes = np.concatenate([10.0 ** rng.uniform(np.log10(info.tiny), np.log10(info.max), 400), rng.uniform(0, 3, 400)])
    edges = np.concatenate(
        [top + np.linspace(-2, 1.5, 60), -low + np.linspace(-40, 2, 60), top / 2 + np.linspace(-2, 2, 9)]
    )
    special = [0.0, info.tiny, info.smallest_subnormal, info.smallest_subnormal * 9, info.tiny / 3, info.eps, info.max,
               0.5, 1.0, np.nextafter(dtype(1), dtype(0)), np.sqrt(0.5), np.sqrt(2.0), np.inf, 1e12, 2e12]  # fmt: skip
    positive = np.concatenate([sizes, edges, special])
    return np.concatenate([positive, -positive, [np.nan]]).astype(dtype)


def reference(function: Any, *x: np.ndarray) -> np.ndarray:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return np.asarray(function(*x))


def assert_close(name: str, got: np.ndarray, want: np.ndarray, ulps: float, x: tuple[np.ndarray, ...]) -> None:
    info = np.finfo(got.dtype)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(all="ignore"):
        spacing = np.maximum(np.abs(want.astype(np.longdouble)) * info.eps, info.smallest_subnormal)
        near = np.abs(got.astype(np.longdouble) - want.astype(np.longdouble)) <= ulps * spacing
    bad = np.flatnonzero(~(same | near))
    show = [(*(v[i] for v in x), got[i], want[i]) for i in bad[:8]]
    assert not len(bad), f"{name}: {len(bad)} differ, arguments, got, wanted: {show}"


@pytest.fixture(scope="module", params=PRECISIONS)
def every_function(request: Any) -> tuple[np.ndarray, np.ndarray]:
    x = samples({"double": np.float64, "single": np.float32}[request.param])
    got = run(lambda a: [getattr(m, f)(a) for f in ONE], [x], len(ONE), request.param, "functions")
    return x, got


@pytest.mark.parametrize("function", ONE)
def test_function_of_one_number(every_function: tuple[np.ndarray, np.ndarray], function: str) -> None:
    x, got = every_function
    assert got.dtype == x.dtype
    # NumPy's own single functions are good to a few units only: the truth is the double one, rounded.
    want = reference(getattr(m, function), x.astype(np.float64)).astype(x.dtype)
    assert_close(function, got[:, ONE.index(function)], want, ULPS.get(function, 1), (x,))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("x", [-50.0, -1e300, -np.inf, -1e-20, 1e-30, 0.0, -0.0, np.nan, 1.0], ids=str)
def test_functions_of_registers_full_of_one_number(precision: str, x: float) -> None:
    """Where every number of a register is alike, functions may take a short way: to the very same value."""
    dtype = {"double": np.float64, "single": np.float32}[precision]
    with np.errstate(over="ignore"):
        alike = np.full(64, x, dtype)
    mixed = np.where(np.arange(64) % 4 == 0, alike, dtype(0.3))

    def both(a: Any) -> list[Any]:
        return [m.expm1(a), m.log(a)]

    got, among = (run(both, [v], 2, precision, "registers") for v in (alike, mixed))
    np.testing.assert_array_equal(got[::4], among[::4])
    np.testing.assert_array_equal(np.signbit(got[::4]), np.signbit(among[::4]))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_functions_of_two_numbers(precision: str) -> None:
    dtype = {"double": np.float64, "single": np.float32}[precision]
    few = samples(dtype)[::41]
    few = np.unique(np.concatenate([few, np.array([0.0, -0.0, 1.0, -2.0, 3.0, np.inf, -np.inf, np.nan], dtype)]))
    x, y = (v.ravel() for v in np.meshgrid(few, few))
    got = run(lambda a, b: [getattr(m, f)(a, b) for f in TWO], [x, y], len(TWO), precision, "functions_of_two")
    for i, f in enumerate(TWO):
        want = reference(
            lambda a, b, f=f: getattr(m, f)(a, b).astype(dtype), x.astype(np.longdouble), y.astype(np.longdouble)
        )
        assert_close(f, got[:, i], want, ULPS.get(f, 1), (x, y))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_conditions_and_selection(precision: str) -> None:
    dtype = {"double": np.float64, "single": np.float32}[precision]
    few = np.array([0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan], dtype)
    x, y = (v.ravel() for v in np.meshgrid(few, few))

    def conditions(a: Any, b: Any) -> list[Any]:
        masks = [a < b, a <= b, a > b, a >= b, (a < b) & (a > 0.0), (a < b) | (b < 0.0), ~(a < b), a < 1.5]
        return [m.where(c, a, b) for c in masks] + [m.where(c, 1.0, 0.0) for c in masks]

    got = run(conditions, [x, y], 16, precision, "conditions")
    np.testing.assert_array_equal(got, np.stack(conditions(x, y), 1))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_numbers_of_formulas_keep_sign_and_kind(precision: str) -> None:
    """0.0 and -0.0, infinities and NaN written in a formula arrive as such."""
    x = np.array([2.0, -3.0])
    constants = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 0.1]
    got = run(lambda a: [m.where(a > 0.0, c, a) for c in constants], [x], len(constants), precision, "constants")
    dtype = got.dtype
    np.testing.assert_array_equal(got[0], np.array(constants, dtype))
    np.testing.assert_array_equal(np.signbit(got[0, :2]), [False, True])
    np.testing.assert_array_equal(got[1], np.full(len(constants), -3.0))
