"""Identity of members and studies: digests of everything that results depend on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from faultwave.base.files.digests import file_digest
from faultwave.base.types import Settings
from faultwave.case.settings.model import Case
from faultwave.ensemble.design import unit_of_setting
from faultwave.ensemble.members import SET_BY_THE_ENSEMBLE, Members
from faultwave.ensemble.study import ResultSettings
from faultwave.output.manifest import digest

WITHOUT_EFFECT = (*SET_BY_THE_ENSEMBLE, ("title",), ("numerics", "progress_cores"), ("numerics", "halo"))
"""Settings on which no result of an ensemble depends."""


def case_identity(case: Case, results: ResultSettings) -> str:
    """Return the digest of a case, the contents of its files and the results that are stored of it."""
    return digest({"case": _settings(case.model_dump()), "results": _stored(results)})


def study_identity(members: Members) -> str:
    """Return the digest of what two ensembles must have in common to use one folder.

    These are the base case, the variables and the results. Numbers of members and values may differ: their members are recognised by
    their own digests.
    """
    study = members.study
    variables = {n: {"setting": v.setting, "unit": unit_of_setting(v.setting[0])} for n, v in study.vary.items()}
    return digest({"base": _settings(members.base), "variables": variables, "results": _stored(study.results)})


def _stored(results: ResultSettings) -> Settings:
    """Return the results of a member; statistics can be computed anew from stored members."""
    found: Settings = {"stations": results.stations, "maps": results.maps, "runs": results.runs, "store": results.store}
    if results.store == "statistics":
        found |= {"exceedance": results.exceedance, "sketch": bool(results.percentiles)}
    plain: Settings = _plain(found)
    return plain


def _settings(settings: Settings) -> Settings:
    """Return the settings that results depend on, with files as digests of their contents."""
    found: Settings = _plain(settings)
    for location in WITHOUT_EFFECT:
        owner: Any = found
        for part in location[:-1]:
            owner = owner.get(part) if isinstance(owner, dict) else None
        if isinstance(owner, dict):
            owner.pop(location[-1], None)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return file_digest(value) if value.is_file() else str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return repr(value) if isinstance(value, float) else value


def unchanged(files: Iterable[tuple[str, str]]) -> bool:
    """Return True if files, by path and SHA-256, still have the same contents."""
    return all(Path(path).is_file() and file_digest(Path(path)) == found for path, found in files)
