"""Cells to parts: balanced work and memory, little to exchange, both cells of a fault face in one part.

What is weighed: docs/theory/time-stepping.md, "Partition among processes". METIS (Karypis & Kumar 1998) does it, called
in the library that the pymetis wheel brings: pymetis itself hands over one balance constraint only. Without it, and
where asked, a weighted Hilbert curve is cut.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.domain.tets.curve import hilbert_order
from faultwave.domain.tets.mesh import Floats, Integers

Method = Literal["auto", "metis", "curve"]

IMBALANCE = (1.02, 1.05)
"""Allowed largest over mean work, and memory."""

WORK_UNITS = 1000
"""A cell's work is rounded to this part of the mean."""


@dataclass(frozen=True)
class Weights:
    """What to balance and what to spare: work (nc,) a cell in any unit, memory (nc,), traffic (nc, 4) across each face
    (both ways; that of the two sides is added), together (nc, 4): faces whose cells must not be parted."""

    work: Floats
    memory: Floats
    traffic: Floats
    together: np.ndarray


def weights(
    cluster: Integers, rates: Integers, neighbours: Integers, fault: np.ndarray, order: int,
    fault_work: float = 3.0, channels: int = 3,
) -> Weights:  # fmt: skip
    """Weights of a run: ``cluster`` (nc,), ``rates`` steps of each cluster in steps of the fastest, ``fault`` (nc, 4).

    ``fault_work``: friction of a face in updates of a cell, both its cells together. Traffic counts numbers sent: the
    trace of a step between equal clusters, one for each step of the faster from the slower and a sum from the faster.
    """
    updates = (rates.max() / rates)[cluster]
    work = updates * (1.0 + 0.5 * fault_work * fault.sum(1))
    trace = order * (order + 1) // 2
    across = neighbours >= 0
    other = np.where(across, cluster[neighbours], cluster[:, None])
    mine = trace * np.maximum(1, rates[cluster][:, None] // rates[other])  # numbers I send at once
    often = np.minimum(updates[:, None], (rates.max() / rates)[other])
    return Weights(work, np.ones(len(work)), np.where(across, channels * mine * often, 0.0), fault & across)


def partition(
    neighbours: Integers, centroids: Floats, given: Weights, parts: int, method: Method = "auto", seed: int = 1
) -> Integers:
    """The part (nc,) of every cell; parts are numbered along a space-filling curve.

    neighbours (nc, 4), -1 where none. Deterministic. Raises InputError for more parts than there are groups of cells
    that must stay together, BackendError where METIS is asked for and not installed.
    """
    cells = len(neighbours)
    group, count = _groups(neighbours, given.together)
    if not 1 <= parts <= count:
        what = f"{parts} parts of {cells} cells" + (f" in {count} inseparable groups" if count < cells else "")
        raise InputError(Problem("partition", what, f"1 to {count}"))
    if parts == 1:
        return np.zeros(cells, np.int64)
    work = np.asarray(np.bincount(group, given.work, count), np.float64)
    memory = np.asarray(np.bincount(group, given.memory, count), np.float64)
    sums = [np.bincount(group, centroids[:, i], count) for i in range(3)]
    centres: Floats = np.stack(sums, 1) / np.bincount(group, minlength=count)[:, None]
    if method == "auto":
        method = "metis" if available() else "curve"
    if method == "curve":
        found = _cut_curve(centres, work, parts)
    else:
        found = _metis(_graph(neighbours, group, count, given.traffic), work, memory, parts, seed)
        found = _fill(found, work, parts)
    return _numbered(found, centres, parts)[group]


def imbalance(part: Integers, values: Floats) -> float:
    """Largest over mean sum of ``values`` (nc,) among the parts."""
    sums = np.bincount(part, values)
    return float(sums.max() / sums.mean())


def available() -> bool:
    """Whether METIS is installed."""
    return importlib.util.find_spec("pymetis") is not None


def _groups(neighbours: Integers, together: np.ndarray) -> tuple[Integers, int]:
    """Number of the group of every cell, and how many there are; a group is what ``together`` binds."""
    cell, face = np.nonzero(together)
    if not len(cell):
        return np.arange(len(neighbours)), len(neighbours)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(cell)), (cell, neighbours[cell, face])), shape=(len(neighbours),) * 2)
    count, group = connected_components(links, directed=False)
    return group.astype(np.int64), int(count)


