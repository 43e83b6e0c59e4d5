"""Pictures of plans, of both engines and of Maxwell: what is drawn is what the plan holds, and nothing is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import faultwave as fw
from faultwave.base.errors import InputError
from faultwave.observe.model import Coverage, Label, Marks, Model, Section, Sheet
from faultwave.plot import plot_model
from faultwave.plot.plans import _frame, profiles
from faultwave.run.inputs import load_valid_case
from faultwave.run.planned import plan_model
from tests.messages import raises

ROCK = {"rho": 2700.0, "vp": 6000.0, "vs": 3464.0}
BOX = {
    "shape": "box", "cells": [4, 4, 3], "lower": [-4e3, -4e3, -6e3], "upper": [4e3, 4e3, 0.0],
    "boundaries": {"z+": "free-surface"},
}  # fmt: skip


def ruptures() -> dict:
    return {
        "end_time": 1.0,
        "mesh": {"generate": {**BOX, "fault": ["y", 0.0]}},
        "material": {"constant": ROCK},
        "fault": {
            "friction": "linear-slip-weakening",
            "reference": [0.0, 1.0, 0.0],
            "parameters": {
                "constant": {"T_d": 0.0, "T_n": -120e6, "mu_s": 0.677, "mu_d": 0.525, "d_c": 0.4, "cohesion": 0.0},
                "expression": {"T_s": "if (x > 0) { return 82e6; } return 70e6;"},
            },
        },
        "numerics": {"order": 2},
        "output": {"receivers": {"points": [[1e3, 2e3, 0.0]], "names": ["ABC"]}},
    }


def layered() -> dict:
    return {
        "engine": "fd",
        "end_time": 1.0,
        "grid": {"lower": [0.0, 0.0, -2e3], "upper": [3e3, 2e3, 0.0], "spacing": 100.0, "frequency": 2.0},
        "material": {
            "expression": {
                "rho": "2500", "vp": "if (z > -500) { return 2500; } return 5000;",
                "vs": "if (z > -500) { return 1250; } return 2500;",
            }
        },
        "sources": [
            {"kind": "moment-tensor", "location": [1500.0, 1000.0, -1000.0], "tensor": {"xy": 1e15},
             "time_function": {"kind": "brune", "duration": 0.2}}
        ],
    }  # fmt: skip


def guide() -> dict:
    return {
        "law": "maxwell",
        "end_time": 1e-10,
        "mesh": {
            "generate": {
                "shape": "box", "cells": [3, 2, 2], "lower": [0, 0, 0], "upper": [0.03, 0.02, 0.01],
                "boundaries": {"x": "pec"},
            }
        },
        "material": {"constant": {"relative_permittivity": 2.0}},
        "numerics": {"order": 2},
    }  # fmt: skip


def modelled(case: dict) -> Model:
    return plan_model(load_valid_case(case)[0])[0]


def texts(fig: Figure) -> str:
    return " | ".join(t.get_text() for t in fig.findobj(Text))  # type: ignore[attr-defined]


def test_a_fault_in_a_mesh(drawn: dict[str, Figure], tmp_path: Path) -> None:
    plot_model(modelled(ruptures()), tmp_path)
    assert set(drawn) == {"map", "profiles", "fault", "resolution"}  # one time step, and material that varies nowhere
    assert "receiver" in texts(drawn["map"]) and "S ratio" in texts(drawn["fault"])
    assert "fails by itself" in texts(drawn["fault"])
    (share,) = (ax for ax in drawn["resolution"].axes if ax.get_xlabel() == "points per wavelength")
    low, high = share.get_xlim()  # wide enough for a tick where all cells are resolved alike
    assert high > 2 * low
    assert not any(tmp_path.glob("*.h5"))


def test_the_trace_of_a_dipping_fault_ends_where_the_fault_does(drawn: dict[str, Figure], tmp_path: Path) -> None:
    """The first edges of its sides, which lie as shallow as the trace where elements are small, are none of it."""
    dip = np.array([0.0, 1000.0, -1000.0])
    model = modelled(ruptures())
    x = np.array([[-1000.0, 0, 0], [0, 0, 0], [1000, 0, 0]])
    rows = np.concatenate([x + depth * dip for depth in (0.0, 0.1, 1.0)])
    cells = [[i + j, i + j + 1, i + j + 3] for j in (0, 3) for i in (0, 1)]
    cells += [[i + j + 1, i + j + 4, i + j + 3] for j in (0, 3) for i in (0, 1)]
    plot_model(replace(model, sheets=(Sheet("fault", rows, np.array(cells)),)), tmp_path)
    (trace,) = (c for ax in drawn["map"].axes for c in ax.collections if c.get_label() == "faults")
    assert np.ptp(np.concatenate([s.vertices for s in trace.get_paths()])[:, 1]) == 0.0


def test_what_the_fault_shows() -> None:
    (fault,) = modelled(ruptures()).of("fault")
    right = fault.points[fault.cells].mean(1)[:, 0] > 0
    np.testing.assert_allclose(fault.values["shear stress"][right], 82.0)
    np.testing.assert_allclose(fault.values["strength"], 0.677 * 120)
    np.testing.assert_allclose(fault.values["S ratio"][~right], (0.677 * 120 - 70) / (70 - 0.525 * 120), rtol=1e-6)
    np.testing.assert_array_equal(fault.values["breaks"], right)


def test_layers_on_a_grid(drawn: dict[str, Figure], tmp_path: Path) -> None:
    model = modelled(layered())
    plot_model(model, tmp_path)
    assert set(drawn) == {"map", "sections", "profiles", "resolution"}
    assert model.frequency == 2.0
    assert model.cut is not None
    section = model.cut(np.array([0.0, 1e3]), np.array([3e3, 1e3]))
    low = section.points[section.cells][..., 1].mean(1) < -500
    np.testing.assert_allclose(section.values["vs"], np.where(low, 2500.0, 1250.0))
    np.testing.assert_allclose(section.values["points_per_wavelength"], section.values["vs"] / (100.0 * 2.0))
    area = _area(section)
    assert area.sum() == pytest.approx(3e3 * 2e3)


def _area(section: Section) -> np.ndarray:
    x, y = np.moveaxis(section.points[section.cells], 2, 0)
    return 0.5 * np.abs((x * np.roll(y, -1, 1) - y * np.roll(x, -1, 1)).sum(1))


def test_a_wave_guide(drawn: dict[str, Figure], tmp_path: Path) -> None:
    model = modelled(guide())
    plot_model(model, tmp_path)
    assert {"map", "profiles", "resolution"} <= set(drawn)
    assert model.speeds == ("speed",) and "permittivity" in model.labels
    assert "[mm]" in texts(drawn["map"])  # kilometres would say nothing


def test_the_cut_of_a_mesh_covers_the_plane() -> None:
    model = modelled(ruptures())
    assert model.cut is not None
    for ends in (([-4e3, 0.0], [4e3, 0.0]), ([-4e3, -1e3], [4e3, 1e3]), ([-3999.0, 13.0], [3999.0, 14.0])):
        start, end = np.array(ends)
        section = model.cut(start, end)
        assert _area(section).sum() == pytest.approx(np.linalg.norm(end - start) * 6e3, rel=2e-3)


def made(**changes: object) -> Model:
    """A model without an engine: a slope whose speed grows with depth."""
    x, z = np.meshgrid(np.linspace(0, 1e4, 11), np.linspace(-5e3, 0, 6), indexing="ij")
    number = np.arange(66).reshape(11, 6)
    cells = np.stack([number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]], -1).reshape(-1, 4)
    points = np.stack([x, z], -1).reshape(-1, 2)
    values = {"vp": 3000.0 - points[cells][..., 1].mean(1)}

    def cut(start: np.ndarray, end: np.ndarray) -> Section:
        return Section(points * [np.linalg.norm(end - start) / 1e4, 1.0], cells, values)

    told = {
        "lower": np.array([0.0, 0.0, -5e3]),
        "upper": np.array([1e4, 1e4, 0.0]),
        "labels": {"vp": Label("P speed", "m/s")},
    }
    return Model("made", speeds=("vp",), cut=cut, **{**told, **changes})  # type: ignore[arg-type]


def test_profiles_read_the_cells_below_a_place() -> None:
    assert (section := made().cut) is not None
    z = np.array([-4500.0, -1500.0, -10.0, 300.0])
    cell = profiles.column(section(np.zeros(2), np.array([1e4, 0.0])), 2500.0, z)
    np.testing.assert_allclose(-z[:3] // 1000 * 1000 + 500, [4500, 1500, 500])
    assert (cell[:3] >= 0).all() and cell[3] == -1


def test_coverage_names_what_is_there(drawn: dict[str, Figure], tmp_path: Path) -> None:
    cover = Coverage(("model", "hole", "outside"), lambda p: np.where(p[:, 0] > 8e3, 2, np.where(p[:, 2] < -3e3, 1, 0)))
    plot_model(made(coverage=cover), tmp_path)
    (legend,) = [a for a in drawn["coverage"].findobj() if type(a).__name__ == "Legend"]
    assert [t.get_text() for t in legend.get_texts()] == ["model", "hole", "outside"]


def test_what_matters_of_a_large_box_is_shown() -> None:
    near = Marks("sources", np.array([[5000.0, 5000.0, -1000.0]]))
    far = made(lower=np.array([-1e5, -1e5, -5e4]), upper=np.array([1e5, 1e5, 0.0]), marks=(near,))
    shown = _frame.limits(far)
    assert np.ptp(shown, axis=0)[0] < 2e4 and shown[0, 0] < 5e3 < shown[1, 0]
    assert np.ptp(_frame.limits(far, whole=True), axis=0)[0] == 2e5


def test_the_mesh_around_the_region_is_not_shown() -> None:
    region = np.array([[2e3, 2e3, -4e3], [8e3, 8e3, 0.0]])
    model = made(region=region, marks=(Marks("sources", np.array([[4e3, 4e3, -3e3], [6e3, 7e3, -1e3]])),))
    np.testing.assert_allclose(_frame.limits(model), region)
    outside = Marks("receivers", np.array([[9e3, 4e3, 0.0]]))
    np.testing.assert_allclose(_frame.limits(replace(model, marks=(*model.marks, outside)))[:, 0], [2e3, 9e3])


def test_sections_follow_the_fault() -> None:
    corners = np.array([[0, 0, 0], [3000, 4000, 0], [3000, 4000, -2000]], float) + [2000, 2000, 0]
    model = made(sheets=(Sheet("fault", corners, np.array([[0, 1, 2]])),))
    along, across = _frame.lines(model, _frame.limits(model))
    way = (along.end - along.start) / along.length
    np.testing.assert_allclose(np.abs(way), [0.6, 0.8], atol=1e-6)
    assert way @ (across.end - across.start) == pytest.approx(0.0, abs=1e-6)
    assert len(_frame.crossing(corners[None], across)) == 1 and not len(_frame.crossing(corners[None], along))


def test_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    paths = fw.plot(fw.plan(guide()), dpi=30, format="svg")
    assert {p.parent.name for p in paths} == {"run-plan"} and all(p.stat().st_size for p in paths)
    with raises(InputError):
        fw.plot(fw.plan(guide()), time=1.0)
