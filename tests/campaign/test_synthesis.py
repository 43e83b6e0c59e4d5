"""Seismograms of a campaign against forward runs and sums in the time domain."""

import numpy as np
import pytest

from faultwave.base.projection import Projection
from faultwave.campaign.campaign import Campaign
from faultwave.campaign.synthesis import Band, SlipSpectra, make_grid
from faultwave.physics.sources.time_functions import Samples
from faultwave.run import simulate

from .inputs import INTERVAL, PLACES, PROJECTION, SIGMA, SITES, campaign, case, write_srf, write_tensors


def forward(folder, rupture):
    """Velocities (site, 3, nt) of a forward run with a rupture."""
    made = case({"points": SITES, "interval": INTERVAL}, sources=[{"kind": "srf", "file": str(folder / rupture)}])
    found = simulate(made).run(write=False).receivers
    return np.stack([found.quantity(f"v{i}").T for i in (1, 2, 3)], 1)


def filtered(motion, response):
    """Motion (..., nt) times a response at each frequency, without delay."""
    size = 4 * motion.shape[-1]
    spectrum = np.fft.rfft(motion, size) * response(np.fft.rfftfreq(size, INTERVAL))
    return np.fft.irfft(spectrum, size)[..., : motion.shape[-1]]


@pytest.mark.parametrize(("corner", "limit"), [(None, 3e-3), (3.0, 1.2e-2)])
def test_forward_runs_agree(folder, corner, limit, tmp_path):
    """With the smoothing of the forces, and low-passed without it; receivers and strain are linear between time steps."""
    found = Campaign(campaign(folder, max_frequency=corner), tmp_path)
    found.run()
    band = Band(SIGMA, corner)

    def response(frequency):
        return band.response(frequency) * band.smoothing(frequency)

    for event, rupture in enumerate(("a1.srf", "a2.srf", "a3.srf", "b1.srf")):
        expected = filtered(forward(folder, rupture), response)
        for number, name in enumerate(("ONE", "TWO")):
            made = found.site(name, seismograms=True).seismograms[event]
            count = made.shape[1]
            assert count > 60 and np.abs(made).max() > 1e-3
            assert np.abs(made - expected[number, :, :count]).max() < limit * np.abs(made).max()


def test_hypocentres_of_the_table_replace_onsets(folder, tmp_path):
    """One slip realisation with two hypocentres; files with the same onsets have the same seismograms.

    Rates of some subfaults begin with a zero, of others not.
    """
    zeros = (False, True, False)
    write_srf(tmp_path / "slip.srf", 1, zeros=zeros)
    projection = Projection(PROJECTION["crs"], tuple(PROJECTION["origin"]), PROJECTION["azimuth"])
    rows, speed = ["rupture,file,annual_rate,hypocentre_lon,hypocentre_lat,hypocentre_depth,rupture_speed"], 1500.0
    for number in (0, 2):
        lon, lat = projection.to_geographic(PLACES[number : number + 1, :2])[0]
        onsets = np.linalg.norm(PLACES - PLACES[number], axis=1) / speed
        write_srf(tmp_path / f"{number}.srf", 1, onsets=tuple(onsets), zeros=zeros)
        rows.append(f"stated,slip.srf,0.1,{lon:.9f},{lat:.9f},{-PLACES[number, 2]},{speed}")
        rows.append(f"file,{number}.srf,0.1,,,,")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    found = Campaign(campaign(folder, ruptures=str(tmp_path / "table.csv")), tmp_path / "results")
    found.run()
    motion = found.site("ONE", seismograms=True).seismograms
    assert np.abs(motion[0] - motion[1]).max() < 1e-4 * np.abs(motion).max() > np.abs(motion[2] - motion[3]).max()
    assert np.abs(motion[0] - motion[2]).max() > 0.05 * np.abs(motion).max()


