"""Error estimates of seismograms, from the same records of two coarser runs on meshes or grids.

A wave that a scheme damps and delays arrives multiplied by exp(-x), and x grows along its path without bound, while the difference from
the exact wave, 1 - exp(-x), does not exceed one. Therefore x is extrapolated, for polynomials of order n on one mesh as C r^n / n!,
the error of the best polynomial of that order for a harmonic wave. Three resolutions suffice for the two unknowns and the exact record.
Waves of a rupture are neither as smooth as harmonic waves nor as rough as its front, where x is a power of the distance between points:
the geometric mean of both laws is used. Grids have different laws: ``grid_convergence``.

The error of time stepping is known for each grid and has been removed from its records. The remainder is a sum of three kinds of errors
in the spacing h: dispersion, of the order of the differences; errors of free surfaces and of material interfaces on grid planes, of order
h^2; and errors of interfaces between grid points, of order h^2 too, but uncorrelated from grid to grid. The products of the two
differences, with themselves and with each other, are linear in the mean squares of the three kinds, so that three numbers determine three
sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.observe.dataset import CODES, Dataset, Variable

Array = np.ndarray
Method = Callable[[Array, Array, Array, Array], Array]
"""Function that returns the relative errors (n, k) of k quantities at n receivers.

Its arguments are the record of the run (nt, n, k), the differences of two coarser runs from it, the nearer one first, and the known part
of its error, which has been removed from record and differences. Coarser runs may have ended earlier: their arrays hold the first samples.
"""

LARGEST = 0.95
"""Relative difference above which the coarser run hardly reproduces the record, so that the difference carries no information."""
LITTLE = 0.1
"""Fraction of a record's integral of squares below which its beginning carries no information on its error."""
HALVINGS = 50
"""Number of bisections of the interval that contains the logarithm of x."""


@dataclass(frozen=True)
class Level:
    """Resolution level: log x = c + rate * ``steps`` + ``known``.

    ``coarseness`` is the distance between points relative to the finest level.
    """

    steps: float
    known: float
    coarseness: float


Law = tuple[Level, ...]
"""Dependence of x on resolution: three levels, the finest first."""


def polynomial_law(orders: Sequence[int]) -> Law:
    """Return the law for smooth waves and polynomials of several orders on one mesh, the highest first."""
    return tuple(Level(float(n), -math.lgamma(n + 1.0), orders[0] / n) for n in orders)


def point_distance_law(orders: Sequence[float]) -> Law:
    """Return the law of a power of the distance between points, edge / order, the highest order first."""
    return tuple(Level(-math.log(n), 0.0, orders[0] / n) for n in orders)


def error(law: Law, near: Array, far: Array) -> Array:
    """Return the relative errors (n,) at the finest level of a law.

    Parameters
    ----------
    law : Law
        Dependence of x on resolution.
    near, far : ndarray of shape (n,)
        Relative differences of the second and third level from the first.
    """
    return np.asarray(-np.expm1(-_extrapolated(law, accumulated_error(near), accumulated_error(far))))


def factor(laws: Sequence[Law], near: Array, far: Array) -> float:
    """Return the ratio of the error to the difference ``near``, as the geometric mean over laws.

    The ratio scatters from record to record, since waves with positive and negative errors interfere there, more than it varies between
    places. Therefore all receivers have one factor, computed from the root mean squares of their differences. Receivers that hardly any
    wave has reached, where differences are as large as the record and carry no information, are excluded, as are differences that are NaN.

    Parameters
    ----------
    laws : sequence of Law
        Laws to average.
    near, far : ndarray of shape (n,)
        Relative differences at the receivers of one run.
    """
    counting = informative_receivers(near, far)
    if not counting.any():
        return 0.0
    all_near, all_far = (np.array([np.sqrt(np.mean(d[counting] ** 2))]) for d in (near, far))
    if all_near[0] == 0:
        return 0.0
    found = [math.log(error(law, all_near, all_far)[0]) for law in laws]
    return float(math.exp(sum(found) / len(found)) / all_near[0])


def informative_receivers(near: Array, far: Array) -> Array:
    """Return a mask (n,) of the receivers that are used for quantities common to all."""
    known = np.isfinite(near) & np.isfinite(far)
    counting = known & (near < LARGEST)
    return np.asarray(counting if counting.any() else known)


def relative(difference: Array, ours: Array) -> Array:
    """Return the norms (n,) of differences (m, n, k) relative to the first m samples of the run, NaN if these are zero."""
    size = np.sqrt((ours[: len(difference)] ** 2).sum((0, 2)))
    norm = np.sqrt((difference**2).sum((0, 2)))
    return np.divide(norm, size, out=np.full(len(size), np.nan), where=size > 0)


