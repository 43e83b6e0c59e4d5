"""Folder with tensors and ruptures, computed once."""

from pathlib import Path

import pytest

from faultwave.campaign.campaign import Campaign

from .inputs import campaign, write_table, write_tensors


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("campaign")
    write_table(made / "ruptures.csv")
    assert Campaign(campaign(made)).write_points(made / "points.txt") == 3
    path = write_tensors(made, made / "points.txt")
    path.rename(made / "run-sgt.nc")
    return made
