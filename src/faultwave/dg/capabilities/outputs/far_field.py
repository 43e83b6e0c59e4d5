"""Radar cross sections from spectra recorded on a closed surface around scatterers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from faultwave.base.errors import Problem, Problems
from faultwave.base.log import get_logger
from faultwave.base.types import Setting
from faultwave.case.settings.model import Case
from faultwave.dg.capabilities.incident_waves import Wave
from faultwave.dg.mesh.location import across_period, volume_numbers
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.operators.prescribed_faces import faces_of, single_lossless_medium
from faultwave.dg.sampling import Samples, by_cluster, face_functionals, sampling_callback
from faultwave.dg.solver import Solver
from faultwave.engine.capability import Capability, CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.engine.surface_sums import ClosedSurface, FourierRecorder, cross_section
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.physics.waves.law import role

name = "far_field"
AFTER = ("incident_waves",)

PASSING = 1e-4
"""Largest allowed ratio of the final to the peak power through the surface; above it 1 % of the amplitude may be missing."""


@dataclass(frozen=True)
class FarField(CapabilityPlan):
    """Plan of a far field: faces that enclose the scatterers, medium and incident wave.

    Attributes
    ----------
    cells, faces : (n,) int
        Cells outside the volumes, and their faces towards the volumes.
    speed, impedance : float
        Wave speed [m/s] and impedance of the medium at the faces.
    wave : Wave
        Incident wave.
    """

    setting: Setting
    cells: np.ndarray
    faces: np.ndarray
    speed: float
    impedance: float
    wave: Wave
    name: str = name

    @property
    def requirements(self) -> Requirements:
        highest = max(self.setting.frequencies)
        return Requirements(derivatives=self.cells, lossless=(("far field", self.cells),), frequency=highest)

    def partition(self, cut: Cut) -> FarField:
        mine = cut.mine(self.cells)
        return replace(self, cells=cut.here[self.cells[mine]], faces=self.faces[mine], wave=self.wave.partition(cut))

    def attach(self, solver: Solver) -> AttachedFarField:
        return AttachedFarField(self, solver)


def needs_whole_mesh(case: Case) -> bool:
    """Return True if the case has a far field, whose surface is located in the whole mesh."""
    return case.output.far_field is not None


def plan(planning: Planning) -> FarField | None:
    """Return the plan of the far field, None if the case has none."""
    case, problems, where = planning.case, planning.problems, "output.far_field"
    setting = case.output.far_field
    if setting is None:
        return None
    if "electric" not in planning.law.roles:
        problems.error(where, f"does not exist in the {case.law} law", "law: maxwell")
        return None
    if len(case.incident) != 1 or not case.incident[0].volumes:
        problems.error(where, "compares with one incident wave around volumes", "one entry of 'incident' with volumes")
    _check_duration(case, problems)
    found = _surface_around(planning, setting.volumes, f"{where}.volumes")
    waves = planning.parts.get("incident_waves")
    if found is None or waves is None:
        return None
    medium = single_lossless_medium(planning.material, found[0])
    if isinstance(medium, str):
        problems.error(f"{where}.volumes", f"the medium around them {medium}", "one lossless medium")
        return None
    eps, mu = medium["permittivity"], medium["permeability"]
    first: Wave = waves.waves[0]  # type: ignore[attr-defined]
    return FarField(setting, *found, 1.0 / np.sqrt(eps * mu), float(np.sqrt(mu / eps)), first)


def _check_duration(case: Case, problems: Problems) -> None:
    for wave in case.incident:
        function = wave.time_function
        over = wave.onset + 8 * function.duration
        if function.kind == "burst" and case.end_time < over:
            what = f"the run ends at {case.end_time:g} s, before the incident burst is over at {over:.3g} s"
            problems.warn(
                "output.far_field", what, advice="The spectra include only the waves that have passed by then."
            )


def _surface_around(planning: Planning, volumes: Any, where: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return cells and faces (n,) that enclose the volumes, seen from outside."""
    mesh, problems, near = planning.mesh, planning.problems, planning.topology.neighbours
    inside = np.isin(mesh.groups, volume_numbers(volumes, mesh, where, problems))
    cells, faces = np.nonzero(~inside[:, None] & (near >= 0) & inside[np.maximum(near, 0)])
    if not len(cells):
        problems.error(where, "these volumes share no face with the rest of the mesh")
        return None
    touches = inside[:, None] & (near < 0)
    if touches.any():
        problems.error(
            where, f"{int(touches.sum())} of their faces are on the boundary of the mesh", "volumes all inside"
        )
    beyond = inside[:, None] & across_period(mesh, planning.topology)[0]
    if beyond.any():
        what = (
            f"{int(beyond.sum())} of their faces are on periodic sides, so that no closed surface encloses the volumes"
        )
        problems.error(where, what, "volumes all inside")
    return cells, faces


