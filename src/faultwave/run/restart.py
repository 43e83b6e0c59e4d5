"""Checkpoints of a running simulation: when one is due, what it holds, and going on from it.

A checkpoint is taken where all clusters meet without a shortened step, before anything is evaluated for the files of
that moment; it holds the dofs, the friction state and everything recorded so far, so that the run that goes on from it
cannot be told from one that was never interrupted.
"""

from __future__ import annotations

import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.log import get_logger
from faultwave.engines.dg.fault_points import point_rule, transfer
from faultwave.observe.surfaces import SurfaceRecorder
from faultwave.output.checkpoint import Checkpoint, CheckpointWriter, checkpoints_folder
from faultwave.run import gathered
from faultwave.run.share import identity

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
        self.parts: dict[str, str] = {}
        self._plan_next()
        self._begin()

    def _plan_next(self) -> None:
        self.due = (np.floor(self.sim.time / self.interval + 1e-9) + 1) * self.interval

    def step(self) -> None:
        """After all clusters have met: take a checkpoint if one is due and nothing is half recorded."""
        world = self.sim.world
        overdue = world.largest([clock.perf_counter() - self.written])[0] >= self.wall if self.wall < np.inf else False
        if (self.sim.time >= self.due * (1 - 1e-9) or overdue) and self.sim.all_settled():
            self.take()

    def take(self) -> None:
        """Hand a checkpoint over for writing; where that fails the last one stays and the run goes on.

        Several processes write at once, each its part, and wait for each other.
        """
        self._plan_next()
        self.written = clock.perf_counter()
        notes, arrays = capture(self.sim)
        files = {kind: writers for kind, (_, writers) in self.sim.snapshots.items()}
        size = sum(a.nbytes for a in arrays.values())
        self.sim.background.submit(lambda: self._write(notes, arrays, files), size)
        if self.sim.world.size > 1:
            self.sim.background.wait()
            self._commit(notes)

    def _write(self, notes: dict[str, Any], arrays: dict[str, np.ndarray], files: dict[str, list[Any]]) -> None:
        """In the background, after the snapshots that were handed over before."""
        world, self.parts = self.sim.world, {}
        target = self.writer.target()
        try:
            for kind, writers in files.items():
                notes["files"][kind]["times"] = min((w.settle() for w in writers), key=len, default=[])
            if world.size == 1:
                self.writer.begin()
            self.parts = dict([self.writer.write_part(target, world.rank, arrays)])
            if world.size == 1:
                self._committed(notes, self.parts)
        except FaultwaveError as error:
            self._failed(notes, error)

    def _commit(self, notes: dict[str, Any]) -> None:
        """Every process has written its part or failed to."""
        world = self.sim.world
        found = world.gather((self.parts, notes["files"]))
        if found is not None:
            for kind, file in notes["files"].items():
                file["next"] = max(files[kind]["next"] for _, files in found)  # some have no cells in a file
                file["times"] = max((files[kind].get("times", []) for _, files in found), key=len)
            if all(parts for parts, _ in found):
                try:
                    self._committed(notes, {k: v for parts, _ in found for k, v in parts.items()})
                except FaultwaveError as error:
                    self._failed(notes, error)
            else:
                self.writer.drop()
        self.sim.checkpoints, self.writer.number = world.share((self.sim.checkpoints, self.writer.number))
        self._begin()

    def _committed(self, notes: dict[str, Any], parts: dict[str, str]) -> None:
        written = self.writer.commit(notes, parts)
        log.info("checkpoint at t = %g s: %s", notes["time"], written)
        self.sim.checkpoints += 1

    def _failed(self, notes: dict[str, Any], error: FaultwaveError) -> None:
        if self.sim.world.size == 1:
            self.writer.drop()
        text = "no checkpoint at t = %g s: %s. The run goes on; the last checkpoint is kept."
        log.warning(text, notes["time"], error)

    def _begin(self) -> None:
        """Of several processes the first makes the folder that all write to, ahead of time."""
        if self.sim.world.size > 1:
            self.sim.world.together(self.writer.begin)


def surfaces(sim: Simulation) -> list[tuple[str, SurfaceRecorder]]:
    """What sums over surfaces, by the name under which a checkpoint keeps it."""
    flux = [(f"flux{i}", r) for i, r in enumerate(sim.flux_recorders)]
    return flux + [(f"port{i}", r) for i, r in enumerate(sim.ports)]


def mesh_identity(sim: Simulation) -> str:
    """A hash of the mesh's places and cells."""
    plan = sim.plan
    if plan.share is not None:
        return plan.share.mesh_identity
    return identity(plan.mesh)


