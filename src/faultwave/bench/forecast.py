"""How a run will scale, before it does: what kernels cost here, what messages cost there, and how a mesh is cut.

A process spends, in a largest time step,

    compute = imbalance * (cell updates * cell + fault updates * face) / processes
    begun   = cluster steps * step          every process steps every cluster, those it has few cells of too
    packing = messages * MESSAGE + bytes / COPY
    exposed = what of (messages * latency + bytes * tasks / bandwidth) is longer than the interior's share of compute

``cell``, ``face`` and ``step`` are measured; messages, bytes and imbalance are those of real cuts, and beyond MOST parts follow
from them: bytes as the surface of a part, (cells a part)^(2/3), imbalance above one as (cells a part)^(-1/3), neighbours as in the
finest real cut.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.progress import duration
from faultwave.case.load import load_case
from faultwave.dg.basis import triangle_size
from faultwave.dg.between_clusters import places
from faultwave.dg.plan import Plan, make_plan
from faultwave.dg.run_forecast import PATIENCE, advance_for, unfinished
from faultwave.dg.solver import Solver
from faultwave.dg.weights import weights_of
from faultwave.domain.tets.partition import imbalance, partition

MESSAGE = 8e-6
"""Seconds to start, test and start again a message from Python, both ways."""

COPY = 3e9
"""Bytes a second that one core gathers into messages."""

MOST, FEWEST = 64, 100
"""Largest number of parts that is really cut, and fewest cells of each."""


@dataclass(frozen=True)
class Machine:
    """``tasks`` processes a node; ``latency`` [s] of a message between nodes, ``bandwidth`` [B/s] of a node."""

    tasks: int = 1
    latency: float = 2e-6
    bandwidth: float = 1.2e10


@dataclass(frozen=True)
class Costs:
    """Seconds of a cell update, of a fault face update, and of a cluster's step that has nothing to do, of one process."""

    cell: float
    face: float
    step: float


@dataclass(frozen=True)
class Cut:
    """A mesh in ``parts``: imbalance of the work; bytes and messages that the busiest part sends in a largest time step;
    ``border``: share of its cells that have faces to others."""

    parts: float
    imbalance: float = 1.0
    bytes: float = 0.0
    messages: float = 0.0
    border: float = 0.0


@dataclass(frozen=True)
class Load:
    """Of a largest time step: its length [s], updates of cells and of fault faces, steps of clusters; cells in all."""

    length: float
    updates: float
    faces: float
    steps: float
    cells: float


@dataclass(frozen=True)
class Forecast:
    """Seconds of a largest time step, by what they are spent on."""

    processes: int
    compute: float
    begun: float
    packing: float
    exposed: float

    @property
    def total(self) -> float:
        return self.compute + self.begun + self.packing + self.exposed


def load_of(plan: Plan) -> Load:
    """Return the work of a run in one largest time step."""
    c = plan.clustering
    often = np.rint(c.steps.max() / c.steps)
    faces = float((often[c.cluster] * plan.frictional.sum(1)).sum()) / 2  # both cells of a face are in one cluster
    return Load(float(c.steps.max()), float((c.histogram * often).sum()), faces, float(often.sum()), float(plan.cells))


def measure(plan: Plan, solver: Solver, seconds: float) -> Costs:
    """Return costs measured within ``seconds`` on the case, and on a tiny box that isolates the overhead of a step."""
    load = load_of(plan)
    wall, steps, fault = _stepped(solver, 0.8 * seconds)
    few = _stepped(Solver(_tiny(plan), solver.backend), 0.2 * seconds)
    face = fault / (steps * load.faces) if load.faces else 0.0
    cell = (wall - fault) / steps / load.updates
    step = max(0.0, few[0] / few[1] - 48 * cell)
    return Costs(max(cell - step * load.steps / load.updates, 0.1 * cell), face, step)


def _stepped(solver: Solver, seconds: float) -> tuple[float, float, float]:
    """Return wall time, largest steps (a share of one where it takes far longer than ``seconds``) and seconds of friction."""
    march = solver.march
    begun, first, at_first = clock.perf_counter(), solver.updates, solver.seconds["fault"]
    advance_for(solver, PATIENCE * seconds)  # warms caches and the friction state
    solver.backend.finish()
    if unfinished(solver):
        share = (solver.updates - first) / load_of(solver.plan).updates
        return clock.perf_counter() - begun, share, solver.seconds["fault"] - at_first
    started, before, steps = clock.perf_counter(), solver.seconds["fault"], 0.0
    while clock.perf_counter() - started < seconds:
        march.advance(march.time + march.longest)
        solver.backend.finish()
        steps += 1
    return clock.perf_counter() - started, steps, solver.seconds["fault"] - before


def _tiny(plan: Plan) -> Plan:
    """48 cells of the first cell's material, one cluster, and otherwise as the plan."""
    n = plan.case.numerics
    asked: dict[str, Any] = {
        "law": plan.case.law, "end_time": 1.0,
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
        "material": {"constant": {k: float(v[0]) for k, v in plan.material.items()}},
        "numerics": {"order": n.order, "precision": n.precision, "backend": n.backend, "threads": n.threads,
                     "integrator": n.integrator, "clustering": {"rates": [1]}},
    }  # fmt: skip
    case, problems = load_case(asked)
    problems.raise_errors()
    assert case is not None
    return make_plan(case)


