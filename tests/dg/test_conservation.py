"""Corrections for rounded waves: the change of the state on their faces, mode by mode, lifted; on every backend."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faultwave import backends
from faultwave.comm.exchange import Channel
from faultwave.dg.operators.conservation import Conservation
from tests.backends.here import present
from tests.physics.waves.tensors import skewed

from .driver import Waves, cube

ROCK = {"rho": 2.0, "lambda": 3.0, "mu": 1.5}


def wanted(op: Any, cells: np.ndarray, faces: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Jumps dv = -e / (Z + Z_R) and dT = Z_R e / (Z + Z_R), all modes of a face lifted into the cell, then its law's rate of them."""
    law, c = op.law, op.cells
    own, other = (z[cells, faces] for z in op.form.both_impedances(c))
    found = np.zeros((len(c.volume), op.b3, len(law.quantities)))
    for n, (cell, face) in enumerate(zip(cells, faces, strict=True)):
        normal = c.normals[cell, face]
        weight = op.time_unit * c.areas[cell, face] / (3.0 * c.volume[cell])
        channels = [error[n, :, i] for i in range(law.channels)]

        def through(z: np.ndarray, channels: Any = channels, normal: Any = normal) -> list[np.ndarray]:
            return list(law.apply_impedance(list(z), list(normal), channels))

        flow = [-weight * x for x in through(law.admittance(own[n], other[n], 1.0))]
        traction = [-x for x in through(other[n], flow)]
        pair = (traction, flow) if law.traction_is_flux else (flow, traction)
        flux, potential = ([x @ op.form.trace[face][: op.b2, : op.b3] for x in part] for part in pair)
        gradient = [[normal[d] * p for p in potential] for d in range(3)]
        constants = [np.asarray(k)[cell] for k in law.constants(c.material)]
        found[cell] += np.stack([np.zeros(op.b3) + x for x in law.rate(flux, gradient, constants)], -1)
    return found


@pytest.mark.parametrize("backend", present(backends.names()))
@pytest.mark.parametrize(
    "law, fast", [("elastic", True), ("elastic", False), ("acoustic", True), ("anisotropic", False)]
)
def test_corrections_are_added_once(backend: str, law: str, fast: bool) -> None:
    material = {"acoustic": {"rho": 2.0, "lambda": 3.0}, "anisotropic": skewed(ROCK)}.get(law, ROCK)
    waves = Waves(cube(2), law, 3, backend, material=material, fast=fast, time_unit=0.7)
    op, rng = waves.operator, np.random.default_rng(4)
    op.layout = replace(op.layout, observed_ranges=((0, len(op.layout.cell_at)),), storing_ranges=((0, 0),))
    near = np.argwhere(waves.topology.neighbours >= 0)
    cells, faces = near[rng.permutation(len(near))[:12]].T
    nothing = np.zeros((2, 14), np.int64)
    channels = [
        Channel(1, 0, 0, "wave", nothing[:, :5], "wave", 0, cells[:5], faces[:5]),
        Channel(1, 0, 0, "fault", nothing[:, :2], "fault", 0),
        Channel(
            2, 0, -1, "wave", nothing, "wave", 0, cells[5:], faces[5:], 7
        ),  # for a faster neighbour: two parts of a step
    ]
    corrections, m = Conservation(op, channels), op.form.faced
    wave, parts = rng.normal(size=(5, op.b2, m)), rng.normal(size=(14, op.b2, m))
    for channel, values in ((channels[0], wave), (channels[2], parts)):
        store, first = corrections.place(channel)
        store.put(values.reshape(len(values), -1), np.arange(first, first + len(values)))
    summed = parts.reshape(7, 2, op.b2, m).sum(1)
    start = rng.normal(size=(len(waves.mesh.cells), op.b3, len(op.law.quantities)))
    op.set_dofs(start)
    corrections(0)
    change = op.dofs() - start
    expected = wanted(op, cells, faces, np.concatenate([wave, summed]))
    np.testing.assert_allclose(change, expected, rtol=0, atol=1e-12 * np.abs(expected).max() + 1e-14)
    Conservation(op, channels[1:2])(0)  # waves at faults are not rounded
    corrections.split.put(0.0)
    corrections(0)  # errors are cleared once used
    np.testing.assert_array_equal(op.dofs() - start, change)
