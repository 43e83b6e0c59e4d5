"""Session of a run on any engine: folder, manifest, interrupts, checkpoints, and results saved on failure."""

from __future__ import annotations

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from faultwave.base.errors import InputError, Interrupted, Problem, RunError, suggest
from faultwave.base.processes import signals
from faultwave.base.processes.signals import WATCHDOG
from faultwave.base.progress import reporting
from faultwave.base.spans import phase
from faultwave.base.types import Settings
from faultwave.base.units import seconds
from faultwave.base.wording import command, option
from faultwave.case.settings.model import Case
from faultwave.engine.balance import Balance, gather_balance
from faultwave.engine.solver import BlowUp, Diagnosis, Progress, Solver
from faultwave.observe.dataset import Dataset, Result
from faultwave.output.atomic import WriteFailed, concurrent_flush
from faultwave.output.background import Background
from faultwave.output.checkpoint import Checkpoint, checkpoints_folder, has_checkpoints, remove_all
from faultwave.output.folder import prepare_folder
from faultwave.output.formats import write_results
from faultwave.output.formats.vtkhdf import VtkHdfWriter
from faultwave.output.manifest import Digests, build_manifest, read_manifest, write_manifest
from faultwave.run import checkpoints
from faultwave.run.energy import EnergyMeter
from faultwave.run.event import with_event
from faultwave.run.files import SeriesExtent, SnapshotFiles

if TYPE_CHECKING:
    from types import FrameType

    from numpy.typing import ArrayLike


PATIENCE = 5.0
"""Time limit [s] of the note on a failure; a file system that hangs must not delay the end of a run."""


