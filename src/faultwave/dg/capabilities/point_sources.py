"""Point sources, finite sources and point currents: impulses added to the cells that contain them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultwave.base.errors import Problems
from faultwave.base.registry import entries
from faultwave.case.plausibility import advice_outside
from faultwave.case.settings.model import Case
from faultwave.dg.checks.accuracy import edge_length, resolved_frequency
from faultwave.dg.mesh.placement import Cut, Planning
from faultwave.dg.planning.plan import Plan
from faultwave.dg.solver import Solver
from faultwave.dg.sources import (
    Entries,
    SourceTerms,
    Spread,
    at_points,
    clusters_of,
    errors_of_spread,
    moments_in,
    spread,
)
from faultwave.engine.capability import Callback, Capability, CapabilityPlan, Requirements, RestoredFrom, State
from faultwave.kernels.expr import Scalars
from faultwave.observe.model import Marks
from faultwave.observe.stations.points import exchange_advice
from faultwave.physics.sources.acting import (
    acting_row,
    check_representable,
    check_time,
    moments_of,
    report_no_pores,
    report_outside,
)
from faultwave.physics.sources.load import load_sources
from faultwave.physics.sources.point import PointSource, Sources, shears
from faultwave.physics.sources.spectrum import DELAY, lowpassed, smoothing, spectrum, warn_corner_frequency
from faultwave.physics.sources.time_functions import time_function

name = "point_sources"

MAX_UNRESOLVED_AMPLITUDE = 0.5
"""Relative amplitude at the resolved frequency above which the mesh is too coarse for a source.

Below it, only the end of the spectrum is unresolved.
"""
RESOLVED = 2.0
"""Frequency with 5 points per wavelength relative to the one with 10."""


MOST = 10_000
"""Largest number of source positions that are spread by default; each takes about 40 cells and, beyond ``MANY``, 10 ms of set-up."""
ON_A_FACE = 0.02
"""Distance from a face relative to the cell's height below which a source lies on it."""


