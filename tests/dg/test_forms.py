"""Forms of a law agree to rounding, and a turn is a correction and a prediction bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave.dg.method.forms import FORMS, Cells, Form, form
from faultwave.dg.method.forms.constants import directed
from faultwave.domain.tets.mesh import Mesh, make_mesh
from faultwave.physics.waves import law as find_law
from faultwave.physics.waves import laws
from faultwave.physics.waves.maxwell import Maxwell
from tests.physics.waves.tensors import skewed

from .driver import Waves, cube, plane_waves

SIDES = {"x-": "free-surface", "x+": "absorbing", "y-": "rigid", "y+": "symmetry", "z": "free-surface"}
WALLS = {"x-": "pec", "x+": "absorbing", "y-": "pmc", "y+": "pec", "z": "pmc"}


FAST = [name for name, law in laws().items() if any(kind.suits(law) for kind in FORMS)]


def stretched(sides: dict[str, str] = SIDES) -> Mesh:
    """Every boundary, cells of many shapes and sizes, several clusters."""
    mesh = cube(4, boundaries=sides, perturb=0.15, seed=4)
    x = mesh.vertices
    return make_mesh(0.2 * x + 0.8 * x**3, mesh.cells, mesh.groups, mesh.tags, None, "stretched")


def rock(cells: int) -> dict[str, np.ndarray]:
    """Random solids, a fifth of the cells fluid."""
    rng = np.random.default_rng(2)
    mu = np.where(rng.random(cells) < 0.2, 0.0, rng.uniform(0.5, 1.5, cells))
    return {"rho": rng.uniform(0.5, 2.0, cells), "lambda": rng.uniform(1.0, 3.0, cells), "mu": mu}


def matter(cells: int) -> dict[str, np.ndarray]:
    """Random dielectrics, half of them lossy."""
    rng = np.random.default_rng(2)
    permittivity, permeability = rng.uniform(0.5, 2.0, (2, cells))
    loss = np.where(rng.random(cells) < 0.5, 0.0, rng.uniform(0.1, 1.0, cells))
    return {"permittivity": permittivity, "permeability": permeability, "conductivity": loss}


def crystals(cells: int) -> dict[str, np.ndarray]:
    """A random stiffness in every cell."""
    several = [skewed({"rho": 1.0 + 0.1 * i, "lambda": 2.0 - 0.1 * i, "mu": 1.0}, i, 0.5) for i in range(9)]
    which = np.random.default_rng(2).integers(0, 9, cells)
    return {name: np.array([v[name] for v in several])[which] for name in several[0]}


def marched(
    order: int,
    precision: str = "double",
    law: str = "elastic",
    lossless: bool = False,
    mesh: Mesh | None = None,
    **more: Any,
) -> np.ndarray:
    several = 3 if mesh is None else 2
    mesh = mesh or stretched(WALLS if law == "maxwell" else SIDES)
    material = {"maxwell": matter, "anisotropic": crystals}.get(law, rock)(len(mesh.cells))
    if lossless:
        del material["conductivity"]
    settings = {"material": material, "precision": precision, "cfl": 0.4, "keep": (5, 9), **more}
    waves = Waves(mesh, law, order, rates=(2,), **settings)
    assert waves.layout.clusters >= several
    field = plane_waves(0.0, (0.4, -0.2, 0.3))
    columns = {"acoustic": [0, 6, 7, 8], "maxwell": slice(1, 7)}.get(law, slice(None))
    waves.start(lambda x: field(x)[:, columns])
    return waves.run(0.05).run(0.12).operator.dofs()


QUICK = {("acoustic", 5), ("acoustic", 4), ("elastic", 3), ("elastic", 4), ("maxwell", 3), ("anisotropic", 3)}
"""Each law at low order, each order and precision by one law; `make verify` has them all."""


@pytest.mark.parametrize(
    "law, order, precision, tolerance",
    [
        pytest.param(law, *case, marks=[] if (law, case[0]) in QUICK else [pytest.mark.slow])
        for case in [(3, "double", 1e-12), (5, "double", 1e-11), (4, "single", 2e-4)]
        for law in FAST
    ],
)
def test_the_fast_form_gives_what_the_plain_one_gives(law: str, order: int, precision: str, tolerance: float) -> None:
    plain = marched(order, precision, law, fast=False)
    fast = marched(order, precision, law)
    assert np.abs(plain).max() > 0.1
    tolerance *= 5.0 if law == "anisotropic" else 1.0  # more numbers are turned, by longer sums
    assert np.abs(fast - plain).max() <= tolerance * np.abs(plain).max()
    assert np.abs(fast - plain).max() > 0.0, "the same form twice"


def test_fields_without_losses_have_a_fast_form_too() -> None:
    plain, fast = (marched(3, "double", "maxwell", lossless=True, fast=fast) for fast in (False, True))
    assert 0.0 < np.abs(fast - plain).max() <= 1e-12 * np.abs(plain).max()


@pytest.mark.parametrize("law", ("acoustic", "maxwell"))
def test_forms_agree_at_impedance_walls_and_across_periods(law: str) -> None:
    mesh = cube(4, boundaries={"x-": "impedance", "x+": "impedance", "y": "periodic", "z": "periodic"}, perturb=0.15)
    plain, fast = (marched(3, law=law, mesh=mesh, wall=0.3, fast=fast) for fast in (False, True))
    assert 0.0 < np.abs(fast - plain).max() <= 1e-12 * np.abs(plain).max()
    absorbing = marched(3, law=law, mesh=mesh, wall=1.0)
    assert np.abs(fast - absorbing).max() > 1e-3 * np.abs(plain).max(), "the wall takes no part"


def test_every_law_that_is_two_curls_has_their_form() -> None:
    """By what its functions do, not by its name; a reaction that tells the axes apart keeps the plain form."""

    class Renamed(Maxwell):
        name = "curls"

    class Turned(Maxwell):
        def reaction(self, q: Any, rates: Any) -> list[Any]:
            return [-rates[0] * q[1], *[0.0 * x for x in q[1:]]]

    class Reversed(Maxwell):
        def rate(self, divergence: Any, gradient: Any, material: Any) -> list[Any]:
            return [-x for x in super().rate(divergence, gradient, material)]

    curls = form(find_law("maxwell"), 3)
    assert type(curls) is not Form
    for lossy in (False, True):
        assert type(form(Renamed(lossy), 3)) is type(curls)
    for other in (Turned(True), Reversed(), Maxwell(matched=True)):
        assert type(form(other, 3)) is Form


def test_the_unit_of_time_changes_nothing() -> None:
    for name in FAST:
        one, other = marched(3, "double", name), marched(3, "double", name, time_unit=0.003)
        assert np.abs(one - other).max() <= 1e-12 * np.abs(one).max()


def test_a_turn_is_a_correction_and_a_prediction() -> None:
    class Apart(Waves):
        def correct_and_predict(self, cluster: int, time: float, step: float, following: float, restart: bool) -> None:
            self.correct(cluster, time, step)
            self.predict(cluster, time + step, following, restart)

    mesh = stretched()
    found = []
    for kind in (Waves, Apart):
        waves = kind(mesh, "elastic", 3, rates=(2,), material=rock(len(mesh.cells)))
        found.append(waves.start(plane_waves(0.0)).run(0.05).run(0.12).operator.dofs())
    np.testing.assert_array_equal(found[0], found[1])


def seven(law: str, count: int = 7) -> Cells:
    """Cells of random shapes and materials."""
    rng = np.random.default_rng(0)
    material = {p.name: rng.uniform(0.5, 2.0, count) for p in find_law(law).parameters}
    return Cells(rng.normal(size=(count, 3, 3)), *[np.ones(count)] * 6, material)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FAST)
def test_samples_are_turned_as_dofs_are(name: str) -> None:
    cells, made = seven(name), form(find_law(name), 3, 0.1)
    q = np.random.default_rng(1).normal(size=(7, made.Q))
    turn = made.to_physical(cells, np.arange(7))
    assert turn is not None
    sampled = made.physical(q.T, made.cell_constants(cells).T, made.jacobians(cells).T)
    np.testing.assert_allclose(np.stack(sampled, 1), np.einsum("nij,nj->ni", turn, q), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", FAST)
def test_the_conversion_of_a_cell_does_not_depend_on_the_others(name: str) -> None:
    """Equal to the bit, as the cells of a process depend on the partition."""
    cells, made = seven(name, 1000), form(find_law(name), 3, 0.1)
    whole = made.to_physical(cells, np.arange(1000))
    assert whole is not None
    for count in (1, 2, 3, 5, 7, 17, 333):
        part = made.to_physical(cells, np.arange(count))
        np.testing.assert_array_equal(part, whole[:count])


@pytest.mark.parametrize("name", FAST)
def test_quantities_go_there_and_back(name: str) -> None:
    law, cells = find_law(name), seven(name)
    turn = form(law, 3, 0.1).to_physical(cells, np.arange(7))
    assert turn is not None
    assert (np.abs(np.linalg.det(turn)) > 0).all()
    if name == "maxwell":  # what is dual to a cell's first direction has one component
        field = directed(cells.inverse)[:, 0]
        np.testing.assert_allclose(
            np.linalg.solve(turn[:, :3, :3], field[..., None])[..., 0], [[1, 0, 0]] * 7, atol=1e-9
        )
        return
    # The flow transforms as a vector: a uniform translation along a cell's first direction has one component. With a full stiffness it is
    # dual to the directions.
    speed = directed(cells.inverse)[:, 0] if name == "anisotropic" else np.linalg.inv(cells.inverse)[:, :, 0]
    np.testing.assert_allclose(np.linalg.solve(turn[:, -3:, -3:], speed[..., None])[..., 0], [[1, 0, 0]] * 7, atol=1e-9)


@pytest.mark.parametrize(
    "precision, thickness, fast", [("double", 0.01, True), ("single", 1.0, True), ("single", 0.01, False)]
)
def test_slivers_keep_the_plain_form_in_single_precision(precision: str, thickness: float, fast: bool) -> None:
    mesh = cube(2)
    flat = make_mesh(mesh.vertices * [1, 1, thickness], mesh.cells, mesh.groups, mesh.tags, mesh.identify, "flat")
    waves = Waves(flat, order=3, precision=precision)
    assert (type(waves.operator.form) is not Form) == fast
