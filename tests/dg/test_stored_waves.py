"""Waves between cells in single precision: how little that changes, conservation, and what backends make of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.dg.method.forms.elastic import LeanElastic
from tests.backends.here import present
from tests.dg.driver import Waves, cube, plane_waves
from tests.physics.waves.tensors import skewed

ROCK = {"rho": 2.67, "lambda": 32.04, "mu": 32.038}
MATERIAL = {"acoustic": {"rho": 2.0, "lambda": 3.0}, "anisotropic": skewed(ROCK), "elastic": ROCK}


def shaken(narrow: bool, law: str = "elastic", order: int = 3, backend: str = "cpu", **more: Any) -> Waves:
    """Waves of random states, each cell its own, in several clusters, light rock being fast: jumps are as large as the waves."""
    mesh, rng = cube(3, perturb=0.1), np.random.default_rng(8)
    material = MATERIAL[law] | {"rho": rng.choice([0.5, 6.0], len(mesh.cells), p=[0.2, 0.8])}
    waves = Waves(mesh, law, order, backend, rates=(2,), material=material, narrow=narrow, **more)
    assert len(waves.clustering.steps) > 1
    shape = (len(waves.mesh.cells), waves.operator.b3, len(waves.law.quantities))
    waves.operator.set_dofs(np.random.default_rng(7).normal(size=shape))
    return waves


@pytest.mark.parametrize(
    "law, more",
    [
        ("elastic", {}),
        ("elastic", {"fast": False}),
        ("elastic", {"penalty": "rusanov"}),
        ("acoustic", {}),
        ("anisotropic", {}),
    ],
)
def test_rounded_waves_change_little(law: str, more: dict[str, Any]) -> None:
    exact, rounded = (shaken(n, law, **more).run(0.2).operator.dofs() for n in (False, True))
    off = np.abs(exact - rounded).max() / np.abs(exact).max()
    assert 1e-10 < off < 3e-7


@pytest.mark.parametrize("name", present([n for n in backends.names() if n not in ("cpu",)]))
def test_backends_round_alike(name: str) -> None:
    """To the last digits of single precision: a wave between two of its numbers may go to either."""
    found = [shaken(True, order=2, backend=b).run(0.1).operator.dofs() for b in ("cpu", name)]
    assert np.abs(found[0] - found[1]).max() < 2e-7 * np.abs(found[0]).max()


@pytest.mark.parametrize("law", ["elastic", "anisotropic"])
def test_one_pass_gives_the_bits_of_two(law: str) -> None:
    """Correction and prediction together and apart."""
    waves = [shaken(True, law) for _ in range(2)]
    apart, together = (w.stepper for w in waves)
    step = 1e-3
    for stepper in (apart, together):
        for cluster in range(stepper.operator.layout.clusters):
            stepper.predict(cluster, 2**cluster * step, True, [2 ** (cluster - 1) * step * n for n in (1, 2)])
    for n in range(2):
        apart.correct(0, step)
        apart.predict(0, step, n == 1)
        together.correct_and_predict(0, step, n == 1)
    np.testing.assert_array_equal(apart.operator.q.get(), together.operator.q.get())
    read = np.unique(waves[0].wave_slots.incoming)  # into the others cells of several threads write
    np.testing.assert_array_equal(apart.operator.waves.get()[read], together.operator.waves.get()[read])


def test_cells_of_rock_hold_few_constants() -> None:
    """From which all others follow, to rounding in double precision."""
    lean, whole = (shaken(n).operator for n in (True, False))
    assert lean.cell.nbytes + lean.face.nbytes < 0.52 * (whole.cell.nbytes + whole.face.nbytes)
    form, stored = lean.form, lean.form.cell_constants(lean.cells)
    assert isinstance(form, LeanElastic)
    names = [name for name in form.cell_columns.places if name not in ("zp", "zs")]
    found = np.stack(np.broadcast_arrays(*form._whole_cell(list(stored.T))[0]), 1)
    wanted = whole.form.cell_constants(whole.cells)
    columns = [i for n in names for i in range(form.cell_columns.places[n].start, form.cell_columns.places[n].stop)]
    scale = np.abs(wanted[:, columns]).max(0)
    assert (np.abs(found - wanted[:, columns]) < 1e-13 * scale).all()


def test_memory_of_waves_is_half() -> None:
    exact, rounded = (shaken(n).operator for n in (False, True))
    for a, b in ((exact.waves, rounded.waves), (exact.own_waves, rounded.own_waves)):
        assert a.nbytes == 2 * b.nbytes
    assert exact.q.nbytes == rounded.q.nbytes


@pytest.mark.parametrize("order", [2, 4])
def test_errors_of_plane_waves_stay(order: int) -> None:
    until = 0.3
    exact, rounded = (
        Waves(cube(3, perturb=0.1), order=order, rates=(2,), narrow=n).start(plane_waves(0.0)).run(until)
        for n in (False, True)
    )
    found = [w.errors(plane_waves(w.march.time)) for w in (exact, rounded)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_momentum_and_energy_stay_within_rounding() -> None:
    """A uniform motion a thousand times as large as the waves: what rounding does to it does not grow into them."""
    waves = Waves(cube(3, perturb=0.1), order=3, rates=(2,), narrow=True).start(plane_waves(0.0, (1000.0, 0.0, 0.0)))
    before, energy = waves.momentum(), waves.energy()
    waves.run(2.0)
    moved = np.abs(waves.momentum() - before).max() / np.abs(before).max()
    assert 0.0 < moved < 1e-8
    assert -1e-5 < (waves.energy() - energy) / energy < 1e-8
