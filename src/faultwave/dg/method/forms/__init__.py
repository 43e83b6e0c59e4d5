"""Forms of wave laws: the equations of a cell in the law's own quantities (any law) or in components of the reference cell (some).

``form`` chooses; data that leave a cell (waves, receivers, outputs, checkpoints) are physical in every form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from faultwave.dg.method.forms.acoustic import ContravariantAcoustic
from faultwave.dg.method.forms.anisotropic import FullStiffness
from faultwave.dg.method.forms.cells import Cells, PenalisedFaces
from faultwave.dg.method.forms.elastic import (
    ContravariantElastic,
    ContravariantViscoelastic,
    LeanElastic,
    PreciseElastic,
)
from faultwave.dg.method.forms.face_coupling import onto_face
from faultwave.dg.method.forms.general import Form
from faultwave.dg.method.forms.two_curls import CovariantCurls
from faultwave.dg.method.predictors import CellTerms, Predictor
from faultwave.physics.waves import Law

FORMS: tuple[type[Form], ...] = (
    ContravariantElastic,
    ContravariantViscoelastic,
    ContravariantAcoustic,
    CovariantCurls,
    FullStiffness,
)
"""Forms with fewer operations; ``suits`` of each states the laws it is valid for."""


@lru_cache(maxsize=32)
def form(
    law: Law,
    order: int,
    unit: float = 1.0,
    fast: bool = True,
    predictor: Callable[[CellTerms], Predictor] | None = None,
    narrow: bool = False,
    precise: bool = False,
) -> Form:
    """Return the form of a law: a fast one if one suits the law and ``fast`` allows it.

    Equal arguments return the same object, whose kernels are shared.

    Parameters
    ----------
    law : Law
        Wave law.
    order : int
        Order of convergence.
    unit : float
        Unit of time in the kernels [s].
    fast : bool
        Allow the forms in ``FORMS``.
    predictor : callable, optional
        Constructor of the time expansion; the form's own by default.
    narrow : bool
        Store waves in single precision.
    precise : bool
        Store constants as sums of two single-precision numbers, if the form supports that.
    """
    found = next((kind for kind in FORMS if fast and kind.suits(law)), Form)
    if found is ContravariantElastic:
        found = LeanElastic if narrow else PreciseElastic if precise else found
    return found(law, order, unit, predictor or found.predictor_of(law), narrow)


__all__ = ["FORMS", "Cells", "Form", "PenalisedFaces", "form", "onto_face"]
