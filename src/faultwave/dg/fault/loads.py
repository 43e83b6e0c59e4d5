"""Loads of a planned fault: initial stress, nucleation and pore pressure at its points, and their comparison with its strength."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from faultwave.base.errors import Problems
from faultwave.case.settings.model import Nucleation
from faultwave.dg.fault.faces import FaultFaces, NucleationEpisode
from faultwave.engine.fault_forecast import fault_sheet, finite_values
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.observe.model import Sheet
from faultwave.physics.friction import forecast
from faultwave.physics.friction.forecast import Added, Surroundings
from faultwave.physics.friction.initial_stress import (
    STRESS_ALLOWED,
    initial_names,
    initial_traction,
    prefix_of,
    pressure_name,
    stress_names,
    wrong_stress,
)
from faultwave.physics.friction.law import Weakening, report
from faultwave.physics.friction.plausibility import LoadedFault

if TYPE_CHECKING:
    from faultwave.dg.fault.faces import Model


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
            allowed = ">= 0 Pa: pore pressure is positive and reduces compression"
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
                "fault.reference", what, advice=advice + "makes the hanging wall the plus side of all dipping faults."
            )


MIN_VERTICAL_NORMAL, MOST = 0.1, 0.9
"""Vertical component from which a normal separates upper and lower block, and the required share of a fault's area."""


def loaded_fault(rupture: Model, order: int, end: float) -> LoadedFault:
    """Return the points of a planned rupture with their loads before the start and after nucleation.

    Elastic constants are taken from the softer side.

    Parameters
    ----------
    rupture
        CapabilityPlan rupture with faces, point rule, material, friction law, parameters and stress.
    order : int
        Order of the scheme, which sets the resolved length: edge / order.
    end : float
        End of the simulation [s], until which nucleation is added.
    """
    faces, rule, material = rupture.faces, rupture.rule, rupture.material
    count = len(rule.weights)
    modulus, first = material["mu"], material["lambda"]
    softer = np.argmin(modulus, axis=1)[:, None]
    mu, lam = (np.repeat(np.take_along_axis(v, softer, 1)[:, 0], count) for v in (modulus, first))
    edge = np.sqrt(4.0 * faces.area / np.sqrt(3.0))
    area = (2.0 * faces.area[:, None] * rule.weights).reshape(-1)
    p = {name: v.reshape(-1, *v.shape[2:]) for name, v in rupture.parameters.items()}
    episodes = [Added(e.traction.reshape(-1, 3), e.start, e.duration) for e in rupture.episodes]
    around = Surroundings(area, mu, lam, np.repeat(edge / order, count))
    return forecast.loaded(rupture.law, (p, rupture.constants), rupture.stress.reshape(-1, 3), episodes, around, end)


def largest_patch(corners: np.ndarray, fault: LoadedFault) -> np.ndarray:
    """Return the points (k,) of the largest connected area above its strength, now or after nucleation.

    Faces that share a vertex are connected. Points with forced rupture count as above their strength.

    Parameters
    ----------
    corners : (n, 3, 3) float
        Vertices of the faces [m].
    fault : LoadedFault
        Points of the faces.
    """
    if not fault.starts.any():
        return np.zeros(0, np.int64)
    grain = 1e-6 * max(float(np.ptp(corners.reshape(-1, 3), axis=0).max()), 1.0)
    _, vertex = np.unique(np.round(corners.reshape(-1, 3) / grain), axis=0, return_inverse=True)
    return forecast.largest_patch(vertex.reshape(-1, 3), fault)


def face_sheet(faces: FaultFaces, fault: LoadedFault) -> Sheet:
    """Return a planned fault as a surface with face means of loads, strength and derived numbers.

    A value is NaN where the number is undefined at all points of a face.
    """
    share = fault.area.reshape(len(faces.area), -1)

    def mean(values: np.ndarray) -> np.ndarray:
        known = np.isfinite(values).reshape(share.shape)
        weight = np.where(known, share, 0.0)
        total = weight.sum(1)
        filled = np.where(known, values.reshape(share.shape), 0.0)
        return np.where(total > 0, (weight * filled).sum(1) / np.where(total > 0, total, 1.0), np.nan)

    values = {name: mean(v) for name, v in finite_values(fault).items()}
    return fault_sheet(faces.corners, values, np.asarray(faces.tags))


@dataclass(frozen=True)
class FaultPiece:
    """Part of a fault on one process: the vertices ``corners`` (n, 3, 3) [m] of its faces, and its points."""

    corners: np.ndarray
    points: LoadedFault


def merge_pieces(pieces: Sequence[FaultPiece]) -> FaultPiece:
    """Merge the parts of all processes into the whole fault."""
    if len(pieces) == 1:
        return pieces[0]
    faults = [piece.points for piece in pieces]
    arrays: dict[str, Any] = {
        f.name: np.concatenate([getattr(fault, f.name) for fault in faults])
        for f in fields(LoadedFault)
        if isinstance(getattr(faults[0], f.name), np.ndarray)
    }
    after = None
    if any(fault.nucleated_weakening is not None for fault in faults):
        after = _weakening(faults, [fault.nucleated_strength for fault in faults])
    whole = replace(
        faults[0], **arrays, weakening=_weakening(faults, [f.weakening for f in faults]), nucleated_weakening=after
    )
    return FaultPiece(np.concatenate([piece.corners for piece in pieces]), whole)


def _weakening(faults: Sequence[LoadedFault], each: Sequence[Weakening | None]) -> Weakening | None:
    """Join the weakening of all parts; None if the friction law of one does not define it."""
    known = [w for w in each if w is not None]
    if len(known) < len(each):
        return None

    def joined(values: Iterable[np.ndarray | float]) -> np.ndarray:
        return np.concatenate([np.broadcast_to(v, fault.tau.shape) for v, fault in zip(values, faults, strict=True)])

    forced = None
    if any(w.forced is not None for w in known):
        forced = joined(np.inf if w.forced is None else w.forced for w in known)
    lengths: dict[str, Any] = {
        name: joined(getattr(w, name) for w in known) for name in ("peak", "dynamic", "distance")
    }
    return replace(known[0], **lengths, forced=forced)
