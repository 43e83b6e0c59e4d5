"""Style common to all figures: sizes, fonts, colours, units on axes, atomic saving, and the options of users."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import Collection, PolyCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, ListedColormap, LogNorm, Normalize, SymLogNorm
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.tri import Triangulation

from faultwave.base import wording
from faultwave.base.errors import Problem, Problems, suggest
from faultwave.base.types import Settings
from faultwave.base.wording import printable
from faultwave.output.atomic import atomic_path
from faultwave.plot import style

WIDTH = 7.2
"""Width of a figure [inch], for a page of two columns."""
DPI = 200
KM = 1e-3
INK = "#222222"
COLOURS = ("#1f4e79", "#c8553d", "#3a7d44", "#7d5ba6", "#b8860b", "#5f6b76")
"""Line colours that are distinguishable in print and for most colour-blind readers."""

RC: dict[Any, object] = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "axes.labelsize": 9.0,
    "axes.linewidth": 0.7,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "lines.linewidth": 1.1,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "axes.formatter.useoffset": False,
}


@contextmanager
def house() -> Iterator[None]:
    """Apply the fonts and line styles of Faultwave to artists created in the context or decorated function."""
    with mpl.rc_context(RC):
        yield


def colours(name: str) -> Colormap:
    """Return a matplotlib colour map by name."""
    return mpl.colormaps[name]


def light(name: str = "magma_r", start: float = 0.0, end: float = 0.58) -> Colormap:
    """Return the light part of a perceptually uniform colour map, on which dark lines and text remain legible."""
    return ListedColormap(colours(name)(np.linspace(start, end, 256)), name=f"{name}-light")


def figure(width: float = WIDTH, height: float = 4.0) -> Figure:
    """Return a figure with constrained layout, independent of windows and global state."""
    return Figure(figsize=(width, height), layout="constrained")


FORMATS = ("png", "pdf", "svg")


@dataclass(frozen=True)
class Options:
    """Options of drawing and saving figures.

    Attributes
    ----------
    format : str
        File format.
    dpi : int
        Resolution [dots per inch].
    log : bool
        True for logarithmic colour scales of maps.
    axes : tuple of str
        Labels of x, y and z.
    codes : bool
        True if stations are labelled on maps.
    """

    format: str = "png"
    dpi: int = DPI
    log: bool = False
    axes: tuple[str, str, str] = ("x", "y", "z")
    codes: bool = False


USUAL = Options()
_options: ContextVar[Options] = ContextVar("options", default=USUAL)


def options() -> Options:
    """Return the options of the figures that are being drawn."""
    return _options.get()


@contextmanager
def drawn_with(chosen: Options) -> Iterator[None]:
    """Draw and save figures in the context with these options."""
    token = _options.set(chosen)
    try:
        yield
    finally:
        _options.reset(token)


def along(axis: int, unit: str) -> str:
    """Return the label of an axis of a map, such as 'east [km]'."""
    return f"{options().axes[axis]} [{unit}]"


def save(fig: Figure, path: Path) -> Path:
    """Save a figure atomically in the requested format and return its path."""
    if path.suffix == ".png":
        path = path.with_name(f"{path.name.removesuffix('png')}{options().format}")
    for text in _texts(fig):
        text.set_text(printable(text.get_text()))
        text.set_parse_math(False)  # texts of users may contain dollar signs
    with atomic_path(path) as temporary, np.errstate(all="ignore"):
        fig.savefig(temporary, format=options().format, dpi=options().dpi)
    return path


def _texts(artist: Artist) -> Iterator[Text]:
    """Yield every text of a figure except tick labels, which matplotlib creates itself when it draws."""
    for child in artist.get_children():
        if isinstance(child, Axis):
            yield child.label
            continue
        if isinstance(child, Text):
            yield child
        yield from _texts(child)


def positive_scale(values: np.ndarray, percentile: float = 100.0) -> tuple[Normalize, str]:
    """Return a scale from 0 to a percentile, or over three decades below it if logarithmic, and the ``extend`` of its colour bar."""
    top = top_value(values, percentile)
    if not options().log:
        return Normalize(0.0, top), beyond(values, top)
    return LogNorm(1e-3 * top, top), "both" if beyond(values, top) == "max" else "min"


def signed_scale(values: np.ndarray, percentile: float = 100.0) -> tuple[Normalize, str]:
    """Return a scale around 0 up to a percentile of the magnitudes, and the ``extend`` of its colour bar.

    A logarithmic scale is linear up to a thousandth of the limit.
    """
    top = top_value(np.abs(values), percentile)
    extend = "both" if beyond(np.abs(values), top) == "max" else "neither"
    return (SymLogNorm(1e-3 * top, vmin=-top, vmax=top) if options().log else Normalize(-top, top)), extend


def mosaic(fig: Figure, rows: int, columns: int, **options: Any) -> np.ndarray:
    """Return axes, always of shape (rows, columns); options as for ``Figure.subplots``."""
    return np.asarray(fig.subplots(rows, columns, squeeze=False, **options))


def field_scale(values: np.ndarray) -> tuple[Normalize, str, str]:
    """Return norm, colour bar ``extend`` and colour map of a field, symmetric around 0 if it has both signs."""
    known = values[np.isfinite(values)]
    if len(known) and known.min() < 0:
        return (*signed_scale(known, 99.8), "RdBu_r")
    return (*positive_scale(known, 99.8), "viridis")


def colour_bar(axes: Axes, mappable: ScalarMappable, label: str, extend: str = "neither") -> Colorbar:
    """Add a colour bar of exactly the height of axes of equal aspect, at their right."""
    place = axes.inset_axes((1.025, 0.0, 0.028, 1.0))
    bar = axes.figure.colorbar(mappable, cax=place, label=label, extend=extend)
    bar.outline.set_linewidth(0.5)
    return bar


def _shown(values: np.ndarray, norm: Normalize) -> np.ndarray:
    """Return values clipped to the lower end of a logarithmic scale, so that zeros are drawn in its lowest colour."""
    return np.maximum(values, norm.vmin) if isinstance(norm, LogNorm) and norm.vmin is not None else values


def draw_cells(
    axes: Axes, xy: np.ndarray, cells: np.ndarray, values: np.ndarray, cmap: Colormap, norm: Normalize
) -> PolyCollection:
    """Draw triangles in flat colours: xy (np, 2), cells (nc, 3), values (nc,)."""
    values = _shown(values, norm)
    # without anti-aliasing neighbours meet exactly; with it the background is visible between them
    patches = PolyCollection(
        xy[cells], array=values, cmap=cmap, norm=norm, edgecolors="none", linewidths=0.0, antialiaseds=False
    )
    patches.set_rasterized(True)
    axes.add_collection(patches)
    axes.set_aspect("equal")
    return patches


def draw_smooth(axes: Axes, xy: np.ndarray, corners: np.ndarray, cmap: Colormap, norm: Normalize) -> Collection:
    """Draw triangles (nc, 3, 2) with colours interpolated between the values (nc, 3) at their corners."""
    x, y = xy.reshape(-1, 2).T
    triangles = np.arange(len(x)).reshape(-1, 3)
    values = _shown(corners.reshape(-1), norm)
    mesh = axes.tripcolor(Triangulation(x, y, triangles), values, shading="gouraud", cmap=cmap, norm=norm)
    mesh.set_rasterized(True)
    axes.set_aspect("equal")
    return mesh


def top_value(values: np.ndarray, percentile: float = 100.0) -> float:
    """Return the upper end of a colour scale from 0; 1 if all values are zero."""
    finite = values[np.isfinite(values)]
    top = float(np.percentile(finite, percentile)) if finite.size else 0.0
    return top if top > 0 else 1.0


def beyond(values: np.ndarray, top: float) -> str:
    """Return the ``extend`` of a colour bar that ends at ``top``: 'max' or 'neither'."""
    return "max" if values.size and np.nanmax(values) > top * (1 + 1e-9) else "neither"


def nice_step(span: float, most: int, steps: Sequence[float]) -> float:
    """Return the first of ``steps`` that divides the span into at most ``most`` pieces, else the last."""
    return next((step for step in steps if span / step <= most), steps[-1])


def time_unit(end: float) -> tuple[float, str]:
    """Return size [s] and name of a unit in which times up to ``end`` [s] have few digits."""
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    return next((unit for unit in units if end >= unit[0]), units[-1] if 0 < end else units[0])


INLINE = {"png": "image/png", "svg": "image/svg+xml"}


class Pictures(list[Path]):
    """Paths of the figures written; a notebook displays the figures. ``notes`` states why others were not drawn."""

    def __init__(self, paths: Iterable[Path] = (), notes: Iterable[Problem] = ()):
        super().__init__(paths)
        self.notes = tuple(notes)

    def _repr_html_(self) -> str:
        return "".join(_as_html(path) for path in self) + wording.html_paragraphs(map(str, self.notes))


def _as_html(path: Path) -> str:
    kind = INLINE.get(path.suffix[1:])
    if kind is None or not path.is_file():
        return f"<p>{escape(str(path))}</p>"
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<p><img src="data:{kind};base64,{data}" alt="{escape(path.name)}" style="max-width:100%"/></p>'


@dataclass(frozen=True)
class Look:
    """Options of figures: see ``faultwave.plot``."""

    field: str | None = None
    time: float | str | None = None
    format: str = "png"
    dpi: int = style.DPI
    log: bool = False
    stations: Sequence[str | int] | None = None
    axes: Sequence[str] | None = None


def changed_look(look: Look | None, changes: Settings) -> Look:
    """Return ``look`` with other options replaced; raise TypeError for unknown ones."""
    names = list(Look.__dataclass_fields__)
    wrong = [name for name in changes if name not in names]
    if wrong:
        raise TypeError(
            f"plot() got an unexpected argument '{wrong[0]}'; it knows {', '.join(['out', 'prefix', *names])}"
        )
    return replace(look or Look(), **changes)


def checked_look(look: Look, axes: Sequence[str], problems: Problems) -> style.Options:
    """Return validated drawing options; ``axes`` are the default labels of x, y and z."""
    if look.format not in style.FORMATS:
        reported = suggest(look.format, style.FORMATS)
        problems.error("format", f"'{look.format}' is not a format of pictures", ", ".join(style.FORMATS), reported)
    if not 10 <= look.dpi <= 2400:
        problems.error("dpi", f"{look.dpi} dots an inch", "10 to 2400")
    if look.axes is not None and len(look.axes) not in (2, 3):
        problems.error("axes", f"{len(look.axes)} names", "names of x and y, and optionally of z")
        return style.USUAL
    x, y, z = (*(look.axes or axes), "z")[:3]
    return style.Options(look.format, look.dpi, look.log, (x, y, z), look.stations is not None)
