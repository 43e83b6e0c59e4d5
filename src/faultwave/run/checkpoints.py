"""Checkpoints of a run: states of the solver and its capabilities, written and read by any number of processes."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import FaultwaveError, InputError, Problem
from faultwave.base.log import get_logger
from faultwave.base.processes.signals import WATCHDOG
from faultwave.base.spans import phase
from faultwave.base.types import Record, Settings
from faultwave.base.wording import command
from faultwave.case.settings.model import Case
from faultwave.engine.capability import BlockState, RestoredFrom, State
from faultwave.engine.solver import Progress, Solver
from faultwave.output.checkpoint import Checkpoint, CheckpointWriter, checkpoints_folder
from faultwave.run.case_changes import settings_of
from faultwave.run.files import RunState, SeriesExtent, extents_from_notes, merge_extents

log = get_logger(__name__)

FORMAT_VERSION = 4
"""Version number of the content of checkpoints; others cannot be read."""

SHARED = ("case", "settings", "inputs")
"""Notes that are equal on every process; only those on process 0 are stored."""

PartReport = tuple[dict[str, str], dict[str, tuple[int, int]], Settings, str]
"""Report of a process on its part: names and checksums, row ranges, notes, and the reason of a failure."""

Group = Mapping[str, State | BlockState]


def case_notes(case: Case) -> Settings:
    """Return a checkpoint's notes on its case: given settings, all settings, file, and options of the run."""
    return {
        "case": case.model_dump(mode="json", exclude_unset=True),
        "settings": settings_of(case),
        "case_file": None if case.file is None else str(case.file),
        "options": list(case.overridden),
    }


def groups_of(solver: Solver) -> dict[str, Group]:
    """Return the states of the solver and its capabilities by group (collective)."""
    return {**solver.state(), **{name: part.state() for name, part in solver.parts.items()}}


def capture_arrays(groups: Mapping[str, Group]) -> dict[str, np.ndarray]:
    """Return every array of this process by its name in the file.

    The row indices of an array are stored as '#...' next to it. Of arrays without rows, the first process that has one counts.
    """
    arrays: dict[str, np.ndarray] = {}
    for group, states in groups.items():
        for name, state in states.items():
            values = state.read()
            if isinstance(state, BlockState):
                arrays[f"{group}/{name}"], arrays[f"{group}/@{name}"] = values, np.array(state.low)
            elif state.rows is not None:
                arrays[f"{group}/{name}"], arrays[f"{group}/#{name}"] = values, state.rows
            else:
                arrays[f"{group}/{name}"] = values
    return arrays


