"""Python reference from signatures and docstrings: the names of ``dir(faultwave)`` and the classes of their results."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

CLASSES = (
    "faultwave.run.session:Session",
    "faultwave.run.planned:PlannedCase",
    "faultwave.ensemble.ensemble:Ensemble",
    "faultwave.ensemble.checks:EnsemblePlan",
    "faultwave.ensemble.status:EnsembleStatus",
    "faultwave.campaign.campaign:Campaign",
    "faultwave.campaign.plan:CampaignPlan",
    "faultwave.campaign.site_files:SiteResults",
    "faultwave.inversion.inversion:Inversion",
    "faultwave.inversion.plan:InversionPlan",
    "faultwave.inversion.result:InversionResult",
    "faultwave.inversion.moment_tensor.plan:MomentTensorPlan",
    "faultwave.inversion.moment_tensor.result:MomentTensorResult",
    "faultwave.observe.dataset:Dataset",
    "faultwave.observe.model:Model",
    "faultwave.output.trace:Results",
    "faultwave.output.trace:Trace",
    "faultwave.verify.compare:Comparison",
    "faultwave.verify.observed:Scores",
    "faultwave.base.errors:Problem",
    "faultwave.base.errors:InputError",
    "faultwave.base.errors:RunError",
)
"""Classes of arguments and results."""
MODULES = (
    "faultwave.observe.motions.measures",
    "faultwave.observe.motions.goodness",
    "faultwave.observe.motions.time_frequency",
    "faultwave.observe.motions.processing",
)
"""Modules of pure functions for use on their own."""


def markdown() -> str:
    """Return the whole reference as Markdown."""
    import faultwave

    lines = ["## Functions\n"]
    for name in sorted(faultwave.PUBLIC):
        lines += _function(f"faultwave.{name}", _called(getattr(faultwave, name)), 3)
    lines.append("## What they give back\n")
    for place in CLASSES:
        module, _, name = place.partition(":")
        lines += _class(getattr(importlib.import_module(module), name))
    lines.append("## Ground motion\n")
    for place in MODULES:
        lines += [f"### `{place}`\n", _text(importlib.import_module(place)), ""]
        for name, found in functions_of(place).items():
            lines += _function(name, found, 4)
    return "\n".join(lines)


def functions_of(place: str) -> dict[str, Any]:
    """Return the public functions that a module defines, by name."""
    found = vars(importlib.import_module(place))
    return {name: f for name, f in found.items() if inspect.isfunction(f) and f.__module__ == place and name[0] != "_"}


def _called(found: Any) -> Any:
    """Return the function that is called if a callable package is called."""
    return inspect.getattr_static(type(found), "__call__").__func__ if inspect.ismodule(found) else found


def _function(name: str, found: Any, depth: int) -> Iterator[str]:
    yield f"{'#' * depth} `{name}`\n"
    yield f"```text\n{name}{_signature(found)}\n```\n"
    yield _text(found) + "\n"


def _class(found: Any) -> Iterator[str]:
    yield f"### `{found.__name__}`\n"
    yield f"`{found.__module__}`. {_text(found)}\n"
    for name, member in vars(found).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) and member.__doc__:
            yield f"- **{name}**: {_text(member)}"
        elif inspect.isfunction(member) and member.__doc__:
            yield f"- **{name}**`{_signature(member, True)}`: {_text(member)}"
    yield ""


def _signature(found: Any, method: bool = False) -> str:
    """Names and defaults; types stand in the text where they matter."""
    given = [p.replace(annotation=inspect.Parameter.empty) for p in inspect.signature(found).parameters.values()]
    shown = inspect.Signature(given[1:] if method else given)
    return str(shown)


def _text(found: Any) -> str:
    """Return a docstring in Markdown: double backquotes become single ones."""
    text = inspect.getdoc(found) or ""
    return re.sub(r"``([^`]+)``", r"`\1`", text)
