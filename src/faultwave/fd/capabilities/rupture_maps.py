"""Rupture maps on a fault in a grid; what does not depend on the grid is in ``engine/rupture_maps.py``.

Maps have two triangles for each four neighbouring points of horizontal slip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.types import Setting
from faultwave.case.settings.outputs import RuptureOutput
from faultwave.comm import World
from faultwave.engine.rupture_maps import RuptureMapPlan, RuptureMapRecorder, requested_maps
from faultwave.fd.capabilities.rupture import AttachedRupture
from faultwave.fd.capability import GridCapabilityPlan, Running, ScheduledTable, steps_at
from faultwave.fd.contexts import PlacementContext, Planning
from faultwave.fd.fault import FAULT_TAG
from faultwave.fd.operators.resources import Memory
from faultwave.kernels.stencil import Axis
from faultwave.observe.finite_source import SlipHistories
from faultwave.observe.rupture import INNER

AT_POINTS = (
    "slip1", "slip2", "accumulated_slip", "slip_rate", "peak_slip_rate", "ruptured", "weakened", "traction1", "traction2", "breakdown",
    "dissipated",
)  # fmt: skip
"""Fields at the points of horizontal slip from which the maps are computed."""


def plan(planning: Planning) -> RuptureMaps | None:
    """Return the rupture maps, None if the case does not request them."""
    setting = requested_maps(planning.case, planning.problems)
    return None if setting is None else RuptureMaps(setting, planning.case.end_time)


@dataclass(frozen=True)
class RuptureMaps(RuptureMapPlan, GridCapabilityPlan):
    """Rupture maps of a case; their elements are the points of horizontal slip, counted once there is a grid."""

    setting: RuptureOutput
    end_time: float
    elements: int = 0

    def locate(self, placing: PlacementContext) -> Self:
        fault: Setting = placing.case.grid.fault  # type: ignore[union-attr]
        if fault is None:
            return self
        extent = np.array(fault.upper, float) - np.array(fault.lower, float)
        counts = np.ceil(extent / placing.grid.spacing - 1e-6) + 1
        return replace(self, elements=int(counts[extent > 0].prod()))

    def memory(self, steps: int, world: World) -> Memory | None:
        if not self.slip_bytes:
            return None
        what = f"the stored slip of {self.elements:,} points"
        return Memory(
            2.0 * self.slip_bytes, "output.rupture.slip_interval", what, "Raise output.rupture.slip_interval."
        )

    def attach(self, solver: Running) -> AttachedMaps:
        return AttachedMaps(self, solver)


class AttachedMaps(RuptureMapRecorder, ScheduledTable):
    """Rupture maps of a run."""

    def __init__(self, part: RuptureMaps, solver: Running):
        super().__init__(part.setting)
        self.solver, self.due = solver, steps_at(part.setting.interval, solver.plan)

    @property
    def _rupture(self) -> AttachedRupture:
        found = self.solver.parts["rupture"]
        assert isinstance(found, AttachedRupture)
        return found

    def now(self) -> float:
        return self.solver.operator.time

    def totals(self) -> Mapping[str, float]:
        return self._rupture.totals()

    def slip_rows(self) -> None:
        return None

    def local_slip(self) -> np.ndarray:
        """Return the slip of the points of horizontal slip, all on the first process."""
        rupture = self._rupture
        values, to = rupture.whole(("slip1", "slip2"), rupture.plane.along), rupture.part.directions
        if values is None or to is None:
            return np.zeros((0, 2))
        chosen = rupture.whole_area() > 0
        one, two = values["slip1"][chosen], values["slip2"][chosen]
        return np.stack([one * float(d @ to.along) + two * float(d @ to.up) for d in (to.strike, to.dip)], 1)

    def slip_elements(self, slip: np.ndarray) -> SlipHistories | None:
        rupture = self._rupture
        to, axis = rupture.part.directions, rupture.plane.along
        if not rupture.world.first or to is None:
            return None
        area = rupture.whole_area()
        chosen = area > 0
        area, places = area[chosen], rupture.part.given[axis].places[chosen]
        half = 0.5 * rupture.operator.scheme.grid.spacing
        sides = half * np.array([-to.along - to.up, to.along - to.up, to.along + to.up, to.up - to.along])
        corners = places[:, None] + sides
        top = max(float(rupture.part.extent[1][2]), float(places[:, 2].max()))
        corners[..., 2] = np.minimum(corners[..., 2], top)  # points of the free surface have half a cell
        normal, strike, dip = (np.tile(d, (len(area), 1)) for d in (to.normal, to.strike, to.dip))
        rigidity, speed = (v[axis][chosen] for v in (rupture.part.rigidity, rupture.part.shear_speed))
        tags = np.full(len(area), float(FAULT_TAG))
        return SlipHistories(np.array(self.slip_times), corners, normal, strike, dip, area, tags, rigidity, speed, slip)

    def finished_faces(self) -> tuple[Mapping[str, np.ndarray], bool] | None:
        rupture = self._rupture
        values = rupture.whole(AT_POINTS, rupture.plane.along)
        return None if values is None else (face_values(rupture, values), rupture.part.law.needs_stress)


def face_values(rupture: AttachedRupture, values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the values of each triangle of the fault.

    They are means over its corners, except places and times. ``values`` holds the fields ``AT_POINTS`` of the whole
    fault.
    """
    axis: Axis = rupture.plane.along
    given, part = rupture.part.given[axis], rupture.part
    triangles = _triangles(given.slips.squeeze())
    places = given.places.squeeze().reshape(-1, 3)
    corners = places[triangles]

    def at_corners(name: str) -> np.ndarray:
        return np.asarray(values[name].reshape(-1)[triangles])

    def mean(corners: np.ndarray) -> np.ndarray:
        return np.asarray(corners.mean(1))

    to = part.directions
    assert to is not None
    one, two = at_corners("slip1"), at_corners("slip2")
    slip = [one * float(d @ to.along) + two * float(d @ to.up) for d in (to.strike, to.dip)]
    ruptured = at_corners("ruptured")
    broken = ruptured > 0  # steps end later than 0
    times = np.where(broken, ruptured, np.nan)
    inner = np.column_stack([1.0 - INNER.sum(1), INNER])
    weakened = at_corners("weakened")
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    drop = -(at_corners("traction1") * one + at_corners("traction2") * two)
    spacing = rupture.operator.scheme.grid.spacing
    return {
        "corners": corners, "tag": np.full(len(triangles), float(FAULT_TAG)), "area": area,
        "spacing": np.full(len(triangles), spacing), "share": mean(broken.astype(float)),
        "weakened": mean(np.where(weakened > 0, weakened, np.nan)), "rupture_time": times @ inner.T,
        "slip_strike": mean(slip[0]), "slip_dip": mean(slip[1]), "slip": mean(np.hypot(one, two)),
        "path": mean(at_corners("accumulated_slip")), "peak_slip_rate": at_corners("peak_slip_rate").max(1),
        "slip_rate": mean(at_corners("slip_rate")), "drop_times_slip": mean(drop), "breakdown": mean(at_corners("breakdown")),
        "dissipated": mean(at_corners("dissipated")), "rigidity": mean(part.rigidity[axis].reshape(-1)[triangles]),
        "shear_speed": part.shear_speed[axis].reshape(-1)[triangles].min(1),
    }  # fmt: skip


def _triangles(slips: np.ndarray) -> np.ndarray:
    """Return the triangles (n, 3) of points (nz, nx) that may slip, as indices."""
    number = np.arange(slips.size).reshape(slips.shape)
    a, b, c, d = number[:-1, :-1], number[:-1, 1:], number[1:, 1:], number[1:, :-1]
    whole = slips[:-1, :-1] & slips[:-1, 1:] & slips[1:, 1:] & slips[1:, :-1]
    both = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], -2)
    return np.asarray(both[whole].reshape(-1, 3))
