"""Yielding in cells: points and the way back, what is told safe, backends, forms, orders, energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.base.quantities import Parameter
from faultwave.dg.method import yielding
from faultwave.dg.method.basis import tet_basis, tet_quadrature, tet_size
from faultwave.dg.method.forms import Form
from faultwave.dg.method.forms import form as find_form
from faultwave.dg.method.yielding import yield_points
from faultwave.dg.operators import kernels
from faultwave.physics.rheology import STRESS, Returned, Rheology, rheology
from faultwave.physics.waves import law as wave_law
from tests.backends.here import present

from .test_backends_agree import ITEMS, TOLERANCE, Random, assert_same, launch

LAW = rheology("drucker-prager")
KINDS = ("nodes", "lattice", "quadrature")
CONSTANTS = {"relaxation_time": 0.1, "seissol_strain": 0.0}
STEP = 0.05


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("degree", range(1, 8))
def test_points_give_polynomials_back(kind: Any, degree: int) -> None:
    """To modes and back, by whole matrices and by their halves; weights integrate the basis; squares are bounded."""
    p = yield_points(kind, degree)
    np.testing.assert_allclose(p.back @ p.values, np.eye(tet_size(degree)), atol=1e-12)
    assert p.points.min() > -1e-12 and p.points.sum(1).max() < 1 + 1e-12
    quadrature, weights = tet_quadrature(degree + 2)
    np.testing.assert_allclose(p.weights @ p.values, 6 * weights @ tet_basis(quadrature, degree), atol=1e-12)
    assert kind == "lattice" or (p.weights > 0).all()
    there, back = p.halves
    n = p.pairs
    fold = np.eye(len(p.points))
    fold[:n, n : 2 * n] = fold[n : 2 * n, :n] = np.eye(n)
    fold[n : 2 * n, n : 2 * n] = -np.eye(n)
    np.testing.assert_allclose(fold @ there, p.values, atol=1e-12)
    np.testing.assert_allclose(back @ fold, p.back, atol=1e-12)
    assert kind == "quadrature" or degree < 3 or np.count_nonzero(there) < 0.6 * p.values.size
    modes = np.random.default_rng(degree).normal(size=(50, tet_size(degree)))
    rest = modes.copy()
    rest[:, 0] = 0.0
    bound = np.sqrt(rest**2 @ p.amplification.T).sum(1)
    assert (np.abs(rest @ p.values.T).max(1) <= bound * (1 + 1e-12)).all()


class Setup:
    """Cells of a form with stress, near yield, on any backend: arguments of the kernel."""

    def __init__(self, form: Form, medium: yielding.Medium, far: float = 1.0, seed: int = 0, rest: Any = 1.0):
        self.form, self.medium, self.make = form, medium, Random(form, seed)
        self.kernel = yielding.yielding(form, medium)
        rng, columns = np.random.default_rng(seed), medium.rheology.parameter_columns
        count = len(medium.points.points)
        cells = self.make.cells
        self.rest = np.tile([-60.0, -40.0, -50.0, 4.0, 0.0, 2.0], (ITEMS, medium.initial_rows, 1))
        self.rest = self.rest * rng.uniform(0.9, 1.1, self.rest.shape) * rest
        shape = (ITEMS, medium.parameter_rows)
        given = {"plastic_cohesion": np.full(shape, 20.0), "bulk_friction": np.full(shape, 0.5)}
        p = medium.rheology.prepare(given, CONSTANTS, {"mu": np.repeat(cells.material["mu"][:, None], shape[1], 1)})
        self.p = columns.join(p)
        room = medium.rheology.distance(p, CONSTANTS, STRESS.split(self.rest))
        distance = np.full(ITEMS, -1.0) if room is None else np.asarray(room).min(1)
        modes = np.zeros((ITEMS, form.b3, 9))
        decay = 4.0 ** -(np.arange(form.b3)[:, None] ** 0.5)
        modes[:] = rng.normal(size=modes.shape) * decay * rng.uniform(0.0, 12.0 * far, (ITEMS, 1, 1))
        turn = form.to_physical(cells, np.arange(ITEMS))
        self.physical = modes
        q = modes if turn is None else np.matmul(modes, np.linalg.inv(turn).transpose(0, 2, 1))
        self.data = {
            "q": q, "cell": form.cell_constants(cells)[:, None], yielding.PARAMETERS: self.p,
            yielding.INITIAL: self.rest, yielding.STATE: np.zeros((ITEMS, count, medium.rheology.state_columns.size)),
            yielding.DISTANCE: np.stack([distance, form.stress_scale(cells)], 1)[:, None],
        }  # fmt: skip

    def run(self, backend: str = "numpy", precision: str = "double") -> dict[str, np.ndarray]:
        given = {a.name: self.data[a.name] for a in self.kernel.arguments}
        return launch(backend, precision, [self.kernel], [given], [{yielding.STEP: STEP}])[0]

    def whole(self, q: np.ndarray) -> np.ndarray:
        """Stress at the points (cells, points, 6), the stress at rest included."""
        turn = self.form.to_physical(self.make.cells, np.arange(ITEMS))
        physical = q if turn is None else np.matmul(q, turn.transpose(0, 2, 1))
        return np.einsum("nb,cbi->cni", self.medium.points.values, physical[..., :6]) + self.rest


def medium(kind: Any = "nodes", order: int = 4, initial: int = 1, law: Rheology = LAW) -> yielding.Medium:
    points = yield_points(kind, order - 1)
    count = len(points.points)
    return yielding.Medium(law, CONSTANTS, points, 1, count if initial > 1 else 1, True)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("kind, order", [("nodes", 4), ("lattice", 3), ("quadrature", 2)])
def test_cells_yield_as_the_return_map_says(fast: bool, kind: Any, order: int) -> None:
    """Cell by cell: the stress at the points, mapped, and what it lost taken back to the modes; nothing else changes."""
    form = find_form(wave_law("elastic"), order, 0.7, fast)
    setup = Setup(form, medium(kind, order, 2))
    got, before = setup.run(), setup.whole(setup.data["q"])
    points, split = setup.medium.points, STRESS.split(before)
    p = LAW.parameter_columns.split(setup.p)
    zero = {n: np.zeros(before.shape[:2]) for n in LAW.state_columns}
    found = LAW.return_map(p, CONSTANTS, split, zero, STEP)
    lost = np.stack([found.stress[n] - split[n] for n in STRESS], -1)
    yields = (lost != 0).any((1, 2))
    assert 0.2 < yields.mean() < 0.9
    want = setup.physical.copy()
    want[..., :6] += np.einsum("bn,cni->cbi", points.back, lost)
    turn = form.to_physical(setup.make.cells, np.arange(ITEMS))
    physical = got["q"] if turn is None else np.matmul(got["q"], turn.transpose(0, 2, 1))
    np.testing.assert_allclose(physical, want, atol=1e-10)
    np.testing.assert_array_equal(got["q"][~yields], setup.data["q"][~yields])
    assert (got[yielding.STATE][~yields] == 0).all()
    np.testing.assert_allclose(got[yielding.STATE][..., 6], found.state["eta"], atol=1e-12)


def test_a_wrong_formula_is_seen() -> None:
    """The check above tells a return map that keeps a tenth too much of the excess."""

    class Wrong(type(LAW)):  # type: ignore[misc]
        name = "wrong"

        def return_map(self, p: Any, c: Any, stress: Any, s: Any, step: Any) -> Returned:
            return super().return_map(p, c, stress, s, 0.9 * step)

    form = find_form(wave_law("elastic"), 3, 0.7)
    right, wrong = (Setup(form, medium("nodes", 3, 2, law)).run()["q"] for law in (LAW, Wrong()))
    assert np.abs(right - wrong).max() > 1e-3 * np.abs(right).max()


@pytest.mark.parametrize("order", range(2, 9))
def test_no_cell_that_yields_is_told_safe(order: int) -> None:
    """The cheap test never spares a cell that the return map would change, and spares some."""
    form = find_form(wave_law("elastic"), order, 0.7)
    spared = 0
    for far in (0.2, 0.5, 1.0, 2.0):
        for seed in range(3):
            setup = Setup(form, medium("lattice", order), far, seed)
            before = STRESS.split(setup.whole(setup.data["q"]))
            p = LAW.parameter_columns.split(setup.p)
            beyond = np.asarray(LAW.yields(p, CONSTANTS, before, {}, STEP)).any(1)
            changed = (setup.run()["q"] != setup.data["q"]).any((1, 2))
            np.testing.assert_array_equal(changed, beyond)
            spared += int((~beyond).sum())
    assert spared > 20


@pytest.mark.parametrize("order", [2, 4])
def test_rock_beyond_yield_at_rest_yields_though_nothing_moves(order: int) -> None:
    """Without waves: every cell whose stress at rest, tension here, is beyond yield, and no other."""
    form, tension = find_form(wave_law("elastic"), order, 0.7), np.where(np.arange(ITEMS) % 3 == 0, -1.0, 1.0)
    setup = Setup(form, medium("nodes", order), 0.0, rest=tension[:, None, None])
    assert not setup.data["q"].any()
    got = setup.run()
    np.testing.assert_array_equal(got["q"].any((1, 2)), tension < 0)
    np.testing.assert_array_equal((got[yielding.STATE][..., 6] > 0).all(1), tension < 0)


OTHERS = present([n for n in backends.names() if n != "numpy"])


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(
    "order, kind, precision", [(4, "nodes", "double"), (2, "quadrature", "single"), (3, "lattice", "double")]
)
def test_backends_agree(name: str, order: int, kind: Any, precision: str) -> None:
    """Alone and between correction and prediction."""
    form = find_form(wave_law("elastic"), order, 0.7)
    setup = Setup(form, medium(kind, order, 2))
    want, got = setup.run("numpy", precision), setup.run(name, precision)
    assert (want[yielding.STATE][..., 6] > 0).any(1).mean() > 0.2
    assert_same(setup.kernel, got, want, 30 * TOLERANCE[precision])
    fused = kernels.correct_and_predict(form, None, (setup.kernel,))
    data = {a.name: setup.data.get(a.name) for a in fused.arguments}
    data = {a.name: setup.make(a) if data[a.name] is None else data[a.name] for a in fused.arguments}
    data["outgoing"] = data["incoming"]
    predictor = form.predictor
    scalars = {
        "advance": predictor.at(0.07, 0.07), "integral": predictor.integral(0.0, 0.07, 0.07), yielding.STEP: STEP,
    }  # fmt: skip
    want, got = (launch(n, precision, [fused], [data], [scalars])[0] for n in ("numpy", name))
    assert_same(fused, got, want, 100 * TOLERANCE[precision])


@pytest.mark.parametrize("order", [2, 4, 6])
def test_yielding_at_quadrature_points_never_adds_energy(order: int) -> None:
    """Of the whole stress, in the mean square over every cell, whatever the field; with a sudden return, too."""
    form = find_form(wave_law("elastic"), order, 0.7, False)
    for seed in range(4):
        chosen = medium("quadrature", order)
        setup = Setup(form, chosen, 3.0, seed)
        after = setup.run()["q"]

        def energy(q: np.ndarray, setup: Setup = setup) -> np.ndarray:
            s = q[..., :6].copy()
            s[:, 0] += setup.rest[:, 0] / 6.0**0.5
            mean = s[..., :3].mean(-1, keepdims=True)
            dev = s[..., :3] - mean
            return np.asarray((dev**2).sum((1, 2)) + 2 * (s[..., 3:] ** 2).sum((1, 2)))

        before, later = energy(setup.data["q"]), energy(after)
        assert (later <= before * (1 + 1e-13)).all()
        assert (later < 0.999 * before).mean() > 0.3


def test_a_rheology_without_a_distance_is_looked_at_everywhere() -> None:
    class Halved(Rheology):
        """Stress halves where s_xx is below -60."""

        name = "halved"
        title = "half"
        parameters = (Parameter("plastic_cohesion", "Pa", ""),)
        kernel_parameters = ("plastic_cohesion",)

        def return_map(self, p: Any, c: Any, stress: Any, s: Any, step: Any) -> Returned:
            from faultwave.kernels import math as m

            low = stress["s_xx"] < -60.0
            return Returned({n: m.where(low, 0.5 * x, x) for n, x in stress.items()})

    points = yield_points("nodes", 2)
    form = find_form(wave_law("elastic"), 3, 0.7)
    found = []
    for bounded in (True, False):
        setup = Setup(form, yielding.Medium(Halved(), CONSTANTS, points, 1, 1, bounded))
        found.append(setup.run()["q"])
    changed = (found[1] != setup.data["q"]).any((1, 2))
    np.testing.assert_array_equal(changed, (setup.whole(setup.data["q"])[..., 0] < -60.0).any(1))
    np.testing.assert_array_equal(found[0], found[1])
    assert 0 < changed.sum() < ITEMS
