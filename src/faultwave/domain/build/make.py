"""Construction of a mesh from region, relief, faults and wave speeds, repeated until waves are resolved."""

from __future__ import annotations

import hashlib
import io
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from faultwave.base.errors import InputError, Problem, Problems, as_places, collect_problems
from faultwave.base.files.cache import cache_root, read_sealed, scratch_folder, write_sealed
from faultwave.base.log import get_logger
from faultwave.base.processes.host import PYTHON, machine_memory, without_launcher
from faultwave.base.projection import Projection
from faultwave.base.types import Setting
from faultwave.domain.build import child, coast, region
from faultwave.domain.build.faults import VARIANTS, Fault, check_inside, clipped, facets, from_trace, join
from faultwave.domain.build.flat import GROUND, SIDES, FlatBox, Meshed, Sizes, lattice, refined, wanted
from faultwave.domain.build.planes import from_plane, read_planes
from faultwave.domain.build.region import Heights, Relief
from faultwave.domain.build.repair import repaired
from faultwave.domain.build.surfaces import read_triangles
from faultwave.domain.build.traces import check_scale, check_trace, other_units, read_traces, trace_warnings
from faultwave.domain.tets.assemble import Parts, assemble
from faultwave.domain.tets.generators.generate import GMSH_ADVICE, MESHING, meshing_seconds
from faultwave.domain.tets.mesh import Mesh

if TYPE_CHECKING:
    from faultwave.domain.build.region import BuildSettings

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

log = get_logger(__name__)

FREE_SURFACE, GRAVITY, FAULT, ABSORBING, MORE_FAULTS = 1, 2, 3, 5, 65
"""Face tags; faults after the first have tags from 65 on."""
ASKED, FINER = 0.85, 1.15
"""Factors on the sizes passed to Gmsh, at first and where cells are still too large, because its largest edges exceed them."""
EACH = 1024
"""Approximate memory of Gmsh per cell [bytes]."""
KEPT = 20
"""Number of meshes in the cache."""
SURFACE = -3
"""Kind of triangles of the sea surface, in addition to GROUND and SIDES."""


Far = Callable[[Floats], Floats]
"""Function that returns the largest edges (n,) [m] at points (n, 3), independent of waves."""


def volumes(layers: int, sea: bool) -> dict[str, int]:
    """Return the names and numbers of the volumes of a mesh."""
    found = {"rock" if layers == 1 else f"layer-{k}": k for k in range(1, layers + 1)}
    return found | ({"sea": layers + 1} if sea else {})


class Waves(Protocol):
    """Interface to the waves that a mesh must resolve."""

    def edges(self, points: Floats, groups: Integers) -> Floats:
        """Return the largest edges (n,) [m] that resolve waves at points (n, 3) in volumes (n,); infinite without a frequency."""
        ...

    def fastest(self, points: Floats) -> float:
        """Return the largest wave speed [m/s] among points."""
        ...


@dataclass(frozen=True)
class Place:
    """Site to be meshed: waves, ``ground``, named layer boundaries ``below`` it, and the projection of the case."""

    waves: Waves
    ground: Heights | None = None
    below: tuple[tuple[str, Heights], ...] = ()
    projection: Projection | None = None


@dataclass(frozen=True)
class Sea:
    """Volume number of the sea, 0 if there is none, and tag of its surface."""

    volume: int
    tag: int


def build(setting: BuildSettings, place: Place) -> Mesh:
    """Return the mesh of a setting.

    Volumes: the layers from the top down are 1, 2, ...; the sea is the last one, called 'sea'. Face tags: 1 on the free
    surface, 2 on a sea surface of kind gravity, 5 at the sides, 3 on the first fault, 65, 66, ... on the others;
    surfaces of faults have the names of the faults.

    Parameters
    ----------
    setting
        Settings (case.build.Build).
    place
        Site.

    Raises
    ------
    InputError
        With every problem and its place.
    """
    inner = region.region_of(setting)
    lower, upper = region.extent(inner, setting.reflections_after, place.waves.fastest)
    if setting.reflections_after:
        place = _beyond(inner, place)
    near, far = (setting.far_size or float((b - a).max()) / 8 for a, b in ((inner.lower, inner.upper), (lower, upper)))
    faults = _faults(setting, inner.lower, inner.upper, near, place)
    finest = min([near, *(f.size for f in faults)])
    relief = region.relief_of(lower, upper, 0.5 * finest, place.ground, list(place.below))
    problems = Problems()
    for fault in faults:
        check_inside(fault, facets(fault, relief)[1], inner.lower, inner.upper, problems)
    problems.raise_errors()
    apart: frozenset[str] = frozenset()

    def far_size(points: Floats) -> Floats:
        return np.minimum(near + inner.more(points), far)

    while True:  # repeated without joints that are not possible
        joined = join(faults, apart)
        box = _boxed(setting, (lower, upper, far_size, finest), joined, relief, place.waves)
        lost = _lost(faults, joined, box, _meshed(box))
        if not lost:
            break
        apart |= lost
    sea = Sea(relief.real + 1 if setting.sea else 0, GRAVITY if setting.sea_surface == "gravity" else FREE_SURFACE)
    made = _until_resolved(setting, box, [f.name for f in faults], place.waves, sea)
    return replace(made, remarks=(*made.remarks, *_said(setting, place)))