def cuts(plan: Plan) -> list[Cut]:
    """Return the partitions of the mesh into 2, 4, 8 ... parts."""
    found, parts = [Cut(1)], 2
    while parts <= MOST and plan.cells >= FEWEST * parts:
        found.append(_cut(plan, parts))
        parts *= 2
    return found


def _cut(plan: Plan, parts: int) -> Cut:
    c, near = plan.clustering, plan.topology.neighbours
    given = weights_of(plan)
    part = partition(near, plan.geometry.centroids, given, parts)
    cell, face = np.nonzero((near >= 0) & (part[near] != part[:, None]))
    other = near[cell, face]
    mine, theirs = c.cluster[cell], c.cluster[other]
    order, channels = plan.case.numerics.order, plan.law.face_channels
    often = np.rint(c.steps.max() / c.steps)
    times = np.minimum(often[mine], often[theirs])  # a sum, or all parts, once a step of the slower
    numbers = np.where(theirs < mine, places(c.ratios), 1) * triangle_size(order - 1) * channels
    size = np.bincount(part[cell], numbers * times, parts) * (4 if plan.case.numerics.precision == "single" else 8)
    lines = np.unique(np.stack([part[cell], part[other], mine, theirs], 1), axis=0)
    sent = np.bincount(lines[:, 0], np.minimum(often[lines[:, 2]], often[lines[:, 3]]), parts)
    border = np.bincount(part[np.unique(cell)], minlength=parts) / np.bincount(part, minlength=parts)
    return Cut(parts, imbalance(part, given.work), float(size.max()), float(sent.max()), float(border.max()))


def cut_into(parts: int, known: Sequence[Cut], cells: float) -> Cut:
    """As it was cut, between real cuts by their parts, beyond them by the laws of the module text; ``cells`` in all."""
    last = known[-1]
    if parts <= last.parts:
        at = np.log([k.parts for k in known])
        names = ("imbalance", "bytes", "messages", "border")
        values = {n: float(np.interp(np.log(parts), at, [getattr(k, n) for k in known])) for n in names}
        return Cut(parts, **values)
    finer = parts / last.parts  # times as few cells a part
    lost = last.imbalance - 1.0
    border = min(1.0, last.border * finer ** (1 / 3))
    return Cut(parts, 1.0 + lost * finer ** (1 / 3), last.bytes * finer ** (-2 / 3), last.messages, border)


def forecast(load: Load, costs: Costs, cut: Cut, machine: Machine) -> Forecast:
    """Return the forecast for one process per part of the partition."""
    parts = cut.parts
    compute = cut.imbalance * (load.updates * costs.cell + load.faces * costs.face) / parts
    wire = cut.messages * machine.latency + cut.bytes * machine.tasks / machine.bandwidth
    exposed = max(0.0, wire - compute * (1.0 - cut.border))
    return Forecast(int(parts), compute, load.steps * costs.step, cut.messages * MESSAGE + cut.bytes / COPY, exposed)


def strong(load: Load, costs: Costs, known: Sequence[Cut], machine: Machine, parts: int) -> Forecast:
    """The same mesh in more parts."""
    return forecast(load, costs, cut_into(parts, known, load.cells), machine)


def weak(load: Load, costs: Costs, known: Sequence[Cut], machine: Machine, parts: int, one: int) -> Forecast:
    """``one`` process's share of the mesh for each of ``parts`` processes: the cut of as many parts of a mesh that grows with
    them is that of ``one`` in its surface, with all neighbours there can be."""
    share = cut_into(max(one, 2) if parts > 1 else 1, known, load.cells)
    most = max(k.messages for k in known)
    grown = replace(share, parts=parts, messages=min(most, share.messages * max(1, parts - 1)))
    scale = parts / one
    bigger = replace(load, updates=load.updates * scale, faces=load.faces * scale, cells=load.cells * scale)
    return forecast(bigger, costs, grown, machine)


def table(plan: Plan, costs: Costs, machine: Machine, nodes: int) -> list[tuple[str, ...]]:
    """Rows for 1, 2, 4 ... ``nodes`` nodes: processes, cells of each, time of the run, efficiency of strong and of weak scaling,
    shares of time that are no kernels. Weak: as many cells on every node as the whole mesh has."""
    load, known = load_of(plan), cuts(plan)
    often = plan.case.end_time / load.length
    counts = sorted({*(2**i for i in range(14) if 2**i <= nodes), nodes})
    first = strong(load, costs, known, machine, machine.tasks).total
    apart = weak(load, costs, known, machine, machine.tasks, machine.tasks).total
    rows = []
    for n in counts:
        parts = n * machine.tasks
        f, w = strong(load, costs, known, machine, parts), weak(load, costs, known, machine, parts, machine.tasks)
        shares = (f"{100 * x / f.total:.0f} %" for x in (f.begun, f.packing, f.exposed))
        rows.append(
            (str(n), f"{parts:,}", f"{plan.cells / parts:,.1f}", duration(often * f.total), f"{100 * first / n / f.total:.0f} %",
             f"{100 * apart / w.total:.0f} %", *shares)
        )  # fmt: skip
    return rows


HEADER = ("nodes", "processes", "cells each", "run", "strong", "weak", "begun", "packing", "waiting")
