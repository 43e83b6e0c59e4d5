"""Imposed slip: the slip rate is prescribed and the traction results (docs/theory/friction.md, "Imposed slip rate").

Base of the laws of imposed slip. Each defines the fraction of the final slip at a time. A sub-step slips by the increment of this
fraction, so that the final slip is exact for any time step.
"""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels.types import Number
from faultwave.physics.friction.law import Directions, FrictionLaw, Load, Values, report

SLIP = (
    Parameter("strike_slip", "m", "slip along the strike vector; positive is right-lateral (z up)"),
    Parameter("dip_slip", "m", "slip along the dip vector; positive is reverse if plus is the hanging wall"),
    Parameter("rupture_onset", "s", "when slip starts"),
)
"""Parameters of all laws of imposed slip."""


class Imposed(FrictionLaw):
    """Base of the friction laws with imposed slip: slip along the face tangents times a rate function of unit integral."""

    solver = "imposed"
    work = 0.9
    needs_stress = False
    outputs = ()

    def prepare(self, p: Values, c: Values, directions: Directions | None) -> dict[str, np.ndarray]:
        """Rotate slip along (strike, dip) to the face tangents; ``directions`` is required."""
        if directions is None:
            raise ValueError(f"{self.name}: slip along strike and dip needs their directions on the face")
        d, strike, dip = directions, p["strike_slip"], p["dip_slip"]
        result = {"slip1": strike * d.strike1 + dip * d.dip1, "slip2": strike * d.strike2 + dip * d.dip2}
        return result | self.times(p)

    def times(self, p: Values) -> dict[str, np.ndarray]:
        """Return the kernel parameters other than slip, (n,) each."""
        raise NotImplementedError

    def initial(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray) -> dict[str, np.ndarray]:
        return {"friction": np.zeros_like(p["slip1"], dtype=float)}

    def rates(self, p: Values, c: Values, load: Load) -> tuple[Number, Number]:
        """Return the slip rates along the tangents [m/s] in the sub-step that ends at ``load.t`` (kernel)."""
        shape = self.shape(p, c, load)
        return p["slip1"] * shape, p["slip2"] * shape

    def shape(self, p: Values, c: Values, load: Load) -> Number:
        """Return the mean over the sub-step of the rate function of unit integral [1/s] (kernel)."""
        return self.grown(p, load.t - p["rupture_onset"], load.dt) / load.dt

    def grown(self, p: Values, t: Number, dt: Number) -> Number:
        """Return the fraction of the slip in the interval of length ``dt`` that ends ``t`` after the onset (kernel)."""
        return self.done(p, t) - self.done(p, t - dt)

    def done(self, p: Values, t: Number) -> Number:
        """Return the fraction of the slip until ``t`` after the onset (kernel)."""
        raise NotImplementedError


def check_onset(p: Values, at_once: np.ndarray, points: np.ndarray, problems: Problems) -> None:
    """Report instantaneous slip with an onset before the start of the run: it would never happen."""
    slips = (p["strike_slip"] != 0) | (p["dip_slip"] != 0)
    bad = at_once & slips & (p["rupture_onset"] < 0)
    report(
        problems,
        bad,
        points,
        "rupture_onset is",
        p["rupture_onset"],
        ">= 0 s, the start of the run, for slip all at once",
    )


__all__ = ["SLIP", "Imposed", "check_onset"]
