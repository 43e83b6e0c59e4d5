"""Checkpoints of a run on a grid: everything that moves, everything recorded so far; a resumed run is the same to the last bit."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.fd.operator import Operator
from faultwave.fd.program import build_program
from faultwave.fd.share import observers
from faultwave.kernels.overlap import meet
from faultwave.kernels.stencil import Box, Program, record
from faultwave.output.checkpoint import Checkpoint
from faultwave.run import checkpoints

if TYPE_CHECKING:
    from faultwave.run.fd.simulation import FdSimulation


SCHEME = "surface by parts, sampled seismograms"
"""What a step does and a checkpoint holds: another text where one of them changes, so that what an earlier version left is refused."""
RECORDED_SO_FAR = ("receivers/samples", "receivers/last", "receivers/count")
"""Of the recorder of a process, receivers along the second axis of the first two."""


def moving(program: Program) -> dict[str, int]:
    """Every array that a step changes, and the halo that belongs to it."""
    names = {launch.names.get(n, n) for level in program.levels for launch in level for n in record(launch.stencil)[1]}
    return {name: program.arrays[name].halo for name in program.arrays if name in names}


def identity(sim: FdSimulation) -> dict[str, Any]:
    """What must be the same for a run to go on; all processes ask for it at once."""
    scheme, plan = sim.plan.scheme, sim.plan
    arrays = moving(build_program(scheme, observers=observers(sim.case, scheme, scheme.grid.box)))
    return {
        "scheme": SCHEME,
        "points": list(scheme.grid.shape), "corner": list(scheme.grid.lower), "spacing": scheme.grid.spacing, "step": scheme.step,
        "precision": plan.case.numerics.precision, "material": material(sim), "arrays": sorted(arrays),
        "receivers": None if plan.receivers is None else plan.receivers.tolist(),
    }  # fmt: skip


def material(sim: FdSimulation) -> dict[str, int]:
    """Sums of every coefficient's bits, weighted by place: they do not depend on how the grid is cut."""
    part, coefficients = sim.operator.subdomain, sim.plan.medium.coefficients
    sums = np.zeros(len(coefficients), np.uint64)
    for n, values in enumerate(coefficients.values()):
        values = np.asarray(values)
        while values.ndim < 3:
            values = values[None]
        if any(size == 1 and low > 0 for size, low in zip(values.shape, part.owned.box.lo, strict=True)):
            continue  # the same along an axis: counted where that begins
        own = tuple(s if size > 1 else slice(0, 1) for s, size in zip(part.own, values.shape, strict=True))
        bits = np.ascontiguousarray(values[own])
        bits = bits.view({4: np.uint32, 8: np.uint64}[bits.itemsize]).astype(np.uint64)
        for k, (low, odd) in enumerate(zip(part.owned.box.lo, (2654435761, 40503, 2246822519), strict=True)):
            places = (low * (values.shape[k] > 1) + np.arange(bits.shape[k])).astype(np.uint64)
            bits = bits * (places * np.uint64(2 * odd) + np.uint64(odd)).reshape(
                [-1 if d == k else 1 for d in range(3)]
            )
        sums[n] = bits.sum(dtype=np.uint64)
    return dict(zip(coefficients, map(int, sim.world.total(sums)), strict=True))


def kept(op: Operator, name: str) -> Box:
    """What this process keeps of an array: together, all keep every number once."""
    layout = op.runner.program.arrays[name]
    halo = layout.halo
    room = Box(*(tuple(v + s * halo for v in c) for c, s in ((layout.box.lo, -1), (layout.box.hi, 1))))  # type: ignore[arg-type]
    found = op.subdomain.kept(halo)
    if layout.box.lo[0] >= op.scheme.grid.shape[0]:  # on the surface, above what it owns
        found = Box((room.lo[0], *found.lo[1:]), (room.hi[0], *found.hi[1:]))
    return meet(room, found)


def within(op: Operator, array: np.ndarray, name: str, box: Box) -> np.ndarray:
    """A box of an array that is given with all its halo."""
    layout = op.runner.program.arrays[name]
    low = [a - b + layout.halo for a, b in zip(box.lo, layout.box.lo, strict=True)]
    return array[tuple(slice(a, a + n) for a, n in zip(low, box.shape, strict=True))]


class Keeper(checkpoints.Keeper):
    """Takes checkpoints where the run's chunks of steps end."""

    def __init__(self, sim: FdSimulation, folder: Path):
        super().__init__(sim, folder)
        self.sim, dt = sim, sim.plan.scheme.step
        count = int(sim.case.end_time / self.interval * (1 + 1e-9))
        self.due = frozenset(int(np.ceil(k * self.interval / dt * (1 - 1e-9))) for k in range(1, count + 1))

    def step(self) -> None:
        """After some steps, which all processes have taken: take a checkpoint if one is due."""
        overdue = self.overdue()
        if self.sim.operator.steps in self.due or overdue:
            self.take()

    def take(self) -> None:
        """Write a checkpoint before the next step changes what it holds."""
        self.written = clock.perf_counter()
        self.write(*capture(self.sim))

    def settle(self, notes: dict[str, Any]) -> None:
        for kind, (count, writers) in self.sim.snapshots().items():
            notes["files"][kind] = {"next": count, "times": min((w.settle() for w in writers), key=len, default=[])}


