"""The layout on random clusterings: every slot has one writer, and every face reads what its one neighbour wrote for it."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.dg.operators.build_layout import SHARE, Connections, build_layout
from faultwave.dg.operators.layout import Layout, WaveSlots, sort_and_pad
from faultwave.domain.tets.clusters import assign_clusters
from faultwave.domain.tets.connectivity.topology import build_topology
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import BoundaryKind
from tests.messages import raises


def normalised(neighbours: np.ndarray, fault: np.ndarray, cluster: np.ndarray) -> np.ndarray:
    """Neighbours at most one apart, equal across fault faces."""
    cluster = cluster.copy()
    while True:
        near = np.where(neighbours >= 0, cluster[neighbours] + ~fault, 99)
        new = np.minimum(cluster, near.min(1))
        if (new == cluster).all():
            return cluster
        cluster = new


def setup(
    seed: int, clusters: int, lanes: int, periodic: bool, with_fault: bool, keep: float, parts: int = 2
) -> tuple[tuple[Layout, WaveSlots], dict[str, Any]]:
    rng = np.random.default_rng(seed)
    bounds = {"x": "periodic", "y": "periodic"} if periodic else {"x": "free-surface"}
    mesh = box_mesh(
        Box(
            (3, 2, 2),
            (0, 0, 0),
            (3, 2, 2),
            bounds,
            shuffle=not periodic,
            seed=seed,
            fault=("z", 1.0) if with_fault else None,
        )
    )
    top = build_topology(mesh, None)
    fault = (top.kinds == BoundaryKind.FAULT) & (top.neighbours >= 0)
    cells = len(mesh.cells)
    wanted = rng.integers(0, clusters, cells)
    cluster = normalised(top.neighbours, fault, np.where(rng.random(cells) < 0.5, wanted, clusters - 1))
    cluster = np.unique(cluster, return_inverse=True)[1].reshape(-1)
    kept = rng.random(cells) < keep
    observed = rng.random(cells) < keep
    connections = Connections(top.neighbours, top.neighbour_faces, cluster, fault, kept, observed)
    made = build_layout(connections, rng.permutation(cells), lanes, parts=parts)
    return (made.cells, made.waves), {
        "neighbours": top.neighbours,
        "faces": top.neighbour_faces,
        "cluster": cluster,
        "fault": fault,
        "keep": kept,
        "observed": observed,
    }


def members(lists: Any, cluster: int) -> set[tuple[int, ...]]:
    begin, end = lists.ranges[cluster]
    return {
        tuple(row) for row, s in zip(lists.rows[begin:end].tolist(), lists.source[begin:end], strict=True) if s >= 0
    }


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), clusters=st.integers(1, 4), lanes=st.sampled_from([1, 4, 8]), periodic=st.booleans(),
       with_fault=st.booleans(), keep=st.sampled_from([0.0, 0.3]), parts=st.sampled_from([2, 4]))  # fmt: skip
def test_every_face_reads_its_neighbour(
    seed: int, clusters: int, lanes: int, periodic: bool, with_fault: bool, keep: float, parts: int
) -> None:
    (lay, waves), given = setup(seed, clusters, lanes, periodic, with_fault, keep, parts)
    neighbours, faces, cluster, fault = (given[k] for k in ("neighbours", "faces", "cluster", "fault"))
    check_positions(lay, waves, cluster, given["keep"], given["observed"], fault, lanes)
    for c in range(lay.clusters):
        kinds = lay.observed_ranges[c], lay.storing_ranges[c], lay.plain_ranges[c]
        assert [a[1] == b[0] for a, b in zip(kinds, kinds[1:], strict=False)] == [True, True]
        assert lay.cells_range(c) == (kinds[0][0], kinds[2][1])
        assert lay.cells_range(c, False) == (kinds[1][0], kinds[2][1])
    assert lay.parts == len(waves.incoming) if waves.incoming is not waves.outgoing else lay.clusters == 1
    counted = {"sums": 0, "parts": 0}
    spare = range(lay.wave_slots - 1 - -(-len(lay.cell_at) // SHARE), lay.wave_slots - 1)
    for cell, f in np.ndindex(neighbours.shape):
        at = lay.position[cell], f
        mine, reads, writes = lay.own[at], waves.incoming[:, *at].tolist(), waves.outgoing[:, *at].tolist()
        other, g = neighbours[cell, f], faces[cell, f]
        there = lay.position[other], g
        alone, (even, odd), first = [mine] * len(reads), waves.sums[:, *at].tolist(), int(waves.for_faster[at])
        if other < 0 or fault[cell, f] or cluster[other] <= cluster[cell]:
            assert even == odd == 0
        if other < 0 or fault[cell, f] or cluster[other] >= cluster[cell]:
            assert first == 0
        if other < 0:
            assert (reads, writes) == (alone, [mine, mine])
        elif fault[cell, f]:
            assert (reads, writes) == (
                alone,
                [mine, mine],
            )  # where the friction solve finds the wave and leaves its reply
            assert 0 < lay.friction.slots[at] < lay.friction.count - 1
        elif cluster[other] == cluster[cell]:
            # What the neighbour leaves after one step is read in the next, and the place is used again.
            assert [writes[1], writes[0]] == waves.outgoing[:, *there].tolist()
            assert reads == [writes[turn % 2] for turn in range(len(reads))]
            assert sorted(writes) == sorted([mine, lay.own[there]])
        elif (
            cluster[other] > cluster[cell]
        ):  # I am the faster: I sum for it, and read what it leaves for each of my steps
            assert writes[0] == writes[1] in spare and reads == [waves.for_faster[there] + n for n in range(parts)]
            assert waves.incoming[:, *there].tolist() == [even, odd] * (parts // 2) and 0 < even < odd
            counted["sums"] += 1
        else:  # I am the slower: what I leave for each of its steps is in slots of their own
            assert writes[0] == writes[1] in spare
            counted["parts"] += 1
    assert counted["sums"] == counted["parts"]
    for slots, count in ((lay.friction.slots, fault.sum()), (lay.history.slots, given["keep"].sum())):
        np.testing.assert_array_equal(np.sort(slots[slots > 0]), 1 + np.arange(count))
    assert lay.friction.count == fault.sum() + 2
    left = (waves.for_faster[waves.for_faster > 0][:, None] + np.arange(parts)).ravel()
    for turn in range(len(waves.incoming)):
        # No slot is touched by two cells in one step: any order of the cells gives the same.
        own = np.setdiff1d(waves.outgoing[turn % 2], spare)
        touched = [*own, *waves.sums[turn % 2][waves.sums[turn % 2] > 0], *left]
        assert len(touched) == lay.own.size + counted["sums"] * (parts - 1) == len(set(touched)) and 0 not in touched
        assert 0 < waves.incoming[turn].min() and waves.incoming[turn].max() < spare.start
        assert len(np.unique(waves.incoming[turn])) == lay.own.size
    extra, first = lay.arriving_slots[lay.arriving_slots != lay.own], 1 + lay.own.size + 2 * counted["sums"]
    assert len(np.unique(extra)) == len(extra) == fault.sum() and (extra >= first).all()
    assert 1 + lay.own.size + counted["sums"] * (2 + parts) + len(extra) == spare.start
    check_padding(lay, waves)


def check_positions(
    lay: Layout,
    waves: WaveSlots,
    cluster: np.ndarray,
    keep: np.ndarray,
    observed: np.ndarray,
    fault: np.ndarray,
    lanes: int,
) -> None:
    cells = len(cluster)
    np.testing.assert_array_equal(lay.cell_at[lay.position], np.arange(cells))
    assert (lay.cell_at >= 0).sum() == cells and len(lay.cell_at) % lanes == 0
    assert len(np.unique(lay.own)) == lay.own.size
    derivatives = (lay.friction.slots > 0).any(1) | (lay.history.slots > 0)
    leaves = ((waves.for_faster > 0).any(1) | derivatives)[lay.position]
    assert leaves[fault.any(1)].all() and ((lay.history.slots > 0)[lay.position] == keep).all()
    for (begin, end), middle in zip(lay.storing_ranges, lay.split_ends, strict=True):
        assert begin <= middle <= end and (middle - begin) % lanes == 0 and not derivatives[begin:middle].any()
        assert middle == end or derivatives[middle : middle + lanes].any()
    for (_, end), middle, whole in zip(lay.storing_ranges, lay.split_ends, lay.whole_begins, strict=True):
        parts = (waves.for_faster > 0).any(1)
        assert middle <= whole <= end and (end - whole) % lanes == 0 and not parts[whole:end].any()
        if fault.any():
            assert whole == middle or not derivatives[middle] or parts[whole - lanes : whole].any()
        else:  # few cells leave derivatives
            assert whole == end
    kinds = np.where(observed, 0, np.where(leaves, 1, 2))
    covered = 0
    for kind, ranges in enumerate((lay.observed_ranges, lay.storing_ranges, lay.plain_ranges)):
        for c, (begin, end) in enumerate(ranges):
            assert begin % lanes == end % lanes == 0
            inside = lay.cell_at[begin:end]
            inside = inside[inside >= 0]
            assert (cluster[inside] == c).all() and (kinds[inside] == kind).all()
            covered += len(inside)
    assert covered == cells


def check_padding(lay: Layout, waves: WaveSlots) -> None:
    """Padding writes to what is nobody's."""
    padding = lay.cell_at < 0
    for slots in (lay.history.slots, waves.for_faster, lay.friction.slots, *waves.sums):
        assert (slots[padding] == 0).all()


