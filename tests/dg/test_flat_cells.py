"""Flat cells take a step at which waves do not grow in them; others keep that of their inradius."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultwave.dg.checks import small_steps
from faultwave.dg.planning.plan import make_plan
from faultwave.run.inputs import load_valid_case
from faultwave.run.planned import check
from faultwave.verify import setups
from faultwave.verify.cases.energy import noise


def case(tmp_path: Path, high: float, order: int) -> dict[str, Any]:
    """A slab of bricks of 1 by 1 by ``high``, all sides free, stepped globally on NumPy."""
    sides = dict.fromkeys("xyz", "free-surface")
    mesh = setups.box((2, 1, 1), (0.0,) * 3, (2.0, 1.0, high), sides, shuffle=True)
    rock = {"constant": {"rho": 1.0, "lambda": 1.0, "mu": 1.0}}
    numerics = {"backend": "numpy", "precision": "double"}
    return setups.settings(
        "elastic", mesh, rock, 1e9, order, numerics=numerics, output={"folder": str(tmp_path / "out")}
    )


def growth(settings: dict[str, Any], steps: int = 40) -> float:
    """Growth of white noise a step over the second half of ``steps``."""
    sim = setups.started(settings, noise(9))
    total = setups.energies_every(sim, steps / 2 * setups.largest_step(sim), 2)
    return float(np.log(total[2] / total[1]) / steps)


def steps(settings: dict[str, Any]) -> np.ndarray:
    return make_plan(load_valid_case(settings)[0]).step


def test_white_noise_grows_at_the_step_of_the_inradius_and_not_at_the_one_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flat = case(tmp_path, 0.02, 5)
    taken, with_them = growth(flat), steps(flat)
    monkeypatch.setattr(small_steps, "FLAT", np.inf)
    assert taken < 0 and growth(flat) > 0.05
    assert (with_them < steps(flat)).any()


def test_cells_that_bear_their_step_keep_it_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for tried_above in (0.0, 30.0, np.inf):
        monkeypatch.setattr(small_steps, "FLAT", tried_above)
        found.append(steps(case(tmp_path, 1.0, 3)))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[2])


def test_steps_far_below_the_limit_of_the_inradius_are_not_reduced(tmp_path: Path) -> None:
    """Noise cannot decay in the test of flat cells while a case prescribes much smaller steps."""
    flat = case(tmp_path, 0.02, 3)
    flat["material"]["constant"] = {"rho": 2700.0, "lambda": 3e10, "mu": 3e10}
    flat["numerics"]["largest_step"] = float(1e-4 * steps(flat).min())
    np.testing.assert_array_equal(steps(flat), flat["numerics"]["largest_step"])


def test_check_names_flat_cells_and_what_they_cost(tmp_path: Path) -> None:
    told = [str(p) for p in check(case(tmp_path, 0.02, 5)).warnings if "flat" in str(p)]
    assert len(told) == 1 and "inradii" in told[0] and "times as long: cell " in told[0]


def test_patches_hold_a_cell_and_those_beyond_its_faces() -> None:
    near = np.array([[1, 2, -1, -1], [0, -1, -1, 2], [0, 1, 3, -1], [2, -1, -1, -1]])
    found = small_steps.cut_patches(np.array([3, 0]), near)
    assert found.cells.tolist() == [2, 3, 0, 1, 2] and found.patch.tolist() == [0, 0, 1, 1, 1]
    assert found.neighbours[0].tolist() == [-1, -1, 1, -1] and found.neighbours[2].tolist() == [3, 4, -1, -1]