class CheckpointScheduler:
    """Checkpoint scheduler of a run, the ``engine.solver.Control`` that its solver sees."""

    def __init__(self, session: RunState, folder: Path | None, progress: Callable[[Progress], None] | None):
        setting = session.case.output.checkpoint
        self.session, self.show, self.stopped, self.keeps = session, progress, False, folder is not None
        self.checkpoint_interval = setting.interval if setting and setting.interval else np.inf
        self.wall = setting.wall_time if setting and setting.wall_time else np.inf
        self.taken = clock.perf_counter()
        if folder is not None:
            where = checkpoints_folder(folder, session.case.output.prefix)
            self.writer = CheckpointWriter(where, setting.keep if setting else 2, session.resumed_checkpoint)

    @property
    def stop_requested(self) -> bool:
        return bool(self.session.interrupted)

    def progress(self, state: Progress) -> None:
        if self.show is not None:
            self.show(state)

    def overdue(self) -> bool:
        if not self.wall < np.inf:
            return False
        return bool(self.session.world.largest([clock.perf_counter() - self.taken])[0] >= self.wall)

    @phase("checkpoint")
    def checkpoint(self) -> None:
        """Submit a checkpoint for writing, after the snapshots submitted before."""
        session, solver = self.session, self.session.solver
        self.taken = clock.perf_counter()
        groups = groups_of(solver)
        arrays = capture_arrays(groups)
        notes = solver.notes() | {
            "form_of_file": FORMAT_VERSION,
            **case_notes(session.case),
            "inputs": session.input_digests(),
            "files": session.written.notes() if session.written is not None else {},
        }
        in_place = any(isinstance(s, BlockState) for states in groups.values() for s in states.values())
        if session.world.size > 1 or in_place:  # grid arrays are views, which must be written before the next step
            session.background.wait()
            self._write_now(notes, arrays)
        else:
            session.background.submit(lambda: self._write(notes, arrays), sum(a.nbytes for a in arrays.values()))

    def _write_now(self, notes: Settings, arrays: Mapping[str, np.ndarray]) -> None:
        """Write in this thread, where a second signal interrupts it and removes an incomplete checkpoint."""
        try:
            self._write(notes, arrays)
        except KeyboardInterrupt:
            if self.session.world.size == 1:  # otherwise other processes may still write
                self.writer.drop()
            raise

    def _write(self, notes: Settings, arrays: Mapping[str, np.ndarray]) -> None:
        """Write a checkpoint (collective).

        If that fails on any process, the last checkpoint remains, the run continues, and process 0 reports where and why it failed.
        """
        world, writer = self.session.world, self.writer
        parts, failure = dict[str, str](), world.broadcast(self._begin() if world.first else "")
        if not failure:
            try:
                if self.session.written is not None:
                    self.session.written.sync_for_checkpoint(notes)
                with WATCHDOG.removing(writer.target()):  # not while it is renamed, which completes the checkpoint
                    parts = dict([writer.write_part(writer.target(), world.rank, arrays)])
            except FaultwaveError as error:
                failure = str(error)
        found = world.gather((parts, _spans(arrays), {k: v for k, v in notes.items() if k not in SHARED}, failure))
        if found is not None:
            failure = self._commit(notes, found)
            if failure:
                writer.drop()
                text = "no checkpoint at t = %g s: %s. The run continues; the last checkpoint is retained."
                log.warning(text, notes["time"], failure.rstrip("."))
                self.session.missing.append((notes["time"], failure))
        self.session.checkpoints, writer.number = world.broadcast((self.session.checkpoints, writer.number))

    def _begin(self) -> str:
        """Create the folder that all processes write to, and return the reason if that fails."""
        try:
            self.writer.begin()
        except FaultwaveError as error:
            return str(error)
        return ""

    def _commit(self, notes: Settings, found: Sequence[PartReport]) -> str:
        """Complete the checkpoint after every process has written or failed, and return the reason of a failure."""
        failed = [(rank, failure) for rank, (*_, failure) in enumerate(found) if failure]
        if failed:
            rank, text = failed[0]
            return text if len(failed) == len(found) else f"process {rank} of {len(found)}: {text}"
        notes["files"] = merge_extents([other["files"] for _, _, other, _ in found])
        parts = {name: checksum for own, *_ in found for name, checksum in own.items()}
        try:
            done = self.writer.commit(notes, parts, [spans for _, spans, _, _ in found])
        except FaultwaveError as error:
            return str(error)
        log.info("checkpoint at t = %g s: %s", notes["time"], done)
        self.session.checkpoints += 1
        return ""