@given(st.lists(st.integers(0, 3), max_size=30), st.sampled_from([1, 4, 8]))
def test_ranged_sorts_and_pads(cluster: list[int], lanes: int) -> None:
    rows = np.arange(len(cluster))[:, None] * [1, 10]
    found = sort_and_pad(rows, np.array(cluster, int), 4, lanes, np.array([-5, -6]))
    at = 0
    for c, (begin, end) in enumerate(found.ranges):
        want = [i for i, x in enumerate(cluster) if x == c]
        assert begin == at and end - begin == len(want) + -len(want) % lanes
        assert found.source[begin:end].tolist() == want + [-1] * (-len(want) % lanes)
        for i, row in zip(found.source[begin:end], found.rows[begin:end].tolist(), strict=True):
            assert row == ([i, 10 * i] if i >= 0 else [-5, -6])
        at = end
    assert len(found.rows) == at


def test_neighbours_two_clusters_apart_are_refused() -> None:
    mesh = box_mesh(Box((1, 1, 1), (0, 0, 0), (1, 1, 1)))
    top = build_topology(mesh, None)
    cluster = np.array([0, 2, 2, 2, 2, 2])
    with raises(ValueError):
        none = np.zeros((6, 4), bool)
        build_layout(Connections(top.neighbours, top.neighbour_faces, cluster, none, none[:, 0]), np.arange(6), 1)


