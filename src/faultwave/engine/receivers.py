"""Receivers (seismograms): everything about them that does not depend on the numerical method.

A ``ReceiverRequest`` holds the receivers of a case: places, codes, sampling and columns. The plan of an engine (``ReceiverPlan``) adds
where they lie in its mesh or grid, and its running counterpart (``ReceiverCapability``) returns the samples of all processes. Engines
sample with ``ReceiverRecorder`` (predictors of local time steps) or ``SeriesRecorder`` (values of every step). Columns computed from
samples, such as the curl of the velocity, are listed in ``DERIVED``.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.comm.messages import gather_rows
from faultwave.engine.capability import Capability, CapabilityPlan, RestoredFrom, State
from faultwave.observe.dataset import Result, receivers_from_arrays, sample_count
from faultwave.observe.model import Marks
from faultwave.observe.stations.codes import Station, with_stations
from faultwave.observe.stations.points import read_points, read_stations, with_degrees, z_references
from faultwave.physics.waves import Law

NAME = "receivers"


@dataclass(frozen=True)
class DerivedColumns:
    """Columns of seismograms that are computed from samples.

    Attributes
    ----------
    setting : str
        Setting of ``output.receivers`` that requests them.
    names : tuple of str
        Names of the columns, with units and descriptions in ``observe.dataset.QUANTITIES``.
    formula : callable
        ``formula(fields, gradient)`` returns the columns, each of shape (nt, nr), from the sampled quantities (nt, nr) by name and the
        velocity gradient (nt, nr, component, direction), which is empty unless ``gradients``.
    gradients : bool
        True if the spatial derivatives of the velocity are needed.
    """

    setting: str
    names: tuple[str, ...]
    formula: Callable[[Mapping[str, np.ndarray], np.ndarray], Sequence[np.ndarray]]
    gradients: bool = False


def _curl(fields: Mapping[str, np.ndarray], g: np.ndarray) -> Sequence[np.ndarray]:
    return [g[..., 2, 1] - g[..., 1, 2], g[..., 0, 2] - g[..., 2, 0], g[..., 1, 0] - g[..., 0, 1]]


STRAIN_PAIRS = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}


def _strain_rate(fields: Mapping[str, np.ndarray], g: np.ndarray) -> Sequence[np.ndarray]:
    return [(g[..., i, j] + g[..., j, i]) / 2 for i, j in STRAIN_PAIRS.values()]


DERIVED = (
    DerivedColumns("rotation", ("rot1", "rot2", "rot3"), _curl, gradients=True),
    DerivedColumns("strain_rate", tuple(f"eps{pair}" for pair in STRAIN_PAIRS), _strain_rate, gradients=True),
)
"""Derived columns in the order of the files."""


@dataclass(frozen=True)
class ReceiverRequest:
    """Receivers that a case requests.

    Attributes
    ----------
    case : Case
    quantities : tuple of str
        Quantities of the wave law that are recorded.
    points : ndarray (n, 3)
        Places as given [m].
    references : ndarray (n,)
        Reference of each z (``observe.stations.points.z_references``).
    stations : tuple of Station
        Codes of the receivers.
    """

    case: Case
    quantities: tuple[str, ...]
    points: np.ndarray
    references: np.ndarray
    stations: tuple[Station, ...]

    @classmethod
    def read(cls, case: Case, law: Law, problems: Problems) -> ReceiverRequest | None:
        """Read the receivers of a case and the files that it names; return None if it requests none.

        Raises
        ------
        InputError
            With every error in the settings and files. Warnings are added to ``problems``.
        """
        setting = case.output.receivers
        if setting is None:
            return None
        points, references = read_points(setting, case.projection), z_references(setting)
        quantities = tuple(law.quantities[: law.visible])
        for derived in DERIVED:
            if getattr(setting, derived.setting) and derived.gradients and "velocity" not in law.roles:
                what = f"{derived.setting} is computed from the velocity, which the {law.name} law does not have"
                problems.error(f"output.receivers.{derived.setting}", what, "false")
        return cls(case, quantities, points, references, read_stations(setting, problems))

    @property
    def setting(self) -> Setting:
        """Settings ``output.receivers`` of the case."""
        return self.case.output.receivers

    @property
    def derived(self) -> tuple[DerivedColumns, ...]:
        """Requested columns that are computed from samples."""
        return tuple(d for d in DERIVED if getattr(self.setting, d.setting))

    @property
    def gradients(self) -> bool:
        """True if spatial derivatives are recorded."""
        return any(d.gradients for d in self.derived)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in a file."""
        return (*self.quantities, *(name for d in self.derived for name in d.names))

    @property
    def samples(self) -> int:
        """Number of samples in time."""
        return sample_count(self.case.end_time, self.setting.interval)

    @property
    def disk(self) -> int:
        """Size of the seismograms of all receivers in a file [bytes]."""
        return 8 * len(self.columns) * len(self.points) * self.samples

    def result(self, time: np.ndarray, values: np.ndarray, located: np.ndarray) -> Result:
        """Return seismograms as a result.

        Parameters
        ----------
        time : ndarray (nt,)
            Times [s].
        values : ndarray (nt, nr, 1 or 4, Q)
            Samples: values and, if requested, their derivatives along x, y and z. Quantities that are not recorded come last.
        located : ndarray (nr, 3)
            Places of the receivers [m].
        """
        made = receivers_from_arrays(time, self.table(values, len(located)), self.columns, located, located)
        made = with_stations(made, self.stations, self.case.output.origin_time)
        return Result(NAME, with_degrees(made, self.case.projection))

    def table(self, values: np.ndarray, receivers: int) -> np.ndarray:
        """Return the columns of a file (nt, nr, columns) from samples (nt, nr, 1 or 4, Q)."""
        names = self.quantities
        values = values[..., : len(names)]
        if not len(values):
            values = np.zeros((0, receivers, 4 if self.gradients else 1, len(names)))
        gradient = np.zeros(0)
        if self.gradients:
            v = [names.index(f"v{i}") for i in (1, 2, 3)]
            gradient = np.moveaxis(values[:, :, 1:, :][..., v], 2, 3)  # (nt, nr, component, direction)
        fields = {name: values[:, :, 0, i] for i, name in enumerate(names)}
        columns = [np.stack(d.formula(fields, gradient), -1) for d in self.derived]
        return np.concatenate([values[:, :, 0], *columns], -1)


