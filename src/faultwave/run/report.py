"""What a run will cost and resolve."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from faultwave import backends
from faultwave.backends.device import absent
from faultwave.backends.device.backend import SPARE, told
from faultwave.backends.device.target import TARGETS, Target
from faultwave.case.model import Case
from faultwave.dg.asked import volume_cells
from faultwave.dg.basis import tet_size
from faultwave.dg.fields import volume_sampler, written_as
from faultwave.dg.plan import Plan, cfl_number
from faultwave.dg.replays import Replays
from faultwave.dg.solver import Engine
from faultwave.domain import tets
from faultwave.observe.fields import volume_fields
from faultwave.observe.refine import refine_tet
from faultwave.output.background import LIMIT
from faultwave.run.simulation import Simulation

Rows = list[tuple[str, ...]]


def plan_report(plan: Plan, case: Case, measure_seconds: float = 3.0) -> list[tuple[str, Rows]]:
    """(section, rows): size, time stepping, cost measured for a few seconds, output, resolution, worst cells."""
    engine = _engine(plan)
    return [
        ("size", _size(plan, engine)),
        ("time stepping", _stepping(plan) + _launches(engine)),
        ("cost", _cost(plan, engine, measure_seconds)),
        ("output", _output(plan)),
        ("resolution", _resolution(plan)),
        ("worst cells", _worst(plan)),
    ]


def _engine(plan: Plan) -> Engine:
    """On a device with what observers take of its memory and of its steps."""
    name = plan.case.numerics.backend
    name = backends.best() if name == "auto" else name
    return Engine(plan) if backends.on_host(name) else Simulation(plan, force=True).engine


def _launches(engine: Engine) -> Rows:
    """Of a largest step on a device, recorded as a run does it."""
    if not engine.backend.ahead or engine.plan.case.numerics.integrator != "ader":
        return []
    replays = Replays(engine)
    replays.most = 1
    replays.advance()
    recorded = next((r for r in replays.made.values() if r is not None), None)
    if recorded is None:
        return [("launches of a largest step", "one by one: the host has a part in it")]
    work = recorded.recording
    return [
        (
            "launches of a largest step",
            f"{work.launches:,} in {work.stages:,} stages, for {recorded.updates:,} updates; replayed as one",
        )
    ]


def _size(plan: Plan, engine: Engine) -> Rows:
    order, quantities = case_order(plan), len(plan.law.quantities)
    fault = 0 if plan.fault is None else len(plan.fault.faces.area)
    memory = engine.operator.nbytes() + (engine.fault.nbytes() if engine.fault else 0)
    return [
        ("cells", f"{plan.cells:,}"),
        ("order", f"{order} (polynomial degree {order - 1}), {plan.case.numerics.precision} precision"),
        ("degrees of freedom", f"{plan.cells * tet_size(order - 1) * quantities:,}"),
        ("fault faces", f"{fault:,}" + (f" with {plan.fault.positions.shape[1]} points each" if plan.fault else "")),
        ("memory of the operator", f"{memory / 2**20:,.0f} MiB, {memory / plan.cells / 1024:.1f} KiB a cell"),
        *_snapshots(plan, engine),
        *_room(engine.backend, memory),
    ]


def _snapshots(plan: Plan, engine: Engine) -> Rows:
    """What the volume's snapshots hold besides: where they are sampled, and those that wait for slower clusters."""
    setting = plan.case.output.volume
    if setting is None:
        return []
    cells = len(volume_cells(setting, plan.geometry.centroids, plan.mesh.groups))
    one = cells * len(refine_tet(setting.refinement)[1]) * len(volume_fields(setting, plan.law))
    waiting = 1 + int(plan.clustering.steps.max() / setting.interval)
    held = volume_sampler(engine, setting).nbytes() + waiting * one * np.dtype(written_as(plan.case)).itemsize
    return [
        ("memory of volume snapshots", f"{held / 2**20:,.1f} MiB, and at most {LIMIT / 2**20:,.0f} MiB to be written")
    ]


def _room(backend: Any, memory: int) -> Rows:
    """What a device's memory has to hold; the processor's is the system's business."""
    if not hasattr(backend, "held"):
        return [("graphics processors it would fill", _needed(memory))]
    share = 100 * backend.held / max(1, backend.room)
    taken, room = backend.held / 2**30, backend.room / 2**30
    return [("memory of the device", f"{taken:,.2f} of {room:,.1f} GiB taken, {share:.0f} %")]


SHARE = 0.95
"""Of a graphics processor's memory that its driver leaves, about."""

