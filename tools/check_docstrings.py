"""Check the docstrings of the public API and of the plug-in protocols with numpydoc: python tools/check_docstrings.py.

The checks are chosen in pyproject.toml under ``[tool.numpydoc_validation]``.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import faultwave
from tools.api_reference import CLASSES, MODULES, functions_of

ROOT = Path(__file__).parents[1]
PROTOCOLS = (
    "faultwave.backends.base:Backend",
    "faultwave.base.quantities:Output",
    "faultwave.base.quantities:Parameter",
    "faultwave.base.quantities:State",
    "faultwave.dg.penalties:PenaltyFlux",
    "faultwave.engine.capability:Callback",
    "faultwave.engine.capability:Capability",
    "faultwave.engine.capability:CapabilityPlan",
    "faultwave.engine.capability:Requirements",
    "faultwave.engine.capability:State",
    "faultwave.engine.solver:Engine",
    "faultwave.engine.solver:Solver",
    "faultwave.output.formats:Converter",
    "faultwave.output.formats:Writer",
    "faultwave.physics.friction.law:FrictionLaw",
    "faultwave.physics.friction.modifier:Modifier",
    "faultwave.physics.rheology:Rheology",
    "faultwave.physics.waves.law:PlainLaw",
)
"""Protocols and records of docs/extending.md."""


SECTIONS = {"PR01", "RT01"}
"""Sections Parameters and Returns, which the functions of the package itself must have. Records list their fields under Attributes, and
the summaries of other functions name arguments and results."""


def functions_of_package() -> Iterator[str]:
    """Yield the dotted names of the functions of ``faultwave`` itself."""
    for name, module in sorted(faultwave.PUBLIC.items()):
        found = getattr(faultwave, name)
        yield f"{module}.__class__.__call__" if inspect.ismodule(found) else f"{module}.{name}"


def public_names() -> Iterator[str]:
    """Yield the dotted names of all documented functions, classes and methods."""
    yield from functions_of_package()
    for place in MODULES:
        yield from (f"{place}.{name}" for name in functions_of(place))
    for place in (*CLASSES, *PROTOCOLS):
        module, _, name = place.partition(":")
        found = getattr(importlib.import_module(module), name)
        yield f"{module}.{name}"
        for member, value in vars(found).items():
            if not member.startswith("_") and inspect.isfunction(value) and "\n" in (value.__doc__ or ""):
                yield f"{module}.{name}.{member}"


def main() -> int:
    """Print the findings and return the exit code."""
    from numpydoc.validate import validate

    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["numpydoc_validation"]["checks"]
    functions = set(functions_of_package())
    findings = 0
    for name in dict.fromkeys(public_names()):
        left_out = set(listed) - {"all"} | (set() if name in functions else SECTIONS)
        for code, message in validate(name)["errors"]:
            if code not in left_out:
                findings += 1
                print(f"{name}: {code} {message}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
