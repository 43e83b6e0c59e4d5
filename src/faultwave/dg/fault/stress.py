"""Initial stress, nucleation stress and pore pressure at the points of a fault, read from the fields of a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Nucleation
from faultwave.dg.fault.faces import FaultFaces, NucleationEpisode
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.physics.friction.law import report
from faultwave.physics.friction.loading.initial import (
    initial_names,
    initial_traction,
    prefix_of,
    pressure_name,
    stress_names,
)
from faultwave.physics.friction.loading.nucleation import STRESS_ALLOWED, wrong_stress


@dataclass(frozen=True)
class FaultPoints:
    """Friction points of all faces, face by face, at which fields of the case are evaluated.

    Attributes
    ----------
    at : (n, 3) float
        Coordinates [m].
    tags : (n,) int
        Fault tags.
    faces : FaultFaces
        Faces of the points.
    pressure : bool
        True if pore pressure is read.
    """

    at: np.ndarray
    tags: np.ndarray
    faces: FaultFaces
    pressure: bool

    def traction(self, field: Field, episode: int, where: str, problems: Problems) -> np.ndarray:
        """Return tractions (n, 3) along n, s1, s2 [Pa], with pore pressure, from the Cartesian stress or tractions of a field.

        Parameters
        ----------
        field : Field
            Field with stresses or tractions.
        episode : int
            0 for the initial stress, else the number of the nucleation episode.
        where : str
            Name of the setting, for messages.
        problems : Problems
            Collector of messages about values that are not allowed.
        """
        prefix = prefix_of(episode)
        values = field.evaluate(self.at, self.tags, stress_names(field.parameters, prefix, self.pressure, where))
        name = pressure_name(prefix)
        if name in values and not prefix:
            allowed = ">= 0 Pa: pore pressure is positive and relieves compression"
            report(problems, ~(values[name] >= 0), self.at, f"{name} is", values[name], allowed)
        each = len(self.at) // len(self.faces.area)
        n, s1, s2 = (np.repeat(v, each, 0) for v in (self.faces.normal, self.faces.tangent1, self.faces.tangent2))
        strike, dip = np.repeat(self.faces.strike, each, 0), np.repeat(self.faces.dip, each, 0)
        return initial_traction(values, n, s1, s2, strike, dip, prefix)

    def episodes(self, nucleation: Sequence[Nucleation], problems: Problems) -> tuple[NucleationEpisode, ...]:
        """Return the nucleation episodes that add stress on these faces."""
        found, faces = [], len(self.faces.area)
        for i, e in enumerate(nucleation):
            where = f"fault.nucleation[{i}].stress"
            field = load_field(e.stress, where)
            check_used(field, initial_names(prefix_of(e.number)), "an episode of nucleation", problems)
            traction = self.traction(field, e.number, where, problems)
            bad = wrong_stress(traction)
            size = np.abs(traction).max(1, initial=0.0)
            report(problems, bad, self.at, f"nucleation stress of episode {i + 1} is", size, STRESS_ALLOWED)
            found.append(NucleationEpisode(e.start, e.duration, traction.reshape(faces, -1, 3)))
        return tuple(e for e in found if np.any(e.traction))

    def check_sides(self, field: Field, problems: Problems) -> None:
        """Warn if the plus side is the upper block of one fault and the lower block of another, where T_d has opposite senses."""
        given = [name for name in ("T_d", "Td0") if name in field.parameters]
        if not any(v.any() for v in field.evaluate(self.at, self.tags, given).values()):
            return
        lean, area = self.faces.normal[:, 2], self.faces.area
        hanging, foot = [], []
        for tag in np.unique(self.faces.tags).tolist():
            of = self.faces.tags == tag
            most = MOST * area[of].sum()
            if area[of & (lean < -MIN_VERTICAL_NORMAL)].sum() > most:
                hanging.append(tag)
            elif area[of & (lean > MIN_VERTICAL_NORMAL)].sum() > most:
                foot.append(tag)
        if hanging and foot:
            what = f"the plus side is the hanging wall of faults {hanging} and the foot wall of {foot} (tags of their faces)"
            advice = "A positive T_d is reverse faulting on the former, normal faulting on the latter. Reference direction [0, 0, -1] "
            problems.warn(
                "fault.reference", what, advice=advice + "makes the hanging wall the plus side of all that dip."
            )


MIN_VERTICAL_NORMAL, MOST = 0.1, 0.9
"""Vertical component from which a normal separates upper and lower block, and the required share of a fault's area."""

__all__ = ["FaultPoints"]
