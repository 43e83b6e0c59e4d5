"""The operator on small boxes: exact waves, local against global steps, conservation, energy, samples in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from faultwave.backends.base import Here
from faultwave.base.errors import NotBuiltError
from faultwave.dg.method import basis
from faultwave.dg.sampling import Samples
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.mesh import Mesh, make_mesh
from faultwave.engine.receivers import ReceiverRecorder
from tests.backends.here import DEVICE, needs_device
from tests.messages import raises

from .driver import Waves, cube, plane_waves

# Relative L2 errors of s_xx and v_x at t = 0.5 (docs/theory/exact-solutions.md, "Plane waves"), [order, bricks a side].
TABLE = {(3, 4): (1.5e-1, 1.8e-1), (4, 4): (3.5e-2, 3.0e-2), (2, 8): (1.4e-1, 1.7e-1), (3, 8): (1.94e-2, 1.72e-2), (5, 4): (6.9e-3, 6.4e-3),
         (6, 4): (1.22e-3, 1.06e-3), (7, 4): (1.80e-4, 1.39e-4), (4, 8): (2.43e-3, 1.73e-3)}  # fmt: skip
USUAL = {(3, 4), (4, 4)}


@pytest.mark.parametrize("order, n", [pytest.param(*k, marks=() if k in USUAL else pytest.mark.slow) for k in TABLE])
def test_plane_waves_are_as_exact_as_the_table(order: int, n: int) -> None:
    waves = Waves(cube(n), order=order, cfl={7: 0.4}.get(order, 0.5)).start(plane_waves(0.0)).run(0.5)
    errors = waves.errors(plane_waves(0.5))
    assert errors[0] <= 1.3 * TABLE[order, n][0] and errors[6] <= 1.3 * TABLE[order, n][1], errors[[0, 6]]


def graded(n: int = 5, seed: int = 0) -> Mesh:
    """The periodic cube with bricks thinner in the middle of every axis, so that several clusters form."""
    mesh = cube(n, seed=seed)
    x = mesh.vertices
    return make_mesh(0.15 * x + 0.85 * x**3, mesh.cells, mesh.groups, mesh.tags, mesh.identify, "graded")


DRIFT = (0.5, -0.3, 0.2)


@pytest.fixture(scope="module")
def global_steps() -> Waves:
    return Waves(graded()).start(plane_waves(0.0, DRIFT)).run(0.3)


@pytest.mark.parametrize("rates", [(2,), (3,), (2, 3), (3, 2)])
def test_local_steps_agree_with_global_ones_and_conserve_momentum(global_steps: Waves, rates: tuple[int, ...]) -> None:
    waves = Waves(graded(), rates=rates).start(plane_waves(0.0, DRIFT))
    assert waves.layout.clusters >= 3
    before = waves.momentum()
    np.testing.assert_allclose(before, 8 * np.array(DRIFT), rtol=1e-4)  # the waves carry none
    waves.run(0.11).run(0.3)  # also over a meeting that shortens steps
    np.testing.assert_allclose(waves.momentum(), before, atol=2e-13)
    exact = plane_waves(0.3, DRIFT)
    np.testing.assert_allclose(waves.errors(exact), global_steps.errors(exact), rtol=0.1)
    # The difference itself is small beside the error of either, which a rate that is read twice or not at all is not.
    gap = np.sqrt(waves.integral((waves.values() - global_steps.values()) ** 2))
    error = np.sqrt(
        waves.integral((global_steps.values() - exact(waves.points.reshape(-1, 3)).reshape(waves.values().shape)) ** 2)
    )
    assert (gap <= 0.35 * error).all(), gap / error


def stepped(change: Callable[[Waves], None], backend: str = "cpu") -> np.ndarray:
    """The state after some steps in clusters of three rates, and over a meeting."""
    waves = Waves(graded(), rates=(2, 3), order=2, keep=(3, 40), backend=backend).start(plane_waves(0.0, DRIFT))
    assert waves.layout.clusters >= 3 and (waves.wave_slots.sums[0] > 0).sum() > 20
    change(waves)
    return np.asarray(waves.run(0.11).run(0.3).operator.state())


def backwards(waves: Waves) -> None:
    """The slowest that can goes first: it corrects before the faster one has."""
    march, last = waves.march, len(waves.march.clocks) - 1
    forwards = march._try
    march._try = lambda i, *more: forwards(last - i, *more)  # type: ignore[method-assign]


def as_beside_others(waves: Waves) -> None:
    """Plain cells of a step are done as late as can be."""
    waves.operator.alone = False
    march, op = waves.march, waves.stepper

    class Late:
        def ready(self, cluster: int) -> bool:
            return True

        def finish(self, cluster: int) -> bool:
            return op.finish(cluster, 8)

        def advance_local_friction(self, cluster: int, time: float, step: float) -> bool:
            return False

    def predict(cluster: int, time: float, step: float, restart: bool) -> None:
        op.begin(cluster, step, restart, march.ends_within(cluster))

    def both(cluster: int, time: float, step: float, following: float, restart: bool) -> None:
        op.correct_observed(cluster, step)
        op.begin_correct_and_predict(cluster, following, restart, march.ends_within(cluster))

    waves.predict, waves.correct_and_predict = predict, both  # type: ignore[method-assign]
    waves.overlap = Late()


def test_the_order_in_which_clusters_step_changes_no_bit() -> None:
    """The fastest first, the slowest first, or plain cells long after those beside other clusters."""
    found = [stepped(change) for change in (lambda waves: None, as_beside_others, backwards)]
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@needs_device
def test_few_cells_step_with_those_that_leave_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """In fewer launches; the numbers are the same to the last bit."""
    found, joined = [], []

    def seen(waves: Waves) -> None:
        joined.append(list(waves.operator.table.merges_plain))

    for few in (4096, -1):
        monkeypatch.setattr("faultwave.dg.operators.launch_table.FEW_CELLS", few)
        found.append(stepped(seen, DEVICE))
    np.testing.assert_array_equal(*found)
    assert any(joined[0]) and not any(joined[1])


def test_one_step_of_local_stepping_is_as_exact_as_the_predictor() -> None:
    """A polynomial of the basis' degree in space and time passes clusters unchanged: every cell reads its neighbours'
    motion over exactly its own step."""
    a = np.array([0.3, -0.2, 0.5])

    def field(time: float) -> Any:
        def values(x: np.ndarray) -> np.ndarray:
            """Linear velocity v = G x + b t with stress of linear growth: v_t = div s / rho = b, s_t = C : G."""
            gradient = np.array([[0.1, 0.2, -0.3], [0.4, -0.5, 0.6], [-0.7, 0.8, 0.9]])
            q = np.zeros((len(x), 9))
            q[:, 6:] = x @ gradient.T + a * time
            stress = 2.0 * np.trace(gradient) * np.eye(3) + gradient + gradient.T
            q[:, :6] = time * stress[[0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]]
            q[:, :3] += x * a  # div s = a
            return q

        return values

    mesh = graded_open()
    waves = Waves(mesh, order=2, rates=(2,), cfl=0.3)
    assert waves.layout.clusters >= 3
    inside = np.flatnonzero(np.abs(waves.geometry.centroids).max(1) < 0.35)
    assert len(inside) >= 8 and len(set(waves.clustering.cluster[inside])) >= 2
    time = 2 * float(waves.clustering.steps[1])
    waves.start(field(0.0)).run(time)
    got = waves.values()[inside]
    want = field(time)(waves.points[inside].reshape(-1, 3)).reshape(got.shape)
    np.testing.assert_allclose(got, want, atol=1e-12)


def graded_open() -> Mesh:
    mesh = cube(7, boundaries={}, seed=1)
    x = mesh.vertices
    return make_mesh(0.3 * x + 0.7 * x**3, mesh.cells, mesh.groups, mesh.tags, None, "graded")


@pytest.mark.parametrize("law", ("elastic", "acoustic"))
def test_uniform_translation_gives_no_stress(law: str) -> None:
    velocity = np.array([0.3, -1.2, 0.7])

    def moving(x: np.ndarray) -> np.ndarray:
        size = len({"elastic": 9, "acoustic": 4}[law] * "q")
        return np.concatenate([np.zeros((len(x), size - 3)), np.broadcast_to(velocity, (len(x), 3))], 1)

    waves = Waves(graded(), law, 4, rates=(2,)).start(moving).run(0.2)
    values = waves.values()
    assert np.abs(values[..., :-3]).max() < 1e-12
    np.testing.assert_allclose(values[..., -3:], np.broadcast_to(velocity, (*values.shape[:2], 3)), atol=1e-12)


@pytest.mark.parametrize("order", (3, 5))
def test_energy_of_a_free_box_does_not_grow(order: int) -> None:
    mesh = box_mesh(Box((2, 2, 2), (-1, -1, -1), (1, 1, 1), dict.fromkeys("xyz", "free-surface"), perturb=0.2, seed=5))

    def bump(x: np.ndarray) -> np.ndarray:
        shape = np.cos(np.pi * x / 2).prod(1) ** 2
        return np.concatenate([np.zeros((len(x), 6)), shape[:, None] * [1.0, -0.5, 0.3]], 1)

    waves = Waves(mesh, order=order, rates=(2,)).start(bump)
    first, momentum = waves.energy(), waves.momentum()
    history = [waves.run(t).energy() for t in np.arange(1, 21) * 0.5]
    assert max(history) <= 1.001 * first
    assert history[-1] > 0.02 * first, "no energy can leave a free box but by dissipation of the unresolved"
    np.testing.assert_allclose(waves.momentum(), momentum, atol=1e-12)  # nobody pushes from outside


def test_absorbing_box_lets_waves_out() -> None:
    mesh = box_mesh(Box((3, 3, 3), (-1, -1, -1), (1, 1, 1), {}))

    def bump(x: np.ndarray) -> np.ndarray:
        return np.concatenate([np.zeros((len(x), 6)), np.exp(-8 * (x**2).sum(1))[:, None] * [1.0, 0.0, 0.0]], 1)

    waves = Waves(mesh, order=4).start(bump)
    first = waves.energy()
    assert waves.run(4.0).energy() < 0.02 * first


def test_numpy_and_cpu_run_alike() -> None:
    runs = [
        Waves(graded(3), rates=(2,), backend=b).start(plane_waves(0.0)).run(0.2).operator.dofs()
        for b in ("numpy", "cpu")
    ]
    np.testing.assert_allclose(*runs, atol=1e-12)


def test_single_is_near_double() -> None:
    runs = [Waves(graded(3), rates=(2,), precision=p).start(plane_waves(0.0)).run(0.2) for p in ("single", "double")]
    assert runs[0].operator.dofs().dtype == np.float32
    np.testing.assert_allclose(*[r.operator.dofs() for r in runs], atol=2e-5)


def test_cell_numbering_does_not_matter() -> None:
    """The same mesh with its cells' vertices and its vertex numbers shuffled: the same field at a point."""
    means = []
    for shuffle in (False, True):
        waves = Waves(cube(3, shuffle=shuffle), order=4, quadrature=12).start(plane_waves(0.0)).run(0.2)
        order = np.lexsort(np.round(waves.geometry.centroids, 9).T)
        means.append(waves.operator.means()[order])
    np.testing.assert_allclose(*means, atol=1e-12)


