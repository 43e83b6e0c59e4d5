"""Rectangular waveguide ports: shapes, modes, excitation, returned waves and scattering parameters.

At a port E_t = V(t) e and H_t = I(t) n x e with the mode's pattern e, with unit integral of e^2, and n into the mesh (Pozar 2012,
ch. 3 and 4). V and I at one frequency give the waves a = (V + Z I)/(2 sqrt Z) into the mesh and b = (V - Z I)/(2 sqrt Z) out of it,
with the mode's own impedance Z. The boundary of a port absorbs plane waves at normal incidence and reflects part of a mode: so the
arriving waves at other ports are not zero, and S = B A^-1, from one run per port with that port driven, is exact nevertheless.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.case.settings.outputs import Ports as PortSettings
from faultwave.case.settings.outputs import PortSurface
from faultwave.dg.mesh.location import across_period, surface_tag
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.method.forms import onto_face
from faultwave.dg.operators.prescribed_faces import (
    Faces,
    PrescribedField,
    SeparableField,
    Shifted,
    single_lossless_medium,
)
from faultwave.dg.sampling import Surface, SurfaceSum
from faultwave.dg.solver import Solver
from faultwave.domain import tets
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements, State
from faultwave.engine.surface_sums import Reduce
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.physics.sources.time_functions import Burst
from faultwave.physics.waves import Law
from faultwave.physics.waves.law import role

EQUAL = 1e-3
"""Relative difference of lengths below which sides are equal, so that a case must state their order."""
ALIGNED = np.cos(np.deg2rad(5.0))
"""Cosine of the largest angle between a direction and the side it denotes."""


def rectangle(corners: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return origin (3,), sides (2, 3) and lengths (2,) of the rectangle that points of a plane fill, the longer side first.

    The sides do not depend on the order of the points or the sense of the normal (see ``_upright``), so that they are
    equal at both ends of a straight guide. If the points do not fill a rectangle, the area of the result differs from
    theirs.
    """
    from scipy.spatial import ConvexHull

    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    axes = np.stack([first, np.cross(normal, first)])
    flat = corners @ axes.T
    hull = flat[ConvexHull(flat).vertices]
    edges = np.roll(hull, -1, 0) - hull
    edge = edges[np.argmax(np.linalg.norm(edges, axis=1))]  # parallel to a side; the longest is most accurate
    u = edge / np.linalg.norm(edge)
    sides = np.stack([_upright(side) for side in np.array([u, [-u[1], u[0]]]) @ axes])
    local = corners @ sides.T
    lengths = np.ptp(local, axis=0)
    origin = sides.T @ local.min(0) + normal * float(corners[0] @ normal)
    order = np.argsort(-lengths)
    return origin, sides[order], lengths[order]


def _upright(side: np.ndarray) -> np.ndarray:
    """Return the side (3,) or its opposite, so that the first of its largest components is positive.

    Components that differ by rounding only count as equal.
    """
    largest = np.flatnonzero(np.abs(side) > np.abs(side).max() - 1e-6)[0]
    return np.asarray(side * np.sign(side[largest]))