def test_fault_between_clusters_is_refused() -> None:
    mesh = box_mesh(Box((1, 1, 2), (0, 0, 0), (1, 1, 2), fault=("z", 1.0)))
    top = build_topology(mesh, None)
    fault = (top.kinds == BoundaryKind.FAULT) & (top.neighbours >= 0)
    cluster = np.zeros(12, int)
    cluster[np.flatnonzero(fault.any(1))[0]] = 1
    with raises(ValueError):
        connections = Connections(top.neighbours, top.neighbour_faces, cluster, fault, np.zeros(12, bool))
        build_layout(connections, np.arange(12), 1)


def test_channels_of_two_processes_fit_together():
    """What one sends, the other expects: in number, kind and order, whatever the clusters (by hand, without MPI)."""
    from faultwave.dg.operators.layout import ProcessInterface

    rng = np.random.default_rng(5)
    mesh = box_mesh(Box((3, 3, 3), (0, 0, 0), (1, 1, 1), perturb=0.2, seed=2))
    topology = build_topology(mesh, None)
    cells = len(mesh.cells)
    none = np.zeros((cells, 4), bool)
    step = 1.0 + 7.0 * (mesh.vertices[mesh.cells].mean(1)[:, 0] > 0.5)
    clustering = assign_clusters(step, topology.neighbours, none, (2,))
    cluster, part = clustering.cluster, rng.integers(0, 2, cells)
    made = []
    for rank in range(2):
        mine = np.flatnonzero(part == rank)
        here = np.append(np.full(cells, -1), -1)
        here[mine] = np.arange(len(mine))
        near, faces = topology.neighbours[mine], topology.neighbour_faces[mine]
        cell, face = np.nonzero((near >= 0) & (here[near] < 0))
        other = near[cell, face]
        border = ProcessInterface(cell, face, mine[cell], part[other], cluster[other], other, faces[cell, face])
        connections = Connections(here[near], faces, cluster[mine], none[mine], np.zeros(len(mine), bool))
        layout = build_layout(connections, np.arange(len(mine)), 4, border, len(clustering.steps))
        made.append((layout.cells, layout.waves, border))
    kinds = set()
    for (a, sent, near), (b, arriving, far) in (made, made[::-1]):
        assert sum(len(c.cells) for c in a.channels) == len(near.cell)
        owner = {
            int(a.own[a.position[c], f]): (n, f) for c, f, n in zip(near.cell, near.face, near.number, strict=True)
        }
        for c, f in zip(near.cell, near.face, strict=True):
            at, known = (a.position[c], f), owner[int(a.own[a.position[c], f])]
            owner[int(sent.sums[0][at])] = known
            owner |= {int(sent.for_faster[at]) + n: (*known, n) for n in range(2) if sent.for_faster[at]}
        reader = {}
        for c, f, n, g in zip(far.cell, far.face, far.other_number, far.other_face, strict=True):
            read = arriving.incoming[:, b.position[c], f].tolist()
            reader |= {read[0]: (n, g)} if read[0] == read[1] else {slot: (n, g, i) for i, slot in enumerate(read)}
        for c in a.channels:
            (d,) = [x for x in b.channels if (x.cluster, x.other) == (c.other, c.cluster)]
            assert c.count == d.received and c.send == d.receive
            kinds.add((c.count // len(c.cells), int(np.sign(c.other - c.cluster))))
            # the k-th wave sent is the one that the k-th face there reads, all parts of a step one after the other
            assert [owner[int(x)] for x in c.send_rows[0]] == [reader[d.first + k] for k in range(d.received)]
    assert kinds == {(1, 0), (1, 1), (2, -1)}