def _paths(value: object) -> Iterator[Path]:
    """Yield every file that settings name."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _paths(item)


def inputs(sim: Session) -> list[Path]:
    """Return the files that the case reads, without duplicates."""
    settings = sim.case.model_dump(exclude={"output": {"folder"}})
    return list(dict.fromkeys(p for p in (*_paths(settings), *sim.files_read) if p.is_file()))


def write_run_manifest(
    sim: Session, folder: Path, status: Literal["running", "finished", "interrupted", "failed"] | None = None
) -> Path:
    """Write the manifest of a run and return its path.

    Parameters
    ----------
    sim : Session
        Run.
    folder : Path
        Output folder.
    status : {'running', 'finished', 'interrupted', 'failed'}, optional
        Status; by default finished or interrupted, as the session states.
    """
    case, solver = sim.case, sim.solver
    extra: Settings = {} if solver.halo is None else {"halo": solver.halo}
    if sim.balance is not None:
        extra["balance"] = sim.balance.manifest()
    if sim.energy_meter is not None and sim.energy_meter.used is not None:
        extra["energy"] = sim.energy_meter.used.manifest()
    manifest = build_manifest(
        case.model_dump(mode="json"), sim.inputs, status=status or ("interrupted" if sim.interrupted else "finished"),
        timings=solver.timings(), rates=solver.rates(), outputs=[p.name for p in sim.files],
        started=sim.started, extra=extra | {"cells": solver.size, "runs_on": solver.runs_on,
                      "resolved_frequency_hz": sim.resolved_frequency,
                      "time_reached": sim.time,
                      "stopped_early": status is None and not sim.interrupted and sim.time < sim.end * (1 - 1e-9),
                      "warnings": [str(w) for w in sim.warnings],
                      "case_as_given": case.model_dump(mode="json", exclude_unset=True)},
    )  # fmt: skip
    return write_manifest(_path(sim, folder), manifest)


def _path(sim: Session, folder: Path) -> Path:
    return folder / f"{sim.case.output.prefix}-manifest.json"


def record_failure(sim: Session, folder: Path, error: BaseException) -> None:
    """Record the failure of a run in its manifest, from any process.

    It runs while the error propagates: any obstacle is ignored, and the wait is limited to ``PATIENCE``.
    """

    def note() -> None:
        with contextlib.suppress(Exception):
            path = _path(sim, folder)
            known = read_manifest(path)
            now = {
                "status": "failed", "error": str(error) or type(error).__name__, "timings_s": sim.solver.timings(),
                "rates": sim.solver.rates(),
                "written": datetime.now(UTC).isoformat(timespec="seconds"), "time_reached": sim.time,
                "outputs": sorted({*known["outputs"], *(p.name for p in sim.files)}),
            }  # fmt: skip
            write_manifest(path, known | now)

    thread = threading.Thread(target=note, name="faultwave-failure", daemon=True)
    thread.start()
    thread.join(PATIENCE)


Status = Literal["failed"] | None
SHOWN = 10
"""Largest number of times listed in a message."""
STOPPED_TWICE = "stopped by a second signal"


class Session:
    """Case that is ready to run; ``run`` advances to the end time and writes the outputs.

    Results so far are Datasets by kind: ``sim.result("receivers")``, or ``sim.receivers``, ``sim.energies``, ``sim.fault_receivers``;
    ``sim.results()`` returns all of them.

    Parameters
    ----------
    solver : Solver
        Solver of the case.
    force : bool
        If True, results of an earlier run in the folder may be replaced.
    warnings : sequence of Problem
        Warnings from loading the case.
    """

    def __init__(self, solver: Solver, force: bool = False, warnings: Sequence[Problem] = ()):
        self.solver, self.world = solver, solver.world
        self.plan: Any = solver.plan  # with the attributes of its engine
        self.case: Case = solver.plan.case
        self.force, self.warnings = force, (*warnings, *solver.warnings)
        self.interrupted, self.advancing = False, False
        self.end, self.folder = self.case.end_time, cast(Path | None, None)  # of the current run
        self.resumed: dict[str, SeriesExtent] | None = None  # extent of the run's files, by series of snapshots
        self.put_aside = False  # True to rename files that do not match the checkpoint and begin new ones
        self.noted = False  # True if the manifest in the folder is the current run's
        self.checkpoints = 0
        self.missing: list[tuple[float, str]] = []  # failed checkpoints: times [s] and reasons
        self.resumed_checkpoint = 0  # number of the checkpoint that this run resumed from
        self.background = Background()  # writes in the background
        self.wall = solver.wall
        self.balance: Balance | None = None  # of the processes, after a run on process 0
        self.energy_meter: EnergyMeter | None = None  # None in members of ensembles, which share a machine
        self.files: list[Path] = []
        self.files_read: tuple[Path, ...] = ()  # read files that only other files name
        self.resolved_frequency = math.inf
        self.inputs: dict[str, Settings] = {}  # entries of the input files in the manifest
        self.digests: Digests | None = None  # checksums of these files, while they are computed
        self.started = datetime.now(UTC)  # start of the run, for the manifest
        self.held = ExitStack()  # lock of the folder during the run
        self.written: SnapshotFiles | None = None  # snapshot files during the run
        self.reached: dict[
            str, SeriesExtent
        ] = {}  # extent of the files after the last run of this session, as ``resumed``

    def __repr__(self) -> str:
        name = self.case.title or self.case.output.prefix
        return f"<Session '{name}': engine {self.case.engine}, t = {self.time:.6g} of {self.end:.6g} s>"

    @property
    def time(self) -> float:
        """Simulated time reached [s]."""
        return self.solver.time

    # ---- results --------------------------------------------------------------------------------------------------

    def results(self, kind: str | None = None) -> list[Result]:
        """Return all results so far, or all of one kind (collective); process 0 receives them."""
        part = self.solver.parts.get(kind) if kind else None
        requested = self.solver.parts.values() if part is None else [part]
        return [r for one in requested for r in one.results() if kind is None or r.kind == kind]

    def result(self, kind: str) -> Dataset | None:
        """Return the first result of a kind so far, None if there is none (collective); process 0 receives it.

        Raises
        ------
        InputError
            For a name that is neither a result of this run nor an output of any case.
        """
        found = self.results(kind)
        if kind not in self.solver.parts and kind not in type(self.case.output).model_fields:
            self._check_found(kind, found)
        return next((r.data for r in found), None)

    def _check_found(self, kind: str, found: list[Result]) -> None:
        if self.world.broadcast(bool(found)):
            return
        names = self.world.broadcast(list(dict.fromkeys(r.kind for r in self.results())))
        problem = Problem("result", f"there is no '{kind}'", ", ".join(names) or "none so far", suggest(kind, names))
        raise self.world.mark_raised_everywhere(InputError(problem))

    @property
    def receivers(self) -> Dataset | None:
        """Seismograms with values (time, receiver, quantity)."""
        return self.result("receivers")

    @property
    def fault_receivers(self) -> Dataset | None:
        """Fault histories with values (time, receiver, quantity), NaN where a slower cluster has fewer samples."""
        return self.result("fault_receivers")

    @property
    def energies(self) -> Dataset | None:
        """Energies, work and moment at the output times."""
        return self.result("energies")

    def energy_now(self) -> dict[str, float]:
        """Return energies, work and moment [J, N m] at the time reached, summed over all processes on process 0."""
        return self.solver.energies()

    def sample(self, points: ArrayLike) -> np.ndarray:
        """Return the state (n, Q) at points (n, 3) [m] at the time reached; NaN outside of the domain."""
        try:
            places = np.asarray(points, float).reshape(-1, 3)
        except (TypeError, ValueError):
            shape = f"an array of shape {np.shape(points)}" if np.size(points) > 1 else repr(points)
            raise InputError(Problem("points", f"is {shape}", "numbers (n, 3): x, y and z [m] of each point")) from None
        return np.asarray(self.solver.sample(places))

    def error(
        self, solution: Callable[..., np.ndarray], inside: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """Return the relative L2 error (Q,) with respect to ``solution(points (n, 3), time) -> (n, Q)``."""
        return np.asarray(self.solver.error(solution, inside))

    def set_initial(self, solution: Callable[[np.ndarray, float], ArrayLike]) -> None:
        """Set the initial state to ``solution(points (n, 3), time) -> (n, Q)``. Raises InputError for other shapes."""
        given: object = solution
        if not callable(given):
            what = f"{solution!r} is not a function"
            raise InputError(Problem("solution", what, "a function of points (n, 3) and time that returns (n, Q)"))
        count = len(self.plan.law.quantities)

        def checked(points: np.ndarray, time: float) -> np.ndarray:
            found = np.asarray(solution(points, time))
            if found.shape != (len(points), count):
                allowed = f"{(len(points), count)}: {', '.join(self.plan.law.quantities)} of every point"
                raise InputError(Problem("solution", f"returns an array of shape {found.shape}", allowed))
            return found

        self.solver.set_initial(checked)

    # ---- running --------------------------------------------------------------------------------------------------

    def run(
        self,
        progress: Callable[[Progress], None] | bool | None = None,
        until: float | str | None = None,
        write: bool = True,
    ) -> Self:
        """Advance to a time and write the outputs.

        Parameters
        ----------
        progress : callable, bool or None
            Function called during the run; True shows a bar, or lines without a terminal; None shows one only in interactive IPython.
        until : float or str, optional
            Time [s], or text with a unit; by default the case's end time.
        write : bool
            If False, nothing is written to disk.

        Returns
        -------
        Session
            This session.

        Raises
        ------
        InputError
            For an invalid time.
        RunError
            If the run fails.
        Interrupted
            If the run was stopped and left a checkpoint (a RunError).
        """
        self.end = self._end_time(until)
        self.files, self.folder, failure, self.noted = [], None, None, False
        self.started = datetime.now(UTC)
        self.interrupted, self.advancing = False, True
        with self._interruptible(), ExitStack() as self.held:
            try:  # no process may be left waiting for one that fails here
                self.folder = self._begin(write)
                before = self._updates()
                with reporting(progress, self.world.first) as report:
                    failure = self._advance(report)
                self.balance = gather_balance(self.solver.work(), self.world)
                if self.energy_meter is not None:
                    self.energy_meter.collect(self._updates() - before)
                if self.folder and self.digests:
                    self.inputs = self.digests.found()
                    self._write(self.folder, "failed" if failure else None)
                    self.resumed = self.reached  # a later run of this session continues the same files
            except BaseException as error:
                self._fail_running(error)
                raise
        if failure:
            raise self.world.mark_raised_everywhere(failure)
        if self.interrupted:
            text = f"interrupted at t = {self.time:g} s of {self.end:g} s; outputs up to there are written"
            if not self._can_resume:
                raise self.world.mark_raised_everywhere(RunError(text))
            raise self.world.mark_raised_everywhere(Interrupted(f"{text}; continue with: {self._go_on}"))
        return self

    @phase("prepare the run")
    def _begin(self, write: bool) -> Path | None:
        """Take memory and return the output folder, None if nothing is written."""
        self.solver.take_memory()
        self.resolved_frequency = -self.world.largest([-self.solver.resolved_frequency])[0]
        if not write:
            return None
        folder: Path = self.world.broadcast(self.world.together(self._prepare))
        self.digests = Digests(self.world, inputs(self))
        self.inputs = self.digests.before()
        return folder

    def _fail_running(self, error: BaseException) -> None:
        """Save the results so far where possible, and record the failure."""
        if error.args == (STOPPED_TWICE,):
            error.args = (self._ended_at_once,)
        if isinstance(error, RunError) and self.folder and self.world.size == 1:
            self._save()
        self._fail(error)

    def _end_time(self, until: float | str | None) -> float:
        """Return the end time [s] of a run; raise InputError if it is invalid or has passed."""
        end = seconds(until, option("until"))
        if end is None:
            return self.case.end_time
        if not end >= self.time * (1 - 1e-9):
            what = f"{end:g} s, but the run has reached {self.time:g} s"
            raise InputError(Problem("until", what, f"at least {self.time:g} s"))
        return end

    def _advance(self, progress: Callable[[Progress], None] | None) -> RunError | None:
        """Advance to the end and write fields on the way; return the error of a blow-up, if there was one."""
        failure, parts = None, self.solver.parts.values()
        with ExitStack() as stack:
            self.background = Background()
            if self.folder is not None:
                stack.callback(self._close)
                self._open(self.folder, stack)
            self.solver.refresh_callbacks()
            stack.callback(self.background.close)  # before the files it writes to are closed or discarded
            control = checkpoints.CheckpointScheduler(self, self.folder, progress)
            try:
                self._step(control)
                for part in parts:
                    part.finish(self.time)
            except BlowUp as error:  # snapshots up to here are valid and are closed, not discarded
                failure = RunError(self._explain(error))
            with phase("finish the output"):
                self.background.wait()
            if self.written is not None:
                self.reached = self.written.reached()
            self.wall["write"] = self.wall.get("write", 0.0) + self.background.busy
            self.wall["held_up"] = self.wall.get("held_up", 0.0) + self.background.waited
        return failure

    @phase("open the output")
    def _open(self, folder: Path, stack: ExitStack) -> None:
        """Open the files that are written during the run; ``stack`` closes them."""
        self.written = SnapshotFiles(self, folder, stack)
        for part in self.solver.parts.values():
            part.open(self.written)
        self.written.resume()
        # after the files of an earlier run have been verified
        self.world.together(lambda: write_run_manifest(self, folder, "running"))
        self.noted = True  # on every process, as any may fail

    @phase("time steps")
    def _step(self, control: checkpoints.CheckpointScheduler) -> None:
        try:
            with self.energy_meter.measuring() if self.energy_meter else nullcontext():
                self.solver.run(self.end, control)
        except RunError as error:
            if self._can_resume and not self.world.is_raised_everywhere(error):
                kind = WriteFailed if isinstance(error, WriteFailed) else RunError
                raise kind(
                    f"{str(error).removesuffix('.')}; continue from the last checkpoint with: {self._go_on}"
                ) from error
            raise
        finally:
            self.advancing = False
        self.interrupted = control.stopped

    def _updates(self) -> float:
        """Return the number of cell or point updates so far, of all processes."""
        return next((count for name, count in self.solver.rates().items() if name.endswith("_updates")), 0.0)

    def _close(self) -> None:
        """Release the closed files in all capabilities."""
        for part in self.solver.parts.values():
            part.close()
        self.solver.refresh_callbacks()
        self.written = None

    def _explain(self, error: BlowUp) -> str:
        """Return the explanation of a blow-up, and write the state around it into the folder if available."""
        found = self.solver.diagnose()
        if self.folder is None or found.points is None:
            return found.text
        path = self.folder / f"{self.case.output.prefix}-blowup.vtkhdf"
        self.world.together(lambda: self._write_diagnosis(found, path))
        self.files.append(path)
        return f"{found.text}\nthe last good state around that cell is in {path}"

    def _write_diagnosis(self, found: Diagnosis, path: Path) -> None:
        assert found.points is not None and found.cells is not None and found.fields is not None
        names = list(found.fields)
        with VtkHdfWriter(path, found.points, found.cells, found.static or {}, names, np.float64) as writer:
            writer.append(found.time, found.fields)

    def _fail(self, error: BaseException) -> None:
        """Record the failure in the manifest, if possible, and end every process that does not have the error."""
        try:
            if self.noted and self.folder and (self.world.first or not self.world.is_raised_everywhere(error)):
                record_failure(self, self.folder, error)
        finally:
            self.world.abort(error)

    def _save(self) -> None:
        """Save what was recorded before a failure, as far as possible."""
        assert self.folder is not None
        with suppress(Exception):  # the original error is propagating
            self.files += write_results(self.results(), self.folder, self.case.output.prefix, self._layout)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Restore the state of a checkpoint. Raises InputError if that is impossible."""
        self.resumed = checkpoints.restore(self.solver, checkpoint)
        self.resumed_checkpoint = checkpoint.number

    @phase("write results")
    def _write(self, folder: Path, status: Status) -> None:
        """Write the results and the manifest."""
        found = self.results()
        remarks = [remark for part in self.solver.parts.values() for remark in part.remarks()]
        self.warnings = (*self.warnings, *remarks, *self._lost())

        def write() -> None:
            with concurrent_flush():
                reported = with_event(self.case, found)
                self.files += write_results(reported, folder, self.case.output.prefix, self._layout)
            write_run_manifest(self, folder, status)

        self.world.together(write)

    def _lost(self) -> list[Problem]:
        """Return a warning about checkpoints that could not be written."""
        if not self.missing:
            return []
        times = ", ".join(f"{time:g}" for time, _ in self.missing[:SHOWN]) + (", ..." if self.missing[SHOWN:] else "")
        what = f"{len(self.missing)} could not be written, at t = {times} s: {self.missing[0][1]}"
        return [Problem("output.checkpoint", what, severity="warning")]

    @property
    def _can_resume(self) -> bool:
        """True if there is a checkpoint, of this run or the one that it resumed from."""
        return self.folder is not None and bool(self.checkpoints or self.resumed_checkpoint)

    @property
    def _ended_at_once(self) -> str:
        """Message after a second signal, once a checkpoint in progress is complete or removed."""
        there = self.folder is not None and has_checkpoints(checkpoints_folder(self.folder, self.case.output.prefix))
        last = f"; continue from the last checkpoint with: {self._go_on}" if there else ""
        return f"{STOPPED_TWICE}: ended at once at t = {self.time:g} s{last}"

    @property
    def _resume_hint(self) -> str:
        """Message if the run is ended in the middle of a step or of writing."""
        folder = self.case.output.folder
        return (
            "; outputs since the last checkpoint are lost. Continue from it, if it exists, with: "
            f"{command('resume', folder)}"
        )

    @property
    def _go_on(self) -> str:
        return command("resume", self.folder)

    @property
    def _layout(self) -> Literal["native", "seissol"]:
        return "seissol" if self.case.output.seissol_layout else "native"

    def input_digests(self) -> dict[str, Settings]:
        """Return size and checksum of every input file for checkpoints (collective); process 0 receives them."""
        return {} if self.digests is None else self.digests.found()

    def _prepare(self) -> Path:
        """Prepare the output folder; results of an earlier run are removed unless this run resumes it."""
        out = self.case.output
        if self.resumed is not None:
            return prepare_folder(out.folder, True, held=self.held)
        folder = prepare_folder(out.folder, self.force, out.prefix, self.held)
        remove_all(checkpoints_folder(folder, out.prefix))
        return folder

    def _interruptible(self) -> ExitStack:
        """Let signals stop the run.

        Ctrl-C, SIGTERM, SIGUSR1 (which launchers forward) and a lost terminal end the run after the current step, or after the first if
        none has begun; a second signal ends it at once.
        """
        stack, reported = ExitStack(), list[int]()

        def stop(number: int, frame: FrameType | None) -> None:
            reported.append(number)
            signals.detach_lost_terminal()
            if len(reported) > 1:
                raise signals.StopSignal(STOPPED_TWICE, number)
            self.interrupted |= self.advancing  # the results so far are written

        stack.enter_context(WATCHDOG.phase(2, f"ended at once{self._resume_hint}"))
        for number in signals.stop_signals():
            try:
                old = signal.signal(number, stop)
            except ValueError:  # not in the main thread
                break
            stack.callback(signal.signal, number, old)
        return stack
