import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from faultwave.base.errors import InputError
from faultwave.domain import tets
from faultwave.domain.tets.generators.box import Box, box_mesh
from tests.messages import raises


@pytest.fixture(scope="module")
def topology():
    return tets.build_topology(box_mesh(Box((4, 4, 4), (0, 0, 0), (1, 1, 1), fault=("y", 0.5))))


def by_definition(dt, neighbours, fault, rates, base, maximum):
    """Cells to clusters as the rules read, one cell and face at a time."""
    cluster = []
    for step in dt:
        bound, k = base, 0
        while (maximum is None or k + 1 < maximum) and (rate := rates[min(k, len(rates) - 1)]) > 1:
            if step < bound * rate:
                break
            bound, k = bound * rate, k + 1
        cluster.append(k)
    changed = True
    while changed:
        changed = False
        for cell, row in enumerate(neighbours):
            for face, other in enumerate(row):
                if other >= 0 and cluster[cell] > cluster[other] + (not fault[cell, face]):
                    cluster[cell] = cluster[other] + (not fault[cell, face])
                    changed = True
    return np.array(cluster)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    rates=st.sampled_from([(2,), (3,), (2, 3, 1), (4, 2), (1,), (5, 1)]),
    maximum=st.sampled_from([None, 1, 2, 4]),
)
def test_rules(topology, seed, rates, maximum):
    dt = np.exp(np.random.default_rng(seed).normal(0, 2, len(topology.cells)))
    fault = topology.kinds == tets.BoundaryKind.FAULT
    found = tets.assign_clusters(dt, topology.neighbours, fault, rates, maximum=maximum)
    expected = by_definition(dt, topology.neighbours, fault, rates, dt.min(), maximum)
    assert np.array_equal(found.cluster, expected)
    assert np.array_equal(found.histogram, np.bincount(expected))
    assert found.steps[0] == dt.min() and (found.steps[found.cluster] <= dt).all()
    np.testing.assert_allclose(found.steps[1:] / found.steps[:-1], found.ratios[:-1], rtol=1e-14)
    assert found.ratios[-1] == 1 and len(found.steps) == len(found.ratios) == len(found.histogram)
    assert found.speedup == pytest.approx(len(dt) / dt.min() / (1 / found.steps[expected]).sum())
    inner = topology.neighbours >= 0
    gap = np.abs(found.cluster[:, None] - found.cluster[topology.neighbours])
    assert gap[inner].max() <= 1 and (gap[fault] == 0).all()


def test_wiggle_takes_the_cheapest(topology):
    """Steps of 1 and 1.9: a base step of 0.95 lets the slow cells step twice as far as 1 would."""
    dt = np.where(np.arange(len(topology.cells)) < 6, 1.0, 1.9)
    fault = np.zeros((len(dt), 4), bool)
    plain = tets.assign_clusters(dt, topology.neighbours, fault)
    assert plain.wiggle == 1 and plain.histogram.tolist() == [len(dt)] and plain.speedup == 1
    found = tets.assign_clusters(dt, topology.neighbours, fault, wiggle=tets.Wiggle(0.51))
    assert found.wiggle == pytest.approx(0.95) and len(found.steps) == 2
    assert found.speedup == pytest.approx(len(dt) / (6 / 0.95 + (len(dt) - 6) / 1.9), rel=1e-12)
    # A cost on the fast cells that outweighs all others makes the longest base step best.
    cost = np.where(dt == 1, 1e6, 1.0)
    assert tets.assign_clusters(dt, topology.neighbours, fault, wiggle=tets.Wiggle(0.51), cost=cost).wiggle == 1


def test_real_mesh_at_order_4(tpv5_file):
    """The clusters and updates known for this case: 6 clusters, 5.83 million cell updates in 2 s at a smallest step of
    2.265 ms."""
    mesh = tets.read_puml(tpv5_file)
    topology = tets.build_topology(mesh)
    shape = tets.geometry(mesh, topology)
    cp = np.sqrt((32.04375e9 + 2 * 32.03812032e9) / 2760)  # the deck's material
    dt = 0.5 * 2 * shape.inradius / (2 * 4 - 1) / cp
    assert dt.min() == pytest.approx(2.265e-3, rel=1e-3)
    found = tets.assign_clusters(dt, topology.neighbours, topology.kinds == tets.BoundaryKind.FAULT)
    assert len(found.steps) == 6 and found.histogram.sum() == 19183
    assert 2.0 * (found.histogram / found.steps).sum() == pytest.approx(5.83e6, rel=2e-3)
    assert found.speedup == pytest.approx(19183 * 2.0 / dt.min() / 5.83e6, rel=2e-3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rates": ()}, {"rates": (2, 1, 2)}, {"rates": (0,)},
        {"wiggle": tets.Wiggle(0.5)}, {"rates": (1,), "wiggle": tets.Wiggle(0.9)},
        {"wiggle": tets.Wiggle(step=0.0)}, {"maximum": 0},
    ],
)  # fmt: skip
def test_impossible_settings(topology, wrong):
    dt = np.ones(len(topology.cells))
    with raises(InputError):
        tets.assign_clusters(dt, topology.neighbours, np.zeros((len(dt), 4), bool), **wrong)
    dt[[3, 5]] = 0, np.nan
    with raises(InputError):
        tets.assign_clusters(dt, topology.neighbours, np.zeros((len(dt), 4), bool))
