"""What the processes of a run have recorded, put together on the first; done by all of them at the same point."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from faultwave.comm.gather import collect
from faultwave.dg.fault_probe import FaultProbe
from faultwave.dg.points import Points
from faultwave.observe import receivers as seismograms
from faultwave.observe.dataset import Dataset, fault_receivers_from_arrays
from faultwave.observe.points import with_degrees
from faultwave.observe.surfaces import SurfaceRecorder

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation


def receivers(sim: Simulation) -> Dataset | None:
    """Seismograms of every process's receivers; None where there are none, and on all processes but the first."""
    plan, setting = sim.plan, sim.case.output.receivers
    points = plan.share.whole_receivers if plan.share else plan.receivers
    if setting is None or points is None:
        return None
    time, values = np.zeros(0), np.zeros((0, 0, 1, 1))
    if sim.recorder is not None:
        time, values = sim.recorder.arrays()
    if plan.share is not None:
        found = collect(plan.world, plan.share.receivers, [values.swapaxes(0, 1)], len(points.cells))
        if found is None:
            return None
        values = found[0].swapaxes(0, 1)
        time = np.arange(len(values)) * setting.interval
    names = plan.law.quantities[: plan.law.visible]
    made = seismograms.dataset(
        time, values, names, points.located, points.requested, setting.rotation, setting.strain_rate
    )
    return with_degrees(made, sim.case.projection)


def fault_receivers(sim: Simulation) -> Dataset | None:
    """Histories on the fault, as ``receivers``; NaN where a slower cluster has fewer samples."""
    share = sim.plan.share
    points = share.whole_fault_receivers if share else sim.plan.fault_receivers
    if sim.case.output.fault_receivers is None or points is None:
        return None
    sim.engine.settle()
    columns = len(sim.fault_fields)
    rows = [np.zeros((0, *shape)) for shape in ((0,), (0, columns), (3,), (3,), (3,), (3,))]
    if sim.fault_recorder is not None and sim.plan.fault_receivers is not None:
        time, values = sim.fault_recorder.arrays(columns)
        rows = [time.T, values.swapaxes(0, 1), *_frame(sim, sim.plan.fault_receivers)]
    if share is not None:
        length = int(share.world.largest([rows[0].shape[1]])[0])
        for i in range(2):
            missing = [(0, 0), (0, length - rows[i].shape[1]), *[(0, 0)] * (rows[i].ndim - 2)]
            rows[i] = np.pad(rows[i], missing, constant_values=np.nan)
        found = collect(share.world, share.fault_receivers, rows, len(points.cells))
        if found is None:
            return None
        rows = found
    time, values, normal, strike, dip, traction = rows
    return fault_receivers_from_arrays(
        time.T, values.swapaxes(0, 1), sim.fault_fields, points.located, points.requested, normal=normal, strike=strike,
        dip=dip, initial_traction=traction,
    )  # fmt: skip


def _frame(sim: Simulation, points: Points) -> tuple[np.ndarray, ...]:
    """Normal, strike, dip and initial traction (P_0, T_s, T_d) at each point, (n, 3)."""
    fault, plan = sim.engine.fault, sim.plan.fault
    assert fault is not None and plan is not None
    f = plan.faces
    nearest = FaultProbe(fault, points.cells, points.local[:, None], False, False).nearest[:, 0]
    stress = plan.stress[points.cells, nearest]
    vector = stress[:, 1:2] * f.tangent1[points.cells] + stress[:, 2:3] * f.tangent2[points.cells]
    strike, dip = f.strike[points.cells], f.dip[points.cells]
    traction = np.stack([stress[:, 0], (vector * strike).sum(1), (vector * dip).sum(1)], 1)
    return f.normal[points.cells], strike, dip, traction


def added(sim: Simulation, here: Mapping[str, float]) -> dict[str, float]:
    """Sums over all processes, on the first; what is here on the others."""
    pieces = sim.plan.world.gather(dict(here))
    if pieces is None:
        return dict(here)
    names = dict.fromkeys(name for piece in pieces for name in piece)
    return {name: sum(piece.get(name, 0.0) for piece in pieces) for name in names}


def sums(sim: Simulation, recorder: SurfaceRecorder, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Times (nt,) and sums (nt, columns) of a surface's recorders on all processes, everywhere; ``name``: under which sums
    from before a checkpoint are kept."""
    world, (_, values) = sim.plan.world, recorder.sums()
    pieces = world.gather(values if recorder.active else None)
    if pieces is not None:
        found = [p for p in pieces if p is not None]
        values = sum(p[: min(map(len, found))] for p in found)
        before = sim.sums_before.get(name)
        if before is not None:
            values[: len(before)] += before
    values = world.share(values)
    return np.arange(len(values)) * recorder.interval, values