def _graph(neighbours: Integers, group: Integers, count: int, traffic: Floats) -> Any:
    """Sparse symmetric matrix of integer traffic between groups."""
    from scipy.sparse import coo_array

    cell, face = np.nonzero(neighbours >= 0)
    a, b = group[cell], group[neighbours[cell, face]]
    outer = a != b
    size = traffic[cell, face][outer]
    matrix = coo_array((size, (a[outer], b[outer])), shape=(count, count)).tocsr()  # adds up what stands twice
    matrix = matrix + matrix.T
    unit = max(float(matrix.data.mean()) / 1000, 1e-300) if matrix.nnz else 1.0
    matrix.data = np.maximum(np.rint(matrix.data / unit), 1.0)
    return matrix


def _metis(graph: Any, work: Floats, memory: Floats, parts: int, seed: int) -> Integers:
    spec = importlib.util.find_spec("pymetis")
    if spec is None:
        raise BackendError("METIS is not installed: pip install 'faultwave[mpi]', or take --method curve")
    import pymetis
    from pymetis import _internal

    library = ctypes.CDLL(_internal.__file__)
    kind: Any = pymetis.zero_copy_dtype() if hasattr(pymetis, "zero_copy_dtype") else np.dtype(np.int64)
    loads = [_integers(work)] + ([] if np.ptp(memory) == 0 and np.ptp(work) == 0 else [_integers(memory)])
    options = np.full(40, -1, kind)
    key = pymetis.OptionKey
    options[int(key.NUMBERING)], options[int(key.SEED)] = 0, seed
    options[int(key.UFACTOR)] = round(1000 * (IMBALANCE[0] - 1))
    arrays = [np.array(len(work), kind), np.array(len(loads), kind), graph.indptr.astype(kind), graph.indices.astype(kind),
              np.stack(loads, 1).astype(kind).ravel(), graph.data.astype(kind), np.array(parts, kind)]  # fmt: skip
    n, ncon, start, near, load, traffic, target = (a.ctypes.data_as(ctypes.c_void_p) for a in arrays)
    cut, found = np.zeros(1, kind), np.zeros(len(work), kind)
    status = library.METIS_PartGraphKway(
        n, ncon, start, near, load, None, traffic, target, None, None, options.ctypes.data_as(ctypes.c_void_p),
        cut.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p),
    )  # fmt: skip
    if status != 1:
        raise BackendError(f"METIS failed with status {status} for {len(work)} vertices in {parts} parts")
    return found.astype(np.int64)


def _integers(values: Floats) -> Integers:
    """Weights in WORK_UNITS of the mean, at least 1."""
    return np.maximum(np.rint(values * (WORK_UNITS / values.mean())), 1).astype(np.int64)


def _fill(found: Integers, work: Floats, parts: int) -> Integers:
    """METIS may leave parts empty when there are few vertices a part: each takes a vertex of the fullest part."""
    counts = np.bincount(found, minlength=parts)
    for empty in np.flatnonzero(counts == 0):
        donor = int(np.argmax(np.where(counts > 1, np.bincount(found, work, parts), -1.0)))
        found[np.flatnonzero(found == donor)[0]] = empty
        counts = np.bincount(found, minlength=parts)
    return found


def _cut_curve(centres: Floats, work: Floats, parts: int) -> Integers:
    """Equal lengths of work along a Hilbert curve, at least one vertex each."""
    order = hilbert_order(centres)
    done = np.cumsum(work[order])
    cuts = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts)
    cuts = np.maximum.accumulate(np.maximum(cuts - np.arange(parts - 1), 1)) + np.arange(parts - 1)
    cuts = np.minimum(cuts, len(work) - parts + 1 + np.arange(parts - 1))
    part = np.empty(len(work), np.int64)
    part[order] = np.searchsorted(cuts, np.arange(len(work)), side="right")
    return part


def _numbered(part: Integers, centres: Floats, parts: int) -> Integers:
    """The same parts, numbered along a curve through their centres: those that follow each other are near."""
    counts = np.bincount(part, minlength=parts)[:, None]
    middle = np.stack([np.bincount(part, centres[:, i], parts) for i in range(3)], 1) / counts
    number = np.empty(parts, np.int64)
    number[hilbert_order(middle)] = np.arange(parts)
    return number[part]
