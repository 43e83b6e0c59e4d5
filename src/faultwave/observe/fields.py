"""Names of the fields that snapshots may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from faultwave.base.errors import InputError, Problem, Problems, suggest

WRITE_BUFFER = 1 << 28
"""Bytes of snapshots that wait for the disk at most."""

NODE = 32
"""Bytes of a node of a cell in a file of snapshots: its place and its number. Cells share no nodes."""

CELL = 29
"""Bytes of a cell beside its nodes: where they begin, its kind, its number in the mesh, its cluster and its group."""

SURFACE_FIELDS = ("v1", "v2", "v3", "u1", "u2", "u3", "PGV")

LOCATIONS = {"rock": 0, "water": 1, "free surface": 2, "sea surface": 3, "free water": 4}
"""``locationFlag`` of a surface's faces: the two sides of a sea floor, and what bounds the mesh: rock and water without traction, and
water that gravity keeps level."""


def volume_fields(setting: Any, law: Any, more: Sequence[str] = ()) -> list[str]:
    """Fields of the volume's snapshots, of the law's quantities and ``more``; velocities unless the case says otherwise."""
    default = law.roles.get("velocity", law.quantities[: law.visible])
    return known_fields(setting.fields, [*law.quantities, *more], default, "output.volume.fields")


def surface_fields(setting: Any, more: Sequence[str] = ()) -> list[str]:
    """Quantities of the surface's snapshots, and ``more`` that there are where the case names them."""
    return known_fields(setting.fields, [*SURFACE_FIELDS, *more], SURFACE_FIELDS, "output.surface.fields")


def fault_receiver_fields(setting: Any, known: Sequence[str]) -> list[str]:
    """Quantities of histories on a fault; tractions as totals unless the case says otherwise."""
    default = [n for n in known if n not in ("T_s", "T_d", "P_n")]
    return known_fields(setting.fields, known, default, "output.fault_receivers.fields")


def known_fields(asked: Sequence[str] | None, known: Sequence[str], default: Sequence[str], where: str) -> list[str]:
    """The fields asked for, or the default ones. Raises InputError where one is not among those ``known``."""
    wrong = [f for f in asked or [] if f not in known]
    if wrong:
        raise InputError([Problem(where, f"'{f}' does not exist", ", ".join(known), suggest(f, known)) for f in wrong])
    return list(asked or default)


def check_snapshots(where: str, setting: Any, xdmf: bool, problems: Problems) -> None:
    """Of snapshots on a mesh: formats and thinning that only grids have, and cells that XDMF does not have."""
    if setting.formats != ["vtkhdf"]:
        allowed = "vtkhdf with engine: dg (and output.xdmf)"
        problems.error(f"{where}.formats", "only grids have others", allowed)
    if setting.every != 1:
        problems.error(f"{where}.every", "thins out grids only", "1 with engine: dg")
    if xdmf and setting.degree is not None:
        problems.warn(f"{where}.degree", "XDMF has no cells of high degree: this output is written as VTKHDF only")


def snapshot_count(setting: Any, case: Any) -> int:
    """Snapshots until the end of a run."""
    return int(case.end_time / setting.interval + 1e-9) + 1


def snapshot_bytes(setting: Any, case: Any, values: int, fields: int, corners: int) -> int:
    """What snapshots of so many values a field take on the disk, in each of their files, with the mesh, which each holds once. A value is
    that of a cell with so many ``corners``, or with ``degree`` that of a node."""
    files = 2 if case.output.xdmf and setting.degree is None else 1
    snapshots = snapshot_count(setting, case) * fields * (4 if case.output.precision == "single" else 8)
    mesh = corners * NODE + CELL if setting.degree is None else NODE
    return files * values * (snapshots + mesh)


def snapshot_row(name: str, setting: Any, case: Any, values: int, fields: int, corners: int) -> tuple[str, str]:
    """What snapshots of so many values a field will take, for ``faultwave plan``."""
    steps, size = snapshot_count(setting, case), snapshot_bytes(setting, case, values, fields, corners)
    what = "cells" if setting.degree is None else "nodes"
    return name, f"{steps} snapshots of {values:,} {what}, {fields} fields: {size / 2**20:,.1f} MiB"
