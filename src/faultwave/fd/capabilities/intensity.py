"""Maps of ground motion intensity without stored time series: peaks, spectral accelerations, Arias intensity and duration.

Peaks are taken of the horizontal motion in ``ANGLES`` directions, of which RotD50 is the median (Boore 2010). Spectral
accelerations follow from damped oscillators, advanced exactly for acceleration that is linear between steps (Nigam &
Jennings 1969).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from faultwave.base.errors import Problems, collect_problems
from faultwave.base.formulas import magnitude
from faultwave.base.precision import number_bytes
from faultwave.base.projection import Projection
from faultwave.base.types import Settings
from faultwave.case.settings.model import Case
from faultwave.comm import World
from faultwave.engine.capability import Requirements, RestoredFrom, State
from faultwave.fd.capability import FdPlan, GridCapability, GridCapabilityPlan, Running, StepCallback
from faultwave.fd.contexts import MaterialContext, PlacementContext, Planning
from faultwave.fd.method.grid import SideKind
from faultwave.fd.method.program import Observer
from faultwave.fd.method.scheme import Level, above
from faultwave.fd.method.surface_motion import COMPONENTS, SURFACE_LAG
from faultwave.fd.operators.resources import Memory
from faultwave.fd.snapshots import SurfaceView
from faultwave.kernels import math
from faultwave.kernels.expr import Number
from faultwave.kernels.stencil import Box, Launch, Layout, Point, Stencil
from faultwave.observe.dataset import Dataset, Result, Variable
from faultwave.observe.motions.measures import GRAVITY, left_alone, oscillator
from faultwave.observe.snapshots.lattice import check_formats, map_formats
from faultwave.observe.stations.codes import since
from faultwave.physics.sources.acting import moments_of

ANGLES = 18
SAMPLES = 256
"""Number of samples of the growth of Arias intensity in a run, from which the duration follows."""
COPIES = 3
"""Number of copies of these samples in memory at the end of a run."""
TOGETHER = 6
"""Number of steps that is a multiple of most numbers of fused steps."""


def plan(planning: Planning) -> Intensity | None:
    """Return the intensity maps, None if the case does not request them.

    Some formats of maps require a projection that they can represent.
    """
    case, problems = planning.case, planning.problems
    setting = case.output.intensity
    if setting is None:
        return None
    if planning.sides["z+"] != SideKind.FREE_SURFACE:
        problems.error("output.intensity", "the grid has no free surface", "grid.boundaries: {z+: free-surface}")
    if len({f"{p:g}" for p in setting.periods}) != len(setting.periods):  # as in the names of the maps
        problems.error(
            "output.intensity.periods",
            "a period occurs twice, at the six digits of the names of maps",
            "each period once",
        )
    known = map_formats()
    check_formats("output.intensity", setting.formats, known, problems)
    wanted = [f for f in setting.formats if f in known and known[f].projected]
    if wanted and case.projection is None:
        what = f"{', '.join(wanted)} need longitude and latitude"
        problems.error("output.intensity.formats", what, "a case with a projection")
    if wanted and case.projection is not None:
        with collect_problems(Problems()):  # errors of the projection itself are reported elsewhere
            projection = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
            for what, allowed in (known[f].refused(projection) for f in wanted):
                if what:
                    problems.error("output.intensity.formats", what, allowed)
    return Intensity(case, tuple(setting.periods), setting.damping)


@dataclass(frozen=True)
class Intensity(GridCapabilityPlan):
    """Intensity maps of a case.

    Attributes
    ----------
    case : Case
    periods : tuple of float
        Periods of the oscillators [s].
    damping : float
        Damping ratio of the oscillators.
    points : int
        Number of points of a map, once there is a grid.
    requirements : Requirements
    """

    case: Case
    periods: tuple[float, ...]
    damping: float
    points: int = 0
    requirements: Requirements = Requirements()
    name = "intensity"
    on_surface = True

    def locate(self, placing: PlacementContext) -> Self:
        points = int(np.prod(placing.surface))
        maps = len(self.periods) + 6 + 3 * len({"netcdf", *self.case.output.intensity.formats})  # type: ignore[union-attr]
        return replace(self, points=points, requirements=Requirements(disk=8 * points * maps))

    def check(self, checking: MaterialContext) -> Self:
        """Warn of periods that are shorter than the shortest period resolved everywhere."""
        short = [p for p in self.periods if p * checking.resolved < 1.0 - 1e-9]
        if short:
            checking.problems.warn(
                "output.intensity.periods",
                f"{', '.join(f'{p:g}' for p in short)} s are shorter than {1.0 / checking.resolved:.3g} s, the "
                "shortest period resolved everywhere: these spectral accelerations lack waves of their own "
                "period",
                advice="Remove them, or raise grid.frequency.",
            )
        return self

    def memory(self, steps: int, world: World) -> Memory:
        arrays = 11 + 3 * ANGLES + len(self.periods) * (ANGLES + 6)
        needed = float(self.points) * (
            arrays * number_bytes(self.case.numerics.precision) / world.size + COPIES * 4 * min(SAMPLES, steps)
        )
        advice = "Raise the spacing, or choose fewer periods."
        return Memory(needed, "output.intensity", f"maps of {self.points:,} points", advice)

    def observers(self, box: Box, step: float) -> Sequence[Observer]:
        """Return the observers of peaks in every direction, oscillators and squared horizontal acceleration."""
        plane = above(box)
        found = [
            _peaks(plane, "PGA", "surface_a"),
            _peaks(plane, "PGV", "surface_v"),
            _peaks(plane, "PGD", "surface_u"),
            _arias(plane, step),
        ]
        for n, period in enumerate(self.periods):
            found += [_oscillator(plane, n, period, self.damping, step), _peaks(plane, f"SA{n}", f"oscillator{n}_x")]
        return found

    def attach(self, solver: Running) -> Maps:
        return Maps(self, solver)


# ---- stencils on the plane of the surface, after its motion ------------------------------------------------------------


def peak(name: str, angle: int) -> str:
    """Return the name of the array of a peak in one direction."""
    return f"{name}_{angle}"


def _peaks(box: Box, name: str, of: str) -> Observer:
    turns = np.pi * np.arange(ANGLES) / ANGLES

    def function(p: Point) -> dict[str, Number]:
        a, b = p.at(f"{of}1"), p.at(f"{of}2")
        return {
            peak(name, n): math.maximum(p.at(peak(name, n)), math.abs(float(np.cos(t)) * a + float(np.sin(t)) * b))
            for n, t in enumerate(turns)
        }

    layout = Layout(box, group=f"peaks {name}", halo=0)
    launch = Launch(Stencil(f"peaks_{name}", function), box, lag=SURFACE_LAG)
    return Observer({peak(name, n): layout for n in range(ANGLES)}, [(Level.VELOCITY, launch)])


def _arias(box: Box, step: float) -> Observer:
    """Return the observer of Arias intensity, pi / (2 g) times the integral of a^2 along x and y (Arias 1970)."""

    def function(p: Point) -> dict[str, Number]:
        a, b = p.at("surface_a1"), p.at("surface_a2")
        return {"arias": p.at("arias") + p.scalar("arias_factor") * (a * a + b * b)}

    launch = Launch(Stencil("arias", function), box, lag=SURFACE_LAG)
    return Observer(
        {"arias": Layout(box, halo=0)}, [(Level.VELOCITY, launch)], {"arias_factor": np.pi / (2 * GRAVITY) * step}
    )


def _oscillator(box: Box, n: int, period: float, damping: float, step: float) -> Observer:
    a, b = oscillator(period, damping, step)
    numbers = {f"o{n}_{m}{i}{j}": float(t[i, j]) for m, t in (("a", a), ("b", b)) for i in (0, 1) for j in (0, 1)}

    def function(p: Point) -> dict[str, Number]:
        result: dict[str, Number] = {}
        for c in COMPONENTS[:2]:
            x, v, old, new = (
                p.at(name)
                for name in (f"oscillator{n}_x{c}", f"oscillator{n}_v{c}", f"oscillator{n}_a{c}", f"surface_a{c}")
            )

            def row(i: int, x: Number = x, v: Number = v, old: Number = old, new: Number = new) -> Number:
                s = [p.scalar(f"o{n}_{m}{i}{j}") for m in "ab" for j in (0, 1)]
                return s[0] * x + s[1] * v + s[2] * old + s[3] * new

            result |= {f"oscillator{n}_x{c}": row(0), f"oscillator{n}_v{c}": row(1), f"oscillator{n}_a{c}": new}
        return result

    layout = Layout(box, group=f"oscillator {n}", halo=0)
    names = [f"oscillator{n}_{q}{c}" for q in "xva" for c in COMPONENTS[:2]]
    launch = Launch(Stencil(f"oscillator{n}", function), box, lag=SURFACE_LAG)
    return Observer(dict.fromkeys(names, layout), [(Level.VELOCITY, launch)], numbers)


# ---- maps of a run -------------------------------------------------------------------------------------------------------


class Maps(GridCapability):
    """Intensity maps of a run so far.

    Attributes
    ----------
    times : list of float
        Times of the samples of Arias intensity [s].
    arias : list of ndarray (ny, nx)
        Arias intensity at these times.
    """

    def __init__(self, part: Intensity, solver: Running):
        self.part, self.plan, self.operator = part, solver.plan, solver.operator
        self.view = SurfaceView(solver)
        self.times: list[float] = [0.0]
        self.arias: list[np.ndarray] = [np.zeros((len(self.view.y), len(self.view.x)), np.float32)]

    @property
    def after(self) -> Sequence[StepCallback]:
        """Callbacks that sample Arias intensity after whole passes and at the end."""
        steps = self.plan.steps
        every = -(-steps // SAMPLES)
        every = every if every == 1 else -(-every // TOGETHER) * TOGETHER
        return [StepCallback(frozenset({*range(every, steps, every), steps}), self.take)]

    def take(self) -> None:
        """Store the present Arias intensity."""
        if self.operator.time > self.times[-1]:
            self.times.append(self.operator.time)
            self.arias.append(self.view("arias").astype(np.float32))

    def state(self) -> Mapping[str, State]:
        def times(values: np.ndarray, origin: RestoredFrom) -> None:
            self.times = values.tolist()

        def arias(values: np.ndarray, origin: RestoredFrom) -> None:
            self.arias = list(values)

        return {
            "times": State(None, lambda: np.array(self.times), times),
            "arias": State(None, lambda: np.stack(self.arias), arias),
        }

    def results(self) -> Iterable[Result]:
        """Return the maps (y, x) so far on the first process; all processes must call it."""
        self.take()
        maps = {**self._peaks(), **self._arias()}
        if not self.plan.world.first:
            return
        variables, attrs = {**self._axes(), **maps, **self._places()}, self._attrs()
        settings = {"formats": self.part.case.output.intensity.formats, "projection": self.plan.projection}  # type: ignore[union-attr]
        data = Dataset("ground motion intensity", variables, attrs)
        yield Result("intensity", data, settings=settings | {"event": _event(self.plan)})

    def _axes(self) -> dict[str, Variable]:
        view = self.view
        found = {n: Variable(a, (n,), "m", f"{n} of the cell centres") for n, a in (("x", view.x), ("y", view.y))}
        if view.elevation is not None:
            found["elevation"] = Variable(view.elevation, ("y", "x"), "m", "elevation of the ground")
        return found

    def _peaks(self) -> dict[str, Variable]:
        named = [("PGA", "PGA", "m/s^2", "peak ground acceleration", 1.0), ("PGV", "PGV", "m/s", "peak ground velocity", 1.0),
                 ("PGD", "PGD", "m", "peak ground displacement", 1.0)]  # fmt: skip
        for n, period in enumerate(self.part.periods):
            text = f"pseudo-spectral acceleration at {period:g} s, damping {self.part.damping:g}"
            named.append((f"SA{n}", f"SA_{period:g}s", "m/s^2", text, (2 * np.pi / period) ** 2))
        found = {}
        for array, name, unit, text, factor in named:
            turned = np.stack([self.view(peak(array, angle)) for angle in range(ANGLES)])
            if array.startswith("SA"):
                turned = np.maximum(turned, self._free_oscillation_peak(int(array[2:])))
            found[name] = Variable(factor * np.median(turned, 0), ("y", "x"), unit, f"{text}, RotD50")
        found["PGV_max"] = Variable(self.view("surface_peak"), ("y", "x"), "m/s", "largest horizontal ground speed")
        return found

    def _free_oscillation_peak(self, number: int) -> np.ndarray:
        """Return the peak displacement (ANGLES, ny, nx) [m] of oscillators after the run, on ground at rest."""
        x, v = ([self.view(f"oscillator{number}_{q}{c}").astype(float) for c in COMPONENTS[:2]] for q in "xv")
        turns, period = np.pi * np.arange(ANGLES) / ANGLES, self.part.periods[number]
        along = [[np.cos(t) * q[0] + np.sin(t) * q[1] for q in (x, v)] for t in turns]
        return np.stack([left_alone(at, moving, period, self.part.damping) for at, moving in along])

    def _arias(self) -> dict[str, Variable]:
        growth, text = np.stack(self.arias), "Arias intensity, sum of both horizontal components"
        lasting = duration(self.times, growth)
        return {
            "arias": Variable(growth[-1].astype(float), ("y", "x"), "m/s", text),
            "D5_95": Variable(lasting, ("y", "x"), "s", "time from 5 to 95 % of Arias intensity"),
        }

    def _places(self) -> dict[str, Variable]:
        """Return the places of the sources, and longitude and latitude of the cells if there is a projection."""
        found, view, projection = dict[str, Variable](), self.view, self.plan.projection
        places, first = _sources(self.plan)
        if first >= 0:
            order = [first, *(n for n in range(len(places)) if n != first)]
            for k, axis in enumerate("xyz"):
                text = f"{axis} of the sources, in order of their start"
                found[f"source_{axis}"] = Variable(places[order, k], ("source",), "m", text)
        if projection is not None:
            lonlat = projection.to_continuous(np.stack(np.meshgrid(view.x, view.y), -1).reshape(-1, 2))
            for k, name in enumerate(("longitude", "latitude")):
                found[name] = Variable(lonlat[:, k].reshape(len(view.y), len(view.x)), ("y", "x"), "degree", name)
        return found

    def _attrs(self) -> Settings:
        setting, plan = self.plan.case.projection, self.plan
        attrs: Settings = {"crs": setting.crs if setting else None, "end_time": self.operator.time,
                 "resolved_frequency": plan.frequency, "case": plan.case.title,
                 **since(plan.case.output.origin_time)}  # fmt: skip
        if setting is not None:
            attrs |= {"origin": None if setting.origin is None else list(setting.origin), "azimuth": setting.azimuth}
        return attrs


def duration(times: Sequence[float], arias: np.ndarray, low: float = 0.05, high: float = 0.95) -> np.ndarray:
    """Return the time (ny, nx) [s] between two fractions of the final value of ``arias`` (times, ny, nx).

    0 without motion.
    """
    t = np.asarray(times, float)
    final = arias[-1]
    share = arias / np.where(final > 0, final, 1.0)

    def crossing(level: float) -> np.ndarray:
        after = np.argmax(share >= level, axis=0)
        before = np.maximum(after - 1, 0)
        a, b = (np.take_along_axis(share, k[None], 0)[0] for k in (before, after))
        part = np.where(b > a, (level - a) / np.where(b > a, b - a, 1.0), 0.0)
        return np.asarray(t[before] + part * (t[after] - t[before]))

    return np.where(final > 0, crossing(high) - crossing(low), 0.0)


def _sources(plan: FdPlan) -> tuple[np.ndarray, int]:
    """Return the places (n, 3) of the active sources and the index of the earliest."""
    acting = plan.sources.chosen(plan.sources.acting)
    return acting.location, int(np.argmin(acting.onset)) if len(acting) else -1


def _event(plan: FdPlan) -> dict[str, str]:
    """Return magnitude, place and depth of the sources together; empty if none is active."""
    (places, first), projection = _sources(plan), plan.projection
    if first < 0 or projection is None:
        return {}
    tensors = plan.sources.moment_tensors(*plan.source_material[:, :2].T)
    moment = moments_of(plan.sources, tensors, plan.case.end_time).scalar
    lon, lat = projection.to_continuous(places[first, :2])[0]
    relief = plan.scheme.grid.relief
    ground = float(plan.upper[2] if relief is None else relief.ground(places[first]))
    depth = 1e-3 * (ground - places[first, 2])
    size = {"magnitude": f"{magnitude(moment):.2f}"} if moment > 0 else {}
    return {**size, "depth": f"{depth:.3f}", "lat": f"{lat:.6f}", "lon": f"{lon:.6f}"}


__all__ = ["ANGLES", "Intensity", "Maps", "duration", "oscillator", "peak", "plan"]
