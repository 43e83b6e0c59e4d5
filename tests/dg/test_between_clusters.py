"""What a slower cell leaves for its faster neighbour: its wave, integrated over each of that neighbour's steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from faultwave.dg.method.outgoing_waves import cluster_places
from faultwave.physics.waves.law import LAYER
from faultwave.physics.waves.viscoelastic import element_names
from tests.backends.here import DEVICE, needs_device
from tests.messages import raises
from tests.physics.waves.pores import porous

from .driver import ROCK, Waves
from .test_operator import graded

ELEMENTS = {n: v for i, w in ((1, 3.0), (2, 40.0)) for n, v in zip(element_names(i), (0.2, 0.1, w), strict=True)}
LAWS: dict[str, Any] = {
    "elastic": ("elastic", ROCK),
    "acoustic": ("acoustic", {"rho": 1.0, "lambda": 2.0}),
    "viscoelastic": ("viscoelastic", ROCK | ELEMENTS),
    "maxwell, lossy": ("maxwell", {"conductivity": 2.0}),
    "maxwell, matched": ("maxwell", {"conductivity": 2.0, **dict.fromkeys(LAYER, 1.5)}),
    "poroelastic": ("poroelastic", porous(ROCK) | {"viscosity": 3.0}),
}


def moved(name: str, backend: str = "cpu", rates: tuple[int, ...] = (2,), **more: Any) -> Waves:
    """A random state in clusters."""
    law, material = LAWS[name]
    waves = Waves(graded(), law, 3, backend, rates=rates, material=material, time_unit=0.7, cfl=0.4, **more)
    assert waves.layout.clusters >= 2
    shape = (len(waves.mesh.cells), waves.operator.b3, len(waves.law.quantities))
    waves.operator.set_dofs(np.random.default_rng(3).normal(size=shape))
    return waves


def neighbours(waves: Waves) -> tuple[np.ndarray, ...]:
    """Cells of the first cluster beside the second, their faces, and those of the neighbours."""
    top, cluster = waves.topology, waves.clustering.cluster
    near = np.maximum(top.neighbours, 0)
    cell, face = np.nonzero((top.neighbours >= 0) & (cluster[:, None] == 0) & (cluster[near] == 1))
    assert len(cell) > 10
    return cell, face, near[cell, face], top.neighbour_faces[cell, face]


def wanted(waves: Waves, series: np.ndarray, at: tuple[np.ndarray, np.ndarray], span: Any, step: float) -> np.ndarray:
    """w = T - Z v of the slower cells' motion over a time: by quadrature of its value at moments, which weights of integrals have no part
    in, and by the law itself."""
    op, (cells, faces) = waves.operator, at
    points, weights = np.polynomial.legendre.leggauss(12)
    (begin, end), rows = span, op.predictor.rows
    total = np.zeros((len(cells), op.b3, len(op.law.quantities)))
    for x, w in zip(points, weights, strict=True):
        moment = begin + 0.5 * (end - begin) * (1.0 + x)
        for j, value in enumerate(op.predictor.at(moment, step)[: len(rows)]):
            part = series[:, sum(rows[:j]) : sum(rows[: j + 1])]
            total[:, : rows[j]] += 0.5 * (end - begin) / op.time_unit * w * value * part
    found = np.zeros((len(cells), op.b2, op.form.faced))
    own = op.form.both_impedances(op.cells)[0]
    frames = op.form.frame_constants(op.cells) if op.form.frames > 3 else waves.geometry.normals
    for n, (cell, face) in enumerate(zip(cells, faces, strict=True)):
        q = list((op.form.trace[face][: op.b2, : op.b3] @ total[n]).T)
        frame, normal = list(frames[cell, face]), list(waves.geometry.normals[cell, face])
        both = [op.form.onto(frame, x) for x in (op.law.flux(q, normal), op.law.potential(q))]
        traction, flow = op.law.sides(*both)
        back = op.law.apply_impedance(list(own[cell, face]), normal, flow)
        found[n] = np.stack([a - b for a, b in zip(traction, back, strict=True)], 1)
    return found


def read(waves: Waves, ends: list[float], ahead: bool, restart: bool = True) -> list[np.ndarray]:
    """The waves that the faster cells find in each of their steps within one of the slower, which predicts before they do or later."""
    op, lay = waves.operator, waves.layout
    cell, face, *_ = neighbours(waves)
    found = []
    for n, (begin, end) in enumerate(pairwise([0.0, *ends])):
        if n or ahead:
            waves.stepper.predict(0, end - begin, n == 0)
        if n == 0:
            waves.stepper.predict(1, ends[-1], True, ends)
        if not n and not ahead:
            waves.stepper.predict(0, end - begin, True)
        slots = waves.wave_slots.incoming[op.turns[0], lay.position[cell], face]
        found.append(op.waves.get(slots).reshape(len(cell), op.b2, op.form.faced))
    return found


def check(waves: Waves, kept: Waves, ends: list[float], ahead: bool, tolerance: float = 2e-13) -> None:
    """``kept``: the same motion, with cells that keep their derivatives."""
    _, _, near, faces = neighbours(waves)
    found = read(waves, ends, ahead)
    read(kept, ends, ahead)
    series = kept.operator.reader(near).series().astype(float)
    assert len(found) == len(ends)
    for wave, span in zip(found, pairwise([0.0, *ends]), strict=True):
        expected = wanted(kept, series, (near, faces), span, ends[-1])
        np.testing.assert_allclose(wave, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def both(name: str, backend: str = "cpu", rates: tuple[int, ...] = (2,), **more: Any) -> tuple[Waves, Waves]:
    waves = moved(name, backend, rates, **more)
    near = np.unique(neighbours(waves)[2])
    kept = moved(name, backend, rates, keep=tuple(near.tolist()), **more)
    return waves, kept


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", list(LAWS))
def test_waves_of_parts_are_integrals_over_these_parts(name: str, ahead: bool) -> None:
    """In whole steps, in one that is shortened, which leaves an odd number of parts, and in whole ones after it."""
    waves, kept = both(name)
    step = float(waves.clustering.steps[0])
    for ends in ([step, 2 * step], [0.7 * step], [step, 2 * step], [step, 1.3 * step]):
        check(waves, kept, ends, ahead)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("rate", [3, 4])
def test_as_many_parts_as_the_rate(rate: int, ahead: bool) -> None:
    waves, kept = both("elastic", rates=(rate,))
    assert waves.layout.parts == 4
    step = float(waves.clustering.steps[0])
    for steps in (rate, 2, rate, 1, rate):
        check(waves, kept, [step * (n + 1) for n in range(steps)], ahead)


@pytest.mark.parametrize(
    "backend, precision, narrow, tolerance",
    [("numpy", "double", False, 2e-13), ("cpu", "double", True, 2e-7), ("cpu", "single", False, 2e-5),
     pytest.param(DEVICE, "double", False, 2e-13, marks=needs_device)],
)  # fmt: skip
def test_on_other_backends_and_in_less_memory(backend: str, precision: str, narrow: bool, tolerance: float) -> None:
    waves, kept = both("elastic", backend, precision=precision, narrow=narrow)
    step = float(waves.clustering.steps[0])
    check(waves, kept, [step, 2 * step], False, tolerance)


@pytest.mark.parametrize("penalty", ["", "rusanov"])
def test_parts_make_the_whole(penalty: str) -> None:
    """What a step's parts hold together is the wave of the step, so that nothing is lost or made at the face."""
    waves, undivided = moved("elastic", penalty=penalty), moved("elastic", penalty=penalty)
    op, step = waves.operator, float(waves.clustering.steps[0])
    _, _, near, faces = neighbours(waves)
    parts = sum(read(waves, [step, 2 * step], False))
    at = waves.layout.position[near], faces
    (whole,) = read(undivided, [2 * step], False)
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14 * np.abs(whole).max())
    if penalty:
        where, held = op.penalty.places, op.penalty.held.get(op.penalty.places.own[at])
        assert (where.for_faster[at] > 0).all()
        shown = sum(op.penalty.shown.get(where.for_faster[at] + n) for n in range(2))
        np.testing.assert_allclose(shown, held, rtol=0, atol=1e-14 * np.abs(held).max())