def extrapolate_by_laws(laws: Sequence[Law]) -> Method:
    """Return the method that multiplies the difference to the nearer run by a factor from the given laws.

    The norms in the laws cover the time until the coarsest run ended. After the end of the nearer run, x continues to grow with time.
    """

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        times = factor(laws, relative(near[: len(far)], ours), relative(far, ours))
        total, reported = extrapolate_errors(times * relative(near, ours), ours, len(near))
        squares = np.where(reported[:, None], (near**2).sum(0), (ours**2).sum(0))
        shares = squares / np.where(squares.any(1), squares.sum(1), 1.0)[:, None]
        by_time = (known**2).sum(0) / (ours**2).sum((0, 2))[:, None]
        return np.asarray(np.sqrt(total[:, None] ** 2 * shares + by_time))

    return found


def extrapolate_errors(errors: Array, ours: Array, count: int) -> tuple[Array, Array]:
    """Extrapolate relative errors of the first samples to whole records.

    x is proportional to the distance that waves have travelled, and thus to the time since the start of the run. Receivers that had
    recorded next to nothing by then receive the root mean square growth rate of the others.

    Parameters
    ----------
    errors : ndarray of shape (n,)
        Relative errors of the first ``count`` samples.
    ours : ndarray of shape (nt, n, k)
        Whole records.
    count : int
        Number of first samples.

    Returns
    -------
    errors : ndarray of shape (n,)
        Relative errors of whole records.
    known : ndarray of shape (n,)
        True where the errors of the first samples are significant.
    """
    power = (ours**2).sum(2)
    begun = power[:count].sum(0)
    reported = np.isfinite(errors) & (begun > 0) & (begun >= LITTLE * power.sum(0))
    if not reported.any():
        return np.nan_to_num(errors), reported
    early, whole = _mean_time(power[:count]), _mean_time(power)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(reported, accumulated_error(np.where(reported, errors, 0.0)) / early, 0.0)
        rate = np.where(reported, rate, np.sqrt(np.mean(rate[reported] ** 2)))
        found = np.where(reported, errors / -np.expm1(-rate * early), 1.0) * -np.expm1(-rate * whole)
    return np.nan_to_num(found), reported


def _mean_time(power: Array) -> Array:
    """Return the root mean square sample number (n,), counted from 1 and weighted with the squares (nt, n); 1 if these are zero."""
    number, total = np.arange(len(power)) + 1.0, power.sum(0)
    return np.sqrt(np.where(total > 0, number**2 @ power, 1.0) / np.where(total > 0, total, 1.0))


def accumulated_error(difference: Array) -> Array:
    """Return the increase of x (n,) that corresponds to a relative difference of a record."""
    return np.asarray(-np.log1p(-np.clip(np.asarray(difference, float), 1e-12, LARGEST)))


def _extrapolated(law: Law, near: Array, far: Array) -> Array:
    """Return x (n,) of the finest level by bisection, where the other levels exceed it by ``near`` and ``far``.

    The result is at most the error of a first-order scheme in the spacing.
    """
    fine, middle, coarse = law
    reach = (coarse.steps - fine.steps) / (middle.steps - fine.steps)
    known = coarse.known - fine.known - reach * (middle.known - fine.known)
    high = np.log(near / (middle.coarseness - 1.0))
    low = high - 40.0
    for _ in range(HALVINGS):
        tried = 0.5 * (low + high)
        x = np.exp(tried)
        beyond = tried + reach * (np.log(x + near) - tried) + known > np.log(x + far)  # falls with x
        low, high = np.where(beyond, tried, low), np.where(beyond, high, tried)
    return np.asarray(np.exp(0.5 * (low + high)))


BORDERS = 2.0
"""Power of the spacing in errors of free surfaces and material interfaces."""


@dataclass(frozen=True)
class Kinds:
    """Response of the differences to a unit mean square error of each kind on the finest grid.

    Attributes
    ----------
    products : ndarray of shape (3, 3)
        Products of differences (near-near, far-far, near-far) by kind of error.
    along : ndarray of shape (3,)
        Product of the error with the nearer difference, by kind.
    """

    products: Array
    along: Array

    @classmethod
    def of(cls, spacings: Sequence[float], order: int) -> Kinds:
        """Return the coefficients for the spacing of the run followed by two larger ones."""
        near, far = (h / spacings[0] for h in spacings[1:])
        alike = np.array([[c**power - 1.0 for power in (order, BORDERS)] for c in (near, far)])
        first, second = alike
        unlike = [near ** (2 * BORDERS) + 1.0, far ** (2 * BORDERS) + 1.0, 1.0]
        products = np.column_stack([np.stack([first**2, second**2, first * second]), unlike])
        return cls(products, np.array([*first, -1.0]))

    def sizes(self, near: float, far: float, product: float) -> Array:
        """Return the mean squares (3,) of the kinds by non-negative least squares, with relative equations."""
        reported = np.array([near * near, far * far, near * far])
        measured = np.array([near * near, far * far, product])
        from scipy.optimize import nnls  # scipy takes long to import

        return np.asarray(nnls(self.products / reported[:, None], measured / reported)[0])


