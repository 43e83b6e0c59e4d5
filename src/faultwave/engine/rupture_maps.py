"""Summary of a finished rupture: maps on the fault, moment rate with its spectrum, and source parameters.

Definitions: docs/theory/friction.md, "Source parameters". An engine adds the sums over its fault during the run (``totals``) and the values
of its faces at the end (``finished_faces``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import RuptureOutput
from faultwave.engine.capability import CapabilityPlan, RestoredFrom, State
from faultwave.engine.energies import TimeTable
from faultwave.observe.dataset import Result
from faultwave.observe.rupture import FaultHistory, FinishedRupture, rupture_results, rupture_warnings

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
    """Base class of the planned rupture maps of an engine; ``setting`` is ``output.rupture`` of the case."""

    name = "rupture_maps"
    setting: RuptureOutput


class RuptureMapRecorder(TimeTable):
    """Base class of rupture maps in a run.

    Attributes
    ----------
    rows : list of tuple of float
        Time [s] and ``TOTALS`` of all processes, on the first.
    found : FinishedRupture or None
        Summary of the rupture on the first process, once results have been computed.
    """

    rows: list[tuple[float, ...]]

    def __init__(self) -> None:
        self.rows = []
        self.found: FinishedRupture | None = None

    def totals(self) -> Mapping[str, float]:
        """Return the ``TOTALS`` of all processes that are known, on the first process (collective)."""
        raise NotImplementedError

    def finished_faces(self) -> tuple[Mapping[str, np.ndarray], bool] | None:
        """Return ``observe.rupture`` values of all faces, and whether the friction law needs stress; None except on the first process."""
        raise NotImplementedError

    def now(self) -> float:
        """Return the simulated time [s]."""
        raise NotImplementedError

    def record(self) -> None:
        """Append the present sums to the table (collective)."""
        found = self.totals()
        self.rows.append((self.now(), *(found.get(key, 0.0) for key in TOTALS)))

    def _table(self) -> np.ndarray:
        return np.array(self.rows).reshape(-1, 1 + len(TOTALS))

    def state(self) -> Mapping[str, State]:
        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            self.rows = [tuple(map(float, row)) for row in values]

        return {**super().state(), "table": State(None, self._table, write)}  # type: ignore[dict-item]

    def results(self) -> Iterable[Result]:
        faces = self.finished_faces()
        if faces is None:
            return
        self.found = FinishedRupture(dict(faces[0]), FaultHistory(*self._table().T), faces[1])
        yield from rupture_results(self.found)

    def remarks(self) -> Iterable[Problem]:
        return rupture_warnings(self.found) if self.found is not None else ()
