"""Energies of a fault and sums over its points, as kernels over faces (docs/theory/friction.md, "Energies of a fault")."""

from __future__ import annotations

import numpy as np

from faultwave.base.columns import Columns
from faultwave.dg.fault.record import JUMP_PATH, JUMP_SLIP, JUMP_WORK
from faultwave.dg.formula import Outputs
from faultwave.kernels.language import Kernel
from faultwave.kernels.types import Numbers

FAULT_ENERGIES = ("total_frictional_work", "static_frictional_work", "seismic_moment", "potency")


def fault_energies(record: Columns, state: Columns, weights: np.ndarray, plain_mean: bool) -> Kernel:
    """Return the kernel that computes ``FAULT_ENERGIES`` of every face from the records of its points.

    Parameters
    ----------
    record, state : Columns
        Columns of the record and of the friction state.
    weights : (p,) float
        Quadrature weights of the points, with sum 1/2.
    plain_mean : bool
        Average accumulated slip over points with equal weights.

    Returns
    -------
    Kernel
        Reads ``scale``, the area and the rigidity times the area, and writes ``energies``.
    """
    k, points = Kernel("fault_energies", fixed=True), len(weights)
    records, states = k.batch("record", points, record.size), k.batch("state", points, state.size)
    scale, out = k.batch("scale", 1, 2), k.batch("energies", 1, 4, "out")
    each, mean = k.temp("each", points, 3), k.temp("mean", 1, 3)

    def parts(r: Numbers, s: Numbers) -> Outputs:
        old = record.row(r) | state.row(s)
        one, two = old["traction1"] * old["slip1"], old["traction2"] * old["slip2"]
        return [[old["work"], one + two, old["accumulated_slip"]]]

    k.pointwise(parts, [records, states], [each])
    k.contract(mean, 2.0 * weights[None], each, [(0, 0), (1, 1)])
    k.contract(mean, _path_weights(weights, plain_mean), each, [(2, 2)])
    k.pointwise(_energies, [mean, scale], [out])
    return k


def jump_energies(record: Columns, modes: int, weights: np.ndarray, plain_mean: bool) -> Kernel:
    """Return the kernel of ``FAULT_ENERGIES`` for slip by the velocity jump.

    This slip is stored as ``modes`` on each face, so the traction at the points is projected on these modes first.
    """
    k, points = Kernel("fault_energies", fixed=True), len(weights)
    records, jumped = k.batch("record", points, record.size), k.batch("jumped", modes, JUMP_SLIP.size)
    work, scale, out = k.batch(JUMP_WORK, 1, 1), k.batch("scale", 1, 2), k.batch("energies", 1, 4, "out")
    back = k.matrix("back", modes, points, k.index("group"))
    traction, each = k.temp("traction", modes, 2), k.temp("each", modes, 1)
    path, mean = k.temp("path", 1, 1), k.temp("mean", 1, 1)
    k.contract(traction, back, records, [(record.places[f"traction{i}"].start, i - 1) for i in (1, 2)])
    k.pointwise(lambda t, s: [[t[0] * s[0] + t[1] * s[1]]], [traction, jumped], [each])
    k.contract(mean, np.full((1, modes), 2.0), each)
    k.contract(path, _path_weights(weights, plain_mean), records, [(record.places[JUMP_PATH[0]].start, 0)])
    k.pointwise(lambda w, m, p, a: _energies([w[0], m[0], p[0]], a), [work, mean, path, scale], [out])
    return k


def _path_weights(weights: np.ndarray, plain_mean: bool) -> np.ndarray:
    """Return the weights (1, p) of the mean of path lengths."""
    return np.full((1, len(weights)), 1.0 / len(weights)) if plain_mean else 2.0 * weights[None]


def _energies(mean: Numbers, a: Numbers) -> Outputs:
    """Return the energies of a face from its mean work, mean traction times slip and mean path length."""
    return [[a[0] * mean[0], -0.5 * a[0] * mean[1], a[1] * mean[2], a[0] * mean[2]]]


def loaded_slip(state: Columns, points: int) -> Kernel:
    """Return the kernel that sums, over the points of a face, ``loads`` (p,) times accumulated slip."""
    k = Kernel("loaded_slip", fixed=True)
    states, loads = k.batch("state", points, state.size), k.batch("loads", points, 1)
    each, out = k.temp("each", points, 1), k.batch("sum", 1, 1, "out")
    slip = states.view(0, points, state.places["accumulated_slip"].start, 1)
    k.pointwise(lambda a, s: [[a[0] * s[0]]], [loads, slip], [each])
    k.contract(out, np.ones((1, points)), each)
    return k


__all__ = ["FAULT_ENERGIES", "fault_energies", "jump_energies", "loaded_slip"]
