"""Common operations of forms in components of the reference cell: face gradients, tensors, and sums without zero terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from faultwave.base.quantities import Parameter
from faultwave.dg.method.forms.cells import Cells
from faultwave.dg.method.forms.constants import DIRECTIONS
from faultwave.dg.method.forms.general import Form
from faultwave.dg.method.formula import Formula, Outputs
from faultwave.kernels import math as mth
from faultwave.kernels.expr import Number, Numbers
from faultwave.kernels.language import Array, Kernel, View
from faultwave.physics.waves.law import dot

if TYPE_CHECKING:

    class Equations(Protocol):
        """Wave law as far as its equations are concerned, see ``physics.waves.law.Law``."""

        @property
        def quantities(self) -> tuple[str, ...]: ...
        @property
        def parameters(self) -> tuple[Parameter, ...]: ...
        @property
        def channels(self) -> int: ...
        @property
        def face_channels(self) -> int: ...
        @property
        def traction_is_flux(self) -> bool: ...

        def constants(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]: ...
        def impedance(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]: ...
        def rates(self, values: dict[str, np.ndarray]) -> tuple[np.ndarray, ...]: ...
        @property
        def rate(self) -> Callable[..., Sequence[Number]]: ...
        @property
        def flux(self) -> Callable[..., Sequence[Number]]: ...
        @property
        def potential(self) -> Callable[..., Sequence[Number]]: ...
        @property
        def apply_impedance(self) -> Callable[..., Sequence[Number]]: ...


PAIR = ((0, 3, 5), (3, 1, 4), (5, 4, 2))
"""Column of component ab of a symmetric tensor."""

GRADIENT = np.concatenate([-np.ones((1, 3)), np.eye(3)]) @ DIRECTIONS.T
"""Gradients (4, 3) of the barycentric coordinates along ``DIRECTIONS``."""


def combine(weights: Sequence[float], values: Numbers) -> Any:
    """Return sum_i weights[i] values[i] without zero terms and unit factors."""
    total = None
    for w, x in zip(weights, values, strict=True):
        if w == 0.0:
            continue
        if total is None:
            total = x if w == 1.0 else -x if w == -1.0 else w * x
        else:
            total = total + x if w == 1.0 else total - x if w == -1.0 else total + w * x
    return total


def metric(inverse: np.ndarray) -> np.ndarray:
    """Return the six components (nc, 6) of J^-1 J^-T."""
    full = np.einsum("nax,nbx->nab", inverse, inverse)
    return full[:, [0, 1, 2, 0, 1, 0], [0, 1, 2, 1, 2, 2]]


def turned(metric: Numbers, face: int) -> list[Number]:
    """Return G g of a face from the six components of G."""
    return [combine(GRADIENT[face], [metric[PAIR[a][b]] for b in range(3)]) for a in range(3)]


def both_sides(tensor: Numbers, rows: Sequence[Numbers]) -> list[Number]:
    """Return the six components of A s A^T of a symmetric tensor s and the matrix A with the given ``rows``."""
    once = [[dot(row, [tensor[PAIR[a][b]] for a in range(3)]) for b in range(3)] for row in rows]
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))
    return [dot(once[x], rows[y]) for x, y in pairs]


def select_stress(form: Form, k: Kernel, source: View, face: int) -> tuple[View, list[tuple[int, int]]]:
    """Select s g of a face, where s is the first six columns of ``source``.

    Returns
    -------
    view : View
        Array that holds s g: ``source`` itself if g has one component, else a temporary.
    columns : list of (int, int)
        Columns of the contraction with the trace matrix of the face.
    """
    g = GRADIENT[face]
    if np.count_nonzero(g) == 1:
        b = int(np.flatnonzero(g)[0])
        return source, [(PAIR[a][b], a) for a in range(3)]
    pair = k.scratch("pair", form.b3, 3).view(0, source.rows)
    k.pointwise(lambda q: [[combine(g, [q[PAIR[a][b]] for b in range(3)]) for a in range(3)]], [source], [pair])
    return pair, [(a, a) for a in range(3)]


def inverse(x: Number) -> Number:
    """Return 1/x, and 0 for x = 0: fluids carry no shear."""
    return mth.where(x > 0.0, 1.0 / mth.where(x > 0.0, x, 1.0), 0.0)


def probes(count: int, first: int) -> np.ndarray:
    """Return ``count`` numbers in (0, 1) without a pattern, from number ``first`` on: multiples of the golden ratio modulo one.

    NumPy's generators take 5 ms to import.
    """
    return np.asarray(np.arange(first + 1.0, first + count + 1.0) * (0.5 * 5.0**0.5 + 0.5) % 1.0)


def same_equations(law: Equations, known: Equations) -> bool:
    """Return True if two laws have equal quantities, parameters and equations, compared by their functions at probe values."""

    def sizes(of: Equations) -> tuple[object, ...]:
        names = sorted(p.name for p in of.parameters)
        return names, of.quantities, of.channels, of.face_channels, of.traction_is_flux

    if sizes(law) != sizes(known):
        return False
    values = {p.name: 0.5 + 1.5 * probes(1, i) for i, p in enumerate(known.parameters)}
    m = known.channels
    q, n, x, divergence = (probes(size, 20 * i) - 0.5 for i, size in enumerate((len(known.quantities), 3, m, m), 1))
    gradient = (probes(3 * m, 100) - 0.5).reshape(3, m)

    def answers(of: Equations) -> list[np.ndarray]:
        material, z = ([float(v[0]) for v in given] for given in (of.constants(values), of.impedance(values)))
        rate = of.rate(divergence, gradient, material)
        found = (z, of.flux(q, n), of.potential(q), rate, of.apply_impedance(z, n, x), of.rates(values))
        return [np.asarray(v, float).reshape(-1) for v in found]

    pairs = zip(answers(law), answers(known), strict=True)
    return all(a.shape == b.shape and np.allclose(a, b) for a, b in pairs)


class ComponentForm(Form):
    """Form in components of the reference cell, whose faces need no frames; face columns are h, the neighbour's impedances, a, b."""

    self_contained = False

    def outward(self, q: Numbers, cell: Numbers) -> list[Number]:
        raise NotImplementedError(f"no penalties in the components of {type(self).__name__}")

    inward = outward

    def flow(self, t: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        raise NotImplementedError(f"no friction in the components of {type(self).__name__}")

    def own_trace(self, k: Kernel, source: View, i: int, out: View, face: Array) -> None:
        self._trace(k, source, i, out)

    def _trace(self, k: Kernel, source: View, face: int, out: View) -> None:
        """Compute the trace that ``split`` takes, in the cell's components: out (rows2, 2 face channels)."""
        raise NotImplementedError

    def flow_jump(self, w: Numbers, u: Numbers, cell: Numbers, face: Numbers, i: int) -> list[Number]:
        """Return the jump of the flow in the cell's components from the neighbour's w and the stored u (three components)."""
        raise NotImplementedError

    def lift_vectors(
        self, k: Kernel, q: Array, cell: Array, face: Array, receive: Callable[[int, Array], None], own_waves: Array,
        add: Formula,
    ) -> None:  # fmt: skip
        """Apply ``lift`` for a flow of three components.

        The jumps of all faces are extended into the cell (b3, 12), and ``add(jumps, cell, q, *faces)`` returns the new
        q.
        """
        arrived, jump = k.temp("arrived", self.b2, 3), k.temp("jump", self.b2, 3)
        lifted = k.temp("lifted", self.b3, 12)
        for i in range(4):
            receive(i, arrived)

            def flow_jump(w: Numbers, u: Numbers, cell: Numbers, face: Numbers, i: int = i) -> Outputs:
                return [self.flow_jump(w, u, cell, face, i)]

            k.pointwise(flow_jump, [arrived, own_waves.view(i * self.b2, self.b2), cell, face.view(i, 1)], [jump])
            self.extend(k, jump.view(), i, lifted.view(), [(a, 3 * i + a) for a in range(3)])
        k.pointwise(add, [lifted, cell, q, *[face.view(i, 1) for i in range(4)]], [q])

    def face_constants(self, cells: Cells) -> np.ndarray:
        height = 3.0 * cells.volume[:, None] / cells.areas
        return np.concatenate([height[..., None], self.both_impedances(cells)[1], self.arriving(cells)], 2)
