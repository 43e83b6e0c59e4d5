"""Conversion of the results of a run to file formats of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from faultwave.base.errors import InputError, Problem, Problems, describe_bad_values, suggest
from faultwave.base.types import Record
from faultwave.base.wording import option
from faultwave.output.converters import Conversion, converters
from faultwave.output.folder import create_folder
from faultwave.output.results import load_results


def convert(
    folder: str | Path, kind: str, out: str | Path | None = None, *, prefix: str | None = None, **options: object
) -> list[Path]:
    """Convert the receivers or the sea floor of a run to another format and return the files written.

    Receivers are read from Faultwave's files or SeisSol's text files.

    Parameters
    ----------
    folder : str or Path
        Run folder.
    kind : str
        Output format. ``sac``, ``mseed``: velocities of the off-fault receivers; ``stationxml``: their locations; ``motions``: tables of
        their intensity measures; ``csv``: all quantities of all receivers; ``scec``: station files, and the contour file if the fault's
        snapshots exist; ``dtopo``: motion of the sea floor, for tsunami codes.
    out : str or Path, optional
        Folder of the files, by default the run folder.
    prefix : str, optional
        Prefix of the run's files.
    **options
        Options of the format: ``header`` and ``state`` of scec, ``spacing`` [m] of dtopo.

    Raises
    ------
    InputError
        If the format or an option is unknown, the folder has no receivers, or the format cannot represent the results.
    """
    known = converters()
    if kind not in known:
        raise InputError(
            Problem("convert", f"'{kind}' is no known format", ", ".join(sorted(known)), suggest(kind, known))
        )
    _check_options(kind, options, {name: converter.options for name, converter in known.items()})
    results = load_results(folder, prefix)
    target = Path(out) if out is not None else results.folder
    create_folder(target)
    with describe_bad_values(str(results.folder), f"cannot be converted to {kind}"):
        return known[kind].write(Conversion(results, target, options))


def _check_options(kind: str, given: Record, known: Mapping[str, Sequence[str]]) -> None:
    """Raise InputError for options that the format does not accept."""
    problems = Problems()
    for name in (name for name, value in given.items() if value is not None and name not in known[kind]):
        takers = [other for other, names in known.items() if name in names]
        what = f"does nothing for {kind}: it is for {', '.join(takers)}" if takers else "does not exist"
        problems.error(option(name), what, ", ".join(map(option, known[kind])), suggest(name, known[kind]))
    problems.raise_errors()


__all__ = ["convert"]
