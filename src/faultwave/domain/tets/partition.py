"""Partition of cells among processes, balanced and with little communication, and their order along a Hilbert curve.

Weights: docs/theory/time-stepping.md, "Partition among processes". The method is METIS (Karypis & Kumar 1998), called
in the library of the pymetis wheel, because pymetis itself supports only one balance constraint. Without it, or on
request, a weighted Hilbert curve is cut.
"""

from __future__ import annotations

import ctypes
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from faultwave.base.errors import BackendError, InputError, Problem
from faultwave.base.processes.pieces import map_chunks, stable_argsort
from faultwave.domain.tets.mesh import Floats, Integers

if TYPE_CHECKING:
    from scipy import sparse


BITS = 20


def hilbert_order(points: Floats) -> Integers:
    """Return the permutation (n,) that orders points (n, 3) along a three-dimensional Hilbert curve.

    Points are placed on a grid of 2^20 cells in each direction of their bounding cube; ties keep their order. The
    transformation is Skilling's (AIP Conf. Proc. 707, 381, 2004), vectorised over all points.
    """
    low = points.min(axis=0)
    span = float(np.ptp(points, axis=0).max()) or 1.0
    return stable_argsort(map_chunks(lambda piece: _keys(points[piece], low, span), len(points)))


def _keys(points: Floats, low: Floats, span: float) -> Integers:
    """Return the position (n,) of points (n, 3) along the curve, with three bits for each of the twenty levels."""
    x = np.minimum((points - low) / span * 2**BITS, 2**BITS - 1).astype(np.int32).T.copy()
    for level in range(BITS - 1, 0, -1):
        low_bits = np.int32((1 << level) - 1)
        for i in range(3):
            high = (x[i] >> level) & 1  # 1: invert the lower bits, else exchange them with the bits of the first axis
            exchange = (x[0] ^ x[i]) & low_bits & (high - 1)
            x[0] ^= exchange | (low_bits & -high)
            x[i] ^= exchange
    x[1] ^= x[0]
    x[2] ^= x[1]
    flip = np.zeros_like(x[0])
    for level in range(BITS - 1, 0, -1):
        flip ^= np.int32((1 << level) - 1) & -((x[2] >> level) & 1)
    x ^= flip
    first, second, third = (_spread(axis.astype(np.int64)) for axis in x)
    return np.asarray(first << 2 | second << 1 | third)


def _spread(x: Integers) -> Integers:
    """Return integers of twenty bits with two zeros inserted between consecutive bits."""
    for shift, retained in ((32, 0x1F00000000FFFF), (16, 0x1F0000FF0000FF), (8, 0x100F00F00F00F00F), (4, 0x10C30C30C30C30C3),
                        (2, 0x1249249249249249)):  # fmt: skip
        x = (x | x << shift) & retained
    return x


Method = Literal["auto", "metis", "curve"]

IMBALANCE = 1.02
"""Allowed ratio of the largest to the mean work, and of the largest to the mean memory."""

WORK_UNITS = 1000
"""Resolution of the work of a cell, per mean work."""


@dataclass(frozen=True)
class Weights:
    """Weights of the cells and faces for the partition.

    Attributes
    ----------
    work : (nc,) array
        Work per cell in any unit.
    memory : (nc,) array
        Memory per cell in any unit.
    traffic : (nc, 4) array
        Data sent across each face; the traffic of both sides is added.
    together : (nc, 4) array of bool
        Faces whose cells must not be separated.
    """

    work: Floats
    memory: Floats
    traffic: Floats
    together: np.ndarray


