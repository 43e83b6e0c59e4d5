"""What a run on a grid takes on the disk is forecast within 10 %, or above."""

import pytest

import faultwave as fw
from faultwave.fd.planning.plan import forecast_disk

from .test_soil import IN_SOIL, basin


@pytest.mark.parametrize("kept", [1, 3])
def test_soil_intensity_and_checkpoints_are_forecast(kept, tmp_path):
    made = basin(folder=tmp_path / "run", end_time=0.3, grid__boundaries={"x": "periodic", "y": "periodic"})
    made["output"] |= {
        "checkpoint": {"interval": 0.08, "keep": kept}, "intensity": {"periods": [0.5]}, "surface": {"interval": 0.1},
        "volume": {"interval": 0.2, "fields": ["v1"]}, "soil": {"points": IN_SOIL, "interval": 0.002},
    }  # fmt: skip
    sim = fw.simulate(made)
    forecast, one = forecast_disk(sim.plan), 0.0
    sim.run()
    files = [p for p in (tmp_path / "run").rglob("*") if p.is_file()]
    sizes = {p: p.stat().st_size for p in files}
    one = max(sum(size for p, size in sizes.items() if part in str(p)) for part in ("checkpoint",))
    written = sum(sizes.values()) - one
    assert one > 0
    needed = written + one / kept * (kept + 1)  # one more while it is being written
    assert 0.9 * needed < forecast < 1.6 * needed
