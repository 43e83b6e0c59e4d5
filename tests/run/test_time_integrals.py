"""Integrals of the wave field over time, as fields of the volume's snapshots."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.output.formats.vtkhdf import VtkHdfReader
from tests.run.sea.setup import MODES, ROUGH, ocean, sea

OCEAN = {"kind": "ocean", "mode": 1, "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}
FIELDS = ["int-v3", "int-sigma", "v3"]


def case(folder, **more):
    made = sea(4, 3, 1.0, rates=(2,), box=ROUGH, initial=OCEAN, **more)
    volume = {"interval": 0.25, "fields": FIELDS}
    made["output"] = {"folder": str(folder), "precision": "double", "volume": volume, "checkpoint": {"interval": 0.3}}
    return made


def values(folder):
    with VtkHdfReader(folder / "run-volume.vtkhdf") as file:
        return (
            file.points[file.cells].mean(1),
            file.times,
            {n: np.array([file.field(n, i) for i in range(len(file.times))]) for n in FIELDS},
        )


def test_displacement_is_the_integral_of_velocity(tmp_path):
    """Of a mode: v goes as cos(w t), its integral as sin(w t)/w; the end is a multiple of every cell's step, times between are not."""
    fw.simulate(case(tmp_path)).run()
    centres, times, found = values(tmp_path)
    w = MODES[1][1]
    still = ocean(1)(centres, 0.0)[:, 3]
    scale = np.abs(still).max() / w
    assert not found["int-v3"][0].any()
    np.testing.assert_allclose(found["int-v3"][-1], still * np.sin(w * times[-1]) / w, atol=0.02 * scale)
    pressed = ocean(1)(centres, np.pi / 2 / w)[:, 0]
    np.testing.assert_allclose(
        found["int-sigma"][-1], pressed * (1 - np.cos(w * times[-1])) / w, atol=0.02 * np.abs(pressed).max() / w
    )


def test_integrals_go_on_from_a_checkpoint(tmp_path):
    fw.simulate(case(tmp_path / "whole")).run()
    fw.simulate(case(tmp_path / "parted")).run(until=0.5)
    fw.resume(tmp_path / "parted", until=1.0).run()
    for name in FIELDS:
        a, b = (values(tmp_path / folder)[2][name][-1] for folder in ("whole", "parted"))
        np.testing.assert_allclose(b, a, atol=1e-12 * np.abs(a).max())


def test_the_field_itself_is_as_without():
    """To rounding: what is summed is done in the same kernel."""
    plain = sea(4, 3, 0.3, rates=(2,), box=ROUGH, initial=OCEAN)
    found = [
        fw.simulate(c).run(write=False).solver.operator.dofs()
        for c in (plain, plain | {"output": {"volume": {"interval": 1.0, "fields": FIELDS}}})
    ]
    np.testing.assert_allclose(found[1], found[0], atol=1e-13 * np.abs(found[0]).max())


def test_integrals_need_ader():
    asked = sea(numerics={"integrator": "rk4"}, box={"boundaries": {}}) | {
        "output": {"volume": {"interval": 1.0, "fields": FIELDS}}
    }
    with pytest.raises(InputError, match="integrals over time need integrator: ader"):
        fw.simulate(asked)
