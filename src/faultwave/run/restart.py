"""Checkpoints of a running simulation: when one is due, what it holds, and going on from it.

A checkpoint is taken where all clusters meet without a shortened step, before anything is evaluated for the files of
that moment; it holds the dofs, the friction state and everything recorded so far, so that the run that goes on from it
cannot be told from one that was never interrupted.
"""

from __future__ import annotations

import math
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.log import get_logger
from faultwave.dg.fault_points import point_rule, transfer
from faultwave.dg.share import identity
from faultwave.domain.tets.mesh import row_sum
from faultwave.observe.surfaces import SurfaceRecorder
from faultwave.output.checkpoint import Checkpoint
from faultwave.run import checkpoints, gathered

if TYPE_CHECKING:
    from faultwave.run.simulation import Simulation

JUMPS = ("ruptured", "weakened")
"""What jumps on a fault: times, which are never interpolated."""

log = get_logger(__name__)


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

HISTORIES = ("fault_receivers/time", "fault_receivers/values")
"""Arrays that count their items along the second axis."""


def items_of(sim: Simulation) -> dict[str, str]:
    """``ITEMS``, and those of currents in bodies."""
    return ITEMS | {f"body{i}": "cell" for i in range(len(sim.engine.impulses))}


class Keeper(checkpoints.Keeper):
    """Takes checkpoints where all clusters meet; alone, a process writes them while it goes on."""

    def __init__(self, sim: Simulation, folder: Path):
        super().__init__(sim, folder)
        self.sim, self.items = sim, items_of(sim)
        self._plan_next()

    def _plan_next(self) -> None:
        self.due = (np.floor(self.sim.time / self.interval + 1e-9) + 1) * self.interval

    def step(self) -> None:
        """After all clusters have met: take a checkpoint if one is due and nothing is half recorded."""
        overdue = self.overdue()
        if (self.sim.time >= self.due * (1 - 1e-9) or overdue) and self.sim.all_settled():
            self.take()

    def take(self) -> None:
        """Hand a checkpoint over for writing, after the snapshots that were handed over before."""
        self._plan_next()
        self.written = clock.perf_counter()
        notes, arrays = capture(self.sim)
        if self.sim.world.size > 1:
            self.sim.background.wait()
            self.write(notes, arrays)
        else:
            self.sim.background.submit(lambda: self.write(notes, arrays), sum(a.nbytes for a in arrays.values()))

    def settle(self, notes: dict[str, Any]) -> None:
        for kind, (_, writers) in self.sim.snapshots.items():
            notes["files"][kind]["times"] = min((w.settle() for w in writers), key=len, default=[])


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


def material(sim: Simulation) -> dict[str, int]:
    """Of every parameter of the medium and of friction, a number that tells its values from others: all processes' together,
    however the mesh is cut. Friction's belong to the points of an order."""
    plan, fault = sim.plan, sim.plan.fault
    found = {name: _told_apart(values, plan.numbers) for name, values in sorted(plan.material.items())}
    if fault is not None:
        order, owned = plan.case.numerics.order, fault.faces.owned
        frictional = {**fault.parameters, "initial stress": fault.stress}
        frictional |= {f"nucleation {i}": e.traction for i, e in enumerate(fault.episodes)}
        found |= {
            f"{name} of the fault at order {order}": _told_apart(values[:owned], fault.faces.number[:owned])
            for name, values in sorted(frictional.items())
        }
    everywhere = sim.world.gather({name: int(number) for name, number in found.items()}) or [{}]
    names = dict.fromkeys(name for part in everywhere for name in part)
    total: dict[str, int] = sim.world.share({n: sum(part.get(n, 0) for part in everywhere) % 2**64 for n in names})
    return total


def _told_apart(values: np.ndarray, numbers: np.ndarray) -> np.uint64:
    """``row_sum`` of items (n, ...)."""
    return row_sum(values.reshape(len(values), math.prod(values.shape[1:])), numbers)


def _same_material(checkpoint: Checkpoint, now: dict[str, int]) -> None:
    """Raises InputError where the medium or friction is not that of the first run, as when a file that describes it changed."""
    then = checkpoint.notes.get("material", {})
    other = [name for name in now.keys() & then.keys() if now[name] != then[name]]
    if other:
        what = f"{', '.join(sorted(other))}: not as in the run that this goes on from"
        advice = "Put back the files that the case names as they were, or start anew with 'faultwave run'."
        raise InputError(Problem(str(checkpoint.folder), what, advice=advice))


