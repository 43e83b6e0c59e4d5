"""Type of parts of interactive figures."""

from __future__ import annotations

from typing import Any, TypeAlias

Plotted: TypeAlias = dict[str, Any]
"""Part of a figure in the JSON of Plotly: a trace, an axis, or the layout."""

__all__ = ["Plotted"]
