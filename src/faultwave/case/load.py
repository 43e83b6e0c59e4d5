"""Loader of every kind of case: native YAML, a SeisSol deck, an input of SW4, a built-in example, a mapping or a Case."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ruamel.yaml import YAML

from faultwave.base.errors import Problems, suggest
from faultwave.base.files.paths import is_file, shown
from faultwave.base.types import Settings
from faultwave.case.native import load_native
from faultwave.case.settings.model import Case
from faultwave.case.validate import build, dotted


@functools.cache
def _example_files() -> dict[str, Path]:
    folder = Path(str(resources.files("faultwave.case") / "examples"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def examples() -> dict[str, str]:
    """Return the titles of the built-in examples by name."""
    return {name: str(YAML(typ="safe").load(path).get("title", "")) for name, path in _example_files().items()}


def example_text(name: str) -> str:
    """Return the YAML text of a built-in example as a template. Raises KeyError for an unknown name."""
    return _example_files()[name].read_text(encoding="utf-8")


def load_case(
    case: object, overrides: Mapping[str, object] | None = None, partial: bool = False
) -> tuple[Case | None, Problems]:
    """Read and validate a case.

    Input paths in the returned case are absolute; relative ones of mappings and Case objects are searched in the working folder.

    Parameters
    ----------
    case : str, PathLike, mapping or Case
        Path of a native .yaml/.yml, of a SeisSol .par or of an SW4 .in, name of a built-in example (a file of that name has priority),
        nested settings, or a Case.
    overrides : mapping, optional
        Options that replace settings, see ``validate.OVERRIDES``: order, precision, backend, threads, until [s or text with a
        unit], output (folder) and others. None means not given.
    partial : bool
        If True, the valid settings of an invalid case are returned, so that its files can be read.

    Returns
    -------
    case : Case or None
        None if there are errors.
    problems : Problems
        Every problem found.
    """
    if isinstance(case, Case):
        made, problems = _from_data(case.model_dump(exclude_unset=True), overrides, partial)
        if made is not None:
            made._overridden = tuple(dict.fromkeys((*case.overridden, *made.overridden)))
        return made, problems
    if isinstance(case, Mapping):
        return _from_data(dict(case), overrides, partial)
    if not isinstance(case, str | os.PathLike):
        problems = Problems()
        what = f"{shown(repr(case))} of type {type(case).__name__} is not a case"
        problems.error("case", what, "a path, the name of an example, a dict of settings, or a Case")
        return None, problems
    path = Path(case).expanduser()
    if not is_file(path) and str(case) in _example_files():
        path = _example_files()[str(case)]
    if path.suffix.lower() in (".yaml", ".yml"):
        return _of_file(path, load_native(path, overrides, partial))
    if path.suffix.lower() == ".par":
        from faultwave.case.seissol.convert import load_deck

        return _of_file(path, load_deck(path, overrides, partial))
    if path.suffix.lower() == ".in":
        from faultwave.case.sw4.convert import load_sw4

        return _of_file(path, load_sw4(path, overrides, partial))
    problems = Problems()
    allowed = f"a native .yaml, a SeisSol .par, an SW4 .in, or one of the examples {', '.join(_example_files())}"
    what = (
        "is not a case file" if is_file(path) else "is a folder" if os.path.isdir(path) else "no such file or example"
    )
    problems.error(shown(case, 500), what, allowed, suggest(str(case), _example_files()))
    return None, problems


def _of_file(path: Path, read: tuple[Case | None, Problems]) -> tuple[Case | None, Problems]:
    """Record in a case the file it was read from."""
    made, problems = read
    if made is not None:
        made._file = path.absolute()
    return made, problems


def _from_data(data: Settings, overrides: Mapping[str, object] | None, partial: bool) -> tuple[Case | None, Problems]:
    problems = Problems()
    return build(data, (Path.cwd(),), dotted, problems, overrides, partial=partial), problems
