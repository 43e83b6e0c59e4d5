"""What a case asks of its outputs, checked against its law, mesh and fault before anything is prepared or written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.base.errors import InputError, Problems
from faultwave.case.model import Case
from faultwave.dg.fault_probe import QUANTITIES as FAULT_FIELDS
from faultwave.domain import tets
from faultwave.engine.backend import check_backend
from faultwave.observe.fields import known_fields, surface_fields, volume_fields
from faultwave.physics.waves import Law


def fault_fields(setting: Any) -> list[str]:
    """Quantities of the fault's snapshots; what needs thermal pressurisation only when asked for."""
    default = [n for n in FAULT_FIELDS if n not in ("P_f", "Tmp")]
    return known_fields(setting.fields, FAULT_FIELDS, default, "output.fault.fields")


def fault_receiver_fields(setting: Any) -> list[str]:
    """Quantities of the histories on the fault; tractions as totals unless the case says otherwise."""
    default = [n for n in FAULT_FIELDS if n not in ("T_s", "T_d", "P_n")]
    return known_fields(setting.fields, FAULT_FIELDS, default, "output.fault_receivers.fields")


def volume_cells(setting: Any, centroids: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Numbers of the cells in the setting's region and groups."""
    chosen = np.ones(len(centroids), bool)
    if setting.region is not None:
        low, high = np.array(setting.region[0::2]), np.array(setting.region[1::2])
        chosen &= ((centroids >= low) & (centroids <= high)).all(1)
    if setting.groups is not None:
        chosen &= np.isin(groups, setting.groups)
    return np.flatnonzero(chosen)


def check_asked(
    case: Case, law: Law, mesh: tets.Mesh, topology: tets.Topology, shape: tets.Geometry, problems: Problems,
    anywhere: Callable[[bool], bool] = bool,
) -> None:  # fmt: skip
    """Add every output that this case cannot give to ``problems``, and a backend that does not exist. ``anywhere``: whether
    something is so in any process's piece."""
    out = case.output
    check_backend(case.numerics, backends.names(), problems)
    checks = [
        (out.volume, lambda: volume_fields(out.volume, law)),
        (out.surface, lambda: surface_fields(out.surface)),
        (out.fault, lambda: fault_fields(out.fault)),
        (out.fault_receivers, lambda: fault_receiver_fields(out.fault_receivers)),
    ]
    for setting, check in checks:
        if setting is not None:
            try:
                check()
            except InputError as error:
                problems.extend(error.problems)
    for field in ("surface", "volume", "fault"):
        setting = getattr(out, field)
        if setting is not None and setting.formats != ["vtkhdf"]:
            problems.error(
                f"output.{field}.formats", "only grids have others", "vtkhdf with engine: dg (and output.xdmf)"
            )
        if setting is not None and setting.every != 1:
            problems.error(f"output.{field}.every", "thins out grids only", "1 with engine: dg")
    if out.volume is not None and not anywhere(len(volume_cells(out.volume, shape.centroids, mesh.groups)) > 0):
        problems.error("output.volume", "the region and groups hold no cell")
    surface = (topology.kinds == tets.BoundaryKind.FREE_SURFACE).any()
    if out.surface is not None and "v1" not in law.quantities:
        problems.error(
            "output.surface", f"the {law.name} law has no particle velocity", advice="Ask for output.volume."
        )
    elif out.surface is not None and not anywhere(bool(surface)):
        problems.error("output.surface", "the mesh has no free surface", advice="Free surfaces carry tag 1.")
    if out.spectrum is not None and out.receivers is None:
        problems.error("output.spectrum", "looks at what receivers record, and there are none", "output.receivers")
    elif out.spectrum is not None and out.receivers is not None and out.spectrum.band[1] > 0.5 / out.receivers.interval:
        nyquist = 0.5 / out.receivers.interval
        problems.error(
            "output.spectrum.band",
            f"{out.spectrum.band[1]:g} Hz",
            f"up to {nyquist:g} Hz at this interval of receivers",
        )
    if out.fault is not None and case.fault is None:
        problems.error("output.fault", "the case has no fault with friction")
