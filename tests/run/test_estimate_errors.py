"""Estimated errors of seismograms: what a finished run gets, against a run of higher order, and what is refused."""

from __future__ import annotations

import csv
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.base.errors import InputError, NotBuiltError
from faultwave.case.load import load_case
from faultwave.domain.grids import MIN_CELLS
from faultwave.fd.blocks.layout import LEAST, MIN_BLOCK
from faultwave.fd.operators.time_dispersion import Stepped, late
from faultwave.observe.error_estimates import fit_error_kinds, middle
from faultwave.output.formats.receivers_hdf5 import read_receivers
from faultwave.run.coarser import ORDER, TIMES, check_coarser, coarser
from tests.run.launch import launch

BOX = {"lower": [0, 0, 0], "upper": [4000, 4000, 4000]}
POINTS = [[600.0, 800.0, 3000.0], [3500.0, 3000.0, 3900.0], [2500.0, 800.0, 1000.0]]


def case(folder: Path, order: int = 4, **more: Any) -> dict[str, Any]:
    """A source in a box whose waves are resolved well at order 4."""
    mesh = {"shape": "box", "cells": [5, 5, 5], **BOX, "boundaries": {"z+": "free-surface"}}
    source = {
        "kind": "moment-tensor", "location": [1900, 2100, 2300], "tensor": {"xy": 1e15},
        "time_function": {"kind": "gaussian", "duration": 0.3},
    }  # fmt: skip
    return {
        "mesh": {"generate": mesh}, "material": {"constant": {"rho": 2700.0, "vp": 3464.0, "vs": 2000.0}},
        "end_time": 3.0, "numerics": {"order": order, "source_spread": "point"}, "sources": [source],
        "output": {"folder": str(folder), "receivers": {"points": POINTS, "interval": 0.05}}, **more,
    }  # fmt: skip