def fit_error_kinds(spacings: Sequence[float], order: int) -> Method:
    """Return the method that assumes one mix of error kinds at all receivers, from the mean squares of their differences."""
    kinds = Kinds.of(spacings, order)

    def found(ours: Array, near: Array, far: Array, known: Array) -> Array:
        ours, known = ours[: len(near)], known[: len(near)]
        level, cosine = _shared(kinds, ours, near[: len(far)], far)
        square, product = (near**2).sum(0), (known * near).sum(0)
        total = (known**2).sum(0) + level * (2.0 * cosine * product + level * square)
        return np.asarray(np.sqrt(np.maximum(total, 0.0) / (ours**2).sum((0, 2))[:, None]))

    return found


def _shared(kinds: Kinds, ours: Array, near: Array, far: Array) -> tuple[float, float]:
    """Return the ratio of the spatial error to the nearer difference, and the cosine between both as time series."""
    norms = [relative(d, ours) for d in (near, far)]
    counting = informative_receivers(*norms)
    by_near, by_far = (float(np.sqrt(np.mean(d[counting] ** 2))) if counting.any() else 0.0 for d in norms)
    if by_near == 0.0 or by_far == 0.0:
        return 0.0, 0.0
    size = (ours[: len(far), counting] ** 2).sum((0, 2))
    product = float(np.mean((near * far)[:, counting].sum((0, 2)) / size))
    x_near, x_far = (float(accumulated_error(np.array([d]))[0]) for d in (by_near, by_far))
    sizes = kinds.sizes(x_near, x_far, product / (by_near * by_far) * x_near * x_far)
    total = float(sizes.sum())
    if total == 0.0:
        return 0.0, 0.0
    cosine = float(kinds.along @ sizes) / np.sqrt(total * float(kinds.products[0] @ sizes))
    return float(-np.expm1(-np.sqrt(total))) / by_near, cosine


Values = np.ndarray

KIND = "seismogram_errors"
VECTORS = {"m/s": "velocity", "Pa": "stress", "V/m": "electric_field", "A/m": "magnetic_field", "1/s": "rates"}
"""Name of the vector formed by all quantities of a unit."""
MOTIONS = ("velocity", "electric_field")
OF = "relative_error_of_"
"""Prefix of the variable with the error of all quantities of a unit, followed by the name in ``VECTORS``."""


Shared = Sequence[tuple[Values, Values]]
"""Frequencies [Hz] and relative errors of waves there that coarser runs share, from each cause."""
TAPERED = 0.05
"""Fraction of a record that is tapered at its end before its spectrum is computed."""


@dataclass(frozen=True)
class KnownErrors:
    """Errors that differences between runs do not contain, or that are known independently.

    Attributes
    ----------
    shared : Shared
        Errors common to all runs, added as the root of the sum of squares.
    time : sequence of callable
        For the run and each coarser one, the error of time stepping in series (nt, n, k) sampled at an interval [s]; empty if unknown.
    """

    shared: Shared = ()
    time: Sequence[Callable[[Values, float], Values]] = ()


def estimated(
    ours: Dataset, coarser: Sequence[Dataset], method: Method, description: str, known: KnownErrors | None = None
) -> Dataset:
    """Estimate the relative L2 errors in time of receivers from two coarser runs, which may end earlier.

    Parameters
    ----------
    ours : Dataset
        Receivers of the run.
    coarser : sequence of Dataset
        Receivers of the two coarser runs, the nearer one first.
    method : Method
        Extrapolation method.
    description : str
        Description of the runs, stored as attribute ``estimated_from``.
    known : KnownErrors, optional
        Errors known independently.

    Returns
    -------
    Dataset
        ``relative_error`` (receiver, quantity): error of one quantity relative to the size of all quantities of its unit at the receiver;
        ``relative_error_of_velocity`` (receiver,) and so on: error of all together. NaN if nothing was recorded.
    """
    known = known or KnownErrors()
    values, times = ours["values"], ours["time"]
    records = [values, *(data["values"][: len(times)] for data in coarser)]
    units = np.array(ours.attrs["units"])
    each = np.full(values.shape[1:], np.nan)
    totals: dict[str, Values] = {}
    for unit in dict.fromkeys(units.tolist()):
        chosen = np.flatnonzero(units == unit)
        size = np.sqrt((values[..., chosen] ** 2).sum((0, 2)))
        moved = np.flatnonzero(size > 0)
        series = [record[:, moved][..., chosen] for record in records]
        by_time = _by_time(known, times, series)
        fine, near, far = (record - late for record, late in zip(series, by_time, strict=True))
        found = method(fine, near - fine[: len(near)], far - fine[: len(far)], by_time[0])
        for frequencies, errors in known.shared:
            found = np.hypot(found, _in_records(times, series[0], frequencies, errors))
        each[np.ix_(moved, chosen)] = found
        totals[OF + VECTORS.get(unit, unit)] = np.sqrt((each[:, chosen] ** 2).sum(1))
    return _dataset(ours, each, totals, description)


