"""Checkpoints of a running simulation: when one is due, what it holds, and going on from it.

A checkpoint is taken where all clusters meet without a shortened step, before anything is evaluated for the files of
that moment; it holds the dofs, the friction state and everything recorded so far, so that the run that goes on from it
cannot be told from one that was never interrupted.
"""

from __future__ import annotations

import hashlib
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.log import get_logger
from faultwave.engines.dg.fault_points import point_rule, transfer
from faultwave.output.checkpoint import Checkpoint, CheckpointWriter, checkpoints_folder

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation

JUMPS = ("ruptured", "weakened")
"""What jumps on a fault: times, which are never interpolated."""

log = get_logger(__name__)


class Keeper:
    """Takes the checkpoints of one run."""

    def __init__(self, sim: Simulation, folder: Path):
        setting = sim.case.output.checkpoint
        self.sim = sim
        self.interval = setting.interval if setting and setting.interval else np.inf
        self.wall = setting.wall_time if setting and setting.wall_time else np.inf
        self.writer = CheckpointWriter(
            checkpoints_folder(folder, sim.case.output.prefix), setting.keep if setting else 2
        )
        self.written = clock.perf_counter()
        self._plan_next()

    def _plan_next(self) -> None:
        self.due = (np.floor(self.sim.time / self.interval + 1e-9) + 1) * self.interval

    def step(self) -> None:
        """After all clusters have met: take a checkpoint if one is due and nothing is half recorded."""
        late = self.sim.time >= self.due * (1 - 1e-9) or clock.perf_counter() - self.written >= self.wall
        if late and self.sim.settled:
            self.take()

    def take(self) -> None:
        """Hand a checkpoint over for writing; where that fails the last one stays and the run goes on."""
        self._plan_next()
        self.written = clock.perf_counter()
        notes, arrays = capture(self.sim)
        files = {kind: writers for kind, (_, writers) in self.sim.snapshots.items()}
        size = sum(a.nbytes for a in arrays.values())
        self.sim.background.submit(lambda: self._write(notes, arrays, files), size)

    def _write(self, notes: dict[str, Any], arrays: dict[str, np.ndarray], files: dict[str, list[Any]]) -> None:
        """In the background, after the snapshots that were handed over before."""
        target = None
        try:
            for kind, writers in files.items():
                arrays[f"files/{kind}"] = np.array(min((w.settle() for w in writers), key=len, default=[]))
            target = self.writer.begin()
            name, checksum = self.writer.write_part(target, 0, arrays)
            written = self.writer.commit(target, notes, {name: checksum})
        except FaultwaveError as error:
            if target is not None:
                self.writer.drop(target)
            text = "no checkpoint at t = %g s: %s. The run goes on; the last checkpoint is kept."
            log.warning(text, notes["time"], error)
            return
        log.info("checkpoint at t = %g s: %s", notes["time"], written)
        self.sim.checkpoints += 1


def mesh_identity(sim: Simulation) -> str:
    """A hash of the mesh's places and cells."""
    found = hashlib.sha256(sim.plan.mesh.vertices.tobytes())
    found.update(sim.plan.mesh.cells.tobytes())
    return found.hexdigest()


