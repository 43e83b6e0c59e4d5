"""What files say of the earthquake: receivers' files, SAC headers, and the manifest of what ran."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

import faultwave as fw
from faultwave.output import manifest
from tests.run.test_resume_case import write

PROJECTED = """\
engine: fd
end_time: 0.2 s
projection: { crs: "EPSG:32611", origin: [-117.6, 35.77] }
grid: { spacing: 250 m, lower: [-2 km, -2 km, -3 km], upper: [2 km, 2 km, 0] }
material: { constant: { rho: 2700, vp: 6 km/s, vs: 3.464 km/s } }
sources:
  - kind: moment-tensor
    location: [500, -250, -1250]
    tensor: { xy: 1e15 N*m }
    onset: 0.04
    time_function: { kind: brune, duration: 0.01 }
  - kind: moment-tensor
    location: [0, 0, -1250]
    tensor: { xy: 1e15 N*m }
    onset: 0.06
    time_function: { kind: brune, duration: 0.01 }
numerics: { threads: 1 }
output: { folder: OUT, origin_time: "2019-07-06T03:19:53", receivers: { points: [[500, 500, -100]], interval: 0.01 } }
"""


def test_sac_headers_state_the_event(tmp_path):
    obspy = pytest.importorskip("obspy", reason="the obspy package is not installed")
    case = tmp_path / "case.yaml"
    case.write_text(PROJECTED.replace("OUT", str(tmp_path / "out")))
    sim = fw.simulate(case).run()
    fw.convert(tmp_path / "out", "sac", tmp_path / "sac")
    (file, *_) = sorted((tmp_path / "sac").glob("*.sac"))
    sac = obspy.read(str(file), format="SAC")[0].stats.sac
    lon, lat = sim.plan.projection.to_geographic(np.array([[500.0, -250.0]]))[0]
    assert (sac.evlo, sac.evla) == (pytest.approx(lon, abs=1e-4), pytest.approx(lat, abs=1e-4))
    assert (sac.evdp, sac.stdp) == (pytest.approx(1.25), 100.0)
    assert sac.o == pytest.approx(0.04) and sac.b == 0.0
    assert (sac.nzyear, sac.nzjday, sac.nzhour, sac.nzmin, sac.nzsec) == (2019, 187, 3, 19, 53)
    assert sac.mag == pytest.approx(2 / 3 * (np.log10(2e15) - 9.1), abs=0.01)
    assert (sac.user3, sac.user4, sac.user5) == (500.0, -250.0, -1250.0)
    assert sac.dist == pytest.approx(0.75, abs=0.02)  # by ObsPy, from both places


def test_xarray_opens_the_receivers_without_a_group(tmp_path):
    xarray = pytest.importorskip("xarray", reason="the xarray package is not installed")
    sim = fw.simulate(write(tmp_path)).run()
    with xarray.open_dataset(tmp_path / "out" / "run-receivers.h5") as found:
        np.testing.assert_array_equal(found["values"], sim.receivers["values"])
        np.testing.assert_array_equal(found["time"], sim.receivers["time"])
        assert list(found["quantity"].values) == list(sim.receivers.quantities)
        assert found.attrs["groups"] == "receivers" and list(found.attrs["event_location"]) == [500.0, 500.0, -1500.0]
    with xarray.open_dataset(tmp_path / "out" / "run-receivers.h5", group="receivers") as found:
        assert found["values"].shape == sim.receivers["values"].shape
    assert fw.load(tmp_path / "out").traces["receiver"][1].event["event_depth"] == 1500.0


def test_the_manifest_says_what_ran(tmp_path):
    rock = tmp_path / "rock.txt"
    rock.write_text("depth vp vs rho\n0 2600 1400 2100\n500 5800 3350 2700\n")
    case = write(tmp_path, material="{ layers: rock.txt }")
    fw.simulate(case).run()
    told = json.loads((tmp_path / "out" / "run-manifest.json").read_text())
    for file in (case, rock):
        assert told["inputs"][str(file)]["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert told["case_sha256"] == manifest.digest(told["case"])
    assert told["versions"]["faultwave"] and told["machine"]["cores"] and told["command"]
    assert "checkout" in told


def test_the_commit_of_a_checkout_and_whether_it_is_dirty(tmp_path, monkeypatch):
    package = tmp_path / "src" / "faultwave" / "output"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (package.parent / "__init__.py").touch()
    file = package / "manifest.py"
    file.write_text("")
    monkeypatch.setattr(manifest, "__file__", str(file))

    def asked() -> dict | None:
        manifest.checkout.cache_clear()
        return manifest.checkout()

    assert asked() is None

    def git(*words: str) -> str:
        named = ("-c", "user.name=a", "-c", "user.email=a@b.org")
        return subprocess.run(
            ["git", "-C", tmp_path, *named, *words], capture_output=True, text=True, check=True
        ).stdout

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    commit = git("rev-parse", "HEAD").strip()
    assert asked() == {"commit": commit, "dirty": False}
    (Path(tmp_path) / "notes").touch()  # beside the package
    assert asked() == {"commit": commit, "dirty": False}
    file.write_text("# changed\n")
    assert asked() == {"commit": commit, "dirty": True}
    manifest.checkout.cache_clear()
