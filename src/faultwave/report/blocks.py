"""Building blocks of a report as plain data: sections of figures, tables, texts, pictures and seismogram browsers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from faultwave.base.types import Record, Settings

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


Plotted: TypeAlias = Settings
"""Part of a figure in the JSON of Plotly: a trace, an axis, or the layout."""


@dataclass(frozen=True)
class Figure:
    """Interactive figure.

    Attributes
    ----------
    title : str
        Caption.
    description : str
        Text for readers who cannot see the figure.
    data : sequence of mapping
        Traces of plotly.js.
    layout : mapping
        Layout of plotly.js.
    height : int
        Height in pixels.
    """

    title: str
    description: str
    data: Sequence[Record]
    layout: Record = field(default_factory=dict)
    height: int = 380


@dataclass(frozen=True)
class Table:
    """Table of texts with a title."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Text:
    """Paragraph; ``verbatim`` preserves its line breaks."""

    text: str
    verbatim: bool = False


@dataclass(frozen=True)
class Picture:
    """PNG image embedded in the page."""

    title: str
    content: bytes


@dataclass(frozen=True)
class Browser:
    """Browser of seismograms.

    Attributes
    ----------
    stations : sequence of str
        Names of the stations.
    quantities : mapping of str to str
        Units by quantity.
    runs : sequence of mapping
        Mappings with 'name' and 'stations': for each station None, or its 'time' and 'values' by quantity, encoded by ``numbers``.
    """

    title: str
    description: str
    stations: Sequence[str]
    quantities: Mapping[str, str]
    runs: Sequence[Record]


Block = Figure | Table | Text | Picture | Browser


@dataclass(frozen=True)
class Section:
    """Section of a report: ``title`` and blocks."""

    title: str
    blocks: Sequence[Block]


def numbers(values: ArrayLike) -> Plotted:
    """Return an array in the encoding of plotly.js: little-endian 32-bit floats in base64, NaN for missing values."""
    array = np.asarray(values, "<f4")
    reported: Plotted = {"dtype": "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return reported | ({"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else {})


def indices(values: ArrayLike) -> Plotted:
    """Return integers in the encoding of plotly.js: little-endian 32-bit integers in base64."""
    return {"dtype": "i4", "bdata": base64.b64encode(np.asarray(values, "<i4").tobytes()).decode("ascii")}
