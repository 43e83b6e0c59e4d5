"""Parts are called in the steps of the clusters in which they have something, of all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultwave as fw
from faultwave.dg import sampling
from faultwave.dg.capabilities import rupture
from faultwave.dg.stepping.callbacks import StepCallbacks
from tests.run.rupture.setup import ON_FAULT, settings, slip_weakening

POINTS = [[-2500.0, 900.0, -300.0], [2500.0, 900.0, -300.0], [5500.0, 4500.0, -6500.0], [-5500.0, -4500.0, -6500.0]]
SLOW = "if (x < 0) { return %g; } return %g;"


def asked(folder: Path) -> dict[str, Any]:
    """Rock in which waves are slower by a factor of three on one side, across a fault that breaks on both."""
    speeds = {"vp": SLOW % (2000.0, 6000.0), "vs": SLOW % (1155.0, 3464.0)}
    fault = slip_weakening(expression={"T_s": "return 90e6;"})
    return settings(
        folder, fault, points=ON_FAULT, material={"constant": {"rho": 2670.0}, "expression": speeds}, end_time=0.3,
        output={"receivers": {"points": POINTS, "interval": 0.02}}, numerics={"threads": 1},
    )  # fmt: skip


def found(folder: Path) -> dict[str, np.ndarray]:
    """What receivers and fault receivers recorded, and what the fault remembers."""
    folder.mkdir()
    sim = fw.simulate(asked(folder)).run(write=False)
    fault = sim.solver.parts["rupture"].fault
    return {
        "receivers": sim.receivers["values"], "fault receivers": sim.fault_receivers["values"],
        **{name: fault.state_of(name) for name in ("stress", "state", "record")},
    }  # fmt: skip


@pytest.fixture(scope="module")
def every_cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, np.ndarray]:
    """The same where all parts are called in the steps of all clusters."""
    refresh = StepCallbacks.refresh

    def refresh_all(self: StepCallbacks) -> None:
        refresh(self)
        self.by_cluster = [self.by_position for _ in self.by_cluster]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepCallbacks, "refresh", refresh_all)
        return found(tmp_path_factory.mktemp("every") / "run")


def same(some: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(values, other[name], equal_nan=True) for name, values in some.items())


def test_no_cluster_with_faces_or_receivers_is_left_out(tmp_path: Path, every_cluster: dict[str, np.ndarray]) -> None:
    plan = fw.simulate(asked(tmp_path)).plan
    at_fault = set(plan.clustering.cluster[plan.frictional.any(1)].tolist())
    assert 2 <= len(at_fault) < len(plan.clustering.steps), "several clusters have faces, and one has none"
    assert np.abs(every_cluster["receivers"]).max() > 0 and every_cluster["record"].any((1, 2)).all()
    assert same(found(tmp_path / "run"), every_cluster)


@pytest.mark.parametrize("where", [rupture, sampling], ids=["friction", "samples"])
def test_to_leave_one_out_would_be_seen(
    tmp_path: Path, every_cluster: dict[str, np.ndarray], monkeypatch: pytest.MonkeyPatch, where: Any
) -> None:
    make = where.Callback

    def lacking(*given: Any, **named: Any) -> Any:
        made = make(*given, **named)
        return replace(made, clusters=made.clusters - {min(made.clusters)})

    monkeypatch.setattr(where, "Callback", lacking)
    assert not same(found(tmp_path / "run"), every_cluster)
