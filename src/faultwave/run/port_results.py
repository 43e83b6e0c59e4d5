"""What the ports of a run have recorded, and whether it may be taken for everything they will ever see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from faultwave.run import gathered

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation

Signals = list[tuple[np.ndarray, np.ndarray]]


def port_signals(sim: Simulation) -> Signals:
    """Times (nt,) and V, I (nt, 2) of every port so far, everywhere. All processes must ask."""
    return [gathered.sums(sim, record, f"port{i}") for i, record in enumerate(sim.ports)]


def waves_of(sim: Simulation, signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies (nf,) [Hz] and the waves a, b (ports, 2, nf) of every port."""
    setting = sim.case.ports
    assert setting is not None
    frequencies = np.linspace(*setting.band, setting.points)
    pairs = zip(sim.plan.drives.ports, signals, strict=True)
    return frequencies, np.array([port.amplitudes(t, x[:, 0], x[:, 1], frequencies) for port, (t, x) in pairs])


def energy_left(sim: Simulation, signals: Signals) -> float:
    """Energy in the mesh now over the most that the ports had let in; infinite where nothing has come in. All processes must ask.

    The ports' modes have unit integrals of e^2, so V I is the power that a mode carries into the mesh.
    """
    count = min(len(t) for t, _ in signals)
    power = np.sum([x[:count, 0] * x[:count, 1] for _, x in signals], 0)
    held = np.cumsum(power) * sim.ports[0].interval
    now = sum(v for k, v in sim.world.share(sim.energy_now()).items() if k.endswith("energy"))
    most = float(held.max(initial=0.0))
    return now / most if most > 0 else np.inf


__all__ = ["Signals", "energy_left", "port_signals", "waves_of"]
