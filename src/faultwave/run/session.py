"""How a run goes, whatever its engine: the folder, the manifest, interrupts, what is kept when it fails."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self

from faultwave.base.errors import Problem, RunError
from faultwave.case.model import Case
from faultwave.observe.dataset import Dataset
from faultwave.output.folder import prepare_folder
from faultwave.run.manifest import write_run_manifest

Finisher = Callable[[float], None]
"""Takes what falls on the very end of a run, at that time [s]."""


class BlowUp(Exception):
    """The state holds numbers that are not finite."""


class Session(ABC):
    """One case ready to run; ``run`` advances to the end time and writes the case's outputs.

    An engine's simulation says how to advance, what it observed and how to write it.
    """

    def __init__(self, case: Case, force: bool = False, warnings: Sequence[Problem] = ()):
        self.case, self.force, self.warnings = case, force, tuple(warnings)
        self.interrupted = False
        self.wall = {"setup": 0.0, "stepping": 0.0}
        self.files: list[Path] = []

    @property
    @abstractmethod
    def time(self) -> float:
        """Simulated time reached [s]."""

    @property
    @abstractmethod
    def receivers(self) -> Dataset | None:
        """Seismograms: values (time, receiver, quantity)."""

    @property
    @abstractmethod
    def energies(self) -> Dataset | None:
        """Energies, work and moment at the times asked for."""

    @property
    @abstractmethod
    def cells(self) -> int:
        """Elements or grid points."""

    @abstractmethod
    def rates(self) -> dict[str, float]:
        """What was computed and how fast; the unit is in the name."""

    @abstractmethod
    def timings(self) -> dict[str, float]:
        """Seconds of each part of the run."""

    @abstractmethod
    def _open_fields(self, folder: Path, stack: ExitStack) -> list[Finisher]:
        """Open what is written while the run goes on; the stack closes it, or throws it away on an error."""

    @abstractmethod
    def _loop(self, end: float, progress: Callable[[Any], None] | None) -> None:
        """Advance to ``end`` [s] or until interrupted. Raises BlowUp."""

    @abstractmethod
    def _finish(self, finishers: list[Finisher]) -> None:
        """Samples and snapshots that fall on the very end."""

    @abstractmethod
    def _explain(self, folder: Path | None) -> str:
        """What to tell of a blow-up."""

    @abstractmethod
    def _write(self, folder: Path, status: Literal["failed"] | None = None) -> None:
        """Write what was recorded, and the manifest."""

    def run(
        self, progress: Callable[[Any], None] | None = None, until: float | None = None, write: bool = True
    ) -> Self:
        """Advance to ``until`` or the case's end time; ``write=False`` leaves the disk alone."""
        end = until if until is not None else self.case.end_time
        folder = prepare_folder(self.case.output.folder, self.force, self.case.output.prefix) if write else None
        self.files = []
        if folder:
            write_run_manifest(self, folder, "running")
        failure: RunError | None = None
        try:
            with ExitStack() as stack:
                finishers = self._open_fields(folder, stack) if folder else []
                stack.enter_context(self._interruptible())
                try:
                    self._loop(end, progress)
                except BlowUp:  # snapshots up to here are good: they are closed, not thrown away
                    failure = RunError(self._explain(folder))
                else:
                    self._finish(finishers)
        except BaseException:
            if folder:
                write_run_manifest(self, folder, "failed")
            raise
        if folder:
            self._write(folder, "failed" if failure else None)
        if failure:
            raise failure
        if self.interrupted:
            raise RunError(f"interrupted at t = {self.time:g} s of {end:g} s; outputs up to there are written")
        return self

    def _interruptible(self) -> ExitStack:
        """Ctrl-C and SIGTERM end the run after the current step; a second one is immediate."""
        stack = ExitStack()

        def stop(number: int, frame: Any) -> None:
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True

        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                old = signal.signal(number, stop)
            except ValueError:  # not in the main thread
                break
            stack.callback(signal.signal, number, old)
        return stack
