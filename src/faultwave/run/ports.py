"""Ports of rectangular waveguides: their modes, what drives them, what comes back, scattering parameters.

At a port E_t = V(t) e and H_t = I(t) n x e with the mode's pattern e, of unit integral of e^2, and n into the mesh (Pozar 2012,
ch. 3 and 4). Of V and I at one frequency come the waves a = (V + Z I)/(2 sqrt Z) into the mesh and b = (V - Z I)/(2 sqrt Z) out of it,
with the mode's own impedance Z. A port's wall absorbs plane waves at normal incidence and sends part of a mode back: so what arrives
at the other ports is not zero, and S = B A^-1 from as many runs as there are ports, each driving another one, is exact nevertheless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import InputError, Problem, Problems
from faultwave.case.model import Case
from faultwave.domain import tets
from faultwave.engines.dg.driven import Drive, Faces, Pattern
from faultwave.engines.dg.forms import onto_face
from faultwave.laws import Law
from faultwave.observe.surfaces import Reduce, SurfaceRecorder
from faultwave.run.drives import Shifted, surface_tag
from faultwave.run.surfaces import Surface, recorder
from faultwave.sources.time_functions import Burst

if TYPE_CHECKING:
    from faultwave.run.engine import Engine


@dataclass(frozen=True)
class Port:
    """One port: its faces, the rectangle (origin, unit sides u and v, lengths), inward normal, mode, medium and drive."""

    surface: Surface
    origin: np.ndarray
    sides: np.ndarray  # (2, 3) unit vectors, the longer side first
    lengths: np.ndarray  # (2,)
    normal: np.ndarray  # into the mesh
    mode: str
    permittivity: float
    permeability: float
    function: Shifted | None  # of the driven port

    @property
    def cutoff(self) -> float:
        """Cutoff frequency of the mode [Hz]."""
        return self._wavenumber() / (2 * np.pi * np.sqrt(self.permittivity * self.permeability))

    def _wavenumber(self) -> float:
        return float(np.hypot(*(np.pi * np.array(self.indices) / self.lengths)))

    @property
    def indices(self) -> tuple[int, int]:
        return int(self.mode[2]), int(self.mode[3])

    def pattern(self, x: np.ndarray) -> np.ndarray:
        """e (..., 3) at points x (..., 3), integral of e^2 one."""
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
        """Of the mode [ohm], at frequencies above cutoff."""
        omega = 2 * np.pi * frequencies
        beta = np.sqrt(omega**2 * self.permittivity * self.permeability - self._wavenumber() ** 2)
        return np.asarray(
            omega * self.permeability / beta if self.mode[1] == "E" else beta / (omega * self.permittivity)
        )

    def drives(self, law: Law, listed: Faces, points: np.ndarray, project: np.ndarray) -> list[Drive]:
        """The wave 2 e S(t) that arrives at the port's faces where it is driven."""
        if self.function is None:
            return []
        keys = {(int(c), int(f)) for c, f in zip(self.surface.cells, self.surface.faces, strict=True)}
        items = np.array(
            [i for i, k in enumerate(zip(listed.cells.tolist(), listed.faces.tolist(), strict=True)) if k in keys]
        )
        e = self.pattern(listed.positions(points)[items])
        frame = [listed.frames[items, i, None] for i in range(listed.frames.shape[1])]
        along = np.stack(onto_face(law, frame, [2.0 * e[..., i] for i in range(3)]), -1)
        traction = np.einsum("bp,kpf->kbf", project, along)
        return [Pattern(items, np.concatenate([traction, np.zeros_like(traction)], 2), self.function)]

    def amplitudes(
        self, time: np.ndarray, voltage: np.ndarray, current: np.ndarray, frequencies: np.ndarray
    ) -> np.ndarray:
        """(2, nf): a and b."""
        z = self.impedance(frequencies)
        turn = np.exp(-2j * np.pi * np.outer(frequencies, time))
        v, i = turn @ voltage, turn @ current
        return np.array([v + z * i, v - z * i]) / (2 * np.sqrt(z))