SHOWN = ("sm_80", "sm_90", "sm_100", "gfx90a", "gfx942")


def _needed(memory: int) -> str:
    """How many of the usual graphics processors so many bytes take, told without one."""
    kinds = [(TARGETS[name].device, memory / (SHARE * TARGETS[name].memory)) for name in SHOWN]
    return ", ".join(f"{100 * n:.2g} % of 1 {d}" if n < 1 else f"{math.ceil(n)} {d}" for d, n in kinds)


def absent_room(plan: Plan, target: Target) -> tuple[str, Rows]:
    """Section and rows: what the case would take of a graphics processor that need not be here, counted as a run takes it."""
    counting: Any = absent.backend(target, plan.case.numerics.precision)
    Engine(plan, counting)
    room = SHARE * target.memory
    share, most = counting.held / room, (1.0 - SPARE) * room
    fits = (
        f"{100 * share:.2g} %" if counting.held <= most else f"does not fit: {math.ceil(counting.held / most)} of them"
    )
    return f"memory of one {target.device}, {target.name}", [
        ("taken", f"{told(counting.held)} of {told(room)} that are left by its driver: {fits}"),
        (
            "a cell",
            f"{counting.held / plan.cells / 1024:,.1f} KiB; {int(most / (counting.held / plan.cells)):,} such cells fit",
        ),
        (
            "kept for results",
            f"{told(room - most)}; samples of receivers and surfaces, 16 MiB for each cluster at most, come besides",
        ),
    ]


def case_order(plan: Plan) -> int:
    return plan.case.numerics.order


def updates(plan: Plan) -> float:
    """Element updates until the end time."""
    return float((plan.clustering.histogram * np.ceil(plan.case.end_time / plan.clustering.steps)).sum())


def _stepping(plan: Plan) -> Rows:
    c = plan.clustering
    rows: Rows = [
        ("CFL number", f"{cfl_number(plan.case):g}"),
        ("smallest stable step", f"{plan.step.min():.4g} s"),
        ("wiggle factor", f"{c.wiggle:g}"),
        ("element updates", f"{updates(plan):,.0f}"),
        ("speedup of local over global stepping", f"{c.speedup:.2f}"),
    ]
    rows += [
        (f"cluster {i}: step {s:.4g} s", f"{n:,} cells")
        for i, (s, n) in enumerate(zip(c.steps, c.histogram, strict=True))
    ]
    return rows


def _cost(plan: Plan, engine: Engine, seconds: float) -> Rows:
    engine.march.advance(engine.march.time + engine.march.longest)  # warms caches and the friction state
    engine.backend.finish()
    started, cells = time.perf_counter(), engine.updates
    while time.perf_counter() - started < seconds:
        engine.march.advance(engine.march.time + engine.march.longest)
        engine.backend.finish()
    rate = (engine.updates - cells) / (time.perf_counter() - started)
    return [
        ("backend", engine.backend.described),
        ("measured", f"{rate:,.0f} element updates/s" + (", rupture included" if plan.fault else "")),
        ("estimated run time", _duration(updates(plan) / rate) + " without output"),
    ]


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _output(plan: Plan) -> Rows:
    out, end = plan.case.output, plan.case.end_time
    size = 4 if out.precision == "single" else 8
    rows: Rows = [("folder", str(out.folder))]
    for name, setting, faces, per in (
        ("volume", out.volume, plan.cells, (1, 4, 8, 32)),
        ("surface", out.surface, int((plan.topology.kinds == tets.BoundaryKind.FREE_SURFACE).sum()), (1, 4, 16, 64)),
        ("fault", out.fault, 0 if plan.fault is None else len(plan.fault.faces.area), (1, 4, 16, 64)),
    ):
        if setting is not None:
            count, steps = faces * per[setting.refinement], int(end / setting.interval + 1e-9) + 1
            fields = len(setting.fields) if setting.fields else {"volume": 3, "surface": 7, "fault": 18}[name]
            rows.append(
                (
                    name,
                    f"{steps} snapshots of {count:,} cells, {fields} fields: {steps * count * fields * size / 2**20:,.1f} MiB",
                )
            )
    if plan.receivers is not None and out.receivers is not None:
        rows.append(("receivers", f"{len(plan.receivers.cells)} with {int(end / out.receivers.interval) + 1} samples"))
    if plan.fault_receivers is not None:
        rows.append(("fault receivers", f"{len(plan.fault_receivers.cells)}"))
    return rows