def _said(setting: BuildSettings, place: Place) -> list[Problem]:
    """Return warnings about properties of traces that are used, and those that are not."""
    found = []
    for requested in setting.faults:
        for trace in read_traces(requested.trace, place.projection) if requested.trace is not None else ():
            found += trace_warnings(
                trace, "dip, dip_direction, top and depth of mesh.build.faults, override these values.", False
            )
    return found


@dataclass(frozen=True)
class LeavingWaves:
    """Waves resolved only in a region; outside, where waves only leave, elements grow with distance."""

    waves: Waves
    inner: region.Region

    def edges(self, points: Floats, groups: Integers) -> Floats:
        return self.waves.edges(points, groups) + self.inner.more(points)

    def fastest(self, points: Floats) -> float:
        return self.waves.fastest(points)


def _beyond(inner: region.Region, place: Place) -> Place:
    """Return a site that extends beyond its region."""
    ground = None if place.ground is None else inner.held(place.ground)
    below = tuple((name, inner.held(surface)) for name, surface in place.below)
    return replace(place, waves=LeavingWaves(place.waves, inner), ground=ground, below=below)


def _lost(faults: Sequence[Fault], joined: Sequence[Fault], box: FlatBox, meshed: Meshed) -> frozenset[str]:
    """Return faults with an automatic stop at another fault that they do not meet along their whole edge.

    Raises
    ------
    InputError
        If the stop is required by the case.
    """
    found = set()
    for a, b in box.stops[~meshed.cut]:
        if joined[b].name in faults[a].stops_at:
            what = f"{joined[a].name} does not reach {joined[b].name} along its whole edge, so it cannot stop at it"
            advice = "Extend its trace to the other fault, or make the other fault longer or deeper."
            ends = np.zeros((0, 2)) if (xy := faults[a].xy) is None else xy[[0, -1]]
            raise InputError(Problem("mesh.build.faults", what, advice=advice, places=as_places(ends)))
        found.add(joined[a].name)
    for a in {int(a) for a, _ in box.stops} - {int(a) for a, _ in box.stops[~meshed.cut]}:
        log.info("fault %s ends next to %s and stops there", joined[a].name, ", ".join(joined[a].stops_at))
    return frozenset(found)


def _boxed(
    setting: BuildSettings,
    measures: tuple[Floats, Floats, Far, float],
    faults: Sequence[Fault],
    relief: Relief,
    waves: Waves,
) -> FlatBox:
    """Return the flat box with its faults and sizes.

    ``measures`` are its corners, the largest elements, and the finest element size of faults.
    """
    lower, upper, far, finest = measures
    ways = [[facets(fault, relief, variant)[0] for fault in faults] for variant in VARIANTS]
    near = [(flat, f.size) for f, flat in zip(faults, ways[0], strict=True)]
    for flat, size in near:
        _check_count(
            2.0 * _area(flat) / (0.25 * 3**0.5 * size**2), size
        )  # cells on both sides of its triangles, a lower bound known early
    limits = (far, relief.real + 1 if setting.sea else 0, setting.growth)
    sizes = _sizes(lattice(lower, upper, finest), relief, waves, near, limits)
    shortest = float(sizes.values.min())
    if shortest < finest:
        sizes = _sizes(lattice(lower, upper, shortest), relief, waves, near, limits)
    _check_count(sizes.cells(), float(sizes.values.min()))
    names = [f.name for f in faults]
    stops = [(names.index(f.name), names.index(o)) for f in faults for o in f.stops_at]
    rows = [(k, v, c) for v, way in enumerate(ways) for k, c in enumerate(way)]
    return FlatBox(
        lower, upper, np.concatenate([np.zeros((0, 4, 3)), *(c for _, _, c in rows)]),
        np.array([k for k, _, c in rows for _ in c], np.int64), np.array([v for _, v, c in rows for _ in c], np.int64),
        np.array(stops, np.int64).reshape(-1, 2), relief.x, relief.y, relief.heights, relief.levels, relief.real,
        sizes.origin, sizes.spacing, sizes.values, bool(setting.sea), setting.sea_slope,
    )  # fmt: skip