@dataclass(frozen=True)
class PointSources(CapabilityPlan):
    """Plan of point sources.

    Attributes
    ----------
    sources : Sources
        Sources in or near cells of this process.
    cells : (n,) int
        Cells of the sources, negative where another process has the cell.
    local : (n, 3) float
        Reference coordinates in the cells.
    items : (n,) int
        Indices among all ``count`` sources.
    spread : Spread, optional
        Cells over which sources are spread; None if each acts in its own cell alone.
    all_sources : Sources
        Sources of all processes.
    tensors : (count, 6) float
        Moment tensors [N m] per unit of the time functions, of all processes.
    """

    sources: Sources
    cells: np.ndarray
    local: np.ndarray
    items: np.ndarray
    count: int
    all_sources: Sources
    tensors: np.ndarray
    spread: Spread | None = None
    name: str = name

    @property
    def touched(self) -> np.ndarray:
        """Cells that any source changes."""
        return self.cells if self.spread is None else np.unique(self.spread.cells)

    @property
    def requirements(self) -> Requirements:
        pairs = zip(self.sources.location.tolist(), self.cells, strict=True)
        lossless = tuple((f"source at {tuple(place)}", np.array([cell])) for place, cell in pairs)
        return Requirements(between=self.touched, lossless=lossless)

    def partition(self, cut: Cut) -> PointSources:
        if self.spread is None:
            mine = cut.mine(self.cells)
            return self._of(mine, cut.here[self.cells[mine]])
        entries = cut.mine(self.spread.cells)
        mine = np.unique(self.spread.source[entries])
        over = self.spread.of(mine, entries, cut.here[self.spread.cells[entries]])
        return replace(self._of(mine, cut.here[self.cells[mine]]), spread=over)

    def _of(self, mine: np.ndarray, cells: np.ndarray) -> PointSources:
        return replace(
            self, sources=self.sources.chosen(mine), cells=cells, local=self.local[mine], items=self.items[mine]
        )

    def identity(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Return the data that identify each source located on this process."""
        here = np.flatnonzero(self.cells >= 0)
        return {"sources": (self.sources.chosen(here).identity(), self.items[here])}

    def report(self, plan: Plan) -> Mapping[str, Sequence[tuple[str, ...]]]:
        end = float(plan.case.end_time)
        reported = [*moments_of(self.all_sources, self.tensors, end).rows(), acting_row(self.all_sources, end)]
        corner = plan.case.source_lowpass
        if corner is not None:
            reported.append(("low-pass of sources", f"{corner:g} Hz, delays by {DELAY / corner:.3g} s"))
        if self.spread is None:
            return {"sources": reported}
        cells = np.bincount(self.spread.source)
        least, most = self.spread.radius.min(), self.spread.radius.max()
        within = f"{most:.4g} m" if least == most else f"{least:.4g} to {most:.4g} m"
        row = ("point sources", f"{self.count}, spread over up to {cells.max()} cells within {within}")
        return {"sources": reported, "resolution": [row]}

    def attach(self, solver: Solver) -> AttachedSources:
        return AttachedSources(self, solver)

    def shapes(self, plan: Plan) -> tuple[Marks, ...]:
        return (Marks("sources", np.asarray(self.sources.location, float).reshape(-1, 3)),)


def plan(planning: Planning) -> PointSources | None:
    """Return the plan of point sources, None if the case has none."""
    case, problems, whole = planning.case, planning.problems, planning.whole
    _check_kinds(planning)
    read = load_sources(case.sources, projection=case.projection, warned=problems)
    if case.source_lowpass is not None and not case.sources:
        problems.warn("numerics.source_lowpass", "has no effect: the case has no sources")
    warn_corner_frequency(case.source_lowpass, case.end_time, problems)
    sources = Sources.joined([lowpassed(read, case.source_lowpass, case.end_time), Sources.of(_point_currents(case))])
    check_time(sources, case.end_time, problems)
    check_representable(sources, case.numerics.precision, problems)
    if "filtration" not in planning.law.roles:
        report_no_pores(sources, f"the {planning.law.name} law", problems)
    _check_moduli(sources, planning)
    if not len(sources):
        if case.numerics.source_spread == "cells":
            problems.warn("numerics.source_spread", "has no effect: the case has no point sources")
        _warn_order(case, "the case has no point sources", problems)
        return None
    found = whole.locate(sources.location, planning.topology, planning.geometry, planning.mesh)
    corners = planning.mesh.vertices.min(0), planning.mesh.vertices.max(0)
    report_outside(
        sources, np.where(found.cells == -1, found.distance, 0.0), "mesh", problems, "a point inside",
        advice=lambda place, far: exchange_advice(case.projection, place, far, *corners)
        or advice_outside(place, *corners),
    )  # fmt: skip
    tensors = _tensors(planning, sources, found.cells)
    part = PointSources(sources, found.cells, found.xi, np.arange(len(sources)), len(sources), sources, tensors)
    mine = np.flatnonzero(found.cells >= 0)
    point = part._of(mine, found.cells[mine])
    _check_fluid(point, planning)
    _warn_band(point, planning)
    if not _spreads(case, places := len(np.unique(sources.location, axis=0))):
        _warn_points(point, planning, places)
        _warn_order(case, "each source acts in one cell (numerics.source_spread)", problems)
        return point
    over = spread(planning, sources, found.cells, tensors)
    mine = np.unique(over.source)
    return replace(part._of(mine, found.cells[mine]), spread=over.of(mine, np.arange(len(over.cells)), over.cells))


def _tensors(planning: Planning, sources: Sources, cells: np.ndarray) -> np.ndarray:
    """Return the moment tensors (n, 6) [N m] of unit time functions of sources in ``cells`` (n,).

    Cells are negative where other processes have them; the call is collective.
    """
    found, here = np.zeros((len(sources), 6)), cells >= 0
    at = {name: values[cells[here]] for name, values in planning.material.items()}
    found[here] = moments_in(planning.law, sources.chosen(here), at)
    return np.asarray(planning.whole.total(found))  # each source is in the cells of one process


def _spreads(case: Case, count: int) -> bool:
    """Return True if sources are spread over several cells."""
    numerics = case.numerics
    return count <= MOST if numerics.source_spread is None else numerics.source_spread == "cells"


def _warn_points(part: PointSources, planning: Planning, places: int) -> None:
    """Warn about sources that act in one cell each without a request for it, or that lie on faces of cells."""
    case, problems = planning.case, planning.problems
    if case.numerics.source_spread is None:
        many = f"{places:,} source locations, more than {MOST:,}, act in one cell each"
        what = f"{many}: errors of waves are about 4 %, or 10 to 16 % for sources on faces of cells"
        advice = (
            "numerics.source_spread: cells avoids this and needs about 10 ms and 20 kB per source; point "
            "silences this warning."
        )
        problems.warn("sources", what, advice=advice)
        return
    shares = np.column_stack([part.local, 1.0 - part.local.sum(1)])
    on_faces = int((shares.min(1) < ON_A_FACE).sum())
    if on_faces:
        many = f"{on_faces:,} of {part.count:,} are on faces of cells, and each acts in one cell"
        what = f"{many}: errors of waves are 5 to 16 % there, at every order"
        advice = "numerics.source_spread: cells avoids this error. Decks use point, as SeisSol does."
        problems.warn("sources", what, advice=advice)


def _warn_order(case: Case, why: str, problems: Problems) -> None:
    if case.numerics.source_spread_order is not None:
        problems.warn("numerics.source_spread_order", f"has no effect: {why}")


def _warn_band(part: PointSources, planning: Planning) -> None:
    """Warn if most of the radiated spectrum lies above what the cells resolve."""
    case, cells = planning.case, part.cells
    if not len(cells):
        return
    edge = edge_length(planning.geometry.volume[cells])
    material = {name: values[cells] for name, values in planning.material.items()}
    resolved = RESOLVED * float(np.median(resolved_frequency(planning.law, material, edge, case.numerics.order)))
    frequencies, amplitudes = spectrum(part.sources, 1.0 / (8.0 * resolved), case.end_time)
    above = frequencies > resolved
    if not amplitudes.max() > 0 or not above.any():
        return
    share = float(amplitudes[above].max() / amplitudes.max())
    if share > MAX_UNRESOLVED_AMPLITUDE:
        what = (
            f"radiate above {resolved:.3g} Hz, the frequency with 5 points per wavelength at their locations: "
            f"up to {100 * share:.0f} % of their largest amplitude"
        )
        advice = (
            "Unresolved waves are damped or scattered: use smaller elements, a higher order, or a longer time function"
        )
        corner = smoothing(frequencies, amplitudes, resolved, case.source_lowpass) if case.sources else None
        advice += "." if corner is None else f", or smooth the sources (numerics.source_lowpass: {corner:.3g} Hz)."
        where = "sources" if planning.case.sources else "currents"
        planning.problems.warn(where, what, advice=advice)


def _check_fluid(part: PointSources, planning: Planning) -> None:
    """Report moments and slip that shear a fluid: the remaining stress never relaxes and would act for ever."""
    law, fluid = planning.law, planning.fluid[part.cells]
    wrong = part.sources.chosen(fluid & (shears(part.sources.moment) | shears(part.sources.potency)))
    if not len(wrong):
        return
    refuse, why = (
        planning.refuse,
        "the remaining stress would accelerate the fluid permanently, and slip has no moment there",
    )
    if "stress" not in law.roles:
        why = f"under the {law.name} law only the mean of a moment's xx, yy and zz acts"
        if wrong.potency.any():  # SeisSol does not run slip in its acoustic equations either
            refuse = planning.problems.error
    x, y, z = wrong.location[0]
    where, more = f"source {wrong.names[0]} at ({x:g}, {y:g}, {z:g})", len(wrong) - 1
    what = f"shears in a fluid, as do {more} more sources: {why}" if more else f"shears in a fluid: {why}"
    refuse(
        where,
        what,
        "an explosion (xx = yy = zz), a force, or a location in rock",
        "Or assign a shear speed to the cell.",
    )


def _check_moduli(sources: Sources, planning: Planning) -> None:
    """Report a shear modulus of slip sources where the stiffness has more than lambda and mu and gives the moment itself."""
    own = sources.chosen(~np.isnan(sources.shear_modulus))
    first = {name: float(v[0]) for name, v in planning.material.items()} if len(own) else {}
    if first and planning.law.stress_of(np.zeros(6), first) is not None:
        what = (
            f"{own.names[0]} defines its own shear modulus, {own.shear_modulus[0]:g} Pa (and {len(own) - 1} "
            "more sources)"
        )
        planning.problems.error(
            "sources", what, f"0 with the {planning.law.name} law: the stiffness of the cell is used"
        )


def _point_currents(case: Case) -> list[PointSource]:
    found = []
    for i, c in enumerate(case.currents):
        if c.kind == "point":
            where = f"currents[{i}]"
            function = time_function(c.time_function, f"{where}.time_function")
            location, moment = np.array(c.location, float), np.array(c.moment, float)
            found.append(PointSource(location, function, force=moment, onset=c.onset, name=where))
    return found


def _check_kinds(planning: Planning) -> None:
    """Report sources that the wave law does not support."""
    law, problems = planning.law, planning.problems
    files = entries("faultwave.physics.sources.readers") if "moment-tensor" in law.point_sources else ()
    known = (*law.point_sources, *files)
    for i, source in enumerate(planning.case.sources):
        where = f"sources[{i}].kind"
        if source.kind == "plane-wave":
            problems.error(where, "'plane-wave' needs the engine fd", ", ".join(known))
        elif source.kind not in known:
            what = f"a {source.kind} does not act on the {law.name} law"
            problems.error(where, what, ", ".join(known), "Define electric sources as 'currents'.")


class AttachedSources(Capability):
    """Point sources attached to a solver."""

    def __init__(self, part: PointSources, solver: Solver):
        centred = solver.plan.case.numerics.source_window == "centred"
        self.part, self.solver = part, solver
        entries = at_points(solver.operator, part.cells, part.local) if part.spread is None else _entries(part, solver)
        self.home = entries.clusters.argmax(1)  # cluster of each source's place
        self.terms = SourceTerms(solver.operator, part.sources, entries, centred)

        def due(until: float) -> bool:  # windows reach half a step further
            return not self.terms.idle(until + solver.march.longest)

        self.callbacks = (Callback("inject", self.terms.add, due, SourceReplay(self.terms)),)

    def shared_errors(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self.part.spread is None else errors_of_spread(self.part, self.solver.plan)

    def state(self) -> Mapping[str, State]:
        """Return the end of the last window of each source, at its position and in every cluster."""
        terms, here = self.terms, np.arange(len(self.home))

        def write(values: np.ndarray, origin: RestoredFrom) -> None:
            terms.done[:] = values[:, None]
            if origin.same_clusters and "windows" in origin.arrays:
                terms.done[:] = origin.arrays["windows"]

        def nothing(values: np.ndarray, origin: RestoredFrom) -> None:
            """Ignore this array, which is restored with ``done``."""

        windows = State(self.part.items, terms.done.copy, nothing, optional=True)
        return {"done": State(self.part.items, lambda: terms.done[here, self.home], write), "windows": windows}


def _entries(part: PointSources, solver: Solver) -> Entries:
    """Return the entries of sources; a collective call, as all processes need the clusters of spread sources."""
    assert part.spread is not None
    over, operator = part.spread, solver.operator
    clusters = np.zeros((part.count, operator.layout.clusters))
    clusters[part.items[over.source], clusters_of(operator, over.cells)] = 1
    here = np.flatnonzero(part.cells >= 0)
    clusters[part.items[here], clusters_of(operator, part.cells[here])] = 2
    clusters = np.array(solver.world.largest(clusters.ravel().tolist())).reshape(clusters.shape)[part.items]
    return Entries(over.source, over.cells, over.rows, clusters, over.moment)


@dataclass(frozen=True)
class SourceReplay:
    """Source terms during replays: while any source acts, every step of its cluster adds its share, even if zero."""

    terms: SourceTerms

    def key(self, steps: Sequence[int]) -> Hashable:
        return ()

    def table_bytes(self, steps: Sequence[int]) -> int:
        return self.terms.nbytes(steps)

    def begin(self, due: bool) -> None:
        self.terms.acting = due

    def tables(self, cluster: int, time: float, step: float) -> Sequence[Scalars]:
        return [{"amounts": self.terms.amounts(cluster, time, step)}]

    def end(self) -> None:
        self.terms.acting = False
