"""Who looks at cells between a correction and the next prediction sees them corrected: outputs are those of a run in which every
cluster corrects and predicts apart in every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from faultwave.engine.capability import Callback
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.run import simulate
from tests.run.watching import watch

from .setup import settings, slip_weakening

SOURCE = {
    "kind": "moment-tensor", "location": [-3000.0, 2000.0, -2500.0], "tensor": {"xy": 1e16},
    "time_function": {"kind": "ricker", "frequency": 2.0}, "onset": 0.2,
}  # fmt: skip


def outputs(folder: Path, apart: bool) -> dict[str, np.ndarray]:
    output = {
        "volume": {"interval": 0.11}, "fault": {"interval": 0.13}, "surface": {"interval": 0.17}, "energies": {"interval": 0.19},
        "receivers": {"points": [[-3000.0, 2000.0, -2600.0], [500.0, -900.0, -100.0]], "interval": 0.03},
    }  # fmt: skip
    case: dict[str, Any] = settings(folder, slip_weakening(), end_time=0.5, output=output, sources=[SOURCE])
    sim: Any = simulate(case, force=True)
    assert sim.solver.layout.clusters >= 2
    if apart:
        watch(sim, Callback("after correct", lambda *_: None, needs_intermediate_state=lambda *_: True))
    sim.run()
    found = {"seismograms": sim.receivers["values"], "fault receivers": sim.fault_receivers["values"]}
    for kind in ("volume", "surface", "fault"):
        with VtkHdfReader(next((folder / "out").glob(f"*-{kind}.vtkhdf"))) as file:
            for name in file.fields:
                found[f"{kind} {name}"] = np.stack([file.field(name, i) for i in range(len(file.times))])
    return found


def test_outputs_are_those_of_separate_steps(tmp_path: Path) -> None:
    found = []
    for name, apart in (("turned", False), ("apart", True)):
        (tmp_path / name).mkdir()
        found.append(outputs(tmp_path / name, apart))
    for key, values in found[0].items():
        np.testing.assert_array_equal(values, found[1][key], err_msg=key)
    assert all(
        np.nanmax(np.abs(found[0][key])) > 0 for key in ("seismograms", "fault receivers", "volume v1", "fault SRs")
    )
