"""Error estimates of the seismograms of a finished run, by running its case again at two coarser resolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.base.types import Settings
from faultwave.base.wording import command
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.comm import world
from faultwave.engine.solver import Progress, TimeErrors
from faultwave.observe.dataset import Dataset, Result
from faultwave.observe.error_estimates import KIND, OF, KnownErrors, estimated, middle, percent, with_errors
from faultwave.output.folder import MANIFEST, find_prefix
from faultwave.output.formats import write_results
from faultwave.output.formats.receivers_hdf5 import read_receivers, write_receivers
from faultwave.output.manifest import given, read_manifest, write_manifest
from faultwave.run.coarser import CoarserCases, check_coarser
from faultwave.run.session import Session
from faultwave.run.simulation import start


@dataclass(frozen=True)
class Finished:
    """Finished run.

    Attributes
    ----------
    folder : Path
        Folder of the run.
    prefix : str
        Prefix of its files.
    manifest : dict
        Manifest.
    case : Case
        Case.
    end : float
        Time reached [s].
    """

    folder: Path
    prefix: str
    manifest: Settings
    case: Case
    end: float

    @property
    def seismograms(self) -> Path:
        """File of the seismograms."""
        return self.folder / f"{self.prefix}-receivers.h5"


def estimate_errors(
    folder: str | Path, report: Callable[[Progress], None] | bool | None = None, threads: int | None = None
) -> Dataset:
    """Estimate the errors of all seismograms of the finished run in ``folder``, and write them next to the seismograms.

    The case runs twice more, in memory and in single precision, at lower orders (engine dg) or larger spacings (fd). PREFIX-receivers.h5
    receives the variables ``relative_error``, ``relative_error_of_velocity`` and so on, PREFIX-errors.csv a row for each receiver.

    Parameters
    ----------
    folder : str or Path
        Folder of the run.
    report : callable, bool or None
        Display of the progress, as ``progress`` of ``Session.run``.
    threads : int, optional
        Number of threads.

    Returns
    -------
    Dataset
        Estimates; the attribute ``cost`` is their computing time relative to the run's.

    Raises
    ------
    InputError
        If there is no such run or it cannot be made coarser.
    """
    together = world()
    found = together.agree(lambda: _finished(Path(folder), threads))
    lower = together.agree(lambda: check_coarser(found.case))
    records, seconds = [], 0.0
    known = KnownErrors()
    half = together.broadcast(together.together(lambda: middle(read_receivers(found.seismograms)["receivers"])))
    for i, (case, end) in enumerate(zip(lower.cases, lower.until(half, found.end), strict=True)):
        session = start(case)
        session.run(progress=report, until=end, write=False)
        records.append(session.receivers)
        known = known_errors(session, lower) if i == 0 else known
        seconds += sum(session.solver.timings().get(name, 0.0) for name in ("setup", "stepping"))
    errors: Dataset = together.broadcast(
        together.together(lambda: _estimate_and_write(found, lower, records, known, seconds))
    )
    return errors


def _finished(folder: Path, threads: int | None) -> Finished:
    """Return the finished run in a folder. Raises InputError if there is none with seismograms."""
    prefix = find_prefix(folder)
    path = folder / f"{prefix}{MANIFEST}"
    manifest = read_manifest(path)
    status = manifest.get("status")
    if status != "finished":
        advice = f"Complete the run first: {command('resume', folder)}" if status in ("interrupted", "running") else ""
        raise InputError(Problem(str(path), f"belongs to a run with status {status}", "a finished run", advice))
    case, problems = load_case(given(manifest.get("case_as_given", manifest["case"])), {"threads": threads})
    problems.raise_errors()
    assert case is not None  # it is None only where there are errors
    if case.output.receivers is None or not (folder / f"{prefix}-receivers.h5").is_file():
        advice = "Add output.receivers to the case to write seismograms."
        raise InputError(Problem(str(folder), "contains no seismograms of receivers", "a run with receivers", advice))
    reached = float(manifest.get("time_reached", case.end_time))  # earlier than its end if ``stop`` ended it
    end = case.end_time if abs(reached - case.end_time) <= 1e-6 * case.end_time else reached
    return Finished(folder, prefix, manifest, case, end)


def known_errors(session: Session, lower: CoarserCases) -> KnownErrors:
    """Return the shared errors and the time-stepping errors of the less coarse session (collective).

    The result is complete on process 0.
    """
    found = [part.shared_errors() for part in session.solver.parts.values()]
    time = session.solver.time_errors()
    near = lower.coarseness[0]
    finer = [near / coarseness for coarseness in (1.0, *lower.coarseness)]
    return KnownErrors(
        [errors for errors in found if errors is not None],
        [] if time is None else [partial(_time_error_of_ratio, time, ratio) for ratio in finer],
    )


def _time_error_of_ratio(time: TimeErrors, finer: float, series: np.ndarray, interval: float) -> np.ndarray:
    """Return the time-stepping errors for steps that are ``finer`` times shorter than the session's."""
    return time(series, interval, finer)


def _estimate_and_write(
    found: Finished, lower: CoarserCases, records: Sequence[Dataset | None], known: KnownErrors, seconds: float
) -> Dataset:
    """Compute the estimates, write them to the files and return them."""
    written = read_receivers(found.seismograms)
    errors = estimated(
        written["receivers"], [r for r in records if r is not None], lower.method, lower.description, known
    )
    timings = found.manifest["timings_s"]
    spent = sum(timings.get(name, 0.0) for name in ("setup", "stepping"))
    errors = replace(errors, attrs={**errors.attrs, "cost": seconds / spent if spent else float("nan")})
    write_receivers(
        found.seismograms, [{**written, "receivers": with_errors(written["receivers"], errors)}[n] for n in written]
    )
    files = write_results([Result(KIND, errors)], found.folder, found.prefix)
    reported = {"from": lower.description, "seconds": seconds, "cost": errors.attrs["cost"]}
    outputs = sorted({*found.manifest["outputs"], *(path.name for path in files)})
    path = found.folder / f"{found.prefix}{MANIFEST}"
    write_manifest(path, {**found.manifest, "outputs": outputs, "estimated_errors": reported})
    return errors


def summary(errors: Dataset) -> list[tuple[str, ...]]:
    """Return rows with quantity, median over receivers, 90 % quantile, maximum, and receiver of the maximum."""
    rows = []
    for name in (n for n in errors.variables if n.startswith(OF)):
        found = errors[name]
        if np.isfinite(found).any():
            middle, most = np.nanquantile(found, [0.5, 0.9])
            reported = name.removeprefix(OF).replace("_", " ")
            numbers = (f"{percent(x)} %" for x in (middle, most, np.nanmax(found)))
            rows.append((reported, *numbers, str(int(np.nanargmax(found)) + 1)))
    return rows
