"""Messages rounded on a device: byte by byte those of the host's codecs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.backends.device.compilers import build_text, missing, target_of
from faultwave.backends.device.rounding import Kernels, Rounding, texts
from faultwave.comm.compression import CompressionLoss, codec
from tests.backends.here import DEVICE, needs_device

compiles = [
    pytest.param(arch, marks=pytest.mark.skipif(bool(missing(kind)), reason=missing(kind)))
    for arch, kind in (("sm_80", "cuda"), ("sm_90", "cuda"), ("gfx90a", "hip"))
]


@pytest.fixture(scope="module")
def device() -> Any:
    return backends.make(DEVICE).device  # type: ignore[attr-defined]


def moved(device: Any, values: np.ndarray) -> Any:
    memory = device.allocate(max(8, values.nbytes))
    device.upload(memory, np.ascontiguousarray(values))
    return memory


def packed(device: Any, name: str, values: np.ndarray) -> tuple[Rounding, np.ndarray, np.ndarray, np.ndarray]:
    """(rounding, bytes of the message, what it takes, what is read from it)"""
    made = Rounding(Kernels(device, values.dtype), name, *values.shape)
    message, error = device.allocate(max(1, made.size)), moved(device, np.zeros(values.size + 3, values.dtype))
    made.pack(moved(device, values), message, error, 3)
    told, lost, back = np.zeros(made.size, np.uint8), np.zeros(values.size + 3, values.dtype), np.zeros_like(values)
    device.download(message, told)
    device.download(error, lost)
    assert not lost[:3].any()
    there = moved(device, back)
    made.unpack(message, there)
    device.download(there, back)
    return made, told, lost[3:].reshape(values.shape), back


def numbers(shape: tuple[int, int], seed: int = 1) -> np.ndarray:
    """Of many sizes, as derivatives have them; some zero, some so small that they count as zero, blocks of zeros, one block of one size."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape) * 10.0 ** rng.uniform(-30, 20, (1, shape[1]))
    flat = values.reshape(-1)
    flat[:: max(1, flat.size // 7)] = 0.0
    flat[1 : max(2, flat.size // 9)] = 0.0
    flat[-3:] *= 1e-200
    if flat.size > 20:
        flat[5], flat[6], flat[7:9], flat[9] = 1e-310, -1e-290, 0.0, -(2.0**-130)
        flat[10:14] = 1.5, -2.0, 2.0 - 2.0**-52, -1.0
    return values


SHAPES = [(1, 1), (1, 2), (3, 1), (5, 7), (17, 30), (64, 10), (1000, 3)]


@needs_device
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "name", ["single", "zfp-8", "zfp-9", "zfp-13", "zfp-16", "zfp-24", "zfp-33", "zfp-63", "zfp-64"]
)
def test_a_message_is_that_of_the_host(device: Any, name: str, shape: tuple[int, int]) -> None:
    if name != "single":
        pytest.importorskip("zfpy")
    values = numbers(shape)
    host = codec(name, shape)
    assert host is not None
    want = np.zeros(host.size, np.uint8)
    host.pack(values, want)
    made, got, lost, back = packed(device, name, values)
    assert made.size == host.size
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(back, host.unpack(want))
    np.testing.assert_array_equal(lost, back - values)
    assert np.abs(lost).max() > 0 or name in ("zfp-63", "zfp-64") or values.size < 20


@needs_device
@pytest.mark.parametrize("name", ["single", "zfp-12"])
def test_what_is_lost_is_counted_as_on_the_host(device: Any, name: str) -> None:
    """Over messages, relative to the largest number of each; one of nothing but zeros counts for nothing."""
    shape, want = (41, 30), CompressionLoss()
    made = Rounding(Kernels(device, np.dtype(float)), name, *shape)
    message = device.allocate(made.size)
    for seed in range(3):
        values = numbers(shape, seed) * (seed < 2)
        memory = moved(device, values)
        made.pack(memory, message, memory, 0)  # in place of the values
        error = np.zeros(shape)
        device.download(memory, error)
        want.add(error, values)
    largest, squares, count = made.lost()
    assert (largest, count) == (want.total()[0], want.total()[2]) == (want.largest, 2 * 41 * 30)
    assert squares == pytest.approx(want.total()[1], rel=1e-12)
    whole = CompressionLoss()
    whole.sources += [made.lost, made.lost]
    assert whole.largest == largest > 0 and whole.rms == pytest.approx(want.rms, rel=1e-12)


@needs_device
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (17, 30)])
@pytest.mark.parametrize("name", ["single", "zfp-8", "zfp-9", "zfp-24", "zfp-64"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_arrive_as_such(device: Any, name: str, shape: tuple[int, int], bad: float) -> None:
    """Byte by byte as on the host; other numbers are what they would be without."""
    if name != "single":
        pytest.importorskip("zfpy")
    values = np.random.default_rng(2).normal(size=shape)
    values[-1, 0] = values[0, -1] = bad
    host = codec(name, shape)
    assert host is not None
    want = np.zeros(host.size, np.uint8)
    host.pack(values, want)
    made, got, _, back = packed(device, name, values)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(back, host.unpack(want))
    assert not np.isfinite(back[-1, 0]) and not np.isfinite(back[0, -1])
    assert all(np.isfinite(made.lost()))


@needs_device
def test_numbers_in_single_precision_in_blocks(device: Any) -> None:
    """As grids have them: the same blocks."""
    pytest.importorskip("zfpy")
    values = np.random.default_rng(5).normal(size=(999, 1)).astype(np.float32)
    host: Any = codec("zfp-14", values.shape)
    want = np.zeros(host.size, np.uint8)
    host.pack(values.astype(float), want)
    _, got, lost, back = packed(device, "zfp-14", values)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(back, host.unpack(want).astype(np.float32))
    assert 0 < np.abs(lost).max() < 1e-2


@pytest.mark.parametrize("arch", compiles)
def test_for_processors_that_are_not_here(arch: str) -> None:
    """Blocks have their bits in private memory, where they are looked up by number; nothing else is."""
    target = target_of(arch)
    for text, stack in zip(texts(target, False), (80, 0), strict=True):
        made: Any = SimpleNamespace(target=target, shared=0, threads=256)
        built = build_text("rounding", text, made)
        assert built.spilled == 0 and built.stack <= stack and built.groups >= 2
