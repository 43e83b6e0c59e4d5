"""Ruptures written as SRF: read back, moment, mechanism, centroid, onset and final slip are those of the run."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from faultwave.base.projection import Projection
from faultwave.comm import World
from faultwave.observe.finite_source import finite_source
from faultwave.output.results import convert
from faultwave.physics.sources.readers.srf import read_srf
from faultwave.run import simulate

from .finite_source_runs import PROJECTION, SIZES, grid_case, mesh_case, moment_tensor

EARTH = Projection(PROJECTION["crs"], PROJECTION["origin"], PROJECTION["azimuth"])


def sums(sources):
    """Final moment tensor (3, 3), moments (n,), places (n, 3) and first motion [s] of sources that were read."""
    final = sources.released(np.array([1e6]))[:, 0]
    six = 2.0 * sources.shear_modulus[:, None] * sources.potency * final[:, None]
    full = six[:, [0, 3, 5, 3, 1, 4, 5, 4, 2]].reshape(-1, 3, 3)
    return full.sum(0), np.sqrt((full**2).sum((1, 2)) / 2.0), sources.location, sources.onset.min()


@pytest.mark.parametrize("spacing", [None, "coarse"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_source_equals_the_run(run, tmp_path, spacing, version) -> None:
    spacing = SIZES[run.engine] if spacing else None
    (path,) = convert(run.folder, "srf", tmp_path, spacing=spacing, srf_version=version)
    assert ("PLANE" in path.read_text()) == (spacing is not None)
    found = read_srf(path, EARTH)
    if version == "1.0":
        assert np.isnan(found.shear_modulus).all()
        found.shear_modulus[:] = run.slip.rigidity[0]
    tensor, moments, places, onset = sums(found)
    expected = moment_tensor(run.slip)
    assert np.abs(tensor - expected).max() < 1e-4 * np.abs(expected).max()
    scalar = run.slip.moments
    assert moments.sum() == pytest.approx(scalar.sum(), rel=1e-3)
    centroid = (scalar[:, None] * run.slip.centre).sum(0) / scalar.sum()
    assert (moments[:, None] * places).sum(0) / moments.sum() == pytest.approx(centroid, abs=5.0)
    begins = run.slip.time[np.flatnonzero(run.slip.slip.any((0, 2)))[0]]
    assert onset == pytest.approx(begins, abs=2 * run.slip.interval)


def test_moment_is_that_of_the_run(run) -> None:
    """Energies measure it by the path of slip, which is longer where the direction changes: on coarse grids by 3 % here."""
    from faultwave.output.results import load_results

    energies = load_results(run.folder).energies
    longer = 0.04 if run.engine == "fd" else 1e-3
    assert 1.0 - longer < run.slip.moments.sum() / energies["seismic_moment"][-1] < 1.0 + 1e-6


def test_slip_is_the_integral_of_slip_rate(run, tmp_path) -> None:
    source = finite_source(run.slip, None, 0.9)
    for n, rates in enumerate(source.rates):
        assert rates.sum(0) * source.interval == pytest.approx(source.slip[n], rel=1e-12, abs=1e-15)
        if len(rates):
            assert not rates[[0, -1]].any() and source.onset[n] >= 0
    final = np.linalg.norm(run.slip.slip[:, -1], axis=1)
    np.testing.assert_allclose(np.linalg.norm(source.slip, axis=1), final, rtol=1e-6)


def test_rates_are_those_of_the_run_up_to_the_frequency(run) -> None:
    """Spectra of the moment rate, with the linear interpolation of readers, agree within 1 %."""
    source = finite_source(run.slip, SIZES[run.engine], 0.9)
    times = [onset + source.interval * np.arange(len(r)) for onset, r in zip(source.onset, source.rates, strict=True)]
    for frequency in (0.1, 0.5, 0.9):
        phase = [np.exp(-2j * np.pi * frequency * t) for t in times]
        weights = source.rigidity * source.area * source.interval
        parts = [w * (p[:, None] * r).sum(0) for w, p, r in zip(weights, phase, source.rates, strict=True) if len(r)]
        found = np.sum(parts, 0) * np.sinc(frequency * source.interval) ** 2
        h = run.slip
        middle, steps = 0.5 * (h.time[1:] + h.time[:-1]), np.diff(h.slip.astype(float), axis=1)
        moved = np.einsum("e,etc->tc", h.rigidity * h.area, steps)
        exact = (np.exp(-2j * np.pi * frequency * middle)[:, None] * moved).sum(0)
        exact = exact / np.sinc(frequency * h.interval)
        assert np.linalg.norm(np.abs(found) - np.abs(exact)) < 0.01 * np.linalg.norm(exact)


def test_size_of_the_stored_slip_is_forecast(run, tmp_path) -> None:
    case = grid_case(tmp_path / "out") if run.engine == "fd" else mesh_case(tmp_path)
    parts = simulate(case, force=True).plan.parts
    (part,) = (p for p in (parts.values() if isinstance(parts, dict) else parts) if p.name == "rupture_maps")
    stored = sum(getattr(run.slip, field.name).nbytes for field in fields(run.slip))
    assert stored <= part.requirements.disk < 1.8 * stored  # rows fall on whole steps, which are long here
    if run.engine == "fd":
        assert part.memory(100, World()).nbytes == 2 * part.requirements.disk


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"rupture": {"slip_interval": None}}, ["has stored no slip of its fault (run-slip.h5)", "slip_interval"]),
        ({"projection": None}, ["the case has no projection"]),
        ({"end_time": 0.04}, ["the fault has not slipped"]),
    ],
)
def test_runs_without_slip_or_projection_are_errors(tmp_path, changes, texts) -> None:
    case = grid_case(tmp_path, **changes.pop("rupture", {})) | {"end_time": 0.4} | changes
    simulate({key: value for key, value in case.items() if value is not None}).run()
    with raises_all(*texts):
        convert(tmp_path, "srf")


def test_runs_without_a_fault_are_errors(tmp_path) -> None:
    case = grid_case(tmp_path) | {"end_time": 0.04}
    del case["fault"], case["grid"]["fault"], case["output"]["rupture"]
    simulate(case).run()
    with raises_all("the run 'run' has no fault with friction"):
        convert(tmp_path, "srf")


def test_every_problem_is_reported_before_writing(run, tmp_path) -> None:
    with raises_all("below the size of the faces", "slip is stored every", "above the"):
        convert(run.folder, "srf", tmp_path / "new", spacing=10.0, frequency=1e3)
    with raises_all("100000 m is larger than the fault"):
        convert(run.folder, "srf", tmp_path / "new", spacing=1e5)
    assert not list((tmp_path / "new").glob("*"))


class raises_all:
    """Context in which an InputError with all texts must be raised."""

    def __init__(self, *texts: str):
        self.texts = texts

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind, error, trace) -> bool:
        assert error is not None and all(text in str(error) for text in self.texts), error
        return True
