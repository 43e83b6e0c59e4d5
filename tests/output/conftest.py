"""Runs that several files of tests convert."""

from types import SimpleNamespace

import pytest

from .finite_source_runs import grid_run, histories, mesh_run


@pytest.fixture(scope="session", params=["fd", "dg"])
def run(request, tmp_path_factory):
    """Return engine, folder and slip histories of a run with imposed slip."""
    path = tmp_path_factory.mktemp(request.param)
    folder = grid_run(path / "out") if request.param == "fd" else mesh_run(path)
    return SimpleNamespace(engine=request.param, folder=folder, slip=histories(folder))
