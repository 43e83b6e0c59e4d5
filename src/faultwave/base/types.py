"""Types of values that many packages exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Settings: TypeAlias = dict[str, Any]
"""Mapping of settings as read from YAML or JSON."""

JsonObject: TypeAlias = dict[str, Any]
"""Object of JSON as parsed, such as a JSON schema."""

Setting: TypeAlias = Any
"""Group of settings of a case: a model of pydantic, with an attribute for each setting, or a part of one."""

Record: TypeAlias = Mapping[str, Any]
"""Read-only mapping of values by name: settings, options, or notes in a manifest or checkpoint."""

Json: TypeAlias = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""Value that JSON can represent."""
