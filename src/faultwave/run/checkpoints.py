"""Taking checkpoints, whatever the engine: every process writes its part, and a checkpoint counts once all have."""

from __future__ import annotations

import time as clock
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import FaultwaveError
from faultwave.base.log import get_logger
from faultwave.output.checkpoint import CheckpointWriter, checkpoints_folder

if TYPE_CHECKING:
    from faultwave.run.session import Session

log = get_logger(__name__)

Told = tuple[dict[str, str], dict[str, tuple[int, int]], dict[str, Any], str]
"""What a process tells of its part: name and checksum, spans of its items, its notes, and why it has none."""


class Keeper(ABC):
    """Takes the checkpoints of one run; an engine's own says when one is due and what it holds."""

    items: Mapping[str, str] = {}
    """By which array the rows of each group of arrays are known: 'id' for the group 'cells' says 'cells/id'."""

    def __init__(self, session: Session, folder: Path):
        setting = session.case.output.checkpoint
        self.session = session
        self.interval = setting.interval if setting and setting.interval else np.inf
        self.wall = setting.wall_time if setting and setting.wall_time else np.inf
        where = checkpoints_folder(folder, session.case.output.prefix)
        self.writer = CheckpointWriter(where, setting.keep if setting else 2, session.came_from)
        self.written = clock.perf_counter()

    @abstractmethod
    def settle(self, notes: dict[str, Any]) -> None:
        """Bring what was handed over before to the disk and note how far the files go, ``notes['files']``."""

    def merge(self, notes: dict[str, Any], others: Sequence[dict[str, Any]]) -> None:
        """Complete the first process's notes by what others know that it does not: how far the files go of which it has no
        cells, what belongs to a fault that it has no part of."""
        for other in others:
            for name in other.keys() - notes.keys():
                notes[name] = other[name]
        everywhere = [other["files"] for other in others]
        for kind in dict.fromkeys(kind for files in everywhere for kind in files):
            having = [files[kind] for files in everywhere if kind in files]
            times = max((file.get("times", []) for file in having), key=len)
            notes["files"][kind] = {"next": max(file["next"] for file in having), "times": times}

    def overdue(self) -> bool:
        """Whether the wall clock asks for one. All processes must ask."""
        if not self.wall < np.inf:
            return False
        return bool(self.session.world.largest([clock.perf_counter() - self.written])[0] >= self.wall)

    def write(self, notes: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """All processes at once. Where that fails on one of them the last checkpoint stays, the run goes on, and the first
        process tells which one failed and why."""
        world, writer = self.session.world, self.writer
        parts, failure = dict[str, str](), world.share(self._begin() if world.first else "")
        if not failure:
            try:
                self.settle(notes)
                parts = dict([writer.write_part(writer.target(), world.rank, arrays)])
            except FaultwaveError as error:
                failure = str(error)
        found = world.gather((parts, self._spans(arrays), {k: v for k, v in notes.items() if k != "case"}, failure))
        if found is not None:
            failure = self._commit(notes, found)
            if failure:
                writer.drop()
                text = "no checkpoint at t = %g s: %s. The run goes on; the last checkpoint is kept."
                log.warning(text, notes["time"], failure)
        self.session.checkpoints, writer.number = world.share((self.session.checkpoints, writer.number))

    def _begin(self) -> str:
        """Make the folder that all write to; why that cannot be."""
        try:
            self.writer.begin()
        except FaultwaveError as error:
            return str(error)
        return ""

    def _spans(self, arrays: Mapping[str, np.ndarray]) -> dict[str, tuple[int, int]]:
        names = {group: f"{group}/{key}" for group, key in self.items.items()}
        having = {group: arrays[name] for group, name in names.items() if name in arrays}
        return {g: (int(n.min()), int(n.max())) if len(n) else (0, -1) for g, n in having.items()}

    def _commit(self, notes: dict[str, Any], found: Sequence[Told]) -> str:
        """Every process has written its part or failed to; returns why there is no checkpoint."""
        failed = [(rank, failure) for rank, (*_, failure) in enumerate(found) if failure]
        if failed:
            rank, text = failed[0]
            return text if len(failed) == len(found) else f"process {rank} of {len(found)}: {text}"
        self.merge(notes, [other for _, _, other, _ in found])
        parts = {name: checksum for own, *_ in found for name, checksum in own.items()}
        try:
            done = self.writer.commit(notes, parts, [spans for _, spans, _, _ in found])
        except FaultwaveError as error:
            return str(error)
        log.info("checkpoint at t = %g s: %s", notes["time"], done)
        self.session.checkpoints += 1
        return ""