def plan_ports(
    case: Case, mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry, material: dict[str, np.ndarray], problems: Problems
) -> tuple[Port, ...]:  # fmt: skip
    """Every port of the case; raises no error, ``problems`` gets them all."""
    setting, found = case.ports, []
    if setting is None:
        return ()
    if case.law != "maxwell":
        problems.error("ports", f"do not exist in the {case.law} law", "law: maxwell")
        return ()
    for i, one in enumerate(setting.surfaces):
        where = f"ports.surfaces[{i}]"
        tag = surface_tag(one.surface, mesh, topology, f"{where}.surface", problems)
        if tag is None:
            continue
        mine = (topology.tags == tag) & (topology.kinds == tets.BoundaryKind.ABSORBING)
        if not mine.any():
            problems.error(f"{where}.surface", f"'{one.surface}' does not absorb", "a boundary of kind absorbing")
            continue
        function = None
        if setting.drive == i + 1:
            centre, half = sum(setting.band) / 2, (setting.band[1] - setting.band[0]) / 2
            function = Shifted(Burst(min(0.35 / half, 8.0 / centre), centre), 0.0)
        try:
            port = _port(one, np.nonzero(mine), mesh, topology, shape, material, function, where)
        except InputError as error:
            problems.extend(error.problems)
            continue
        if port.cutoff >= setting.band[0]:
            problems.error(
                "ports.band",
                f"begins at {setting.band[0]:g} Hz",
                f"above the cutoff of {one.mode} at {port.cutoff:g} Hz",
            )
        found.append(port)
    return tuple(found)


def _port(
    setting: Any, where: tuple[np.ndarray, ...], mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry,
    material: dict[str, np.ndarray], function: Shifted | None, name: str,
) -> Port:  # fmt: skip
    cells, faces = where
    normals, areas = shape.normals[cells, faces], shape.areas[cells, faces]
    corners = mesh.vertices[np.take_along_axis(topology.cells[cells], tets.SORTED_FACES[faces], 1)].reshape(-1, 3)
    normal = normals[0]
    size = np.ptp(corners, axis=0).max()
    if np.abs(normals @ normal - 1).max() > 1e-6 or np.ptp(corners @ normal) > 1e-6 * size:
        raise InputError(
            Problem(f"{name}.surface", f"'{setting.surface}' is not plane", "a plane surface across the guide")
        )
    origin, sides, lengths = _rectangle(corners, normal)
    if abs(lengths.prod() / areas.sum() - 1) > 1e-6:
        raise InputError(
            Problem(
                f"{name}.surface", f"'{setting.surface}' is no rectangle", "the cross section of a rectangular guide"
            )
        )
    values = {k: v[cells] for k, v in material.items()}
    if any(np.ptp(v) > 1e-9 * np.abs(v).max() for v in values.values()) or np.any(values["conductivity"] > 0):
        raise InputError(
            Problem(f"{name}.surface", f"the medium at '{setting.surface}' varies or has losses", "one lossless medium")
        )
    return Port(
        Surface(str(setting.surface), cells, faces), origin, sides, lengths, -normal, setting.mode,
        float(values["permittivity"][0]), float(values["permeability"][0]), function,
    )  # fmt: skip


def _rectangle(corners: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Origin, sides (2, 3) and lengths of the smallest rectangle around points of a plane, the longer side first."""
    from scipy.spatial import ConvexHull

    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    first /= np.linalg.norm(first)
    axes = np.stack([first, np.cross(normal, first)])
    flat = corners @ axes.T
    hull = flat[ConvexHull(flat).vertices]
    best: tuple[float, np.ndarray] = (np.inf, np.eye(2))
    for edge in np.roll(hull, -1, 0) - hull:
        u = edge / np.linalg.norm(edge)
        turn = np.array([u, [-u[1], u[0]]])
        area = float(np.ptp(hull @ turn.T, axis=0).prod())
        if area < best[0] * (1 - 1e-9):
            best = (area, turn)
    sides = best[1] @ axes
    # The same from both ends of a straight guide: sides point along their largest component.
    sides *= np.sign(sides[np.arange(2), np.abs(sides).argmax(1)])[:, None]
    local = corners @ sides.T
    lengths = np.ptp(local, axis=0)
    origin = sides.T @ local.min(0) + normal * float(corners[0] @ normal)
    order = np.argsort(-lengths, kind="stable") if abs(lengths[0] / lengths[1] - 1) > 1e-9 else np.array([0, 1])
    return origin, sides[order], lengths[order]


def port_recorder(engine: Engine, port: Port, interval: float) -> SurfaceRecorder:
    """Records (V, I) of a port."""

    def make(faces: Faces, points: np.ndarray, weights: np.ndarray) -> Reduce:
        scale = (2.0 * faces.areas[:, None] * weights)[..., None]
        e = port.pattern(faces.positions(points))
        electric, magnetic = scale * e, scale * np.cross(port.normal, e)

        def reduce(items: np.ndarray, values: np.ndarray) -> np.ndarray:
            return np.array([(electric[items] * values[..., :3]).sum(), (magnetic[items] * values[..., 3:6]).sum()])

        return reduce

    return recorder(engine, port.surface, interval, make)


__all__ = ["Port", "plan_ports", "port_recorder"]