def _resolution(plan: Plan) -> Rows:
    order, geo, material = case_order(plan), plan.geometry, plan.material
    edge = np.cbrt(6.0 * np.sqrt(2.0) * geo.volume)
    slow = plan.law.speed(material)
    if "mu" in material:
        shear = np.sqrt(material["mu"] / material["rho"])
        slow = np.where(shear > 0, shear, slow)
    frequency = slow * order / edge / 10.0  # edge / order = a tenth of the wavelength
    asked = highest_frequency(plan.case)
    rows: Rows = [
        ("waves cross the mesh", _crossings(plan, asked)),
        ("edge length", f"{edge.min():.4g} to {edge.max():.4g} m"),
        (
            f"frequency with 10 points per {'S ' if 'mu' in material else ''}wavelength",
            f"{frequency.min():.3g} Hz everywhere, {np.median(frequency):.3g} Hz in half of the cells",
        ),
    ]
    if asked is not None:
        rows.append((f"at {asked:.4g} Hz, the highest asked for", _in_wavelengths(plan, edge, asked)))
    if plan.fault is not None and {"mu_s", "mu_d", "d_c"} <= set(plan.fault.parameters):
        rows.append(("points in the cohesive zone", _cohesive_zone(plan)))
    return rows


def highest_frequency(case: Case) -> float | None:
    """The highest frequency [Hz] that a case's outputs, ports, currents and incident waves name; None where none does."""
    out = case.output
    found = [out.spectrum.band[1]] if out.spectrum else []
    found += [case.ports.band[1]] if case.ports else []
    found += out.far_field.frequencies if out.far_field else []
    for function in [c.time_function for c in case.currents] + [w.time_function for w in case.incident]:
        if function.kind == "burst":
            found.append(function.frequency + 0.5 / function.duration)
        elif function.kind == "ricker":
            found.append(2.5 / function.duration)
    return max(found, default=None)


IN_METRES = "IS THE GEOMETRY IN METRES? (mesh.scaling converts other units)"


def _crossings(plan: Plan, asked: float | None) -> str:
    """How often the fastest wave crosses the mesh: tells slips of units where nothing names a frequency."""
    way = float(plan.law.speed(plan.material).max()) * plan.case.end_time
    times = way / np.ptp(plan.mesh.vertices, axis=0).max()
    text = f"{times:.3g} times until {plan.case.end_time:g} s"
    return f"{text}: {IN_METRES}" if asked is None and times < 0.05 else text


def _in_wavelengths(plan: Plan, edge: np.ndarray, frequency: float) -> str:
    """Size of the mesh and of its longest edge in wavelengths, and what that tells."""
    wavelength = plan.law.speed(plan.material) / frequency
    size = np.ptp(plan.mesh.vertices, axis=0).max()
    across, longest = size / np.median(wavelength), float((edge / wavelength).max())
    text = f"the mesh is {size:.4g} m, {across:.3g} wavelengths, its longest edge {longest:.2g} of one"
    if across < 0.02 or longest > case_order(plan):
        return f"{text}: {IN_METRES}"
    return f"{text}: too coarse" if longest > case_order(plan) / 4 else text


def _cohesive_zone(plan: Plan) -> str:
    """Static cohesive zone 9 pi / 32 mu/(1 - nu) d_c / (strength drop) over edge / order (Day et al. 2005, eq. 30)."""
    fault = plan.fault
    assert fault is not None
    p, cell = fault.parameters, fault.faces.cells[:, 0]
    mu, lam = plan.material["mu"][cell], plan.material["lambda"][cell]
    drop = (p["mu_s"] - p["mu_d"]) * np.maximum(-fault.stress[..., 0], 0.0)
    weak = np.where((drop > 0) & (p["mu_s"] < 10), drop, np.nan)
    nu = lam / (2 * (lam + mu))
    with np.errstate(all="ignore"):
        zone = 9 * np.pi / 32 * (mu / (1 - nu))[:, None] * p["d_c"] / weak
        points = zone / (np.sqrt(4 * fault.faces.area / np.sqrt(3))[:, None] / case_order(plan))
    if not np.isfinite(points).any():
        return "no weakening"
    worst = np.nanmin(points)
    return f"{worst:.1f} at least, {np.nanmedian(points):.1f} in the median ({'enough' if worst >= 2 else 'too few'}: 2 to 3 are needed)"


def _worst(plan: Plan) -> Rows:
    return [
        (f"cell {b.cell}", ", ".join(f"{x:.6g}" for x in b.centroid), f"inradius {b.inradius:.4g} m", b.reason)
        for b in tets.worst_cells(plan.mesh, plan.topology, plan.geometry, 10, plan.step)
    ]
