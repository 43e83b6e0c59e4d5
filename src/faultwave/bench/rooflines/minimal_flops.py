"""Useful flops of one element update: the minimum over known formulations, independent of what an engine computes.

Strong form, traces of characteristics, contravariant unknowns (docs/theory/formulation.md, "Strong form in space"): a step is the Taylor
sum of the predictor minus the lifted jumps of four faces. Everything is counted from the nonzeros of the reference matrices and from the
formulas below; constants of a cell or face are computed before the run, and a multiply-add counts two.

Elastic solid, scaled unknowns v = J^-1 velocity and s = (dt / rho) J^-1 stress J^-T, so that the time step is one:

* derivatives along e1, e2 - e1/2 and e3 - e2, whose matrices are sparsest; 3 columns of s and 3 of v each.
  dv^a = sum_b d_b s^ab is the contraction itself; ds^ab = G^ab l + G^ac d_c v^b + G^bc d_c v^a with G = mu J^-1 J^-T.
* trace of 6 columns per face. A face lies in a plane spanned by two edges of the cell, so its traction is three of the columns of s (for
  face 0 their sums), and rotating a vector to the face's orthonormal frame needs 1 + 5 + 5 flops.
  There the impedance is diagonal: w = T - Z v is outgoing, u = T + Z_R v remains.
* jump of v = (w_R - u) A with A = scale / (Z + Z_R), back to the cell's components, lifted: 3 columns.
  Jump of T = Z jump of v has five nonzero entries in them. Both enter the formulas of the predictor in place of d_b s^ab and d_c v^a:
  face a adds to direction a, face 0 to all three.

A fluid, sigma / K and v = J^-1 velocity: dsigma = div v is the contraction, dv^a = G^ab d_b sigma; one trace column of sigma and one of
v^a per face.

Lossless electromagnetic waves, components of E and H along the cell's edges: the curl's components d_b h_c - d_c h_b are the contraction
itself, two columns of each field per direction; a metric of six numbers transforms them to components along edges. A face needs the
components along its own two edges, for which the change to its frame is triangular: 1 + 3 flops.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from faultwave.dg.method.basis import matrices, tet_size, triangle_size


@dataclass(frozen=True)
class Form:
    """Flops of the leanest form of a law: contraction columns, and pointwise work per mode."""

    derivative_columns: int  # a direction
    trace_columns: int  # a face
    lift_columns: int
    rate: int  # of one mode of a derivative
    taylor: int  # adding one mode of it to the state and to its time integral
    flow: int  # one mode of the traction on face 0
    face: int  # one mode of one face: characteristics and jump
    spread: int  # one mode of the sum of the lifted jumps, its rate, and adding it


_TRANSFORM = 1 + 5 + 5  # a vector between the cell's components and the face's frame

FORMS = {
    "elastic": Form(
        derivative_columns=6,
        trace_columns=6,
        lift_columns=3,
        # div v 2, lambda / mu 1, G^bc d_c v^a 9 x 5; diagonal entries 1 + 2, off-diagonal ones 1 + 2
        rate=2 + 1 + 45 + 6 * 3,
        taylor=2 * 9 * 2,
        flow=3 * 2,
        # T and v to the frame, w and u, (w_R - u) A, back
        face=2 * _TRANSFORM + 2 * 6 + 6 + _TRANSFORM,
        # four faces' jump of T added 4 x 10, face 0's of v to all directions 9, rate 66, v 3 and s 9 added to the state
        spread=4 * 10 + 9 + 66 + 12,
    ),
    "acoustic": Form(
        derivative_columns=2,
        trace_columns=2,
        lift_columns=1,
        rate=3 * 5,
        taylor=2 * 4 * 2,
        flow=2,
        # sigma and v scaled: T 1, w and u 2 each; (w_R - u) A
        face=1 + 2 * 2 + 2,
        # face 0 to all directions 3, rate 15 and 3 added; jumps of sigma summed 3, scaled and added 2
        spread=3 + 15 + 3 + 3 + 2,
    ),
    "maxwell": Form(
        derivative_columns=4,
        trace_columns=4,
        lift_columns=2,
        rate=2 * 3 * 5,
        taylor=2 * 6 * 2,
        # e_2 - e_1 and e_3 - e_1 of both fields
        flow=2 * 2,
        # both fields to the frame, w and u, (w_R - u) A, back
        face=2 * 4 + 2 * 4 + 4 + 4,
        # four faces' jump of T added 4 x 8, face 0's two components to three 2 x 4, rate 30, six components added
        spread=4 * 8 + 2 * 4 + 30 + 6,
    ),
}


def derivative_nonzeros(order: int) -> int:
    """Return the nonzeros of the three sparsest derivative matrices over the N = order - 1 steps of the recursion."""
    d1, d2, d3 = matrices(order - 1).derivative
    rows = [tet_size(order - 1 - k) for k in range(order)]
    chosen = (d1, d2 - 0.5 * d1, d3 - d2)
    return sum(_nonzeros(d[: rows[k], : rows[k - 1]]) for d in chosen for k in range(1, order))


def trace_nonzeros(order: int) -> int:
    """Return the nonzeros of the trace matrices of the four faces."""
    return sum(_nonzeros(r) for r in matrices(order - 1).trace)


def _nonzeros(matrix: np.ndarray) -> int:
    return int((np.abs(matrix) > 1e-9).sum())  # differences of matrices leave rounding noise


def minimal_flops(law: str, order: int) -> int | None:
    """Return the flops of one element update in the leanest form; None for a law whose leanest form is not known."""
    form = FORMS.get(law)
    if form is None:
        return None
    cell, face = tet_size(order - 1), 4 * triangle_size(order - 1)
    derivatives = sum(tet_size(order - 1 - k) for k in range(1, order))
    return (
        2 * form.derivative_columns * derivative_nonzeros(order)
        + 2 * (form.trace_columns + form.lift_columns) * trace_nonzeros(order)
        + (form.rate + form.taylor) * derivatives
        + form.face * face
        + (form.flow + form.spread) * cell
    )


def useful_flops(law: str, order: int, executed: float) -> tuple[float, str]:
    """Return the useful flops of one element update, the fewest that are known to suffice, and where they are from.

    Parameters
    ----------
    law : str
        Wave law.
    order : int
        Order of convergence.
    executed : float
        Flops that the kernels execute, which are fewer than those of the leanest form at high orders.
    """
    leanest = minimal_flops(law, order)
    return (
        (executed, "engine's kernels") if leanest is None or executed <= leanest else (leanest, "leanest formulation")
    )
