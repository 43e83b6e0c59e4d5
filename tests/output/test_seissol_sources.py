"""Ruptures written as NRF and FSRM: read back, moment rate tensors, places and times are those of the run."""

from __future__ import annotations

import h5py
import numpy as np
import pytest

from faultwave.observe.finite_source import finite_source
from faultwave.output.formats.finite_sources.fsrm import frame_angles
from faultwave.output.formats.finite_sources.histories import read_histories
from faultwave.output.results import convert
from faultwave.physics.sources.point import Sources
from faultwave.physics.sources.readers.fsrm import read_fsrm, rotation
from faultwave.physics.sources.readers.nrf import read_nrf

from .finite_source_runs import SIZES, in_two_segments, moment_tensor

FREQUENCY = 0.25
"""Highest frequency of the sources [Hz]."""
READERS = {"nrf": read_nrf, "fsrm": read_fsrm}


def full(six: np.ndarray) -> np.ndarray:
    return six[..., [0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(*six.shape[:-1], 3, 3)


def released(sources: Sources, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return places (m, 3) and moment tensors (m, times, 3, 3) released until ``times`` by all sources at a place."""
    places, owner = np.unique(sources.location.round(2), axis=0, return_inverse=True)
    found = np.zeros((len(places), len(times), 6))
    np.add.at(found, owner.ravel(), sources.moment_tensors(0.0, 0.0)[:, None] * sources.released(times)[:, :, None])
    return places, full(found)


def expected(folder, spacing: float | None, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of the subfaults of a run, from their slip rates along strike and up dip."""
    slip = read_histories(folder / "run-slip.h5")
    source = finite_source(slip, spacing, FREQUENCY)
    numbers = [n for n, rates in enumerate(source.rates) if len(rates)]
    found = np.zeros((len(numbers), len(times), 3, 3))
    for row, n in enumerate(numbers):
        rates, h = source.rates[n], source.interval
        sampled = source.onset[n] + h * np.arange(len(rates))
        until = np.concatenate([[[0.0, 0.0]], np.cumsum(0.5 * h * (rates[1:] + rates[:-1]), axis=0)])
        vector = np.stack([np.interp(times, sampled, u) for u in until.T], 1) @ [source.strike[n], source.up[n]]
        one = source.rigidity[n] * source.area[n] * vector[:, :, None] * source.normal[n]
        found[row] = one + one.swapaxes(1, 2)
    order = np.lexsort(source.place[numbers].round(2).T[::-1])
    return source.place[numbers][order], found[order]


@pytest.mark.parametrize("spacing", [None, "coarse"])
@pytest.mark.parametrize("kind", ["nrf", "fsrm"])
def test_moment_rates_are_those_of_the_subfaults(run, tmp_path, kind, spacing) -> None:
    spacing = SIZES[run.engine] if spacing else None
    (path,) = convert(run.folder, kind, tmp_path, spacing=spacing, frequency=FREQUENCY)
    interval = 1.0 / (25.0 * FREQUENCY)
    times = interval * np.arange(round(3.0 / interval))  # multiples of the interval, between which rates are linear
    places, found = released(Sources.of(READERS[kind](path)), times)
    exact_places, exact = expected(run.folder, spacing, times)
    assert found.shape == exact.shape
    assert np.abs(places - exact_places).max() < 0.011
    assert np.abs(found - exact).max() < 1e-5 * np.abs(exact).max()


@pytest.mark.parametrize("kind", ["nrf", "fsrm"])
def test_several_segments_release_the_moment_of_the_run(run, tmp_path, kind) -> None:
    folder = in_two_segments(run.folder, tmp_path / "run")
    (path,) = convert(folder, kind, tmp_path, spacing=SIZES[run.engine])
    sources = Sources.of(READERS[kind](path))
    found = released(sources, np.array([1e6]))[1].sum((0, 1))
    exact = moment_tensor(run.slip)
    assert np.abs(found - exact).max() < 1e-3 * np.abs(exact).max()


def test_nrf_has_the_layout_of_the_format(run, tmp_path) -> None:
    (path,) = convert(run.folder, "nrf", tmp_path)
    with h5py.File(path) as file:
        subfaults, centres, offsets = file["subfaults"], file["centres"], file["sroffsets"][()]
        assert subfaults.dtype.itemsize == 104 and subfaults.dtype.names[:4] == ("tinit", "timestep", "mu", "area")
        assert centres.dtype.names == ("x", "y", "z") and len(offsets) == len(subfaults) + 1
        assert offsets[-1].tolist() == [len(file[f"sliprates{d}"]) for d in (1, 2, 3)]
        assert file["sliprates3"].shape == (0,) and file["sliprates3"].maxshape == (None,)
        slip, normal = (np.array(subfaults[n].tolist()) for n in ("tan1", "normal"))
    assert (slip * normal).sum(1) == pytest.approx(0.0, abs=1e-12)
    assert np.linalg.norm(normal, axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0), (-0.36, 0.48, -0.8)])
def test_angles_turn_the_axes_into_slip_and_normal(normal) -> None:
    for helper in ([1.0, 0.3, 0.2], [-0.4, -1.0, 0.9]):
        slip = np.cross(normal, helper)
        slip /= np.linalg.norm(slip)
        turn = rotation(*frame_angles(slip, np.array(normal)))
        assert turn[:, 0] == pytest.approx(slip, abs=1e-12)
        assert turn[:, 2] == pytest.approx(normal, abs=1e-12)