class ReceiverPlan(CapabilityPlan):
    """Base class of the planned receivers of an engine, which knows where they lie in its mesh or grid."""

    name = NAME
    request: ReceiverRequest

    @property
    def located(self) -> np.ndarray:
        """Places (n, 3) [m] of the receivers of all processes."""
        raise NotImplementedError

    def report(self, plan: Any) -> dict[str, list[tuple[str, ...]]]:
        return {"output": [(NAME, f"{len(self.located)} with {self.request.samples} samples")]}

    def shapes(self, plan: Any) -> tuple[Marks, ...]:
        return (Marks(NAME, self.located, tuple(station.code for station in self.request.stations)),)


class ReceiverCapability(Capability):
    """Base class of the running receivers of an engine."""

    part: ReceiverPlan

    def series(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return times (nt,) [s] and samples (nt, nr, 1 or 4, Q) of all processes, on the first; None elsewhere (collective)."""
        raise NotImplementedError

    def results(self) -> Iterable[Result]:
        found = self.series()
        if found is not None:
            yield self.part.request.result(*found, self.part.located)


# ---- recorders ----------------------------------------------------------------------------------------------------------


ROUNDING = 1e-6
"""Relative rounding error of the time at which a step ends."""


class PendingSample(Protocol):
    """Sample that may still be in transfer; ``values`` (n, C, Q) waits for it."""

    @property
    def here(self) -> bool: ...

    def values(self) -> np.ndarray: ...


class ReceiverRecorder:
    """Recorder of samples at multiples of ``interval`` [s].

    ``take(cluster, tau)`` samples the cluster's receivers ``tau`` [s] after the beginning of the step that has been predicted. ``points``
    (nr, C, B3) holds C linear functionals of the basis at each receiver: the value itself and, if requested, three spatial derivatives.
    """

    def __init__(
        self,
        interval: float,
        clusters: Sequence[np.ndarray],
        points: np.ndarray,
        take: Callable[[int, float], PendingSample],
    ):
        self.interval, self.clusters, self.points, self.take = interval, clusters, points, take
        self.next = [0] * len(clusters)
        self.fixed_count = False  # True if all steps take equally many samples; those not due are padding
        self.samples: dict[int, np.ndarray] = {}  # sample number -> (nr, C, Q)
        self.coming: deque[tuple[int, np.ndarray, PendingSample]] = deque()  # number, receivers

    def record(self, cluster: int, time: float, step: float) -> None:
        """Take the samples with time <= t < time + step."""
        items = self.clusters[cluster]
        if not len(items):
            return
        first, last = self.next[cluster], math.ceil((time + step) / self.interval - 1e-9)
        for number in range(first, last):
            self.coming.append((number, items, self.take(cluster, number * self.interval - time)))
            self.next[cluster] = number + 1
        if self.fixed_count:
            due = max(0, last - first)
            for _ in range(due, max(due, math.floor(step / self.interval + 1e-6) + 1)):
                self.take(cluster, 0.0)
        while self.coming and self.coming[0][2].here:
            self._keep()

    def _keep(self) -> None:
        number, items, taken = self.coming.popleft()
        self._store(number, items, taken.values())

    def complete(self) -> None:
        """Wait for all samples taken so far."""
        while self.coming:
            self._keep()

    def next_due(self, cluster: int) -> float:
        """Return the time [s] up to which steps of a cluster contain no sample."""
        return self.next[cluster] * self.interval * (1.0 - ROUNDING) if len(self.clusters[cluster]) else math.inf

    def idle(self, until: float) -> bool:
        """Return True if no sample is due in steps that end before ``until`` [s]."""
        waiting = [n for n, items in zip(self.next, self.clusters, strict=True) if len(items)]
        return math.ceil(until / self.interval - 1e-9) <= min(waiting, default=math.inf)

    def finish(self, time: float, values: Callable[[int], np.ndarray]) -> None:
        """Take the sample at the end time, if it is due; ``values(cluster)`` returns the current coefficients (n, B3, Q)."""
        for cluster, items in enumerate(self.clusters):
            number = self.next[cluster]
            if len(items) and abs(number * self.interval - time) <= 1e-9 * max(self.interval, time):
                self._store(number, items, _at_points(self.points[items], values(cluster)))
                self.next[cluster] = number + 1

    def _store(self, number: int, items: np.ndarray, values: np.ndarray) -> None:
        if number not in self.samples:
            self.samples[number] = np.zeros((len(self.points), *values.shape[1:]))
        self.samples[number][items] = values

    @property
    def active(self) -> bool:
        """True if there are receivers."""
        return any(len(items) for items in self.clusters)

    @property
    def samples_complete(self) -> bool:
        """True if all receivers have the same samples."""
        return len({n for n, items in zip(self.next, self.clusters, strict=True) if len(items)}) <= 1

    def restore(self, values: np.ndarray) -> None:
        """Continue after the samples (nt, nr, C, Q) of ``arrays``."""
        self.coming.clear()
        self.samples = dict(enumerate(values))
        self.next = [len(values)] * len(self.clusters)

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s] and samples (nt, nr, C, Q) that are complete for every receiver."""
        self.complete()
        active = [n for n, items in zip(self.next, self.clusters, strict=True) if len(items)]
        count = min(active, default=0)
        shape = (0, len(self.points), self.points.shape[1], 0)
        values = np.stack([self.samples[i] for i in range(count)]) if count else np.zeros(shape)
        return np.arange(count) * self.interval, values


def _at_points(points: np.ndarray, modes: np.ndarray) -> np.ndarray:
    """Return samples (n, C, Q) from functionals (n, C, B3) and modes (n, B3, Q).

    The sum is taken mode by mode, so that the rounding of a receiver does not depend on how many others are sampled with it.
    """
    total = points[:, :, 0, None] * modes[:, None, 0]
    for b in range(1, modes.shape[1]):
        total += points[:, :, b, None] * modes[:, None, b]
    return np.asarray(total)


POINTS = 4
"""Number of points of the interpolating polynomial in time."""


class SeriesRecorder:
    """Recorder of receiver values at every step, sampled at multiples of ``interval`` [s].

    It stores values (steps, receivers, channels, Q) of the last steps. Columns are staggered in time by ``late`` (Q,) steps after the start
    of the step; a column with late = 0.5 holds values at times (n + 1/2) dt. ``first`` (receivers, channels, Q) are the values one step
    before the first; all values have its data type.
    """

    def __init__(self, step: float, late: Sequence[float], first: np.ndarray, interval: float):
        self.step, self.late, self.interval = step, np.asarray(late, float), interval
        self.samples = [np.empty((0, *first.shape), first.dtype)]
        self.last, self.count = first[None], 1  # number of steps so far, including the one before the first

    @property
    def taken(self) -> int:
        """Number of samples that no later step can change."""
        return sum(len(block) for block in self.samples)

    def append(self, values: np.ndarray) -> None:
        """Append the values of the next steps."""
        self.last = np.concatenate([self.last, np.asarray(values, self.last.dtype)])
        self.count += len(values)
        if self.count < POINTS:
            return
        first, late = self.taken, float(self.late.min())
        due = max(first, int((self.count - POINTS + 1 + late) * self.step / self.interval) + 2)
        while due > first and not self._settled(due - 1):
            due -= 1
        if due > first:
            self.samples.append(self._sampled(first, due).astype(self.last.dtype))
        self.last = self.last[
            -POINTS:
        ].copy()  # columns are less than a step apart: no later sample needs values before these

    def _settled(self, sample: int) -> bool:
        """Return True if all points of a sample's polynomials exist, so that no later step changes it."""
        behind = int(np.floor(self._at(sample, float(self.late.min()))))
        return max(behind - POINTS // 2 + 1, 0) + POINTS <= self.count

    def _at(self, sample: int, late: float) -> float:
        """Return the fractional step index of a sample."""
        return float(sample * self.interval / self.step - late + 1.0)

    def _sampled(self, first: int, end: int) -> np.ndarray:
        """Return the samples [first, end)."""
        result = np.empty((end - first, *self.last.shape[1:]))
        times = np.arange(first, end) * self.interval
        for late in np.unique(self.late):
            columns = np.flatnonzero(self.late == late)
            result[..., columns] = interpolate(self.last[..., columns], times / self.step - late + 1.0, self.count)
        return result

    def state(self) -> dict[str, np.ndarray]:
        """Return the state for a restart; receivers are the second axis of ``samples`` and ``last``."""
        self.samples = [np.concatenate(self.samples)]  # avoids a second copy in memory
        return {"samples": self.samples[0], "last": self.last, "count": np.array(self.count)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Continue from the result of ``state``."""
        kind = self.last.dtype
        self.samples, self.last = [np.asarray(state["samples"], kind)], np.asarray(state["last"], kind)
        self.count = int(state["count"])

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the times (nt,) [s] so far and the values (nt, receivers, channels, Q) by cubic interpolation."""
        now = (self.count - 1) * self.step
        end = int(np.floor(now / self.interval * (1 + 1e-12) + 1e-9)) + 1
        open_ended = self._sampled(self.taken, end).astype(self.last.dtype)
        return np.arange(end) * self.interval, np.concatenate([*self.samples, open_ended])[:end].astype(float)


def interpolate(last: np.ndarray, at: np.ndarray, total: int) -> np.ndarray:
    """Interpolate a series at fractional indices by the cubic through four neighbours, or fewer if the series is shorter.

    Parameters
    ----------
    last : ndarray of shape (k, ...)
        Last values of the series.
    at : ndarray of shape (m,)
        Fractional indices in the whole series.
    total : int
        Length of the whole series, including values no longer stored.
    """
    start, weights = interpolation_weights(at, total)
    result = np.zeros((len(at), *last.shape[1:]))
    for m, weight in enumerate(weights):
        result += weight.reshape(-1, *[1] * (last.ndim - 1)) * last[start + m - (total - len(last))]
    return result


def interpolation_weights(at: np.ndarray, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of the interpolated samples (m,) and the weights (4 or fewer, m) of it and of its successors.

    Parameters
    ----------
    at : ndarray of shape (m,)
        Fractional indices.
    total : int
        Length of the series.
    """
    count = min(POINTS, total)
    start = np.clip(np.floor(at).astype(int) - count // 2 + 1, 0, total - count)
    weights = np.ones((count, len(at)))
    for m in range(count):
        for n in range(count):
            if n != m:
                weights[m] *= (at - start - n) / (m - n)
    return start, weights


def series_state(recorder: SeriesRecorder, mine: np.ndarray) -> Mapping[str, State]:
    """Return the checkpoint entries of a recorder of the receivers ``mine`` (n,) of this process."""
    retained = recorder.state()

    def restore(values: np.ndarray, origin: RestoredFrom) -> None:
        series = {name: origin.arrays[name].swapaxes(0, 1) for name in ("samples", "last")}
        recorder.restore(series | {"count": origin.arrays["count"]})

    def ignore(values: np.ndarray, origin: RestoredFrom) -> None:
        """Do nothing: ``restore`` writes these values together with the samples."""

    return {
        "last": State(mine, lambda: retained["last"].swapaxes(0, 1), ignore),
        "count": State(None, lambda: retained["count"], ignore),
        "samples": State(mine, lambda: retained["samples"].swapaxes(0, 1), restore),
    }


def gather_receivers(values: np.ndarray, mine: np.ndarray, count: int, world: World) -> np.ndarray | None:
    """Return samples (nt, count, ...) of the receivers of all processes, on the first; None elsewhere (collective).

    ``values`` (nt, n, ...) are the samples of the receivers ``mine`` (n,) of this process.
    """
    if world.size == 1 and len(mine) == count:  # in order
        return values
    found = gather_rows(world, mine, [values.swapaxes(0, 1)], count)
    return None if found is None else found[0].swapaxes(0, 1)
