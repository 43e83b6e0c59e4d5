"""Section with slip on all faults and ground motion in three dimensions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from faultwave.output.formats.vtkhdf import VtkHdfReader
from faultwave.plot.style import KM
from faultwave.plot.surface import Surface, peak_velocity
from faultwave.report.blocks import Figure, Plotted, Section, indices, numbers
from faultwave.report.figures import axis, bar, colour_range, scale
from faultwave.report.loaded import Run

ORDER = 5
MOST = 60_000
"""Maximum number of triangles of a surface; a larger one is omitted because of the page size."""


def sections(run: Run, other: Run | None) -> Iterator[Section]:
    """Yield the sections with a three-dimensional view of fault and surface."""
    data, words, surface = [], [], run.surface()
    path = run.file("fault.vtkhdf")
    if path is not None:
        with VtkHdfReader(path) as file:
            slip = _slip(file)
            if slip is not None and 0 < len(file.cells) <= MOST:
                data.append(_mesh("fault", file.points, file.cells, slip, "slip [m]", "YlOrBr", 1.0))
                words.append(f"slip on the fault, at most {np.nanmax(slip):.3g} m as an element's mean")
    if surface is not None:
        with surface:
            moved = _moved(surface)
            if moved is not None and len(surface.cells) <= MOST:
                data.append(
                    _mesh("ground", surface.points, surface.cells, moved, "peak ground speed [m/s]", "viridis", 0.55)
                )
                words.append("the largest horizontal speed of the ground")
    if path is None or not data:
        yield Section("In three dimensions", [])
        return
    for place, mesh in zip((1.0, 1.14), data, strict=False):
        mesh["colorbar"] |= {"x": place, "len": 0.7}
    scene: Plotted = {f"{n}axis": axis(f"{n} [km]") for n in "xyz"}
    scene |= {"aspectmode": "data", "camera": {"eye": {"x": -1.35, "y": -1.6, "z": 0.85}}}
    reported = f"In three dimensions: {' and '.join(words)}. Drag to rotate, scroll to zoom."
    layout = {"scene": scene, "margin": {"l": 0, "r": 0, "t": 10, "b": 0}}
    yield Section("In three dimensions", [Figure("Fault and ground", reported, data, layout, 520)])


def _slip(file: VtkHdfReader) -> np.ndarray | None:
    if not len(file.times):
        return None
    if "Sls" in file and "Sld" in file:
        return np.hypot(file.field("Sls"), file.field("Sld"))
    return np.asarray(file.field("ASl"), float) if "ASl" in file else None


def _moved(surface: Surface) -> np.ndarray | None:
    return peak_velocity(surface) if len(surface.cells) and len(surface.times) else None


def _mesh(
    name: str, points: np.ndarray, cells: np.ndarray, values: np.ndarray, label: str, colours: str, opacity: float
) -> Plotted:
    x, y, z = (KM * np.asarray(points, float)).T
    low, high = colour_range([values])
    return {
        "type": "mesh3d", "name": name, "x": numbers(x), "y": numbers(y), "z": numbers(z),
        "i": indices(cells[:, 0]), "j": indices(cells[:, 1]), "k": indices(cells[:, 2]), "intensity": numbers(values),
        "intensitymode": "cell", "colorscale": scale(colours), "cmin": low, "cmax": high, "opacity": opacity, "flatshading": True,
        "lighting": {"ambient": 1.0, "diffuse": 0.0, "specular": 0.0}, "colorbar": bar(label), "showscale": True,
    }  # fmt: skip
