"""What is wrong with the inputs that can be read without a mesh: a broken mesh does not hide the errors of models and sources."""

from __future__ import annotations

from faultwave.base.collect import collected
from faultwave.base.errors import InputError, NotBuiltError, Problems
from faultwave.case.model import Case
from faultwave.media import load_field
from faultwave.observe.points import read_points, read_stations
from faultwave.physics.sources.load import load_sources


def with_other_inputs(case: Case, error: InputError) -> InputError:
    """The error with what is wrong in all other inputs, each once."""
    found = Problems()
    found.extend(error.problems)
    _read(case, found)
    everything = tuple(dict.fromkeys(p for p in found.items if p.severity == "error" or p in error.problems))
    only = isinstance(error, NotBuiltError) and len(everything) == len(error.problems)
    return NotBuiltError(everything) if only else InputError(everything)


def _read(case: Case, problems: Problems) -> None:
    volumes = {
        str(key): number for number, key in enumerate(case.material.regions)
    }  # which the mesh has is told elsewhere
    with collected(problems):
        load_field(case.material, "material", None, volumes, {}, case.projection)
    if case.fault is not None:
        with collected(problems):
            load_field(case.fault.parameters, "fault.parameters")
        for i, episode in enumerate(case.fault.nucleation):
            with collected(problems):
                load_field(episode.stress, f"fault.nucleation[{i}].stress")
    if case.initial.field is not None:
        with collected(problems):
            load_field(case.initial.field, "initial.field")
    with collected(problems):
        load_sources(case.sources, projection=case.projection, warned=Problems())
    for setting in (case.output.receivers, case.output.fault_receivers):
        if setting is not None:
            with collected(problems):
                read_points(setting, case.projection)
    if case.output.receivers is not None:
        with collected(problems):
            read_stations(case.output.receivers)


__all__ = ["with_other_inputs"]
