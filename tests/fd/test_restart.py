"""Checkpoints of runs on grids: a resumed run is the same to the last bit, and refuses what it cannot go on from."""

import numpy as np
import pytest

import faultwave as fw
from faultwave.backends import missing
from faultwave.base.errors import InputError, RunError
from faultwave.output.formats.awp_series import read_awp
from tests.messages import raises

from .results import datasets, fields
from .test_grids import case

opencl = pytest.mark.skipif(bool(missing("opencl")), reason=missing("opencl"))


def settings(folder, **changes):
    rock = {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0, "Qp": 60, "Qs": 30}
    output = {
        "folder": str(folder), "surface": {"interval": 0.1}, "volume": VOLUME,
        "intensity": {"periods": [0.3], "formats": ["geotiff", "shakemap"]}, "energies": {"interval": 0.1},
        "checkpoint": {"interval": 0.2},
    }  # fmt: skip
    made = case(grid__absorbing={"width": 5, "along": 0.02}, attenuation={}, material={"constant": rock}, **changes)
    made["output"] |= output
    made["projection"] = {"crs": "EPSG:32611", "origin": [-117.3, 34.2]}
    made["numerics"] = {"threads": 1, **made.get("numerics", {})}
    return made


VOLUME = {"interval": 0.1, "every": 3, "formats": ["vtkhdf", "awp"]}


def numbers(folder):
    """Every number in the files of a run."""
    found = datasets(folder) | fields(folder, ("surface", "volume"))
    (flat,) = folder.glob("*-volume-S.json")
    found |= {f"flat/{name}": values for name, values in read_awp(flat.with_suffix(""))[0].items()}
    (grid,), (tiff,) = folder.glob("*-grid.xml"), folder.glob("*-intensity.tif")
    found |= {"grid.xml": grid.read_text().partition("<event")[2], "tiff": np.frombuffer(tiff.read_bytes(), np.uint8)}
    return found | {"energies": next(folder.glob("*-energy.csv")).read_text()}


class Stopped:
    """Progress that asks the run to stop once ``time`` is reached."""

    def __init__(self, sim, time):
        self.sim, self.time = sim, time

    def __call__(self, progress):
        self.sim.interrupted |= progress.time >= self.time


@pytest.mark.parametrize(
    ("stop", "backend"), [(0.27, "cpu"), (0.27, "numpy"), pytest.param(0.27, "opencl", marks=opencl)]
)
def test_resumed_is_undisturbed(tmp_path, stop, backend, monkeypatch):
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    fw.simulate(settings(tmp_path / "whole", numerics__backend=backend)).run()
    sim = fw.simulate(settings(tmp_path / "parts", numerics__backend=backend))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, stop))
    resumed = fw.resume(tmp_path / "parts", threads=2)
    assert resumed.time == pytest.approx(sim.time) and stop <= resumed.time < 0.5
    resumed.run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys() and any(k.startswith("surface/") for k in whole)
    for name, values in whole.items():
        assert np.array_equal(values, parts[name]), name


@pytest.mark.parametrize(("order", "way"), [(8, "remove"), (8, "keep"), (4, "remove")])
def test_resumed_is_undisturbed_with_either_order(tmp_path, order, way, monkeypatch):
    """Also where seismograms are freed of time dispersion, for which sources are changed from before the start to after the end."""
    monkeypatch.setattr("faultwave.fd.solver.CHUNK_SECONDS", 0.0)
    changes = {"grid__order": order, "grid__time_dispersion": way}
    fw.simulate(settings(tmp_path / "whole", **changes)).run()
    sim = fw.simulate(settings(tmp_path / "parts", **changes))
    with pytest.raises(RunError, match=r"faultwave\.resume"):
        sim.run(progress=Stopped(sim, 0.27))
    resumed = fw.resume(tmp_path / "parts")
    assert 0.27 <= resumed.time < 0.5
    resumed.run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys() and any("receivers" in k for k in whole)
    for name, values in whole.items():
        assert np.array_equal(values, parts[name]), name


@opencl
def test_a_whole_run_on_a_device(tmp_path):
    """Every number of every file: as NumPy computes it to the last bit, as the processor's own backend does to rounding."""
    for backend in ("numpy", "opencl", "cpu"):
        fw.simulate(settings(tmp_path / backend, numerics__backend=backend)).run()
    numpy, device, cpu = (numbers(tmp_path / n) for n in ("numpy", "opencl", "cpu"))
    assert numpy.keys() == device.keys() == cpu.keys()
    for name, values in numpy.items():
        assert np.array_equal(values, device[name]), name
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and "D5" not in name:
            assert np.abs(values - cpu[name]).max() <= 2e-5 * np.abs(values).max(), name


def test_an_older_checkpoint_gives_the_same(tmp_path):
    """Killed at the end, with snapshots behind the checkpoint."""
    fw.simulate(settings(tmp_path)).run()
    whole = numbers(tmp_path)
    fw.resume(tmp_path).run()
    again = numbers(tmp_path)
    assert all(np.array_equal(v, again[k]) for k, v in whole.items())


def test_other_grids_are_refused(tmp_path):
    fw.simulate(settings(tmp_path)).run()
    with raises(InputError):
        fw.resume(tmp_path, precision="double")


def test_a_later_end_gives_what_a_longer_run_gives(tmp_path):
    """With the step of the first: it divided the end that the run had then. What goes on again knows it, too."""
    made = settings(tmp_path / "parts")
    end, later = made["end_time"], made["end_time"] * 1.37
    first = fw.simulate(made).run()
    step = first.plan.scheme.step
    assert abs(later / step - round(later / step)) > 0.01
    sim = fw.resume(tmp_path / "parts", until=later)
    assert sim.plan.scheme.step == step and sim.time < end
    sim.run()
    assert later <= sim.time < later + step
    longer = settings(tmp_path / "whole", end_time=later)
    longer["grid"] = {**longer["grid"], "step": step}
    fw.simulate(longer).run()
    whole, parts = numbers(tmp_path / "whole"), numbers(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    assert all(np.array_equal(v, parts[k]) for k, v in whole.items())
    again = fw.resume(tmp_path / "parts", until=1.1 * later)
    assert again.plan.scheme.step == step
    with raises(InputError):
        fw.simulate(longer | {"grid": {**longer["grid"], "step": 1.0}})


def test_what_another_version_left_is_refused(tmp_path, monkeypatch):
    """One whose step was another, or whose checkpoints held something else."""
    made = settings(tmp_path / "out", end_time=0.4)
    fw.simulate(made).run()
    monkeypatch.setattr("faultwave.fd.checkpoint.SCHEME", "another")
    with raises(InputError):
        fw.resume(tmp_path / "out")
