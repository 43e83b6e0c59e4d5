"""Tables with a row for each time: energies, work and moment that every run can record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from faultwave.engine.capability import Capability, RestoredFrom, State, decode_words, encode_words
from faultwave.engine.solver import BlowUp
from faultwave.observe.dataset import Dataset, Result, energies_from_arrays

Rows = list[tuple[float, dict[str, float]]]


class TimeTable(Capability):
    """Table whose rows begin with a time [s]; the first and the last time of a run have a row."""

    rows: list[Any]

    def record(self) -> None:
        """Append a row of the present time (collective)."""
        raise NotImplementedError

    def begin(self) -> None:
        if not self.rows:
            self.record()

    def finish(self, time: float) -> None:
        """Append a row for the end of the run, also an early one."""
        if self.rows and self.rows[-1][0] < time:
            self.record()


class EnergyRecorder(TimeTable):
    """Time series of energies, work and seismic moment.

    Attributes
    ----------
    rows : list of (float, dict of str to float)
        Time [s] and energies by name [J, N m]. On process 0 they are summed over all processes.
    """

    needs_energies = True

    rows: Rows

    def __init__(self, solver: Any):
        self.solver, self.rows = solver, []

    def record(self) -> None:
        """Append the energies of the current time to the table (collective).

        Raises
        ------
        BlowUp
            If an energy overflows the floating-point precision of the run on any process.
        """
        found = self.solver.energies()
        self.rows.append((self.solver.time, found))
        infinite = sorted(name for name, value in found.items() if np.isinf(value))
        if self.solver.plan.world.any(bool(infinite)):
            self.solver.wrong = f"{', '.join(infinite)} overflowed: the motion is too large for this precision"
            raise BlowUp

    def state(self) -> Mapping[str, State]:
        names = list(self.rows[0][1]) if self.rows else []

        def table() -> np.ndarray:
            return np.array([[t, *(row[n] for n in names)] for t, row in self.rows]).reshape(-1, 1 + len(names))

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            known = decode_words(origin.arrays["names"])
            self.rows = [(float(v[0]), dict(zip(known, v[1:].tolist(), strict=True))) for v in values]

        return {
            **super().state(),  # type: ignore[dict-item]
            "names": State(None, lambda: encode_words(names), _nothing),
            "table": State(None, table, write),
        }

    def results(self) -> Iterable[Result]:
        data = self.dataset()
        if data is not None:
            yield Result("energies", data)

    def dataset(self) -> Dataset | None:
        """Return the recorded energies as a dataset, or None if nothing was recorded."""
        if not self.rows:
            return None
        names = self.rows[0][1]
        return energies_from_arrays([t for t, _ in self.rows], {n: [e[n] for _, e in self.rows] for n in names})


def _nothing(values: np.ndarray, origin: RestoredFrom) -> None:
    """Do nothing, as the names are restored together with the table."""