def turned(
    origin: np.ndarray, sides: np.ndarray, lengths: np.ndarray, setting: PortSurface, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rectangle with the side first along which the mode's first index counts. Raises InputError if it is unknown."""
    allowed = " or ".join("[" + ", ".join(f"{x:.4g}" for x in np.round(side, 6) + 0.0) + "]" for side in sides)
    if setting.along is None:
        if lengths[0] <= lengths[1] * (1 + EQUAL):
            what = (
                f"is missing: the sides of '{setting.surface}' have equal lengths, so the first index of "
                f"{setting.mode} is ambiguous"
            )
            raise InputError(Problem(f"{name}.along", what, allowed))
        return origin, sides, lengths
    along = np.array(setting.along) / np.linalg.norm(setting.along)
    share = sides @ along
    first = int(np.abs(share).argmax())
    if abs(share[first]) < ALIGNED:
        raise InputError(
            Problem(f"{name}.along", f"{list(setting.along)} is not a side of '{setting.surface}'", allowed)
        )
    if share[first] < 0:  # the same rectangle, from its other corner
        origin, sides = origin + lengths[first] * sides[first], np.where(np.arange(2)[:, None] == first, -sides, sides)
    order = [first, 1 - first]
    return origin, sides[order], lengths[order]


def check_walls(
    where: str, surface: str | int, cells: np.ndarray, faces: np.ndarray, mesh: tets.Mesh, topology: tets.Topology
) -> None:
    """Raise InputError if a port's edges do not run along conducting walls: its modes are modes of a metal guide."""
    outer, periodic = topology.neighbours < 0, across_period(mesh, topology)[0]
    own = np.zeros_like(outer)
    own[cells, faces] = True
    rim, count = np.unique(_edges(own, topology), return_counts=True)
    rim = rim[count == 1]
    others = (outer | periodic) & ~own
    touching = np.isin(_edges(others, topology), rim).reshape(-1, 3).any(1)
    kinds = topology.kinds[others][touching]
    reported = {tets.BoundaryKind(k).name.lower().replace("_", "-") for k in np.unique(kinds)} - {"pec", "impedance"}
    reported = (reported - {"regular"}) | ({"periodic"} if periodic[others][touching].any() else set())
    if reported:
        what = f"'{surface}' has edges along walls of kind {', '.join(sorted(reported))}"
        raise InputError(Problem(where, what, "pec (or impedance) walls all around a port"))


def _edges(chosen: np.ndarray, topology: tets.Topology) -> np.ndarray:
    """Return a number for each edge of the ``chosen`` faces (nc, 4) bool, (faces, 3) flattened."""
    cells, faces = np.nonzero(chosen)
    corners = np.take_along_axis(topology.cells[cells], tets.SORTED_FACES[faces], 1).astype(np.int64)
    ends = np.sort(corners[:, [[0, 1], [1, 2], [0, 2]]], -1)
    return np.asarray(ends[..., 0] * (int(topology.cells.max()) + 1) + ends[..., 1]).reshape(-1)


name = "ports"

BLOCK = 2_000_000  # factors of a Fourier sum in memory at once
MAX_MODES = 10  # of each index: a mode is named with two digits


@dataclass(frozen=True)
class Port:
    """Waveguide port: faces, rectangle (origin, unit sides u and v, lengths), inward normal, mode, medium and excitation."""

    surface: Surface
    origin: np.ndarray
    sides: np.ndarray  # (2, 3) unit vectors, first the side of the mode's first index
    lengths: np.ndarray  # (2,)
    normal: np.ndarray  # into the mesh
    mode: str
    permittivity: float
    permeability: float
    function: Shifted | None  # time function, of the driven port only

    @property
    def cutoff(self) -> float:
        """Cutoff frequency of the mode [Hz]."""
        return self._wavenumber() * self._speed / (2 * np.pi)

    @property
    def _speed(self) -> float:
        return float(1.0 / np.sqrt(self.permittivity * self.permeability))

    def propagating(self, frequency: float) -> list[tuple[float, str]]:
        """Return cutoff [Hz] and name of every guided mode that propagates at ``frequency`` [Hz], by cutoff."""
        wavenumber = 2 * np.pi * frequency / self._speed
        m, n = (np.arange(min(int(wavenumber * size / np.pi) + 1, MAX_MODES)) for size in self.lengths)
        k = np.pi * np.hypot(*np.meshgrid(m / self.lengths[0], n / self.lengths[1], indexing="ij"))
        found = []
        for i, j in np.argwhere((k > 0) & (k < wavenumber)):
            names = [f"TE{i}{j}", f"TM{i}{j}"] if i and j else [f"TE{i}{j}"]
            found += [(float(k[i, j]) * self._speed / (2 * np.pi), name) for name in names]
        return sorted(found)

    def _wavenumber(self) -> float:
        return float(np.hypot(*(np.pi * np.array(self.indices) / self.lengths)))

    @property
    def indices(self) -> tuple[int, int]:
        return int(self.mode[2]), int(self.mode[3])

    def pattern(self, x: np.ndarray) -> np.ndarray:
        """Return the mode's pattern e (..., 3) at points x (..., 3); the integral of e^2 is one."""
        (m, n), (a, b) = self.indices, self.lengths
        u, v = (
            np.pi * k * ((x - self.origin) @ side) / size
            for k, side, size in zip((m, n), self.sides, (a, b), strict=True)
        )
        if self.mode[1] == "E":
            parts = (n / b * np.cos(u) * np.sin(v), -m / a * np.sin(u) * np.cos(v))
        else:
            parts = (m / a * np.cos(u) * np.sin(v), n / b * np.sin(u) * np.cos(v))
        shares = (1.0 if k == 0 else 0.5 for k in (m, n))
        size = np.sqrt(a * b * np.prod(list(shares)) * ((m / a) ** 2 + (n / b) ** 2))
        return np.asarray((parts[0][..., None] * self.sides[0] + parts[1][..., None] * self.sides[1]) / size)

    def impedance(self, frequencies: np.ndarray) -> np.ndarray:
        """Return the impedance of the mode [ohm] at frequencies above cutoff."""
        omega = 2 * np.pi * frequencies
        beta = np.sqrt(omega**2 * self.permittivity * self.permeability - self._wavenumber() ** 2)
        return np.asarray(
            omega * self.permeability / beta if self.mode[1] == "E" else beta / (omega * self.permittivity)
        )

    def drives(self, law: Law, listed: Faces, points: np.ndarray, project: np.ndarray) -> list[PrescribedField]:
        """Return the wave 2 e S(t) that arrives at the faces of a driven port."""
        if self.function is None:
            return []
        keys = {(int(c), int(f)) for c, f in zip(self.surface.cells, self.surface.faces, strict=True)}
        pairs = zip(listed.cells.tolist(), listed.faces.tolist(), strict=True)
        items = np.array([i for i, pair in enumerate(pairs) if pair in keys], np.int64)
        e = self.pattern(listed.positions(points)[items])
        frame = [listed.frames[items, i, None] for i in range(listed.frames.shape[1])]
        along = np.stack(onto_face(law, frame, [2.0 * e[..., i] for i in range(3)]), -1)
        traction = np.einsum("bp,kpf->kbf", project, along)
        return [SeparableField(items, np.concatenate([traction, np.zeros_like(traction)], 2), self.function)]

    def amplitudes(
        self, time: np.ndarray, voltage: np.ndarray, current: np.ndarray, frequencies: np.ndarray
    ) -> np.ndarray:
        """Return the wave amplitudes a and b at frequencies, (2, nf)."""
        z, both = self.impedance(frequencies), np.stack([voltage, current], 1)
        rows = max(1, BLOCK // max(1, len(time)))
        blocks = [frequencies[i : i + rows] for i in range(0, len(frequencies), rows)]
        v, i = np.concatenate([np.exp(-2j * np.pi * np.outer(f, time)) @ both for f in blocks]).T
        return np.array([v + z * i, v - z * i]) / (2 * np.sqrt(z))


@dataclass(frozen=True)
class Ports(CapabilityPlan):
    """Plan of waveguide ports."""

    setting: PortSettings
    ports: tuple[Port, ...]
    name: str = name

    @property
    def requirements(self) -> Requirements:
        none = np.zeros((0, 2), np.int64)
        driven = [np.stack([p.surface.cells, p.surface.faces], 1) for p in self.ports if p.function is not None]
        cells = [p.surface.cells for p in self.ports]
        cells_read, faces = np.concatenate([none[:, 0], *cells]), np.concatenate([none, *driven])
        return Requirements(derivatives=cells_read, faces=faces, frequency=self.setting.band[1])

    def partition(self, cut: Cut) -> Ports:
        return replace(self, ports=tuple(replace(p, surface=p.surface.partition(cut)) for p in self.ports))

    def attach(self, solver: Solver) -> AttachedPorts:
        return AttachedPorts(self, solver)


def needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has ports, whose modes are computed on the whole mesh."""
    return case.ports is not None


def plan(planning: Planning) -> Ports | None:
    """Plan every port of the case."""
    case, topology, problems = planning.case, planning.topology, planning.problems
    setting = case.ports
    if setting is None:
        return None
    if "electric" not in planning.law.roles:
        problems.error("ports", f"do not exist in the {case.law} law", "law: maxwell")
        return None
    _check_alone(case, problems)
    burst = _burst(setting.band)
    if case.end_time < 8 * burst.duration:
        what = f"{case.end_time:g} s, but the burst that covers the band of the ports takes {8 * burst.duration:.3g} s"
        problems.error(
            "end_time", what, "above that, and until the waves have left", "Use stop.energy_below to end the run."
        )
    found: list[tuple[int, Port]] = []
    for i, one in enumerate(setting.surfaces):
        where = f"ports.surfaces[{i}]"
        tag = surface_tag(one.surface, planning.mesh, topology, f"{where}.surface", problems)
        if tag is None:
            continue
        mine = (topology.tags == tag) & (topology.kinds == tets.BoundaryKind.ABSORBING)
        if not mine.any():
            problems.error(f"{where}.surface", f"'{one.surface}' does not absorb", "a boundary of kind absorbing")
            continue
        function = Shifted(burst, 0.0) if setting.drive == i + 1 else None
        try:
            port = _port(planning, one, np.nonzero(mine), function, where)
        except InputError as error:
            problems.extend(error.problems)
            continue
        if port.cutoff >= setting.band[0]:
            allowed = f"above the cutoff of {one.mode} at {port.cutoff:g} Hz"
            problems.error("ports.band", f"begins at {setting.band[0]:g} Hz", allowed)
        found.append((tag, port))
    _check_modes(found, setting.band, problems)
    return Ports(setting, tuple(port for _, port in found)) if found else None


def _burst(band: tuple[float, float]) -> Burst:
    """Return the pulse of a driven port, which fills the band and ends after eight durations."""
    centre, half = sum(band) / 2, (band[1] - band[0]) / 2
    return Burst(min(0.35 / half, 8.0 / centre), centre)


def _check_alone(case: Case, problems: Problems) -> None:
    """Report other sources, with which scattering parameters would not hold."""
    others = {
        "currents": case.currents, "incident": case.incident, "sources": case.sources, "initial": case.initial.kind != "zero",
    }  # fmt: skip
    for name, there in others.items():
        if there:
            problems.error(
                name,
                "act in addition to the ports",
                "ports alone",
                "Their waves would be counted as reflections of the ports.",
            )


def _check_modes(ports: Sequence[tuple[int, Port]], band: tuple[float, float], problems: Problems) -> None:
    """Report duplicate modes of a surface, and warn about propagating modes without a port.

    ``ports`` lists the tags of surfaces with their ports.
    """
    listed: dict[int, list[Port]] = {}
    for tag, port in ports:
        same = [other for other in listed.setdefault(tag, []) if _same_mode(port, other)]
        if same:
            what = f"{port.mode} of '{port.surface.name}' is listed as two ports"
            problems.error("ports.surfaces", what, "each mode of a surface once")
        listed[tag].append(port)
    for group in listed.values():
        port = group[0]
        rest = [
            (cutoff, name)
            for cutoff, name in port.propagating(band[1])
            if not any(_same_mode(replace(port, mode=name), other) for other in group)
        ]
        if rest:
            reported = ", ".join(f"{name} (from {cutoff:.4g} Hz)" for cutoff, name in rest[:5])
            more = f" and {len(rest) - 5} more" if len(rest) > 5 else ""
            problems.warn(
                "ports.band",
                f"modes that are not listed propagate at '{port.surface.name}' up to {band[1]:g} Hz: {reported}{more}",
                advice=(
                    "The scattering parameters omit the energy in these modes: list them as ports, or end "
                    "the band below them."
                ),
            )


def _same_mode(a: Port, b: Port) -> bool:
    """Return True if two ports of one surface have the same mode, whose first indices may refer to different sides."""
    if a.mode[1] != b.mode[1]:
        return False
    swapped = abs(float(a.sides[0] @ b.sides[0])) < 0.5
    return a.indices == (b.indices[::-1] if swapped else b.indices)


def _port(
    planning: Planning, setting: Setting, where: tuple[np.ndarray, ...], function: Shifted | None, name: str
) -> Port:
    mesh, topology, shape, material = planning.mesh, planning.topology, planning.geometry, planning.material
    cells, faces = where
    normals, areas = shape.normals[cells, faces], shape.areas[cells, faces]
    corners = mesh.vertices[np.take_along_axis(topology.cells[cells], tets.SORTED_FACES[faces], 1)].reshape(-1, 3)
    normal = normals[0]
    size = np.ptp(corners, axis=0).max()
    if np.abs(normals @ normal - 1).max() > 1e-6 or np.ptp(corners @ normal) > 1e-6 * size:
        raise InputError(
            Problem(f"{name}.surface", f"'{setting.surface}' is not plane", "a plane surface across the guide")
        )
    origin, sides, lengths = rectangle(corners, normal)
    if abs(lengths.prod() / areas.sum() - 1) > 1e-6:
        raise InputError(
            Problem(
                f"{name}.surface", f"'{setting.surface}' is not a rectangle", "the cross section of a rectangular guide"
            )
        )
    check_walls(f"{name}.surface", setting.surface, cells, faces, mesh, topology)
    medium = single_lossless_medium(material, cells)
    if isinstance(medium, str):
        raise InputError(
            Problem(f"{name}.surface", f"the medium at '{setting.surface}' {medium}", "one lossless medium")
        )
    origin, sides, lengths = turned(origin, sides, lengths, setting, name)
    return Port(
        Surface(str(setting.surface), cells, faces), origin, sides, lengths, -normal, setting.mode,
        medium["permittivity"], medium["permeability"], function,
    )  # fmt: skip


class AttachedPorts(Capability):
    """Recorder of voltage and current at every port, with twenty samples per period of the highest frequency."""

    def __init__(self, part: Ports, solver: Solver):
        self.part, self.solver = part, solver
        interval = 0.05 / part.setting.band[1]
        self.sums = [
            SurfaceSum(solver, port.surface, interval, _voltage_and_current(solver.plan.law, port))
            for port in part.ports
        ]
        self.callbacks = tuple(s.call for s in self.sums)

    @property
    def samples_complete(self) -> bool:
        return all(s.recorder.samples_complete for s in self.sums)

    def drives(self, faces: Faces, points: np.ndarray, project: np.ndarray) -> Sequence[PrescribedField]:
        law = self.solver.plan.law
        return [drive for port in self.part.ports for drive in port.drives(law, faces, points, project)]

    def state(self) -> Mapping[str, State]:
        return {k: v for i, s in enumerate(self.sums) for k, v in s.state(str(i)).items()}

    def results(self) -> Iterable[Result]:
        """Return waves a, b and mode impedance of every port by frequency, and the share of energy left inside."""
        setting = self.part.setting
        signals = [s.sums() for s in self.sums]
        frequencies = np.linspace(setting.band[0], setting.band[1], setting.points)
        pairs = zip(self.part.ports, signals, strict=True)
        waves = np.array([port.amplitudes(t, x[:, 0], x[:, 1], frequencies) for port, (t, x) in pairs])
        impedances = np.stack([port.impedance(frequencies) for port in self.part.ports])
        left = np.array(self._energy_left([x for _, x in signals]))
        variables = {
            "frequency": Variable(frequencies, ("frequency",), "Hz"),
            "into": Variable(waves[:, 0], ("port", "frequency"), "", "wave into the mesh"),
            "out": Variable(waves[:, 1], ("port", "frequency"), "", "wave out of the mesh"),
            "impedance": Variable(impedances, ("port", "frequency"), "ohm", "of the port's mode"),
            "energy_left": Variable(
                left, (), "", ("energy in the mesh over the largest energy that entered through the ports")
            ),
        }
        yield Result(name, Dataset(name, variables))

    def _energy_left(self, signals: Sequence[np.ndarray]) -> float:
        """Return the share of the energy that is left inside, infinite if none has entered.

        The modes have unit integrals of e^2, so V I is the power that a mode carries into the mesh.
        """
        count = min(map(len, signals))
        power = np.sum([x[:count, 0] * x[:count, 1] for x in signals], 0)
        held = np.cumsum(power) * self.sums[0].recorder.interval
        now = self.solver.plan.world.broadcast(self.solver.energies())
        most = float(held.max(initial=0.0))
        return sum(v for k, v in now.items() if k.endswith("energy")) / most if most > 0 else np.inf


def _voltage_and_current(law: Law, port: Port) -> Any:
    e_columns, h_columns = role(law, "electric"), role(law, "magnetic")

    def make(faces: Faces, points: np.ndarray, weights: np.ndarray) -> Reduce:
        scale = (2.0 * faces.areas[:, None] * weights)[..., None]
        e = port.pattern(faces.positions(points))
        electric, magnetic = scale * e, scale * np.cross(port.normal, e)

        def reduce(items: np.ndarray, values: np.ndarray) -> np.ndarray:
            voltage, current = electric[items] * values[..., e_columns], magnetic[items] * values[..., h_columns]
            return np.array([voltage.sum(), current.sum()])

        return reduce

    return make
