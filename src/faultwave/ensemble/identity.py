"""Identity of members and studies: digests of everything that results depend on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultwave.base.files.digests import file_digest
from faultwave.base.types import Settings
from faultwave.case.settings.model import Case
from faultwave.case.validate import Location
from faultwave.ensemble.study import ResultSettings
from faultwave.output.manifest import digest

SET_BY_THE_ENSEMBLE: tuple[Location, ...] = (
    ("output", "folder"),
    ("output", "prefix"),
    ("output", "checkpoint"),
    ("numerics", "threads"),
    ("numerics", "progress"),
    ("source_files",),
)
"""Settings that cannot vary, because the ensemble determines them."""
WITHOUT_EFFECT = (*SET_BY_THE_ENSEMBLE, ("title",), ("numerics", "progress_cores"), ("numerics", "halo"))
"""Settings on which no result of an ensemble depends."""


@dataclass(frozen=True)
class Identity:
    """Identity of a case.

    Attributes
    ----------
    digest : str
        Digest of the settings, the contents of all files and the results that are stored.
    files : tuple of (str, str)
        Files by path and SHA-256, the latter empty for a file that does not exist.
    """

    digest: str
    files: tuple[tuple[str, str], ...]

    @property
    def holds(self) -> bool:
        """True if the files still have the same contents."""
        return all(_digest_of(Path(path)) == found for path, found in self.files)


def identify(case: Case, results: ResultSettings) -> Identity:
    """Return the identity of a case: its digest, and the files that the digest depends on."""
    files: dict[str, str] = {}
    found = digest({"case": effective_settings(case.model_dump(), files), "results": stored_settings(results)})
    return Identity(found, tuple(files.items()))


def case_identity(case: Case, results: ResultSettings) -> str:
    """Return the digest of a case, the contents of its files and the results that are stored of it."""
    return identify(case, results).digest


def stored_settings(results: ResultSettings) -> Settings:
    """Return the results of a member; statistics can be computed anew from stored members."""
    found: Settings = {"stations": results.stations, "maps": results.maps, "runs": results.runs, "store": results.store}
    if results.store == "statistics":
        found |= {"exceedance": results.exceedance, "sketch": bool(results.percentiles)}
    plain: Settings = _plain(found, {})
    return plain


def effective_settings(settings: Settings, files: dict[str, str]) -> Settings:
    """Return the settings that results depend on, with files as digests of their contents, which are added to ``files``."""
    used = dict(settings)
    for location in WITHOUT_EFFECT:
        owner: Any = used
        for part in location[:-1]:
            if not isinstance(owner.get(part), dict):
                break
            owner[part] = dict(owner[part])
            owner = owner[part]
        else:
            owner.pop(location[-1], None)
    found: Settings = _plain(used, files)
    return found


def _plain(value: Any, files: dict[str, str]) -> Any:
    if isinstance(value, Path):
        found = files[str(value)] = _digest_of(value)
        return found or str(value)
    if isinstance(value, dict):
        return {str(k): _plain(v, files) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v, files) for v in value]
    return repr(value) if isinstance(value, float) else value


def _digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, an empty text if there is no file."""
    return file_digest(path) if path.is_file() else ""


def unchanged(files: Iterable[tuple[str, str]]) -> bool:
    """Return True if files, by path and SHA-256, still have the same contents."""
    return all(Path(path).is_file() and file_digest(Path(path)) == found for path, found in files)