def test_a_slower_cell_reads_the_sum_of_its_neighbours_steps() -> None:
    """Begun anew with each step of its own, in the other of two places."""
    cells = np.unique(neighbours(moved("elastic"))[0])
    waves = moved("elastic", keep=tuple(cells.tolist()))
    op, lay, step = waves.operator, waves.layout, float(waves.clustering.steps[0])
    cell, face, near, faces = neighbours(waves)
    for _ in range(3):
        total = np.zeros((len(cell), op.b2, op.form.faced))
        for n in range(2):
            waves.stepper.predict(0, step, n == 0)
            total += wanted(waves, op.reader(cell).series(), (cell, face), (0.0, step), step)
        waves.stepper.predict(1, 2 * step, True, [step, 2 * step])
        slots = waves.wave_slots.incoming[op.turns[1], lay.position[near], faces]
        found = op.waves.get(slots).reshape(total.shape)
        np.testing.assert_allclose(found, total, rtol=0, atol=2e-13 * np.abs(total).max())


def test_steps_that_are_not_told_are_refused() -> None:
    with raises(ValueError):
        moved("elastic").stepper.predict(1, 0.01, True)


def test_places_are_even() -> None:
    assert [cluster_places(r) for r in ([1], [2, 2, 1], [3, 1], [2, 4, 1], [5, 1])] == [2, 2, 4, 4, 6]
