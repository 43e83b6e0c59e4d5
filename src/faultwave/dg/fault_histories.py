"""Fault receivers: probes of a fault's points, read after the steps of their clusters."""

from __future__ import annotations

import numpy as np

from faultwave.dg.fault_probe import FaultProbe
from faultwave.dg.points import Points
from faultwave.dg.solver import Engine
from faultwave.observe.fault_receivers import FaultRecorder


def fault_recorder(engine: Engine, points: Points | None, names: list[str]) -> FaultRecorder | None:
    """Histories of the quantities ``names`` at points of the fault, hooked into the engine; None where there are none."""
    plan, case, fault = engine.plan, engine.plan.case, engine.fault
    setting = case.output.fault_receivers
    if points is None or fault is None or setting is None:
        return None
    faces = points.cells
    cluster = plan.clustering.cluster[fault.faces.inside[faces]]
    members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]
    from_velocity = case.fault is not None and case.fault.slip_rate_output == "velocity"
    exact = setting.position == "exact"
    probes = {
        c: FaultProbe(fault, faces[m], points.local[m][:, None], exact, from_velocity, c) for c, m in enumerate(members)
    }

    def read(cluster: int) -> np.ndarray:
        values = np.full((len(members[cluster]), len(names)), np.nan)

        def fill(found: dict[str, np.ndarray]) -> None:
            values[:] = np.stack([found[name][:, 0] for name in names], 1)

        probes[cluster].ask(names, fill)  # it is filled later, at the latest when everything is settled
        return values

    whole = plan.share
    fastest = whole.fault_cluster if whole else int(plan.clustering.cluster[fault.faces.cells].min())
    leader = fastest if case.output.seissol_layout else None
    recorder = FaultRecorder(members, setting.every, read, leader)
    recorder.begin(0.0)
    engine.taped[recorder.record] = recorder.reads
    return recorder