def middle(data: Dataset) -> float:
    """Return the time [s] at which receivers have recorded half of the integral of squares, averaged over receivers and units."""
    units, time = np.array(data.attrs["units"]), data["time"]
    shares = []
    for unit in dict.fromkeys(units.tolist()):
        sums = np.cumsum((data["values"][..., units == unit] ** 2).sum(2), axis=0)
        moved = sums[-1] > 0
        shares.append(sums[:, moved] / sums[-1, moved])
    share = np.concatenate(shares, 1)
    return float(time[np.searchsorted(share.mean(1), 0.5)] if share.shape[1] else time[-1])


def _by_time(known: KnownErrors, times: Values, series: Sequence[Values]) -> list[Values]:
    """Return the error of time stepping in the series of each run."""
    if not known.time or len(times) < 2:
        return [np.zeros((1, 1, 1))] * len(series)
    interval = float(times[-1] - times[0]) / (len(times) - 1)
    return [late(record, interval) for late, record in zip(known.time, series, strict=True)]


def _in_records(times: Values, values: Values, frequencies: Values, errors: Values) -> Values:
    """Return the errors (n, k) of records (nt, n, k), relative to the size of all k, from wave ``errors`` at ``frequencies``.

    The error of a wave is at most the wave itself.
    """
    size = len(times)
    if size < 2:
        return np.zeros(values.shape[1:])
    taper = np.ones(size)
    end = max(1, round(TAPERED * size))
    taper[-end:] = 0.5 + 0.5 * np.cos(np.pi * np.arange(1, end + 1) / end)
    power = np.abs(np.fft.rfft(values * taper[:, None, None], 2 * size, axis=0)) ** 2
    known = np.fft.rfftfreq(2 * size, (times[-1] - times[0]) / (size - 1))
    wrong = np.minimum(np.interp(known, frequencies, errors), 1.0) ** 2
    total = power.sum((0, 2))
    found = np.einsum("f,fnk->nk", wrong, power)
    return np.asarray(np.sqrt(found / np.where(total > 0, total, 1.0)[:, None]))


def _dataset(ours: Dataset, each: Values, totals: dict[str, Values], description: str) -> Dataset:
    variables = {name: ours.variables[name] for name in ("location", "longitude", "latitude") if name in ours}
    text = "estimated L2 error in time of a quantity, relative to the norm of all quantities of its unit"
    variables["relative_error"] = Variable(each, ("receiver", "quantity"), "", text)
    for name, total in totals.items():
        what = name.removeprefix(OF).replace("_", " ")
        variables[name] = Variable(total, ("receiver",), "", f"estimated relative L2 error in time of {what}")
    retained = {key: ours.attrs[key] for key in ("quantities", "units", *CODES) if key in ours.attrs}
    return Dataset(KIND, variables, {**retained, "estimated_from": description})


def with_errors(receivers: Dataset, errors: Dataset) -> Dataset:
    """Return seismograms with their estimated errors as variables."""
    new = {name: v for name, v in errors.variables.items() if name.startswith("relative_error")}
    retained = {name: v for name, v in receivers.variables.items() if not name.startswith("relative_error")}
    attrs = {**receivers.attrs, "errors_estimated_from": errors.attrs["estimated_from"]}
    return replace(receivers, variables={**retained, **new}, attrs=attrs)


def motion_errors(data: Dataset) -> Values | None:
    """Return the estimated errors (n,) of velocity, or of the electric field; None if there are none."""
    return next((data[OF + name] for name in MOTIONS if OF + name in data), None)


def percent(error: float) -> str:
    """Return an error in percent with two digits, or whole percents if it exceeds the record."""
    return f"{100 * error:.2g}" if error < 0.995 else f"{100 * error:.0f}"
