"""Forecast of the scaling of a run: measured costs of kernels, assumed costs of messages, and partitions of the mesh.

The time that a process spends in a largest time step has the parts

    compute = imbalance * (cell updates * cell + fault updates * face) / processes
    begun   = cluster steps * step          (every process steps every cluster, even those in which it has few cells)
    packing = messages * MESSAGE + bytes / COPY
    exposed = max(0, messages * latency + bytes * tasks / bandwidth - interior fraction * compute)

``cell``, ``face`` and ``step`` are measured. Messages, bytes and imbalance come from real partitions up to ``MOST`` parts; beyond, they are
extrapolated from the finest one by their scaling laws: bytes as parts^(-2/3), boundary fraction and excess imbalance as parts^(1/3),
and a constant number of messages.
"""

from __future__ import annotations

import time as clock
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.precision import number_bytes
from faultwave.base.progress import duration
from faultwave.base.types import Settings
from faultwave.case.load import load_case
from faultwave.dg.method.basis import triangle_size
from faultwave.dg.method.outgoing_waves import cluster_places
from faultwave.dg.planning.plan import Plan, make_plan
from faultwave.dg.planning.process_partition import weights_of
from faultwave.dg.run_forecast import PATIENCE, advance_for, unfinished
from faultwave.dg.solver import Solver
from faultwave.domain.tets.partition import imbalance, partition

MESSAGE = 8e-6
"""Time [s] to start, test and restart a message from Python, for both directions."""

COPY = 3e9
"""Rate [B/s] at which one core gathers data into messages."""

MOST, FEWEST = 64, 100
"""Largest number of parts for which the mesh is really partitioned, and smallest number of cells per part."""


@dataclass(frozen=True)
class Machine:
    """Machine for which a run is forecast: processes per node, latency [s] between nodes, and bandwidth [B/s] of a node."""

    tasks: int = 1
    latency: float = 2e-6
    bandwidth: float = 1.2e10


@dataclass(frozen=True)
class Costs:
    """Time [s] per process of a cell update, of a fault face update, and of a step of a cluster without cells."""

    cell: float
    face: float
    step: float


@dataclass(frozen=True)
class Cut:
    """Partition of the mesh.

    Attributes
    ----------
    parts : float
        Number of parts.
    imbalance : float
        Largest work of a part over the mean.
    bytes, messages : float
        Amount that the busiest part sends in a largest time step.
    border : float
        Largest fraction of a part's cells that have faces to other parts.
    """

    parts: float
    imbalance: float = 1.0
    bytes: float = 0.0
    messages: float = 0.0
    border: float = 0.0


@dataclass(frozen=True)
class Load:
    """Work in one largest time step.

    Attributes
    ----------
    length : float
        Length of the time step [s].
    updates, faces, steps : float
        Number of cell updates, fault face updates and cluster steps.
    cells : float
        Number of cells of the mesh.
    """

    length: float
    updates: float
    faces: float
    steps: float
    cells: float


@dataclass(frozen=True)
class Forecast:
    """Time [s] of a largest time step, by cause."""

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
    """Return wall time [s], number of largest steps and time in friction [s].

    The number of steps is a fraction below one if one step takes far longer than ``seconds``.
    """
    march = solver.march
    begun, first, at_first = clock.perf_counter(), solver.updates, solver.timeline.seconds["fault"]
    advance_for(solver, PATIENCE * seconds)  # warms caches and the friction state
    solver.backend.finish()
    if unfinished(solver):
        share = (solver.updates - first) / load_of(solver.plan).updates
        return clock.perf_counter() - begun, share, solver.timeline.seconds["fault"] - at_first
    started, before, steps = clock.perf_counter(), solver.timeline.seconds["fault"], 0.0
    while clock.perf_counter() - started < seconds:
        solver.advance(march.time + march.longest)
        solver.backend.finish()
        steps += 1
    return clock.perf_counter() - started, steps, solver.timeline.seconds["fault"] - before


def _tiny(plan: Plan) -> Plan:
    """Return a plan like the given one, but with 48 cells of the first cell's material in one cluster."""
    n = plan.case.numerics
    requested: Settings = {
        "law": plan.case.law, "end_time": 1.0,
        "mesh": {"generate": {"shape": "box", "cells": [2, 2, 2], "lower": [0, 0, 0], "upper": [1, 1, 1]}},
        "material": {"constant": {k: float(v[0]) for k, v in plan.material.items()}},
        "numerics": {"order": n.order, "precision": n.precision, "backend": n.backend, "threads": n.threads,
                     "integrator": n.integrator, "clustering": {"rates": [1]}},
    }  # fmt: skip
    case, problems = load_case(requested)
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
    numbers = np.where(theirs < mine, cluster_places(c.ratios), 1) * triangle_size(order - 1) * channels
    size = np.bincount(part[cell], numbers * times, parts) * number_bytes(plan.case.numerics.precision)
    lines = np.unique(np.stack([part[cell], part[other], mine, theirs], 1), axis=0)
    sent = np.bincount(lines[:, 0], np.minimum(often[lines[:, 2]], often[lines[:, 3]]), parts)
    border = np.bincount(part[np.unique(cell)], minlength=parts) / np.bincount(part, minlength=parts)
    return Cut(parts, imbalance(part, given.work), float(size.max()), float(sent.max()), float(border.max()))


def cut_into(parts: int, known: Sequence[Cut], cells: float) -> Cut:
    """Return the partition into ``parts``, interpolated between real ones and extrapolated beyond them by the laws in the module text."""
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
    """Return the forecast for the same mesh in more parts."""
    return forecast(load, costs, cut_into(parts, known, load.cells), machine)


def weak(load: Load, costs: Costs, known: Sequence[Cut], machine: Machine, parts: int, one: int) -> Forecast:
    """Return the forecast for ``parts`` processes on a mesh that grows with them, each with 1 / ``one`` of the given mesh.

    Each process has the surface of a part of the partition into ``one`` parts, and as many neighbours as any part can have.
    """
    share = cut_into(max(one, 2) if parts > 1 else 1, known, load.cells)
    most = max(k.messages for k in known)
    grown = replace(share, parts=parts, messages=min(most, share.messages * max(1, parts - 1)))
    scale = parts / one
    bigger = replace(load, updates=load.updates * scale, faces=load.faces * scale, cells=load.cells * scale)
    return forecast(bigger, costs, grown, machine)


def table(plan: Plan, costs: Costs, machine: Machine, nodes: int) -> list[tuple[str, ...]]:
    """Return rows for 1, 2, 4 ... ``nodes`` nodes.

    Columns: nodes, processes, cells per process, run time, efficiency of strong and weak scaling, and fractions of the time outside
    kernels. Weak scaling has as many cells on every node as the whole mesh.
    """
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
