"""Result of a capability, and the formats that write it."""

from __future__ import annotations

from dataclasses import dataclass, field

from faultwave.base.types import Record
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
    settings: Record = field(default_factory=dict)
