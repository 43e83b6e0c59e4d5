"""From settings to point sources."""

from types import SimpleNamespace

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.physics.sources import load_sources

SHAPE = SimpleNamespace(kind="brune", duration=0.1, acceleration=0.0, samples=[], interval=1.0)


def setting(**values):
    defaults = {"location": (1.0, 2.0, 3.0), "tensor": {}, "force": (0.0, 0.0, 0.0), "onset": 0.0, "file": None}
    return SimpleNamespace(**(defaults | {"time_function": SHAPE} | values))


def test_moment_tensor_and_force():
    tensor, force = load_sources(
        [
            setting(kind="moment-tensor", tensor={"xy": 1e18, "zz": 2.0, "xz": 5.0}, onset=0.3),
            setting(kind="force", force=(0.0, 0.0, -7.0)),
        ]
    )
    assert tensor.moment.tolist() == [0, 0, 2, 1e18, 0, 5] and tensor.location.tolist() == [1, 2, 3]
    assert force.force.tolist() == [0, 0, -7] and not np.any(force.moment)
    assert tensor.integral(0.0, 0.3) == 0 and tensor.integral(0.0, 9.0) == pytest.approx(1.0)
    assert tensor.integral(0.3, 0.4) == pytest.approx(1 - 2 * np.exp(-1))
    parts = [tensor.integral(a, a + 0.1) for a in np.arange(0, 3, 0.1)]
    assert sum(parts) == pytest.approx(tensor.integral(0.0, 3.0))


def test_files_and_shifts(tmp_path):
    path = tmp_path / "s.dat"
    path.write_text("M\n1 0 0 0 0 0 0 0 0\nn\n1\nh\n0 0 0 0 0 0 1 0.5\nh\n1 2\nh\n1 1\n")
    (source,) = load_sources([setting(kind="fsrm", file=path, onset=2.0, time_function=None)])
    assert source.onset == 2.5 and source.moment[0] == -1.0


def test_every_problem_at_once():
    bad = [
        setting(kind="force"),
        setting(kind="moment-tensor", tensor={"xx": 1.0}, time_function=None),
        setting(kind="nrf"),
        setting(kind="moment-tensor", tensor={"xx": 1.0}, time_function=SimpleNamespace(kind="box")),
        setting(kind="dipole"),
    ]
    with pytest.raises(InputError) as caught:
        load_sources(bad)
    text = str(caught.value)
    for part in ("sources[0]: acts with nothing", "sources[1].time_function: missing", "sources[2].file: missing",
                 "sources[3].time_function.kind: 'box'", "sources[4].kind: 'dipole'"):  # fmt: skip
        assert part in text
