"""Radar cross sections of a case: a closed surface around its scatterers, recorded and transformed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.log import get_logger
from faultwave.case.model import Case
from faultwave.dg.basis import face_points, tet_basis, triangle_quadrature
from faultwave.dg.driven import Faces, faces_of
from faultwave.dg.drives import Wave, volume_numbers
from faultwave.dg.medium import single_medium
from faultwave.dg.periodic import across_period
from faultwave.dg.samples import Samples
from faultwave.domain import tets
from faultwave.observe.far_field import FourierRecorder, cross_section

if TYPE_CHECKING:
    from faultwave.dg.solver import Engine

PASSING = 1e-4
"""Share of the largest power through a far field's surface: with more still passing, a hundredth of the amplitude may be missing."""


@dataclass(frozen=True)
class Around:
    """Faces (n,) of cells outside the volumes towards them, and the medium there."""

    cells: np.ndarray
    faces: np.ndarray
    speed: float
    impedance: float


def plan_far_field(
    case: Case, mesh: tets.Mesh, topology: tets.Topology, material: dict[str, np.ndarray], problems: Problems
) -> Around | None:
    """The surface of ``output.far_field``; what is wrong goes to ``problems``."""
    setting, where = case.output.far_field, "output.far_field"
    if setting is None:
        return None
    if case.law != "maxwell":
        problems.error(where, f"does not exist in the {case.law} law", "law: maxwell")
        return None
    if len(case.incident) != 1 or not case.incident[0].volumes:
        problems.error(where, "compares with one incident wave around volumes", "one entry of 'incident' with volumes")
    for wave in case.incident:
        function = wave.time_function
        over = wave.onset + 8 * function.duration
        if function.kind == "burst" and case.end_time < over:
            what = f"the run ends at {case.end_time:g} s, before the incident burst is over at {over:.3g} s"
            problems.warn(where, what, advice="The spectra will be of what has passed until then.")
    inside = np.isin(mesh.groups, volume_numbers(setting.volumes, mesh, f"{where}.volumes", problems))
    near = topology.neighbours
    cells, faces = np.nonzero(~inside[:, None] & (near >= 0) & inside[np.maximum(near, 0)])
    if not len(cells):
        problems.error(f"{where}.volumes", "these volumes have no face to the rest of the mesh")
        return None
    touches = inside[:, None] & (near < 0)
    if touches.any():
        problems.error(
            f"{where}.volumes", f"{int(touches.sum())} of their faces lie on the mesh's boundary", "volumes all inside"
        )
    beyond = inside[:, None] & across_period(mesh, topology)[0]
    if beyond.any():
        what = f"{int(beyond.sum())} of their faces lie on periodic sides, so that no closed surface surrounds them"
        problems.error(f"{where}.volumes", what, "volumes all inside")
    medium = single_medium(material, cells)
    if isinstance(medium, str):
        problems.error(f"{where}.volumes", f"the medium around them {medium}", "one lossless medium")
        return None
    eps, mu = medium["permittivity"], medium["permeability"]
    return Around(cells, faces, 1.0 / np.sqrt(eps * mu), float(np.sqrt(mu / eps)))


class FarField:
    """Records on the surface, hooked into the engine; ``table`` transforms what was recorded so far."""

    def __init__(self, engine: Engine, around: Around):
        plan, op, setting = engine.plan, engine.operator, engine.plan.case.output.far_field
        assert setting is not None
        self.around, self.setting, self.plan = around, setting, plan
        points, weights = triangle_quadrature(op.order + 1)
        functionals = np.stack([tet_basis(face_points(f, points), op.order - 1) for f in range(4)])[around.faces]
        cluster = plan.clustering.cluster[around.cells]
        members = [np.flatnonzero(cluster == c) for c in range(engine.layout.clusters)]
        taken = Samples(op, around.cells, members, functionals)
        frequencies = np.array(setting.frequencies, float)
        interval = setting.interval or 0.05 / frequencies.max()
        self.recorder = FourierRecorder(interval, members, functionals, taken.take, frequencies, 6, around.impedance)
        self.remark = ""  # what keeps the last ``table`` from being exact
        self.listed: Faces = faces_of(op, around.cells, around.faces, plan.geometry.origin)
        self.positions = self.listed.positions(points)
        self.weights = 2.0 * self.listed.areas[:, None] * weights
        engine.sampled(self.recorder, taken)

    @property
    def samples(self) -> int:
        """How many there are in the spectra. All processes must ask."""
        here = max(self.recorder.next) if self.recorder.active else 0
        return int(self.plan.world.largest([here])[0])

    def incident(self, wave: Wave) -> np.ndarray:
        """Spectrum of the incident field's size, (nf,), over the time recorded."""
        count = self.samples
        time = np.arange(count) * self.recorder.interval
        turn = np.exp(-2j * np.pi * np.outer(self.recorder.frequencies, time)) * self.recorder.interval
        return np.asarray(turn @ wave.function.value(time) * np.linalg.norm(wave.q[:3]))

    def table(self) -> np.ndarray | None:
        """Rows: frequency [Hz], theta and phi [degrees], cross section [m^2]. Of several processes all must ask; the first gets
        them."""
        incident = self.incident(self.plan.drives.waves[0])
        spectra = self.recorder.spectra  # asked first: it waits for the last samples
        strength = self.listed.areas[:, None] * self.recorder.strength
        parts = (spectra, self.positions, -self.listed.frames[:, :3], self.weights, strength)
        pieces = self.plan.world.gather(parts)
        if pieces is None:
            return None
        theta, phi = (a.reshape(-1) for a in np.meshgrid(self.setting.theta, self.setting.phi, indexing="ij"))
        spectra, positions, normals, weights, strength = (np.concatenate(p) for p in zip(*pieces, strict=True))
        self._judge(*strength.sum(0))
        f = self.recorder.frequencies
        sigma = cross_section(
            spectra, positions, normals, weights, 2 * np.pi * f / self.around.speed, self.around.impedance, incident,
            np.deg2rad(theta), np.deg2rad(phi),
        )  # fmt: skip
        return np.array(
            [(x, t, p, s) for x, row in zip(f, sigma, strict=True) for t, p, s in zip(theta, phi, row, strict=True)]
        )

    def _judge(self, largest: float, lately: float) -> None:
        """Tell where waves were still on their way through the surface at the end."""
        self.remark = ""
        if lately > PASSING * largest:
            self.remark = (
                f"CUT SHORT: when the run ended {100 * lately / largest:.2g} % of the largest power density was still passing through the "
                "surface; let it go on longer"
            )
            get_logger(__name__).warning("far field: %s", self.remark)


__all__ = ["Around", "FarField", "plan_far_field"]
