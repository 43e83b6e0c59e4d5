"""Simulations of a case: new ones, whole runs, and those that go on from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultwave.base.asked import option
from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.load import load_case
from faultwave.case.model import Case
from faultwave.comm import world
from faultwave.output.checkpoint import Checkpoint, latest
from faultwave.output.folder import find_checkpoints, refuse_folder
from faultwave.output.manifest import given, plain, read_manifest
from faultwave.run.engines import engine_of
from faultwave.run.inputs import load_sound
from faultwave.run.session import Session
from faultwave.run.start import start

__all__ = ["ready", "resume", "simulate"]

MAY_CHANGE = ("title", "numerics", "output", "end_time", "source_files")
"""Settings that a run may go on with in another way."""
FOLLOWS = {"grid": "step"}
"""By group, settings that are written down where a run goes on to another end."""


def simulate(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Session:
    """A simulation of ``case``: a Case, a dict of settings, a file or an example's name; nothing is written before
    its ``run``.

    force: results of an earlier run in the folder may be replaced. overrides replace settings of the case: engine ("dg" or "fd"),
    order (2 to 8), precision (double, single, auto), backend, threads, until and checkpoint_every (simulated time: seconds, or a text
    with a unit like "500 ms"), output (a folder), progress ("polling" or "thread"), halo. Raises InputError with every problem found.
    """
    settings, problems = world().agree(lambda: load_sound(case, overrides))
    return start(settings, force, problems.warnings)


def ready(case: Case | dict[str, Any] | str | Path, force: bool = False, **overrides: Any) -> Session:
    """As ``simulate``, of a run that will write: a folder that it may not write to is told before anything is prepared."""

    def load() -> tuple[Case, Problems]:
        settings, problems = load_sound(case, overrides)
        refuse_folder(settings.output.folder, force)
        return settings, problems

    settings, problems = world().agree(load)
    return start(settings, force, problems.warnings)


def resume(folder: str | Path, **overrides: Any) -> Session:
    """The simulation of ``folder`` where its last whole checkpoint was taken; ``run`` goes on to the end.

    overrides: threads, progress, halo, backend, precision, order (the state is projected), until, checkpoint_every; what is not given is
    as in the first run. Raises InputError where no checkpoint is whole or the mesh is another.
    """
    asked = {**overrides, "output": Path(folder).absolute()}
    where = world().agree(lambda: find_checkpoints(folder))
    found = latest(where, world())
    settings, problems = world().agree(lambda: load_sound(_for_precision(found.notes["case"], asked), asked))
    world().agree(lambda: _belongs(found, settings))
    if overrides.get("until") is not None:
        world().agree(lambda: _beyond(settings, Path(folder), found.notes["time"]))
        settings = engine_of(settings).going_on(settings, found.notes)
    simulation = start(settings, True, problems.warnings)
    world().agree(lambda: simulation.restore(found))
    simulation.came_from = found.number
    return simulation


def _for_precision(settings: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a run without compensated sums where it goes on in double precision, which has none."""
    numerics = settings.get("numerics", {})
    if asked.get("precision") != "double" or not numerics.get("compensated"):
        return dict(settings)
    return {**settings, "numerics": {**numerics, "compensated": False}}


def _beyond(case: Case, folder: Path, reached: float) -> None:
    """Raises InputError where results that are there would be lost to an end before them."""
    manifest = folder / f"{case.output.prefix}-manifest.json"
    if manifest.is_file():
        reached = max(reached, read_manifest(manifest).get("time_reached", 0.0))
    if case.end_time < reached * (1 - 1e-9):
        what = f"the run has already reached {reached:.6g} s, and its results up to there would be lost"
        raise InputError(Problem(option("until", f"{case.end_time:g} s"), what, f"at least {reached:.6g} s"))


def _belongs(checkpoint: Checkpoint, settings: Case) -> None:
    """Whether a checkpoint is of the run whose manifest lies beside it; InputError where that was of another case."""
    prefix = checkpoint.folder.parent.name.removesuffix("-checkpoints")
    manifest = checkpoint.folder.parent.parent / f"{prefix}-manifest.json"
    try:
        known, _ = load_case(given(read_manifest(manifest)["case"]))
    except (InputError, KeyError):
        return  # there is no manifest to compare with
    if known is None:
        return
    mine, theirs = (plain(case.model_dump(mode="json")) for case in (settings, known))
    for group, name in FOLLOWS.items():
        for case in (mine, theirs):
            (case.get(group) or {}).pop(name, None)
    other = [name for name in mine if name not in MAY_CHANGE and mine[name] != theirs[name]]
    if other:
        what = f"is of another case than {manifest.name}: {', '.join(other)} {'differ' if other[1:] else 'differs'}"
        advice = f"Go on in the folder it was written to, or remove it if {manifest.name} is right."
        raise InputError(Problem(str(checkpoint.folder), what, advice=advice))
