"""Attenuating rock on two processes: every memory is that of the run on one, to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.run.launch import launch
from tests.run.test_attenuation import box, run

pytestmark = pytest.mark.mpi


def test_two_processes_are_one(tmp_path: Path) -> None:
    alone = run(box(tmp_path, end_time=0.3))
    case = box(tmp_path, end_time=0.3)
    case["output"]["folder"] = str(tmp_path / "two")
    after = f"np.save({str(tmp_path)!r} + f'/part{{sim.solver.plan.world.rank}}.npy', sim.solver.operator.state()); "
    after += f"np.save({str(tmp_path)!r} + f'/cells{{sim.solver.plan.world.rank}}.npy', sim.solver.plan.numbers)"
    done = launch(2, case, after=after)
    assert done.returncode == 0, done.stderr
    whole = alone.solver.operator.state()
    for rank in (0, 1):
        cells, part = (np.load(tmp_path / f"{name}{rank}.npy") for name in ("cells", "part"))
        assert 0 < len(cells) < len(whole)
        np.testing.assert_array_equal(part, whole[cells])