def _area(facets: Floats) -> float:
    """Return the area of facets (m, 4, 3) [m^2]."""
    diagonals = facets[:, 2] - facets[:, 0], facets[:, 3] - facets[:, 1]
    return float(0.5 * np.linalg.norm(np.cross(*diagonals), axis=1).sum())


def _check_count(count: float, smallest: float) -> None:
    """Raise InputError if ``count`` cells would exceed the memory of this machine during meshing."""
    memory = machine_memory()
    if memory is None or count * EACH <= memory:
        return
    what = (
        f"elements down to {smallest:.3g} m make about {count:.2g} cells, which need "
        f"{count * EACH / 2**30:.2g} GiB to mesh"
    )
    allowed = f"about {memory / EACH:.2g} cells in the {memory / 2**30:.3g} GiB of this machine"
    raise InputError(Problem("mesh.build", what, allowed, "Raise the size of faults, or lower the frequency."))


def _sizes(
    places: Sizes, relief: Relief, waves: Waves, faults: list[tuple[Floats, float]], limits: tuple[Far, int, float]
) -> Sizes:
    """Return sizes on a lattice; ``limits``: largest sizes, number of the sea's volume or 0, and growth."""
    far, sea, growth = limits

    def of_waves(points: Floats) -> Floats:
        heights = relief.at(points[:, :2])
        edges = waves.edges(points, np.maximum((points[:, 2, None] <= heights).sum(1), 1))
        if sea:  # the floor must be as fine as the water above requires
            floor = heights[:, 0]
            wet = (floor < 0) & (np.abs(points[:, 2] - floor) < 1.01 * places.spacing[2])
            edges = np.where(wet, np.minimum(edges, waves.edges(points, np.full(len(points), sea))), edges)
        return np.minimum(ASKED * edges, far(points))

    return wanted(places, relief, of_waves, faults, growth)


def _faults(setting: BuildSettings, lower: Floats, upper: Floats, far: float, place: Place) -> list[Fault]:
    """Return all faults, read and checked; raises InputError."""
    problems, found = Problems(), list[Fault]()
    for number, requested in enumerate(setting.faults):
        with collect_problems(problems):
            size = requested.size or min(far, setting.fault_size or far)
            if requested.surface is not None:
                name = requested.name or requested.surface.stem
                triangles = read_triangles(requested.surface, place.projection)
                extent = float(np.linalg.norm(np.ptp(triangles.reshape(-1, 3), axis=0)))
                if extent < size:
                    what = f"the surface measures {extent:.4g} m, less than an element on it ({size:.4g} m)"
                    advice = "Are its coordinates kilometres? They are read as metres unless AXIS_UNIT of a TSurf says otherwise."
                    problems.error(str(requested.surface), what, f"{size:.4g} m or more", advice)
                    continue
                found.append(
                    Fault(name, str(requested.surface), size, triangles=triangles, stops_at=tuple(requested.stops_at))
                )
                continue
            if requested.planes is not None:
                made = _of_planes(requested, size, place)
            else:
                made = _of_traces(requested, size, (lower, upper, len(found), {f.name for f in found}), place, problems)
                deepest = max((fault.bottom for fault in made), default=requested.depth)
                if deepest > setting.depth and requested.outside == "error":
                    what = f"{deepest:g} m is below the region"
                    problems.error(f"mesh.build.faults[{number}].depth", what, f"less than depth {setting.depth:g} m")
            if requested.outside == "clip":
                made = [clipped(fault, lower, upper) for fault in made]
            found += made
    problems.raise_errors()
    _check_names(found, problems)
    problems.raise_errors()
    return found


def _of_planes(fault_setting: Setting, size: float, place: Place) -> list[Fault]:
    """Return a fault for each segment of a finite source."""
    planes = read_planes(fault_setting.planes)
    stem = fault_setting.name or fault_setting.planes.stem
    names = [stem] if len(planes) == 1 else [f"{stem}-{n}" for n in range(1, len(planes) + 1)]
    stops = tuple(fault_setting.stops_at)
    return [from_plane(plane, name, size, stops, place.projection) for plane, name in zip(planes, names, strict=True)]


