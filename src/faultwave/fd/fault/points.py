"""Values of a case at fault points of a grid: friction parameters, initial and nucleation traction, state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.types import Setting
from faultwave.case.plausibility import warn_friction
from faultwave.fd.fault.friction import SLIPS, STRESS, Nucleation, parameter
from faultwave.fd.method.fault_plane import EVEN, FaultPlane
from faultwave.fd.method.grid import Grid
from faultwave.kernels.stencil import Axis
from faultwave.media import Field, load_field
from faultwave.media.field import check_used
from faultwave.physics.friction import frame
from faultwave.physics.friction.initial_stress import (
    STRESS_ALLOWED,
    initial_names,
    initial_traction,
    prefix_of,
    stress_names,
    wrong_stress,
)
from faultwave.physics.friction.law import FrictionLaw, report
from faultwave.physics.friction.modifiers import composed

TAG = 3
"""Tag of fault points, for models that distinguish parts of a mesh."""


@dataclass(frozen=True)
class Directions:
    """Unit vectors (3,) of a fault plane.

    Attributes
    ----------
    normal : ndarray
        Normal from the plus to the minus side.
    along, up, strike, dip : ndarray
        Horizontal axis of the plane, upwards, strike and dip.
    sign : float
        1 if the normal points along its axis, else -1.
    """

    normal: np.ndarray
    along: np.ndarray
    up: np.ndarray
    strike: np.ndarray
    dip: np.ndarray
    sign: float


def directions_of(setting: Setting, plane: FaultPlane, corner: np.ndarray) -> Directions:
    """Return the directions of the fault whose sides ``setting`` defines; ``corner`` (3,) [m] lies in its plane."""
    across = np.eye(3)["xyz".index(plane.axis)]
    lower_is_plus = frame.plus_side(
        setting.reference_method, setting.reference, across[None], corner[None], (corner - across)[None]
    )
    sign = 1.0 if lower_is_plus[0] else -1.0
    strike, dip = frame.strike_dip((sign * across)[None])
    along = np.eye(3)["xyz".index(plane.along)]
    return Directions(sign * across, along, np.array([0.0, 0.0, 1.0]), strike[0], dip[0], sign)


def constants_of(setting: Setting, law: FrictionLaw) -> dict[str, float]:
    """Return the constants of the law; raise InputError if they are invalid."""
    own = {"forced_rupture_ramp": setting.forced_rupture_ramp, "healing_threshold": setting.healing_threshold}
    declared = {c.name for c in law.constants}
    return law.settings({k: v for k, v in own.items() if k in declared} | setting.constants)


@dataclass(frozen=True)
class Given:
    """Values at the points of one component of slip.

    Attributes
    ----------
    places : ndarray, shape (nz, ny, nx, 3)
        Coordinates [m].
    values : mapping of ndarray
        Values of ``Sliding.given`` by name.
    state : mapping of ndarray
        Initial state by name.
    """

    places: np.ndarray
    values: Mapping[str, np.ndarray]
    state: Mapping[str, np.ndarray]

    @property
    def slips(self) -> np.ndarray:
        """True at points that may slip."""
        return np.asarray(self.values[SLIPS] > 0)


class Reader:
    """Reader of the values that a case gives on a fault plane.

    Parameters
    ----------
    setting : Setting
        Setting ``fault`` of the case.
    law : FrictionLaw
    constants : mapping of str to float
        Constants of the law.
    to : Directions
        Directions of the plane.
    problems : Problems
        Receives errors and warnings, each once.
    """

    def __init__(
        self, setting: Setting, law: FrictionLaw, constants: Mapping[str, float], to: Directions, problems: Problems
    ):
        self.setting, self.law, self.constants, self.to, self.problems = setting, law, constants, to, problems
        self.field = load_field(setting.parameters, "fault.parameters")
        known = {name for q in law.parameters for name in (q.name, *q.aliases)}
        if law.needs_stress:
            known |= initial_names("")
        check_used(self.field, known, f"friction {law.name}", problems)

    @property
    def episodes(self) -> list[Nucleation]:
        """Episodes of nucleation."""
        return [Nucleation(e.start, e.duration) for e in self.setting.nucleation]

    def read(self, grid: Grid, plane: FaultPlane, axis: Axis, extent: tuple[np.ndarray, np.ndarray]) -> Given:
        """Return the values at the points of the velocity along an axis.

        Points inside ``extent``, two corners (3,) [m], may slip.

        Raises
        ------
        InputError
            If the friction parameters or the initial stress are invalid.
        """
        places = grid.places(plane.sliding[axis], plane.box)
        points = np.clip(places.reshape(-1, 3), *extent)
        tags, law, c = np.full(len(points), TAG), self.law, dict(self.constants)
        wanted = [n for q in law.parameters for n in (q.name, *q.aliases) if n in self.field.parameters]
        given = self.field.evaluate(points, tags, wanted)
        found = Problems()
        found.extend(law.check_given(given, points).items)
        warn_friction(given, c, float((extent[1] - extent[0]).max()), found)
        values = law.given(given, len(points))
        stress = (
            self._traction(self.field, 0, "fault.parameters", points)
            if law.needs_stress
            else np.zeros((len(points), 3))
        )
        to = [np.broadcast_to(v, points.shape) for v in (self.to.along, self.to.up, self.to.strike, self.to.dip)]
        prepared = law.prepare(values, c, frame.directions(*to))
        shear = np.hypot(stress[:, 1], stress[:, 2])
        found.extend(law.check(values, c, shear, stress[:, 0], points).items)
        reported = {str(p) for p in self.problems.items}
        self.problems.extend(p for p in found.items if str(p) not in reported)
        found.raise_errors()
        state = law.initial(prepared, c, shear, stress[:, 0])
        if "slip_rate" in state:  # components along the initial traction
            scale = state["slip_rate"] / np.where(shear > 0, shear, 1.0)
            state = state | {"slip_rate1": scale * stress[:, 1], "slip_rate2": scale * stress[:, 2]}
        made = {parameter(n): np.asarray(prepared[n], float) for n in law.kernel_parameters}
        made |= dict(zip(STRESS, stress.T, strict=True)) | {SLIPS: self._slips(grid, places.reshape(-1, 3), extent)}
        made |= self._nucleation(points)
        shape = places.shape[:3]
        return Given(
            places,
            {n: v.reshape(shape) for n, v in made.items()},
            {n: np.asarray(v).reshape(shape) for n, v in state.items()},
        )

    def _slips(self, grid: Grid, places: np.ndarray, extent: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        """Return 1 inside the rectangle and where it reaches the ground, 0 on its edges and beyond."""
        near = EVEN * grid.spacing
        inside = (places[:, 2] > extent[0][2] + near) & (places[:, 2] < extent[1][2] - near)
        inside |= (extent[1][2] > grid.upper[2] - near) & (places[:, 2] > extent[0][2] + near)
        for k in range(2):
            if extent[1][k] > extent[0][k]:
                inside &= (places[:, k] > extent[0][k] + near) & (places[:, k] < extent[1][k] - near)
        return inside.astype(float)

    def _traction(self, field: Field, episode: int, where: str, points: np.ndarray) -> np.ndarray:
        """Return the traction (n, 3) [Pa] along the normal, the horizontal axis and z."""
        prefix = prefix_of(episode)
        names = stress_names(field.parameters, prefix, self.setting.pore_pressure, where)
        values = field.evaluate(points, np.full(len(points), TAG), names)
        to = self.to
        vectors = [np.broadcast_to(v, points.shape) for v in (to.normal, to.along, to.up, to.strike, to.dip)]
        normal, along, up, strike, dip = vectors
        return initial_traction(values, normal, along, up, strike, dip, prefix)

    def _nucleation(self, points: np.ndarray) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for i, e in enumerate(self.setting.nucleation):
            where = f"fault.nucleation[{i}].stress"
            field = load_field(e.stress, where)
            check_used(field, initial_names(prefix_of(e.number)), "an episode of nucleation", Problems())
            traction = self._traction(field, e.number, where, points)
            size = np.abs(traction).max(1)
            bad = wrong_stress(traction)
            report(self.problems, bad, points, f"nucleation stress of episode {i + 1} is", size, STRESS_ALLOWED)
            found |= {f"nucleation{i}_{c}": traction[:, n] for n, c in enumerate(("n", "1", "2"))}
        return found


def law_of(setting: Setting, problems: Problems) -> FrictionLaw | None:
    """Return the friction law, or None with problems reported if a grid does not support it."""
    law: FrictionLaw | None = None
    with collect_problems(problems):
        law = composed(setting.friction, setting.modifiers)
    if law is None:
        return None
    vectors = [s.name for s in law.state if s.size is not None and s.size != 1]
    if vectors or law.inner_columns.size:
        what = f"friction {law.name} remembers profiles at each point, for which a grid has no room yet"
        problems.error("fault.modifiers", what, "friction without thermal-pressurisation", "Use engine: dg.")
        return None
    return law


__all__ = ["TAG", "Directions", "Given", "Reader", "constants_of", "directions_of", "law_of"]