def capture(sim: Simulation) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Notes and arrays of a checkpoint of the state now; nothing in them changes when the run goes on."""
    engine, plan, share = sim.engine, sim.plan, sim.plan.share
    engine.settle()
    arrays: dict[str, np.ndarray] = {
        "time": np.array(engine.march.time),
        "cells/id": plan.numbers,
        "cells/dofs": engine.operator.dofs(),
        "clusters/steps": plan.clustering.steps,
        "sources/done": engine.sources.done.copy(),
        "sources/item": share.sources if share else np.arange(len(plan.sources)),
    }
    notes: dict[str, Any] = {
        "time": engine.march.time, "order": plan.case.numerics.order, "precision": plan.case.numerics.precision,
        "backend": plan.case.numerics.backend, "mesh": sim.mesh_identity, "updates": engine.updates * sim.updates_share,
        "wall": dict(sim.wall),
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
        arrays["fault/face"] = f.number
        arrays |= {f"fault/{name}": values for name, values in engine.fault.state().items()}
        notes["fault_columns"] = engine.fault.state_columns()
    if sim.motion is not None:
        arrays["surface/face"] = 4 * plan.numbers[sim.motion.cell] + sim.motion.face
        arrays["surface/moved"] = sim.motion.moved()
    if sim.recorder is not None:
        arrays["receivers/samples"] = sim.recorder.arrays()[1].swapaxes(0, 1)
        arrays["receivers/item"] = share.receivers if share else np.arange(len(arrays["receivers/samples"]))
    if sim.fault_recorder is not None:
        arrays |= {f"fault_receivers/{k}": v for k, v in sim.fault_recorder.state(len(sim.fault_fields)).items()}
        items = share.fault_receivers if share else np.arange(len(sim.fault_recorder.times))
        arrays["fault_receivers/item"] = items
    elif sim.lent_recorder is not None:
        arrays["fault_receivers/count"] = np.array(sim.lent_recorder.count)
    if sim.energy_rows:
        names = notes["energies"] = list(sim.energy_rows[0][1])
        arrays["energies"] = np.array([[t, *(row[n] for n in names)] for t, row in sim.energy_rows])
    for name, recorder in surfaces(sim):
        arrays[f"sums/{name}"] = gathered.sums(sim, recorder, name)[1]
    if sim.far_field is not None:
        arrays["far_field/face"] = 4 * plan.numbers[sim.far_field.around.cells] + sim.far_field.around.faces
        arrays["far_field/spectra"] = sim.far_field.recorder.spectra.copy().view(float)
        notes["far_field"] = sim.far_field.samples
    for i, impulses in enumerate(engine.impulses):
        arrays[f"body{i}/cell"], arrays[f"body{i}/done"] = plan.numbers[impulses.body.cells], impulses.done.copy()
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
    part = _gather(sim, checkpoint)
    _restore_part(sim, part, notes)
    engine.march.time = float(part["time"])
    steps = sim.plan.clustering.steps
    same = np.array_equal(part["clusters/steps"], steps)
    if not same:
        text = "the clusters differ from those of the checkpoint: its steps were %s, now %s"
        log.warning(text, part["clusters/steps"], steps)
    if sim.recorder is not None:
        sim.recorder.restore(part["receivers/samples"].swapaxes(0, 1))
    if sim.fault_recorder is not None:
        state = {k.split("/", 1)[1]: v for k, v in part.items() if k.startswith("fault_receivers/")}
        state |= {name: state[name].swapaxes(0, 1) for name in ("time", "values")}
        sim.fault_recorder.restore(state, same)
    if sim.lent_recorder is not None and same:
        sim.lent_recorder.count = part["fault_receivers/count"].tolist()
    for name, recorder in surfaces(sim):
        values = part[f"sums/{name}"]
        recorder.restore(values)
        if sim.world.first:
            sim.sums_before[name] = values
    if sim.far_field is not None:
        record = sim.far_field.recorder
        record.spectra = part["far_field/spectra"].view(complex)
        record.next = [notes["far_field"]] * len(record.next)
    for i, impulses in enumerate(engine.impulses):
        impulses.done[:] = part[f"body{i}/done"]
    if notes["energies"]:
        sim.energy_rows = [(float(row[0]), dict(zip(notes["energies"], row[1:].tolist(), strict=True)))
                           for row in part["energies"]]  # fmt: skip
    engine.sources.done[:] = part["sources/done"]
    sim.largest_energy, sim.looks = notes["largest_energy"], notes["looks"]
    engine.updates = round(notes["updates"] / sim.updates_share)
    sim.quiet_since, sim.energies_due = notes["quiet_since"], notes["energies_due"]
    sim.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
    engine.seconds |= notes["seconds"]
    sim.resumed = {kind: (int(file["next"]), file["times"]) for kind, file in notes["files"].items()}


ITEMS = {
    "cells": "id",
    "fault": "face",
    "surface": "face",
    "receivers": "item",
    "fault_receivers": "item",
    "sources": "item",
    "far_field": "face",
}
"""By what the rows of each group of arrays are known, whichever process wrote them."""

WHOLE = ("fault_receivers/count",)
"""Arrays in those groups whose rows are something else."""


def _gather(sim: Simulation, checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """The arrays with the rows this process needs, in its order, from whichever parts have them."""
    plan, share = sim.plan, sim.plan.share
    fault, motion = sim.engine.fault, sim.motion
    wanted = {
        "cells": plan.numbers,
        "fault": fault.faces.number if fault else None,
        "surface": 4 * plan.numbers[motion.cell] + motion.face if motion else None,
        "receivers": share.receivers if share else None,
        "fault_receivers": share.fault_receivers if share else None,
        "sources": share.sources if share else None,
    }
    items = dict(ITEMS)
    if sim.far_field is not None:
        wanted["far_field"] = 4 * plan.numbers[sim.far_field.around.cells] + sim.far_field.around.faces
    for i, impulses in enumerate(sim.engine.impulses):
        items[f"body{i}"], wanted[f"body{i}"] = "cell", plan.numbers[impulses.body.cells]
    parts = [checkpoint.part(0)] if len(checkpoint.parts) == 1 else _parts(checkpoint, sim.world.rank, plan.numbers)
    found = {k: v for k, v in parts[0].items() if k.split("/")[0] not in items}
    found |= {k: p[k] for p in parts for k in WHOLE if k in p}
    for group, key in items.items():
        having = [p for p in parts if f"{group}/{key}" in p]
        if not having:
            continue
        numbers = np.concatenate([p[f"{group}/{key}"] for p in having])
        mine = wanted.get(group)
        rows = _find(numbers, mine if mine is not None else np.sort(numbers))
        for name in (n for n in having[0] if n.startswith(group + "/") and n not in WHOLE):
            found[name] = _stack([p[name] for p in having], name)[rows]
    return found


def _parts(checkpoint: Checkpoint, rank: int, cells: np.ndarray) -> list[dict[str, np.ndarray]]:
    """The first part, which holds what belongs to all, and those that hold something of this process."""
    count = len(checkpoint.parts)
    if rank < count:
        own = checkpoint.part(rank)
        if np.array_equal(own["cells/id"], cells):
            return [own] if rank == 0 else [checkpoint.part(0), own]
    return [checkpoint.part(i) for i in range(count)]


def _stack(pieces: list[np.ndarray], name: str) -> np.ndarray:
    """Rows of several parts; histories (times, receivers, ...) count receivers along their second axis."""
    if name in ("fault_receivers/time", "fault_receivers/values"):
        length = max(len(p) for p in pieces)
        pieces = [np.pad(p, [(0, length - len(p)), *[(0, 0)] * (p.ndim - 1)], constant_values=np.nan) for p in pieces]
        return np.concatenate([p.swapaxes(0, 1) for p in pieces])
    return np.concatenate(pieces)


def _restore_part(sim: Simulation, part: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
    op, dofs = sim.engine.operator, part["cells/dofs"]
    form = f"{type(op.form).__name__} in {op.time_unit}"
    same = (notes["form"], notes["order"], notes["precision"])
    exact = same == (form, sim.plan.case.numerics.order, sim.plan.case.numerics.precision)
    modes = min(op.b3, dofs.shape[1])  # the basis is orthonormal and hierarchical: projection keeps or drops modes
    values = np.zeros((len(dofs), op.b3, dofs.shape[2]), dofs.dtype)
    values[:, :modes] = dofs[:, :modes]
    if exact and "cells/state" in part:
        op.set_state(part["cells/state"])
    else:
        op.set_dofs(values)
    if sim.engine.fault is not None:
        _restore_fault(sim, part, notes)
    if sim.motion is not None and len(sim.motion.cell):
        sim.motion.set_moved(part["surface/moved"], np.arange(len(sim.motion.cell)))


def _restore_fault(sim: Simulation, part: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
    fault, setting = sim.engine.fault, sim.plan.case.fault
    assert fault is not None and setting is not None
    columns = {name: list(names) for name, names in fault.state_columns().items()}
    if columns != notes["fault_columns"]:
        raise InputError(Problem("fault", "the checkpoint holds another friction law's state or other outputs"))
    items = np.arange(len(fault.faces.area))
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