def _of_traces(
    fault_setting: Setting, size: float, known: tuple[Floats, Floats, int, set[str]], place: Place, problems: Problems
) -> list[Fault]:
    """Return a fault for each line of a file.

    ``known`` has the corners of the region, and the number and names of the faults before.
    """
    lower, upper, before, names = known
    found: list[Fault] = []
    traces, sound = read_traces(fault_setting.trace, place.projection), len(problems.errors)
    worded = region.worded(place.projection)
    for count, trace in enumerate(traces, 1):
        reported = len(problems.errors)
        low, high = lower[:2], upper[:2]
        if fault_setting.outside == "clip":  # parts outside the region are allowed
            low, high = np.minimum(low, trace.xy.min(0) - 1.0), np.maximum(high, trace.xy.max(0) + 1.0)
        check_trace(trace, low, high, worded, problems)
        length = float(np.linalg.norm(np.diff(trace.xy, axis=0), axis=1).sum())
        if length < size and len(problems.errors) == reported:
            what = f"the trace is {length:.4g} m long, shorter than an element on it ({size:.4g} m)"
            advice = f"{other_units(trace.xy)} Or set a smaller size."
            problems.error(trace.source, what, advice=advice)
        if len(problems.errors) == reported:
            name = fault_setting.name or trace.name or f"fault-{before + len(found) + 1}"
            again = name in names | {f.name for f in found}
            name = f"{name}-{count}" if len(traces) > 1 and (fault_setting.name or again) else name
            found.append(from_trace(trace, fault_setting, name, size, place.projection))
    if len(problems.errors) == sound:
        check_scale(traces, fault_setting.depth, problems)
    return found


def _check_names(faults: Sequence[Fault], problems: Problems) -> None:
    names = [f.name for f in faults]
    for name in sorted({n for n in names if names.count(n) > 1}):
        problems.error("mesh.build.faults", f"two faults are called '{name}'", advice="Assign a name to each.")
    for fault in faults:
        for other in fault.stops_at:
            if other not in names or other == fault.name:
                problems.error(
                    "mesh.build.faults",
                    f"{fault.name} stops at '{other}', which is not another fault",
                    ", ".join(names),
                )


def _until_resolved(setting: BuildSettings, box: FlatBox, names: Sequence[str], waves: Waves, sea: Sea) -> Mesh:
    """Return the mesh after refinement where waves are not resolved, within a limited number of rounds."""
    for number in range(setting.rounds):
        meshed = _meshed(box)
        meshed, gone = repaired(meshed, box.sizes.at(box.relief.flat(meshed.vertices)), box)
        mesh = _assembled(box, meshed, names, sea)
        x = mesh.vertices[mesh.cells]
        middle, edge = x.mean(1), _edges(x)
        ratio = edge / waves.edges(middle, mesh.groups.astype(np.int64))
        coarse = ratio > 1.0
        log.info(
            "mesh %d: %d cells, %d of them too large for the waves; %d short edges collapsed",
            number + 1, len(mesh.cells), coarse.sum(), gone,
        )  # fmt: skip
        if not coarse.any():
            break
        if number + 1 < setting.rounds:
            flat = box.relief.flat(middle[coarse])
            sizes = refined(box.sizes, flat, edge[coarse], FINER * np.minimum(ratio[coarse], 1.5), setting.growth)
            box = replace(box, values=sizes.values)
    if meshed.moved > 0:
        log.info("coast: the ground was moved by up to %.4g m to meet the sea along edges of the mesh", meshed.moved)
    return mesh


def _edges(corners: Floats) -> Floats:
    """Return the edge (n,) of the regular tetrahedron with the same volume as each cell with corners (n, 4, 3)."""
    a, b, c = (corners[:, k] - corners[:, 0] for k in (1, 2, 3))
    return np.asarray(np.cbrt(np.sqrt(2.0) * np.abs(np.einsum("ij,ij->i", a, np.cross(b, c)))))


