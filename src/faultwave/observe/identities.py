"""Identities between the outputs of a run, checked on Datasets of any engine.

``check_identities`` searches every Dataset for the quantities that an identity relates and returns one ``Finding`` for each receiver or
value: the difference of both sides as a fraction of the largest value, and its tolerance. A new output with the same quantity names is
checked without further code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.observe.dataset import Dataset

RUPTURE_RATE = 1e-3
"""Slip rate above which a point counts as ruptured [m/s]."""

SLIDING_RATE = 1e-2
"""Slip rate above which the traction of a point is compared with its strength [m/s]."""

TOLERANCES = {
    "slip": 0.03,
    "path": 0.03,
    "strength": 1e-3,
    "peak slip rate": 0.03,
    "rupture time": 1.0,
    "displacement": 0.03,
    "moment": 1e-9,
    "energy": 0.03,
}
"""Tolerance of each identity: relative errors, and sampling intervals for the rupture time."""

STORED = (
    "gravitational_energy",
    "acoustic_energy",
    "acoustic_kinetic_energy",
    "elastic_energy",
    "elastic_kinetic_energy",
)
"""Energies that waves carry; media with attenuation or pores have them as ``true_`` energies, too."""
DISSIPATED = ("plastic_work", "soil_work", "attenuation_work", "drag_work")
"""Energies that waves have lost inside the model."""


@dataclass(frozen=True)
class Finding:
    """Result of one identity at one place.

    Attributes
    ----------
    place : int
        Index of the receiver, or -1 for sums over the run.
    error : float
        Largest difference of both sides, in the unit of ``TOLERANCES``.
    time : float
        Time of the largest difference [s], NaN if not applicable.
    """

    dataset: str
    identity: str
    place: int
    error: float
    tolerance: float
    time: float = float("nan")

    @property
    def holds(self) -> bool:
        """True if the error is within the tolerance; False for NaN."""
        return bool(self.error <= self.tolerance)

    def __str__(self) -> str:
        where = f" of receiver {self.place + 1}" if self.place >= 0 else ""
        when = f" at t = {self.time:.6g} s" if np.isfinite(self.time) else ""
        state = "holds" if self.holds else "is violated"
        return f"{self.dataset}: {self.identity}{where} {state}: {self.error:.3g}, at most {self.tolerance:.3g}{when}"


def check_identities(
    datasets: Iterable[Dataset],
    tolerances: Mapping[str, float] | None = None,
    cohesion: float = 0.0,
    closed: bool = False,
) -> list[Finding]:
    """Check every identity to which the quantities of Datasets belong.

    Parameters
    ----------
    datasets : iterable of Dataset
        Results of one run from ``sim.results()`` or ``read_receivers``: (fault) receivers, energies, moment rate.
    tolerances : mapping of str to float, optional
        Tolerances by identity; the others are taken from ``TOLERANCES``.
    cohesion : float
        Cohesion of the friction law [Pa], not positive, which adds to the strength.
    closed : bool
        True if no wave leaves the model (free or rigid sides): the energy of the waves then equals the work of the faults instead of
        being at most this work. Runs with sources besides their faults need an infinite tolerance of ``energy``.

    Returns
    -------
    list of Finding
        One for each identity and receiver that has moved; empty if no identity applies.
    """
    allowed = {**TOLERANCES, **(tolerances or {})}
    unknown = sorted(set(allowed) - set(TOLERANCES))
    if unknown:
        raise ValueError(f"unknown identities: {', '.join(unknown)}; allowed: {', '.join(TOLERANCES)}")
    given = list(datasets)
    found: list[Finding] = []
    for data in given:
        for identity, place, error, time in _identities(data, cohesion, closed):
            found.append(Finding(data.name, identity, place, error, allowed[identity], time))
    found += [Finding("run", n, -1, error, allowed[n], time) for n, error, time in _between(given)]
    return found


def violations(findings: Iterable[Finding]) -> list[str]:
    """Return a sentence for each identity that does not hold."""
    return [str(f) for f in findings if not f.holds]


Error = tuple[str, int, float, float]
"""Identity, receiver, error and the time of the error [s]."""


def _identities(data: Dataset, cohesion: float, closed: bool) -> Iterator[Error]:
    if data.quantities and "values" in data and "time" in data:
        for i in range(data["values"].shape[1]):
            time = data["time"] if data["time"].ndim == 1 else data["time"][:, i]
            retained = np.isfinite(time) & ~np.isnan(data["values"][:, i]).all(1)  # omits samples that were not taken
            values = {name: data["values"][retained, i, q] for q, name in enumerate(data.quantities)}
            frame = data["initial_traction"][i] if "initial_traction" in data else None
            if retained.sum() > 1:
                for identity, error, when in _of_point(time[retained], values, frame, cohesion):
                    yield identity, i, error, when
    if "moment_rate" in data and "seismic_moment" in data and "time" in data:
        yield from _moment_of_rates(data)
    if "total_frictional_work" in data and len(data["total_frictional_work"]) > 1:
        yield from _energy_of_waves(data, closed)


def _energy_of_waves(data: Dataset, closed: bool) -> Iterator[Error]:
    """Yield the excess of stored and dissipated energy over the frictional work, relative to the largest work.

    In a closed model the difference of both signs is the error.
    """
    work = np.asarray(data["total_frictional_work"])
    scale = float(np.abs(work - work[0]).max())
    if scale <= 0.0:
        return
    names = [f"true_{n}" if f"true_{n}" in data else n for n in STORED]
    total = np.asarray(sum(np.asarray(data[n]) for n in (*names, *DISSIPATED) if n in data))
    excess = (total - total[0]) - (work - work[0])
    error = np.abs(excess) if closed else np.maximum(excess, 0.0)  # NaN if a value is NaN
    yield "energy", -1, float(error.max() / scale), float(np.ravel(data["time"])[error.argmax()])


def _of_point(
    time: np.ndarray, q: Mapping[str, np.ndarray], frame: np.ndarray | None, cohesion: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the identities of one receiver from its quantities (nt,) by name."""
    if {"SRs", "SRd", "Sls", "Sld"} <= set(q):
        slip, rate = (np.stack([q[n] for n in names], 1) for names in (("Sls", "Sld"), ("SRs", "SRd")))
        yield from _integral("slip", time, rate, slip)
        size = np.hypot(*rate.T)
        if "ASl" in q and (q["ASl"] >= 0).all():
            yield from _integral("path", time, size[:, None], q["ASl"][:, None])
        if "PSR" in q and size.max() > RUPTURE_RATE:
            # samples cannot exceed the peak, and the largest sample nearly reaches it
            yield "peak slip rate", float(abs(size.max() / max(q["PSR"][-1], 1e-300) - 1.0)), float(time[size.argmax()])
        if "RT" in q:
            yield from _rupture_time(time, size, q["RT"], float(np.hypot(*slip[-1])))
    for axis in (1, 2, 3):
        if {f"v{axis}", f"u{axis}"} <= set(q):
            yield from _integral("displacement", time, q[f"v{axis}"][:, None], q[f"u{axis}"][:, None])
    if {"Ts0", "Td0", "Pn0", "Mud", "SRs", "SRd"} <= set(q) and np.any(q["Mud"] != 0.0):
        yield from _strength(time, q, cohesion)


