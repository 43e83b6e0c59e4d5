"""Figures of a sea: its height at several times, and the final displacement of the sea floor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultwave.output.formats.image import is_image
from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.output.results import Results
from faultwave.plot import style
from faultwave.plot.surface import MapFrame, choose_locations, draw_map, map_frame, map_height, visible_cells

_SNAPSHOTS = 5


@dataclass(frozen=True)
class Panel:
    """One map: uplift (nc,) [m] of the cells selected in ``file``."""

    title: str
    file: VtkHdfReader
    frame: MapFrame
    uplift: np.ndarray


def _panels(path: Path, fault: Path | None, stack: ExitStack) -> list[Panel]:
    """Return the panels of the sea at up to five times after the first, and of the final sea floor; empty without a sea."""
    found = []
    for place in ("sea surface", "rock"):
        file = stack.enter_context(VtkHdfReader(path))
        if not {"u3", "locationFlag"} <= {*file.fields, *file.static} or not len(file.times):
            return []
        choose_locations(file, place)
        if not len(file.cells):
            continue
        frame, later = map_frame(file, fault, []), np.flatnonzero(file.times > file.times.min())
        count = min(_SNAPSHOTS if place == "sea surface" else 1, len(later))
        for step in later[np.round(np.arange(1, count + 1) * len(later) / max(count, 1)).astype(int) - 1]:
            what = "sea surface" if place == "sea surface" else "sea floor"
            title = f"{what}, t = {file.times[step]:.4g} s"
            found.append(Panel(title, file, frame, np.asarray(file.field("u3", int(step)), float)))
    return found if found and found[0].title.startswith("sea surface") else []


@style.house()
def plot_heights(path: Path, fault: Path | None, target: Path) -> Path | None:
    """Draw the uplift of sea and sea floor on a common scale; return None if there is no sea."""
    with ExitStack() as stack:
        panels = _panels(path, fault, stack)
        if not panels:
            return None
        columns = min(3, len(panels))
        rows = -(-len(panels) // columns)
        fig = style.figure(height=rows * (map_height(panels[0].frame, 5.8 / columns) + 0.3) + 0.5)
        axes = style.mosaic(fig, rows, columns, sharex=True, sharey=True)
        shown = np.concatenate([p.uplift[visible_cells(p.file, p.frame)] for p in panels])
        norm, extend = style.signed_scale(shown, 99.8)
        for ax, panel in zip(axes.flat, panels, strict=False):
            patches = draw_map(ax, panel.file, panel.uplift, panel.frame, norm, stations=False, colours="RdBu_r")
            ax.set_title(panel.title)
        for ax in axes.flat[len(panels) :]:
            ax.set_visible(False)
        for ax in axes[-1]:
            ax.set_xlabel(style.along(0, "km"))
        for ax in axes[:, 0]:
            ax.set_ylabel(style.along(1, "km"))
        fig.colorbar(patches, ax=axes, label="uplift [m]", extend=extend, shrink=0.8, aspect=30, pad=0.015)
        return style.save(fig, target)


def pictures(results: Results, stem: str) -> Iterator[Path | None]:
    """Draw PREFIX-sea-surface."""
    fault, surface = (results.folder / f"{results.prefix}-{name}.vtkhdf" for name in ("fault", "surface"))
    if surface.exists() and not is_image(surface):
        yield plot_heights(surface, fault if fault.exists() else None, Path(f"{stem}-sea-surface.png"))
