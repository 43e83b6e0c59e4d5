"""One member: its run, and the part of its results that an ensemble combines."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problems, RunError
from faultwave.base.files.digests import file_digest
from faultwave.base.processes import host
from faultwave.base.processes.host import peak_memory, release_freed
from faultwave.base.reuse import RESULTS, Store, current_store, reusing
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.comm import world
from faultwave.engine.solver import Progress
from faultwave.ensemble.folder import EnsembleFolder, Record
from faultwave.ensemble.study import ResultSettings
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.run.event import with_event
from faultwave.run.planned import check
from faultwave.run.session import Session, inputs
from faultwave.run.simulation import start

MAPS = {"rupture_map": "fault_place", "intensity": "place"}
"""Dimension of the places of each kind of map."""
SKIPPED = ("points", "cells", "x", "y", "elevation", "longitude", "latitude", "fault-tag")
"""Variables of maps that state places, not results."""
STORE_FRACTION = 0.1
"""Fraction of the memory of a machine that the results reused by all workers may take."""
TRIED = 3.0
"""Wall-clock time of a member's first steps from which its run time is predicted [s]."""


@dataclass(frozen=True)
class Task:
    """Member to compute.

    Attributes
    ----------
    member : int
        Number of the member.
    case : Case
        Its case.
    digest : str
        Identity of the case.
    folder : Path
        Folder of the ensemble.
    results : ResultSettings
        Results to store.
    threads, processes : int
        Threads and MPI processes.
    limit : float or None
        Time limit [s].
    """

    member: int
    case: Case
    digest: str
    folder: Path
    results: ResultSettings
    threads: int = 1
    processes: int = 1
    limit: float | None = None


def reusing_plans() -> AbstractContextManager[Store]:
    """Return a context in which members reuse mesh, material and layout of earlier members of this process where they agree."""
    memory = host.machine_memory() or 0
    return reusing(Store(STORE_FRACTION * memory / host.core_count()))


class FilesChanged(RunError):
    """Error of a member whose input files changed while it ran."""


def run_member(case: Case, write: bool = False) -> Session:
    """Run a case to its end and return the session with its results (collective).

    Parameters
    ----------
    case : Case
        Case of the member.
    write : bool
        If True, the complete output is written into ``output.folder`` of the case.
    """
    return start(case, force=True).run(progress=False, write=write)


def compute(task: Task) -> Record:
    """Compute a member and write its results and its record (collective).

    Raises
    ------
    FaultwaveError
        If the case or its run fails, an input file changes meanwhile, or the results cannot be written.
    """
    begun, started, folder = time.perf_counter(), time.time_ns(), EnsembleFolder(task.folder)
    session = run_member(_prepared(task), task.results.runs)
    results = with_event(session.case, session.results())
    record = Record(task.member, task.digest, "failed")
    if world().first:
        read = list(inputs(session))
        changed = [str(p) for p in read if not Path(p).exists() or Path(p).stat().st_mtime_ns > started]
        if changed:
            raise FilesChanged(f"{', '.join(changed)} changed or vanished while the member ran")
        files = tuple((str(p), file_digest(p)) for p in read)
        scalars = scalars_of(results)
        spent = time.perf_counter() - begun
        record = Record(
            task.member, task.digest, "done", seconds=spent, finished=time.time(), files=files, scalars=scalars
        )
        folder.write(record, reduce(results, task.results))
    del session, results
    release_freed()
    return record


def _prepared(task: Task) -> Case:
    """Return the case of a member with the folder and the threads of the ensemble, without settings that only write files."""
    data = task.case.model_dump(exclude_unset=True)
    output = dict(data.get("output", {}))
    output |= {"folder": EnsembleFolder(task.folder).run_folder(task.member)}
    if not task.results.runs:
        for name in ("surface", "fault", "volume", "box", "checkpoint"):
            output.pop(name, None)
    numerics = {**data.get("numerics", {}), "threads": task.threads}
    case, problems = load_case({**data, "output": output, "numerics": numerics})
    problems.raise_errors()
    assert case is not None
    return case


def reduce(results: Iterable[Result], settings: ResultSettings) -> Dataset:
    """Return the series and maps of a member as one Dataset with the dimensions of the store."""
    found: dict[str, Variable] = {}
    names: list[str] = []
    for result in results:
        if result.kind == "receivers" and settings.stations and settings.store == "members":
            found |= _series(result.data)
            names = [str(s) for s in result.data.attrs.get("stations", [])]
        elif result.kind == "fault_receivers" and settings.stations and settings.store == "members":
            found |= _fault_series(result.data)
        elif result.kind in MAPS:
            found |= _maps(result.data, MAPS[result.kind], settings.maps)
    return Dataset("member", found, {"stations": names})


def _series(data: Dataset) -> dict[str, Variable]:
    found = {
        "time": Variable(data["time"], ("time",), "s", "time since the start of the simulation"),
        "station_location": Variable(data["location"], ("station", "component"), "m", "place of the station"),
    }
    for name, unit in zip(data.quantities, data.attrs["units"], strict=True):
        values = data.quantity(name).T.astype(np.float32)
        found[name] = Variable(np.ascontiguousarray(values), ("station", "time"), unit, name)
    return found