def _integral(
    identity: str, time: np.ndarray, rate: np.ndarray, value: np.ndarray
) -> Iterator[tuple[str, float, float]]:
    """Yield the difference between ``value`` (nt, n) and the trapezoidal integral of ``rate`` (nt, n), relative to the largest value.

    A rate that jumps between two samples, as at the onset of slip, may jump at any time between them: the difference is reduced by
    what the largest jump can change.
    """
    steps = np.diff(time)[:, None]
    integral = np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum((rate[1:] + rate[:-1]) / 2.0 * steps, 0)])
    change = value - value[0]
    scale = float(np.maximum(np.abs(change), np.abs(integral)).max())
    if scale < 1e-6:
        return
    jump = 0.5 * float((np.abs(np.diff(rate, axis=0)) * steps).max())
    # NaN if a value is NaN: the identity then fails
    difference = np.maximum(np.abs(integral - change).max(1) - jump, 0.0)
    yield identity, float(difference.max() / scale), float(time[difference.argmax()])


def _rupture_time(
    time: np.ndarray, rate: np.ndarray, ruptured: np.ndarray, slip: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the difference between rupture time and the time at which the sampled rate exceeds 1 mm/s, in sampling intervals.

    Half an interval is the largest correct value. A rupture time without any final ``slip`` [m] is an infinite error.
    """
    passed = np.flatnonzero(rate > RUPTURE_RATE)
    if not len(passed) and ruptured[-1] > 0.0 and slip < 1e-6:
        yield "rupture time", float("inf"), float(ruptured[-1])
    if not len(passed) or passed[0] == 0:
        return
    first = int(passed[0])
    interval = time[first] - time[first - 1]
    if ruptured[-1] <= 0.0:
        yield "rupture time", float("inf"), float(time[first])
        return
    middle = 0.5 * (time[first] + time[first - 1])
    yield "rupture time", float(max(abs(ruptured[-1] - middle) / interval - 0.5, 0.0)), float(time[first])


def _strength(time: np.ndarray, q: Mapping[str, np.ndarray], cohesion: float) -> Iterator[tuple[str, float, float]]:
    """Yield the difference between shear traction and friction times compression while the point slides."""
    sliding = np.hypot(q["SRs"], q["SRd"]) > SLIDING_RATE
    if not sliding.any():
        return
    traction = np.hypot(q["Ts0"], q["Td0"])[sliding]
    strength = (q["Mud"] * np.maximum(-q["Pn0"], 0.0) - cohesion)[sliding]
    difference = np.abs(traction - strength)
    scale = max(float(np.abs(strength).max()), 1e-300)
    yield "strength", float(difference.max() / scale), float(time[sliding][difference.argmax()])


def _moment_of_rates(data: Dataset) -> Iterator[Error]:
    """Yield the difference between the moment at the end of each interval and the integrated moment rate at its middle ``time``."""
    rate, moment, middle = data["moment_rate"], data["seismic_moment"], data["time"]
    if len(rate) < 2 or not np.abs(moment).max() > 0.0:
        return
    # ends of the intervals from their middles: each interval begins where the one before ends
    start = data.attrs.get("start_time", 0.0)
    ends = np.empty(len(middle))
    for i, t in enumerate(middle):
        ends[i] = 2.0 * t - (ends[i - 1] if i else start)
    steps = np.diff(ends, prepend=start)
    first = moment[0] - rate[0] * steps[0]
    difference = np.abs(first + np.cumsum(rate * steps) - moment)
    yield "moment", -1, float(difference.max() / np.abs(moment).max()), float(middle[difference.argmax()])


def _between(datasets: list[Dataset]) -> Iterator[tuple[str, float, float]]:
    """Yield identities between Datasets: energies, source parameters and moment rate have the same final moment."""
    moments = {}
    for data in datasets:
        if "seismic_moment" in data and np.size(data["seismic_moment"]):
            time = float(np.ravel(data["time"])[-1]) if "time" in data else float("nan")
            moments[data.name] = float(np.ravel(data["seismic_moment"])[-1]), time
    both = [moments[n] for n in ("moment_rate", "source_parameters") if n in moments]
    if len(both) == 2 and both[0][0] != 0.0:
        yield "moment", abs(both[1][0] / both[0][0] - 1.0), both[0][1]
