"""Instability monitor: it stops a run in which the wave energy exceeds a bound of what its sources have given.

A fault gives at most its slip times the previous shear traction, initial and from nucleation, as friction dissipates its share. Other
capabilities report their energy themselves (``energy_given``), for example the initial stress in yielding rock. While sources act, the
root of the energy is at most the sum of the root at the start and the roots that all sources have given (triangle inequality in the
energy norm), which is far more than they give but grows alike. After the sources have ended, energy only decreases. More than
MARGIN times this bound is an instability, which is detected long before numbers overflow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.dg.mesh.placement import Planning
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, RestoredFrom, State
from faultwave.engine.instability_monitor import INTERVALS, end_of_sources
from faultwave.engine.solver import BlowUp
from faultwave.physics.friction import laws
from faultwave.physics.sources.time_functions import pieces

name = "growth"
AFTER = ("rupture", "point_sources", "analytic", "dirichlet")

LOOKS, APART = 40, 60
"""Number of checks in a run, and smallest number of largest steps between two; a check costs about as much as such a step."""

MARGIN = 10.0
"""Ratio of the energy to its bound that counts as unstable; integrals over faults and coarse cells err by some per cent."""

NEGLIGIBLE_SLIP = 1e-9
"""Slip [m] everywhere on a fault below which its work is neglected; waves of rounding errors contain less."""


@dataclass(frozen=True)
class InstabilityPlan(CapabilityPlan):
    """Plan of the monitor; ``silent`` is the time [s] from which sources give no energy."""

    silent: float
    name: str = name

    def attach(self, solver: Solver) -> EnergyMonitor:
        return EnergyMonitor(self, solver)


def plan(planning: Planning) -> InstabilityPlan | None:
    """Return the plan, or None if the energy has no bound: with incident waves, currents or prescribed slip."""
    case = planning.case
    driven = any(len(part.requirements.faces) for part in planning.parts.values())
    if case.currents or planning.whole.any(driven) or case.incident or case.ports is not None:
        return None
    friction = laws().get(case.fault.friction) if case.fault is not None else None
    if case.fault is not None and (friction is None or not friction.needs_stress):
        return None
    sources = planning.parts.get("point_sources")
    here = end_of_sources(sources.sources, case.end_time) if sources is not None else 0.0  # type: ignore[attr-defined]
    silent = planning.whole.most(here)
    return InstabilityPlan(silent)


def pushed(sources: Any, edges: np.ndarray) -> np.ndarray:
    """Return bounds of the root of the energy [J^(1/2)] that this process's sources have given by the times ``edges``."""
    found = np.zeros(len(edges))
    if sources is not None:
        roots, table = sources.terms.roots, sources.terms.sources
        for piece in pieces(len(table), len(edges)):
            released = table.released(edges, np.arange(len(table))[piece])
            found[1:] += roots[piece] @ np.abs(np.diff(released, axis=1)).cumsum(1)
    return found


class EnergyMonitor(Capability):
    """Monitor of the wave energy in a run.

    Attributes
    ----------
    before : float
        Wave energy [J] when sources became silent; NaN until then, or before the fault has done its work.
    start : float
        Energy of the initial state [J], infinite after a restart from a checkpoint without it.
    """

    needs_energies = True

    def __init__(self, part: InstabilityPlan, solver: Solver):
        self.part, self.solver, self.before, self.start = part, solver, np.nan, np.inf
        self.end = solver.plan.case.end_time
        self.apart = max(self.end / LOOKS, APART * solver.march.longest)
        self.due = self.apart
        self.callbacks = (Callback("end of largest step", self._look, next=lambda: self.due),)
        self.edges = np.linspace(0.0, self.end, INTERVALS + 1)
        self.pushed = pushed(solver.parts.get("point_sources"), self.edges) if part.silent else np.zeros(INTERVALS + 1)
        rupture = solver.parts.get("rupture")
        self.slip_sum, self.loads = None, np.zeros(0)
        if rupture is not None and rupture.fault is not None:
            planned = rupture.part
            loads = np.linalg.norm(planned.stress[..., 1:], axis=-1)
            for episode in planned.episodes:
                loads = loads + np.linalg.norm(episode.traction[..., 1:], axis=-1)
            owned, area = planned.faces.owned, planned.faces.area
            self.loads = (2.0 * planned.rule.weights * area[:, None] * loads)[:owned]
            self.slip_sum = rupture.fault.slip_sum(self.loads)

    def begin(self) -> None:
        if np.isnan(self.before) and self.solver.time == 0.0:
            self.start = self._energy()
            if self.part.silent == 0.0:
                self.before = self.start

    def _look(self, cluster: int, time: float, step: float) -> None:
        if time < min(self.due, self.end) * (1 - 1e-9):
            return
        self.due = time + self.apart
        energy, (given, least, root) = self._energy(), self._given()
        others, acting = self._given_by_others(), np.isnan(self.before)
        before = (self.start**0.5 + root) ** 2 if acting else self.before
        if energy > MARGIN * max(before + given + sum(others.values()), least):
            since = "when the last source ended" if self.part.silent else "at the start"
            there = f"the energy was {before:.3g} J {since}"
            if acting:
                there = f"the sources have added at most {before:.3g} J"
            fault = f", and the fault has added at most {given:.3g} J" if "rupture" in self.solver.parts else ""
            more = "".join(f", and {part} has added at most {most:.3g} J" for part, most in others.items() if most)
            self.solver.wrong = f"the waves hold {energy:.3g} J; {there}{fault}{more}"
            raise BlowUp
        if acting and time >= self.part.silent:
            self.before = energy

    def _energy(self) -> float:
        """Compute the energies; a collective call with the same result on each process."""
        found = self.solver.plan.world.broadcast(self.solver.energies())
        return float(sum(value for key, value in found.items() if key.endswith("energy")))

    def _given(self) -> tuple[float, float, float]:
        """Return the bound of the fault's energy [J], a negligible energy [J], and the root given by sources [J^(1/2)].

        The results are the same on each process.
        """
        soon = int(
            np.searchsorted(self.edges, self.solver.time + self.solver.march.longest)
        )  # windows reach beyond a step
        here = {"given": 0.0, "least": 0.0, "root": float(self.pushed[min(soon + 1, INTERVALS)])}
        if self.slip_sum is not None:
            here |= {"given": self.slip_sum(), "least": float(self.loads.sum()) * NEGLIGIBLE_SLIP}
        found = self.solver.plan.world.broadcast(self.solver.sum_over_processes(here))
        return found["given"], found["least"], found["root"]

    def _given_by_others(self) -> dict[str, float]:
        """Return the bound of the energy [J] that each capability has given, by name, the same on each process."""
        here = {key: part.energy_given() for key, part in self.solver.parts.items()}
        found = self.solver.plan.world.broadcast(self.solver.sum_over_processes(here))
        return {key: found[key] for key in here}

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.before, self.due = float(values[0]), float(values[1])
            self.start = float(values[2]) if len(values) > 2 else np.inf

        return {"so far": State(None, lambda: np.array([self.before, self.due, self.start]), write)}
