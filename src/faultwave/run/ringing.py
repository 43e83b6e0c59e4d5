"""Resonances of what the receivers of a run have recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.log import get_logger
from faultwave.comm.gather import collect
from faultwave.observe.dataset import Dataset
from faultwave.observe.resonances import Resonance, resonances
from faultwave.physics.waves import Law

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation


def ringing(sim: Simulation, data: Dataset | None) -> list[Resonance]:
    """Resonances in the band of ``output.spectrum``; none without it. Of several processes all must ask, the first with the receivers'
    ``data``, and the first gets them.

    Flows (H, particle velocity) are taken times the medium's impedance: so all signals have the unit of E or of stress, and what is
    small, noise above all, stays so.
    """
    setting, receivers = sim.case.output.spectrum, sim.case.output.receivers
    if setting is None or receivers is None:
        return []
    impedances = _impedances(sim)
    if data is None or impedances is None:
        return []
    law = sim.plan.law
    values = data["values"][data["time"] >= setting.start][..., : law.visible]
    if not np.isfinite(values).all():  # of a run that blew up
        return []
    signals = values * np.where(flows(law), impedances[:, None], 1.0)
    try:
        return resonances(
            signals.reshape(len(signals), -1), receivers.interval, setting.band, setting.floor, setting.resolution
        )
    except ValueError as error:
        get_logger(__name__).warning("no resonances: %s", error)
        return []


def flows(law: Law) -> np.ndarray:
    """(visible,) whether a quantity times an impedance has the unit of the others: whether v of a face is made of it, not T."""
    found = []
    for q in np.eye(len(law.quantities))[: law.visible].tolist():
        fluxes = [x for n in np.eye(3).tolist() for x in law.flux(q, n)]
        found.append(bool(np.any(law.potential(q) if law.traction_is_flux else fluxes)))
    return np.array(found)


def _impedances(sim: Simulation) -> np.ndarray | None:
    """Of the medium at every receiver, that of P waves where there are two; on the first process, None elsewhere."""
    plan = sim.plan
    cells = plan.receivers.cells if plan.receivers is not None else np.zeros(0, np.int64)
    here = np.asarray(plan.law.impedance({name: v[cells] for name, v in plan.material.items()})[0])
    if plan.share is None:
        return here
    points = plan.share.whole_receivers
    assert points is not None
    found = collect(plan.world, plan.share.receivers, [here], len(points.cells))
    return None if found is None else found[0]


__all__ = ["flows", "ringing"]
