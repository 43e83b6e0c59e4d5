"""Outputs of ruptures obey their own identities: every friction law, way of sliding and weakening, normal traction and order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultwave.observe.dataset import receivers_from_arrays
from faultwave.observe.identities import check_identities, violations
from faultwave.output.formats.scec import read_table
from faultwave.output.formats.seissol_dat import find_files, read_dat, write_fault_receivers
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import convert

from . import fluids, test_rate_and_state
from .setup import Histories, patch, run, settings, slip_weakening, small_mesh
from .test_energy import closed
from .test_laws import imposed

POINTS = np.array([[0.0, 0.0, -2210.0], [310.0, 0.0, -1300.0], [-1490.0, 0.0, -3740.0], [1510.0, 0.0, -600.0]])
"""In the patch, near its edges and beside it."""

SHORT = {"d_c": 0.05}
"""Faces of small slip weaken wholly in a short run."""


def power_law() -> dict[str, Any]:
    fault = slip_weakening(values=SHORT)
    return fault | {"friction": "power-law-slip-weakening"}


LAWS: dict[str, Any] = {
    "linear-slip-weakening": lambda: slip_weakening(values=SHORT),
    "power-law-slip-weakening": power_law,
    **{law: (lambda law=law: test_rate_and_state.fault(law)) for law in test_rate_and_state.LAWS},
    "imposed-yoffe": lambda: imposed("yoffe", tau_S=0.06, tau_R=0.25) | {"slip_rate_output": "friction"},
    "imposed-gaussian": lambda: imposed("gaussian", rupture_rise_time=0.3) | {"slip_rate_output": "friction"},
    "thermal-pressurisation": fluids.heated,
    "prakash-clifton": fluids.delayed,
}
FAST = ("linear-slip-weakening", "rate-and-state-ageing")


def compute(
    path: Path, fault: dict[str, Any], order: int, end: float, output: dict[str, Any] | None = None
) -> Histories:
    asked = {"rupture": {"interval": 0.02}, "energies": {"interval": 0.02}, **(output or {})}
    case = settings(
        path, fault, points=POINTS, position="nearest", end_time=end, numerics={"order": order}, output=asked
    )
    return run(case, write="fault" in asked)


def check(found: Histories, leave: tuple[str, ...] = ()) -> None:
    """No identity is violated, and those of slip are looked at."""
    findings = check_identities([result.data for result in found.sim.results()])
    if found.sim.plan.part("rupture").law.project:  # the path that weakens is that of the projected slip rate
        leave = (*leave, "path")
    assert {"slip", "peak slip rate", "rupture time", "moment", "energy"} <= {f.identity for f in findings}
    assert not violations(f for f in findings if f.identity not in leave)


@pytest.mark.parametrize("law", [
    law if law in FAST else pytest.param(law, marks=pytest.mark.slow) for law in LAWS
])  # fmt: skip
def test_every_law(tmp_path: Path, law: str) -> None:
    # delayed strength is not friction times compression
    end = 0.8 if law.startswith("imposed") else 0.3
    check(compute(tmp_path, LAWS[law](), 3, end), ("strength",) if law == "prakash-clifton" else ())


@pytest.mark.parametrize("order, sliding, normal, weakening", [
    (2, "smooth", "linear", "full"),
    *[pytest.param(o, s, n, w, marks=pytest.mark.slow)
      for o in (2, 3, 4, 5, 6, 7, 8) for s in ("smooth", "full") for n in ("linear", "full") for w in ("full", "quadratic")],
])  # fmt: skip
def test_every_setting(tmp_path: Path, order: int, sliding: str, normal: str, weakening: str) -> None:
    fault = slip_weakening(values=SHORT, sliding=sliding, normal_traction=normal, weakening=weakening)
    found = compute(tmp_path, fault, order, 0.4 if order < 5 else 0.15)
    check(found)
    if sliding == "smooth" and order < 5:  # the faces of the receivers have weakened
        record = found.sim.solver.parts["rupture"].fault.record()
        assert (record["accumulated_slip"].mean(1) > 1.1 * SHORT["d_c"]).any()


def test_a_point_of_weakened_faces_that_stood_slips_as_it_says(tmp_path: Path) -> None:
    """Beside a patch that faces do not follow, where reported rates once were zero while points slipped by metres."""
    fault = slip_weakening(values={"d_c": 0.1}, expression={"T_s": patch(82e6, 72e6, half=1200.0)})
    check(compute(tmp_path, fault, 2, 1.0))


def test_snapshots_obey_them_too(tmp_path: Path) -> None:
    """The sum of the slip rate over snapshots of all steps is the slip; traction is strength; the peak is the largest."""
    names = ["SRs", "SRd", "Sls", "Sld", "PSR", "RT", "Ts0", "Td0", "Pn0", "Mud", "ASl"]
    fields = {"interval": 0.005, "fields": names}
    compute(tmp_path, slip_weakening(values=SHORT), 2, 0.3, {"fault": fields, "sync": True})
    with VtkHdfReader(next((tmp_path / "out").glob("*-fault.vtkhdf"))) as file:
        time = file.times
        shots = [{n: file.field(n, i) for n in names} for i in range(len(time))]
    values = np.stack([[shot[n] for n in names] for shot in shots]).transpose(0, 2, 1)
    moved = values[-1, :, names.index("ASl")] > 0.05
    assert moved.sum() > 5 and len(time) > 50
    made = receivers_from_arrays(time, values[:, moved], names, np.zeros((moved.sum(), 3)))
    findings = check_identities([made], {"peak slip rate": 0.05})
    assert {"slip", "strength", "rupture time"} <= {f.identity for f in findings}
    assert not violations(f for f in findings if f.identity != "path")


def test_the_surface_moves_by_the_integral_of_its_velocity(tmp_path: Path) -> None:
    names = ["v1", "v2", "v3", "u1", "u2", "u3"]
    output = {"fault": {"interval": 0.6}, "surface": {"interval": 0.01, "fields": names}, "sync": True}
    compute(tmp_path, slip_weakening(values=SHORT), 3, 0.6, output)
    with VtkHdfReader(next((tmp_path / "out").glob("*-surface.vtkhdf"))) as file:
        time = np.asarray(file.times)
        shots = [[file.field(n, i) for n in names] for i in range(len(time))]
    values = np.stack(shots).transpose(0, 2, 1)
    speed = np.abs(values[..., :3]).max((0, 2))
    moved = speed > 0.1 * speed.max()
    findings = check_identities([receivers_from_arrays(time, values[:, moved], names, np.zeros((moved.sum(), 3)))])
    assert len(findings) > 20 and {f.identity for f in findings} == {"displacement"} and not violations(findings)


def test_all_work_of_a_rupture_in_a_closed_body_goes_into_waves(tmp_path: Path) -> None:
    """The scheme loses some of it, and less at a higher order; it never adds any."""
    errors = []
    for order in (2, 4):
        case = settings(
            tmp_path,
            slip_weakening(),
            closed(small_mesh(), 1),
            end_time=0.5,
            numerics={"order": order},
            output={"energies": {"interval": 0.1}},
        )
        data = run(case).sim.result("energies")
        errors.append(
            [next(f.error for f in check_identities([data], closed=c) if f.identity == "energy") for c in (False, True)]
        )
    (grown, lost), (grown_later, lost_later) = errors
    assert grown < 1e-6 and grown_later < 1e-6 and lost_later < min(0.05, lost / 1.4)


def test_exported_files_obey_them_too(tmp_path: Path) -> None:
    """Slip rates in the files for SCEC and in those of SeisSol's layout sum to the slip, and both files say the same."""
    found = compute(tmp_path, slip_weakening(values=SHORT), 2, 0.4, {"fault": {"interval": 0.4}})
    shown = [read_table(p) for p in convert(tmp_path / "out", "scec", tmp_path / "scec") if p.name.startswith("fault")]
    (tmp_path / "dat").mkdir()
    write_fault_receivers(tmp_path / "dat", "run", found.sim.fault_receivers)
    plain = [read_dat(path).columns for path in find_files(tmp_path / "dat", "faultreceiver").values()]
    assert len(shown) == len(plain) == len(POINTS)
    slipped = 0
    for tables, names in ((shown, ("t", "h-slip", "h-slip-rate")), (plain, ("Time", "Sls", "SRs"))):
        for table in tables:
            time, slip, rate = (table[n] for n in names)
            total = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(time) * (rate[1:] + rate[:-1]))])
            slipped += np.abs(slip).max() > 0.05
            np.testing.assert_allclose(total, slip - slip[0], atol=0.03 * np.abs(slip).max() + 1e-12)
    assert slipped >= 4
    largest = [sorted(np.abs(t[n]).max() for t in ts) for ts, n in ((shown, "h-slip"), (plain, "Sls"))]
    np.testing.assert_allclose(*largest, rtol=1e-5)
