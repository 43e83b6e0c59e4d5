"""Comparison in a band of frequencies: what is outside of it does not count, and runs are told where they differ."""

import numpy as np
import pytest

from faultwave.base.errors import InputError
from faultwave.observe.dataset import receivers_from_arrays
from faultwave.output.formats.receivers_hdf5 import write_receivers
from faultwave.output.manifest import build_manifest, write_manifest
from faultwave.output.results import load_results
from faultwave.verify.bands import RESOLVED, Band, filter_pair
from faultwave.verify.compare import compare

PLACES = [[0.0, 0.0, 0.0], [9e3, 0.0, 0.0]]


def pulse(time, frequency, amplitude=1.0):
    return amplitude * np.exp(-(((time - 10.0) / 3.0) ** 2)) * np.sin(2 * np.pi * frequency * time)


def write(folder, interval, slow, fast, resolved=None, end=20.0):
    """A run with a wave of 0.3 Hz times ``slow`` and one of 3 Hz times ``fast``."""
    folder.mkdir()
    time = np.arange(round(end / interval) + 1) * interval
    v = np.stack([pulse(time, 0.3, slow) + pulse(time, 3.0, fast), pulse(time, 0.4, slow), pulse(time, 0.2, slow)], -1)
    write_receivers(
        folder / "run-receivers.h5", [receivers_from_arrays(time, np.stack([v, v], 1), ["v1", "v2", "v3"], PLACES)]
    )
    extra = {} if resolved is None else {RESOLVED: resolved}
    write_manifest(folder / "run-manifest.json", build_manifest({}, extra=extra))
    return folder


def velocity(comparison):
    return comparison.worst["receiver", "velocity"].value


def test_a_band_leaves_out_what_is_outside_of_it(tmp_path):
    """Slow waves differ by 1 %, fast ones by 50 %; both are sampled at other times."""
    run, reference = write(tmp_path / "a", 0.04, 1.01, 1.0), write(tmp_path / "b", 0.05, 1.0, 2.0)
    assert velocity(compare(run, reference)) > 0.3
    slow = compare(run, reference, band=(None, 1.0))
    assert velocity(slow) == pytest.approx(0.01, abs=1e-3) and slow.passed
    assert "below 1 Hz" in slow.title and slow.as_dict()["high_hz"] == 1.0
    assert velocity(compare(run, reference, band=(1.5, None))) == pytest.approx(0.5, abs=0.01)


def test_waves_that_the_common_times_cannot_hold_are_not_folded_into_the_band(tmp_path):
    """3 Hz sampled each 0.2 s alone would look like 2 Hz."""
    run, reference = write(tmp_path / "a", 0.02, 1.0, 1.0), write(tmp_path / "b", 0.2, 1.0, 0.0)
    a, b = (load_results(f).traces["receiver"][1] for f in (run, reference))
    folded, _ = filter_pair(a, b, Band(1.8, 2.2))
    assert np.abs(folded.columns["v1"]).max() < 0.02
    above, _ = filter_pair(a, b, Band(low=1.0))
    assert np.abs(above.columns["v1"]).max() < 0.4, "a band ends where the coarser sampling does"
    mine, theirs = filter_pair(a, b, Band(high=1.0))
    assert np.array_equal(mine.time, theirs.time)
    assert np.abs(mine.columns["v1"] - theirs.columns["v1"]).max() < 0.01


def test_filters_do_not_delay(tmp_path):
    folder = write(tmp_path / "a", 0.02, 1.0, 0.0)
    a = load_results(folder).traces["receiver"][1]
    (found, _) = filter_pair(a, a, Band(high=2.0))
    assert np.abs(found.columns["v1"] - a.columns["v1"]).max() < 1e-3


def test_a_difference_above_the_resolved_frequency_is_reported(tmp_path):
    run = write(tmp_path / "a", 0.04, 1.01, 1.0, resolved=1.2)
    reference = write(tmp_path / "b", 0.05, 1.0, 2.0, resolved=0.9)
    (note,) = [n for n in compare(run, reference).notes if "resolved" in n]
    assert "below 0.9 Hz, the lower of the two" in note and "compare with --high 0.9" in note
    assert "worst misfit 0.01" in note and "100 % of the squared difference lies above" in note
    other = write(tmp_path / "c", 0.05, 1.3, 1.0, resolved=0.9)
    (note,) = [n for n in compare(run, other).notes if "resolved" in n]
    assert "0 % of the squared difference lies above" in note and "compare with" not in note
    unknown = write(tmp_path / "d", 0.05, 1.3, 1.0)
    assert not any("resolved" in n for n in compare(run, unknown).notes)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (2.0, 1.0, "is not below --high"),
        (None, 10.0, "--high.*is not possible for"),
        (0.01, None, "--low.*is not possible for"),
        (None, -1.0, "above 0 Hz"),
        (float("nan"), None, "above 0 Hz"),
    ],
)
def test_bands_that_do_not_suit_are_refused(tmp_path, low, high, text):
    run = write(tmp_path / "a", 0.05, 1.0, 1.0)
    with pytest.raises(InputError, match=text):
        compare(run, run, band=(low, high))
