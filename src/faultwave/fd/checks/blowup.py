"""Diagnosis of an unstable run on a grid: place of the largest motion, material there, likely causes."""

from __future__ import annotations

import numpy as np

from faultwave.fd.capability import FdPlan
from faultwave.fd.checks.instability_monitor import InstabilityMonitor, Peak
from faultwave.fd.method.program import AXES

NEAR = 3
"""Number of points next to an absorbing layer that count as part of it in the diagnosis."""
CONTRAST, AROUND = 2.0, 4
"""Strong ratio of P speeds, and the number of points around a place within which it counts."""
STEP = 0.8
"""Fraction of the largest stable step above which the step is among the likely causes."""


def explain(watch: InstabilityMonitor, wrong: str) -> str:
    """Return the error message of a run that stopped because of ``wrong``.

    All processes call this function together. Only the first returns the complete message.
    """
    plan, op = watch.plan, watch.operator
    found = plan.world.gather((watch.peak, _rock(watch) if watch.peak else {}))
    lines = [f"the run blew up before t = {op.time:g} s (step {op.steps} of {plan.steps}): {wrong}"]
    peak, rock = max(found or [(None, {})], key=lambda each: each[0].speed if each[0] else -1.0)
    if peak is not None:
        place = ", ".join(f"{x:.6g}" for x in peak.place)
        values = ", ".join(f"{name} = {value:.4g}" for name, value in rock.items() if name in UNITS)
        lines.append(f"most moved at ({place}), {peak.speed:.3g} m/s at step {peak.step}, in {values}")
    numbered = [f"  {n + 1}. {cause}" for n, cause in enumerate(causes(plan, peak, rock))]
    return "\n".join([*lines, "likely causes, in order:", *numbered])


UNITS = ("rho", "vp", "vs")
"""Quantities of the rock in the message, in SI units."""


def causes(plan: FdPlan, peak: Peak | None, rock: dict[str, float]) -> list[str]:
    """Return the likely causes of an instability, the most likely first."""
    likely: list[str] = []
    others: list[str] = []
    if rock.get("bulk defect", 0.0) < 0:
        likely.append("quality factors: Qp is so much larger than Qs that volume changes gain energy: lower Qp there")
    if "absorbing" in plan.scheme.sides.values() and plan.scheme.absorber.kind == "cpml":
        layer = "the absorbing layer in strongly varying material: try grid.absorbing: {along: 0.05}, or {kind: sponge}"
        (likely if peak is not None and _in_layer(plan, peak) else others).append(layer)
    if rock.get("contrast", 1.0) > CONTRAST:
        what = f"a contrast of {rock['contrast']:.3g} in P speed within {AROUND} points: try numerics.cfl: {STEP}"
        likely.append(what)
    fraction = plan.case.numerics.cfl
    if fraction is None or fraction > STEP:
        text = f"the step, {'chosen' if fraction is None else f'{fraction:g} of the largest stable one'}: try numerics.cfl: {STEP}"
        others.insert(0, text)
    others.append("sources or initial values far larger than meant: check their units")
    return [*likely, *others]


def _in_layer(plan: FdPlan, peak: Peak) -> bool:
    scheme = plan.blocks[peak.block].scheme
    grid = scheme.grid
    reach = (scheme.absorber.width + NEAR) * grid.spacing
    return any(
        (scheme.sides[f"{axis}-"] == "absorbing" and peak.place[k] - grid.lower[k] < reach)
        or (scheme.sides[f"{axis}+"] == "absorbing" and grid.upper[k] - peak.place[k] < reach)
        for k, axis in enumerate(AXES)
    )


def _rock(watch: InstabilityMonitor) -> dict[str, float]:
    """Return density, wave speeds, ratio of P speeds and defect of the bulk modulus at the peak."""
    assert watch.peak is not None
    op, block = watch.operator.blocks[watch.peak.block], watch.plan.blocks[watch.peak.block]
    grid, made = block.scheme.grid, block.medium.coefficients
    index = grid.cell(np.array(watch.peak.place)) - block.scheme.filled(op.box).lo

    def around(name: str, by: int) -> np.ndarray:
        values = np.broadcast_to(made[name], block.scheme.filled(op.box).shape)
        at = tuple(slice(max(0, int(n) - by), int(n) + by + 1) for n in index)
        return np.asarray(values[at], float)

    # below a topography, coefficients are stored divided by the stretch of their cells
    stretch = 1.0 if grid.relief is None else float(grid.relief.jacobian(grid.down(np.array(watch.peak.place))))
    rho, lam, mu = 1.0 / (stretch * around("b_x", 0).item()), around("lam", 0).item(), 0.5 * around("mu2", 0).item()
    lam, mu = stretch * lam, stretch * mu
    speeds = np.sqrt((around("lam", AROUND) + around("mu2", AROUND)) * around("b_x", AROUND))
    rock = {"rho": rho, "vp": float(np.sqrt((lam + 2 * mu) / rho)), "vs": float(np.sqrt(mu / rho))}
    rock["contrast"] = float(speeds.max() / speeds.min())
    if "defect_p" in made:
        defect_p, defect_s = around("defect_p", 0).item(), around("defect_s", 0).item()
        rock["bulk defect"] = defect_p * (lam + 2 * mu) - 4.0 / 3.0 * defect_s * mu
    return rock


__all__ = ["causes", "explain"]
