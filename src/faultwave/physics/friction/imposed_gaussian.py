"""Imposed slip that follows the smooth step of nucleation over a rise time (deck number 34)."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.quantities import Parameter
from faultwave.kernels.types import Number
from faultwave.physics.friction.imposed import SLIP, Imposed, check_onset
from faultwave.physics.friction.law import Values
from faultwave.physics.friction.loading.nucleation import smooth_step, unmistakable


class Gaussian(Imposed):
    name = "imposed-gaussian"
    title = "Imposed slip, Gaussian smooth step"
    deck_number = 34
    parameters = (*SLIP, Parameter("rupture_rise_time", "s", "rise time; 0 slips at once", lower=0.0))
    kernel_parameters = ("slip1", "slip2", "rupture_onset", "rupture_rise_time")

    def times(self, p: Values) -> dict[str, np.ndarray]:
        onset, rise = (np.array(p[name], float) for name in ("rupture_onset", "rupture_rise_time"))
        return {"rupture_onset": np.where(rise > 0, onset, unmistakable(onset)), "rupture_rise_time": rise}

    def check(self, p: Values, c: Values, tau: np.ndarray, sigma: np.ndarray, points: np.ndarray) -> Problems:
        problems = super().check(p, c, tau, sigma, points)
        check_onset(p, p["rupture_rise_time"] == 0, points, problems)
        return problems

    def done(self, p: Values, t: Number) -> Number:
        return smooth_step(t, p["rupture_rise_time"])


IMPOSED_GAUSSIAN = Gaussian()