def test_boundary_that_a_law_has_not_is_named() -> None:
    with raises(NotBuiltError):
        Waves(box_mesh(Box((1, 1, 1), (0, 0, 0), (1, 1, 1), {"z+": "gravity"})))


def test_finite() -> None:
    waves = Waves(cube(3)).start(plane_waves(0.0))
    assert waves.operator.finite()
    dofs = waves.operator.dofs(np.array([7]))
    dofs[0, 0, 0] = np.nan
    waves.operator.set_dofs(dofs, np.array([7]))
    assert not waves.operator.finite()


# ---- samples in time ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", ["elastic", "acoustic"])
@pytest.mark.parametrize("fast", [False, True])
def test_samples_are_the_state_between_steps(law: str, fast: bool) -> None:
    """The state of the predictor, which knows no neighbours: where waves have not arrived it is that of a Taylor series."""
    rock = {"rho": 2.7, "lambda": 1.3, "mu": 0.9}
    waves = Waves(cube(3, boundaries={}), order=3, law=law, fast=fast, material=rock, time_unit=0.3)
    slopes = np.array([0.3, -0.2, 0.5])

    def stretched(x: np.ndarray) -> np.ndarray:
        """Uniform gradient a of normal stress: v = a t / rho."""
        normal = x * slopes if law == "elastic" else x @ slopes[:, None]
        return np.concatenate([normal, np.zeros((len(x), 6 if law == "elastic" else 3))], 1)

    waves.start(stretched)
    points = np.array([[0.2, 0.3, 0.1], [0.6, 0.1, 0.2]])
    sample = waves.operator.sampler(basis.tet_basis(points, 2))
    sample(0, 0.037)
    got = sample.get(np.arange(len(waves.layout.position)))
    x = waves.geometry.points(slice(None), points)
    want = stretched(x.reshape(-1, 3)).reshape(*x.shape[:2], -1)
    want[..., -3:] = 0.037 * slopes / 2.7
    np.testing.assert_allclose(got, want, atol=1e-13)
    np.testing.assert_allclose(waves.values()[..., -3:], 0.0, atol=1e-13)


