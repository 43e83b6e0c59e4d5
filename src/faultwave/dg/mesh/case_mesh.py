"""Mesh of a case: read from a file, generated, or built from a place with the edge lengths that its material requires."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from faultwave.base.reuse import reused
from faultwave.base.spans import phase
from faultwave.case.settings.meshes import Build, HeightFile, Surface
from faultwave.case.settings.model import Case
from faultwave.domain import tets
from faultwave.media import load_field
from faultwave.media.field import Field
from faultwave.observe.stations.points import projected
from faultwave.physics.waves import Law, law

if TYPE_CHECKING:
    from faultwave.domain.build import Heights


def build_from_place(case: Case, setting: Build) -> tets.Mesh:
    """Return the mesh of the place that a case describes.

    Raises
    ------
    InputError
        If the description is not valid.
    """
    from faultwave.domain import build  # takes long to import, and few cases build a mesh

    projection = None if case.projection is None else projected(case.projection, "projection")
    order = case.numerics.order
    setting = setting.model_copy(update={"fault_size": setting.edge_on_faults(order)})
    ground = None
    if setting.topography is not None:
        ground = _raster(setting.topography, case, "mesh.build.topography")
    below = tuple(_surface(number, s, case) for number, s in enumerate(setting.layers, 1))
    physics = law(case.law)
    material = _material(case, physics, build.volumes(len(setting.layers) + 1, setting.sea))
    waves = CaseWaves(physics, material, setting.frequency, setting.points_per_wavelength, order)
    return build.build(setting, build.Place(waves, ground, below, projection))


def _surface(number: int, setting: Surface, case: Case) -> tuple[str, Heights]:
    name = f"the lower side of layer {number}"
    if setting.file is not None:
        return name, _raster(setting, case, f"mesh.build.layers[{number - 1}]")
    z = -(setting.depth or 0.0)
    return name, lambda xy, width: np.full(len(xy), z)


def _raster(setting: HeightFile | Surface, case: Case, where: str) -> Heights:
    from faultwave.media.rasters import load_ground  # scipy.ndimage takes long to import

    return load_ground(setting, case.projection, where).elevation


def _material(case: Case, physics: Law, volumes: dict[str, int]) -> Field:
    defaults = {p.name: p.default for p in physics.parameters if p.default is not None}
    return load_field(case.material, "material", None, volumes, defaults, case.projection, physics.derived)


@dataclass(frozen=True)
class CaseWaves:
    """Wave speeds of a case's material, and the edge lengths that resolve a frequency at an order."""

    physics: Law
    material: Field
    frequency: float | None
    points_per_wavelength: float
    order: int

    def edges(self, points: np.ndarray, groups: np.ndarray) -> np.ndarray:
        if self.frequency is None:
            return np.full(len(points), np.inf)
        values = self._values(points, groups)
        slow = np.asarray(self.physics.speed(values))
        if "mu" in values:
            shear = np.sqrt(np.maximum(values["mu"], 0.0) / self.physics.density(values))
            slow = np.where(shear > 0, shear, slow)
        return np.asarray(slow * self.order / (self.points_per_wavelength * self.frequency))

    def fastest(self, points: np.ndarray) -> float:
        return float(np.max(self.physics.speed(self._values(points, np.ones(len(points), np.int64)))))

    def _values(self, points: np.ndarray, groups: np.ndarray) -> dict[str, np.ndarray]:
        names = [p.name for p in self.physics.parameters if p.default is None or p.name in self.material.parameters]
        found = self.material.evaluate(points, groups, names)
        return {
            p.name: np.asarray(found.get(p.name, np.full(len(points), p.default or 0.0)), float)
            for p in self.physics.parameters
        }


@phase("mesh")
def load_or_build(case: Case) -> tets.Mesh:
    """Return the mesh of a case, read from a file, generated or built.

    Raises
    ------
    InputError
        If the mesh cannot be read or made.
    """
    requested = case.mesh.build
    if requested is not None:
        return build_from_place(case, requested)  # built meshes are on disk
    if tets.reads_other_files(case.mesh.file):
        return tets.load_mesh(case.mesh)
    return reused(tets.load_mesh, case.mesh)