def capture(sim: Simulation) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Notes and arrays of a checkpoint of the state now; nothing in them changes when the run goes on."""
    engine, plan, share = sim.engine, sim.plan, sim.plan.share
    engine.settle()
    op = engine.operator
    raw = op.state()
    arrays: dict[str, np.ndarray] = {
        "time": np.array(engine.march.time),
        "cells/id": plan.numbers,
        "cells/dofs": op.physical(raw, np.arange(len(raw))),
        "clusters/steps": plan.clustering.steps,
        "sources/done": engine.sources.done.copy(),
        "sources/item": share.sources if share else np.arange(len(plan.sources)),
    }
    notes: dict[str, Any] = {
        "time": engine.march.time, "order": plan.case.numerics.order, "precision": plan.case.numerics.precision,
        "backend": plan.case.numerics.backend, "mesh": sim.mesh_identity, "updates": engine.updates * sim.updates_share,
        "wall": dict(sim.wall),
        "seconds": dict(engine.seconds), "quiet_since": sim.quiet_since, "energies_due": sim.energies_due,
        "largest_energy": sim.largest_energy, "looks": sim.looks, "material": sim.material_identity,
        "case": plan.case.model_dump(mode="json", exclude_unset=True), "files": {}, "energies": [],
    }  # fmt: skip
    notes["form"] = f"{type(op.form).__name__} in {op.time_unit}"
    if op.form.to_physical(op.cells, np.arange(1)) is not None:  # which is not undone to the last bit
        arrays["cells/state"] = raw
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
    counting = sim.fault_recorder or sim.lent_recorder
    if counting is not None:
        notes["fault_receiver_steps"] = list(counting.count)
    if sim.fault_recorder is not None:
        state = sim.fault_recorder.state(len(sim.fault_fields))
        arrays |= {f"fault_receivers/{k}": v for k, v in state.items() if k != "count"}
        items = share.fault_receivers if share else np.arange(len(sim.fault_recorder.times))
        arrays["fault_receivers/item"] = items
    if sim.energy_rows:
        names = notes["energies"] = list(sim.energy_rows[0][1])
        arrays["energies"] = np.array([[t, *(row[n] for n in names)] for t, row in sim.energy_rows])
    for name, recorder in surfaces(sim):
        arrays[f"sums/{name}"] = gathered.sums(sim, recorder, name)[1]
    if sim.far_field is not None:
        arrays["far_field/face"] = 4 * plan.numbers[sim.far_field.around.cells] + sim.far_field.around.faces
        arrays["far_field/spectra"] = sim.far_field.recorder.spectra.copy().view(float)
        arrays["far_field/strength"] = sim.far_field.recorder.strength.copy()
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
    _same_material(checkpoint, sim.material_identity)
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
        sim.fault_recorder.restore(state | {"count": np.array(notes["fault_receiver_steps"])}, same)
    if sim.lent_recorder is not None and same:
        sim.lent_recorder.count = list(notes["fault_receiver_steps"])
    for name, recorder in surfaces(sim):
        values = part[f"sums/{name}"]
        recorder.restore(values)
        if sim.world.first:
            sim.sums_before[name] = values
    if sim.far_field is not None:
        record = sim.far_field.recorder
        record.spectra = part["far_field/spectra"].view(complex)
        record.strength = part["far_field/strength"]
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


def _gather(sim: Simulation, checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """The arrays with the rows this process needs, in its order, from whichever parts have them."""
    items, wanted = items_of(sim), _wanted(sim)
    numbers: dict[str, list[np.ndarray]] = {group: [] for group in items}
    pieces: dict[str, list[np.ndarray]] = {}
    for number in range(len(checkpoint.parts)):
        # Of every group at least one piece, be it empty: it tells the shape.
        spans = {group: span for group, span in checkpoint.spans[number].items() if group in items}
        near = [g for g, span in spans.items() if not numbers[g] or _meets(wanted.get(g), span)]
        if number and not near:
            continue
        with checkpoint.opened(number) as part:
            if number == 0:
                whole = {name: dataset[()] for name, dataset in part.items() if name.split("/")[0] not in items}
            for group in near:
                here = part[f"{group}/{items[group]}"][()]
                rows = np.flatnonzero(np.isin(here, wanted[group])) if group in wanted else np.arange(len(here))
                numbers[group].append(here[rows])
                for name in (n for n in part if n.startswith(group + "/")):
                    pieces.setdefault(name, []).append(_rows(part[name], rows, name))
    found = {name: _stack(values) for name, values in pieces.items()}
    for group in (g for g in items if numbers[g]):
        having = np.concatenate(numbers[group])
        mine = wanted.get(group)
        order = _find(having, mine if mine is not None else np.sort(having))
        found |= {name: values[order] for name, values in found.items() if name.startswith(group + "/")}
    return whole | found


def _wanted(sim: Simulation) -> dict[str, np.ndarray]:
    """Numbers of the items of this process; of groups that are not named it wants all."""
    plan, share, fault, motion = sim.plan, sim.plan.share, sim.engine.fault, sim.motion
    wanted = {"cells": plan.numbers}
    if fault is not None:
        wanted["fault"] = fault.faces.number
    if motion is not None:
        wanted["surface"] = 4 * plan.numbers[motion.cell] + motion.face
    if share is not None:
        wanted |= {"receivers": share.receivers, "fault_receivers": share.fault_receivers, "sources": share.sources}
    if sim.far_field is not None:
        wanted["far_field"] = 4 * plan.numbers[sim.far_field.around.cells] + sim.far_field.around.faces
    return wanted | {f"body{i}": plan.numbers[x.body.cells] for i, x in enumerate(sim.engine.impulses)}


def _meets(wanted: np.ndarray | None, span: tuple[int, int]) -> bool:
    """Whether some of the wanted numbers lie in the span of a part's."""
    return wanted is None or bool(((wanted >= span[0]) & (wanted <= span[1])).any())


def _rows(dataset: Any, rows: np.ndarray, name: str) -> np.ndarray:
    """Some items of a dataset, ascending, first axis first; what lies between the first and the last is read."""
    second = name in HISTORIES
    count = dataset.shape[1] if second else dataset.shape[0]
    first, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    if second:
        return np.asarray((dataset[:, first:end] if end - first < count else dataset[()]).swapaxes(0, 1)[rows - first])
    values = np.asarray(dataset[first:end] if end - first < count else dataset[()])
    return values if len(rows) == len(values) else values[rows - first]


def _stack(pieces: list[np.ndarray]) -> np.ndarray:
    """Rows of several parts; histories are filled up to the longest with NaN."""
    if pieces[0].ndim > 1 and len({p.shape[1] for p in pieces}) > 1:
        length = max(p.shape[1] for p in pieces)
        pad = [(0, 0), (0, 0), (0, 0)]
        pieces = [
            np.pad(p, [pad[0], (0, length - p.shape[1]), *pad[2 : p.ndim]], constant_values=np.nan) for p in pieces
        ]
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
