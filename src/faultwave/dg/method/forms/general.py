"""Form of a wave law in its own quantities, available for every law.

Fluxes are transformed to the reference cell before each derivative (docs/theory/formulation.md, "Strong form in space";
docs/theory/time-stepping.md, "Predictor").

A cell has the degrees of freedom ``q`` (B3, Q) and the constants ``cell`` (1, ...) and ``face`` (4, ...). It publishes
for each face w = T - Z v of its time-integrated trace and stores u = T + Z_R v. With the incoming wave w_R = a
w_neighbour + b n (n . w_neighbour), the jump of the flow is dv = (Z + Z_R)^-1 (w_R - u) and the jump of the traction is
dT = Z dv.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faultwave.base.columns import Columns
from faultwave.dg.method.forms.face_coupling import FaceCoupling
from faultwave.dg.method.predictors import Decaying, Predictor, Taylor
from faultwave.kernels.language import Kernel
from faultwave.physics.waves import Law


class Form(FaceCoupling):
    """Statements of one law and order, and the constants they need.

    See ``Equations`` for the parameters.
    """

    state_columns: Columns | None = None  # names of the form's quantities, if they differ from the law
    derivative_columns: Columns | None = None  # names of the columns that ``differentiate`` fills
    trace_columns: Columns | None = None  # names of the columns of a face's trace

    @classmethod
    def suits(cls, law: Law) -> bool:
        """Return True if the form is valid for this law and its variant."""
        return True

    @classmethod
    def predictor_of(cls, law: Law) -> Callable[..., Predictor]:
        """Return the default constructor of the time expansion."""
        return Decaying if law.decays else Taylor

    def name_columns(self, k: Kernel) -> None:
        """Name the columns of the arrays that a kernel has from this form, for printed formulas.

        Parameters
        ----------
        k : Kernel
            A kernel with all its statements.
        """
        vector = ("x", "y", "z")
        faces = [f"face{i}_{axis}" for i in range(4) for axis in vector]
        state = self.state_columns.component_names if self.state_columns else tuple(self.law.quantities)
        names: list[tuple[Sequence[str], Sequence[str]]] = [
            (state, ("q", "total", "current", "series", "history", "remainder", "later", "terma", "termb", "total0")),
            (self.cell_columns.component_names, ("cell", "whole_cell")),
            (self.face_columns.component_names, ("face", "whole_face")),
            (self.derivative_columns.component_names if self.derivative_columns else (), ("after",)),
            (self.trace_columns.component_names if self.trace_columns else (), ("trace",)),
            (vector, ("wave", "waves", "own_waves", "arrived", "jump", "pair")),
            (faces, ("lifted",)),
        ]
        for columns, arrays in names:
            k.name_columns(
                columns, *(a for n in arrays if (a := k.arrays.get(n)) is not None and a.cols == len(columns))
            )