def test_samples_of_few_cells_are_those_of_all() -> None:
    """To the last bit, in clusters of different steps, and in as much memory as the cells that are asked for."""
    waves = Waves(graded(), order=3, rates=(2,))
    rng = np.random.default_rng(3)
    waves.operator.set_dofs(rng.normal(size=(len(waves.layout.position), waves.operator.b3, 9)))
    psi = basis.tet_basis(np.array([[0.2, 0.3, 0.1], [0.6, 0.1, 0.2]]), 2)
    whole = waves.operator.sampler(psi)
    cells = np.sort(rng.permutation(len(waves.layout.position))[: len(waves.layout.position) // 5])
    few, none = waves.operator.sampler(psi, cells, [8, 0]), waves.operator.sampler(psi, cells[:0])
    for cluster in range(waves.layout.clusters):
        for sample in (whole, few, none):
            sample(cluster, 0.001)
    np.testing.assert_array_equal(few.get(cells), whole.get(cells)[..., [8, 0]])
    assert np.abs(few.get(cells)).min() > 0 and none.get(cells[:0]).shape == (0, 2, 9)
    bare = 8 * (waves.operator.b3 * 9 + waves.operator.form.cell_size + 9 + 4)
    assert few.nbytes() < 1.2 * len(cells) * bare + 8 * 8 * bare * waves.layout.clusters


def test_receivers_sample_waves_at_exact_times() -> None:
    """In clusters of different steps, at an interval that fits no step, over a meeting: samples are those of the waves."""
    order, interval, end = 5, 0.0137, 0.2
    base = Waves(graded(), order=order, rates=(2,))
    rng = np.random.default_rng(1)
    cells = np.array([np.flatnonzero(base.clustering.cluster == c)[0] for c in range(base.layout.clusters)])
    waves = Waves(graded(), order=order, rates=(2,), keep=tuple(cells))
    local = rng.dirichlet(np.ones(4) * 3, len(cells))[:, 1:]
    where = waves.geometry.origin(cells) + np.einsum("cij,cj->ci", waves.geometry.jacobian(cells), local)
    members = [np.flatnonzero(waves.clustering.cluster[cells] == c) for c in range(waves.layout.clusters)]
    assert min(len(m) for m in members) == 1 and len(members) >= 3
    functionals = basis.tet_basis(local, order - 1)[:, None]
    recorder = ReceiverRecorder(
        interval, members, functionals, Samples(waves.operator, cells, members, functionals).take
    )
    waves.predicted.append(recorder.record)
    waves.start(plane_waves(0.0)).run(0.071).run(end)
    time, samples = recorder.arrays()
    np.testing.assert_array_equal(time, np.arange(15) * interval)
    want = np.stack([plane_waves(t)(where) for t in time])
    error = np.abs(samples[:, :, 0] - want).max()
    shifted = np.abs(samples[1:, :, 0] - want[:-1]).max()
    assert error < 0.08 and error < shifted / 4, (error, shifted)


def polynomial(t: np.ndarray | float) -> Any:
    return 1.0 + 2.0 * t - 3.0 * t**2 + 0.5 * t**3


@pytest.mark.parametrize("interval", (0.05, 0.1, 0.13, 1.0))
def test_receivers_are_exact_on_polynomials_in_time(interval: float) -> None:
    """Whatever the steps, every sample is taken once, at its time; a sample at the end is taken from the final state."""
    start = {}

    def take(cluster: int, tau: float) -> Here:
        return Here(np.full((1, 1, 1), polynomial(start[cluster] + tau)))

    members = [np.array([1]), np.array([0]), np.array([], int)]
    recorder = ReceiverRecorder(interval, members, np.ones((2, 1, 1)), take)
    ends = {0: np.array([0.1, 0.2, 0.3, 0.35, 0.6, 1.0]), 1: np.array([0.3, 0.35, 1.0])}
    for cluster, moments in ends.items():
        for a, b in zip([0.0, *moments[:-1]], moments, strict=True):
            start[cluster] = a
            recorder.record(cluster, a, b - a)
    recorder.finish(1.0, lambda cluster: np.full((1, 1, 1), polynomial(1.0)))
    time, values = recorder.arrays()
    count = int(np.floor(1.0 / interval + 1e-9)) + 1
    np.testing.assert_allclose(time, np.arange(count) * interval)
    np.testing.assert_allclose(values[:, :, 0, 0], np.stack([polynomial(time)] * 2, 1), rtol=1e-12)
