"""Properties of a finished rupture: maps, rupture speed, moment rate and its spectrum, source parameters.

Definitions and references: docs/theory/friction.md, "Source parameters".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from faultwave.base.errors import Problem
from faultwave.base.formulas import magnitude
from faultwave.observe.dataset import Dataset, Result, Variable

INNER = np.array([[1.0, 1.0], [4.0, 1.0], [1.0, 4.0]]) / 6.0
"""Points (3, 2) in reference coordinates of a triangle that represent linear functions."""
_CURVED = 1e-3
"""Regularisation weight of the curvature of a front, for fits with few faces."""
_ROWS = 200_000
"""Number of face pairs that are processed at once."""


def rupture_speed(corners: np.ndarray, times: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """Return the rupture speed (n,) [m/s] on triangles.

    The speed is 1/|grad t| of the quadratic function that best fits the rupture times of the triangle and of those that share a vertex
    with it. The fit over several faces is accurate at low orders too, where the times of a single face hardly determine a gradient. The
    result is NaN if the triangle or all but one of its neighbours have not ruptured, or if all rupture at once.

    Parameters
    ----------
    corners : ndarray of shape (n, 3, 3)
        Corners of the triangles [m].
    times : ndarray of shape (n, 3)
        Rupture times at the points INNER of each triangle [s], NaN if not ruptured.
    tags : ndarray of shape (n,)
        Fault tags; faults are fitted separately.
    """
    count = len(corners)
    ruptured = np.isfinite(times).all(1)
    first, second = _neighbours(corners, ruptured, tags)
    centre = corners.mean(1)
    edge = corners[:, 1:] - corners[:, :1]
    normal = np.cross(edge[:, 0], edge[:, 1])
    scale = np.sqrt(np.linalg.norm(normal, axis=1))
    along = edge[:, 0] / np.linalg.norm(edge[:, 0], axis=1, keepdims=True)
    across = np.cross(normal / np.linalg.norm(normal, axis=1, keepdims=True), along)
    inner = corners[:, :1] + INNER[None, :, :1] * edge[:, :1] + INNER[None, :, 1:] * edge[:, 1:]
    matrix, right = np.zeros((count, 6, 6)), np.zeros((count, 6))
    for begin in range(0, len(first), _ROWS):
        i, j = first[begin : begin + _ROWS], second[begin : begin + _ROWS]
        offset = (inner[j] - centre[i, None]) / scale[i, None, None]
        u, v = np.einsum("kpx,kx->kp", offset, along[i]), np.einsum("kpx,kx->kp", offset, across[i])
        basis = np.stack([np.ones_like(u), u, v, u * u, u * v, v * v], -1)
        weight = np.exp(-(u * u + v * v) / 2.0)[..., None] * basis
        np.add.at(matrix, i, np.einsum("kpa,kpb->kab", weight, basis))
        np.add.at(right, i, np.einsum("kpa,kp->ka", weight, times[j] - times[i].mean(1, keepdims=True)))
    matrix[:, [3, 4, 5], [3, 4, 5]] += _CURVED * matrix[:, :1, 0]
    alone = np.bincount(first, minlength=count) < 3
    matrix[alone] = np.eye(6)
    slope = np.linalg.norm(np.linalg.solve(matrix, right[..., None])[:, 1:3, 0], axis=1) / scale
    # if all faces rupture at once, times differ by rounding only
    known = ~alone & (slope * scale > 1e-6 * np.nanmax(np.where(ruptured[:, None], times, 0.0), initial=0.0))
    return np.where(known, 1.0 / np.where(known, slope, 1.0), np.nan)


def _neighbours(corners: np.ndarray, ruptured: np.ndarray, tags: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs (k,), (k,) of ruptured triangles of one fault that share a vertex, including each with itself."""
    points = corners.reshape(-1, 3)
    grain = 1e-6 * max(float(np.ptp(points, axis=0).max(initial=0.0)), 1e-300) if len(points) else 1.0
    _, vertex = np.unique(np.round(points / grain), axis=0, return_inverse=True)
    chosen = np.flatnonzero(ruptured)
    columns = vertex.reshape(-1, 3)[chosen].reshape(-1)
    shape = (len(corners), int(columns.max(initial=-1)) + 1)
    from scipy.sparse import coo_array  # slow import, as the other scipy imports in functions here

    touches = coo_array((np.ones(len(columns)), (np.repeat(chosen, 3), columns)), shape=shape).tocsr()
    first, second = (touches @ touches.T).tocoo().coords
    same = tags[first] == tags[second]
    order = np.lexsort((second[same], first[same]))
    return first[same][order].astype(np.int64), second[same][order].astype(np.int64)