def capture(sim: FdSimulation) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Notes and arrays of a checkpoint of the state now; arrays of the grid are views, to be written before the next step."""
    op, arrays = sim.operator, dict[str, np.ndarray]()
    for name, halo in moving(op.runner.program).items():
        box = kept(op, name)
        arrays[f"grid/{name}"] = within(op, op.runner.values(name, halo), name, box)
        arrays[f"place/{name}"] = np.array([box.lo, box.hi])
    if sim.identity is None:
        sim.identity = identity(sim)
    notes: dict[str, Any] = {
        "time": op.time, "steps": op.steps, "grid": sim.identity, "wall": dict(sim.wall), "seconds": dict(sim.seconds),
        "case": sim.case.model_dump(mode="json", exclude_unset=True), "files": {}, "energies": [],
        "pushed": sim.watch.bound(),
    }  # fmt: skip
    if sim.recorder is not None:
        arrays |= {f"receivers/{name}": values for name, values in sim.recorder.state().items()}
        arrays["receiver_numbers"] = sim.mine
    if sim.maps is not None and sim.world.first:
        arrays |= {"maps/times": np.array(sim.maps.times), "maps/arias": np.stack(sim.maps.arias)}
    if sim.energy_rows:
        names = notes["energies"] = list(sim.energy_rows[0][1])
        if sim.world.first:
            arrays["energies"] = np.array([[t, *(row[n] for n in names)] for t, row in sim.energy_rows])
    return notes, arrays


def restore(sim: FdSimulation, checkpoint: Checkpoint) -> None:
    """Put a new simulation where the checkpoint was taken, by as many processes or others. Raises InputError where it cannot go on."""
    notes, op = checkpoint.notes, sim.operator
    sim.identity = identity(sim)
    _check(str(checkpoint.folder), notes.get("grid"), sim.identity)
    first = checkpoint.part(0)
    series: list[dict[str, np.ndarray]] = []
    for number in range(len(checkpoint.parts)):
        part = checkpoint.part(number) if number else first
        _restore_arrays(op, part)
        if "receiver_numbers" in part:
            series.append({name: part[name] for name in ("receiver_numbers", *RECORDED_SO_FAR)})
    op.restored()
    op.steps, sim.watch.root = int(notes["steps"]), float(notes["pushed"])
    if sim.recorder is not None:
        numbers = np.concatenate([part["receiver_numbers"] for part in series])
        order = np.argsort(numbers)
        mine = order[np.searchsorted(numbers, sim.mine, sorter=order)]
        state = {"count": series[0]["receivers/count"]}
        for name in ("samples", "last"):
            state[name] = np.concatenate([part[f"receivers/{name}"] for part in series], 1)[:, mine]
        sim.recorder.restore(state)
    if sim.maps is not None:
        sim.maps.times, sim.maps.arias = first["maps/times"].tolist(), list(first["maps/arias"])
    sim.energy_rows = [
        (float(row[0]), dict(zip(notes["energies"], row[1:].tolist(), strict=True)))
        for row in first.get("energies", ())
    ]
    sim.wall |= {name: seconds for name, seconds in notes["wall"].items() if name != "setup"}
    sim.seconds |= notes["seconds"]
    sim.resumed = {kind: (int(file["next"]), file["times"]) for kind, file in notes["files"].items()}


def _restore_arrays(op: Operator, part: Mapping[str, np.ndarray]) -> None:
    """What a part of a checkpoint has of the arrays here."""
    for name, halo in moving(op.runner.program).items():
        if f"grid/{name}" not in part:
            continue
        lo, hi = part[f"place/{name}"].tolist()
        stored, layout = Box(tuple(lo), tuple(hi)), op.runner.program.arrays[name]
        box = meet(stored, Box(tuple(v - halo for v in layout.box.lo), tuple(v + halo for v in layout.box.hi)))  # type: ignore[arg-type]
        if not box.points:
            continue
        at = tuple(slice(a - b, a - b + n) for a, b, n in zip(box.lo, stored.lo, box.shape, strict=True))
        within(op, op.runner.view(name, halo), name, box)[...] = part[f"grid/{name}"][at]


def _check(where: str, then: Mapping[str, Any] | None, now: Mapping[str, Any]) -> None:
    if then is None:
        raise InputError(Problem(where, "was taken by another engine", "engine: fd"))
    other = [name for name in now if then.get(name) != now[name]]
    if other:
        what = ", ".join(other)
        advice = "Resume with the case as it was; another end time may change the step."
        raise InputError(Problem(where, f"was taken with other {what}", advice=advice))
