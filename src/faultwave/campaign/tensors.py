"""Stored strain Green tensors: sites and points of the files of ``faultwave sgt``, and the spectra of their strain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, collect_problems
from faultwave.base.files.hdf5 import naming_file_errors
from faultwave.base.files.netcdf import NetcdfVariable, open_netcdf
from faultwave.campaign.synthesis import FrequencyGrid

WHAT = "file of strain Green tensors (NetCDF)"
COMPONENTS = "xx yy zz xy yz xz"
DIMENSIONS = ("site", "force", "point", "component", "time")
READ_BYTES = 1 << 26
"""Size of the strain that is read at once [bytes]."""
TAPER = 16
"""Smallest number of samples after the last one needed over which strain decreases to zero."""
REACH = 8.0
"""Time over which undoing the smoothing of the forces spreads motion, in periods of the corner frequency of the low-pass.

The low-pass decreases over half the corner frequency, so that its response decays within multiples of two periods.
"""


@dataclass(frozen=True)
class TensorFile:
    """Contents of a file of strain Green tensors, without the strain.

    Attributes
    ----------
    path : Path
        File.
    strain : NetcdfVariable
        Strain (site, force, point, component, time) [1/N], as the velocity of a moment rate of 1 N m times a Gaussian of unit integral.
    sites : ndarray (m, 3)
        Places of the forces [m].
    names : tuple of str
        Names of the sites.
    points : ndarray (n, 3)
        Places of the strain [m].
    lame : ndarray (n, 2) or None
        Lambda and mu at the points [Pa], None in files that lack them.
    start, interval : float
        Time of the first sample and sampling interval [s].
    samples : int
        Number of samples.
    centre, sigma : float
        Centre and standard deviation of the Gaussian of the forces [s].
    projection : mapping or None
        Settings of the projection of the case, None in files that lack them.
    """

    path: Path
    strain: NetcdfVariable
    sites: np.ndarray
    names: tuple[str, ...]
    points: np.ndarray
    lame: np.ndarray | None
    start: float
    interval: float
    samples: int
    centre: float
    sigma: float
    projection: Mapping[str, object] | None

    @property
    def duration(self) -> float:
        """Time after the centre of the Gaussian that the strain covers [s]."""
        return self.start + (self.samples - 1) * self.interval - self.centre

    def identity(self, site: int) -> dict[str, object]:
        """Return settings that identify the tensors of a site: file, size and time of its last change."""
        state = self.path.stat()
        return {"file": str(self.path), "size": state.st_size, "changed": state.st_mtime_ns, "site": site}


@dataclass(frozen=True)
class Site:
    """Site of a campaign.

    Attributes
    ----------
    number : int
        Number of the site, from 0.
    name : str
        Name.
    file : TensorFile
        File of its tensors.
    index : int
        Number of the site in the file.
    """

    number: int
    name: str
    file: TensorFile
    index: int

    @property
    def location(self) -> np.ndarray:
        """Place (3,) [m]."""
        return np.asarray(self.file.sites[self.index])


def read_sites(paths: Sequence[Path]) -> tuple[Site, ...]:
    """Return the sites of all files.

    Raises
    ------
    InputError
        With every problem of the files.
    """
    problems, sites, places = Problems(), list[Site](), dict[str, Path]()
    for path in paths:
        with collect_problems(problems):
            file = read_tensor_file(path)
            for index, name in enumerate(file.names):
                if name in places:
                    what = f"site {name} is also in {places[name]}"
                    advice = "Give each receiver of the cases a station code of its own."
                    problems.error(str(path), what, "another name for each site", advice)
                places.setdefault(name, path)
                sites.append(Site(len(sites), name, file, index))
    problems.raise_errors()
    return tuple(sites)


def read_tensor_file(path: Path) -> TensorFile:
    """Read the description of a file; raise InputError if it is none of strain Green tensors."""
    file = open_netcdf(path, WHAT)
    variables, attributes = file.variables, file.attributes
    missing = [n for n in ("strain", "time", "site_location", "point_location") if n not in variables]
    missing += [n for n in ("components", "duration", "centre", "interval") if n not in attributes]
    if missing or variables["strain"].dimensions != DIMENSIONS or attributes["components"] != COMPONENTS:
        what = f"is no {WHAT}" + (
            f": it has no {', '.join(missing)}" if missing else ": its strain has other dimensions"
        )
        raise InputError(Problem(str(path), what, "a file that `faultwave sgt` wrote"))
    with naming_file_errors(path, WHAT):
        time = variables["time"].numbers()
        interval = float(attributes["interval"])
        if len(time) < 2 or np.abs(np.diff(time) - interval).max() > 1e-6 * interval:
            raise InputError(Problem(str(path), f"its times are not multiples of {interval:g} s", "an undamaged file"))
        sites = variables["site_location"].numbers()
        names = str(attributes.get("stations") or "").split()
        if len(names) != len(sites):
            names = [f"{path.stem}-{i + 1}" for i in range(len(sites))]
        projection = attributes.get("projection")
        return TensorFile(
            path, variables["strain"], sites, tuple(names), variables["point_location"].numbers(),
            variables["point_lame"].numbers() if "point_lame" in variables else None, float(time[0]), interval, len(time),
            float(attributes["centre"]), float(attributes["duration"]), json.loads(projection) if projection else None,
        )  # fmt: skip


def reach(interval: float, corner: float | None) -> int:
    """Return the number of samples over which the response of the low-pass decays, and strain decreases to zero after the last one."""
    return TAPER if corner is None else max(TAPER, int(np.ceil(REACH / (corner * interval))))


def load_spectra(site: Site, used: np.ndarray, grid: FrequencyGrid, needed: int, after: int) -> np.ndarray:
    """Return the spectra of the strain of a site, read once.

    Parameters
    ----------
    site : Site
        Site.
    used : ndarray (p,)
        Numbers of the points, ascending.
    grid : FrequencyGrid
        Frequencies.
    needed : int
        Number of samples of strain that the seismograms need.
    after : int
        Number of later samples on which seismograms depend through the low-pass, and of which the last quarter decreases to zero.
        Samples after the end of the file equal the last one.

    Returns
    -------
    ndarray (p, 6, 3 * grid.count)
        Spectra of each point and component for the three forces, in single precision.
    """
    from scipy import fft

    whole = min(needed + after, grid.samples)
    taken, taper = min(site.file.samples, whole), max(TAPER, after // 4)
    window = np.ones(whole, np.float32)
    window[whole - taper :] = 0.5 + 0.5 * np.cos(np.pi * (np.arange(taper) + 1) / (taper + 1))
    beyond = [(0, 0), (0, 0), (0, whole - taken)]
    found = np.empty((len(used), 6, 3, grid.count), np.complex64)
    for force in range(3):
        for rows, points in _pieces(used, 24 * whole):
            window_of = (
                slice(site.index, site.index + 1),
                slice(force, force + 1),
                points,
                slice(0, 6),
                slice(0, taken),
            )
            strain = site.file.strain.numbers(*window_of, dtype="f4")[0, 0][used[rows] - points.start]
            strain = np.pad(strain, beyond, mode="edge") * window
            found[rows, :, force] = fft.rfft(strain, grid.samples, axis=-1)[..., : grid.count]
    if not np.isfinite(found.view(np.float32).sum()):
        raise InputError(Problem(str(site.file.path), f"the strain of site {site.name} has values that are not finite"))
    return found.reshape(len(used), 6, 3 * grid.count)


def read_strain(site: Site, points: np.ndarray) -> np.ndarray:
    """Return the strain (force, p, component, time) of a site at a few points by number."""
    one = slice(site.index, site.index + 1)
    parts = [
        site.file.strain.numbers(
            one, slice(0, 3), slice(int(p), int(p) + 1), slice(0, 6), slice(0, site.file.samples), dtype="f4"
        )[0]
        for p in points
    ]
    return np.concatenate(parts, 1)


def _pieces(used: np.ndarray, size: int) -> Iterator[tuple[slice, slice]]:
    """Yield rows of ``used`` and the range of points that they span, of at most ``READ_BYTES`` each."""
    most = max(1, READ_BYTES // size)
    begin = 0
    while begin < len(used):
        end = int(np.searchsorted(used, used[begin] + most))
        yield slice(begin, end), slice(int(used[begin]), int(used[end - 1]) + 1)
        begin = end
