"""Blocks of different spacing on several processes: the same numbers to the last bit, and going on with others."""

import numpy as np
import pytest

import faultwave as fw
from tests.run.launch import launch

from .test_blocks import eighth, numbers, surfaced

pytestmark = pytest.mark.mpi

STOP = "progress=lambda p: os.kill(os.getpid(), signal.SIGTERM) if p.time > 0.2 else None"


def asked(folder, sides, **changes):
    made = surfaced(folder, **changes)
    made["grid"]["boundaries"] = {"x": sides, "y": "absorbing", "z-": "absorbing", "z+": "free-surface"}
    return made


def same(one, other):
    expected, found = numbers(one), numbers(other)
    assert expected.keys() == found.keys()
    for name, values in expected.items():
        assert np.array_equal(values, found[name]), name


@pytest.mark.parametrize(
    ("ranks", "sides"), [(2, "absorbing"), (3, "periodic"), pytest.param(4, "absorbing", marks=pytest.mark.slow)]
)
def test_any_number_of_processes_gives_the_same_bits(tmp_path, ranks, sides):
    fw.simulate(asked(tmp_path / "one", sides)).run()
    done = launch(ranks, asked(tmp_path / "parts", sides))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "parts")


def test_order_8_gives_the_same_bits(tmp_path):
    """With layers, a source beside the face and snapshots of both blocks."""
    made = surfaced(tmp_path / "one", end_time=0.3)
    made["sources"][0]["location"] = [1700.0, 1500.0, -1830.0]
    made["grid"] |= eighth(2)["grid"] | {"boundaries": {"x": "periodic", "y": "absorbing"}}
    fw.simulate(made).run()
    made["output"]["folder"] = str(tmp_path / "parts")
    done = launch(2, made)
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "parts")


@pytest.mark.slow
def test_stopped_and_resumed_on_others(tmp_path):
    fw.simulate(asked(tmp_path / "one", "absorbing")).run()
    slow = "import faultwave.fd.solver as m; m.CHUNK_SECONDS = 0.0"
    done = launch(2, asked(tmp_path / "parts", "absorbing"), setup=slow, run=STOP)
    assert done.returncode != 0 and "faultwave.resume(" in done.stderr, done.stderr
    done = launch(1, str(tmp_path / "parts"))
    assert done.returncode == 0, done.stderr
    same(tmp_path / "one", tmp_path / "parts")
