"""Waves let into a box that processes share: the same numbers to the last bit."""

import h5py
import numpy as np
import pytest

import faultwave as fw
from tests.run.launch import launch

from .test_injection import let_in, settings
from .test_ranks import CUT, FUSED, pytestmark  # noqa: F401


def values(path):
    """Every number of a file."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(lambda n, d: found.update({n: d[()]}) if isinstance(d, h5py.Dataset) else None)
    return {n: v for n, v in found.items() if v.dtype.kind != "O"}


@pytest.mark.parametrize(("ranks", "cut", "fused"), [(2, (1, 1, 2), 2), (4, (1, 2, 2), 1)])
def test_records_and_scattered_waves_are_the_same(tmp_path, ranks, cut, fused):
    """Cuts go through the box and its faces."""
    setup = FUSED.format(fused) + CUT.format(cut)
    changes = {"attenuation": True, "end_time": 0.4}
    fw.simulate(settings(tmp_path / "one", **changes)).run()
    fw.simulate(let_in(tmp_path / "one in", tmp_path / "one/run-box.h5", inclusion=True, **changes)).run()
    done = launch(ranks, settings(tmp_path / "more", **changes), setup=setup)
    assert done.returncode == 0, done.stderr
    one, more = values(tmp_path / "one/run-box.h5"), values(tmp_path / "more/run-box.h5")
    assert one.keys() == more.keys() and all(np.array_equal(v, more[n]) for n, v in one.items())
    made = let_in(tmp_path / "more in", tmp_path / "one/run-box.h5", inclusion=True, **changes)
    done = launch(ranks, made, setup=setup)
    assert done.returncode == 0, done.stderr
    alone, shared = (values(tmp_path / f"{name} in/run-receivers.h5") for name in ("one", "more"))
    assert np.abs(alone["receivers/values"]).max() > 0
    assert alone.keys() == shared.keys() and all(np.array_equal(v, shared[n]) for n, v in alone.items())
