"""Partition of a mesh by the cost of its cells, which depends on the time steps of a case."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.case.load import load_case
from faultwave.dg.planning.plan import make_plan
from faultwave.dg.planning.process_partition import weights_of
from faultwave.domain import tets
from faultwave.domain.tets.formats.parts import split, write_parts
from faultwave.domain.tets.load import read_mesh
from faultwave.domain.tets.partition import Method, Weights, imbalance, partition, weights
from faultwave.output.atomic import translate_os_errors

METHODS: tuple[str, ...] = get_args(Method)


def partition_mesh(
    path: str | Path, target: str | Path, parts: Sequence[int], case: str | None = None, order: int = 4,
    method: str = "auto",
) -> list[tuple[str, ...]]:  # fmt: skip
    """Store the mesh of ``path`` in parts in the file ``target``.

    Parameters
    ----------
    path, target : str or Path
        Mesh file to read and PUML file to write.
    parts : sequence of int
        Numbers of parts, each dividing the next.
    case : str, optional
        Case whose time steps, fault and order determine the cost of cells.
    order : int
        Order that determines the cost without a case.
    method : {'auto', 'metis', 'curve'}
        Partitioning method.

    Returns
    -------
    list of tuple of str
        Rows (parts, cells per part, imbalance of work, imbalance of memory, cut faces).

    Raises
    ------
    InputError
        For a broken mesh, a case of another mesh, or numbers of parts that do not divide each other.
    """
    if method not in METHODS:
        raise InputError(Problem("--method", f"'{method}'", ", ".join(METHODS)))
    mesh = read_mesh(path)
    topology = tets.build_topology(mesh, volumes=True)
    given = _of_case(case, mesh) if case is not None else _of_mesh(mesh, topology, order)
    centroids = mesh.vertices[mesh.cells].mean(1)

    def cut(chosen: np.ndarray, number: int) -> np.ndarray:
        local = np.full(len(mesh.cells), -1)
        local[chosen] = np.arange(len(chosen))
        across = topology.neighbours[chosen]
        near = np.where(across >= 0, local[across], -1)
        part = Weights(
            given.work[chosen], given.memory[chosen], given.traffic[chosen], given.together[chosen] & (near >= 0)
        )
        return partition(near, centroids[chosen], part, number, cast(Method, method))

    found = split(parts, cut, len(mesh.cells))
    with translate_os_errors(Path(target)):
        write_parts(target, mesh, topology, found, parts, tets.hilbert_order(centroids))
    rows: list[tuple[str, ...]] = []
    for number in sorted(set(parts)):
        part = found // (max(parts) // number)
        cells = np.bincount(part)
        faces = int(((topology.neighbours >= 0) & (part[topology.neighbours] != part[:, None])).sum()) // 2
        measures = (f"{imbalance(part, given.work):.3f}", f"{imbalance(part, given.memory):.3f}", f"{faces:,}")
        rows.append((f"{number}", f"{cells.min():,} to {cells.max():,}", *measures))
    return rows


def _of_mesh(mesh: tets.Mesh, topology: tets.Topology, order: int) -> Weights:
    """Return weights for time steps proportional to the inradius, in clusters of rate 2."""
    shape = tets.geometry(mesh, topology)
    fault = (topology.kinds == tets.BoundaryKind.FAULT) & (topology.neighbours >= 0)
    clustering = tets.assign_clusters(shape.inradius, topology.neighbours, fault)
    rates = np.cumprod([1, *clustering.ratios[:-1]])
    return weights(clustering.cluster, rates, topology.neighbours, fault, order)


def _of_case(name: str, mesh: tets.Mesh) -> Weights:
    case, problems = load_case(name)
    problems.raise_errors()
    assert case is not None
    plan = make_plan(case)
    if not np.array_equal(plan.mesh.cells, mesh.cells):
        raise InputError(Problem("--case", f"{name} runs on another mesh, {plan.mesh.name}", mesh.name))
    return weights_of(plan)
