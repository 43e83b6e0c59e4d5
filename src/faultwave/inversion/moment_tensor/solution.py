"""Solution of a plan for a moment tensor: search, uncertainty, decomposition and fit."""

from __future__ import annotations

import numpy as np

from faultwave.base.errors import RunError
from faultwave.campaign.sources import moment_magnitude
from faultwave.inversion.moment_tensor.estimate import DOUBLED, estimate
from faultwave.inversion.moment_tensor.mechanism import decompose, planes, scalar_moment
from faultwave.inversion.moment_tensor.neighbours import outward, spacing
from faultwave.inversion.moment_tensor.plan import MomentTensorPlan
from faultwave.inversion.moment_tensor.result import MomentTensorResult
from faultwave.inversion.moment_tensor.search import Search, search

RESOLVED = 0.5
"""Smallest standard deviation, as a fraction of the spacing of places or times, that these resolve."""


def solve_moment_tensor(plan: MomentTensorPlan) -> MomentTensorResult:
    """Return the moment tensor and the centroid of a plan.

    Raises
    ------
    RunError
        If the data do not determine a tensor, or contain no sign of one.
    """
    found = search(plan)
    best = found.estimate
    if not scalar_moment(best.total) > 0.0:
        raise RunError("the best tensor is zero: the data contain no motion.")
    predicted = found.forward.matmat(best.tensors.reshape(-1, 1))[:, 0]
    samples, centroids = _samples(plan, found)
    series, static = slice(plan.samples), slice(plan.samples, None)
    shape, sigma, offsets = (len(plan.channels), plan.window.count), found.noise.deviations, plan.offsets
    totals, times = np.array([e.total for e in found.estimates]), centroid_times(plan, found)
    return MomentTensorResult(
        best.total, best.covariance, best.tensors, np.array(planes(best.total)), best.deviations, samples, centroids, plan.geographic,
        plan.times, found.misfit, found.probability, totals, times, tuple(plan.channels),
        plan.window.time, found.data[series].reshape(shape), predicted[series].reshape(shape),
        sigma[series].reshape(shape), offsets.names, offsets.place, offsets.direction, found.data[static],
        predicted[static], sigma[static], _numbers(plan, found, predicted),
    )  # fmt: skip


def _samples(plan: MomentTensorPlan, found: Search) -> tuple[np.ndarray, np.ndarray]:
    """Return samples (n, 6) of the tensor, and their centroids (n, 4): longitude, latitude, z and time."""
    rng, count = np.random.default_rng(plan.inversion.seed), plan.inversion.samples
    chosen = np.sort(rng.choice(found.probability.size, count, p=found.probability.ravel()))
    tensors, later = np.empty((count, 6)), np.empty(count)
    for number in np.unique(chosen):
        here = estimate(found.misfits[number], plan.settings.kind).scaled(found.scale)
        later[chosen == number] = plan.settings.half_duration * here.delay
        for row in np.flatnonzero(chosen == number):
            tensors[row] = here.draw(rng)
    place, time = np.divmod(chosen, len(plan.times))
    return tensors, np.concatenate([plan.geographic[place], (plan.times[time] + later)[:, None]], 1)


def centroid_times(plan: MomentTensorPlan, found: Search) -> np.ndarray:
    """Return the time (places,) of the centroid of all time windows at each place [s]."""
    later = [plan.settings.half_duration * e.delay for e in found.estimates]
    return np.asarray(plan.times[found.misfit.argmin(1)] + later)


def _numbers(plan: MomentTensorPlan, found: Search, predicted: np.ndarray) -> dict[str, float]:
    best, (place, time), probability = found.estimate, found.best, found.probability
    moment, parts = float(scalar_moment(best.total)), decompose(best.total)
    slope = 0.5 * DOUBLED * best.total / moment
    deviation = float(np.sqrt(max(slope @ best.covariance @ slope, 0.0)))
    longitude, latitude, z = plan.geographic[place]
    searched = np.isfinite(found.misfit).any(1)
    points, number = plan.location[searched], int(searched[:place].sum())
    side = outward(points, number)
    step = [*spacing(points, number), float(plan.times[1] - plan.times[0]) if len(plan.times) > 1 else 0.0]
    spread = [_deviation(plan.location[:, axis], probability.sum(1), step[axis]) for axis in range(3)]
    residuals = found.data - predicted
    white = found.noise.whiten(residuals[:, None])[:, 0]
    series, static = slice(plan.samples), slice(plan.samples, None)
    return {
        "moment": moment, "moment_deviation": deviation, "magnitude": moment_magnitude(moment),
        "magnitude_deviation": deviation / (1.5 * np.log(10.0) * moment), "isotropic": parts.isotropic,
        "clvd": parts.clvd, "double_couple": parts.double_couple, "longitude": float(longitude),
        "latitude": float(latitude), "z": float(z), "x_deviation": spread[0], "y_deviation": spread[1],
        "z_deviation": spread[2], "outward_x": float(side[0]), "outward_y": float(side[1]), "outward_z": float(side[2]),
        "centroid_time": float(centroid_times(plan, found)[place]),
        "time_deviation": _deviation(plan.times, probability.sum(0), step[3]),
        "undetermined": float((~searched).sum()),
        "x_spacing": step[0], "y_spacing": step[1], "z_spacing": step[2], "time_spacing": step[3],
        "time_limited": float(len(plan.times) > 1 and time in (0, len(plan.times) - 1)),
        "variance_reduction": _reduction(residuals[series], found.data[series]),
        "offset_variance_reduction": _reduction(residuals[static], found.data[static]),
        "chi2": float((white**2).mean()),
        "offset_chi2": float((white[static] ** 2).mean()) if len(plan.offsets) else float("nan"),
        "noise_scale": found.noise.scale, "half_duration": float(plan.settings.half_duration),
    }  # fmt: skip


def _deviation(values: np.ndarray, probability: np.ndarray, spacing: float) -> float:
    """Return the standard deviation of values (n,) with their probabilities, or their spacing if that does not resolve it."""
    mean = values @ probability
    found = float(np.sqrt(max(float((values - mean) ** 2 @ probability), 0.0)))
    return spacing if found < RESOLVED * spacing else found


def _reduction(residuals: np.ndarray, data: np.ndarray) -> float:
    """Return one minus the squared residuals over the squared data, NaN without data."""
    return float(1.0 - (residuals**2).sum() / (data**2).sum()) if len(data) else float("nan")
