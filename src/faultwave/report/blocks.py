"""What a report is made of: sections of figures, tables, texts, pictures and a browser of seismograms, as plain data."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Figure:
    """A figure that can be zoomed. ``data``, ``layout``: those of plotly.js; ``description``: what a reader who cannot see it is told."""

    title: str
    description: str
    data: Sequence[Mapping[str, Any]]
    layout: Mapping[str, Any] = field(default_factory=dict)
    height: int = 380


@dataclass(frozen=True)
class Table:
    """Rows of texts under a title."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Text:
    """A paragraph; with ``verbatim`` a text to be kept line by line."""

    text: str
    verbatim: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG image, put into the page."""

    title: str
    content: bytes


@dataclass(frozen=True)
class Browser:
    """Seismograms to choose from. ``stations``: names; ``quantities``: name -> unit; ``runs``: mappings with 'name' and 'stations', of
    each None or its 'time' and 'values' by quantity (``numbers``)."""

    title: str
    description: str
    stations: Sequence[str]
    quantities: Mapping[str, str]
    runs: Sequence[Mapping[str, Any]]


Block = Figure | Table | Text | Picture | Browser


@dataclass(frozen=True)
class Section:
    """``title``, and what stands under it."""

    title: str
    blocks: Sequence[Block]


def numbers(values: Any) -> dict[str, Any]:
    """An array as plotly.js takes it: little-endian 32-bit numbers in base64, NaN where there is none."""
    array = np.asarray(values, "<f4")
    told: dict[str, Any] = {"dtype": "f4", "bdata": base64.b64encode(array.tobytes()).decode("ascii")}
    return told | ({"shape": ", ".join(map(str, array.shape))} if array.ndim > 1 else {})


def indices(values: Any) -> dict[str, Any]:
    """Whole numbers likewise."""
    return {"dtype": "i4", "bdata": base64.b64encode(np.asarray(values, "<i4").tobytes()).decode("ascii")}


__all__ = ["Block", "Browser", "Figure", "Picture", "Section", "Table", "Text", "indices", "numbers"]
