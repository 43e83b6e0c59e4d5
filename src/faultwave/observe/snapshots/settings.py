"""Protocols of the settings of snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class NamesFields(Protocol):
    """Settings of an output whose fields can be chosen."""

    @property
    def fields(self) -> Sequence[str] | None: ...


class PiecesSettings(Protocol):
    """Settings of how snapshots divide cells."""

    @property
    def refinement(self) -> int: ...

    @property
    def degree(self) -> int | None: ...


class SnapshotSettings(NamesFields, PiecesSettings, Protocol):
    """Settings of snapshots of a mesh."""

    @property
    def interval(self) -> float: ...

    @property
    def formats(self) -> Sequence[str]: ...

    @property
    def every(self) -> int: ...


class OutputSettings(Protocol):
    """Settings of all outputs that determine the size of snapshots."""

    @property
    def xdmf(self) -> bool: ...

    @property
    def precision(self) -> str: ...


class FieldLaw(Protocol):
    """Wave law, as far as the fields of snapshots depend on it."""

    @property
    def quantities(self) -> Sequence[str]: ...

    @property
    def visible(self) -> int: ...

    @property
    def roles(self) -> Mapping[str, Sequence[str]]: ...


class SnapshotCase(Protocol):
    """Case, as far as the number and size of its snapshots depend on it."""

    @property
    def end_time(self) -> float: ...

    @property
    def output(self) -> OutputSettings: ...


__all__ = ["FieldLaw", "NamesFields", "OutputSettings", "PiecesSettings", "SnapshotCase", "SnapshotSettings"]
