"""Imposed slip in one sub-step: the whole slip occurs in the sub-step that contains the onset (deck number 35)."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.kernels import math as m
from faultwave.kernels.types import Number
from faultwave.physics.friction.imposed import SLIP, Imposed, check_onset
from faultwave.physics.friction.law import Values
from faultwave.physics.friction.loading.nucleation import unmistakable


class Delta(Imposed):
    name = "imposed-delta"
    title = "Imposed slip, all at once"
    deck_number = 35
    parameters = SLIP
    kernel_parameters = ("slip1", "slip2", "rupture_onset")

    def times(self, p: Values) -> dict[str, np.ndarray]:
        return {"rupture_onset": unmistakable(p["rupture_onset"])}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        check_onset(p, np.full(len(points), True), points, problems)
        return problems

    def done(self, p: Values, t: Number) -> Number:
        return m.where(t > 0.0, 0.0 * t + 1.0, 0.0 * t)


IMPOSED_DELTA = Delta()
