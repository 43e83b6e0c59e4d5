"""Picture of a case that cannot be planned: region, faults, sources, receivers, and the places of problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from faultwave.base.errors import FaultwaveError, Problem, Problems
from faultwave.base.projection import Projection
from faultwave.case.settings.model import Case
from faultwave.domain.build.traces import Trace, read_traces
from faultwave.media.rasters import load_ground
from faultwave.observe.model import Marks, Model, Sheet
from faultwave.observe.stations.points import read_points
from faultwave.physics.sources.load import load_sources

LOOK = 150
"""Number of places along x and y at which a raster is drawn."""
AROUND = 0.25
"""Margin around the region that is drawn, relative to its size."""


def sketch(case: Case, problems: Sequence[Problem]) -> Model | None:
    """Return the model for a picture, None if no problem has places; unreadable inputs are omitted."""
    named = [p for p in problems if p.places]
    if not named:
        return None
    rows = [((*place, 0.0)[:3], str(n)) for n, p in enumerate(named, 1) for place in p.places]
    trouble = Marks("trouble", np.array([place for place, _ in rows], float), tuple(number for _, number in rows))
    marks, faults = tuple(_marks(case)), tuple(_faults(case))
    lower, upper = _box(case, [trouble.points, *(m.points for m in marks), *(s.points for s in faults)])
    sheets = (*_ground(case, lower, upper), *faults)
    turned = case.projection is None or case.projection.azimuth != 0
    return Model(
        case.title or case.output.prefix, lower, upper, {}, (), None, marks, sheets,
        axes=("x", "y", "z") if turned else ("east", "north", "up"), trouble=trouble,
        reason="; ".join(f"{n}: {Path(p.where).name}: {p.what}. {p.advice}".strip() for n, p in enumerate(named, 1)),
    )  # fmt: skip


def _box(case: Case, points: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the region that the case states, else the bounding box of everything drawn."""
    for setting in (case.grid, getattr(case.mesh, "build", None), getattr(case.mesh, "generate", None)):
        low, high = getattr(setting, "lower", None), getattr(setting, "upper", None)
        if low is not None and high is not None:
            depth = getattr(setting, "depth", 0.0) if len(low) == 2 else -low[2]
            return np.array([*low[:2], -depth], float), np.array([*high[:2], 0.0], float)
    every = np.concatenate(list(points))
    return every.min(0), every.max(0)


def _marks(case: Case) -> Iterator[Marks]:
    setting = case.output.receivers
    if setting is not None:
        try:
            yield Marks("receivers", read_points(setting, case.projection))
        except FaultwaveError:
            pass
    try:
        found = load_sources(case.sources, projection=case.projection, warned=Problems())
        if len(found):
            yield Marks("sources", np.asarray(found.location, float).reshape(-1, 3))
    except FaultwaveError:
        pass


def _faults(case: Case) -> Iterator[Sheet]:
    """Yield the faults given by traces, drawn as if vertical."""
    built = getattr(case.mesh, "build", None)
    projection = None
    if case.projection is not None:
        projection = Projection(case.projection.crs, case.projection.origin, case.projection.azimuth)
    for requested in built.faults if built is not None else ():
        if requested.trace is None:
            continue
        try:
            yield from (_sheet(trace, float(requested.depth)) for trace in read_traces(requested.trace, projection))
        except FaultwaveError:
            continue


def _ground(case: Case, lower: np.ndarray, upper: np.ndarray) -> Iterator[Sheet]:
    """Yield the ground from a raster in the region and its margin, omitting places without a value."""
    setting = getattr(case.grid, "topography", None) or getattr(getattr(case.mesh, "build", None), "topography", None)
    if setting is None:
        return
    margin = AROUND * (upper - lower)[:2]
    x, y = (np.linspace(a, b, LOOK) for a, b in zip(lower[:2] - margin, upper[:2] + margin, strict=True))
    places = np.stack([a.ravel() for a in np.meshgrid(x, y, indexing="ij")], 1)
    try:
        heights = load_ground(setting, case.projection, "topography").known(places)
    except FaultwaveError:
        return
    a = (np.arange(LOOK - 1)[:, None] * LOOK + np.arange(LOOK - 1)).ravel()
    corners = np.stack([a, a + LOOK, a + LOOK + 1, a + 1], 1)
    cells = corners[np.isfinite(heights[corners]).all(1)][:, [[0, 1, 2], [0, 2, 3]]].reshape(-1, 3)
    if len(cells):
        yield Sheet("ground", np.column_stack([places, np.nan_to_num(heights)]), cells)


def _sheet(trace: Trace, depth: float) -> Sheet:
    count = len(trace.xy)
    edges = [np.column_stack([trace.xy, np.full(count, z)]) for z in (0.0, -depth)]
    a = np.arange(count - 1)
    cells = np.concatenate([np.column_stack([a, a + 1, a + count]), np.column_stack([a + 1, a + 1 + count, a + count])])
    return Sheet("fault", np.concatenate(edges), cells)
