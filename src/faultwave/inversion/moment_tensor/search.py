"""Search of the centroid: the quadratic misfit of tensors at every place and time, and its smallest values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import RunError
from faultwave.inversion.assembly import assemble, make_data
from faultwave.inversion.forward import BLOCK_BYTES, Forward
from faultwave.inversion.moment_tensor.estimate import (
    Estimate,
    Misfit,
    determined,
    estimate,
    freedom,
    no_estimate,
    smallest_misfits,
)
from faultwave.inversion.moment_tensor.plan import MomentTensorPlan
from faultwave.inversion.noise import Noise

UNLIKELY = 50.0
"""Misfit above the smallest one beyond which a place and time has a negligible probability."""


@dataclass(frozen=True)
class Search:
    """Smallest misfits of all places and times.

    Attributes
    ----------
    best : tuple of int
        Number of the place and of the time with the smallest misfit.
    misfit : ndarray (places, times)
        Smallest misfit of tensors of the kind, infinite where data do not determine them; of deviatoric tensors, a lower bound, where
        that excludes double couples.
    estimates : tuple of Estimate
        Estimate of each place at its best time.
    misfits : tuple of Misfit
        Quadratic misfit of each place and time, for the noise before its scale.
    scale : float
        Factor of the standard deviations of noise that follows from the misfit, 1 if it is known.
    data : ndarray (n,)
        Data.
    noise : Noise
        Their noise, with a scale that follows from the misfit if it is unknown.
    forward : Forward
        Prediction from the best place and time.
    """

    best: tuple[int, int]
    misfit: np.ndarray
    estimates: tuple[Estimate, ...]
    misfits: tuple[Misfit, ...]
    scale: float
    data: np.ndarray
    noise: Noise
    forward: Forward

    @property
    def probability(self) -> np.ndarray:
        """Probability (places, times) of each place and time, proportional to the likelihood of its best tensor."""
        found = np.exp(-0.5 * (self.misfit - self.misfit.min()))
        return np.asarray(found / found.sum())

    @property
    def estimate(self) -> Estimate:
        """Estimate at the best place and time."""
        return self.estimates[self.best[0]]


def search(plan: MomentTensorPlan) -> Search:
    """Return the misfits of all places and times of a plan; see ``locate``."""
    inversion = plan.inversion
    data, noise = make_data(plan.seismograms, plan.window, inversion.noise, inversion.unit == "m", plan.offsets)
    return locate(plan, data, noise)


def locate(plan: MomentTensorPlan, data: np.ndarray, noise: Noise) -> Search:
    """Return the misfits of all places and times of a plan for data (n,) and their noise.

    Raises
    ------
    RunError
        If the data determine a tensor at no place and time.
    """
    inversion, kind = plan.inversion, plan.settings.kind
    misfits = [m for _, forward in _by_place(plan) for m in _misfits(forward, noise, data, plan.settings.windows)]
    count = len(plan.times)
    known = determined(misfits, kind)
    if not known.any():
        raise RunError(
            "the data do not determine the moment tensor: use more stations or components, fewer time windows, or another kind."
        )
    found = np.full((len(misfits) // count, count), np.inf)
    found.ravel()[known] = smallest_misfits([misfits[k] for k in np.flatnonzero(known)], kind)
    if kind == "double-couple":
        found, estimates = _double_couples(misfits, found, len(data))
    else:
        best = [(p * count + int(t), np.isfinite(found[p, t])) for p, t in enumerate(found.argmin(1))]
        estimates = [estimate(misfits[k], kind) if sound else no_estimate(plan.settings.windows) for k, sound in best]
    place, time = (int(k) for k in np.unravel_index(found.argmin(), found.shape))
    scale = 1.0
    if inversion.noise is not None and inversion.noise.scale == "auto":
        scale = float(np.sqrt(max(found.min(), 0.0) / (len(data) - freedom(kind, plan.settings.windows))))
        if not scale > 0.0:
            raise RunError("noise.scale cannot be estimated: the data are explained without noise. Set a number.")
        found = found / scale**2
        estimates = [e.scaled(scale) for e in estimates]
    forward = _prediction(plan, place, time)
    scaled = noise.with_scale(scale * noise.scale)
    return Search((place, time), found, tuple(estimates), tuple(misfits), scale, data, scaled, forward)


def _by_place(plan: MomentTensorPlan) -> Iterator[tuple[int, Forward]]:
    """Yield each place with the prediction from tensors at all its times, whose models are (times, windows, 6)."""
    frequencies = int(6 * plan.window.band.high * plan.file.duration) + 64
    block = max(1, BLOCK_BYTES // (96 * frequencies * max(1, len(plan.channels))))
    for begin in range(0, len(plan.location), block):
        part = slice(begin, begin + block)
        whole = assemble(plan.sources(part), plan.seismograms, plan.window, plan.every, plan.offsets)
        count = len(plan.location[part])
        for number in range(count):
            mine = slice(number, None, count)
            green = np.ascontiguousarray(whole.green[:, :, mine])
            yield begin + number, replace(whole, green=green, delay=whole.delay[mine], static=whole.static[:, mine])


def _misfits(forward: Forward, noise: Noise, data: np.ndarray, windows: int) -> list[Misfit]:
    """Return the quadratic misfit at each time of a place."""
    matrix = noise.whiten(forward.matmat(np.eye(forward.shape[1])))
    white = noise.whiten(data[:, None])[:, 0]
    each = matrix.reshape(len(data), -1, 6 * windows).transpose(1, 2, 0)
    constant = float(white @ white)
    return [Misfit(g @ g.T, g @ white, constant) for g in each]


def _prediction(plan: MomentTensorPlan, place: int, time: int) -> Forward:
    """Return the prediction from tensors (windows, 6) at a place and time."""
    sources = plan.sources(slice(place, place + 1))
    whole = assemble(sources, plan.seismograms, plan.window, plan.every, plan.offsets)
    return replace(whole, steps=whole.steps.reshape(len(plan.times), -1)[time])


def _double_couples(misfits: list[Misfit], bound: np.ndarray, size: int) -> tuple[np.ndarray, list[Estimate]]:
    """Return the misfits (places, times) of double couples and the estimate of each place at its best time.

    The misfit of deviatoric tensors is a lower bound: places and times that it excludes are not searched.
    """
    found, estimates = bound.copy(), dict[int, Estimate]()
    smallest, count = np.inf, bound.shape[1]
    for place in np.argsort(bound.min(1)):
        order = np.argsort(bound[place])
        for time in order[: int(np.isfinite(bound[place]).sum())]:
            here = estimates[place].misfit if place in estimates else np.inf
            if bound[place, time] >= here and bound[place, time] > smallest + UNLIKELY * max(1.0, smallest / size):
                break
            made = estimate(misfits[place * count + time], "double-couple")
            found[place, time] = made.misfit
            smallest = min(smallest, made.misfit)
            if made.misfit < here:
                estimates[int(place)] = made
        estimates.setdefault(int(place), no_estimate(misfits[0].windows))
    for place in range(len(bound)):  # bounds that exclude a time are not below the misfit of the best one
        found[place] = np.maximum(found[place], estimates[place].misfit)
    return found, [estimates[place] for place in range(len(bound))]
