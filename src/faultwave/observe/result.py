"""Result of a capability, and the formats that write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from faultwave.observe.dataset import Dataset


@dataclass(frozen=True)
class Result:
    """Result of a capability.

    Attributes
    ----------
    kind : str
        Kind, which determines the formats that write it.
    data : Dataset
        Values.
    name : str
        Name that distinguishes results of one kind.
    settings : mapping
        Settings for the format.
    """

    kind: str
    data: Dataset
    name: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
