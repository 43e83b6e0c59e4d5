"""Result of a capability, and the formats that write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultwave.observe.dataset import Dataset


@dataclass(frozen=True)
class Result:
    """``kind`` says which formats write it; ``name`` tells results of one kind apart; ``settings`` are for the format."""

    kind: str
    data: Dataset
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