def _assembled(box: FlatBox, meshed: Meshed, names: Sequence[str], sea: Sea) -> Mesh:
    vertices, cells, groups = meshed.vertices, meshed.cells, meshed.layer + 1
    triangles, of = meshed.triangles, meshed.of
    if meshed.wet.any():
        size = box.sizes.at(box.relief.flat(vertices))
        ground = triangles[of == GROUND]
        made, water, surface, top = coast.columns(vertices, ground, meshed.wet, size)
        vertices, cells = np.concatenate([vertices, made]), np.concatenate([cells, water])
        groups = np.concatenate([groups, np.full(len(water), sea.volume)])
        dry = ~meshed.wet[ground].any(1)
        walls = _walls(water, vertices, box)
        triangles = np.concatenate([triangles[of != GROUND], ground[dry], surface, walls])
        kinds, counts = (GROUND, SURFACE, SIDES), (int(dry.sum()), len(surface), len(walls))
        of = np.concatenate([of[of != GROUND], np.repeat(kinds, counts)])
    tags = np.array([FAULT, *(MORE_FAULTS + k for k in range(max(0, len(names) - 1)))])
    outer = {GROUND: FREE_SURFACE, SURFACE: sea.tag, SIDES: ABSORBING}
    face = np.select([of == kind for kind in outer], list(outer.values()), tags[np.maximum(of, 0)])
    inside = volumes(box.relief.real, bool(sea.volume) and bool(meshed.wet.any()))
    known = {(2, name): int(tags[k]) for k, name in enumerate(names)} | {(3, name): k for name, k in inside.items()}
    numbers = np.arange(len(vertices))
    parts = Parts(
        numbers,
        vertices,
        cells,
        groups,
        triangles,
        face,
        names=known,
        written={int(t): int(t) for t in tags[: len(names)]},
    )
    return assemble(parts, "mesh.build")


def _walls(water: Integers, vertices: Floats, box: FlatBox) -> Integers:
    """Return the faces of the water at the sides of the region."""
    faces = np.concatenate([water[:, list(f)] for f in ((0, 1, 2), (0, 1, 3), (0, 2, 3), (1, 2, 3))])
    x = vertices[faces]
    at = np.zeros(len(faces), bool)
    slack = 1e-6 * float((box.upper - box.lower).max())
    for axis in (0, 1):
        for end in (box.lower[axis], box.upper[axis]):
            at |= (np.abs(x[:, :, axis] - end) < slack).all(1)
    return faces[at]


def _meshed(box: FlatBox) -> Meshed:
    """Return the mesh of a box, from the child process or the cache; raises InputError with the error of the child."""
    with scratch_folder() as folder:
        given, made = folder / "box.npz", folder / "mesh.npz"
        box.save(given)
        retained = _place_in_cache(box)
        try:
            content = read_sealed(retained)
            if content is not None:
                return Meshed.load(io.BytesIO(content))
        except (OSError, ValueError, KeyError, RuntimeError, TypeError):
            pass
        _run(given, made)
        found = Meshed.load(made)
        _keep(made, retained)
        return found


def _place_in_cache(box: FlatBox) -> Path:
    """Return the cache file for a box, named by a hash of the box and of the code that meshes it."""
    content = hashlib.sha256()
    for name, value in sorted(vars(box).items()):
        content.update(name.encode())
        content.update(np.ascontiguousarray(value).tobytes())
    for file in sorted(Path(child.__file__).parent.glob("*.py")):
        content.update(file.read_bytes())
    return cache_root() / "meshes" / f"{content.hexdigest()[:32]}.npz"


def _keep(made: Path, stored: Path) -> None:
    try:
        write_sealed(stored, made.read_bytes())
        for old in sorted(stored.parent.glob("*.npz"), key=lambda p: p.stat().st_mtime)[:-KEPT]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError):  # no harm: it will be computed again
        return


CLOSE = (
    "Faults that nearly touch, or meet at a small angle, are the usual cause: join them (stops_at), separate "
    "them, or set a smaller size."
)


def _run(given: Path, made: Path) -> None:
    command = [*PYTHON, "-m", child.__name__, str(given), str(made), str(meshing_seconds())]
    environment = without_launcher() | {
        "TMPDIR": str(given.parent)
    }  # files of a killed child are removed with the folder
    done = subprocess.run(
        command, env=environment, cwd=given.parent, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        check=False,
    )  # fmt: skip
    said = done.stdout.strip().splitlines()
    if done.returncode == 3:
        raise region.no_gmsh(said[-1] if said else "", GMSH_ADVICE)
    if done.returncode == 0 and made.is_file():
        return
    why = said[-1] if said else (done.stderr.strip().splitlines() or ["Gmsh reports no reason"])[-1]
    if done.returncode == -signal.SIGPROF:
        what = f"Gmsh does not finish within {meshing_seconds():g} s of processor time"
        raise InputError(
            Problem("mesh.build", what, advice=f"Make the elements larger, or set {MESHING} to more seconds.")
        )
    if done.returncode < 0:
        why = f"it crashed ({signal.Signals(-done.returncode).name})"
    raise InputError(Problem("mesh.build", f"Gmsh could not mesh the region: {why}", advice=CLOSE))
