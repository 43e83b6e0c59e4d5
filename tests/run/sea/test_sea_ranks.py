"""Seas on several processes: the same bits; and killed while they run."""

from __future__ import annotations

import numpy as np
import pytest

import faultwave as fw
from faultwave.output.formats.vtkhdf import VtkHdfReader
from tests.run.launch import launch
from tests.run.sea.setup import ROUGH, sea

pytestmark = pytest.mark.mpi


def case(folder, **output):
    """Waves that a moving floor makes, and that come in through two sides, in cells of three different steps."""
    initial = {"kind": "ocean", "mode": 1, "wavenumbers": [np.pi / 10] * 2, "depth": 1.0}
    rise = {
        "velocity": {"expression": {"v3": "return 0.1 * sin(x);"}},
        "time_function": {"kind": "gaussian", "duration": 0.2},
    }
    sides = {"x": "analytic", "y": "free-surface", "z-": "dirichlet", "z+": "gravity"}
    made = sea(4, 3, 2.0, "elastic", (2,), box=ROUGH | {"boundaries": sides}, initial=initial, dirichlet=[rise])
    output |= {
        "surface": {"interval": 0.3, "refinement": 1},
        "energies": {"interval": 0.5},
        "precision": "double",
        "error_norms": True,
    }
    made["output"] = {"folder": str(folder), **output}
    return made


def contents(folder):
    """Every number of the surface, by place, and the errors at the end."""
    with VtkHdfReader(folder / "run-surface.vtkhdf") as file:
        order = np.lexsort((*file.points[file.cells].mean(1).T, file.field("global-id")))
        found = [file.field(n, i)[order] for i in range(len(file.times)) for n in (*file.fields, "locationFlag")]
    return np.array(found), fw.load(folder).energies, (folder / "run-analysis.csv").read_text()


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    fw.simulate(case(folder)).run()
    return contents(folder)


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_same_bits_on_several_processes(tmp_path, alone, ranks):
    done = launch(ranks, case(tmp_path))
    assert done.returncode == 0, done.stderr
    found, energies, norms = contents(tmp_path)
    np.testing.assert_array_equal(found, alone[0])
    for name in ("gravitational_energy", "acoustic_energy"):
        np.testing.assert_allclose(energies[name], alone[1][name], rtol=1e-12)
    error = [[float(line.split(",")[2]) for line in text.splitlines()[1:]] for text in (norms, alone[2])]
    np.testing.assert_allclose(*error, rtol=1e-9, atol=1e-12)


def test_killed_on_two_processes_and_resumed_on_one(tmp_path, alone):
    """A sea surface goes on as if nothing had happened."""
    stop = "progress=lambda p: os.kill(os.getpid(), signal.SIGKILL) if p.time > 1.2 else None"
    done = launch(2, case(tmp_path, checkpoint={"interval": 0.5}), run=stop)
    assert done.returncode != 0
    sim = fw.resume(tmp_path)
    assert 0.4 < sim.time < 1.3
    sim.run()
    np.testing.assert_array_equal(contents(tmp_path)[0], alone[0])