class AttachedFarField(Capability):
    """Recorder of spectra on the surface; ``table`` transforms the spectra recorded so far."""

    def __init__(self, part: FarField, solver: Solver):
        plan, op, setting = solver.plan, solver.operator, part.setting
        self.part, self.plan, self.remark = part, plan, ""
        points, weights, functionals = face_functionals(op.order, part.faces)
        members = by_cluster(plan.clustering.cluster[part.cells], solver.layout.clusters)
        taken = Samples(op, part.cells, members, functionals)
        frequencies = np.array(setting.frequencies, float)
        interval = setting.interval or 0.05 / frequencies.max()
        self.recorder = FourierRecorder(interval, members, functionals, taken.take, frequencies, 6, part.impedance)
        self.faces = faces_of(op, part.cells, part.faces, plan.geometry.origin(part.cells))
        self.positions = self.faces.positions(points)
        self.weights = 2.0 * self.faces.areas[:, None] * weights
        self.callbacks = (sampling_callback(self.recorder, taken),)

    @property
    def samples_complete(self) -> bool:
        return self.recorder.samples_complete

    @property
    def samples(self) -> int:
        """Return the number of samples in the spectra; a collective call."""
        here = max(self.recorder.next) if self.recorder.active else 0
        return int(self.plan.world.largest([here])[0])

    def state(self) -> Mapping[str, State]:
        rows = 4 * self.plan.numbers[self.part.cells] + self.part.faces
        record = self.recorder

        def write_spectra(values: np.ndarray, origin: RestoredFrom) -> None:
            record.spectra = values.view(complex)

        def write_strength(values: np.ndarray, origin: RestoredFrom) -> None:
            record.strength = values

        def write_count(values: np.ndarray, origin: RestoredFrom) -> None:
            record.next = [int(values)] * len(record.next)

        return {
            "spectra": State(rows, lambda: record.spectra.copy().view(float), write_spectra),
            "strength": State(rows, record.strength.copy, write_strength),
            "samples": State(None, lambda: np.array(self.samples), write_count),
        }

    def results(self) -> Iterable[Result]:
        table = self.table()
        if table is None:
            return
        units = (("frequency", "Hz"), ("theta", "degree"), ("phi", "degree"), ("cross_section", "m^2"))
        columns = {n: Variable(table[:, i], ("direction",), unit) for i, (n, unit) in enumerate(units)}
        yield Result(name, Dataset(name, columns))

    def remarks(self) -> Iterable[Problem]:
        return [Problem("output.far_field", self.remark, severity="warning")] if self.remark else []

    def incident(self) -> np.ndarray:
        """Return the spectrum (nf,) of the magnitude of the incident field over the recorded time."""
        count, wave = self.samples, self.part.wave
        electric = wave.q[role(self.plan.law, "electric")]
        time = np.arange(count) * self.recorder.interval
        turn = np.exp(-2j * np.pi * np.outer(self.recorder.frequencies, time)) * self.recorder.interval
        return np.asarray(turn @ wave.function.value(time) * np.linalg.norm(electric))

    def table(self) -> np.ndarray | None:
        """Return rows of frequency [Hz], theta and phi [degrees] and cross section [m^2].

        The call is collective, and the first process has the result.
        """
        incident = self.incident()
        spectra = self.recorder.spectra  # must come first, as it waits for the last samples
        strength = self.faces.areas[:, None] * self.recorder.strength
        parts = (spectra, self.positions, -self.faces.frames[:, :3], self.weights, strength)
        pieces = self.plan.world.gather(parts)
        if pieces is None:
            return None
        setting = self.part.setting
        theta, phi = (a.reshape(-1) for a in np.meshgrid(setting.theta, setting.phi, indexing="ij"))
        spectra, positions, normals, weights, strength = (np.concatenate(p) for p in zip(*pieces, strict=True))
        self._judge(*strength.sum(0))
        f = self.recorder.frequencies
        sigma = cross_section(
            spectra, ClosedSurface(positions, normals, weights), 2 * np.pi * f / self.part.speed, self.part.impedance,
            incident, np.deg2rad(theta), np.deg2rad(phi),
        )  # fmt: skip
        return np.array(
            [(x, t, p, s) for x, row in zip(f, sigma, strict=True) for t, p, s in zip(theta, phi, row, strict=True)]
        )

    def _judge(self, largest: float, lately: float) -> None:
        """Warn if waves were still passing through the surface at the end."""
        self.remark = ""
        if lately > PASSING * largest:
            self.remark = (
                f"INCOMPLETE: at the end of the run {100 * lately / largest:.2g} % of the largest power "
                "density was still passing through the surface; raise end_time"
            )
            get_logger(__name__).warning("far field: %s", self.remark)
