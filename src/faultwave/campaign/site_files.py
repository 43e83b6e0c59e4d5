"""Results of one site in a NetCDF file: measures of every event, distances, and seismograms on request."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem
from faultwave.campaign.hazard import check_finite
from faultwave.campaign.settings import unit_of
from faultwave.output.atomic import atomic_path, remove, translate_os_errors

SITES, CACHE = "sites", "ruptures"
"""Folders of the results of sites and of cached ruptures."""


@dataclass(frozen=True)
class SiteResults:
    """Ground motion at a site.

    Attributes
    ----------
    name : str
        Name of the site.
    location : ndarray (3,)
        Place in local coordinates [m].
    geographic : ndarray (2,)
        Longitude and latitude [deg].
    measures : dict of str to ndarray (n,)
        Intensity measures of all events in SI units.
    distance : ndarray (n,)
        Distance from the site to the nearest subfault of each event [m].
    interval : float
        Sampling interval of the seismograms [s].
    seismograms : ndarray (n, 3, nt) or None
        Velocities along x, y, z [m/s], None if they are not stored.
    """

    name: str
    location: np.ndarray
    geographic: np.ndarray
    measures: dict[str, np.ndarray]
    distance: np.ndarray
    interval: float
    seismograms: np.ndarray | None = None


def site_path(folder: Path, name: str) -> Path:
    """Return the file of a site."""
    return folder / SITES / f"{name}.nc"


def is_complete(path: Path, digest: str) -> bool:
    """Return True if a file contains the results with this identity."""
    import netCDF4

    if not path.is_file():
        return False
    try:
        with netCDF4.Dataset(path) as file:
            return str(getattr(file, "digest", "")) == digest
    except (OSError, RuntimeError):
        return False


def write_site(path: Path, results: SiteResults, digest: str, component: str) -> None:
    """Write the file of a site atomically; raise RunError if its measures are not finite."""
    import netCDF4

    for name, values in results.measures.items():
        check_finite(values, f"{name} at site {results.name}")
    with translate_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as temporary, netCDF4.Dataset(temporary, "w") as file:
        (x, y, z), (longitude, latitude) = results.location, results.geographic
        about = {
            "title": f"ground motion at {results.name}",
            "site": results.name,
            "digest": digest,
            "component": component,
        }
        places = {"x": x, "y": y, "z": z, "longitude": longitude, "latitude": latitude, "interval": results.interval}
        file.setncatts({"Conventions": "CF-1.10", **about, **places, "measures": " ".join(results.measures)})
        file.createDimension("event", len(results.distance))

        def write(name: str, values: np.ndarray, dims: tuple[str, ...], unit: str, text: str) -> None:
            made = file.createVariable(name, "f4", dims, zlib=values.ndim > 1, complevel=1)
            made.units, made.long_name = unit, text
            made[:] = values

        write("distance", results.distance, ("event",), "m", "distance to the nearest subfault")
        for name, values in results.measures.items():
            write(name, values, ("event",), unit_of(name), f"{component} of {name}")
        if results.seismograms is not None:
            file.createDimension("component", 3)
            file.createDimension("time", results.seismograms.shape[2])
            write("velocity", results.seismograms, ("event", "component", "time"), "m/s", "velocity along x, y, z")


def read_site(path: Path, seismograms: bool = False) -> SiteResults:
    """Read the file of a site.

    Parameters
    ----------
    path : Path
        File.
    seismograms : bool
        If True, seismograms are read as well.

    Raises
    ------
    InputError
        If the file cannot be read, or lacks the seismograms that are requested.
    """
    import netCDF4

    try:
        with netCDF4.Dataset(path) as file:
            file.set_auto_mask(False)
            if seismograms and "velocity" not in file.variables:
                raise InputError(Problem(str(path), "contains no seismograms", advice="Set seismograms: true."))
            return SiteResults(
                str(file.site), np.array([file.x, file.y, file.z], float), np.array([file.longitude, file.latitude], float),
                {name: np.asarray(file[name][:], float) for name in str(file.measures).split()},
                np.asarray(file["distance"][:], float), float(file.interval),
                np.asarray(file["velocity"][:]) if seismograms else None,
            )  # fmt: skip
    except (OSError, RuntimeError, AttributeError, IndexError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}", advice="Compute the site again.")) from error


@contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Claim a site for this process; yield False if another process is computing it.

    The claim of a process that ends is void. On file systems without locks every process computes all sites.
    """
    lock = path.with_suffix(".running")
    with translate_os_errors(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a+")
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass
        with suppress(OSError):
            os.write(file.fileno(), f"{os.getpid()}\n".encode())
        try:
            yield True
        finally:
            remove(lock)
    finally:
        file.close()
