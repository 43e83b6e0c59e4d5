"""How a law's cells are advanced: in its own quantities (any law), or in components that suit the reference cell (some).

``form`` chooses; what leaves a cell (waves, receivers, outputs, checkpoints) is physical in every form.
"""

from __future__ import annotations

from collections.abc import Callable

from faultwave.dg.forms.cells import Cells, PenalisedFaces
from faultwave.dg.forms.contravariant import ContravariantElastic
from faultwave.dg.forms.covariant import CovariantCurls
from faultwave.dg.forms.fluid import ContravariantAcoustic
from faultwave.dg.forms.full_stiffness import FullStiffness
from faultwave.dg.forms.lean_elastic import LeanElastic
from faultwave.dg.forms.plain import Form, onto_face
from faultwave.dg.forms.precise_elastic import PreciseElastic
from faultwave.dg.forms.viscoelastic import ContravariantViscoelastic
from faultwave.dg.predictors import CellTerms, Predictor
from faultwave.physics.waves import Law

FORMS: tuple[type[Form], ...] = (
    ContravariantElastic,
    ContravariantViscoelastic,
    ContravariantAcoustic,
    CovariantCurls,
    FullStiffness,
)
"""Forms with fewer operations; each says which laws it suits."""


def form(
    law: Law,
    order: int,
    unit: float = 1.0,
    fast: bool = True,
    predictor: Callable[[CellTerms], Predictor] | None = None,
    narrow: bool = False,
    precise: bool = False,
) -> Form:
    """The form of a law: the fast one where there is one and ``fast`` allows it. ``unit`` of time [s] in the kernels; ``predictor``:
    instead of the form's own; ``narrow``: waves lie in memory in single precision; ``precise``: constants in two numbers of single
    precision, where that is built."""
    found = next((kind for kind in FORMS if fast and kind.suits(law)), Form)
    if found is ContravariantElastic:
        found = LeanElastic if narrow else PreciseElastic if precise else found
    made = found(law, order, unit, predictor or found.predictor_of(law))
    made.narrow = narrow
    return made


__all__ = ["FORMS", "Cells", "Form", "PenalisedFaces", "form", "onto_face"]
