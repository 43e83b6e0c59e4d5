"""The recipes for other programs run, each where its program is installed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "guide" / "analysis.md").read_text()
BLOCK = re.compile(r'^```(\w+) title="([\w.]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
RECIPES = [title for kind, title, _ in BLOCK.findall(PAGE) if kind == "python"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("analysis")
    (case,) = [code for kind, _, code in BLOCK.findall(PAGE) if kind == "yaml"]
    (where / "stations.yaml").write_text(case)
    fw.run(where / "stations.yaml", output=where / "results", threads=1)
    return where


@pytest.mark.parametrize("program", sorted(set(RECIPES)))
def test_recipe(program: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(program, reason=f"{program} is not installed")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for _, title, code in BLOCK.findall(PAGE):
        if title == program:
            exec(compile(code, f"analysis.md, {program}", "exec"), names)
    if program == "xarray":
        assert names["east"].dims == ("time",) and float(abs(names["east"]).max()) > 0
        assert names["surface"]["v3"].dims == ("time", "cell")
    elif program == "obspy":
        assert names["trace"].id == "CI.CCC..HXZ" and str(names["trace"].stats.starttime).startswith(
            "2019-07-06T03:19:53"
        )
    elif program == "pyvista":
        np.testing.assert_allclose(names["times"], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5], atol=0.02)
        stored = fw.snapshots(folder / "results", "surface", ["v3"])
        np.testing.assert_array_equal(names["surface"]["v3"], stored["v3"][-1])


def test_snapshots_have_times_and_places(folder: Path) -> None:
    found = fw.snapshots(folder / "results", "surface")
    assert found.variables["v3"].dims == ("time", "cell") and found.variables["v3"].unit == "m/s"
    assert np.abs(found["z"]).max() == 0.0
    np.testing.assert_allclose(found["points"][found["cells"]].mean(1)[:, 0], found["x"])
    with pytest.raises(InputError, match=r"no field 'PVG'.*v3.*did you mean 'PGV'"):
        fw.snapshots(folder / "results", "surface", ["PVG"])
    with pytest.raises(InputError, match=r"no snapshots 'surfac'.*surface.*did you mean 'surface'"):
        fw.snapshots(folder / "results", "surfac")


def test_snapshots_on_grids(tmp_path: Path) -> None:
    case = {
        "engine": "fd", "end_time": 0.1,
        "grid": {"spacing": 200.0, "lower": [-2e3, -1e3, -2e3], "upper": [2e3, 1e3, 0.0]},
        "material": {"constant": {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}},
        "sources": [{"kind": "force", "location": [0.0, 0.0, -500.0], "force": [0.0, 0.0, 1e12],
                     "time_function": {"kind": "brune", "duration": 0.01}}],
        "output": {"folder": str(tmp_path), "volume": {"interval": 0.05}, "surface": {"interval": 0.05}},
    }  # fmt: skip
    where = fw.run(case, backend="numpy", threads=1).folder
    volume, surface = (fw.snapshots(where, kind, ["v3"]) for kind in ("volume", "surface"))
    assert volume.variables["v3"].dims == ("time", "z", "y", "x")
    assert surface.variables["v3"].dims == ("time", "y", "x")
    assert volume["v3"].shape == (3, 10, 10, 20) and np.abs(volume["v3"]).max() > 0
