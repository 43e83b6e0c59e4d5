"""How a run goes, whatever its engine: the folder, the manifest, interrupts, what is kept when it fails."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self, cast

from faultwave.base.errors import Interrupted, NotBuiltError, Problem, RunError
from faultwave.case.model import Case
from faultwave.comm import World
from faultwave.comm.aware import Way
from faultwave.observe.dataset import Dataset
from faultwave.output.background import Background
from faultwave.output.checkpoint import Checkpoint, checkpoints_folder, remove_all
from faultwave.output.digests import Digests
from faultwave.output.folder import prepare_folder
from faultwave.run.manifest import inputs, note_failure, write_run_manifest

Finisher = Callable[[float], None]
"""Takes what falls on the very end of a run, at that time [s]."""


class BlowUp(Exception):
    """The state holds numbers that are not finite."""


class Session(ABC):
    """One case ready to run; ``run`` advances to the end time and writes the case's outputs.

    An engine's simulation says how to advance, what it observed and how to write it.
    """

    obstacle: str = "this engine"
    """With what no checkpoints can be written; empty where they can."""

    def __init__(self, case: Case, force: bool = False, warnings: Sequence[Problem] = (), world: World | None = None):
        self.world = world or World()
        if case.output.checkpoint is not None and self.obstacle:
            raise NotBuiltError(Problem("output.checkpoint", f"checkpoints are not built for {self.obstacle}"))
        self.case, self.force, self.warnings = case, force, tuple(warnings)
        self.interrupted, self.advancing = False, False
        self.end, self.folder = case.end_time, cast(Path | None, None)  # of the run that goes on
        self.resumed: dict[str, tuple[int, list[float]]] | None = None  # next snapshot and times there are, by file
        self.checkpoints = 0
        self.came_from = 0  # number of the checkpoint that this run goes on from
        self.background = Background()  # what is written while the run goes on
        self.wall = {"setup": 0.0, "stepping": 0.0}
        self.files: list[Path] = []
        self.way: Way | None = None  # of messages between devices
        self.inputs: dict[str, dict[str, Any]] = {}  # what the manifest says of the files that are read

    @property
    def runs_on(self) -> str:
        """The backend, and its device where there is one to tell of."""
        return self.case.numerics.backend

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
        self.end = until if until is not None else self.case.end_time
        self.files, self.folder, failure = [], None, None
        self.interrupted, self.advancing = False, True
        with self._interruptible():
            try:  # whatever fails here, on whichever process: none may be left waiting for it
                if write:
                    self.folder = self.world.share(self.world.together(self._prepare))
                    digests = Digests(self.world, inputs(self))
                    self.inputs = digests.before()
                    self.world.together(lambda: write_run_manifest(self, cast(Path, self.folder), "running"))
                failure = self._advance(progress)
                if self.folder:
                    self.inputs = digests.found()
                    self._write(self.folder, "failed" if failure else None)
            except BaseException as error:
                self._fail(error)
                raise
        if failure:
            raise self.world.everyones(failure)
        if self.interrupted:
            text = f"interrupted at t = {self.time:g} s of {self.end:g} s; outputs up to there are written"
            if not self.checkpoints:
                raise self.world.everyones(RunError(text))
            raise self.world.everyones(Interrupted(f"{text}; go on with: faultwave resume {self.folder}"))
        return self

    def _advance(self, progress: Callable[[Any], None] | None) -> RunError | None:
        """To the end, fields written on the way; what to tell of a blow-up, if there was one."""
        failure, folder = None, self.folder
        with ExitStack() as stack:
            self.background = Background()
            finishers = self._open_fields(folder, stack) if folder else []
            stack.callback(self.background.close)  # before the files it writes to are closed or thrown away
            try:
                self._loop(self.end, progress)
                self.advancing = False
            except BlowUp:  # snapshots up to here are good: they are closed, not thrown away
                self.advancing = False
                failure = RunError(self._explain(folder))
            else:
                self._finish(finishers)
            self.background.wait()
            self.wall["write"] = self.wall.get("write", 0.0) + self.background.busy
            self.wall["held_up"] = self.wall.get("held_up", 0.0) + self.background.waited
        return failure

    def _fail(self, error: BaseException) -> None:
        """Note the failure in the manifest, if the disk takes that, and end every process that does not have the error."""
        try:
            if self.folder and (self.world.first or not self.world.common(error)):
                note_failure(self, self.folder, error)
        finally:
            self.world.abort(error)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Go on where the checkpoint was taken. Raises InputError where that cannot be."""
        raise NotBuiltError(Problem("resume", f"checkpoints are not built for {self.obstacle}"))

    def _prepare(self) -> Path:
        """The folder for the outputs; an earlier run's are removed unless this run goes on from it."""
        out = self.case.output
        if self.resumed is not None:
            return prepare_folder(out.folder, True)
        folder = prepare_folder(out.folder, self.force, out.prefix)
        remove_all(checkpoints_folder(folder, out.prefix))
        return folder

    def _interruptible(self) -> ExitStack:
        """Ctrl-C, SIGTERM and SIGUSR1 (which launchers pass on) end the run after the current step, the first if it has not begun;
        a second one is immediate."""
        stack, told = ExitStack(), list[int]()

        def stop(number: int, frame: Any) -> None:
            told.append(number)
            if len(told) > 1:
                raise KeyboardInterrupt
            self.interrupted |= self.advancing  # what is computed is written

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
            try:
                old = signal.signal(number, stop)
            except ValueError:  # not in the main thread
                break
            stack.callback(signal.signal, number, old)
        return stack
