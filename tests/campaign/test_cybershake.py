"""CyberShake's files of seismograms: contents as ObsPy reads them, numbers of ruptures, and errors."""

import csv
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from obspy import read
from pyproj import Geod

from faultwave.base.errors import InputError, Problems
from faultwave.base.projection import Projection
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.cybershake import HEADER, check_names, number_ruptures
from tests.messages import expect, raises

from .inputs import INTERVAL, PROJECTION, SIGMA, campaign


@pytest.fixture(scope="module")
def made(folder, tmp_path_factory):
    """Campaign with files of CyberShake, computed."""
    results = tmp_path_factory.mktemp("cybershake") / "results"
    (results / "cybershake").mkdir(parents=True)
    (results / "cybershake" / "Seismogram_OLD_0_0.grm").write_bytes(b"of an earlier run")
    found = Campaign(campaign(folder, cybershake=True), results)
    return found, found.run()


def test_every_site_and_rupture_has_a_file_of_its_variations(made):
    run, paths = made
    names = {p.name for p in paths if p.suffix == ".grm"}
    assert names == {f"Seismogram_{site}_{rupture}_0.grm" for site in ("ONE", "TWO") for rupture in (0, 1)}
    assert {p.name for p in (run.folder / "cybershake").glob("*.grm")} == names
    with (run.folder / "cybershake" / "variations.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(r["rupture"], r["source_id"], r["rupture_id"], r["rup_var_id"]) for r in rows] == [
        ("a", "0", "0", "0"), ("a", "0", "0", "1"), ("a", "0", "0", "2"), ("b", "1", "0", "0")
    ]  # fmt: skip


def test_obspy_reads_velocities_towards_north_and_east(made):
    """ObsPy returns the first variation; its channels are in the order X, Y of the file, which is north, east."""
    run, _ = made
    results = run.site("ONE", seismograms=True)
    samples = results.seismograms.shape[2]
    x, y = read(run.folder / "cybershake" / "Seismogram_ONE_1_0.grm")
    assert x.stats.station == "ONE" and x.stats.npts == samples and np.isclose(x.stats.delta, INTERVAL)
    about = x.stats.cybershake
    assert (about.source_id, about.rupture_id, about.rup_var_id, about.stoch_max_freq) == (1, 0, 0, -1.0)
    assert about.det_max_freq == pytest.approx(np.sqrt(2 * np.log(20)) / (2 * np.pi * SIGMA), rel=1e-6)
    projection = Projection(PROJECTION["crs"], tuple(PROJECTION["origin"]), PROJECTION["azimuth"])
    place = results.geographic
    for trace, azimuth in ((x, 0.0), (y, 90.0)):
        lon, lat, _ = Geod(ellps="WGS84").fwd(*place, azimuth, 100.0)
        towards = np.diff(projection.to_local(np.array([place[0], lon]), np.array([place[1], lat])), axis=0)[0]
        expected = 100.0 * towards / np.linalg.norm(towards) @ results.seismograms[3, :2]
        assert np.abs(trace.data - expected).max() < 1e-5 * np.abs(expected).max()


def test_variations_follow_one_another(made):
    run, _ = made
    content = (run.folder / "cybershake" / "Seismogram_TWO_0_0.grm").read_bytes()
    velocity = run.site("TWO", seismograms=True).seismograms
    size = HEADER.size + 8 * velocity.shape[2]
    assert HEADER.size == 56 and len(content) == 3 * size
    for variation in range(3):
        part = content[variation * size : (variation + 1) * size]
        header = HEADER.unpack(part[: HEADER.size])
        assert header[0].rstrip(b"\0") == b"12.10" and header[3:6] == (0, 0, variation) and header[8] == 3
        data = np.frombuffer(part, "<f4", offset=HEADER.size).reshape(2, -1)
        size_of_motion = np.linalg.norm(velocity[variation, :2], axis=0)
        assert np.allclose(np.linalg.norm(data, axis=0), 100 * size_of_motion, rtol=1e-5, atol=1e-7)


def test_files_are_written_and_removed_without_computing_sites_again(made, folder):
    run, _ = made
    before = os.stat(run.folder / "sites" / "ONE.nc").st_mtime_ns
    off = Campaign(campaign(folder), run.folder)
    assert not off.plan().missing
    off.run()
    assert not list((run.folder / "cybershake").glob("*.grm"))
    run.run()
    assert len(list((run.folder / "cybershake").glob("*.grm"))) == 4
    assert os.stat(run.folder / "sites" / "ONE.nc").st_mtime_ns == before


def test_names_that_do_not_fit_and_missing_seismograms_are_errors(folder):
    problems = Problems()
    check_names(["SITE", "LONG_NAME", "ÄRA"], "campaign.yaml:9", problems)
    expect(problems.errors)
    with raises(InputError):
        Campaign(campaign(folder, seismograms=False, cybershake=True))


def test_names_with_two_numbers_are_those_of_source_and_rupture():
    assert number_ruptures(["128_858", "7_0", "128_858"]) == {"128_858": (128, 858), "7_0": (7, 0)}
    assert number_ruptures(["128_858", "north"]) == {"128_858": (0, 0), "north": (1, 0)}
    assert number_ruptures(["1_2", "01_2"]) == {"1_2": (0, 0), "01_2": (1, 0)}


@given(st.lists(st.from_regex(r"[0-9]{1,2}_[0-9]{1,2}|[a-c]{1,2}", fullmatch=True), max_size=8))
def test_numbers_of_ruptures_are_distinct(names):
    found = number_ruptures(names)
    assert set(found) == set(names) and len(set(found.values())) == len(found)