def test_shorter_seismograms_are_the_beginning_of_longer_ones(folder, tmp_path):
    """Neither the periodic transform nor the end of the strain reach them, also of ruptures that end later."""
    whole, part = (
        Campaign(campaign(folder, duration=end), tmp_path / name) for name, end in (("whole", None), ("part", 0.5))
    )
    whole.run()
    assert any("after the seismograms, which end at 0.5 s" in p.what for p in part.plan().warnings)
    part.run()
    longer, shorter = (c.site("TWO", seismograms=True).seismograms for c in (whole, part))
    assert shorter.shape[2] == 26 < longer.shape[2]
    assert np.abs(shorter).max() > 0.1 * np.abs(longer).max()
    assert np.abs(shorter - longer[..., :26]).max() < 1e-4 * np.abs(shorter).max()


def test_the_low_pass_has_strain_beyond_the_seismograms(folder, tmp_path):
    """The response of the low-pass lasts for several periods; without later strain, the cut would change the whole record."""
    tensors = write_tensors(tmp_path, folder / "points.txt", end_time=6.0)
    settings = campaign(folder, tensors=str(tensors), max_frequency=2.0)
    whole, part = (Campaign({**settings, "duration": end}, tmp_path / str(end)) for end in (None, 0.5))
    part.run()
    whole.run()
    longer, shorter = (c.site("ONE", seismograms=True).seismograms for c in (whole, part))
    assert np.abs(shorter - longer[..., :26]).max() < 1e-3 * np.abs(longer).max()
    assert "of its peak" not in str(part.plan().warnings)


def test_the_material_of_the_tensors_replaces_missing_moduli(folder, tmp_path):
    """SRF files without vs and density; the moment of the forward run is that of the grid."""
    write_srf(folder / "plain.srf", 5, modulus=False)
    (folder / "plain.csv").write_text("rupture,file,annual_rate\np,plain.srf,0.1\n")
    found = Campaign(campaign(folder, ruptures=str(folder / "plain.csv")), tmp_path)
    found.run()
    expected = filtered(forward(folder, "plain.srf"), Band(SIGMA, None).smoothing)
    made = found.site("TWO", seismograms=True).seismograms[0]
    assert np.abs(made - expected[1, :, : made.shape[1]]).max() < 3e-3 * np.abs(made).max()


def test_spectra_of_slip_rates_are_those_of_their_integrals():
    """Against the transform of the rate averaged over short intervals, for different sampling intervals and onsets."""
    grid = make_grid(700, 0.25, None)
    rng = np.random.default_rng(3)
    samples = np.zeros((5, 30), np.float32)
    samples[:, 1:20] = rng.random((5, 19))
    interval, onset = np.array([0.1, 0.1, 0.25, 0.3, 0.05]), np.array([0.0, 13.37, 90.1, -0.2, 41.0])
    found = SlipSpectra(grid).of(samples, interval, onset)
    fine = 1e-3
    time = fine * np.arange(int(15 / fine))
    middle = 0.5 * (time[1:] + time[:-1])
    for i in range(5):
        rate = np.diff(Samples(samples[i].astype(float), interval[i]).integral(time))
        expected = np.exp(-2j * np.pi * np.outer(grid.frequency, middle + onset[i])) @ rate
        assert np.abs(found[i] - expected).max() < 1e-5 * np.abs(expected).max()


def test_a_grid_ends_above_the_low_pass():
    whole, part = make_grid(1000, 0.25, None), make_grid(1000, 0.25, 0.5)
    assert whole.samples == part.samples >= 1000 and whole.count == whole.samples // 2 + 1
    assert part.frequency[-1] <= 0.75 < part.frequency[-1] + 2 * part.frequency[1]
    band = Band(0.2, 0.5)
    assert band.response(np.array([0.0, 0.5])) * band.smoothing(np.array([0.0, 0.5])) == pytest.approx(1.0)
    assert band.response(np.array([0.75, 1.0, 20.0])) == pytest.approx(0.0)
