"""Summary of a finished rupture: maps on the fault, moment rate with its spectrum, and source parameters.

Definitions: docs/theory/friction.md, "Source parameters". An engine adds the sums over its fault during the run (``totals``), the slip of
its elements (``local_slip``, ``slip_elements``) and the values of its faces at the end (``finished_faces``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import RuptureOutput
from faultwave.engine.capability import CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.engine.energies import TimeTable
from faultwave.observe.dataset import Result, sample_count
from faultwave.observe.finite_source import SlipHistories
from faultwave.observe.rupture import FaultHistory, FinishedRupture, rupture_results, rupture_warnings

ROUNDING = 1e-6
"""Fraction of the interval of stored slip by which a row may be early."""

BYTES_OF_SLIP, BYTES_OF_ELEMENT = 8, 200
"""Stored bytes of an element for each time, two numbers of 32 bits, and once, its corners and properties."""

TOTALS = ("total_frictional_work", "static_frictional_work", "seismic_moment", "potency")
"""Sums over the fault at each time, in the order of ``FaultHistory``."""


def requested_maps(case: Case, problems: Problems) -> RuptureOutput | None:
    """Return the settings ``output.rupture``; None if the case requests no maps, or has no fault, which is reported."""
    setting = case.output.rupture
    if setting is not None and case.fault is None:
        advice = "Add a fault group, or remove output.rupture."
        problems.error("output.rupture", "the case has no fault with friction", advice=advice)
        return None
    return setting


class RuptureMapPlan(CapabilityPlan):
    """Base class of the planned rupture maps of an engine.

    ``setting`` is ``output.rupture`` of the case, ``end_time`` the end of the run [s], and ``elements`` the number of elements of the
    whole fault whose slip is stored.
    """

    name = "rupture_maps"
    setting: RuptureOutput
    end_time: float
    elements: int

    @property
    def slip_bytes(self) -> int:
        """Size of the stored slip of the whole fault, before compression [bytes]."""
        if self.setting.slip_interval is None:
            return 0
        rows = sample_count(self.end_time, max(self.setting.slip_interval, self.setting.interval))
        return self.elements * (BYTES_OF_SLIP * rows + BYTES_OF_ELEMENT)

    @property
    def requirements(self) -> Requirements:
        return Requirements(disk=self.slip_bytes)


class RuptureMapRecorder(TimeTable):
    """Base class of rupture maps in a run.

    Attributes
    ----------
    rows : list of tuple of float
        Time [s] and ``TOTALS`` of all processes, on the first.
    slip_interval : float or None
        Interval of the stored slip [s].
    slip_times : list of float
        Times of the stored slip [s].
    slips : list of ndarray of shape (n, 2)
        Slip of the local elements along strike and dip at these times [m].
    found : FinishedRupture or None
        Summary of the rupture on the first process, once results have been computed.
    """

    rows: list[tuple[float, ...]]

    def __init__(self, setting: RuptureOutput) -> None:
        self.rows = []
        self.slip_interval = setting.slip_interval
        self.slip_times: list[float] = []
        self.slips: list[np.ndarray] = []
        self.found: FinishedRupture | None = None

    def totals(self) -> Mapping[str, float]:
        """Return the ``TOTALS`` of all processes that are known, on the first process (collective)."""
        raise NotImplementedError

    def finished_faces(self) -> tuple[Mapping[str, np.ndarray], bool] | None:
        """Return ``observe.rupture`` values of all faces, and whether the friction law needs stress; None except on the first process."""
        raise NotImplementedError

    def local_slip(self) -> np.ndarray:
        """Return the slip (n, 2) along strike and dip [m] of the elements that this process records (collective)."""
        raise NotImplementedError

    def slip_rows(self) -> np.ndarray | None:
        """Return the indices (n,) of these elements in the whole fault; None if the first process records all."""
        raise NotImplementedError

    def slip_elements(self, slip: np.ndarray) -> SlipHistories | None:
        """Return the histories of the whole fault from ``slip`` (n, times, 2); None except on the first process (collective)."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the simulated time [s]."""
        raise NotImplementedError

    def record(self) -> None:
        """Append the present sums to the table (collective)."""
        found = self.totals()
        self.rows.append((self.now(), *(found.get(key, 0.0) for key in TOTALS)))
        if self.slip_interval is not None:
            due = self.slip_times[-1] + self.slip_interval if self.slip_times else 0.0
            if self.now() >= due - ROUNDING * self.slip_interval:
                self._record_slip()

    def _record_slip(self) -> None:
        self.slip_times.append(self.now())
        self.slips.append(self.local_slip().astype(np.float32))

    def finish(self, time: float) -> None:
        super().finish(time)
        if self.slip_times and self.slip_times[-1] < self.now():
            self._record_slip()

    def _slip_table(self) -> np.ndarray:
        return np.stack(self.slips, 1) if self.slips else np.zeros((0, 0, 2), np.float32)

    def _table(self) -> np.ndarray:
        return np.array(self.rows).reshape(-1, 1 + len(TOTALS))

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.rows = [tuple(map(float, row)) for row in values]

        found: dict[str, State] = {**super().state(), "table": State(None, self._table, write)}  # type: ignore[dict-item]
        if self.slip_interval is None:
            return found

        def write_times(values: np.ndarray, origin: RestoredFrom) -> None:
            self.slip_times = values.tolist()

        def write_slips(values: np.ndarray, origin: RestoredFrom) -> None:
            self.slips = list(values.swapaxes(0, 1))

        return found | {
            "slip_times": State(None, lambda: np.array(self.slip_times), write_times),
            "slips": State(self.slip_rows(), self._slip_table, write_slips),
        }

    def results(self) -> Iterable[Result]:
        histories = None if self.slip_interval is None else self.slip_elements(self._slip_table())
        if histories is not None:
            yield histories.result()
        faces = self.finished_faces()
        if faces is None:
            return
        self.found = FinishedRupture(dict(faces[0]), FaultHistory(*self._table().T), faces[1])
        yield from rupture_results(self.found)

    def remarks(self) -> Iterable[Problem]:
        return rupture_warnings(self.found) if self.found is not None else ()