@dataclass(frozen=True)
class MomentSpectrum:
    """Amplitude spectrum of the moment rate with the best-fitting Brune spectrum.

    The Brune spectrum M0 / (1 + (f/fc)^2) is fitted to the logarithms, weighted with the amplitudes, so that plateau and corner determine
    the fit.

    Attributes
    ----------
    frequency : ndarray of shape (n,)
        Frequencies [Hz].
    amplitude : ndarray of shape (n,)
        Amplitudes [N m].
    moment : float
        Seismic moment M0 [N m].
    corner : float
        Corner frequency fc [Hz].
    misfit : float
        Weighted root mean square difference of the decimal logarithms.
    """

    frequency: np.ndarray
    amplitude: np.ndarray
    moment: float
    corner: float
    misfit: float

    @property
    def brune(self) -> np.ndarray:
        """Fitted Brune spectrum (n,) [N m] (Brune 1970)."""
        return brune_spectrum(self.frequency, self.moment, self.corner)


def brune_spectrum(frequency: np.ndarray, moment: float, corner: float) -> np.ndarray:
    """Return the Brune spectrum M0 / (1 + (f/fc)^2) at ``frequency`` (n,) [Hz]."""
    return np.asarray(moment / (1.0 + (frequency / corner) ** 2))


def moment_rate(time: np.ndarray, moment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the middle of each interval [s] and the mean moment rate in it [N m/s], which integrates to the moment exactly."""
    steps = np.diff(time)
    return 0.5 * (time[1:] + time[:-1]), np.diff(moment) / steps


def moment_spectrum(time: np.ndarray, moment: np.ndarray, points: int = 100) -> MomentSpectrum | None:
    """Return the spectrum of the moment rate, from the moment (nt,) [N m] released until ``time`` (nt,) [s].

    It is computed at ``points`` logarithmically spaced frequencies, from a quarter of the inverse record length to a quarter of the
    sampling rate. The result is None if no moment was released or there are fewer than eight samples. The moment is the final one of the
    record: if the rupture has not ended, the spectrum describes a part of it.
    """
    total = float(moment[-1] - moment[0]) if len(moment) else 0.0
    if len(time) < 8 or not total > 0:
        return None
    length = float(time[-1] - time[0])
    step = float(np.median(np.diff(time)))
    middle, rate = moment_rate(time, moment)
    frequency = np.geomspace(0.25 / length, max(0.25 / step, 2.0 / length), points)
    phase = np.exp(-2j * np.pi * frequency[:, None] * middle[None])
    amplitude = np.abs(phase @ (rate * np.diff(time))) / np.sinc(
        frequency * step
    )  # corrects for the averaging over intervals
    logarithm = np.log10(np.maximum(amplitude, 1e-12 * total))

    weight = amplitude / amplitude.sum()

    def misfit(log_corner: float) -> float:
        return float(weight @ (np.log10(brune_spectrum(frequency, total, 10.0**log_corner)) - logarithm) ** 2)

    bounds = (float(np.log10(frequency[0])) - 1.0, float(np.log10(frequency[-1])))
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(misfit, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    return MomentSpectrum(frequency, amplitude, total, float(10.0**found.x), float(np.sqrt(found.fun)))


def released_within(time: np.ndarray, moment: np.ndarray, low: float = 0.05, high: float = 0.95) -> float:
    """Return the time [s] in which the fraction ``low`` to ``high`` of the moment is released, NaN if none is."""
    total = moment[-1] - moment[0]
    if not total > 0:
        return float("nan")
    share = np.maximum.accumulate((moment - moment[0]) / total)
    return float(np.interp(high, share, time) - np.interp(low, share, time))


# fmt: skip


ENOUGH = 2.0
"""Minimum number of points in the cohesive zone (Day et al. 2005)."""
GOES_ON = 0.01
"""Fraction of the largest moment rate above which a rupture has not ended."""
AT_ONCE = 3.0
"""Ratio to the shear-wave speed above which a speed is no rupture speed: the points failed simultaneously under the load."""


@dataclass(frozen=True)
class FaultHistory:
    """Sums over the fault as time series (nt,).

    Attributes
    ----------
    time : ndarray
        Times [s].
    total_work, static_work : ndarray
        Frictional work of the traction change, and the work of a slow rupture with the same end [J].
    moment : ndarray
        Seismic moment [N m].
    potency : ndarray
        Seismic potency [m^3].
    """

    time: np.ndarray
    total_work: np.ndarray
    static_work: np.ndarray
    moment: np.ndarray
    potency: np.ndarray


@dataclass(frozen=True)
class FinishedRupture:
    """Results of a finished rupture on every face.

    Attributes
    ----------
    faces : mapping of str to ndarray of shape (n, ...)
        Values of the faces: corners [m], tag, area [m^2], spacing of the solution's points [m], share of the points that have ruptured,
        rupture_time (n, 3) at ``rupture.INNER`` and time of dynamic stress (weakened) [s], NaN if not reached; slip along strike and
        dip, its size, its path [m], peak and last slip rate [m/s], drop_times_slip: stress drop along the slip times slip, breakdown and
        dissipated work [J/m^2], rigidity [Pa], shear_speed [m/s] of the slower side.
    history : FaultHistory
        Sums over the fault.
    has_stress : bool
        True if the initial stress is known.
    """

    faces: Mapping[str, np.ndarray]
    history: FaultHistory
    has_stress: bool = True

    @cached_property
    def speed(self) -> np.ndarray:
        """Rupture speed (n,) [m/s], NaN if unknown."""
        f = self.faces
        found = rupture_speed(f["corners"], f["rupture_time"], f["tag"])
        return np.where(found < AT_ONCE * f["shear_speed"], found, np.nan)

    @cached_property
    def cohesive_zone(self) -> np.ndarray:
        """Length of the cohesive zone (n,) [m], NaN if unknown: rupture speed times the time from rupture to dynamic stress."""
        f = self.faces
        return np.asarray(self.speed * (f["weakened"] - f["rupture_time"].mean(1)))

    @property
    def ruptured(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.faces["rupture_time"]).all(1))

    @property
    def goes_on(self) -> float:
        """Ratio of the final moment rate to the largest."""
        _, rate = moment_rate(self.history.time, self.history.moment)
        top = float(rate.max(initial=0.0))
        return float(rate[-1]) / top if top > 0 else 0.0

    @property
    def zone_points(self) -> np.ndarray:
        """Number of points of the solution in the cohesive zone (n,)."""
        return np.asarray(self.cohesive_zone / self.faces["spacing"])


def rupture_results(found: FinishedRupture) -> Iterator[Result]:
    """Yield maps, moment rate, its spectrum if moment was released, and source parameters."""
    yield Result("rupture_map", rupture_map(found))
    h = found.history
    if len(h.time) > 1:
        middle, rate = moment_rate(h.time, h.moment)
        columns = {
            "time": Variable(middle, ("time",), "s", "middle of the interval"),
            "moment_rate": Variable(rate, ("time",), "N*m/s", "mean moment rate in the interval"),
            "potency_rate": Variable(moment_rate(h.time, h.potency)[1], ("time",), "m^3/s", "mean potency rate"),
            "seismic_moment": Variable(h.moment[1:], ("time",), "N*m", "seismic moment at the end of the interval"),
        }
        yield Result("moment_rate", Dataset("moment_rate", columns))
    spectrum = moment_spectrum(h.time, h.moment)
    if spectrum is not None:
        columns = {
            "frequency": Variable(spectrum.frequency, ("frequency",), "Hz", "frequency"),
            "amplitude": Variable(spectrum.amplitude, ("frequency",), "N*m", "amplitude of the moment rate"),
            "brune": Variable(spectrum.brune, ("frequency",), "N*m", "Brune spectrum fitted to it"),
        }
        attrs = {"moment": spectrum.moment, "corner_frequency": spectrum.corner, "misfit": spectrum.misfit}
        yield Result("moment_spectrum", Dataset("moment_spectrum", columns, attrs))
    yield Result("source_parameters", source_parameters(found))


def rupture_map(found: FinishedRupture) -> Dataset:
    """Return the values of every face, NaN if unknown."""
    f, hidden = found.faces, ~found.ruptured
    slip = np.where(f["slip"] > 0, f["slip"], np.nan)
    values = {
        "fault-tag": (f["tag"].astype(np.int64), "", "tag of the fault in the mesh"),
        "rupture_time": (f["rupture_time"].mean(1), "s", "time when the slip rate first exceeds 1 mm/s"),
        "rupture_speed": (found.speed, "m/s", "speed of the rupture front, fitted over neighbouring faces"),
        "relative_speed": (found.speed / f["shear_speed"], "", "rupture speed over the slower side's S-wave speed"),
        "slip": (f["slip"], "m", "final slip"),
        "slip_strike": (f["slip_strike"], "m", "final slip along strike, right-lateral is positive"),
        "slip_dip": (f["slip_dip"], "m", "final slip along dip"),
        "peak_slip_rate": (f["peak_slip_rate"], "m/s", "largest slip rate"),
        "cohesive_zone": (found.cohesive_zone, "m", "rupture speed times time from rupture to dynamic stress"),
        "cohesive_zone_points": (
            found.zone_points,
            "",
            "points of the solution in the cohesive zone, at a spacing of edge length over order, or of the grid",
        ),
    }
    if found.has_stress:
        values["stress_drop"] = (
            np.where(hidden, np.nan, f["drop_times_slip"] / slip),
            "Pa",
            "stress drop along the slip",
        )
        values["fracture_energy"] = (np.where(hidden, np.nan, f["breakdown"]), "J/m^2", "breakdown work")
    variables = {
        "points": Variable(f["corners"].reshape(-1, 3), ("point", "component"), "m", "corners of the faces"),
        "cells": Variable(np.arange(3 * len(hidden)).reshape(-1, 3), ("face", "corner"), "", "points of each face"),
    }
    variables |= {name: Variable(v, ("face",), unit, text) for name, (v, unit, text) in values.items()}
    return Dataset("rupture_map", variables, {"time": float(found.history.time[-1])})


def source_parameters(found: FinishedRupture) -> Dataset:
    """Return the scalar source parameters, NaN if unknown."""
    f, h = found.faces, found.history
    area, moment, potency = f["area"], float(h.moment[-1]), float(h.potency[-1])
    slipped, broken = float(area @ f["slip"]), float(area @ f["share"])
    inside = area * (f["share"] > 0)  # faces that only creep have slip and fracture energy, too
    radiated = float(h.total_work[-1] - h.static_work[-1])
    spectrum = moment_spectrum(h.time, h.moment)
    speed, relative = found.speed, found.speed / f["shear_speed"]
    values = {
        "time": (h.time[-1], "s", "end of the record"),
        "seismic_moment": (moment, "N*m", "integral of rigidity times slip path"),
        "moment_magnitude": (magnitude(moment), "", "2/3 (log10(M0) - 9.1)"),
        "potency": (potency, "m^3", "integral of the slip path"),
        "ruptured_area": (broken, "m^2", "where the slip rate exceeded 1 mm/s"),
        "mean_slip": (_ratio(float(inside @ f["slip"]), broken), "m", "mean over the ruptured area"),
        "largest_slip": (f["slip"].max(initial=0.0), "m", "largest mean slip of a face"),
        "largest_slip_rate": (f["peak_slip_rate"].max(initial=0.0), "m/s", "largest slip rate of a point"),
        "first_rupture": (_least(f["rupture_time"]), "s", "time at which the first face had ruptured"),
        "duration": (released_within(h.time, h.moment), "s", "period in which 5 to 95 % of the moment are released"),
        "rupture_speed": (_median(speed, area), "m/s", "median over the ruptured area"),
        "relative_rupture_speed": (_median(relative, area), "", "median of the rupture speed over the S-wave speed"),
        "supershear_share": (_share(relative > 1.0, np.isfinite(relative), area), "", "fraction of the ruptured area with a known speed"),
        "cohesive_zone": (_median(found.cohesive_zone, area), "m", "median length"),
        "cohesive_zone_points": (_median(found.zone_points, area), "", "median number of points of the solution in it"),
        "unresolved_share": (
            _share(found.zone_points < ENOUGH, np.isfinite(found.zone_points), area), "",
            "share of the area with fewer than 2 points in it",
        ),
        "radiated_energy": (radiated, "J", ("frictional work of the traction change minus that of a quasi-static "
                                           "rupture")),
        "corner_frequency": (np.nan if spectrum is None else spectrum.corner, "Hz", "corner frequency of the fitted Brune spectrum"),
        "spectral_misfit": (np.nan if spectrum is None else spectrum.misfit, "", "rms of the logarithm to base 10 of the fit"),
        "moment_rate_at_the_end": (found.goes_on, "", "final moment rate over the largest; 0 if the rupture has ended"),
    }  # fmt: skip
    if found.has_stress:
        fracture = float(inside @ f["breakdown"])
        values |= {
            "stress_drop": (_ratio(float(area @ f["drop_times_slip"]), slipped), "Pa", "mean weighted with slip"),
            "apparent_stress": (_ratio(radiated, potency), "Pa", "radiated energy over potency"),
            "fracture_energy": (fracture, "J", "breakdown work of the ruptured area"),
            "mean_fracture_energy": (_ratio(fracture, broken), "J/m^2", "breakdown work per unit of ruptured area"),
            "radiation_efficiency": (
                _ratio(radiated, radiated + fracture),
                "",
                "radiated over radiated and fracture energy",
            ),
            "frictional_heat_and_fracture": (float(area @ f["dissipated"]), "J", "work against the whole friction"),
        }
    return Dataset("source_parameters", {k: Variable(np.array(float(v)), (), u, t) for k, (v, u, t) in values.items()})


def rupture_warnings(found: FinishedRupture) -> Iterator[Problem]:
    """Yield warnings of doubtful properties of the rupture."""
    points, area = _median(found.zone_points, found.faces["area"]), found.faces["area"]
    if points < ENOUGH:
        share = 100 * _share(found.zone_points < ENOUGH, np.isfinite(found.zone_points), area)
        what = f"the cohesive zone held {points:.2g} points in the median, fewer than {ENOUGH:g} on {share:.0f} % of the ruptured area"
        advice = "Rupture speed and slip rate depend on the resolution: use smaller cells at the fault, or a higher order on tetrahedra."
        yield Problem("fault", what, f"{ENOUGH:g} to 3 at least (Day et al. 2005)", advice, "warning")
    if found.goes_on > GOES_ON:
        what = (
            f"the rupture has not ended: the moment rate at the end is {100 * found.goes_on:.0f} % of its largest value"
        )
        advice = (
            "Moment, stress drop, energies and corner frequency are values at that time; a later end_time "
            "completes them."
        )
        yield Problem("output.rupture", what, advice=advice, severity="warning")


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("nan")


def _least(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.min()) if len(known) else float("nan")


def _median(values: np.ndarray, area: np.ndarray) -> float:
    """Return the area-weighted median of the finite values."""
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return float("nan")
    order = known[np.argsort(values[known], kind="stable")]
    total = np.cumsum(area[order])
    return float(values[order[np.searchsorted(total, 0.5 * total[-1])]])


def _share(mask: np.ndarray, known: np.ndarray, area: np.ndarray) -> float:
    return _ratio(float(area[mask & known].sum()), float(area[known].sum()))
