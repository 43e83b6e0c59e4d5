"""How a law's cells are advanced: in its own quantities (any law), or in components that suit the reference cell (some).

``form`` chooses; what leaves a cell (waves, receivers, outputs, checkpoints) is physical in every form.
"""

from __future__ import annotations

from faultwave.engines.dg.forms.contravariant import ContravariantElastic
from faultwave.engines.dg.forms.covariant import CovariantMaxwell
from faultwave.engines.dg.forms.fluid import ContravariantAcoustic
from faultwave.engines.dg.forms.plain import Cells, Form, derivative_rows, face_rows, onto_face
from faultwave.laws import Law

FAST: dict[str, type[Form]] = {
    "elastic": ContravariantElastic, "acoustic": ContravariantAcoustic, "maxwell": CovariantMaxwell,
}  # fmt: skip
"""Law name -> a form with fewer operations."""


def form(law: Law, order: int, unit: float = 1.0, fast: bool = True) -> Form:
    """The form of a law: the fast one where there is one and ``fast`` allows it. ``unit`` of time [s] in the kernels."""
    found = FAST.get(law.name, Form)
    return (found if fast and found.suits(law) else Form)(law, order, unit)


__all__ = ["FAST", "Cells", "Form", "derivative_rows", "face_rows", "form", "onto_face"]