def _fault_series(data: Dataset) -> dict[str, Variable]:
    dims = ("fault_station", "fault_sample")
    found = {
        "fault_time": Variable(data["time"].T, dims, "s", "time of the sample"),
        "fault_station_location": Variable(
            data["location"], ("fault_station", "component"), "m", "place of the station"
        ),
    }
    for name, unit in zip(data.quantities, data.attrs["units"], strict=True):
        found[f"fault_{name}"] = Variable(data.quantity(name).T.astype(np.float32), dims, unit, f"{name} on the fault")
    return found


def _maps(data: Dataset, place: str, wanted: Sequence[str] | str) -> dict[str, Variable]:
    """Return the maps of a kind with one dimension of places, and the location of these."""
    chosen: dict[str, Variable] = {}
    for name, v in data.variables.items():
        if name not in SKIPPED and v.dims in (("face",), ("y", "x")) and (wanted == "all" or name in wanted):
            chosen[name] = v
    if not chosen:
        return {}
    if "points" in data:
        location = data["points"].reshape(-1, 3, 3).mean(1)
    else:
        y, x = np.meshgrid(data["y"], data["x"], indexing="ij")
        location = np.stack(
            [x.ravel(), y.ravel(), data["elevation"].ravel() if "elevation" in data else 0 * x.ravel()], 1
        )
    found = {f"{place}_location": Variable(location, (place, "component"), "m", "location of the place")}
    for name, v in chosen.items():
        found[name] = Variable(v.data.ravel().astype(np.float32), (place,), v.unit, v.description)
    return found


def scalars_of(results: Iterable[Result]) -> dict[str, float]:
    """Return the scalar results of a run: source parameters, the moment and magnitude, and peaks at the stations."""
    found: dict[str, float] = {}
    for result in results:
        data = result.data
        if result.kind == "source_parameters":
            found |= {name: float(v.data) for name, v in data.variables.items() if v.data.ndim == 0}
        elif result.kind == "energies" and "seismic_moment" in data and len(data["seismic_moment"]):
            found.setdefault("seismic_moment", float(data["seismic_moment"][-1]))
        elif result.kind == "receivers":
            if "event_magnitude" in data.attrs:
                found.setdefault("moment_magnitude", float(data.attrs["event_magnitude"]))
            if {"v1", "v2"} <= set(data.quantities) and data["values"].size:
                speed = np.hypot(data.quantity("v1"), data.quantity("v2"))
                found["peak_ground_velocity"] = float(np.nanmax(speed))
    return {n: x for n, x in found.items() if np.isfinite(x)}


# ---- forecast ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forecast:
    """Forecast of a member, from its first steps.

    Attributes
    ----------
    seconds : float
        Wall-clock time [s].
    memory : int
        Memory of its process [bytes].
    disk : int
        Size of its results [bytes].
    variables : dict of str to (tuple of str, str, int)
        Dimensions, unit and number of values of each available result.
    files : int
        Size of its complete output [bytes], 0 if it is not written.
    """

    seconds: float
    memory: int
    disk: int
    variables: dict[str, tuple[tuple[str, ...], str, int]]
    files: int = 0


def check_member(task: Task) -> Problems:
    """Return every problem of a member's case, with all its inputs read."""
    return check(_prepared(task))


def forecast(task: Task) -> Forecast:
    """Step the case of a member for a few seconds and return the forecast of its run.

    Raises
    ------
    InputError
        With every problem of the case.
    """
    begun = time.perf_counter()
    session = start(_prepared(task), force=True)
    setup, last = time.perf_counter() - begun, list[Progress]()
    begun = time.perf_counter()

    def watch(state: Progress) -> None:
        last[:] = [state]
        session.interrupted |= time.perf_counter() - begun > TRIED

    try:
        session.run(progress=watch, write=False)
    except InputError:
        raise
    except Exception:
        if not session.interrupted:
            raise
    stepping = time.perf_counter() - begun
    reached = session.time
    if 0 < reached < session.case.end_time:
        stepping *= session.case.end_time / reached
    results = session.results()
    made, every = (reduce(results, settings) for settings in (task.results, _with_all_maps(task.results)))
    growth = session.case.end_time / reached if reached > 0 else 1.0
    variables = {n: (v.dims, v.unit, v.data.size) for n, v in every.variables.items()}
    size = sum(_grown(v, growth) for v in made.variables.values())
    files = float(session.plan.output_size) if task.results.runs else 0.0
    return Forecast(setup + stepping, _peak_memory() + _store_growth(), int(size) + 4096, variables, int(files))


def _store_growth() -> int:
    """Return the memory [bytes] by which the store of this process may still grow."""
    store = current_store()
    return 0 if store is None else int(min(store.limit, RESULTS * store.size) - store.size)


def _peak_memory() -> int:
    """Return the peak memory of this program [bytes], without the program that started it, which Linux otherwise counts."""
    with suppress(OSError, StopIteration, ValueError):
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    return peak_memory() or 0


def _with_all_maps(settings: ResultSettings) -> ResultSettings:
    return settings.model_copy(update={"maps": "all"})


def _grown(variable: Variable, growth: float) -> float:
    """Return the size [bytes] of a result at the end of a run that has covered one part in ``growth``."""
    return variable.data.nbytes * (growth if {"time", "fault_sample"} & set(variable.dims) else 1.0)
