"""Error estimates of seismograms, from two coarser runs at the same places and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.observe.dataset import CODES, Dataset, Variable
from faultwave.observe.error_estimates.convergence import Method

Array = np.ndarray

KIND = "seismogram_errors"
VECTORS = {"m/s": "velocity", "Pa": "stress", "V/m": "electric_field", "A/m": "magnetic_field", "1/s": "rates"}
"""Name of the vector formed by all quantities of a unit."""
MOTIONS = ("velocity", "electric_field")
OF = "relative_error_of_"
"""Prefix of the variable with the error of all quantities of a unit, followed by the name in ``VECTORS``."""


Shared = Sequence[tuple[Array, Array]]
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
    time: Sequence[Callable[[Array, float], Array]] = ()


def estimated(
    ours: Dataset, coarser: Sequence[Dataset], method: Method, told: str, known: KnownErrors | None = None
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
    told : str
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
    totals: dict[str, Array] = {}
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
    return _dataset(ours, each, totals, told)


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


def _by_time(known: KnownErrors, times: Array, series: Sequence[Array]) -> list[Array]:
    """Return the error of time stepping in the series of each run."""
    if not known.time or len(times) < 2:
        return [np.zeros((1, 1, 1))] * len(series)
    interval = float(times[-1] - times[0]) / (len(times) - 1)
    return [late(record, interval) for late, record in zip(known.time, series, strict=True)]


def _in_records(times: Array, values: Array, frequencies: Array, errors: Array) -> Array:
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


def _dataset(ours: Dataset, each: Array, totals: dict[str, Array], told: str) -> Dataset:
    variables = {name: ours.variables[name] for name in ("location", "longitude", "latitude") if name in ours}
    text = "estimated L2 error in time of a quantity, over the size of all quantities of its unit"
    variables["relative_error"] = Variable(each, ("receiver", "quantity"), "", text)
    for name, total in totals.items():
        what = name.removeprefix(OF).replace("_", " ")
        variables[name] = Variable(total, ("receiver",), "", f"estimated relative L2 error in time of {what}")
    retained = {key: ours.attrs[key] for key in ("quantities", "units", *CODES) if key in ours.attrs}
    return Dataset(KIND, variables, {**retained, "estimated_from": told})


def with_errors(receivers: Dataset, errors: Dataset) -> Dataset:
    """Return seismograms with their estimated errors as variables."""
    new = {name: v for name, v in errors.variables.items() if name.startswith("relative_error")}
    retained = {name: v for name, v in receivers.variables.items() if not name.startswith("relative_error")}
    attrs = {**receivers.attrs, "errors_estimated_from": errors.attrs["estimated_from"]}
    return replace(receivers, variables={**retained, **new}, attrs=attrs)


def motion_errors(data: Dataset) -> Array | None:
    """Return the estimated errors (n,) of velocity, or of the electric field; None if there are none."""
    return next((data[OF + name] for name in MOTIONS if OF + name in data), None)


def percent(error: float) -> str:
    """Return an error in percent with two digits, or whole percents if it exceeds the record."""
    return f"{100 * error:.2g}" if error < 0.995 else f"{100 * error:.0f}"


__all__ = [
    "KIND",
    "OF",
    "VECTORS",
    "KnownErrors",
    "Shared",
    "estimated",
    "middle",
    "motion_errors",
    "percent",
    "with_errors",
]
