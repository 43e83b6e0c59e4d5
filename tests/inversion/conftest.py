"""Folder with a fault, tensors, and seismograms of a rupture that was computed on the grid of the tensors."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import Problems
from faultwave.inversion.assembly import SourceModel
from faultwave.inversion.fault import Fault, read_fault
from faultwave.inversion.plan import make_sources
from faultwave.inversion.settings import load_inversion
from faultwave.inversion.srf_files import write_srf

from .inputs import INTERVAL, case, inversion, point_source, projection, write_fault, write_tensors


def sources_of(folder: Path) -> tuple[Fault, SourceModel]:
    settings, where = load_inversion(inversion(folder))
    fault = read_fault(settings.kinematic, projection(), where, Problems())
    assert fault is not None
    return fault, make_sources(settings.kinematic, fault, projection())


@pytest.fixture(scope="session")
def truth() -> np.ndarray:
    """Slip (windows, directions, subfaults) [m], none outside of two subfaults."""
    slip = np.zeros((2, 2, 6))
    slip[:, :, 1], slip[:, :, 5] = [[0.5, 0.1], [0.3, -0.2]], [[0.8, -0.1], [0.2, 0.15]]
    return slip


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, truth: np.ndarray) -> Path:
    made = tmp_path_factory.mktemp("inversion")
    write_fault(made / "fault.srf")
    write_tensors(made).rename(made / "sgt.nc")
    write_srf(made / "truth.srf", *sources_of(made), truth)
    receivers = {"file": str(made / "stations.txt"), "interval": INTERVAL}
    fw.run(
        case(
            sources=[{"kind": "srf", "file": str(made / "truth.srf")}],
            output={"receivers": receivers, "folder": str(made / "data")},
        )
    )
    return made


@pytest.fixture(scope="session")
def point(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same tensors, and seismograms of a moment tensor at one of their points."""
    made = tmp_path_factory.mktemp("point")
    shutil.copy(folder / "sgt.nc", made)
    receivers = {"file": str(folder / "stations.txt"), "interval": INTERVAL}
    fw.run(case(sources=[point_source(made)], output={"receivers": receivers, "folder": str(made / "data")}))
    return made
