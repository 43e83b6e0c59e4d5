"""Values that every fault point records in addition to the state of the friction law, and the energies that are summed from them.

All functions whose names begin with ``note`` are kernel functions.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.columns import Columns, Row
from faultwave.dg.method.formula import Outputs
from faultwave.kernels import math as m
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Kernel
from faultwave.physics.friction.load import Solved
from faultwave.physics.waves.law import dot

RUPTURE_RATE = 1e-3  # [m/s], above which a point counts as ruptured

RECORD = ("ruptured", "weakened", "traction1", "traction2", "traction_n", "strength", "work")
"""Columns of the record: rupture time, dynamic stress time, traction change, strength [Pa] and frictional work [J/m^2].

Tractions and strength are the values of the last sub-step.
"""

OVERWRITTEN = ("traction1", "traction2", "traction_n", "strength")
"""Columns of the record that each sub-step overwrites."""

BALANCED_TRACTION = ("felt1", "felt2")
"""Columns of the last change of shear traction in balance with friction.

They are recorded with smooth sliding, where the face may carry more traction than friction does.
"""

JUMP_PATH = ("moved",)
"""Column of the path length of the velocity jump [m]; slip and work by this jump are ``JUMP_SLIP`` and ``JUMP_WORK``."""

JUMP_SLIP = Columns(**dict.fromkeys(("moved1", "moved2")))
"""Slip along both tangents by the velocity jump [m], as face modes, since the time integral of a polynomial is one."""

JUMP_WORK = "work_moved"
"""Name of the mean work over a face by the velocity jump [J/m^2]."""

BREAKDOWN = ("dissipated", "path", "least", "breakdown")
"""Columns of the breakdown work (Tinti, Spudich & Cocco 2005).

Work against friction [J/m^2] and path length [m] since the start, the smallest shear traction while slipping [Pa], and the work in
excess of it done until it was reached, or until the dynamic stress of the law was.
"""

HUGE = 1e30
"""Initial value of the smallest shear traction [Pa]."""

FIRST_STEP_TIME = 1e-30
"""Rupture time [s] of points that fail in the very first step when the start of steps is recorded; 0 means never."""

CLOCK = Columns(**dict.fromkeys(("duration", "end", "mark")))
"""Times of a sub-step [s]: its duration, its end, and the time that marks a rupture."""


def recorded(moved: bool, breakdown: bool = False, smooth_sliding: bool = False) -> Columns:
    """Return the columns of the record.

    Parameters
    ----------
    moved : bool
        Include the path length of the velocity jump.
    breakdown : bool
        Include the breakdown work.
    smooth_sliding : bool
        Include the shear traction in balance with friction.
    """
    first, rest = RECORD[:-1], RECORD[-1:]
    return Columns(
        **dict.fromkeys(first + BALANCED_TRACTION * smooth_sliding + rest + JUMP_PATH * moved + BREAKDOWN * breakdown)
    )


def note(
    old: Row, last: Number, x: Solved, traction: Numbers, clock: Row, w: Numbers, whole_steps: bool
) -> dict[str, Number]:
    """Return the updated record of a point: rupture time, tractions, strength and frictional work.

    Parameters
    ----------
    old : dict
        Record before the sub-step.
    last
        Slip rate at the end of the previous sub-step [m/s].
    x : Solved
        Solution of the friction law.
    traction
        Traction change along n, s1, s2 [Pa].
    clock : Row
        Columns of ``CLOCK``.
    w
        Quadrature weight of the sub-step [s].
    whole_steps : bool
        Use ``clock.mark`` as rupture time instead of interpolating within the sub-step.
    """
    starts = (x.slip_rate > RUPTURE_RATE) & (old["ruptured"] <= 0.0)
    moment = clock.mark
    if not whole_steps:
        share = (RUPTURE_RATE - last) / m.maximum(x.slip_rate - last, 1e-300)
        moment = moment + clock.duration * m.minimum(m.maximum(share, 0.0), 1.0)
    return old | {
        "ruptured": m.where(starts, moment, old["ruptured"]),
        "traction_n": traction[0],
        "traction1": traction[1],
        "traction2": traction[2],
        "strength": x.strength,
        "work": old["work"] - w[0] * (traction[1] * x.slip_rate1 + traction[2] * x.slip_rate2),
    }


def update_breakdown(old: Row, x: Solved, total: Numbers, w: Numbers) -> dict[str, Number]:
    """Return the updated ``BREAKDOWN`` columns after a sub-step that ends with the total shear traction ``total`` [Pa]."""
    size = m.sqrt(dot(total, total))
    dissipated = old["dissipated"] + w[0] * (total[0] * x.slip_rate1 + total[1] * x.slip_rate2)
    path = old["path"] + w[0] * x.slip_rate
    falls = (x.slip_rate > 0.0) & (size < old["least"]) & (old["weakened"] <= 0.0)
    return {
        "dissipated": dissipated,
        "path": path,
        "least": m.where(falls, size, old["least"]),
        "breakdown": m.where(falls, dissipated - size * path, old["breakdown"]),
    }


def update_jump_path(path: Numbers, jump: Numbers, w: Numbers) -> Outputs:
    """Return the updated path length of the velocity jump."""
    return [[path[0] + w[0] * m.sqrt(dot(jump, jump))]]


# fmt: skip


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
