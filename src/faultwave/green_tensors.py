"""Strain Green tensors by reciprocity: forces at the sites, strain at the fault, seismograms of any rupture on it.

A force in direction n at a site causes the strain e_n at a point of a fault. A moment at that point causes the velocity
M_xx e_n,xx + ... + 2 M_xy e_n,xy + ... at the site, if force and moment rate have the same time function (Graves & Wald
2001). One run per site and direction thus replaces one run per source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems, RunError
from faultwave.base.processes.host import machine_memory
from faultwave.base.types import Settings
from faultwave.case.load import load_case
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import Output
from faultwave.case.settings.sources import TimeFunction
from faultwave.comm import world
from faultwave.engine.checks import check_disk
from faultwave.engine.solver import BlowUp, Unattended
from faultwave.fd.capabilities.point_sources import PointSources
from faultwave.fd.capabilities.receivers import Receivers
from faultwave.fd.capabilities.strain_green_tensors import BLOCK, COMPONENTS, Strain, lame_parameters
from faultwave.fd.capability import FdPlan
from faultwave.fd.engine import ENGINE
from faultwave.fd.operators.points import outside
from faultwave.fd.operators.time_dispersion import removes
from faultwave.observe.dataset import Dataset, Variable, sample_count
from faultwave.observe.stations.points import point_lines
from faultwave.output.atomic import atomic_path
from faultwave.output.folder import create_folder
from faultwave.output.formats.maps_netcdf import write_maps
from faultwave.physics.sources.point import PointSource, Sources
from faultwave.physics.sources.time_functions import time_function

if TYPE_CHECKING:
    import h5py

SHARP = 0.39  # standard deviation of the Gaussian times the resolved frequency, where its spectrum has fallen to 5 %
WORKING = 3
"""Copies of the strain of one force that are in memory at once."""
CHUNK_BYTES = 1 << 22
NONLINEAR = {
    "plasticity": "motion of rock that yields",
    "soil": "motion of soil that loses stiffness",
    "fault": "slip with friction",
}
"""Groups of a case with which the waves of two sources do not superpose."""
FORCE = 1e12  # [N], divided out again: numbers far from the smallest of single precision


def green_tensors(
    case: Case | Settings | str | Path, points: np.ndarray | None = None, duration: float | None = None,
    say: Callable[[str], None] = lambda _: None, delay: float = 0.0, **overrides: object,
) -> Dataset:  # fmt: skip
    """Compute strain Green tensors for forces of 1 N at the case's receivers.

    Processes that share the grid all return the whole data set.

    Parameters
    ----------
    case : Case, dict, str or Path
        Case of the engine ``fd`` without nonlinear groups.
    points : ndarray (n, 3), optional
        Points at which strain is recorded [m]; by default the case's sources.
    duration : float, optional
        Standard deviation [s] of the Gaussian time function of the forces, of unit integral; by default as short as the
        grid resolves.
    say : callable
        Receiver of progress messages.
    delay : float
        The Gaussian is centred at six times ``duration`` plus this time [s].
    **overrides
        Settings that replace values of the case.

    Returns
    -------
    Dataset
        Strain (site, force, point, component, time) [1/(N s)], time, site and point locations.

    Raises
    ------
    InputError
        With all problems of the case.
    RunError
        If a run blows up.
    """
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    requested = _request(settings, points, duration, delay)
    _check_fits_memory(requested, len(requested.sites), None)
    made = [(times, strain) for _, _, times, strain in _forces(requested, say)]
    times = made[0][0]
    whole = np.stack([strain for _, strain in made]).reshape(len(requested.sites), 3, *made[0][1].shape)
    variables = _variables(requested, times) | {"strain": Variable(whole, DIMS, UNIT, TEXT)}
    return Dataset("strain Green tensors", variables, _attrs(requested))


@dataclass(frozen=True)
class _Request:
    """Request of strain Green tensors.

    Attributes
    ----------
    plan : FdPlan
        Plan of the runs.
    sites : ndarray (m, 3)
        Locations of the forces [m].
    points : ndarray (n, 3)
        Locations of the strain [m].
    sigma : float
        Standard deviation of the Gaussian [s].
    delay : float
        Delay of the Gaussian [s].
    interval : float
        Sampling interval of the strain [s].
    """

    plan: FdPlan
    sites: np.ndarray
    points: np.ndarray
    sigma: float
    delay: float
    interval: float

    @property
    def samples(self) -> int:
        """Number of samples of a component in time; all steps if time dispersion is removed from them."""
        return self.plan.steps + 1 if removes(self.plan.case) else sample_count(self.plan.case.end_time, self.interval)


def _request(case: Case, points: np.ndarray | None, duration: float | None, delay: float) -> _Request:
    plan = _plan(case)
    if points is None:
        points = plan.sources.location
    points = np.atleast_2d(np.asarray(points, float))
    receivers = plan.parts["receivers"]
    assert isinstance(receivers, Receivers)
    sites = receivers.points
    setting = case.output.receivers
    assert setting is not None
    requested = _Request(plan, sites, points, duration or SHARP / plan.frequency, delay, setting.interval)
    _check(requested)
    return requested


def _forces(request: _Request, say: Callable[[str], None]) -> Iterator[tuple[int, int, np.ndarray, np.ndarray]]:
    """Yield site, direction, times (nt,) [s] and strain (points, component, nt) of each force."""
    for number, site in enumerate(request.sites):
        for axis in range(3):
            say(f"site {number + 1} of {len(request.sites)}, force along {'xyz'[axis]}")
            times, strain = _run(request, site, axis)
            yield number, axis, times, np.moveaxis(strain, 0, -1)


DIMS = ("site", "force", "point", "component", "time")
UNIT, TEXT = "1/(N s)", "strain, components " + " ".join(COMPONENTS)


def _variables(request: _Request, times: np.ndarray) -> dict[str, Variable]:
    return {
        "time": Variable(times, ("time",), "s", "time"),
        "site_location": Variable(request.sites, ("site", "axis"), "m", "where forces along x, y, z act"),
        "point_location": Variable(request.points, ("point", "axis"), "m", "location at which strain was recorded"),
        "point_lame": Variable(
            lame_parameters(request.plan, request.points), ("point", "modulus"), "Pa", "lambda and mu"
        ),
    }


def _attrs(request: _Request) -> Settings:
    centre = 6 * request.sigma + request.delay
    projection = request.plan.case.projection
    receivers = request.plan.parts["receivers"]
    assert isinstance(receivers, Receivers)
    stations = receivers.request.stations
    codes = [s.code for s in stations]
    if len(set(codes)) < len(codes):
        codes = [f"{s.network}.{s.code}" for s in stations]
    return {
        "components": " ".join(COMPONENTS),
        "duration": request.sigma,
        "centre": centre,
        "interval": request.interval,
        "stations": " ".join(codes),
        "projection": None if projection is None else projection.model_dump_json(),
    }


def _plan(case: Case) -> FdPlan:
    problems = Problems()
    if case.engine != "fd":
        problems.error("engine", f"'{case.engine}' has no strain Green tensors", "fd")
    if case.output.receivers is None:
        problems.error(
            "output.receivers", "missing: they are the sites where forces act", "output.receivers with points of sites"
        )
    for name, what in NONLINEAR.items():
        if getattr(case, name) is not None:
            text = f"{what} is not linear, as strain Green tensors require"
            problems.error(name, text, "linear ground without a fault", f"Remove {name} from the case.")
    problems.raise_errors()
    together = world()
    assert case.output.receivers is not None
    sites = case.output.receivers.model_copy(
        update={"interval": case.end_time, "rotation": False, "strain_rate": False}
    )
    retained = {"folder": case.output.folder, "prefix": case.output.prefix}
    output = Output.model_validate(retained).model_copy(update={"receivers": sites})  # nothing else is written
    bare = case.model_copy(update={"output": output})
    plan: FdPlan = together.agree(lambda: ENGINE.process_plan(bare, together))
    return plan


def _check(request: _Request) -> None:
    problems, plan, points = Problems(), request.plan, request.points
    if not len(points):
        problems.error(
            "sources", "the case has no sources, which would define the points of strain", "sources, or points"
        )
    if not len(request.sites):
        problems.error(
            "output.receivers", "the case has no receivers, which would define the sites of forces", "one point or more"
        )
    if len(points):
        for i, distance in enumerate(outside(plan.scheme.grid, plan.lower, plan.upper, points)):
            if distance > 0:
                where = ", ".join(f"{x:g}" for x in points[i])
                problems.error(
                    f"point {i + 1} at ({where})",
                    f"lies {distance:.6g} m outside the box",
                    "points inside the grid",
                    "Move it, or enlarge grid.lower and grid.upper.",
                )
    problems.raise_errors()


def _check_fits_memory(request: _Request, held: int, folder: Path | None) -> None:
    """Raise InputError if memory is too small for the strain of one force and of ``held`` sites, or the disk for the file."""
    problems, numbers = Problems(), len(request.points) * len(COMPONENTS)
    one = WORKING * 8.0 * (request.samples + 2 * BLOCK) * numbers / request.plan.world.size
    memory = one + 8.0 * 3 * held * numbers * request.samples
    if memory > (there := machine_memory() or float("inf")):
        what = f"strain at {len(request.points):,} points needs about {memory / 2**30:.3g} GiB, this machine has {there / 2**30:.3g}"
        problems.error("points", what, advice="Use fewer points at a time, or more processes.")
    file = 4.0 * 3 * len(request.sites) * numbers * request.samples
    if folder is not None:
        advice = "Use fewer points, a longer output.receivers.interval or another folder."
        check_disk(folder, file, problems, "the file of strain needs", advice)
    problems.raise_errors()


def _run(request: _Request, site: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Return times (nt,) [s] and strain (nt, points, 6) of one force, collected from all processes."""
    plan = request.plan
    shape = time_function(TimeFunction.model_validate({"kind": "gaussian", "duration": request.sigma}), "force")
    source = PointSource(site, shape, force=FORCE * np.eye(3)[axis], onset=request.delay, name="force")
    force = PointSources(plan.case, Sources.of([source]), np.zeros((1, 3)))
    seen = Strain(request.points, request.interval, FORCE)
    solver = ENGINE.solver(replace(plan, parts={part.name: part for part in (force, seen)}))
    try:
        solver.run(plan.case.end_time, Unattended())
    except BlowUp:
        what = f"the run of the force along {'xyz'[axis]} at {site.tolist()} blew up"
        raise RunError(f"{what}\n{solver.diagnose().text}") from None
    strain = solver.parts[seen.name]
    strain.finish(solver.time)
    found = [(result.data["time"], result.data["strain"]) for result in strain.results()]
    times, values = plan.world.broadcast(found[0] if plan.world.first else None)
    return times, values


