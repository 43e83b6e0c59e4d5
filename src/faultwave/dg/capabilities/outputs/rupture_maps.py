"""Rupture maps on faces of a mesh; what does not depend on the mesh is in ``engine/rupture_maps.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from faultwave.case.settings.outputs import RuptureOutput
from faultwave.comm.messages import gather_rows
from faultwave.dg.fault.faces import Fault
from faultwave.dg.fault.points import PointRule
from faultwave.dg.fault.record import RUPTURE_RATE
from faultwave.dg.mesh.placement import Planning
from faultwave.dg.method.basis import inner
from faultwave.dg.sampling import ScheduledTable
from faultwave.dg.solver import Solver
from faultwave.engine.rupture_maps import RuptureMapPlan, RuptureMapRecorder, requested_maps
from faultwave.observe.finite_source import SlipHistories
from faultwave.observe.rupture import INNER

AFTER = ("rupture",)


@dataclass(frozen=True)
class RuptureMaps(RuptureMapPlan):
    """Plan of rupture maps, whose elements are the faces of the fault."""

    setting: RuptureOutput
    end_time: float
    elements: int

    def attach(self, solver: Solver) -> AttachedMaps:
        return AttachedMaps(self, solver)


def plan(planning: Planning) -> RuptureMaps | None:
    """Return the plan of rupture maps, None if the case has none."""
    setting, rupture = requested_maps(planning.case, planning.problems), planning.parts.get("rupture")
    if setting is None:
        return None
    faces = 0 if rupture is None else len(rupture.faces.area)  # type: ignore[attr-defined]
    return RuptureMaps(setting, planning.case.end_time, int(planning.whole.total(np.array([faces]))[0]))


class AttachedMaps(RuptureMapRecorder, ScheduledTable):
    """Rupture maps of a run."""

    def __init__(self, part: RuptureMaps, solver: Solver):
        super().__init__(part.setting)
        self.part, self.solver = part, solver
        rupture = solver.parts.get("rupture")
        self.rupture = rupture.part if rupture is not None else None
        self.fault: Fault | None = rupture.fault if rupture is not None else None
        self.schedule()

    def now(self) -> float:
        return self.solver.time

    def totals(self) -> Mapping[str, float]:
        return self.solver.sum_over_processes(self.fault.energies(False, False) if self.fault is not None else {})

    def record(self) -> None:
        super().record()
        self.due = self.now() + self.part.setting.interval

    def slip_rows(self) -> np.ndarray:
        return np.zeros(0, np.int64) if self.fault is None else self.fault.faces.number[: self.fault.faces.owned]

    def local_slip(self) -> np.ndarray:
        if self.fault is None:
            return np.zeros((0, 2))
        owned = np.arange(self.fault.faces.owned)
        weights = 2.0 * self.fault.rule.weights
        slip = slip_along(self.fault, self.fault.record(owned), owned)
        return np.stack([inner(s, weights[None]) for s in slip], 1)

    def slip_elements(self, slip: np.ndarray) -> SlipHistories | None:
        rows, times = self.slip_rows(), np.array(self.slip_times)
        shapes = (3, 3), (3,), (3,), (3,), (), (), (), (), (len(times), 2)
        values = [np.zeros((0, *shape)) for shape in shapes]
        if self.fault is not None and self.rupture is not None and len(rows):
            f, owned, fault = self.fault.faces, slice(len(rows)), self.fault
            speed = np.sqrt(self.rupture.material["mu"] / fault.operator.law.density(self.rupture.material)).min(1)
            places = f.corners, f.normal, f.strike, f.dip, f.area, f.tags.astype(float), fault.rigidity(), speed
            values = [*(np.asarray(v[owned], float) for v in places), slip]
        gathered = gather_rows(self.solver.plan.world, rows, values, self.part.elements)
        return None if gathered is None else SlipHistories(times, *gathered)

    def finished_faces(self) -> tuple[Mapping[str, np.ndarray], bool] | None:
        rupture = self.rupture
        owned = np.zeros(0, np.int64) if self.fault is None else np.arange(self.fault.faces.owned)
        items = owned if rupture is None else rupture.faces.number[owned]
        values = {key: np.zeros((0, *shape)) for key, shape in SHAPES.items()}
        if self.fault is not None and rupture is not None:
            found = face_values(self.fault, rupture, owned)
            values = {key: found[key] for key in SHAPES}
        gathered = gather_rows(self.solver.plan.world, items, list(values.values()), self.part.elements)
        if gathered is None:
            return None
        has_stress = rupture.law.needs_stress if rupture is not None else True
        return dict(zip(values, gathered, strict=True)), has_stress


SHAPES: dict[str, tuple[int, ...]] = {
    "corners": (3, 3), "tag": (), "area": (), "spacing": (), "share": (), "weakened": (), "rupture_time": (3,),
    "slip_strike": (), "slip_dip": (), "slip": (), "path": (), "peak_slip_rate": (), "slip_rate": (), "drop_times_slip": (),
    "breakdown": (), "dissipated": (), "rigidity": (), "shear_speed": (),
}  # fmt: skip
"""Values of each face: face means, except positions and times."""


def slip_along(fault: Fault, record: Mapping[str, np.ndarray], items: np.ndarray) -> list[np.ndarray]:
    """Return the slip (n, p) [m] along strike and dip at the friction points of the faces ``items`` (n,)."""
    f = fault.faces
    along = [np.stack([(d * t)[items].sum(1) for t in (f.tangent1, f.tangent2)], 1) for d in (f.strike, f.dip)]
    return [d[:, :1] * record["slip1"] + d[:, 1:] * record["slip2"] for d in along]


def face_values(fault: Fault, rupture: Any, items: np.ndarray) -> dict[str, np.ndarray]:
    """Return the values ``SHAPES`` of the faces ``items`` (n,)."""
    f, record, weights = fault.faces, fault.record(items), 2.0 * fault.rule.weights

    def mean(values: np.ndarray) -> np.ndarray:
        return inner(values, weights[None])  # independent of the number of local faces

    one, two = record["slip1"], record["slip2"]
    slip = slip_along(fault, record, items)
    drop = -(record["traction1"] * one + record["traction2"] * two)  # stress drop along the slip, times slip
    ruptured = (record["ruptured"] > 0) | (record["peak_slip_rate"] > RUPTURE_RATE)
    times = np.where(ruptured, record["ruptured"], np.nan)
    to_inner = np.stack([_at_inner(fault.rule, g) for g in range(len(fault.rule.points))])
    weak = np.where(record["weakened"] > 0, record["weakened"], np.nan)
    shear_speed = np.sqrt(rupture.material["mu"] / fault.operator.law.density(rupture.material))
    return {
        "corners": f.corners[items], "tag": f.tags[items].astype(float), "area": f.area[items],
        "spacing": np.sqrt(4.0 * f.area[items] / np.sqrt(3.0)) / rupture.order,
        "share": mean(ruptured.astype(float)), "weakened": mean(weak),
        "rupture_time": np.maximum(inner(to_inner[f.group[items]], times[:, None]), 0.0),
        "slip_strike": mean(slip[0]), "slip_dip": mean(slip[1]), "slip": mean(np.hypot(one, two)),
        "path": mean(record["accumulated_slip"]), "peak_slip_rate": record["peak_slip_rate"].max(1), "slip_rate": mean(record["slip_rate"]),
        "drop_times_slip": mean(drop), "breakdown": mean(record["breakdown"]), "dissipated": mean(record["dissipated"]),
        "rigidity": fault.rigidity()[items], "shear_speed": shear_speed[items].min(1),
    }  # fmt: skip


def _at_inner(rule: PointRule, group: int) -> np.ndarray:
    """Return the matrix (3, p) from values at friction points to their linear least-squares fit at INNER."""
    points, weights = rule.points[group], rule.weights
    linear = np.column_stack([np.ones(len(points)), points])
    fit = np.linalg.solve(linear.T @ (weights[:, None] * linear), linear.T * weights)
    return np.asarray(np.column_stack([np.ones(3), INNER]) @ fit)