def capture(sim: Simulation) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Notes and arrays of a checkpoint of the state now; nothing in them changes when the run goes on."""
    engine, plan = sim.engine, sim.plan
    arrays: dict[str, np.ndarray] = {
        "time": np.array(engine.march.time),
        "cells/id": np.arange(plan.cells),
        "cells/dofs": engine.operator.dofs(),
        "clusters/steps": plan.clustering.steps,
        "sources/done": engine.sources.done.copy(),
    }
    notes: dict[str, Any] = {
        "time": engine.march.time, "order": plan.case.numerics.order, "precision": plan.case.numerics.precision,
        "backend": plan.case.numerics.backend, "mesh": sim.mesh_identity, "updates": engine.updates, "wall": dict(sim.wall),
        "seconds": dict(engine.seconds), "quiet_since": sim.quiet_since, "energies_due": sim.energies_due,
        "largest_energy": sim.largest_energy, "looks": sim.looks,
        "case": plan.case.model_dump(mode="json", exclude_unset=True), "files": {}, "energies": [],
    }  # fmt: skip
    op = engine.operator
    notes["form"] = f"{type(op.form).__name__} in {op.time_unit}"
    if op.form.to_physical(op.cells, np.arange(1)) is not None:  # which is not undone to the last bit
        arrays["cells/state"] = op.state()
    if engine.fault is not None:
        f = engine.fault.faces
        arrays["fault/face"] = 4 * f.cells[:, 0] + f.faces[:, 0]
        arrays |= {f"fault/{name}": values for name, values in engine.fault.state().items()}
        notes["fault_columns"] = engine.fault.state_columns()
    if sim.motion is not None:
        arrays["surface/face"] = 4 * sim.motion.cell + sim.motion.face
        arrays["surface/moved"] = sim.motion.moved()
    if sim.recorder is not None:
        arrays["receivers/samples"] = sim.recorder.arrays()[1]
    if sim.fault_recorder is not None:
        arrays |= {f"fault_receivers/{k}": v for k, v in sim.fault_recorder.state(len(sim.fault_fields)).items()}
    if sim.energy_rows:
        names = notes["energies"] = list(sim.energy_rows[0][1])
        arrays["energies"] = np.array([[t, *(row[n] for n in names)] for t, row in sim.energy_rows])
    for kind, (shots, _) in sim.snapshots.items():
        notes["files"][kind] = {"next": shots.next[min(shots.active, default=0)]}
    return notes, arrays


def restore(sim: Simulation, checkpoint: Checkpoint) -> None:
    """Put a new simulation of the same mesh where the checkpoint was taken. Raises InputError where it cannot go on."""
    notes, engine, numerics = checkpoint.notes, sim.engine, sim.plan.case.numerics
    if notes["mesh"] != sim.mesh_identity:
        raise InputError(Problem(str(checkpoint.folder), "was taken on another mesh", "the mesh of the first run"))
    for name in ("order", "precision", "backend"):
        if notes[name] != getattr(numerics, name):
            text = "going on with %s %s instead of %s: the state is %s"
            how = "projected" if name == "order" else "converted" if name == "precision" else "the same"
            log.warning(text, name, getattr(numerics, name), notes[name], how)
    for i in range(len(checkpoint.parts)):
        part = checkpoint.part(i)
        _restore_part(sim, part, notes)
    engine.march.time = float(part["time"])
    steps = sim.plan.clustering.steps
    same = np.array_equal(part["clusters/steps"], steps)
    if not same:
        text = "the clusters differ from those of the checkpoint: its steps were %s, now %s"
        log.warning(text, part["clusters/steps"], steps)
    if sim.recorder is not None:
        sim.recorder.restore(part["receivers/samples"])
    if sim.fault_recorder is not None:
        state = {k.split("/", 1)[1]: v for k, v in part.items() if k.startswith("fault_receivers/")}
        sim.fault_recorder.restore(state, same)
    if notes["energies"]:
        sim.energy_rows = [(float(row[0]), dict(zip(notes["energies"], row[1:].tolist(), strict=True)))
                           for row in part["energies"]]  # fmt: skip
    engine.sources.done[:] = part["sources/done"]
    sim.largest_energy, sim.looks = notes["largest_energy"], notes["looks"]
    engine.updates, sim.quiet_since, sim.energies_due = notes["updates"], notes["quiet_since"], notes["energies_due"]
    sim.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
    engine.seconds |= notes["seconds"]
    sim.resumed = {kind: (int(file["next"]), part[f"files/{kind}"].tolist()) for kind, file in notes["files"].items()}


def _restore_part(sim: Simulation, part: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
    op, dofs = sim.engine.operator, part["cells/dofs"]
    form = f"{type(op.form).__name__} in {op.time_unit}"
    same = (notes["form"], notes["order"], notes["precision"])
    exact = same == (form, sim.plan.case.numerics.order, sim.plan.case.numerics.precision)
    modes = min(op.b3, dofs.shape[1])  # the basis is orthonormal and hierarchical: projection keeps or drops modes
    values = np.zeros((len(dofs), op.b3, dofs.shape[2]), dofs.dtype)
    values[:, :modes] = dofs[:, :modes]
    if exact and "cells/state" in part and np.array_equal(part["cells/id"], np.arange(sim.plan.cells)):
        op.set_state(part["cells/state"])
    else:
        op.set_dofs(values, part["cells/id"])
    if sim.engine.fault is not None:
        _restore_fault(sim, part, notes)
    if sim.motion is not None:
        moved = part["surface/moved"]
        items = _find(4 * sim.motion.cell + sim.motion.face, part["surface/face"])
        sim.motion.set_moved(moved, items)


def _restore_fault(sim: Simulation, part: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
    fault, setting = sim.engine.fault, sim.plan.case.fault
    assert fault is not None and setting is not None
    columns = {name: list(names) for name, names in fault.state_columns().items()}
    if columns != notes["fault_columns"]:
        raise InputError(Problem("fault", "the checkpoint holds another friction law's state or other outputs"))
    items = _find(4 * fault.faces.cells[:, 0] + fault.faces.faces[:, 0], part["fault/face"])
    values = {name: part[f"fault/{name}"] for name in columns}
    if notes["order"] != sim.plan.case.numerics.order:
        old = point_rule(setting.points, notes["order"] - 1)
        for name, names in columns.items():
            jumps = np.array([n in JUMPS for n in names])
            values[name] = transfer(values[name], old, fault.rule, fault.faces.group[items], jumps)
        values["stress"] = fault.stress_at(float(part["time"]))[items]
    fault.set_state(values, items)


def _find(mine: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Positions in ``mine`` of every number in ``wanted``."""
    order = np.argsort(mine)
    return np.asarray(order[np.searchsorted(mine[order], wanted)])
