"""Names, sizes, settings and checks of the fields of snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.precision import number_bytes
from faultwave.observe.dataset import sample_count


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


WRITE_BUFFER = 1 << 28
"""Maximum size of snapshots queued for writing [bytes]."""

NODE = 32
"""Size of a node of a cell in a snapshot file [bytes]: position and index. Cells share no nodes."""

CELL = 29
"""Size of a cell without its nodes [bytes]: offset, type, index in the mesh, cluster and group."""

SURFACE_FIELDS = ("v1", "v2", "v3", "u1", "u2", "u3", "PGV")

LOCATIONS = {"rock": 0, "water": 1, "free surface": 2, "sea surface": 3, "free water": 4}
"""Values of ``locationFlag``: the rock and water sides of a sea floor, and the boundaries of the mesh.

Boundaries are free surfaces of rock, sea surfaces with gravity, and free surfaces of water.
"""


def volume_fields(setting: NamesFields, law: FieldLaw, more: Sequence[str] = ()) -> list[str]:
    """Return the fields of volume snapshots: quantities of the law and ``more``, by default the velocities."""
    default = law.roles.get("velocity", law.quantities[: law.visible])
    return known_fields(setting.fields, [*law.quantities, *more], default, "output.volume.fields")


def surface_fields(setting: NamesFields, more: Sequence[str] = ()) -> list[str]:
    """Return the fields of surface snapshots, including fields of ``more`` that the case names."""
    return known_fields(setting.fields, [*SURFACE_FIELDS, *more], SURFACE_FIELDS, "output.surface.fields")


def fault_receiver_fields(setting: NamesFields, known: Sequence[str]) -> list[str]:
    """Return the quantities of fault receivers, by default with total tractions."""
    default = [n for n in known if n not in ("T_s", "T_d", "P_n")]
    return known_fields(setting.fields, known, default, "output.fault_receivers.fields")


def known_fields(
    requested: Sequence[str] | None, known: Sequence[str], default: Sequence[str], where: str
) -> list[str]:
    """Return the requested fields, or the default ones; raise InputError if one is unknown."""
    wrong = [f for f in requested or [] if f not in known]
    if wrong:
        raise InputError([Problem(where, f"'{f}' does not exist", ", ".join(known), suggest(f, known)) for f in wrong])
    return list(requested or default)


def check_snapshots(where: str, setting: SnapshotSettings, xdmf: bool, problems: Problems) -> None:
    """Report settings of mesh snapshots that only grids support, and cells that XDMF does not support."""
    if setting.formats != ["vtkhdf"]:
        allowed = "vtkhdf with engine: dg (and output.xdmf)"
        problems.error(f"{where}.formats", "other formats need a grid", allowed)
    if setting.every != 1:
        problems.error(f"{where}.every", "applies to grids only", "1 with engine: dg")
    if xdmf and setting.degree is not None:
        problems.warn(f"{where}.degree", "XDMF has no cells of high degree: this output is written as VTKHDF only")


def snapshot_count(setting: SnapshotSettings, case: SnapshotCase) -> int:
    """Return the number of snapshots until the end of a run."""
    return sample_count(case.end_time, setting.interval)


def snapshot_bytes(setting: SnapshotSettings, case: SnapshotCase, values: int, fields: int, corners: int) -> int:
    """Return the size of snapshots on disk [bytes], in all their files, including the mesh, stored once in each.

    Parameters
    ----------
    setting : object
        Setting of the snapshots.
    case : object
        The case.
    values : int
        Number of values of a field: one per cell, or one per node if ``degree`` is set.
    fields : int
        Number of fields.
    corners : int
        Number of corners of a cell.
    """
    files = 2 if case.output.xdmf and setting.degree is None else 1
    snapshots = snapshot_count(setting, case) * fields * number_bytes(case.output.precision)
    mesh = corners * NODE + CELL if setting.degree is None else NODE
    return files * values * (snapshots + mesh)


def snapshot_row(
    name: str, setting: SnapshotSettings, case: SnapshotCase, values: int, fields: int, corners: int
) -> tuple[str, str]:
    """Return name and size of snapshots as a row of ``faultwave plan``."""
    steps, size = snapshot_count(setting, case), snapshot_bytes(setting, case, values, fields, corners)
    what = "cells" if setting.degree is None else "nodes"
    return name, f"{steps} snapshots of {values:,} {what}, {fields} fields: {size / 2**20:,.1f} MiB"