def weights(
    cluster: Integers, rates: Integers, neighbours: Integers, fault: np.ndarray, order: int,
    fault_work: float = 3.0, channels: int = 3,
) -> Weights:  # fmt: skip
    """Return the weights of a run.

    Traffic counts values sent: the trace of a step between equal clusters, one for each step of the faster cluster from
    the slower one, and a sum from the faster one.

    Parameters
    ----------
    cluster : (nc,) array
        Cluster of each cell.
    rates : (k,) array
        Step of each cluster in steps of the fastest.
    neighbours : (nc, 4) array
        Cell across each face, -1 if none.
    fault : (nc, 4) array of bool
        True for fault faces.
    order
        Order of the scheme.
    fault_work
        Cost of the friction of a face in cell updates, for both its cells together.
    channels
        Number of components that cross a face.
    """
    updates = (rates.max() / rates)[cluster]
    work = updates * (1.0 + 0.5 * fault_work * fault.sum(1))
    trace = order * (order + 1) // 2
    across = neighbours >= 0
    other = np.where(across, cluster[neighbours], cluster[:, None])
    mine = trace * np.maximum(1, rates[cluster][:, None] // rates[other])  # values sent at once
    often = np.minimum(updates[:, None], (rates.max() / rates)[other])
    return Weights(work, np.ones(len(work)), np.where(across, channels * mine * often, 0.0), fault & across)


def partition(
    neighbours: Integers, centroids: Floats, given: Weights, parts: int, method: Method = "auto", seed: int = 1
) -> Integers:
    """Return the part (nc,) of every cell; parts are numbered along a space-filling curve. Deterministic.

    Parameters
    ----------
    neighbours : (nc, 4) array
        Cell across each face, -1 if none.
    centroids : (nc, 3) array
        Centroids [m].
    given
        Weights.
    parts
        Number of parts.
    method
        'metis', 'curve' or 'auto'.
    seed
        Seed of METIS.

    Raises
    ------
    InputError
        For more parts than inseparable groups of cells.
    BackendError
        If METIS is required and not installed.
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
    """Return the ratio of largest to mean sum of ``values`` (nc,) among the parts."""
    sums = np.bincount(part, values)
    return float(sums.max() / sums.mean())


def available() -> bool:
    """Return True if METIS is installed."""
    return importlib.util.find_spec("pymetis") is not None


def _groups(neighbours: Integers, together: np.ndarray) -> tuple[Integers, int]:
    """Return the group of every cell and the number of groups; cells connected by ``together`` faces form a group."""
    cell, face = np.nonzero(together)
    if not len(cell):
        return np.arange(len(neighbours)), len(neighbours)
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(cell)), (cell, neighbours[cell, face])), shape=(len(neighbours),) * 2)
    count, group = connected_components(links, directed=False)
    return group.astype(np.int64), int(count)


def _graph(neighbours: Integers, group: Integers, count: int, traffic: Floats) -> sparse.csr_matrix:
    """Return the sparse symmetric matrix of integer traffic between groups."""
    from scipy.sparse import coo_array

    cell, face = np.nonzero(neighbours >= 0)
    a, b = group[cell], group[neighbours[cell, face]]
    outer = a != b
    size = traffic[cell, face][outer]
    matrix = coo_array((size, (a[outer], b[outer])), shape=(count, count)).tocsr()  # sums duplicate entries
    matrix = matrix + matrix.T
    unit = max(float(matrix.data.mean()) / 1000, 1e-300) if matrix.nnz else 1.0
    matrix.data = np.maximum(np.rint(matrix.data / unit), 1.0)
    return matrix


def _metis(graph: sparse.csr_matrix, work: Floats, memory: Floats, parts: int, seed: int) -> Integers:
    spec = importlib.util.find_spec("pymetis")
    if spec is None:
        raise BackendError("METIS is not installed: pip install 'faultwave[mpi]', or use --method curve")
    import pymetis
    from pymetis import _internal

    library = ctypes.CDLL(_internal.__file__)
    kind = pymetis.zero_copy_dtype() if hasattr(pymetis, "zero_copy_dtype") else np.dtype(np.int64)
    loads = [_integers(work)] + ([] if np.ptp(memory) == 0 and np.ptp(work) == 0 else [_integers(memory)])
    options = np.full(40, -1, kind)
    key = pymetis.OptionKey
    options[int(key.NUMBERING)], options[int(key.SEED)] = 0, seed
    options[int(key.UFACTOR)] = round(1000 * (IMBALANCE - 1))
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
    """Return weights as integers of at least 1, with WORK_UNITS as their mean."""
    return np.maximum(np.rint(values * (WORK_UNITS / values.mean())), 1).astype(np.int64)


def _fill(found: Integers, work: Floats, parts: int) -> Integers:
    """Assign to each empty part, which METIS may leave if there are few vertices, a vertex of the largest part."""
    counts = np.bincount(found, minlength=parts)
    for empty in np.flatnonzero(counts == 0):
        donor = int(np.argmax(np.where(counts > 1, np.bincount(found, work, parts), -1.0)))
        found[np.flatnonzero(found == donor)[0]] = empty
        counts = np.bincount(found, minlength=parts)
    return found


def _cut_curve(centres: Floats, work: Floats, parts: int) -> Integers:
    """Cut a Hilbert curve into parts of equal work, with at least one vertex each."""
    order = hilbert_order(centres)
    done = np.cumsum(work[order])
    cuts = np.searchsorted(done, done[-1] * np.arange(1, parts) / parts)
    cuts = np.maximum.accumulate(np.maximum(cuts - np.arange(parts - 1), 1)) + np.arange(parts - 1)
    cuts = np.minimum(cuts, len(work) - parts + 1 + np.arange(parts - 1))
    part = np.empty(len(work), np.int64)
    part[order] = np.searchsorted(cuts, np.arange(len(work)), side="right")
    return part


def _numbered(part: Integers, centres: Floats, parts: int) -> Integers:
    """Return the parts renumbered along a curve through their centres, so that consecutive parts are close."""
    counts = np.bincount(part, minlength=parts)[:, None]
    middle = np.stack([np.bincount(part, centres[:, i], parts) for i in range(3)], 1) / counts
    number = np.empty(parts, np.int64)
    number[hilbert_order(middle)] = np.arange(parts)
    return number[part]
