"""Far fields of a small box: runs that end too early, and surfaces that are not closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.verify import meshes

BURST = {"kind": "burst", "frequency": 1.0, "duration": 0.5}


@contextmanager
def target(z: str = "absorbing", height: int = 6, **more: Any) -> Iterator[dict[str, Any]]:
    """A cube of permittivity 4, group 1, in a cube of twice its edge that holds the total field, group 2; group 3 around."""
    sides = {"x": "absorbing", "y": "absorbing", "z": z}
    mesh = box_mesh(Box((6, 6, height), (-1.5, -1.5, -height / 4), (1.5, 1.5, height / 4), sides, shuffle=True))
    far = np.abs(mesh.vertices[mesh.cells].mean(1)).max(1)
    groups = np.where(far < 0.5, 1, np.where(far < 1.0, 2, 3)).astype(np.int32)
    regions = {g: {"permittivity": 4.0 if g == 1 else 1.0, "permeability": 1.0} for g in (1, 2, 3)}
    wave = {"direction": [1, 0, 0], "amplitude": [0, 0, 1], "volumes": [1, 2], "time_function": BURST}
    with meshes.as_setting(replace(mesh, groups=groups)) as setting:
        yield {
            "law": "maxwell", "mesh": setting, "material": {"regions": regions}, "end_time": 8.0, "numerics": {"order": 2},
            "incident": [wave],
            "output": {"far_field": {"volumes": [1, 2], "frequencies": [1.0], "theta": [0, 90], "phi": [0]}},
        } | more  # fmt: skip


def test_a_run_that_ends_while_waves_pass_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with target() as case:
        for end, told in ((3.0, True), (12.0, False)):
            with caplog.at_level("WARNING", "faultwave"):
                sim = fw.simulate(case, until=end).run(write=False)
                assert sim.result("far_field") is not None
            assert ("INCOMPLETE" in sim.solver.parts["far_field"].remark) is told
            assert ("still passing through the surface" in caplog.text) is told
            assert any("before the incident burst is over at 4 s" in w.what for w in sim.plan.warnings) is told
            caplog.clear()


def test_what_periods_allow() -> None:
    """Waves along them, and surfaces that they open, are errors; a wave across them is none."""
    with target("periodic", 2) as case:
        far_field = case.pop("output")
        assert fw.simulate(case).plan.part("incident_waves").waves
        with pytest.raises(InputError, match="output.far_field.volumes: .* of their faces are on periodic sides"):
            fw.simulate(case | {"output": far_field})
        wave = case["incident"][0] | {"direction": [1, 0, 0.01], "amplitude": [0, 1, 0]}
        with pytest.raises(InputError, match=r"direction: \[1.0, 0.0, 0.01\] has a component along a periodic axis"):
            fw.simulate(case | {"incident": [wave]})


def test_a_medium_of_another_impedance_scatters_alike() -> None:
    """The same speeds and contrasts, a quarter of the impedance, three times the field: the same cross section."""
    with target() as case:
        unit = fw.simulate(case, until=3.0).run(write=False).result("far_field")
        for region in case["material"]["regions"].values():
            region["permittivity"] *= 4.0
            region["permeability"] /= 4.0
        case["incident"][0]["amplitude"] = [0, 0, 3]
        found = fw.simulate(case, until=3.0).run(write=False).result("far_field")
    np.testing.assert_allclose(found["cross_section"], unit["cross_section"], rtol=1e-6)
    assert unit["cross_section"][1] > 0.1
