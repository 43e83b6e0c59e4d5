"""Checkpoints of a run on a grid: everything that moves, everything recorded so far; a resumed run is the same to the last bit."""

from __future__ import annotations

import time as clock
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.log import get_logger
from faultwave.kernels.stencil import Program, record
from faultwave.output.checkpoint import Checkpoint, CheckpointWriter, checkpoints_folder

if TYPE_CHECKING:
    from faultwave.run.fd.simulation import FdSimulation

log = get_logger(__name__)


def moving(program: Program) -> dict[str, int]:
    """Every array that a step changes, and the halo that belongs to it."""
    names = {launch.names.get(n, n) for level in program.levels for launch in level for n in record(launch.stencil)[1]}
    return {name: program.arrays[name].halo for name in program.arrays if name in names}


def identity(sim: FdSimulation) -> dict[str, Any]:
    """What must be the same for a run to go on."""
    scheme, plan = sim.plan.scheme, sim.plan
    sums = {n: zlib.crc32(np.ascontiguousarray(v).tobytes()) for n, v in plan.medium.coefficients.items()}
    return {
        "points": list(scheme.grid.shape), "corner": list(scheme.grid.lower), "spacing": scheme.grid.spacing, "step": scheme.step,
        "precision": plan.case.numerics.precision, "material": sums,
        "arrays": sorted(moving(sim.operator.runner.program)),
        "receivers": None if plan.receivers is None else plan.receivers.tolist(),
    }  # fmt: skip


class Keeper:
    """Takes the checkpoints of one run, where its chunks of steps end."""

    def __init__(self, sim: FdSimulation, folder: Path):
        setting = sim.case.output.checkpoint
        self.sim, self.written = sim, clock.perf_counter()
        self.wall = setting.wall_time if setting and setting.wall_time else np.inf
        interval, dt = setting.interval if setting else None, sim.plan.scheme.step
        count = int(sim.case.end_time / interval * (1 + 1e-9)) if interval else 0
        self.due = frozenset(int(np.ceil(k * interval / dt * (1 - 1e-9))) for k in range(1, count + 1) if interval)
        keep = setting.keep if setting else 2
        self.writer = CheckpointWriter(checkpoints_folder(folder, sim.case.output.prefix), keep)

    def step(self) -> None:
        """After some steps: take a checkpoint if one is due."""
        if self.sim.operator.steps in self.due or clock.perf_counter() - self.written >= self.wall:
            self.take()

    def take(self) -> None:
        """Write a checkpoint; where that fails the last one stays and the run goes on."""
        self.written = clock.perf_counter()
        notes, arrays = capture(self.sim)
        try:
            for kind, (count, writers) in self.sim.snapshots().items():
                notes["files"][kind] = {"next": count, "times": min((w.settle() for w in writers), key=len)}
            self.writer.begin()
            parts = dict([self.writer.write_part(self.writer.target(), 0, arrays)])
            log.info("checkpoint at t = %g s: %s", notes["time"], self.writer.commit(notes, parts))
            self.sim.checkpoints += 1
        except FaultwaveError as error:
            self.writer.drop()
            text = "no checkpoint at t = %g s: %s. The run goes on; the last checkpoint is kept."
            log.warning(text, notes["time"], error)


def capture(sim: FdSimulation) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Notes and arrays of a checkpoint of the state now; arrays of the grid are views, to be written before the next step."""
    op, runner = sim.operator, sim.operator.runner
    arrays = {f"grid/{name}": runner.values(name, halo) for name, halo in moving(runner.program).items()}
    notes: dict[str, Any] = {
        "time": op.time, "steps": op.steps, "grid": identity(sim), "wall": dict(sim.wall), "seconds": dict(sim.seconds),
        "case": sim.case.model_dump(mode="json", exclude_unset=True), "files": {}, "energies": [],
    }  # fmt: skip
    if sim.recorder is not None:
        arrays["receivers"] = sim.recorder.steps()
    if sim.maps is not None:
        arrays |= {"maps/times": np.array(sim.maps.times), "maps/arias": np.stack(sim.maps.arias)}
    if sim.energy_rows:
        names = notes["energies"] = list(sim.energy_rows[0][1])
        arrays["energies"] = np.array([[t, *(row[n] for n in names)] for t, row in sim.energy_rows])
    return notes, arrays


def restore(sim: FdSimulation, checkpoint: Checkpoint) -> None:
    """Put a new simulation where the checkpoint was taken. Raises InputError where it cannot go on."""
    notes, part = checkpoint.notes, checkpoint.part(0)
    _check(str(checkpoint.folder), notes.get("grid"), identity(sim))
    runner = sim.operator.runner
    for name, halo in moving(runner.program).items():
        runner.view(name, halo)[...] = part[f"grid/{name}"]
    sim.operator.steps = int(notes["steps"])
    if sim.recorder is not None:
        sim.recorder.restore(part["receivers"])
    if sim.maps is not None:
        sim.maps.times, sim.maps.arias = part["maps/times"].tolist(), list(part["maps/arias"])
    sim.energy_rows = [
        (float(row[0]), dict(zip(notes["energies"], row[1:].tolist(), strict=True))) for row in part.get("energies", ())
    ]
    sim.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
    sim.seconds |= notes["seconds"]
    sim.resumed = {kind: (int(file["next"]), file["times"]) for kind, file in notes["files"].items()}


def _check(where: str, then: Mapping[str, Any] | None, now: Mapping[str, Any]) -> None:
    if then is None:
        raise InputError(Problem(where, "was taken by another engine", "engine: fd"))
    other = [name for name in now if then.get(name) != now[name]]
    if other:
        what = ", ".join(other)
        advice = "Resume with the case as it was; another end time may change the step."
        raise InputError(Problem(where, f"was taken with other {what}", advice=advice))
