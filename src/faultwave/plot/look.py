"""Options common to all figures, their validation, and the list of figures written."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from faultwave.base import wording
from faultwave.base.errors import Problem, Problems, suggest
from faultwave.base.types import Settings
from faultwave.plot import style

INLINE = {"png": "image/png", "svg": "image/svg+xml"}


class Pictures(list[Path]):
    """Paths of the figures written; a notebook displays the figures. ``notes`` states why others were not drawn."""

    def __init__(self, paths: Iterable[Path] = (), notes: Iterable[Problem] = ()):
        super().__init__(paths)
        self.notes = tuple(notes)

    def _repr_html_(self) -> str:
        return "".join(_shown(path) for path in self) + wording.html_paragraphs(map(str, self.notes))


def _shown(path: Path) -> str:
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


def changed(look: Look | None, asked: Settings) -> Look:
    """Return ``look`` with other options replaced; raise TypeError for unknown ones."""
    names = list(Look.__dataclass_fields__)
    wrong = [name for name in asked if name not in names]
    if wrong:
        raise TypeError(
            f"plot() got an unexpected argument '{wrong[0]}'; it knows {', '.join(['out', 'prefix', *names])}"
        )
    return replace(look or Look(), **asked)


def checked(look: Look, axes: Sequence[str], problems: Problems) -> style.Options:
    """Return validated drawing options; ``axes`` are the default labels of x, y and z."""
    if look.format not in style.FORMATS:
        reported = suggest(look.format, style.FORMATS)
        problems.error("format", f"'{look.format}' is no format of pictures", ", ".join(style.FORMATS), reported)
    if not 10 <= look.dpi <= 2400:
        problems.error("dpi", f"{look.dpi} dots an inch", "10 to 2400")
    if look.axes is not None and len(look.axes) not in (2, 3):
        problems.error("axes", f"{len(look.axes)} names", "names of x and y, and of z if wanted")
        return style.USUAL
    x, y, z = (*(look.axes or axes), "z")[:3]
    return style.Options(look.format, look.dpi, look.log, (x, y, z), look.stations is not None)


__all__ = ["Look", "Pictures", "changed", "checked"]
