"""Resonance frequencies and quality factors of a ringing structure from its receivers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.base.types import Setting
from faultwave.comm.messages import gather_rows
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements
from faultwave.observe.dataset import Dataset, Result
from faultwave.observe.resonances import Resonance, dataset, long_enough, resonances
from faultwave.physics.waves import Law

name = "resonances"
AFTER = ("receivers",)


@dataclass(frozen=True)
class Resonances(CapabilityPlan):
    """Plan of the table of resonances."""

    setting: Setting
    name: str = name

    @property
    def requirements(self) -> Requirements:
        return Requirements(frequency=self.setting.band[1])

    def attach(self, solver: Solver) -> AttachedResonances:
        return AttachedResonances(self, solver)


def plan(planning: Planning) -> Resonances | None:
    """Return the plan of the table of resonances, None if the case has none."""
    out, problems = planning.case.output, planning.problems
    if out.spectrum is None:
        return None
    if out.receivers is None:
        problems.error("output.spectrum", "needs receivers, but the case has none", "output.receivers")
        return None
    nyquist = 0.5 / out.receivers.interval
    if out.spectrum.band[1] > nyquist:
        allowed = f"up to {nyquist:g} Hz at this interval of receivers"
        problems.error("output.spectrum.band", f"{out.spectrum.band[1]:g} Hz", allowed)
    else:
        _check_length(planning.case.end_time, out.spectrum, out.receivers.interval, problems)
    return Resonances(out.spectrum)


def _check_length(end_time: float, setting: Setting, interval: float, problems: Problems) -> None:
    """Warn if receivers record too few samples between the start of the spectrum and the end of the run."""
    samples = int((end_time - setting.start) / interval * (1 + 1e-12)) + 1 if end_time >= setting.start else 0
    if not long_enough(samples, interval, setting.band):
        low, high = setting.band
        what = (
            f"{samples} samples from {setting.start:g} s to the end of the run are too few for {low:g} to {high:g} Hz"
        )
        advice = "No resonance will be found. Extend the run, start earlier, or choose a wider band."
        problems.warn("output.spectrum", what, advice=advice)


class AttachedResonances(Capability):
    """Resonance analysis of a run.

    Flows (H, particle velocity) are multiplied by the medium's impedance, so that all signals have the unit of E or of stress and
    small signals, noise above all, stay small.
    """

    def __init__(self, part: Resonances, solver: Solver):
        self.setting, self.solver, self.receivers = part.setting, solver, solver.parts["receivers"]
        self.found_none = ""  # reason for an empty result

    def results(self) -> Iterable[Result]:
        data = next((r.data for r in self.receivers.results()), None)
        impedances = self._impedances()
        if data is not None and impedances is not None:
            yield Result(name, dataset(self._found(data, impedances)))

    def remarks(self) -> Iterable[Problem]:
        if self.found_none:
            return [Problem("output.spectrum", f"no resonances: {self.found_none}", severity="warning")]
        return ()

    def _found(self, data: Dataset, impedances: np.ndarray) -> list[Resonance]:
        law, setting = self.solver.plan.law, self.setting
        values = data["values"][data["time"] >= setting.start][..., : law.visible]
        if not np.isfinite(values).all():  # unstable run
            return []
        signals = values * np.where(flows(law), impedances[:, None], 1.0)
        signals = signals.reshape(len(signals), -1)
        interval = self.receivers.part.request.setting.interval
        try:
            return resonances(signals, interval, setting.band, setting.floor, setting.resolution)
        except ValueError as error:
            self.found_none = str(error)
            return []

    def _impedances(self) -> np.ndarray | None:
        """Return the impedance (of P waves where there are two) at every receiver, on the first process, else None."""
        plan, part = self.solver.plan, self.receivers.part
        material = {name: v[part.points.cells] for name, v in plan.material.items()}
        along = np.tile([1.0, 0.0, 0.0], (len(part.points.cells), 1))
        here = plan.law.impedance_at(material, along)[:, 0]
        if plan.partition is None:
            return here
        found = gather_rows(plan.world, part.items, [here], len(part.listed.cells))
        return None if found is None else found[0]


def flows(law: Law) -> np.ndarray:
    """Return a mask (visible,) of the quantities that become comparable with the others times an impedance.

    They are the quantities that make up v of a face, not T.
    """
    found = []
    for q in np.eye(len(law.quantities))[: law.visible].tolist():
        found.append(bool(np.any([law.sides(law.flux(q, n), law.potential(q))[1] for n in np.eye(3).tolist()])))
    return np.array(found)
