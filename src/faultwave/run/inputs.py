"""What is wrong in files that can be read without a mesh: neither a broken mesh nor a misspelt setting hides the errors of models,
sources and stations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from faultwave.base.collect import collected
from faultwave.base.errors import InputError, NotBuiltError, Problem, Problems
from faultwave.base.paths import beside_case
from faultwave.case.load import load_case
from faultwave.case.locate import located
from faultwave.case.model import Case
from faultwave.domain.tets import check_mesh, load_mesh
from faultwave.domain.tets.gmsh_geometry import SCRIPTS, SHAPES
from faultwave.media import load_field
from faultwave.observe.points import read_points, read_stations
from faultwave.physics.sources.load import load_sources
from faultwave.physics.waves import law

LARGEST_MESH = 1 << 30
"""Bytes of a mesh file that is read only to see whether it is sound, beside settings that are not."""


def read_case(case: object, overrides: Mapping[str, Any] | None = None) -> tuple[Case | None, Problems]:
    """``load_case``; of a case that is wrong also what its sound settings lack together, and what is wrong in the files that they name."""
    settings, problems = load_case(case, overrides)
    if settings is None:
        rest, later = load_case(case, overrides, partial=True)
        more = [*later.errors, *([] if rest is None else _of_files(rest, True))]
        problems.extend(p for p in dict.fromkeys(more) if p not in problems.items)
    return settings, problems


def load_sound(case: object, overrides: Mapping[str, Any] | None = None) -> tuple[Case, Problems]:
    """``read_case`` of a case without errors, and its warnings. Raises InputError with all errors at once."""
    settings, problems = read_case(case, overrides)
    problems.raise_errors()
    assert settings is not None  # it is None only where there are errors
    return settings, problems


def with_other_inputs(case: Case, error: InputError) -> InputError:
    """The error of a plan with what is wrong in all other inputs, each once."""
    everything = tuple(dict.fromkeys([*error.problems, *_of_files(case, False)]))
    only = isinstance(error, NotBuiltError) and len(everything) == len(error.problems)
    return NotBuiltError(everything) if only else InputError(everything)


def _of_files(case: Case, mesh: bool) -> list[Problem]:
    """``mesh``: of a mesh file and of the law, too, which a plan would have read."""
    found = Problems()
    with beside_case(case.source_files):
        for read in _readings(case, mesh):
            with collected(found):
                read()
    return located(case, dict.fromkeys(found.errors))


def _readings(case: Case, mesh: bool) -> list[Callable[[], Any]]:
    """What is read, each for itself. Of settings with something left out only what does not need that."""
    missing = {location[:2] for location in case.left_out} | {location[:1] for location in case.left_out}
    mapped = ("projection",) not in missing  # else longitudes and latitudes cannot be told
    readings: list[Callable[[], Any]] = []
    volumes = {
        str(key): number for number, key in enumerate(case.material.regions)
    }  # whether the mesh has them is told elsewhere
    for where, field in _fields(case):
        if any(getattr(field, way) for way in ("easi", "constant", "expression", "layers", "models", "regions")):
            here = volumes if where == "material" else None
            readings.append(partial(load_field, field, where, None, here, {}, case.projection))
    if mapped:
        readings.append(partial(load_sources, case.sources, projection=case.projection, warned=Problems()))
        for setting in (case.output.receivers, case.output.fault_receivers):
            if setting is not None:
                readings.append(partial(read_points, setting, case.projection))
        if case.output.receivers is not None and ("output", "receivers") not in missing:
            readings.append(partial(read_stations, case.output.receivers))
    if mesh and ("law",) not in missing:
        readings.append(lambda: law(case.law))
    if mesh and case.mesh is not None and _is_small_mesh(case.mesh.file):
        readings.append(lambda: check_mesh(load_mesh(case.mesh)).raise_errors())
    return readings


def _fields(case: Case) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = [("material", case.material)]
    if case.fault is not None:
        found.append(("fault.parameters", case.fault.parameters))
        found += [(f"fault.nucleation[{i}].stress", e.stress) for i, e in enumerate(case.fault.nucleation)]
    if case.initial.field is not None:
        found.append(("initial.field", case.initial.field))
    return found


def _is_small_mesh(path: Path | None) -> bool:
    """Whether it is a file that is read, not one that Gmsh meshes first."""
    return path is not None and path.suffix.lower() not in (*SCRIPTS, *SHAPES) and path.stat().st_size < LARGEST_MESH


__all__ = ["load_sound", "read_case", "with_other_inputs"]
