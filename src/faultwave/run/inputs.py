"""Check of input files that need no mesh, so that neither a broken mesh nor an invalid setting hides their errors.

These are models, sources and stations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from faultwave.base.errors import InputError, NotBuiltError, Problem, Problems, collect_problems
from faultwave.base.files.paths import searching_case_folders
from faultwave.base.spans import phase
from faultwave.base.types import Setting
from faultwave.case.load import load_case
from faultwave.case.native import located
from faultwave.case.settings.model import Case
from faultwave.domain.tets import check_mesh, load_mesh
from faultwave.domain.tets.generators.generate import SCRIPTS, SHAPES
from faultwave.media import load_field
from faultwave.observe.stations.points import read_points, read_stations
from faultwave.physics.sources.load import load_sources
from faultwave.physics.waves import law

LARGEST_MESH = 1 << 30
"""Largest size [bytes] of a mesh file that is read only for its errors, next to invalid settings."""


def load_case_and_inputs(case: object, overrides: Mapping[str, object] | None = None) -> tuple[Case | None, Problems]:
    """Load a case; if it is invalid, also find the problems of its valid settings and of the files they name."""
    settings, problems = load_case(case, overrides)
    if settings is None:
        rest, later = load_case(case, overrides, partial=True)
        more = [*later.errors, *([] if rest is None else _input_problems(rest, True))]
        problems.extend(p for p in dict.fromkeys(more) if p not in problems.items)
    return settings, problems


@phase("read the case")
def load_valid_case(case: object, overrides: Mapping[str, object] | None = None) -> tuple[Case, Problems]:
    """Load a case and return it with its warnings. Raises InputError with all errors at once."""
    settings, problems = load_case_and_inputs(case, overrides)
    problems.raise_errors()
    assert settings is not None  # it is None only where there are errors
    return settings, problems


def with_input_errors(case: Case, error: InputError) -> InputError:
    """Return the error of a plan extended by the errors of all other inputs, without duplicates."""
    everything = tuple(dict.fromkeys([*error.problems, *_input_problems(case, False)]))
    only = isinstance(error, NotBuiltError) and len(everything) == len(error.problems)
    return NotBuiltError(everything) if only else InputError(everything)


def _input_problems(case: Case, mesh: bool) -> list[Problem]:
    """Return the problems of the input files.

    ``mesh`` includes the mesh file and the law, which a plan would have read.
    """
    found = Problems()
    with searching_case_folders(case.source_files):
        for read in _readings(case, mesh):
            with collect_problems(found):
                read()
    return located(case, dict.fromkeys(found.errors))


def _readings(case: Case, mesh: bool) -> list[Callable[[], object]]:
    """Return the independent readings of inputs, without any that need invalid settings that were removed."""
    missing = {location[:2] for location in case.left_out} | {location[:1] for location in case.left_out}
    mapped = ("projection",) not in missing  # otherwise longitudes and latitudes cannot be converted
    readings: list[Callable[[], object]] = []
    volumes = {
        str(key): number for number, key in enumerate(case.material.regions)
    }  # a plan checks that the mesh contains them
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


def _fields(case: Case) -> list[tuple[str, Setting]]:
    found: list[tuple[str, Setting]] = [("material", case.material)]
    if case.fault is not None:
        found.append(("fault.parameters", case.fault.parameters))
        found += [(f"fault.nucleation[{i}].stress", e.stress) for i, e in enumerate(case.fault.nucleation)]
    if case.initial.field is not None:
        found.append(("initial.field", case.initial.field))
    return found


def _is_small_mesh(path: Path | None) -> bool:
    """Return True for a file that is read directly, not meshed by Gmsh first, and is small enough."""
    return path is not None and path.suffix.lower() not in (*SCRIPTS, *SHAPES) and path.stat().st_size < LARGEST_MESH
