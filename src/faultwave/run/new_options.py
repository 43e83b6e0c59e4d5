"""What a new case is made from, checked before anything is written, and the names its files have there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import NotBuiltError, Problem, Problems

OWN = ("case.yaml", "layers.txt", "stations.txt", "results")
"""What a new case calls its own files and folder."""


@dataclass(frozen=True)
class Mechanism:
    """A double couple: angles [deg], moment magnitude, depth [m]."""

    strike: float
    dip: float
    rake: float
    magnitude: float
    depth: float


@dataclass(frozen=True)
class Asked:
    """What a new case is made from; lengths in metres. ``lon``, ``lat``, ``size`` None: from the traces. Exactly one of ``faults``,
    ``mechanism``, ``source`` (a file srf or cmtsolution by ``source_kind``)."""

    lon: float | None = None
    lat: float | None = None
    size: float | None = None
    frequency: float = 1.0
    depth: float | None = None
    engine: str = "dg"
    order: int = 4
    faults: tuple[Path, ...] = ()
    dip: float = 90.0
    fault_depth: float = 15e3
    rake: float = 180.0
    mechanism: Mechanism | None = None
    source: Path | None = None
    source_kind: str = "srf"
    topography: Path | None = None
    topography_crs: str | None = None
    sea: bool = False
    end_time: float | None = None


def check(asked: Asked, folder: Path, force: bool) -> None:
    """Raise InputError with everything that is wrong with the options."""
    problems = Problems()
    ways = [bool(asked.faults), asked.mechanism is not None, asked.source is not None]
    if sum(ways) != 1:
        problems.error("new", f"{sum(ways)} of --fault, --moment-tensor and --srf are given", "one of them")
    if asked.engine not in ("dg", "fd"):
        problems.error("--engine", f"'{asked.engine}'", "dg, fd")
    for name, value in (("--size", asked.size), ("--frequency", asked.frequency), ("--fault-depth", asked.fault_depth)):
        if value is not None and not 0 < value < np.inf:
            problems.error(name, f"{value:g}", "a positive number")
    for name, value, most in (("--lon", asked.lon, 360.0), ("--lat", asked.lat, 84.0)):
        if value is not None and not abs(value) <= most:
            advice = "Longitude and latitude look swapped." if name == "--lat" and abs(value) <= 360 else ""
            problems.error(name, f"{value:g} degrees", f"-{most:g} to {most:g}", advice)
    if not 10 <= asked.dip <= 90:
        problems.error("--dip", f"{asked.dip:g}", "10 to 90 degrees")
    for path in filter(None, [*asked.faults, asked.source, asked.topography]):
        if not path.is_file():
            problems.error(str(path), "there is no such file")
    if folder.exists() and any(folder.iterdir()) and not force:
        problems.error(str(folder), "is there already and holds files", advice="Use --force to write into it.")
    problems.raise_errors()
    if asked.engine == "fd" and asked.faults:
        what = "grids simulate no spontaneous rupture"
        raise NotBuiltError(Problem("--engine fd", what, "engine dg", "Or give --srf or --moment-tensor."))
    if asked.engine == "fd" and asked.sea:
        raise NotBuiltError(Problem("--sea", "a grid has no sea above its topography", "engine dg"))


def names(asked: Asked) -> dict[Path, str]:
    """Every file that the case needs, and its name in the case's folder: its own, with a number where that is taken."""
    found: dict[Path, str] = {}
    taken = {name.lower() for name in OWN}  # some file systems take upper and lower case for the same
    for path in [*asked.faults, asked.source, asked.topography]:
        if path is None or path in found:
            continue
        name, number = path.name, 2
        while name.lower() in taken:
            name, number = f"{path.stem}-{number}{path.suffix}", number + 1
        found[path] = name
        taken.add(name.lower())
    if asked.topography is not None and asked.topography.with_suffix(".prj").is_file():  # its projection
        found[asked.topography.with_suffix(".prj")] = str(Path(found[asked.topography]).with_suffix(".prj"))
    return found


__all__ = ["Asked", "Mechanism", "check", "names"]
