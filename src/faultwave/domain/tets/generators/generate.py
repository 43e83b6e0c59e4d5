"""Built-in meshes by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from faultwave.base.errors import InputError, Problem, Problems, suggest
from faultwave.base.log import get_logger
from faultwave.domain.tets.generators.box import Box, box_mesh
from faultwave.domain.tets.generators.graded import Tpv5, graded_mesh
from faultwave.domain.tets.mesh import Mesh

_log = get_logger(__name__)

GMSH_ADVICE = (
    "Install it with 'pip install gmsh'; on a bare Debian or Ubuntu its libraries come with "
    "'apt-get install libglu1-mesa libgl1 libxrender1 libxcursor1 libxft2 libxinerama1'."
)


def generate(setting: object) -> Mesh:
    """Return a built-in mesh of shape 'box' or 'tpv5'.

    Parameters
    ----------
    setting
        Mapping, or object with attributes: the fields of ``Box`` or ``Tpv5``; lengths in metres, angles in degrees.

    Raises
    ------
    InputError
        For unknown shapes and keys, and for invalid settings.
    """
    shape = setting.get("shape") if isinstance(setting, Mapping) else getattr(setting, "shape", None)
    if shape not in _SHAPES:
        raise InputError(Problem("mesh.generate.shape", f"'{shape}'", ", ".join(_SHAPES), suggest(str(shape), _SHAPES)))
    kind, make = _SHAPES[shape]
    return make(_declared(kind, setting))


def _declared(kind: type, setting: object) -> Any:
    """Return the settings of a generator, filled from the setting of the case."""
    names = {f.name: f for f in dataclasses.fields(kind)}
    if not isinstance(setting, Mapping):
        return kind(**{name: getattr(setting, name) for name in names if hasattr(setting, name)})
    problems = Problems()
    for key in set(setting) - set(names) - {"shape"}:
        problems.error(f"mesh.generate.{key}", "unknown setting", ", ".join(names), suggest(key, names))
    for name, declared in names.items():
        optional = declared.default is not dataclasses.MISSING or declared.default_factory is not dataclasses.MISSING
        if name not in setting and not optional:
            problems.error(f"mesh.generate.{name}", "is missing")
    problems.raise_errors()
    return kind(**{name: setting[name] for name in names if name in setting})


def _tpv5(setting: Tpv5) -> Mesh:
    setting.check()
    if setting.mesher == "builtin":
        return graded_mesh(setting)
    try:
        # Loading Gmsh raises OSError if its shared libraries are incomplete.
        from faultwave.domain.tets.generators.gmsh_tpv5 import gmsh_mesh
    except (ImportError, OSError) as error:
        if setting.mesher == "gmsh":
            raise InputError(
                Problem("mesh.generate.mesher", f"Gmsh cannot be loaded: {error}", "builtin, auto", GMSH_ADVICE)
            ) from None
        _log.warning("Gmsh cannot be loaded (%s). %s Continuing with the built-in graded mesh.", error, GMSH_ADVICE)
        return graded_mesh(setting)
    return gmsh_mesh(setting)


_SHAPES: dict[str, tuple[type, Callable[[Any], Mesh]]] = {"box": (Box, box_mesh), "tpv5": (Tpv5, _tpv5)}