def velocity(data: Any) -> np.ndarray:
    return np.stack([data.quantity(f"v{i}") for i in (1, 2, 3)], -1)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Folder of a finished run with estimates, and its session."""
    folder = tmp_path_factory.mktemp("errors")
    session = fw.run(case(folder))
    return folder, session, fw.estimate_errors(folder)


def test_estimates_are_near_the_errors_against_a_higher_order(finished):
    _, session, found = finished
    exact = velocity(fw.simulate(case(Path("x"), 6)).run(write=False).receivers)
    wrong = velocity(session.receivers) - exact
    true = np.sqrt((wrong**2).sum((0, 2)) / (exact**2).sum((0, 2)))
    estimated = found["relative_error_of_velocity"]
    assert np.all(true < 0.15)
    assert np.all((estimated > true / 4) & (estimated < 4 * true))
    assert 0.45 < np.exp(np.log(estimated / true).mean()) < 2.2


def test_files_of_the_run_tell_estimates(finished):
    folder, session, found = finished
    written = read_receivers(folder / "run-receivers.h5")["receivers"]
    np.testing.assert_array_equal(written["values"], session.receivers["values"])
    np.testing.assert_array_equal(written["relative_error"], found["relative_error"])
    np.testing.assert_array_equal(written["relative_error_of_velocity"], found["relative_error_of_velocity"])
    assert written.attrs["errors_estimated_from"] == "orders 3 and 2 in addition to order 4"
    with (folder / "run-errors.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["station"] for row in rows] == ["R0001", "R0002", "R0003"]
    for row, error in zip(rows, found["relative_error_of_velocity"], strict=True):
        assert float(row["velocity"]) == pytest.approx(error, rel=1e-4)
        assert np.hypot(np.hypot(float(row["v1"]), float(row["v2"])), float(row["v3"])) == pytest.approx(
            error, rel=1e-3
        )
    manifest = json.loads((folder / "run-manifest.json").read_text())
    assert "run-errors.csv" in manifest["outputs"]
    assert manifest["estimated_errors"]["cost"] > 0


def test_estimating_again_finds_the_same(finished):
    folder, _, found = finished
    before = (folder / "run-errors.csv").read_text()
    again = fw.estimate_errors(folder)
    np.testing.assert_array_equal(again["relative_error"], found["relative_error"])
    assert (folder / "run-errors.csv").read_text() == before


def test_results_are_read_plotted_and_replaced_as_before(finished):
    folder, session, _ = finished
    traces = fw.load(folder).traces["receiver"]
    assert traces[2].relative_error == pytest.approx(
        read_receivers(folder / "run-receivers.h5")["receivers"]["relative_error_of_velocity"][1]
    )
    assert len(traces) == 3


def test_grids_are_estimated_by_larger_spacings(tmp_path):
    settings = case(tmp_path) | {"engine": "fd", "grid": {**BOX, "spacing": 200.0}, "numerics": {}}
    del settings["mesh"]
    session = fw.run(settings)
    found = fw.estimate_errors(tmp_path)
    assert found.attrs["estimated_from"] == "spacings of 300 and 400 m in addition to 200 m"
    half = middle(session.receivers) + 0.1
    sessions = [session]
    for h, end in ((300.0, 3.0), (400.0, half)):
        sessions.append(fw.simulate(settings | {"grid": {**BOX, "spacing": h}}).run(until=end, write=False))
    near_step = sessions[1].plan.scheme.step
    freed, known = [], []
    for one, finer in zip(sessions, (1.5, 1.0, 0.75), strict=True):
        series = velocity(one.receivers)
        known.append(
            late(Stepped(near_step / finer, 6 * 0.3), series, 0.05)
        )  # a Gaussian is largest six durations after its start
        freed.append(series - known[-1])
    near, far = (data - freed[0][: len(data)] for data in freed[1:])
    wanted = fit_error_kinds((2.0, 3.0, 4.0), 4)(freed[0], near, far, known[0])
    np.testing.assert_allclose(found["relative_error_of_velocity"], np.sqrt((wanted**2).sum(1)), rtol=0.02)
    assert np.all(np.sqrt((known[0] ** 2).sum((0, 2)) / (velocity(session.receivers) ** 2).sum((0, 2))) > 1e-3)


def made(**settings: Any):
    found, problems = load_case(settings)
    problems.raise_errors()
    return found


def test_periodic_grids_keep_their_period():
    grid = {**BOX, "spacing": 4000 / 28, "boundaries": {"x": "periodic", "y": "periodic"}, "step": 0.01}
    settings = case(Path("x")) | {"engine": "fd", "grid": grid, "numerics": {}}
    del settings["mesh"]
    lower = coarser(made(**settings))
    spacings = [c.grid.spacing for c in lower.cases]
    assert spacings == pytest.approx([4000 / 19, 4000 / 14])
    assert [c.grid.step for c in lower.cases] == pytest.approx([0.01 * 28 / 19, 0.02])


def test_rigid_sides_of_grids_stay_where_they_are():
    """A grid begins at x-, y- and z+ and ends with the next point: only rigid sides at its other ends could move."""
    for side, kept in (("x-", False), ("x+", True), ("y", True), ("z-", True)):
        grid = {**BOX, "spacing": 4000 / 28, "boundaries": {side: "rigid"}}
        settings = case(Path("x")) | {"engine": "fd", "grid": grid, "numerics": {}}
        del settings["mesh"]
        whole = [(4000 / c.grid.spacing) % 1 for c in coarser(made(**settings)).cases]
        assert np.allclose(whole, np.round(whole), atol=1e-9) == kept


def test_periodic_grids_too_small_to_be_made_coarser_are_refused():
    """A grid grows to its least number of cells: its period would not stay."""
    for count, wrong in ((16, False), (14, True)):
        grid = {**BOX, "spacing": 4000 / count, "boundaries": {"x": "periodic", "y": "periodic"}}
        settings = case(Path("x")) | {"engine": "fd", "grid": grid, "numerics": {}}
        del settings["mesh"]
        if wrong:
            with pytest.raises(InputError, match=r"one is 7 points of 571.* m \(allowed: 8 or more"):
                coarser(made(**settings))
        else:
            assert coarser(made(**settings)).cases[1].grid.spacing == 500.0


def test_meshes_that_are_built_keep_their_elements():
    build = {
        "lower": [0, 0],
        "upper": [9e3, 9e3],
        "depth": 9e3,
        "frequency": 1.0,
        "points_per_wavelength": 10.0,
        "cohesive_zone": 600.0,
    }
    settings = case(Path("x"), 5) | {"mesh": {"build": build}}
    for found, order in zip(coarser(made(**settings)).cases, (4, 2), strict=True):
        assert found.numerics.order == order
        assert order / found.mesh.build.points_per_wavelength == pytest.approx(5 / 10.0)
        assert found.mesh.build.fault_size == 600.0


def test_other_outputs_are_left_out():
    settings = case(Path("x"), 6, stop={"energy_below": 0.01})
    settings["output"] |= {"energies": {"interval": 0.1}, "surface": {"interval": 0.1}, "checkpoint": {"interval": 1.0}}
    for found in coarser(made(**settings)).cases:
        assert found.output.receivers.interval == 0.05
        assert (found.output.energies, found.output.surface, found.output.checkpoint) == (None, None, None)
        assert found.stop.energy_below is None
        assert found.numerics.precision == "single"
        assert found.numerics.source_spread_order == 6


def test_what_cannot_be_estimated_is_told(tmp_path):
    with pytest.raises(NotBuiltError, match="4 to 8"):
        coarser(made(**case(tmp_path, 3)))
    with pytest.raises(InputError, match="not a folder"):
        fw.estimate_errors(tmp_path / "nowhere")
    silent = case(tmp_path, output={"folder": str(tmp_path), "energies": {"interval": 0.1}})
    with pytest.raises(InputError, match=r"output\.receivers.*the case has"):
        coarser(made(**silent))
    short = case(tmp_path / "run", 2, end_time=0.1)
    fw.run(short)
    with pytest.raises(NotBuiltError, match="4 to 8"):
        fw.estimate_errors(tmp_path / "run")
    manifest = tmp_path / "run" / "run-manifest.json"
    known = json.loads(manifest.read_text())
    for status in ("interrupted", "running"):  # one that was killed still says that it runs
        manifest.write_text(json.dumps(known | {"status": status}))
        with pytest.raises(InputError, match="resume"):
            fw.estimate_errors(tmp_path / "run")
    manifest.write_text(json.dumps(known | {"status": "finished"}))
    (tmp_path / "run" / "run-receivers.h5").unlink()
    with pytest.raises(InputError, match="no seismograms"):
        fw.estimate_errors(tmp_path / "run")


def test_grids_whose_points_would_lie_elsewhere_are_refused():
    fault = {"lower": [1000, 2000, 1000], "upper": [3000, 2000, 4000]}
    settings = case(Path("x")) | {"engine": "fd", "grid": {**BOX, "spacing": 100.0, "fault": fault}, "numerics": {}}
    del settings["mesh"]
    with pytest.raises(NotBuiltError, match=r"grid\.fault"):
        coarser(made(**settings))
    settings["grid"] = {**BOX, "spacing": 100.0, "order": 8}
    with pytest.raises(NotBuiltError, match=r"grid\.order"):
        coarser(made(**settings))


def blocks(folder: Path, *listed: tuple[float, float], **grid: Any) -> dict[str, Any]:
    """The box on a grid of blocks that begin at these depths with these spacings."""
    given = {**BOX, "spacing": 50.0, "blocks": [{"below": below, "spacing": h} for below, h in listed], **grid}
    settings = case(folder) | {"engine": "fd", "grid": given, "numerics": {}}
    del settings["mesh"]
    return settings


def test_faces_of_blocks_lie_at_the_nearest_planes_of_coarser_grids():
    settings = blocks(Path("x"), (1250.0, 100.0), (2750.0, 300.0), upper=[4200, 4200, 4000])
    near, far = coarser(made(**settings)).cases
    assert [(b.below, b.spacing) for b in near.grid.blocks] == [(1275.0, 150.0), (2775.0, 450.0)]
    assert [(b.below, b.spacing) for b in far.grid.blocks] == [
        (1200.0, 200.0),
        (2800.0, 600.0),
    ]  # of 12.5 and 7.75 planes
    assert [tuple(c.grid.upper) for c in (near, far)] == [(4500.0, 4500.0, 4000.0), (4200.0, 4200.0, 4000.0)]


def test_periodic_axes_are_a_multiple_of_the_largest_spacing_of_coarser_grids():
    settings = blocks(Path("x"), (1500.0, 100.0), boundaries={"x": "periodic", "y": "periodic"})
    for found, times in zip(coarser(made(**settings)).cases, (1.5, 2.0), strict=True):
        (block,) = found.grid.blocks
        assert block.spacing == pytest.approx(2 * found.grid.spacing)
        assert 4000 / block.spacing == pytest.approx(round(4000 / block.spacing))
        assert tuple(found.grid.upper) == pytest.approx((4000.0, 4000.0, 4000.0))
        assert found.grid.spacing == pytest.approx(50.0 * times, rel=0.1)


def test_blocks_without_room_on_coarser_grids_are_told_before_the_run():
    settings = made(**blocks(Path("x"), (800.0, 100.0)))
    coarser(settings)
    with pytest.raises(
        InputError, match=r"grid\.blocks\[0\]\.below: errors are not estimated: on a grid of 100 m.*12 planes"
    ):
        check_coarser(settings)
    check_coarser(made(**blocks(Path("x"), (1200.0, 100.0))))
    with pytest.raises(InputError, match=r"grid\.boundaries: errors are not estimated: z- is rigid"):
        coarser(made(**blocks(Path("x"), (1200.0, 100.0), boundaries={"z-": "rigid"})))


def test_the_guide_tells_how_many_planes_blocks_want():
    guide = (Path(__file__).parents[2] / "docs/guide/outputs.md").read_text()
    told = re.search(
        r"a block requires (\d+) planes, the lowest block (\d+), and a periodic or rigid axis (\d+) points", guide
    )
    upper, lowest, axis = (int(number) for number in told.groups())
    assert (upper, lowest, axis) == (TIMES[-1] * MIN_BLOCK, TIMES[-1] * LEAST, TIMES[-1] * MIN_CELLS[ORDER])
    for planes, fits in ((lowest, True), (lowest - 2, False)):  # the box is 40 planes of the lowest block deep
        settings = made(**blocks(Path("x"), (4000.0 - 100.0 * planes, 100.0)))
        with (
            nullcontext()
            if fits
            else pytest.raises(InputError, match=r"errors are not estimated: on a grid of 100 m.*8 planes")
        ):
            check_coarser(settings)


def test_errors_on_blocks_are_near_those_against_a_finer_grid(tmp_path):
    """Sides are periodic, so that no layer absorbs otherwise on other grids; the last receiver is below the face, where waves of 10 points
    have gone on with 5."""
    sides = {"x": "periodic", "y": "periodic"}
    settings = blocks(tmp_path, (2400.0, 200.0), spacing=100.0, lower=[0, 0, -2000], boundaries=sides)
    settings |= {"end_time": 2.4, "numerics": {"precision": "single"}}
    settings["sources"][0] |= {
        "location": [1900, 2100, 2900], "time_function": {"kind": "gaussian", "duration": 0.12},
    }  # fmt: skip
    settings["output"]["receivers"]["points"] = [POINTS[0], [3500.0, 3000.0, 4000.0], POINTS[2]]
    session = fw.run(settings)
    found = fw.estimate_errors(tmp_path)["relative_error_of_velocity"]
    exact = velocity(
        fw.simulate(settings | {"grid": settings["grid"] | {"spacing": 50.0, "step": 0.002, "blocks": []}})
        .run(write=False)
        .receivers
    )
    wrong = velocity(session.receivers) - exact
    true = np.sqrt((wrong**2).sum((0, 2)) / (exact**2).sum((0, 2)))
    print(true, found / true)
    assert np.all((true > 0.01) & (true < 0.2))
    assert np.all((found > true / 2) & (found < 2.5 * true))


@pytest.mark.mpi
def test_several_processes_estimate_the_same(finished, tmp_path):
    _, _, found = finished
    after = 'fw.estimate_errors(case["output"]["folder"])'
    done = launch(2, case(tmp_path), after=after)
    assert done.returncode == 0, done.stderr
    written = read_receivers(tmp_path / "run-receivers.h5")["receivers"]
    np.testing.assert_allclose(written["relative_error"], found["relative_error"], rtol=1e-12)
    assert "run-errors.csv" in json.loads((tmp_path / "run-manifest.json").read_text())["outputs"]


def test_comparisons_and_reports_tell_estimates(finished, tmp_path):
    folder, _, found = finished
    notes = fw.compare(folder, folder).notes
    assert any("estimated errors of receivers of the run are" in note for note in notes)
    page = fw.report(folder, tmp_path / "page.html").read_text()
    assert "Estimated relative errors of seismograms [%], from orders 3 and 2 in addition to order 4" in page
    assert f"{100 * found['relative_error_of_velocity'].max():.2g}" in page
