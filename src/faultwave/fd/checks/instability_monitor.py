"""Detection of unstable growth, which ends a run, and diagnosis of its place and likely causes.

Every few steps the sum of squared velocities of every fourth row is checked against two bounds that no wave can
exceed in rock that conserves or dissipates energy, whatever resonates or is focused:

* The square root of the energy is at most the sum of its initial value, the contributions of all sources (triangle
  inequality in the energy norm) and the energy released by initial stress where rock yields.
* Once sources are silent, energy decreases, and kinetic energy is a part of it. Motion may still grow for a while, as
  when a slow mode swings back, but only with the square of time. Four consecutive time spans with tenfold growth from
  each to the next are exponential growth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from faultwave.engine.instability_monitor import end_of_sources, explanation, grows
from faultwave.fd.capability import FdPlan, GridCapability
from faultwave.fd.method.absorbing import AbsorberKind
from faultwave.fd.method.grid import SideKind
from faultwave.fd.method.scheme import Level
from faultwave.fd.method.stencils import AXES, VELOCITY
from faultwave.fd.operators.operator import Operator
from faultwave.kernels.stencil import Injection

LOOKS, APART = 64, 48
"""Number of checks in a run, and smallest number of steps between two, a multiple of most numbers of fused steps."""
ROWS = 4
"""Stride of the checked rows; every plane is checked, so that motion trapped between planes is not missed."""
MARGIN = 100.0
"""Safety factor of the energy bound; near the stability limit leapfrog conserves less than the energy of its fields."""


@dataclass(frozen=True)
class Peak:
    """Largest motion of a check.

    Attributes
    ----------
    speed : float
        Largest speed [m/s] in the plane with the strongest motion.
    place : tuple of float
        Coordinates (x, y, z) [m].
    step : int
    block : int
        Number of the block.
    """

    speed: float
    place: tuple[float, float, float]
    step: int
    block: int = 0


def source_energy_bound(
    injections: Sequence[Injection], shape: tuple[int, ...], heaviest: float, softest: float, volume: float
) -> np.ndarray:
    """Return the root of the energy [J^(1/2)] that each source adds to cells at rest in a step of unit amplitude.

    Parameters
    ----------
    injections : sequence of Injection
    shape : tuple of int
        Levels and sources.
    heaviest : float
        Largest density [kg/m^3].
    softest : float
        Smallest modulus [Pa].
    volume : float
        Volume [m^3] of a cell.

    Returns
    -------
    ndarray, shape (levels, sources)
        Upper bounds.
    """
    found = np.zeros(shape)
    for injection in injections:
        stiff = heaviest if injection.level == Level.VELOCITY else 1.0 / softest
        energy = 0.5 * volume * stiff * np.square(injection.weights)
        found[injection.level] += np.bincount(injection.sources, energy, shape[1])
    return np.sqrt(found)


class InstabilityMonitor:
    """Monitor of unstable growth; all processes check at the same steps.

    Attributes
    ----------
    peak : Peak or None
        Largest motion of the last check.
    squares : list of float
        Sums of squared velocities times the cell volume since the sources are silent.
    root : float
        Square root of the initial energy [J], or of its bound at a checkpoint.
    energy_sources : tuple of GridCapability
        Capabilities that may release energy, such as the initial stress of yielding rock.
    lightest, heaviest : float
        Smallest and largest density [kg/m^3].
    softest : float
        Smallest modulus [Pa].
    """

    def __init__(self, plan: FdPlan, operator: Operator, energy_sources: Sequence[GridCapability]):
        self.plan, self.operator = plan, operator
        self.peak: Peak | None = None
        self.squares: list[float] = []  # sums of the checks since the sources are silent
        self.root = 0.0  # square root of the initial energy [J], or of its bound at a checkpoint
        self._silent: float | None = None
        self.energy_sources = tuple(energy_sources)
        moduli, specific = list[np.ndarray](), list[np.ndarray]()
        for made in (block.medium.coefficients for block in plan.blocks):
            moduli += [np.asarray(made[name]) for name in ("mu2", "mu_xy", "mu_xz", "mu_yz")]
            moduli += [3.0 * np.asarray(made["lam"]) + np.asarray(made["mu2"])]
            specific += [np.asarray(made[f"b_{axis}"]) for axis in "xyz"]
        softest = min(float(np.min(m, where=m > 0, initial=np.inf)) for m in moduli)
        lightest = 1.0 / max(float(b.max()) for b in specific)
        heaviest = 1.0 / min(float(np.min(b, where=b > 0, initial=np.inf)) for b in specific)
        top, low, soft = plan.world.largest([heaviest, -lightest, -softest])
        self.lightest, self.heaviest, self.softest = -low, top, -soft
        self._pushes: dict[int, np.ndarray] = {}

    def start(self, energies: Mapping[str, float]) -> None:
        """Begin with the given initial energies."""
        self.root = float(np.sqrt(sum(energies[name] for name in ("elastic_energy", "elastic_kinetic_energy"))))

    def bound(self) -> float:
        """Return the upper bound of the square root of the energy; a collective call of all processes."""
        here = 0.0
        for n, op in enumerate(self.operator.blocks):
            if n not in self._pushes:
                volume = op.scheme.grid.spacing**3
                self._pushes[n] = source_energy_bound(
                    op.drives.injections, op.given.shape, self.heaviest, self.softest, volume
                )
            here += float((self._pushes[n] * op.given).sum())
        given = self._sum(sum(part.energy_given() for part in self.energy_sources))
        return self.root + self._sum(here) + float(np.sqrt(given))

    def _sum(self, here: float) -> float:
        """Return the sum over all processes, identical on each."""
        found = self.plan.world.gather(here)
        return float(self.plan.world.broadcast(None if found is None else sum(found)))

    def steps(self) -> frozenset[int]:
        """Return the steps after which the motion is checked."""
        apart = max(APART, -(-self.plan.steps // LOOKS // APART) * APART)
        return frozenset({*range(apart, self.plan.steps, apart), self.plan.steps})

    def look(self) -> str:
        """Return a description of unstable motion, empty if there is none."""
        squares = self._squares()
        square = float(squares @ [op.scheme.grid.spacing**3 for op in self.operator.blocks])
        if not np.isfinite(square):
            return "velocities are no longer finite numbers"
        if self._silent is None:
            until = [part.acts_until for part in self.plan.parts.values()]
            self._silent = max(end_of_sources(self.plan.radiating, self.plan.case.end_time), *until)
        kinetic = 0.5 * self.lightest * square
        bound = self.bound() ** 2
        if kinetic > MARGIN * bound:
            return (
                f"the energy of the waves is at least {kinetic:.3g} J, but sources have added less than {bound:.3g} J"
            )
        if self.operator.time > self._silent:
            self.squares.append(square)
        if grows(self.squares):
            return f"motion grows exponentially, although no source acts since t = {self._silent:.6g} s"
        return ""

    def _squares(self) -> np.ndarray:
        """Return the sums of squared velocities of the blocks and record the peak."""
        return np.array([self._square(n, op) for n, op in enumerate(self.operator.blocks)])

    def _square(self, number: int, op: Operator) -> float:
        """Return the sum of squared velocities of all processes over one in ROWS rows, and record the peak."""
        fields = [op.values(name) for name in VELOCITY]
        planes = np.zeros(len(fields[0]))
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(len(planes)):
                for field in fields:
                    rows = field[k, ::ROWS]
                    planes[k] += np.einsum("yx,yx->", rows, rows, dtype=np.float64)
            square = self._sum(float(planes.sum()))
            if np.isfinite(planes).all() and planes.any():
                k = int(planes.argmax())
                speed = np.sqrt(sum(np.square(field[k], dtype=np.float64) for field in fields))
                self._note(number, k, speed)
        return square

    def _note(self, number: int, k: int, speed: np.ndarray) -> None:
        if (
            number
            and self.peak is not None
            and self.peak.step == self.operator.steps
            and self.peak.speed >= speed.max()
        ):
            return  # a block above moves more
        op = self.operator.blocks[number]
        grid = op.scheme.grid
        j, i = np.unravel_index(int(speed.argmax()), speed.shape)
        lo = op.subdomain.owned.box.lo
        x, y, z = grid.middle(np.array([lo[0] + k, lo[1] + j, lo[2] + i])).tolist()
        self.peak = Peak(float(speed[j, i]), (x, y, z), self.operator.steps, number)


NEAR_SIDE = 3
"""Number of points next to an absorbing layer that count as part of it in the diagnosis."""
CONTRAST, AROUND = 2.0, 4
"""Strong ratio of P speeds, and the number of points around a place within which it counts."""
LARGE_STEP = 0.8
"""Fraction of the largest stable step above which the step is among the likely causes."""


def explain_blowup(watch: InstabilityMonitor, wrong: str) -> str:
    """Return the error message of a run that stopped because of ``wrong``.

    All processes call this function together. Only the first returns the complete message.
    """
    plan, op = watch.plan, watch.operator
    found = plan.world.gather((watch.peak, _rock(watch) if watch.peak else {}))
    lines = []
    peak, rock = max(found or [(None, {})], key=lambda each: each[0].speed if each[0] else -1.0)
    if peak is not None:
        place = ", ".join(f"{x:.6g}" for x in peak.place)
        values = ", ".join(f"{name} = {value:.4g}" for name, value in rock.items() if name in UNITS)
        lines.append(f"largest motion at ({place}), {peak.speed:.3g} m/s at step {peak.step}, in {values}")
    return explanation(op.time, wrong, lines, causes(plan, peak, rock), f" (step {op.steps} of {plan.steps})")


UNITS = ("rho", "vp", "vs")
"""Quantities of the rock in the message, in SI units."""


def causes(plan: FdPlan, peak: Peak | None, rock: dict[str, float]) -> list[str]:
    """Return the likely causes of an instability, the most likely first."""
    likely: list[str] = []
    others: list[str] = []
    if rock.get("bulk defect", 0.0) < 0:
        likely.append("quality factors: Qp is so much larger than Qs that volume changes gain energy: lower Qp there")
    if SideKind.ABSORBING in plan.scheme.sides.values() and plan.scheme.absorber.kind == AbsorberKind.CPML:
        layer = "the absorbing layer in strongly varying material: try grid.absorbing: {along: 0.05}, or {kind: sponge}"
        (likely if peak is not None and _in_layer(plan, peak) else others).append(layer)
    if rock.get("contrast", 1.0) > CONTRAST:
        what = f"a contrast of {rock['contrast']:.3g} in P speed within {AROUND} points: try numerics.cfl: {LARGE_STEP}"
        likely.append(what)
    fraction = plan.case.numerics.cfl
    if fraction is None or fraction > LARGE_STEP:
        text = f"the step, {'chosen' if fraction is None else f'{fraction:g} of the largest stable one'}: try numerics.cfl: {LARGE_STEP}"
        others.insert(0, text)
    return [*likely, *others]


def _in_layer(plan: FdPlan, peak: Peak) -> bool:
    scheme = plan.blocks[peak.block].scheme
    grid = scheme.grid
    reach = (scheme.absorber.width + NEAR_SIDE) * grid.spacing
    return any(
        (scheme.sides[f"{axis}-"] == SideKind.ABSORBING and peak.place[k] - grid.lower[k] < reach)
        or (scheme.sides[f"{axis}+"] == SideKind.ABSORBING and grid.upper[k] - peak.place[k] < reach)
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