def seismograms(green: Dataset, moments: np.ndarray, rates: np.ndarray | None = None) -> np.ndarray:
    """Return the velocities (sites, 3, nt) [m/s] at the sites for moment tensors at the points.

    Parameters
    ----------
    green : Dataset
        Strain Green tensors.
    moments : ndarray (points, 6)
        Moment tensors [N m] in the order xx yy zz xy yz xz.
    rates : ndarray (points, nt), optional
        Moment rates of unit integral [1/s] at the interval of the tensors. The result then equals a simulation smoothed
        by the Gaussian of the tensors and delayed by its ``centre``. By default every point radiates the Gaussian
        itself.
    """
    twice = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    strain = green["strain"].astype(float)
    if rates is None:
        return np.einsum("sfpct,pc,c->sft", strain, np.asarray(moments, float), twice)
    from scipy.signal import fftconvolve

    each = np.einsum("sfpct,pc,c->sfpt", strain, np.asarray(moments, float), twice)
    kernel = np.asarray(rates, float)[None, None] * float(green.attrs["interval"])
    return np.asarray(fftconvolve(each, kernel, axes=-1)[..., : each.shape[-1]].sum(2))


def save_green_tensors(
    case: str,
    output: Path,
    points: Path | None,
    duration: float | None,
    say: Callable[[str], None],
    force: bool = False,
    **overrides: object,
) -> Path:
    """Compute strain Green tensors and write OUTPUT/PREFIX-sgt.nc, which NumPy and xarray read.

    An existing file is an error before the runs, unless ``force``.
    """
    places = None
    if points is not None:
        places = point_lines(points, "x y z in metres, one point per line").points
        if not len(places):
            raise InputError(Problem(str(points), "holds no points", "x y z in metres, one point per line"))
    settings, problems = load_case(case, overrides)
    problems.raise_errors()
    assert settings is not None
    path = output / f"{settings.output.prefix}-sgt.nc"
    world().together(lambda: _refuse(path, force))
    requested = _request(settings, places, duration, 0.0)
    _check_fits_memory(requested, 0, output)
    world().together(lambda: create_folder(output))  # before hours of runs
    centre = _attrs(requested)["centre"]
    if centre >= settings.end_time:
        say(
            f"warning: end_time, {settings.end_time:g} s, is before the peak of the forces at {centre:.4g} s: "
            "raise it by this time"
        )
    with ExitStack() as stack:
        file: h5py.Dataset | None = None
        for site, axis, times, strain in _forces(requested, say):
            if not world().first:
                continue
            if file is None:
                file = stack.enter_context(_opened(path, requested, times))
            file["strain"][site, axis] = strain
    return path


def _refuse(path: Path, force: bool) -> None:
    """Raise InputError if the file exists, unless ``force``."""
    if path.exists() and not force:
        advice = "Choose another --output or output.prefix, or replace it with --force."
        raise InputError(Problem(str(path), "exists already", advice=advice))


@contextmanager
def _opened(path: Path, request: _Request, times: np.ndarray) -> Iterator[h5py.Dataset]:
    """Open the file, which is filled force by force, so that memory does not grow with the number of sites."""
    import netCDF4

    with atomic_path(path) as temporary:
        write_maps(temporary, Dataset("strain Green tensors", _variables(request, times), _attrs(request)))
        with netCDF4.Dataset(temporary, "a") as file:
            file.createDimension("force", 3)
            file.createDimension("component", len(COMPONENTS))
            sizes = (len(request.sites), 3, len(request.points), len(COMPONENTS), len(times))
            chunk = max(1, min(sizes[2], CHUNK_BYTES // (4 * sizes[3] * sizes[4])))
            made = file.createVariable("strain", "f4", DIMS, zlib=True, chunksizes=(1, 1, chunk, *sizes[3:]))
            made.units, made.long_name = UNIT, TEXT
            yield file