def _spans(arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest row index of each array; arrays without rows have an empty range."""
    spans = {}
    for name in (n for n in arrays if "/#" not in n and "/@" not in n):
        rows = arrays.get(name.replace("/", "/#", 1), np.zeros(0, np.int64))
        spans[name] = (int(rows.min()), int(rows.max())) if len(rows) else (0, -1)
    return spans


# ---- restart ------------------------------------------------------------------------------------------------------


def restore(solver: Solver, checkpoint: Checkpoint) -> dict[str, SeriesExtent]:
    """Restore a new solver from a checkpoint, with any number of processes.

    Parameters
    ----------
    solver : Solver
        New solver of the same case.
    checkpoint : Checkpoint
        Checkpoint.

    Returns
    -------
    dict of str to SeriesExtent
        Extent of the files of every series of snapshots.

    Raises
    ------
    InputError
        If the run cannot resume from it.
    """
    where, notes = str(checkpoint.folder), checkpoint.notes
    if notes.get("form_of_file") != FORMAT_VERSION:
        raise InputError(
            Problem(where, "was written by another version", advice=f"Start again with '{command('run')}'.")
        )
    checkpoint.require({"time": (int, float), "wall": dict, "seconds": dict, "files": dict}, {})
    with checkpoint.reading():
        return _restore(solver, checkpoint)


def _restore(solver: Solver, checkpoint: Checkpoint) -> dict[str, SeriesExtent]:
    where, notes = str(checkpoint.folder), checkpoint.notes
    same = solver.accept(notes, where)
    groups = groups_of(solver)
    found = _read(checkpoint, groups)
    for group, states in groups.items():
        arrays = found.get(group, {})
        origin = RestoredFrom(notes, same, arrays)
        for name, state in states.items():
            if isinstance(state, BlockState):
                continue
            if name in arrays:
                if state.rows is not None:
                    _check_shape(f"{where}: '{group}/{name}'", arrays[name], state.read())
                state.write(arrays[name], origin)
            elif not state.optional:
                raise InputError(
                    Problem(
                        where,
                        f"has no '{group}/{name}'",
                        advice="It belongs to a run with different outputs or physics.",
                    )
                )
    solver.restored(notes)
    return extents_from_notes(notes["files"])


def _check_shape(where: str, found: np.ndarray, now: np.ndarray) -> None:
    """Raise InputError if stored rows do not fit this run.

    The lengths of inner axes depend on the order and the time reached; the number of axes and the number of quantities (the last of
    three or more axes) must agree.
    """
    known = now.ndim < 3 or not now.size or not found.size or found.shape[-1] == now.shape[-1]
    if found.ndim != now.ndim or not known:
        what = f"has the shape {found.shape}, but this run needs {now.shape}"
        raise InputError(
            Problem(where, what, advice="It is damaged, or belongs to a run with different outputs or physics.")
        )


def _read(checkpoint: Checkpoint, groups: Mapping[str, Group]) -> dict[str, dict[str, np.ndarray]]:
    """Read arrays by group and name from all parts that have them, in the row order of this process.

    Place blocks directly.
    """
    wanted = {f"{group}/{name}": state for group, states in groups.items() for name, state in states.items()}
    whole: dict[str, np.ndarray] = {}
    pieces: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for number in range(len(checkpoint.parts)):
        spans = checkpoint.spans[number]
        near = {k: s for k, s in wanted.items() if k in spans and _needed(k, s, spans[k], whole, pieces)}
        if not near:
            continue
        with checkpoint.opened(number) as part:
            for key, state in near.items():
                if isinstance(state, BlockState):
                    low = part[key.replace("/", "/@", 1)][()].tolist()
                    state.take(part[key][()], (int(low[0]), int(low[1]), int(low[2])))
                elif state.rows is None:
                    whole[key] = part[key][()]
                else:
                    pieces.setdefault(key, []).append(_rows(part, key, state.rows))
    for key, found in pieces.items():
        state = wanted[key]
        assert isinstance(state, State) and state.rows is not None
        numbers = np.concatenate([n for n, _ in found])
        whole[key] = _stack([v for _, v in found])[_row_positions(numbers, state.rows, key, checkpoint)]
    sorted_: dict[str, dict[str, np.ndarray]] = {}
    for key, values in whole.items():
        group, name = key.split("/", 1)
        sorted_.setdefault(group, {})[name] = values
    return sorted_


def _needed(
    key: str,
    state: State | BlockState,
    span: tuple[int, int],
    whole: Record,
    pieces: Record,
) -> bool:
    """Return True if a part of the checkpoint must be opened for an array.

    At least one piece, possibly empty, is needed for the shape. Some rows are in several parts with equal values, such as the rows of a
    source that several processes have.
    """
    if isinstance(state, BlockState):
        return True
    if state.rows is None:
        return key not in whole
    if key not in pieces:
        return True
    here = state.rows[(state.rows >= span[0]) & (state.rows <= span[1])]
    return bool(len(here)) and not np.isin(here, np.concatenate([numbers for numbers, _ in pieces[key]])).all()


def _rows(part: Record, key: str, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return indices and values of the wanted rows of one part; everything between the first and the last is read."""
    here = part[key.replace("/", "/#", 1)][()]
    rows = np.flatnonzero(np.isin(here, wanted))
    first, end = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)
    return here[rows], np.asarray(part[key][first:end])[rows - first]


def _stack(pieces: list[np.ndarray]) -> np.ndarray:
    """Concatenate rows of several parts; histories, along the second axis, are padded with NaN to the longest."""
    if pieces[0].ndim > 1 and len({p.shape[1] for p in pieces}) > 1:
        length = max(p.shape[1] for p in pieces)
        pieces = [
            np.pad(p, [(0, 0), (0, length - p.shape[1]), *[(0, 0)] * (p.ndim - 2)], constant_values=np.nan)
            for p in pieces
        ]
    return np.concatenate(pieces)


def _row_positions(mine: np.ndarray, wanted: np.ndarray, key: str, checkpoint: Checkpoint) -> np.ndarray:
    """Return the positions in ``mine`` of every index in ``wanted``. Raises InputError if one is missing."""
    order = np.argsort(mine, kind="stable")
    at = np.minimum(np.searchsorted(mine[order], wanted), max(0, len(mine) - 1))
    found = np.asarray(order[at]) if len(mine) else np.zeros(0, np.int64)
    if len(found) != len(wanted) or not np.array_equal(mine[found], wanted):
        raise InputError(Problem(str(checkpoint.folder), f"lacks rows of '{key}'", "the rows of every process"))
    return found
