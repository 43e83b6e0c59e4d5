"""AWP's moment rates, text and binary: places, signs, times; and what is said of files that are wrong."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.base.projection import Projection
from faultwave.physics.sources.readers.awp import read_awp
from faultwave.physics.sources.readers.cmtsolution import read_cmt
from faultwave.physics.sources.readers.srf import read_srf

from .test_geographic import CMT, subfault

NODES = SimpleNamespace(spacing=100.0, origin=(1000.0, 2000.0, 0.0), interval=0.1, steps=4)
RAMP = np.array([0.0, 1.0, 2.0, 1.0])
TENSOR = np.array([1.0, 2.0, -3.0, 4.0, 5.0, 6.0]) * 1e15  # xx yy zz xz yz xy


def write(path, subfaults, binary):
    if binary:
        path.write_bytes(b"".join(np.array(n, "<i4").tobytes() + r.astype("<f4").tobytes() for n, r in subfaults))
    else:
        rows = [
            f"{n[0]} {n[1]} {n[2]}\n" + "\n".join(" ".join(f"{v:.8e}" for v in row) for row in r) for n, r in subfaults
        ]
        path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("binary", [False, True])
def test_one_function_of_time_is_one_source(tmp_path, binary):
    path = write(tmp_path / "src", [((3, 4, 5), np.outer(RAMP, TENSOR)), ((1, 1, 1), np.outer(RAMP, -TENSOR))], binary)
    first, second = read_awp(path, NODES)
    assert first.location.tolist() == [1200.0, 2300.0, -400.0] and second.location.tolist() == [1000.0, 2000.0, 0.0]
    xx, yy, zz, xz, yz, xy = TENSOR * 0.1 * RAMP.sum()
    assert first.moment_tensor(1, 1) * first.integral(0, 9) == pytest.approx([xx, yy, zz, xy, yz, xz])
    assert first.moment * float(first.value(0.15)) == pytest.approx(1.5 * TENSOR[[0, 1, 2, 5, 4, 3]])


@pytest.mark.parametrize("binary", [False, True])
def test_components_of_their_own(tmp_path, binary):
    rates = np.outer(RAMP, TENSOR)
    rates[:, 3] = 1e15 * RAMP[::-1]
    records = read_awp(write(tmp_path / "src", [((3, 4, 5), rates)], binary), NODES)
    assert len(records) == 6
    moment = sum(r.moment * float(r.value(0.1)) for r in records)
    assert moment == pytest.approx([1e15, 2e15, -3e15, 6e15, 5e15, 2e15])


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(
    nodes=st.lists(st.tuples(*[st.integers(1, 5000)] * 3), min_size=1, max_size=4), binary=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_round_trip(tmp_path, nodes, binary, seed):
    rates = np.random.default_rng(seed).normal(size=(len(nodes), 4, 6)).astype("<f4") * np.float32(1e14)
    records = read_awp(write(tmp_path / "src", list(zip(nodes, rates, strict=True)), binary), NODES)
    total = sum(r.moment * float(r.value(0.3)) for r in records)
    assert total == pytest.approx(rates[:, 3].sum(0)[[0, 1, 2, 5, 4, 3]], rel=1e-6, abs=1e9)


def test_bad_records_are_all_told(tmp_path):
    poisoned = np.outer(RAMP, TENSOR)
    poisoned[2, 4] = np.nan
    path = write(tmp_path / "src", [((3, 0, 5), np.outer(RAMP, TENSOR)), ((3, 4, 5), poisoned)], False)
    with pytest.raises(InputError) as found:
        read_awp(path, NODES)
    for text in ("src:1: subfault 1 is at node (3, 0, 5)", "src:6: subfault 2 has 1 rates", "step 3, component 5"):
        assert text in str(found.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda t: t.replace("3 4 5", "3.5 4 5"), ["src:1", "where the node"]), (lambda t: t[:-20], ["ends in subfault 1"]),
     (lambda t: t.replace("6.0", "6,0", 1), ["src:3", "'6,0"]), (lambda t: "", ["holds no subfaults"])],
)  # fmt: skip
def test_bad_text(tmp_path, change, words):
    path = write(tmp_path / "src", [((3, 4, 5), np.outer(RAMP, TENSOR))], False)
    path.write_text(change(path.read_text()))
    with pytest.raises(InputError) as found:
        read_awp(path, NODES)
    for word in words:
        assert word in str(found.value), found.value


READERS = {
    "srf": (lambda p: read_srf(p, Projection("EPSG:32611", (-117.0, 34.0))), "1.0\nPLANE 1\n -117 34 2 1 4 2\n 30 60 8 0 1\nPOINTS 2\n"
            + subfault() + subfault(lat=34.1)),
    "cmt": (lambda p: read_cmt(p, Projection("EPSG:32611", (-117.0, 34.0))), CMT),
    "awp": (lambda p: read_awp(p, NODES), None),
}  # fmt: skip


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(part=st.floats(0, 0.93), place=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_torn_and_damaged_files(tmp_path, kind, part, place, byte, cut):
    """Cut short: an InputError that names the file. One wrong byte: that, or sources."""
    read, text = READERS[kind]
    path = tmp_path / "file"
    if text is None:
        write(path, [((3, 4, 5), np.outer(RAMP, TENSOR))], part < 0.5)
    else:
        path.write_text(text)
    whole = bytearray(path.read_bytes())
    if cut:
        del whole[int(part * len(whole)) :]
    else:
        whole[place % len(whole)] = byte
    path.write_bytes(bytes(whole))
    try:
        read(path)
        assert not cut
    except InputError as error:
        assert str(path) in str(error)
