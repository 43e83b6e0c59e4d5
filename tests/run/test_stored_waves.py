"""``numerics.stored_waves: single``: what is told, what bounds the difference, and going on to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import faultwave as fw
from faultwave.base.errors import RunError
from faultwave.case.load import load_case
from faultwave.dg.checks.accuracy import estimate_single_precision_error
from faultwave.domain.tets import BoundaryKind
from tests.run.test_restart import asked, contents, same, stop_at
from tests.run.test_single_precision import broken, farthest, shaken

LOOSE, LOOSE_CLOSED = 100.0, 600.0
"""Times that the estimate may be above the truth; in boxes that keep what a source leaves behind."""


def run(case: dict[str, Any], waves: str | None, folder: Path) -> Any:
    numerics = {**case.get("numerics", {}), "stored_waves": waves, "threads": 1}
    return fw.simulate({**case, "numerics": numerics, "output": {**case["output"], "folder": str(folder)}}).run()


CASES = {
    "order 2": lambda path: shaken(path, numerics={"order": 2}),
    "order 4": lambda path: shaken(path, numerics={"order": 4}),
    "rupture": lambda path: broken(path, 3),
    "attenuation": lambda path: shaken(
        path, numerics={"order": 3}, attenuation={"high": 2.0},
        material={"constant": {"rho": 2670.0, "vp": 6000.0, "vs": 3464.0, "Qp": 100.0, "Qs": 50.0}},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_estimate_bounds_what_is_measured(tmp_path: Path, name: str) -> None:
    single, double = (run(CASES[name](tmp_path), w, tmp_path / str(w)) for w in ("single", None))
    plan = single.plan
    closed = not (plan.topology.kinds == BoundaryKind.ABSORBING).any()
    steps = plan.case.end_time / plan.clustering.steps[0]
    bound = estimate_single_precision_error(plan.case, plan.law, steps, closed).stored_waves().error
    measured = farthest(single, double)
    print(f"{name}: {measured:.2e} of at most {bound:.2e}, {bound / measured:.0f} times")
    assert 0 < measured <= bound <= (LOOSE_CLOSED if closed else LOOSE) * measured


def told(case: dict[str, Any], **numerics: Any) -> Any:
    return fw.check({**case, "numerics": {"order": 2, "stored_waves": "single", **numerics}})


def test_what_it_changes_is_told(tmp_path: Path) -> None:
    found = told(shaken(tmp_path))
    (note,) = [n for n in found.notes if n.startswith("stored waves: ")]
    assert "single precision, which changes results by up to" in note and "numerics.precision_error is 0.0001" in note
    assert not found.warnings or all(w.where != "numerics.stored_waves" for w in found.warnings)
    (warned,) = [w for w in told(shaken(tmp_path), precision_error=1e-9).warnings if w.where == "numerics.stored_waves"]
    assert "single may change results by up to" in str(warned)


@pytest.mark.parametrize(
    "numerics, why",
    [
        ({"precision": "single"}, "is for precision double and integrator ader"),
        ({"precision": "auto"}, "is for precision double and integrator ader"),
        ({"integrator": "rk4"}, "is for precision double and integrator ader"),
        ({"halo_compression": "single"}, "leave halo_compression exact"),
    ],
)
def test_what_does_not_go_together_is_told(tmp_path: Path, numerics: dict[str, Any], why: str) -> None:
    _, problems = load_case({**shaken(tmp_path), "numerics": {"stored_waves": "single", **numerics}})
    assert [p for p in problems.errors if why in str(p)]


def test_a_run_goes_on_to_the_bit(tmp_path: Path) -> None:
    case = asked(tmp_path, "whole")
    case["numerics"]["stored_waves"] = "single"
    fw.simulate(case).run()
    again = asked(tmp_path, "out")
    again["numerics"]["stored_waves"] = "single"
    with pytest.raises(RunError, match="interrupted"):
        fw.simulate(again).run(progress=stop_at(0.37))
    fw.resume(tmp_path / "out").run()
    same(contents(tmp_path / "out"), contents(tmp_path / "whole"))
