"""Attenuation of a case: relaxation mechanisms of every cell for its quality factors."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.case.settings.model import Case
from faultwave.domain import tets
from faultwave.media.attenuation import Mechanisms, maxwell_elements
from faultwave.media.quality import clip_quality, report_bounds, spectrum_of
from faultwave.physics.waves import Law
from faultwave.physics.waves.viscoelastic import element_names

ELEMENTS = 3
"""Default number of relaxation mechanisms."""


def mechanisms_of(case: Case, problems: Problems) -> Mechanisms:
    """Return the frequency band and the relaxation mechanisms of a case with attenuation."""
    assert case.attenuation is not None
    return Mechanisms(spectrum_of(case.attenuation, 0.0, problems), case.attenuation.mechanisms or ELEMENTS)


def attenuates(law: Law) -> bool:
    """Return True if quality factors are among the parameters of a law."""
    return {"Qp", "Qs"} <= {p.name for p in law.parameters}


def relaxing(
    case: Case, law: Law, material: dict[str, np.ndarray], shape: tets.Geometry, problems: Problems
) -> dict[str, np.ndarray]:
    """Return the material (nc,) by name with unrelaxed moduli and the Maxwell elements of every cell.

    It is returned unchanged if ``law`` has no attenuation; ``shape`` is the geometry of the cells.
    """
    setting = case.attenuation
    if not attenuates(law) or not material:
        if setting is not None and not attenuates(law):
            problems.error("attenuation", f"does not exist for the {law.name} law", "law: viscoelastic, or no law")
        return material
    if setting is None or setting.high is None:
        what = "the viscoelastic law needs the band" if setting is None else "high is missing: the highest frequency"
        problems.error("attenuation", f"{what} over which Q is constant", "attenuation: {high: 5 Hz}")
        return material
    with collect_problems(problems):
        mechanisms = mechanisms_of(case, problems)
        medium, centres = dict(material), shape.centroids
        gains, strong = clip_quality(medium, centres)
        report_bounds(gains, strong, setting.limit, (len(centres), "cells"), problems)
        found = maxwell_elements(mechanisms, medium)
        medium |= {"lambda": found.lam, "mu": found.mu}
        for i, rate in enumerate(mechanisms.rates):
            lam, mu, name = element_names(i + 1)
            medium |= {lam: found.element_lam[:, i], mu: found.element_mu[:, i], name: np.full(len(centres), rate)}
        return medium
    return material


def report(case: Case, material: dict[str, np.ndarray], longest_step: float) -> list[tuple[str, ...]]:
    """Return the rows of a plan's report about the fit of the quality factors."""
    mechanisms = mechanisms_of(case, Problems())
    s, rows = mechanisms.spectrum, []
    band = f"{s.low:.4g} to {s.high:.4g} Hz, {mechanisms.count} mechanisms, speeds of {s.reference:.4g} Hz"
    rows.append(("attenuation", band))
    for name in ("Qp", "Qs"):
        finite = material[name][np.isfinite(material[name])]
        for q in np.unique([finite.min(), finite.max()]) if len(finite) else ():
            error = f"within {100 * mechanisms.error(float(q)):.2g} % over the band"
            rows.append((f"{name} = {q:.6g}", error))
    return [*rows, ("longest step that resolves the fastest mechanism", f"{longest_step:.4g} s")]
